/* Names of columns, and the choice of columns that --columns makes. */
#include "files/array.h"

#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(columns, .init = folder_make, .fini = folder_remove);

static struct array array;
static struct dpot_error error;

static dpot_status read_columns(const char *text, const char *columns, enum array_header header)
{
    const struct array_form form = {.columns = columns, .header = header};
    error.text[0] = '\0';
    return array_read_form(folder_write("a.csv", text, strlen(text)), &form, &array, &error);
}

static void expect_names(const char *text, const char *first, const char *second)
{
    cr_assert_eq(read_columns(text, NULL, ARRAY_HEADER_AUTO), DPOT_OK, "%s", error.text);
    cr_assert_not_null(array.names);
    cr_assert_str_eq(array.names[0], first);
    cr_assert(!second || strcmp(array.names[1], second) == 0, "%s", array.names[1]);
    array_release(&array);
}

Test(columns, names_come_with_the_numbers)
{
    expect_names("iteration,residual\n1,2\n", "iteration", "residual");
    expect_names("\xEF\xBB\xBF x ,\t\"error, km\"\r\n1,2\n", "x", "error, km");
    expect_names("# t, 2\n1,2\n", "t", "2");
    expect_names("\"say \"\"x\"\"\"\n1\n", "say \"x\"", NULL);
    expect_names("lat;lon\n1;2\n", "lat", "lon");
    expect_names(",b\n1,2\n", "", "b");
}

Test(columns, a_row_of_numbers_has_no_names)
{
    static const char *const texts[] = {"1,2\n3,4\n", "nan,inf\n", "# by hand\n1,2\n", "#\n1\n"};
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(read_columns(texts[i], NULL, ARRAY_HEADER_AUTO), DPOT_OK);
        cr_assert(!array.names && array.names_line == 0, "%s", texts[i]);
        array_release(&array);
    }
}

Test(columns, long_names_are_cut_between_characters)
{
    char text[300] = "";
    memset(text, 'x', ARRAY_NAME_MAX - 2);
    (void)snprintf(text + ARRAY_NAME_MAX - 2, 20, "%s", "\xC3\xA9rest\n1\n");
    cr_assert_eq(read_columns(text, NULL, ARRAY_HEADER_AUTO), DPOT_OK);
    cr_assert_eq(strlen(array.names[0]), ARRAY_NAME_MAX - 2);
    array_release(&array);
}

Test(columns, a_header_of_numbers_can_be_declared)
{
    cr_assert_eq(read_columns("0,1,2\n4,5,6\n", NULL, ARRAY_HEADER_YES), DPOT_OK, "%s", error.text);
    cr_assert(array.n_rows == 1 && array.values[0] == 4);
    cr_assert_str_eq(array.names[2], "2");
    cr_assert_eq(array.names_line, 0, "nobody has to be told of what was declared");
    array_release(&array);
}

Test(columns, the_line_that_was_taken_for_names_is_told_once)
{
    struct dpot_error sentence = {""};
    cr_assert_eq(read_columns("# by hand\n\nlat,lon\n1,2\n", NULL, ARRAY_HEADER_AUTO), DPOT_OK);
    cr_assert(array_explain_names("f", &array, &sentence));
    cr_assert_str_eq(sentence.text,
                     "f: line 3 has no number and is taken for the names of the columns: lat, lon");
    array_release(&array);
    cr_assert_eq(read_columns("1,2\n", NULL, ARRAY_HEADER_AUTO), DPOT_OK);
    cr_assert_not(array_explain_names("f", &array, &sentence));
    array_release(&array);
}

/* Reads private data: an array of two columns, with this number of rows. */
static void expect_private_rows(const char *text, const struct array_form *form, size_t n_rows)
{
    cr_assert_eq(array_read_form(folder_write("a.csv", text, strlen(text)), form, &array, &error),
                 DPOT_OK, "%s", error.text);
    cr_assert(array.n_rows == n_rows && array.n_cols == 2, "%s: %zu", text, array.n_rows);
    cr_assert_eq(array.names_line, 0);
    array_wipe(&array);
}

Test(columns, the_first_line_of_private_data_has_names_only_if_the_form_says_so)
{
    static const char *const firsts[] = {"1,2", "lat,lon", "# lat,lon", "#,", "\"lat\",", "#1,2"};
    static const struct array_form undeclared = {.is_private = true};
    static const struct array_form no_header = {.is_private = true, .header = ARRAY_HEADER_NO};
    static const struct array_form header = {.is_private = true, .header = ARRAY_HEADER_YES};
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s\n3,4\n# 5,6\n", firsts[i]);
        expect_private_rows(text, &undeclared, 3);
        expect_private_rows(text, &no_header, 3);
        expect_private_rows(text, &header, 2);
    }
    expect_private_rows("# lat;lon\n3;4\n",
                        &(struct array_form){.is_private = true, .columns = "lat,lon"}, 1);
    expect_private_rows("#;\n3;4\n", &undeclared, 2);
}

static void expect_values(const char *text, const char *columns, double a, double b)
{
    cr_assert_eq(read_columns(text, columns, ARRAY_HEADER_AUTO), DPOT_OK, "%s", error.text);
    cr_assert(array.n_cols == 2 && array.values[0] == a && array.values[1] == b, "%s", columns);
    array_release(&array);
}

Test(columns, are_chosen_by_name_number_and_slice_in_the_order_of_the_list)
{
    expect_values("lat,lon,n\n1,2,3\n", "lon,lat", 2, 1);
    expect_values("lat,lon,n\n1,2,3\n", "2,lat", 3, 1);
    expect_values("1,2,3\n", "1:", 2, 3);
    expect_values("1,2,3\n", ":2", 1, 2);
    expect_values("2020;2021\n1;2\n", "1,0", 2021, 2020);
    expect_values("# a,b,c\n1,2,3\n", "c,b", 3, 2);
}

Test(columns, that_are_left_out_may_hold_text)
{
    expect_values("id,city,lat,lon\n1,\"Paris,\nFrance\",48,2\n2,,51,0\n", "lat,lon", 48, 2);
    expect_values("1,Paris,48,2\n2,\"a \"\"b, c\"\" d\",51,0\n", "2:", 48, 2);
    expect_values("1,NA,48,2\n", "2,3", 48, 2);
    expect_values("lat,lon,0\n1,2,x\n", "0,1", 1, 2);
}

static void expect_no_column(const char *text, const char *columns, const char *reason)
{
    cr_assert_eq(read_columns(text, columns, ARRAY_HEADER_AUTO), DPOT_ERR_ARGUMENT, "%s", columns);
    cr_assert_not_null(strstr(error.text, reason), "%s", error.text);
    cr_assert(!array.values && !array.names);
}

Test(columns, that_do_not_exist_are_refused)
{
    static const char *const lists[] = {"", "3", "lat,", "alt", "2:1", "0:4", "-1", "1:2:3", "Lat"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        expect_no_column("lat,lon,n\n1,2,3\n", lists[i], "there is no column");
    }
    expect_no_column("1,2\n", "99999999999999999999", "there is no column");
    expect_no_column("price,sqft\n1,2\n", "prize", "\"prize\" (did you mean price?):");
}

Test(columns, a_name_that_two_columns_have_chooses_neither)
{
    expect_no_column("lat,lon,lat\n1,2,3\n", "lon,lat",
                     "columns 0 and 2 are both named \"lat\": choose by number");
    expect_values("lat,lon,lat\n1,2,3\n", "lon,2", 2, 3);
}

Test(columns, of_private_data_are_named_in_no_error)
{
    const struct array_form form = {.columns = "secrets", .is_private = true};
    const char *path = folder_write("a.csv", "secret,n\n1,2\n", 13);
    cr_assert_eq(array_read_form(path, &form, &array, &error), DPOT_ERR_ARGUMENT);
    cr_assert_null(strstr(error.text, "did you mean"), "%s", error.text);
}

Test(columns, names_are_written_and_read_back)
{
    char text[200] = "";
    struct array back;
    cr_assert_eq(read_columns("\"a, b\",\"say \"\"x\"\"\"\n1,2\n", NULL, ARRAY_HEADER_AUTO),
                 DPOT_OK, "%s", error.text);
    cr_assert_eq(array_write(folder_path("b.csv"), &array, ARRAY_F8, &error), DPOT_OK);
    cr_assert_gt(folder_read("b.csv", text, sizeof text - 1), 0);
    cr_assert_str_eq(text, "\"a, b\",\"say \"\"x\"\"\"\n1,2\n");
    cr_assert_eq(array_read(folder_path("b.csv"), &back, &error), DPOT_OK, "%s", error.text);
    cr_assert_str_eq(back.names[1], "say \"x\"");
    array_release(&back);
    array_release(&array);
}

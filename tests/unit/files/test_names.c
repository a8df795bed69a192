#include "files/array.h"

#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(names_of_columns, .init = folder_make, .fini = folder_remove);

#define NAMES_MAX 4

static char names[NAMES_MAX][ARRAY_NAME_MAX];

static size_t read_names(const char *text)
{
    size_t n = 99;
    struct dpot_error error = {""};
    const char *path = folder_write("a.csv", text, strlen(text));
    cr_assert_eq(array_read_names(path, NAMES_MAX, names, &n, &error), DPOT_OK, "%s", error.text);
    return n;
}

Test(names_of_columns, names_of_columns_are_read)
{
    cr_assert_eq(read_names("iteration,residual\n1,2\n"), 2);
    cr_assert_str_eq(names[0], "iteration");
    cr_assert_str_eq(names[1], "residual");
    cr_assert_eq(read_names("\xEF\xBB\xBF x ,\t\"error, km\"\r\n"), 2);
    cr_assert_str_eq(names[0], "x");
    cr_assert_str_eq(names[1], "error, km");
    cr_assert_eq(read_names("# t, 2\n1,2\n"), 2);
    cr_assert_str_eq(names[0], "t");
    cr_assert_str_eq(names[1], "2");
}

Test(names_of_columns, a_row_of_numbers_has_no_names)
{
    cr_assert_eq(read_names("1,2\n3,4\n"), 0);
    cr_assert_eq(read_names("nan,inf\n"), 0);
}

Test(names_of_columns, long_lines_and_many_names_are_cut)
{
    static char text[200000];
    size_t n = 0;
    struct dpot_error error = {""};
    memset(text, 'x', 255);
    cr_assert_eq(read_names(text), 1);
    cr_assert_eq(strlen(names[0]), ARRAY_NAME_MAX - 1);
    memset(text, 'x', sizeof text - 1); /* as csv_read */
    cr_assert_eq(
        array_read_names(folder_write("a.csv", text, strlen(text)), NAMES_MAX, names, &n, &error),
        DPOT_ERR_MALFORMED);
    cr_assert_eq(read_names("a,b,c,d,e,f\n"), NAMES_MAX);
    cr_assert_eq(read_names(""), 1);
    cr_assert_str_eq(names[0], "");
}

Test(names_of_columns, a_missing_file_is_told)
{
    size_t n = 0;
    struct dpot_error error = {""};
    cr_assert_eq(array_read_names(folder_path("none.csv"), NAMES_MAX, names, &n, &error),
                 DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "none.csv"));
}

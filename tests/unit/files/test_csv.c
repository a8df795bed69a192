#include "folder.h"

#include "files/array.h"
#include "files/number.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(csv, .init = folder_make, .fini = folder_remove);

static dpot_status read_text(const char *text, struct array *array, struct dpot_error *error)
{
    return array_read(folder_write("a.csv", text, strlen(text)), array, error);
}

static void expect_read(const char *text, size_t n_rows, size_t n_cols, const double *values)
{
    struct array array;
    struct dpot_error error = {""};
    cr_assert_eq(read_text(text, &array, &error), DPOT_OK, "%s: %s", text, error.text);
    cr_assert(array.n_rows == n_rows && array.n_cols == n_cols, "%s: %zu x %zu", text, array.n_rows,
              array.n_cols);
    cr_assert_eq(array.is_vector, n_cols == 1);
    for (size_t i = 0; i < n_rows * n_cols; i++) {
        cr_assert_eq(array.values[i], values[i], "%s", text);
    }
    array_release(&array);
}

static void expect_refused(dpot_status expected, const char *text, const char *sentence)
{
    struct array array;
    struct dpot_error error = {""};
    const dpot_status status = read_text(text, &array, &error);
    cr_assert_eq(status, expected, "%s: %d %s", text, status, error.text);
    cr_assert_not_null(strstr(error.text, sentence), "%s: %s", text, error.text);
    cr_assert_null(array.values);
}

Test(csv, rows_of_numbers_are_read_with_or_without_header)
{
    const double values[4] = {1, 2, 3, 4};
    expect_read("1,2\n3,4\n", 2, 2, values);
    expect_read("1,2\n3,4", 2, 2, values);
    expect_read("a,b\n1,2\n3,4\n", 2, 2, values);
    expect_read("\"lat, deg\",b\n1,2\n3,4\n", 2, 2, values);
    expect_read("# 1,2\n1,2\n3,4\n", 2, 2, values);
    expect_read("# saved by hand\n1,2\n3,4\n", 2, 2, values);
    expect_read("\xEF\xBB\xBF"
                "a,b\r\n1,2\r\n3,4\r\n\r\n\n",
                2, 2, values);
    expect_read(" 1 ,\t2\n 3e0,\"4\"\n", 2, 2, values);
    expect_read("1\n2\n3\n4\n", 4, 1, values);
    expect_read("x\n1\n2\n3\n4\n", 4, 1, values);
    expect_read("1,2,3,4\n", 1, 4, values);
}

Test(csv, nan_and_infinity_are_read_for_callers_to_refuse)
{
    struct array array;
    struct dpot_error error;
    cr_assert_eq(read_text("nan,-inf\n1,2\n", &array, &error), DPOT_OK);
    cr_assert(isnan(array.values[0]) && isinf(array.values[1]) && array.values[1] < 0);
    array_release(&array);
}

Test(csv, ragged_rows_are_refused_with_their_line)
{
    expect_refused(DPOT_ERR_MALFORMED, "1,2\n3\n", "line 2 has 1 column where 2");
    expect_refused(DPOT_ERR_MALFORMED, "1,2\n3,4,5\n", "line 2 has 3 columns");
    expect_refused(DPOT_ERR_MALFORMED, "a,b,c\n3,4\n", "line 2 has 2 columns where 3");
}

Test(csv, text_is_refused_with_its_line_and_column)
{
    expect_refused(DPOT_ERR_MALFORMED, "1,2\n3,four\n", "line 2, column 2 is \"four\"");
    expect_refused(DPOT_ERR_MALFORMED, "1,2\n3,\n", "line 2, column 2 is \"\"");
    expect_refused(DPOT_ERR_MALFORMED, "1\n3;4\n", "line 2, column 1 is \"3;4\"");
    expect_refused(DPOT_ERR_MALFORMED, "1\n0x10\n", "0x10");
    expect_refused(DPOT_ERR_MALFORMED, "1\n2\x01\xff\n", "\"2??\"");
    expect_refused(DPOT_ERR_MALFORMED, "1\n\"2\n", "quote");
    expect_refused(DPOT_ERR_RANGE, "1\n1e999\n", "line 2, column 1");
}

Test(csv, mistyped_first_row_is_no_header)
{
    expect_refused(DPOT_ERR_MALFORMED, "1;2O\n3;4\n", "line 1, column 2 is \"2O\"");
    expect_refused(DPOT_ERR_MALFORMED, "1,two\n", "line 1, column 2 is \"two\" beside numbers");
    expect_refused(DPOT_ERR_MALFORMED, ",0,1\n0,1,2\n", "line 1, column 1 is \"\" beside numbers");
    expect_refused(DPOT_ERR_MALFORMED, "1,0x10\n1,0x10\n", "line 1, column 2 is \"0x10\"");
    expect_refused(DPOT_ERR_MALFORMED, "x,1O\n1,2\n", "line 1, column 2 is \"1O\"");
    expect_refused(DPOT_ERR_MALFORMED, "0.5.\n0.5\n", "line 1, column 1 is \"0.5.\"");
    expect_refused(DPOT_ERR_MALFORMED, "-\n1\n", "line 1, column 1 is \"-\"");
    expect_refused(DPOT_ERR_MALFORMED, "a,.5x\n1,2\n", "line 1, column 2 is \".5x\"");
    expect_refused(DPOT_ERR_MALFORMED, "1st,2nd\n1,2\n",
                   "\"1st\", which is not a number: correct it, or begin the name of a column with "
                   "a letter");
    expect_refused(DPOT_ERR_MALFORMED, ",,\n1,2,3\n", "line 1, column 1 is empty");
    expect_refused(DPOT_ERR_MALFORMED, " , \n1,2\n", "line 1, column 1 is empty");
}

/* A line that is data by some reading must not vanish as names. */
Test(csv, a_first_line_of_missing_or_malformed_numbers_is_refused_and_shown)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"\xE2\x88\x92"
         "33.4,\xE2\x88\x92"
         "70.6\n1,2\n",
         "column 1 is \"<U+2212>33.4\""},
        {"NA,NA\n1,2\n", "column 1 is \"NA\", neither a number nor a name"},
        {"null\n1\n", "is \"null\""},
        {"None\n1\n", "is \"None\""},
        {"n/a\n1\n", "is \"n/a\""},
        {"#N/A\n", "no rows"},
        {"<NA>\n1\n", "is \"<NA>\""},
        {"true\n1\n", "is \"true\""},
        {"nan(ind)\n1\n", "is \"nan(ind)\""},
        {"\xEF\xBB\xBF\xEF\xBB\xBF"
         "1.5\n1\n",
         "is \"<U+FEFF>1.5\""},
        {"\xC2\xA0"
         "1.5\n1\n",
         "is \"<U+00A0>1.5\""},
        {"1.5\xC2\xA0\n1\n", "is \"1.5<U+00A0>\""},
        {"$1.50\n1\n", "is \"$1.50\""},
        {"\xE2\x82\xAC"
         "5\n1\n",
         "is \"<U+20AC>5\""},
        {"USD 5\n1\n", "is \"USD 5\""},
        {"US$5\n1\n", "is \"US$5\""},
        {"(1.5)\n1\n", "is \"(1.5)\""},
        {"'1.5\n1\n", "is \"'1.5\""},
        {"\"1,234\"\n1\n", "is \"1,234\""},
        {"1'234\n1\n", "is \"1'234\""},
        {"\xEF\xBC\x91\n1\n", "is \"<U+FF11>\""},
        {"\xD9\xA1\n1\n", "is \"<U+0661>\""},
        {"\xE0\xA5\xA7\n1\n", "is \"<U+0967>\""},
        {"1,5;2,5\n1;2\n", "is \"1,5\", with a decimal comma: write a decimal point"},
        {"\"3,5\",1\n1,2\n", "column 1 is \"3,5\", with a decimal comma"},
        {"1,2\n1,\"3,5\"\n", "column 2 is \"3,5\", with a decimal comma"},
        {"\"a\nb\",c\n1,2\n", "column 1 has a line break in quotes"},
        {"id,city\n1,Paris\n", "is \"Paris\": give a number, or read other columns alone (FILE:"},
        {"1,Paris\n", "beside numbers: a row has only numbers, a header has none; FILE:LIST"},
        {"lat,NA\n1,2\n", "column 2 is \"NA\""},
        {"\"\"\n1\n", "column 1 is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct array array;
        struct dpot_error error = {""};
        cr_assert_neq(read_text(cases[i].text, &array, &error), DPOT_OK, "%s", cases[i].text);
        cr_assert_not_null(strstr(error.text, cases[i].sentence), "%s: %s", cases[i].text,
                           error.text);
    }
}

Test(csv, columns_may_be_separated_by_semicolons_and_tabs)
{
    const double values[4] = {1, 2, 3, 4};
    expect_read("1;2\n3;4\n", 2, 2, values);
    expect_read("lat\tlon\n1\t2\n3\t4\n", 2, 2, values);
    expect_read("\"a,b\"\t\"c\"\n1\t2\n3\t4\n", 2, 2, values);
    expect_read("x, km\ty\n1\t2\n3\t4\n", 2, 2, values);
    expect_read("sep=;\r\nx;y\r\n1;2\r\n3;4\r\n", 2, 2, values);
    expect_read("sep=,\n1,2\n3,4\n", 2, 2, values);
    expect_read("SEP=;\n1;2\n3;4\n", 2, 2, values);
    expect_read("\xEF\xBB\xBF\"sep=\t\"\r\n1\t2\r\n3\t4\r\n", 2, 2, values);
    expect_read("# made; by hand\n1,2\n3,4\n", 2, 2, values);
    expect_read("# 5\" pipes, \"new\n1,2\n3,4\n", 2, 2, values);
    expect_read(" 1\t,2\t\n3 ,\t4\n", 2, 2, values);
}

Test(csv, empty_lines_are_passed_over)
{
    const double values[4] = {1, 2, 3, 4};
    expect_read("\n\n1,2\n  \n3,4\n\n", 2, 2, values);
    expect_read("\na,b\n\n1,2\n\n3,4\n", 2, 2, values);
    expect_read("# one\n\n# two\na,b\n1,2\n3,4\n", 2, 2, values);
}

Test(csv, text_in_utf16_is_named)
{
    struct array array;
    struct dpot_error error = {""};
    const char *path = folder_write("a.csv",
                                    "\xFF\xFE"
                                    "1\0,\0"
                                    "2\0\n\0",
                                    10);
    cr_assert_eq(array_read(path, &array, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "UTF-16: convert it"), "%s", error.text);
}

Test(csv, header_may_lack_some_names_and_be_utf8)
{
    const double values[4] = {1, 2, 3, 4};
    expect_read(",b\n1,2\n3,4\n", 2, 2, values);
    expect_read("gr\xC3\xB6\xC3\x9F"
                "e,\xE6\x95\xB0\n1,2\n3,4\n",
                2, 2, values);
    expect_read("_1,\"x\ty\"\n1,2\n3,4\n", 2, 2, values);
}

Test(csv, binary_first_line_is_no_header)
{
    const char *const texts[] = {"\x89PNG\r\n1\n",    "x\x01\n1\n", "\177ELF\n1\n",
                                 "a,\xFF\xFE\n1,2\n", "\xC3\n1\n",  "\xC0\xAF\n1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        expect_refused(DPOT_ERR_MALFORMED, texts[i], "is not text in UTF-8");
    }
    expect_refused(DPOT_ERR_MALFORMED, "a,\xFF\n1,2\n", "line 1, column 2");
}

Test(csv, lines_end_in_lf_cr_lf_or_cr)
{
    const double values[4] = {1, 2, 3, 4};
    expect_read("1,2\r3,4\r", 2, 2, values);
    expect_read("a,b\r\r1,2\r3,4", 2, 2, values);
    expect_read("1,2\r\n\r\n3,4\r\n", 2, 2, values);
}

Test(csv, nul_bytes_are_refused)
{
    struct array array;
    struct dpot_error error;
    cr_assert_eq(array_read(folder_write("a.csv", "1,2\n3,\0\n", 8), &array, &error),
                 DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "line 2, column 2 has a NUL byte"));
}

Test(csv, files_without_rows_are_refused)
{
    const char *const texts[] = {"", "\n", "\n\n\n", "a,b\n", "a", "# x\n", "\xEF\xBB\xBF"};
    const size_t unknown = ARRAY_WIDTH_UNKNOWN;
    const size_t widths[] = {unknown, unknown, unknown, 2, 1, unknown, unknown};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct array array;
        expect_refused(DPOT_ERR_SHAPE, texts[i], "no rows");
        cr_assert_eq(read_text(texts[i], &array, NULL), DPOT_ERR_SHAPE);
        cr_assert_eq(array.n_cols, widths[i], "%s", texts[i]);
    }
    struct array ragged;
    cr_assert_eq(read_text("1,2\n3\n", &ragged, NULL), DPOT_ERR_MALFORMED);
    cr_assert_eq(ragged.n_cols, 0);
}

Test(csv, ten_million_columns_are_refused_early)
{
    const size_t len = 20000000;
    char *text = malloc(len);
    struct array array;
    struct dpot_error error;
    cr_assert_not_null(text);
    for (size_t i = 0; i < len; i += 2) {
        text[i] = '1';
        text[i + 1] = ',';
    }
    text[len - 1] = '\n';
    cr_assert_eq(array_read(folder_write("a.csv", text, len), &array, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "line 1, column 1048577"));
    memset(text, '1', len);
    cr_assert_eq(array_read(folder_write("a.csv", text, len), &array, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "2^20 bytes"));
    free(text);
}

Test(csv, written_numbers_come_back_exactly)
{
    double values[6] = {0.1, 1.0 / 3, -1e-310, 1.7976931348623157e308, 12345678901234567.0, -0.0};
    const struct array out = {.n_rows = 3, .n_cols = 2, .is_vector = false, .values = values};
    struct array in;
    struct dpot_error error;
    cr_assert_eq(array_write(folder_path("a.csv"), &out, ARRAY_F8, &error), DPOT_OK);
    cr_assert_eq(array_read(folder_path("a.csv"), &in, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(memcmp(in.values, values, sizeof values), 0);
    array_release(&in);
}

Test(csv, names_that_say_neither_format_are_not_written)
{
    double value = 1;
    const struct array out = {.n_rows = 1, .n_cols = 1, .is_vector = true, .values = &value};
    struct dpot_error error;
    const char *const names[] = {"q.npz", "q", "q.NPY", "q.txt", ".csv.gz"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *path = folder_path(names[i]);
        cr_assert_not(array_can_write(path), "%s", names[i]);
        cr_assert_eq(array_write(path, &out, ARRAY_F8, &error), DPOT_ERR_ARGUMENT);
        cr_assert_not_null(strstr(error.text, names[i]), "%s", error.text);
        cr_assert_neq(access(path, F_OK), 0, "nothing was written");
    }
    cr_assert(array_can_write("-") && array_can_write("/dev/null") && array_can_write("a.csv"));
    cr_assert_eq(array_write("/dev/null", &out, ARRAY_F8, &error), DPOT_OK);
}

Test(csv, indices_are_written_as_integers)
{
    double values[2] = {4294967295.0, 0};
    const struct array out = {.n_rows = 2, .n_cols = 1, .is_vector = true, .values = values};
    struct dpot_error error;
    char text[64] = {0};
    cr_assert_eq(array_write(folder_path("a.csv"), &out, ARRAY_U4, &error), DPOT_OK);
    cr_assert_eq(folder_read("a.csv", text, sizeof text - 1), strlen("4294967295\n0\n"));
    cr_assert_str_eq(text, "4294967295\n0\n");
}

static void expect_number(double value, const char *text)
{
    char out[NUMBER_SIZE];
    number_format(value, out);
    cr_assert_str_eq(out, text);
}

Test(csv, numbers_are_written_as_short_as_they_can_be_read_back)
{
    expect_number(39.89, "39.89");
    expect_number(0.1 + 0.2, "0.30000000000000004");
    expect_number(1.0 / 3, "0.3333333333333333");
    expect_number(2, "2");
    expect_number(0, "0");
    expect_number(-0.0, "-0");
    expect_number(9007199254740993.0, "9007199254740992");
    expect_number(1e300, "1e+300");
    expect_number(NAN, "nan");
    expect_number(-(double)NAN, "nan");
    expect_number(-INFINITY, "-inf");
}

/* Reproducible random bits, and extreme values. */
Test(csv, every_number_is_read_back_bit_for_bit)
{
    static const double edges[] = {DBL_MIN, DBL_MAX, 4.9406564584124654e-324, -0.0, DBL_EPSILON};
    enum { N = 20000 };
    struct array array, back;
    struct dpot_error error = {""};
    uint64_t bits = 0x9E3779B97F4A7C15u;
    cr_assert_eq(array_init(&array, N / 4, 4, false), DPOT_OK);
    for (size_t i = 0; i < N; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&array.values[i], &bits, sizeof bits);
        if (!isfinite(array.values[i])) {
            array.values[i] = edges[i % 5];
        } else if (i % 3 == 0) {
            array.values[i] = (double)(bits % 1000000) / 100; /* what people write */
        }
    }
    memcpy(array.values, edges, sizeof edges);
    cr_assert_eq(array_write(folder_path("a.csv"), &array, ARRAY_F8, &error), DPOT_OK, "%s",
                 error.text);
    cr_assert_eq(array_read(folder_path("a.csv"), &back, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(back.n_rows * back.n_cols, (size_t)N);
    cr_assert_eq(memcmp(array.values, back.values, N * sizeof *array.values), 0);
    array_release(&array);
    array_release(&back);
}

/* Endless input that makes no field, row or column longer. */
Test(csv, endless_lines_without_a_number_are_refused_early)
{
    const size_t len = 5000;
    char text[5001];
    memset(text, '\n', len);
    text[len] = '\0';
    memcpy(text, "1,2\n", 4);
    expect_refused(DPOT_ERR_TOO_LARGE, text, "line 1002 is one empty line too many");
    memset(text, '"', len);
    expect_refused(DPOT_ERR_MALFORMED, text, "longer than 255 bytes");
    memset(text, ' ', len);
    expect_refused(DPOT_ERR_MALFORMED, text, "longer than 255 bytes");
}

Test(csv, devices_without_an_end_are_refused)
{
    struct array array;
    struct dpot_error error = {""};
    cr_assert_eq(array_read("/dev/zero", &array, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "begins with 00 00 00 00"), "%s", error.text);
}

Test(csv, a_named_table_has_a_header_and_is_read_back)
{
    double values[4] = {1, 2, 3, 4};
    const struct array out = {.n_rows = 2, .n_cols = 2, .is_vector = false, .values = values};
    struct array in;
    struct dpot_error error = {""};
    char line[32] = "";
    cr_assert_eq(array_write_named(folder_path("a.csv"), &out, "x,y", &error), DPOT_OK);
    FILE *stream = fopen(folder_path("a.csv"), "r");
    cr_assert_not_null(fgets(line, sizeof line, stream));
    (void)fclose(stream);
    cr_assert_str_eq(line, "x,y\n");
    cr_assert_eq(array_read(folder_path("a.csv"), &in, &error), DPOT_OK, "%s", error.text);
    cr_assert(in.n_rows == 2 && in.values[3] == 4);
    array_release(&in);
}

/* ---- private data of a device ---- */

static dpot_status read_private(const char *name, const char *text, struct array *array,
                                struct dpot_error *error)
{
    return array_read_private(folder_write(name, text, strlen(text)), array, error);
}

/* Whatever one row holds, the other rows are there and nothing is refused. */
Test(csv, any_bytes_in_a_private_row_leave_the_other_rows_alone)
{
    static const char *const rows[] = {
        "1e999,-1e999", "nan,1", "secret,77",   "a,b,c",
        "\"1,2",        "77",    "\"\"\"\",\"", "\xFF\xFE,\x01",
        "0x10,1_000",   "NA,",   ",",           "#,#",
        "1;2",          "1\t2",  "sep=;",       "\xEF\xBB\xBF 1,2",
        "$1,(2)",       "1,2,",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128];
        struct array array;
        struct dpot_error error = {""};
        (void)snprintf(text, sizeof text, "5,6\n%s\n7,8\n", rows[i]);
        cr_assert_eq(read_private("a.csv", text, &array, &error), DPOT_OK, "%s", error.text);
        cr_assert(array.n_rows == 3 && array.n_cols == 2, "%s", rows[i]);
        cr_assert(array.values[0] == 5 && array.values[1] == 6, "%s", rows[i]);
        cr_assert(array.values[4] == 7 && array.values[5] == 8, "%s", rows[i]);
        array_wipe(&array);
    }
}

Test(csv, private_fields_that_are_no_numbers_are_nan_also_in_the_first_line)
{
    static const char *const rows[] = {"NA,2", "\xE2\x88\x92 1,2", "a\"b,2", "lat,2", "# 1,2"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct array array;
        struct dpot_error error = {""};
        cr_assert_eq(read_private("a.csv", rows[i], &array, &error), DPOT_OK, "%s", error.text);
        cr_assert(array.n_rows == 1 && isnan(array.values[0]) && array.values[1] == 2);
        array_wipe(&array);
    }
}

Test(csv, private_bytes_that_are_no_text_are_no_refusal)
{
    char text[2000];
    struct array array;
    struct dpot_error error = {""};
    memset(text, '9', sizeof text); /* a field longer than 255 bytes */
    memcpy(text, "1\n2\0002\n", 6);
    memcpy(text + sizeof text - 3, "\n3\n", 3);
    const char *path = folder_write("a.csv", text, sizeof text);
    cr_assert_eq(array_read_private(path, &array, &error), DPOT_OK, "%s", error.text);
    cr_assert(array.n_rows == 4 && isnan(array.values[1]) && isnan(array.values[2]));
    cr_assert(array.values[0] == 1 && array.values[3] == 3);
    array_wipe(&array);
}

Test(csv, an_empty_line_is_a_row_of_a_private_column_and_of_no_other_table)
{
    struct array array;
    struct dpot_error error = {""};
    cr_assert_eq(read_private("a.csv", "1\n\n3\n\n", &array, &error), DPOT_OK);
    cr_assert(array.n_rows == 3 && isnan(array.values[1]) && array.values[2] == 3);
    array_wipe(&array);
    cr_assert_eq(read_private("a.csv", "\n\n3\n", &array, &error), DPOT_OK);
    cr_assert(array.n_rows == 3 && isnan(array.values[0]) && array.values[2] == 3);
    array_wipe(&array);
    cr_assert_eq(read_private("a.csv", "1,2\n\n3,4\n", &array, &error), DPOT_OK);
    cr_assert(array.n_rows == 2 && array.values[2] == 3);
    array_wipe(&array);
}

Test(csv, a_private_file_without_rows_is_an_array_without_rows)
{
    struct array array;
    struct dpot_error error = {""};
    static const char *const texts[] = {"", "\n\n", "\xEF\xBB\xBF", "# 1\n", "a,b", "\na,b\n"};
    static const size_t widths[] = {0, 0, 0, 1, 2, 2};
    const struct array_form form = {.is_private = true, .header = ARRAY_HEADER_YES};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *path = folder_write("a.csv", texts[i], strlen(texts[i]));
        cr_assert_eq(array_read_form(path, &form, &array, &error), DPOT_OK, "%s", error.text);
        cr_assert(array.n_rows == 0 && array.n_cols == widths[i] && !array.values, "%zu", i);
        array_wipe(&array);
    }
}

Test(csv, many_private_values_are_all_there)
{
    enum { N = 10000 };
    static char text[N * 6 + 1];
    struct array array;
    struct dpot_error error = {""};
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(text + 6 * i, 7, "%5zu\n", i);
    }
    cr_assert_eq(read_private("a.csv", text, &array, &error), DPOT_OK, "%s", error.text);
    cr_assert(array.n_rows == N && array.n_cols == 1);
    for (size_t i = 0; i < N; i++) {
        cr_assert_eq(array.values[i], (double)i);
    }
    array_wipe(&array);
    cr_assert_null(array.values);
}

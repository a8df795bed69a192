#include "folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(npy, .init = folder_make, .fini = folder_remove);

/* A file of format `major` with this header text and these entries; the header is padded with
 * blanks to `header_len` (0: as long as the text). */
static size_t build(uint8_t *out, int major, const char *header, size_t header_len,
                    const void *entries, size_t len)
{
    const size_t text_len = strlen(header);
    const size_t n = header_len ? header_len : text_len;
    const size_t len_size = major == 1 ? 2 : 4;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (uint8_t)major;
    out[7] = 0;
    for (size_t i = 0; i < len_size; i++) {
        out[8 + i] = (uint8_t)(n >> (8 * i));
    }
    uint8_t *text = out + 8 + len_size;
    memset(text, ' ', n);
    memcpy(text, header, text_len);
    if (len > 0) {
        memcpy(text + n, entries, len);
    }
    return 8 + len_size + n + len;
}

static dpot_status read_built(int major, const char *header, const void *entries, size_t len,
                              struct array *array, struct dpot_error *error)
{
    uint8_t bytes[4096];
    const size_t n = build(bytes, major, header, 0, entries, len);
    return array_read(folder_write("a.npy", bytes, n), array, error);
}

static void expect_refused(dpot_status expected, int major, const char *header, const void *entries,
                           size_t len, const char *sentence)
{
    struct array array;
    struct dpot_error error = {""};
    const dpot_status status = read_built(major, header, entries, len, &array, &error);
    cr_assert_eq(status, expected, "%s: %d (%s)", header, status, error.text);
    cr_assert_not_null(strstr(error.text, sentence), "%s: %s", header, error.text);
    cr_assert_not_null(strstr(error.text, "a.npy"));
    cr_assert_null(array.values);
}

Test(npy, matrix_comes_back_as_written)
{
    double values[6] = {1, -2.5, 0, 1e300, -0.0, 3};
    const struct array out = {.n_rows = 2, .n_cols = 3, .is_vector = false, .values = values};
    struct array in;
    struct dpot_error error;
    cr_assert_eq(array_write(folder_path("m.npy"), &out, ARRAY_F8, &error), DPOT_OK);
    cr_assert_eq(array_read(folder_path("m.npy"), &in, &error), DPOT_OK);
    cr_assert(in.n_rows == 2 && in.n_cols == 3 && !in.is_vector);
    cr_assert_eq(memcmp(in.values, values, sizeof values), 0);
    array_release(&in);
}

Test(npy, vector_of_indices_is_u4_on_disk)
{
    double values[3] = {0, 7, 4294967295.0};
    const struct array out = {.n_rows = 3, .n_cols = 1, .is_vector = true, .values = values};
    struct array in;
    struct dpot_error error;
    uint8_t bytes[256];
    cr_assert_eq(array_write(folder_path("v.npy"), &out, ARRAY_U4, &error), DPOT_OK);
    const size_t n = folder_read("v.npy", bytes, sizeof bytes);
    cr_assert_eq(n, 128 + 12);
    cr_assert_eq(memcmp(bytes + 128 + 4, "\7\0\0\0\xff\xff\xff\xff", 8), 0);
    cr_assert_not_null(strstr((char *)bytes + 10, "'<u4'"));
    cr_assert_eq(array_read(folder_path("v.npy"), &in, &error), DPOT_OK);
    cr_assert(in.is_vector && in.n_rows == 3 && in.values[2] == 4294967295.0);
    array_release(&in);
}

Test(npy, u4_array_refuses_what_is_not_an_index)
{
    double bad[] = {-1, 0.5, 4294967296.0, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct array out = {.n_rows = 1, .n_cols = 1, .is_vector = true, .values = &bad[i]};
        struct dpot_error error;
        cr_assert_eq(array_write(folder_path("v.npy"), &out, ARRAY_U4, &error), DPOT_ERR_RANGE);
        cr_assert_not_null(strstr(error.text, "entry 0"));
    }
    cr_assert_null(fopen(folder_path("v.npy"), "rb"), "nothing is written");
}

Test(npy, every_element_type_and_version_is_read)
{
    const struct {
        const char *descr;
        uint8_t bytes[8];
        size_t size;
        double value;
    } cases[] = {
        {"|b1", {1}, 1, 1},
        {"|b1", {0}, 1, 0},
        {"|b1", {0x80}, 1, 1},
        {"|u1", {0xfe}, 1, 254},
        {"<u1", {0xfe}, 1, 254},
        {"|i1", {0xfe}, 1, -2},
        {"|i1", {0x80}, 1, -128},
        {"<u2", {0xfe, 0xff}, 2, 65534},
        {">u2", {0xff, 0xfe}, 2, 65534},
        {"<i2", {0xfe, 0xff}, 2, -2},
        {">i2", {0x80, 0}, 2, -32768},
        {"<f2", {0, 0xbe}, 2, -1.5},
        {">f2", {0xbe, 0}, 2, -1.5},
        {"<f2", {0xff, 0x7b}, 2, 65504},
        {"<f2", {1, 0}, 2, 1.0 / 16777216},
        {"<f2", {0, 0x7c}, 2, INFINITY},
        {"<f2", {0, 0xfc}, 2, -INFINITY},
        {">f4", {0xbf, 0xc0, 0, 0}, 4, -1.5},
        {">f8", {0xbf, 0xf8, 0, 0, 0, 0, 0, 0}, 8, -1.5},
        {">i4", {0xff, 0xff, 0xff, 0xfe}, 4, -2},
        {">u4", {0xff, 0xff, 0xff, 0xfe}, 4, 4294967294.0},
        {">i8", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, 8, -2},
        {">u8", {0, 0x20, 0, 0, 0, 0, 0, 0}, 8, 9007199254740992.0},
        {"<f4", {0, 0, 0xc0, 0xbf}, 4, -1.5},
        {"<f8", {0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, 8, -1.5},
        {"<i4", {0xfe, 0xff, 0xff, 0xff}, 4, -2},
        {"<u4", {0xfe, 0xff, 0xff, 0xff}, 4, 4294967294.0},
        {"<i8", {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8, -2},
        {"<u8", {0, 0, 0, 0, 0, 0, 0x20, 0}, 8, 9007199254740992.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int major = 1; major <= 3; major++) {
            char header[128];
            struct array array;
            struct dpot_error error = {""};
            (void)snprintf(header, sizeof header,
                           "{\"shape\": (1L, 1), 'fortran_order':False,'descr' : '%s'}\n",
                           cases[i].descr);
            cr_assert_eq(read_built(major, header, cases[i].bytes, cases[i].size, &array, &error),
                         DPOT_OK, "%s %d: %s", cases[i].descr, major, error.text);
            cr_assert_eq(array.values[0], cases[i].value, "%s", cases[i].descr);
            cr_assert_not(array.is_vector);
            array_release(&array);
        }
    }
}

Test(npy, not_a_number_is_read_from_half_precision)
{
    static const uint8_t bits[2] = {1, 0x7c};
    struct array array;
    struct dpot_error error = {""};
    cr_assert_eq(read_built(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (1,)}", bits, 2,
                            &array, &error),
                 DPOT_OK, "%s", error.text);
    cr_assert(isnan(array.values[0]));
    array_release(&array);
}

Test(npy, fortran_order_is_read_by_rows)
{
    static const uint8_t columns[6] = {1, 4, 2, 5, 3, 6};
    struct array array;
    struct dpot_error error = {""};
    cr_assert_eq(read_built(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", columns,
                            6, &array, &error),
                 DPOT_OK, "%s", error.text);
    cr_assert(array.n_rows == 2 && array.n_cols == 3 && !array.is_vector);
    for (size_t i = 0; i < 6; i++) {
        cr_assert_eq(array.values[i], (double)i + 1);
    }
    array_release(&array);
}

/* 200000 entries are more than are allocated before any has come. */
Test(npy, a_large_array_from_a_pipe_is_that_of_the_file)
{
    enum { N = 200000 };
    double *values = calloc(N, sizeof *values);
    struct array in;
    struct dpot_error error = {""};
    cr_assert_not_null(values);
    for (size_t i = 0; i < N; i++) {
        values[i] = (double)i;
    }
    const struct array out = {.n_rows = N / 4, .n_cols = 4, .values = values};
    cr_assert_eq(array_write(folder_path("a.npy"), &out, ARRAY_F8, &error), DPOT_OK);
    uint8_t *bytes = calloc(128 + N, sizeof *values);
    cr_assert_not_null(bytes);
    const size_t len = folder_read("a.npy", bytes, 128 + N * sizeof *values);
    (void)folder_pipe("pipe", bytes, len);
    free(bytes);
    cr_assert_eq(array_read(folder_path("pipe"), &in, &error), DPOT_OK, "%s", error.text);
    cr_assert(in.n_rows == N / 4 && in.n_cols == 4);
    cr_assert_eq(memcmp(in.values, values, N * sizeof *values), 0);
    array_release(&in);
    free(values);
}

Test(npy, columns_are_chosen_by_number_in_the_path_or_by_the_form)
{
    double values[6] = {1, 2, 3, 4, 5, 6};
    const struct array out = {.n_rows = 2, .n_cols = 3, .values = values};
    const struct array_form form = {.columns = "2,0"};
    struct array in;
    struct dpot_error error = {""};
    cr_assert_eq(array_write(folder_path("a.npy"), &out, ARRAY_F8, &error), DPOT_OK);
    cr_assert_eq(array_read_form(folder_path("a.npy"), &form, &in, &error), DPOT_OK);
    cr_assert(in.n_cols == 2 && in.values[0] == 3 && in.values[1] == 1 && in.values[2] == 6);
    array_release(&in);
    cr_assert_eq(array_read(folder_path("a.npy:1:3"), &in, &error), DPOT_OK, "%s", error.text);
    cr_assert(in.n_cols == 2 && in.values[0] == 2 && in.values[3] == 6);
    array_release(&in);
    cr_assert_eq(array_read_form(folder_path("a.npy:1"), &form, &in, &error), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "chosen twice"), "%s", error.text);
    cr_assert_eq(array_read(folder_path("a.npy:3"), &in, &error), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "no column \"3\""), "%s", error.text);
    cr_assert_eq(array_read(folder_path("none.npy:0"), &in, &error), DPOT_ERR_IO);
}

Test(npy, integers_that_a_double_cannot_hold_are_refused)
{
    const uint8_t beyond[8] = {1, 0, 0, 0, 0, 0, 0x20, 0};
    const uint8_t below[8] = {0, 0, 0, 0, 0, 0, 0, 0x80};
    expect_refused(DPOT_ERR_RANGE, 1, "{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }",
                   beyond, 8, "entry 0 is 9007199254740993: integers beyond 2^53");
    expect_refused(DPOT_ERR_RANGE, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }",
                   below, 8, "entry 0 is -9223372036854775808: integers beyond 2^53");
}

Test(npy, foreign_element_types_are_refused)
{
    const double one = 1;
    const char *const types[] = {"<c16", "|O",  "<U3", "=f8", "|f8", "<f16", "|S1",
                                 "<M8",  "<f1", "<i3", "f8",  "<b2", "<f",   "|V8"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char header[128];
        (void)snprintf(header, sizeof header,
                       "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }\n", types[i]);
        expect_refused(DPOT_ERR_MALFORMED, 1, header, &one, 8, types[i]);
        expect_refused(DPOT_ERR_MALFORMED, 1, header, &one, 8,
                       types[i][1] == 'c'        ? "save numpy.column_stack([x.real, x.imag])"
                       : strpbrk(types[i], "US") ? "save x.astype('<f8') if the texts are numbers"
                                                 : "save x.astype('<f8')");
    }
}

Test(npy, an_element_type_steers_no_terminal)
{
    const double one = 1;
    expect_refused(DPOT_ERR_MALFORMED, 1,
                   "{'descr': '<i\r', 'fortran_order': False, 'shape': (1,), }\n", &one, 8,
                   "the element type is '<i?'");
}

Test(npy, only_one_or_two_dimensions_are_read)
{
    const double one = 1;
    expect_refused(DPOT_ERR_SHAPE, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", &one,
                   8, "no dimensions");
    expect_refused(DPOT_ERR_SHAPE, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1)}",
                   &one, 8, "three or more");
    expect_refused(DPOT_ERR_SHAPE, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3)}",
                   &one, 0, "empty");
}

Test(npy, stated_size_is_compared_with_the_file_before_memory_is_taken)
{
    const double values[2] = {1, 2};
    const char *const huge[] = {
        "(18446744073709551615, 18446744073709551615)", "(4294967296, 4294967296)",
        "(99999999999999999999999999999999999999,)", "(1, 1048577)", "(268435457,)"};
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        char header[160];
        (void)snprintf(header, sizeof header,
                       "{'descr': '<f8', 'fortran_order': False, 'shape': %s}", huge[i]);
        expect_refused(DPOT_ERR_TOO_LARGE, 1, header, values, sizeof values, "beyond");
    }
    const char *header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}";
    expect_refused(DPOT_ERR_MALFORMED, 1, header, values, 15, "cut off");
    expect_refused(DPOT_ERR_MALFORMED, 1, header, values, 8, "cut off");
    expect_refused(DPOT_ERR_MALFORMED, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
                   values, 16, "goes on after the 1 entries");
    expect_refused(DPOT_ERR_MALFORMED, 1,
                   "{'descr': '<f8', 'fortran_order': False, 'shape': (268435456,)}", values, 16,
                   "cut off");
}

Test(npy, garbage_headers_are_refused)
{
    const double one = 1;
    const char *const headers[] = {
        "",
        "{",
        "{}",
        "garbage",
        "{'descr': '<f8'}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'evil': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1.0,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1",
        "{'descr': '<f8', 'fortran_order': False, 'shape': [1]}",
        "{'descr': '<f8, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8\\'', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8aaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} import os",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        expect_refused(DPOT_ERR_MALFORMED, 1, headers[i], &one, 8, "header");
    }
}

Test(npy, a_header_that_is_nearly_right_is_told_what_is_wrong)
{
    const double one = 1;
    const char *const shapes[] = {"(-1,)",  "(1, -1)", "(1.0,)", "(2*2,)",
                                  "(0x1,)", "(1_0,)",  "(+1,)"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char header[128];
        (void)snprintf(header, sizeof header,
                       "{'descr': '<f8', 'fortran_order': False, 'shape': %s}", shapes[i]);
        expect_refused(DPOT_ERR_MALFORMED, 1, header, &one, 8, "shape that is not made of whole");
    }
    expect_refused(DPOT_ERR_MALFORMED, 1,
                   "{'descr': [('a', '<f8'), ('b', '<f8')], 'fortran_order': False, 'shape': (1,)}",
                   &one, 8, "structured");
    expect_refused(DPOT_ERR_TOO_LARGE, 1,
                   "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 99999999999999999999)}",
                   &one, 8, "2^62 or more");
}

Test(npy, a_long_header_is_refused_though_the_file_is_as_long)
{
    enum { LEN = 65537 };
    uint8_t *bytes = calloc(1, 12 + LEN);
    struct array array;
    struct dpot_error error;
    cr_assert_not_null(bytes);
    memcpy(bytes, "\x93NUMPY\x02\x00\x01\x00\x01\x00", 12);
    memset(bytes + 12, ' ', LEN);
    cr_assert_eq(array_read(folder_write("a.npy", bytes, 12 + LEN), &array, &error),
                 DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "longer than 65536 bytes"), "%s", error.text);
    free(bytes);
}

Test(npy, header_length_beyond_the_file_is_refused)
{
    uint8_t bytes[16] = {0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0xff, 0xff, 0xff, 0xff, '{'};
    struct array array;
    struct dpot_error error;
    cr_assert_eq(array_read(folder_write("a.npy", bytes, sizeof bytes), &array, &error),
                 DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "longer than the file"));
    bytes[6] = 1;
    cr_assert_eq(array_read(folder_write("a.npy", bytes, sizeof bytes), &array, &error),
                 DPOT_ERR_MALFORMED);
}

Test(npy, header_with_a_nul_byte_is_refused)
{
    uint8_t bytes[256];
    const double one = 1;
    const char *header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}";
    const size_t n = build(bytes, 1, header, strlen(header) + 4, &one, 8);
    struct array array;
    struct dpot_error error;
    bytes[10 + strlen(header) + 1] = 0;
    cr_assert_eq(array_read(folder_write("a.npy", bytes, n), &array, &error), DPOT_ERR_MALFORMED);
}

Test(npy, unknown_versions_and_other_files_are_refused)
{
    const double one = 1;
    const char *header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}";
    expect_refused(DPOT_ERR_VERSION, 4, header, &one, 8, "version 4.0");
    expect_refused(DPOT_ERR_VERSION, 0, header, &one, 8, "version 0.0");
}

Test(npy, the_content_and_not_the_name_tells_what_a_file_is)
{
    double values[2] = {1, 2};
    const struct array out = {.n_rows = 1, .n_cols = 2, .values = values};
    struct array in;
    struct dpot_error error = {""};
    uint8_t bytes[256];
    cr_assert_eq(array_read(folder_write("a.npy", "1,2\n", 4), &in, &error), DPOT_OK);
    array_release(&in);
    cr_assert_eq(array_read(folder_write("a.npy", "", 0), &in, &error), DPOT_ERR_SHAPE);
    cr_assert_eq(array_write(folder_path("a.npy"), &out, ARRAY_F8, &error), DPOT_OK);
    const size_t n = folder_read("a.npy", bytes, sizeof bytes);
    cr_assert_eq(array_read(folder_write("no-name", bytes, n), &in, &error), DPOT_OK);
    cr_assert(in.n_cols == 2 && in.values[1] == 2);
    array_release(&in);
}

#define GOOD_MAX 256

static size_t good_file(uint8_t bytes[GOOD_MAX])
{
    double values[4] = {1, 2, 3, 4};
    const struct array out = {.n_rows = 2, .n_cols = 2, .is_vector = false, .values = values};
    struct dpot_error error;
    cr_assert_eq(array_write(folder_path("a.npy"), &out, ARRAY_F8, &error), DPOT_OK);
    return folder_read("a.npy", bytes, GOOD_MAX);
}

Test(npy, every_truncation_of_a_good_file_is_refused)
{
    struct dpot_error error;
    uint8_t bytes[GOOD_MAX];
    const size_t n = good_file(bytes);
    for (size_t len = 0; len < n; len++) {
        struct array in;
        cr_assert_neq(array_read(folder_write("a.npy", bytes, len), &in, &error), DPOT_OK, "%zu",
                      len);
        cr_assert_null(in.values);
    }
}

Test(npy, no_changed_byte_crashes_the_reader)
{
    struct dpot_error error;
    uint8_t bytes[GOOD_MAX];
    const size_t n = good_file(bytes);
    for (size_t i = 0; i < 128; i++) {
        const uint8_t kept = bytes[i];
        for (int change = 1; change < 256; change += 37) {
            struct array in;
            bytes[i] = (uint8_t)(kept ^ change);
            if (array_read(folder_write("a.npy", bytes, n), &in, &error) == DPOT_OK) {
                array_release(&in);
            }
        }
        bytes[i] = kept;
    }
}

Test(npy, missing_files_and_folders_are_refused_with_their_path)
{
    struct array array;
    struct dpot_error error;
    cr_assert_eq(array_read(folder_path("none.npy"), &array, &error), DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "none.npy"));
    cr_assert_eq(array_read(folder_path("."), &array, &error), DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "folder"));
}

/* A device refuses and shows no number; an array without rows is a device without data. */
Test(npy, private_integers_are_rounded_and_no_rows_are_taken)
{
    static const uint8_t large[8] = {1, 0, 0, 0, 0, 0, 0x20, 0}; /* 2^53 + 1 */
    static const char none[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }";
    static const char wide[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (16777217,), }";
    uint8_t bytes[4096];
    struct array array;
    struct dpot_error error = {""};
    size_t n =
        build(bytes, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", 0, large, 8);
    cr_assert_eq(array_read_private(folder_write("a.npy", bytes, n), &array, &error), DPOT_OK);
    cr_assert_eq(array.values[0], 9007199254740992.0);
    array_wipe(&array);
    n = build(bytes, 1, none, 0, NULL, 0);
    cr_assert_eq(array_read_private(folder_write("a.npy", bytes, n), &array, &error), DPOT_OK);
    cr_assert(array.n_rows == 0 && array.n_cols == 0 && !array.values);
    n = build(bytes, 1, wide, 0, NULL, 0);
    cr_assert_eq(array_read_private(folder_write("a.npy", bytes, n), &array, &error),
                 DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "16777216 entries"), "%s", error.text);
}

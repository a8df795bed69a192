#include "folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

TestSuite(idx, .init = folder_make, .fini = folder_remove);

#define TWO_IMAGES "\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03"
#define PIXELS "\0\x01\x02\x03\x04\x05\xff\xfe\xfd\xfc\xfb\xfa"

/* Packs the bytes with gzip into `name` and returns its path. */
static const char *write_packed(const char *name, const void *data, size_t len)
{
    const char *path = folder_path(name);
    gzFile file = gzopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(gzwrite(file, data, (unsigned)len), (int)len);
    cr_assert_eq(gzclose(file), Z_OK);
    return path;
}

static void expect_images(const char *path)
{
    struct array array;
    struct dpot_error error = {""};
    cr_assert_eq(array_read(path, &array, &error), DPOT_OK, "%s", error.text);
    cr_assert(array.n_rows == 2 && array.n_cols == 6 && !array.is_vector);
    for (size_t i = 0; i < 12; i++) {
        cr_assert_eq(array.values[i], i < 6 ? (double)i : 261.0 - (double)i);
    }
    array_release(&array);
}

static void expect_refused(const char *path, dpot_status expected, const char *sentence)
{
    struct array array;
    struct dpot_error error = {""};
    const dpot_status status = array_read(path, &array, &error);
    cr_assert_eq(status, expected, "%s: %d (%s)", path, status, error.text);
    cr_assert_not_null(strstr(error.text, sentence), "%s: %s", path, error.text);
    cr_assert_not_null(strstr(error.text, path));
    cr_assert_null(array.values);
}

Test(idx, images_become_rows_of_pixels_under_every_name)
{
    static const char bytes[] = TWO_IMAGES PIXELS;
    const size_t len = sizeof bytes - 1;
    expect_images(folder_write("images-idx3-ubyte", bytes, len));
    expect_images(folder_write("images.idx", bytes, len));
    expect_images(write_packed("images-idx3-ubyte.gz", bytes, len));
    expect_images(write_packed("images.idx.gz", bytes, len));
    expect_images(folder_write("qmnist-test-images", bytes, len));
    expect_images(write_packed("qmnist-train-labels-idx2-int.gz", bytes, len));
}

Test(idx, a_file_that_a_browser_has_unpacked_is_read_under_its_old_name)
{
    static const char bytes[] = TWO_IMAGES PIXELS;
    expect_images(folder_write("images-idx3-ubyte.gz", bytes, sizeof bytes - 1));
}

Test(idx, labels_are_a_vector)
{
    struct array array;
    struct dpot_error error = {""};
    static const char bytes[] = "\0\0\x08\x01\0\0\0\x03\x07\0\x09";
    cr_assert_eq(array_read(folder_write("labels-ubyte", bytes, sizeof bytes - 1), &array, &error),
                 DPOT_OK, "%s", error.text);
    cr_assert(array.is_vector && array.n_rows == 3 && array.n_cols == 1);
    cr_assert(array.values[0] == 7 && array.values[1] == 0 && array.values[2] == 9);
    array_release(&array);
}

Test(idx, every_element_type_is_read)
{
    const struct {
        uint8_t code;
        size_t size;
        uint8_t bytes[8];
        double value;
    } cases[] = {
        {0x08, 1, {0x80}, 128},
        {0x09, 1, {0x80}, -128},
        {0x0B, 2, {0xff, 0xfe}, -2},
        {0x0B, 2, {0x01, 0x02}, 258},
        {0x0C, 4, {0xff, 0xff, 0xff, 0xfe}, -2},
        {0x0D, 4, {0xbf, 0xc0, 0, 0}, -1.5},
        {0x0E, 8, {0xbf, 0xf8, 0, 0, 0, 0, 0, 0}, -1.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[16] = {0, 0, cases[i].code, 1, 0, 0, 0, 1};
        struct array array;
        struct dpot_error error = {""};
        memcpy(bytes + 8, cases[i].bytes, cases[i].size);
        cr_assert_eq(array_read(folder_write("a.idx", bytes, 8 + cases[i].size), &array, &error),
                     DPOT_OK, "%s", error.text);
        cr_assert_eq(array.values[0], cases[i].value, "type %02x: %g", cases[i].code,
                     array.values[0]);
        array_release(&array);
    }
}

Test(idx, a_file_cut_at_any_byte_is_refused)
{
    static const char bytes[] = TWO_IMAGES PIXELS;
    const size_t len = sizeof bytes - 1;
    for (size_t n = 2; n < len; n++) { /* less is not known to be IDX */
        expect_refused(folder_write("cut.idx", bytes, n), DPOT_ERR_MALFORMED, "cut off");
        expect_refused(write_packed("cut.idx.gz", bytes, n), DPOT_ERR_MALFORMED, "cut off");
    }
    uint8_t packed[256];
    (void)write_packed("whole.idx.gz", bytes, len);
    const size_t n_packed = folder_read("whole.idx.gz", packed, sizeof packed);
    for (size_t n = 20; n < n_packed; n++) {
        expect_refused(folder_write("cut.idx.gz", packed, n), DPOT_ERR_MALFORMED, "cut off");
    }
}

Test(idx, damaged_compression_is_found_by_its_checksum)
{
    static const char bytes[] = TWO_IMAGES PIXELS;
    uint8_t packed[256];
    (void)write_packed("a.idx.gz", bytes, sizeof bytes - 1);
    const size_t n = folder_read("a.idx.gz", packed, sizeof packed);
    packed[n - 6] ^= 1; /* of the CRC */
    expect_refused(folder_write("b.idx.gz", packed, n), DPOT_ERR_MALFORMED,
                   "damaged or cut off (incorrect data check)");
}

Test(idx, hostile_headers_are_refused_before_memory_is_taken)
{
    static const struct {
        const char bytes[20];
        dpot_status status;
        const char *sentence;
    } cases[] = {
        {"\x1f\x8b\x08\0\0\0\0\1", DPOT_ERR_MALFORMED, "compressed file is damaged"},
        {"\0\0\x0A\1\0\0\0\1", DPOT_ERR_MALFORMED, "no IDX file"},
        {"\0\0\x08\0\0\0\0\1", DPOT_ERR_SHAPE, "0 dimensions"},
        {"\0\0\x08\x05\0\0\0\1", DPOT_ERR_SHAPE, "5 dimensions"},
        {"\0\0\x08\1\0\0\0\0", DPOT_ERR_TOO_LARGE, "states 0 x"},
        {"\0\0\x08\1\xff\xff\xff\xff", DPOT_ERR_TOO_LARGE, "states 4294967295 x"},
        {"\0\0\x08\1\x0f\xff\xff\xff", DPOT_ERR_MALFORMED, "states 268435455 bytes"},
        {"\0\0\x08\2\0\0\0\1\0\0\0\0", DPOT_ERR_TOO_LARGE, "in a row"},
        {"\0\0\x08\2\0\0\0\1\0\x10\0\1", DPOT_ERR_TOO_LARGE, "in a row"},
        {"\0\0\x08\3\0\0\0\2\0\0\xff\xff\0\0\xff\xff", DPOT_ERR_TOO_LARGE, "in a row"},
        {"\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", DPOT_ERR_TOO_LARGE,
         "states 4294967295 x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_refused(folder_write("bad.idx", cases[i].bytes, sizeof cases[i].bytes),
                       cases[i].status, cases[i].sentence);
        if (i > 0) {
            expect_refused(write_packed("bad.idx.gz", cases[i].bytes, sizeof cases[i].bytes),
                           cases[i].status, cases[i].sentence);
        }
    }
}

/* 64 MiB of zeros are 64 KiB packed, behind a header that states 4 of them. */
Test(idx, what_a_small_file_unpacks_to_is_bounded_by_its_header)
{
    const size_t len = (size_t)64 << 20;
    char *bytes = calloc(len, 1);
    cr_assert_not_null(bytes);
    memcpy(bytes, "\0\0\x08\1\0\0\0\4", 8);
    expect_refused(write_packed("bomb.idx.gz", bytes, len), DPOT_ERR_MALFORMED,
                   "goes on after the 4 entries");
    free(bytes);
}

Test(idx, packed_parts_follow_each_other_and_only_zeros_may_follow_them)
{
    static const char bytes[] = TWO_IMAGES PIXELS;
    uint8_t all[512], part[256];
    size_t n = 0;
    for (size_t half = 0; half < 2; half++) {
        (void)write_packed("part.gz", bytes + 14 * half, 14);
        const size_t len = folder_read("part.gz", part, sizeof part);
        memcpy(all + n, part, len);
        n += len;
    }
    memset(all + n, 0, 5);
    expect_images(folder_write("two.gz", all, n));
    expect_images(folder_write("padded.gz", all, n + 5));
    all[n] = '1';
    expect_refused(folder_write("more.gz", all, n + 1), DPOT_ERR_MALFORMED, "other bytes follow");
    (void)write_packed("once.gz", bytes, sizeof bytes - 1);
    const size_t len = folder_read("once.gz", part, sizeof part);
    expect_refused(write_packed("twice.gz", part, len), DPOT_ERR_MALFORMED, "compressed twice");
}

Test(idx, more_bytes_than_stated_are_refused)
{
    static const char bytes[] = TWO_IMAGES PIXELS "\0";
    expect_refused(folder_write("long.idx", bytes, sizeof bytes - 1), DPOT_ERR_MALFORMED,
                   "goes on after the 12 entries");
}

Test(idx, nothing_is_written_as_idx)
{
    double value = 1;
    struct dpot_error error = {""};
    const struct array array = {.n_rows = 1, .n_cols = 1, .is_vector = true, .values = &value};
    cr_assert_eq(array_write(folder_path("out.idx"), &array, ARRAY_F8, &error), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(error.text, ".npy or .csv"));
}

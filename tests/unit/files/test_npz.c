#include "folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

TestSuite(npz, .init = folder_make, .fini = folder_remove);

#define BYTES_MAX 4096
#define STORED 0
#define DEFLATED 8

/* An archive in the making: its bytes and, apart, its directory. */
struct archive {
    uint8_t bytes[BYTES_MAX], directory[BYTES_MAX];
    size_t len, directory_len;
    unsigned n_members;
};

/* Appends `size` bytes of a little-endian number. */
static void put(uint8_t *out, size_t *len, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        out[(*len)++] = (uint8_t)value;
        value >>= 8;
    }
}

static void put_text(uint8_t *out, size_t *len, const void *text, size_t n)
{
    memcpy(out + *len, text, n);
    *len += n;
}

/* What both headers of a member say: version, flags, method, time, checksum, sizes, lengths. */
static void put_fields(uint8_t *out, size_t *len, unsigned method, uint64_t crc, uint64_t packed,
                       uint64_t size, size_t name_len)
{
    put(out, len, 20, 2);
    put(out, len, 0, 2);
    put(out, len, method, 2);
    put(out, len, 0x21 << 16, 4);
    put(out, len, crc, 4);
    put(out, len, packed, 4);
    put(out, len, size, 4);
    put(out, len, name_len, 2);
    put(out, len, 0, 2);
}

static size_t pack(const uint8_t *data, size_t len, unsigned method, uint8_t *out, size_t cap)
{
    if (method != DEFLATED) {
        memcpy(out, data, len);
        return len;
    }
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)data,
                  .avail_in = (unsigned)len,
                  .next_out = out,
                  .avail_out = (unsigned)cap};
    cr_assert_eq(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    const size_t n = z.total_out;
    (void)deflateEnd(&z);
    return n;
}

static void add_member(struct archive *a, const char *name, unsigned method, const void *data,
                       size_t len)
{
    uint8_t packed[BYTES_MAX];
    const size_t n_packed = pack(data, len, method, packed, sizeof packed);
    const uint64_t crc = crc32(0, data, (unsigned)len), at = a->len;
    put_text(a->bytes, &a->len, "PK\3\4", 4);
    put_fields(a->bytes, &a->len, method, crc, n_packed, len, strlen(name));
    put_text(a->bytes, &a->len, name, strlen(name));
    put_text(a->bytes, &a->len, packed, n_packed);
    put_text(a->directory, &a->directory_len, "PK\1\2\24\0", 6);
    put_fields(a->directory, &a->directory_len, method, crc, n_packed, len, strlen(name));
    put(a->directory, &a->directory_len, 0, 10);
    put(a->directory, &a->directory_len, at, 4);
    put_text(a->directory, &a->directory_len, name, strlen(name));
    a->n_members++;
}

/* A .npy of `n` bytes 1, 2, 3, ... as u1. */
static void add_array(struct archive *a, const char *name, unsigned method, uint8_t n)
{
    uint8_t npy[256] = "\x93NUMPY\1\0";
    const int len = snprintf((char *)npy + 10, 118,
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (%d,)}", n);
    memset(npy + 10 + len, ' ', (size_t)(118 - len));
    npy[8] = 118;
    for (uint8_t i = 0; i < n; i++) {
        npy[128 + i] = (uint8_t)(i + 1);
    }
    add_member(a, name, method, npy, (size_t)128 + n);
}

static const char *finish(struct archive *a, const char *name)
{
    const size_t at = a->len;
    put_text(a->bytes, &a->len, a->directory, a->directory_len);
    put_text(a->bytes, &a->len, "PK\5\6\0\0\0\0", 8);
    put(a->bytes, &a->len, a->n_members, 2);
    put(a->bytes, &a->len, a->n_members, 2);
    put(a->bytes, &a->len, a->directory_len, 4);
    put(a->bytes, &a->len, at, 4);
    put(a->bytes, &a->len, 0, 2);
    return folder_write(name, a->bytes, a->len);
}

static void expect_length(const char *path, size_t n)
{
    struct array array;
    struct dpot_error error = {""};
    cr_assert_eq(array_read(path, &array, &error), DPOT_OK, "%s", error.text);
    cr_assert(array.is_vector && array.n_rows == n, "%s: %zu", path, array.n_rows);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(array.values[i], (double)i + 1);
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
    cr_assert_null(array.values);
}

Test(npz, the_only_array_is_taken_stored_or_deflated_and_other_members_are_passed_over)
{
    struct archive stored = {.len = 0}, deflated = {.len = 0};
    add_array(&stored, "x.npy", STORED, 3);
    expect_length(finish(&stored, "stored.npz"), 3);
    add_member(&deflated, "readme.txt", STORED, "hello", 5);
    add_array(&deflated, "x.npy", DEFLATED, 100);
    expect_length(finish(&deflated, "any-name"), 100);
}

Test(npz, one_of_several_arrays_is_chosen_by_its_name)
{
    struct archive a = {.len = 0};
    add_array(&a, "images.npy", DEFLATED, 4);
    add_array(&a, "labels.npy", STORED, 2);
    expect_refused(finish(&a, "two.npz"), DPOT_ERR_ARGUMENT,
                   "it holds 2 arrays (images, labels): choose one by its name, as in "
                   "FILE.npz:NAME");
    expect_length(folder_path("two.npz:labels"), 2);
    expect_length(folder_path("two.npz:images.npy"), 4);
    expect_length(folder_path("two.npz:images:0"), 4);
    expect_refused(folder_path("two.npz:label"), DPOT_ERR_ARGUMENT,
                   "there is no array label in the archive of 2 arrays (images, labels)");
    expect_refused(folder_path("two.npz:images:1"), DPOT_ERR_ARGUMENT, "no column \"1\"");
}

/* Names of arrays are not shown on a device, and many or long ones are cut. */
Test(npz, the_names_in_an_error_are_few_and_none_for_private_data)
{
    struct archive a = {.len = 0};
    struct array array;
    struct dpot_error error = {""};
    char name[64];
    for (int i = 0; i < 9; i++) {
        (void)snprintf(name, sizeof name, "a-name-of-thirty-two-letters-or-so-%d\n.npy", i);
        add_array(&a, name, STORED, 1);
    }
    const char *path = finish(&a, "many.npz");
    expect_refused(path, DPOT_ERR_ARGUMENT, "letters-or-so-3?, ...): choose one");
    cr_assert_eq(array_read_private(path, &array, &error), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "it holds 9 arrays: choose one"), "%s", error.text);
    cr_assert_null(strstr(error.text, "letters"));
}

Test(npz, an_archive_from_a_pipe_or_packed_again_is_read)
{
    struct archive a = {.len = 0};
    add_array(&a, "x.npy", DEFLATED, 9);
    (void)finish(&a, "a.npz");
    expect_length(folder_pipe("pipe", a.bytes, a.len), 9);
    gzFile file = gzopen(folder_path("a.npz.gz"), "wb");
    cr_assert(file && gzwrite(file, a.bytes, (unsigned)a.len) == (int)a.len);
    cr_assert_eq(gzclose(file), Z_OK);
    expect_length(folder_path("a.npz.gz"), 9);
}

Test(npz, archives_without_arrays_or_of_other_methods_say_what_to_do)
{
    struct archive none = {.len = 0}, packed = {.len = 0}, empty = {.len = 0};
    add_member(&none, "a.csv", STORED, "1,2\n", 4);
    expect_refused(finish(&none, "none.npz"), DPOT_ERR_MALFORMED, "without a .npy file");
    add_array(&packed, "x.npy", 12, 3);
    expect_refused(finish(&packed, "bzip2.npz"), DPOT_ERR_MALFORMED, "packed by method 12: save");
    expect_refused(finish(&empty, "empty.npz"), DPOT_ERR_MALFORMED, "without a .npy file");
}

Test(npz, an_archive_that_is_cut_or_changed_anywhere_is_refused_or_the_same)
{
    struct archive a = {.len = 0};
    uint8_t bytes[BYTES_MAX];
    struct array array;
    struct dpot_error error;
    add_array(&a, "x.npy", DEFLATED, 5);
    (void)finish(&a, "a.npz");
    for (size_t n = 4; n < a.len; n++) {
        expect_refused(folder_write("cut.npz", a.bytes, n), DPOT_ERR_MALFORMED, "cut off");
    }
    for (size_t i = 4; i < a.len; i++) {
        memcpy(bytes, a.bytes, a.len);
        bytes[i] ^= 1;
        if (array_read(folder_write("bad.npz", bytes, a.len), &array, &error) == DPOT_OK) {
            cr_assert(array.n_rows == 5 && array.values[4] == 5, "byte %zu", i);
            array_release(&array);
        }
    }
}

/* The directory states more than deflate can make of so few bytes, the array less than there is. */
Test(npz, what_a_small_archive_unpacks_to_is_bounded_by_what_it_states)
{
    struct archive liar = {.len = 0}, bomb = {.len = 0};
    uint8_t zeros[2048] = "\x93NUMPY\1\0";
    add_array(&liar, "x.npy", DEFLATED, 5);
    memcpy(liar.directory + 24, "\xff\xff\xff\x7f", 4);
    expect_refused(finish(&liar, "liar.npz"), DPOT_ERR_MALFORMED, "damaged or cut off");
    zeros[8] = 118;
    memset(zeros + 10, ' ', 118);
    memcpy(zeros + 10, "{'descr': '|u1', 'fortran_order': False, 'shape': (5,)}", 55);
    add_member(&bomb, "x.npy", DEFLATED, zeros, sizeof zeros);
    expect_refused(finish(&bomb, "bomb.npz"), DPOT_ERR_MALFORMED, "goes on after the 5 entries");
}

Test(npz, csv_packed_with_gzip_is_read_with_its_names)
{
    struct array array;
    struct dpot_error error = {""};
    gzFile file = gzopen(folder_path("a.csv.gz"), "wb");
    cr_assert(file && gzputs(file, "lat,lon,name\n1,2,x\n3,4,y\n") > 0);
    cr_assert_eq(gzclose(file), Z_OK);
    cr_assert_eq(array_read(folder_path("a.csv.gz:lon,lat"), &array, &error), DPOT_OK, "%s",
                 error.text);
    cr_assert(array.n_rows == 2 && array.n_cols == 2 && array.values[0] == 2);
    cr_assert_str_eq(array.names[0], "lon");
    array_release(&array);
}

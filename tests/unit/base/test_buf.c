#include "base/buf.h"

#include <criterion/criterion.h>
#include <string.h>

Test(buf, grows_to_its_limit_and_not_a_byte_further)
{
    struct dpot_buf buf;
    dpot_buf_init(&buf, 100, NULL);
    uint8_t bytes[100];
    memset(bytes, 7, sizeof bytes);
    cr_assert_eq(dpot_buf_append(&buf, bytes, 60), DPOT_OK);
    cr_assert_eq(dpot_buf_append(&buf, bytes, 41), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(buf.len, 60, "a refused append changes nothing");
    cr_assert_eq(dpot_buf_append(&buf, bytes, 40), DPOT_OK);
    cr_assert_eq(buf.len, 100);
    cr_assert_eq(memcmp(buf.data, bytes, 100), 0);
    cr_assert_eq(dpot_buf_append(&buf, bytes, 1), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(dpot_buf_append(&buf, NULL, 0), DPOT_OK);
    dpot_buf_release(&buf);
}

Test(buf, a_huge_request_is_refused_and_does_not_wrap)
{
    struct dpot_buf buf;
    dpot_buf_init(&buf, 100, NULL);
    cr_assert_eq(dpot_buf_append(&buf, "x", 1), DPOT_OK);
    cr_assert_eq(dpot_buf_reserve(&buf, SIZE_MAX), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(buf.len, 1);
    dpot_buf_release(&buf);
}

Test(buf, reset_keeps_the_memory_and_release_is_idempotent)
{
    struct dpot_buf buf;
    dpot_buf_init(&buf, 1000, NULL);
    cr_assert_eq(dpot_buf_reserve(&buf, 500), DPOT_OK);
    const uint8_t *data = buf.data;
    dpot_buf_reset(&buf);
    cr_assert_eq(buf.len, 0);
    cr_assert_eq(dpot_buf_append(&buf, "abc", 3), DPOT_OK);
    cr_assert_eq(buf.data, data);
    dpot_buf_release_secret(&buf);
    dpot_buf_release(&buf);
    struct dpot_buf zeroed = {0};
    dpot_buf_release(&zeroed);
}

Test(buf, integers_are_little_endian_and_come_back)
{
    struct dpot_buf buf;
    dpot_buf_init(&buf, 12, NULL);
    cr_assert_eq(dpot_buf_append_u32(&buf, 0x04030201), DPOT_OK);
    uint8_t eight[8];
    dpot_store_u64(eight, UINT64_C(0x0c0b0a0908070605));
    cr_assert_eq(dpot_buf_append(&buf, eight, sizeof eight), DPOT_OK);
    for (uint8_t i = 0; i < 12; i++) {
        cr_assert_eq(buf.data[i], i + 1);
    }
    cr_assert_eq(dpot_load_u32(buf.data), 0x04030201);
    cr_assert_eq(dpot_load_u64(buf.data + 4), UINT64_C(0x0c0b0a0908070605));
    cr_assert_eq(dpot_buf_append_u32(&buf, 1), DPOT_ERR_TOO_LARGE);
    dpot_buf_release(&buf);
}

static void *refuse(void *ctx, void *pointer, size_t old_size, size_t new_size)
{
    (void)ctx;
    (void)pointer;
    (void)old_size;
    (void)new_size;
    return NULL;
}

Test(buf, out_of_memory_leaves_it_as_it_was)
{
    const struct dpot_allocator allocator = {refuse, NULL};
    struct dpot_buf buf;
    dpot_buf_init(&buf, 100, &allocator);
    cr_assert_eq(dpot_buf_append(&buf, "abc", 3), DPOT_ERR_MEMORY);
    cr_assert_eq(buf.len, 0);
    dpot_buf_release(&buf);
}

Test(alloc, an_array_whose_size_overflows_is_refused)
{
    cr_assert_null(dpot_alloc_array(NULL, SIZE_MAX / 2, 3));
    cr_assert_null(dpot_resize_array(NULL, NULL, 0, SIZE_MAX, 2));
}

Test(alloc, memory_is_zeroed_and_an_empty_array_is_not_null)
{
    uint8_t *bytes = dpot_alloc_array(NULL, 100, 1);
    for (size_t i = 0; i < 100; i++) {
        cr_assert_eq(bytes[i], 0);
    }
    memset(bytes, 1, 100);
    bytes = dpot_resize_array(NULL, bytes, 100, 200, 1);
    cr_assert_eq(bytes[99], 1);
    cr_assert_eq(bytes[100], 0);
    cr_assert_eq(bytes[199], 0);
    dpot_free_secret(NULL, bytes, 200, 1);
    void *empty = dpot_alloc_array(NULL, 0, 8);
    cr_assert_not_null(empty);
    dpot_free_array(NULL, empty, 0, 8);
    dpot_free_array(NULL, NULL, 10, 8);
}

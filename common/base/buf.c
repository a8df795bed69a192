#include "base/buf.h"

#include <string.h>

void dpot_buf_init(struct dpot_buf *buf, size_t max, const struct dpot_allocator *allocator)
{
    *buf = (struct dpot_buf){.max = max, .allocator = allocator};
}

void dpot_buf_release(struct dpot_buf *buf)
{
    dpot_free_array(buf->allocator, buf->data, buf->cap, 1);
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
}

void dpot_buf_release_secret(struct dpot_buf *buf)
{
    dpot_free_secret(buf->allocator, buf->data, buf->cap, 1);
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
}

void dpot_buf_reset(struct dpot_buf *buf)
{
    buf->len = 0;
}

dpot_status dpot_buf_reserve(struct dpot_buf *buf, size_t extra)
{
    if (extra > buf->max - buf->len) {
        return DPOT_ERR_TOO_LARGE;
    }
    const size_t needed = buf->len + extra;
    if (needed <= buf->cap) {
        return DPOT_OK;
    }
    size_t cap = buf->cap < 64 ? 64 : buf->cap;
    while (cap < needed) {
        cap = cap > buf->max / 2 ? needed : cap * 2;
    }
    uint8_t *data = dpot_resize_raw(buf->allocator, buf->data, buf->cap, cap);
    if (!data) {
        return DPOT_ERR_MEMORY;
    }
    buf->data = data;
    buf->cap = cap;
    return DPOT_OK;
}

dpot_status dpot_buf_append(struct dpot_buf *buf, const void *data, size_t len)
{
    const dpot_status status = dpot_buf_reserve(buf, len);
    if (status != DPOT_OK) {
        return status;
    }
    if (len > 0) {
        memcpy(buf->data + buf->len, data, len);
        buf->len += len;
    }
    return DPOT_OK;
}

void dpot_store_u32(uint8_t out[4], uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

void dpot_store_u64(uint8_t out[8], uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

uint32_t dpot_load_u32(const uint8_t in[4])
{
    uint32_t value = 0;
    for (int i = 3; i >= 0; i--) {
        value = (value << 8) | in[i];
    }
    return value;
}

uint64_t dpot_load_u64(const uint8_t in[8])
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) {
        value = (value << 8) | in[i];
    }
    return value;
}

dpot_status dpot_buf_append_u32(struct dpot_buf *buf, uint32_t value)
{
    uint8_t bytes[4];
    dpot_store_u32(bytes, value);
    return dpot_buf_append(buf, bytes, sizeof bytes);
}

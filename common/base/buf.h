/* Growable bytes with a hard limit.
 *
 * Whatever grows with outside data (a request body, a file, a campaign) grows in a buf whose `max`
 * is set at init. An append beyond it is DPOT_ERR_TOO_LARGE and changes nothing. */
#ifndef DPOT_BASE_BUF_H
#define DPOT_BASE_BUF_H

#include "base/alloc.h"
#include "dpot/status.h"

#include <stdint.h>

struct dpot_buf {
    uint8_t *data;
    size_t len; /* bytes in use */
    size_t cap; /* bytes allocated */
    size_t max; /* limit of len */
    const struct dpot_allocator *allocator;
};

/* An empty buf of at most `max` bytes. `allocator` is borrowed. */
void dpot_buf_init(struct dpot_buf *buf, size_t max, const struct dpot_allocator *allocator);

/* Frees the content; a zeroed buf is allowed. */
void dpot_buf_release(struct dpot_buf *buf);

/* Wipes the content and frees it. */
void dpot_buf_release_secret(struct dpot_buf *buf);

/* Drops the content and keeps the memory. */
void dpot_buf_reset(struct dpot_buf *buf);

/* Allocates space for `extra` more bytes. DPOT_ERR_TOO_LARGE (above max), DPOT_ERR_MEMORY: nothing
 * was changed. */
DPOT_WARN_UNUSED dpot_status dpot_buf_reserve(struct dpot_buf *buf, size_t extra);

/* Appends a copy of (data, len). Fails as dpot_buf_reserve. */
DPOT_WARN_UNUSED dpot_status dpot_buf_append(struct dpot_buf *buf, const void *data, size_t len);

/* Little-endian integers. */
DPOT_WARN_UNUSED dpot_status dpot_buf_append_u32(struct dpot_buf *buf, uint32_t value);
void dpot_store_u32(uint8_t out[4], uint32_t value);
void dpot_store_u64(uint8_t out[8], uint64_t value);
uint32_t dpot_load_u32(const uint8_t in[4]);
uint64_t dpot_load_u64(const uint8_t in[8]);

#endif

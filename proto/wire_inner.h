/* The decoders behind the signature and the seal, and their encoders: the same checks, without the
 * keys. For the wire itself, for fuzzers and for tests; everybody else opens. */
#ifndef DPOT_PROTO_WIRE_INNER_H
#define DPOT_PROTO_WIRE_INNER_H

#include "proto/wire_keys.h"
#include "proto/wire_report.h"

/* A Keys message <-> bytes, as dpot_wire_keys_sign and dpot_wire_keys_open. */
DPOT_WARN_UNUSED dpot_status dpot_wire_keys_encode(const struct dpot_keys *keys,
                                                   struct dpot_buf *out, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status dpot_wire_keys_decode(const void *data, size_t len,
                                                   const struct dpot_allocator *allocator,
                                                   struct dpot_keys *keys,
                                                   struct dpot_error *error);

#define DPOT_BATCH_HEAD_LEN (4 + DPOT_SEAL_KEY_ID_LEN) /* "DPB2" and the key's id, before the box */
#define DPOT_BATCH_LOSSES_LEN 3                        /* of losses, where they are */
#define DPOT_BATCH_LOSSES_END 5 /* of what devices of before put there, one past the largest */
#define DPOT_BATCH_LENGTH_LEN 4 /* of the batch in the box of a padded body, before it */

/* Whether a body that has a key id is padded: DPB2, or else DPB1. */
bool dpot_wire_batch_is_padded(const void *body);

/* A ReportBatch message <-> bytes, as dpot_wire_batch_seal and dpot_wire_batch_open. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_encode(const struct dpot_batch *batch,
                                                    struct dpot_buf *out);
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_decode(const void *data, size_t len,
                                                    const struct dpot_allocator *allocator,
                                                    struct dpot_batch *batch,
                                                    struct dpot_error *error);

/* What is in the box of a padded body: the batch's length, the batch and zeros. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_decode_padded(const void *data, size_t len,
                                                           const struct dpot_allocator *allocator,
                                                           struct dpot_batch *batch,
                                                           struct dpot_error *error);

/* dpot_wire_batch_decode without the short way for canonical batches (canonical_batch.h): what it
 * refuses is refused. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_decode_any(const void *data, size_t len,
                                                        const struct dpot_allocator *allocator,
                                                        struct dpot_batch *batch,
                                                        struct dpot_error *error);

#endif

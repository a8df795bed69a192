/* Encoders and decoders of what is inside a signature or a seal. Private to proto/wire_*.c, fuzzers
 * and tests. */
#ifndef DPOT_PROTO_WIRE_INNER_H
#define DPOT_PROTO_WIRE_INNER_H

#include "proto/wire_keys.h"
#include "proto/wire_report.h"

/* Keys <-> bytes; fail as dpot_wire_keys_sign and dpot_wire_keys_open. */
DPOT_WARN_UNUSED dpot_status dpot_wire_keys_encode(const struct dpot_keys *keys,
                                                   struct dpot_buf *out, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status dpot_wire_keys_decode(const void *data, size_t len,
                                                   const struct dpot_allocator *allocator,
                                                   struct dpot_keys *keys,
                                                   struct dpot_error *error);

#define DPOT_BATCH_HEAD_LEN (4 + DPOT_SEAL_KEY_ID_LEN) /* "DPB2" and the key id, before the box */
#define DPOT_BATCH_LOSSES_LEN 3                        /* bytes of `losses` */
#define DPOT_BATCH_LOSSES_END 5 /* one past the largest byte that old devices send there */
#define DPOT_BATCH_LENGTH_LEN 4 /* length of the batch, before it in the box of a padded body */

/* Whether a body is padded: DPB2, otherwise DPB1. */
bool dpot_wire_batch_is_padded(const void *body);

/* ReportBatch <-> bytes; fail as dpot_wire_batch_seal and dpot_wire_batch_open. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_encode(const struct dpot_batch *batch,
                                                    struct dpot_buf *out);
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_decode(const void *data, size_t len,
                                                    const struct dpot_allocator *allocator,
                                                    struct dpot_batch *batch,
                                                    struct dpot_error *error);

/* The content of a padded box: the length of the batch, the batch, zeros. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_decode_padded(const void *data, size_t len,
                                                           const struct dpot_allocator *allocator,
                                                           struct dpot_batch *batch,
                                                           struct dpot_error *error);

#endif

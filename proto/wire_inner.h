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

#define DPOT_BATCH_HEAD_LEN (4 + DPOT_SEAL_KEY_ID_LEN) /* "DPB1" and the key's id, before the box */

/* A ReportBatch message <-> bytes, as dpot_wire_batch_seal and dpot_wire_batch_open. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_encode(const struct dpot_batch *batch,
                                                    struct dpot_buf *out);
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_decode(const void *data, size_t len,
                                                    const struct dpot_allocator *allocator,
                                                    struct dpot_batch *batch,
                                                    struct dpot_error *error);

/* The same without the short way for canonical batches (canonical_batch.h): what it refuses is refused. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_decode_any(const void *data, size_t len,
                                                        const struct dpot_allocator *allocator,
                                                        struct dpot_batch *batch,
                                                        struct dpot_error *error);

#endif

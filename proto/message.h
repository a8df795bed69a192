/* protobuf-c for untrusted bytes: the only one of our headers that includes the library's.
 *
 * Unpacking allocates in an arena, so nothing is freed piece by piece. The schemas have no
 * recursive message, which bounds nesting to a few levels: unknown fields are not parsed, and the
 * library refuses groups. */
#ifndef DPOT_PROTO_MESSAGE_H
#define DPOT_PROTO_MESSAGE_H

#include "base/buf.h"
#include "base/error.h"
#include "proto/arena.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/* Memory limit of a message: a multiple of its length, plus a constant for short ones. */
#define DPOT_MESSAGE_CEILING(len) (16 * (size_t)(len) + (64u << 10))

/* Parses (data, len) as a message of `type`, with unknown fields, into the arena; *message is valid
 * as long as the arena, and NULL on failure. DPOT_ERR_MALFORMED; DPOT_ERR_TOO_LARGE: the arena's
 * limit; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_message_unpack(const ProtobufCMessageDescriptor *type,
                                                 const void *data, size_t len,
                                                 struct dpot_arena *arena,
                                                 ProtobufCMessage **message,
                                                 struct dpot_error *error);

/* DPOT_ERR_VERSION if the message, or one inside it at any depth, has a field that the schema does
 * not have; the error names message and field number. */
DPOT_WARN_UNUSED dpot_status dpot_message_refuse_unknown(const ProtobufCMessage *message,
                                                         struct dpot_error *error);

/* Packs and appends the message. DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY: nothing was appended. */
DPOT_WARN_UNUSED dpot_status dpot_message_append(const ProtobufCMessage *message,
                                                 struct dpot_buf *out);

/* Whether the message packs to exactly (data, len): the test for canonical bytes. Allocates
 * nothing. */
bool dpot_message_packs_to(const ProtobufCMessage *message, const void *data, size_t len);

#endif

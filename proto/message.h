/* protobuf-c, with distrust: the only header of ours that includes the library's.
 *
 * Unpacking takes its memory from an arena, so nothing is freed piece by piece. The schemas have no
 * recursive message, so nesting is bounded by them (a few levels): content of unknown fields is
 * never descended into, and groups are refused by the library. */
#ifndef DPOT_PROTO_MESSAGE_H
#define DPOT_PROTO_MESSAGE_H

#include "base/buf.h"
#include "base/error.h"
#include "proto/arena.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/* Memory that honest messages need: a multiple of their length, and a floor for short ones. */
#define DPOT_MESSAGE_CEILING(len) (16 * (size_t)(len) + (64u << 10))

/* Parses (data, len) as a message of `type` into the arena; *message dies with the arena and is
 * NULL on failure. Unknown fields are kept for the next two calls. DPOT_ERR_MALFORMED;
 * DPOT_ERR_TOO_LARGE when it asks for more than the arena's ceiling; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_message_unpack(const ProtobufCMessageDescriptor *type,
                                                 const void *data, size_t len,
                                                 struct dpot_arena *arena,
                                                 ProtobufCMessage **message,
                                                 struct dpot_error *error);

/* DPOT_ERR_VERSION with a sentence that names message and field number when the message, or one
 * inside it at any depth, holds a field that the schema does not have. */
DPOT_WARN_UNUSED dpot_status dpot_message_refuse_unknown(const ProtobufCMessage *message,
                                                         struct dpot_error *error);

/* The same for the message itself, without the messages inside it. */
DPOT_WARN_UNUSED dpot_status dpot_message_refuse_unknown_here(const ProtobufCMessage *message,
                                                              struct dpot_error *error);

/* Appends the packed message. DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY: nothing was appended. */
DPOT_WARN_UNUSED dpot_status dpot_message_append(const ProtobufCMessage *message,
                                                 struct dpot_buf *out);

/* True when the message packs to exactly (data, len): the test for canonical bytes. Allocates
 * nothing. */
bool dpot_message_packs_to(const ProtobufCMessage *message, const void *data, size_t len);

#endif

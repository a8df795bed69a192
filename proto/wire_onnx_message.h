/* The message of a graph. Private to wire_onnx.c and wire_onnx_read.c. */
#ifndef DPOT_PROTO_WIRE_ONNX_MESSAGE_H
#define DPOT_PROTO_WIRE_ONNX_MESSAGE_H

#include "proto/message.h"
#include "proto/wire_onnx.h"

struct dpot_onnx_builder {
    struct dpot_arena *arena;
    bool is_full; /* an allocation was refused: discard the message */
};

/* Zeroed memory for `count` elements, at least one byte; NULL if refused. */
void *dpot_onnx_take(struct dpot_onnx_builder *b, size_t count, size_t size);

/* The message of `graph`, which it borrows from, in the arena. NULL: out of memory. */
ProtobufCMessage *dpot_onnx_message(struct dpot_onnx_builder *b,
                                    const struct dpot_onnx_graph *graph);

/* DPOT_ERR_TOO_LARGE: n > most; the error says how many `what` there are. */
DPOT_WARN_UNUSED dpot_status dpot_onnx_check_count(const char *what, size_t n, size_t most,
                                                   struct dpot_error *error);

/* Checks the counts of a graph, or of its message. */
DPOT_WARN_UNUSED dpot_status dpot_onnx_check_counts(size_t n_nodes, size_t n_tensors,
                                                    size_t n_inputs, size_t n_outputs,
                                                    size_t n_pairs, struct dpot_error *error);

#endif

/* Between wire_onnx.c and wire_onnx_read.c: a graph as a message. */
#ifndef DPOT_PROTO_WIRE_ONNX_MESSAGE_H
#define DPOT_PROTO_WIRE_ONNX_MESSAGE_H

#include "proto/message.h"
#include "proto/wire_onnx.h"

struct dpot_onnx_builder {
    struct dpot_arena *arena;
    bool is_full; /* an allocation was refused: what was built is not to be used */
};

/* Zeroed memory for `count` elements, one byte at least; NULL when refused. */
void *dpot_onnx_take(struct dpot_onnx_builder *b, size_t count, size_t size);

/* The model that `graph` is; it borrows from the graph and lives in the arena. NULL: no memory. */
ProtobufCMessage *dpot_onnx_message(struct dpot_onnx_builder *b,
                                    const struct dpot_onnx_graph *graph);

/* DPOT_ERR_TOO_LARGE with a sentence that counts `what`. */
DPOT_WARN_UNUSED dpot_status dpot_onnx_check_count(const char *what, size_t n, size_t most,
                                                   struct dpot_error *error);

/* The counts of a graph, from the graph itself or from its message. */
DPOT_WARN_UNUSED dpot_status dpot_onnx_check_counts(size_t n_nodes, size_t n_tensors,
                                                    size_t n_inputs, size_t n_outputs,
                                                    size_t n_pairs, struct dpot_error *error);

#endif

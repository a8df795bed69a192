/* ONNX models <-> bytes: the part of ONNX that a feed-forward network needs.
 *
 * The schema is that of libonnx-dev without its recursive fields (graphs inside attributes, types
 * inside types), so that it bounds nesting. Written are nodes with attributes, tensors with values
 * as raw bytes, and text pairs. Decoding is as strict as for our own messages (wire_campaign.h):
 * counts and sizes are bounded, unknown fields are refused, and the bytes must be those of encoding
 * the same graph. So it accepts what this program wrote, which other programs read like any ONNX
 * model, and nothing else.
 *
 *     struct dpot_onnx_graph graph;                    pointers are borrowed by encode
 *     dpot_wire_onnx_encode(&graph, &bytes, &error);
 *
 *     struct dpot_arena arena;                         memory of the decoded graph
 *     dpot_arena_init(&arena, DPOT_ONNX_MEMORY(len), allocator);
 *     dpot_wire_onnx_decode(data, len, &arena, &graph, &error);
 *     dpot_arena_release(&arena); */
#ifndef DPOT_PROTO_WIRE_ONNX_H
#define DPOT_PROTO_WIRE_ONNX_H

#include "base/buf.h"
#include "base/error.h"
#include "proto/arena.h"

#include <stddef.h>
#include <stdint.h>

#define DPOT_ONNX_BYTES_MAX (512u << 20)
#define DPOT_ONNX_IR_VERSION 7
#define DPOT_ONNX_OPSET 13
#define DPOT_ONNX_NODES_MAX 256
#define DPOT_ONNX_TENSORS_MAX 256
#define DPOT_ONNX_PAIRS_MAX 64
#define DPOT_ONNX_ENDS_MAX 8 /* inputs and outputs of a graph or a node, attributes, dimensions */
#define DPOT_ONNX_INTS_MAX 16

/* Memory to decode `len` bytes: the message and a copy of the values. */
#define DPOT_ONNX_MEMORY(len) (8 * (size_t)(len) + (256u << 10))

/* The numbers of ONNX. */
enum dpot_onnx_attribute_type {
    DPOT_ONNX_FLOAT = 1,
    DPOT_ONNX_INT = 2,
    DPOT_ONNX_TEXT = 3,
    DPOT_ONNX_INTS = 7,
};

struct dpot_onnx_attribute {
    const char *name;
    enum dpot_onnx_attribute_type type;
    float f; /* set is the member that `type` names */
    int64_t i;
    const char *text;
    const int64_t *ints; /* (n_ints) */
    size_t n_ints;
};

struct dpot_onnx_node {
    const char *op; /* "Gemm", "Relu", ... */
    const char *name;
    const char *inputs[DPOT_ONNX_ENDS_MAX];
    size_t n_inputs;
    const char *outputs[DPOT_ONNX_ENDS_MAX];
    size_t n_outputs;
    const struct dpot_onnx_attribute *attributes;
    size_t n_attributes;
};

/* An initialiser, float32 or int64; the other pointer is NULL. */
struct dpot_onnx_tensor {
    const char *name;
    int64_t dims[DPOT_ONNX_ENDS_MAX];
    size_t n_dims;
    size_t n_values; /* the product of dims */
    const float *floats;
    const int64_t *ints;
};

/* An input or output of the graph, float32. */
struct dpot_onnx_end {
    const char *name;
    int64_t dims[DPOT_ONNX_ENDS_MAX]; /* 0: any, named "n" */
    size_t n_dims;
};

struct dpot_onnx_pair {
    const char *key, *value;
};

struct dpot_onnx_graph {
    const char *producer, *producer_version;
    const char *name, *description;
    const struct dpot_onnx_node *nodes; /* (n_nodes) in order of evaluation */
    size_t n_nodes;
    const struct dpot_onnx_tensor *tensors;
    size_t n_tensors;
    const struct dpot_onnx_end *inputs, *outputs;
    size_t n_inputs, n_outputs;
    const struct dpot_onnx_pair *pairs; /* metadata_props */
    size_t n_pairs;
};

/* Appends the bytes. DPOT_ERR_TOO_LARGE: a count or `out` above its limit; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_wire_onnx_encode(const struct dpot_onnx_graph *graph,
                                                   struct dpot_buf *out, struct dpot_error *error);

/* Parses (data, len) into *graph, without NULL strings; zeroed on failure. DPOT_ERR_MALFORMED,
 * DPOT_ERR_VERSION, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_wire_onnx_decode(const void *data, size_t len,
                                                   struct dpot_arena *arena,
                                                   struct dpot_onnx_graph *graph,
                                                   struct dpot_error *error);

#endif

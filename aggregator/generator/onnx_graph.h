/* A network as an ONNX graph: standard operators only (opset 13), float32, any number of points.
 *
 *     z (n, latent_dim) -> Gemm, Relu ... -> x (n, dim)
 *
 * dcgan28: Gemm, Reshape, BatchNormalization (with its running state), Relu, ConvTranspose ...
 * resize28: a ConvTranspose that enlarges each channel separately, then Conv.
 * A bounded output is Tanh or Sigmoid, Mul, Add.
 * ONNX puts channels before rows and columns, networks after them: weights whose outputs are images
 * are reordered. */
#ifndef DPOT_GENERATOR_ONNX_GRAPH_H
#define DPOT_GENERATOR_ONNX_GRAPH_H

#include "proto/wire_onnx.h"
#include "solve/learn/network.h"

#define ONNX_GRAPH_NODES_MAX (4 * ARCHITECTURE_LAYERS_MAX + 2)
#define ONNX_GRAPH_TENSORS_MAX (5 * ARCHITECTURE_LAYERS_MAX + 2)
#define ONNX_GRAPH_ENLARGEMENT 3 /* attributes of a ConvTranspose that enlarges */
#define ONNX_GRAPH_NAME_LEN 24

/* The graph and the storage it points to. Must not be moved; the values are copies. */
struct onnx_graph {
    struct dpot_onnx_graph graph; /* producer, texts and pairs are filled by the caller */

    struct dpot_onnx_node nodes[ONNX_GRAPH_NODES_MAX];
    char names[ONNX_GRAPH_NODES_MAX][ONNX_GRAPH_NAME_LEN]; /* of a node and of its output */
    struct dpot_onnx_tensor tensors[ONNX_GRAPH_TENSORS_MAX];
    char tensor_names[ONNX_GRAPH_TENSORS_MAX][ONNX_GRAPH_NAME_LEN];
    struct dpot_onnx_end input, output;
    struct dpot_onnx_attribute enlargements[ARCHITECTURE_LAYERS_MAX][ONNX_GRAPH_ENLARGEMENT];
    int64_t shapes[ARCHITECTURE_LAYERS_MAX + 1][4]; /* of Reshape */
    size_t n_shapes;
    float *values; /* (n_values) */
    size_t n_values;
    const struct dpot_allocator *allocator;
};

/* DPOT_ERR_RANGE: the network cannot be expressed as such a graph (a classifier). */
DPOT_WARN_UNUSED dpot_status onnx_graph_check(const struct architecture *architecture,
                                              struct dpot_error *error);

/* Number of values in the graph: parameters, state, the taps of enlargements, the two numbers of a
 * range. */
size_t onnx_graph_n_values(const struct architecture *architecture);

/* Builds the graph. DPOT_ERR_RANGE: not the architecture of a generator. DPOT_ERR_MEMORY. *out is
 * zeroed on failure. */
DPOT_WARN_UNUSED dpot_status onnx_graph_init(struct onnx_graph *out, struct network *net,
                                             const struct dpot_allocator *allocator,
                                             struct dpot_error *error);
void onnx_graph_release(struct onnx_graph *graph);

/* Copies the values of a decoded graph into the network. Checks only their number; the caller
 * verifies the rest of the graph by encoding the network again.
 * DPOT_ERR_SHAPE: the number of values differs. DPOT_ERR_RANGE: a value is not finite. */
DPOT_WARN_UNUSED dpot_status onnx_graph_read(const struct dpot_onnx_graph *graph,
                                             struct network *net, struct dpot_error *error);

#endif

/* Parses the name of an architecture, such as "mlp:256,256", into a list of layers with their
 * shapes and their offsets in the network's flat vectors. network.h lists the names. */
#ifndef DPOT_SOLVE_LEARN_ARCHITECTURE_H
#define DPOT_SOLVE_LEARN_ARCHITECTURE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCHITECTURE_LAYERS_MAX 16
#define ARCHITECTURE_WIDTH_MAX 16384     /* units or channels of a hidden layer */
#define ARCHITECTURE_DIM_MAX (1u << 20)  /* coordinates of input and output */
#define ARCHITECTURE_SIZE_MAX (1u << 28) /* numbers of one layer */
#define ARCHITECTURE_NAME_MAX 100

enum network_bound {
    NETWORK_UNBOUNDED = 0,
    NETWORK_TANH = 1,    /* lo + (hi - lo) (1 + tanh x) / 2 */
    NETWORK_SIGMOID = 2, /* lo + (hi - lo) / (1 + exp(-x)) */
};

enum layer_kind {
    LAYER_DENSE = 0,          /* y = x W + b;  W is (in, out) */
    LAYER_CONV = 1,           /* W is (kernel, kernel, in channels, out channels) */
    LAYER_CONV_TRANSPOSE = 2, /* W is (in channels, kernel, kernel, out channels) */
    LAYER_BATCH_NORM = 3,     /* y = gain (x - mean) / sqrt(variance + BATCH_NORM_FLOOR) + offset */
    LAYER_BOUND = 4,
    LAYER_RESIZE_CONV = 5, /* upsampling by two, then a convolution; W as in LAYER_CONV_TRANSPOSE */
};

#define BATCH_NORM_FLOOR 1e-5f
#define BATCH_NORM_RATE 0.1f /* weight of the batch in the running state */

struct layer_shape {
    size_t height, width, channels; /* vectors: 1, 1, size */
};

struct layer {
    enum layer_kind kind;
    bool is_rectified; /* followed by ReLU */
    bool has_bias;
    struct layer_shape in, out;
    size_t kernel, stride, padding; /* of convolutions */
    enum network_bound bound;       /* of LAYER_BOUND, with its range */
    float lo, hi;
    size_t parameters_at, n_weights, n_parameters; /* weights first */
    size_t state_at, n_state;
};

struct architecture {
    char name[ARCHITECTURE_NAME_MAX + 1]; /* canonical: "dcgan28" is "dcgan28:128" */
    size_t in_dim, out_dim;
    size_t n_layers;
    struct layer layers[ARCHITECTURE_LAYERS_MAX];
    size_t n_parameters, n_state;
};

/* height * width * channels */
size_t layer_shape_size(const struct layer_shape *shape);

/* Validates the syntax of the name only; architecture_parse checks that it fits the data.
 * DPOT_ERR_RANGE. */
DPOT_WARN_UNUSED dpot_status architecture_check_name(const char *name, struct dpot_error *error);

/* DPOT_ERR_RANGE with a message that says what is possible. */
DPOT_WARN_UNUSED dpot_status architecture_parse(const char *name, size_t in_dim, size_t out_dim,
                                                enum network_bound bound, float lo, float hi,
                                                struct architecture *architecture,
                                                struct dpot_error *error);

#endif

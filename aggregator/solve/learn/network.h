/* Small neural networks on the CPU: forward, and the gradient of any loss by back-propagation.
 *
 *     struct network_config config = {.architecture = "mlp:256,256", .latent_dim = 16, .dim = 2,
 *                                     .max_batch = 1000, .linalg = ..., .team = ...};
 *     network_new(&config, &net, &error);
 *     network_initialise(net, seed);
 *     network_forward(net, z, n, NETWORK_TRAIN, out);    out = G(z), row by row
 *     network_backward(net, d_out, gradient);            d loss / d parameters from d loss / d out
 *     network_free(net);
 *
 * Architectures
 *   mlp:W1,W2,...  dense layers of these widths with ReLU, then a dense layer of width dim. "mlp"
 *                  is one dense layer.
 *   dcgan28:W      28x28 images: dense to 7x7xW, batch norm, ReLU; transposed convolution 4x4 with
 *                  stride 2 to 14x14x(W/2), batch norm, ReLU; another to 28x28x1. dim = 784. The
 *                  full width is 128 ("dcgan28" alone); 32 and less suit small machines.
 *   resize28:C1,C2,W,...  28x28 images: dense layers of widths W,... (if any) with ReLU, dense to
 *                  7x7xC1, batch norm, ReLU; resize convolution 5x5 to 14x14xC2, batch norm, ReLU;
 *                  another to 28x28x1. Upsampling is by linear interpolation before the
 *                  convolution, which avoids the speckle of dcgan28 on noisy pools. dim = 784.
 *   conv28:C1,C2,W for classifiers of 28x28 images (latent_dim = 784): convolutions 5x5 with stride
 *                  2 and ReLU to 14x14xC1 and 7x7xC2, dense to W with ReLU, dense to dim.
 * The output is linear, or bounded to (lo, hi) by a scaled tanh or sigmoid. Images are row-major,
 * and between layers channels come last.
 *
 * All parameters are one float32 vector, layer by layer (weights, then biases; batch norm: gains,
 * then offsets), and all running state another (batch norm: means, then variances): saving both
 * saves the network; an optimizer takes the parameters and the gradient.
 *
 * network_new allocates everything; passes allocate nothing. The split into tasks depends only on n
 * and sums have a fixed order: the same bits for any number of threads (with the same linalg). Not
 * thread-safe. */
#ifndef DPOT_SOLVE_LEARN_NETWORK_H
#define DPOT_SOLVE_LEARN_NETWORK_H

#include "base/alloc.h"
#include "base/error.h"
#include "ot/linalg_f32.h"
#include "solve/learn/architecture.h"
#include "solve/run/team.h"

#include <stddef.h>
#include <stdint.h>

#define NETWORK_BYTES_MAX (UINT64_C(4) << 30) /* parameters, activations and workspace together */
#define NETWORK_BATCH_MAX ((size_t)1 << 20)

struct network;

struct network_config {
    const char *architecture;
    size_t latent_dim, dim; /* of input and output points */
    enum network_bound bound;
    float lo, hi;                         /* finite, lo < hi; used if the output is bounded */
    size_t max_batch;                     /* points of one training step, 1 .. NETWORK_BATCH_MAX */
    const struct dpot_linalg_f32 *linalg; /* NULL: the portable one */
    struct team *team;                    /* borrowed; NULL: the calling thread */
    const struct dpot_allocator *allocator;
};

enum network_mode {
    NETWORK_INFER = 0, /* batch norm uses its running state */
    NETWORK_TRAIN = 1, /* batch norm uses the batch, and updates its running state */
};

/* Parameters and state are zero until network_initialise or a copy from elsewhere. DPOT_ERR_RANGE
 * (architecture, size or bound), DPOT_ERR_TOO_LARGE (more than NETWORK_BYTES_MAX), DPOT_ERR_MEMORY,
 * each with a message. */
DPOT_WARN_UNUSED dpot_status network_new(const struct network_config *config, struct network **net,
                                         struct dpot_error *error);
void network_free(struct network *net);

/* Bytes that network_new allocates for max_batch points. */
uint64_t network_bytes(const struct architecture *architecture, size_t max_batch);

/* The layers, with the offsets of their parameters and state. Borrowed. */
const struct architecture *network_architecture(const struct network *net);

/* Random weights, scaled to keep activations near 1; zero biases; batch norm is the identity. */
void network_initialise(struct network *net, uint64_t seed);

/* The flat vectors: read and written in place. Borrowed, valid until network_free. */
float *network_parameters(struct network *net);
float *network_state(struct network *net);
size_t network_n_parameters(const struct network *net);
size_t network_n_state(const struct network *net);

/* Writes G(z). n <= max_batch for training; any n for inference. */
void network_forward(struct network *net, const float *z /* (n, latent_dim) */, size_t n,
                     enum network_mode mode, float *out /* (n, dim) */);

/* After a training forward pass: overwrites `gradient` with that of sum(d_out . out). */
void network_backward(struct network *net, const float *d_out /* (n, dim) */,
                      float *gradient /* (n_parameters) */);

/* Output of the last hidden layer, (n, network_hidden_dim), of the last forward pass, which must
 * have had at most max_batch points. NULL: no hidden layer. Borrowed until the next pass. */
const float *network_hidden(const struct network *net);
size_t network_hidden_dim(const struct network *net);

#endif

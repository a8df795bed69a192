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
 *   mlp:W1,W2,...  dense layers of these widths with ReLU, then a dense layer of width dim. "mlp" is
 *                  one dense layer.
 *   dcgan28:W      28x28 images: dense to 7x7xW, batch norm, ReLU; transposed convolution 4x4 with
 *                  stride 2 to 14x14x(W/2), batch norm, ReLU; another to 28x28x1. dim = 784. The
 *                  full width is 128 ("dcgan28" alone); 32 and less suit small machines.
 *   resize28:C1,C2,W,...  28x28 images: dense layers of widths W,... (if any) with ReLU, dense to
 *                  7x7xC1, batch norm, ReLU; resize convolution 5x5 to 14x14xC2, batch norm, ReLU;
 *                  another to 28x28x1. They enlarge by linear interpolation before they convolve, so
 *                  that images are smooth where the data say nothing: on noisy pools dcgan28 makes
 *                  speckle, this does not. dim = 784.
 *   conv28:C1,C2,W for classifiers of 28x28 images (latent_dim = 784): convolutions 5x5 with stride 2
 *                  and ReLU to 14x14xC1 and 7x7xC2, dense to W with ReLU, dense to dim.
 * The output is linear, or bounded to (lo, hi) by a scaled tanh or sigmoid. Images are row-major,
 * and between layers channels come last.
 *
 * All parameters are one float32 vector, layer by layer (weights, then biases; batch norm: gains,
 * then offsets), and all running state another (batch norm: means, then variances): copy both and
 * the network is saved; give the gradient and the parameters to an optimizer and it is trained.
 *
 * Everything is allocated by network_new. A forward or backward pass allocates nothing. The work is
 * cut in ways that depend on n only and sums are taken in a fixed order: the same bits for any
 * number of threads (with the same linalg). One network, one caller at a time. */
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
    float lo, hi;     /* finite, lo < hi; looked at when the output is bounded */
    size_t max_batch; /* points of one training step, 1 .. NETWORK_BATCH_MAX */
    const struct dpot_linalg_f32 *linalg; /* NULL: the portable one */
    struct team *team;                    /* borrowed; NULL: everything on the calling thread */
    const struct dpot_allocator *allocator;
};

enum network_mode {
    NETWORK_INFER = 0, /* batch norm uses its running state */
    NETWORK_TRAIN = 1, /* batch norm uses the batch, and moves its running state by a tenth */
};

/* Parameters and state are zero until network_initialise or a copy from elsewhere. DPOT_ERR_RANGE
 * (an architecture, size or bound that is not possible), DPOT_ERR_TOO_LARGE (more than
 * NETWORK_BYTES_MAX), DPOT_ERR_MEMORY, each with a sentence. */
DPOT_WARN_UNUSED dpot_status network_new(const struct network_config *config, struct network **net,
                                         struct dpot_error *error);
void network_free(struct network *net);

/* Bytes that network_new takes for this many points a step. */
uint64_t network_bytes(const struct architecture *architecture, size_t max_batch);

/* The layers, with where each has its parameters and state. Borrowed. */
const struct architecture *network_architecture(const struct network *net);

/* Random weights of a size that keeps activations near 1, no biases; batch norm as the identity. */
void network_initialise(struct network *net, uint64_t seed);

/* The flat vectors: read and written in place. Borrowed, valid until network_free. */
float *network_parameters(struct network *net);
float *network_state(struct network *net);
size_t network_n_parameters(const struct network *net);
size_t network_n_state(const struct network *net);

/* Writes G(z). To train, n is at most max_batch; to infer, it may be any number. */
void network_forward(struct network *net, const float *z /* (n, latent_dim) */, size_t n,
                     enum network_mode mode, float *out /* (n, dim) */);

/* After a training forward pass: overwrites `gradient` with that of sum(d_out . out). */
void network_backward(struct network *net, const float *d_out /* (n, dim) */,
                      float *gradient /* (n_parameters) */);

/* Of the last forward pass over at most max_batch points: what the last hidden layer gave, (n,
 * network_hidden_dim). NULL when there is no hidden layer. Borrowed until the next pass. */
const float *network_hidden(const struct network *net);
size_t network_hidden_dim(const struct network *net);

#endif

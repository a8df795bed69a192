/* Resize convolutions (Odena, Dumoulin, Olah 2016): linear interpolation to twice the size, zero
 * beyond the edges, then a convolution with an odd kernel that keeps the size. Together they are a
 * transposed convolution of stride two, which runs here; its kernel is recomputed in each pass,
 * along rows and columns:
 *
 *     y[o] = sum over t of W[t] up(x)[o + t - r],          r = (kernel - 1) / 2
 *     up(x)[p] = sum over i of taps[p - 2i + 1] x[i],      taps = (1, 3, 3, 1) / 4
 *
 *     y[o] = sum over i of V[o - 2i + r + 1] x[i],
 *     V[k] = sum over a of taps[a] W[2r + a - k]
 *
 * Memory holds the parameters of that convolution, then their gradient. */
#include "solve/learn/layer.h"

#include <string.h>

#define TAPS 4
static const float taps[TAPS] = {0.25F, 0.75F, 0.75F, 0.25F};

struct layer layer_resized(const struct layer *layer)
{
    struct layer resized = *layer;
    resized.kind = LAYER_CONV_TRANSPOSE;
    resized.kernel = layer->kernel + TAPS - 1;
    resized.padding = layer->padding + 1;
    resized.n_weights = layer->in.channels * resized.kernel * resized.kernel * layer->out.channels;
    resized.n_parameters = resized.n_weights + layer->n_parameters - layer->n_weights;
    return resized;
}

/* Weights are vectors of out channels, numbered (in channel, row, column). Returns the weight of
 * the resized kernel to which the layer's `weight` contributes with row and column `tap` of the
 * interpolation. */
static size_t share_of(const struct layer *layer, size_t weight, size_t tap)
{
    const size_t kernel = layer->kernel, last = kernel - 1, resized = kernel + TAPS - 1;
    const size_t channel = weight / (kernel * kernel);
    const size_t y = weight / kernel % kernel, x = weight % kernel;
    return (channel * resized + last - y + tap / TAPS) * resized + last - x + tap % TAPS;
}

static float share_size(size_t tap)
{
    return taps[tap / TAPS] * taps[tap % TAPS];
}

static size_t n_vectors(const struct layer *layer)
{
    return layer->n_weights / layer->out.channels;
}

static void add(size_t n, float factor, const float *from, float *restrict to)
{
    for (size_t j = 0; j < n; j++) {
        to[j] += factor * from[j];
    }
}

static void resize_weights(const struct layer *layer, const float *weights, float *resized)
{
    const size_t n = layer->out.channels;
    for (size_t w = 0; w < n_vectors(layer); w++) {
        for (size_t tap = 0; tap < TAPS * TAPS; tap++) {
            add(n, share_size(tap), weights + w * n, resized + share_of(layer, w, tap) * n);
        }
    }
}

/* The transpose. */
static void gather_gradient(const struct layer *layer, const float *resized, float *gradient)
{
    const size_t n = layer->out.channels;
    for (size_t w = 0; w < n_vectors(layer); w++) {
        for (size_t tap = 0; tap < TAPS * TAPS; tap++) {
            add(n, share_size(tap), resized + share_of(layer, w, tap) * n, gradient + w * n);
        }
    }
}

static size_t bias_bytes(const struct layer *layer)
{
    return (layer->n_parameters - layer->n_weights) * sizeof(float);
}

static struct layer_pass inner_pass(const struct layer_pass *pass, const struct layer *resized)
{
    struct layer_pass inner = *pass;
    inner.layer = resized;
    inner.parameters = pass->memory;
    inner.gradient = pass->memory + resized->n_parameters;
    inner.memory = NULL;
    return inner;
}

static void forward(struct layer_pass *pass)
{
    const struct layer *layer = pass->layer, resized = layer_resized(layer);
    struct layer_pass inner = inner_pass(pass, &resized);
    memset(pass->memory, 0, resized.n_weights * sizeof *pass->memory);
    resize_weights(layer, pass->parameters, pass->memory);
    memcpy(pass->memory + resized.n_weights, pass->parameters + layer->n_weights,
           bias_bytes(layer));
    layer_conv_transpose.forward(&inner);
}

/* Memory still holds the kernel of the forward pass. */
static void backward(struct layer_pass *pass)
{
    const struct layer *layer = pass->layer, resized = layer_resized(layer);
    struct layer_pass inner = inner_pass(pass, &resized);
    layer_conv_transpose.backward(&inner);
    memset(pass->gradient, 0, layer->n_weights * sizeof *pass->gradient);
    gather_gradient(layer, inner.gradient, pass->gradient);
    memcpy(pass->gradient + layer->n_weights, inner.gradient + resized.n_weights,
           bias_bytes(layer));
}

const struct layer_class layer_resize_conv = {forward, backward, false};

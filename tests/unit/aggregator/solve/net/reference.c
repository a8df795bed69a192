#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t at(const struct layer_shape *s, size_t sample, size_t y, size_t x, size_t c)
{
    return ((sample * s->height + y) * s->width + x) * s->channels + c;
}

static void dense(const struct layer *l, const double *w, size_t n, const double *in, double *out)
{
    const size_t n_in = layer_shape_size(&l->in), n_out = layer_shape_size(&l->out);
    for (size_t s = 0; s < n; s++) {
        for (size_t j = 0; j < n_out; j++) {
            double sum = l->has_bias ? w[n_in * n_out + j] : 0;
            for (size_t i = 0; i < n_in; i++) {
                sum += in[s * n_in + i] * w[i * n_out + j];
            }
            out[s * n_out + j] = sum;
        }
    }
}

/* Position of a small pixel's kernel element on the large side; false outside. */
static bool meet(const struct layer *l, const struct layer_shape *large, size_t y, size_t x,
                 size_t ky, size_t kx, size_t *large_y, size_t *large_x)
{
    const long row = (long)(y * l->stride + ky) - (long)l->padding;
    const long col = (long)(x * l->stride + kx) - (long)l->padding;
    *large_y = (size_t)row;
    *large_x = (size_t)col;
    return row >= 0 && col >= 0 && row < (long)large->height && col < (long)large->width;
}

static void add_biases(const struct layer *l, const double *bias, size_t n, double *out)
{
    const size_t n_out = n * layer_shape_size(&l->out);
    for (size_t i = 0; i < n_out; i++) {
        out[i] = l->has_bias ? bias[i % l->out.channels] : 0;
    }
}

/* One pair of a small pixel and a kernel element, for all channels. */
static void pair(const struct layer *l, const double *w, size_t s, const size_t small[2],
                 const size_t k[2], const double *in, double *out)
{
    const bool is_conv = l->kind == LAYER_CONV;
    const struct layer_shape *large = is_conv ? &l->in : &l->out;
    size_t y = 0, x = 0;
    if (!meet(l, large, small[0], small[1], k[0], k[1], &y, &x)) {
        return;
    }
    for (size_t ci = 0; ci < l->in.channels; ci++) {
        for (size_t co = 0; co < l->out.channels; co++) {
            if (is_conv) {
                const size_t weight =
                    ((k[0] * l->kernel + k[1]) * l->in.channels + ci) * l->out.channels + co;
                out[at(&l->out, s, small[0], small[1], co)] +=
                    in[at(&l->in, s, y, x, ci)] * w[weight];
            } else {
                const size_t weight =
                    ((ci * l->kernel + k[0]) * l->kernel + k[1]) * l->out.channels + co;
                out[at(&l->out, s, y, x, co)] +=
                    in[at(&l->in, s, small[0], small[1], ci)] * w[weight];
            }
        }
    }
}

static void add_convolution(const struct layer *l, const double *w, size_t n, const double *in,
                            double *out)
{
    const struct layer_shape *small = l->kind == LAYER_CONV ? &l->out : &l->in;
    const size_t n_small = small->height * small->width, n_kernel = l->kernel * l->kernel;
    for (size_t i = 0; i < n * n_small * n_kernel; i++) {
        const size_t position = i / n_kernel % n_small, k = i % n_kernel;
        const size_t pixel[2] = {position / small->width, position % small->width};
        const size_t element[2] = {k / l->kernel, k % l->kernel};
        pair(l, w, i / n_kernel / n_small, pixel, element, in, out);
    }
}

static void convolve(const struct layer *l, const double *w, size_t n, const double *in,
                     double *out)
{
    add_biases(l, w + l->n_weights, n, out);
    add_convolution(l, w, n, in, out);
}

/* Between pixels lie two of the enlarged image, a quarter and three quarters of the way; beyond the
 * edges all is zero, so that there is one more on each side. */
static void enlarge(const struct layer_shape *from, const struct layer_shape *to, size_t n,
                    const double *in, double *out)
{
    const size_t size = layer_shape_size(to);
    for (size_t i = 0; i < n * size; i++) {
        const size_t pixel = i / to->channels % (to->height * to->width);
        const double y = ((double)(pixel / to->width) - 1.5) / 2;
        const double x = ((double)(pixel % to->width) - 1.5) / 2;
        out[i] = 0;
        for (int corner = 0; corner < 4; corner++) {
            const double row = floor(y) + corner / 2, col = floor(x) + corner % 2;
            if (row >= 0 && col >= 0 && row < (double)from->height && col < (double)from->width) {
                out[i] += (1 - fabs(y - row)) * (1 - fabs(x - col)) *
                          in[at(from, i / size, (size_t)row, (size_t)col, i % to->channels)];
            }
        }
    }
}

/* As defined: the enlarged image, then a convolution that keeps its size. */
static void resize_convolve(const struct layer *l, const double *w, size_t n, const double *in,
                            double *out)
{
    const struct layer_shape enlarged = {l->out.height + 2, l->out.width + 2, l->in.channels};
    double *image = calloc(layer_shape_size(&enlarged) * n, sizeof *image);
    double *weights = calloc(l->n_weights, sizeof *weights);
    const struct layer conv = {.kind = LAYER_CONV,
                               .has_bias = l->has_bias,
                               .in = enlarged,
                               .out = l->out,
                               .kernel = l->kernel,
                               .stride = 1,
                               .padding = l->padding - 1,
                               .n_weights = l->n_weights};
    const size_t n_kernel = l->kernel * l->kernel, n_in = l->in.channels, n_out = l->out.channels;
    enlarge(&l->in, &enlarged, n, in, image);
    for (size_t i = 0; i < l->n_weights; i++) { /* (in, kernel, out) to (kernel, in, out) */
        const size_t c = i / n_out / n_kernel, k = i / n_out % n_kernel;
        weights[(k * n_in + c) * n_out + i % n_out] = w[i];
    }
    add_biases(l, w + l->n_weights, n, out);
    add_convolution(&conv, weights, n, image, out);
    free(image);
    free(weights);
}

static void batch_norm(const struct layer *l, const double *w, const float *state, bool is_training,
                       size_t n, const double *in, double *out)
{
    const size_t c = l->in.channels, rows = n * l->in.height * l->in.width;
    for (size_t j = 0; j < c; j++) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < rows; i++) {
            mean += in[i * c + j] / (double)rows;
        }
        for (size_t i = 0; i < rows; i++) {
            variance += (in[i * c + j] - mean) * (in[i * c + j] - mean) / (double)rows;
        }
        if (!is_training) {
            mean = (double)state[j];
            variance = (double)state[c + j];
        }
        for (size_t i = 0; i < rows; i++) {
            out[i * c + j] =
                w[j] * (in[i * c + j] - mean) / sqrt(variance + (double)BATCH_NORM_FLOOR) +
                w[c + j];
        }
    }
}

static void bound(const struct layer *l, size_t n, const double *in, double *out)
{
    const double lo = (double)l->lo, hi = (double)l->hi;
    for (size_t i = 0; i < n * layer_shape_size(&l->out); i++) {
        out[i] = l->bound == NETWORK_TANH ? lo + (hi - lo) * (1 + tanh(in[i])) / 2
                                          : lo + (hi - lo) / (1 + exp(-in[i]));
    }
}

static void run_layer(const struct layer *l, const double *w, const float *state, bool is_training,
                      size_t n, const double *in, double *out)
{
    switch (l->kind) {
    case LAYER_DENSE:
        dense(l, w, n, in, out);
        break;
    case LAYER_CONV:
    case LAYER_CONV_TRANSPOSE:
        convolve(l, w, n, in, out);
        break;
    case LAYER_RESIZE_CONV:
        resize_convolve(l, w, n, in, out);
        break;
    case LAYER_BATCH_NORM:
        batch_norm(l, w, state, is_training, n, in, out);
        break;
    case LAYER_BOUND:
        bound(l, n, in, out);
        break;
    }
    for (size_t i = 0; l->is_rectified && i < n * layer_shape_size(&l->out); i++) {
        out[i] = fmax(out[i], 0);
    }
}

void reference_forward(const struct architecture *a, const double *parameters, const float *state,
                       bool is_training, size_t n, const double *z, double *out)
{
    double *in = malloc(n * a->in_dim * sizeof *in);
    memcpy(in, z, n * a->in_dim * sizeof *in);
    for (size_t i = 0; i < a->n_layers; i++) {
        const struct layer *l = &a->layers[i];
        double *next = malloc(n * layer_shape_size(&l->out) * sizeof *next);
        run_layer(l, parameters + l->parameters_at, state + l->state_at, is_training, n, in, next);
        free(in);
        in = next;
    }
    memcpy(out, in, n * a->out_dim * sizeof *out);
    free(in);
}

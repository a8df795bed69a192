/* The last layer of a generator with bounded output: a scaled tanh or sigmoid.
 *
 *     y = lo + width (1 + t) / 2,   t = tanh(x) or tanh(x / 2),   width = hi - lo
 *     dx = dy width (1 - t^2) / 2   (half of that for the sigmoid),  with t from y */
#include "solve/learn/layer.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LOG2_E 1.44269504088896341F
#define LN_2_HIGH 0.693359375F /* 9 bits: its products with small integers are exact */
#define LN_2_LOW -2.12194440e-4F

/* exp(-x) for 0 <= x <= 80, within 2 units in the last place: 2^-k exp(-r) with |r| <= log(2) / 2.
 * No branch and no call, so loops over it vectorise; the same bits on every machine. */
static inline float exp_minus(float x)
{
    const int k = (int)(x * LOG2_E + 0.5F);
    const float r = (float)k * LN_2_HIGH - x + (float)k * LN_2_LOW;
    const float series =
        1.0F +
        r * (1.0F +
             r * (0.5F + r * (0.166666667F +
                              r * (0.0416666667F + r * (0.00833333333F + r * 0.00138888889F)))));
    const uint32_t bits = (uint32_t)(127 - k) << 23;
    float power = 0;
    memcpy(&power, &bits, sizeof power);
    return series * power;
}

/* tanh x = (1 - e) / (1 + e), e = exp(-2 |x|), with an absolute error of 1e-7. */
static inline float bounded_tanh(float x)
{
    const float size = fabsf(x) < 20.0F ? fabsf(x) : 20.0F;
    const float e = exp_minus(2.0F * size);
    return copysignf((1.0F - e) / (1.0F + e), x);
}

static void bound_chunk(void *ctx, size_t task)
{
    const struct layer_pass *pass = ctx;
    const struct layer *layer = pass->layer;
    const size_t size = layer_shape_size(&layer->out);
    const float half = 0.5F * (layer->hi - layer->lo), middle = layer->lo + half;
    const float slope = layer->bound == NETWORK_SIGMOID ? 0.5F : 1.0F;
    const float lo = layer->lo, hi = layer->hi, *in = pass->in;
    float *restrict out = pass->out;
    size_t begin = 0, end = 0;
    layer_chunk(pass->n, task, &begin, &end);
    for (size_t i = begin * size; i < end * size; i++) {
        const float y = middle + half * bounded_tanh(slope * in[i]);
        out[i] = y < lo ? lo : y > hi ? hi : y;
    }
}

static void forward(struct layer_pass *pass)
{
    team_run(pass->team, LAYER_CHUNKS, bound_chunk, pass);
}

static void bound_gradient_chunk(void *ctx, size_t task)
{
    const struct layer_pass *pass = ctx;
    const struct layer *layer = pass->layer;
    const size_t size = layer_shape_size(&layer->out);
    const float half = 0.5F * (layer->hi - layer->lo), middle = layer->lo + half;
    const float slope = layer->bound == NETWORK_SIGMOID ? 0.5F : 1.0F;
    size_t begin = 0, end = 0;
    layer_chunk(pass->n, task, &begin, &end);
    const float inverse = 1.0F / half;
    for (size_t i = begin * size; i < end * size; i++) {
        const float t = (pass->out[i] - middle) * inverse;
        pass->d_in[i] = pass->d_out[i] * (slope * half * (1.0F - t * t));
    }
}

static void backward(struct layer_pass *pass)
{
    if (pass->d_in) {
        team_run(pass->team, LAYER_CHUNKS, bound_gradient_chunk, pass);
    }
}

const struct layer_class layer_bound = {forward, backward, true};

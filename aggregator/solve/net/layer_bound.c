/* The last layer of a generator whose points have a range: a scaled tanh or sigmoid.
 *
 *     y = lo + width (1 + t) / 2,   t = tanh(x) or tanh(x / 2),   width = hi - lo
 *     dx = dy width (1 - t^2) / 2   (half of that for the sigmoid),  with t from y */
#include "solve/net/layer.h"

#include <math.h>

static void bound_chunk(void *ctx, size_t task)
{
    const struct layer_pass *pass = ctx;
    const struct layer *layer = pass->layer;
    const size_t size = layer_shape_size(&layer->out);
    const float half = 0.5F * (layer->hi - layer->lo), middle = layer->lo + half;
    const float slope = layer->bound == NETWORK_SIGMOID ? 0.5F : 1.0F;
    size_t begin = 0, end = 0;
    layer_chunk(pass->n, task, &begin, &end);
    for (size_t i = begin * size; i < end * size; i++) {
        const float y = middle + half * tanhf(slope * pass->in[i]);
        pass->out[i] = fminf(fmaxf(y, layer->lo), layer->hi);
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
    for (size_t i = begin * size; i < end * size; i++) {
        const float t = (pass->out[i] - middle) / half;
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

/* Convolutions and transposed convolutions as products with the matrix of patches (patches.h).
 *
 *     convolution              P = patches of x,  y = P W,     dW = P' dy,  dx = scatter(dy W')
 *     transposed convolution   y = scatter(x W),  P = patches of dy,  dW = x' P,  dx = P W'
 *
 * Each chunk of samples is processed in tiles whose patches fit in the cache. Its scratch holds its
 * part of the gradient (backward pass), then the patches of a tile. */
#include "solve/learn/layer.h"
#include "solve/learn/patches.h"

/* One tile: samples [at, at + n) of a pass, as matrices. */
struct tile {
    struct patches patches;
    size_t n_rows; /* positions of the small side, all samples */
    size_t n_small, n_large, n_weights;
    size_t n;
    size_t at;
    float *matrix; /* (n_rows, patches.n_cols) */
    float *part;   /* gradient of the chunk: weights, biases */
    const struct layer_pass *pass;
};

/* Calls work on the tiles of a chunk, of nearly equal size. */
static void work_tiles(const struct layer_pass *pass, size_t chunk,
                       void (*work)(const struct tile *tile))
{
    const struct patches patches = patches_of(pass->layer);
    float *scratch = pass->scratch + chunk * pass->scratch_len;
    size_t begin = 0, end = 0;
    layer_chunk(pass->n, chunk, &begin, &end);
    const size_t most = patches_tile(&patches), n_tiles = (end - begin + most - 1) / most;
    for (size_t t = 0; t < n_tiles; t++) {
        const size_t first = begin + (end - begin) * t / n_tiles;
        const size_t last = begin + (end - begin) * (t + 1) / n_tiles;
        const struct tile tile = {.patches = patches,
                                  .n_rows = (last - first) * patches.n_rows,
                                  .n_small = patches.small.channels,
                                  .n_large = layer_shape_size(&patches.large),
                                  .n_weights = pass->layer->n_weights,
                                  .n = last - first,
                                  .at = first,
                                  .matrix = scratch + pass->layer->n_parameters,
                                  .part = scratch,
                                  .pass = pass};
        work(&tile);
    }
}

/* Offset of the tile's samples on each side. */
static size_t small_at(const struct tile *t)
{
    return t->at * t->patches.n_rows * t->n_small;
}

static size_t large_at(const struct tile *t)
{
    return t->at * t->n_large;
}

/* (rows, small channels) <- patches times weights seen as (patch, small channels) */
static void to_small(const struct tile *t, enum dpot_transpose transpose, float *small)
{
    const size_t ldw = transpose == DPOT_TRANSPOSE ? t->patches.n_cols : t->n_small;
    t->pass->linalg->gemm(DPOT_NO_TRANSPOSE, transpose, t->n_rows, t->n_small, t->patches.n_cols,
                          1.0F, t->matrix, t->patches.n_cols, t->pass->parameters, ldw, 0.0F,
                          small + small_at(t), t->n_small);
}

/* patches <- (rows, small channels) times weights seen as (small channels, patch) */
static void to_patches(const struct tile *t, const float *small, enum dpot_transpose transpose)
{
    const size_t ldw = transpose == DPOT_TRANSPOSE ? t->n_small : t->patches.n_cols;
    t->pass->linalg->gemm(DPOT_NO_TRANSPOSE, transpose, t->n_rows, t->patches.n_cols, t->n_small,
                          1.0F, small + small_at(t), t->n_small, t->pass->parameters, ldw, 0.0F,
                          t->matrix, t->patches.n_cols);
}

/* Bias and ReLU of the tile's output. */
static void finish_forward(const struct tile *t, float *out, size_t n_pixels)
{
    const struct layer *layer = t->pass->layer;
    const size_t c = layer->out.channels;
    if (layer->has_bias) {
        layer_add_bias(n_pixels, c, t->pass->parameters + layer->n_weights, out);
    }
    if (layer->is_rectified) {
        layer_rectify(n_pixels * c, out);
    }
}

/* Applies the derivative of ReLU and sums the gradient of the biases. */
static void begin_backward(const struct tile *t, size_t at, size_t n_pixels)
{
    const struct layer *layer = t->pass->layer;
    const size_t c = layer->out.channels;
    if (layer->is_rectified) {
        layer_rectify_gradient(n_pixels * c, t->pass->out + at, t->pass->d_out + at);
    }
    if (layer->has_bias) {
        layer_add_columns(n_pixels, c, t->pass->d_out + at, c, t->part + layer->n_weights);
    }
}

static size_t large_pixels(const struct tile *t)
{
    return t->n * t->patches.large.height * t->patches.large.width;
}

/* --- Convolution: the input is the large side --- */

static void conv_tile(const struct tile *t)
{
    patches_gather(&t->patches, t->n, t->pass->in + large_at(t), t->matrix);
    to_small(t, DPOT_NO_TRANSPOSE, t->pass->out);
    finish_forward(t, t->pass->out + small_at(t), t->n_rows);
}

static void conv_gradient_tile(const struct tile *t)
{
    const struct layer_pass *pass = t->pass;
    begin_backward(t, small_at(t), t->n_rows);
    patches_gather(&t->patches, t->n, pass->in + large_at(t), t->matrix);
    pass->linalg->gemm(DPOT_TRANSPOSE, DPOT_NO_TRANSPOSE, t->patches.n_cols, t->n_small, t->n_rows,
                       1.0F, t->matrix, t->patches.n_cols, pass->d_out + small_at(t), t->n_small,
                       1.0F, t->part, t->n_small);
    if (pass->d_in) {
        to_patches(t, pass->d_out, DPOT_TRANSPOSE);
        patches_scatter(&t->patches, t->n, t->matrix, pass->d_in + large_at(t));
    }
}

/* --- Transposed convolution: the output is --- */

static void transpose_tile(const struct tile *t)
{
    float *out = t->pass->out + large_at(t);
    to_patches(t, t->pass->in, DPOT_NO_TRANSPOSE);
    patches_scatter(&t->patches, t->n, t->matrix, out);
    finish_forward(t, out, large_pixels(t));
}

static void transpose_gradient_tile(const struct tile *t)
{
    const struct layer_pass *pass = t->pass;
    begin_backward(t, large_at(t), large_pixels(t));
    patches_gather(&t->patches, t->n, pass->d_out + large_at(t), t->matrix);
    pass->linalg->gemm(DPOT_TRANSPOSE, DPOT_NO_TRANSPOSE, t->n_small, t->patches.n_cols, t->n_rows,
                       1.0F, pass->in + small_at(t), t->n_small, t->matrix, t->patches.n_cols, 1.0F,
                       t->part, t->patches.n_cols);
    if (pass->d_in) {
        to_small(t, DPOT_TRANSPOSE, pass->d_in);
    }
}

/* --- The passes --- */

static void forward_chunk(void *ctx, size_t task)
{
    const struct layer_pass *pass = ctx;
    work_tiles(pass, task, pass->layer->kind == LAYER_CONV ? conv_tile : transpose_tile);
}

static void forward(struct layer_pass *pass)
{
    team_run(pass->team, LAYER_CHUNKS, forward_chunk, pass);
}

static void backward_chunk(void *ctx, size_t task)
{
    const struct layer_pass *pass = ctx;
    float *part = pass->scratch + task * pass->scratch_len;
    for (size_t i = 0; i < pass->layer->n_parameters; i++) {
        part[i] = 0.0F;
    }
    work_tiles(pass, task,
               pass->layer->kind == LAYER_CONV ? conv_gradient_tile : transpose_gradient_tile);
}

static void backward(struct layer_pass *pass)
{
    team_run(pass->team, LAYER_CHUNKS, backward_chunk, pass);
    layer_reduce(pass, 0, pass->layer->n_parameters, pass->gradient);
}

const struct layer_class layer_conv = {forward, backward, false};
const struct layer_class layer_conv_transpose = {forward, backward, false};

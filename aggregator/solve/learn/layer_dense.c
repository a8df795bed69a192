/* Dense layers: y = x W + b, W (n_in, n_out). Every product is split into tiles of its result, each
 * computed by one task, so results do not depend on the threads. */
#include "solve/learn/layer.h"

/* Large enough to amortise packing the factors, small enough for several tiles per thread. */
#define TILE 512

struct product {
    const struct layer_pass *pass;
    enum dpot_transpose transpose_a, transpose_b;
    size_t m, n, k;
    const float *a, *b;
    size_t lda, ldb;
    float *c; /* (m, n) dense */
    void (*finish)(const struct product *product, size_t row, size_t col, size_t n_rows,
                   size_t n_cols); /* called per tile; may be NULL */
};

static size_t n_tiles(size_t n)
{
    return (n + TILE - 1) / TILE;
}

static void multiply_tile(void *ctx, size_t task)
{
    const struct product *p = ctx;
    const size_t row = task / n_tiles(p->n) * TILE, col = task % n_tiles(p->n) * TILE;
    const size_t n_rows = p->m - row < TILE ? p->m - row : TILE;
    const size_t n_cols = p->n - col < TILE ? p->n - col : TILE;
    const float *a = p->a + (p->transpose_a == DPOT_TRANSPOSE ? row : row * p->lda);
    const float *b = p->b + (p->transpose_b == DPOT_TRANSPOSE ? col * p->ldb : col);
    p->pass->linalg->gemm(p->transpose_a, p->transpose_b, n_rows, n_cols, p->k, 1.0F, a, p->lda, b,
                          p->ldb, 0.0F, p->c + row * p->n + col, p->n);
    if (p->finish) {
        p->finish(p, row, col, n_rows, n_cols);
    }
}

static void multiply(struct product *product)
{
    team_run(product->pass->team, n_tiles(product->m) * n_tiles(product->n), multiply_tile,
             product);
}

/* Bias and ReLU, while the tile is in the cache. */
static void finish_forward(const struct product *p, size_t row, size_t col, size_t n_rows,
                           size_t n_cols)
{
    const struct layer *layer = p->pass->layer;
    const float *bias = p->pass->parameters + layer->n_weights + col;
    for (size_t i = row; i < row + n_rows; i++) {
        float *y = p->c + i * p->n + col;
        if (layer->has_bias) {
            layer_add_bias(1, n_cols, bias, y);
        }
        if (layer->is_rectified) {
            layer_rectify(n_cols, y);
        }
    }
}

static void forward(struct layer_pass *pass)
{
    const size_t n_in = layer_shape_size(&pass->layer->in);
    const size_t n_out = layer_shape_size(&pass->layer->out);
    struct product product = {pass,      DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, pass->n, n_out,
                              n_in,      pass->in,          pass->parameters,  n_in,    n_out,
                              pass->out, finish_forward};
    multiply(&product);
}

static void mask_chunk(void *ctx, size_t task)
{
    const struct layer_pass *pass = ctx;
    const size_t n_out = layer_shape_size(&pass->layer->out);
    size_t begin = 0, end = 0;
    layer_chunk(pass->n, task, &begin, &end);
    layer_rectify_gradient((end - begin) * n_out, pass->out + begin * n_out,
                           pass->d_out + begin * n_out);
}

static void add_bias_gradient(void *ctx, size_t task)
{
    const struct layer_pass *pass = ctx;
    const size_t n_out = layer_shape_size(&pass->layer->out);
    float *gradient = pass->gradient + pass->layer->n_weights;
    size_t begin = 0, end = 0;
    layer_chunk(n_out, task, &begin, &end);
    for (size_t j = begin; j < end; j++) {
        gradient[j] = 0.0F;
    }
    layer_add_columns(pass->n, end - begin, pass->d_out + begin, n_out, gradient + begin);
}

static void backward(struct layer_pass *pass)
{
    const size_t n_in = layer_shape_size(&pass->layer->in);
    const size_t n_out = layer_shape_size(&pass->layer->out);
    if (pass->layer->is_rectified) {
        team_run(pass->team, LAYER_CHUNKS, mask_chunk, pass);
    }
    /* dW = x' dy,  db = sum of dy,  dx = dy W' */
    struct product weights = {pass,  DPOT_TRANSPOSE, DPOT_NO_TRANSPOSE, n_in,
                              n_out, pass->n,        pass->in,          pass->d_out,
                              n_in,  n_out,          pass->gradient,    NULL};
    multiply(&weights);
    if (pass->layer->has_bias) {
        team_run(pass->team, LAYER_CHUNKS, add_bias_gradient, pass);
    }
    if (pass->d_in) {
        struct product input = {
            pass,        DPOT_NO_TRANSPOSE, DPOT_TRANSPOSE, pass->n, n_in,       n_out,
            pass->d_out, pass->parameters,  n_out,          n_out,   pass->d_in, NULL};
        multiply(&input);
    }
}

const struct layer_class layer_dense = {forward, backward, false};

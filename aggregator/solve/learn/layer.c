#include "solve/learn/layer.h"

#include "solve/learn/patches.h"

#include <assert.h>

const struct layer_class *layer_class_of(const struct layer *layer)
{
    static const struct layer_class *const table[] = {
        [LAYER_DENSE] = &layer_dense,
        [LAYER_CONV] = &layer_conv,
        [LAYER_CONV_TRANSPOSE] = &layer_conv_transpose,
        [LAYER_RESIZE_CONV] = &layer_resize_conv,
        [LAYER_BATCH_NORM] = &layer_batch_norm,
        [LAYER_BOUND] = &layer_bound,
    };
    return table[layer->kind];
}

size_t layer_scratch_len(const struct layer *layer)
{
    if (layer->kind == LAYER_RESIZE_CONV) {
        const struct layer resized = layer_resized(layer);
        return layer_scratch_len(&resized);
    }
    if (layer->kind == LAYER_CONV || layer->kind == LAYER_CONV_TRANSPOSE) {
        const struct patches patches = patches_of(layer);
        return layer->n_parameters + patches_tile(&patches) * patches.n_rows * patches.n_cols;
    }
    return layer->kind == LAYER_BATCH_NORM ? 2 * layer->in.channels : 0;
}

size_t layer_memory_len(const struct layer *layer)
{
    if (layer->kind == LAYER_RESIZE_CONV) {
        return 2 * layer_resized(layer).n_parameters;
    }
    return layer->kind == LAYER_BATCH_NORM ? 4 * layer->in.channels : 0;
}

void layer_chunk(size_t n, size_t chunk, size_t *begin, size_t *end)
{
    *begin = n * chunk / LAYER_CHUNKS;
    *end = n * (chunk + 1) / LAYER_CHUNKS;
}

void layer_rectify(size_t n, float *x)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = x[i] > 0.0F ? x[i] : 0.0F;
    }
}

void layer_rectify_gradient(size_t n, const float *out, float *restrict d_out)
{
    for (size_t i = 0; i < n; i++) {
        d_out[i] = out[i] > 0.0F ? d_out[i] : 0.0F;
    }
}

void layer_add_bias(size_t n_rows, size_t n_cols, const float *bias, float *restrict out)
{
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t j = 0; j < n_cols; j++) {
            out[i * n_cols + j] += bias[j];
        }
    }
}

#define COLUMNS 64 /* per block, whose sums stay in registers and cache */
#define ROWS 64    /* summed in float32 per block; blocks are summed in float64 */

static void add_block(size_t n_rows, size_t n_cols, const float *x, size_t ldx,
                      double *restrict sum)
{
    float part[COLUMNS] = {0};
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t j = 0; j < n_cols; j++) {
            part[j] += x[i * ldx + j];
        }
    }
    for (size_t j = 0; j < n_cols; j++) {
        sum[j] += (double)part[j];
    }
}

void layer_add_columns(size_t n_rows, size_t n_cols, const float *x, size_t ldx, float *sum)
{
    for (size_t j = 0; j < n_cols; j += COLUMNS) {
        const size_t width = n_cols - j < COLUMNS ? n_cols - j : COLUMNS;
        double total[COLUMNS] = {0};
        for (size_t i = 0; i < n_rows; i += ROWS) {
            const size_t height = n_rows - i < ROWS ? n_rows - i : ROWS;
            add_block(height, width, x + i * ldx + j, ldx, total);
        }
        for (size_t k = 0; k < width; k++) {
            sum[j + k] += (float)total[k];
        }
    }
}

struct reduction {
    const struct layer_pass *pass;
    size_t at, len;
    float *gradient;
};

static void reduce_range(void *ctx, size_t task)
{
    const struct reduction *r = ctx;
    size_t begin = 0, end = 0;
    layer_chunk(r->len, task, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        r->gradient[i] = 0.0F;
    }
    for (size_t c = 0; c < LAYER_CHUNKS; c++) {
        const float *part = r->pass->scratch + c * r->pass->scratch_len + r->at;
        for (size_t i = begin; i < end; i++) {
            r->gradient[i] += part[i];
        }
    }
}

void layer_reduce(const struct layer_pass *pass, size_t at, size_t len, float *gradient)
{
    struct reduction reduction = {pass, at, len, gradient};
    team_run(pass->team, LAYER_CHUNKS, reduce_range, &reduction);
}

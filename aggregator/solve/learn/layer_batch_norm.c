/* Batch norm over every channel of an image (Ioffe, Szegedy 2015), with optional ReLU.
 *
 *     xhat = (x - mean) / sqrt(variance + floor),   y = gain xhat + offset = a x + b
 *     S1 = sum dy,  S2 = sum dy xhat               over the N = n height width values of a channel
 *     d offset = S1,  d gain = S2,  dx = a (dy - S1/N - xhat S2/N)
 *
 * Sums are float32 within ROWS rows and float64 beyond. The variance is computed from x minus the
 * channel's first value, to avoid cancellation at a large mean. */
#include "solve/learn/layer.h"

#include <math.h>

#define ROWS 64
#define COLUMNS 64

/* pass->memory: mean, 1 / sqrt(variance + floor), a, b of each channel. */
struct norm {
    size_t n_channels;
    size_t n_rows; /* values of a channel, N */
    float *mean, *inverse, *a, *b;
};

static struct norm norm_of(const struct layer_pass *pass)
{
    const size_t c = pass->layer->in.channels;
    float *m = pass->memory;
    return (struct norm){c,         pass->n * pass->layer->in.height * pass->layer->in.width,
                         m,         m + c,
                         m + 2 * c, m + 3 * c};
}

/* Rows of a chunk; its scratch has two sums for each channel. */
static void rows_of_chunk(const struct layer_pass *pass, size_t chunk, size_t *begin, size_t *end)
{
    const size_t per_image = pass->layer->in.height * pass->layer->in.width;
    layer_chunk(pass->n, chunk, begin, end);
    *begin *= per_image;
    *end *= per_image;
}

/* sum (x - shift) and sum (x - shift)^2 of one block of rows and columns. */
static void sum_block(size_t n_rows, size_t n_cols, const float *x, size_t ldx, const float *shift,
                      double *restrict sum, double *restrict squares)
{
    float s[COLUMNS] = {0}, q[COLUMNS] = {0};
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t j = 0; j < n_cols; j++) {
            const float d = x[i * ldx + j] - shift[j];
            s[j] += d;
            q[j] += d * d;
        }
    }
    for (size_t j = 0; j < n_cols; j++) {
        sum[j] += (double)s[j];
        squares[j] += (double)q[j];
    }
}

static void sum_chunk(void *ctx, size_t task)
{
    const struct layer_pass *pass = ctx;
    const size_t c = pass->layer->in.channels;
    float *part = pass->scratch + task * pass->scratch_len;
    size_t begin = 0, end = 0;
    rows_of_chunk(pass, task, &begin, &end);
    for (size_t j = 0; j < c; j += COLUMNS) {
        const size_t width = c - j < COLUMNS ? c - j : COLUMNS;
        double sum[COLUMNS] = {0}, squares[COLUMNS] = {0};
        for (size_t i = begin; i < end; i += ROWS) {
            const size_t height = end - i < ROWS ? end - i : ROWS;
            sum_block(height, width, pass->in + i * c + j, c, pass->in + j, sum, squares);
        }
        for (size_t k = 0; k < width; k++) {
            part[j + k] = (float)sum[k];
            part[c + j + k] = (float)squares[k];
        }
    }
}

/* Adds the sums of the chunks, in order. */
static double add_up(const struct layer_pass *pass, size_t at)
{
    double sum = 0;
    for (size_t t = 0; t < LAYER_CHUNKS; t++) {
        sum += (double)pass->scratch[t * pass->scratch_len + at];
    }
    return sum;
}

static void move_state(float *state, double value)
{
    *state = (1.0F - BATCH_NORM_RATE) * *state + BATCH_NORM_RATE * (float)value;
}

/* Computes the statistics of the batch and updates the running state (with the unbiased
 * variance). */
static void measure_batch(struct layer_pass *pass, const struct norm *norm)
{
    const size_t c = norm->n_channels;
    const double n = (double)norm->n_rows;
    team_run(pass->team, LAYER_CHUNKS, sum_chunk, pass);
    for (size_t j = 0; j < c; j++) {
        const double shifted = add_up(pass, j) / n;
        const double variance = fmax(add_up(pass, c + j) / n - shifted * shifted, 0.0);
        const double mean = (double)pass->in[j] + shifted;
        norm->mean[j] = (float)mean;
        norm->inverse[j] = (float)(1.0 / sqrt(variance + (double)BATCH_NORM_FLOOR));
        move_state(&pass->state[j], mean);
        move_state(&pass->state[c + j], n > 1 ? variance * n / (n - 1) : variance);
    }
}

static void use_state(const struct layer_pass *pass, const struct norm *norm)
{
    const size_t c = norm->n_channels;
    for (size_t j = 0; j < c; j++) {
        norm->mean[j] = pass->state[j];
        norm->inverse[j] = 1.0F / sqrtf(fmaxf(pass->state[c + j], 0.0F) + BATCH_NORM_FLOOR);
    }
}

static void normalise_chunk(void *ctx, size_t task)
{
    const struct layer_pass *pass = ctx;
    const struct norm norm = norm_of(pass);
    const size_t c = norm.n_channels;
    const float *restrict a = norm.a, *restrict b = norm.b;
    const float floor = pass->layer->is_rectified ? 0.0F : -INFINITY;
    size_t begin = 0, end = 0;
    rows_of_chunk(pass, task, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        const float *x = pass->in + i * c;
        float *restrict y = pass->out + i * c;
        for (size_t j = 0; j < c; j++) {
            const float value = a[j] * x[j] + b[j];
            y[j] = value > floor ? value : floor;
        }
    }
}

static void forward(struct layer_pass *pass)
{
    const struct norm norm = norm_of(pass);
    const float *gain = pass->parameters, *offset = pass->parameters + norm.n_channels;
    if (pass->is_training) {
        measure_batch(pass, &norm);
    } else {
        use_state(pass, &norm);
    }
    for (size_t j = 0; j < norm.n_channels; j++) {
        norm.a[j] = gain[j] * norm.inverse[j];
        norm.b[j] = offset[j] - norm.a[j] * norm.mean[j];
    }
    team_run(pass->team, LAYER_CHUNKS, normalise_chunk, pass);
}

/* S1 and S2 of one block; zeroes dy where ReLU was inactive. The output is recomputed from x, which
 * is read anyway, by the same operations, so its sign is the same. */
static void gradient_block(size_t n_rows, size_t n_cols, const struct norm *norm, size_t at,
                           const float *x, float floor, float *restrict dy, double *restrict sum,
                           double *restrict product)
{
    const size_t ld = norm->n_channels;
    const float *a = norm->a + at, *b = norm->b + at, *mean = norm->mean + at;
    float s[COLUMNS] = {0}, q[COLUMNS] = {0};
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t j = 0; j < n_cols; j++) {
            const float value = x[i * ld + j];
            const float d = a[j] * value + b[j] > floor ? dy[i * ld + j] : 0.0F;
            dy[i * ld + j] = d;
            s[j] += d;
            q[j] += d * (value - mean[j]);
        }
    }
    for (size_t j = 0; j < n_cols; j++) {
        sum[j] += (double)s[j];
        product[j] += (double)q[j] * (double)norm->inverse[at + j];
    }
}

static void gradient_chunk(void *ctx, size_t task)
{
    const struct layer_pass *pass = ctx;
    const struct norm norm = norm_of(pass);
    const size_t c = norm.n_channels;
    const float floor = pass->layer->is_rectified ? 0.0F : -INFINITY;
    float *part = pass->scratch + task * pass->scratch_len;
    size_t begin = 0, end = 0;
    rows_of_chunk(pass, task, &begin, &end);
    for (size_t j = 0; j < c; j += COLUMNS) {
        const size_t width = c - j < COLUMNS ? c - j : COLUMNS;
        double sum[COLUMNS] = {0}, product[COLUMNS] = {0};
        for (size_t i = begin; i < end; i += ROWS) {
            const size_t height = end - i < ROWS ? end - i : ROWS;
            gradient_block(height, width, &norm, j, pass->in + i * c + j, floor,
                           pass->d_out + i * c + j, sum, product);
        }
        for (size_t k = 0; k < width; k++) {
            part[j + k] = (float)sum[k];
            part[c + j + k] = (float)product[k];
        }
    }
}

/* dx = a dy + p x + q, with p and q in the first chunk's scratch, whose sums are no longer
 * needed. */
static void input_chunk(void *ctx, size_t task)
{
    const struct layer_pass *pass = ctx;
    const struct norm norm = norm_of(pass);
    const size_t c = norm.n_channels;
    const float *restrict a = norm.a, *restrict p = pass->scratch, *restrict q = p + c;
    size_t begin = 0, end = 0;
    rows_of_chunk(pass, task, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        const float *x = pass->in + i * c, *dy = pass->d_out + i * c;
        float *dx = pass->d_in + i * c;
        for (size_t j = 0; j < c; j++) {
            dx[j] = a[j] * dy[j] + p[j] * x[j] + q[j];
        }
    }
}

static void backward(struct layer_pass *pass)
{
    const struct norm norm = norm_of(pass);
    const size_t c = norm.n_channels;
    const double n = (double)norm.n_rows;
    team_run(pass->team, LAYER_CHUNKS, gradient_chunk, pass);
    for (size_t j = 0; j < c; j++) {
        const double sum = add_up(pass, j), product = add_up(pass, c + j);
        const double p = -(double)norm.a[j] * (double)norm.inverse[j] * product / n;
        pass->gradient[j] = (float)product;
        pass->gradient[c + j] = (float)sum;
        pass->scratch[j] = (float)p;
        pass->scratch[c + j] = (float)(-(double)norm.a[j] * sum / n - p * (double)norm.mean[j]);
    }
    if (pass->d_in) {
        team_run(pass->team, LAYER_CHUNKS, input_chunk, pass);
    }
}

const struct layer_class layer_batch_norm = {forward, backward, true};

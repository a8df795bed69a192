#include "solve/learn/patches.h"

#include <string.h>

#define TILE_FLOATS ((size_t)384 << 10)

struct patches patches_of(const struct layer *layer)
{
    const bool is_conv = layer->kind == LAYER_CONV;
    struct patches patches = {.large = is_conv ? layer->in : layer->out,
                              .small = is_conv ? layer->out : layer->in,
                              .kernel = layer->kernel,
                              .stride = layer->stride,
                              .padding = layer->padding};
    patches.n_rows = patches.small.height * patches.small.width;
    patches.n_cols = layer->kernel * layer->kernel * patches.large.channels;
    return patches;
}

size_t patches_tile(const struct patches *patches)
{
    const size_t n = TILE_FLOATS / (patches->n_rows * patches->n_cols);
    return n > 0 ? n : 1;
}

/* The part of one kernel row inside the image: `len` floats after `skip` floats outside. */
struct run {
    size_t skip, len; /* floats; len = 0: outside */
    size_t at;        /* in the image */
};

static struct run find_run(const struct patches *p, size_t row, size_t col, size_t kernel_row)
{
    const size_t y = row * p->stride + kernel_row, x = col * p->stride; /* shifted by padding */
    const size_t width = p->large.width, c = p->large.channels;
    if (y < p->padding || y - p->padding >= p->large.height) {
        return (struct run){0, 0, 0};
    }
    const size_t first = x < p->padding ? p->padding - x : 0;
    const size_t inside = width + p->padding > x ? width + p->padding - x : 0;
    const size_t last = p->kernel < inside ? p->kernel : inside;
    if (first >= last) {
        return (struct run){0, 0, 0};
    }
    return (struct run){first * c, (last - first) * c,
                        ((y - p->padding) * width + x + first - p->padding) * c};
}

static void gather_row(const struct patches *p, const float *image, size_t row, size_t col,
                       float *restrict out)
{
    const size_t len = p->kernel * p->large.channels; /* of a kernel row */
    for (size_t k = 0; k < p->kernel; k++, out += len) {
        const struct run run = find_run(p, row, col, k);
        if (run.len < len) {
            memset(out, 0, len * sizeof *out);
        }
        memcpy(out + run.skip, image + run.at, run.len * sizeof *out);
    }
}

void patches_gather(const struct patches *patches, size_t n, const float *images, float *matrix)
{
    const size_t image_len = layer_shape_size(&patches->large);
    for (size_t s = 0; s < n; s++) {
        for (size_t r = 0; r < patches->n_rows; r++) {
            gather_row(patches, images + s * image_len, r / patches->small.width,
                       r % patches->small.width, matrix);
            matrix += patches->n_cols;
        }
    }
}

static void scatter_row(const struct patches *p, const float *patch, size_t row, size_t col,
                        float *image)
{
    const size_t len = p->kernel * p->large.channels;
    for (size_t k = 0; k < p->kernel; k++, patch += len) {
        const struct run run = find_run(p, row, col, k);
        const float *from = patch + run.skip;
        float *restrict to = image + run.at;
        for (size_t j = 0; j < run.len; j++) {
            to[j] += from[j];
        }
    }
}

void patches_scatter(const struct patches *patches, size_t n, const float *matrix, float *images)
{
    const size_t image_len = layer_shape_size(&patches->large);
    for (size_t s = 0; s < n; s++) {
        memset(images + s * image_len, 0, image_len * sizeof *images);
        for (size_t r = 0; r < patches->n_rows; r++) {
            scatter_row(patches, matrix, r / patches->small.width, r % patches->small.width,
                        images + s * image_len);
            matrix += patches->n_cols;
        }
    }
}

/* Between an image and the patches a convolution sees: what turns convolutions into products of
 * matrices. Internal to solve/net.
 *
 * The small side of a convolution (its output; the input of a transposed one) has a patch of
 * kernel x kernel pixels of the large side at each of its positions; pixels outside count as zero.
 * Rows of the patch matrix are positions, columns (kernel row, kernel column, channel). Channels come
 * last, so that a kernel row is one run of memory. */
#ifndef DPOT_SOLVE_LEARN_PATCHES_H
#define DPOT_SOLVE_LEARN_PATCHES_H

#include "solve/learn/architecture.h"

struct patches {
    struct layer_shape large, small; /* channels of `small` do not matter here */
    size_t kernel, stride, padding;
    size_t n_rows, n_cols; /* of the patch matrix of one image */
};

/* Of a layer: LAYER_CONV sees `in` as its large side, LAYER_CONV_TRANSPOSE `out`. */
struct patches patches_of(const struct layer *layer);

/* Copies the patches out of n images. */
void patches_gather(const struct patches *patches, size_t n, const float *images,
                    float *matrix /* (n * n_rows, n_cols) */);

/* The transpose: overwrites n images with the sums of what their pixels have in the patches. */
void patches_scatter(const struct patches *patches, size_t n, const float *matrix, float *images);

/* Images whose patch matrix is worked on at once: it should stay in the cache. */
size_t patches_tile(const struct patches *patches);

#endif

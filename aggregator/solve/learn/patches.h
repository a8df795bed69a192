/* Conversion between images and matrices of patches, which turns convolutions into matrix products.
 * Internal to solve/net.
 *
 * The small side of a convolution (its output; the input of a transposed one) has a patch of kernel
 * x kernel pixels of the large side at each of its positions; pixels outside count as zero. Rows of
 * the patch matrix are positions, columns (kernel row, kernel column, channel). Channels come last,
 * so a kernel row is contiguous in memory. */
#ifndef DPOT_SOLVE_LEARN_PATCHES_H
#define DPOT_SOLVE_LEARN_PATCHES_H

#include "solve/learn/architecture.h"

struct patches {
    struct layer_shape large, small; /* channels of `small` do not matter here */
    size_t kernel, stride, padding;
    size_t n_rows, n_cols; /* of the patch matrix of one image */
};

/* Patches of a layer: the large side is `in` for LAYER_CONV, `out` for LAYER_CONV_TRANSPOSE. */
struct patches patches_of(const struct layer *layer);

/* Copies the patches of n images. */
void patches_gather(const struct patches *patches, size_t n, const float *images,
                    float *matrix /* (n * n_rows, n_cols) */);

/* The transpose: overwrites each pixel of n images with the sum of its entries in the patches. */
void patches_scatter(const struct patches *patches, size_t n, const float *matrix, float *images);

/* Number of images per patch matrix, so that it stays in the cache. */
size_t patches_tile(const struct patches *patches);

#endif

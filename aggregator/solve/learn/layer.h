/* One pass of one layer. Internal to solve/net: called by network.c, one file per kind.
 *
 * A pass is split into LAYER_CHUNKS ranges of samples, or tiles of a matrix, which depend only on n
 * and the shapes, never on the number of threads. Partial sums of the chunks (gradients of weights,
 * statistics) are stored separately and added in order, so every run gives the same bits. */
#ifndef DPOT_SOLVE_LEARN_LAYER_H
#define DPOT_SOLVE_LEARN_LAYER_H

#include "ot/linalg_f32.h"
#include "solve/learn/architecture.h"
#include "solve/run/team.h"

#define LAYER_CHUNKS 16

struct layer_pass {
    const struct layer *layer;
    const struct dpot_linalg_f32 *linalg;
    struct team *team;
    bool is_training;
    size_t n;                /* samples */
    const float *parameters; /* of this layer, as all that follows */
    float *state;
    float *memory; /* (layer_memory_len) from forward to backward */
    float *gradient;
    const float *in; /* (n, in) */
    float *out;      /* (n, out) */
    float *d_out;    /* (n, out) overwritten by the backward pass */
    float *d_in;     /* (n, in); may be NULL. Batch norm and bound: equal to d_out */
    float *scratch;  /* (LAYER_CHUNKS, scratch_len) */
    size_t scratch_len;
};

struct layer_class {
    void (*forward)(struct layer_pass *pass);
    void (*backward)(struct layer_pass *pass);
    bool is_in_place; /* d_in may be d_out */
};

extern const struct layer_class layer_dense, layer_conv, layer_conv_transpose, layer_resize_conv,
    layer_batch_norm, layer_bound;

const struct layer_class *layer_class_of(const struct layer *layer);

/* The transposed convolution that computes a LAYER_RESIZE_CONV. */
struct layer layer_resized(const struct layer *layer);

/* Floats of scratch per chunk, and of memory. */
size_t layer_scratch_len(const struct layer *layer);
size_t layer_memory_len(const struct layer *layer);

/* Samples [*begin, *end) of chunk `chunk`. */
void layer_chunk(size_t n, size_t chunk, size_t *begin, size_t *end);

/* x = max(x, 0), and its derivative: zero where the output is. */
void layer_rectify(size_t n, float *x);
void layer_rectify_gradient(size_t n, const float *out, float *d_out);

/* out += bias for each of n_rows rows of n_cols. */
void layer_add_bias(size_t n_rows, size_t n_cols, const float *bias, float *out);

/* sum[j] += sum over rows, in blocks added in double precision. */
void layer_add_columns(size_t n_rows, size_t n_cols, const float *x, size_t ldx, float *sum);

/* gradient = sum of the first `len` floats of each chunk's scratch, from `at`, in order. */
void layer_reduce(const struct layer_pass *pass, size_t at, size_t len, float *gradient);

#endif

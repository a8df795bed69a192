/* Kernels K = exp(-C / lambda) between the points of a histogram (inputs) and those of a barycenter
 * (outputs), as operators on logarithms: for matrices of any cost, and for squared distances on a grid,
 * which are products over the axes (Solomon et al. 2015: n^(1/2) times fewer operations in the plane).
 *
 *     barycenter_kernel_grid(2, shape, spacing, lambda, n_batch, false, &kernel, &error);
 *     kernel->apply(kernel, false, n_batch, log_v, log_kv, team);
 *     barycenter_kernel_free(kernel);
 *
 * Vectors are logarithms of positive numbers, LANES_NOTHING for 0, padded to `stride_in` or `stride_out`
 * with LANES_NOTHING. Where the range of C / lambda allows it (BARYCENTER_KERNEL_RATIO) they are scaled to
 * largest entry 1 and multiplied by a stored kernel; elsewhere sums of exponentials are taken by their
 * largest term, so that no lambda is too small. Both are float64 and agree to rounding. A kernel belongs
 * to one caller at a time. */
#ifndef DPOT_SOLVE_BARYCENTER_KERNEL_H
#define DPOT_SOLVE_BARYCENTER_KERNEL_H

#include "base/error.h"
#include "solve/run/team.h"

#include <stdbool.h>
#include <stddef.h>

#define BARYCENTER_GRID_DIM_MAX 3
#define BARYCENTER_CELLS_MAX ((size_t)1 << 26)

/* The largest (C - least C of its row) / lambda of a stored kernel: an entry is then above 1e-261 of
 * the largest, so that no sum is lost. */
#define BARYCENTER_KERNEL_RATIO 600.0

struct barycenter_kernel {
    size_t n_in, n_out;
    size_t stride_in, stride_out;
    double lambda;
    double range;      /* largest minus smallest C */
    bool is_symmetric; /* C_ij = C_ji, inputs are outputs */
    bool is_log;       /* no stored kernel */

    /* out = log K e^in, or log K' e^in when transposed, for n_batch vectors one after the other. */
    void (*apply)(struct barycenter_kernel *kernel, bool transposed, size_t n_batch,
                  const double *in, double *out, struct team *team);

    /* <C, P>, P_ij = exp(u_i + v_j - C_ij / lambda). Scratch of the kernel; single-threaded or not. */
    double (*cost)(struct barycenter_kernel *kernel, const double *u, const double *v,
                   struct team *team);

    /* f_i = min_j C_ij - g_j for i < n_in. */
    void (*conjugate)(struct barycenter_kernel *kernel, const double *g, double *f,
                      struct team *team);
    void (*release)(struct barycenter_kernel *kernel);
};

/* Of a matrix, borrowed. `wants_log`: without a stored kernel in any case. n_batch: most vectors at once.
 * DPOT_ERR_RANGE: a cost is not finite, or lambda not positive, or below 1e-15 of the range. */
DPOT_WARN_UNUSED dpot_status barycenter_kernel_matrix(const double *cost /* (n_in, n_out) */,
                                                      size_t n_in, size_t n_out, double lambda,
                                                      size_t n_batch, bool wants_log,
                                                      struct barycenter_kernel **kernel,
                                                      struct dpot_error *error);

/* Of a grid, row-major, whose cells are `spacing` apart along each axis: C = sum over the axes of
 * (spacing (i - j))^2. */
DPOT_WARN_UNUSED dpot_status barycenter_kernel_grid(size_t n_dims, const size_t *shape,
                                                    const double *spacing, double lambda,
                                                    size_t n_batch, bool wants_log,
                                                    struct barycenter_kernel **kernel,
                                                    struct dpot_error *error);

/* NULL is allowed. */
void barycenter_kernel_free(struct barycenter_kernel *kernel);

/* ---- for the implementations ---- */

/* e^(in - shift), shift their largest entry, which is returned; `n` is padded. */
double barycenter_kernel_exponentials(const double *in, size_t n, double *out);

DPOT_WARN_UNUSED dpot_status barycenter_kernel_check(double lambda, double range,
                                                     struct dpot_error *error);

#endif

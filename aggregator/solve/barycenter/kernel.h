/* Kernels K = exp(-C / lambda) between the points of a histogram (inputs) and those of a barycenter
 * (outputs), as operators on logarithms: for any cost matrix, and for squared distances on a grid,
 * which are products over the axes (Solomon et al. 2015: n^(1/2) times fewer operations in two
 * dimensions).
 *
 *     barycenter_kernel_grid(2, shape, spacing, lambda, n_batch, false, &kernel, &error);
 *     kernel->apply(kernel, false, n_batch, log_v, log_kv, team);
 *     barycenter_kernel_free(kernel);
 *
 * Vectors are logarithms of positive numbers, LANES_NOTHING for 0, padded to `stride_in` or
 * `stride_out` with LANES_NOTHING. If the range of C / lambda is at most BARYCENTER_KERNEL_RATIO,
 * they are scaled to largest entry 1 and multiplied by a stored kernel; otherwise log-sum-exp is
 * used, which works for every lambda. Both are float64 and agree up to rounding. Not
 * thread-safe. */
#ifndef DPOT_SOLVE_BARYCENTER_KERNEL_H
#define DPOT_SOLVE_BARYCENTER_KERNEL_H

#include "base/error.h"
#include "solve/run/team.h"

#include <stdbool.h>
#include <stddef.h>

#define BARYCENTER_GRID_DIM_MAX 3
#define BARYCENTER_CELLS_MAX ((size_t)1 << 26)

/* Largest (C - row minimum of C) / lambda of a stored kernel: its entries are then above 1e-261 of
 * the largest, so no sum underflows. */
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

    /* <C, P>, P_ij = exp(u_i + v_j - C_ij / lambda). Uses the kernel's scratch; `team` may be
     * NULL. */
    double (*cost)(struct barycenter_kernel *kernel, const double *u, const double *v,
                   struct team *team);

    /* f_i = min_j C_ij - g_j for i < n_in. */
    void (*conjugate)(struct barycenter_kernel *kernel, const double *g, double *f,
                      struct team *team);
    void (*release)(struct barycenter_kernel *kernel);
};

/* Kernel of a cost matrix (borrowed). `wants_log`: never store a kernel. n_batch: most vectors per
 * `apply`. DPOT_ERR_RANGE: a cost is not finite, or lambda not positive, or below 1e-15 of the
 * range. */
DPOT_WARN_UNUSED dpot_status barycenter_kernel_matrix(const double *cost /* (n_in, n_out) */,
                                                      size_t n_in, size_t n_out, double lambda,
                                                      size_t n_batch, bool wants_log,
                                                      struct barycenter_kernel **kernel,
                                                      struct dpot_error *error);

/* Kernel of a row-major grid with cells `spacing` apart along each axis: C = sum over the axes of
 * (spacing (i - j))^2. */
DPOT_WARN_UNUSED dpot_status barycenter_kernel_grid(size_t n_dims, const size_t *shape,
                                                    const double *spacing, double lambda,
                                                    size_t n_batch, bool wants_log,
                                                    struct barycenter_kernel **kernel,
                                                    struct dpot_error *error);

/* May be NULL. */
void barycenter_kernel_free(struct barycenter_kernel *kernel);

/* ---- for the implementations ---- */

/* out = e^(in - shift), where shift is the largest entry, which is returned; `n` is padded. */
double barycenter_kernel_exponentials(const double *in, size_t n, double *out);

DPOT_WARN_UNUSED dpot_status barycenter_kernel_check(double lambda, double range,
                                                     struct dpot_error *error);

#endif

/* Maximum likelihood of a distribution behind a known channel.
 *
 * Each of n reports names one of J outputs. A device whose datum is l reports output j with known
 * probability A_lj; the share w_l of devices with datum l is estimated. With c_j reports of output
 * j,
 *
 *   L(w) = sum_j c_j ln f_j,      f = A' w
 *
 * is concave, and a step of EM (Dempster, Laird, Rubin 1977; for this problem Richardson 1972, Lucy
 * 1974) is
 *
 *   w_l <- w_l g_l,               g_l = (1/n) sum_j A_lj c_j / f_j.
 *
 * L never falls, weights stay a distribution, and sum_l w_l g_l = 1. Whatever the weights are,
 *
 *   L(w) <= max L <= L(w) + n ln max_l g_l                    (Jensen: sum_l v_l g_l <= max_l g_l)
 *
 * so `headroom` bounds what further steps could still gain.
 *
 * Early stopping is part of the method. The maximum overfits the sample (a few spikes), while early
 * steps from equal weights recover the actual structure. So steps are not accelerated, and they end
 * when L of all reports gains less than `tol` nats per step (CHANNEL_EM_TOL), but not before
 * `min_iterations`. With exact frequencies (the limit of many reports) and tol 0, the steps
 * converge to the true distribution if the rows of A are independent.
 *
 * Post-processing of private reports only: no privacy cost. Float64, one thread. */
#ifndef DPOT_SOLVE_ESTIMATE_CHANNEL_EM_H
#define DPOT_SOLVE_ESTIMATE_CHANNEL_EM_H

#include "base/error.h"
#include "ot/linalg.h"
#include "solve/run/control.h"

#define CHANNEL_EM_SIZE_MAX ((size_t)1 << 26) /* entries of a channel: 512 MiB */
#define CHANNEL_EM_ITERATIONS_MAX 1000000
#define CHANNEL_EM_TOL 0.05 /* nats per step, for the whole pool */
#define CHANNEL_EM_MIN_ITERATIONS 50
#define CHANNEL_EM_MAX_ITERATIONS 5000

struct channel_em_config {
    size_t n_inputs, n_outputs;
    const double *channel; /* (n_inputs, n_outputs) A >= 0, row sums 1 within 1e-6; borrowed */
    const double *counts;  /* (n_outputs) c >= 0, sum > 0; borrowed */
    const double *start;   /* (n_inputs) sum 1, borrowed; NULL: equal. Zeros stay 0 */
    size_t min_iterations, max_iterations;
    double tol;                       /* nats; 0: all iterations */
    const struct dpot_linalg *linalg; /* borrowed */
};

struct channel_em_result {
    size_t n_inputs;
    double *weights;       /* (n_inputs) sum 1, owned */
    double log_likelihood; /* L, nats */
    double gain;           /* of the last step */
    double headroom;       /* max L - L is at most this; >= 0 */
    size_t iterations;
    enum solve_outcome outcome;
    double *curve; /* (iterations + 1) L before the first step and after each; owned */
    size_t curve_cap;
};

/* DPOT_ERR_RANGE, DPOT_ERR_SHAPE, DPOT_ERR_TOO_LARGE with a message: sizes, entries, or a reported
 * output that has probability 0 for every datum with weight. DPOT_ERR_MEMORY. On failure *result is
 * released. If `control` (may be NULL) stops the run: the result of the last step. */
DPOT_WARN_UNUSED dpot_status channel_em_run(const struct channel_em_config *config,
                                            const struct solve_control *control,
                                            struct channel_em_result *result,
                                            struct dpot_error *error);

/* May be zeroed. */
void channel_em_result_release(struct channel_em_result *result);

#endif

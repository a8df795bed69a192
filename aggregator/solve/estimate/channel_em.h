/* Maximum likelihood of a distribution behind a known channel.
 *
 * Each of n reports names one of J outputs. A device whose datum is l makes output j with probability
 * A_lj, which is known; how often a datum is l, w_l, is wanted. With c_j reports that name j,
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
 * so `headroom` tells what the steps that were not taken could still gain.
 *
 * Stopping is part of the method. The maximum fits the chance of the sample: a few spikes. Steps taken
 * early find what is really there, from equal weights outwards, so the plain ones are taken, and they end
 * when L of all reports together gains less than `tol` nats a step (CHANNEL_EM_TOL), but not before
 * `min_iterations`. With exact frequencies (the limit of many reports) and tol 0 the steps go to the
 * distribution itself wherever the rows of A are independent.
 *
 * Only post-processing of private reports: it costs no privacy. Float64, one thread. */
#ifndef DPOT_SOLVE_ESTIMATE_CHANNEL_EM_H
#define DPOT_SOLVE_ESTIMATE_CHANNEL_EM_H

#include "base/error.h"
#include "ot/linalg.h"
#include "solve/run/control.h"

#define CHANNEL_EM_SIZE_MAX ((size_t)1 << 26) /* entries of a channel: 512 MiB */
#define CHANNEL_EM_ITERATIONS_MAX 1000000
#define CHANNEL_EM_TOL 0.05 /* nats a step, of the whole pool */
#define CHANNEL_EM_MIN_ITERATIONS 50
#define CHANNEL_EM_MAX_ITERATIONS 5000

struct channel_em_config {
    size_t n_inputs, n_outputs;
    const double
        *channel; /* (n_inputs, n_outputs) A: not negative, rows of sum 1 within 1e-6; borrowed */
    const double *counts; /* (n_outputs) c: not negative, sum above 0; borrowed */
    const double
        *start; /* (n_inputs) sum 1; NULL: equal weights. Borrowed. A weight of 0 stays 0 */
    size_t min_iterations, max_iterations;
    double tol;                       /* nats; 0: all iterations */
    const struct dpot_linalg *linalg; /* borrowed */
};

struct channel_em_result {
    size_t n_inputs;
    double *weights;       /* (n_inputs) sum 1, owned */
    double log_likelihood; /* L, nats */
    double gain;           /* of the last step */
    double headroom;       /* at most this much above L is the maximum; 0 or more */
    size_t iterations;
    enum solve_outcome outcome;
    double *curve; /* (iterations + 1) L before the first step and after each; owned */
    size_t curve_cap;
};

/* DPOT_ERR_RANGE, DPOT_ERR_SHAPE, DPOT_ERR_TOO_LARGE with a sentence: sizes, entries, an output that was
 * reported and that no datum with weight can make. DPOT_ERR_MEMORY. *result is then released. A run
 * that `control` (may be NULL) stops has the result of its last step. */
DPOT_WARN_UNUSED dpot_status channel_em_run(const struct channel_em_config *config,
                                            const struct solve_control *control,
                                            struct channel_em_result *result,
                                            struct dpot_error *error);

/* A zeroed result is allowed. */
void channel_em_result_release(struct channel_em_result *result);

#endif

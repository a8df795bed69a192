/* The debiased Sinkhorn divergence, S(a, b) = W(a, b) - W(a, a) / 2 - W(b, b) / 2 with W the
 * entropic value <C,P> + lambda KL(P | a x b) (Genevay et al. 2018, Feydy et al. 2019): 0 for equal
 * measures, unlike W; for a cost that is a power of a metric, S >= 0 and it metrises weak
 * convergence. Its gradient follows from the parts by the envelope theorem. */
#ifndef DPOT_SOLVE_TRANSPORT_DIVERGENCE_H
#define DPOT_SOLVE_TRANSPORT_DIVERGENCE_H

#include "solve/transport/entropic.h"

struct divergence_problem {
    const struct entropic_cost *xy, *xx, *yy;
    const double *a, *b; /* as for entropic_solve */
};

struct divergence_result {
    double value;        /* S, within the bounds */
    double lower, upper; /* certain bounds of S, from the dual and primal bounds of the parts */
    struct entropic_result xy, xx, yy;
};

/* Fills *result, and the gradients in the weights unless NULL: grad_a_i = f_ab_i - f_aa_i, centred
 * to sum 0 (so that a step keeps the total mass). Statuses of entropic_solve; if `control` stops
 * it, the outcome is that of the interrupted part. */
DPOT_WARN_UNUSED dpot_status divergence_solve(const struct divergence_problem *problem,
                                              const struct entropic_options *options,
                                              const struct solve_control *control,
                                              double *grad_a /* (n) */, double *grad_b /* (m) */,
                                              struct divergence_result *result,
                                              struct dpot_error *error);

#endif

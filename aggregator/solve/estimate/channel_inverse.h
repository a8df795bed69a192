/* The unbiased linear estimate of the weights behind a known channel (solve/estimate/channel_em.h),
 * for confidence intervals.
 *
 * Maximum likelihood with early stopping is biased towards its start and keeps weights >= 0, so
 * resampling it shows its variance but not its bias. The weighted least squares solution of A' w =
 * c / n,
 *
 *   w = G c / n,     G = I^+ A diag(1 / f),     I = A diag(1 / f) A'   (information)
 *
 * with I Fisher's information of a report, is unbiased for every weight that the channel determines
 * and efficient at the law f. If the rows of A are dependent (symmetric balls of cells often are),
 * I^+ is the pseudo-inverse, and a weight is determined if its unit vector has no component in the
 * null directions. Bootstrap intervals of these estimates, clipped to [0, 1], have their nominal
 * coverage; at a small epsilon they are wide. */
#ifndef DPOT_SOLVE_ESTIMATE_CHANNEL_INVERSE_H
#define DPOT_SOLVE_ESTIMATE_CHANNEL_INVERSE_H

#include "base/error.h"
#include "ot/linalg.h"

#include <stdbool.h>
#include <stddef.h>

struct channel_inverse {
    size_t n_inputs, n_outputs;
    double *inverse;     /* (n_inputs, n_outputs) G, owned */
    bool *is_determined; /* (n_inputs) owned */
    size_t n_determined;
};

/* channel (n_inputs, n_outputs) as in channel_em.h, law (n_outputs) f > 0 wherever a report is
 * possible. DPOT_ERR_TOO_LARGE above DPOT_SYMMETRIC_MAX inputs, DPOT_ERR_RANGE, DPOT_ERR_MEMORY:
 * *inverse is zeroed then. */
DPOT_WARN_UNUSED dpot_status channel_inverse_init(const double *channel, size_t n_inputs,
                                                  size_t n_outputs, const double *law,
                                                  const struct dpot_linalg *linalg,
                                                  struct channel_inverse *inverse,
                                                  struct dpot_error *error);

/* May be zeroed. */
void channel_inverse_release(struct channel_inverse *inverse);

#endif

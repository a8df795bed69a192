/* What reports alone tell about each weight behind a known channel (solve/estimate/channel_em.h): the unbiased linear
 * estimate, for intervals.
 *
 * Maximum likelihood that stops early leans on its start and keeps weights at least 0, so that resampling
 * it shows how much it moves and not how far it may be off. The weighted least squares solution of A' w = c / n,
 *
 *   w = G c / n,     G = I^+ A diag(1 / f),     I = A diag(1 / f) A'     (Fisher's information of a report)
 *
 * is unbiased for every weight that the channel determines, whatever the others are, and efficient at the law
 * f. Where the rows of A are dependent (symmetric balls of cells often are) I^+ is the pseudo-inverse, and a
 * weight is determined when its unit vector has no part among the directions that are lost. Resampled and cut
 * to [0, 1] these estimates cover as they promise; they may be wide, and that is the truth at a small epsilon. */
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

/* channel (n_inputs, n_outputs) as in channel_em.h, law (n_outputs) f > 0 where a report can be.
 * DPOT_ERR_TOO_LARGE above DPOT_SYMMETRIC_MAX inputs, DPOT_ERR_RANGE, DPOT_ERR_MEMORY: *inverse is zeroed then. */
DPOT_WARN_UNUSED dpot_status channel_inverse_init(const double *channel, size_t n_inputs,
                                                  size_t n_outputs, const double *law,
                                                  const struct dpot_linalg *linalg,
                                                  struct channel_inverse *inverse,
                                                  struct dpot_error *error);

/* A zeroed one is allowed. */
void channel_inverse_release(struct channel_inverse *inverse);

#endif

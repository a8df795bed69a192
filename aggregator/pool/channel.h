/* The channel of an index campaign: what a device that holds one point reports.
 *
 * A_lj is the probability that a device whose only place is domain point l reports output point j: the very
 * integers W / 2^62 that the device draws from (dpot_privatizer_law), not a model of them. A device of a campaign
 * with `sample_first`, or of one where n_max is 1, has one point when it draws, so that the pool's law is the mixture
 * of these rows, with the distribution of the devices' places as weights, and can be inverted
 * (solve/estimate/channel_em.h). Where a device projects a measure of several points, the law of its report is no
 * mixture of those of the points: such a campaign has no channel.
 *
 * Rows of wpm with a uniform base measure: the point's measure is projected onto the laws between L and U, which is U on
 * the points nearest to it, L on the others, and in between on the last: a ball of cells. */
#ifndef DPOT_POOL_CHANNEL_H
#define DPOT_POOL_CHANNEL_H

#include "base/error.h"
#include "model/campaign.h"

#include <stdbool.h>

#define CHANNEL_SIZE_MAX ((uint64_t)1 << 26) /* entries: 512 MiB */

/* Whether the campaign has one. DPOT_ERR_SHAPE: its reports are vectors, or devices project measures of several
 * points; DPOT_ERR_TOO_LARGE. The campaign must have been checked. */
DPOT_WARN_UNUSED dpot_status channel_check(const struct dpot_campaign *campaign,
                                           struct dpot_error *error);

/* Fills the channel; asks `stops` (may be NULL) after every row, and ends early, with DPOT_OK, when it says
 * true. Status as channel_check, and DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status channel_fill(const struct dpot_campaign *campaign,
                                          bool (*stops)(void *ctx), void *ctx,
                                          double *channel /* (domain size, output size) */,
                                          struct dpot_error *error);

#endif

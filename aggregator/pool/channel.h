/* The channel of an index campaign: the law of the report of a device that holds one point.
 *
 * A_lj is the probability that a device whose only place is domain point l reports output point j:
 * exactly the integers W / 2^62 that the device draws from (dpot_privatizer_law). Where each device
 * has one point when it draws (`sample_first`, or n_max 1), the law of the pool is the mixture of
 * these rows, weighted with the distribution of the devices' places, and can be inverted
 * (solve/estimate/channel_em.h). Where devices project a measure of several points, the law of a
 * report is no such mixture, and the campaign has no channel.
 *
 * A row of wpm with a uniform base measure is U on the points nearest to l, L on the far ones and a
 * value between on one last point: a ball of cells. */
#ifndef DPOT_POOL_CHANNEL_H
#define DPOT_POOL_CHANNEL_H

#include "base/error.h"
#include "model/campaign.h"

#include <stdbool.h>

#define CHANNEL_SIZE_MAX ((uint64_t)1 << 26) /* entries: 512 MiB */

/* Whether the campaign, which must have been checked, has a channel. DPOT_ERR_SHAPE: its reports
 * are vectors, or devices project measures of several points; DPOT_ERR_TOO_LARGE: more than
 * CHANNEL_SIZE_MAX entries. */
DPOT_WARN_UNUSED dpot_status channel_check(const struct dpot_campaign *campaign,
                                           struct dpot_error *error);

/* Fills the channel. Calls `stops` (may be NULL) after each row and returns early, with DPOT_OK,
 * when it returns true. Status as channel_check, and DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status channel_fill(const struct dpot_campaign *campaign,
                                          bool (*stops)(void *ctx), void *ctx,
                                          double *channel /* (domain size, output size) */,
                                          struct dpot_error *error);

#endif

/* The number of sweeps (Sinkhorn iterations) that a wpm device needs, measured with the device's
 * code before a campaign is signed.
 *
 * The error of N sweeps at a measure is the L1 distance between the law of its report and the limit
 * of the laws, which another solver finds with a proved bound (campaign/sweeps_limit.h); the bound
 * counts as error. It is measured at single places (all of the domain, or SWEEPS_PLACES spread over
 * it) and, where a device projects several places at once, at SWEEPS_MIXTURES random measures of 2
 * to n_max places; the largest error counts. N is doubled from SWEEPS_FIRST, so it is at most twice
 * the least sufficient number. The same campaign gives the same N on every machine. */
#ifndef DPOT_CAMPAIGN_SWEEPS_H
#define DPOT_CAMPAIGN_SWEEPS_H

#include "base/error.h"
#include "model/campaign.h"

#define SWEEPS_FIRST 5
#define SWEEPS_PLACES 256
#define SWEEPS_MIXTURES 32
#define SWEEPS_ERROR 1e-3 /* of "auto" */

/* campaign: checked (dpot_mechanism_check_campaign); its iterations are not used.
 * DPOT_ERR_RANGE: DPOT_ITERATIONS_MAX sweeps do not reach the error (the sentence has the one they
 * reach), or the limit is not known that precisely. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status sweeps_measure(const struct dpot_campaign *campaign,
                                            double error_wanted, uint32_t *iterations,
                                            struct dpot_error *error);

#endif

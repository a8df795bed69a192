/* How many sweeps a wpm device needs: measured with the device's own code, before a campaign is signed.
 *
 * The error of N sweeps at a measure is the L1 distance between the law of its report and the law that sweeps tend
 * to, which another solver finds with a proved bound (campaign/sweeps_limit.h); the bound counts as error. It is
 * taken at single places (all of the domain, or SWEEPS_PLACES spread over it) and, where a device projects several
 * places at once, at SWEEPS_MIXTURES random measures of 2 to n_max places; the worst counts. N goes up by doubling
 * from SWEEPS_FIRST, so that it is at most twice the least that does. The same campaign gives the same N on every
 * machine. */
#ifndef DPOT_CAMPAIGN_SWEEPS_H
#define DPOT_CAMPAIGN_SWEEPS_H

#include "base/error.h"
#include "model/campaign.h"

#define SWEEPS_FIRST 5
#define SWEEPS_PLACES 256
#define SWEEPS_MIXTURES 32
#define SWEEPS_ERROR 1e-3 /* when none is asked for */

/* `campaign` has passed dpot_mechanism_check_campaign; its iterations are not looked at. DPOT_ERR_RANGE: not even
 * DPOT_ITERATIONS_MAX sweeps come so near, with the error that they leave, or the limit is not known so well;
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status sweeps_measure(const struct dpot_campaign *campaign,
                                            double error_wanted, uint32_t *iterations,
                                            struct dpot_error *error);

#endif

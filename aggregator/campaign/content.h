/* Content digests: equal for campaigns whose reports have the same law given the same data.
 *
 * The campaign hash names one signed revision. A SPEC that was never deployed, the revision signed
 * from it and its simulation in one process have three different hashes and one content: domain,
 * output points, metric, mechanism and all of its integers. The pool of one campaign may therefore
 * be estimated with another of the same content. A revision with another base measure has another
 * content. */
#ifndef DPOT_CAMPAIGN_CONTENT_H
#define DPOT_CAMPAIGN_CONTENT_H

#include "base/error.h"
#include "model/campaign.h"

/* BLAKE2b-256 over "dpot.content.v1" and a NUL, then the canonical bytes (proto/wire_campaign.h) of
 * the campaign with id 0, revision 1, no name, one round of no length, min_pool 0, no groups,
 * simulation and loss_counts false, and output "same" when the output points are the domain's. The
 * campaign must have been checked. DPOT_ERR_MEMORY, DPOT_ERR_TOO_LARGE. */
DPOT_WARN_UNUSED dpot_status content_digest(const struct dpot_campaign *campaign,
                                            uint8_t digest[DPOT_HASH_LEN],
                                            struct dpot_error *error);

#endif

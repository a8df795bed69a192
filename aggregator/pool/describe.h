/* What is told of a pool: its counts, and what its export holds. The JSON of the admin API and of the
 * files beside exports. */
#ifndef DPOT_POOL_DESCRIBE_H
#define DPOT_POOL_DESCRIBE_H

#include "store/store.h"
#include "json/json.h"

/* {"revision", "campaign_hash", "content_digest" (campaign/content.h), "mechanism", "scale", "n", "accepted",
 * "duplicate", "rejected": {"malformed", ...}, "min_pool", "is_ready"}; scale is null for an index
 * mechanism. Of a vector mechanism also {"epsilon", "delta" of one report, "grid_step", "dim", "data_dim", "transform": {"type": "none"} or
 * {"type": "dct", "shape": [rows, cols], "keep": [numbers of the coefficients]}, "domain": the set that
 * devices clip their coefficients to, as in a SPEC (a box of more than 4096 different sides has its "dim"
 * only)}. Of a sphere {"epsilon", "delta", "contraction" (c: the mean of a device's report is c times its
 * vector, campaign/spec_sphere.h), "directions" (how many a report chooses from), "dim", "data_dim", "transform", "domain"}. Of a campaign with groups also "groups", their labels. New reference; NULL when memory is out. */
json_t *describe_pool(const struct dpot_campaign *campaign, const uint8_t hash[DPOT_HASH_LEN],
                      const struct pool_count *count);

/* What the integers of a vector campaign charge for one report; NAN for what they do not tell (a Gaussian
 * without a certificate). */
void describe_charge(const struct dpot_campaign *campaign, double *epsilon, double *delta);

#endif

/* Describes a pool, its counts and what its export holds: the JSON of the admin API and of the
 * files beside exports. */
#ifndef DPOT_POOL_DESCRIBE_H
#define DPOT_POOL_DESCRIBE_H

#include "store/store.h"
#include "json/json.h"

/* {"revision", "campaign_hash", "content_digest" (campaign/content.h), "mechanism", "scale", "n",
 * "accepted", "duplicate", "rejected": {"malformed", ...}, "min_pool", "is_ready"}; scale is null
 * without a vector mechanism.
 *
 * Vector mechanisms add {"epsilon", "delta" of one report, "grid_step", "dim", "data_dim",
 * "transform": {"type": "none"} or {"type": "dct", "shape": [rows, cols], "keep": [numbers of the
 * coefficients]}, "domain": the set to which devices clip their coefficients, as in a SPEC (of a
 * box with more than 4096 different sides only "dim")}.
 *
 * Spheres add {"epsilon", "delta", "contraction" (c: the mean of a device's report is c times its
 * vector, campaign/spec_sphere.h), "directions" (that a report chooses from), "dim", "data_dim",
 * "transform", "domain"}.
 *
 * Campaigns with groups add "groups", their labels. New reference; NULL when memory is out. */
json_t *describe_pool(const struct dpot_campaign *campaign, const uint8_t hash[DPOT_HASH_LEN],
                      const struct pool_count *count);

/* The charge of one report of a vector campaign, from its integers; NAN where they do not tell
 * (Gaussian without a certificate). */
void describe_charge(const struct dpot_campaign *campaign, double *epsilon, double *delta);

#endif

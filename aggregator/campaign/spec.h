/* Campaign SPEC (JSON) -> campaign revision. The one compiler of what an operator writes.
 *
 * Keys are those of the operator's page (aggregator/doc/campaign-spec.md); unknown keys are refused
 * by name, and every refusal names the key, its value and what to do. Files a SPEC points to
 * (domain.file, output.file, mechanism.base_measure) are read by spec_inline on the analyst's
 * machine and travel inside the JSON; the server never opens a path. */
#ifndef DPOT_CAMPAIGN_SPEC_H
#define DPOT_CAMPAIGN_SPEC_H

#include "model/campaign.h"
#include "json/json.h"

/* Replaces {"type":"points","file":F} by {"type":"points","points":[[..],..]} and a base_measure
 * file name by the array of its masses; then "iterations": "auto" or {"error": E} by the number of sweeps that is
 * measured (campaign/sweeps.h; seconds). Paths are relative to `folder`. DPOT_ERR_IO, DPOT_ERR_MALFORMED,
 * DPOT_ERR_RANGE, and where sweeps are measured what spec_compile says. */
DPOT_WARN_UNUSED dpot_status spec_inline(json_t *spec, const char *folder,
                                         struct dpot_error *error);

/* Measures that are optimal have masses of 0, and a campaign has none: masses below 2^-32 of the largest, 0 too,
 * become that, and all are scaled to keep the total. Nothing changes where a mass is negative or not finite, which
 * spec_compile refuses. Returns how many were raised by more than a factor of 2. */
size_t spec_raise_masses(double *masses /* (n) */, size_t n);

/* Compiles a SPEC into a campaign (release it when done): fills id and revision as given, encodes
 * the base measure to integers and runs dpot_mechanism_check_campaign. "lambda_relative" is a
 * fraction of the largest cost. base_measure is "uniform" (total mass 1), "uniform:<total mass>" or
 * an array of masses. Status as the checks say; *campaign is zeroed on failure. */
DPOT_WARN_UNUSED dpot_status spec_compile(const json_t *spec,
                                          const uint8_t id[DPOT_CAMPAIGN_ID_LEN], uint32_t revision,
                                          struct dpot_campaign *campaign, struct dpot_error *error);

/* A campaign as JSON for people: the SPEC keys, the hash and the derived numbers (epsilon in
 * effect, total mass, rounds with their times). New reference, NULL when memory is out. `points`
 * only if `with_points`. */
json_t *spec_describe(const struct dpot_campaign *campaign, const uint8_t hash[DPOT_HASH_LEN],
                      int with_points);

#endif

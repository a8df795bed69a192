/* The SPEC compiler: JSON -> campaign revision.
 *
 * The operator's page (aggregator/doc/campaign-spec.md) describes the keys, spec_fields.c has them
 * as tables. Every refusal names the key, its value and the remedy. Files that a SPEC names
 * (domain.file, output.file, mechanism.base_measure) are read by spec_inline on the analyst's
 * machine and sent inside the JSON; the server never opens a path. */
#ifndef DPOT_CAMPAIGN_SPEC_H
#define DPOT_CAMPAIGN_SPEC_H

#include "model/campaign.h"
#include "json/json.h"

/* Replaces {"type":"points","file":F} by {"type":"points","points":[[..],..]}, a base_measure file
 * name by the array of its masses, and "iterations": "auto" or {"error": E} by the measured number
 * of sweeps (campaign/sweeps.h; takes seconds). Paths are relative to `folder`. DPOT_ERR_IO,
 * DPOT_ERR_MALFORMED, DPOT_ERR_RANGE, and statuses of spec_compile where sweeps are measured; the
 * SPEC is changed in part then. */
DPOT_WARN_UNUSED dpot_status spec_inline(json_t *spec, const char *folder,
                                         struct dpot_error *error);

/* Raises masses below 2^-32 of the largest, 0 too, to that, and scales all to keep the total:
 * optimal measures have masses of 0, which a campaign cannot encode. Changes nothing when a mass is
 * negative or not finite, which spec_compile refuses. Returns how many were raised by more than a
 * factor of 2. */
size_t spec_raise_masses(double *masses /* (n) */, size_t n);

/* Compiles a SPEC into a campaign with this id and revision (release it when done): encodes the
 * base measure as integers and runs dpot_mechanism_check_campaign. DPOT_ERR_MALFORMED,
 * DPOT_ERR_RANGE, DPOT_ERR_SHAPE, DPOT_ERR_EPSILON, ...: *campaign is zeroed then. */
DPOT_WARN_UNUSED dpot_status spec_compile(const json_t *spec,
                                          const uint8_t id[DPOT_CAMPAIGN_ID_LEN], uint32_t revision,
                                          struct dpot_campaign *campaign, struct dpot_error *error);

/* A campaign as JSON for people: the keys of the SPEC, the hash and derived numbers (epsilon in
 * effect, total mass, rounds with their times). with_points: list points and masses too. New
 * reference, NULL when memory is out. */
json_t *spec_describe(const struct dpot_campaign *campaign, const uint8_t hash[DPOT_HASH_LEN],
                      int with_points);

#endif

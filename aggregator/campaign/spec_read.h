/* Reading SPEC values with the sentence that names the key: shared by the SPEC compiler's files. */
#ifndef DPOT_CAMPAIGN_SPEC_READ_H
#define DPOT_CAMPAIGN_SPEC_READ_H

#include "model/campaign.h"
#include "json/json.h"

/* Turns the silent DPOT_ERR_NOT_FOUND of a json_get_... into "KEY is missing: ..."; other statuses
 * pass. */
DPOT_WARN_UNUSED dpot_status spec_require(dpot_status status, const char *key, const char *remedy,
                                          struct dpot_error *error);

/* The same reading where a missing key keeps the default. */
DPOT_WARN_UNUSED dpot_status spec_default(dpot_status status);

/* An array of `size` finite numbers at `array`; `key` is its dotted name. */
DPOT_WARN_UNUSED dpot_status spec_read_numbers(const json_t *array, const char *key,
                                               double *out /* (size) */, size_t size,
                                               struct dpot_error *error);

/* Reads object[key] as a domain: types "points", "grid" and, if `with_ring`, "ring" and "sphere".
 * `*domain` is zeroed on failure. */
DPOT_WARN_UNUSED dpot_status spec_read_domain(const json_t *object, const char *key, bool with_ring,
                                              struct dpot_domain *domain, struct dpot_error *error);

/* Reads mechanism.type and refuses one that this build does not have. */
DPOT_WARN_UNUSED dpot_status spec_read_mechanism_type(const json_t *spec,
                                                      enum dpot_mechanism_id *id,
                                                      struct dpot_error *error);

/* Reads mechanism.solver, "entropic" where it is missing, and refuses numbers that the solver does not
 * use, "auto" included: for a wpm mechanism. */
DPOT_WARN_UNUSED dpot_status spec_check_solver_keys(const json_t *mechanism, bool *is_exact,
                                                    struct dpot_error *error);

/* Reads mechanism.passes of the exact solver. */
DPOT_WARN_UNUSED dpot_status spec_read_passes(const json_t *mechanism,
                                              struct dpot_campaign *campaign,
                                              struct dpot_error *error);

/* Reads mechanism.epsilon of an index mechanism. */
DPOT_WARN_UNUSED dpot_status spec_read_epsilon(const json_t *mechanism,
                                               struct dpot_campaign *campaign,
                                               struct dpot_error *error);

/* Reads spec["mechanism"] into a campaign whose domain, output and metric are set. */
DPOT_WARN_UNUSED dpot_status spec_read_mechanism(const json_t *spec, struct dpot_campaign *campaign,
                                                 struct dpot_error *error);

#endif

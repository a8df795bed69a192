/* Caps: what this install may ever be charged, in the unit of its one accountant.
 *
 *   basic  sums of epsilon and of delta (basic composition)
 *   zcdp   sums of rho; a pure epsilon counts as epsilon^2 / 2
 *
 * A cap is a dpot_privacy. The members of the other accountant are UINT64_MAX: no limit. */
#ifndef DPOT_CLIENT_CAPS_H
#define DPOT_CLIENT_CAPS_H

#include "base/error.h"
#include "dpot/dpot.h"
#include "model/privacy.h"

struct dpot_caps {
    struct dpot_privacy campaign; /* over all revisions and rounds of one campaign */
    struct dpot_privacy window;
    struct dpot_privacy lifetime;
};

/* Reads the caps of the config's accountant, rounded down. DPOT_ERR_CAP_UNSET names the missing
 * one; DPOT_ERR_ARGUMENT: an unknown accountant, or a cap of the other one. */
DPOT_WARN_UNUSED dpot_status dpot_caps_init(struct dpot_caps *caps,
                                            const struct dpot_client_config *config,
                                            struct dpot_error *error);

/* Limits the campaign's epsilon cap to the ceiling. */
void dpot_caps_limit(struct dpot_caps *caps, uint64_t ceiling_q32);

/* DPOT_ERR_BUDGET with a sentence unless spent + cost is within `cap`, which is called `name`. */
DPOT_WARN_UNUSED dpot_status dpot_cap_check(struct dpot_privacy cap, struct dpot_privacy spent,
                                            struct dpot_privacy cost, const char *name,
                                            struct dpot_error *error);

#endif

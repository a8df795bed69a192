/* The part of dpot_campaign_check for campaigns on a sphere. */
#ifndef DPOT_MODEL_CAMPAIGN_SPHERE_H
#define DPOT_MODEL_CAMPAIGN_SPHERE_H

#include "model/campaign.h"

/* Checks that a sphere is the domain and directions are the output, or neither; and with them wpm,
 * the exact solver, the euclidean metric, equal masses, and limits of n_max and of the work for a
 * report. The domains themselves have been checked. */
DPOT_WARN_UNUSED dpot_status dpot_campaign_check_sphere(const struct dpot_campaign *campaign,
                                                        struct dpot_error *error);

#endif

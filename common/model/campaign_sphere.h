/* What dpot_campaign_check asks of spheres beyond what it asks of every campaign. */
#ifndef DPOT_MODEL_CAMPAIGN_SPHERE_H
#define DPOT_MODEL_CAMPAIGN_SPHERE_H

#include "model/campaign.h"

/* A sphere as domain and directions as output, or neither; with them wpm, the euclidean metric, equal
 * masses, and n_max and the work of one report within limits. Domains were checked by themselves. */
DPOT_WARN_UNUSED dpot_status dpot_campaign_check_sphere(const struct dpot_campaign *campaign,
                                                        struct dpot_error *error);

#endif

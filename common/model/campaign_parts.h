/* Private to campaign*.c. */
#ifndef DPOT_MODEL_CAMPAIGN_PARTS_H
#define DPOT_MODEL_CAMPAIGN_PARTS_H

#include "model/campaign.h"

/* Checks 1 <= value <= max. */
DPOT_WARN_UNUSED dpot_status dpot_campaign_check_count(const char *field, uint64_t value,
                                                       uint64_t max, struct dpot_error *error);

/* Checks domains, metric and the mechanism's parameters. */
DPOT_WARN_UNUSED dpot_status dpot_campaign_check_mechanism(const struct dpot_campaign *campaign,
                                                           struct dpot_error *error);

#endif

/* What the two files of model/campaign.h share. */
#ifndef DPOT_MODEL_CAMPAIGN_PARTS_H
#define DPOT_MODEL_CAMPAIGN_PARTS_H

#include "model/campaign.h"

/* A whole number of 1 to max. */
DPOT_WARN_UNUSED dpot_status dpot_campaign_check_count(const char *field, uint64_t value,
                                                       uint64_t max, struct dpot_error *error);

/* Domains, metric and the mechanism's own numbers (campaign_mechanism.c). */
DPOT_WARN_UNUSED dpot_status dpot_campaign_check_mechanism(const struct dpot_campaign *campaign,
                                                           struct dpot_error *error);

#endif

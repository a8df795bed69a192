/* A SPEC that must compile, or must not. */
#ifndef DPOT_CAMPAIGN_SPEC_FIXTURE_H
#define DPOT_CAMPAIGN_SPEC_FIXTURE_H

#include "base/error.h"
#include "model/campaign.h"
#include "json/json.h"

/* Compiles, and takes the reference; the caller releases. */
struct dpot_campaign compile(json_t *spec);

/* The SPEC, whose reference it takes, must be refused with this status and a sentence that holds
 * `word`. */
void refuse(json_t *spec, dpot_status expected, const char *word);

#endif

/* Validates one report against its signed campaign, and nothing else. */
#ifndef DPOT_POOL_VALIDATE_H
#define DPOT_POOL_VALIDATE_H

#include "model/campaign.h"

/* True when a report has the form of this campaign's mechanism: an index, or one number per
 * coordinate of the vector. */
bool validate_shape(const struct dpot_campaign *campaign, const struct dpot_report *report);

/* DPOT_REPORT_ACCEPTED, or the first reason to reject it: malformed (is_malformed, or another
 * shape), out of range (an index of no output point, or a number that no device can have drawn:
 * dpot_mechanism_value_range), an unknown group, a TEST mark in a campaign that is no
 * simulation. */
enum dpot_report_status validate_report(const struct dpot_campaign *campaign,
                                        const struct dpot_report *report, bool is_malformed);

#endif

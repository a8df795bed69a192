/* Judging: is one report what its signed campaign asks for? Looks at nothing else. */
#ifndef DPOT_POOL_JUDGE_H
#define DPOT_POOL_JUDGE_H

#include "model/campaign.h"

/* True when a report holds what this campaign's mechanism makes: an index, or as many numbers as a
 * vector has coordinates. */
bool judge_has_shape(const struct dpot_campaign *campaign, const struct dpot_report *report);

/* DPOT_REPORT_ACCEPTED: nothing against it here. Rejected otherwise, for the first of these that holds:
 * malformed (said so, or without the campaign's shape), out of range (an index that names no output
 * point, a number that no device can have drawn: dpot_mechanism_value_range), of an unknown group, with
 * a TEST mark in a campaign that is no simulation. */
enum dpot_report_status judge_report(const struct dpot_campaign *campaign,
                                     const struct dpot_report *report, bool is_malformed);

#endif

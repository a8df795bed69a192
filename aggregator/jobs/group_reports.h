/* The reports of a pool, sorted by their public group.
 *
 *     group_reports_init(campaign, n_most, &reports, &error);
 *     group_reports_add(&reports, group, index, row, &error);    for each report, in any order
 *     group_reports_sort(&reports, &error);
 *
 * Index mechanisms: counts of each output. Vector mechanisms: all rows. */
#ifndef DPOT_JOBS_GROUP_REPORTS_H
#define DPOT_JOBS_GROUP_REPORTS_H

#include "base/error.h"
#include "model/campaign.h"

struct group_reports {
    const struct dpot_campaign *campaign; /* borrowed */
    size_t n_groups;
    uint64_t *n_of; /* (n_groups) reports */
    uint64_t n;     /* of all */

    /* Index mechanisms: */
    size_t n_outputs;
    double *counts; /* (n_groups, n_outputs) */

    /* Vector mechanisms: */
    size_t dim, n_most;
    double *rows;    /* (n, dim) coefficients; sorted: group after group */
    uint32_t *group; /* (n_most) of each row; not used after sorting */
};

/* Allocates for n_most reports of a campaign with groups. DPOT_ERR_RANGE: the campaign has none;
 * DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. Release it in every case. */
DPOT_WARN_UNUSED dpot_status group_reports_init(const struct dpot_campaign *campaign,
                                                uint64_t n_most, struct group_reports *reports,
                                                struct dpot_error *error);
void group_reports_release(struct group_reports *reports); /* a zeroed struct is accepted */

/* Adds a report: its index, or for a vector mechanism its row (dim). DPOT_ERR_RANGE: a group or an
 * output that the campaign does not have, or more than n_most reports. */
DPOT_WARN_UNUSED dpot_status group_reports_add(struct group_reports *reports, uint32_t group,
                                               uint32_t index, const double *row,
                                               struct dpot_error *error);

/* Sorts rows by group, stably. A no-op for index mechanisms. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status group_reports_sort(struct group_reports *reports,
                                                struct dpot_error *error);

/* The first row of a group, after sorting. Borrowed. */
const double *group_reports_rows(const struct group_reports *reports, size_t group);

/* DPOT_ERR_STATE, "not yet: group "south" has 12 of 250 accepted reports", for the first group with
 * fewer than `least` reports.
 * weights: (n_groups) or NULL; a group of weight 0 is not checked. */
DPOT_WARN_UNUSED dpot_status group_reports_check_ready(const struct group_reports *reports,
                                                       uint64_t least, const double *weights,
                                                       struct dpot_error *error);

#endif

/* The reports of a pool, sorted by their public group.
 *
 *     group_reports_init(campaign, n_most, &reports, &error);
 *     group_reports_add(&reports, group, index, row, &error);  once per report, in any order
 *     group_reports_sort(&reports, &error);
 *
 * Of an index mechanism only how often each output was named is kept; of a vector mechanism the rows. */
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
    double *rows;    /* (n, dim) coefficients; after the sorting the groups one after the other */
    uint32_t *group; /* (n_most) of each row until the sorting */
};

/* Room for n_most reports of a campaign with groups. DPOT_ERR_RANGE: it has none; DPOT_ERR_TOO_LARGE,
 * DPOT_ERR_MEMORY. Release it in every case. */
DPOT_WARN_UNUSED dpot_status group_reports_init(const struct dpot_campaign *campaign,
                                                uint64_t n_most, struct group_reports *reports,
                                                struct dpot_error *error);
void group_reports_release(struct group_reports *reports); /* a zeroed one is allowed */

/* One report: of an index mechanism its index, of a vector one its row (dim). DPOT_ERR_RANGE: a group or
 * an output that the campaign does not have, or one report too many. */
DPOT_WARN_UNUSED dpot_status group_reports_add(struct group_reports *reports, uint32_t group,
                                               uint32_t index, const double *row,
                                               struct dpot_error *error);

/* Puts rows in the order of their groups, otherwise as they came. Nothing for index mechanisms.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status group_reports_sort(struct group_reports *reports,
                                                struct dpot_error *error);

/* Of a group, after the sorting: where its rows begin. */
const double *group_reports_rows(const struct group_reports *reports, size_t group);

/* DPOT_ERR_STATE "not yet: group "south" has 12 of 250 accepted reports" for the first group below
 * `least` whose weight (NULL: all count) is above 0. */
DPOT_WARN_UNUSED dpot_status group_reports_check_ready(const struct group_reports *reports,
                                                       uint64_t least, const double *weights,
                                                       struct dpot_error *error);

#endif

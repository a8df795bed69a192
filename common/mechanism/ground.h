/* Ground costs of a campaign, row by row: C(x_i, v_j) = d(x_i, v_j)^power from domain point i to
 * every output point j. */
#ifndef DPOT_MECHANISM_GROUND_H
#define DPOT_MECHANISM_GROUND_H

#include "model/campaign.h"

struct dpot_ground {
    const struct dpot_campaign *campaign; /* borrowed */
    const struct dpot_allocator *allocator;
    const double *output; /* (size, dim): the campaign's list, or `computed` */
    double *computed;     /* (size, dim) for a grid or ring; owned */
    double *point;        /* (dim) */
};

/* Bytes that _init allocates. */
size_t dpot_ground_bytes(const struct dpot_campaign *campaign);

/* DPOT_ERR_MEMORY; release is needed after a failure, too. A zeroed struct may be released. */
DPOT_WARN_UNUSED dpot_status dpot_ground_init(struct dpot_ground *ground,
                                              const struct dpot_campaign *campaign,
                                              const struct dpot_allocator *allocator,
                                              struct dpot_error *error);
void dpot_ground_release(struct dpot_ground *ground); /* wipes */

/* The costs of domain point `point`; a number outside of the domain counts as 0. Total. */
void dpot_ground_row(struct dpot_ground *ground, uint32_t point, double *row /* (output size) */);

/* An upper bound on all costs, from the bounding box of all points; at most DBL_MAX. Cheap. */
double dpot_ground_cost_bound(const struct dpot_campaign *campaign);

#endif

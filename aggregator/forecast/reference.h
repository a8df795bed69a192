/* The population that a prediction assumes: public or invented data, never those of the devices.
 *
 * It comes as one of
 *   nothing         index campaigns: every point of the domain alike; vector campaigns: no data
 *   weights (k,)    index campaigns: the share of people at each point, one point a device
 *   device rows     as `dpot simulate` takes them: (device, coordinates..., [count]); a device holds
 *                   the measure of its rows, in a vector campaign their weighted mean
 *   rows (n, dim)   vector campaigns: one vector a device
 *
 * In an index campaign a member of the population is a measure on the domain. `truth` is the mean of the
 * members as they are; what a member's device works with, the n_max heaviest of its points, is what
 * the lists hold. */
#ifndef DPOT_FORECAST_REFERENCE_H
#define DPOT_FORECAST_REFERENCE_H

#include "model/campaign.h"

enum reference_kind {
    REFERENCE_UNIFORM = 1, /* index; nothing was given */
    REFERENCE_WEIGHTS,     /* index */
    REFERENCE_DEVICES,
    REFERENCE_NONE, /* vectors; nothing was given */
};

struct reference {
    enum reference_kind kind;
    size_t n_members;
    double *share; /* (n_members) of the population; sums to 1 */

    /* Index campaigns: member t keeps point[i] with mass[i], first[t] <= i < first[t + 1], mass 1 in
     * all, points increasing. */
    size_t n_points; /* domain size */
    size_t n_entries;
    size_t *first;   /* (n_members + 1) */
    uint32_t *point; /* (n_entries) */
    double *mass;    /* (n_entries) */
    double *truth;   /* (n_points) */

    /* Vector campaigns, as the device takes them: before transform and clip. */
    uint32_t dim;
    double *vectors; /* (n_members, dim) */
};

/* Allocates what the counts and `dim` in *reference ask for, zeroed. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status reference_allocate(struct reference *reference);

/* Index campaigns: one member for each point with weight; weights (k) sum to 1. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status reference_from_weights(const double *weights, size_t k,
                                                    struct reference *reference);

/* Every point of the domain alike. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status reference_uniform(const struct dpot_campaign *campaign,
                                               struct reference *reference);

void reference_release(struct reference *reference);

/* Index campaigns: the population as people at single points, with the share of each point as the
 * members keep it. Of devices that draw one of their own places first it has the same reports. */
DPOT_WARN_UNUSED dpot_status reference_spread(const struct reference *reference,
                                              struct reference *points);

/* The histogram of a member over the domain (n_points), which is all zeros before. */
void reference_fill(const struct reference *reference, size_t member, double *histogram);

#endif

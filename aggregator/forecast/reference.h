/* The population that a forecast assumes: public or invented data, never data of devices.
 *
 * It is one of
 *   nothing         index campaigns: the uniform distribution on the domain; vector campaigns: no
 *                   data
 *   weights (k,)    index campaigns: the share of people at each point, one point per device
 *   device rows     as for `dpot simulate`: (device, coordinates..., [count]); a device holds the
 *                   measure of its rows, in a vector campaign their weighted mean
 *   rows (n, dim)   vector campaigns: one vector per device
 *
 * In an index campaign a member of the population is a measure on the domain. `truth` is the mean
 * of the members' full measures; the lists contain what a member's device uses, its n_max heaviest
 * points. */
#ifndef DPOT_FORECAST_REFERENCE_H
#define DPOT_FORECAST_REFERENCE_H

#include "model/campaign.h"

enum reference_kind {
    REFERENCE_UNIFORM = 1, /* index campaign without data */
    REFERENCE_WEIGHTS,     /* index */
    REFERENCE_DEVICES,
    REFERENCE_NONE, /* vector campaign without data */
};

struct reference {
    enum reference_kind kind;
    size_t n_members;
    double *share; /* (n_members) of the population; sums to 1 */

    /* Index campaigns: member t has mass[i] at point[i], first[t] <= i < first[t + 1], total mass
     * 1, points increasing. */
    size_t n_points; /* domain size */
    size_t n_entries;
    size_t *first;   /* (n_members + 1) */
    uint32_t *point; /* (n_entries) */
    double *mass;    /* (n_entries) */
    double *truth;   /* (n_points) */

    /* Vector campaigns: as the device takes them, before transform and clipping. */
    uint32_t dim;
    double *vectors; /* (n_members, dim) */
};

/* Allocates zeroed arrays for the counts and `dim` in *reference. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status reference_allocate(struct reference *reference);

/* Index campaigns: one member for each point with positive weight; weights (k) sum to 1.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status reference_from_weights(const double *weights, size_t k,
                                                    struct reference *reference);

/* Index campaigns: the uniform distribution on the domain. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status reference_uniform(const struct dpot_campaign *campaign,
                                               struct reference *reference);

void reference_release(struct reference *reference);

/* Index campaigns: the population as people at single points, weighted by the members' measures. It
 * has the same reports as `reference` if devices first draw one of their points.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status reference_spread(const struct reference *reference,
                                              struct reference *points);

/* Writes the measure of a member into a histogram over the domain (n_points) that is all zeros. */
void reference_fill(const struct reference *reference, size_t member, double *histogram);

#endif

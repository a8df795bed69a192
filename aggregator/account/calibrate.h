/* Calibration of the vector mechanisms: from a set in data units and a privacy guarantee to the
 * integers of a campaign.
 *
 * The noise of a device has scale 2^k grid units (model/campaign.h). Free parameters are k, the
 * size of the set in grid units, and the grid step g. Calibration selects the smallest k for which
 * rounding to the grid adds at most 1 % to the noise (CALIBRATE_ROUNDING), the largest set of
 * integers that the device accepts with it (mechanism/acceptance.h), and then g:
 *
 *   box      the corners are the rounded corners: no point inside leaves the box
 *   l1 ball  g = r / (R - dim/2):        no rounded point of the ball leaves it (B2)
 *   l2 ball  g = r / (R - sqrt(dim)/2):  the same
 *
 * Floating point affects utility only: every result has passed the acceptance check of the device.
 * A Gaussian guarantee is a row of the certificate on the safe side of the request; near the rows'
 * own deltas that costs less than another 1 %. */
#ifndef DPOT_ACCOUNT_CALIBRATE_H
#define DPOT_ACCOUNT_CALIBRATE_H

#include "model/campaign.h"

#define CALIBRATE_ROUNDING 0.01

struct calibrate_request {
    enum dpot_mechanism_id mechanism; /* laplace or gaussian */
    double epsilon;                   /* above 0; at most 20, with is_simulation at most 512 */
    double delta;                     /* gaussian: in (0, 1); laplace: 0 */
    double noise_factor;              /* at least 1: multiplies the noise; 0 stands for 1 */
    bool is_simulation;

    /* The set in data units, after a transform. A sphere is given as its l2 ball. */
    enum dpot_vector_set set;
    uint32_t dim;
    double radius;    /* balls */
    uint32_t n_sides; /* box: 1 (same for every coordinate) or dim */
    const double *lo; /* (n_sides) box; borrowed */
    const double *hi; /* (n_sides) */
};

struct calibration {
    struct dpot_noise_parameters noise; /* k and the certificate row */
    double scale;                       /* 2^k g: the noise scale in data units */

    /* The guarantee. Laplace: the least epsilon that a device accepts with these integers, at most
     * the requested one. Gaussian: that of the row. */
    uint64_t epsilon_q32, delta_q64;

    double diameter;         /* of the set in data units: l1 for laplace, l2 for gaussian */
    double continuous_scale; /* the noise scale of the request without a grid */
    double loss;             /* scale / (continuous_scale noise_factor) - 1 */
};

/* Calibrates; sets all of *vector except its transform (none). Release it with
 * dpot_vector_domain_release. The result passes dpot_vector_domain_check and the acceptance check
 * of mechanism/acceptance.h.
 * DPOT_ERR_RANGE: the request is invalid or no k suits; the message names value and remedy.
 * DPOT_ERR_EPSILON: epsilon is above the ceiling of devices. DPOT_ERR_SHAPE, DPOT_ERR_MEMORY.
 * On failure *vector is zeroed. */
DPOT_WARN_UNUSED dpot_status calibrate(const struct calibrate_request *request,
                                       const struct dpot_allocator *allocator,
                                       struct dpot_vector_domain *vector,
                                       struct calibration *calibration, struct dpot_error *error);

/* Validates the request: mechanism, epsilon, delta, factor, set. calibrate does this first. */
DPOT_WARN_UNUSED dpot_status calibrate_check(const struct calibrate_request *request,
                                             struct dpot_error *error);

/* The diameter of the set in data units, rounded up: l1 for laplace, l2 for gaussian. */
double calibrate_diameter(const struct calibrate_request *request);

/* Noise scale without a grid: diameter / epsilon, or gaussian_scale. Rounded up. */
double calibrate_continuous(enum dpot_mechanism_id mechanism, double epsilon, double delta,
                            double diameter);

/* The integers of a device for a known diameter and an unspecified set: the set measures at most
 * `grid_diameter` grid steps after rounding, in at most `dim_max` coordinates.
 * DPOT_ERR_RANGE: no row of the certificate suits. */
struct calibrate_bare {
    struct dpot_noise_parameters noise;
    uint32_t dim_max;
    uint64_t grid_diameter;
    double grid_step, scale; /* scale = 2^k grid_step */
    uint64_t epsilon_q32, delta_q64;
};
DPOT_WARN_UNUSED dpot_status calibrate_bare(enum dpot_mechanism_id mechanism, double epsilon,
                                            double delta, double diameter,
                                            struct calibrate_bare *bare, struct dpot_error *error);

#endif

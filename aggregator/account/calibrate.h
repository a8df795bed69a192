/* Calibration of the vector mechanisms: from a set in data units and a wanted guarantee to the
 * integers of a campaign.
 *
 * The noise of a device has scale 2^k grid units (model/campaign.h); free are k, the size of the
 * set in grid units and the grid step g. Calibration takes the smallest k for which rounding to the grid
 * costs at most 1 % of noise (CALIBRATE_ROUNDING), the largest set of integers that the device's own
 * inequalities (mechanism/acceptance.h) accept with it, and then g such that
 *
 *   box      its corners are the rounded corners: no point inside leaves it
 *   l1 ball  g = r / (R - dim/2):        no rounded point of the ball leaves it (B2)
 *   l2 ball  g = r / (R - sqrt(dim)/2):  the same
 *
 * Floating point decides utility only: what is returned has passed the acceptance check of the
 * device. A Gaussian guarantee comes from a row of the certificate, which is rounded to the safe side
 * of the request: near the rows' own deltas that costs less than another 1 %. */
#ifndef DPOT_ACCOUNT_CALIBRATE_H
#define DPOT_ACCOUNT_CALIBRATE_H

#include "model/campaign.h"

#define CALIBRATE_ROUNDING 0.01

struct calibrate_request {
    enum dpot_mechanism_id mechanism; /* laplace or gaussian */
    double epsilon;                   /* above 0; above 20 with is_simulation only, at most 512 */
    double delta;                     /* gaussian: in (0, 1); laplace: 0 */
    double noise_factor; /* at least 1: this many times the noise that is needed; 0 stands for 1 */
    bool is_simulation;

    /* The set, in data units (after a transform). A sphere is given as its l2 ball. */
    enum dpot_vector_set set;
    uint32_t dim;
    double radius;    /* balls */
    uint32_t n_sides; /* box: 1 (every coordinate alike) or dim */
    const double *lo; /* (n_sides) box; borrowed */
    const double *hi; /* (n_sides) */
};

struct calibration {
    struct dpot_noise_parameters noise; /* k; certificate row */
    double scale;                       /* 2^k g: of the noise in data units */

    /* The guarantee. Laplace: the least E that a device accepts with these integers, at most the
     * request; gaussian: those of the row. */
    uint64_t epsilon_q32, delta_q64;

    double diameter;         /* of the set, data units: l1 for laplace, l2 for gaussian */
    double continuous_scale; /* what noise without a grid would need for the request */
    double loss;             /* scale / (continuous_scale noise_factor) - 1 */
};

/* Sets everything of *vector but its transform (none); release it when done. It passes
 * dpot_vector_domain_check and the acceptance of mechanism/acceptance.h. On failure it is zeroed:
 * DPOT_ERR_RANGE for a wrong request (the sentence names value and remedy), also where no k serves;
 * DPOT_ERR_EPSILON above the ceiling of devices; DPOT_ERR_SHAPE; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status calibrate(const struct calibrate_request *request,
                                       const struct dpot_allocator *allocator,
                                       struct dpot_vector_domain *vector,
                                       struct calibration *calibration, struct dpot_error *error);

/* What calibrate refuses before it looks for integers: mechanism, epsilon, delta, factor, set. */
DPOT_WARN_UNUSED dpot_status calibrate_check(const struct calibrate_request *request,
                                             struct dpot_error *error);

/* The diameter of the set in data units, rounded up: l1 for laplace, l2 for gaussian. */
double calibrate_diameter(const struct calibrate_request *request);

/* Noise without a grid: diameter / epsilon, or gaussian_scale. Rounded up. */
double calibrate_continuous(enum dpot_mechanism_id mechanism, double epsilon, double delta,
                            double diameter);

/* A device's integers where only a diameter is known: a set that measures `grid_diameter` steps once it
 * is rounded to the grid, in at most `dim_max` coordinates. DPOT_ERR_RANGE when no row of the
 * certificate serves. */
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

/* Valid campaigns for tests of mechanisms. They use WPM until campaign_become changes that. */
#ifndef DPOT_TESTS_MECHANISM_CAMPAIGNS_H
#define DPOT_TESTS_MECHANISM_CAMPAIGNS_H

#include "mechanism/mechanism.h"
#include "model/campaign.h"
#include "model/measure.h"

struct campaign_numbers {
    double epsilon;
    double lambda;
    uint32_t iterations;
    uint32_t n_max;
    double mass;   /* log of the base measure's total over epsilon / 2: -1..1 */
    int is_skewed; /* masses 1, 2, 4, ... instead of equal ones */
};

/* A campaign on a ring of `size` points, with the same outputs. The caller releases it. */
struct dpot_campaign campaign_on_ring(uint32_t size, struct campaign_numbers numbers);

/* Replaces the ring by one of another size, with the least mass everywhere, valid or not. */
void campaign_resize_ring(struct dpot_campaign *campaign, uint32_t size);

/* From listed points of one coordinate to others; the cost is distance^cost_power. */
struct dpot_campaign campaign_on_line(uint32_t size, const double *points, uint32_t output_size,
                                      const double *output, double cost_power,
                                      struct campaign_numbers numbers);

/* Selects the exact solver, without lambda and sweeps. */
void campaign_be_exact(struct dpot_campaign *campaign);

/* On unit vectors of `dim` coordinates, with n_directions outputs. lambda and iterations in
 * `numbers` must be 0. */
struct dpot_campaign campaign_on_sphere(uint32_t dim, uint32_t n_directions, double cost_power,
                                        struct campaign_numbers numbers);

/* Turns a WPM campaign into one of a baseline mechanism, at the same epsilon, with the mechanism's
 * own base measure or with the campaign's. */
void campaign_become(struct dpot_campaign *campaign, enum dpot_mechanism_id mechanism,
                     bool with_own_measure);

/* A private measure of exactly n_max rows from a histogram over the domain. */
struct dpot_private_measure private_measure_of(const struct dpot_campaign *campaign,
                                               const double *histogram);

/* A privatizer of a campaign, asserting that devices accept it. The caller frees it. */
struct dpot_privatizer *new_privatizer(const struct dpot_campaign *campaign);

/* Asserts that opening the mechanism reports out of memory at every allocation, and leaks nothing.
 */
void assert_allocations_may_fail(const struct dpot_campaign *campaign);

/* Asserts that a law of at most 64 outputs is within the campaign's bounds and sums to
 * DPOT_MASS_ONE. */
void assert_law(const struct dpot_campaign *campaign, const uint64_t *weights);

#endif

/* Sound campaigns for tests of mechanisms: WPM, unless they become something else. */
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

/* Over a ring of `size` points, output the same. The caller releases it. */
struct dpot_campaign campaign_on_ring(uint32_t size, struct campaign_numbers numbers);

/* Puts it over a ring of another size, with the least mass everywhere, sound or not. */
void campaign_resize_ring(struct dpot_campaign *campaign, uint32_t size);

/* From listed points of one coordinate to others, absolute distance to the power `cost_power`. */
struct dpot_campaign campaign_on_line(uint32_t size, const double *points, uint32_t output_size,
                                      const double *output, double cost_power,
                                      struct campaign_numbers numbers);

/* Lets its devices project exactly, without lambda and sweeps. */
void campaign_be_exact(struct dpot_campaign *campaign);

/* On unit vectors of `dim` coordinates, which name one of n_directions; lambda and iterations must be 0. */
struct dpot_campaign campaign_on_sphere(uint32_t dim, uint32_t n_directions, double cost_power,
                                        struct campaign_numbers numbers);

/* Turns a WPM campaign into one of the baselines, at the same epsilon: with the mechanism's own base
 * measure, or with the one it had. */
void campaign_become(struct dpot_campaign *campaign, enum dpot_mechanism_id mechanism,
                     bool with_own_measure);

/* A private measure of exactly n_max rows from a histogram over the domain. */
struct dpot_private_measure private_measure_of(const struct dpot_campaign *campaign,
                                               const double *histogram);

/* Of a campaign that devices accept, which is asserted. The caller frees it. */
struct dpot_privatizer *new_privatizer(const struct dpot_campaign *campaign);

/* Opening its mechanism may run out of memory anywhere: it says so and leaves nothing behind. */
void assert_allocations_may_fail(const struct dpot_campaign *campaign);

/* The law of a report, of at most 64 outputs: within the campaign's bounds, of mass DPOT_MASS_ONE. */
void assert_law(const struct dpot_campaign *campaign, const uint64_t *weights);

#endif

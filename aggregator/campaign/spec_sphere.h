/* SPECs of campaigns on a sphere: {"domain":{"type":"sphere","dim":D}} with wpm.
 *
 * Output is "same" or {"type":"directions","count":K}. The default of K is the least power of two
 * from 4096 on whose expected cost is within 1 % of the closed form's (account/sphere.h), at most
 * 65536 and what fits a device. A K whose cost is more than 10 % above it is refused with the least
 * accepted one, unless K is the largest that would be chosen. base_measure "uniform" (the default)
 * has the best total mass for K directions; "uniform:<total mass>" sets another. The projection is
 * exact: no lambda, no iterations. */
#ifndef DPOT_CAMPAIGN_SPEC_SPHERE_H
#define DPOT_CAMPAIGN_SPEC_SPHERE_H

#include "account/sphere.h"
#include "model/campaign.h"
#include "json/json.h"

#define SPEC_DIRECTIONS_DEFAULT 4096u
#define SPEC_DIRECTIONS_MOST 65536u

/* Numbers that follow from the integers of a checked sphere campaign: the channel of a device with
 * one vector, and the closed form. */
struct spec_sphere {
    struct sphere_channel channel;
    struct sphere_scatter scatter;
    struct sphere_optimum optimum;
    double total_mass;
};
void spec_measure_sphere(const struct dpot_campaign *campaign, struct spec_sphere *measured);

/* {"expected_cost" (E |x - y|^p), "contraction" (c: E y = c x), "n_near", "report_error" (root of
 * E |y/c - x|^2), "optimal_cost" (W_p^p), "optimal_total_mass", "mean_cost" (of a report that does
 * not depend on the data)}. New reference; NULL when memory is out. */
json_t *spec_describe_sphere(const struct dpot_campaign *campaign);

#endif

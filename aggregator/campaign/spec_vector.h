/* The set and the transform of a vector mechanism in a SPEC: in data units, before they are
 * calibrated to integers. */
#ifndef DPOT_CAMPAIGN_SPEC_VECTOR_H
#define DPOT_CAMPAIGN_SPEC_VECTOR_H

#include "model/campaign.h"
#include "json/json.h"

struct spec_vector_set {
    enum dpot_vector_set set;
    uint32_t dim;
    double radius;    /* balls; 1 for a sphere, which stands for the unit l2 ball */
    uint32_t n_sides; /* box: 1 (all coordinates alike) or dim */
    double *lo, *hi;  /* (n_sides) owned */
    const char *type; /* as in the SPEC: "box", "l1_ball", "l2_ball", "sphere"; static */
};

/* Reads
 *   {"type":"box","lo":[..],"hi":[..]}         or numbers lo, hi and "dim"
 *   {"type":"l1_ball"|"l2_ball","radius":R,"dim":D}
 *   {"type":"sphere","dim":D}                  radius 1
 * default_dim: taken where "dim" is left out; 0: "dim" is required.
 * Unknown keys are refused. Zeroed on failure. */
DPOT_WARN_UNUSED dpot_status spec_read_vector_set(const json_t *object, uint32_t default_dim,
                                                  struct spec_vector_set *set,
                                                  struct dpot_error *error);
void spec_vector_set_release(struct spec_vector_set *set);

/* Reads mechanism.transform: absent, "none", {"type":"none"} or {"type":"dct","shape":[rows, cols],
 * "keep":K}, where K is a number of coefficients (those of least u / rows + v / cols, ties to the
 * lower u) or a list of [u, v], or of numbers u cols + v as in descriptions of pools. *transform is
 * zeroed on failure; otherwise the caller frees its `keep`. */
DPOT_WARN_UNUSED dpot_status spec_read_transform(const json_t *mechanism,
                                                 struct dpot_transform *transform,
                                                 struct dpot_error *error);

/* "domain" and "mechanism" of spec_describe, with the derived numbers. New references; NULL when
 * memory is out. */
json_t *spec_describe_vector(const struct dpot_campaign *campaign, int with_points);
json_t *spec_describe_noise(const struct dpot_campaign *campaign);

#endif

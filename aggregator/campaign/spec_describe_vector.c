#include "campaign/spec_vector.h"

#include "mechanism/vector_noise.h"

#include <math.h>

static json_t *sides(const struct dpot_vector_domain *vector, const int64_t *side)
{
    json_t *list = json_array();
    for (uint32_t j = 0; j < vector->n_sides; j++) {
        (void)json_array_append_new(list, json_number((double)side[j] * vector->grid_step));
    }
    return list;
}

/* The set that devices enforce: its integers, in data units. */
json_t *spec_describe_vector(const struct dpot_campaign *campaign, int with_points)
{
    const struct dpot_vector_domain *vector = &campaign->vector;
    const json_int_t dim = (json_int_t)vector->dim;
    if (vector->set != DPOT_VECTOR_BOX) {
        return json_pack("{s:s,s:o,s:I}", "type",
                         vector->set == DPOT_VECTOR_L1_BALL ? "l1_ball" : "l2_ball", "radius",
                         json_number((double)vector->radius * vector->grid_step), "dim", dim);
    }
    if (vector->n_sides == 1) {
        return json_pack("{s:s,s:o,s:o,s:I}", "type", "box", "lo",
                         json_number((double)vector->lo[0] * vector->grid_step), "hi",
                         json_number((double)vector->hi[0] * vector->grid_step), "dim", dim);
    }
    return with_points ? json_pack("{s:s,s:o,s:o}", "type", "box", "lo", sides(vector, vector->lo),
                                   "hi", sides(vector, vector->hi))
                       : json_pack("{s:s,s:I}", "type", "box", "dim", dim);
}

static json_t *describe_transform(const struct dpot_transform *transform)
{
    if (transform->id == DPOT_TRANSFORM_NONE) {
        return json_string("none");
    }
    json_t *keep = json_array();
    for (uint32_t i = 0; i < transform->n_keep; i++) {
        (void)json_array_append_new(
            keep, json_pack("[I,I]", (json_int_t)(transform->keep[i] / transform->cols),
                            (json_int_t)(transform->keep[i] % transform->cols)));
    }
    return json_pack("{s:s,s:[I,I],s:o}", "type", "dct", "shape", (json_int_t)transform->rows,
                     (json_int_t)transform->cols, "keep", keep);
}

json_t *spec_describe_noise(const struct dpot_campaign *campaign)
{
    const struct dpot_privacy cost = dpot_mechanism_charge(campaign);
    const struct dpot_sensitivity sensitivity = dpot_campaign_sensitivity(campaign);
    const double step = campaign->vector.grid_step;
    json_t *mechanism = json_pack(
        "{s:s,s:o,s:o,s:I,s:o,s:o}", "type", dpot_mechanism_name(campaign->mechanism), "epsilon",
        json_number(cost.epsilon_q32 == UINT64_MAX ? INFINITY
                                                   : dpot_epsilon_to_double(cost.epsilon_q32)),
        "scale", json_number(ldexp(step, (int)campaign->noise.scale_log2)), "scale_log2",
        (json_int_t)campaign->noise.scale_log2, "grid_step", json_number(step), "transform",
        describe_transform(&campaign->vector.transform));
    if (campaign->mechanism == DPOT_MECHANISM_LAPLACE) {
        (void)json_object_set_new(mechanism, "l1_diameter",
                                  json_number((double)sensitivity.l1 * step));
        return mechanism;
    }
    const double l2 =
        sqrt(ldexp((double)sensitivity.l2_squared.hi, 64) + (double)sensitivity.l2_squared.lo);
    (void)json_object_set_new(mechanism, "delta",
                              json_number(dpot_delta_to_double(cost.delta_q64)));
    (void)json_object_set_new(mechanism, "rho", json_number(dpot_epsilon_to_double(cost.rho_q32)));
    (void)json_object_set_new(mechanism, "certificate_row",
                              json_integer((json_int_t)campaign->noise.certificate_row));
    (void)json_object_set_new(mechanism, "l2_diameter", json_number(l2 * step));
    return mechanism;
}

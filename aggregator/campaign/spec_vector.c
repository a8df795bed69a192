#include "campaign/spec_vector.h"

#include "account/calibrate.h"
#include "campaign/spec_read.h"

#include <math.h>
#include <string.h>

static const char *const laplace_keys[] = {"type", "epsilon", "transform", NULL};
static const char *const gaussian_keys[] = {"type", "epsilon", "delta", "transform", NULL};
static const char *const index_only_keys[] = {"solver",     "lambda",      "lambda_relative",
                                              "iterations", "passes",      "base_measure",
                                              "n_max",      "sample_first"};

static dpot_status check_keys(const json_t *mechanism, enum dpot_mechanism_id id,
                              struct dpot_error *error)
{
    for (size_t i = 0; i < sizeof index_only_keys / sizeof index_only_keys[0]; i++) {
        if (json_object_get(mechanism, index_only_keys[i])) {
            return dpot_error_set(
                error, DPOT_ERR_MALFORMED,
                "mechanism.%s goes with mechanisms on points: %s does not use it, "
                "remove it",
                index_only_keys[i], dpot_mechanism_name(id));
        }
    }
    return json_check_keys(mechanism, "mechanism",
                           id == DPOT_MECHANISM_LAPLACE ? laplace_keys : gaussian_keys, error);
}

/* A vector's report is about the same coordinates as its data. */
static dpot_status check_output(const json_t *spec, struct dpot_error *error)
{
    const json_t *output = json_object_get(spec, "output");
    if (output && (!json_is_string(output) || strcmp(json_string_value(output), "same") != 0)) {
        return dpot_error_set(
            error, DPOT_ERR_MALFORMED,
            "output: a vector mechanism reports vectors of the domain's kind: say "
            "\"same\" or leave it out");
    }
    return DPOT_OK;
}

/* What distances between vectors are told in; it costs and decides nothing on the device. */
static dpot_status read_metric(const json_t *spec, struct dpot_campaign *campaign,
                               struct dpot_error *error)
{
    const char *name = "euclidean";
    campaign->cost_power = 1;
    dpot_status status = spec_default(json_get_string(spec, "", "metric", &name, error));
    if (status == DPOT_OK && dpot_metric_find(name, &campaign->metric.id) != DPOT_OK) {
        status = dpot_error_set(error, DPOT_ERR_RANGE,
                                "metric is \"%.40s\": choose euclidean, l1, linf or cosine", name);
    }
    if (status == DPOT_OK && json_object_get(spec, "ring_size")) {
        status = dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "ring_size goes with the ring metric, which is for points");
    }
    return status == DPOT_OK ? spec_default(json_get_number(spec, "", "power", 1, 64,
                                                            &campaign->cost_power, error))
                             : status;
}

static dpot_status read_privacy(const json_t *mechanism, struct calibrate_request *request,
                                struct dpot_error *error)
{
    dpot_status status = spec_require(json_get_number(mechanism, "mechanism", "epsilon", -INFINITY,
                                                      INFINITY, &request->epsilon, error),
                                      "mechanism.epsilon", "give a number above 0", error);
    if (status == DPOT_OK && request->mechanism == DPOT_MECHANISM_GAUSSIAN) {
        status = spec_require(json_get_number(mechanism, "mechanism", "delta", -INFINITY, INFINITY,
                                              &request->delta, error),
                              "mechanism.delta", "give a number such as 1e-6", error);
    }
    return status;
}

/* The numbers of a transform and of its set must be one and the same. */
static dpot_status check_dim(const struct spec_vector_set *set,
                             const struct dpot_transform *transform, struct dpot_error *error)
{
    if (transform->id == DPOT_TRANSFORM_DCT && set->dim != transform->n_keep) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "domain has %u coordinate%s and mechanism.transform keeps %u: the "
                              "domain is that of the kept coefficients",
                              set->dim, DPOT_S(set->dim), transform->n_keep);
    }
    return DPOT_OK;
}

static dpot_status calibrate_set(const json_t *mechanism, const struct spec_vector_set *set,
                                 enum dpot_mechanism_id id, struct dpot_campaign *campaign,
                                 struct dpot_error *error)
{
    struct calibration calibration;
    struct calibrate_request request = {
        .mechanism = id,
        .is_simulation = campaign->simulation,
        .set = set->set,
        .dim = set->dim,
        .radius = set->radius,
        .n_sides = set->n_sides,
        .lo = set->lo,
        .hi = set->hi,
    };
    dpot_status status = read_privacy(mechanism, &request, error);
    if (status == DPOT_OK) {
        status = calibrate(&request, NULL, &campaign->vector, &calibration, error);
    }
    if (status == DPOT_OK) {
        campaign->noise = calibration.noise;
        campaign->epsilon_q32 = id == DPOT_MECHANISM_LAPLACE ? calibration.epsilon_q32 : 0;
    }
    return status;
}

dpot_status spec_read_vector(const json_t *spec, enum dpot_mechanism_id id,
                             struct dpot_campaign *campaign, struct dpot_error *error)
{
    const json_t *mechanism = json_object_get(spec, "mechanism");
    struct dpot_transform transform = {0};
    struct spec_vector_set set = {0};
    campaign->mechanism = id;
    dpot_status status = check_keys(mechanism, id, error);
    if (status == DPOT_OK) {
        status = check_output(spec, error);
    }
    if (status == DPOT_OK) {
        status = read_metric(spec, campaign, error);
    }
    if (status == DPOT_OK) {
        status = spec_read_transform(mechanism, &transform, error);
    }
    if (status == DPOT_OK) {
        status =
            spec_read_vector_set(json_object_get(spec, "domain"), transform.n_keep, &set, error);
    }
    if (status == DPOT_OK) {
        status = check_dim(&set, &transform, error);
    }
    if (status == DPOT_OK) {
        status = calibrate_set(mechanism, &set, id, campaign, error);
    }
    if (status == DPOT_OK) {
        campaign->vector.transform = transform; /* the campaign owns it now */
    } else {
        dpot_free_array(NULL, transform.keep, transform.n_keep, sizeof *transform.keep);
    }
    spec_vector_set_release(&set);
    return status;
}

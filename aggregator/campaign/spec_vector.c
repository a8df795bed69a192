#include "campaign/spec_vector.h"

#include "account/calibrate.h"
#include "campaign/spec_fields.h"

#include <math.h>
#include <string.h>

/* A report has the coordinates of the data: "same" is the only output. */
static dpot_status check_output(const json_t *output, struct dpot_error *error)
{
    if (output && (!json_is_string(output) || strcmp(json_string_value(output), "same") != 0)) {
        return dpot_error_set(
            error, DPOT_ERR_MALFORMED,
            "output: a vector mechanism reports vectors of the domain's kind: say "
            "\"same\" or leave it out");
    }
    return DPOT_OK;
}

/* The set must have as many coordinates as the transform keeps. */
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

static dpot_status calibrate_set(struct spec *spec, const struct spec_vector_set *set,
                                 struct dpot_error *error)
{
    struct dpot_campaign *campaign = &spec->campaign;
    struct calibration calibration;
    const struct calibrate_request request = {
        .mechanism = campaign->mechanism,
        .epsilon = spec->epsilon,
        .delta = spec->delta,
        .is_simulation = campaign->simulation,
        .set = set->set,
        .dim = set->dim,
        .radius = set->radius,
        .n_sides = set->n_sides,
        .lo = set->lo,
        .hi = set->hi,
    };
    const dpot_status status = calibrate(&request, NULL, &campaign->vector, &calibration, error);
    if (status == DPOT_OK) {
        campaign->noise = calibration.noise;
        campaign->epsilon_q32 =
            campaign->mechanism == DPOT_MECHANISM_LAPLACE ? calibration.epsilon_q32 : 0;
    }
    return status;
}

dpot_status spec_set_vector(struct spec *spec, struct dpot_error *error)
{
    struct dpot_transform transform = {0};
    struct spec_vector_set set = {0};
    dpot_status status = check_output(spec->output, error);
    if (status == DPOT_OK) {
        status = spec_read_transform(spec->mechanism, &transform, error);
    }
    if (status == DPOT_OK) {
        status = spec_read_vector_set(spec->domain, transform.n_keep, &set, error);
    }
    if (status == DPOT_OK) {
        status = check_dim(&set, &transform, error);
    }
    if (status == DPOT_OK) {
        status = calibrate_set(spec, &set, error);
    }
    if (status == DPOT_OK) {
        spec->campaign.vector.transform = transform; /* the campaign owns it now */
    } else {
        dpot_free_array(NULL, transform.keep, transform.n_keep, sizeof *transform.keep);
    }
    spec_vector_set_release(&set);
    return status;
}

#include "campaign/spec.h"

#include "campaign/spec_fields.h"
#include "mechanism/mechanism.h"

#include <string.h>

/* Only wpm has a sphere; vector mechanisms, whose sphere is its ball, do not come here. */
static dpot_status check_sphere(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    return dpot_campaign_is_sphere(campaign) && campaign->mechanism != DPOT_MECHANISM_WPM
               ? dpot_error_set(error, DPOT_ERR_SHAPE,
                                "mechanism.type is %s and domain a sphere: choose wpm, laplace or "
                                "gaussian",
                                dpot_mechanism_name(campaign->mechanism))
               : DPOT_OK;
}

static dpot_status compile_index(struct spec *spec, struct dpot_error *error)
{
    dpot_status status = spec_set_places(spec, error);
    if (status == DPOT_OK) {
        status = check_sphere(&spec->campaign, error);
    }
    if (status == DPOT_OK) {
        status = spec_read_mechanism(spec, error);
    }
    if (status == DPOT_OK && dpot_campaign_is_sphere(&spec->campaign)) {
        status = spec_set_directions(spec, error);
    }
    return status == DPOT_OK ? spec_set_mechanism(spec, error) : status;
}

static dpot_status compile_vector(struct spec *spec, struct dpot_error *error)
{
    const dpot_status status = spec_read_mechanism(spec, error);
    return status == DPOT_OK ? spec_set_vector(spec, error) : status;
}

static dpot_status compile(const json_t *root, struct spec *spec, struct dpot_error *error)
{
    dpot_status status = spec_read_top(root, spec, error);
    if (status == DPOT_OK) {
        status = spec_read_type(spec, error);
    }
    if (status == DPOT_OK) {
        status = dpot_mechanism_is_vector(spec->campaign.mechanism) ? compile_vector(spec, error)
                                                                    : compile_index(spec, error);
    }
    return status == DPOT_OK ? dpot_mechanism_check_campaign(&spec->campaign, error) : status;
}

dpot_status spec_compile(const json_t *spec, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                         uint32_t revision, struct dpot_campaign *campaign,
                         struct dpot_error *error)
{
    struct spec read = {.campaign = {.revision = revision}};
    memcpy(read.campaign.id, id, DPOT_CAMPAIGN_ID_LEN);
    const dpot_status status = compile(spec, &read, error);
    *campaign = read.campaign;
    if (status != DPOT_OK) {
        dpot_campaign_release(campaign);
    }
    return status == DPOT_ERR_MEMORY
               ? dpot_error_set(error, status, "out of memory for the campaign")
               : status;
}

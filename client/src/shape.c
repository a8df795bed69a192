#include "shape.h"

#include "mechanism/mechanism.h"

static dpot_status check_vector_shape(dpot_client *client, const struct dpot_campaign *campaign,
                                      const struct dpot_device_data *data)
{
    const uint32_t dim = dpot_vector_data_dim(&campaign->vector);
    if (data->kind != DATA_VECTOR) {
        return dpot_error_set(&client->error, DPOT_ERR_SHAPE,
                              "campaign \"%s\" (%s) wants one vector of %u numbers: use "
                              "dpot_client_submit_vector",
                              campaign->name, dpot_mechanism_name(campaign->mechanism),
                              (unsigned)dim);
    }
    /* The size of missing data is not checked either: a refusal would tell who has none. */
    if (data->vector && data->dim != dim) {
        return dpot_error_set(&client->error, DPOT_ERR_SHAPE,
                              "the vector has %u numbers: campaign \"%s\" wants %u",
                              (unsigned)data->dim, campaign->name, (unsigned)dim);
    }
    return DPOT_OK;
}

static dpot_status check_points_shape(dpot_client *client, const struct dpot_campaign *campaign,
                                      const struct dpot_device_data *data)
{
    if (data->kind == DATA_VECTOR) {
        return dpot_error_set(&client->error, DPOT_ERR_SHAPE,
                              "campaign \"%s\" (%s) wants places or a histogram, not a vector",
                              campaign->name, dpot_mechanism_name(campaign->mechanism));
    }
    /* Without points `dim` is not checked: a device without data reports like any other. */
    if (data->kind == DATA_POINTS && data->n > 0 && data->dim != campaign->domain.dim) {
        return dpot_error_set(&client->error, DPOT_ERR_SHAPE,
                              "points have %u coordinates: campaign \"%s\" wants %u",
                              (unsigned)data->dim, campaign->name, (unsigned)campaign->domain.dim);
    }
    if (data->kind == DATA_HISTOGRAM && data->histogram && data->size != campaign->domain.size) {
        return dpot_error_set(&client->error, DPOT_ERR_SHAPE,
                              "the histogram has %zu entries: campaign \"%s\" wants %u", data->size,
                              campaign->name, (unsigned)campaign->domain.size);
    }
    return DPOT_OK;
}

/* A sphere takes points, with or without weights, or one vector. */
static dpot_status check_sphere_shape(dpot_client *client, const struct dpot_campaign *campaign,
                                      const struct dpot_device_data *data)
{
    const bool is_other = data->n > 0 && data->dim != campaign->domain.dim;
    if (data->kind != DATA_HISTOGRAM && !is_other) {
        return DPOT_OK;
    }
    return dpot_error_set(&client->error, DPOT_ERR_SHAPE,
                          "campaign \"%s\" is on a sphere: it wants vectors of %u numbers",
                          campaign->name, (unsigned)campaign->domain.dim);
}

dpot_status dpot_shape_check(dpot_client *client, const struct dpot_campaign *campaign,
                             const struct dpot_device_data *data)
{
    const dpot_status status =
        dpot_mechanism_is_vector(campaign->mechanism) ? check_vector_shape(client, campaign, data)
        : dpot_campaign_is_sphere(campaign)           ? check_sphere_shape(client, campaign, data)
                                                      : check_points_shape(client, campaign, data);
    if (status != DPOT_OK) {
        return status;
    }
    const uint32_t group = dpot_client_group(client, campaign->id);
    if (campaign->n_groups > 0 && group >= campaign->n_groups) {
        return dpot_error_set(&client->error, DPOT_ERR_RANGE,
                              "config.group is %u: campaign \"%s\" has the groups 0 to %u",
                              (unsigned)group, campaign->name, (unsigned)campaign->n_groups - 1);
    }
    return DPOT_OK;
}

/* No array is that long: the count is a mistake, not data. */
dpot_status dpot_shape_check_count(dpot_client *client, const struct dpot_device_data *data)
{
    if (!data->points || data->n <= SIZE_MAX / 2 / sizeof(double) / (data->dim ? data->dim : 1)) {
        return DPOT_OK;
    }
    return dpot_error_set(&client->error, DPOT_ERR_ARGUMENT,
                          "n is %zu: no memory holds so many points; nothing was charged", data->n);
}

#include "jobs/pooled_barycenter.h"

#include "json/fields.h"

#include <math.h>

/* Settings, and the lists of the JSON, borrowed. */
struct request {
    struct pooled_settings settings;
    const json_t *group_weights, *cells;
};

#define OR(value) .otherwise = value, .or_null = true

static const struct json_field fields[] = {
    FIELD_INTEGER("support", struct request, settings.support, 1, POOLED_SUPPORT_MAX,
                  OR(POOLED_SUPPORT_DEFAULT)),
    FIELD_VALUE("group_weights", struct request, group_weights, .or_null = true),
    FIELD_NUMBER("lambda", struct request, settings.lambda, 0, 1e300, OR(0)),
    FIELD_INTEGER("starts", struct request, settings.n_starts, 1, POOLED_STARTS_MAX, OR(1)),
    FIELD_INTEGER("seed", struct request, settings.seed, 0, (int64_t)1 << 53, OR(1)),
    FIELD_INTEGER("max_iterations", struct request, settings.max_iterations, 1,
                  BARYCENTER_ITERATIONS_MAX, OR(POOLED_ITERATIONS_DEFAULT)),
    FIELD_INTEGER("min_group", struct request, settings.least, 1, INT64_MAX, .keeps = true,
                  .or_null = true),
    FIELD_VALUE("cells", struct request, cells, .or_null = true),
    FIELD_INTEGER("atoms", struct request, settings.clean.atoms, 0, CLEAN_POINTS_MAX, OR(0)),
    FIELD_NUMBER("deconvolve_tol", struct request, settings.clean.tol, 0, 1e9, OR(-1)),
    FIELD_INTEGER("deconvolve_iterations", struct request, settings.clean.max_iterations, 1, 100000,
                  OR(0)),
    {.key = NULL},
};

static dpot_status read_weights(const json_t *list, const struct dpot_campaign *campaign,
                                struct pooled_settings *settings, struct dpot_error *error)
{
    double sum = 0;
    const dpot_status status = json_read_numbers(list, "parameters.group_weights", 0,
                                                 settings->weights, campaign->n_groups, error);
    if (status != DPOT_OK) {
        return status;
    }
    for (size_t g = 0; g < campaign->n_groups; g++) {
        sum += settings->weights[g];
    }
    if (!(sum > 0 && isfinite(sum))) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "parameters.group_weights sums to %g: at least one must be above 0",
                              sum);
    }
    for (size_t g = 0; fabs(sum - 1) > 1e-12 && g < campaign->n_groups; g++) {
        settings->weights[g] /= sum;
    }
    settings->n_weights = campaign->n_groups;
    return DPOT_OK;
}

static dpot_status read_cells(const json_t *list, const struct dpot_campaign *campaign,
                              struct pooled_settings *settings, struct dpot_error *error)
{
    if (!dpot_mechanism_is_vector(campaign->mechanism)) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "parameters.cells is for vectors: the points of this campaign are its domain's");
    }
    if (campaign->vector.dim > CLEAN_GRID_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "parameters.cells: the campaign has %u coordinates, and at most %d "
                              "have a grid, give parameters.atoms",
                              (unsigned)campaign->vector.dim, CLEAN_GRID_DIM_MAX);
    }
    if (settings->clean.atoms > 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "parameters.cells and parameters.atoms exclude each other: give one");
    }
    return json_read_sizes(list, "parameters.cells", CLEAN_POINTS_MAX, settings->clean.cells,
                           campaign->vector.dim, error);
}

uint64_t pooled_least(const struct dpot_campaign *campaign)
{
    const uint64_t n_groups = campaign->n_groups > 0 ? campaign->n_groups : 1;
    const uint64_t least = campaign->min_pool / n_groups + (campaign->min_pool % n_groups > 0);
    return least > 0 ? least : 1;
}

dpot_status pooled_settings_read(const json_t *given, const struct dpot_campaign *campaign,
                                 struct pooled_settings *settings, struct dpot_error *error)
{
    struct request request = {.settings = {.least = pooled_least(campaign)}};
    dpot_status status = json_read_fields(given, "parameters", fields, NULL, &request, error);
    *settings = request.settings;
    settings->clean.seed = settings->seed;
    if (status == DPOT_OK && request.cells) {
        status = read_cells(request.cells, campaign, settings, error);
    }
    if (status == DPOT_OK) { /* refuses a campaign without groups */
        status = clean_groups_check(campaign, &settings->clean, error);
    }
    return status == DPOT_OK && request.group_weights
               ? read_weights(request.group_weights, campaign, settings, error)
               : status;
}

json_t *pooled_settings_json(const struct pooled_settings *settings,
                             const struct dpot_campaign *campaign)
{
    const size_t n_weights = settings->n_weights;
    const size_t n_cells = settings->clean.cells[0] > 0 ? campaign->vector.dim : 0;
    json_t *weights = n_weights > 0 ? json_numbers(settings->weights, n_weights) : NULL;
    json_t *cells = n_cells > 0 ? json_array() : NULL;
    for (size_t j = 0; j < n_cells; j++) {
        (void)json_array_append_new(cells, json_integer((json_int_t)settings->clean.cells[j]));
    }
    const struct request request = {*settings, weights, cells};
    json_t *object = json_array_size(weights) == n_weights && json_array_size(cells) == n_cells
                         ? json_write_fields(fields, NULL, &request)
                         : NULL;
    json_decref(weights);
    json_decref(cells);
    return object;
}

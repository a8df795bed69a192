#include "jobs/pooled_barycenter.h"

#include <math.h>

static const char *const known[] = {"support",
                                    "group_weights",
                                    "lambda",
                                    "starts",
                                    "seed",
                                    "max_iterations",
                                    "min_group",
                                    "cells",
                                    "atoms",
                                    "deconvolve_tol",
                                    "deconvolve_iterations",
                                    NULL};

#define LAMBDA_MAX 1e300
#define SEED_MAX ((int64_t)1 << 53)
#define TOL_MAX 1e9

/* A key that is null is not given. */
static bool is_given(const json_t *given, const char *key)
{
    const json_t *value = json_object_get(given, key);
    return value && !json_is_null(value);
}

static dpot_status read_size(const json_t *given, const char *key, int64_t min, int64_t max,
                             size_t *out, struct dpot_error *error)
{
    int64_t value = 0;
    if (!is_given(given, key)) {
        return DPOT_OK;
    }
    const dpot_status status = json_get_integer(given, "parameters", key, min, max, &value, error);
    *out = status == DPOT_OK ? (size_t)value : *out;
    return status;
}

static dpot_status read_weights(const json_t *given, const struct dpot_campaign *campaign,
                                struct pooled_settings *settings, struct dpot_error *error)
{
    const json_t *list = json_object_get(given, "group_weights");
    double sum = 0;
    if (!is_given(given, "group_weights")) {
        return DPOT_OK;
    }
    if (!json_is_array(list) || json_array_size(list) != campaign->n_groups) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "parameters.group_weights: give an array of %u numbers, one for each group of "
            "the campaign",
            (unsigned)campaign->n_groups);
    }
    for (size_t g = 0; g < campaign->n_groups; g++) {
        const double weight = json_number_value(json_array_get(list, g));
        if (!json_is_number(json_array_get(list, g)) || !(weight >= 0 && isfinite(weight))) {
            return dpot_error_set(
                error, DPOT_ERR_RANGE,
                "parameters.group_weights: entry %zu, of group \"%s\", must be a number of "
                "at least 0",
                g, campaign->groups[g]);
        }
        settings->weights[g] = weight;
        sum += weight;
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

static dpot_status read_cells(const json_t *given, const struct dpot_campaign *campaign,
                              struct pooled_settings *settings, struct dpot_error *error)
{
    const json_t *list = json_object_get(given, "cells");
    if (!is_given(given, "cells")) {
        return DPOT_OK;
    }
    if (!dpot_mechanism_is_vector(campaign->mechanism)) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "parameters.cells is for vectors: the points of this campaign are its domain's");
    }
    if (!json_is_array(list) || json_array_size(list) != campaign->vector.dim ||
        campaign->vector.dim > CLEAN_GRID_DIM_MAX) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "parameters.cells: give an array of one size for each of the %u coordinates (at "
            "most %d have a grid)",
            (unsigned)campaign->vector.dim, CLEAN_GRID_DIM_MAX);
    }
    for (size_t j = 0; j < campaign->vector.dim; j++) {
        const json_int_t size = json_integer_value(json_array_get(list, j));
        if (size < 1 || size > CLEAN_POINTS_MAX) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "parameters.cells: entry %zu must be an integer from 1 to %d", j,
                                  CLEAN_POINTS_MAX);
        }
        settings->clean.cells[j] = (uint32_t)size;
    }
    return DPOT_OK;
}

static dpot_status read_clean(const json_t *given, const struct dpot_campaign *campaign,
                              struct pooled_settings *settings, struct dpot_error *error)
{
    struct clean_options *clean = &settings->clean;
    dpot_status status = read_cells(given, campaign, settings, error);
    if (status == DPOT_OK) {
        status = read_size(given, "atoms", 0, CLEAN_POINTS_MAX, &clean->atoms, error);
    }
    if (status == DPOT_OK && clean->atoms > 0 && clean->cells[0] > 0) {
        status =
            dpot_error_set(error, DPOT_ERR_RANGE,
                           "parameters.cells and parameters.atoms exclude each other: give one");
    }
    if (status == DPOT_OK && is_given(given, "deconvolve_tol")) {
        status =
            json_get_number(given, "parameters", "deconvolve_tol", 0, TOL_MAX, &clean->tol, error);
    }
    if (status == DPOT_OK) {
        status =
            read_size(given, "deconvolve_iterations", 1, 100000, &clean->max_iterations, error);
    }
    return status == DPOT_OK ? clean_groups_check(campaign, clean, error) : status;
}

static dpot_status read_numbers(const json_t *given, struct pooled_settings *settings,
                                struct dpot_error *error)
{
    size_t seed = (size_t)settings->seed, least = (size_t)settings->least;
    dpot_status status =
        read_size(given, "support", 1, POOLED_SUPPORT_MAX, &settings->support, error);
    if (status == DPOT_OK) {
        status = read_size(given, "starts", 1, POOLED_STARTS_MAX, &settings->n_starts, error);
    }
    if (status == DPOT_OK) {
        status = read_size(given, "max_iterations", 1, BARYCENTER_ITERATIONS_MAX,
                           &settings->max_iterations, error);
    }
    if (status == DPOT_OK) {
        status = read_size(given, "seed", 0, SEED_MAX, &seed, error);
    }
    if (status == DPOT_OK) {
        status = read_size(given, "min_group", 1, INT64_MAX, &least, error);
    }
    if (status == DPOT_OK && is_given(given, "lambda")) {
        status =
            json_get_number(given, "parameters", "lambda", 0, LAMBDA_MAX, &settings->lambda, error);
    }
    settings->seed = settings->clean.seed = seed;
    settings->least = least;
    return status;
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
    *settings = (struct pooled_settings){
        .support = POOLED_SUPPORT_DEFAULT,
        .n_starts = 1,
        .max_iterations = POOLED_ITERATIONS_DEFAULT,
        .seed = 1,
        .least = pooled_least(campaign),
        .clean = {.tol = -1},
    };
    dpot_status status = json_check_keys(given, "parameters", known, error);
    if (status == DPOT_OK) {
        status =
            read_clean(given, campaign, settings, error); /* refuses a campaign without groups */
    }
    if (status == DPOT_OK) {
        status = read_numbers(given, settings, error);
    }
    return status == DPOT_OK ? read_weights(given, campaign, settings, error) : status;
}

json_t *pooled_settings_json(const struct pooled_settings *settings,
                             const struct dpot_campaign *campaign)
{
    const struct clean_options *clean = &settings->clean;
    json_t *weights = settings->n_weights > 0 ? json_array() : json_null();
    json_t *cells = clean->cells[0] > 0 ? json_array() : json_null();
    for (size_t g = 0; g < settings->n_weights; g++) {
        (void)json_array_append_new(weights, json_real(settings->weights[g]));
    }
    for (size_t j = 0; clean->cells[0] > 0 && j < campaign->vector.dim; j++) {
        (void)json_array_append_new(cells, json_integer((json_int_t)clean->cells[j]));
    }
    return json_pack(
        "{s:I,s:o,s:f,s:I,s:I,s:I,s:I,s:o,s:I,s:o,s:o}", "support", (json_int_t)settings->support,
        "group_weights", weights, "lambda", settings->lambda, "starts",
        (json_int_t)settings->n_starts, "seed", (json_int_t)settings->seed, "max_iterations",
        (json_int_t)settings->max_iterations, "min_group", (json_int_t)settings->least, "cells",
        cells, "atoms", (json_int_t)clean->atoms, "deconvolve_tol",
        clean->tol >= 0 ? json_real(clean->tol) : json_null(), "deconvolve_iterations",
        clean->max_iterations > 0 ? json_integer((json_int_t)clean->max_iterations) : json_null());
}

/* Domain and output of an index mechanism. */
#include "campaign/spec_fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KEY_CAP 128

static const struct json_word domain_types[] = {{"points", SPEC_PLACE_POINTS},
                                                {"grid", SPEC_PLACE_GRID},
                                                {"ring", SPEC_PLACE_RING},
                                                {"sphere", SPEC_PLACE_SPHERE},
                                                {NULL, 0}};
static const struct json_word output_types[] = {
    {"points", SPEC_PLACE_POINTS}, {"grid", SPEC_PLACE_GRID}, {NULL, 0}};

static void join(char out[KEY_CAP], const char *path, const char *key)
{
    (void)snprintf(out, KEY_CAP, "%.60s.%s", path, key);
}

static dpot_status read_points(const json_t *rows, const char *path, struct dpot_domain *domain,
                               struct dpot_error *error)
{
    char name[KEY_CAP];
    const size_t size = json_array_size(rows), dim = json_array_size(json_array_get(rows, 0));
    if (size == 0 || dim == 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "%s.points must be a list of points, each a list of coordinates",
                              path);
    }
    if (size > DPOT_DOMAIN_SIZE_MAX || dim > DPOT_DOMAIN_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "%s.points has %zu points of %zu coordinates: at most %u and %u",
                              path, size, dim, DPOT_DOMAIN_SIZE_MAX, DPOT_DOMAIN_DIM_MAX);
    }
    double *points = dpot_alloc_array(NULL, size * dim, sizeof *points);
    dpot_status status = points ? DPOT_OK : DPOT_ERR_MEMORY;
    for (size_t i = 0; status == DPOT_OK && i < size; i++) {
        (void)snprintf(name, sizeof name, "point %zu of %.60s.points", i, path);
        status = json_read_numbers(json_array_get(rows, i), name, -INFINITY, points + i * dim, dim,
                                   error);
    }
    if (status == DPOT_OK) {
        status =
            dpot_domain_init_points(domain, (uint32_t)size, (uint32_t)dim, points, NULL, error);
    }
    dpot_free_array(NULL, points, size * dim, sizeof *points);
    return status;
}

static dpot_status read_grid(const struct spec_place *place, const char *path,
                             struct dpot_domain *domain, struct dpot_error *error)
{
    double lo[DPOT_GRID_DIM_MAX], hi[DPOT_GRID_DIM_MAX];
    uint32_t shape[DPOT_GRID_DIM_MAX];
    char name[KEY_CAP];
    const size_t dim = json_array_size(place->shape);
    if (dim < 1 || dim > DPOT_GRID_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "%s.shape must list the cells of 1 to %d coordinates", path,
                              DPOT_GRID_DIM_MAX);
    }
    join(name, path, "lo");
    dpot_status status = json_read_numbers(place->lo, name, -INFINITY, lo, dim, error);
    if (status == DPOT_OK) {
        join(name, path, "hi");
        status = json_read_numbers(place->hi, name, -INFINITY, hi, dim, error);
    }
    if (status == DPOT_OK) {
        join(name, path, "shape");
        status = json_read_sizes(place->shape, name, DPOT_DOMAIN_SIZE_MAX, shape, dim, error);
    }
    return status == DPOT_OK ? dpot_domain_init_grid(domain, (uint32_t)dim, lo, hi, shape, error)
                             : status;
}

static dpot_status read_domain(const json_t *object, const char *path,
                               const struct json_word *types, struct dpot_domain *domain,
                               struct dpot_error *error)
{
    struct spec_place place;
    const dpot_status status = spec_read_place(object, path, types, &place, error);
    if (status != DPOT_OK) {
        return status;
    }
    switch (place.type) {
    case SPEC_PLACE_GRID:
        return read_grid(&place, path, domain, error);
    case SPEC_PLACE_RING:
        return dpot_domain_init_ring(domain, place.size, error);
    case SPEC_PLACE_SPHERE:
        return dpot_domain_init_sphere(domain, place.dim, error);
    default: /* SPEC_PLACE_POINTS, the only other type of domain and output */
        return read_points(place.points, path, domain, error);
    }
}

/* "same" (the default), or an object. */
static dpot_status set_output(struct spec *spec, struct dpot_error *error)
{
    struct dpot_campaign *campaign = &spec->campaign;
    const char *text = json_string_value(spec->output);
    if (spec->output && !text) {
        return read_domain(spec->output, "output", output_types, &campaign->output, error);
    }
    if (text && strcmp(text, "same") != 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "output is \"%.40s\": say \"same\" or give a points or grid object",
                              text);
    }
    campaign->output_is_domain = true;
    return dpot_domain_init_copy(&campaign->output, &campaign->domain);
}

static dpot_status check_dims(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    if (campaign->output.dim != campaign->domain.dim) {
        return dpot_error_set(
            error, DPOT_ERR_SHAPE, "output has %u coordinate%s and domain %u: they must agree",
            campaign->output.dim, DPOT_S(campaign->output.dim), campaign->domain.dim);
    }
    return dpot_metric_check(&campaign->metric, campaign->domain.dim) != DPOT_ERR_SHAPE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_SHAPE,
                                "metric %s does not take points of %u coordinates: haversine takes "
                                "2, ring 1",
                                dpot_metric_name(campaign->metric.id), campaign->domain.dim);
}

dpot_status spec_set_places(struct spec *spec, struct dpot_error *error)
{
    struct dpot_campaign *campaign = &spec->campaign;
    struct dpot_metric *metric = &campaign->metric;
    dpot_status status =
        read_domain(spec->domain, "domain", domain_types, &campaign->domain, error);
    if (status == DPOT_OK && metric->id == DPOT_METRIC_RING && metric->ring_size == 0) {
        if (campaign->domain.type != DPOT_DOMAIN_RING) {
            return dpot_error_set(
                error, DPOT_ERR_MALFORMED,
                "ring_size is missing: the ring metric on listed points needs it");
        }
        metric->ring_size = campaign->domain.size;
    }
    if (status != DPOT_OK || dpot_campaign_is_sphere(campaign)) {
        return status; /* spec_set_directions sets the output of a sphere, which needs epsilon */
    }
    status = set_output(spec, error);
    return status == DPOT_OK ? check_dims(campaign, error) : status;
}

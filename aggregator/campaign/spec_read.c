#include "campaign/spec_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KEY_CAP 128

dpot_status spec_require(dpot_status status, const char *key, const char *remedy,
                         struct dpot_error *error)
{
    if (status == DPOT_ERR_NOT_FOUND) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s is missing: %s", key, remedy);
    }
    return status;
}

dpot_status spec_default(dpot_status status)
{
    return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
}

dpot_status spec_read_numbers(const json_t *array, const char *key, double *out, size_t size,
                              struct dpot_error *error)
{
    if (!json_is_array(array)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s must be an array of %zu numbers", key,
                              size);
    }
    if (json_array_size(array) != size) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "%s has %zu entries: give %zu numbers", key,
                              json_array_size(array), size);
    }
    for (size_t i = 0; i < size; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_number(value) || !isfinite(json_number_value(value))) {
            return dpot_error_set(error, DPOT_ERR_MALFORMED, "entry %zu of %s is not a number", i,
                                  key);
        }
        out[i] = json_number_value(value);
    }
    return DPOT_OK;
}

static void join(char out[KEY_CAP], const char *path, const char *key)
{
    (void)snprintf(out, KEY_CAP, "%s.%s", path, key);
}

static dpot_status read_row(const json_t *rows, size_t i, const char *key, size_t dim, double *out,
                            struct dpot_error *error)
{
    char name[KEY_CAP];
    (void)snprintf(name, sizeof name, "point %zu of %.90s", i, key);
    return spec_read_numbers(json_array_get(rows, i), name, out, dim, error);
}

static dpot_status read_points(const json_t *object, const char *path, struct dpot_domain *domain,
                               struct dpot_error *error)
{
    static const char *const known[] = {"type", "points", "file", NULL};
    char key[KEY_CAP];
    join(key, path, "points");
    const dpot_status status = json_check_keys(object, path, known, error);
    if (status != DPOT_OK) {
        return status;
    }
    const json_t *rows = json_object_get(object, "points");
    if (json_object_get(object, "file")) {
        return dpot_error_set(
            error, DPOT_ERR_MALFORMED,
            "%s.file names a file, which the server does not read: send the points "
            "inside the SPEC (dpot campaign create does)",
            path);
    }
    const size_t size = json_array_size(rows), dim = json_array_size(json_array_get(rows, 0));
    if (size == 0 || dim == 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "%s must be a list of points, each a list of coordinates", key);
    }
    if (size > DPOT_DOMAIN_SIZE_MAX || dim > DPOT_DOMAIN_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "%s has %zu points of %zu coordinates: at most %u and %u", key, size,
                              dim, DPOT_DOMAIN_SIZE_MAX, DPOT_DOMAIN_DIM_MAX);
    }
    double *points = dpot_alloc_array(NULL, size * dim, sizeof *points);
    dpot_status read = points ? DPOT_OK : DPOT_ERR_MEMORY;
    for (size_t i = 0; read == DPOT_OK && i < size; i++) {
        read = read_row(rows, i, key, dim, points + i * dim, error);
    }
    if (read == DPOT_OK) {
        read = dpot_domain_init_points(domain, (uint32_t)size, (uint32_t)dim, points, NULL, error);
    }
    dpot_free_array(NULL, points, size * dim, sizeof *points);
    return read;
}

static dpot_status read_shape(const json_t *array, const char *key, uint32_t *shape, size_t dim,
                              struct dpot_error *error)
{
    double numbers[DPOT_GRID_DIM_MAX];
    const dpot_status status = spec_read_numbers(array, key, numbers, dim, error);
    for (size_t i = 0; status == DPOT_OK && i < dim; i++) {
        if (!(numbers[i] >= 1 && numbers[i] <= DPOT_DOMAIN_SIZE_MAX) ||
            floor(numbers[i]) != numbers[i]) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "entry %zu of %s is %g: give an integer from 1 to %u", i, key,
                                  numbers[i], DPOT_DOMAIN_SIZE_MAX);
        }
        shape[i] = (uint32_t)numbers[i];
    }
    return status;
}

static dpot_status read_grid(const json_t *object, const char *path, struct dpot_domain *domain,
                             struct dpot_error *error)
{
    static const char *const known[] = {"type", "lo", "hi", "shape", NULL};
    double lo[DPOT_GRID_DIM_MAX], hi[DPOT_GRID_DIM_MAX];
    uint32_t shape[DPOT_GRID_DIM_MAX];
    char key[KEY_CAP];
    dpot_status status = json_check_keys(object, path, known, error);
    if (status != DPOT_OK) {
        return status;
    }
    const size_t dim = json_array_size(json_object_get(object, "shape"));
    if (dim < 1 || dim > DPOT_GRID_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "%s.shape must list the cells of 1 to %d coordinates", path,
                              DPOT_GRID_DIM_MAX);
    }
    join(key, path, "lo");
    status = spec_read_numbers(json_object_get(object, "lo"), key, lo, dim, error);
    if (status == DPOT_OK) {
        join(key, path, "hi");
        status = spec_read_numbers(json_object_get(object, "hi"), key, hi, dim, error);
    }
    if (status == DPOT_OK) {
        join(key, path, "shape");
        status = read_shape(json_object_get(object, "shape"), key, shape, dim, error);
    }
    if (status == DPOT_OK) {
        status = dpot_domain_init_grid(domain, (uint32_t)dim, lo, hi, shape, error);
    }
    return status;
}

static dpot_status read_ring(const json_t *object, const char *path, struct dpot_domain *domain,
                             struct dpot_error *error)
{
    static const char *const known[] = {"type", "size", NULL};
    char key[KEY_CAP];
    int64_t size = 0;
    dpot_status status = json_check_keys(object, path, known, error);
    if (status == DPOT_OK) {
        join(key, path, "size");
        status = spec_require(
            json_get_integer(object, path, "size", 1, DPOT_DOMAIN_SIZE_MAX, &size, error), key,
            "give the number of positions", error);
    }
    return status == DPOT_OK ? dpot_domain_init_ring(domain, (uint32_t)size, error) : status;
}

static dpot_status read_sphere(const json_t *object, const char *path, struct dpot_domain *domain,
                               struct dpot_error *error)
{
    static const char *const known[] = {"type", "dim", NULL};
    char key[KEY_CAP];
    int64_t dim = 0;
    dpot_status status = json_check_keys(object, path, known, error);
    if (status == DPOT_OK) {
        join(key, path, "dim");
        status = spec_require(json_get_integer(object, path, "dim", DPOT_SPHERE_DIM_MIN,
                                               DPOT_DOMAIN_DIM_MAX, &dim, error),
                              key, "give the number of coordinates", error);
    }
    return status == DPOT_OK ? dpot_domain_init_sphere(domain, (uint32_t)dim, error) : status;
}

/* One row per type; a type of a mechanism that is not here yet has no reader. */
struct type_row {
    const char *name;
    dpot_status (*read)(const json_t *object, const char *path, struct dpot_domain *domain,
                        struct dpot_error *error);
};
static const struct type_row types[] = {
    {"points", read_points}, {"grid", read_grid}, {"ring", read_ring},     {"box", NULL},
    {"l1_ball", NULL},       {"l2_ball", NULL},   {"sphere", read_sphere},
};

static dpot_status read_type(const json_t *object, const char *path, bool with_ring,
                             const struct type_row **row, struct dpot_error *error)
{
    const char *accepted = with_ring ? "points, grid, ring or sphere" : "points or grid";
    char key[KEY_CAP];
    const char *type = NULL;
    join(key, path, "type");
    const dpot_status status = spec_require(json_get_string(object, path, "type", &type, error),
                                            key, "say points, grid, ring or sphere", error);
    if (status != DPOT_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, type) != 0) {
            continue;
        }
        if (!types[i].read) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "%s is \"%s\", which is not in this build: use %s", key, type,
                                  accepted);
        }
        if ((types[i].read == read_ring || types[i].read == read_sphere) && !with_ring) {
            break;
        }
        *row = &types[i];
        return DPOT_OK;
    }
    return dpot_error_set(error, DPOT_ERR_RANGE, "%s is \"%.40s\": use %s", key, type, accepted);
}

dpot_status spec_read_domain(const json_t *object, const char *key, bool with_ring,
                             struct dpot_domain *domain, struct dpot_error *error)
{
    *domain = (struct dpot_domain){0};
    const json_t *value = json_object_get(object, key);
    if (!json_is_object(value)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "%s must be an object such as {\"type\":\"grid\",...}", key);
    }
    const struct type_row *row = NULL;
    const dpot_status status = read_type(value, key, with_ring, &row, error);
    return status == DPOT_OK ? row->read(value, key, domain, error) : status;
}

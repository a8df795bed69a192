#include "campaign/spec_vector.h"

#include <math.h>
#include <string.h>

#define PATH "domain" /* of the sentences */

struct kind {
    const char *type;
    enum dpot_vector_set set;
    const char *const *keys;
};

static const char *const box_keys[] = {"type", "lo", "hi", "dim", NULL};
static const char *const ball_keys[] = {"type", "radius", "dim", NULL};
static const char *const sphere_keys[] = {"type", "dim", NULL};
static const struct kind kinds[] = {
    {"box", DPOT_VECTOR_BOX, box_keys},
    {"l1_ball", DPOT_VECTOR_L1_BALL, ball_keys},
    {"l2_ball", DPOT_VECTOR_L2_BALL, ball_keys},
    {"sphere", DPOT_VECTOR_L2_BALL, sphere_keys},
};

void spec_vector_set_release(struct spec_vector_set *set)
{
    dpot_free_array(NULL, set->lo, set->n_sides, sizeof *set->lo);
    dpot_free_array(NULL, set->hi, set->n_sides, sizeof *set->hi);
    *set = (struct spec_vector_set){0};
}

/* Turns the silent DPOT_ERR_NOT_FOUND of a reader into a sentence. */
static dpot_status require(dpot_status status, const char *key, const char *remedy,
                           struct dpot_error *error)
{
    return status == DPOT_ERR_NOT_FOUND
               ? dpot_error_set(error, DPOT_ERR_MALFORMED, PATH ".%s is missing: %s", key, remedy)
               : status;
}

static dpot_status find_kind(const json_t *object, const struct kind **kind,
                             struct dpot_error *error)
{
    const char *type = NULL;
    if (!json_is_object(object)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              PATH " must be an object such as "
                                   "{\"type\":\"l2_ball\",\"radius\":20,\"dim\":784}");
    }
    const dpot_status status = require(json_get_string(object, PATH, "type", &type, error), "type",
                                       "say box, l1_ball, l2_ball or sphere", error);
    for (size_t i = 0; status == DPOT_OK && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].type, type) == 0) {
            *kind = &kinds[i];
            return json_check_keys(object, PATH, kinds[i].keys, error);
        }
    }
    return status == DPOT_OK ? dpot_error_set(error, DPOT_ERR_RANGE,
                                              PATH ".type is \"%.40s\": use box, l1_ball, l2_ball "
                                                   "or sphere",
                                              type)
                             : status;
}

static dpot_status read_dim(const json_t *object, uint32_t default_dim, struct spec_vector_set *set,
                            struct dpot_error *error)
{
    int64_t dim = default_dim;
    if (default_dim > 0 && !json_object_get(object, "dim")) {
        set->dim = default_dim;
        return DPOT_OK;
    }
    const dpot_status status =
        require(json_get_integer(object, PATH, "dim", 1, DPOT_VECTOR_DIM_MAX, &dim, error), "dim",
                "give the number of coordinates", error);
    set->dim = (uint32_t)dim;
    return status;
}

static dpot_status read_radius(const json_t *object, struct spec_vector_set *set,
                               struct dpot_error *error)
{
    if (!json_object_get(object, "radius") && strcmp(set->type, "sphere") == 0) {
        set->radius = 1;
        return DPOT_OK;
    }
    const dpot_status status =
        require(json_get_number(object, PATH, "radius", 0, 1e300, &set->radius, error), "radius",
                "give the clip of the norm", error);
    if (status == DPOT_OK && !(set->radius > 0)) {
        return dpot_error_set(error, DPOT_ERR_RANGE, PATH ".radius is %g: give a number above 0",
                              set->radius);
    }
    return status;
}

static dpot_status read_numbers(const json_t *list, const char *key, double *out,
                                struct dpot_error *error)
{
    for (size_t j = 0; j < json_array_size(list); j++) {
        const json_t *entry = json_array_get(list, j);
        if (!json_is_number(entry)) {
            return dpot_error_set(error, DPOT_ERR_MALFORMED,
                                  PATH ".%s[%zu] is not a number: give one", key, j);
        }
        out[j] = json_number_value(entry);
    }
    return DPOT_OK;
}

static dpot_status allocate_sides(struct spec_vector_set *set, size_t n_sides)
{
    set->n_sides = (uint32_t)n_sides;
    set->lo = dpot_alloc_array(NULL, n_sides, sizeof *set->lo);
    set->hi = dpot_alloc_array(NULL, n_sides, sizeof *set->hi);
    return set->lo && set->hi ? DPOT_OK : DPOT_ERR_MEMORY;
}

/* {"lo":-1,"hi":1,"dim":784} */
static dpot_status read_like_sides(const json_t *object, uint32_t default_dim,
                                   struct spec_vector_set *set, struct dpot_error *error)
{
    dpot_status status = allocate_sides(set, 1);
    if (status == DPOT_OK) {
        set->lo[0] = json_number_value(json_object_get(object, "lo"));
        set->hi[0] = json_number_value(json_object_get(object, "hi"));
        status = read_dim(object, default_dim, set, error);
    }
    return status;
}

static dpot_status read_sides(const json_t *object, uint32_t default_dim,
                              struct spec_vector_set *set, struct dpot_error *error)
{
    const json_t *lo = json_object_get(object, "lo"), *hi = json_object_get(object, "hi");
    const size_t dim = json_array_size(lo);
    if (json_is_number(lo) && json_is_number(hi)) {
        return read_like_sides(object, default_dim, set, error);
    }
    if (!json_is_array(lo) || !json_is_array(hi) || dim != json_array_size(hi) || dim < 1 ||
        dim > DPOT_VECTOR_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              PATH ".lo and " PATH ".hi must be lists of equal length, 1 to %u, or "
                                   "two numbers together with dim",
                              DPOT_VECTOR_DIM_MAX);
    }
    if (json_object_get(object, "dim")) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              PATH ".dim goes with numbers lo and hi: the lists say it already, "
                                   "leave it out");
    }
    set->dim = (uint32_t)dim;
    dpot_status status = allocate_sides(set, dim);
    if (status == DPOT_OK) {
        status = read_numbers(lo, "lo", set->lo, error);
    }
    return status == DPOT_OK ? read_numbers(hi, "hi", set->hi, error) : status;
}

static dpot_status read_set(const json_t *object, uint32_t default_dim, struct spec_vector_set *set,
                            struct dpot_error *error)
{
    const struct kind *kind = NULL;
    dpot_status status = find_kind(object, &kind, error);
    if (status != DPOT_OK) {
        return status;
    }
    set->set = kind->set;
    set->type = kind->type;
    if (kind->set == DPOT_VECTOR_BOX) {
        return read_sides(object, default_dim, set, error);
    }
    status = read_dim(object, default_dim, set, error);
    return status == DPOT_OK ? read_radius(object, set, error) : status;
}

dpot_status spec_read_vector_set(const json_t *object, uint32_t default_dim,
                                 struct spec_vector_set *set, struct dpot_error *error)
{
    *set = (struct spec_vector_set){0};
    const dpot_status status = read_set(object, default_dim, set, error);
    if (status != DPOT_OK) {
        spec_vector_set_release(set);
    }
    return status;
}

#include "campaign/spec_vector.h"

#include "campaign/spec_fields.h"

#include <math.h>
#include <string.h>

void spec_vector_set_release(struct spec_vector_set *set)
{
    dpot_free_array(NULL, set->lo, set->n_sides, sizeof *set->lo);
    dpot_free_array(NULL, set->hi, set->n_sides, sizeof *set->hi);
    *set = (struct spec_vector_set){0};
}

static dpot_status set_dim(const struct spec_place *place, uint32_t default_dim,
                           struct spec_vector_set *set, struct dpot_error *error)
{
    set->dim = place->dim > 0 ? place->dim : default_dim;
    return set->dim > 0 ? DPOT_OK
                        : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                         "domain.dim is missing: give the number of coordinates");
}

static dpot_status allocate_sides(struct spec_vector_set *set, size_t n_sides)
{
    set->n_sides = (uint32_t)n_sides;
    set->lo = dpot_alloc_array(NULL, n_sides, sizeof *set->lo);
    set->hi = dpot_alloc_array(NULL, n_sides, sizeof *set->hi);
    return set->lo && set->hi ? DPOT_OK : DPOT_ERR_MEMORY;
}

/* {"lo":-1,"hi":1,"dim":784} */
static dpot_status read_like_sides(const struct spec_place *place, uint32_t default_dim,
                                   struct spec_vector_set *set, struct dpot_error *error)
{
    dpot_status status = allocate_sides(set, 1);
    if (status == DPOT_OK) {
        set->lo[0] = json_number_value(place->lo);
        set->hi[0] = json_number_value(place->hi);
        status = set_dim(place, default_dim, set, error);
    }
    return status;
}

static dpot_status read_sides(const struct spec_place *place, uint32_t default_dim,
                              struct spec_vector_set *set, struct dpot_error *error)
{
    const size_t dim = json_array_size(place->lo);
    if (json_is_number(place->lo) && json_is_number(place->hi)) {
        return read_like_sides(place, default_dim, set, error);
    }
    if (dim < 1 || dim > DPOT_VECTOR_DIM_MAX || dim != json_array_size(place->hi)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "domain.lo and domain.hi must be lists of equal length, 1 to %u, or "
                              "two numbers together with dim",
                              DPOT_VECTOR_DIM_MAX);
    }
    if (place->dim > 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "domain.dim goes with numbers lo and hi: the lists imply it, "
                              "leave it out");
    }
    set->dim = (uint32_t)dim;
    dpot_status status = allocate_sides(set, dim);
    if (status == DPOT_OK) {
        status = json_read_numbers(place->lo, "domain.lo", -INFINITY, set->lo, dim, error);
    }
    return status == DPOT_OK
               ? json_read_numbers(place->hi, "domain.hi", -INFINITY, set->hi, dim, error)
               : status;
}

static dpot_status fill_set(const struct spec_place *place, uint32_t default_dim,
                            struct spec_vector_set *set, struct dpot_error *error)
{
    static const struct {
        enum dpot_vector_set set;
        const char *name;
    } sets[] = {[SPEC_PLACE_BOX] = {DPOT_VECTOR_BOX, "box"},
                [SPEC_PLACE_L1_BALL] = {DPOT_VECTOR_L1_BALL, "l1_ball"},
                [SPEC_PLACE_L2_BALL] = {DPOT_VECTOR_L2_BALL, "l2_ball"},
                [SPEC_PLACE_UNIT_BALL] = {DPOT_VECTOR_L2_BALL, "sphere"}};
    set->set = sets[place->type].set;
    set->type = sets[place->type].name;
    set->radius = place->type == SPEC_PLACE_UNIT_BALL ? 1 : place->radius;
    return set->set == DPOT_VECTOR_BOX ? read_sides(place, default_dim, set, error)
                                       : set_dim(place, default_dim, set, error);
}

dpot_status spec_read_vector_set(const json_t *object, uint32_t default_dim,
                                 struct spec_vector_set *set, struct dpot_error *error)
{
    static const struct json_word types[] = {{"box", SPEC_PLACE_BOX},
                                             {"l1_ball", SPEC_PLACE_L1_BALL},
                                             {"l2_ball", SPEC_PLACE_L2_BALL},
                                             {"sphere", SPEC_PLACE_UNIT_BALL},
                                             {NULL, 0}};
    struct spec_place place;
    *set = (struct spec_vector_set){0};
    dpot_status status = spec_read_place(object, "domain", types, &place, error);
    if (status == DPOT_OK) {
        status = fill_set(&place, default_dim, set, error);
    }
    if (status != DPOT_OK) {
        spec_vector_set_release(set);
    }
    return status;
}

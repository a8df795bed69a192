#include "model/vector.h"

#include <math.h>

#define STEP_LOG2_MAX 60

void dpot_vector_domain_release(struct dpot_vector_domain *vector)
{
    const struct dpot_allocator *allocator = vector->allocator;
    dpot_free_array(allocator, vector->lo, vector->n_sides, sizeof *vector->lo);
    dpot_free_array(allocator, vector->hi, vector->n_sides, sizeof *vector->hi);
    dpot_free_array(allocator, vector->transform.keep, vector->transform.n_keep,
                    sizeof *vector->transform.keep);
    *vector = (struct dpot_vector_domain){0};
}

uint32_t dpot_vector_data_dim(const struct dpot_vector_domain *vector)
{
    const struct dpot_transform *transform = &vector->transform;
    return transform->id == DPOT_TRANSFORM_DCT ? transform->rows * transform->cols : vector->dim;
}

int64_t dpot_vector_lo(const struct dpot_vector_domain *vector, uint32_t j)
{
    return vector->set == DPOT_VECTOR_BOX ? vector->lo[vector->n_sides > 1 ? j : 0]
                                          : -(int64_t)vector->radius;
}

int64_t dpot_vector_hi(const struct dpot_vector_domain *vector, uint32_t j)
{
    return vector->set == DPOT_VECTOR_BOX ? vector->hi[vector->n_sides > 1 ? j : 0]
                                          : (int64_t)vector->radius;
}

static dpot_status check_step(const char *field, double step, struct dpot_error *error)
{
    if (!(step >= ldexp(1, -STEP_LOG2_MAX) && step <= ldexp(1, STEP_LOG2_MAX))) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s is %g: choose 2^-%d to 2^%d", field, step,
                              STEP_LOG2_MAX, STEP_LOG2_MAX);
    }
    return DPOT_OK;
}

static dpot_status check_steps(const struct dpot_vector_domain *vector, struct dpot_error *error)
{
    dpot_status status = check_step("grid_step", vector->grid_step, error);
    if (status == DPOT_OK) {
        status = check_step("inverse_step", vector->inverse_step, error);
    }
    /* Not for privacy: a device must not report other units than it is asked for. */
    if (status == DPOT_OK &&
        !(fabs(vector->grid_step * vector->inverse_step - 1) <= ldexp(1, -20))) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "inverse_step is %g and grid_step is %g: their product must be 1",
                              vector->inverse_step, vector->grid_step);
    }
    return status;
}

static dpot_status check_box(const struct dpot_vector_domain *vector, struct dpot_error *error)
{
    if ((vector->n_sides != 1 && vector->n_sides != vector->dim) || !vector->lo || !vector->hi) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the box has %u sides for %u coordinates: give one or one each",
                              vector->n_sides, vector->dim);
    }
    if (vector->radius != 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "a box has no radius: leave it out");
    }
    for (uint32_t j = 0; j < vector->n_sides; j++) {
        const int64_t lo = vector->lo[j], hi = vector->hi[j];
        if (lo > hi || lo < -DPOT_VECTOR_SIDE_MAX || hi > DPOT_VECTOR_SIDE_MAX) {
            return dpot_error_set(
                error, DPOT_ERR_RANGE,
                "side %u of the box goes from %lld to %lld grid units: give lo <= "
                "hi within 2^40 of 0",
                j, (long long)lo, (long long)hi);
        }
    }
    return DPOT_OK;
}

static dpot_status check_ball(const struct dpot_vector_domain *vector, uint64_t radius_max,
                              struct dpot_error *error)
{
    if (vector->radius < 1 || vector->radius > radius_max) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the radius of the ball is %llu grid units: choose 1 to %llu",
                              (unsigned long long)vector->radius, (unsigned long long)radius_max);
    }
    if (vector->n_sides != 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "a ball has no sides: leave them out");
    }
    return DPOT_OK;
}

static dpot_status check_set(const struct dpot_vector_domain *vector, struct dpot_error *error)
{
    switch (vector->set) {
    case DPOT_VECTOR_BOX:
        return check_box(vector, error);
    case DPOT_VECTOR_L1_BALL:
        return check_ball(vector, DPOT_VECTOR_L1_RADIUS_MAX, error);
    case DPOT_VECTOR_L2_BALL:
        return check_ball(vector, DPOT_VECTOR_L2_RADIUS_MAX, error);
    }
    return dpot_error_set(error, DPOT_ERR_RANGE, "set %d is unknown: choose a box or a ball",
                          (int)vector->set);
}

static dpot_status check_keep(const struct dpot_transform *transform, uint32_t dim,
                              struct dpot_error *error)
{
    const uint32_t size = transform->rows * transform->cols;
    if (transform->n_keep != dim || !transform->keep) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the transform keeps %u coefficients and the report has %u "
                              "coordinates: they must agree",
                              transform->n_keep, dim);
    }
    for (uint32_t i = 0; i < transform->n_keep; i++) {
        if (transform->keep[i] >= size || (i > 0 && transform->keep[i] <= transform->keep[i - 1])) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "coefficient %u to keep has number %u: give increasing numbers "
                                  "below %u",
                                  i, transform->keep[i], size);
        }
    }
    return DPOT_OK;
}

static dpot_status check_transform(const struct dpot_vector_domain *vector,
                                   struct dpot_error *error)
{
    const struct dpot_transform *transform = &vector->transform;
    if (transform->id == DPOT_TRANSFORM_NONE) {
        if (transform->rows || transform->cols || transform->n_keep) {
            return dpot_error_set(error, DPOT_ERR_SHAPE,
                                  "there is no transform, but it has a shape: leave it out");
        }
        return DPOT_OK;
    }
    if (transform->id != DPOT_TRANSFORM_DCT) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "transform %d is unknown: choose none or dct",
                              (int)transform->id);
    }
    if (transform->rows < 1 || transform->rows > DPOT_TRANSFORM_SIDE_MAX || transform->cols < 1 ||
        transform->cols > DPOT_TRANSFORM_SIDE_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the transform has %u x %u numbers: choose sides of 1 to %d",
                              transform->rows, transform->cols, DPOT_TRANSFORM_SIDE_MAX);
    }
    return check_keep(transform, vector->dim, error);
}

dpot_status dpot_vector_domain_check(const struct dpot_vector_domain *vector,
                                     struct dpot_error *error)
{
    if (vector->dim < 1 || vector->dim > DPOT_VECTOR_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "dim is %u: choose 1 to %u", vector->dim,
                              DPOT_VECTOR_DIM_MAX);
    }
    dpot_status status = check_steps(vector, error);
    if (status == DPOT_OK) {
        status = check_set(vector, error);
    }
    return status == DPOT_OK ? check_transform(vector, error) : status;
}

dpot_status dpot_private_vector_init(struct dpot_private_vector *vector, size_t dim,
                                     const struct dpot_allocator *allocator)
{
    *vector = (struct dpot_private_vector){.dim = dim, .allocator = allocator};
    vector->values = dpot_alloc_array(allocator, dim, sizeof *vector->values);
    if (!vector->values) {
        *vector = (struct dpot_private_vector){0};
        return DPOT_ERR_MEMORY;
    }
    return DPOT_OK;
}

void dpot_private_vector_release(struct dpot_private_vector *vector)
{
    dpot_free_secret(vector->allocator, vector->values, vector->dim, sizeof *vector->values);
    *vector = (struct dpot_private_vector){0};
}

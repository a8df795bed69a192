#include "proto/wire_vector.h"

#include <string.h>

static void fill_ball(struct dpot_vector_message *message, uint64_t radius)
{
    dpot__v1__ball__init(&message->ball);
    message->ball.radius = radius;
}

static dpot_status fill_set(struct dpot_vector_message *message,
                            const struct dpot_vector_domain *vector)
{
    switch (vector->set) {
    case DPOT_VECTOR_BOX:
        dpot__v1__box__init(&message->box);
        message->box.n_lo = message->box.n_hi = vector->n_sides;
        message->box.lo = vector->lo;
        message->box.hi = vector->hi;
        message->vector.set_case = DPOT__V1__VECTOR__SET_BOX;
        message->vector.box = &message->box;
        return DPOT_OK;
    case DPOT_VECTOR_L1_BALL:
        fill_ball(message, vector->radius);
        message->vector.set_case = DPOT__V1__VECTOR__SET_L1_BALL;
        message->vector.l1_ball = &message->ball;
        return DPOT_OK;
    case DPOT_VECTOR_L2_BALL:
        fill_ball(message, vector->radius);
        message->vector.set_case = DPOT__V1__VECTOR__SET_L2_BALL;
        message->vector.l2_ball = &message->ball;
        return DPOT_OK;
    }
    return DPOT_ERR_ARGUMENT;
}

static dpot_status fill_transform(struct dpot_vector_message *message,
                                  const struct dpot_transform *transform)
{
    switch (transform->id) {
    case DPOT_TRANSFORM_NONE:
        return DPOT_OK;
    case DPOT_TRANSFORM_DCT:
        dpot__v1__dct__init(&message->dct);
        message->dct.rows = transform->rows;
        message->dct.cols = transform->cols;
        message->dct.n_keep = transform->n_keep;
        message->dct.keep = transform->keep;
        message->vector.dct = &message->dct;
        return DPOT_OK;
    }
    return DPOT_ERR_ARGUMENT;
}

dpot_status dpot_wire_vector_fill(struct dpot_vector_message *message,
                                  const struct dpot_vector_domain *vector)
{
    dpot__v1__vector__init(&message->vector);
    message->vector.dim = vector->dim;
    message->vector.grid_step = vector->grid_step;
    message->vector.inverse_step = vector->inverse_step;
    const dpot_status status = fill_set(message, vector);
    return status == DPOT_OK ? fill_transform(message, &vector->transform) : status;
}

static dpot_status copy_sides(const struct dpot_allocator *allocator, const int64_t *sides,
                              size_t n, int64_t **copy)
{
    *copy = dpot_alloc_array(allocator, n, sizeof **copy);
    if (!*copy) {
        return DPOT_ERR_MEMORY;
    }
    memcpy(*copy, sides, n * sizeof **copy);
    return DPOT_OK;
}

static dpot_status read_box(const Dpot__V1__Box *box, const struct dpot_allocator *allocator,
                            struct dpot_vector_domain *vector, struct dpot_error *error)
{
    const size_t n = box->n_lo;
    if (n < 1 || n > DPOT_VECTOR_DIM_MAX || box->n_hi != n) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "a box needs lo and hi of one length, 1 to %u: it has %zu and %zu",
                              DPOT_VECTOR_DIM_MAX, n, box->n_hi);
    }
    vector->n_sides = (uint32_t)n;
    const dpot_status status = copy_sides(allocator, box->lo, n, &vector->lo);
    return status == DPOT_OK ? copy_sides(allocator, box->hi, n, &vector->hi) : status;
}

static dpot_status read_set(const Dpot__V1__Vector *message, const struct dpot_allocator *allocator,
                            struct dpot_vector_domain *vector, struct dpot_error *error)
{
    switch (message->set_case) {
    case DPOT__V1__VECTOR__SET_BOX:
        vector->set = DPOT_VECTOR_BOX;
        return read_box(message->box, allocator, vector, error);
    case DPOT__V1__VECTOR__SET_L1_BALL:
        vector->set = DPOT_VECTOR_L1_BALL;
        vector->radius = message->l1_ball->radius;
        return DPOT_OK;
    case DPOT__V1__VECTOR__SET_L2_BALL:
        vector->set = DPOT_VECTOR_L2_BALL;
        vector->radius = message->l2_ball->radius;
        return DPOT_OK;
    default:
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "the vector has neither box nor ball");
    }
}

static dpot_status read_transform(const Dpot__V1__Dct *dct, const struct dpot_allocator *allocator,
                                  struct dpot_transform *transform, struct dpot_error *error)
{
    if (dct->n_keep < 1 || dct->n_keep > DPOT_VECTOR_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the dct keeps %zu coefficients: choose 1 to %u", dct->n_keep,
                              DPOT_VECTOR_DIM_MAX);
    }
    transform->id = DPOT_TRANSFORM_DCT;
    transform->rows = dct->rows;
    transform->cols = dct->cols;
    transform->keep = dpot_alloc_array(allocator, dct->n_keep, sizeof *transform->keep);
    if (!transform->keep) {
        return DPOT_ERR_MEMORY;
    }
    transform->n_keep = (uint32_t)dct->n_keep;
    memcpy(transform->keep, dct->keep, dct->n_keep * sizeof *transform->keep);
    return DPOT_OK;
}

dpot_status dpot_wire_vector_read(const Dpot__V1__Vector *message,
                                  const struct dpot_allocator *allocator,
                                  struct dpot_vector_domain *vector, struct dpot_error *error)
{
    *vector = (struct dpot_vector_domain){.allocator = allocator,
                                          .dim = message->dim,
                                          .grid_step = message->grid_step,
                                          .inverse_step = message->inverse_step};
    const dpot_status status = read_set(message, allocator, vector, error);
    return status == DPOT_OK && message->dct
               ? read_transform(message->dct, allocator, &vector->transform, error)
               : status;
}

#include "mechanism/acceptance.h"

#include "mechanism/quantize.h"
#include "model/campaign.h"

#define L2_SQUARED_BITS 54 /* D2^2 below, so that D2^2 2^40 and mu2 2^(2k) stay far below 2^128 */
#define DIM_OFFSET 128     /* of 2^(2k) >= 2^c (dim + 128) */

static bool side_is_valid(int64_t lo, int64_t hi)
{
    return lo <= hi && lo >= -DPOT_VECTOR_SIDE_MAX && hi <= DPOT_VECTOR_SIDE_MAX;
}

static dpot_status measure_box(const struct dpot_vector_domain *vector,
                               struct dpot_sensitivity *sensitivity, struct dpot_error *error)
{
    if ((vector->n_sides != 1 && vector->n_sides != vector->dim) || !vector->lo || !vector->hi) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the box has %u sides for %u coordinates: give one or one each",
                              vector->n_sides, vector->dim);
    }
    for (uint32_t j = 0; j < vector->dim; j++) {
        const int64_t lo = dpot_vector_lo(vector, j), hi = dpot_vector_hi(vector, j);
        if (!side_is_valid(lo, hi)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "side %u of the box goes from %lld to %lld grid units: give lo "
                                  "<= hi within 2^40 of 0",
                                  j, (long long)lo, (long long)hi);
        }
        const uint64_t width = (uint64_t)(hi - lo);
        sensitivity->l1 += width;
        sensitivity->l2_squared =
            dpot_u128_add(sensitivity->l2_squared, dpot_u128_mul(width, width));
        sensitivity->widest = width > sensitivity->widest ? width : sensitivity->widest;
    }
    return DPOT_OK;
}

static dpot_status measure_ball(const struct dpot_vector_domain *vector,
                                struct dpot_sensitivity *sensitivity, struct dpot_error *error)
{
    const bool is_l1 = vector->set == DPOT_VECTOR_L1_BALL;
    const uint64_t radius_max = is_l1 ? DPOT_VECTOR_L1_RADIUS_MAX : DPOT_VECTOR_L2_RADIUS_MAX;
    const uint64_t radius = vector->radius, diameter = 2 * radius;
    if (radius < 1 || radius > radius_max) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the radius of the ball is %llu grid units: choose 1 to %llu",
                              (unsigned long long)radius, (unsigned long long)radius_max);
    }
    /* Cauchy-Schwarz: |v|_1^2 <= dim |v|_2^2; 4 R^2 dim < 2^74. */
    const uint64_t square = is_l1 ? 0 : diameter * diameter;
    sensitivity->widest = diameter;
    sensitivity->l1 = is_l1 ? diameter : dpot_u128_ceil_sqrt(dpot_u128_mul(square, vector->dim));
    sensitivity->l2_squared = dpot_u128_mul(diameter, diameter);
    return DPOT_OK;
}

dpot_status dpot_sensitivity_compute(const struct dpot_vector_domain *vector,
                                     struct dpot_sensitivity *sensitivity, struct dpot_error *error)
{
    *sensitivity = (struct dpot_sensitivity){0};
    if (vector->dim < 1 || vector->dim > DPOT_VECTOR_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "dim is %u: choose 1 to %u", vector->dim,
                              DPOT_VECTOR_DIM_MAX);
    }
    switch (vector->set) {
    case DPOT_VECTOR_BOX:
        return measure_box(vector, sensitivity, error);
    case DPOT_VECTOR_L1_BALL:
    case DPOT_VECTOR_L2_BALL:
        return measure_ball(vector, sensitivity, error);
    }
    return dpot_error_set(error, DPOT_ERR_RANGE, "set %d is unknown: choose a box or a ball",
                          (int)vector->set);
}

uint64_t dpot_laplace_widest(unsigned k)
{
    return ((uint64_t)1 << (k + 5)) - 2;
}

bool dpot_laplace_accepts(const struct dpot_sensitivity *sensitivity, uint64_t epsilon_q32,
                          unsigned k)
{
    if (k < DPOT_LAPLACE_SCALE_LOG2_MIN || k > DPOT_LAPLACE_SCALE_LOG2_MAX || epsilon_q32 < 1 ||
        epsilon_q32 > DPOT_SIMULATION_EPSILON_MAX_Q32 ||
        sensitivity->widest > dpot_laplace_widest(k)) {
        return false;
    }
    const struct dpot_u128 loss = dpot_u128_mul(sensitivity->l1, DPOT_EPSILON_ONE);
    const struct dpot_u128 allowed = dpot_u128_mul(epsilon_q32 - 1, (uint64_t)1 << k);
    return !dpot_u128_less(allowed, loss);
}

/* D2^2 < 2^54, and public ranges. */
static bool is_in_gaussian_range(const struct dpot_sensitivity *sensitivity, unsigned k,
                                 uint32_t dim)
{
    return sensitivity->l2_squared.hi == 0 && sensitivity->l2_squared.lo >> L2_SQUARED_BITS == 0 &&
           k >= DPOT_GAUSSIAN_SCALE_LOG2_MIN && k <= DPOT_GAUSSIAN_SCALE_LOG2_MAX && dim >= 1 &&
           dim <= DPOT_VECTOR_DIM_MAX;
}

bool dpot_gaussian_accepts(const struct dpot_sensitivity *sensitivity,
                           const struct dpot_gauss_row *row, unsigned k, uint32_t dim)
{
    if (!is_in_gaussian_range(sensitivity, k, dim) || dim > row->d_max) {
        return false;
    }
    const uint64_t variance = (uint64_t)1 << (2 * k);
    const struct dpot_u128 loss = dpot_u128_mul(sensitivity->l2_squared.lo, (uint64_t)1 << 40);
    const struct dpot_u128 allowed = dpot_u128_mul(row->mu2_q40, variance);
    return !dpot_u128_less(allowed, loss) && variance >= ((uint64_t)dim + DIM_OFFSET) << row->c;
}

bool dpot_gaussian_rho(const struct dpot_sensitivity *sensitivity, unsigned k, uint32_t dim,
                       uint64_t *rho_q32)
{
    *rho_q32 = UINT64_MAX;
    if (!is_in_gaussian_range(sensitivity, k, dim)) {
        return false;
    }
    const struct dpot_u128 scaled =
        dpot_u128_mul(sensitivity->l2_squared.lo, DPOT_EPSILON_ONE); /* < 2^86 */
    const struct dpot_u128 round_up = dpot_u128_from(((uint64_t)1 << (2 * k + 1)) - 1);
    const struct dpot_u128 rho = dpot_u128_shr(dpot_u128_add(scaled, round_up), 2 * k + 1);
    if (rho.hi != 0 || rho.lo == UINT64_MAX) {
        return false;
    }
    *rho_q32 = rho.lo + 1;
    return true;
}

bool dpot_gaussian_rho_accepts(uint64_t rho_q32)
{
    return rho_q32 <= DPOT_GAUSSIAN_RHO_MAX * DPOT_EPSILON_ONE + 1;
}

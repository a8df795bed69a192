/* Exact, for every outcome: the largest and the smallest weight that any input can give it, against
 * a lower bound of e^epsilon. Privacy is tested without tolerance and without floating point. */
#include "mechanism/sampler.h"
#include "privacy/exp_bound.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define SIZE_MAX_HERE 32
#define N DPOT_MASS_ONE

struct box {
    size_t size;
    uint64_t epsilon_q32;
    uint32_t codes[SIZE_MAX_HERE];
    uint64_t total;
    uint64_t lower[SIZE_MAX_HERE], upper[SIZE_MAX_HERE], fallback[SIZE_MAX_HERE];
};

/* Codes: 0 equal, 1 one heavy, 2 one light, 3 halving. */
#define N_SHAPES 4
static void fill_codes(struct box *box, int shape)
{
    for (size_t j = 0; j < box->size; j++) {
        const uint32_t halved = UINT32_MAX >> (j < 31 ? j : 31);
        box->codes[j] = shape == 0   ? UINT32_MAX
                        : shape == 1 ? (j == 0 ? UINT32_MAX : 1)
                        : shape == 2 ? (j == 0 ? 1 : UINT32_MAX)
                                     : halved;
    }
}

static dpot_status set_total(struct box *box, uint64_t total)
{
    box->total = total;
    const struct dpot_base_measure base_measure = {(uint32_t)box->size, box->codes, total};
    return dpot_bounds_compute(&base_measure, box->epsilon_q32, box->lower, box->upper, NULL);
}

/* The smallest feasible T: feasibility grows with T. */
static uint64_t least_total(struct box *box)
{
    uint64_t infeasible = 0, feasible = N;
    cr_assert_eq(set_total(box, N), DPOT_OK);
    while (feasible - infeasible > 1) {
        const uint64_t middle = infeasible + (feasible - infeasible) / 2;
        if (set_total(box, middle) == DPOT_OK) {
            feasible = middle;
        } else {
            infeasible = middle;
        }
    }
    return feasible;
}

/* The five totals of the test: both limits, next to the lower one, and between. */
#define N_TOTALS 5
static void make_box(struct box *box, size_t size, size_t row, int shape, int which)
{
    box->size = size;
    box->epsilon_q32 = exp_bound_epsilon_q32(row);
    fill_codes(box, shape);
    const uint64_t least = least_total(box);
    const uint64_t geometric = (uint64_t)(sqrt((double)least) * 2147483648.0);
    const uint64_t middle = geometric < least ? least : geometric > N ? N : geometric;
    const uint64_t totals[N_TOTALS] = {least, least < N ? least + 1 : N, middle, least / 2 + N / 2,
                                       N};
    cr_assert_eq(set_total(box, totals[which]), DPOT_OK);
    dpot_bounds_fallback(box->lower, box->upper, size, box->fallback);
}

#define FOR_EVERY_BOX(box)                                                                         \
    for (size_t size = 2; size <= 9; size += size < 4 ? 1 : 5)                                     \
        for (size_t row = 0; row < N_EXP_BOUNDS; row++)                                            \
            for (int shape = 0; shape < N_SHAPES; shape++)                                         \
                for (int which = 0;                                                                \
                     which < N_TOTALS && (make_box(&(box), size, row, shape, which), 1); which++)

/* The extreme weights of outcome j over the whole polytope of integer weights. */
static void find_extremes(const struct box *box, size_t j, uint64_t *least, uint64_t *most)
{
    uint64_t others_lower = 0, others_upper = 0; /* the second saturates at N */
    for (size_t i = 0; i < box->size; i++) {
        if (i != j) {
            others_lower += box->lower[i];
            others_upper = box->upper[i] < N - others_upper ? others_upper + box->upper[i] : N;
        }
    }
    *most = box->upper[j] < N - others_lower ? box->upper[j] : N - others_lower;
    *least = box->lower[j] > N - others_upper ? box->lower[j] : N - others_upper;
}

static void assert_in_polytope(const struct box *box, const uint64_t *weights)
{
    uint64_t left = N;
    for (size_t j = 0; j < box->size; j++) {
        cr_assert(box->lower[j] <= weights[j] && weights[j] <= box->upper[j]);
        cr_assert_leq(weights[j], left);
        left -= weights[j];
    }
    cr_assert_eq(left, 0);
}

Test(polytope, no_outcome_can_be_more_than_e_to_the_epsilon_times_likelier)
{
    struct box box;
    size_t n_boxes = 0;
    FOR_EVERY_BOX(box)
    {
        for (size_t j = 0; j < box.size; j++) {
            uint64_t least, most;
            find_extremes(&box, j, &least, &most);
            cr_assert_geq(least, 1);
            cr_assert(least <= most);
            cr_assert(ratio_is_within(most, least, box.epsilon_q32),
                      "E %llu shape %d T %llu outcome %zu: %llu over %llu",
                      (unsigned long long)box.epsilon_q32, shape, (unsigned long long)box.total, j,
                      (unsigned long long)most, (unsigned long long)least);
            cr_assert(ratio_is_within(box.upper[j], box.lower[j], box.epsilon_q32));
        }
        n_boxes++;
    }
    cr_assert_eq(n_boxes, 4 * N_EXP_BOUNDS * N_SHAPES * N_TOTALS);
}

/* The test above would also pass if the bounds were far too narrow: they are not. */
Test(polytope, the_bounds_use_epsilon_up_to_a_few_units)
{
    struct box box;
    FOR_EVERY_BOX(box)
    {
        const double epsilon = ldexp((double)box.epsilon_q32, -32);
        for (size_t j = 0; j < box.size; j++) {
            const double used = log((double)box.upper[j] / (double)box.lower[j]);
            cr_assert(box.upper[j] == N ||
                      used >= epsilon - ldexp(1, -44) - 3 / (double)box.lower[j] - 1e-14);
        }
    }
}

static const double specials[] = {0.0,
                                  -0.0,
                                  5e-324,
                                  2.2250738585072014e-308,
                                  2.168404344971009e-19,
                                  1e-9,
                                  .1,
                                  .25,
                                  .5,
                                  .9999999999999999,
                                  1,
                                  1.5,
                                  1e300,
                                  -1e300,
                                  -.5};
#define N_SPECIALS (sizeof specials / sizeof specials[0] + 3)

static double special(size_t i)
{
    const size_t n = N_SPECIALS - 3;
    return i < n ? specials[i] : i == n ? NAN : i == n + 1 ? INFINITY : -INFINITY;
}

/* Every triple of special doubles: the result of A4 is inside of the bounds, and so are its
 * extremes. */
Test(polytope, rounding_any_garbage_stays_inside)
{
    struct box box;
    FOR_EVERY_BOX(box)
    {
        uint64_t least[SIZE_MAX_HERE], most[SIZE_MAX_HERE] = {0};
        memset(least, 0xff, sizeof least);
        for (size_t code = 0; code < N_SPECIALS * N_SPECIALS * N_SPECIALS; code += 1 + row) {
            double q[SIZE_MAX_HERE];
            uint64_t weights[SIZE_MAX_HERE];
            for (size_t j = 0; j < box.size; j++) {
                const size_t digit = j % 3 == 0   ? code
                                     : j % 3 == 1 ? code / N_SPECIALS
                                                  : code / (N_SPECIALS * N_SPECIALS);
                q[j] = special((digit + j / 3) % N_SPECIALS);
            }
            dpot_weights_round(q, box.lower, box.upper, box.size, weights);
            assert_in_polytope(&box, weights);
            for (size_t j = 0; j < box.size; j++) {
                least[j] = weights[j] < least[j] ? weights[j] : least[j];
                most[j] = weights[j] > most[j] ? weights[j] : most[j];
            }
        }
        for (size_t j = 0; j < box.size; j++) {
            cr_assert(ratio_is_within(most[j], least[j], box.epsilon_q32));
        }
        assert_in_polytope(&box, box.fallback);
    }
}

Test(polytope, rounding_random_bits_stays_inside)
{
    struct box box;
    uint64_t state = 4711;
    FOR_EVERY_BOX(box)
    {
        for (size_t trial = 0; trial < 300; trial++) {
            double q[SIZE_MAX_HERE];
            uint64_t weights[SIZE_MAX_HERE];
            for (size_t j = 0; j < box.size; j++) {
                state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
                const uint64_t bits = state ^ state >> 31;
                memcpy(&q[j], &bits, sizeof bits);
            }
            dpot_weights_round(q, box.lower, box.upper, box.size, weights);
            assert_in_polytope(&box, weights);
        }
    }
}

/* m_j = e^(epsilon/2) / (e^epsilon + k - 1): a Dirac is answered truthfully with probability
 * e^epsilon / (e^epsilon + k - 1), up to the bound of A4 on the total variation. */
Test(polytope, randomised_response_is_reproduced)
{
    for (size_t row = 1; row < N_EXP_BOUNDS; row++) {
        for (size_t k = 2; k <= 8; k++) {
            const double epsilon = ldexp((double)exp_bound_epsilon_q32(row), -32);
            const double truth = exp(epsilon) / (exp(epsilon) + (double)k - 1);
            const double lie = 1 / (exp(epsilon) + (double)k - 1);
            struct box box = {.size = k, .epsilon_q32 = exp_bound_epsilon_q32(row)};
            struct dpot_base_measure base_measure = {0, box.codes, 0};
            double m[8], q[8];
            uint64_t weights[8];
            for (size_t j = 0; j < k; j++) {
                m[j] = exp(epsilon / 2) * lie;
                q[j] = j == 0 ? truth : lie;
            }
            cr_assert_eq(dpot_base_measure_encode(m, k, box.epsilon_q32, &base_measure, NULL),
                         DPOT_OK);
            cr_assert_eq(set_total(&box, base_measure.total), DPOT_OK);
            dpot_weights_round(q, box.lower, box.upper, k, weights);
            const double bound =
                ldexp(1, -44) + ldexp((double)k * pow(exp(epsilon / 2) + 1, 2), -62) + 1e-15;
            for (size_t j = 0; j < k; j++) {
                cr_assert_float_eq((double)weights[j] / (double)N, q[j], 2 * bound,
                                   "epsilon %g k %zu: %.17g", epsilon, k,
                                   (double)weights[j] / (double)N);
            }
        }
    }
}

/* Twin 1: rounds each q to the grid and gives the rest to the largest remainders, without a clamp.
 * It is off by a unit where the box allows none. */
static void round_by_largest_remainder(const double *q, size_t size, uint64_t *weights)
{
    double remainder[SIZE_MAX_HERE];
    uint64_t rest = N;
    for (size_t j = 0; j < size; j++) {
        const double scaled = ldexp(q[j], 62);
        weights[j] = (uint64_t)floor(scaled);
        remainder[j] = scaled - floor(scaled);
        rest -= weights[j];
    }
    cr_assert_lt(rest, size);
    for (; rest > 0; rest--) {
        size_t largest = 0;
        for (size_t j = 1; j < size; j++) {
            largest = remainder[j] > remainder[largest] ? j : largest;
        }
        remainder[largest] = -1;
        weights[largest]++;
    }
}

/* Two laws in the real polytope (ratios up to 1.4 at epsilon 0.5), whose light outcomes are rounded
 * to 1 and to 2 units. */
Test(twin, largest_remainders_without_a_clamp_are_caught)
{
    const double unit = ldexp(1, -62), heavy = 1 - ldexp(1, -53);
    const double q[2][4] = {{1.25 * unit, 1.75 * unit, 509 * unit, heavy},
                            {1.75 * unit, 1.25 * unit, 509 * unit, heavy}};
    struct box box = {.size = 4, .epsilon_q32 = exp_bound_epsilon_q32(2)};
    uint64_t rough[2][4], weights[2][4];
    box.codes[0] = box.codes[1] = 1;
    box.codes[2] = 509;
    box.codes[3] = UINT32_MAX;
    cr_assert_eq(set_total(&box, N - N / 4), DPOT_OK);
    for (size_t i = 0; i < 2; i++) {
        round_by_largest_remainder(q[i], 4, rough[i]);
        dpot_weights_round(q[i], box.lower, box.upper, 4, weights[i]);
    }
    cr_assert_not(ratio_is_within(rough[1][0], rough[0][0], box.epsilon_q32));
    cr_assert_not(ratio_is_within(rough[0][1], rough[1][1], box.epsilon_q32));
    for (size_t j = 0; j < 4; j++) {
        cr_assert(ratio_is_within(weights[1][j], weights[0][j], box.epsilon_q32));
        cr_assert(ratio_is_within(weights[0][j], weights[1][j], box.epsilon_q32));
    }
}

/* Twin 2: U from the real mass, not from the rounded L. With a real mass of 1.9 units, L = 1 and U
 * = 1.9 e^epsilon. */
Test(twin, upper_bounds_grown_from_the_real_mass_are_caught)
{
    struct box box = {.size = 25, .epsilon_q32 = (uint64_t)20 << 32};
    uint64_t sum = 0;
    for (size_t j = 0; j < box.size; j++) {
        box.codes[j] = j == 0 ? 19 : UINT32_MAX;
        sum += box.codes[j];
    }
    cr_assert_eq(set_total(&box, sum / 10), DPOT_OK);
    cr_assert_eq(box.lower[0], 1);
    uint64_t least, most;
    find_extremes(&box, 0, &least, &most);
    cr_assert(ratio_is_within(most, least, box.epsilon_q32));
    box.upper[0] = (uint64_t)(1.9 * exp(20) * (1 - 1e-9));
    find_extremes(&box, 0, &least, &most);
    cr_assert_eq(least, 1);
    cr_assert_not(ratio_is_within(most, least, box.epsilon_q32));
}

/* Twin 3: one unit more than the largest U is too much at the smallest epsilon. */
Test(twin, one_unit_too_much_is_caught)
{
    struct box box;
    make_box(&box, 2, 0, 0, N_TOTALS - 1);
    const uint64_t l = (uint64_t)1 << 40;
    const uint64_t most = l + (l >> 32); /* l (1 + 2^-32) <= l e^(2^-32) */
    cr_assert(ratio_is_within(most, l, box.epsilon_q32));
    cr_assert_not(ratio_is_within(most + 1, l, box.epsilon_q32));
}

/* Exact, for small scales: every integer weight of the noise that the program draws, every pair of
 * inputs and every output, cross-multiplied in integers against a rational lower bound of exp(|z -
 * z'| / 2^k + 2^-55 per coordinate). Privacy is tested without tolerance and without floating
 * point. */
#include "privacy/noise_weights.h"
#include "unit/mechanism/vectors.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOUND_BITS 128
#define DIM_HERE 2
#define HALF 600 /* beyond 65 cells of 4 units and every side used here */

/* How a coordinate's sum is clamped before it is released. */
typedef void clamp_rule(unsigned k, const struct dpot_vector_domain *vector, int64_t *values);

struct channel {
    unsigned k;
    const struct dpot_vector_domain *vector;
    clamp_rule *clamp;
    const struct noise_weights *noise;
};

/* floor(2^128 e^(1/2^k)) by Taylor's series, every term rounded down. */
static struct wide exp_of_scale(unsigned k)
{
    struct wide term = wide_shift_left(wide_from_u64(1), BOUND_BITS), sum = term;
    for (uint32_t n = 1; !wide_is_zero(&term); n++) {
        term = wide_divide_small(wide_shift_right(term, k), n);
        sum = wide_add(sum, term);
    }
    return sum;
}

/* A lower bound of 2^128 exp(distance / 2^k + dim 2^-55): powers rounded down, e^x >= 1 + x. */
static struct wide loss_bound(unsigned k, uint64_t distance, uint64_t dim)
{
    const struct wide base = exp_of_scale(k);
    struct wide bound = wide_shift_left(wide_from_u64(1), BOUND_BITS);
    for (uint64_t i = 0; i < distance; i++) {
        bound = wide_shift_right(wide_mul(bound, base), BOUND_BITS);
    }
    return wide_add(bound, wide_mul(wide_shift_right(bound, 55), wide_from_u64(dim)));
}

/* The law of coordinate j of the release for the integer z, over outputs -half .. half. */
struct law {
    int64_t half;
    struct wide *weight; /* (2 half + 1) */
};

static int64_t release_of(const struct channel *channel, uint32_t j, int64_t z, int64_t noise)
{
    int64_t values[DIM_HERE] = {0};
    values[j] = z + noise;
    channel->clamp(channel->k, channel->vector, values);
    return values[j];
}

static void add_weight(struct law *law, int64_t y, struct wide weight)
{
    cr_assert(y >= -law->half && y <= law->half);
    struct wide *slot = &law->weight[y + law->half];
    *slot = wide_add(*slot, weight);
}

static struct law law_of(const struct channel *channel, uint32_t j, int64_t z)
{
    struct law law = {.half = HALF};
    law.weight = calloc((size_t)(2 * law.half + 1), sizeof *law.weight);
    cr_assert_not_null(law.weight);
    for (size_t x = 0; x < channel->noise->n_values; x++) {
        const struct wide weight = channel->noise->weight[x];
        add_weight(&law, release_of(channel, j, z, (int64_t)x), weight);
        if (x > 0) {
            add_weight(&law, release_of(channel, j, z, -(int64_t)x), weight);
        }
    }
    return law;
}

/* Laws of all inputs lo .. hi of coordinate j. */
static struct law *laws_of(const struct channel *channel, uint32_t j, int64_t lo, int64_t hi)
{
    struct law *laws = calloc((size_t)(hi - lo + 1), sizeof *laws);
    cr_assert_not_null(laws);
    for (int64_t z = lo; z <= hi; z++) {
        laws[z - lo] = law_of(channel, j, z);
    }
    return laws;
}

static void free_laws(struct law *laws, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(laws[i].weight);
    }
    free(laws);
}

/* The output with the largest ratio p / q, by cross products; q = 0 < p is the largest of all. */
static size_t largest_ratio(const struct law *p, const struct law *q)
{
    const size_t n = (size_t)(2 * p->half + 1);
    size_t best = n;
    for (size_t y = 0; y < n; y++) {
        if (wide_is_zero(&p->weight[y])) {
            continue;
        }
        const struct wide here =
            best < n ? wide_mul(p->weight[y], q->weight[best]) : wide_from_u64(1);
        const struct wide there =
            best < n ? wide_mul(p->weight[best], q->weight[y]) : wide_from_u64(0);
        best = wide_less(&there, &here) ? y : best;
    }
    cr_assert_lt(best, n);
    return best;
}

/* True when p <= bound q / 2^128. */
static bool is_within(struct wide p, struct wide q, const struct wide *bound)
{
    const struct wide most = wide_mul(q, *bound), value = wide_shift_left(p, BOUND_BITS);
    return !wide_less(&most, &value);
}

static struct wide *bounds_up_to(unsigned k, size_t distance, uint64_t dim)
{
    struct wide *bounds = calloc(distance + 1, sizeof *bounds);
    cr_assert_not_null(bounds);
    for (size_t i = 0; i <= distance; i++) {
        bounds[i] = loss_bound(k, i, dim);
    }
    return bounds;
}

static size_t distance(int64_t a, int64_t b)
{
    return (size_t)(a < b ? b - a : a - b);
}

/* The number of pairs of inputs and outputs in one dimension that violate the bound. */
static size_t count_violations(const struct channel *channel)
{
    const int64_t lo = dpot_vector_lo(channel->vector, 0), hi = dpot_vector_hi(channel->vector, 0);
    struct law *laws = laws_of(channel, 0, lo, hi);
    struct wide *bounds = bounds_up_to(channel->k, (size_t)(hi - lo), 1);
    size_t n_violations = 0;
    for (int64_t a = lo; a <= hi; a++) {
        for (int64_t b = lo; b <= hi; b++) {
            const struct law *p = &laws[a - lo], *q = &laws[b - lo];
            for (int64_t y = 0; y <= 2 * p->half; y++) {
                if (!wide_is_zero(&p->weight[y]) || !wide_is_zero(&q->weight[y])) {
                    n_violations += !is_within(p->weight[y], q->weight[y], &bounds[distance(a, b)]);
                }
            }
        }
    }
    free_laws(laws, (size_t)(hi - lo + 1));
    free(bounds);
    return n_violations;
}

static size_t count_box_violations(unsigned k, int64_t width, clamp_rule *clamp)
{
    int64_t lo = -3, hi = width - 3;
    const struct dpot_vector_domain box = {
        .set = DPOT_VECTOR_BOX, .dim = 1, .n_sides = 1, .lo = &lo, .hi = &hi};
    struct noise_weights noise = noise_weights_new(DPOT_NOISE_LAPLACE, k);
    const struct channel channel = {k, &box, clamp, &noise};
    const size_t n_violations = count_violations(&channel);
    noise_weights_free(&noise);
    return n_violations;
}

Test(laplace, every_pair_of_inputs_in_a_box_is_within_its_distance)
{
    for (unsigned k = 1; k <= 3; k++) {
        const int64_t widths[] = {1, 2, 9, k < 3 ? (INT64_C(32) << k) - 2 : 60};
        for (size_t i = 0; i < 4; i++) {
            cr_assert_eq(count_box_violations(k, widths[i], dpot_laplace_clamp), 0,
                         "k %u, width %lld", k, (long long)widths[i]);
        }
    }
}

/* The widest box (M - 2) has one interior output only. At k = 3, against both ends. */
Test(laplace, the_widest_box_still_has_equal_supports)
{
    int64_t lo = 0, hi = (INT64_C(32) << 3) - 2;
    const struct dpot_vector_domain box = {
        .set = DPOT_VECTOR_BOX, .dim = 1, .n_sides = 1, .lo = &lo, .hi = &hi};
    struct noise_weights noise = noise_weights_new(DPOT_NOISE_LAPLACE, 3);
    const struct channel channel = {3, &box, dpot_laplace_clamp, &noise};
    struct law first = law_of(&channel, 0, lo), last = law_of(&channel, 0, hi);
    const struct wide bound = loss_bound(3, (uint64_t)hi, 1);
    size_t n_outputs = 0;
    for (int64_t y = 0; y <= 2 * first.half; y++) {
        cr_assert_eq(wide_is_zero(&first.weight[y]), wide_is_zero(&last.weight[y]));
        cr_assert(is_within(first.weight[y], last.weight[y], &bound));
        cr_assert(is_within(last.weight[y], first.weight[y], &bound));
        n_outputs += !wide_is_zero(&first.weight[y]);
    }
    cr_assert_eq(n_outputs, 2 * 255 - 254 + 1);
    free(first.weight);
    free(last.weight);
    noise_weights_free(&noise);
}

static void no_clamp(unsigned k, const struct dpot_vector_domain *vector, int64_t *values)
{
    (void)k;
    (void)vector;
    (void)values;
}

Test(twin, noise_without_the_output_clamp_is_caught)
{
    cr_assert_gt(count_box_violations(1, 2, no_clamp), 0);
    cr_assert_gt(count_box_violations(3, 9, no_clamp), 0);
}

/* The bound is not too loose: noise of half the scale violates it. */
static void halved_scale(unsigned k, const struct dpot_vector_domain *vector, int64_t *values)
{
    dpot_laplace_clamp(k - 1, vector, values);
}

Test(twin, noise_of_half_the_scale_is_caught)
{
    int64_t lo = 0, hi = 3;
    const struct dpot_vector_domain box = {
        .set = DPOT_VECTOR_BOX, .dim = 1, .n_sides = 1, .lo = &lo, .hi = &hi};
    struct noise_weights noise = noise_weights_new(DPOT_NOISE_LAPLACE, 2);
    const struct channel channel = {3, &box, halved_scale, &noise};
    cr_assert_gt(count_violations(&channel), 0);
    noise_weights_free(&noise);
}

/* ---- Two coordinates. Outputs are a product set and coordinates independent, so the largest ratio
 * of a pair of inputs is the product of the largest ratios of their coordinates. ---- */

#define SIDE_MAX 16

struct ratio {
    struct wide p, q;
};

struct ratios {
    int64_t lo, hi;
    struct ratio of[SIDE_MAX][SIDE_MAX];
};

static void fill_ratios(struct ratios *ratios, const struct channel *channel, uint32_t j)
{
    ratios->lo = dpot_vector_lo(channel->vector, j);
    ratios->hi = dpot_vector_hi(channel->vector, j);
    const size_t n = (size_t)(ratios->hi - ratios->lo + 1);
    cr_assert_leq(n, SIDE_MAX);
    struct law *laws = laws_of(channel, j, ratios->lo, ratios->hi);
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) {
            const size_t y = largest_ratio(&laws[a], &laws[b]);
            ratios->of[a][b] = (struct ratio){laws[a].weight[y], laws[b].weight[y]};
        }
    }
    free_laws(laws, n);
}

typedef bool membership(int64_t z0, int64_t z1);

static bool in_ball_of_6(int64_t z0, int64_t z1)
{
    return distance(z0, 0) + distance(z1, 0) <= 6;
}

static bool anywhere(int64_t z0, int64_t z1)
{
    (void)z0;
    (void)z1;
    return true;
}

static size_t count_pairs(const struct ratios *first, const struct ratios *second,
                          const struct wide *bounds, int64_t a0, int64_t a1, membership *is_input)
{
    size_t n_violations = 0;
    for (int64_t b0 = first->lo; b0 <= first->hi; b0++) {
        for (int64_t b1 = second->lo; b1 <= second->hi; b1++) {
            if (!is_input(b0, b1)) {
                continue;
            }
            const struct ratio *r0 = &first->of[a0 - first->lo][b0 - first->lo];
            const struct ratio *r1 = &second->of[a1 - second->lo][b1 - second->lo];
            n_violations += !is_within(wide_mul(r0->p, r1->p), wide_mul(r0->q, r1->q),
                                       &bounds[distance(a0, b0) + distance(a1, b1)]);
        }
    }
    return n_violations;
}

/* The number of pairs of inputs of two coordinates that violate the bound for some output. */
static size_t count_plane_violations(unsigned k, const struct dpot_vector_domain *vector,
                                     clamp_rule *clamp, membership *is_input)
{
    struct noise_weights noise = noise_weights_new(DPOT_NOISE_LAPLACE, k);
    const struct channel channel = {k, vector, clamp, &noise};
    struct ratios *ratios = calloc(2, sizeof *ratios);
    cr_assert_not_null(ratios);
    fill_ratios(&ratios[0], &channel, 0);
    fill_ratios(&ratios[1], &channel, 1);
    struct wide *bounds = bounds_up_to(k, 2 * SIDE_MAX, 2);
    size_t n_violations = 0;
    for (int64_t a0 = ratios[0].lo; a0 <= ratios[0].hi; a0++) {
        for (int64_t a1 = ratios[1].lo; a1 <= ratios[1].hi; a1++) {
            if (is_input(a0, a1)) {
                n_violations += count_pairs(&ratios[0], &ratios[1], bounds, a0, a1, is_input);
            }
        }
    }
    free(bounds);
    free(ratios);
    noise_weights_free(&noise);
    return n_violations;
}

Test(laplace, every_pair_of_inputs_in_an_l1_ball_is_within_its_distance)
{
    const struct dpot_vector_domain ball = {.set = DPOT_VECTOR_L1_BALL, .dim = 2, .radius = 6};
    for (unsigned k = 1; k <= 3; k++) {
        cr_assert_eq(count_plane_violations(k, &ball, dpot_laplace_clamp, in_ball_of_6), 0, "k %u",
                     k);
    }
}

/* Twin: both coordinates are clamped to the range of the first. */
static void clamp_to_the_first_sides(unsigned k, const struct dpot_vector_domain *vector,
                                     int64_t *values)
{
    const struct dpot_vector_domain first = {
        .set = DPOT_VECTOR_BOX, .dim = 2, .n_sides = 1, .lo = vector->lo, .hi = vector->hi};
    dpot_laplace_clamp(k, &first, values);
}

Test(laplace, every_pair_of_inputs_in_a_box_of_different_sides_is_within_its_distance)
{
    int64_t lo[] = {0, -9}, hi[] = {3, 2};
    const struct dpot_vector_domain box = {
        .set = DPOT_VECTOR_BOX, .dim = 2, .n_sides = 2, .lo = lo, .hi = hi};
    for (unsigned k = 1; k <= 3; k++) {
        cr_assert_eq(count_plane_violations(k, &box, dpot_laplace_clamp, anywhere), 0, "k %u", k);
    }
    cr_assert_gt(count_plane_violations(1, &box, clamp_to_the_first_sides, anywhere), 0,
                 "a clamp to another coordinate's range must be caught");
    cr_assert_gt(count_plane_violations(1, &box, no_clamp, anywhere), 0);
}

/* ---- The weights themselves. ---- */

static void assert_golden_weights(const json_t *test_case)
{
    const bool is_laplace =
        strcmp(json_string_value(json_object_get(test_case, "mech")), "laplace") == 0;
    const unsigned k = (unsigned)vectors_u64(json_object_get(test_case, "k"));
    struct noise_weights noise =
        noise_weights_new(is_laplace ? DPOT_NOISE_LAPLACE : DPOT_NOISE_GAUSSIAN, k);
    json_t *golden = json_object_get(test_case, "weights");
    struct wide beyond = {{0}};
    size_t n_golden = 0;
    for (size_t x = 0; x < noise.n_values; x++) {
        char name[24];
        (void)snprintf(name, sizeof name, "%zu", x);
        const json_t *text = json_object_get(golden, name);
        if (text) {
            const struct wide weight = wide_from_decimal(json_string_value(text));
            cr_assert_eq(memcmp(&weight, &noise.weight[x], sizeof weight), 0, "k %u x %zu", k, x);
            n_golden++;
        } else {
            beyond = wide_add(beyond, noise.weight[x]);
        }
    }
    const struct wide total =
        wide_from_decimal(json_string_value(json_object_get(test_case, "normaliser")));
    const struct wide overflow = wide_from_decimal(
        json_string_value(json_object_get(test_case, "overflow_weight_each_sign")));
    cr_assert_eq(n_golden, json_object_size(golden));
    cr_assert_eq(memcmp(&total, &noise.total, sizeof total), 0);
    cr_assert_eq(memcmp(&overflow, &beyond, sizeof beyond), 0);
    noise_weights_free(&noise);
}

Test(weights, of_small_scales_are_bit_for_bit_the_golden_ones)
{
    json_t *root = vectors_load("pmf.json");
    size_t i;
    json_t *test_case;
    json_array_foreach(json_object_get(root, "small"), i, test_case)
    {
        assert_golden_weights(test_case);
    }
    cr_assert_eq(i, 5);
    json_decref(root);
}

/* -ln P[x] at k = 10, against the ideal law. */
Test(weights, of_a_larger_scale_are_the_golden_ones_to_double_accuracy)
{
    json_t *root = vectors_load("pmf.json");
    size_t i, n_checked = 0;
    json_t *test_case;
    json_array_foreach(json_object_get(root, "large"), i, test_case)
    {
        if (vectors_u64(json_object_get(test_case, "k")) != 10) {
            continue;
        }
        const bool is_laplace =
            strcmp(json_string_value(json_object_get(test_case, "mech")), "laplace") == 0;
        struct noise_weights noise =
            noise_weights_new(is_laplace ? DPOT_NOISE_LAPLACE : DPOT_NOISE_GAUSSIAN, 10);
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(test_case, "neglogp"), name, value)
        {
            const struct wide weight = noise.weight[strtoull(name, NULL, 10)];
            const double expected = strtod(json_string_value(value), NULL);
            const double got =
                log(wide_to_double(noise.total, 192)) - log(wide_to_double(weight, 192));
            cr_assert_float_eq(got, expected, 2e-12, "%s: %.17g", name, got);
            n_checked++;
        }
        noise_weights_free(&noise);
    }
    cr_assert_eq(n_checked, 8);
    json_decref(root);
}

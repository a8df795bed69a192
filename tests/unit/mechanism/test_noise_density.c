/* The law of the noise in doubles, against the integer tables that devices draw from. */
#include "mechanism/noise_density.h"

#include "base/buf.h"
#include "mechanism/noise_tables.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { DIM = 2, K = 6 };
#define STEP 0.125
#define SIGN ((uint64_t)1 << 63)

static int64_t lo[DIM] = {-40, 3}, hi[DIM] = {60, 3};

static struct dpot_campaign campaign_of(enum dpot_mechanism_id id)
{
    return (struct dpot_campaign){
        .mechanism = id,
        .vector = {.set = DPOT_VECTOR_BOX,
                   .dim = DIM,
                   .n_sides = DIM,
                   .lo = lo,
                   .hi = hi,
                   .grid_step = STEP,
                   .inverse_step = 1 / STEP},
        .noise = {.scale_log2 = K},
    };
}

static struct dpot_noise_density density_of(const struct dpot_campaign *campaign)
{
    struct dpot_noise_density density;
    struct dpot_error error = {""};
    cr_assert_eq(dpot_noise_density_init_campaign(&density, campaign, &error), DPOT_OK, "%s",
                 error.text);
    return density;
}

/* The formulas of the header: -ln P[y | z] of coordinate j, in grid units. */
static double cost_of(const struct dpot_noise_density *density, uint32_t j, int64_t y, int64_t z)
{
    const bool is_laplace = density->noise == DPOT_NOISE_LAPLACE;
    const double distance = ldexp((double)(y - z), -K);
    int64_t least, most;
    dpot_noise_range(density->noise, K, is_laplace ? lo[j] : z, is_laplace ? hi[j] : z, &least,
                     &most);
    if (y < least || y > most) {
        return INFINITY;
    }
    const double edge = log1p(exp(-ldexp(1, -K)));
    return is_laplace ? fabs(distance) + (y == least || y == most ? edge : density->inside)
                      : distance * distance / 2 + density->inside;
}

static double sum_over_outputs(const struct dpot_noise_density *density, uint32_t j, int64_t z)
{
    int64_t least, most;
    double sum = 0;
    dpot_noise_range(density->noise, K, lo[j], hi[j], &least, &most);
    for (int64_t y = least; y <= most; y++) {
        sum += exp(-cost_of(density, j, y, z));
    }
    cr_assert(isinf(cost_of(density, j, least - 1, z)));
    cr_assert(isinf(cost_of(density, j, most + 1, z)));
    return sum;
}

Test(noise_density, probabilities_of_all_outputs_sum_to_one)
{
    const struct dpot_campaign laplace = campaign_of(DPOT_MECHANISM_LAPLACE);
    const struct dpot_campaign gaussian = campaign_of(DPOT_MECHANISM_GAUSSIAN);
    const struct dpot_noise_density l = density_of(&laplace), g = density_of(&gaussian);
    const int64_t inputs[] = {-40, -39, 0, 59, 60};
    for (size_t i = 0; i < 5; i++) {
        cr_assert_float_eq(sum_over_outputs(&l, 0, inputs[i]), 1, 1e-13);
        cr_assert_float_eq(sum_over_outputs(&g, 0, inputs[i]), 1, 1e-13);
    }
    cr_assert_float_eq(sum_over_outputs(&l, 1, 3), 1, 1e-13);
    cr_assert_float_eq(sum_over_outputs(&g, 1, 3), 1, 1e-13);
}

/* ---- the tables, enumerated: weight of a value = units of its cell x threshold of its trial ----
 */

static double cell_mass(enum dpot_noise noise, size_t y, size_t n_cells, struct dpot_u128 *begin)
{
    const struct dpot_u128 zero = dpot_u128_from(0);
    const struct dpot_u128 *cdf =
        noise == DPOT_NOISE_LAPLACE ? dpot_laplace_cdf : dpot_gaussian_cdf;
    *begin = y == 0 ? zero : cdf[y - 1];
    const struct dpot_u128 mass = dpot_u128_sub(y + 1 < n_cells ? cdf[y] : zero, *begin);
    return ldexp((double)mass.hi, -64) + ldexp((double)mass.lo, -128);
}

/* Writes the 2 n - 1 weights of noise -(n-1) .. n-1, normalised to sum 1, and returns n. */
static size_t enumerate(enum dpot_noise noise, double *weights)
{
    const unsigned bits = noise == DPOT_NOISE_LAPLACE ? K - 1 : K - 2;
    const size_t n_cells =
        1 + (size_t)(noise == DPOT_NOISE_LAPLACE ? DPOT_LAPLACE_CDF_LEN : DPOT_GAUSSIAN_CDF_LEN);
    const size_t n = n_cells << bits;
    double total = 0;
    for (size_t x = 0; x < n; x++) {
        uint8_t bytes[DPOT_NOISE_TRIAL_LEN] = {0};
        struct dpot_u128 begin;
        const double mass = cell_mass(noise, x >> bits, n_cells, &begin);
        dpot_store_u64(bytes, begin.lo);
        dpot_store_u64(bytes + 8, begin.hi);
        for (int is_minus = 0; is_minus < 2; is_minus++) {
            dpot_store_u64(bytes + 16, (x & (((uint64_t)1 << bits) - 1)) | (is_minus ? SIGN : 0));
            const struct dpot_noise_trial trial = dpot_noise_try(noise, K, bytes);
            const double weight =
                trial.is_accepted ? mass * ldexp((double)trial.threshold, -63) : 0;
            if (is_minus && x == 0) {
                cr_assert_eq(weight, 0);
                continue;
            }
            weights[is_minus ? n - 1 - x : n - 1 + x] = weight;
            total += weight;
        }
    }
    for (size_t i = 0; i < 2 * n - 1; i++) {
        weights[i] /= total;
    }
    return n;
}

#define VALUES_MAX (2 * 65 * (1 << (K - 1)))

Test(noise_density, laplace_is_what_the_tables_give_edges_included)
{
    static double weights[VALUES_MAX], released[VALUES_MAX];
    const struct dpot_campaign campaign = campaign_of(DPOT_MECHANISM_LAPLACE);
    const struct dpot_noise_density density = density_of(&campaign);
    const int64_t n = (int64_t)enumerate(DPOT_NOISE_LAPLACE, weights);
    const int64_t inputs[] = {-40, 7, 60};
    int64_t least, most;
    dpot_noise_range(DPOT_NOISE_LAPLACE, K, lo[0], hi[0], &least, &most);
    for (size_t i = 0; i < 3; i++) {
        memset(released, 0, sizeof released);
        for (int64_t x = 1 - n; x < n; x++) {
            int64_t value[DIM] = {inputs[i] + x, 3};
            dpot_laplace_clamp(K, &campaign.vector, value);
            released[value[0] - least] += weights[x + n - 1];
        }
        for (int64_t y = least; y <= most; y++) {
            const double cost = cost_of(&density, 0, y, inputs[i]);
            cr_assert_float_eq(cost, -log(released[y - least]), 1e-13 * (1 + cost));
        }
    }
}

Test(noise_density, gaussian_is_what_the_tables_give)
{
    static double weights[VALUES_MAX];
    const struct dpot_campaign campaign = campaign_of(DPOT_MECHANISM_GAUSSIAN);
    const struct dpot_noise_density density = density_of(&campaign);
    const int64_t n = (int64_t)enumerate(DPOT_NOISE_GAUSSIAN, weights);
    for (int64_t x = 1 - n; x < n; x++) {
        const double cost = cost_of(&density, 0, 5 + x, 5);
        const bool is_far = (x < 0 ? -x : x) >= 45 << (K - 2);
        cr_assert_float_eq(cost, -log(weights[x + n - 1]), is_far ? 0.1 : ldexp(1, -39),
                           "noise %lld: %.17g, %.17g", (long long)x, cost,
                           -log(weights[x + n - 1]));
    }
    cr_assert(isinf(cost_of(&density, 0, 5 + n, 5)));
}

/* ---- intervals ---- */

/* Continuous noise of scale 0.9, x = 0.25. */
static double continuous_density(enum dpot_noise noise, double y)
{
    const double distance = (y - 0.25) / 0.9;
    return noise == DPOT_NOISE_LAPLACE ? exp(-fabs(distance)) / (2 * 0.9)
                                       : exp(-distance * distance / 2) / (0.9 * sqrt(2 * acos(-1)));
}

Test(noise_density, intervals_are_integrals_with_their_slopes)
{
    const double ends[][2] = {{-INFINITY, -3}, {-3, -2.9},    {-0.4, 0.7}, {0.2, 0.3},
                              {5, 9},          {9, INFINITY}, {20, 20.1},  {-20.1, -20}};
    for (int noise = 0; noise < 2; noise++) {
        struct dpot_noise_density density;
        cr_assert_eq(dpot_noise_density_init(&density, (enum dpot_noise)noise, 0.9, 0, NULL),
                     DPOT_OK);
        cr_assert_float_eq(exp(-density.inside), continuous_density((enum dpot_noise)noise, 0.25),
                           1e-15);
        for (size_t e = 0; e < 8; e++) {
            const double a = fmax(ends[e][0], -45), b = fmin(ends[e][1], 45);
            const double x = 0.25, h = 1e-5, width = (b - a) / 200000;
            double sum = 0, slope = 0;
            for (size_t i = 0; i < 200000; i++) {
                sum += width *
                       continuous_density((enum dpot_noise)noise, a + ((double)i + 0.5) * width);
            }
            const double p =
                dpot_noise_density_interval(&density, ends[e][0], ends[e][1], x, &slope);
            cr_assert_float_eq(p, sum, 1e-6 * sum, "%d %zu", noise, e);
            const double more =
                log(dpot_noise_density_interval(&density, ends[e][0], ends[e][1], x + h, NULL));
            const double less =
                log(dpot_noise_density_interval(&density, ends[e][0], ends[e][1], x - h, NULL));
            cr_assert_float_eq(slope, (more - less) / (2 * h), 1e-5 * (1 + fabs(slope)));
        }
        double slope = 1;
        cr_assert_float_eq(dpot_noise_density_interval(&density, -INFINITY, INFINITY, 3, &slope), 1,
                           1e-15);
        cr_assert_float_eq(slope, 0, 1e-15);
    }
}

Test(noise_density, outputs_of_a_grid_in_an_interval_have_its_probability)
{
    const enum dpot_mechanism_id ids[] = {DPOT_MECHANISM_LAPLACE, DPOT_MECHANISM_GAUSSIAN};
    const double t = ldexp(1, K);
    for (size_t i = 0; i < 2; i++) {
        const struct dpot_campaign campaign = campaign_of(ids[i]);
        const struct dpot_noise_density density = density_of(&campaign);
        for (int64_t first = -200; first < 200; first += 8) {
            double sum = 0;
            for (int64_t y = first; y < first + 8; y++) {
                sum += exp(-cost_of(&density, 0, y, 11));
            }
            const double p =
                dpot_noise_density_interval(&density, ((double)first - 0.5) * STEP,
                                            ((double)first + 7.5) * STEP, 11 * STEP, NULL);
            const double d = fabs((double)first - 11) + 8;
            const bool holds_x = first <= 11 && first + 7 >= 11;
            const double bound = i == 0 ? 1 / (6 * t * t) + (holds_x ? 1 / (4 * t * 8) : 0)
                                        : fmax(1, d * d / (t * t)) / (24 * t * t);
            cr_assert_leq(fabs(p / sum - 1), bound, "%zu, %lld: %g", i, (long long)first,
                          p / sum - 1);
        }
    }
}

Test(noise_density, bad_scales_and_campaigns_of_indices_are_refused)
{
    struct dpot_noise_density density;
    struct dpot_error error = {""};
    const double bad[] = {0, -1, NAN, INFINITY, 1e101, 1e-101};
    for (size_t i = 0; i < 6; i++) {
        cr_assert_eq(dpot_noise_density_init(&density, DPOT_NOISE_LAPLACE, bad[i], 0, &error),
                     DPOT_ERR_RANGE);
        cr_assert_not_null(strstr(error.text, "scale"));
    }
    cr_assert_eq(dpot_noise_density_init(&density, DPOT_NOISE_GAUSSIAN, 1, 2, &error),
                 DPOT_ERR_RANGE);
    cr_assert_eq(dpot_noise_density_init(&density, DPOT_NOISE_GAUSSIAN, 1, NAN, &error),
                 DPOT_ERR_RANGE);
    const struct dpot_campaign campaign = {.mechanism = DPOT_MECHANISM_WPM};
    cr_assert_eq(dpot_noise_density_init_campaign(&density, &campaign, &error), DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(error.text, "wpm"));
}

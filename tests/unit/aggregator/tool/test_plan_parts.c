/* Parts of dpot plan, tested without the program. */
#include "forecast/distance.h"
#include "forecast/forecast.h"
#include "forecast/search.h"
#include "forecast/variates.h"
#include "ot/network_simplex.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* ---- random numbers: means and variances within five standard errors, false alarms below 1e-5
 * ---- */

enum { N_DRAWS = 20000 };

static void expect_moments(const double *draws, double mean, double variance, double kurtosis)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < N_DRAWS; i++) {
        sum += draws[i] / N_DRAWS;
    }
    for (size_t i = 0; i < N_DRAWS; i++) {
        square += (draws[i] - sum) * (draws[i] - sum) / N_DRAWS;
    }
    cr_assert_float_eq(sum, mean, 5 * sqrt(variance / N_DRAWS), "%g for %g", sum, mean);
    cr_assert_float_eq(square, variance, 5 * variance * sqrt((kurtosis - 1) / N_DRAWS), "%g for %g",
                       square, variance);
}

Test(plan_parts, binomial_counts_have_their_mean_and_variance)
{
    const double n[] = {1, 16, 17, 1000, 1e6, 1e12, 1e9, 40};
    const double p[] = {0.3, 0.5, 0.9, 0.02, 0.5, 0.25, 1e-8, 0.999};
    static double draws[N_DRAWS];
    for (size_t c = 0; c < sizeof n / sizeof n[0]; c++) {
        struct variates variates;
        const double variance = n[c] * p[c] * (1 - p[c]);
        variates_init(&variates, 3, c);
        for (size_t i = 0; i < N_DRAWS; i++) {
            draws[i] = variates_binomial(&variates, n[c], p[c]);
            cr_assert(draws[i] >= 0 && draws[i] <= n[c] && draws[i] == floor(draws[i]));
        }
        expect_moments(draws, n[c] * p[c], variance, 3 + (1 - 6 * p[c] * (1 - p[c])) / variance);
        cr_assert_eq(variates_binomial(&variates, n[c], 0), 0);
        cr_assert_eq(variates_binomial(&variates, n[c], 1), n[c]);
        variates_release(&variates);
    }
}

/* P[X = x] of Bin(20, 0.3), where the split at the median is used once. */
Test(plan_parts, binomial_counts_have_their_law)
{
    struct variates variates;
    double counts[21] = {0}, chi = 0;
    variates_init(&variates, 4, 0);
    for (size_t i = 0; i < N_DRAWS; i++) {
        counts[(size_t)variates_binomial(&variates, 20, 0.3)]++;
    }
    variates_release(&variates);
    for (int x = 1; x <= 12; x++) {
        const double expected = N_DRAWS * exp(lgamma(21) - lgamma(x + 1) - lgamma(21 - x) +
                                              x * log(0.3) + (20 - x) * log(0.7));
        chi += pow(counts[x] - expected, 2) / expected;
    }
    cr_assert_lt(chi, 45); /* 12 degrees of freedom: 1e-5 */
}

Test(plan_parts, gamma_and_normal_numbers_have_their_mean_and_variance)
{
    const double shapes[] = {1, 2.5, 1000};
    static double draws[N_DRAWS];
    struct variates variates;
    variates_init(&variates, 5, 0);
    for (size_t c = 0; c < 3; c++) {
        for (size_t i = 0; i < N_DRAWS; i++) {
            draws[i] = variates_gamma(&variates, shapes[c]);
        }
        expect_moments(draws, shapes[c], shapes[c], 3 + 6 / shapes[c]);
    }
    for (size_t i = 0; i < N_DRAWS; i++) {
        draws[i] = variates_normal(&variates);
    }
    expect_moments(draws, 0, 1, 3);
    variates_release(&variates);
}

Test(plan_parts, multinomial_counts_sum_to_n_and_avoid_points_without_mass)
{
    const double p[4] = {0.1, 0.6, 0.3, 0}, cumulative[4] = {0.1, 0.7, 1, 1};
    const double n[] = {1, 7, 16, 17, 1e6, 1e12};
    for (size_t c = 0; c < sizeof n / sizeof n[0]; c++) {
        struct variates variates;
        double sum[3] = {0};
        variates_init(&variates, 6, c);
        for (size_t i = 0; i < 1000; i++) {
            double counts[4];
            variates_multinomial(&variates, n[c], p, cumulative, 4, counts);
            cr_assert_eq(counts[0] + counts[1] + counts[2], n[c]);
            cr_assert_eq(counts[3], 0);
            for (size_t j = 0; j < 3; j++) {
                sum[j] += counts[j] / n[c] / 1000;
            }
        }
        for (size_t j = 0; j < 3; j++) {
            cr_assert_float_eq(sum[j], p[j], 5 * sqrt(p[j] / n[c] / 1000));
        }
        variates_release(&variates);
    }
}

Test(plan_parts, streams_are_independent_and_reproducible)
{
    struct variates a, b, c;
    variates_init(&a, 1, 1);
    variates_init(&b, 1, 2);
    variates_init(&c, 1, 1);
    const double x = variates_uniform(&a);
    cr_assert_neq(x, variates_uniform(&b));
    cr_assert_eq(x, variates_uniform(&c));
    variates_release(&a);
    variates_release(&b);
    variates_release(&c);
}

/* ---- distances ---- */

static void draw_measure(struct variates *variates, double *measure, size_t n, double zeros)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        measure[i] = variates_uniform(variates) < zeros ? 0 : variates_uniform(variates);
        sum += measure[i];
    }
    for (size_t i = 0; i < n; i++) {
        measure[i] = sum > 0 ? measure[i] / sum : 1 / (double)n;
    }
}

/* W_p by transport of all masses. */
static double whole_transport(const struct dpot_campaign *campaign, const double *a,
                              const double *b, double power)
{
    static double cost[40 * 40];
    double x[2], y[2];
    struct dpot_exact_result exact;
    const size_t k = campaign->domain.size, kv = campaign->output.size;
    for (size_t i = 0; i < k; i++) {
        dpot_domain_point(&campaign->domain, (uint32_t)i, x);
        for (size_t j = 0; j < kv; j++) {
            dpot_domain_point(&campaign->output, (uint32_t)j, y);
            cost[i * kv + j] =
                pow(dpot_metric_distance(&campaign->metric, campaign->domain.dim, x, y), power);
        }
    }
    cr_assert_eq(dpot_exact_ot(cost, a, b, k, kv, NULL, &exact, NULL), DPOT_OK);
    const double value = pow(exact.transport_cost, 1 / power);
    dpot_exact_result_release(&exact);
    return value;
}

static void expect_distances(const struct dpot_campaign *campaign)
{
    double a[40], b[40], wp = 0;
    struct variates variates;
    variates_init(&variates, 7, campaign->domain.size);
    for (size_t i = 0; i < 40; i++) {
        const double power = i % 2 == 0 ? 1 : 2;
        struct distance distance;
        struct distance_scratch scratch;
        draw_measure(&variates, a, campaign->domain.size, 0.4);
        draw_measure(&variates, b, campaign->output.size, 0.4);
        cr_assert(distance_fits(campaign, a));
        cr_assert_eq(distance_init(&distance, campaign, a, power, NULL), DPOT_OK);
        cr_assert_eq(distance_scratch_init(&scratch, &distance, NULL), DPOT_OK);
        cr_assert_eq(distance_measure(&distance, &scratch, b, &wp, NULL), DPOT_OK);
        cr_assert_float_eq(wp, whole_transport(campaign, a, b, power), 1e-9);
        if (campaign->output_is_domain) {
            cr_assert_eq(distance_measure(&distance, &scratch, a, &wp, NULL), DPOT_OK);
            cr_assert_float_eq(wp, 0, 1e-6);
        }
        distance_scratch_release(&scratch);
        distance_release(&distance);
    }
    variates_release(&variates);
}

Test(plan_parts, common_mass_does_not_move_in_w1)
{
    struct dpot_campaign campaign = {.output_is_domain = true, .metric = {DPOT_METRIC_RING, 12}};
    cr_assert_eq(dpot_domain_init_ring(&campaign.domain, 12, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_ring(&campaign.output, 12, NULL), DPOT_OK);
    expect_distances(&campaign);
    dpot_domain_release(&campaign.domain);
    dpot_domain_release(&campaign.output);
}

Test(plan_parts, quantiles_match_on_a_line_in_any_order_of_points)
{
    const double x[7] = {3, -1, 0.5, 8, 2, 2, -4}, y[5] = {1, 0, 2, -6, 9};
    struct dpot_campaign campaign = {.metric = {DPOT_METRIC_EUCLIDEAN, 0}};
    cr_assert_eq(dpot_domain_init_points(&campaign.domain, 7, 1, x, NULL, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_points(&campaign.output, 5, 1, y, NULL, NULL), DPOT_OK);
    expect_distances(&campaign);
    dpot_domain_release(&campaign.domain);
    dpot_domain_release(&campaign.output);
}

Test(plan_parts, other_output_points_need_a_full_transport)
{
    const double lo[2] = {0, 0}, hi[2] = {1, 2};
    const uint32_t in[2] = {3, 4}, out[2] = {5, 2};
    struct dpot_campaign campaign = {.metric = {DPOT_METRIC_L1, 0}};
    cr_assert_eq(dpot_domain_init_grid(&campaign.domain, 2, lo, hi, in, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_grid(&campaign.output, 2, lo, hi, out, NULL), DPOT_OK);
    expect_distances(&campaign);
    dpot_domain_release(&campaign.domain);
    dpot_domain_release(&campaign.output);
}

/* ---- forecasts ---- */

Test(plan_parts, mean_deviation_of_a_share_is_summed_in_closed_form)
{
    const int n[] = {1, 2, 30, 500};
    const double p[] = {0.5, 0.01, 0.2, 0.97};
    for (size_t c = 0; c < 4; c++) {
        for (size_t d = 0; d < 4; d++) {
            double sum = 0;
            for (int x = 0; x <= n[c]; x++) {
                const double log_pmf = lgamma(n[c] + 1) - lgamma(x + 1) - lgamma(n[c] - x + 1) +
                                       x * log(p[d]) + (n[c] - x) * log1p(-p[d]);
                sum += fabs((double)x / n[c] - p[d]) * exp(log_pmf);
            }
            cr_assert_float_eq(forecast_mean_deviation(n[c], p[d]), sum, 1e-10);
        }
        cr_assert_eq(forecast_mean_deviation(n[c], 0), 0);
        cr_assert_eq(forecast_mean_deviation(n[c], 1), 0);
    }
}

/* Of B + 1 numbers in random order each is equally likely to be the new one: of 39 draws the band
 * leaves out the smallest and the largest, 2 of 40 places. */
Test(plan_parts, band_excludes_as_many_draws_as_it_may_miss)
{
    double few[39], many[399];
    struct figure figure = {.bias = 3};
    for (size_t i = 0; i < 39; i++) {
        few[i] = (double)((i * 7) % 39);
    }
    for (size_t i = 0; i < 399; i++) {
        many[i] = (double)((i * 8) % 399);
    }
    figure_from_draws(&figure, few, 39);
    cr_assert(figure.lower == 0 && figure.upper == 38 && figure.mean == 19 && figure.bias == 3);
    figure_from_draws(&figure, many, 399);
    cr_assert(figure.lower == 9 && figure.upper == 389);
}

/* ---- the search ---- */

struct curve {
    double floor, impossible_below;
    size_t n_calls;
};

static dpot_status falling(void *ctx, double x, struct forecast *forecast, bool *is_possible)
{
    struct curve *curve = ctx;
    curve->n_calls++;
    *forecast = (struct forecast){.n = x};
    forecast->figures[FIGURE_W1].mean = curve->floor + 1 / sqrt(x);
    *is_possible = x >= curve->impossible_below;
    return DPOT_OK;
}

Test(plan_parts, search_finds_the_least_number_that_meets_the_target)
{
    struct curve curve = {.floor = 0.1};
    struct search search = {.forecast = falling, .ctx = &curve, .figure = FIGURE_W1, .most = 1e12};
    const double least[] = {1, 2, 63, 64, 65, 1000, 123456};
    const double starts[] = {1, 64, 1e12};
    for (size_t i = 0; i < 7; i++) {
        for (size_t s = 0; s < 3; s++) {
            double x = 0;
            bool is_reached = false;
            struct forecast forecast;
            search.start = starts[s];
            search.target = 0.1 + 1 / sqrt(least[i] - 0.5);
            cr_assert_eq(search_least(&search, &x, &forecast, &is_reached), DPOT_OK);
            cr_assert(is_reached);
            cr_assert_eq(x, least[i]);
            cr_assert_eq(forecast.n, x);
        }
    }
}

Test(plan_parts, search_stops_within_its_tolerance)
{
    struct curve curve = {.floor = 0};
    struct search search = {.forecast = falling,
                            .ctx = &curve,
                            .figure = FIGURE_W1,
                            .target = 1 / sqrt(50000),
                            .start = 64,
                            .most = 1e12,
                            .tol = 0.01};
    double x = 0;
    bool is_reached = false;
    struct forecast forecast;
    cr_assert_eq(search_least(&search, &x, &forecast, &is_reached), DPOT_OK);
    cr_assert(is_reached && x >= 50000 && x <= 50500);
    cr_assert_leq(curve.n_calls, 14);
}

Test(plan_parts, search_reports_when_nothing_meets_the_target)
{
    struct curve curve = {.floor = 0.1};
    struct search search = {.forecast = falling,
                            .ctx = &curve,
                            .figure = FIGURE_W1,
                            .target = 0.1,
                            .start = 64,
                            .most = 1e6};
    double x = 0;
    bool is_reached = true;
    struct forecast forecast;
    cr_assert_eq(search_least(&search, &x, &forecast, &is_reached), DPOT_OK);
    cr_assert(!is_reached && x == 1e6);
}

Test(plan_parts, search_treats_impossible_values_as_too_small)
{
    struct curve curve = {.impossible_below = 300};
    struct search search = {.forecast = falling,
                            .ctx = &curve,
                            .figure = FIGURE_W1,
                            .target = 0.5,
                            .start = 20000,
                            .most = 20000};
    double x = 0;
    bool is_reached = false;
    struct forecast forecast;
    cr_assert_eq(search_least(&search, &x, &forecast, &is_reached), DPOT_OK);
    cr_assert(is_reached && x == 300);
}

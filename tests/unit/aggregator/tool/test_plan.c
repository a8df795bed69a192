#include "plan_case.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { K = 10 };

TestSuite(plan, .init = plan_write_case, .fini = folder_remove);

/* A member of a figure. */
static double part(const json_t *object, const char *figure, const char *key)
{
    const json_t *found = json_object_get(object, figure);
    cr_assert_not_null(found, "%s", figure);
    return number_of(found, key);
}

/* ---- index campaigns: k-ary randomised response, whose law is known ---- */

static double rest(void)
{
    return 1 / (exp(2) + K - 1);
}

/* sum_x |x / n - q| P[Bin(n, q) = x] */
static double mean_deviation(int n, double q)
{
    double sum = 0;
    for (int x = 0; x <= n; x++) {
        const double log_pmf =
            lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) + x * log(q) + (n - x) * log1p(-q);
        sum += fabs((double)x / n - q) * exp(log_pmf);
    }
    return sum;
}

Test(plan, histogram_error_of_randomized_response_is_that_of_binomial_counts)
{
    const double truth = exp(2) * rest();
    const double l1 = mean_deviation(50, truth) + (K - 1) * mean_deviation(50, rest());
    json_t *r = expect_json("plan --campaign kpm.json --n 50 --reference dirac.csv", 0);
    cr_assert_float_eq(part(r, "histogram_l1", "mean"), l1, 1e-9);
    cr_assert_float_eq(part(r, "histogram_tv", "mean"), l1 / 2, 1e-9);
    cr_assert_float_eq(part(r, "point_standard_error", "max"), sqrt(truth * (1 - truth) / 50),
                       1e-12);
    cr_assert_float_eq(
        part(r, "point_standard_error", "mean"),
        (sqrt(truth * (1 - truth) / 50) + (K - 1) * sqrt(rest() * (1 - rest()) / 50)) / K, 1e-12);
    cr_assert_lt(part(r, "histogram_l1", "lower"), l1);
    cr_assert_gt(part(r, "histogram_l1", "upper"), l1);
    json_decref(r);
}

Test(plan, bias_is_the_distance_of_the_law_from_the_truth)
{
    double w1 = 0, w2 = 0;
    for (int d = 1; d < K; d++) {
        const double distance = d < K - d ? d : K - d;
        w1 += rest() * distance;
        w2 += rest() * distance * distance;
    }
    json_t *r = expect_json("plan --campaign kpm.json --n 1000000 --reference dirac.csv", 0);
    cr_assert_float_eq(part(r, "w1", "bias"), w1, 1e-9);
    cr_assert_float_eq(part(r, "w2", "bias"), sqrt(w2), 1e-9);
    /* All mass leaves from one point: W_1 is linear in the histogram, its mean is the bias. */
    cr_assert_float_eq(part(r, "w1", "mean"), w1, 1e-3);
    json_decref(r);
}

/* W_1 from one point is the mean of the distances of n independent reports. */
Test(plan, band_of_a_mean_of_distances_is_that_of_the_normal_law)
{
    double mean = 0, square = 0;
    for (int d = 1; d < K; d++) {
        const double distance = d < K - d ? d : K - d;
        mean += rest() * distance;
        square += rest() * distance * distance;
    }
    const double reach = 1.96 * sqrt((square - mean * mean) / 10000);
    json_t *r =
        expect_json("plan --campaign kpm.json --n 10000 --reference dirac.csv --draws 9999", 0);
    cr_assert_float_eq(part(r, "w1", "lower"), mean - reach, 0.08 * reach);
    cr_assert_float_eq(part(r, "w1", "upper"), mean + reach, 0.08 * reach);
    json_decref(r);
}

Test(plan, uniform_population_needs_no_reference_and_has_no_bias)
{
    write_text("uniform.csv", "1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n");
    json_t *a = expect_json("plan --campaign kpm.json --n 300", 0);
    json_t *b =
        expect_json("plan --campaign kpm.json --n 300 --reference uniform.csv --normalize", 0);
    cr_assert_eq(part(a, "w1", "mean"), part(b, "w1", "mean"));
    cr_assert_float_eq(part(a, "w1", "bias"), 0, 1e-9);
    cr_assert_eq(number_of(a, "epsilon"), 2);
    cr_assert_eq(number_of(a, "delta"), 0);
    json_decref(a);
    json_decref(b);
}

Test(plan, devices_that_draw_a_place_report_as_devices_at_those_places)
{
    write_text("places.csv", "1\n0\n0\n0.25\n1.75\n0\n0\n0\n0\n0\n");
    json_t *a = expect_json("plan --campaign first.json --n 300 --reference devices.csv", 0);
    json_t *b =
        expect_json("plan --campaign first.json --n 300 --reference places.csv --normalize", 0);
    cr_assert_float_eq(part(a, "histogram_l1", "mean"), part(b, "histogram_l1", "mean"), 1e-12);
    cr_assert_float_eq(part(a, "w1", "bias"), part(b, "w1", "bias"), 1e-12);
    json_decref(a);
    json_decref(b);
}

Test(plan, points_beyond_n_max_count_for_the_truth_only)
{
    write_text("one.json", KPM("2", ",\"n_max\":1"));
    write_text("user.csv", "9,3,1\n9,4,3\n");
    write_text("kept.csv", "9,4,1\n");
    json_t *a = expect_json("plan --campaign one.json --n 300 --reference user.csv --out a.csv", 0);
    json_t *b = expect_json("plan --campaign one.json --n 300 --reference kept.csv --out b.csv", 0);
    cr_assert_eq(part(a, "histogram_l1", "mean"), part(b, "histogram_l1", "mean"));
    cr_assert(fabs(part(a, "w1", "bias") - part(b, "w1", "bias")) > 0.01);
    json_decref(a);
    json_decref(b);
}

Test(plan, fixed_crowd_is_the_first_devices_and_has_less_variance)
{
    /* Devices 7 and 9: the frequency of point j has the variance of two reports of known laws. */
    struct array points;
    struct dpot_error error;
    const double truth = exp(2) * rest();
    write_text("single.csv", "7,0\n9,4\n5,6\n");
    json_t *r = expect_json("plan --campaign kpm.json --crowd fixed --n 2 --reference single.csv "
                            "--out points.csv",
                            0);
    cr_assert_eq(number_of(r, "n"), 2);
    cr_assert_eq(array_read(folder_path("points.csv"), &points, &error), DPOT_OK);
    cr_assert(points.n_rows == K && points.n_cols == 2);
    cr_assert_float_eq(points.values[0], (truth + rest()) / 2, 1e-12);
    cr_assert_float_eq(points.values[2], rest(), 1e-12);
    cr_assert_float_eq(points.values[1], sqrt(truth * (1 - truth) + rest() * (1 - rest())) / 2,
                       1e-12);
    array_release(&points);
    json_decref(r);
    r = expect_json("plan --campaign kpm.json --crowd fixed --reference single.csv", 0);
    cr_assert_eq(number_of(r, "n"), 3);
    json_decref(r);
}

Test(plan, result_does_not_depend_on_the_number_of_threads)
{
    const char *const commands[] = {
        "plan --campaign kpm.json --n 77 --reference devices.csv --threads ",
        "plan --campaign kpm.json --crowd fixed --reference devices.csv --threads ",
        "plan --campaign laplace.json --n 77 --threads "};
    for (size_t i = 0; i < 3; i++) {
        char one[200], three[200];
        (void)snprintf(one, sizeof one, "%s1", commands[i]);
        (void)snprintf(three, sizeof three, "%s3", commands[i]);
        json_t *a = expect_json(one, 0), *b = expect_json(three, 0);
        cr_assert(json_equal(a, b), "%s", commands[i]);
        json_decref(a);
        json_decref(b);
    }
}

/* ---- vector campaigns ---- */

/* Grid step and scale from the calibration. */
static void calibrated(const char *mechanism, const char *domain, double *step, double *scale_log2)
{
    char arguments[200];
    write_text("domain.json", domain);
    (void)snprintf(arguments, sizeof arguments, "calibrate %s --domain domain.json", mechanism);
    json_t *r = expect_json(arguments, 0);
    *step = number_of(r, "grid_step");
    *scale_log2 = number_of(r, "scale_log2");
    json_decref(r);
}

Test(plan, laplace_mean_has_the_variance_of_the_two_sided_geometric_law)
{
    double step = 0, k = 0;
    calibrated("laplace --epsilon 2", L1_BALL, &step, &k);
    const double p = exp(-exp2(-k)), noise = step * sqrt(2 * p) / (1 - p);
    const double error = noise / sqrt(1000);
    json_t *r = expect_json("plan --campaign laplace.json --n 1000", 0);
    cr_assert_float_eq(number_of(r, "noise"), noise, 1e-9 * noise);
    cr_assert_float_eq(number_of(r, "coordinate_standard_error"), error, 1e-9 * error);
    /* Of a normal vector: E |e_j| = sqrt(2 / pi) s, E |e| = sqrt(2) s Gamma(2) / Gamma(3/2). */
    cr_assert_float_eq(part(r, "mean_coordinate", "mean"), error * sqrt(2 / acos(-1)),
                       0.02 * error);
    cr_assert_float_eq(part(r, "mean_l2", "mean"), error * sqrt(2) / tgamma(1.5), 0.02 * error);
    /* |e|^2 / s^2 is chi-squared with three degrees of freedom. */
    cr_assert_float_eq(part(r, "mean_l2", "lower"), error * sqrt(0.2157953), 0.03 * error);
    cr_assert_float_eq(part(r, "mean_l2", "upper"), error * sqrt(9.348404), 0.05 * error);
    cr_assert_eq(part(r, "mean_l2", "bias"), 0);
    json_decref(r);
}

Test(plan, laplace_mean_of_few_reports_has_heavier_tails_than_a_normal_one)
{
    /* One report, one coordinate: |e| is exponential with mean b, its 97.5 % quantile b ln 40. */
    json_t *r = expect_json("plan --campaign segment.json --n 1", 0);
    const double scale = number_of(r, "noise") / sqrt(2);
    cr_assert_float_eq(part(r, "mean_l2", "mean"), scale, 0.03 * scale);
    cr_assert_float_eq(part(r, "mean_l2", "upper"), scale * log(40), 0.15 * scale);
    json_decref(r);
}

Test(plan, gaussian_mean_has_the_scale_of_its_campaign)
{
    double step = 0, k = 0;
    calibrated("gaussian --epsilon 2 --delta 1e-6", L2_BALL, &step, &k);
    json_t *r = expect_json("plan --campaign gaussian.json --n 400", 0);
    cr_assert_float_eq(number_of(r, "noise"), step * exp2(k), 1e-9 * step * exp2(k));
    cr_assert_float_eq(number_of(r, "coordinate_standard_error"), step * exp2(k) / 20,
                       1e-9 * step * exp2(k));
    cr_assert_eq(number_of(r, "delta"), ldexp(floor(ldexp(1e-6, 64)), -64));
    json_decref(r);
}

Test(plan, spread_of_the_data_adds_to_the_noise)
{
    json_t *a = expect_json("plan --campaign laplace.json --n 100", 0);
    json_t *b = expect_json("plan --campaign laplace.json --n 100 --spread 0.5", 0);
    cr_assert_float_eq(number_of(b, "coordinate_standard_error"),
                       hypot(number_of(a, "noise"), 0.5) / 10, 1e-12);
    cr_assert_gt(part(b, "mean_l2", "mean"), part(a, "mean_l2", "mean"));
    json_decref(a);
    json_decref(b);
}

/* Data at 3 and -1 are clipped to 1 and -1: the mean 1 becomes 0. */
Test(plan, clip_is_a_bias_that_no_number_of_reports_removes)
{
    write_text("far.csv", "1,3\n2,-1\n");
    write_text("bare.csv", "3\n-1\n");
    json_t *a = expect_json("plan --campaign segment.json --n 100000000 --reference far.csv", 0);
    json_t *b = expect_json("plan --campaign segment.json --n 100000000 --reference bare.csv", 0);
    cr_assert(json_equal(a, b));
    cr_assert_float_eq(part(a, "mean_l2", "bias"), 1, 0.01);
    cr_assert_float_eq(part(a, "mean_l2", "lower"), 1, 0.02);
    cr_assert_eq(number_of(a, "clipped"), 0.5);
    cr_assert_float_eq(number_of(a, "spread"), 1, 0.01);
    json_decref(a);
    json_decref(b);
}

/* Twenty vectors of 2^16 numbers, of which sixteen are drawn from: coordinate j is +-(j + 1) / 2^16
 * in ten of them each. */
Test(plan, spread_of_a_large_reference_is_that_of_all_its_members)
{
    enum { DIM = 1 << 16, N = 20 };
    struct array data;
    struct dpot_error error;
    double square = 0;
    write_text("large.json", VECTOR("{\"type\":\"l1_ball\",\"radius\":100000,\"dim\":65536}",
                                    "{\"type\":\"laplace\",\"epsilon\":20}"));
    cr_assert_eq(array_init(&data, N, DIM, false), DPOT_OK);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < DIM; j++) {
            const double size = (double)(j + 1) / DIM;
            data.values[i * DIM + j] = i * 7 % N < N / 2 ? size : -size;
            square += i == 0 ? size * size / DIM : 0;
        }
    }
    cr_assert_eq(array_write(folder_path("large.npy"), &data, ARRAY_F8, &error), DPOT_OK);
    array_release(&data);
    json_t *r = expect_json("plan --campaign large.json --n 9 --reference large.npy --draws 39", 0);
    cr_assert_float_eq(number_of(r, "spread"), sqrt(square), 0.05);
    const json_t *list = json_object_get(r, "assumptions");
    bool is_told = false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        is_told = is_told || strstr(json_string_value(json_array_get(list, i)), "16 evenly chosen");
    }
    cr_assert(is_told);
    json_decref(r);
}

/* A constant image of 2 x 2 is its coefficient 0; the other three hold the rest. */
Test(plan, coefficients_that_are_not_kept_count_as_bias)
{
    write_text("dct.json", VECTOR("{\"type\":\"l1_ball\",\"radius\":4}",
                                  "{\"type\":\"laplace\",\"epsilon\":4,\"transform\":{\"type\":"
                                  "\"dct\",\"shape\":[2,2],\"keep\":1}}"));
    write_text("image.csv", "1,0.5,0.5,-0.5,-0.5\n");
    json_t *r = expect_json("plan --campaign dct.json --n 100 --reference image.csv", 0);
    cr_assert_float_eq(part(r, "mean_l2", "bias"), 1, 1e-6);
    cr_assert_lt(part(r, "mean_coordinate", "bias"), 0.02);
    json_decref(r);
}

/* ---- the inverse ---- */

Test(plan, target_gives_the_least_number_of_reports)
{
    json_t *r = expect_json("plan --campaign kpm.json --target-error 0.05 --error histogram", 0);
    const double n = number_of(r, "n");
    char arguments[100];
    cr_assert_leq(part(r, "histogram_l1", "mean"), 0.05);
    cr_assert_not_null(json_object_get(r, "w2"));
    cr_assert_str_eq(json_string_value(json_object_get(r, "target")), "histogram_l1");
    json_decref(r);
    (void)snprintf(arguments, sizeof arguments, "plan --campaign kpm.json --n %.0f", n - 1);
    r = expect_json(arguments, 0);
    cr_assert_gt(part(r, "histogram_l1", "mean"), 0.05);
    json_decref(r);
}

Test(plan, target_in_w1_is_met_and_not_by_three_per_cent_fewer)
{
    json_t *r = expect_json("plan --campaign kpm.json --target-error 0.05", 0);
    const double n = number_of(r, "n");
    char arguments[100];
    cr_assert_leq(part(r, "w1", "mean"), 0.05);
    json_decref(r);
    (void)snprintf(arguments, sizeof arguments, "plan --campaign kpm.json --n %.0f", n * 0.97);
    r = expect_json(arguments, 0);
    cr_assert_gt(part(r, "w1", "mean"), 0.05 * 0.999);
    json_decref(r);
}

/* E |e| = sqrt(2) s Gamma(9/2) / Gamma(4), s = sigma / sqrt(n), in 8 coordinates. */
Test(plan, target_of_a_gaussian_mean_follows_the_closed_form)
{
    json_t *r = expect_json("plan --campaign gaussian.json --target-error 0.1", 0);
    const double factor = sqrt(2) * tgamma(4.5) / tgamma(4);
    const double n = pow(number_of(r, "noise") * factor / 0.1, 2);
    cr_assert_float_eq(number_of(r, "n"), n, 0.02 * n);
    cr_assert_leq(part(r, "mean_l2", "mean"), 0.1);
    json_decref(r);
}

Test(plan, target_gives_the_least_epsilon_of_the_spec)
{
    char spec[1000], epsilon[40];
    const char *const template = KPM("@", "");
    json_t *r = expect_json("plan --campaign kpm.json --n 1000 --reference dirac.csv "
                            "--target-error 0.5 --vary epsilon",
                            0);
    const double found = number_of(r, "spec_epsilon");
    cr_assert_leq(part(r, "w1", "mean"), 0.5);
    json_decref(r);
    const size_t at = (size_t)(strchr(template, '@') - template);
    for (int below = 0; below < 2; below++) {
        (void)snprintf(epsilon, sizeof epsilon, "%.6f", found - 0.05 * below);
        (void)snprintf(spec, sizeof spec, "%.*s%s%s", (int)at, template, epsilon,
                       template + at + 1);
        write_text("other.json", spec);
        r = expect_json("plan --campaign other.json --n 1000 --reference dirac.csv", 0);
        cr_assert_eq(part(r, "w1", "mean") <= 0.5, below == 0);
        json_decref(r);
    }
}

Test(plan, target_gives_an_epsilon_for_vectors)
{
    json_t *r = expect_json("plan --campaign laplace.json --n 1000 --target-error 0.05 --vary "
                            "epsilon",
                            0);
    cr_assert_leq(part(r, "mean_l2", "mean"), 0.05);
    cr_assert_gt(part(r, "mean_l2", "mean"), 0.05 * 0.98);
    cr_assert_leq(number_of(r, "epsilon"), number_of(r, "spec_epsilon"));
    json_decref(r);
}

Test(plan, target_below_the_floor_is_refused_with_the_floor)
{
    expect_exit("plan --campaign kpm.json --reference dirac.csv --target-error 0.5", 2,
                "stays above its bias of 1.52");
    write_text("far.csv", "1,3\n2,-1\n");
    expect_exit("plan --campaign segment.json --reference far.csv --target-error 0.5", 2,
                "mean_l2 stays above its bias of");
    expect_exit("plan --campaign gaussian.json --n 10 --target-error 1e-3 --vary epsilon", 2,
                "at epsilon 20, the most that devices accept, mean_l2 with 10 reports is still");
    expect_exit("plan --campaign kpm.json --target-error 1e-7 --error histogram", 2,
                "with 1000000000000 reports histogram_l1 is still");
}

/* ---- the rest ---- */

Test(plan, assumptions_are_printed_one_a_line)
{
    struct process p;
    process_run(&p, "plan --campaign kpm.json --n 100");
    cr_assert_eq(p.exit_code, 0);
    cr_assert_not_null(strstr(p.out, "assumptions "));
    cr_assert_not_null(strstr(p.out, "- the population is uniform"));
    cr_assert_not_null(strstr(p.out, "- the estimate is the frequency of the reports"));
    process_run(&p, "plan --campaign segment.json --n 100");
    cr_assert_not_null(strstr(p.out, "- no vector lies outside the campaign's set"));
}

Test(plan, example_of_the_manual_runs)
{
    write_text("census.json",
               INDEX("{\"type\":\"grid\",\"lo\":[24.5,-125],\"hi\":[49.4,-66.9],\"shape\":[4,6]}",
                     "haversine",
                     "{\"type\":\"wpm\",\"epsilon\":2,\"lambda\":40,\"iterations\":30}"));
    json_t *r = expect_json("plan --campaign census.json --n 100000", 0);
    cr_assert_eq(number_of(r, "n"), 100000);
    cr_assert_str_eq(json_string_value(json_object_get(r, "metric")), "haversine");
    json_decref(r);
}

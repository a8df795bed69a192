#include "campaign/spec.h"
#include "campaign/sweeps.h"
#include "campaign/sweeps_limit.h"

#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 20

/* A ring of 20 with these sweeps (a JSON value), lambda and n_max. */
static json_t *make_spec(const char *iterations, double lambda, int n_max, int sample_first)
{
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "{\"name\":\"ring\",\"domain\":{\"type\":\"ring\",\"size\":%d},\"output\":\"same\","
        "\"metric\":\"ring\",\"power\":1,\"mechanism\":{\"type\":\"wpm\",\"epsilon\":2,"
        "\"lambda\":%g,\"iterations\":%s,\"base_measure\":\"uniform\",\"n_max\":%d,"
        "\"sample_first\":%s},\"rounds\":1,\"opens\":\"2026-12-01T00:00:00Z\","
        "\"closes\":\"2026-12-08T00:00:00Z\"}",
        SIZE, lambda, iterations, n_max, sample_first ? "true" : "false");
    json_t *spec = json_loads(text, 0, NULL);
    cr_assert_not_null(spec, "%s", text);
    return spec;
}

static json_int_t sweeps_of(const json_t *spec)
{
    const json_t *n = json_object_get(json_object_get(spec, "mechanism"), "iterations");
    cr_assert(json_is_integer(n));
    return json_integer_value(n);
}

static json_int_t measured(const char *iterations, double lambda, int n_max, int sample_first)
{
    struct dpot_error error = {0};
    json_t *spec = make_spec(iterations, lambda, n_max, sample_first);
    cr_assert_eq(spec_inline(spec, NULL, &error), DPOT_OK, "%s", error.text);
    const json_int_t n = sweeps_of(spec);
    json_decref(spec);
    return n;
}

/* The law of a measure after this many sweeps. */
static void find_law(json_int_t sweeps, double lambda, const double *histogram, double *law)
{
    static const uint8_t no_id[DPOT_CAMPAIGN_ID_LEN];
    char number[32];
    struct dpot_campaign campaign;
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_private_measure own;
    struct dpot_error error = {0};
    uint64_t weights[SIZE];
    double copy[SIZE];
    (void)snprintf(number, sizeof number, "%lld", (long long)sweeps);
    json_t *spec = make_spec(number, lambda, 8, 0);
    cr_assert_eq(spec_compile(spec, no_id, 1, &campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(dpot_privatizer_new(&campaign, NULL, &privatizer, &error), DPOT_OK);
    cr_assert_eq(dpot_private_measure_init(&own, 8, NULL), DPOT_OK);
    memcpy(copy, histogram, sizeof copy);
    dpot_private_measure_set(&own, copy, SIZE);
    dpot_privatizer_law(privatizer, &own, weights);
    for (size_t j = 0; j < SIZE; j++) {
        law[j] = (double)weights[j] / (double)DPOT_MASS_ONE;
    }
    dpot_privatizer_free(privatizer);
    dpot_private_measure_release(&own);
    dpot_campaign_release(&campaign);
    json_decref(spec);
}

static double law_distance(json_int_t a, json_int_t b, double lambda, const double *histogram)
{
    double x[SIZE], y[SIZE], sum = 0;
    find_law(a, lambda, histogram, x);
    find_law(b, lambda, histogram, y);
    for (size_t j = 0; j < SIZE; j++) {
        sum += fabs(x[j] - y[j]);
    }
    return sum;
}

Test(sweeps, the_measured_number_is_enough_for_other_measures_too)
{
    const double lambda = 0.3;
    const json_int_t n = measured("\"auto\"", lambda, 8, 0);
    cr_assert(n > SWEEPS_FIRST && n < 2000, "%lld", (long long)n);
    uint64_t state = 99;
    for (size_t m = 0; m < 40; m++) {
        double histogram[SIZE] = {0};
        for (size_t i = 0; i <= m % 6; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            histogram[(state >> 33) % SIZE] += 0.05 + (double)(state >> 40) / (1 << 24);
        }
        const double off = law_distance(n, 10000, lambda, histogram);
        cr_assert_leq(off, 1.5 * SWEEPS_ERROR, "measure %zu: %g after %lld sweeps", m, off,
                      (long long)n);
    }
}

Test(sweeps, a_smaller_lambda_and_a_smaller_error_take_more)
{
    const json_int_t coarse = measured("\"auto\"", 2, 8, 0);
    const json_int_t fine = measured("\"auto\"", 0.3, 8, 0);
    const json_int_t finer = measured("{\"error\": 1e-6}", 0.3, 8, 0);
    cr_assert(coarse < fine && fine < finer, "%lld %lld %lld", (long long)coarse, (long long)fine,
              (long long)finer);
    cr_assert_eq(measured("\"auto\"", 0.3, 8, 0), fine, "the same every time");
    cr_assert_leq(measured("\"auto\"", 0.3, 8, 1), fine, "one place at a time needs no more");
    cr_assert_eq(measured("37", 0.3, 8, 0), 37, "a number stays");
}

Test(sweeps, an_error_that_no_number_reaches_is_refused_with_the_one_reached)
{
    static const struct {
        const char *iterations;
        double lambda;
        const char *words;
    } rows[] = {{"{\"error\": 1e-4}", 0.02, "is not reached with 10000 sweeps (it is 0.00"},
                {"{\"error\": 1e-6}", 0.02, "cannot be decided"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dpot_error error = {0};
        json_t *spec = make_spec(rows[i].iterations, rows[i].lambda, 8, 0);
        cr_assert_eq(spec_inline(spec, NULL, &error), DPOT_ERR_RANGE, "%s", error.text);
        cr_assert(strstr(error.text, "mechanism.iterations") && strstr(error.text, rows[i].words) &&
                      strstr(error.text, "larger lambda"),
                  "%s", error.text);
        json_decref(spec);
    }
}

/* At 20 and at 160 sweeps the laws agree to .003 there, and are off by .2 and more. */
Test(sweeps, a_plateau_of_the_sweeps_is_not_taken_for_their_limit)
{
    static const double lambdas[] = {1e-4, 1e-5};
    for (size_t i = 0; i < sizeof lambdas / sizeof lambdas[0]; i++) {
        struct dpot_error error = {0};
        json_t *spec = make_spec("\"auto\"", lambdas[i], 8, 0);
        cr_assert_eq(spec_inline(spec, NULL, &error), DPOT_ERR_RANGE, "lambda %g: %s", lambdas[i],
                     error.text);
        cr_assert(strstr(error.text, "larger lambda") && strstr(error.text, "exact"), "%s",
                  error.text);
        json_decref(spec);
    }
}

Test(sweeps, the_bound_of_the_limit_holds_for_the_law_of_many_sweeps)
{
    static const uint8_t no_id[DPOT_CAMPAIGN_ID_LEN];
    const double lambda = 0.3;
    double histogram[SIZE] = {0}, law[SIZE], limit[SIZE], bound = 1, off = 0;
    struct dpot_campaign campaign;
    struct dpot_error error = {0};
    histogram[0] = 0.5;
    histogram[7] = 0.3;
    histogram[8] = 0.2;
    json_t *spec = make_spec("5", lambda, 8, 0);
    cr_assert_eq(spec_compile(spec, no_id, 1, &campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(sweeps_limit(&campaign, histogram, 1e-5, limit, &bound, &error), DPOT_OK);
    cr_assert_leq(bound, 1e-5 / 3);
    find_law(10000, lambda, histogram, law);
    for (size_t j = 0; j < SIZE; j++) {
        off += fabs(law[j] - limit[j]);
    }
    cr_assert_leq(off, bound, "%g, bound %g", off, bound);
    dpot_campaign_release(&campaign);
    json_decref(spec);
}

Test(sweeps, wrong_words_and_objects_are_refused)
{
    static const uint8_t no_id[DPOT_CAMPAIGN_ID_LEN];
    static const char *const wrong[] = {"{}",
                                        "{\"error\": 0}",
                                        "{\"error\": \"small\"}",
                                        "{\"sweeps\": 3}",
                                        "\"many\"",
                                        "{\"error\": 0.1, \"n\": 1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct dpot_error error = {0};
        struct dpot_campaign campaign;
        json_t *spec = make_spec(wrong[i], 0.5, 8, 0);
        dpot_status status = spec_inline(spec, NULL, &error);
        if (status == DPOT_OK) {
            status = spec_compile(spec, no_id, 1, &campaign, &error);
        }
        cr_assert_neq(status, DPOT_OK, "%s", wrong[i]);
        cr_assert(strstr(error.text, "iterations"), "%s: %s", wrong[i], error.text);
        json_decref(spec);
    }
    /* the server never measures */
    struct dpot_error error = {0};
    struct dpot_campaign campaign;
    json_t *spec = make_spec("\"auto\"", 0.5, 8, 0);
    cr_assert_neq(spec_compile(spec, no_id, 1, &campaign, &error), DPOT_OK);
    json_decref(spec);
}

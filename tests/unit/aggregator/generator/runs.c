#include "runs.h"

#include "base/alloc.h"
#include "solve/run/draw.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define SCALE 0.5

/* Laplace noise from a uniform number. */
static double noise(uint64_t i)
{
    const double u = (double)draw_uniform(7, 1, i) - 0.5;
    return (u < 0 ? SCALE : -SCALE) * log(1 - 2 * fabs(u));
}

void case_make(struct case_of_training *made, size_t n, size_t dim, const char *settings)
{
    struct dpot_error error = {{0}};
    json_t *given = json_loads(settings, 0, NULL);
    cr_assert_not_null(given, "%s", settings);
    *made = (struct case_of_training){
        .input = {
            .n = n, .dim = dim, .noise = DPOT_NOISE_LAPLACE, .scale = SCALE, .program = "test"}};
    cr_assert_eq(
        settings_read(given, "", DPOT_NOISE_LAPLACE, dim, n, &made->input.settings, &error),
        DPOT_OK, "%s", error.text);
    json_decref(given);
    made->reports = dpot_alloc_array(NULL, n * dim, sizeof *made->reports);
    cr_assert_not_null(made->reports);
    for (size_t i = 0; i < n * dim; i++) {
        made->reports[i] = (i / dim % 2 == 0 ? 1.0 : -1.0) + noise(i);
    }
    made->input.reports = made->reports;
}

void case_release(struct case_of_training *made)
{
    dpot_free_array(NULL, made->reports, made->input.n * made->input.dim, sizeof *made->reports);
    made->reports = NULL;
}

void case_begin(const struct case_of_training *made, struct training *training)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(training_init(training, &made->input, &error), DPOT_OK, "%s", error.text);
}

void case_finish(struct training *training)
{
    struct generator_progress progress;
    struct dpot_error error = {{0}};
    cr_assert_eq(generator_train_run(training->train, UINT64_MAX, NULL, &progress, &error), DPOT_OK,
                 "%s", error.text);
    cr_assert_eq(progress.outcome, GENERATOR_DONE);
}

void expect_same_run(struct training *a, struct training *b)
{
    struct generator_progress at, bt;
    struct network *x = generator_train_network(a->train), *y = generator_train_network(b->train);
    cr_assert_eq(generator_train_run(a->train, 0, NULL, &at, NULL), DPOT_OK);
    cr_assert_eq(generator_train_run(b->train, 0, NULL, &bt, NULL), DPOT_OK);
    cr_assert_eq(at.step, bt.step);
    cr_assert_eq(at.n_looks, bt.n_looks);
    cr_assert_arr_eq(at.looks, bt.looks, at.n_looks * sizeof *at.looks);
    cr_assert_eq(network_n_parameters(x), network_n_parameters(y));
    cr_assert_arr_eq(network_parameters(x), network_parameters(y),
                     network_n_parameters(x) * sizeof(float));
    cr_assert_arr_eq(network_state(x), network_state(y), network_n_state(x) * sizeof(float));
}

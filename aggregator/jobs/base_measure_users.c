#include "jobs/base_measure_users.h"

#include "base/splitmix.h"
#include "pool/channel.h"
#include "solve/estimate/channel_em.h"

#include <stdbool.h>
#include <string.h>

#define HELD_OUT_SHARE 3              /* fitted users per held-out one */
#define ENTRIES_MAX ((size_t)1 << 26) /* of the users' distributions */

/* ---- the prior ---- */

struct counting {
    double *counts; /* (size) */
    size_t size;
};

static int count_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct counting *counting = ctx;
    (void)round;
    if (report->index < counting->size) {
        counting->counts[report->index]++;
    }
    return 0;
}

static bool is_stopped(void *ctx)
{
    enum solve_outcome outcome = SOLVE_CONVERGED;
    struct solve_control quiet = *(const struct solve_control *)ctx;
    quiet.progress = NULL;
    return solve_control_stops(&quiet, 0, 0, &outcome);
}

static dpot_status invert(const struct job_input *input, const double *counts, double *channel,
                          double *prior, struct dpot_error *error)
{
    struct dpot_campaign as_points = *input->snapshot->campaign; /* borrows everything */
    struct solve_control quiet = *input->control;
    struct channel_em_result em = {0};
    as_points.sample_first = true;
    quiet.progress = NULL;
    dpot_status status = channel_fill(&as_points, is_stopped, &quiet, channel, error);
    if (status != DPOT_OK || is_stopped(&quiet)) {
        return status;
    }
    const struct channel_em_config config = {.n_inputs = as_points.domain.size,
                                             .n_outputs = as_points.output.size,
                                             .channel = channel,
                                             .counts = counts,
                                             .min_iterations = CHANNEL_EM_MIN_ITERATIONS,
                                             .max_iterations = CHANNEL_EM_MAX_ITERATIONS,
                                             .tol = CHANNEL_EM_TOL,
                                             .linalg = dpot_linalg_openblas()};
    status = channel_em_run(&config, &quiet, &em, error);
    if (status == DPOT_OK) {
        memcpy(prior, em.weights, as_points.domain.size * sizeof *prior);
    }
    channel_em_result_release(&em);
    return status;
}

static dpot_status find_prior(const struct job_input *input, struct dpot_artifact *artifact,
                              double *prior, struct dpot_error *error)
{
    const struct dpot_campaign *campaign = input->snapshot->campaign;
    const size_t k = campaign->domain.size, n = campaign->output.size;
    double *channel = dpot_alloc_array(NULL, k * n, sizeof *channel);
    struct counting counting = {.counts = dpot_alloc_array(NULL, n, sizeof(double)), .size = n};
    dpot_status status = channel && counting.counts ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        artifact->has_pool = true;
        status = snapshot_read(input->snapshot, count_report, &counting, &artifact->pool_count,
                               artifact->pool_checksum, error);
    } else {
        (void)dpot_error_set(error, status, "out of memory for a channel of %zu x %zu", k, n);
    }
    if (status == DPOT_OK) {
        status = invert(input, counting.counts, channel, prior, error);
    }
    dpot_free_array(NULL, channel, k * n, sizeof *channel);
    dpot_free_array(NULL, counting.counts, n, sizeof *counting.counts);
    return status;
}

/* ---- synthetic users ---- */

static size_t draw_point(const double *prior, size_t k, uint64_t *state)
{
    double left = splitmix_unit(state);
    size_t i = 0;
    while (i + 1 < k && left >= prior[i]) {
        left -= prior[i++];
    }
    return i;
}

static void draw_users(const struct base_measure_settings *settings, const double *prior, size_t k,
                       size_t n, double *distributions)
{
    const size_t low = settings->draws_min, high = settings->draws_max;
    uint64_t state = settings->seed;
    for (size_t u = 0; u < n; u++) {
        const size_t n_draws = low + (size_t)(splitmix_unit(&state) * (double)(high - low + 1));
        for (size_t d = 0; d < n_draws; d++) {
            distributions[u * k + draw_point(prior, k, &state)] += 1 / (double)n_draws;
        }
    }
}

static dpot_status solve(const struct job_input *input,
                         const struct base_measure_settings *settings, const double *cost,
                         const double *distributions, size_t n_fit, size_t n_held,
                         struct base_measure_users_result *result, struct dpot_error *error)
{
    const struct dpot_campaign *campaign = input->snapshot->campaign;
    const size_t k = campaign->domain.size;
    struct base_measure_users fit = {0}, held = {0};
    struct base_measure_users_config config = {.n_rows = k,
                                               .n_cols = campaign->output.size,
                                               .cost = cost,
                                               .epsilon =
                                                   dpot_epsilon_to_double(campaign->epsilon_q32),
                                               .distributions = distributions,
                                               .n_chosen = n_fit};
    dpot_status status = base_measure_users_init(&fit, &config, error);
    if (status == DPOT_OK) {
        config.distributions = distributions + n_fit * k;
        config.n_chosen = n_held;
        status = base_measure_users_init(&held, &config, error);
    }
    const struct base_measure_problem problem = {.n_rows = k,
                                                 .n_cols = campaign->output.size,
                                                 .cost = cost,
                                                 .epsilon = config.epsilon,
                                                 .users = &fit,
                                                 .worst_share = settings->mix,
                                                 .has_planes = true,
                                                 .gap = settings->gap,
                                                 .max_rounds = settings->max_iterations,
                                                 .n_steps = SIZE_MAX,
                                                 .n_reported = n_held,
                                                 .seed = settings->seed,
                                                 .linalg = dpot_linalg_openblas()};
    if (status == DPOT_OK) {
        status = base_measure_find(&problem, input->control, &result->answer, error);
    }
    struct solve_control control = *input->control;
    if (status == DPOT_OK && !is_stopped(&control)) {
        status = base_measure_report_make(&held, &fit, result->answer.base_measure,
                                          result->answer.uniform_mass, NULL, &result->report);
    }
    base_measure_users_release(&fit);
    base_measure_users_release(&held);
    return status;
}

dpot_status base_measure_users_find(const struct job_input *input,
                                    const struct base_measure_settings *settings,
                                    const double *cost, struct dpot_artifact *artifact,
                                    struct base_measure_users_result *result,
                                    struct dpot_error *error)
{
    const size_t k = input->snapshot->campaign->domain.size;
    const size_t n_fit = settings->n_users;
    const size_t n_held = (n_fit + HELD_OUT_SHARE - 1) / HELD_OUT_SHARE, n = n_fit + n_held;
    struct solve_control control = *input->control;
    *result = (struct base_measure_users_result){0};
    if (n * k > ENTRIES_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "parameters.users is %zu, over %zu points: users times points may be "
                              "%zu, ask for fewer",
                              n_fit, k, ENTRIES_MAX * HELD_OUT_SHARE / (HELD_OUT_SHARE + 1));
    }
    double *prior = dpot_alloc_array(NULL, k, sizeof *prior);
    double *distributions = dpot_alloc_array(NULL, n * k, sizeof *distributions);
    dpot_status status = prior && distributions ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status = find_prior(input, artifact, prior, error);
    } else {
        (void)dpot_error_set(error, status, "out of memory for %zu users", n);
    }
    if (status == DPOT_OK && !is_stopped(&control)) {
        draw_users(settings, prior, k, n, distributions);
        status = solve(input, settings, cost, distributions, n_fit, n_held, result, error);
    }
    dpot_free_array(NULL, prior, k, sizeof *prior);
    dpot_free_array(NULL, distributions, n * k, sizeof *distributions);
    return status;
}

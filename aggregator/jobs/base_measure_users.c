#include "jobs/base_measure_users.h"

#include "base/splitmix.h"
#include "pool/channel.h"
#include "solve/estimate/channel_em.h"

#include <stdbool.h>
#include <string.h>

#define USERS_DEFAULT 300
#define USERS_MAX 20000
#define DRAWS_MIN_DEFAULT 3
#define DRAWS_MAX_DEFAULT 15
#define DRAWS_MAX 1000
#define HELD_OUT_SHARE 3              /* one for so many fitted */
#define ENTRIES_MAX ((size_t)1 << 26) /* of the users' distributions */

/* ---- parameters ---- */

static dpot_status add_integer(const json_t *given, json_t *parameters, const char *key,
                               int64_t least, int64_t most, int64_t value, struct dpot_error *error)
{
    const dpot_status status =
        json_get_integer(given, "parameters", key, least, most, &value, error);
    if (status != DPOT_OK && status != DPOT_ERR_NOT_FOUND) {
        return status;
    }
    return json_object_set_new(parameters, key, json_integer(value)) == 0 ? DPOT_OK
                                                                          : DPOT_ERR_MEMORY;
}

dpot_status base_measure_users_complete(const json_t *given, json_t *parameters,
                                        struct dpot_error *error)
{
    double mix = 0;
    dpot_status status =
        add_integer(given, parameters, "users", 1, USERS_MAX, USERS_DEFAULT, error);
    if (status == DPOT_OK) {
        status =
            add_integer(given, parameters, "draws_min", 1, DRAWS_MAX, DRAWS_MIN_DEFAULT, error);
    }
    if (status == DPOT_OK) {
        status =
            add_integer(given, parameters, "draws_max", 1, DRAWS_MAX, DRAWS_MAX_DEFAULT, error);
    }
    if (status == DPOT_OK) {
        status = add_integer(given, parameters, "seed", 0, INT64_MAX, 1, error);
    }
    const int64_t low = json_integer_value(json_object_get(parameters, "draws_min"));
    const int64_t high = json_integer_value(json_object_get(parameters, "draws_max"));
    if (status == DPOT_OK && low > high) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "parameters.draws_min is %lld and draws_max %lld: the first must not "
                              "be larger",
                              (long long)low, (long long)high);
    }
    if (status == DPOT_OK) {
        status = json_get_number(given, "parameters", "mix", 0, 1, &mix, error);
        status = status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
    }
    if (status == DPOT_OK && json_object_set_new(parameters, "mix", json_real(mix)) != 0) {
        status = DPOT_ERR_MEMORY;
    }
    return status;
}

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

static void draw_users(const json_t *parameters, const double *prior, size_t k, size_t n,
                       double *distributions)
{
    const int64_t low = json_integer_value(json_object_get(parameters, "draws_min"));
    const int64_t high = json_integer_value(json_object_get(parameters, "draws_max"));
    uint64_t state = (uint64_t)json_integer_value(json_object_get(parameters, "seed"));
    for (size_t u = 0; u < n; u++) {
        const int64_t n_draws = low + (int64_t)(splitmix_unit(&state) * (double)(high - low + 1));
        for (int64_t d = 0; d < n_draws; d++) {
            distributions[u * k + draw_point(prior, k, &state)] += 1 / (double)n_draws;
        }
    }
}

static dpot_status solve(const struct job_input *input, const double *cost,
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
    const struct base_measure_problem problem = {
        .n_rows = k,
        .n_cols = campaign->output.size,
        .cost = cost,
        .epsilon = config.epsilon,
        .users = &fit,
        .worst_share = json_number_value(json_object_get(input->parameters, "mix")),
        .has_planes = true,
        .gap = json_number_value(json_object_get(input->parameters, "gap")),
        .max_rounds =
            (size_t)json_integer_value(json_object_get(input->parameters, "max_iterations")),
        .n_steps = SIZE_MAX,
        .n_reported = n_held,
        .seed = (uint64_t)json_integer_value(json_object_get(input->parameters, "seed")),
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

dpot_status base_measure_users_find(const struct job_input *input, const double *cost,
                                    struct dpot_artifact *artifact,
                                    struct base_measure_users_result *result,
                                    struct dpot_error *error)
{
    const size_t k = input->snapshot->campaign->domain.size;
    const size_t n_fit = (size_t)json_integer_value(json_object_get(input->parameters, "users"));
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
        draw_users(input->parameters, prior, k, n, distributions);
        status = solve(input, cost, distributions, n_fit, n_held, result, error);
    }
    dpot_free_array(NULL, prior, k, sizeof *prior);
    dpot_free_array(NULL, distributions, n * k, sizeof *distributions);
    return status;
}

/* Kind `base-measure`: the base measure of least cost for a campaign (002, Theorem 3.5), for its
 * next revision.
 *
 * Methods mirror, uniform and certified use the public campaign alone (its points, cost and
 * epsilon) and read no report. Method users estimates where people are from the campaign's pool
 * (base_measure_users.h), which costs no privacy either. The artifact's values are the masses. */
#include "jobs/base_measure_users.h"
#include "jobs/job.h"
#include "json/fields.h"

#include "ot/cost.h"
#include "solve/base_measure/best_uniform.h"
#include "solve/base_measure/mirror_descent.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define ROWS_AT_ONCE 64                    /* of costs, between two polls of the control */
#define COST_PAIRS_MAX ((uint64_t)1 << 26) /* 20 bytes each: cost, sorted cost, order */
#define CODE_RATIO 4294967295.0            /* largest mass a campaign encodes over the smallest */

/* ---- parameters ---- */

enum {
    MIRROR = 1 << BASE_MEASURE_MIRROR,
    CERTIFIED = 1 << BASE_MEASURE_CERTIFIED,
    USERS = 1 << BASE_MEASURE_USERS,
};

static const struct json_word methods[] = {{"mirror", BASE_MEASURE_MIRROR},
                                           {"uniform", BASE_MEASURE_UNIFORM},
                                           {"certified", BASE_MEASURE_CERTIFIED},
                                           {"users", BASE_MEASURE_USERS},
                                           {NULL, 0}};

#define FOR(methods_, words) .only = methods_, .goes_with = words
#define FOR_SEARCHES(methods_) FOR(methods_, "method mirror, certified or users")
#define FOR_USERS FOR(USERS, "method users")
#define ITERATIONS(number, methods_)                                                               \
    FIELD_INTEGER("max_iterations", struct base_measure_settings, max_iterations, 1,               \
                  (int64_t)MIRROR_DESCENT_ITERATIONS_MAX, .otherwise = number,                     \
                  FOR_SEARCHES(methods_))

static const struct json_field fields[] = {
    FIELD_WORD("method", struct base_measure_settings, method, methods,
               .otherwise = BASE_MEASURE_MIRROR),
    ITERATIONS(10000, MIRROR),
    ITERATIONS(1000, CERTIFIED),
    ITERATIONS(40, USERS),
    FIELD_NUMBER("gap", struct base_measure_settings, gap, 0, 1, .otherwise = 1e-6,
                 FOR_SEARCHES(MIRROR | CERTIFIED)),
    FIELD_NUMBER("gap", struct base_measure_settings, gap, 0, 1, .otherwise = 0.01,
                 FOR_SEARCHES(USERS)),
    FIELD_INTEGER("users", struct base_measure_settings, n_users, 1, 20000, .otherwise = 300,
                  FOR_USERS),
    FIELD_INTEGER("draws_min", struct base_measure_settings, draws_min, 1, 1000, .otherwise = 3,
                  FOR_USERS),
    FIELD_INTEGER("draws_max", struct base_measure_settings, draws_max, 1, 1000, .otherwise = 15,
                  FOR_USERS),
    FIELD_NUMBER("mix", struct base_measure_settings, mix, 0, 1, .otherwise = 0, FOR_USERS),
    FIELD_INTEGER("seed", struct base_measure_settings, seed, 0, INT64_MAX, .otherwise = 1,
                  FOR_USERS),
    {.key = NULL},
};

static struct json_case case_of(enum base_measure_method method)
{
    static const char *const names[] = {[BASE_MEASURE_MIRROR] = "method mirror",
                                        [BASE_MEASURE_UNIFORM] = "method uniform, which is exact,",
                                        [BASE_MEASURE_CERTIFIED] = "method certified",
                                        [BASE_MEASURE_USERS] = "method users"};
    return (struct json_case){1u << method, names[method]};
}

static dpot_status read_settings(const json_t *given, struct base_measure_settings *settings,
                                 struct dpot_error *error)
{
    *settings = (struct base_measure_settings){.method = BASE_MEASURE_MIRROR};
    dpot_status status = json_read_field(given, "parameters", &fields[0], settings, error);
    if (status == DPOT_OK) {
        const struct json_case which = case_of(settings->method);
        status = json_read_fields(given, "parameters", fields, &which, settings, error);
    }
    if (status == DPOT_OK && settings->draws_min > settings->draws_max) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "parameters.draws_min is %zu and draws_max %zu: the first must not "
                              "be larger",
                              settings->draws_min, settings->draws_max);
    }
    return status;
}

static dpot_status complete(const struct dpot_campaign *campaign, const json_t *given,
                            json_t **parameters, struct dpot_error *error)
{
    struct base_measure_settings settings;
    (void)campaign;
    *parameters = NULL;
    const dpot_status status = read_settings(given, &settings, error);
    if (status != DPOT_OK) {
        return status;
    }
    const struct json_case which = case_of(settings.method);
    *parameters = json_write_fields(fields, &which, &settings);
    return *parameters ? DPOT_OK : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
}

static dpot_status check(const struct job_input *input, struct dpot_error *error)
{
    struct base_measure_settings settings;
    const struct dpot_campaign *campaign = input->snapshot->campaign;
    const uint64_t n_rows = campaign->domain.size, n_cols = campaign->output.size;
    if (dpot_mechanism_is_vector(campaign->mechanism)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the campaign's mechanism is %s, which has no base measure: choose a "
                              "campaign of wpm",
                              dpot_mechanism_name(campaign->mechanism));
    }
    if (campaign->mechanism != DPOT_MECHANISM_WPM) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the campaign's mechanism is %s: the measure sought here is the "
                              "best for wpm, choose a campaign of that",
                              dpot_mechanism_name(campaign->mechanism));
    }
    if (n_rows * n_cols > COST_PAIRS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the campaign has %llu x %llu costs: a job takes at most %llu, use "
                              "fewer points",
                              (unsigned long long)n_rows, (unsigned long long)n_cols,
                              (unsigned long long)COST_PAIRS_MAX);
    }
    dpot_status status = read_settings(input->parameters, &settings, error);
    if (status == DPOT_OK && settings.method == BASE_MEASURE_USERS) {
        status = snapshot_check_ready(input->snapshot, error);
    }
    return status;
}

/* ---- the search ---- */

struct search {
    const struct dpot_campaign *campaign;
    struct base_measure_settings settings;
    const struct solve_control *control;
    double *cost; /* (domain size, output size) */
    struct phi phi;
    double *m; /* (output size) the result, of the artifact */
    double lower_bound, uniform_objective;
    size_t iterations;
    bool is_converged;
    struct base_measure_users_result users; /* of method users */
    bool has_users;
};

/* In blocks of rows, so that a large campaign can be stopped. */
static void fill_cost(struct search *search, const double *x, const double *v)
{
    const struct dpot_campaign *campaign = search->campaign;
    const uint32_t dim = campaign->domain.dim, n_cols = campaign->output.size;
    for (uint32_t i = 0; i < campaign->domain.size && !solve_control_must_end(search->control);
         i += ROWS_AT_ONCE) {
        const uint32_t left = campaign->domain.size - i;
        dpot_cost_matrix(&campaign->metric, campaign->cost_power, dim, x + (size_t)i * dim,
                         left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE, v, n_cols,
                         search->cost + (size_t)i * n_cols);
    }
}

static dpot_status make_cost(struct search *search)
{
    const struct dpot_domain *domain = &search->campaign->domain;
    const struct dpot_domain *output = &search->campaign->output;
    const size_t n_x = (size_t)domain->size * domain->dim;
    const size_t n_v = (size_t)output->size * output->dim;
    double *x = dpot_alloc_array(NULL, n_x, sizeof *x);
    double *v = dpot_alloc_array(NULL, n_v, sizeof *v);
    search->cost =
        dpot_alloc_array(NULL, (size_t)domain->size * output->size, sizeof *search->cost);
    const bool is_allocated = x && v && search->cost;
    if (is_allocated) {
        dpot_domain_points(domain, x);
        dpot_domain_points(output, v);
        fill_cost(search, x, v);
    }
    dpot_free_array(NULL, v, n_v, sizeof *v);
    dpot_free_array(NULL, x, n_x, sizeof *x);
    return is_allocated ? DPOT_OK : DPOT_ERR_MEMORY;
}

static dpot_status set_up(struct search *search, struct dpot_error *error)
{
    dpot_status status = make_cost(search);
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "out of memory for %u x %u costs",
                              search->campaign->domain.size, search->campaign->output.size);
    }
    if (solve_control_must_end(search->control)) {
        return DPOT_OK; /* before more is allocated */
    }
    struct solve_control control = *search->control;
    control.progress = NULL; /* sorting is not counted as progress */
    const struct phi_config config = {
        .n_rows = search->campaign->domain.size,
        .n_cols = search->campaign->output.size,
        .cost = search->cost,
        .epsilon = dpot_epsilon_to_double(search->campaign->epsilon_q32),
        .linalg = dpot_linalg_openblas(),
        .control = &control,
    };
    return phi_init(&search->phi, &config, error);
}

/* About ten evaluations: they can be stopped, but report no progress. */
static dpot_status find_uniform(struct search *search)
{
    struct best_uniform_result result;
    struct solve_control control = *search->control;
    control.progress = NULL;
    const dpot_status status = best_uniform(&search->phi, &control, search->m, &result);
    if (status == DPOT_OK) {
        search->lower_bound = result.lower_bound;
        search->uniform_objective = result.objective;
        search->iterations = result.iterations;
        search->is_converged = result.outcome == SOLVE_CONVERGED;
    }
    return status;
}

/* From the best uniform measure, in search->m. */
static dpot_status descend(struct search *search, struct dpot_error *error)
{
    struct mirror_descent *solver = NULL;
    struct mirror_descent_result result;
    const struct mirror_descent_config config = {.phi = &search->phi,
                                                 .max_iterations = search->settings.max_iterations,
                                                 .gap = search->settings.gap,
                                                 .start = search->m,
                                                 .lower_bound = search->lower_bound};
    const dpot_status status = mirror_descent_new(&config, &solver, error);
    if (status == DPOT_OK) {
        mirror_descent_run(solver, search->control, &result);
        memcpy(search->m, result.base_measure, search->phi.n_cols * sizeof *search->m);
        search->lower_bound = result.lower_bound;
        search->iterations = result.iterations;
        search->is_converged = result.outcome == SOLVE_CONVERGED;
    }
    mirror_descent_free(solver);
    return status;
}

static void take_answer(struct search *search, const struct base_measure_answer *answer)
{
    memcpy(search->m, answer->base_measure, search->phi.n_cols * sizeof *search->m);
    search->lower_bound = fmax(search->lower_bound, answer->lower_bound);
    search->iterations = answer->rounds;
    search->is_converged = answer->outcome == SOLVE_CONVERGED;
}

static dpot_status certify(struct search *search, struct dpot_error *error)
{
    struct base_measure_answer answer;
    const struct base_measure_problem problem = {
        .n_rows = search->phi.n_rows,
        .n_cols = search->phi.n_cols,
        .cost = search->cost,
        .epsilon = dpot_epsilon_to_double(search->campaign->epsilon_q32),
        .worst_share = 1,
        .has_planes = true,
        .gap = search->settings.gap,
        .max_rounds = search->settings.max_iterations,
        .linalg = dpot_linalg_openblas()};
    const dpot_status status = base_measure_find(&problem, search->control, &answer, error);
    if (status == DPOT_OK) {
        take_answer(search, &answer);
        base_measure_answer_release(&answer);
    }
    return status;
}

/* The bound of the best uniform measure is about the worst case, not about the cost of users. */
static dpot_status serve_users(struct search *search, const struct job_input *input,
                               struct dpot_artifact *artifact, struct dpot_error *error)
{
    const dpot_status status = base_measure_users_find(input, &search->settings, search->cost,
                                                       artifact, &search->users, error);
    if (status == DPOT_OK && search->users.answer.base_measure) {
        search->lower_bound = 0;
        take_answer(search, &search->users.answer);
        search->has_users = true;
    }
    return status;
}

/* A campaign encodes masses as 1 to 2^32 - 1, never 0: smaller masses are raised to the least, and
 * the total is kept within M. Returns the total. */
static double raise_masses(struct search *search)
{
    double largest = 0, total = 0;
    for (size_t j = 0; j < search->phi.n_cols; j++) {
        largest = fmax(largest, search->m[j]);
    }
    for (size_t j = 0; j < search->phi.n_cols; j++) {
        search->m[j] = fmax(search->m[j], largest / CODE_RATIO);
        total += search->m[j];
    }
    if (total > search->phi.beta) {
        for (size_t j = 0; j < search->phi.n_cols; j++) {
            search->m[j] *= search->phi.beta / total;
        }
        total = search->phi.beta;
    }
    return total;
}

/* Costs (W_p^p) of the held-out synthetic users, before masses were raised. */
static dpot_status put_users(const struct search *search, struct dpot_artifact *artifact)
{
    const struct base_measure_report *report = &search->users.report;
    const struct dpot_artifact_number numbers[] = {
        {"held_out_users", (double)report->n},
        {"held_out_cost", report->made.cost},
        {"held_out_cost_error", report->made.cost_error},
        {"held_out_cost_95", report->made.percentile_95},
        {"held_out_uniform_cost", report->uniform.cost},
        {"held_out_uniform_cost_error", report->uniform.cost_error},
        {"held_out_constant_cost", report->constant.cost},
        {"held_out_constant_cost_error", report->constant.cost_error},
        {"share_worse_than_uniform", report->share_worse},
        {"uniform_worst_cost", report->uniform_worst_case},
    };
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof numbers / sizeof numbers[0]; i++) {
        status = dpot_artifact_add_number(artifact, numbers[i].name, numbers[i].value);
    }
    return status;
}

/* The numbers are those of the published measure, after masses were raised. */
static dpot_status put_numbers(struct search *search, struct dpot_artifact *artifact)
{
    const double total_mass = raise_masses(search);
    const double worst = phi_evaluate(&search->phi, search->m);
    const double objective = search->has_users ? search->users.answer.objective : worst;
    const struct dpot_artifact_number numbers[] = {
        {"objective", objective},
        {"worst_case", pow(worst, 1 / search->campaign->cost_power)},
        {"lower_bound", search->lower_bound},
        {"relative_gap", phi_relative_gap(objective, search->lower_bound)},
        {"total_mass", total_mass},
        {"uniform_objective", search->uniform_objective},
        {"iterations", (double)search->iterations},
        {"is_converged", search->is_converged},
        {"epsilon", dpot_epsilon_to_double(search->campaign->epsilon_q32)},
        {"power", search->campaign->cost_power},
    };
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof numbers / sizeof numbers[0]; i++) {
        status = dpot_artifact_add_number(artifact, numbers[i].name, numbers[i].value);
    }
    return status == DPOT_OK && search->has_users ? put_users(search, artifact) : status;
}

/* A stopped search has no result: the runner drops the artifact. */
static dpot_status solve(struct search *search, const struct job_input *input,
                         struct dpot_artifact *artifact, struct dpot_error *error)
{
    dpot_status status = read_settings(input->parameters, &search->settings, error);
    if (status == DPOT_OK) {
        status = set_up(search, error);
    }
    if (status == DPOT_OK && !solve_control_must_end(search->control)) {
        status = find_uniform(search);
    }
    if (status != DPOT_OK || solve_control_must_end(search->control)) {
        return status;
    }
    switch (search->settings.method) {
    case BASE_MEASURE_MIRROR:
        status = descend(search, error);
        break;
    case BASE_MEASURE_CERTIFIED:
        status = certify(search, error);
        break;
    case BASE_MEASURE_USERS:
        status = serve_users(search, input, artifact, error);
        break;
    case BASE_MEASURE_UNIFORM:
        break;
    }
    return status == DPOT_OK && !solve_control_must_end(search->control)
               ? put_numbers(search, artifact)
               : status;
}

static dpot_status run(const struct job_input *input, struct dpot_artifact *artifact,
                       struct dpot_error *error)
{
    struct search search = {.campaign = input->snapshot->campaign, .control = input->control};
    const size_t size = search.campaign->output.size;
    artifact->values = dpot_alloc_array(artifact->allocator, size, sizeof *artifact->values);
    if (!artifact->values) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu masses", size);
    }
    artifact->n_values = size;
    search.m = artifact->values;
    const dpot_status status = solve(&search, input, artifact, error);
    base_measure_answer_release(&search.users.answer);
    phi_release(&search.phi);
    dpot_free_array(NULL, search.cost, (size_t)search.campaign->domain.size * size,
                    sizeof *search.cost);
    return status;
}

const struct job_kind job_base_measure = {
    .name = "base-measure",
    .needs_pool = false,
    .complete = complete,
    .check = check,
    .run = run,
};

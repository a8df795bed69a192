/* Kind `base-measure`: the base measure that serves a campaign's users best (002, Theorem 3.5), for
 * its next revision.
 *
 * Methods mirror, uniform and certified work on the public campaign alone (its points, cost and epsilon): they read no
 * report. Method users takes where people are from the campaign's own pool (base_measure_users.h), which costs no
 * privacy either. The artifact's values are the masses, with their total. */
#include "jobs/base_measure_users.h"
#include "jobs/job.h"

#include "ot/cost.h"
#include "solve/base_measure/best_uniform.h"
#include "solve/base_measure/mirror_descent.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define ITERATIONS_DEFAULT 10000
#define GAP_DEFAULT 1e-6
#define ROUNDS_DEFAULT 1000 /* of certified */
#define USERS_GAP_DEFAULT 0.01
#define USERS_ROUNDS_DEFAULT 40
#define ROWS_AT_ONCE 64                    /* of costs, between two looks at the control */
#define COST_PAIRS_MAX ((uint64_t)1 << 26) /* 20 bytes each: cost, sorted cost, order */
#define CODE_RATIO 4294967295.0            /* between the masses a campaign can say */

/* Parameters. */

static const char *const known[] = {
    "method", "max_iterations", "gap", "users", "draws_min", "draws_max", "mix", "seed", NULL};
#define N_SHARED 3 /* the others are for users */

struct method {
    const char *name;
    int64_t max_iterations;
    double gap;
};

static const struct method methods[] = {{"mirror", ITERATIONS_DEFAULT, GAP_DEFAULT},
                                        {"uniform", 0, 0},
                                        {"certified", ROUNDS_DEFAULT, GAP_DEFAULT},
                                        {"users", USERS_ROUNDS_DEFAULT, USERS_GAP_DEFAULT}};
#define N_METHODS (sizeof methods / sizeof methods[0])

static dpot_status read_method(const json_t *given, const struct method **method,
                               struct dpot_error *error)
{
    const char *name = "mirror";
    const dpot_status status = json_get_string(given, "parameters", "method", &name, error);
    if (status != DPOT_OK && status != DPOT_ERR_NOT_FOUND) {
        return status;
    }
    for (size_t i = 0; i < N_METHODS; i++) {
        if (strcmp(methods[i].name, name) == 0) {
            *method = &methods[i];
            return DPOT_OK;
        }
    }
    return dpot_error_set(error, DPOT_ERR_RANGE,
                          "parameters.method is \"%.40s\": choose mirror, uniform, certified or "
                          "users",
                          name);
}

/* What a method has no use for. */
static dpot_status refuse_others(const json_t *given, const struct method *method,
                                 struct dpot_error *error)
{
    const bool is_uniform = strcmp(method->name, "uniform") == 0;
    const bool is_users = strcmp(method->name, "users") == 0;
    for (size_t i = 1; known[i]; i++) {
        if (json_object_get(given, known[i]) && is_uniform && i < N_SHARED) {
            return dpot_error_set(
                error, DPOT_ERR_MALFORMED,
                "parameters.%s is for method mirror, certified or users: the best "
                "uniform measure is exact, leave it out",
                known[i]);
        }
        if (json_object_get(given, known[i]) && !is_users && i >= N_SHARED) {
            return dpot_error_set(error, DPOT_ERR_MALFORMED,
                                  "parameters.%s is for method users: leave it out, or choose that",
                                  known[i]);
        }
    }
    return DPOT_OK;
}

static dpot_status read_limits(const json_t *given, const struct method *method, json_t *parameters,
                               struct dpot_error *error)
{
    int64_t max_iterations = method->max_iterations;
    double gap = method->gap;
    dpot_status status =
        json_get_integer(given, "parameters", "max_iterations", 1,
                         (int64_t)MIRROR_DESCENT_ITERATIONS_MAX, &max_iterations, error);
    if (status == DPOT_OK || status == DPOT_ERR_NOT_FOUND) {
        status = json_get_number(given, "parameters", "gap", 0, 1, &gap, error);
    }
    if (status != DPOT_OK && status != DPOT_ERR_NOT_FOUND) {
        return status;
    }
    return json_object_set_new(parameters, "max_iterations", json_integer(max_iterations)) == 0 &&
                   json_object_set_new(parameters, "gap", json_real(gap)) == 0
               ? DPOT_OK
               : DPOT_ERR_MEMORY;
}

static dpot_status fill_parameters(const json_t *given, const struct method *method,
                                   json_t *parameters, struct dpot_error *error)
{
    dpot_status status = refuse_others(given, method, error);
    if (status == DPOT_OK && strcmp(method->name, "uniform") != 0) {
        status = read_limits(given, method, parameters, error);
    }
    if (status == DPOT_OK && strcmp(method->name, "users") == 0) {
        status = base_measure_users_complete(given, parameters, error);
    }
    return status;
}

static dpot_status complete(const struct dpot_campaign *campaign, const json_t *given,
                            json_t **parameters, struct dpot_error *error)
{
    (void)campaign;
    const struct method *method = NULL;
    *parameters = NULL;
    dpot_status status = json_check_keys(given, "parameters", known, error);
    if (status == DPOT_OK) {
        status = read_method(given, &method, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    *parameters = json_pack("{s:s}", "method", method->name);
    status = *parameters ? fill_parameters(given, method, *parameters, error) : DPOT_ERR_MEMORY;
    if (status != DPOT_OK) {
        json_decref(*parameters);
        *parameters = NULL;
    }
    return status;
}

static bool has_method(const json_t *parameters, const char *name)
{
    const char *method = json_string_value(json_object_get(parameters, "method"));
    return method && strcmp(method, name) == 0;
}

static dpot_status check(const struct job_input *input, struct dpot_error *error)
{
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
    return has_method(input->parameters, "users") ? snapshot_check_ready(input->snapshot, error)
                                                  : DPOT_OK;
}

/* The work. */

struct search {
    const struct dpot_campaign *campaign;
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
    const bool has_room = x && v && search->cost;
    if (has_room) {
        dpot_domain_points(domain, x);
        dpot_domain_points(output, v);
        fill_cost(search, x, v);
    }
    dpot_free_array(NULL, v, n_v, sizeof *v);
    dpot_free_array(NULL, x, n_x, sizeof *x);
    return has_room ? DPOT_OK : DPOT_ERR_MEMORY;
}

static dpot_status set_up(struct search *search, struct dpot_error *error)
{
    dpot_status status = make_cost(search);
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "out of memory for %u x %u costs",
                              search->campaign->domain.size, search->campaign->output.size);
    }
    if (solve_control_must_end(search->control)) {
        return DPOT_OK; /* before more memory is taken */
    }
    struct solve_control control = *search->control;
    control.progress = NULL; /* sorting is not what is counted */
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

/* Some ten evaluations: watched for the stop, but no progress to speak of. */
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

static dpot_status descend(struct search *search, const json_t *parameters,
                           struct dpot_error *error)
{
    struct mirror_descent *solver = NULL;
    struct mirror_descent_result result;
    const struct mirror_descent_config config = {
        .phi = &search->phi,
        .max_iterations = (size_t)json_integer_value(json_object_get(parameters, "max_iterations")),
        .gap = json_number_value(json_object_get(parameters, "gap"))};
    const dpot_status status = mirror_descent_new(&config, &solver, error);
    if (status == DPOT_OK) {
        mirror_descent_run(solver, search->control, &result);
        memcpy(search->m, result.base_measure, search->phi.n_cols * sizeof *search->m);
        search->lower_bound = fmax(search->lower_bound, result.lower_bound);
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

static dpot_status certify(struct search *search, const json_t *parameters,
                           struct dpot_error *error)
{
    struct base_measure_answer answer;
    const struct base_measure_problem problem = {
        .n_rows = search->phi.n_rows,
        .n_cols = search->phi.n_cols,
        .cost = search->cost,
        .epsilon = dpot_epsilon_to_double(search->campaign->epsilon_q32),
        .worst_share = 1,
        .has_planes = true,
        .gap = json_number_value(json_object_get(parameters, "gap")),
        .max_rounds = (size_t)json_integer_value(json_object_get(parameters, "max_iterations")),
        .linalg = dpot_linalg_openblas()};
    const dpot_status status = base_measure_find(&problem, search->control, &answer, error);
    if (status == DPOT_OK) {
        take_answer(search, &answer);
        base_measure_answer_release(&answer);
    }
    return status;
}

/* The bound of the best uniform measure is one of the worst case: not of what users pay. */
static dpot_status serve_users(struct search *search, const struct job_input *input,
                               struct dpot_artifact *artifact, struct dpot_error *error)
{
    const dpot_status status =
        base_measure_users_find(input, search->cost, artifact, &search->users, error);
    if (status == DPOT_OK && search->users.answer.base_measure) {
        search->lower_bound = 0;
        take_answer(search, &search->users.answer);
        search->has_users = true;
    }
    return status;
}

/* A campaign says masses as codes of 1 to 2^32 - 1, so none is zero: smaller ones are raised to
 * what it can say, and the total kept inside M. Returns the total. */
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

/* Of synthetic users held out, before masses were raised: costs are W_p^p. */
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

/* The numbers of the measure as it is published. */
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

/* What has been stopped has no result: the runner drops the artifact. */
static dpot_status solve(struct search *search, const struct job_input *input,
                         struct dpot_artifact *artifact, struct dpot_error *error)
{
    const json_t *parameters = input->parameters;
    dpot_status status = set_up(search, error);
    if (status == DPOT_OK && !solve_control_must_end(search->control)) {
        status = find_uniform(search);
    }
    if (status != DPOT_OK || solve_control_must_end(search->control)) {
        return status;
    }
    if (has_method(parameters, "mirror")) {
        status = descend(search, parameters, error);
    } else if (has_method(parameters, "certified")) {
        status = certify(search, parameters, error);
    } else if (has_method(parameters, "users")) {
        status = serve_users(search, input, artifact, error);
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

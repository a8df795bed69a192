/* The best base measure for users: best uniform, then stochastic mirror descent, then cutting
 * planes. */
#include "solve/base_measure/descent.h"
#include "solve/base_measure/finder.h"
#include "solve/base_measure/lp.h"
#include "solve/base_measure/planes.h"

#include <math.h>
#include <string.h>

#define TEMPERATURE 1e-4 /* of the crowd, relative to the users' mean cost */
#define UNIFORM_TOL 1e-4 /* relative */
#define STEPS_MIN 2000   /* least number of descent steps */
#define PASS_SHARE 1.25  /* time reserved for a pass over the users, relative to the last one */

struct search {
    struct base_measure_finder *f;
    struct base_measure_crowd *crowd;
    struct phi phi; /* of all rows, if worst_share > 0 */
    bool has_phi;
    double *uniform;              /* (n_cols) */
    double *m;                    /* (n_cols) */
    double *costs;                /* (users) */
    struct solve_control control; /* of the search, if there is a deadline */
};

static dpot_status descend(struct search *s)
{
    const struct base_measure_problem *problem = s->f->problem;
    const size_t usual = BASE_MEASURE_PASSES * problem->users->n;
    const struct base_measure_descent_config config = {.users = problem->users,
                                                       .crowd = s->crowd,
                                                       .phi = s->has_phi ? &s->phi : NULL,
                                                       .worst_share = problem->worst_share,
                                                       .n_steps = problem->n_steps != SIZE_MAX
                                                                      ? problem->n_steps
                                                                  : usual < STEPS_MIN ? STEPS_MIN
                                                                                      : usual,
                                                       .seed = problem->seed,
                                                       .start = s->uniform};
    return base_measure_descend(&config, s->f->control, s->m, &s->f->answer->n_steps,
                                &s->f->answer->outcome);
}

static dpot_status cut(struct search *s)
{
    struct base_measure_answer *answer = s->f->answer;
    const struct base_measure_problem *problem = s->f->problem;
    const double *starts[2] = {s->uniform, s->m};
    struct base_measure_planes_result result;
    const struct base_measure_planes_config config = {.n_cols = problem->n_cols,
                                                      .epsilon = problem->epsilon,
                                                      .worst_share = problem->worst_share,
                                                      .phi = s->has_phi ? &s->phi : NULL,
                                                      .crowd = s->crowd,
                                                      .users = problem->users,
                                                      .n_orbits = problem->n_cols,
                                                      .starts = starts,
                                                      .n_starts = 2,
                                                      .gap = problem->gap,
                                                      .max_rounds = problem->max_rounds,
                                                      .linalg = problem->linalg};
    const dpot_status status = base_measure_planes(&config, s->f->control, &result, s->f->error);
    if (status != DPOT_OK) {
        return status;
    }
    if (result.objective < INFINITY) {
        memcpy(s->m, result.base_measure, problem->n_cols * sizeof *s->m);
    }
    memcpy(answer->w, result.w, result.n_rows * sizeof *answer->w);
    memcpy(answer->y, result.y, result.n_rows * sizeof *answer->y);
    memcpy(answer->potentials, result.potentials, result.n_points * sizeof(double));
    answer->has_proof = result.lower_bound > 0;
    answer->rounds = result.rounds;
    answer->n_cuts = result.n_cuts;
    answer->outcome = result.outcome;
    base_measure_planes_release(&result);
    return DPOT_OK;
}

/* Without planes: the dual point of the tangents at the measure. */
static void take_tangents(struct search *s)
{
    struct base_measure_answer *answer = s->f->answer;
    memcpy(answer->potentials, base_measure_crowd_potentials(s->crowd),
           answer->n_points * sizeof(double));
    memset(answer->w, 0, answer->n_rows * sizeof *answer->w); /* planes may have set weights */
    memset(answer->y, 0, answer->n_rows * sizeof *answer->y);
    if (s->has_phi) {
        (void)phi_evaluate(&s->phi, s->m);
        answer->w[s->phi.worst] = s->f->problem->worst_share;
        answer->y[s->phi.worst] = s->f->problem->worst_share * s->phi.thresholds[s->phi.worst];
    }
    answer->has_proof = true;
}

/* Computes every user's exact cost under the uniform measure of mass 1. Twice that time is reserved
 * for the costs of the best uniform measure and of the answer, and as much for the users reported
 * on. */
static double begin_search(struct search *s)
{
    struct base_measure_finder *f = s->f;
    const struct base_measure_problem *problem = f->problem;
    const struct dpot_clock *clock = f->control ? f->control->clock : NULL;
    const int64_t before = clock ? clock->now(clock->ctx) : 0;
    for (size_t j = 0; j < problem->n_cols; j++) {
        s->uniform[j] = 1 / (double)problem->n_cols;
    }
    const double value = base_measure_crowd_costs(s->crowd, s->uniform, s->costs);
    if (clock) {
        const double passes = 2 + 2 * (double)problem->n_reported / (double)problem->users->n;
        s->control = *f->control;
        s->control.deadline_ms -=
            (int64_t)(PASS_SHARE * passes * (double)(clock->now(clock->ctx) - before));
        f->control = &s->control;
    }
    base_measure_crowd_set_control(s->crowd, f->control);
    base_measure_crowd_set_temperature(s->crowd, TEMPERATURE * value);
    return value;
}

/* Starts at the best uniform measure and improves it until the search's deadline. */
static dpot_status improve(struct search *s)
{
    struct base_measure_finder *f = s->f;
    const struct base_measure_problem *problem = f->problem;
    const bool is_small = problem->n_cols + BASE_MEASURE_GROUPS + 1 <= BASE_MEASURE_LP_ROWS_MAX;
    dpot_status status = DPOT_OK;
    (void)base_measure_crowd_uniform(s->crowd, UNIFORM_TOL, s->uniform);
    f->answer->uniform_mass = (double)problem->n_cols * s->uniform[0];
    f->answer->is_descent_only = problem->has_planes && !is_small;
    memcpy(s->m, s->uniform, problem->n_cols * sizeof *s->m);
    if (base_measure_crowd_is_stopped(s->crowd)) {
        (void)solve_control_stops(f->control, 0, 1, &f->answer->outcome);
        return DPOT_OK;
    }
    if (problem->n_steps > 0) {
        status = descend(s);
    }
    return status == DPOT_OK && problem->has_planes && is_small ? cut(s) : status;
}

/* F(m), exactly; *expected: the users' mean cost. */
static double objective_at(struct search *s, const double *m, double *expected)
{
    const double share = s->f->problem->worst_share;
    *expected = base_measure_crowd_costs(s->crowd, m, s->costs);
    return (1 - share) * *expected + (s->has_phi ? share * phi_evaluate(&s->phi, m) : 0);
}

/* Takes the best uniform measure if the search ended above it. */
static void keep_better(struct search *s, double *expected)
{
    const double uniform = objective_at(s, s->uniform, expected);
    if (objective_at(s, s->m, expected) > uniform) {
        memcpy(s->m, s->uniform, s->f->problem->n_cols * sizeof *s->m);
        (void)objective_at(s, s->m, expected); /* its potentials are the last ones again */
    }
}

static dpot_status search_users(struct search *s)
{
    struct base_measure_finder *f = s->f;
    const struct base_measure_problem *problem = f->problem;
    double expected = begin_search(s);
    const dpot_status status = improve(s);
    const bool is_searched = f->answer->n_steps > 0 || f->answer->rounds > 0;
    const bool is_first = !is_searched && s->m[0] == 1 / (double)problem->n_cols;
    if (is_searched) {
        keep_better(s, &expected);
    }
    for (size_t j = 0; j < problem->n_cols; j++) {
        f->answer->base_measure[j] =
            (1 - problem->uniform_share) * s->m[j] + problem->uniform_share * s->uniform[j];
    }
    if (problem->uniform_share > 0 || !(is_first || is_searched)) {
        expected = base_measure_crowd_costs(s->crowd, f->answer->base_measure, s->costs);
    }
    if (!f->answer->has_proof) {
        take_tangents(s);
    }
    return status == DPOT_OK ? base_measure_certify(f, expected) : status;
}

static dpot_status set_up_search(struct search *s)
{
    const struct base_measure_problem *problem = s->f->problem;
    const size_t n = problem->n_cols;
    s->uniform = dpot_alloc_array(NULL, n, sizeof *s->uniform);
    s->m = dpot_alloc_array(NULL, n, sizeof *s->m);
    s->costs = dpot_alloc_array(NULL, problem->users->n, sizeof *s->costs);
    dpot_status status = s->uniform && s->m && s->costs ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status =
            base_measure_crowd_new(problem->users, BASE_MEASURE_GROUPS, problem->team, &s->crowd);
    }
    if (status != DPOT_OK) {
        return dpot_error_set(s->f->error, status, "out of memory for %zu users",
                              problem->users->n);
    }
    if (problem->worst_share > 0) {
        const struct phi_config config = {.n_rows = problem->n_rows,
                                          .n_cols = n,
                                          .cost = problem->cost,
                                          .epsilon = problem->epsilon,
                                          .linalg = problem->linalg};
        status = phi_init(&s->phi, &config, s->f->error);
        s->has_phi = status == DPOT_OK;
    }
    return status;
}

dpot_status base_measure_find_expected_case(struct base_measure_finder *f)
{
    struct search s = {.f = f};
    const struct solve_control *whole = f->control;
    dpot_status status = set_up_search(&s);
    if (status == DPOT_OK) {
        status = search_users(&s);
    }
    if (s.has_phi) {
        phi_release(&s.phi);
    }
    f->control = whole; /* restore: s.control is local */
    base_measure_crowd_free(s.crowd);
    dpot_free_array(NULL, s.uniform, f->problem->n_cols, sizeof *s.uniform);
    dpot_free_array(NULL, s.m, f->problem->n_cols, sizeof *s.m);
    dpot_free_array(NULL, s.costs, f->problem->users->n, sizeof *s.costs);
    return status;
}

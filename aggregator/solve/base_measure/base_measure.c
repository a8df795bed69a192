#include "solve/base_measure/base_measure.h"

#include "solve/base_measure/best_uniform.h"
#include "solve/base_measure/certificate.h"
#include "solve/base_measure/finder.h"
#include "solve/base_measure/lp.h"
#include "solve/base_measure/mirror_descent.h"
#include "solve/base_measure/planes.h"
#include "solve/base_measure/symmetry.h"

#include <math.h>
#include <string.h>

#define GAP_ROUNDING 1e-12 /* relative rounding error of a certified bound */

#define TRIAL_MS 20     /* shortest measurement from which time_proof extrapolates */
#define PROOF_SHARE 1.5 /* time of the certificate divided by that of its worst case */

#define FAR 1e-2 /* result relative to the start, below which the planes restart */
#define RESTARTS_MAX 5

static dpot_status allocate_answer(const struct base_measure_problem *problem,
                                   struct base_measure_answer *answer)
{
    const struct base_measure_users *users = problem->users;
    *answer = (struct base_measure_answer){.n_rows = problem->n_rows,
                                           .n_cols = problem->n_cols,
                                           .n_points = users ? users->first[users->n] : 0,
                                           .n_row_orbits = problem->n_rows,
                                           .n_col_orbits = problem->n_cols,
                                           .outcome = SOLVE_CONVERGED};
    answer->base_measure = dpot_alloc_array(NULL, answer->n_cols, sizeof(double));
    answer->w = dpot_alloc_array(NULL, answer->n_rows, sizeof(double));
    answer->y = dpot_alloc_array(NULL, answer->n_rows, sizeof(double));
    answer->potentials = dpot_alloc_array(NULL, answer->n_points, sizeof(double));
    return answer->base_measure && answer->w && answer->y && answer->potentials ? DPOT_OK
                                                                                : DPOT_ERR_MEMORY;
}

void base_measure_answer_release(struct base_measure_answer *answer)
{
    dpot_free_array(NULL, answer->base_measure, answer->n_cols, sizeof(double));
    dpot_free_array(NULL, answer->w, answer->n_rows, sizeof(double));
    dpot_free_array(NULL, answer->y, answer->n_rows, sizeof(double));
    dpot_free_array(NULL, answer->potentials, answer->n_points, sizeof(double));
    *answer = (struct base_measure_answer){0};
}

static dpot_status check_costs(const struct base_measure_problem *problem, struct dpot_error *error)
{
    const size_t n = problem->n_rows * problem->n_cols;
    const double typical = symmetry_typical_cost(problem->cost, n);
    double largest = 0;
    for (size_t e = 0; e < n; e++) {
        largest = fmax(largest, problem->cost[e]);
    }
    if (typical > 0 && !(largest <= BASE_MEASURE_COST_RANGE * typical)) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "the largest cost is %g, and a quarter of those above 0 are at most %g: "
            "costs may be %g times as large as that, forbid a pair with a smaller "
            "one",
            largest, typical, BASE_MEASURE_COST_RANGE);
    }
    return DPOT_OK;
}

/* A dual point with the trivial bound 0. */
static void take_no_proof(const struct base_measure_problem *problem,
                          struct base_measure_answer *answer)
{
    for (size_t i = 0; i < answer->n_rows; i++) {
        answer->w[i] = problem->worst_share / (double)answer->n_rows;
        answer->y[i] = 0;
    }
    for (size_t a = 0; a < answer->n_points; a++) {
        answer->potentials[a] = 0;
    }
}

/* Sets the outcome by the certified gap instead of the solver's; not after mixing with uniform,
 * which changes the gap. */
static void update_outcome(const struct base_measure_finder *f)
{
    const struct base_measure_problem *problem = f->problem;
    struct base_measure_answer *answer = f->answer;
    const double gap = phi_relative_gap(answer->objective, answer->lower_bound);
    if (!problem->has_planes || problem->uniform_share > 0 ||
        (answer->outcome != SOLVE_CONVERGED && answer->outcome != SOLVE_STALLED)) {
        return;
    }
    answer->outcome = gap <= problem->gap + GAP_ROUNDING ? SOLVE_CONVERGED : SOLVE_STALLED;
}

/* F of the measure and the bound of the dual point, on the original costs. */
dpot_status base_measure_certify(struct base_measure_finder *f, double expected)
{
    const struct base_measure_problem *problem = f->problem;
    struct base_measure_answer *answer = f->answer;
    const struct base_measure_certificate certificate = {.n_rows = problem->n_rows,
                                                         .n_cols = problem->n_cols,
                                                         .cost = problem->cost,
                                                         .epsilon = problem->epsilon,
                                                         .worst_share = problem->worst_share,
                                                         .w = answer->w,
                                                         .y = answer->y,
                                                         .users = problem->users,
                                                         .potentials = answer->potentials};
    dpot_status status = base_measure_certificate_worst(&certificate, answer->base_measure,
                                                        problem->team, &answer->worst_case, NULL);
    if (status != DPOT_OK) {
        return dpot_error_set(f->error, status, "out of memory for %zu points", problem->n_cols);
    }
    answer->objective =
        (1 - problem->worst_share) * expected + problem->worst_share * answer->worst_case;
    if (!answer->has_proof) {
        take_no_proof(problem, answer);
    }
    status = base_measure_certificate_bound(&certificate, &answer->lower_bound, f->error);
    answer->lower_bound = fmax(answer->lower_bound, 0);
    if (status == DPOT_OK) {
        status = base_measure_certificate_accept(&certificate, answer->lower_bound,
                                                 &answer->objective, f->error);
    }
    update_outcome(f);
    for (size_t j = 0; j < problem->n_cols; j++) {
        answer->total_mass += answer->base_measure[j];
    }
    return status;
}

/* Estimates the time of the certificate, in ms: times the worst case of the uniform measure over
 * more and more rows until that takes TRIAL_MS, and extrapolates. */
static int64_t time_proof(const struct base_measure_finder *f, const struct dpot_clock *clock)
{
    const struct base_measure_problem *problem = f->problem;
    double *m = f->answer->base_measure, value = 0;
    int64_t elapsed = 0;
    size_t n = 1;
    for (size_t j = 0; j < problem->n_cols; j++) {
        m[j] = 1 / (double)problem->n_cols;
    }
    for (;;) {
        const struct base_measure_certificate rows = {.n_rows = n,
                                                      .n_cols = problem->n_cols,
                                                      .cost = problem->cost,
                                                      .epsilon = problem->epsilon,
                                                      .worst_share = 1};
        const int64_t before = clock->now(clock->ctx);
        if (base_measure_certificate_worst(&rows, m, problem->team, &value, NULL) != DPOT_OK) {
            return 0; /* the certificate will report it */
        }
        elapsed = clock->now(clock->ctx) - before;
        if (elapsed >= TRIAL_MS || n == problem->n_rows) {
            break;
        }
        n = 2 * n < problem->n_rows ? 2 * n : problem->n_rows;
    }
    return (int64_t)(PROOF_SHARE * (double)elapsed * (double)problem->n_rows / (double)n);
}

/* The deadline covers the certificate too, so the search gets an earlier one. */
static void reserve_time_for_proof(struct base_measure_finder *f, struct solve_control *control)
{
    if (!f->control || !f->control->clock) {
        return;
    }
    *control = *f->control;
    control->deadline_ms -= time_proof(f, control->clock);
    f->control = control;
}

/* ---- the worst case ---- */

/* Copies one row of each orbit. */
static double *reduce_cost(const struct base_measure_problem *problem,
                           const struct symmetry *symmetry)
{
    const size_t n = problem->n_cols;
    double *reduced = dpot_alloc_array(NULL, symmetry->n_row_orbits * n, sizeof *reduced);
    for (size_t r = 0; reduced && r < symmetry->n_row_orbits; r++) {
        memcpy(reduced + r * n, problem->cost + (size_t)symmetry->row_first[r] * n,
               n * sizeof *reduced);
    }
    return reduced;
}

/* Divides the weight of an orbit equally among its rows. */
static void spread_dual(struct base_measure_answer *answer, const struct symmetry *symmetry,
                        const double *w, const double *y)
{
    for (size_t i = 0; i < answer->n_rows; i++) {
        const size_t orbit = symmetry->row_orbit[i];
        answer->w[i] = w[orbit] / symmetry->row_size[orbit];
        answer->y[i] = y[orbit] / symmetry->row_size[orbit];
    }
}

/* Runs the planes from one start. The program is scaled by the value of the start; *is_far: the
 * result is so much smaller that this scale limited its precision. */
static dpot_status run_planes_once(struct base_measure_finder *f, struct phi *phi,
                                   const struct symmetry *symmetry, const double *start,
                                   bool *is_far)
{
    const struct base_measure_problem *problem = f->problem;
    struct base_measure_answer *answer = f->answer;
    struct base_measure_planes_result result;
    const struct base_measure_planes_config config = {.n_cols = problem->n_cols,
                                                      .epsilon = problem->epsilon,
                                                      .worst_share = 1,
                                                      .phi = phi,
                                                      .orbit = symmetry->col_orbit,
                                                      .n_orbits = symmetry->n_col_orbits,
                                                      .starts = &start,
                                                      .n_starts = 1,
                                                      .gap = problem->gap,
                                                      .max_rounds = problem->max_rounds,
                                                      .linalg = problem->linalg};
    const dpot_status status = base_measure_planes(&config, f->control, &result, f->error);
    if (status != DPOT_OK) {
        return status;
    }
    *is_far = (result.outcome == SOLVE_ITERATION_LIMIT || result.outcome == SOLVE_STALLED) &&
              result.objective < FAR * phi_evaluate(phi, start);
    memcpy(answer->base_measure, result.base_measure, answer->n_cols * sizeof(double));
    spread_dual(answer, symmetry, result.w, result.y);
    answer->has_proof = result.lower_bound > 0;
    answer->rounds += result.rounds;
    answer->n_cuts = result.n_cuts;
    answer->outcome = result.outcome;
    base_measure_planes_release(&result);
    return DPOT_OK;
}

static dpot_status run_planes(struct base_measure_finder *f, struct phi *phi,
                              const struct symmetry *symmetry, double *start)
{
    bool is_far = true;
    dpot_status status = DPOT_OK;
    for (int k = 0; status == DPOT_OK && is_far && k < RESTARTS_MAX; k++) {
        memcpy(start, f->answer->base_measure, f->problem->n_cols * sizeof *start);
        status = run_planes_once(f, phi, symmetry, start, &is_far);
    }
    return status;
}

/* Too large for the planes, so there is little or no symmetry: uses all rows. Starts at the best
 * uniform measure, in answer->base_measure. */
static dpot_status run_mirror(struct base_measure_finder *f, struct phi *phi,
                              const struct symmetry *symmetry)
{
    struct base_measure_answer *answer = f->answer;
    struct mirror_descent *solver = NULL;
    struct mirror_descent_result result;
    const struct mirror_descent_config config = {.phi = phi,
                                                 .max_iterations = f->problem->max_rounds,
                                                 .gap = f->problem->gap,
                                                 .start = answer->base_measure};
    const dpot_status status = mirror_descent_new(&config, &solver, f->error);
    if (status == DPOT_OK) {
        mirror_descent_run(solver, f->control, &result);
        memcpy(answer->base_measure, result.base_measure, answer->n_cols * sizeof(double));
        spread_dual(answer, symmetry, result.w, result.y);
        answer->has_proof = result.lower_bound > 0;
        answer->rounds = result.iterations;
        answer->outcome = result.outcome;
        answer->is_descent_only = true;
    }
    mirror_descent_free(solver);
    return status;
}

static dpot_status solve_reduced(struct base_measure_finder *f, const struct symmetry *symmetry,
                                 const double *reduced)
{
    const struct base_measure_problem *problem = f->problem;
    struct base_measure_answer *answer = f->answer;
    const bool is_small = symmetry->n_col_orbits + 1 <= BASE_MEASURE_LP_ROWS_MAX;
    struct best_uniform_result uniform;
    struct phi phi;
    struct solve_control quiet = f->control ? *f->control : (struct solve_control){0};
    quiet.progress = NULL; /* counts rounds only, not the setup */
    const struct phi_config config = {
        .n_rows = is_small ? symmetry->n_row_orbits : problem->n_rows,
        .n_cols = problem->n_cols,
        .cost = is_small ? reduced : problem->cost,
        .epsilon = problem->epsilon,
        .linalg = problem->linalg,
    };
    dpot_status status = phi_init(&phi, &config, f->error);
    if (status != DPOT_OK) {
        return status;
    }
    status = best_uniform(&phi, &quiet, answer->base_measure, &uniform);
    if (status != DPOT_OK) {
        (void)dpot_error_set(f->error, status, "out of memory for %zu points", problem->n_cols);
    } else if (is_small) {
        double *start = dpot_alloc_array(NULL, problem->n_cols, sizeof *start);
        status = start ? DPOT_OK : DPOT_ERR_MEMORY;
        if (start) {
            status = run_planes(f, &phi, symmetry, start);
        }
        dpot_free_array(NULL, start, problem->n_cols, sizeof *start);
    } else {
        status = run_mirror(f, &phi, symmetry);
    }
    phi_release(&phi);
    return status;
}

/* Makes every row its own orbit: the problem is too large for the planes. */
static void untie(struct symmetry *symmetry)
{
    for (size_t i = 0; i < symmetry->n_rows; i++) {
        symmetry->row_orbit[i] = symmetry->row_first[i] = (uint32_t)i;
        symmetry->row_size[i] = 1;
    }
    symmetry->n_row_orbits = symmetry->n_rows;
}

static dpot_status find_worst_case(struct base_measure_finder *f)
{
    const struct base_measure_problem *problem = f->problem;
    struct base_measure_answer *answer = f->answer;
    struct symmetry symmetry;
    double *reduced = NULL;
    size_t n_reduced = 0;
    dpot_status status =
        symmetry_find(problem->cost, problem->n_rows, problem->n_cols, f->control, NULL, &symmetry);
    if (status != DPOT_OK) {
        return dpot_error_set(f->error, status, "out of memory for %zu points", problem->n_rows);
    }
    if (symmetry.n_col_orbits + 1 > BASE_MEASURE_LP_ROWS_MAX) {
        untie(&symmetry);
    } else {
        answer->n_row_orbits = symmetry.n_row_orbits;
        answer->n_col_orbits = symmetry.n_col_orbits;
        answer->deviation = symmetry.deviation;
        n_reduced = symmetry.n_row_orbits * problem->n_cols;
        reduced = reduce_cost(problem, &symmetry);
        status = reduced ? DPOT_OK : DPOT_ERR_MEMORY;
    }
    if (status == DPOT_OK) {
        status = solve_reduced(f, &symmetry, reduced);
    } else {
        (void)dpot_error_set(f->error, status, "out of memory for %zu costs", n_reduced);
    }
    dpot_free_array(NULL, reduced, n_reduced, sizeof *reduced);
    symmetry_release(&symmetry);
    return status == DPOT_OK ? base_measure_certify(f, 0) : status;
}

dpot_status base_measure_is_quick(const struct base_measure_problem *problem,
                                  const struct solve_control *control, bool *is_quick)
{
    struct symmetry symmetry;
    *is_quick = check_costs(problem, NULL) == DPOT_OK;
    if (!*is_quick || problem->n_cols <= BASE_MEASURE_QUICK_MAX) {
        return DPOT_OK;
    }
    *is_quick = false;
    if (problem->users) {
        return DPOT_OK; /* symmetries tie nothing there */
    }
    const dpot_status status =
        symmetry_find(problem->cost, problem->n_rows, problem->n_cols, control, NULL, &symmetry);
    if (status == DPOT_OK) {
        *is_quick = symmetry.n_col_orbits <= BASE_MEASURE_QUICK_MAX;
        symmetry_release(&symmetry);
    }
    return status;
}

dpot_status base_measure_find(const struct base_measure_problem *problem,
                              const struct solve_control *control,
                              struct base_measure_answer *answer, struct dpot_error *error)
{
    struct base_measure_finder f = {problem, control, answer, error};
    struct solve_control search;
    *answer = (struct base_measure_answer){0};
    dpot_status status = check_costs(problem, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = allocate_answer(problem, answer);
    if (status != DPOT_OK) {
        (void)dpot_error_set(error, status, "out of memory for %zu points", problem->n_rows);
    } else {
        reserve_time_for_proof(&f, &search);
        status = problem->users ? base_measure_find_expected_case(&f) : find_worst_case(&f);
    }
    if (status != DPOT_OK) {
        base_measure_answer_release(answer);
    }
    return status;
}

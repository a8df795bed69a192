#include "solve/base_measure.h"

#include "solve/base_measure_certificate.h"
#include "solve/base_measure_descent.h"
#include "solve/base_measure_lp.h"
#include "solve/base_measure_planes.h"
#include "solve/best_uniform.h"
#include "solve/mirror_descent.h"
#include "solve/symmetry.h"

#include <math.h>
#include <string.h>

#define COOL 1e-4        /* temperature of the users, of what they pay */
#define UNIFORM_TOL 1e-4 /* relative */
#define STEPS_MIN 2000   /* of the descent, however few users there are */

#define GAP_ROUNDING 1e-12 /* relative, of what is taken off a bound */

#define TRIAL_MS 20     /* of proving, to know how long all of it takes */
#define PASS_SHARE 1.25 /* of a pass over the users, likewise */
#define PROOF_SHARE 1.5 /* of that: the bound comes after the worst case */

#define FAR 1e-2 /* of the value of the start of the planes */
#define RESTARTS_MAX 5

struct finder {
    const struct base_measure_problem *problem;
    const struct solve_control *control;
    struct base_measure_answer *answer;
    struct dpot_error *error;
};

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

/* Weights that prove only that costs are not negative. */
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

/* The search has ended at a gap, or found no smaller one; what counts is that of the proof. A mixture towards uniform is
 * not what was searched for. */
static void judge_gap(const struct finder *f)
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

/* Of a measure and a dual point that are there: F and the bound on all costs. */
static dpot_status certify(struct finder *f, double expected)
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
    judge_gap(f);
    for (size_t j = 0; j < problem->n_cols; j++) {
        answer->total_mass += answer->base_measure[j];
    }
    return status;
}

/* What the proof of an answer will take, in ms: the worst case of the uniform measure over more and more rows, until
 * that takes long enough to tell. */
static int64_t time_proof(const struct finder *f, const struct dpot_clock *clock)
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
            return 0; /* whoever proves says so */
        }
        elapsed = clock->now(clock->ctx) - before;
        if (elapsed >= TRIAL_MS || n == problem->n_rows) {
            break;
        }
        n = 2 * n < problem->n_rows ? 2 * n : problem->n_rows;
    }
    return (int64_t)(PROOF_SHARE * (double)elapsed * (double)problem->n_rows / (double)n);
}

/* A deadline is that of the whole: the search must leave the time that the proof takes. */
static void leave_time_for_the_proof(struct finder *f, struct solve_control *control)
{
    if (!f->control || !f->control->clock) {
        return;
    }
    *control = *f->control;
    control->deadline_ms -= time_proof(f, control->clock);
    f->control = control;
}

/* ---- the worst case ---- */

/* One row of each orbit. */
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

/* The weight of an orbit is shared by its rows. */
static void spread_dual(struct base_measure_answer *answer, const struct symmetry *symmetry,
                        const double *w, const double *y)
{
    for (size_t i = 0; i < answer->n_rows; i++) {
        const size_t orbit = symmetry->row_orbit[i];
        answer->w[i] = w[orbit] / symmetry->row_size[orbit];
        answer->y[i] = y[orbit] / symmetry->row_size[orbit];
    }
}

/* From one start; *is_far: the best measure is so much better than the start that the program's units, which are
 * the start's, have hidden the rest. */
static dpot_status run_planes_once(struct finder *f, struct phi *phi,
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

static dpot_status run_planes(struct finder *f, struct phi *phi, const struct symmetry *symmetry,
                              double *start)
{
    bool is_far = true;
    dpot_status status = DPOT_OK;
    for (int k = 0; status == DPOT_OK && is_far && k < RESTARTS_MAX; k++) {
        memcpy(start, f->answer->base_measure, f->problem->n_cols * sizeof *start);
        status = run_planes_once(f, phi, symmetry, start, &is_far);
    }
    return status;
}

/* Too large for the planes, which means that there is no symmetry either, or little: all rows. */
static dpot_status run_mirror(struct finder *f, struct phi *phi, const struct symmetry *symmetry)
{
    struct base_measure_answer *answer = f->answer;
    struct mirror_descent *solver = NULL;
    struct mirror_descent_result result;
    const double uniform = phi_evaluate(phi, answer->base_measure);
    const struct mirror_descent_config config = {
        .phi = phi, .max_iterations = f->problem->max_rounds, .gap = f->problem->gap};
    const dpot_status status = mirror_descent_new(&config, &solver, f->error);
    if (status == DPOT_OK) {
        mirror_descent_run(solver, f->control, &result);
        if (result.objective < uniform) {
            memcpy(answer->base_measure, result.base_measure, answer->n_cols * sizeof(double));
        }
        spread_dual(answer, symmetry, result.w, result.y);
        answer->has_proof = result.lower_bound > 0;
        answer->rounds = result.iterations;
        answer->outcome = result.outcome;
        answer->is_descent_only = true;
    }
    mirror_descent_free(solver);
    return status;
}

static dpot_status solve_reduced(struct finder *f, const struct symmetry *symmetry,
                                 const double *reduced)
{
    const struct base_measure_problem *problem = f->problem;
    struct base_measure_answer *answer = f->answer;
    const bool is_small = symmetry->n_col_orbits + 1 <= BASE_MEASURE_LP_ROWS_MAX;
    struct best_uniform_result uniform;
    struct phi phi;
    struct solve_control quiet = f->control ? *f->control : (struct solve_control){0};
    quiet.progress = NULL; /* sorting and the start are not what is counted */
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

/* Every orbit one row: for what is too large to be tied. */
static void untie(struct symmetry *symmetry)
{
    for (size_t i = 0; i < symmetry->n_rows; i++) {
        symmetry->row_orbit[i] = symmetry->row_first[i] = (uint32_t)i;
        symmetry->row_size[i] = 1;
    }
    symmetry->n_row_orbits = symmetry->n_rows;
}

static dpot_status find_worst_case(struct finder *f)
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
    return status == DPOT_OK ? certify(f, 0) : status;
}

/* ---- users ---- */

struct search {
    struct finder *f;
    struct base_measure_crowd *crowd;
    struct phi phi; /* of all rows, when the worst case has a share */
    bool has_phi;
    double *uniform;              /* (n_cols) */
    double *m;                    /* (n_cols) */
    double *costs;                /* (users) */
    struct solve_control control; /* of the search, when there is a deadline */
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

/* Without planes: the tangents at the measure prove a little. */
static void take_tangents(struct search *s)
{
    struct base_measure_answer *answer = s->f->answer;
    memcpy(answer->potentials, base_measure_crowd_potentials(s->crowd),
           answer->n_points * sizeof(double));
    memset(answer->w, 0, answer->n_rows * sizeof *answer->w); /* planes may have left a weight */
    memset(answer->y, 0, answer->n_rows * sizeof *answer->y);
    if (s->has_phi) {
        (void)phi_evaluate(&s->phi, s->m);
        answer->w[s->phi.worst] = s->f->problem->worst_share;
        answer->y[s->phi.worst] = s->f->problem->worst_share * s->phi.thresholds[s->phi.worst];
    }
    answer->has_proof = true;
}

/* What every user pays under the uniform measure of mass 1, exactly; the time it takes is what they will need again,
 * for the proof and twice for those reported on. */
static double begin_search(struct search *s)
{
    struct finder *f = s->f;
    const struct base_measure_problem *problem = f->problem;
    const struct dpot_clock *clock = f->control ? f->control->clock : NULL;
    const int64_t before = clock ? clock->now(clock->ctx) : 0;
    for (size_t j = 0; j < problem->n_cols; j++) {
        s->uniform[j] = 1 / (double)problem->n_cols;
    }
    const double value = base_measure_crowd_costs(s->crowd, s->uniform, s->costs);
    if (clock) {
        const double passes = 1 + 2 * (double)problem->n_reported / (double)problem->users->n;
        s->control = *f->control;
        s->control.deadline_ms -=
            (int64_t)(PASS_SHARE * passes * (double)(clock->now(clock->ctx) - before));
        f->control = &s->control;
    }
    base_measure_crowd_watch(s->crowd, f->control);
    base_measure_crowd_cool(s->crowd, COOL * value);
    return value;
}

/* From the best uniform measure on, for as long as there is time. */
static dpot_status improve(struct search *s)
{
    struct finder *f = s->f;
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

static dpot_status search_users(struct search *s)
{
    struct finder *f = s->f;
    const struct base_measure_problem *problem = f->problem;
    double expected = begin_search(s);
    const dpot_status status = improve(s);
    const bool is_first =
        f->answer->n_steps == 0 && f->answer->rounds == 0 && s->m[0] == 1 / (double)problem->n_cols;
    for (size_t j = 0; j < problem->n_cols; j++) {
        f->answer->base_measure[j] =
            (1 - problem->uniform_share) * s->m[j] + problem->uniform_share * s->uniform[j];
    }
    if (!is_first) {
        expected = base_measure_crowd_costs(s->crowd, f->answer->base_measure, s->costs);
    }
    if (!f->answer->has_proof) {
        take_tangents(s);
    }
    return status == DPOT_OK ? certify(f, expected) : status;
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

static dpot_status find_expected_case(struct finder *f)
{
    struct search s = {.f = f};
    dpot_status status = set_up_search(&s);
    if (status == DPOT_OK) {
        status = search_users(&s);
    }
    if (s.has_phi) {
        phi_release(&s.phi);
    }
    base_measure_crowd_free(s.crowd);
    dpot_free_array(NULL, s.uniform, f->problem->n_cols, sizeof *s.uniform);
    dpot_free_array(NULL, s.m, f->problem->n_cols, sizeof *s.m);
    dpot_free_array(NULL, s.costs, f->problem->users->n, sizeof *s.costs);
    return status;
}

dpot_status base_measure_find(const struct base_measure_problem *problem,
                              const struct solve_control *control,
                              struct base_measure_answer *answer, struct dpot_error *error)
{
    struct finder f = {problem, control, answer, error};
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
        leave_time_for_the_proof(&f, &search);
        status = problem->users ? find_expected_case(&f) : find_worst_case(&f);
    }
    if (status != DPOT_OK) {
        base_measure_answer_release(answer);
    }
    return status;
}

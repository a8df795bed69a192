#include "ot/few_projection.h"

#include "ot/network_simplex.h"
#include "problem.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_MOST DPOT_FEW_ROWS_MAX
#define M_MOST 160

/* A problem of at most N_MOST points and M_MOST columns. */
struct few {
    size_t n, m;
    double cost[N_MOST * M_MOST], mu[N_MOST], lower[M_MOST], upper[M_MOST], q[M_MOST];
    struct dpot_few_projection_result result;
    double transport_cost, dual; /* of an exact run */
    uint64_t burnt;              /* steps taken, including those used up at the end */
};

static struct few few; /* too large for a stack */

static void fill_costs(struct dpot_few_projection *projection, const double *cost, size_t n)
{
    for (size_t e = 0; e < n; e++) {
        dpot_few_projection_cost(projection)[e] = dpot_few_projection_round(cost[e], 20);
    }
}

static void run_with(struct few *p, uint32_t passes)
{
    const struct dpot_polytope polytope = {p->m, p->lower, p->upper};
    const struct dpot_few_projection_config config = {p->n, p->m, &polytope, NULL, passes};
    struct dpot_few_projection *projection = NULL;
    const double *rows[N_MOST];
    double lowest = INFINITY, largest = -INFINITY;
    for (size_t e = 0; e < p->n * p->m; e++) {
        lowest = fmin(lowest, p->cost[e]);
        largest = fmax(largest, p->cost[e]);
    }
    cr_assert_eq(dpot_few_projection_new(&config, &projection), DPOT_OK);
    const int scale = dpot_few_projection_scale(largest - lowest);
    uint32_t *rounded = dpot_few_projection_cost(projection);
    for (size_t e = 0; e < p->n * p->m; e++) {
        rows[e / p->m] = p->cost + e / p->m * p->m;
        rounded[e] = dpot_few_projection_round(p->cost[e] - lowest, scale);
    }
    dpot_few_projection_run(projection, p->mu, p->q, &p->result);
    p->transport_cost = dpot_few_projection_plan_cost(projection, rows);
    p->dual = dpot_few_projection_dual(projection, rows, lowest, scale);
    p->burnt = passes < DPOT_FEW_PASSES_MAX ? dpot_few_projection_burn(projection) : 0;
    dpot_few_projection_free(projection);
}

static void check_q(const struct few *p, const char *what)
{
    for (size_t j = 0; j < p->m; j++) {
        cr_assert(p->q[j] >= p->lower[j] && p->q[j] <= p->upper[j], "%s: q %zu is %g", what, j,
                  p->q[j]);
    }
    cr_assert_float_eq(sum_of(p->q, p->m), 1.0, 1e-12, "%s: q sums to %.17g", what,
                       sum_of(p->q, p->m));
}

/* The loss allowed for rounding of the costs: half a step for each unit of mass in the bounds, and
 * in mu. */
static double tolerance_of(const struct few *p)
{
    double largest = 0.0, mass = 1.0;
    for (size_t e = 0; e < p->n * p->m; e++) {
        largest = fmax(largest, fabs(p->cost[e]));
    }
    for (size_t j = 0; j < p->m; j++) {
        mass += fmin(p->upper[j], 1.0);
    }
    return ldexp(largest * mass, 1 - DPOT_FEW_COST_BITS) + 1e-12 * fabs(p->transport_cost);
}

static void run(struct few *p, const char *what)
{
    run_with(p, DPOT_FEW_PASSES_MAX);
    check_q(p, what);
    cr_assert(p->result.is_exact, "%s: %zu paths", what, p->result.paths);
    cr_assert_float_eq(p->transport_cost, p->dual, tolerance_of(p), "%s: gap %g of %g", what,
                       p->transport_cost - p->dual, p->transport_cost);
}

/* The cost by the network simplex method, which takes over because points are split into so many
 * equal parts that they are not few. */
static double simplex_cost(const struct few *p)
{
    size_t n_points = 0;
    for (size_t i = 0; i < p->n; i++) {
        n_points += p->mu[i] > 0.0;
    }
    const size_t n_parts = N_MOST / n_points + 1, n = p->n * n_parts;
    double *cost = calloc(n * p->m, sizeof *cost), *mu = calloc(n, sizeof *mu);
    double q[M_MOST], transport_cost = 0.0;
    struct dpot_error error = {""};
    cr_assert(cost && mu);
    for (size_t r = 0; r < n; r++) {
        memcpy(cost + r * p->m, p->cost + r / n_parts * p->m, p->m * sizeof *cost);
        mu[r] = p->mu[r / n_parts] / (double)n_parts;
    }
    cr_assert_eq(dpot_exact_projection(cost, mu, p->lower, p->upper, n, p->m, NULL, q,
                                       &transport_cost, &error),
                 DPOT_OK, "%s", error.text);
    free(cost);
    free(mu);
    return transport_cost;
}

/* alpha m <= q <= beta m for a base measure m of the given total. */
static void set_bounds(struct few *p, uint64_t *state, double epsilon, double total)
{
    random_measure(state, p->upper, p->m, 0);
    for (size_t j = 0; j < p->m; j++) {
        p->lower[j] = total * exp(-epsilon / 2.0) * p->upper[j];
        p->upper[j] = total * exp(epsilon / 2.0) * p->upper[j];
    }
}

enum kind { PLANE, LINE_GRID, INTEGERS, FORBIDDEN, OFFSET, TWINS, N_KINDS };

static double cost_of(enum kind kind, const double *x, const double *y, uint64_t *state)
{
    const double plane = (x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]);
    switch (kind) {
    case LINE_GRID:
        return fabs(floor(20.0 * x[0]) - floor(20.0 * y[0]));
    case INTEGERS:
        return floor(4.0 * uniform_next(state)) - 1.0;
    case FORBIDDEN:
        return uniform_next(state) < 0.2 ? 1e3 : plane;
    case OFFSET:
        return 1e4 + floor(10.0 * uniform_next(state));
    default:
        return plane;
    }
}

static void draw(struct few *p, uint64_t *state, enum kind kind, size_t n, size_t m)
{
    double x[2 * N_MOST], y[2 * M_MOST];
    p->n = n;
    p->m = m;
    for (size_t k = 0; k < 2 * n; k++) {
        x[k] = kind == TWINS && k >= 4 ? x[k - 4] : 0.3 + 0.4 * uniform_next(state);
    }
    for (size_t k = 0; k < 2 * m; k++) {
        y[k] = uniform_next(state);
    }
    for (size_t e = 0; e < n * m; e++) {
        p->cost[e] = cost_of(kind, x + 2 * (e / m), y + 2 * (e % m), state);
    }
    random_measure(state, p->mu, n, kind % 2 == 1);
}

Test(few_projection, has_the_cost_of_the_network_simplex_method)
{
    static const double epsilons[] = {0.01, 0.5, 2.0, 5.0, 20.0};
    static const size_t rows[] = {1, 2, 3, 8, 20, N_MOST}, cols[] = {1, 2, 7, 30, M_MOST};
    uint64_t state = 61;
    char what[100];
    for (int trial = 0; trial < 900; trial++) {
        const enum kind kind = (enum kind)(trial % N_KINDS);
        const double epsilon = epsilons[trial % 5];
        draw(&few, &state, kind, rows[(size_t)(6.0 * uniform_next(&state))],
             cols[(size_t)(5.0 * uniform_next(&state))]);
        /* Total masses over the whole range, just inside of its ends, and one. */
        const double place = trial % 7 == 0 ? 0.999 : trial % 7 == 1 ? -0.999 : 0.0;
        set_bounds(&few, &state, epsilon, exp(place * epsilon / 2.0));
        (void)snprintf(what, sizeof what, "trial %d: kind %d, %zu x %zu, epsilon %g", trial,
                       (int)kind, few.n, few.m, epsilon);
        run(&few, what);
        const double expected = simplex_cost(&few);
        cr_assert_float_eq(few.transport_cost, expected, tolerance_of(&few), "%s: %.17g, not %.17g",
                           what, few.transport_cost, expected);
    }
}

Test(few_projection, has_the_cost_of_the_linear_program)
{
    static const char *const names[] = {
        "p01_ring30_s0", "p04_mismatch_40x12", "p06_dirac_0", "p07_mu_zeros",
        "p09_beta_sum1", "p11_tinylam_ring",   "p13_eps0.01", "p15_k1"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct problem problem;
        problem_load(&problem, names[k]);
        const double expected = json_number_value(
            json_object_get(json_object_get(problem.root, "reference"), "lp_cost"));
        few.n = problem.n_rows;
        few.m = problem.n_cols;
        cr_assert(few.n <= N_MOST && few.m <= M_MOST, "%s", names[k]);
        memcpy(few.cost, problem.cost, few.n * few.m * sizeof(double));
        memcpy(few.mu, problem.mu, few.n * sizeof(double));
        memcpy(few.lower, problem.lower, few.m * sizeof(double));
        memcpy(few.upper, problem.upper, few.m * sizeof(double));
        run(&few, names[k]);
        cr_assert_float_eq(few.transport_cost, expected, 1e-9 * expected, "%s: %.17g", names[k],
                           few.transport_cost);
        problem_release(&problem);
    }
}

static int compare_costs(const void *a, const void *b)
{
    const double x = few.cost[*(const size_t *)a], y = few.cost[*(const size_t *)b];
    return (x > y) - (x < y);
}

Test(few_projection, of_a_single_point_fills_the_cheapest_outputs)
{
    uint64_t state = 62;
    for (int trial = 0; trial < 60; trial++) {
        size_t order[M_MOST];
        double left = 1.0;
        draw(&few, &state, trial % 2 ? PLANE : INTEGERS, 1, M_MOST);
        set_bounds(&few, &state, 3.0, 1.0);
        run(&few, "one point");
        cr_assert_eq(few.result.paths, 0);
        for (size_t j = 0; j < few.m; j++) {
            order[j] = j;
            left -= few.lower[j];
        }
        qsort(order, few.m, sizeof order[0], compare_costs);
        double expected = 0.0;
        for (size_t k = 0; k < few.m; k++) {
            const size_t j = order[k];
            const double more = fmin(left, few.upper[j] - few.lower[j]);
            left -= more;
            expected += (few.lower[j] + more) * few.cost[j];
        }
        cr_assert_float_eq(few.transport_cost, expected, 1e-13);
    }
}

Test(few_projection, treats_invalid_masses_as_its_header_says)
{
    enum { N = 3, M = 6 };
    uint64_t state = 63;
    double q[M];
    draw(&few, &state, PLANE, N, M);
    set_bounds(&few, &state, 2.0, 1.0);
    few.mu[0] = 0.0;
    few.mu[1] = few.mu[2] = 0.5;
    run_with(&few, 64);
    memcpy(q, few.q, sizeof q);
    few.mu[0] = -INFINITY;
    few.mu[1] = few.mu[2] = 1e308; /* their sum overflows */
    run_with(&few, 64);
    cr_assert_arr_eq(few.q, q, sizeof q);
    few.mu[0] = few.mu[1] = few.mu[2] = 1.0 / 3.0;
    run_with(&few, 64);
    memcpy(q, few.q, sizeof q);
    few.mu[0] = few.mu[1] = few.mu[2] = NAN;
    run_with(&few, 64);
    cr_assert_arr_eq(few.q, q, sizeof q);
}

Test(few_projection, rounds_every_double_to_a_cost_in_its_range)
{
    static const double largests[] = {1e-290, 0.3, 1.0, 7e5, 1e300, DBL_MAX, INFINITY};
    for (size_t k = 0; k < sizeof largests / sizeof largests[0]; k++) {
        const int scale = dpot_few_projection_scale(largests[k]);
        const double step = ldexp(1.0, -scale);
        cr_assert_geq(dpot_few_projection_round(largests[k], scale), DPOT_FEW_COST_MAX / 2);
        cr_assert_leq(dpot_few_projection_round(largests[k], scale), DPOT_FEW_COST_MAX);
        for (double x = 0.0; x < 5.0; x += 0.25) {
            cr_assert_eq(dpot_few_projection_round(x * step, scale), (uint32_t)(x + 0.5));
        }
        cr_assert_eq(dpot_few_projection_round(-step, scale), 0);
        cr_assert_eq(dpot_few_projection_round(-INFINITY, scale), 0);
        cr_assert_eq(dpot_few_projection_round(0x1p-1074, scale), 0);
        cr_assert_eq(dpot_few_projection_round(INFINITY, scale), DPOT_FEW_COST_MAX);
        cr_assert_eq(dpot_few_projection_round(NAN, scale), DPOT_FEW_COST_MAX);
        cr_assert_eq(dpot_few_projection_round(-NAN, scale), DPOT_FEW_COST_MAX);
    }
    cr_assert_eq(dpot_few_projection_round(0x1p30 + 0.5, 0), (UINT32_C(1) << 30) + 1);
    cr_assert_eq(dpot_few_projection_round(0x1p31 - 2.0, 0), DPOT_FEW_COST_MAX);
    cr_assert_eq(dpot_few_projection_round(0x1p31, 0), DPOT_FEW_COST_MAX);
    cr_assert_eq(dpot_few_projection_round(0x1p60, 0), DPOT_FEW_COST_MAX);
}

Test(few_projection, onto_an_empty_polytope_is_the_bound_that_comes_nearest)
{
    uint64_t state = 64;
    draw(&few, &state, PLANE, 4, 9);
    for (size_t j = 0; j < few.m; j++) {
        few.lower[j] = 0.3;
        few.upper[j] = 0.5;
    }
    run_with(&few, 64);
    cr_assert_eq(few.result.is_exact, 1);
    cr_assert_lt(l1_distance(few.q, few.lower, few.m), 1e-14);
    for (size_t j = 0; j < few.m; j++) {
        few.lower[j] = 0.01;
        few.upper[j] = 0.02;
    }
    run_with(&few, 64);
    cr_assert_lt(l1_distance(few.q, few.upper, few.m), 1e-14);
    for (size_t j = 0; j < few.m; j++) {
        few.lower[j] = few.upper[j] = 0.0;
    }
    run_with(&few, 64);
    cr_assert_eq(sum_of(few.q, few.m), 0.0);
}

/* The cost of a plan from mu to q, by another method. */
static double cost_of_q(const struct few *p)
{
    struct dpot_exact_result result;
    struct dpot_error error = {""};
    cr_assert_eq(dpot_exact_ot(p->cost, p->mu, p->q, p->n, p->m, NULL, &result, &error), DPOT_OK,
                 "%s", error.text);
    const double cost = result.transport_cost;
    dpot_exact_result_release(&result);
    return cost;
}

Test(few_projection, stays_feasible_and_reports_when_the_steps_are_spent)
{
    uint64_t state = 65;
    size_t n_cut = 0;
    double gained = 0.0;
    for (int trial = 0; trial < 60; trial++) {
        draw(&few, &state, trial % 2 ? INTEGERS : PLANE, 12, M_MOST);
        set_bounds(&few, &state, 2.0, 1.0);
        run(&few, "in full");
        const double best = few.transport_cost;
        const uint64_t wanted = few.result.steps;
        double before = INFINITY;
        for (uint32_t passes = 1; passes <= 256; passes *= 4) {
            run_with(&few, passes);
            check_q(&few, "with few passes");
            cr_assert_leq(few.result.steps, passes * few.n * (few.n + few.m));
            cr_assert(!few.result.is_exact || few.result.steps == wanted);
            const double cost = cost_of_q(&few);
            cr_assert_geq(cost, best - 1e-12);
            cr_assert(!few.result.is_exact || cost <= best + 1e-12);
            gained += before < INFINITY ? before - cost : 0.0;
            before = cost;
            n_cut += !few.result.is_exact;
        }
    }
    cr_assert_gt(n_cut, 60);
    cr_assert_gt(gained, 0.0);
}

/* ---- steps ---- */

enum places {
    ONE,
    ADJACENT,
    CORNER,
    ON_A_LINE,
    AT_ONE,
    SCATTERED,
    FAR_APART,
    HARDLY,
    WITHOUT_MASS,
    NO_NUMBER,
    N_PLACES
};

#define SIDE 12 /* of a square grid of outputs */
#define N_USER 24

/* A user with N_USER places on a square grid, from the easiest case to those constructed to be
 * hard. */
static void place(struct few *p, uint64_t *state, enum places places, double power)
{
    random_measure(state, p->mu, N_USER, 0);
    p->n = N_USER;
    p->m = SIDE * SIDE;
    for (size_t i = 0; i < N_USER; i++) {
        const size_t x = i % 6, y = i / 6, random = (size_t)(uniform_next(state) * SIDE * SIDE);
        size_t at = random;
        at = places == ADJACENT ? (4 + y) * SIDE + 3 + x : at;
        at = places == CORNER ? y * SIDE + x : at;
        at = places == ON_A_LINE ? 5 * SIDE + i % SIDE : at;
        at = places == AT_ONE ? 77 : at;
        for (size_t j = 0; j < p->m; j++) {
            const double distance = hypot((double)(at % SIDE) - (double)(j % SIDE),
                                          (double)(at / SIDE) - (double)(j / SIDE));
            p->cost[i * p->m + j] = pow(distance, power) / SIDE;
            p->cost[i * p->m + j] *= places == FAR_APART && i % 2 ? 1e9 : 1.0;
            p->cost[i * p->m + j] *= places == HARDLY ? 0x1p-1040 : 1.0;
        }
        const int has_mass = places == ONE ? i == 0 : places != WITHOUT_MASS;
        p->mu[i] = places == NO_NUMBER ? NAN : has_mass ? p->mu[i] : 0.0;
        p->mu[i] *= places == HARDLY && i % 2 ? 0x1p-1060 : 1.0;
    }
    for (size_t j = 0; j < p->m; j++) {
        p->lower[j] = exp(-1.0) / (double)p->m;
        p->upper[j] = exp(1.0) / (double)p->m;
    }
}

Test(few_projection, takes_as_many_steps_whatever_the_places)
{
    uint64_t state = 68;
    for (int trial = 0; trial < 3 * N_PLACES; trial++) {
        place(&few, &state, (enum places)(trial % N_PLACES), trial % 2 + 1);
        for (uint32_t passes = 1; passes < 600; passes *= 3) {
            run_with(&few, passes);
            check_q(&few, "of a user");
            cr_assert_leq(few.result.steps, few.burnt);
            cr_assert_eq(few.burnt, passes * N_USER * (N_USER + SIDE * SIDE));
        }
    }
}

Test(few_projection, repeats_to_the_bit_whatever_was_run_before)
{
    uint64_t state = 66;
    struct dpot_few_projection *projection = NULL;
    double mu[8], q[M_MOST], other[M_MOST];
    draw(&few, &state, INTEGERS, 8, M_MOST);
    set_bounds(&few, &state, 1.0, 1.0);
    const struct dpot_polytope polytope = {few.m, few.lower, few.upper};
    const struct dpot_few_projection_config config = {
        .n_rows = 8, .n_cols = M_MOST, .polytope = &polytope, .passes = 20};
    cr_assert_eq(dpot_few_projection_new(&config, &projection), DPOT_OK);
    fill_costs(projection, few.cost, 8 * M_MOST);
    dpot_few_projection_run(projection, few.mu, q, NULL);
    for (int trial = 0; trial < 5; trial++) {
        random_measure(&state, mu, 8, 1);
        dpot_few_projection_run(projection, mu, other, NULL);
        (void)dpot_few_projection_burn(projection);
        dpot_few_projection_run(projection, few.mu, other, NULL);
        cr_assert_arr_eq(q, other, sizeof q);
    }
    dpot_few_projection_free(projection);
}

Test(few_projection, survives_a_failing_allocation_and_makes_none_in_a_run)
{
    uint64_t state = 67;
    struct test_allocator allocator;
    struct dpot_few_projection *projection = NULL;
    double q[30];
    draw(&few, &state, PLANE, 6, 30);
    set_bounds(&few, &state, 2.0, 1.0);
    const struct dpot_polytope polytope = {30, few.lower, few.upper};
    test_allocator_init(&allocator);
    const struct dpot_few_projection_config config = {6, 30, &polytope, &allocator.allocator, 9};
    test_allocator_fail_at(&allocator, 1);
    cr_assert_eq(dpot_few_projection_new(&config, &projection), DPOT_ERR_MEMORY);
    cr_assert_null(projection);
    test_allocator_fail_at(&allocator, 0);
    cr_assert_eq(dpot_few_projection_new(&config, &projection), DPOT_OK);
    cr_assert_eq(allocator.bytes, dpot_few_projection_bytes(6, 30));
    test_allocator_fail_at(&allocator, 1);
    const size_t n_calls = allocator.n_calls;
    fill_costs(projection, few.cost, 6 * 30);
    dpot_few_projection_run(projection, few.mu, q, NULL);
    (void)dpot_few_projection_burn(projection);
    cr_assert_eq(allocator.n_calls, n_calls);
    dpot_few_projection_free(projection);
    dpot_few_projection_free(NULL);
    cr_assert_eq(allocator.bytes, 0);
}

Test(few_projection, refuses_sizes_and_bounds_that_it_cannot_work_on)
{
    const double lower[] = {0.1, 0.1}, upper[] = {1.0, 1.0}, broken[] = {0.5, NAN};
    const double endless[] = {1.0, INFINITY}, negative[] = {-0.1, 0.1};
    const struct dpot_polytope polytopes[] = {{2, lower, upper},
                                              {2, upper, lower},
                                              {2, lower, broken},
                                              {2, lower, endless},
                                              {2, negative, upper}};
    struct dpot_few_projection *projection = NULL;
    for (size_t k = 0; k < 5; k++) {
        const struct dpot_few_projection_config config = {
            .n_rows = 2, .n_cols = 2, .polytope = &polytopes[k], .passes = 1};
        cr_assert_eq(dpot_few_projection_new(&config, &projection),
                     k == 0 ? DPOT_OK : DPOT_ERR_ARGUMENT);
        dpot_few_projection_free(projection);
    }
    static const size_t sizes[][2] = {{0, 2}, {2, 0}, {DPOT_FEW_ROWS_MAX + 1, 2},
                                      {2, 3}, {2, 2}, {2, 2}};
    static const uint32_t passes[] = {1, 1, 1, 1, 0, DPOT_FEW_PASSES_MAX + 1};
    for (size_t k = 0; k < 6; k++) {
        const struct dpot_few_projection_config config = {.n_rows = sizes[k][0],
                                                          .n_cols = sizes[k][1],
                                                          .polytope = &polytopes[0],
                                                          .passes = passes[k]};
        cr_assert_eq(dpot_few_projection_new(&config, &projection), DPOT_ERR_ARGUMENT);
        cr_assert_null(projection);
    }
    cr_assert_eq(dpot_few_projection_bytes(DPOT_FEW_ROWS_MAX, SIZE_MAX / 64), SIZE_MAX);
}

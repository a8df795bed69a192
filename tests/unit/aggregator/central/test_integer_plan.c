/* Integer plans are optimal, and of several optimal plans the result is always the first. */
#include "base/rng_seeded.h"
#include "central/exact_draw.h"
#include "central/integer_flow.h"
#include "central/integer_plan.h"
#include "central/integer_ties.h"
#include "central/lattice.h"
#include "ot/network_simplex.h"

#include <criterion/criterion.h>
#include <math.h>

#define N 12
#define M 5
#define DIM 2
#define BITS 41

static struct dpot_rng_seeded seeded;
static struct exact_draw draw;

static void start_draws(void)
{
    dpot_rng_seeded_init(&seeded, 11, 0);
    exact_draw_init(&draw, &seeded.source);
}

static void end_draws(void)
{
    exact_draw_release(&draw);
}

TestSuite(integer_plan, .init = start_draws, .fini = end_draws);

struct instance {
    int32_t points[N * DIM], atoms[M * DIM];
    int64_t counts[N];
    struct integer_group group;
};

/* Values in ascending order of the first coordinate; `spread` distinct ones, so that ties are
 * frequent if it is small. */
static void make_instance(struct instance *s, uint64_t spread)
{
    int64_t total = 0;
    for (size_t i = 0; i < N; i++) {
        s->points[i * DIM] = (int32_t)(i * 1000);
        s->points[i * DIM + 1] = (int32_t)(1000 * exact_draw_below(&draw, spread));
        s->counts[i] = 1 + (int64_t)exact_draw_below(&draw, 4);
        total += s->counts[i];
    }
    for (size_t k = 0; k < M * DIM; k++) {
        s->atoms[k] = (int32_t)(1000 * exact_draw_below(&draw, spread));
    }
    s->group = (struct integer_group){N, DIM, s->points, s->counts, total};
}

/* <C, P> in units of cost and flow. */
static double cost_of(const struct integer_plan *plan)
{
    double cost = 0;
    for (size_t k = 0; k < plan->n * plan->m; k++) {
        cost += (double)plan->costs[k] * (double)plan->flow[k];
    }
    return cost;
}

static double least_cost(const struct instance *s, const struct integer_plan *plan)
{
    double costs[N * M], a[N], b[M];
    struct dpot_exact_result result;
    for (size_t k = 0; k < N * M; k++) {
        costs[k] = (double)plan->costs[k];
    }
    for (size_t i = 0; i < N; i++) {
        a[i] = (double)(s->counts[i] * M);
    }
    for (size_t j = 0; j < M; j++) {
        b[j] = (double)s->group.total;
    }
    cr_assert_eq(dpot_exact_ot(costs, a, b, N, M, NULL, &result, NULL), DPOT_OK);
    const double cost = result.transport_cost;
    dpot_exact_result_release(&result);
    return cost;
}

Test(integer_plan, is_optimal_with_and_without_ties)
{
    for (int run = 0; run < 400; run++) {
        struct instance s;
        struct integer_plan plan;
        make_instance(&s, run % 2 == 0 ? 4 : 1000);
        cr_assert_eq(integer_plan_solve(&s.group, s.atoms, M, BITS, (uint64_t)run, &plan), DPOT_OK);
        cr_assert(plan.is_optimal, "run %d", run);
        const double least = least_cost(&s, &plan);
        cr_assert_float_eq(cost_of(&plan), least, 1e-9 * least, "run %d", run);
        integer_plan_release(&plan);
    }
}

/* ---- ties ---- */

#define ROWS 4
#define COLUMNS 3

/* Enumerates all flows, cell by cell; the best so far is the first of the cheapest. */
struct hunt {
    int64_t cost[ROWS * COLUMNS], left[COLUMNS], flow[ROWS * COLUMNS], best[ROWS * COLUMNS];
    int64_t supply[ROWS], least;
    size_t n_best;
};

static void keep_flow(struct hunt *h)
{
    int64_t sum = 0;
    for (size_t k = 0; k < ROWS * COLUMNS; k++) {
        sum += h->cost[k] * h->flow[k];
    }
    /* Flows come in order, so a later flow of equal cost is not before the best. */
    if (h->n_best == 0 || sum < h->least) {
        h->least = sum;
        h->n_best = 0;
        memcpy(h->best, h->flow, sizeof h->best);
    }
    h->n_best += sum == h->least;
}

static void hunt_cells(struct hunt *h, size_t cell, int64_t row_left)
{
    if (cell == ROWS * COLUMNS) {
        keep_flow(h);
        return;
    }
    const size_t j = cell % COLUMNS;
    row_left = j == 0 ? h->supply[cell / COLUMNS] : row_left;
    for (int64_t units = 0; units <= row_left && units <= h->left[j]; units++) {
        if (j + 1 < COLUMNS || units == row_left) {
            h->flow[cell] = units;
            h->left[j] -= units;
            hunt_cells(h, cell + 1, row_left - units);
            h->left[j] += units;
        }
    }
}

Test(integer_plan, of_several_optimal_plans_the_first_is_taken)
{
    size_t n_tied = 0;
    for (int run = 0; run < 300; run++) {
        struct hunt h = {.supply = {3, 6, 3, 6}, .left = {6, 6, 6}};
        int64_t flow[ROWS * COLUMNS], g[COLUMNS];
        bool is_optimal = false;
        for (size_t k = 0; k < ROWS * COLUMNS; k++) {
            h.cost[k] = (int64_t)exact_draw_below(&draw, 1 + (uint64_t)run % 3);
        }
        hunt_cells(&h, 0, 0);
        n_tied += h.n_best > 1;
        cr_assert_eq(integer_flow_solve(h.cost, h.supply, ROWS, COLUMNS, 6, flow, g), DPOT_OK);
        cr_assert_eq(integer_ties_settle(h.cost, g, ROWS, COLUMNS, flow, &is_optimal), DPOT_OK);
        cr_assert(is_optimal);
        cr_assert_arr_eq(flow, h.best, sizeof flow, "run %d", run);
    }
    cr_assert_gt(n_tied, 200);
}

Test(integer_plan, a_plan_that_is_not_optimal_is_reported_and_unchanged)
{
    const int64_t cost[] = {0, 5, 5, 0}, g[] = {0, 0};
    int64_t flow[] = {0, 1, 1, 0};
    bool is_optimal = true;
    cr_assert_eq(integer_ties_settle(cost, g, 2, 2, flow, &is_optimal), DPOT_OK);
    cr_assert_not(is_optimal);
    cr_assert(flow[1] == 1 && flow[2] == 1);
}

/* The cost of the pair (x, atom number j), from the plan of one record to two equal atoms. */
static int64_t cost_of_pair(const int32_t x[2], const int32_t atom[2], size_t j, uint64_t salt)
{
    const int64_t count = 1;
    const int32_t atoms[] = {atom[0], atom[1], atom[0], atom[1]};
    const struct integer_group group = {1, 2, x, &count, 1};
    struct integer_plan plan;
    cr_assert_eq(integer_plan_solve(&group, atoms, 2, BITS, salt, &plan), DPOT_OK);
    const int64_t cost = plan.costs[j];
    integer_plan_release(&plan);
    return cost;
}

Test(integer_plan, costs_depend_on_value_atom_and_salt_and_keep_the_order_of_squares)
{
    const int32_t x[] = {100, 200}, near[] = {100, 300}, far[] = {1000000, 300};
    const int64_t a = cost_of_pair(x, near, 0, 7);
    cr_assert_eq(a, cost_of_pair(x, near, 0, 7));
    cr_assert_neq(a, cost_of_pair(x, near, 1, 7), "the atom");
    cr_assert_neq(a, cost_of_pair(x, near, 0, 8), "the salt");
    cr_assert_lt(a, cost_of_pair(x, far, 0, 7));
    cr_assert_lt(cost_of_pair(x, far, 0, 7), INTEGER_FLOW_COST_MAX);
}

/* ---- the lattice ---- */

static const double lo[] = {-1, 0}, hi[] = {1, 0.5};

Test(integer_plan, records_are_the_centres_of_their_cells)
{
    struct lattice lattice = {.dim = 2, .lo = lo, .hi = hi, .cells = 4};
    int32_t x[2];
    double place[2], units[2];
    cr_assert_eq(lattice_init(&lattice, NULL), DPOT_OK);
    cr_assert(lattice.width[0] == 1 << LATTICE_BITS && lattice.width[1] == 1 << (LATTICE_BITS - 2));
    const double points[][2] = {{-0.6, 0.3}, {-9, 9}, {NAN, 0.5}, {1, -INFINITY}};
    const double centres[][2] = {{-0.75, 0.3125}, {-0.75, 0.4375}, {-0.75, 0.4375}, {0.75, 0.0625}};
    for (size_t i = 0; i < 4; i++) {
        lattice_snap(&lattice, points[i], x);
        units[0] = x[0];
        units[1] = x[1];
        lattice_place(&lattice, units, place);
        cr_assert_float_eq(place[0], centres[i][0], 1e-5, "point %zu", i);
        cr_assert_float_eq(place[1], centres[i][1], 1e-5, "point %zu", i);
    }
    cr_assert_float_eq(lattice_diameter(&lattice) * lattice.unit, hypot(2, 0.5), 1e-5);
    cr_assert_geq(lattice_diameter(&lattice), hypot(lattice.width[0], lattice.width[1]));
    lattice_release(&lattice);
}

Test(integer_plan, a_ball_holds_every_record_in_integers)
{
    const double low[] = {-1, -1, -1}, high[] = {1, 1, 1};
    struct lattice lattice = {.dim = 3, .lo = low, .hi = high, .cells = 1000, .radius = 1};
    cr_assert_eq(lattice_init(&lattice, NULL), DPOT_OK);
    cr_assert_float_eq(lattice_diameter(&lattice) * lattice.unit, 2, 1e-5);
    for (int i = 0; i < 1000; i++) {
        double point[3], units[3];
        int32_t x[3];
        int64_t square = 0;
        for (size_t a = 0; a < 3; a++) {
            point[a] = 4 * exact_draw_unit(&draw) - 2;
        }
        lattice_snap(&lattice, point, x);
        for (size_t a = 0; a < 3; a++) {
            const int64_t from_middle = 2 * (int64_t)x[a] - lattice.width[a];
            square += from_middle * from_middle;
            units[a] = 3e6 * (exact_draw_unit(&draw) - 0.5);
        }
        cr_assert_leq(square, 4 * lattice.ball * lattice.ball);
        lattice_clamp(&lattice, units);
        double from_middle = 0;
        for (size_t a = 0; a < 3; a++) {
            from_middle += pow(units[a] - 0.5 * lattice.width[a], 2);
        }
        cr_assert_leq(sqrt(from_middle), (double)lattice.ball * (1 + 1e-12));
    }
    lattice_release(&lattice);
}

Test(integer_plan, bad_lattices_are_refused)
{
    const double same[] = {1, 1};
    struct lattice lattice = {.dim = 2, .lo = same, .hi = same, .cells = 4};
    cr_assert_eq(lattice_init(&lattice, NULL), DPOT_ERR_RANGE);
    lattice = (struct lattice){.dim = 2, .lo = lo, .hi = hi, .cells = 0};
    cr_assert_eq(lattice_init(&lattice, NULL), DPOT_ERR_RANGE);
    lattice = (struct lattice){.dim = 2, .lo = lo, .hi = hi, .cells = 4, .radius = 1e9};
    cr_assert_eq(lattice_init(&lattice, NULL), DPOT_ERR_RANGE);
    lattice = (struct lattice){.dim = 2, .lo = lo, .hi = hi, .cells = 4, .radius = NAN};
    cr_assert_eq(lattice_init(&lattice, NULL), DPOT_ERR_RANGE);
}

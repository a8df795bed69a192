/* A side of base_measure.sh: certified base measures (solve/base_measure/base_measure.h), one
 * thread. Linked twice, with the simplex method of solve/base_measure/lp.h and with Clp behind the
 * same header (base_measure_clp.c).
 *
 *   SOLVER worst K EPSILON SEED   the worst case over K random points of the unit square, Euclidean
 *   SOLVER users K EPSILON SEED   300 users with 3 to 15 visits each, on a square grid of K cells
 *
 * SOLVER is ignored: it names the side in the output. SEED draws the points or the users. The value
 * is the objective. */
#include "ot/linalg.h"
#include "solve/base_measure/base_measure.h"
#include "solve/run/draw.h"
#include "turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_USERS 300
#define K_MAX 3000

static uint64_t seed; /* of the request */

static double uniform(size_t stream, size_t index)
{
    return (double)draw_uniform(seed, stream, index);
}

static void fill_costs(size_t k, bool is_grid, double *cost)
{
    const size_t side = (size_t)(sqrt((double)k) + 0.5);
    double *points = turn_memory(2 * k, sizeof *points);
    for (size_t i = 0; i < k; i++) {
        points[2 * i] = is_grid ? ((double)(i / side) + 0.5) / (double)side : uniform(1, 2 * i);
        points[2 * i + 1] =
            is_grid ? ((double)(i % side) + 0.5) / (double)side : uniform(1, 2 * i + 1);
    }
    for (size_t e = 0; e < k * k; e++) {
        const double *x = points + 2 * (e / k), *y = points + 2 * (e % k);
        cost[e] = hypot(x[0] - y[0], x[1] - y[1]);
    }
    free(points);
}

/* Visits are spread around a home; one outside the square counts in the nearest cell. */
static void draw_visits(size_t user, size_t side, double *row)
{
    const size_t n = 3 + (size_t)(13 * uniform(2, user));
    for (size_t visit = 0; visit < n; visit++) {
        size_t cell = 0;
        for (size_t a = 0; a < 2; a++) {
            const size_t at = 2 * (16 * user + visit) + a;
            const double spread = uniform(4, at) + uniform(5, at) - 1;
            const double x = fmin(fmax(uniform(3, 2 * user + a) + 0.3 * spread, 0), 0.999);
            cell = cell * side + (size_t)(x * (double)side);
        }
        row[cell] += 1 / (double)n;
    }
}

static void find(struct base_measure_problem *problem)
{
    struct base_measure_answer answer;
    struct dpot_error error;
    const struct turn start = turn_start();
    turn_require(base_measure_find(problem, NULL, &answer, &error) == DPOT_OK,
                 "no base measure was found");
    const struct turn turn = turn_since(start);
    turn_require(answer.outcome == SOLVE_CONVERGED, "the gap was not reached");
    turn_answer(turn, answer.objective);
    base_measure_answer_release(&answer);
}

static void find_for_users(struct base_measure_problem *problem)
{
    const size_t k = problem->n_cols, side = (size_t)(sqrt((double)k) + 0.5);
    double *distributions = turn_memory(N_USERS * k, sizeof *distributions);
    struct base_measure_users users;
    struct dpot_error error;
    for (size_t u = 0; u < N_USERS; u++) {
        draw_visits(u, side, distributions + u * k);
    }
    const struct base_measure_users_config config = {.n_rows = k,
                                                     .n_cols = k,
                                                     .cost = problem->cost,
                                                     .epsilon = problem->epsilon,
                                                     .distributions = distributions,
                                                     .n_chosen = N_USERS};
    turn_require(base_measure_users_init(&users, &config, &error) == DPOT_OK, "no users");
    problem->users = &users;
    problem->worst_share = 0;
    problem->gap = BASE_MEASURE_GAP_USERS;
    find(problem);
    base_measure_users_release(&users);
    free(distributions);
}

static void play(void *ctx, char *const words[TURN_WORDS + 1], size_t n_words)
{
    (void)ctx;
    const unsigned long k = n_words == 5 ? strtoul(words[2], NULL, 10) : 0;
    if (k == 0 || k > K_MAX) {
        turn_absent("the request is: SOLVER worst|users K EPSILON SEED");
        return;
    }
    seed = strtoul(words[4], NULL, 10);
    const bool has_users = strcmp(words[1], "users") == 0;
    double *cost = turn_memory(k * k, sizeof *cost);
    struct base_measure_problem problem = {.n_rows = k,
                                           .n_cols = k,
                                           .cost = cost,
                                           .epsilon = strtod(words[3], NULL),
                                           .worst_share = 1,
                                           .has_planes = true,
                                           .gap = BASE_MEASURE_GAP_WORST,
                                           .max_rounds = 1000,
                                           .n_steps = SIZE_MAX,
                                           .seed = 1,
                                           .linalg = dpot_linalg_openblas()};
    fill_costs(k, has_users, cost);
    if (has_users) {
        find_for_users(&problem);
    } else {
        find(&problem);
    }
    free(cost);
}

int main(void)
{
    turns_serve(play, NULL);
    return 0;
}

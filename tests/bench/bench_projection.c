/* Our side of projection.sh: entropic projections of many users (solve/projection/batch.h), exact
 * ones, and exact transport. Argument: a folder for the input of the peers.
 *
 *   batch K USERS f32|f64       K cells of a square grid (or a line, where K is no square), squared
 *                               distance divided by its maximum, lambda .01, epsilon 5, uniform
 *                               base measure, 40 sweeps, users like Dirichlet(.1); one thread
 *   costs ...                   the same with transport costs and residuals
 *   matrix ...                  as batch, but the axes of the grid are not used
 *   team ...                    as batch on two threads
 *   alone ...                   one user after another, as a device does (float64)
 *   ot N uniform|weights        exact transport between two clouds of N points in the plane
 *   exact POINTS OUTPUTS        exact projection of one user with so many points onto a square grid
 *   entropic POINTS OUTPUTS     the same by 300 sweeps, as a device does
 *   memory POINTS OUTPUTS       what that takes: the value is in bytes
 *
 * Values: mean over users of sum_j q_j j / K; transport costs. */
#include "ot/network_simplex.h"
#include "ot/projection.h"
#include "solve/projection/batch.h"
#include "solve/run/draw.h"
#include "turns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAMBDA 0.01
#define EPSILON 5.0
#define N_SWEEPS 40
#define DEVICE_SWEEPS 300
#define N_MOST 10000

struct problem {
    size_t k, n_users;
    double *mu;   /* (n_users, k) */
    double *cost; /* (k, k) */
    double *lower, *upper, *q;
    struct projection_batch_split split;
};

struct bench {
    const char *folder;
    struct problem problem;
    size_t n; /* of the clouds that are written */
};

static double uniform(size_t stream, size_t index)
{
    return (double)draw_uniform(7, stream, index);
}

/* ---- users on a grid ---- */

static size_t side_of(size_t k)
{
    const size_t side = (size_t)(sqrt((double)k) + 0.5);
    return side * side == k ? side : k;
}

static double squared(double x)
{
    return x * x;
}

static void fill_grid_cost(size_t k, double *cost)
{
    const size_t side = side_of(k);
    const double largest = (side == k ? 1 : 2) * squared((double)side - 1);
    for (size_t e = 0; e < k * k; e++) {
        const size_t i = e / k, j = e % k;
        cost[e] = (squared((double)(i % side) - (double)(j % side)) +
                   squared((double)(i / side) - (double)(j / side))) /
                  largest;
    }
}

static void draw_users(struct problem *p)
{
    for (size_t u = 0; u < p->n_users; u++) {
        double sum = 0, *mu = p->mu + u * p->k;
        for (size_t i = 0; i < p->k; i++) {
            const size_t at = 2 * (u * p->k + i);
            mu[i] = -log(uniform(1, at)) * pow(uniform(1, at + 1), 10) + 1e-12;
            sum += mu[i];
        }
        for (size_t i = 0; i < p->k; i++) {
            mu[i] /= sum;
        }
    }
}

static void release_problem(struct problem *p)
{
    free(p->mu);
    free(p->cost);
    free(p->lower);
    free(p->upper);
    free(p->q);
    projection_batch_split_release(&p->split);
    memset(p, 0, sizeof *p);
}

static void take_problem(struct bench *bench, size_t k, size_t n_users)
{
    struct problem *p = &bench->problem;
    char name[64];
    if (p->k == k && p->n_users == n_users) {
        return;
    }
    release_problem(p);
    p->k = k;
    p->n_users = n_users;
    p->mu = turn_memory(n_users * k, sizeof(double));
    p->cost = turn_memory(k * k, sizeof(double));
    p->lower = turn_memory(k, sizeof(double));
    p->upper = turn_memory(k, sizeof(double));
    p->q = turn_memory(n_users * k, sizeof(double));
    for (size_t j = 0; j < k; j++) {
        p->lower[j] = exp(-EPSILON / 2) / (double)k;
        p->upper[j] = exp(EPSILON / 2) / (double)k;
    }
    fill_grid_cost(k, p->cost);
    draw_users(p);
    turn_require(projection_batch_split(p->cost, k, k, &p->split) == DPOT_OK, "out of memory");
    (void)snprintf(name, sizeof name, "users_%zu_%zu", k, n_users);
    turn_write(bench->folder, name, p->mu, n_users * k, sizeof(double));
}

static double checksum(const struct problem *p)
{
    double sum = 0;
    for (size_t e = 0; e < p->n_users * p->k; e++) {
        sum += p->q[e] * (double)(e % p->k) / (double)p->k;
    }
    return sum / (double)p->n_users;
}

static void play_batch(struct problem *p, const char *name, bool is_float32)
{
    const struct dpot_polytope polytope = {p->k, p->lower, p->upper};
    struct projection_batch_config config = {.n_axes = p->split.n_axes,
                                             .lambda = LAMBDA,
                                             .iterations = N_SWEEPS,
                                             .is_float32 = is_float32,
                                             .polytope = &polytope};
    struct projection_batch_result *results = turn_memory(p->n_users, sizeof *results);
    struct projection_batch *batch = NULL;
    struct dpot_error error;
    memcpy(config.axes, p->split.axes, sizeof config.axes);
    if (strcmp(name, "matrix") == 0) {
        config.n_axes = 1;
        config.axes[0] = (struct projection_batch_axis){p->k, p->k, p->cost};
    }
    if (strcmp(name, "team") == 0) {
        turn_require(team_new(2, &config.team) == DPOT_OK, "no threads");
    }
    const struct turn start = turn_start();
    turn_require(projection_batch_new(&config, &batch, &error) == DPOT_OK, "the batch refused");
    projection_batch_run(batch, p->mu, p->n_users, strcmp(name, "costs") == 0, p->q, results);
    struct turn turn = turn_since(start);
    if (config.team) {
        turn.cpu = turn.wall; /* two threads save wall time only */
    }
    for (size_t u = 0; u < p->n_users; u++) {
        turn_require(!results[u].is_lost, "a user was lost");
    }
    turn_answer(turn, checksum(p));
    projection_batch_free(batch);
    team_free(config.team);
    free(results);
}

static void play_alone(struct problem *p)
{
    const struct dpot_polytope polytope = {p->k, p->lower, p->upper};
    const struct dpot_projection_config config = {
        .n_rows = p->k, .n_cols = p->k, .lambda = LAMBDA, .cost_range = 1, .polytope = &polytope};
    struct dpot_projection *projection = NULL;
    const struct turn start = turn_start();
    turn_require(dpot_projection_new(&config, &projection) == DPOT_OK, "the projection refused");
    memcpy(dpot_projection_cost(projection), p->cost, p->k * p->k * sizeof(double));
    for (size_t u = 0; u < p->n_users; u++) {
        dpot_projection_run(projection, p->mu + u * p->k, N_SWEEPS, 0, p->q + u * p->k, NULL);
    }
    const struct turn turn = turn_since(start);
    turn_answer(turn, checksum(p));
    dpot_projection_free(projection);
}

/* ---- exact ---- */

static double normal(size_t stream, size_t index)
{
    return sqrt(-2 * log(uniform(stream, 2 * index))) *
           cos(6.283185307179586 * uniform(stream, 2 * index + 1));
}

/* Distances of two Gaussian clouds, and weights: the peers read all three. */
static void play_ot(struct bench *bench, size_t n, bool is_uniform)
{
    double *points = turn_memory(4 * n, sizeof(double)),
           *weights = turn_memory(2 * n, sizeof(double)),
           *cost = turn_memory(n * n, sizeof(double));
    struct dpot_exact_result result;
    struct dpot_error error;
    double sums[2] = {0, 0};
    for (size_t k = 0; k < 2 * n; k++) {
        points[k] = normal(2, k);
        points[2 * n + k] = 0.7 * normal(3, k) + 0.5;
        weights[k] = is_uniform ? 1 : uniform(4, k);
        sums[k / n] += weights[k];
    }
    for (size_t k = 0; k < 2 * n; k++) {
        weights[k] /= sums[k / n];
    }
    for (size_t e = 0; e < n * n; e++) {
        const double *x = points + 2 * (e / n), *y = points + 2 * n + 2 * (e % n);
        cost[e] = hypot(x[0] - y[0], x[1] - y[1]);
    }
    turn_write(bench->folder, "points", points, 4 * n, sizeof(double));
    turn_write(bench->folder, "weights", weights, 2 * n, sizeof(double));
    const struct turn start = turn_start();
    turn_require(dpot_exact_ot(cost, weights, weights + n, n, n, NULL, &result, &error) == DPOT_OK,
                 "exact transport refused");
    turn_answer(turn_since(start), result.transport_cost);
    dpot_exact_result_release(&result);
    free(points);
    free(weights);
    free(cost);
}

/* A user with a few places on a square grid, rows of the costs to all of it. */
static void play_user(size_t n_points, size_t k, bool is_exact)
{
    double *all = turn_memory(k * k, sizeof(double)),
           *cost = turn_memory(n_points * k, sizeof(double)),
           *mu = turn_memory(n_points, sizeof(double)),
           *bounds = turn_memory(3 * k, sizeof(double));
    double *lower = bounds, *upper = bounds + k, *q = bounds + 2 * k, transport_cost = 0, sum = 0;
    struct dpot_error error;
    fill_grid_cost(k, all);
    for (size_t i = 0; i < n_points; i++) {
        const size_t place = (size_t)(uniform(5, i) * (double)k) % k;
        memcpy(cost + i * k, all + place * k, k * sizeof(double));
        mu[i] = 0.1 + uniform(6, i);
        sum += mu[i];
    }
    for (size_t i = 0; i < n_points; i++) {
        mu[i] /= sum;
    }
    for (size_t j = 0; j < k; j++) {
        lower[j] = exp(-1.0) / (double)k;
        upper[j] = exp(1.0) / (double)k;
    }
    const struct dpot_polytope polytope = {k, lower, upper};
    const struct dpot_projection_config config = {
        .n_rows = n_points, .n_cols = k, .lambda = LAMBDA, .cost_range = 1, .polytope = &polytope};
    struct dpot_projection *projection = NULL;
    const struct turn start = turn_start();
    if (is_exact) {
        turn_require(dpot_exact_projection(cost, mu, lower, upper, n_points, k, NULL, q,
                                           &transport_cost, &error) == DPOT_OK,
                     "the exact projection refused");
    } else {
        turn_require(dpot_projection_new(&config, &projection) == DPOT_OK,
                     "the projection refused");
        memcpy(dpot_projection_cost(projection), cost, n_points * k * sizeof(double));
        dpot_projection_run(projection, mu, DEVICE_SWEEPS, 0, q, NULL);
    }
    const struct turn turn = turn_since(start);
    turn_answer(turn, is_exact ? transport_cost : dpot_projection_transport_cost(projection, NULL));
    dpot_projection_free(projection);
    free(all);
    free(cost);
    free(mu);
    free(bounds);
}

static void tell_memory(size_t n_points, size_t k)
{
    const struct turn start = turn_start();
    turn_answer(turn_since(start), (double)dpot_projection_bytes(n_points, k));
}

/* ---- requests ---- */

static size_t count_of(const char *word)
{
    const unsigned long n = word ? strtoul(word, NULL, 10) : 0;
    return n <= N_MOST ? (size_t)n : 0;
}

static void play(void *ctx, char *const words[TURN_WORDS + 1], size_t n_words)
{
    struct bench *bench = ctx;
    const char *name = n_words > 0 ? words[0] : "";
    const size_t first = n_words > 1 ? count_of(words[1]) : 0;
    const bool is_ot = strcmp(name, "ot") == 0;
    const size_t second = n_words > 2 && !is_ot ? count_of(words[2]) : 1;
    if (first == 0 || second == 0) {
        turn_absent("sizes are 1 to 10000");
    } else if (is_ot) {
        play_ot(bench, first, n_words < 3 || strcmp(words[2], "uniform") == 0);
    } else if (strcmp(name, "memory") == 0) {
        tell_memory(first, second);
    } else if (strcmp(name, "exact") == 0 || strcmp(name, "entropic") == 0) {
        play_user(first, second, strcmp(name, "exact") == 0);
    } else {
        take_problem(bench, first, second);
        if (strcmp(name, "alone") == 0) {
            play_alone(&bench->problem);
        } else {
            play_batch(&bench->problem, name, n_words > 3 && strcmp(words[3], "f32") == 0);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: bench_projection FOLDER, then requests on standard input\n");
        return 2;
    }
    struct bench bench = {.folder = argv[1]};
    turns_serve(play, &bench);
    release_problem(&bench.problem);
    return 0;
}

/* Our side of transport.sh: the engine's solve on the case of the peers, and the floor.
 * Two clouds of N points in the plane, Gaussian, squared Euclidean cost divided by its maximum,
 * equal weights, lambda .05, a fixed number of sweeps, one thread. Argument: a folder for the
 * points.
 *
 *   engine N SWEEPS f32|f64      from the cost matrix to potentials, allocation included
 *   certified ...                the same and entropic_value
 *   plan ...                     the same as engine and the plan, float64
 *   cloud ...                    as engine, from the points
 *   floor ...                    fused_floor.h over a kernel computed before
 *
 * The value is <C,P>. */
#include "fused_floor.h"
#include "solve/learn/cloud.h"
#include "solve/run/draw.h"
#include "turns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAMBDA 0.05
#define DIM 2
#define N_MAX 10000

struct problem {
    size_t n;
    double *points; /* (2, n, DIM): x, then y */
    float *points_f32;
    double *cost; /* (n, n) */
};

struct bench {
    const char *folder;
    struct problem problem; /* the last one requested */
};

/* ---- the problem ---- */

static double gaussian(size_t index)
{
    const double u = (double)draw_uniform(1, 0, 2 * index);
    const double v = (double)draw_uniform(1, 0, 2 * index + 1);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

static double squared_distance(const double *x, const double *y)
{
    return (x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]);
}

static double largest_cost(const struct problem *p)
{
    const double *x = p->points, *y = p->points + p->n * DIM;
    double largest = 0;
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j < p->n; j++) {
            largest = fmax(largest, squared_distance(x + i * DIM, y + j * DIM));
        }
    }
    return largest;
}

static void draw_points(struct problem *p)
{
    const size_t half = p->n * DIM;
    for (size_t k = 0; k < half; k++) {
        p->points[k] = gaussian(k);
        p->points[half + k] = 0.7 * gaussian(half + k) + 0.5;
    }
    const double scale = 1.0 / sqrt(largest_cost(p));
    for (size_t k = 0; k < 2 * half; k++) {
        p->points[k] *= scale;
        p->points_f32[k] = (float)p->points[k];
    }
}

static void release_problem(struct problem *p)
{
    free(p->points);
    free(p->points_f32);
    free(p->cost);
    memset(p, 0, sizeof *p);
}

/* Makes the problem of n points, and writes it for the peers. */
static void take_problem(struct bench *bench, size_t n)
{
    struct problem *p = &bench->problem;
    char name[32];
    if (p->n == n) {
        return;
    }
    release_problem(p);
    p->n = n;
    p->points = turn_memory(2 * n * DIM, sizeof *p->points);
    p->points_f32 = turn_memory(2 * n * DIM, sizeof *p->points_f32);
    p->cost = turn_memory(n * p->n, sizeof *p->cost);
    draw_points(p);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            p->cost[i * p->n + j] =
                squared_distance(p->points + i * DIM, p->points + (n + j) * DIM);
        }
    }
    (void)snprintf(name, sizeof name, "points_%zu", n);
    turn_write(bench->folder, name, p->points, 2 * n * DIM, sizeof *p->points);
}

/* ---- the engine ---- */

struct request {
    const char *name;
    size_t n, n_sweeps;
    enum entropic_precision precision;
};

static struct entropic *solve(const struct request *request, const struct entropic_cost *cost,
                              struct entropic_result *result)
{
    const struct entropic_options options = {
        .lambda = LAMBDA, .max_iterations = request->n_sweeps, .precision = request->precision};
    struct entropic *e = NULL;
    struct dpot_error error;
    turn_require(entropic_new(cost->n_rows, cost->n_cols, &options, &e, &error) == DPOT_OK &&
                     entropic_solve(e, cost, NULL, NULL, NULL, result, &error) == DPOT_OK,
                 "the engine refused");
    return e;
}

static void play_matrix(const struct problem *p, const struct request *request)
{
    const struct entropic_cost cost = {.n_rows = p->n, .n_cols = p->n, .matrix = p->cost};
    struct entropic_result result;
    double *plan = NULL;
    const struct turn start = turn_start();
    struct entropic *e = solve(request, &cost, &result);
    if (strcmp(request->name, "certified") == 0) {
        entropic_value(e, &result);
    } else if (strcmp(request->name, "plan") == 0) {
        plan = turn_memory(p->n * p->n, sizeof *plan);
        entropic_plan_rows(e, 0, p->n, plan);
    }
    const struct turn turn = turn_since(start);
    entropic_value(e, &result);
    turn_answer(turn, result.transport_cost);
    free(plan);
    entropic_free(e);
}

static void play_cloud(const struct problem *p, const struct request *request)
{
    struct entropic_result result;
    struct cloud cloud;
    const struct turn start = turn_start();
    turn_require(cloud_init(&cloud, p->n, p->n, DIM, CLOUD_SQUARED, 1.0) == DPOT_OK,
                 "out of memory");
    cloud_set(&cloud, p->points_f32, p->n, p->points_f32 + p->n * DIM, p->n);
    struct entropic *e = solve(request, &cloud.cost, &result);
    const struct turn turn = turn_since(start);
    entropic_value(e, &result);
    turn_answer(turn, result.transport_cost);
    entropic_free(e);
    cloud_release(&cloud);
}

/* ---- the floor ---- */

static void *aligned(size_t n, size_t size)
{
    void *memory = NULL;
    turn_require(posix_memalign(&memory, 64, n * size) == 0, "out of memory");
    memset(memory, 0, n * size);
    return memory;
}

static void play_floor_f32(const struct problem *p, size_t n_sweeps)
{
    float *kernel = aligned((p->n + FLOOR_ROWS) * p->n, sizeof *kernel), *u = aligned(p->n, 4),
          *v = aligned(p->n, 4), *s = aligned(p->n, 4);
    double value = 0;
    for (size_t k = 0; k < p->n * p->n; k++) {
        kernel[k] = (float)exp(-p->cost[k] / LAMBDA);
    }
    const struct turn start = turn_start();
    floor_f32(p->n, n_sweeps, kernel, u, v, s);
    const struct turn turn = turn_since(start);
    for (size_t k = 0; k < p->n * p->n; k++) {
        value += (double)(u[k / p->n] * v[k % p->n]) * exp(-p->cost[k] / LAMBDA) * p->cost[k];
    }
    turn_answer(turn, value);
    free(kernel);
    free(u);
    free(v);
    free(s);
}

static void play_floor_f64(const struct problem *p, size_t n_sweeps)
{
    double *kernel = aligned((p->n + FLOOR_ROWS) * p->n, sizeof *kernel), *u = aligned(p->n, 8),
           *v = aligned(p->n, 8), *s = aligned(p->n, 8);
    double value = 0;
    for (size_t k = 0; k < p->n * p->n; k++) {
        kernel[k] = exp(-p->cost[k] / LAMBDA);
    }
    const struct turn start = turn_start();
    floor_f64(p->n, n_sweeps, kernel, u, v, s);
    const struct turn turn = turn_since(start);
    for (size_t k = 0; k < p->n * p->n; k++) {
        value += u[k / p->n] * v[k % p->n] * kernel[k] * p->cost[k];
    }
    turn_answer(turn, value);
    free(kernel);
    free(u);
    free(v);
    free(s);
}

/* ---- requests ---- */

static size_t count_of(const char *word)
{
    const unsigned long n = word ? strtoul(word, NULL, 10) : 0;
    return n <= N_MAX ? (size_t)n : 0;
}

static void play(void *ctx, char *const words[TURN_WORDS + 1], size_t n_words)
{
    struct bench *bench = ctx;
    if (n_words != 4) {
        turn_absent("the request is NAME N SWEEPS f32|f64");
        return;
    }
    const struct request request = {words[0], count_of(words[1]), count_of(words[2]),
                                    strcmp(words[3], "f32") == 0 ? ENTROPIC_F32 : ENTROPIC_F64};
    if (request.n == 0 || request.n_sweeps == 0 || request.n % FLOOR_PAD != 0) {
        turn_absent("N and SWEEPS are at least 1 and at most 10000, N a multiple of 16");
        return;
    }
    take_problem(bench, request.n);
    if (strcmp(request.name, "floor") == 0) {
        (request.precision == ENTROPIC_F32 ? play_floor_f32 : play_floor_f64)(&bench->problem,
                                                                              request.n_sweeps);
    } else if (strcmp(request.name, "cloud") == 0) {
        play_cloud(&bench->problem, &request);
    } else {
        play_matrix(&bench->problem, &request);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: bench_transport FOLDER, then requests on standard input\n");
        return 2;
    }
    struct bench bench = {.folder = argv[1]};
    turns_serve(play, &bench);
    release_problem(&bench.problem);
    return 0;
}

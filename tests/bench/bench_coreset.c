/* The private measure: what a million points cost, and how its distance to the data falls with
 * their number, as theory says it does: like 1 / (epsilon n) on the line and (epsilon n)^(-1/2) in
 * the plane, up to powers of logarithms. Seeded: no output of this is private.
 *
 * On the line W1 is exact. In the plane it is SW2, the sliced distance: a shift by s has W1 = s and
 * SW2 = s / sqrt(2). The last column is the same distance between two data sets of one law. */
#include "base/rng_seeded.h"
#include "central/coreset.h"
#include "solve/transport/wasserstein.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_MAX ((size_t)1000000)
#define RUNS 7
#define DIRECTIONS 64
#define TWO_PI 6.28318530717958647692

static double points[2 * N_MAX], others[2 * N_MAX], out[2 * N_MAX];
static const double lo[2] = {0, 0}, hi[2] = {1, 1};
static struct dpot_rng_seeded seeded;

static double seconds(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void stop(const char *what)
{
    (void)fprintf(stderr, "bench_coreset: %s failed\n", what);
    exit(1);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Two Gaussian clusters, cut to the box. */
static void fill(double *where, size_t n, size_t dim, struct exact_draw *draw)
{
    for (size_t i = 0; i < n; i++) {
        const double centre = exact_draw_unit(draw) < 0.3 ? 0.25 : 0.6;
        for (size_t a = 0; a < dim; a++) {
            const double r = sqrt(-2 * log(1 - exact_draw_unit(draw)));
            const double x = centre + 0.08 * r * cos(TWO_PI * exact_draw_unit(draw));
            where[i * dim + a] = fmin(fmax(x, 0), 1);
        }
    }
}

static void make(size_t n, size_t dim, double epsilon, struct exact_draw *draw)
{
    struct coreset coreset;
    struct coreset_config config = {.partition = {.dim = dim,
                                                  .depth = budget_choose_depth(epsilon, (double)n),
                                                  .lo = lo,
                                                  .hi = hi},
                                    .shrink = 1};
    if (budget_init(&config.budget, epsilon, config.partition.depth, dim, ADJACENCY_REPLACE_ONE,
                    NULL) != DPOT_OK ||
        coreset_count(&config, points, NULL, n, draw, &coreset, NULL) != DPOT_OK) {
        stop("coreset_count");
    }
    coreset_spread(&coreset, draw, out);
    coreset_release(&coreset);
}

static void time_case(size_t n, size_t dim, double epsilon, struct exact_draw *draw)
{
    double times[RUNS];
    fill(points, n, dim, draw);
    for (size_t r = 0; r < RUNS; r++) {
        const double started = seconds();
        make(n, dim, epsilon, draw);
        times[r] = seconds() - started;
    }
    qsort(times, RUNS, sizeof *times, compare);
    (void)printf("coreset n %-8zu dim %zu epsilon %-4g %8.3f s  (%.3f .. %.3f)\n", n, dim, epsilon,
                 times[RUNS / 2], times[0], times[RUNS - 1]);
}

static double line_distance(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += fabs(x[i] - y[i]); /* both sorted */
    }
    return sum / (double)n;
}

static double distance(double *x, double *y, size_t n, size_t dim)
{
    const struct point_set a = {n, x, NULL}, b = {n, y, NULL};
    struct team *team = NULL;
    double result = 0;
    if (dim == 1) {
        qsort(x, n, sizeof *x, compare);
        qsort(y, n, sizeof *y, compare);
        return line_distance(x, y, n);
    }
    if (team_new(1, &team) != DPOT_OK ||
        wasserstein_sliced(&a, &b, dim, DIRECTIONS, 1, team, NULL, &result, NULL) != DPOT_OK) {
        stop("wasserstein_sliced");
    }
    team_free(team);
    return result;
}

static void error_case(size_t n, size_t dim, double epsilon, struct exact_draw *draw)
{
    fill(points, n, dim, draw);
    fill(others, n, dim, draw);
    make(n, dim, epsilon, draw);
    const double error = distance(points, out, n, dim), floor = distance(points, others, n, dim);
    const double rate = dim == 1 ? 1 / (epsilon * (double)n) : 1 / sqrt(epsilon * (double)n);
    (void)printf(
        "%s n %-8zu dim %zu epsilon %-4g %.3g = %.3g times the rate; other data of the law "
        "%.3g\n",
        dim == 1 ? "W1 " : "SW2", n, dim, epsilon, error, error / rate, floor);
}

int main(void)
{
    struct exact_draw draw;
    dpot_rng_seeded_init(&seeded, 1, 0);
    exact_draw_init(&draw, &seeded.source);
    time_case(N_MAX, 2, 1, &draw);
    time_case(N_MAX, 2, 10, &draw);
    time_case(N_MAX, 1, 1, &draw);
    for (size_t dim = 1; dim <= 2; dim++) {
        for (size_t n = 1000; n <= N_MAX; n *= 10) {
            error_case(n, dim, 1, &draw);
        }
    }
    error_case(100000, 2, 0.1, &draw);
    error_case(100000, 2, 10, &draw);
    exact_draw_release(&draw);
    return 0;
}

/* Our side of barycenter.sh: the cases of the peers, one thread. Argument: a folder for the data.
 *
 *   sweeps K D M f32|f64      free support, K groups of 1000 points in D dimensions, M points,
 *                             lambda .04, 50 iterations of exactly 100 sweeps from nothing
 *   solver K D M f32|f64      the same as dpot barycenter does it: from the potentials before,
 *                             until a plan has its weights to 1e-9 (f32: 1e-6), 50 iterations
 *   converged K D M f32|f64   until the points move by 1e-6 of the spread, at most 50 iterations
 *   grid SIDE ITERATIONS      4 images, squared distances, lambda .004, plain Bregman projections
 *
 * The value is the mean square of the points, or the mean of the first coordinate. */
#include "solve/barycenter/barycenter.h"
#include "solve/barycenter/fixed.h"
#include "solve/run/draw.h"
#include "turns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N ((size_t)1000)
#define LAMBDA 0.04
#define GROUPS_MAX 16
#define SIZE_MOST 4096
#define GRID_LAMBDA 4e-3
#define IMAGES 4

struct bench {
    const char *folder;
    size_t k, dim, m;
    double *points; /* (k, N, dim), then (m, dim) where the support starts */
    size_t side;
    double *images; /* (IMAGES, side, side) */
};

static double gaussian(size_t stream, size_t index)
{
    const double u = (double)draw_uniform(stream, 0, 2 * index);
    const double v = (double)draw_uniform(stream, 0, 2 * index + 1);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Four clusters around (+-.25, +-.25) in the first two coordinates, as in 003. */
static void take_points(struct bench *bench, size_t k, size_t dim, size_t m)
{
    char name[64];
    const size_t n = k * N * dim;
    if (bench->points && bench->k == k && bench->dim == dim && bench->m == m) {
        return;
    }
    free(bench->points);
    bench->k = k;
    bench->dim = dim;
    bench->m = m;
    bench->points = turn_memory(n + m * dim, sizeof *bench->points);
    for (size_t e = 0; e < n; e++) {
        const uint64_t cluster = draw_bits(2, 0, e / dim);
        const size_t c = e % dim;
        const double centre = c == 0   ? (cluster & 1 ? 0.25 : -0.25)
                              : c == 1 ? (cluster & 2 ? 0.25 : -0.25)
                                       : 0.0;
        bench->points[e] = centre + 0.05 * gaussian(3, e);
    }
    for (size_t e = 0; e < m * dim; e++) {
        bench->points[n + e] = 0.25 * gaussian(4, e) / sqrt((double)dim);
    }
    (void)snprintf(name, sizeof name, "free_%zu_%zu_%zu", k, dim, m);
    turn_write(bench->folder, name, bench->points, n + m * dim, sizeof *bench->points);
}

static void play_free(struct bench *bench, const char *how, enum entropic_precision precision)
{
    struct point_set groups[GROUPS_MAX];
    for (size_t i = 0; i < bench->k; i++) {
        groups[i] = (struct point_set){.n = N, .points = bench->points + i * N * bench->dim};
    }
    const struct barycenter_problem problem = {bench->k, bench->dim, groups, NULL};
    const bool is_published = strcmp(how, "sweeps") == 0;
    const struct barycenter_options options = {
        .support_size = bench->m,
        .init = bench->points + bench->k * N * bench->dim,
        .inner = BARYCENTER_SINKHORN,
        .lambda = LAMBDA,
        .precision = precision,
        .tol = strcmp(how, "converged") == 0 ? 1e-6 : 0.0,
        .inner_tol = is_published                ? 0.0
                     : precision == ENTROPIC_F32 ? 1e-6
                                                 : 1e-9,
        .max_iterations = 50,
        .inner_iterations = is_published ? 100 : 2000,
        .n_starts = 1,
    };
    struct barycenter_result result;
    struct dpot_error error;
    double value = 0.0;
    const struct turn start = turn_start();
    turn_require(barycenter_solve(&problem, &options, NULL, &result, &error) == DPOT_OK,
                 "the solver refused");
    const struct turn turn = turn_since(start);
    for (size_t e = 0; e < bench->m * bench->dim; e++) {
        value += result.support[e] * result.support[e] / (double)bench->m;
    }
    turn_answer(turn, value);
    barycenter_result_release(&result);
}

static void take_images(struct bench *bench, size_t side)
{
    static const double centres[IMAGES][2] = {{0.25, 0.25}, {0.25, 0.75}, {0.75, 0.25}, {0.7, 0.7}};
    const size_t n = side * side;
    char name[64];
    if (bench->images && bench->side == side) {
        return;
    }
    free(bench->images);
    bench->side = side;
    bench->images = turn_memory(IMAGES * n, sizeof *bench->images);
    for (size_t i = 0; i < IMAGES; i++) {
        double sum = 0.0, *image = bench->images + i * n;
        for (size_t e = 0; e < n; e++) {
            const double x = (double)(e / side) / (double)side - centres[i][0];
            const double y = (double)(e % side) / (double)side - centres[i][1];
            sum += image[e] = exp(-(x * x + y * y) / 0.005) + 1e-6;
        }
        for (size_t e = 0; e < n; e++) {
            image[e] /= sum;
        }
    }
    (void)snprintf(name, sizeof name, "grid_%zu", side);
    turn_write(bench->folder, name, bench->images, IMAGES * n, sizeof *bench->images);
}

static void play_grid(struct bench *bench, size_t n_iterations)
{
    const size_t side = bench->side, n = side * side, shape[2] = {side, side};
    const double step = 1.0 / (double)(side - 1), spacing[2] = {step, step};
    struct barycenter_kernel *kernel = NULL;
    struct barycenter_histogram groups[IMAGES];
    struct barycenter_fixed_result result;
    struct dpot_error error;
    const struct barycenter_fixed_options options = {.max_iterations = n_iterations};
    double value = 0.0;
    const struct turn start = turn_start();
    turn_require(barycenter_kernel_grid(2, shape, spacing, GRID_LAMBDA, IMAGES, false, &kernel,
                                        &error) == DPOT_OK,
                 "the kernel was refused");
    for (size_t i = 0; i < IMAGES; i++) {
        groups[i] = (struct barycenter_histogram){kernel, bench->images + i * n};
    }
    const struct barycenter_fixed_problem problem = {IMAGES, groups, NULL};
    turn_require(barycenter_fixed_solve(&problem, &options, NULL, &result, &error) == DPOT_OK,
                 "the solver refused");
    const struct turn turn = turn_since(start);
    for (size_t e = 0; e < n; e++) {
        value += result.weights[e] * (double)(e / side) / (double)side;
    }
    turn_answer(turn, value);
    barycenter_fixed_release(&result);
    barycenter_kernel_free(kernel);
}

static size_t count_of(const char *word)
{
    const unsigned long n = word ? strtoul(word, NULL, 10) : 0;
    return n <= SIZE_MOST ? (size_t)n : 0;
}

static void play(void *ctx, char *const words[TURN_WORDS + 1], size_t n_words)
{
    struct bench *bench = ctx;
    const size_t a = count_of(n_words > 1 ? words[1] : NULL);
    const size_t b = count_of(n_words > 2 ? words[2] : NULL);
    const size_t c = count_of(n_words > 3 ? words[3] : NULL);
    if (n_words == 3 && strcmp(words[0], "grid") == 0 && a > 1 && a <= 256 && b > 0) {
        take_images(bench, a);
        play_grid(bench, b);
    } else if (n_words == 5 && a > 0 && a <= GROUPS_MAX && b > 0 && c > 0) {
        take_points(bench, a, b, c);
        play_free(bench, words[0], strcmp(words[4], "f32") == 0 ? ENTROPIC_F32 : ENTROPIC_F64);
    } else {
        turn_absent("the request is grid SIDE ITERATIONS or NAME K D M f32|f64");
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: bench_barycenter FOLDER, then requests on standard input\n");
        return 2;
    }
    struct bench bench = {.folder = argv[1]};
    turns_serve(play, &bench);
    free(bench.points);
    free(bench.images);
    return 0;
}

/* The cost of a training step of a network compared with the matrix products in it: arithmetic per
 * second of a forward and backward pass, as a share of what sgemm reaches on one thread on a square
 * product just before and after. The medians of N_RUNS, with the tenth and ninetieth percentiles.
 * Usage:
 *   bench_network [threads [architecture]] */
#include "solve/learn/network.h"
#include "solve/run/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_RUNS 21
#define SQUARE 1024

struct bench_case {
    const char *architecture;
    size_t latent_dim, dim, batch;
    enum network_bound bound;
};

static const struct bench_case cases[] = {
    {"dcgan28:128", 100, 784, 400, NETWORK_TANH},
    {"dcgan28:32", 100, 784, 400, NETWORK_TANH},
    {"mlp:1024,1024", 100, 784, 400, NETWORK_TANH},
    {"mlp:256,256", 16, 2, 1000, NETWORK_UNBOUNDED},
};

/* With one thread the processor's time, which other work on the machine affects least. */
static clockid_t clock_used = CLOCK_THREAD_CPUTIME_ID;

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(clock_used, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static float *numbers(size_t n)
{
    float *x = malloc(n * sizeof *x);
    if (!x) {
        exit(1);
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = draw_uniform(1, 1, i) - 0.5F;
    }
    return x;
}

/* Seconds of the square product at this moment: the machine may have other work. */
static double measure_gemm(const float *a, const float *b, float *c)
{
    const size_t n = SQUARE;
    const double start = now();
    dpot_linalg_f32_openblas()->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, n, n, n, 1.0F, a, n, b,
                                     n, 0.0F, c, n);
    return now() - start;
}

/* Operations of the products of one pass: forward, and twice that backward except for the input of
 * the first layer. */
static double operations(const struct architecture *a, size_t batch)
{
    double sum = 0;
    for (size_t i = 0; i < a->n_layers; i++) {
        const struct layer *l = &a->layers[i];
        const struct layer_shape *small = l->kind == LAYER_CONV ? &l->out : &l->in;
        const double uses = l->kernel > 0 ? (double)(small->height * small->width) : 1;
        if (l->kind != LAYER_BATCH_NORM) {
            sum += (i == 0 ? 4 : 6) * uses * (double)l->n_weights * (double)batch;
        }
    }
    return sum;
}

struct arrays {
    float *a, *b, *c; /* (SQUARE, SQUARE) */
    float *z, *out, *d_out, *gradient;
};

static struct network *open_case(const struct bench_case *c, struct team *team, struct arrays *x)
{
    struct network *net = NULL;
    const struct network_config config = {.architecture = c->architecture,
                                          .latent_dim = c->latent_dim,
                                          .dim = c->dim,
                                          .bound = c->bound,
                                          .lo = -1,
                                          .hi = 1,
                                          .max_batch = c->batch,
                                          .linalg = dpot_linalg_f32_openblas(),
                                          .team = team};
    if (network_new(&config, &net, NULL) != DPOT_OK) {
        exit(1);
    }
    network_initialise(net, 1);
    *x = (struct arrays){numbers(SQUARE * SQUARE),          numbers(SQUARE * SQUARE),
                         numbers(SQUARE * SQUARE),          numbers(c->batch * c->latent_dim),
                         numbers(c->batch * c->dim),        numbers(c->batch * c->dim),
                         numbers(network_n_parameters(net))};
    return net;
}

static void close_case(struct network *net, struct arrays *x)
{
    float *const all[] = {x->a, x->b, x->c, x->z, x->out, x->d_out, x->gradient};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
    network_free(net);
}

/* A warm-up, then steps and square products in turns. */
static void measure(const struct bench_case *c, struct team *team)
{
    double forward[N_RUNS], both[N_RUNS], gemm[N_RUNS], share[N_RUNS];
    struct arrays x;
    struct network *net = open_case(c, team, &x);
    const double work = operations(network_architecture(net), c->batch);
    const double square = 2.0 * SQUARE * (double)SQUARE * SQUARE;
    for (int i = -1; i < N_RUNS; i++) {
        const int at = i < 0 ? 0 : i;
        const double before = measure_gemm(x.a, x.b, x.c), start = now();
        network_forward(net, x.z, c->batch, NETWORK_TRAIN, x.out);
        forward[at] = now() - start;
        network_backward(net, x.d_out, x.gradient);
        both[at] = now() - start;
        gemm[at] = square / fmin(before, measure_gemm(x.a, x.b, x.c));
        share[at] = work / both[at] / gemm[at];
    }
    qsort(forward, N_RUNS, sizeof forward[0], compare);
    qsort(both, N_RUNS, sizeof both[0], compare);
    qsort(gemm, N_RUNS, sizeof gemm[0], compare);
    qsort(share, N_RUNS, sizeof share[0], compare);
    const size_t half = N_RUNS / 2, tenth = N_RUNS / 10;
    (void)printf("%-14s batch %-5zu forward %7.2f ms  step %7.2f ms (%.2f .. %.2f)  %6.1f GFLOP/s, "
                 "%3.0f%% of sgemm's %.1f\n",
                 c->architecture, c->batch, 1e3 * forward[half], 1e3 * both[half],
                 1e3 * both[tenth], 1e3 * both[N_RUNS - 1 - tenth], 1e-9 * work / both[half],
                 100 * share[half], 1e-9 * gemm[half]);
    close_case(net, &x);
}

int main(int argc, char **argv)
{
    const long n_threads = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    struct team *team = NULL;
    if (n_threads > 1) {
        clock_used = CLOCK_MONOTONIC;
    }
    if (n_threads > 1 && team_new((size_t)n_threads, &team) != DPOT_OK) {
        return 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (argc <= 2 || strcmp(argv[2], cases[i].architecture) == 0) {
            measure(&cases[i], team);
        }
    }
    team_free(team);
    return 0;
}

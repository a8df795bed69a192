/* The cost of exact noise: ns per coordinate of the integer samplers, and of a naive program in
 * double precision on the same stream of bytes (Laplace by the inverse distribution function,
 * Gaussian by Box and Muller; neither is private in floating point). Fixed seed; the median of
 * N_RUNS vectors, and their spread as the tenth and ninetieth percentiles. */
#include "base/rng_seeded.h"
#include "mechanism/noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DIM 784
#define N_RUNS 501
#define TWO_PI 6.28318530717958647692

typedef void sampler(unsigned k, struct dpot_rng *rng);

static int64_t integers[DIM];
static double doubles[DIM];

static void add_laplace(unsigned k, struct dpot_rng *rng)
{
    dpot_noise_add(DPOT_NOISE_LAPLACE, k, rng, integers, DIM);
}

static void add_gaussian(unsigned k, struct dpot_rng *rng)
{
    dpot_noise_add(DPOT_NOISE_GAUSSIAN, k, rng, integers, DIM);
}

/* In (0, 1], 53 bits. */
static double uniform(struct dpot_rng *rng)
{
    return ldexp((double)(dpot_rng_u64(rng) >> 11) + 0.5, -53);
}

static void add_naive_laplace(unsigned k, struct dpot_rng *rng)
{
    const double scale = ldexp(1, (int)k);
    for (size_t j = 0; j < DIM; j++) {
        const double u = uniform(rng) - 0.5;
        doubles[j] -= copysign(scale * log1p(-2 * fabs(u)), u);
    }
}

static void add_naive_gaussian(unsigned k, struct dpot_rng *rng)
{
    const double sigma = ldexp(1, (int)k);
    for (size_t j = 0; j + 1 < DIM; j += 2) {
        const double radius = sigma * sqrt(-2 * log(uniform(rng)));
        const double angle = TWO_PI * uniform(rng);
        doubles[j] += radius * cos(angle);
        doubles[j + 1] += radius * sin(angle);
    }
}

static double now_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the line and returns the median. */
static double measure(const char *name, unsigned k, sampler *sample)
{
    static double times[N_RUNS];
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    dpot_rng_seeded_init(&seeded, 1, k);
    dpot_rng_init(&rng, &seeded.source);
    for (size_t i = 0; i < N_RUNS; i++) {
        const double start = now_ns();
        sample(k, &rng);
        times[i] = (now_ns() - start) / DIM;
    }
    dpot_rng_release(&rng);
    qsort(times, N_RUNS, sizeof times[0], compare);
    (void)printf("%-16s k=%-2u d=%d  %6.1f ns/coordinate  (%.1f .. %.1f)", name, k, DIM,
                 times[N_RUNS / 2], times[N_RUNS / 10], times[N_RUNS - 1 - N_RUNS / 10]);
    return times[N_RUNS / 2];
}

static void compare_pair(const char *exact_name, sampler *exact, const char *naive_name,
                         sampler *naive, unsigned k)
{
    const double naive_ns = measure(naive_name, k, naive);
    (void)printf("\n");
    const double exact_ns = measure(exact_name, k, exact);
    (void)printf("  %.2f x naive\n", exact_ns / naive_ns);
}

int main(void)
{
    for (unsigned k = 8; k <= 22; k += k == 8 ? 8 : 6) {
        compare_pair("laplace", add_laplace, "naive laplace", add_naive_laplace, k);
        compare_pair("gaussian", add_gaussian, "naive gaussian", add_naive_gaussian, k);
    }
    return doubles[0] == (double)integers[0] ? 1
                                             : 0; /* prevents the compiler from removing the work */
}

/* Reading of places: how often each entry is read, and with which weight. */
#include "model/places.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define N_MAX 40000

struct tally {
    size_t n;              /* entries that exist */
    size_t n_taken;        /* entries read, with or without weight */
    double weight[N_MAX];  /* by entry */
    size_t counted[N_MAX]; /* how often it was read with weight */
};

static struct tally tally;

static void take(void *ctx, size_t entry, double weight)
{
    struct tally *t = ctx;
    cr_assert(entry < t->n || (t->n == 0 && entry == 0 && weight == 0));
    cr_assert(weight >= 0 && weight <= 1);
    t->n_taken++;
    t->weight[entry] += weight;
    t->counted[entry] += weight > 0;
}

static void walk(const double *weights, size_t n, uint64_t uniform)
{
    tally = (struct tally){.n = n};
    dpot_places_walk(weights, n, uniform, take, &tally);
    cr_assert_eq(tally.n_taken, DPOT_POINTS_READ);
}

Test(places, that_are_few_are_each_read_once_with_their_exact_weights)
{
    static const size_t counts[] = {0, 1, 2, 17, 1023, 1024};
    static double weights[1024];
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        double largest = 0;
        for (size_t i = 0; i < counts[k]; i++) {
            weights[i] = 1 + (double)(i * 7919 % 1000) / 3;
            largest = fmax(largest, weights[i]);
        }
        const double scale = largest > 0 ? exp2(-1 - floor(log2(largest))) : 0;
        walk(weights, counts[k], UINT64_MAX);
        for (size_t i = 0; i < counts[k]; i++) {
            cr_assert_eq(tally.counted[i], 1);
            cr_assert_eq(tally.weight[i], weights[i] * scale);
        }
        walk(NULL, counts[k], 0);
        for (size_t i = 0; i < counts[k]; i++) {
            cr_assert_eq(tally.weight[i], .5);
        }
    }
}

Test(places, without_a_usable_weight_count_as_nothing)
{
    const double weights[] = {NAN, -1, 3, INFINITY, 0, DBL_MIN / 2, -INFINITY, 3 * 0x1p-42};
    walk(weights, 8, 0);
    for (size_t i = 0; i < 8; i++) {
        cr_assert_eq(tally.weight[i], i == 2 ? .75 : 0);
    }
    static double many[4000];
    for (size_t i = 0; i < 4000; i++) {
        many[i] = weights[i % 8];
    }
    walk(many, 4000, UINT64_MAX / 3);
    for (size_t i = 0; i < 4000; i++) {
        cr_assert(i % 8 == 2 || tally.weight[i] == 0);
    }
    for (size_t i = 0; i < 4000; i++) {
        many[i] = NAN;
    }
    walk(many, 4000, 0);
    cr_assert_eq(tally.weight[0], 0);
}

/* The expected count of an entry is its share of the sum; the count is one of the two integers next
 * to it. */
Test(places, that_are_many_are_drawn_by_weight)
{
    static double weights[4000], mean[4000];
    double sum = 0;
    for (size_t i = 0; i < 4000; i++) {
        weights[i] = i % 100 == 0 ? 400 : 1 + (double)(i % 3);
        sum += weights[i];
        mean[i] = 0;
    }
    for (size_t t = 0; t < 512; t++) {
        walk(weights, 4000, (uint64_t)t << 55);
        double total = 0;
        for (size_t i = 0; i < 4000; i++) {
            const double share = weights[i] / sum * DPOT_POINTS_READ;
            cr_assert(tally.weight[i] >= floor(share - 1e-6) && tally.weight[i] <= ceil(share));
            total += tally.weight[i];
            mean[i] += tally.weight[i] / 512;
        }
        cr_assert_eq(total, DPOT_POINTS_READ);
    }
    for (size_t i = 0; i < 4000; i++) {
        cr_assert_float_eq(mean[i], weights[i] / sum * DPOT_POINTS_READ, 1. / 256);
    }
}

Test(places, beyond_the_number_weighed_are_read_evenly)
{
    walk(NULL, 40000, UINT64_MAX / 2);
    size_t last = 0, widest = 0, n = 0;
    for (size_t i = 0; i < 40000; i++) {
        if (tally.counted[i] > 0) {
            widest = n > 0 && i - last > widest ? i - last : widest;
            last = i;
            n++;
        }
    }
    cr_assert_eq(n, DPOT_POINTS_READ);
    cr_assert_leq(widest, 40000 / DPOT_POINTS_READ + 3);
    cr_assert_gt(last, 39900);
}

Test(places, are_added_to_the_nearest_points_of_the_domain)
{
    const double lo = 0, hi = 4;
    const uint32_t shape = 4;
    const struct dpot_metric metric = {DPOT_METRIC_EUCLIDEAN, 0};
    const double points[] = {.2, .4, 1e300, NAN}, weights[] = {1, 2, 3, 2};
    double histogram[4] = {0};
    struct dpot_domain grid;
    struct dpot_nearest nearest;
    cr_assert_eq(dpot_domain_init_grid(&grid, 1, &lo, &hi, &shape, NULL), DPOT_OK);
    cr_assert_eq(dpot_nearest_init(&nearest, &grid, &metric, NULL), DPOT_OK);
    dpot_places_read(&nearest, points, weights, 4, 0, histogram);
    cr_assert(histogram[0] == 1.25 && histogram[1] == 0 && histogram[3] == .75);
    double none[4] = {0};
    dpot_places_read(&nearest, NULL, weights, 4, 0, none);
    dpot_places_read(&nearest, points, NULL, 0, 0, none);
    cr_assert(none[0] == 0 && none[1] == 0 && none[2] == 0 && none[3] == 0);
    dpot_nearest_release(&nearest);
}

/* The private measure as a whole, with seeded randomness. tests/privacy/test_coreset_exact.c
 * compares its law with its claim. */
#include "base/rng_seeded.h"
#include "central/coreset.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N 2000

static double points[2 * N];
static const double lo[2] = {0, 0}, hi[2] = {1, 1};
static struct dpot_rng_seeded seeded;

/* A cluster around (0.2, 0.7), and some duplicates. */
static void fill_points(void)
{
    dpot_rng_seeded_init(&seeded, 11, 0);
    for (size_t i = 0; i < N; i++) {
        const double t = (double)i / N;
        points[2 * i] = i % 10 == 0 ? 0.9 : 0.2 + 0.1 * sin(40 * t);
        points[2 * i + 1] = i % 10 == 0 ? 0.1 : 0.7 + 0.1 * cos(77 * t);
    }
}

TestSuite(coreset, .init = fill_points);

static struct coreset_config configure(double epsilon, size_t depth, enum adjacency adjacency)
{
    struct coreset_config config = {
        .partition = {.dim = 2, .depth = depth, .lo = lo, .hi = hi},
        .shrink = 1,
    };
    struct dpot_error error = {""};
    cr_assert_eq(budget_init(&config.budget, epsilon, depth, 2, adjacency, &error), DPOT_OK, "%s",
                 error.text);
    return config;
}

static void count(const struct coreset_config *config, const int64_t *counts, size_t n,
                  struct exact_draw *draw, struct coreset *coreset)
{
    struct dpot_error error = {""};
    exact_draw_init(draw, &seeded.source);
    cr_assert_eq(coreset_count(config, points, counts, n, draw, coreset, &error), DPOT_OK, "%s",
                 error.text);
}

Test(coreset, replace_one_keeps_the_number_of_records)
{
    const double epsilons[] = {0.01, 1, 20};
    for (size_t e = 0; e < 3; e++) {
        const struct coreset_config config = configure(epsilons[e], 9, ADJACENCY_REPLACE_ONE);
        struct exact_draw draw;
        struct coreset coreset;
        int64_t sum = 0;
        count(&config, NULL, N, &draw, &coreset);
        for (size_t l = 0; l < coreset.leaves.n; l++) {
            sum += coreset.leaves.leaves[l].count;
        }
        cr_assert_eq(coreset.size, N);
        cr_assert_eq(sum, N);
        coreset_release(&coreset);
        exact_draw_release(&draw);
    }
}

Test(coreset, add_remove_hides_the_number_of_records)
{
    const struct coreset_config config = configure(0.5, 6, ADJACENCY_ADD_REMOVE);
    size_t n_different = 0;
    for (int trial = 0; trial < 20; trial++) {
        struct exact_draw draw;
        struct coreset coreset;
        count(&config, NULL, N, &draw, &coreset);
        cr_assert(llabs(coreset.size - N) < 2000);
        n_different += coreset.size != N;
        coreset_release(&coreset);
        exact_draw_release(&draw);
    }
    cr_assert_geq(n_different, 10);
}

Test(coreset, add_remove_always_has_a_measure)
{
    const struct coreset_config config = configure(0.01, 4, ADJACENCY_ADD_REMOVE);
    for (int trial = 0; trial < 50; trial++) {
        struct exact_draw draw;
        struct coreset coreset;
        count(&config, NULL, 0, &draw, &coreset);
        cr_assert_geq(coreset.size, 1);
        cr_assert_geq(coreset.leaves.n, 1);
        coreset_release(&coreset);
        exact_draw_release(&draw);
    }
}

Test(coreset, refuses_no_records_under_replace_one)
{
    const struct coreset_config config = configure(1, 4, ADJACENCY_REPLACE_ONE);
    const int64_t none[2] = {0, 0};
    struct exact_draw draw;
    struct coreset coreset;
    struct dpot_error error = {""};
    exact_draw_init(&draw, &seeded.source);
    cr_assert_eq(coreset_count(&config, points, NULL, 0, &draw, &coreset, &error), DPOT_ERR_SHAPE);
    cr_assert_eq(coreset_count(&config, points, none, 2, &draw, &coreset, &error), DPOT_ERR_SHAPE);
    cr_assert(strstr(error.text, "no records"), "%s", error.text);
    cr_assert_null(coreset.leaves.leaves);
    exact_draw_release(&draw);
}

Test(coreset, a_count_equals_as_many_equal_records)
{
    /* With the same randomness: 3 rows with counts, and the same records one by one. */
    const struct coreset_config config = configure(1, 8, ADJACENCY_REPLACE_ONE);
    const int64_t counts[3] = {5, 0, 7};
    double single[24];
    for (size_t i = 0; i < 12; i++) {
        memcpy(single + 2 * i, points + (i < 5 ? 0 : 4), 2 * sizeof *single);
    }
    struct exact_draw draws[2];
    struct coreset coresets[2];
    count(&config, counts, 3, &draws[0], &coresets[0]);
    dpot_rng_seeded_init(&seeded, 11, 0);
    exact_draw_init(&draws[1], &seeded.source);
    cr_assert_eq(coreset_count(&config, single, NULL, 12, &draws[1], &coresets[1], NULL), DPOT_OK);
    cr_assert_eq(coresets[0].leaves.n, coresets[1].leaves.n);
    for (size_t l = 0; l < coresets[0].leaves.n; l++) {
        cr_assert_eq(coresets[0].leaves.leaves[l].code, coresets[1].leaves.leaves[l].code);
        cr_assert_eq(coresets[0].leaves.leaves[l].count, coresets[1].leaves.leaves[l].count);
    }
    for (size_t i = 0; i < 2; i++) {
        coreset_release(&coresets[i]);
        exact_draw_release(&draws[i]);
    }
}

Test(coreset, points_lie_in_their_cells_and_find_the_cluster)
{
    const struct coreset_config config = configure(4, 10, ADJACENCY_REPLACE_ONE);
    static double out[2 * N];
    struct exact_draw draw;
    struct coreset coreset;
    size_t at = 0, n_near = 0;
    count(&config, NULL, N, &draw, &coreset);
    coreset_spread(&coreset, &draw, out);
    for (size_t l = 0; l < coreset.leaves.n; l++) {
        for (int64_t k = 0; k < coreset.leaves.leaves[l].count; k++, at++) {
            cr_assert_eq(partition_code(&config.partition, out + 2 * at),
                         coreset.leaves.leaves[l].code);
            n_near += hypot(out[2 * at] - 0.2, out[2 * at + 1] - 0.7) < 0.2;
        }
    }
    cr_assert_eq(at, N);
    cr_assert(n_near > 1600, "%zu of 1800 are near", n_near);
    coreset_release(&coreset);
    exact_draw_release(&draw);
}

Test(coreset, shrunk_cells_keep_their_points_near_their_centres)
{
    struct coreset_config config = configure(4, 6, ADJACENCY_REPLACE_ONE);
    static double out[2 * N], weights[N];
    struct exact_draw draw;
    struct coreset coreset;
    count(&config, NULL, N, &draw, &coreset);
    const double shrinks[] = {0, 0.25};
    for (size_t s = 0; s < 2; s++) {
        config.shrink = shrinks[s];
        coreset_weigh(&coreset, &draw, out, weights);
        double sum = 0;
        for (size_t l = 0; l < coreset.leaves.n; l++) {
            double cell_lo[2], cell_hi[2];
            partition_cell(&config.partition, 6, coreset.leaves.leaves[l].code, cell_lo, cell_hi);
            for (size_t a = 0; a < 2; a++) {
                const double off = fabs(out[2 * l + a] - (cell_lo[a] + cell_hi[a]) / 2);
                cr_assert_leq(off, shrinks[s] * (cell_hi[a] - cell_lo[a]) / 2);
            }
            sum += weights[l];
        }
        cr_assert_float_eq(sum, 1, 1e-12);
    }
    coreset_release(&coreset);
    exact_draw_release(&draw);
}

Test(coreset, samples_follow_the_weights)
{
    const struct coreset_config config = configure(20, 2, ADJACENCY_REPLACE_ONE);
    static double out[2 * N], weights[4], centres[8];
    double shares[4] = {0, 0, 0, 0};
    struct exact_draw draw;
    struct coreset coreset;
    count(&config, NULL, N, &draw, &coreset);
    cr_assert_leq(coreset.leaves.n, 4);
    coreset_weigh(&coreset, &draw, centres, weights);
    cr_assert_eq(coreset_sample(&coreset, N, &draw, out), DPOT_OK);
    for (size_t i = 0; i < N; i++) {
        shares[partition_code(&config.partition, out + 2 * i)] += 1.0 / N;
    }
    for (size_t l = 0; l < coreset.leaves.n; l++) {
        /* Seven standard deviations of a share of N draws, each at most 0.5 / sqrt(N). */
        cr_assert_float_eq(shares[coreset.leaves.leaves[l].code], weights[l], 0.08);
    }
    coreset_release(&coreset);
    exact_draw_release(&draw);
}

/* A triangle that excludes the upper right half of the box. */
static void make_triangle(struct polygon *polygon)
{
    static const double corners[] = {0, 0, 1, 0, 0, 1};
    cr_assert_eq(polygon_init(polygon, corners, NULL, 3, NULL), DPOT_OK);
}

Test(coreset, points_stay_within_the_border)
{
    struct coreset_config config = configure(0.3, 11, ADJACENCY_REPLACE_ONE);
    static double out[2 * N];
    const double shrinks[] = {1, 0.1, 0};
    struct polygon triangle;
    make_triangle(&triangle);
    config.border = &triangle;
    for (size_t s = 0; s < 3; s++) {
        struct exact_draw draw;
        struct coreset coreset;
        config.shrink = shrinks[s];
        count(&config, NULL, N, &draw, &coreset);
        coreset_spread(&coreset, &draw, out);
        for (size_t i = 0; i < N; i++) {
            cr_assert(polygon_holds(&triangle, out + 2 * i), "(%.17g, %.17g)", out[2 * i],
                      out[2 * i + 1]);
        }
        coreset_release(&coreset);
        exact_draw_release(&draw);
    }
    polygon_release(&triangle);
}

Test(coreset, records_outside_the_border_are_counted_by_its_rule)
{
    struct coreset_config config = configure(20, 8, ADJACENCY_REPLACE_ONE);
    static double out[2 * N];
    struct polygon triangle;
    struct exact_draw draw;
    struct coreset coreset;
    make_triangle(&triangle);
    config.border = &triangle;
    for (size_t i = 0; i < 2 * N; i++) {
        points[i] = 0.9; /* all outside of the border */
    }
    count(&config, NULL, N, &draw, &coreset);
    cr_assert_eq(coreset.size, N);
    coreset_spread(&coreset, &draw, out);
    for (size_t i = 0; i < N; i++) {
        cr_assert(polygon_holds(&triangle, out + 2 * i));
    }
    coreset_release(&coreset);
    exact_draw_release(&draw);
    polygon_release(&triangle);
}

Test(coreset, the_number_of_records_outside_of_the_box_is_returned)
{
    const struct coreset_config config = configure(1, 3, ADJACENCY_REPLACE_ONE);
    const int64_t counts[3] = {4, 10, 1};
    points[2] = 1.5;
    points[5] = -0.001;
    cr_assert_eq(coreset_n_outside(&config.partition, points, NULL, N), 2);
    cr_assert_eq(coreset_n_outside(&config.partition, points, counts, 3), 11);
}

Test(coreset, one_record_and_high_dimension_work)
{
    static double many_lo[25], many_hi[25], out[25 * 40], in[25 * 40];
    struct coreset_config config = {
        .partition = {.dim = 25, .depth = 5, .lo = many_lo, .hi = many_hi}, .shrink = 1};
    for (size_t i = 0; i < 25 * 40; i++) {
        in[i] = (double)(i % 7) / 3;
    }
    for (size_t a = 0; a < 25; a++) {
        many_hi[a] = 2;
    }
    cr_assert_eq(budget_init(&config.budget, 1, 5, 25, ADJACENCY_REPLACE_ONE, NULL), DPOT_OK);
    for (size_t n = 1; n <= 40; n += 39) {
        struct exact_draw draw;
        struct coreset coreset;
        exact_draw_init(&draw, &seeded.source);
        cr_assert_eq(coreset_count(&config, in, NULL, n, &draw, &coreset, NULL), DPOT_OK);
        cr_assert_eq(coreset.size, (int64_t)n);
        coreset_spread(&coreset, &draw, out);
        for (size_t i = 0; i < n; i++) {
            cr_assert(partition_holds(&config.partition, out + 25 * i));
        }
        coreset_release(&coreset);
        exact_draw_release(&draw);
    }
}

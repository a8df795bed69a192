/* Cells of points. */
#include "golden.h"

#include "central/partition.h"

#include <criterion/criterion.h>
#include <math.h>

static const double zeros[4] = {0, 0, 0, 0}, ones[4] = {1, 1, 1, 1};

static struct partition unit(size_t dim, size_t depth)
{
    return (struct partition){.dim = dim, .depth = depth, .lo = zeros, .hi = ones};
}

Test(partition, finds_the_leaves_of_the_golden_points)
{
    json_t *root = golden_pmm();
    const json_t *points = json_object_get(root, "P"),
                 *leaves = json_object_get(root, "leaf_index");
    const struct partition p = unit(2, (size_t)json_integer_value(json_object_get(root, "r")));
    cr_assert_eq(json_array_size(points), 16);
    for (size_t i = 0; i < 16; i++) {
        const json_t *xy = json_array_get(points, i);
        const double point[2] = {golden_at(xy, 0), golden_at(xy, 1)};
        cr_assert_eq((double)partition_code(&p, point), golden_at(leaves, i), "point %zu", i);
    }
    json_decref(root);
}

Test(partition, counts_the_upper_face_and_points_outside)
{
    const struct partition p = unit(2, 6);
    const double inside[2] = {1, 1}, beyond[2] = {7, INFINITY}, below[2] = {-3, -INFINITY};
    const double mixed[2] = {0.999, 5}, nothing[2] = {NAN, NAN};
    cr_assert_eq(partition_code(&p, inside), 63);
    cr_assert_eq(partition_code(&p, beyond), 63);
    cr_assert_eq(partition_code(&p, below), 0);
    cr_assert_eq(partition_code(&p, mixed), 63);
    cr_assert_eq(partition_code(&p, nothing), 0);
    cr_assert(partition_holds(&p, inside));
    cr_assert_not(partition_holds(&p, beyond));
    cr_assert_not(partition_holds(&p, mixed));
    cr_assert_not(partition_holds(&p, nothing));
}

/* The middle of a cell has the cell's code, at every depth and dimension. */
Test(partition, cells_hold_the_points_of_their_code)
{
    for (size_t dim = 1; dim <= 4; dim++) {
        for (size_t depth = 1; depth <= 9; depth++) {
            const struct partition p = unit(dim, depth);
            for (uint64_t code = 0; code < (uint64_t)1 << depth; code++) {
                double lo[4], hi[4], middle[4], volume = 1;
                partition_cell(&p, depth, code, lo, hi);
                for (size_t a = 0; a < dim; a++) {
                    middle[a] = (lo[a] + hi[a]) / 2;
                    volume *= hi[a] - lo[a];
                }
                cr_assert_eq(partition_code(&p, middle), code);
                cr_assert_eq(partition_code(&p, lo), code, "a lower face is the cell's own");
                cr_assert_eq(volume, ldexp(1, -(int)depth));
            }
        }
    }
}

Test(partition, cells_of_a_level_are_halves_of_their_parents)
{
    const double lo[3] = {-7, 2, 0.1}, hi[3] = {5, 3, 0.2};
    const struct partition p = {.dim = 3, .depth = 12, .lo = lo, .hi = hi};
    for (size_t level = 0; level < 12; level++) {
        for (uint64_t code = 0; code < (uint64_t)1 << level; code += 5) {
            double parent[2][3], left[2][3], right[2][3];
            const size_t axis = level % 3;
            partition_cell(&p, level, code, parent[0], parent[1]);
            partition_cell(&p, level + 1, 2 * code, left[0], left[1]);
            partition_cell(&p, level + 1, 2 * code + 1, right[0], right[1]);
            cr_assert_eq(left[0][axis], parent[0][axis]);
            cr_assert_eq(right[1][axis], parent[1][axis]);
            cr_assert_eq(left[1][axis], right[0][axis], "no gap");
            cr_assert_eq(left[1][(axis + 1) % 3], parent[1][(axis + 1) % 3]);
        }
    }
}

Test(partition, more_axes_than_levels_leaves_the_last_ones_whole)
{
    double lo[25], hi[25], cell_lo[25], cell_hi[25];
    for (size_t a = 0; a < 25; a++) {
        lo[a] = -1;
        hi[a] = 1;
    }
    const struct partition p = {.dim = 25, .depth = 20, .lo = lo, .hi = hi};
    cr_assert_eq(partition_code(&p, hi), ((uint64_t)1 << 20) - 1);
    partition_cell(&p, 20, 0, cell_lo, cell_hi);
    cr_assert_eq(cell_hi[0], 0);
    cr_assert_eq(cell_hi[19], 0);
    cr_assert_eq(cell_hi[20], 1);
}

Test(partition, refuses_invalid_boxes)
{
    double lo[2] = {0, 0}, hi[2] = {1, 1};
    struct partition p = {.dim = 2, .depth = 3, .lo = lo, .hi = hi};
    struct dpot_error error = {""};
    cr_assert_eq(partition_check(&p, &error), DPOT_OK);
    const double wrong[][2] = {{1, 1}, {2, 1}, {NAN, 1}, {0, INFINITY}, {-1.7e308, 1.7e308}};
    for (size_t i = 0; i < 5; i++) {
        lo[1] = wrong[i][0];
        hi[1] = wrong[i][1];
        cr_assert_eq(partition_check(&p, &error), DPOT_ERR_RANGE, "case %zu", i);
    }
    p.dim = 0;
    cr_assert_eq(partition_check(&p, &error), DPOT_ERR_RANGE);
    p.dim = PARTITION_DIM_MAX + 1;
    cr_assert_eq(partition_check(&p, &error), DPOT_ERR_RANGE);
}

#include "solve/base_measure/symmetry.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE 4096
#define CHECK_EVERY 64 /* rows between checks of the control */

enum move { MOVE_SHIFT, MOVE_REVERSE, MOVE_EXCHANGE };

/* 0 .. n-1 read as a grid: an axis of `size` steps of length `stride`; for an exchange also the
 * axis of the same size with the next longer stride. */
struct axis {
    enum move move;
    size_t size, stride;
};

static size_t image_of(const struct axis *axis, size_t i)
{
    const size_t a = i / axis->stride % axis->size;
    if (axis->move == MOVE_SHIFT) {
        return i - a * axis->stride + (a + 1) % axis->size * axis->stride;
    }
    if (axis->move == MOVE_REVERSE) {
        return i - a * axis->stride + (axis->size - 1 - a) * axis->stride;
    }
    const size_t long_stride = axis->stride * axis->size;
    const size_t b = i / long_stride % axis->size;
    return i - a * axis->stride - b * long_stride + b * axis->stride + a * long_stride;
}

/* ---- orbits ---- */

static uint32_t find_root(const uint32_t *parent, uint32_t i)
{
    while (parent[i] != i) {
        i = parent[i];
    }
    return i;
}

/* The first member of the joined orbit is its root. Returns whether anything was joined. */
static bool join(uint32_t *parent, size_t n, const struct axis *axis, bool is_trial)
{
    bool joins = false;
    for (size_t i = 0; i < n; i++) {
        const uint32_t a = find_root(parent, (uint32_t)i);
        const uint32_t b = find_root(parent, (uint32_t)image_of(axis, i));
        if (a == b) {
            continue;
        }
        joins = true;
        if (is_trial) {
            return true;
        }
        parent[a < b ? b : a] = a < b ? a : b;
    }
    for (size_t i = 0; !is_trial && i < n; i++) {
        parent[i] = find_root(parent, (uint32_t)i);
    }
    return joins;
}

/* Numbers the roots in place and counts the members. */
static size_t number_orbits(uint32_t *orbit, size_t n, uint32_t *first, uint32_t *size)
{
    size_t n_orbits = 0;
    for (size_t i = 0; i < n; i++) {
        const bool is_root = orbit[i] == i;
        const size_t number = is_root ? n_orbits++ : orbit[orbit[i]];
        if (is_root) {
            size[number] = 0;
            if (first) {
                first[number] = (uint32_t)i;
            }
        }
        orbit[i] = (uint32_t)number; /* a root precedes its members, so it is numbered already */
        size[number]++;
    }
    return n_orbits;
}

/* ---- candidates ---- */

struct finder {
    const double *cost;
    double typical;
    struct symmetry *symmetry;
    const struct solve_control *control;
    bool is_ended;
};

/* Whether all costs are unchanged; stops at the first that is not. */
static bool check(struct finder *finder, const struct axis *rows, const struct axis *cols,
                  const uint32_t *image)
{
    const size_t n_rows = finder->symmetry->n_rows, n_cols = finder->symmetry->n_cols;
    double deviation = 0;
    (void)cols;
    for (size_t i = 0; i < n_rows; i++) {
        finder->is_ended = i % CHECK_EVERY == 0 && solve_control_must_end(finder->control);
        if (finder->is_ended) {
            return false;
        }
        const double *from = finder->cost + i * n_cols;
        const double *to = finder->cost + image_of(rows, i) * n_cols;
        for (size_t j = 0; j < n_cols; j++) {
            const double a = from[j], b = to[image[j]];
            const double difference = fabs(a - b);
            if (!(difference <= SYMMETRY_TOL * (finder->typical + fmax(a, b)))) {
                return false;
            }
            deviation = difference > deviation ? difference : deviation;
        }
    }
    finder->symmetry->deviation = fmax(finder->symmetry->deviation, deviation);
    return true;
}

static void try_pair(struct finder *finder, const struct axis *rows, const struct axis *cols,
                     uint32_t *image)
{
    struct symmetry *symmetry = finder->symmetry;
    if (finder->is_ended) {
        return;
    }
    if (!join(symmetry->row_orbit, symmetry->n_rows, rows, true) &&
        !join(symmetry->col_orbit, symmetry->n_cols, cols, true)) {
        return;
    }
    for (size_t j = 0; j < symmetry->n_cols; j++) {
        image[j] = (uint32_t)image_of(cols, j);
    }
    if (check(finder, rows, cols, image)) {
        (void)join(symmetry->row_orbit, symmetry->n_rows, rows, false);
        (void)join(symmetry->col_orbit, symmetry->n_cols, cols, false);
        symmetry->n_generators++;
    }
}

/* The next way to read n numbers: sizes from the largest down, strides from 1 up. False: none
 * left. */
static bool next_axis(struct axis *axis, size_t n)
{
    for (;;) {
        axis->stride++;
        if (axis->stride * axis->size > n) {
            axis->stride = 0;
            axis->size--;
        }
        if (axis->size < 2) {
            return false;
        }
        if (axis->stride == 0 || n % axis->size != 0) {
            if (n % axis->size != 0) {
                axis->stride = n; /* no stride fits: next size */
            }
            continue;
        }
        const size_t span = axis->move == MOVE_EXCHANGE ? axis->size * axis->size : axis->size;
        if (n / axis->stride >= span && n % (span * axis->stride) == 0) {
            return true;
        }
    }
}

static void try_move(struct finder *finder, enum move move, uint32_t *image)
{
    const size_t n_rows = finder->symmetry->n_rows, n_cols = finder->symmetry->n_cols;
    struct axis rows = {move, n_rows, 0};
    while (next_axis(&rows, n_rows)) {
        if (n_rows == n_cols) {
            try_pair(finder, &rows, &rows, image);
            continue;
        }
        struct axis cols = {move, n_cols, 0};
        while (next_axis(&cols, n_cols)) {
            if (move != MOVE_SHIFT || n_cols % rows.size == 0) {
                try_pair(finder, &rows, &cols, image);
            }
        }
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double symmetry_typical_cost(const double *cost, size_t n_costs)
{
    double sample[SAMPLE];
    size_t n = 0;
    /* An odd stride, so that the sample does not follow the rows of common grids. */
    const size_t stride = (n_costs / SAMPLE) | 1;
    for (size_t e = 0; e < n_costs && n < SAMPLE; e += stride) {
        if (cost[e] > 0) {
            sample[n++] = cost[e];
        }
    }
    if (n == 0) {
        return 0;
    }
    qsort(sample, n, sizeof *sample, compare_doubles);
    return sample[n / 4];
}

dpot_status symmetry_find(const double *cost, size_t n_rows, size_t n_cols,
                          const struct solve_control *control,
                          const struct dpot_allocator *allocator, struct symmetry *symmetry)
{
    *symmetry = (struct symmetry){.n_rows = n_rows, .n_cols = n_cols, .allocator = allocator};
    symmetry->row_orbit = dpot_alloc_array(allocator, n_rows, sizeof(uint32_t));
    symmetry->col_orbit = dpot_alloc_array(allocator, n_cols, sizeof(uint32_t));
    symmetry->row_first = dpot_alloc_array(allocator, n_rows, sizeof(uint32_t));
    symmetry->row_size = dpot_alloc_array(allocator, n_rows, sizeof(uint32_t));
    symmetry->col_size = dpot_alloc_array(allocator, n_cols, sizeof(uint32_t));
    uint32_t *image = dpot_alloc_array(allocator, n_cols, sizeof *image);
    const bool has_room = symmetry->row_orbit && symmetry->col_orbit && symmetry->row_first &&
                          symmetry->row_size && symmetry->col_size && image;
    if (has_room) {
        struct finder finder = {cost, symmetry_typical_cost(cost, n_rows * n_cols), symmetry,
                                control, false};
        for (size_t i = 0; i < n_rows; i++) {
            symmetry->row_orbit[i] = (uint32_t)i;
        }
        for (size_t j = 0; j < n_cols; j++) {
            symmetry->col_orbit[j] = (uint32_t)j;
        }
        try_move(&finder, MOVE_SHIFT, image);
        try_move(&finder, MOVE_REVERSE, image);
        try_move(&finder, MOVE_EXCHANGE, image);
        symmetry->n_row_orbits =
            number_orbits(symmetry->row_orbit, n_rows, symmetry->row_first, symmetry->row_size);
        symmetry->n_col_orbits =
            number_orbits(symmetry->col_orbit, n_cols, NULL, symmetry->col_size);
    }
    dpot_free_array(allocator, image, n_cols, sizeof *image);
    if (!has_room) {
        symmetry_release(symmetry);
        return DPOT_ERR_MEMORY;
    }
    return DPOT_OK;
}

void symmetry_release(struct symmetry *symmetry)
{
    const struct dpot_allocator *allocator = symmetry->allocator;
    dpot_free_array(allocator, symmetry->row_orbit, symmetry->n_rows, sizeof(uint32_t));
    dpot_free_array(allocator, symmetry->col_orbit, symmetry->n_cols, sizeof(uint32_t));
    dpot_free_array(allocator, symmetry->row_first, symmetry->n_rows, sizeof(uint32_t));
    dpot_free_array(allocator, symmetry->row_size, symmetry->n_rows, sizeof(uint32_t));
    dpot_free_array(allocator, symmetry->col_size, symmetry->n_cols, sizeof(uint32_t));
    *symmetry = (struct symmetry){0};
}

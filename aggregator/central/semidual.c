#include "central/semidual.h"

#include "base/alloc.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SMALLEST 1e-200 /* keeps the unit finite */
#define ENTRY_BITS 24   /* of an entry: ranges stay below 2^25, sums over 2^32 records below 2^57 */

size_t semidual_grid_size(const struct semidual_grid *grid)
{
    size_t size = 1;
    for (size_t a = 0; a < grid->dim; a++) {
        size *= grid->shape[a];
    }
    return size;
}

static double coordinate(const struct semidual_grid *grid, size_t a, size_t slice)
{
    return grid->lo[a] +
           (grid->hi[a] - grid->lo[a]) * (((double)slice + 0.5) / (double)grid->shape[a]);
}

void semidual_grid_point(const struct semidual_grid *grid, size_t cell, double *point)
{
    for (size_t a = grid->dim; a-- > 0;) {
        point[a] = coordinate(grid, a, cell % grid->shape[a]);
        cell /= grid->shape[a];
    }
}

size_t semidual_grid_cell(const struct semidual_grid *grid, const double *point)
{
    size_t cell = 0;
    for (size_t a = 0; a < grid->dim; a++) {
        const double n = (double)grid->shape[a];
        const double share = (point[a] - grid->lo[a]) / (grid->hi[a] - grid->lo[a]);
        const double slice = floor(share * n);
        cell = cell * grid->shape[a] + (slice >= n  ? grid->shape[a] - 1
                                        : slice > 0 ? (size_t)slice
                                                    : 0);
    }
    return cell;
}

/* The stride of an axis in memory. */
static size_t stride_of(const struct semidual_grid *grid, size_t axis)
{
    size_t stride = 1;
    for (size_t a = axis + 1; a < grid->dim; a++) {
        stride *= grid->shape[a];
    }
    return stride;
}

/* h(.., y, ..) = max over x of x y + h(.., x, ..) along one axis. */
static void maximise_axis(const struct semidual_grid *grid, size_t axis, const double *from,
                          double *to)
{
    const size_t size = semidual_grid_size(grid), n = grid->shape[axis];
    const size_t stride = stride_of(grid, axis);
    for (size_t cell = 0; cell < size; cell++) {
        const size_t slice = cell / stride % n;
        const double y = coordinate(grid, axis, slice);
        const double *line = from + (cell - slice * stride);
        double most = -HUGE_VAL;
        for (size_t x = 0; x < n; x++) {
            most = fmax(most, coordinate(grid, axis, x) * y + line[x * stride]);
        }
        to[cell] = most;
    }
}

dpot_status semidual_conjugate(const struct semidual_grid *grid, const double *f, double *conjugate)
{
    const size_t size = semidual_grid_size(grid);
    double *from = dpot_alloc_array(NULL, size, sizeof *from);
    if (!from) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t c = 0; c < size; c++) {
        conjugate[c] = -f[c];
    }
    for (size_t a = 0; a < grid->dim; a++) {
        memcpy(from, conjugate, size * sizeof *from);
        maximise_axis(grid, a, from, conjugate);
    }
    dpot_free_array(NULL, from, size, sizeof *from);
    return DPOT_OK;
}

void semidual_gradient(const struct semidual_grid *grid, const double *f, double *gradient)
{
    const size_t size = semidual_grid_size(grid);
    for (size_t cell = 0; cell < size; cell++) {
        for (size_t a = 0; a < grid->dim; a++) {
            const size_t n = grid->shape[a], stride = stride_of(grid, a);
            const size_t slice = cell / stride % n;
            const size_t before = slice > 0 ? slice - 1 : 0,
                         after = slice + 1 < n ? slice + 1 : slice;
            const double step = coordinate(grid, a, after) - coordinate(grid, a, before);
            const double *line = f + (cell - slice * stride);
            gradient[cell * grid->dim + a] =
                step > 0 ? (line[after * stride] - line[before * stride]) / step : 0;
        }
    }
}

static void fill_baseline(const struct semidual_grid *grid, double *f)
{
    for (size_t c = 0; c < semidual_grid_size(grid); c++) {
        double point[SEMIDUAL_DIM_MAX], sum = 0;
        semidual_grid_point(grid, c, point);
        for (size_t a = 0; a < grid->dim; a++) {
            sum += point[a] * point[a] / 2;
        }
        f[c] = sum;
    }
}

/* Tables in floating point: f and f* minus the baseline's, each divided by its number of
 * records. */
struct draft {
    double *x, *y;            /* (n_candidates, size) */
    double *base, *base_star; /* (size) */
    size_t n_entries, size;
};

static void release_draft(struct draft *draft)
{
    dpot_free_array(NULL, draft->x, draft->n_entries, sizeof *draft->x);
    dpot_free_array(NULL, draft->y, draft->n_entries, sizeof *draft->y);
    dpot_free_array(NULL, draft->base, draft->size, sizeof *draft->base);
    dpot_free_array(NULL, draft->base_star, draft->size, sizeof *draft->base_star);
}

static dpot_status make_draft(struct draft *draft, const struct semidual_grid *grid,
                              const double *potentials, size_t n_candidates, double n_x, double n_y)
{
    const size_t size = draft->size;
    fill_baseline(grid, draft->base);
    dpot_status status = semidual_conjugate(grid, draft->base, draft->base_star);
    for (size_t i = 0; status == DPOT_OK && i < n_candidates; i++) {
        double *x = draft->x + i * size, *y = draft->y + i * size;
        status = semidual_conjugate(grid, potentials + i * size, y);
        for (size_t c = 0; c < size; c++) {
            x[c] = (potentials[i * size + c] - draft->base[c]) / n_x;
            y[c] = (y[c] - draft->base_star[c]) / n_y;
        }
    }
    return status;
}

static double largest_of(const struct draft *draft)
{
    double largest = SMALLEST; /* all candidates may equal the baseline */
    for (size_t e = 0; e < draft->n_entries; e++) {
        largest = fmax(largest, fmax(fabs(draft->x[e]), fabs(draft->y[e])));
    }
    return largest;
}

static int64_t range_of(const int64_t *table, size_t n)
{
    int64_t least = table[0], most = table[0];
    for (size_t c = 0; c < n; c++) {
        least = table[c] < least ? table[c] : least;
        most = table[c] > most ? table[c] : most;
    }
    return most - least;
}

static void round_tables(struct semidual *semidual, const struct draft *draft,
                         enum adjacency adjacency)
{
    const size_t size = semidual->n_cells;
    /* So |entries| <= 2^24. */
    semidual->unit = ldexp(1, ENTRY_BITS) / largest_of(draft);
    for (size_t e = 0; e < draft->n_entries; e++) {
        semidual->x_table[e] = (int64_t)floor(draft->x[e] * semidual->unit + 0.5);
        semidual->y_table[e] = (int64_t)floor(draft->y[e] * semidual->unit + 0.5);
    }
    semidual->sensitivity = 1;
    for (size_t i = 0; i < semidual->n_candidates; i++) {
        const int64_t x = range_of(semidual->x_table + i * size, size);
        const int64_t y = range_of(semidual->y_table + i * size, size);
        const int64_t moved = adjacency == ADJACENCY_REPLACE_PAIR ? x + y : x > y ? x : y;
        semidual->sensitivity = moved > semidual->sensitivity ? moved : semidual->sensitivity;
    }
}

static dpot_status check_potentials(const double *potentials, size_t n_candidates, size_t size,
                                    size_t n_x, size_t n_y, struct dpot_error *error)
{
    if (n_candidates == 0 || n_candidates > SEMIDUAL_ENTRIES_MAX / size || n_x > UINT32_MAX ||
        n_y > UINT32_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "%zu candidates on %zu cells: give at least one and at most %zu "
                              "numbers in all",
                              n_candidates, size, SEMIDUAL_ENTRIES_MAX);
    }
    for (size_t e = 0; e < n_candidates * size; e++) {
        if (!(fabs(potentials[e]) <= DBL_MAX / 16)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "candidate %zu has the value %g in cell %zu: give finite numbers",
                                  e / size, potentials[e], e % size);
        }
    }
    return DPOT_OK;
}

dpot_status semidual_init(struct semidual *semidual, const struct semidual_grid *grid,
                          const double *potentials, size_t n_candidates, size_t n_x, size_t n_y,
                          enum adjacency adjacency, struct dpot_error *error)
{
    const size_t size = semidual_grid_size(grid);
    *semidual = (struct semidual){0};
    dpot_status status = check_potentials(potentials, n_candidates, size, n_x, n_y, error);
    if (status != DPOT_OK) {
        return status;
    }
    const size_t n = n_candidates * size;
    struct draft draft = {
        .x = dpot_alloc_array(NULL, n, sizeof *draft.x),
        .y = dpot_alloc_array(NULL, n, sizeof *draft.y),
        .base = dpot_alloc_array(NULL, size, sizeof *draft.base),
        .base_star = dpot_alloc_array(NULL, size, sizeof *draft.base_star),
        .n_entries = n,
        .size = size,
    };
    *semidual = (struct semidual){
        .n_candidates = n_candidates,
        .n_cells = size,
        .x_table = dpot_alloc_array(NULL, n, sizeof *semidual->x_table),
        .y_table = dpot_alloc_array(NULL, n, sizeof *semidual->y_table),
    };
    status = draft.x && draft.y && draft.base && draft.base_star && semidual->x_table &&
                     semidual->y_table
                 ? make_draft(&draft, grid, potentials, n_candidates, (double)n_x, (double)n_y)
                 : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        round_tables(semidual, &draft, adjacency);
    } else {
        semidual_release(semidual);
    }
    release_draft(&draft);
    return status;
}

void semidual_release(struct semidual *semidual)
{
    const size_t n = semidual->n_candidates * semidual->n_cells;
    dpot_free_array(NULL, semidual->x_table, n, sizeof *semidual->x_table);
    dpot_free_array(NULL, semidual->y_table, n, sizeof *semidual->y_table);
    *semidual = (struct semidual){0};
}

void semidual_scores(const struct semidual *semidual, const int64_t *x_counts,
                     const int64_t *y_counts, int64_t *scores)
{
    for (size_t i = 0; i < semidual->n_candidates; i++) {
        const int64_t *x = semidual->x_table + i * semidual->n_cells;
        const int64_t *y = semidual->y_table + i * semidual->n_cells;
        int64_t sum = 0;
        for (size_t c = 0; c < semidual->n_cells; c++) {
            sum += x[c] * x_counts[c] + y[c] * y_counts[c];
        }
        scores[i] = sum;
    }
}

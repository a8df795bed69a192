/* Binned pools: cells, counts and laws. */
#include "solve/estimate/deconvolve_cells.h"

#include "base/alloc.h"

#include <math.h>

#define CELLS_MAX ((size_t)1 << 22)
#define TABLE_MAX ((size_t)1 << 26) /* entries of all tables of one kind: 512 MiB */
#define EXPONENT_MAX 500.0          /* range of -ln of the laws of one cell */
#define NARROWEST 0.25              /* cell width, in scales */
#define WIDEST 0.5

/* ---- set-up ---- */

/* ln of the ratio of the largest to the smallest law of a cell, over the domain, for a coordinate
 * of `width` scales. */
static double exponent_of(enum dpot_noise noise, double width, double reach)
{
    return noise == DPOT_NOISE_LAPLACE ? width : width * (width / 2 + reach);
}

static double width_of(const struct deconvolve_config *config, size_t j)
{
    return (config->domain.hi[j] - config->domain.lo[j]) / config->density->scale;
}

/* Number of cells of width h scales for coordinate j. */
static double cells_of(const struct deconvolve_config *config, size_t j, double h)
{
    return ceil((width_of(config, j) + 2 * deconvolve_reach(config->density, config->dim)) / h) + 3;
}

static bool is_small_enough(const struct deconvolve_config *config, double h)
{
    double product = 1, sum = 0;
    for (size_t j = 0; j < config->dim; j++) {
        product *= cells_of(config, j, h);
        sum += cells_of(config, j, h);
    }
    return product <= (double)CELLS_MAX && sum * (double)config->support_size <= (double)TABLE_MAX;
}

/* The cell width in scales; 0: the pool cannot be binned. */
static double choose_width(const struct deconvolve_config *config)
{
    const double reach = deconvolve_reach(config->density, config->dim);
    const double step = config->density->grid_step / config->density->scale;
    double exponent = 0;
    for (size_t j = 0; j < config->dim; j++) {
        exponent += exponent_of(config->density->noise, width_of(config, j), reach);
    }
    if (config->dim > CELLS_AXES || !(exponent <= EXPONENT_MAX)) {
        return 0;
    }
    double h = NARROWEST;
    while (h <= WIDEST && !is_small_enough(config, h)) {
        h *= 1.25;
    }
    if (step > 0) {
        h = step * fmax(1, floor(h / step)); /* a whole number of outputs */
    }
    return h <= fmax(WIDEST, step) && is_small_enough(config, h) ? h : 0;
}

/* Edges are halfway between outputs of the grid, so every output is inside one cell. */
static dpot_status make_axis(const struct deconvolve_config *config, size_t j, double h,
                             struct cells_axis *axis)
{
    const double scale = config->density->scale, step = config->density->grid_step;
    const double reach = deconvolve_reach(config->density, config->dim);
    double first = config->domain.lo[j] - reach * scale;
    axis->n_cells = (size_t)cells_of(config, j, h);
    axis->edges = dpot_alloc_array(config->allocator, axis->n_cells + 1, sizeof *axis->edges);
    if (!axis->edges) {
        return DPOT_ERR_MEMORY;
    }
    if (step > 0) {
        first = (floor(first / step) - 0.5) * step;
    }
    for (size_t c = 1; c < axis->n_cells; c++) {
        axis->edges[c] = first + (double)c * h * scale;
    }
    axis->edges[0] = -INFINITY;
    axis->edges[axis->n_cells] = INFINITY;
    return DPOT_OK;
}

static dpot_status make_tables(const struct deconvolve_config *config, struct cells_axis *axis)
{
    const size_t m = config->support_size, n = axis->n_cells;
    axis->counts = dpot_alloc_array(config->allocator, n, sizeof *axis->counts);
    axis->largest = dpot_alloc_array(config->allocator, n, sizeof *axis->largest);
    axis->law = dpot_alloc_array(config->allocator, n * m, sizeof *axis->law);
    axis->mass = dpot_alloc_array(config->allocator, n * m, sizeof *axis->mass);
    if (config->moves && axis->edges) {
        axis->slope = dpot_alloc_array(config->allocator, n * m, sizeof *axis->slope);
    }
    const bool is_done = axis->counts && axis->largest && axis->law && axis->mass &&
                         (!config->moves || !axis->edges || axis->slope);
    for (size_t i = 0; is_done && i < n * m; i++) {
        axis->law[i] = 1;
    }
    return is_done ? DPOT_OK : DPOT_ERR_MEMORY;
}

/* The cell of y: the last whose lower edge is <= y. */
static size_t find_cell(const struct cells_axis *axis, double y)
{
    size_t low = 0, high = axis->n_cells;
    while (axis->edges && high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (axis->edges[middle] <= y) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void count_reports(struct deconvolve_cells *cells)
{
    const struct deconvolve_config *config = &cells->config;
    for (size_t i = 0; i < config->n; i++) {
        size_t cell = 0;
        for (size_t a = 0; a < CELLS_AXES; a++) {
            struct cells_axis *axis = &cells->axes[a];
            const double *y = config->pool + i * config->dim;
            const size_t c = axis->edges ? find_cell(axis, y[a + config->dim - CELLS_AXES]) : 0;
            axis->counts[c] += 1;
            cell = cell * axis->n_cells + c;
        }
        cells->counts[cell] += 1;
    }
}

static dpot_status make_cells(struct deconvolve_cells *cells, double h)
{
    const struct deconvolve_config *config = &cells->config;
    dpot_status status = DPOT_OK;
    cells->n_axes = config->dim;
    cells->n_cells = 1;
    for (size_t a = 0; status == DPOT_OK && a < CELLS_AXES; a++) {
        struct cells_axis *axis = &cells->axes[a];
        axis->n_cells = 1;
        if (a + config->dim >= CELLS_AXES) {
            status = make_axis(config, a + config->dim - CELLS_AXES, h, axis);
        }
        if (status == DPOT_OK) {
            status = make_tables(config, axis);
        }
        cells->n_cells *= axis->n_cells;
    }
    if (status != DPOT_OK) {
        return status;
    }
    const size_t rows = CELLS_BLOCK * (config->support_size + cells->axes[2].n_cells);
    const size_t columns = CELLS_BLOCK * (2 * cells->axes[1].n_cells + cells->axes[2].n_cells);
    cells->n_scratch = rows > columns ? rows : columns;
    cells->counts = dpot_alloc_array(config->allocator, cells->n_cells, sizeof *cells->counts);
    cells->ratio = dpot_alloc_array(config->allocator, cells->n_cells, sizeof *cells->ratio);
    cells->scratch = dpot_alloc_array(config->allocator, DECONVOLVE_TASKS * cells->n_scratch,
                                      sizeof *cells->scratch);
    return cells->counts && cells->ratio && cells->scratch ? DPOT_OK : DPOT_ERR_MEMORY;
}

dpot_status cells_new(const struct deconvolve_config *config, struct deconvolve_cells **cells)
{
    const double h = choose_width(config);
    *cells = NULL;
    if (h == 0) {
        return DPOT_OK;
    }
    struct deconvolve_cells *made = dpot_alloc_array(config->allocator, 1, sizeof *made);
    if (!made) {
        return DPOT_ERR_MEMORY;
    }
    made->config = *config;
    const dpot_status status = make_cells(made, h);
    if (status != DPOT_OK) {
        cells_free(made);
        return status;
    }
    count_reports(made);
    *cells = made;
    return DPOT_OK;
}

static void release_axis(const struct deconvolve_config *config, struct cells_axis *axis)
{
    const size_t n = axis->n_cells, m = config->support_size;
    dpot_free_array(config->allocator, axis->edges, n + 1, sizeof *axis->edges);
    dpot_free_array(config->allocator, axis->counts, n, sizeof *axis->counts);
    dpot_free_array(config->allocator, axis->largest, n, sizeof *axis->largest);
    dpot_free_array(config->allocator, axis->law, n * m, sizeof *axis->law);
    dpot_free_array(config->allocator, axis->slope, n * m, sizeof *axis->slope);
    dpot_free_array(config->allocator, axis->mass, n * m, sizeof *axis->mass);
}

void cells_free(struct deconvolve_cells *cells)
{
    if (!cells) {
        return;
    }
    const struct dpot_allocator *allocator = cells->config.allocator;
    for (size_t a = 0; a < CELLS_AXES; a++) {
        release_axis(&cells->config, &cells->axes[a]);
    }
    dpot_free_array(allocator, cells->counts, cells->n_cells, sizeof *cells->counts);
    dpot_free_array(allocator, cells->ratio, cells->n_cells, sizeof *cells->ratio);
    dpot_free_array(allocator, cells->scratch, DECONVOLVE_TASKS * cells->n_scratch,
                    sizeof *cells->scratch);
    dpot_free_array(allocator, cells, 1, sizeof *cells);
}

void cells_count(const struct deconvolve_cells *cells, size_t *n_cells, size_t *n_occupied)
{
    *n_cells = cells->n_cells;
    *n_occupied = 0;
    for (size_t i = 0; i < cells->n_cells; i++) {
        *n_occupied += cells->counts[i] > 0;
    }
}

/* ---- tables ---- */

/* Computes one row of a table; rows without reports are never used. */
static void place_row(const struct deconvolve_cells *cells, size_t a, size_t c)
{
    const struct deconvolve_config *config = &cells->config;
    const struct cells_axis *axis = &cells->axes[a];
    const size_t m = config->support_size, j = a + config->dim - CELLS_AXES;
    double *law = axis->law + c * m, largest = 0;
    if (axis->counts[c] == 0) {
        return;
    }
    for (size_t l = 0; l < m; l++) {
        law[l] = dpot_noise_density_interval(config->density, axis->edges[c], axis->edges[c + 1],
                                             cells->x[l * config->dim + j],
                                             axis->slope ? &axis->slope[c * m + l] : NULL);
        largest = fmax(largest, law[l]);
    }
    axis->largest[c] = log(largest);
    for (size_t l = 0; l < m; l++) {
        law[l] /= largest;
    }
}

static void place_task(void *ctx, size_t task)
{
    struct deconvolve_cells *cells = ctx;
    for (size_t a = CELLS_AXES - cells->n_axes; a < CELLS_AXES; a++) {
        const struct deconvolve_span span = deconvolve_share(cells->axes[a].n_cells, task);
        for (size_t c = span.first; c < span.end; c++) {
            place_row(cells, a, c);
        }
    }
}

void cells_place(struct deconvolve_cells *cells, const double *x)
{
    cells->x = x;
    team_run(cells->config.team, DECONVOLVE_TASKS, place_task, cells);
}

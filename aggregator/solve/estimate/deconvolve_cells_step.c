/* Binned pools: the E step as matrix products, and the targets of the M step. */
#include "solve/estimate/deconvolve_cells.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BISECTIONS 40

/* ---- E step: laws of the cells ---- */

/* A2[b,l] w_l A1[a,l] for rows b of a block and columns l of a block. */
static void weigh_rows(const struct deconvolve_cells *cells, size_t a, struct deconvolve_span rows,
                       struct deconvolve_span columns, double *out)
{
    const size_t m = cells->config.support_size, width = columns.end - columns.first;
    const double *first = cells->axes[0].law + a * m + columns.first;
    const double *w = cells->w + columns.first;
    for (size_t b = rows.first; b < rows.end; b++) {
        const double *law = cells->axes[1].law + b * m + columns.first;
        double *row = out + (b - rows.first) * width;
        for (size_t l = 0; l < width; l++) {
            row[l] = law[l] * w[l] * first[l];
        }
    }
}

/* R and the log-likelihood of rows of one slab. */
static double divide_rows(struct deconvolve_cells *cells, size_t a, struct deconvolve_span rows,
                          double *scratch)
{
    const size_t m = cells->config.support_size;
    const size_t n2 = cells->axes[1].n_cells, n3 = cells->axes[2].n_cells;
    const size_t n_rows = rows.end - rows.first;
    const size_t offset = (a * n2 + rows.first) * n3;
    const double *counts = cells->counts + offset;
    double *ratio = cells->ratio + offset, *law = scratch + CELLS_BLOCK * m, sum = 0;
    weigh_rows(cells, a, rows, (struct deconvolve_span){0, m}, scratch);
    cells->config.linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_TRANSPOSE, n_rows, n3, m, 1, scratch, m,
                               cells->axes[2].law, m, 0, law, n3);
    for (size_t i = 0; i < n_rows * n3; i++) {
        const double positive = fmax(law[i], DBL_MIN); /* always true; a bug must not spread NaN */
        ratio[i] = counts[i] > 0 ? counts[i] / positive : 0;
        sum += counts[i] > 0 ? counts[i] * log(positive) : 0;
    }
    return sum;
}

static void divide_task(void *ctx, size_t task)
{
    struct deconvolve_cells *cells = ctx;
    const size_t n2 = cells->axes[1].n_cells;
    const size_t n_blocks = (n2 + CELLS_BLOCK - 1) / CELLS_BLOCK;
    const struct deconvolve_span span = deconvolve_share(cells->axes[0].n_cells * n_blocks, task);
    double *scratch = cells->scratch + task * cells->n_scratch;
    cells->log_likelihood[task] = 0;
    for (size_t i = span.first; i < span.end; i++) {
        const size_t a = i / n_blocks, first = i % n_blocks * CELLS_BLOCK;
        const struct deconvolve_span rows = {first,
                                             first + CELLS_BLOCK < n2 ? first + CELLS_BLOCK : n2};
        if (cells->axes[0].counts[a] > 0) {
            cells->log_likelihood[task] += divide_rows(cells, a, rows, scratch);
        }
    }
}

/* ---- E step: masses ---- */

/* Adds one slab to the masses of a block of columns. */
static void add_slab(struct deconvolve_cells *cells, size_t a, struct deconvolve_span columns,
                     double *scratch)
{
    const struct dpot_linalg *linalg = cells->config.linalg;
    const size_t m = cells->config.support_size, width = columns.end - columns.first;
    const size_t n2 = cells->axes[1].n_cells, n3 = cells->axes[2].n_cells;
    const double *ratio = cells->ratio + a * n2 * n3;
    const double *law3 = cells->axes[2].law + columns.first;
    double *weighed = scratch, *g = scratch + n2 * width, *h = g + n2 * width;
    weigh_rows(cells, a, (struct deconvolve_span){0, n2}, columns, weighed);
    linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, n2, width, n3, 1, ratio, n3, law3, m, 0, g,
                 width);
    linalg->gemm(DPOT_TRANSPOSE, DPOT_NO_TRANSPOSE, n3, width, n2, 1, ratio, n3, weighed, width, 0,
                 h, width);
    for (size_t b = 0; b < n2; b++) {
        for (size_t l = 0; l < width; l++) {
            const double mass = weighed[b * width + l] * g[b * width + l];
            cells->axes[0].mass[a * m + columns.first + l] += mass;
            cells->axes[1].mass[b * m + columns.first + l] += mass;
        }
    }
    for (size_t c = 0; c < n3; c++) {
        for (size_t l = 0; l < width; l++) {
            cells->axes[2].mass[c * m + columns.first + l] += law3[c * m + l] * h[c * width + l];
        }
    }
}

/* ---- M step ---- */

/* The root of a falling slope: sum of q d ln P / dx over the reports below, in and above the cell
 * that the weighted median lies in. */
static double find_median(const struct deconvolve_cells *cells, const struct cells_axis *axis,
                          size_t c, double below, double inside, double above)
{
    const struct dpot_noise_density *density = cells->config.density;
    double low = axis->edges[c], high = axis->edges[c + 1];
    for (int i = 0; isfinite(low) && isfinite(high) && i < BISECTIONS; i++) {
        double slope = 0;
        const double middle = low + (high - low) / 2;
        (void)dpot_noise_density_interval(density, axis->edges[c], axis->edges[c + 1], middle,
                                          &slope);
        if (above - below + inside * slope * density->scale > 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return isfinite(low) ? low : high;
}

static double laplace_target(const struct deconvolve_cells *cells, const struct cells_axis *axis,
                             size_t l, double total)
{
    const size_t m = cells->config.support_size;
    double below = 0;
    size_t c = 0;
    for (; c + 1 < axis->n_cells && below + axis->mass[c * m + l] < total / 2; c++) {
        below += axis->mass[c * m + l];
    }
    const double inside = axis->mass[c * m + l];
    return find_median(cells, axis, c, below, inside, fmax(total - below - inside, 0));
}

/* The mean of the reports given their cells, x + sigma^2 d ln P / dx each (Tweedie). */
static double gaussian_target(const struct deconvolve_cells *cells, const struct cells_axis *axis,
                              size_t l, double total, double x)
{
    const size_t m = cells->config.support_size;
    const double scale = cells->config.density->scale;
    double sum = 0;
    for (size_t c = 0; c < axis->n_cells; c++) {
        sum += axis->mass[c * m + l] * axis->slope[c * m + l] * scale;
    }
    return x + scale * (sum / total);
}

static void find_targets(struct deconvolve_cells *cells, size_t l)
{
    const struct deconvolve_config *config = &cells->config;
    const double total = cells->sums->mass[l];
    for (size_t j = 0; config->moves && j < config->dim; j++) {
        const struct cells_axis *axis = &cells->axes[j + CELLS_AXES - config->dim];
        const double x = cells->x[l * config->dim + j];
        double *target = &cells->sums->target[l * config->dim + j];
        if (!(total > 0)) {
            *target = x; /* no mass */
        } else if (config->density->noise == DPOT_NOISE_LAPLACE) {
            *target = laplace_target(cells, axis, l, total);
        } else {
            *target = gaussian_target(cells, axis, l, total, x);
        }
    }
}

static void clear_columns(struct deconvolve_cells *cells, struct deconvolve_span columns)
{
    const size_t m = cells->config.support_size;
    for (size_t a = 0; a < CELLS_AXES; a++) {
        for (size_t c = 0; c < cells->axes[a].n_cells; c++) {
            memset(cells->axes[a].mass + c * m + columns.first, 0,
                   (columns.end - columns.first) * sizeof *cells->axes[a].mass);
        }
    }
}

static void gather_columns(struct deconvolve_cells *cells, struct deconvolve_span columns,
                           double *scratch)
{
    const size_t m = cells->config.support_size;
    clear_columns(cells, columns);
    for (size_t a = 0; a < cells->axes[0].n_cells; a++) {
        if (cells->axes[0].counts[a] > 0) {
            add_slab(cells, a, columns, scratch);
        }
    }
    for (size_t l = columns.first; l < columns.end; l++) {
        cells->sums->mass[l] = 0;
        for (size_t a = 0; a < cells->axes[0].n_cells; a++) {
            cells->sums->mass[l] += cells->axes[0].mass[a * m + l];
        }
        find_targets(cells, l);
    }
}

static void gather_task(void *ctx, size_t task)
{
    struct deconvolve_cells *cells = ctx;
    const struct deconvolve_span span = deconvolve_share(cells->config.support_size, task);
    for (size_t first = span.first; first < span.end; first += CELLS_BLOCK) {
        const size_t end = first + CELLS_BLOCK < span.end ? first + CELLS_BLOCK : span.end;
        gather_columns(cells, (struct deconvolve_span){first, end},
                       cells->scratch + task * cells->n_scratch);
    }
}

void cells_expect(struct deconvolve_cells *cells, const double *x, const double *w,
                  struct deconvolve_sums *sums)
{
    cells->x = x;
    cells->w = w;
    cells->sums = sums;
    team_run(cells->config.team, DECONVOLVE_TASKS, divide_task, cells);
    team_run(cells->config.team, DECONVOLVE_TASKS, gather_task, cells);
    sums->log_likelihood = 0;
    for (size_t task = 0; task < DECONVOLVE_TASKS; task++) {
        sums->log_likelihood += cells->log_likelihood[task];
    }
    for (size_t a = CELLS_AXES - cells->n_axes; a < CELLS_AXES; a++) {
        const struct cells_axis *axis = &cells->axes[a];
        for (size_t c = 0; c < axis->n_cells; c++) {
            sums->log_likelihood += axis->counts[c] > 0 ? axis->counts[c] * axis->largest[c] : 0;
        }
    }
}

/* dpot central transport-map: chooses the public map that carries one private sample to another. */
#include "base/alloc.h"
#include "central/permute_and_flip.h"
#include "files/number.h"
#include "tool/central/guarantee.h"
#include "tool/central/pair.h"
#include "tool/central/potentials.h"
#include "tool/shared/commands.h"
#include "tool/shared/options.h"
#include "tool/shared/save.h"
#include "json/side_file.h"

#include <string.h>

#define MECHANISM "permute-and-flip"

static const struct option options[] = {
    PAIR_OPTIONS,
    {"grid", "RxC", "its public grid, one size per coordinate, at most 65536 cells"},
    POTENTIALS_OPTIONS,
    GUARANTEE_OPTIONS("replace-one (default: of one file) or replace-pair (one of each)"),
    {"out", "F", "the map: rows of a cell centre and its image (cells, 2 d)"},
    {"potential-out", "F", "the potential whose gradient is the map (cells,)"},
    {NULL, NULL, NULL},
};

struct map_job {
    struct run *run;
    const char *out_path, *potential_path;
    struct guarantee guarantee;
    struct pair pair;
    struct array potentials;
    struct semidual_grid grid;
    struct semidual semidual;
    struct exact_draw draw;
    size_t choice;
};

/* ---- options and inputs ---- */

static dpot_status read_grid(struct map_job *job)
{
    const char *text = NULL;
    const dpot_status status = option_require(job->run, "grid", "its sizes, as in 64x64", &text);
    if (status == DPOT_OK && !number_parse_sides(text, SEMIDUAL_DIM_MAX, SEMIDUAL_CELLS_MAX,
                                                 job->grid.shape, &job->grid.dim)) {
        return RUN_USAGE(job->run,
                         "--grid is %.40s: give the cells of each of 1 to %d coordinates, such as "
                         "64x64, at most %d in all",
                         text, SEMIDUAL_DIM_MAX, SEMIDUAL_CELLS_MAX);
    }
    return status;
}

static dpot_status read_options(struct map_job *job)
{
    struct run *run = job->run;
    dpot_status status =
        guarantee_read(run, ADJACENCY_REPLACE_PAIR, 1.0 / CHOICE_EPSILON_ONE, &job->guarantee);
    if (status == DPOT_OK) {
        status = pair_check_options(run);
    }
    if (status == DPOT_OK) {
        status = read_grid(job);
    }
    if (status == DPOT_OK) {
        status = potentials_check(run);
    }
    if (status == DPOT_OK) {
        status = option_require_array_output(run, "out", "a file for the map", &job->out_path);
    }
    return status == DPOT_OK ? option_array_output(run, "potential-out", &job->potential_path)
                             : status;
}

static dpot_status load_records(struct map_job *job)
{
    const size_t dim = job->grid.dim;
    const dpot_status status = pair_load(job->run, &job->pair);
    return status != DPOT_OK || job->pair.x.n_cols == dim
               ? status
               : dpot_error_set(&job->run->error, DPOT_ERR_SHAPE,
                                "--x and --y have %zu coordinate%s and --grid %zu: they must agree",
                                job->pair.x.n_cols, DPOT_S(job->pair.x.n_cols), dim);
}

static dpot_status load_public(struct map_job *job)
{
    job->grid.lo = job->pair.region.lo;
    job->grid.hi = job->pair.region.hi;
    dpot_status status = potentials_load(job->run, &job->grid, &job->potentials);
    if (status == DPOT_OK) {
        status = semidual_init(&job->semidual, &job->grid, job->potentials.values,
                               job->potentials.n_rows, job->pair.x.n_rows, job->pair.y.n_rows,
                               job->guarantee.adjacency, &job->run->error);
    }
    return status;
}

/* ---- the choice ---- */

static void count_cells(const struct semidual_grid *grid, const struct array *records,
                        int64_t *counts)
{
    for (size_t i = 0; i < records->n_rows; i++) {
        counts[semidual_grid_cell(grid, records->values + i * grid->dim)]++;
    }
}

static uint64_t epsilon_q20(const struct map_job *job)
{
    return (uint64_t)(job->guarantee.epsilon * (double)CHOICE_EPSILON_ONE);
}

static dpot_status choose(struct map_job *job)
{
    const size_t n = job->semidual.n_candidates, n_cells = job->semidual.n_cells;
    int64_t *counts = dpot_alloc_array(NULL, 2 * n_cells, sizeof *counts);
    int64_t *scores = dpot_alloc_array(NULL, n, sizeof *scores);
    size_t *order = dpot_alloc_array(NULL, n, sizeof *order);
    const dpot_status status = counts && scores && order ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        count_cells(&job->grid, &job->pair.x, counts);
        count_cells(&job->grid, &job->pair.y, counts + n_cells);
        semidual_scores(&job->semidual, counts, counts + n_cells, scores);
        job->choice = permute_and_flip(scores, n, job->semidual.sensitivity, epsilon_q20(job),
                                       &job->draw, order);
    }
    dpot_free_secret(NULL, counts, 2 * n_cells, sizeof *counts);
    dpot_free_secret(NULL, scores, n, sizeof *scores);
    dpot_free_secret(NULL, order, n, sizeof *order);
    return status;
}

/* ---- outputs ---- */

static dpot_status write_map(struct map_job *job, const double *potential)
{
    const size_t dim = job->grid.dim, n_cells = job->semidual.n_cells;
    struct array map;
    double *gradient = dpot_alloc_array(NULL, n_cells * dim, sizeof *gradient);
    dpot_status status = array_init(&map, n_cells, 2 * dim, false);
    if (status == DPOT_OK && !gradient) {
        status = DPOT_ERR_MEMORY;
    }
    if (status == DPOT_OK) {
        semidual_gradient(&job->grid, potential, gradient);
        for (size_t c = 0; c < n_cells; c++) {
            semidual_grid_point(&job->grid, c, map.values + 2 * dim * c);
            memcpy(map.values + 2 * dim * c + dim, gradient + dim * c, dim * sizeof *gradient);
        }
        status = array_write(job->out_path, &map, ARRAY_F8, &job->run->error);
    }
    dpot_free_array(NULL, gradient, n_cells * dim, sizeof *gradient);
    array_release(&map);
    return status;
}

static dpot_status write_outputs(struct map_job *job)
{
    struct run *run = job->run;
    const double *potential = job->potentials.values + job->choice * job->semidual.n_cells;
    dpot_status status = write_map(job, potential);
    if (status == DPOT_OK) {
        status = save_values(run, job->potential_path, potential, job->semidual.n_cells, 1, true);
    }
    if (status != DPOT_OK) {
        return status;
    }
    run_put_integer(run, "candidate", job->choice);
    run_put_integer(run, "candidates", job->semidual.n_candidates);
    guarantee_put(run, &job->guarantee, MECHANISM,
                  (double)epsilon_q20(job) / (double)CHOICE_EPSILON_ONE, job->pair.x.n_rows);
    run_put_integer(run, "n_x", job->pair.x.n_rows);
    run_put_integer(run, "n_y", job->pair.y.n_rows);
    run_put_integer(run, "dim", job->grid.dim);
    run_put_integer(run, "cells", job->semidual.n_cells);
    run_put_number(run, "sensitivity", (double)job->semidual.sensitivity / job->semidual.unit);
    return side_file_write(job->out_path, run->result, &run->error);
}

/* ---- the run ---- */

static dpot_status run_transport_map(struct run *run)
{
    struct map_job job = {.run = run};
    size_t dim = 0;
    dpot_status status = read_options(&job);
    if (status == DPOT_OK) {
        status = guarantee_begin(run, &job.guarantee, MECHANISM, &job.draw, &dim);
    }
    if (status == DPOT_OK) {
        status = load_records(&job);
    }
    if (status == DPOT_OK) {
        status = load_public(&job);
    }
    if (status == DPOT_OK) {
        pair_warn_outside(run, &job.pair);
        status = choose(&job);
    }
    if (status == DPOT_OK) {
        status = write_outputs(&job);
    }
    exact_draw_release(&job.draw);
    semidual_release(&job.semidual);
    array_release(&job.potentials);
    pair_release(&job.pair);
    return status;
}

const struct command command_central_transport_map = {
    .name = "central transport-map",
    .summary = "which public map carries one file of raw records to another (pure epsilon-DP)",
    .details =
        "The map is the gradient of one of many public potentials f. It minimises the mean of f\n"
        "over --x plus the mean of its conjugate over --y, up to the noise of permute-and-flip.\n"
        "Candidates must not come from the data: give a file, or --family N, maps that attract\n"
        "to one place and repel from another, drawn with the public --family-seed; the first of\n"
        "a family is the identity. The run time may depend on the data: keep it private.\n"
        "Keys: candidate (its row, counted from 0), candidates, mechanism, epsilon,\n"
        "epsilon_spent, delta, adjacency, guarantee, is_simulation, n_x, n_y, dim, cells,\n"
        "sensitivity (of the objective). The side file F.json has them too.",
    .example =
        "dpot central transport-map --x real.csv --y noisy.csv --grid 32x32 --family 100 \\\n"
        "      --domain '{\"type\":\"box\",\"lo\":[-2,-2],\"hi\":[2,2]}' --epsilon 1 --out map.csv",
    .options = options,
    .run = run_transport_map,
};

/* dpot central coreset: a private measure from a table of records. */
#include "central/coreset.h"
#include "base/alloc.h"
#include "files/array.h"
#include "tool/central/guarantee.h"
#include "tool/central/region.h"
#include "tool/shared/commands.h"
#include "tool/shared/options.h"
#include "json/side_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MECHANISM "private-measure"

static const struct option options[] = {
    RECORDS_OPTIONS,
    REGION_OPTIONS,
    GUARANTEE_OPTIONS("replace-one (default: the number of records is public) or add-remove"),
    SAMPLING_OPTIONS,
    {"depth", "r 1..48",
     "halvings from the box to the smallest cell (default: ceil(log2(epsilon n)))"},
    {"shrink", "s [0,1]", "0: at the centres of the cells; 1: anywhere in the cells (default)"},
    {"n-samples", "N 1..268435456", "number of points to draw (default: one per record)"},
    {"weights-out", "F", "write one point per cell, and their weights to F"},
    {"out", "F", "the points"},
    {NULL, NULL, NULL},
};

/* The measure of one group. */
struct part {
    struct coreset_config config;
    struct coreset coreset;
    size_t n_points; /* of the output */
};

struct coreset_job {
    struct run *run;
    const char *out_path, *weights_path;
    uint64_t depth, n_samples;
    double shrink;
    struct guarantee guarantee;
    struct records records;
    struct region region;
    struct exact_draw draw;
    struct part *parts; /* (records.n_groups) */
    size_t n_parts;
    struct array points, weights;
};

/* ---- options ---- */

static dpot_status read_outputs(struct coreset_job *job)
{
    struct run *run = job->run;
    dpot_status status =
        option_require_array_output(run, "out", "a file for the points", &job->out_path);
    if (status == DPOT_OK) {
        status = option_array_output(run, "weights-out", &job->weights_path);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "n-samples", 1, ARRAY_ENTRIES_MAX, &job->n_samples);
    }
    return status == DPOT_OK ? option_excludes(run, "weights-out", "n-samples",
                                               "cells with their weights are all there is to draw")
                             : status;
}

static dpot_status read_options(struct coreset_job *job)
{
    struct run *run = job->run;
    dpot_status status = guarantee_read(run, ADJACENCY_ADD_REMOVE, 0, &job->guarantee);
    if (status == DPOT_OK) {
        status = records_check_options(run);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "depth", 1, BUDGET_DEPTH_MAX, &job->depth);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "shrink", 0, 1, &job->shrink);
    }
    if (status == DPOT_OK) {
        status = read_outputs(job);
    }
    if (status == DPOT_OK) {
        status = option_excludes(run, "group-column", "population",
                                 "each group has a rate of its own: run them one by one");
    }
    if (status != DPOT_OK || job->guarantee.adjacency == ADJACENCY_REPLACE_ONE) {
        return status;
    }
    if (job->depth == 0) {
        return RUN_USAGE(run, "--adjacency add-remove needs --depth: the number of records is "
                              "private, so it cannot be derived from that; log2 of epsilon times "
                              "a public guess is about right");
    }
    return option_excludes(run, "adjacency", "group-column",
                           "who is in which group, and whether anybody is, would be private too: "
                           "run each group for itself, or take replace-one");
}

/* ---- checks before counting ---- */

static dpot_status check_sizes(struct coreset_job *job)
{
    struct run *run = job->run;
    const struct records *records = &job->records;
    uint64_t n_total = 0, n_cols = records->dim + (records->has_groups ? 1 : 0);
    for (size_t g = 0; g < records->n_groups; g++) {
        const dpot_status status =
            guarantee_check_population(run, &job->guarantee, (uint64_t)records->groups[g].n);
        if (status != DPOT_OK) {
            return status;
        }
        n_total += job->n_samples > 0 ? job->n_samples : (uint64_t)records->groups[g].n;
    }
    const bool is_public = job->guarantee.adjacency == ADJACENCY_REPLACE_ONE || job->n_samples > 0;
    if (!job->weights_path && is_public && n_total > ARRAY_ENTRIES_MAX / n_cols) {
        return dpot_error_set(&run->error, DPOT_ERR_TOO_LARGE,
                              "%llu points of %zu coordinates are too many: take --n-samples N, or "
                              "--weights-out F for one point a cell",
                              (unsigned long long)n_total, records->dim);
    }
    return DPOT_OK;
}

static dpot_status configure(struct coreset_job *job, const struct records_group *group,
                             struct coreset_config *config)
{
    const struct guarantee *guarantee = &job->guarantee;
    const size_t dim = job->region.dim;
    const size_t depth = job->depth > 0 ? (size_t)job->depth
                                        : budget_choose_depth(guarantee->epsilon, (double)group->n);
    *config = (struct coreset_config){
        .partition = {.dim = dim, .depth = depth, .lo = job->region.lo, .hi = job->region.hi},
        .border = job->region.has_border ? &job->region.border : NULL,
        .shrink = job->shrink,
    };

    return guarantee_range_as_usage(job->run,
                                    budget_init(&config->budget, guarantee->epsilon, depth, dim,
                                                guarantee->adjacency, &job->run->error));
}

static void warn_depth(const struct coreset_job *job)
{
    const size_t dim = job->region.dim;
    size_t depth = BUDGET_DEPTH_MAX;
    for (size_t g = 0; g < job->n_parts; g++) {
        const size_t part_depth = job->parts[g].config.budget.depth;
        depth = part_depth < depth ? part_depth : depth;
    }
    if (depth < dim) {
        run_warn(job->run,
                 "the depth %zu halves the first %zu of %zu coordinates only: the others are "
                 "uniform over the box, whatever the data; a larger --depth costs accuracy",
                 depth, depth, dim);
    }
}

static dpot_status prepare(struct coreset_job *job)
{
    const struct records *records = &job->records;
    dpot_status status = check_sizes(job);
    job->parts = dpot_alloc_array(NULL, records->n_groups, sizeof *job->parts);
    job->n_parts = job->parts ? records->n_groups : 0;
    if (status == DPOT_OK && !job->parts) {
        status = DPOT_ERR_MEMORY;
    }
    for (size_t g = 0; status == DPOT_OK && g < records->n_groups; g++) {
        status = configure(job, &records->groups[g], &job->parts[g].config);
    }
    if (status == DPOT_OK) {
        warn_depth(job);
    }
    return status;
}

/* ---- counting ---- */

static size_t points_of(const struct coreset_job *job, const struct part *part)
{
    return job->weights_path    ? part->coreset.leaves.n
           : job->n_samples > 0 ? (size_t)job->n_samples
                                : (size_t)part->coreset.size;
}

static dpot_status count_parts(struct coreset_job *job)
{
    const struct records *records = &job->records;
    dpot_status status = DPOT_OK;
    for (size_t g = 0; status == DPOT_OK && g < job->n_parts; g++) {
        const struct records_group *group = &records->groups[g];
        struct part *part = &job->parts[g];
        status =
            coreset_count(&part->config, records->points + group->begin * records->dim,
                          records->counts ? records->counts + group->begin : NULL,
                          group->end - group->begin, &job->draw, &part->coreset, &job->run->error);
        if (status != DPOT_OK && records->has_groups) {
            status = dpot_error_prefix(&job->run->error, status, "group %.10g", group->name);
        }
        part->n_points = status == DPOT_OK ? points_of(job, part) : 0;
    }
    return status;
}

/* ---- points ---- */

static dpot_status fill_part(struct coreset_job *job, struct part *part, double *points,
                             double *weights)
{
    if (job->weights_path) {
        coreset_weigh(&part->coreset, &job->draw, points, weights);
        return DPOT_OK;
    }
    if (job->n_samples > 0) {
        return coreset_sample(&part->coreset, part->n_points, &job->draw, points);
    }
    coreset_spread(&part->coreset, &job->draw, points);
    return DPOT_OK;
}

/* Inserts a group column before the coordinates of n rows, from the last row to the first. */
static void put_group(double *rows, size_t n, size_t dim, double name)
{
    for (size_t i = n; i-- > 0;) {
        memmove(rows + i * (dim + 1) + 1, rows + i * dim, dim * sizeof *rows);
        rows[i * (dim + 1)] = name;
    }
}

static dpot_status make_arrays(struct coreset_job *job, size_t n_cols)
{
    size_t n = 0;
    for (size_t g = 0; g < job->n_parts; g++) {
        n += job->parts[g].n_points;
    }
    if (n > ARRAY_ENTRIES_MAX / n_cols) {
        return dpot_error_set(
            &job->run->error, DPOT_ERR_TOO_LARGE,
            "the measure has %zu points: take --n-samples N, or --weights-out F for "
            "one point a cell",
            n);
    }
    dpot_status status = array_init(&job->points, n, n_cols, n_cols == 1);
    if (status == DPOT_OK && job->weights_path) {
        status = array_init(&job->weights, n, 1, true);
    }
    return status;
}

static dpot_status fill_arrays(struct coreset_job *job)
{
    const struct records *records = &job->records;
    const size_t dim = records->dim, n_cols = dim + (records->has_groups ? 1 : 0);
    size_t at = 0;
    dpot_status status = make_arrays(job, n_cols);
    for (size_t g = 0; status == DPOT_OK && g < job->n_parts; g++) {
        struct part *part = &job->parts[g];
        double *rows = job->points.values + at * n_cols;
        status = fill_part(job, part, rows, job->weights_path ? job->weights.values + at : NULL);
        if (status == DPOT_OK && records->has_groups) {
            put_group(rows, part->n_points, dim, records->groups[g].name);
        }
        at += part->n_points;
    }
    return status;
}

/* ---- outputs ---- */

static dpot_status write_points(struct coreset_job *job)
{
    const struct records *records = &job->records;
    char before[ARRAY_NAME_MAX + 2] = "";
    if (records->has_groups && records->columns.n_names > 0) {
        (void)snprintf(before, sizeof before, "%s,", records->columns.names[records->group_column]);
    }
    char *header = records_header(records, before);
    const dpot_status status =
        header ? array_write_named(job->out_path, &job->points, header, &job->run->error)
               : array_write(job->out_path, &job->points, ARRAY_F8, &job->run->error);
    free(header);
    return status;
}

static json_t *describe_levels(const struct budget *budget)
{
    json_t *list = json_array();
    for (size_t j = budget->level[0] > 0 ? 0 : 1; j <= budget->depth; j++) {
        const struct discrete_laplace scale = budget_scale(budget, j);
        (void)json_array_append_new(list,
                                    json_pack("{s:i,s:f,s:f}", "level", (int)j, "epsilon",
                                              (double)budget->level[j] / (double)BUDGET_ONE,
                                              "noise_scale", (double)scale.t / (double)scale.s));
    }
    return list;
}

/* Describes one measure; n is public under replace-one only. */
static void put_part(const struct coreset_job *job, const struct part *part, json_t *object)
{
    const bool is_public = job->guarantee.adjacency == ADJACENCY_REPLACE_ONE;
    (void)json_object_set_new(object, is_public ? "n" : "private_n",
                              json_integer((json_int_t)part->coreset.size));
    (void)json_object_set_new(object, "depth", json_integer((json_int_t)part->config.budget.depth));
    (void)json_object_set_new(object, "cells", json_integer((json_int_t)part->coreset.leaves.n));
    (void)json_object_set_new(object, "points", json_integer((json_int_t)part->n_points));
}

static void put_groups(struct coreset_job *job)
{
    json_t *list = json_array();
    for (size_t g = 0; g < job->n_parts; g++) {
        json_t *object = json_object();
        (void)json_object_set_new(object, "group", json_number(job->records.groups[g].name));
        put_part(job, &job->parts[g], object);
        (void)json_array_append_new(list, object);
    }
    run_put(job->run, "groups", list);
    run_put_text(job->run, "composition",
                 "parallel: the groups are disjoint, and who is in which group is public; epsilon "
                 "is for all of them together");
}

static json_t *list_of(const double *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        (void)json_array_append_new(list, json_number(values[i]));
    }
    return list;
}

static void put_result(struct coreset_job *job)
{
    struct run *run = job->run;
    double spent = 0;

    for (size_t g = 0; g < job->n_parts; g++) {
        const double part_spent = budget_spent(&job->parts[g].config.budget);
        spent = part_spent > spent ? part_spent : spent;
    }
    guarantee_put(run, &job->guarantee, MECHANISM, spent, (uint64_t)job->parts[0].coreset.size);
    run_put_integer(run, "dim", job->region.dim);
    if (job->records.has_groups) {
        put_groups(job);
    } else {
        put_part(job, &job->parts[0], run->result);
        run_put(run, "levels", describe_levels(&job->parts[0].config.budget));
    }
    run_put_number(run, "shrink", job->shrink);
    run_put(run, "is_weighted", json_boolean(job->weights_path != NULL));
    run_put(run, "has_border", json_boolean(job->region.has_border));
    run_put(run, "lo", list_of(job->region.lo, job->region.dim));
    run_put(run, "hi", list_of(job->region.hi, job->region.dim));
}

static dpot_status write_outputs(struct coreset_job *job)
{
    struct run *run = job->run;
    dpot_status status = write_points(job);
    if (status == DPOT_OK && job->weights_path) {
        status = array_write(job->weights_path, &job->weights, ARRAY_F8, &run->error);
    }
    if (status == DPOT_OK) {
        put_result(job);
        status = side_file_write(job->out_path, run->result, &run->error);
    }
    return status;
}

/* ---- the run ---- */

static void release(struct coreset_job *job)
{
    for (size_t g = 0; g < job->n_parts; g++) {
        coreset_release(&job->parts[g].coreset);
    }
    dpot_free_array(NULL, job->parts, job->n_parts, sizeof *job->parts);
    array_release(&job->points);
    array_release(&job->weights);
    exact_draw_release(&job->draw);
    region_release(&job->region);
    records_release(&job->records);
}

static dpot_status run_coreset(struct run *run)
{
    struct coreset_job job = {.run = run, .shrink = 1};
    size_t dim = 0;
    dpot_status status = read_options(&job);
    const bool is_replace = job.guarantee.adjacency == ADJACENCY_REPLACE_ONE;
    if (status == DPOT_OK) {
        status = guarantee_begin(run, &job.guarantee, MECHANISM, &job.draw, &dim);
    }
    if (status == DPOT_OK) {
        status = records_load(run, is_replace ? 0 : dim, &job.records);
    }
    if (status == DPOT_OK) {
        status = region_load(run, &job.records, &job.region);
    }
    if (status == DPOT_OK) {
        status = prepare(&job);
    }
    if (status == DPOT_OK) {
        region_warn_outside(run, region_n_outside(&job.region, job.records.points,
                                                  job.records.counts, job.records.n_rows));
        status = count_parts(&job);
    }
    if (status == DPOT_OK) {
        status = fill_arrays(&job);
    }
    if (status == DPOT_OK) {
        status = write_outputs(&job);
    }
    release(&job);
    return status;
}

const struct command command_central_coreset = {
    .name = "central coreset",
    .summary = "a private measure of raw records, by a trusted curator (pure epsilon-DP)",
    .details =
        "Halves a public box repeatedly, counts the records of every cell with exact discrete\n"
        "Laplace noise, makes the counts of children and parents agree, and places points in the\n"
        "cells (He, Vershynin and Zhu 2023, corrected). Computations on the output cost no\n"
        "further privacy. The box, the border and the depth must be public, not derived from the\n"
        "data; records outside the box count at its nearest face. With a border (closed rings,\n"
        "column ring) cells outside it get nothing and points lie inside. The run time may\n"
        "depend on the data: keep it private.\n"
        "Keys: mechanism, epsilon, epsilon_spent, delta, adjacency, guarantee, is_simulation,\n"
        "amplified (epsilon, sampling_rate, assumptions), dim, n (replace-one) or private_n\n"
        "(add-remove), depth, cells, points, levels (level, epsilon, noise_scale), groups\n"
        "(group, n, depth, cells, points), composition, shrink, is_weighted, has_border, lo, hi.\n"
        "The side file F.json has them too.",
    .example =
        "dpot central coreset --data residents.csv --columns lat,lon --count-column people \\\n"
        "      --border border.csv --epsilon 1 --n-samples 500 --out coreset.csv",
    .options = options,
    .run = run_coreset,
};

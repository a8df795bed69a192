/* dpot central barycenter: one private measure near several groups of raw records. */
#include "tool/central/barycenter.h"

#include "base/alloc.h"
#include "tool/commands.h"
#include "tool/load.h"
#include "tool/options.h"
#include "tool/side_file.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    RECORDS_OPTIONS,
    REGION_OPTIONS,
    STATEMENT_OPTIONS("replace-one, the only one: the numbers of records are public"),
    {"method", "M", "coreset (default), or non-private with --simulation"},
    {"support", "m", "m points of equal weights"},
    {"group-weights", "F", "weights of the groups (k,), public (default: equal)"},
    {"depth", "r", "halvings from the box to the smallest cell (default: ceil(log2(epsilon n)))"},
    {"shrink", "s", "0 to 1: points this close to the centres of their cells (default 1)"},
    {"cells", "N", "merge the private measure of a group to at most N points (default 4096)"},
    {"starts", "N", "the best of N starts (default 3)"},
    {"project", "d", "solve in d dimensions, a random projection of the private measures"},
    {"lambda", "L", "entropic plans with this regularisation (default: exact plans)"},
    {"outer", "N", "most iterations (default 500)"},
    {"inner", "N", "with --lambda: most sweeps of a plan (default 2000)"},
    {"tol", "T", "movement to reach, in units of the spread (default 1e-4)"},
    {"out", "F", "the points (m, d)"},
    {NULL, NULL, NULL},
};

/* ---- options ---- */

static dpot_status read_method(struct central_barycenter *job)
{
    const char *text = option_text(job->run, "method");
    if (!text || strcmp(text, "coreset") == 0) {
        job->method = METHOD_CORESET;
        return DPOT_OK;
    }
    if (strcmp(text, "non-private") != 0) {
        return RUN_USAGE(job->run, "--method is %.40s: choose coreset or non-private", text);
    }
    job->method = METHOD_NON_PRIVATE;
    return job->statement.is_simulation
               ? DPOT_OK
               : dpot_error_set(&job->run->error, DPOT_ERR_SIMULATION,
                                "--method non-private protects nobody: it is there to compare "
                                "with, in experiments marked --simulation");
}

static dpot_status read_numbers(struct central_barycenter *job)
{
    struct run *run = job->run;
    const struct {
        const char *name;
        uint64_t max;
        uint64_t *out;
    } integers[] = {
        {"support", BARYCENTER_SUPPORT_MAX, &job->support_size},
        {"depth", BUDGET_DEPTH_MAX, &job->depth},
        {"cells", 1u << 24, &job->cells},
        {"starts", BARYCENTER_STARTS_MAX, &job->n_starts},
        {"project", COLUMNS_MAX, &job->project},
        {"outer", BARYCENTER_ITERATIONS_MAX, &job->outer},
        {"inner", 1000000000, &job->inner},
    };
    const char *text = NULL;
    dpot_status status = option_require(run, "support", "how many points are wanted", &text);
    for (size_t i = 0; status == DPOT_OK && i < sizeof integers / sizeof integers[0]; i++) {
        status = option_integer(run, integers[i].name, 1, integers[i].max, integers[i].out);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "shrink", 0, 1, &job->shrink);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "tol", 0, 1, &job->tol);
    }
    return status == DPOT_OK ? option_positive(run, "lambda", DBL_MAX, &job->lambda) : status;
}

static dpot_status read_options(struct central_barycenter *job)
{
    struct run *run = job->run;
    job->cells = 4096;
    job->n_starts = 3;
    job->outer = 500;
    job->inner = 2000;
    job->tol = 1e-4;
    job->shrink = 1;
    dpot_status status = statement_read(run, ADJACENCY_REPLACE_ONE, &job->statement);
    if (status == DPOT_OK) {
        status = read_method(job);
    }
    if (status == DPOT_OK) {
        status = read_numbers(job);
    }
    if (status == DPOT_OK) {
        status = option_require(run, "out", "a file for the barycenter", &job->out_path);
    }
    return status == DPOT_OK ? option_array_output(run, "out", &job->out_path) : status;
}

static dpot_status load_inputs(struct central_barycenter *job)
{
    struct run *run = job->run;
    dpot_status status = records_load(run, &job->records);
    if (status == DPOT_OK) {
        status = region_load(run, &job->records, &job->region);
    }
    if (status == DPOT_OK && option_is_given(run, "group-weights")) {
        status = load_weights(run, "group-weights", job->records.n_groups, &job->weights);
    }
    return status;
}

/* ---- outputs ---- */

static dpot_status write_points(struct central_barycenter *job)
{
    const struct barycenter_result *r = &job->result;
    struct array array;
    dpot_status status = array_init(&array, r->support_size, r->dim, r->dim == 1);
    if (status == DPOT_OK) {
        memcpy(array.values, r->support, r->support_size * r->dim * sizeof *r->support);
        char *header = records_header(&job->records, "");
        status = header ? array_write_named(job->out_path, &array, header, &job->run->error)
                        : array_write(job->out_path, &array, ARRAY_F8, &job->run->error);
        free(header);
    }
    array_release(&array);
    return status;
}

static void put_groups(const struct central_barycenter *job)
{
    json_t *list = json_array();
    for (size_t g = 0; g < job->n_measures; g++) {
        const struct records_group *group = &job->records.groups[g];
        const struct group_measure *measure = &job->measures[g];
        json_t *object = json_object();
        (void)json_object_set_new(object, "group", json_number(group->name));
        (void)json_object_set_new(object, "n", json_integer((json_int_t)group->n));
        if (job->method == METHOD_CORESET) {
            (void)json_object_set_new(object, "depth", json_integer((json_int_t)measure->depth));
            (void)json_object_set_new(object, "cells", json_integer((json_int_t)measure->cells));
        }
        (void)json_object_set_new(object, "points", json_integer((json_int_t)measure->n));
        (void)json_array_append_new(list, object);
    }
    run_put(job->run, "groups", list);
    if (job->n_measures > 1 && job->method == METHOD_CORESET) {
        run_put_text(job->run, "composition",
                     "parallel: the groups are disjoint, and who is in which group is public; "
                     "epsilon is for all of them together");
    }
}

static void put_statement(struct central_barycenter *job)
{
    double spent = 0;
    for (size_t g = 0; g < job->n_measures; g++) {
        spent = job->measures[g].spent > spent ? job->measures[g].spent : spent;
    }
    const bool is_private = job->method == METHOD_CORESET;
    statement_put(job->run, &job->statement, is_private ? "private-measure" : "none", spent, 0);
    run_put_text(job->run, "method", is_private ? "coreset" : "non-private");
}

static void put_solve(const struct central_barycenter *job)
{
    struct run *run = job->run;
    const struct barycenter_result *r = &job->result;
    run_put_number(run, "cost", job->cost);
    run_put_number(run, "one_point_cost", r->one_point_cost);
    run_put_text(run, "outcome", solve_outcome_name(r->outcome));
    run_put_integer(run, "iterations", r->iterations);
    run_put_integer(run, "starts", r->n_run);
    if (job->lambda > 0) {
        run_put_number(run, "lambda", job->lambda);
    }
    if (job->project > 0) {
        run_put_integer(run, "projected_dim", job->project);
    }
}

/* The cost to the records is theirs: only an experiment may see it. */
static dpot_status put_data_cost(struct central_barycenter *job)
{
    double cost = 0;
    if (!job->statement.is_simulation) {
        return DPOT_OK;
    }
    const dpot_status status = central_data_cost(job, &cost);
    if (status == DPOT_OK) {
        run_put_number(job->run, "data_cost", cost);
    }
    return status;
}

static dpot_status write_outputs(struct central_barycenter *job)
{
    struct run *run = job->run;
    put_statement(job);
    run_put_integer(run, "support", job->result.support_size);
    run_put_integer(run, "dim", job->region.dim);
    put_groups(job);
    put_solve(job);
    dpot_status status = put_data_cost(job);
    if (status == DPOT_OK) {
        status = write_points(job);
    }
    return status == DPOT_OK ? side_file_write(job->out_path, run->result, &run->error) : status;
}

/* ---- the run ---- */

static void release(struct central_barycenter *job)
{
    barycenter_result_release(&job->result);
    central_measures_free(job->measures, job->n_measures, job->region.dim);
    dpot_free_array(NULL, job->sets, job->n_measures, sizeof *job->sets);
    team_free(job->team);
    array_release(&job->weights);
    exact_draw_release(&job->draw);
    region_release(&job->region);
    records_release(&job->records);
}

static dpot_status run_barycenter(struct run *run)
{
    struct central_barycenter job = {.run = run};
    dpot_status status = read_options(&job);
    if (status == DPOT_OK) {
        exact_draw_init(&job.draw, statement_source(run, &job.statement));
        status = team_new(run->n_threads, &job.team);
    }
    if (status == DPOT_OK) {
        status = load_inputs(&job);
    }
    if (status == DPOT_OK) {
        status = central_measures_make(&job);
    }
    if (status == DPOT_OK) {
        status = central_solve(&job);
    }
    if (status == DPOT_OK) {
        status = write_outputs(&job);
    }
    release(&job);
    return status;
}

const struct command command_central_barycenter = {
    .name = "central barycenter",
    .summary = "a private measure near several groups of raw records, by a trusted curator",
    .details =
        "m points that minimise the mean squared Wasserstein distance to private measures of the\n"
        "groups (dpot central coreset): disjoint groups compose in parallel, and all that follows\n"
        "costs no privacy. Without --group-column there is one group, and the result is m points "
        "for\n"
        "it. The box and the border must be public, as must be groups, their sizes and weights.\n"
        "Keys: mechanism, epsilon, epsilon_spent, delta, adjacency, guarantee, is_simulation, "
        "method,\n"
        "support, dim, groups (group, n, depth, cells, points), composition, cost (to the private\n"
        "measures), one_point_cost, outcome, iterations, starts, lambda, projected_dim, data_cost\n"
        "(to the records themselves: with --simulation only); F.json beside the output\n"
        "holds them too. What a run says on stderr, and how long it takes, is for the curator's\n"
        "eyes.",
    .example =
        "dpot central barycenter --data residents.csv --columns lat,lon --count-column people \\\n"
        "      --border border.csv --epsilon 1 --support 8 --out centres.csv",
    .options = options,
    .run = run_barycenter,
};

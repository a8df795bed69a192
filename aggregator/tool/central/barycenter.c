/* dpot central barycenter: a private measure near several groups of raw records. */
#include "tool/central/barycenter.h"

#include "base/alloc.h"
#include "tool/shared/commands.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "json/side_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    RECORDS_OPTIONS,
    REGION_OPTIONS,
    GUARANTEE_OPTIONS("replace-one (the only one): the numbers of records are public"),
    {"method", "coreset|noisy-exact|noisy-agnostic|non-private",
     "default coreset; non-private with --simulation"},
    {"support", "m 1..1048576", "m points of equal weights"},
    {"group-weights", "F", "weights of the groups (k,), public (default: equal)"},
    {"depth", "r 1..48",
     "halvings from the box to the smallest cell (default: ceil(log2(epsilon n)))"},
    {"shrink", "s [0,1]", "0: at the centres of the cells; 1: anywhere in the cells (default)"},
    {"max-points", "N 1..16777216",
     "merge the private measure of a group to at most N points (default 4096)"},
    {"starts", "N 1..10000", "number of starts; the best result is kept (default 3)"},
    {"project", "d 1..2048", "solve in d dimensions, a random projection of the private measures"},
    {"lambda", "L (0,inf)",
     "entropic plans with this regularisation, cost units (default: exact plans)"},
    {"max-iterations", "N 1..1000000", "maximum number of iterations (default 500)"},
    {"max-sweeps", "N 1..1000000000",
     "with --lambda: maximum number of sweeps per plan (default 2000)"},
    {"tol", "T [0,1]", "stop at this movement, in units of the spread (default 1e-4)"},
    {"delta", "D (0,0.01]", "noisy methods: far below 1 / n"},
    {"iterations", "N 1..10000",
     "noisy methods: exactly N iterations, each with noise (default 4)"},
    {"resolution", "N 1..1048576",
     "noisy methods: records are rounded to N cells per axis (default 1024)"},
    {"init", "F", "noisy methods: a public start (m, d) (default: uniform in the domain)"},
    {"init-seed", "N 1..4294967295", "noisy methods: public seed of the start (default 1)"},
    {"out", "F", "the points (m, d)"},
    {NULL, NULL, NULL},
};

/* ---- inputs ---- */

static dpot_status load_inputs(struct central_barycenter *job)
{
    struct run *run = job->run;
    dpot_status status = records_load(run, 0, &job->records);
    if (status == DPOT_OK) {
        status = region_load_ball(run, &job->records, &job->region);
    }
    if (status == DPOT_OK && option_is_given(run, "group-weights")) {
        status = load_measure(run, "group-weights", job->records.n_groups, &job->weights);
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

static void put_measure(const struct central_barycenter *job, const struct group_measure *measure,
                        json_t *object)
{
    if (job->method == METHOD_CORESET) {
        (void)json_object_set_new(object, "depth", json_integer((json_int_t)measure->depth));
        (void)json_object_set_new(object, "cells", json_integer((json_int_t)measure->cells));
    }
    (void)json_object_set_new(object, "points", json_integer((json_int_t)measure->n));
}

static void put_groups(const struct central_barycenter *job)
{
    json_t *list = json_array();
    for (size_t g = 0; g < job->records.n_groups; g++) {
        const struct records_group *group = &job->records.groups[g];
        json_t *object = json_object();
        (void)json_object_set_new(object, "group", json_number(group->name));
        (void)json_object_set_new(object, "n", json_integer((json_int_t)group->n));
        if (!central_is_noisy(job->method)) {
            put_measure(job, &job->measures[g], object);
        }
        (void)json_array_append_new(list, object);
    }
    run_put(job->run, "groups", list);
    if (job->records.n_groups > 1 && job->method != METHOD_NON_PRIVATE) {
        run_put_text(job->run, "composition",
                     "parallel: the groups are disjoint, and who is in which group is public; "
                     "epsilon is for all of them together");
    }
}

static void put_guarantee(struct central_barycenter *job)
{
    double spent = job->epsilon_spent;
    for (size_t g = 0; g < job->n_measures; g++) {
        spent = job->measures[g].spent > spent ? job->measures[g].spent : spent;
    }
    guarantee_put(job->run, &job->guarantee, central_mechanism_name(job->method), spent, 0);
    run_put_text(job->run, "method", central_method_name(job->method));
}

/* All of these values are public. */
static void put_noise(const struct central_barycenter *job)
{
    struct run *run = job->run;
    double longest = 0;
    for (size_t a = 0; a < job->region.dim; a++) {
        longest = fmax(longest, job->region.hi[a] - job->region.lo[a]);
    }
    const double unit = ldexp(longest, -LATTICE_BITS);
    run_put_integer(run, "iterations", job->iterations);
    run_put_number(run, "diameter", job->diameter);
    run_put_number(run, "sensitivity", job->scale.sensitivity * unit);
    run_put_number(run, "noise_scale",
                   ldexp((double)job->scale.sigma, job->scale.log2_grid) * unit);
    run_put_number(run, "grid_step", ldexp(unit, job->scale.log2_grid));
    run_put_number(run, "rho", job->scale.rho_spent);
    run_put_integer(run, "resolution", job->resolution);
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

/* The cost to the records is private: it is reported in simulations only. */
static dpot_status put_data_cost(struct central_barycenter *job)
{
    double cost = 0;
    if (!job->guarantee.is_simulation) {
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
    put_guarantee(job);
    run_put_integer(run, "support", job->result.support_size);
    run_put_integer(run, "dim", job->region.dim);
    put_groups(job);
    if (central_is_noisy(job->method)) {
        put_noise(job);
    } else {
        put_solve(job);
    }
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

static dpot_status solve_measures(struct central_barycenter *job)
{
    const dpot_status status = central_measures_make(job);
    return status == DPOT_OK ? central_solve(job) : status;
}

static dpot_status run_barycenter(struct run *run)
{
    struct central_barycenter job = {.run = run};
    size_t dim = 0;
    dpot_status status = central_read_options(&job);
    if (status == DPOT_OK) {
        status = guarantee_begin(run, &job.guarantee, central_mechanism_name(job.method), &job.draw,
                                 &dim);
    }
    if (status == DPOT_OK) {
        status = team_new(run->n_threads, &job.team);
    }
    if (status == DPOT_OK) {
        status = load_inputs(&job);
    }
    if (status == DPOT_OK) {
        region_warn_outside(run, region_n_outside(&job.region, job.records.points,
                                                  job.records.counts, job.records.n_rows));
        status = central_is_noisy(job.method) ? central_iterate(&job) : solve_measures(&job);
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
        "Finds m points near all groups in squared Wasserstein distance. --method coreset solves\n"
        "for private measures of the groups (dpot central coreset; pure epsilon). noisy-exact\n"
        "moves a public start, with noise in every step scaled to the effect of one record on\n"
        "the exact transport plan, which a tie rule makes unique; noisy-agnostic holds for any\n"
        "plan (both: epsilon and delta). Groups are disjoint and public, and share one epsilon;\n"
        "without --group-column there is one group. The box or l2_ball, the border, the start\n"
        "and the group weights must be public. Points are averages and may lie outside a border\n"
        "that is not convex. The run time may depend on the data: keep it private.\n"
        "Keys: mechanism, epsilon, epsilon_spent, delta, adjacency, guarantee, is_simulation,\n"
        "method, support, dim, groups (group, n, depth, cells, points), composition; coreset:\n"
        "cost (to the private measures), one_point_cost, outcome, iterations, starts, lambda,\n"
        "projected_dim; noisy: iterations, diameter, sensitivity, noise_scale, grid_step, rho,\n"
        "resolution; data_cost (to the records, with --simulation only). The side file F.json\n"
        "has them too.",
    .example =
        "dpot central barycenter --data residents.csv --columns lat,lon --count-column people \\\n"
        "      --border border.csv --epsilon 1 --support 8 --out centres.csv",
    .options = options,
    .run = run_barycenter,
};

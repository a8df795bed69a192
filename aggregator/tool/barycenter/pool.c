/* dpot barycenter --pool: deconvolves the groups of a privatised pool, then averages them. */
#include "tool/barycenter/barycenter.h"

#include "files/number.h"
#include "jobs/pooled_barycenter.h"
#include "pool/describe.h"
#include "tool/shared/campaign_file.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"
#include "tool/shared/provenance.h"
#include "tool/shared/save.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOL_MAX 1e9
#define HEADER_MAX 4096

struct pooled_job {
    struct barycenter_job *job;
    struct run *run;
    struct campaign_file file;
    struct pooled_settings settings;
    struct array pool, group_of; /* reports, and the group of each */
    json_t *side;                /* the side file of the pool; NULL: none */
    struct group_reports reports;
    struct clean_groups groups;
    struct pooled_result result;
    const char *clean_path;
};

/* ---- options ---- */

static dpot_status refuse_others(struct run *run)
{
    static const char *const others[] = {
        "group-files", "weighted",       "init",       "optimize-weights",
        "project",     "lower-bound",    "grid",       "cell",
        "cost",        "fixed",          "metric",     "power",
        "ring-size",   "trajectory-out", "debiased",   "float32",
        "max-sweeps",  "sweep-tol",      "log-domain", "tol"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const dpot_status status = option_excludes(
            run, "pool", others[i], "a pool brings its groups, and --support points are averaged");
        if (status != DPOT_OK) {
            return status;
        }
    }
    return run->n_operands == 0
               ? DPOT_OK
               : RUN_USAGE(run, "\"%.60s\" is one argument too many: a pool brings its groups",
                           run->operands[0]);
}

/* Parses "32x32"; the number of sizes is checked with the campaign. */
static dpot_status read_cells(struct pooled_job *p)
{
    const char *text = option_text(p->run, "deconvolve-grid");
    size_t sides[CLEAN_GRID_DIM_MAX], n = 0;
    bool is_sound = !text || number_parse_sides(text, CLEAN_GRID_DIM_MAX, SIZE_MAX, sides, &n);
    for (size_t j = 0; is_sound && j < n; j++) {
        is_sound = sides[j] <= CLEAN_POINTS_MAX;
        p->settings.clean.cells[j] = (uint32_t)sides[j];
    }
    return is_sound ? DPOT_OK
                    : RUN_USAGE(p->run,
                                "--deconvolve-grid is %.40s: give the cells along each of 1 to %d "
                                "coordinates, such as 32x32",
                                text, CLEAN_GRID_DIM_MAX);
}

static dpot_status read_numbers(struct pooled_job *p)
{
    struct run *run = p->run;
    uint64_t support = POOLED_SUPPORT_DEFAULT, starts = 1, outer = POOLED_ITERATIONS_DEFAULT;
    uint64_t atoms = 0;
    dpot_status status = option_integer(run, "support", 1, POOLED_SUPPORT_MAX, &support);
    if (status == DPOT_OK) {
        status = option_integer(run, "starts", 1, POOLED_STARTS_MAX, &starts);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "max-iterations", 1, BARYCENTER_ITERATIONS_MAX, &outer);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "lambda", DBL_MAX, &p->settings.lambda);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "deconvolve-support", 1, CLEAN_POINTS_MAX, &atoms);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "deconvolve-tol", 0, TOL_MAX, &p->settings.clean.tol);
    }
    p->settings.support = (size_t)support;
    p->settings.n_starts = (size_t)starts;
    p->settings.max_iterations = (size_t)outer;
    p->settings.seed = p->settings.clean.seed = run->seed;
    p->settings.clean.atoms = (size_t)atoms;
    return status;
}

static dpot_status read_options(struct pooled_job *p, const char **campaign)
{
    struct run *run = p->run;
    const char *text = NULL;
    p->settings = (struct pooled_settings){.clean = {.tol = -1}};
    dpot_status status = refuse_others(run);
    if (status == DPOT_OK) {
        status =
            option_require(run, "campaign", "the SPEC or signed campaign of the pool", campaign);
    }
    if (status == DPOT_OK) {
        status = option_require(run, "groups", "the file with the group of every report", &text);
    }
    if (status == DPOT_OK) {
        status = option_either(run, "exact", "lambda");
    }
    if (status == DPOT_OK) {
        status = option_excludes(run, "deconvolve-grid", "deconvolve-support",
                                 "either a grid or points that move");
    }
    if (status == DPOT_OK) {
        status = read_cells(p);
    }
    if (status == DPOT_OK) {
        status = read_numbers(p);
    }
    if (status == DPOT_OK) {
        status =
            option_require_array_output(run, "out", "a file for the barycenter", &p->job->out_path);
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "weights-out", &p->job->weights_path);
    }
    return status == DPOT_OK ? option_array_output(run, "deconvolved-out", &p->clean_path) : status;
}

/* ---- files ---- */

static dpot_status check_shapes(struct pooled_job *p)
{
    struct run *run = p->run;
    const struct dpot_campaign *campaign = &p->file.campaign;
    const size_t n_cols = dpot_mechanism_is_vector(campaign->mechanism) ? campaign->vector.dim : 1;
    int64_t n = (int64_t)p->pool.n_rows;
    if (p->pool.n_cols != n_cols) {
        return dpot_error_set(
            &run->error, DPOT_ERR_SHAPE,
            "--pool has %zu columns and a report of the campaign %zu: is it its pool?",
            p->pool.n_cols, n_cols);
    }
    if (p->group_of.n_cols != 1 || p->group_of.n_rows != p->pool.n_rows) {
        return dpot_error_set(
            &run->error, DPOT_ERR_SHAPE,
            "--groups is %zu x %zu and --pool has %zu reports: give one number each, as "
            "dpot pool --groups-out writes them",
            p->group_of.n_rows, p->group_of.n_cols, p->pool.n_rows);
    }
    dpot_status status = json_get_integer(p->side, "", "n", 0, INT64_MAX, &n, &run->error);
    if (status != DPOT_OK && status != DPOT_ERR_NOT_FOUND) {
        return dpot_error_prefix(&run->error, status, "the side file of --pool");
    }
    if (status == DPOT_OK && (uint64_t)n != p->pool.n_rows) {
        return dpot_error_set(
            &run->error, DPOT_ERR_SHAPE,
            "--pool has %zu report%s and its side file says %lld: export both again",
            p->pool.n_rows, DPOT_S(p->pool.n_rows), (long long)n);
    }
    if (p->pool.n_rows < campaign->min_pool) {
        return RUN_FAIL(
            run, EXIT_CODE_NOT_READY, DPOT_ERR_NOT_OPEN,
            "the pool has %zu of %llu reports: wait until it reaches the campaign's min_pool",
            p->pool.n_rows, (unsigned long long)campaign->min_pool);
    }
    return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
}

static dpot_status check_integer(struct pooled_job *p, const char *option, size_t i, double value)
{
    return value >= 0 && value <= UINT32_MAX && value == floor(value)
               ? DPOT_OK
               : dpot_error_set(&p->run->error, DPOT_ERR_RANGE,
                                "--%s: row %zu is %g: give an integer of at least 0", option, i + 1,
                                value);
}

static dpot_status sort_reports(struct pooled_job *p)
{
    struct run *run = p->run;
    const bool is_vector = dpot_mechanism_is_vector(p->file.campaign.mechanism);
    dpot_status status =
        group_reports_init(&p->file.campaign, p->pool.n_rows, &p->reports, &run->error);
    for (size_t i = 0; status == DPOT_OK && i < p->pool.n_rows; i++) {
        const double *row = p->pool.values + i * p->pool.n_cols;
        status = check_integer(p, "groups", i, p->group_of.values[i]);
        if (status == DPOT_OK && !is_vector) {
            status = check_integer(p, "pool", i, *row);
        }
        if (status == DPOT_OK) {
            status = group_reports_add(&p->reports, (uint32_t)p->group_of.values[i],
                                       is_vector ? 0 : (uint32_t)*row, row, &run->error);
        }
    }
    return status == DPOT_OK ? group_reports_sort(&p->reports, &run->error) : status;
}

/* Checks the groups against the campaign and --group-weights. */
static dpot_status settle_groups(struct pooled_job *p)
{
    struct run *run = p->run;
    const struct dpot_campaign *campaign = &p->file.campaign;
    const double *weights = NULL;
    p->job->n_groups = campaign->n_groups;
    dpot_status status = barycenter_load_group_weights(p->job, &weights);
    if (status == DPOT_OK && weights) {
        p->settings.n_weights = campaign->n_groups;
        memcpy(p->settings.weights, weights, campaign->n_groups * sizeof *weights);
    }
    p->settings.least = pooled_least(campaign);
    if (status == DPOT_OK && group_reports_check_ready(&p->reports, p->settings.least, weights,
                                                       &run->error) != DPOT_OK) {
        run->forced_exit = EXIT_CODE_NOT_READY;
        status = DPOT_ERR_STATE;
    }
    return status;
}

static dpot_status load(struct pooled_job *p, const char *campaign)
{
    struct run *run = p->run;
    dpot_status status = campaign_file_load(run, campaign, &p->file);
    if (status == DPOT_OK) {
        status = clean_groups_check(&p->file.campaign, &p->settings.clean, &run->error);
    }
    if (status == DPOT_OK) {
        status = provenance_check(run, &p->file, "pool", option_text(run, "pool"), &p->side);
    }
    if (status == DPOT_OK) {
        status = load_finite(run, "pool", &p->pool);
    }
    if (status == DPOT_OK) {
        status = load_finite(run, "groups", &p->group_of);
    }
    if (status == DPOT_OK) {
        status = check_shapes(p);
    }
    if (status == DPOT_OK) {
        status = sort_reports(p);
    }
    return status == DPOT_OK ? settle_groups(p) : status;
}

/* ---- the work ---- */

static dpot_status solve(struct pooled_job *p)
{
    struct run *run = p->run;
    struct progress progress;
    const struct solve_control control = progress_control(&progress);
    p->settings.clean.team = p->job->team;
    progress_init(&progress, run, "deconvolution", p->reports.n_groups);
    dpot_status status =
        clean_groups_run(&p->reports, &p->settings.clean, &control, &p->groups, &run->error);
    progress_end(&progress);
    if (status != DPOT_OK) {
        return status;
    }
    progress_init(&progress, run, "barycenter", p->settings.max_iterations * p->settings.n_starts);
    status = pooled_average(&p->groups, &p->settings, &control, &p->result, &run->error);
    progress_end(&progress);
    run->is_stopped =
        !option_is_given(run, "max-iterations") && p->result.barycenter.outcome != SOLVE_CONVERGED;
    return status;
}

/* ---- outputs ---- */

/* Writes rows of group, weight and coordinates. */
static dpot_status write_clean(struct pooled_job *p)
{
    const struct clean_groups *groups = &p->groups;
    const size_t n_cols = 2 + groups->dim, n_rows = groups->n_groups * groups->n_points;
    struct array array = {0};
    char header[HEADER_MAX] = "group,weight";
    if (!p->clean_path) {
        return DPOT_OK;
    }
    for (size_t j = 0, len = strlen(header); j < groups->dim && len + 24 < sizeof header; j++) {
        len += (size_t)snprintf(header + len, sizeof header - len, ",x%zu", j + 1);
    }
    dpot_status status = array_init(&array, n_rows, n_cols, false);
    for (size_t i = 0; status == DPOT_OK && i < n_rows; i++) {
        const struct point_set *set = &groups->sets[i / groups->n_points];
        double *row = array.values + i * n_cols;
        row[0] = (double)(i / groups->n_points);
        row[1] = set->weights[i % groups->n_points];
        memcpy(row + 2, set->points + i % groups->n_points * groups->dim,
               groups->dim * sizeof *row);
    }
    if (status == DPOT_OK) {
        status = array_write_named(p->clean_path, &array, header, &p->run->error);
    }
    array_release(&array);
    return status;
}

static json_t *describe_groups(const struct pooled_job *p)
{
    json_t *list = json_array();
    for (size_t g = 0; g < p->groups.n_groups; g++) {
        const struct clean_group *group = &p->groups.group[g];
        (void)json_array_append_new(
            list, json_pack("{s:s,s:I,s:I,s:s,s:o,s:o}", "label", p->file.campaign.groups[g], "n",
                            (json_int_t)group->n, "steps", (json_int_t)group->iterations, "outcome",
                            solve_outcome_name(group->outcome), "log_likelihood",
                            json_number(group->log_likelihood), "gain", json_number(group->gain)));
    }
    return list;
}

static void put_result(struct pooled_job *p)
{
    struct run *run = p->run;
    const struct barycenter_result *r = &p->result.barycenter;
    double epsilon = NAN, delta = NAN;
    describe_charge(&p->file.campaign, &epsilon, &delta);
    run_put_number(run, "cost", p->result.cost);
    run_put_number(run, "distance", sqrt(p->result.cost));
    run_put_number(run, "data_free_cost", p->result.data_free_cost);
    run_put_number(run, "one_point_cost", r->one_point_cost);
    run_put_number(run, "lower_bound", p->result.lower_bound);
    run_put_text(run, "outcome", solve_outcome_name(r->outcome));
    run_put_integer(run, "iterations", r->iterations);
    run_put(run, "groups", describe_groups(p));
    run_put_integer(run, "n", p->pool.n_rows);
    run_put_integer(run, "dim", p->groups.dim);
    run_put_integer(run, "support", r->support_size);
    run_put_integer(run, "points", p->groups.n_points);
    run_put_text(run, "method", p->settings.lambda > 0 ? "sinkhorn" : "exact");
    run_put_text(run, "mechanism", dpot_mechanism_name(p->file.campaign.mechanism));
    run_put_number(run, "epsilon", epsilon);
    run_put_number(run, "delta", delta);
}

static dpot_status write_outputs(struct pooled_job *p)
{
    struct barycenter_job *job = p->job;
    const struct barycenter_result *r = &p->result.barycenter;
    dpot_status status =
        save_values(job->run, job->out_path, r->support, r->support_size, r->dim, r->dim == 1);
    if (status == DPOT_OK) {
        status = save_values(job->run, job->weights_path, r->weights, r->support_size, 1, true);
    }
    if (status == DPOT_OK) {
        status = write_clean(p);
    }
    if (status == DPOT_OK) {
        put_result(p);
    }
    return status;
}

dpot_status barycenter_run_pool(struct barycenter_job *job)
{
    struct pooled_job p = {.job = job, .run = job->run};
    const char *campaign = NULL;
    dpot_status status = read_options(&p, &campaign);
    if (status == DPOT_OK) {
        status = load(&p, campaign);
    }
    if (status == DPOT_OK) {
        status = team_new(job->run->n_threads, &job->team);
    }
    if (status == DPOT_OK) {
        status = solve(&p);
    }
    if (status == DPOT_OK) {
        status = write_outputs(&p);
    }
    pooled_result_release(&p.result);
    clean_groups_release(&p.groups);
    group_reports_release(&p.reports);
    array_release(&p.pool);
    array_release(&p.group_of);
    json_decref(p.side);
    campaign_file_release(&p.file);
    return status;
}

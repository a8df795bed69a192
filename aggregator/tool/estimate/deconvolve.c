/* dpot deconvolve: the distribution of the data of a pool before the noise. Post-processing
 * only. */
#include "tool/shared/commands.h"

#include "base/alloc.h"
#include "base/rng_seeded.h"
#include "files/number.h"
#include "solve/estimate/deconvolve.h"
#include "tool/shared/noisy_pool.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"
#include "tool/shared/save.h"
#include "json/side_file.h"

#include <math.h>
#include <string.h>

#define SAMPLES_MAX 10000000
#define TOL_MAX 1e6
#define BEYOND_EXPECTED 0.001 /* share of a pool that may be out of reach without a warning */

static const struct option options[] = {
    NOISY_POOL_OPTIONS,
    {"support", "m 1..65536", "find m points and their weights"},
    {"grid", "RxC",
     "weights of the cell centres of a grid over the domain (one size per dimension)"},
    {"free", NULL, "with --grid: the points move too"},
    {"tol", "T (0,1e6]", "stop when a step gains less log-likelihood than this (default 0.01)"},
    {"max-iterations", "N 1..1000000", "maximum number of steps (default 5000)"},
    {"iterations", "N 1..1000000", "exactly N steps instead"},
    {"out", "F", "the points (m, dim)"},
    {"weights-out", "F", "their weights (m,)"},
    {"n-samples", "N 1..10000000", "also draw N points by the weights"},
    {"samples-out", "F", "the drawn points (N, dim)"},
    {"trajectory-out", "F", "rows of step and log_likelihood; a .csv with a header"},
    {NULL, NULL, NULL},
};

struct deconvolve_job {
    struct run *run;
    const char *out_path, *weights_path, *samples_path, *trajectory_path;
    uint32_t shape[DECONVOLVE_GRID_DIM_MAX];
    size_t shape_dim; /* 0: --support */
    uint64_t support_size, n_samples, min_iterations, max_iterations;
    double tol;
    bool moves;
    struct noisy_pool pool;
    struct deconvolve_domain domain;
    double *support; /* (support_size, dim) the start */
    struct deconvolve_result result;
    double started;
};

/* ---- options ---- */

static dpot_status read_shape(struct deconvolve_job *job)
{
    const char *text = option_text(job->run, "grid");
    size_t sides[DECONVOLVE_GRID_DIM_MAX], n = 0;
    if (!number_parse_sides(text, DECONVOLVE_GRID_DIM_MAX, DECONVOLVE_SUPPORT_MAX, sides, &n)) {
        return RUN_USAGE(job->run,
                         "--grid is %.40s: give the cells of each coordinate, such as 32x32, at "
                         "most %d in all",
                         text, DECONVOLVE_SUPPORT_MAX);
    }
    job->shape_dim = (uint32_t)n;
    for (size_t j = 0; j < n; j++) {
        job->shape[j] = (uint32_t)sides[j];
    }
    return DPOT_OK;
}

static dpot_status read_support(struct deconvolve_job *job)
{
    struct run *run = job->run;
    dpot_status status = option_either(run, "support", "grid");
    if (status == DPOT_OK) {
        status = option_integer(run, "support", 1, DECONVOLVE_SUPPORT_MAX, &job->support_size);
    }
    if (status == DPOT_OK) {
        status = option_excludes(run, "support", "free", "its points move anyhow");
    }
    job->moves = option_is_given(run, "support") || option_is_given(run, "free");
    return status == DPOT_OK && option_is_given(run, "grid") ? read_shape(job) : status;
}

static dpot_status read_ending(struct deconvolve_job *job)
{
    struct run *run = job->run;
    uint64_t exactly = 0;
    dpot_status status =
        option_excludes(run, "iterations", "tol", "so many steps are done in any case");
    if (status == DPOT_OK) {
        status = option_excludes(run, "iterations", "max-iterations",
                                 "so many steps are done in any case");
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "tol", TOL_MAX, &job->tol);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "max-iterations", 1, DECONVOLVE_ITERATIONS_MAX,
                                &job->max_iterations);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "iterations", 1, DECONVOLVE_ITERATIONS_MAX, &exactly);
    }
    if (exactly > 0) {
        job->tol = 0;
        job->max_iterations = exactly;
    }
    return status;
}

static dpot_status read_outputs(struct deconvolve_job *job)
{
    struct run *run = job->run;
    dpot_status status =
        option_require_array_output(run, "out", "a file for the points", &job->out_path);
    if (status == DPOT_OK) {
        status = option_array_output(run, "weights-out", &job->weights_path);
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "samples-out", &job->samples_path);
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "trajectory-out", &job->trajectory_path);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "n-samples", 1, SAMPLES_MAX, &job->n_samples);
    }
    if (status == DPOT_OK && (job->n_samples > 0) != (job->samples_path != NULL)) {
        return RUN_USAGE(run, "--n-samples N and --samples-out F go together");
    }
    return status;
}

static dpot_status read_options(struct deconvolve_job *job)
{
    dpot_status status = read_support(job);
    if (status == DPOT_OK) {
        status = read_ending(job);
    }
    return status == DPOT_OK ? read_outputs(job) : status;
}

/* ---- the start ---- */

static dpot_status start_grid(struct deconvolve_job *job)
{
    const size_t dim = job->pool.reports.n_cols;
    if (job->shape_dim != dim) {
        return RUN_USAGE(job->run,
                         "--grid %.40s has %zu sizes and --pool %s has %zu coordinates: give one "
                         "each, or --support m",
                         option_text(job->run, "grid"), job->shape_dim,
                         option_text(job->run, "pool"), dim);
    }
    job->support_size = deconvolve_grid(&job->domain, dim, job->shape, NULL);
    if (job->support_size == 0) {
        return RUN_USAGE(job->run,
                         "--grid %.40s has no cell centre inside the domain: take a finer one",
                         option_text(job->run, "grid"));
    }
    job->support = dpot_alloc_array(NULL, job->support_size * dim, sizeof *job->support);
    if (!job->support) {
        return DPOT_ERR_MEMORY;
    }
    (void)deconvolve_grid(&job->domain, dim, job->shape, job->support);
    return DPOT_OK;
}

static dpot_status start_support(struct deconvolve_job *job)
{
    const struct noisy_pool *pool = &job->pool;
    const size_t dim = pool->reports.n_cols;
    job->domain = (struct deconvolve_domain){
        .lo = pool->lo,
        .hi = pool->hi,
        .l1_radius = pool->set == DPOT_VECTOR_L1_BALL ? pool->radius : 0,
        .l2_radius = pool->set == DPOT_VECTOR_L2_BALL ? pool->radius : 0,
    };
    if (job->shape_dim > 0) {
        return start_grid(job);
    }
    if (job->support_size > ARRAY_ENTRIES_MAX / dim) {
        return RUN_USAGE(job->run, "--support %llu of %zu coordinates is too much: take fewer",
                         (unsigned long long)job->support_size, dim);
    }
    job->support = dpot_alloc_array(NULL, job->support_size * dim, sizeof *job->support);
    if (!job->support) {
        return DPOT_ERR_MEMORY;
    }
    deconvolve_spread(&job->domain, dim, job->support_size, job->run->seed, job->support);
    return DPOT_OK;
}

/* ---- outputs ---- */

static double uniform(struct dpot_rng *rng)
{
    return ldexp((double)(dpot_rng_u64(rng) >> 11), -53);
}

static size_t draw_point(struct dpot_rng *rng, const double *weights, size_t m)
{
    double rest = uniform(rng);
    size_t l = 0;
    while (l + 1 < m && rest >= weights[l]) {
        rest -= weights[l++];
    }
    return l;
}

static dpot_status write_samples(struct deconvolve_job *job)
{
    struct array array = {0};
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    const size_t dim = job->pool.reports.n_cols;
    if (!job->samples_path) {
        return DPOT_OK;
    }
    if (job->n_samples > ARRAY_ENTRIES_MAX / dim) {
        return RUN_USAGE(job->run, "--n-samples %llu of %zu coordinates is too much: take fewer",
                         (unsigned long long)job->n_samples, dim);
    }
    dpot_status status = array_init(&array, job->n_samples, dim, dim == 1);
    if (status != DPOT_OK) {
        return status;
    }
    dpot_rng_seeded_init(&seeded, job->run->seed, 0);
    dpot_rng_init(&rng, job->run->has_seed ? &seeded.source : &dpot_rng_source_sodium);
    for (size_t i = 0; i < job->n_samples; i++) {
        const size_t l = draw_point(&rng, job->result.weights, job->support_size);
        memcpy(array.values + i * dim, job->result.support + l * dim, dim * sizeof(double));
    }
    dpot_rng_release(&rng);
    status = array_write(job->samples_path, &array, ARRAY_F8, &job->run->error);
    array_release(&array);
    return status;
}

static dpot_status write_trajectory(struct deconvolve_job *job)
{
    struct array array = {0};
    if (!job->trajectory_path) {
        return DPOT_OK;
    }
    dpot_status status = array_init(&array, job->result.iterations + 1, 2, false);
    for (size_t t = 0; status == DPOT_OK && t <= job->result.iterations; t++) {
        array.values[2 * t] = (double)t;
        array.values[2 * t + 1] = job->result.curve[t];
    }
    if (status == DPOT_OK) {
        status = array_write_named(job->trajectory_path, &array, "step,log_likelihood",
                                   &job->run->error);
    }
    array_release(&array);
    return status;
}

static void put_result(struct deconvolve_job *job)
{
    struct run *run = job->run;
    const struct deconvolve_result *result = &job->result;
    const struct noisy_pool *pool = &job->pool;
    const bool is_laplace = pool->density.noise == DPOT_NOISE_LAPLACE;
    run_put_integer(run, "n", pool->reports.n_rows);
    run_put_integer(run, "dim", pool->reports.n_cols);
    run_put_integer(run, "support", job->support_size);
    run_put(run, "free", json_boolean(job->moves));
    run_put_text(run, "noise", is_laplace ? "laplace" : "gaussian");
    run_put_number(run, "noise_scale", pool->density.scale);
    run_put_text(run, "domain", pool->domain);
    run_put_text(run, "outcome", solve_outcome_name(result->outcome));
    run_put_integer(run, "iterations", result->iterations);
    run_put_number(run, "log_likelihood", result->log_likelihood);
    run_put_number(run, "gain", result->gain);
    run_put_integer(run, "cells", result->n_cells);
    run_put_integer(run, "occupied_cells", result->n_occupied);
    run_put_integer(run, "beyond", result->n_beyond);
    run_put(run, "campaign_hash",
            pool->campaign_hash[0] ? json_string(pool->campaign_hash) : json_null());
    run_put_number(run, "seconds", progress_seconds() - job->started);
}

static void warn_of_result(const struct deconvolve_job *job)
{
    const double share = (double)job->result.n_beyond / (double)job->pool.reports.n_rows;
    if (share > BEYOND_EXPECTED) {
        run_warn(
            job->run,
            "%.3g %% of the reports are farther outside the domain than the noise reaches: are "
            "--domain and --scale those of this pool?",
            100 * share);
    }
    if (!job->weights_path && job->support_size > 1) {
        run_warn(job->run, "the points have different weights: --weights-out F keeps them");
    }
}

static dpot_status write_outputs(struct deconvolve_job *job)
{
    const struct deconvolve_result *result = &job->result;
    const size_t m = job->support_size, dim = job->pool.reports.n_cols;
    dpot_status status = save_values(job->run, job->out_path, result->support, m, dim, dim == 1);
    if (status == DPOT_OK) {
        status = save_values(job->run, job->weights_path, result->weights, m, 1, true);
    }
    if (status == DPOT_OK) {
        status = write_samples(job);
    }
    if (status == DPOT_OK) {
        status = write_trajectory(job);
    }
    if (status == DPOT_OK) {
        put_result(job);
        warn_of_result(job);
        status = side_file_write(job->out_path, job->run->result, &job->run->error);
    }
    return status;
}

/* ---- the work ---- */

static dpot_status solve(struct deconvolve_job *job, struct team *team)
{
    struct progress progress;
    struct deconvolve *solver = NULL;
    const struct deconvolve_config config = {
        .density = &job->pool.density,
        .n = job->pool.reports.n_rows,
        .dim = job->pool.reports.n_cols,
        .pool = job->pool.reports.values,
        .domain = job->domain,
        .support_size = job->support_size,
        .support = job->support,
        .moves = job->moves,
        .min_iterations = job->min_iterations,
        .max_iterations = job->max_iterations,
        .tol = job->tol,
        .linalg = dpot_linalg_openblas(),
        .team = team,
    };
    const struct solve_control control = progress_control(&progress);
    dpot_status status = deconvolve_new(&config, &solver, &job->run->error);
    if (status == DPOT_OK) {
        progress_init(&progress, job->run, "deconvolution", config.max_iterations);
        deconvolve_run(solver, &control, &job->result);
        progress_end(&progress);
        job->run->is_stopped = job->tol > 0 && job->result.outcome != SOLVE_CONVERGED;
        status = write_outputs(job);
    }
    deconvolve_free(solver);
    return status;
}

static dpot_status run_deconvolve(struct run *run)
{
    struct deconvolve_job job = {
        .run = run,
        .tol = DECONVOLVE_TOL,
        .min_iterations = DECONVOLVE_MIN_ITERATIONS,
        .max_iterations = DECONVOLVE_MAX_ITERATIONS,
        .started = progress_seconds(),
    };
    struct team *team = NULL;
    dpot_status status = read_options(&job);
    if (status == DPOT_OK) {
        status = noisy_pool_load(run, &job.pool);
    }
    if (status == DPOT_OK) {
        status = start_support(&job);
    }
    if (status == DPOT_OK) {
        status = team_new(run->n_threads, &team);
    }
    if (status == DPOT_OK) {
        status = solve(&job, team);
    }
    team_free(team);
    dpot_free_array(NULL, job.support, job.support_size * job.pool.reports.n_cols,
                    sizeof *job.support);
    noisy_pool_release(&job.pool);
    return status;
}

const struct command command_deconvolve = {
    .name = "deconvolve",
    .summary = "the distribution of the data of a pool of noisy vectors, without a network",
    .details =
        "Maximum likelihood by EM: points of the domain and weights that, with noise, explain\n"
        "the reports best. Mechanism, scale, grid and domain come from the side file F.json of\n"
        "the pool, which dpot pool and dpot simulate write; an option that contradicts it is\n"
        "refused. The SPEC of --domain is {\"type\":\"box\",\"lo\":[..],\"hi\":[..]} or\n"
        "{\"type\":\"l1_ball\"|\"l2_ball\",\"radius\":R,\"dim\":D}; a smaller set that surely "
        "holds\n"
        "the data makes the result sharper. With a transform use coefficients (dpot pool\n"
        "--coefficients).\n"
        "Steps stop early on purpose: the maximum would fit the noise. Exit code 5 when\n"
        "--max-iterations is reached first. Keys: n, dim, support (points), free, noise,\n"
        "noise_scale, domain (option, campaign, pool), outcome, iterations, log_likelihood\n"
        "(nats, of the pool as binned), gain (of the last step), cells (0: not binned),\n"
        "occupied_cells, beyond (reports farther outside the domain than the noise reaches),\n"
        "campaign_hash, seconds. The side file F.json of the output has them too.",
    .example = "dpot deconvolve --pool noisy.csv --mechanism laplace --scale 0.5 \\\n"
               "      --domain '{\"type\":\"box\",\"lo\":[-1,-1],\"hi\":[1,1]}' --support 50 \\\n"
               "      --out clean.csv --weights-out weights.csv",
    .options = options,
    .run = run_deconvolve,
};

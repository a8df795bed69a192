#include "jobs/clean_groups.h"

#include "base/alloc.h"
#include "pool/channel.h"
#include "solve/estimate/channel_em.h"
#include "solve/estimate/deconvolve.h"

#include <math.h>
#include <string.h>

/* Default cells per side, by dimension: about a thousand cells in all. */
static const uint32_t cells_of_dim[CLEAN_GRID_DIM_MAX] = {256, 32, 10};

/* ---- refusals ---- */

/* dim is at most CLEAN_GRID_DIM_MAX; cells of size 0 are not given. */
static dpot_status check_cells(uint32_t dim, const uint32_t cells[CLEAN_GRID_DIM_MAX],
                               struct dpot_error *error)
{
    uint64_t size = 1;
    uint32_t n = 0;
    while (n < CLEAN_GRID_DIM_MAX && cells[n] > 0 && size <= CLEAN_POINTS_MAX) {
        size *= cells[n] <= CLEAN_POINTS_MAX ? cells[n] : CLEAN_POINTS_MAX + 1;
        n++;
    }
    return n == dim && size <= CLEAN_POINTS_MAX
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE,
                                "cells has %u number%s with the product %llu: give one for each of "
                                "the %u coordinates, at most %d in all",
                                (unsigned)n, DPOT_S(n), (unsigned long long)size, (unsigned)dim,
                                CLEAN_POINTS_MAX);
}

static dpot_status check_vector(const struct dpot_campaign *campaign,
                                const struct clean_options *options, struct dpot_error *error)
{
    if (campaign->vector.transform.id != DPOT_TRANSFORM_NONE) {
        return dpot_error_set(
            error, DPOT_ERR_SHAPE,
            "the campaign's reports are coefficients of a transform: barycenters are made of "
            "data as they are, choose a campaign without one");
    }
    if (options->cells[0] > 0 && campaign->vector.dim > CLEAN_GRID_DIM_MAX) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "a grid over %u coordinates is too large: it has at most %d, use atoms",
            (unsigned)campaign->vector.dim, CLEAN_GRID_DIM_MAX);
    }
    return options->cells[0] > 0 ? check_cells(campaign->vector.dim, options->cells, error)
                                 : DPOT_OK;
}

dpot_status clean_groups_check(const struct dpot_campaign *campaign,
                               const struct clean_options *options, struct dpot_error *error)
{
    if (campaign->n_groups == 0) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "the campaign \"%s\" has no groups, and a barycenter is that of several: "
            "name them in \"groups\" of the SPEC, before devices report",
            campaign->name);
    }
    if (dpot_mechanism_is_vector(campaign->mechanism)) {
        return check_vector(campaign, options, error);
    }
    if (options->cells[0] > 0 || options->atoms > 0) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "cells and atoms are for vectors: the points of this campaign are its domain's");
    }
    if (campaign->metric.id == DPOT_METRIC_RING) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "the campaign's points are positions on a ring, which have no mean: a barycenter is "
            "that of points whose coordinates can be averaged");
    }
    if (campaign->domain.size > CLEAN_POINTS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the domain has %u points: at most %d are averaged",
                              (unsigned)campaign->domain.size, CLEAN_POINTS_MAX);
    }
    return channel_check(campaign, error);
}

/* ---- the work ---- */

struct cleaning {
    const struct group_reports *reports;
    const struct clean_options *options;
    const struct solve_control *control;
    struct clean_groups *groups;
    double *channel; /* index: (n_points, outputs) */
    double *lo, *hi; /* vectors: (dim) */
    struct deconvolve_domain domain;
    struct dpot_error *error;
};

static bool stops(void *ctx)
{
    const struct cleaning *c = ctx;
    return solve_control_must_end(c->control);
}

static size_t limit(const struct cleaning *c, size_t most)
{
    return c->options->max_iterations > 0 ? c->options->max_iterations : most;
}

static dpot_status allocate(struct cleaning *c, size_t n_points, size_t dim, bool is_shared)
{
    struct clean_groups *groups = c->groups;
    const size_t k = c->reports->n_groups;
    groups->n_groups = k;
    groups->n_points = n_points;
    groups->dim = dim;
    groups->is_shared = is_shared;
    groups->points = dpot_alloc_array(NULL, (is_shared ? 1 : k) * n_points * dim, sizeof(double));
    groups->weights = dpot_alloc_array(NULL, k * n_points, sizeof(double));
    groups->group = dpot_alloc_array(NULL, k, sizeof *groups->group);
    groups->sets = dpot_alloc_array(NULL, k, sizeof *groups->sets);
    groups->free = dpot_alloc_array(NULL, n_points * dim, sizeof(double));
    if (!groups->points || !groups->weights || !groups->group || !groups->sets || !groups->free) {
        return dpot_error_set(c->error, DPOT_ERR_MEMORY,
                              "out of memory for %zu groups of %zu points", k, n_points);
    }
    for (size_t g = 0; g < k; g++) {
        groups->group[g].n = c->reports->n_of[g];
        groups->sets[g] =
            (struct point_set){n_points, groups->points + (is_shared ? 0 : g * n_points * dim),
                               groups->weights + g * n_points};
        groups->weights[g * n_points] = 1; /* of a group without reports */
    }
    return DPOT_OK;
}

/* ---- index mechanisms ---- */

static dpot_status prepare_index(struct cleaning *c)
{
    const struct dpot_campaign *campaign = c->reports->campaign;
    const size_t n_points = campaign->domain.size;
    dpot_status status = allocate(c, n_points, campaign->domain.dim, true);
    if (status != DPOT_OK) {
        return status;
    }
    dpot_domain_points(&campaign->domain, c->groups->points);
    memcpy(c->groups->free, c->groups->points, n_points * c->groups->dim * sizeof(double));
    c->channel = dpot_alloc_array(NULL, n_points * c->reports->n_outputs, sizeof *c->channel);
    if (!c->channel) {
        return dpot_error_set(c->error, DPOT_ERR_MEMORY, "out of memory for a channel of %zu x %zu",
                              n_points, c->reports->n_outputs);
    }
    return channel_fill(campaign, stops, c, c->channel, c->error);
}

static dpot_status clean_index(struct cleaning *c, size_t g, const struct solve_control *control)
{
    struct clean_group *group = &c->groups->group[g];
    struct channel_em_result result;
    const struct channel_em_config config = {
        .n_inputs = c->groups->n_points,
        .n_outputs = c->reports->n_outputs,
        .channel = c->channel,
        .counts = c->reports->counts + g * c->reports->n_outputs,
        .min_iterations = CHANNEL_EM_MIN_ITERATIONS,
        .max_iterations = limit(c, CHANNEL_EM_MAX_ITERATIONS),
        .tol = c->options->tol >= 0 ? c->options->tol : CHANNEL_EM_TOL,
        .linalg = dpot_linalg_openblas(),
    };
    const dpot_status status = channel_em_run(&config, control, &result, c->error);
    if (status == DPOT_OK) {
        memcpy(c->groups->weights + g * c->groups->n_points, result.weights,
               c->groups->n_points * sizeof(double));
        group->log_likelihood = result.log_likelihood;
        group->gain = result.gain;
        group->iterations = result.iterations;
        group->outcome = result.outcome;
    }
    channel_em_result_release(&result);
    return status;
}

/* ---- vector mechanisms ---- */

/* The set that devices clip to, in data units. */
static dpot_status make_domain(struct cleaning *c)
{
    const struct dpot_vector_domain *vector = &c->reports->campaign->vector;
    c->lo = dpot_alloc_array(NULL, vector->dim, sizeof *c->lo);
    c->hi = dpot_alloc_array(NULL, vector->dim, sizeof *c->hi);
    if (!c->lo || !c->hi) {
        return dpot_error_set(c->error, DPOT_ERR_MEMORY, "out of memory");
    }
    for (uint32_t j = 0; j < vector->dim; j++) {
        c->lo[j] = (double)dpot_vector_lo(vector, j) * vector->grid_step;
        c->hi[j] = (double)dpot_vector_hi(vector, j) * vector->grid_step;
    }
    const double radius = (double)vector->radius * vector->grid_step;
    c->domain = (struct deconvolve_domain){
        .lo = c->lo,
        .hi = c->hi,
        .l1_radius = vector->set == DPOT_VECTOR_L1_BALL ? radius : 0,
        .l2_radius = vector->set == DPOT_VECTOR_L2_BALL ? radius : 0,
    };
    return DPOT_OK;
}

static dpot_status prepare_vector(struct cleaning *c)
{
    const size_t dim = c->reports->dim;
    const struct clean_options *options = c->options;
    uint32_t shape[CLEAN_GRID_DIM_MAX];
    dpot_status status = make_domain(c);
    if (status != DPOT_OK) {
        return status;
    }
    if (options->atoms > 0 || dim > CLEAN_GRID_DIM_MAX) {
        const size_t n_atoms = options->atoms > 0 ? options->atoms : CLEAN_ATOMS_DEFAULT;
        status = allocate(c, n_atoms, dim, false);
        if (status == DPOT_OK) {
            deconvolve_spread(&c->domain, dim, n_atoms, options->seed, c->groups->free);
        }
        return status;
    }
    for (size_t j = 0; j < dim; j++) {
        shape[j] = options->cells[0] > 0 ? options->cells[j] : cells_of_dim[dim - 1];
    }
    const size_t n_points = deconvolve_grid(&c->domain, dim, shape, NULL);
    if (n_points == 0) {
        return dpot_error_set(
            c->error, DPOT_ERR_RANGE,
            "no cell of the grid has its centre inside the domain: give more cells");
    }
    status = allocate(c, n_points, dim, true);
    if (status == DPOT_OK) {
        (void)deconvolve_grid(&c->domain, dim, shape, c->groups->free);
        memcpy(c->groups->points, c->groups->free, n_points * dim * sizeof(double));
    }
    return status;
}

static dpot_status clean_vector(struct cleaning *c, size_t g, const struct solve_control *control)
{
    struct clean_groups *groups = c->groups;
    struct dpot_noise_density density;
    struct deconvolve *solver = NULL;
    struct deconvolve_result result;
    const struct deconvolve_config config = {
        .density = &density,
        .n = (size_t)c->reports->n_of[g],
        .dim = c->reports->dim,
        .pool = group_reports_rows(c->reports, g),
        .domain = c->domain,
        .support_size = groups->n_points,
        .support = groups->free,
        .moves = !groups->is_shared,
        .min_iterations = DECONVOLVE_MIN_ITERATIONS,
        .max_iterations = limit(c, DECONVOLVE_MAX_ITERATIONS),
        .tol = c->options->tol >= 0 ? c->options->tol : DECONVOLVE_TOL,
        .linalg = dpot_linalg_openblas(),
        .team = c->options->team,
    };
    dpot_status status = dpot_noise_density_init_campaign(&density, c->reports->campaign, c->error);
    if (status == DPOT_OK) {
        status = deconvolve_new(&config, &solver, c->error);
    }
    if (status == DPOT_OK) {
        const size_t n_points = groups->n_points;
        deconvolve_run(solver, control, &result);
        memcpy(groups->weights + g * n_points, result.weights, n_points * sizeof(double));
        if (!groups->is_shared) {
            memcpy(groups->points + g * n_points * groups->dim, result.support,
                   n_points * groups->dim * sizeof(double));
        }
        groups->group[g] = (struct clean_group){c->reports->n_of[g], result.log_likelihood,
                                                result.gain, result.iterations, result.outcome};
    }
    deconvolve_free(solver);
    return status;
}

/* ---- all groups ---- */

static dpot_status clean_all(struct cleaning *c)
{
    dpot_status status = DPOT_OK;
    struct solve_control quiet = {0};
    enum solve_outcome outcome = SOLVE_CONVERGED;
    if (c->control) {
        quiet = *c->control;
        quiet.progress = NULL;
    }
    for (size_t g = 0; status == DPOT_OK && g < c->reports->n_groups; g++) {
        if (c->reports->n_of[g] > 0) {
            status = c->channel ? clean_index(c, g, &quiet) : clean_vector(c, g, &quiet);
        }
        if (status != DPOT_OK) {
            status = dpot_error_prefix(c->error, status, "group \"%s\"",
                                       c->reports->campaign->groups[g]);
        }
        if (solve_control_stops(c->control, g + 1, c->reports->n_groups, &outcome)) {
            break;
        }
    }
    return status;
}

dpot_status clean_groups_run(const struct group_reports *reports,
                             const struct clean_options *options,
                             const struct solve_control *control, struct clean_groups *groups,
                             struct dpot_error *error)
{
    struct cleaning c = {.reports = reports,
                         .options = options,
                         .control = control,
                         .groups = groups,
                         .error = error};
    *groups = (struct clean_groups){0};
    dpot_status status = clean_groups_check(reports->campaign, options, error);
    if (status == DPOT_OK) {
        status = reports->counts ? prepare_index(&c) : prepare_vector(&c);
    }
    if (status == DPOT_OK && !solve_control_must_end(control)) {
        status = clean_all(&c);
    }
    dpot_free_array(NULL, c.channel, groups->n_points * reports->n_outputs, sizeof *c.channel);
    dpot_free_array(NULL, c.lo, reports->dim, sizeof *c.lo);
    dpot_free_array(NULL, c.hi, reports->dim, sizeof *c.hi);
    if (status != DPOT_OK) {
        clean_groups_release(groups);
    }
    return status;
}

void clean_groups_release(struct clean_groups *groups)
{
    const size_t k = groups->n_groups, n = groups->n_points;
    dpot_free_array(NULL, groups->points, (groups->is_shared ? 1 : k) * n * groups->dim,
                    sizeof(double));
    dpot_free_array(NULL, groups->weights, k * n, sizeof(double));
    dpot_free_array(NULL, groups->group, k, sizeof *groups->group);
    dpot_free_array(NULL, groups->sets, k, sizeof *groups->sets);
    dpot_free_array(NULL, groups->free, n * groups->dim, sizeof(double));
    *groups = (struct clean_groups){0};
}

/* The Wasserstein projection mechanism: project the device's measure onto the LDP polytope of the
 * base measure, entropically (002, Algorithm 1) or, where the campaign says so, exactly (002,
 * section 4; ot/few_projection.h), and draw one output point from the projection.
 *
 * Claim. Neighbours: any two device measures, including measures of different support (local
 * model). Guarantee: pure epsilon-LDP with epsilon = E / 2^32, for every campaign that passes
 * `check` (1 <= E <= 20 2^32, sum L <= N <= sum U). Theorem: exact-privacy, Theorem A; it is the
 * integer form of 002, Proposition 3.2. With sample_first the law is a mixture of laws of the same
 * polytope, so the claim stands.
 *
 * What rounding may break: nothing. Costs, kernel and projection are doubles and decide utility
 * only; the draw is from integers W with L <= W <= U and sum W = N whatever the projection left in
 * q, NaN included.
 *
 * Work. Entropic: the same for every measure, n_max rows, padding included, and a fixed number of
 * iterations. Exact: the same memory and the same cost rows for every measure, but rows without
 * mass take no part, and the number of augmenting paths is the data's. So time tells, within a
 * public bound: their searches look at no more costs than DPOT_ITERATIONS_MAX sweeps would, the most
 * that any campaign may ask for. Sending at public slots hides it (exact-privacy, rule 0.3), as it
 * hides the time of float kernels. Where the bound is met q is feasible and not the best, which is
 * utility only. After workspace_new nothing allocates and nothing can fail. */
#include "base/crypto.h"
#include "mechanism/ground.h"
#include "mechanism/index.h"
#include "mechanism/mechanism.h"
#include "ot/few_projection.h"
#include "ot/projection.h"

#include <float.h>
#include <math.h>

_Static_assert(DPOT_EXACT_N_MAX_MAX == DPOT_FEW_ROWS_MAX, "the campaign's limit is the solver's");

#define COST_BITS 40 /* of the largest cost, that the exact solver looks at */

struct workspace {
    struct dpot_index index; /* first: see index.h */
    struct dpot_ground ground;
    size_t n_rows;                      /* n_max */
    double *mu;                         /* (n_rows) */
    struct dpot_projection *projection; /* entropic, or NULL */
    struct dpot_few_projection *exact;  /* exact, or NULL */
    double cost_step;                   /* exact: power of two that costs are rounded to, or 0 */
};

static size_t workspace_bytes(const struct dpot_campaign *campaign)
{
    const size_t n_rows = campaign->n_max;
    const size_t bytes = sizeof(struct workspace) + dpot_index_bytes(campaign) +
                         dpot_ground_bytes(campaign) + sizeof(double) * n_rows;
    return dpot_bytes_add(bytes, campaign->solver == DPOT_SOLVER_EXACT
                                     ? dpot_few_projection_bytes(n_rows, campaign->output.size)
                                     : dpot_projection_bytes(n_rows, campaign->output.size));
}

static void workspace_free(void *workspace)
{
    struct workspace *w = workspace;
    if (!w) {
        return;
    }
    const struct dpot_allocator *allocator = w->index.allocator;
    dpot_projection_free(w->projection);
    dpot_few_projection_free(w->exact);
    dpot_free_secret(allocator, w->mu, w->n_rows, sizeof(double));
    dpot_ground_release(&w->ground);
    dpot_index_release(&w->index);
    dpot_free_array(allocator, w, 1, sizeof *w);
}

static dpot_status new_entropic(struct workspace *w)
{
    const struct dpot_campaign *campaign = w->index.campaign;
    const struct dpot_projection_config config = {
        .n_rows = w->n_rows,
        .n_cols = w->index.n_cols,
        .lambda = campaign->lambda,
        .cost_range = dpot_ground_cost_bound(campaign),
        .polytope = &w->index.polytope,
        .allocator = w->index.allocator,
    };
    return dpot_projection_new(&config, &w->projection);
}

static dpot_status new_exact(struct workspace *w)
{
    const struct dpot_few_projection_config config = {
        .n_rows = w->n_rows,
        .n_cols = w->index.n_cols,
        .polytope = &w->index.polytope,
        .allocator = w->index.allocator,
        .looks_max = (uint64_t)DPOT_ITERATIONS_MAX * w->n_rows * w->index.n_cols,
    };
    const double bound = dpot_ground_cost_bound(w->index.campaign);
    w->cost_step = bound >= 0x1p-900 && bound <= DBL_MAX ? ldexp(1, ilogb(bound) - COST_BITS) : 0;
    return dpot_few_projection_new(&config, &w->exact);
}

static dpot_status new_projection(struct workspace *w, struct dpot_error *error)
{
    const dpot_status status =
        w->index.campaign->solver == DPOT_SOLVER_EXACT ? new_exact(w) : new_entropic(w);
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "the projection of %zu rows onto %zu points: %s",
                              w->n_rows, w->index.n_cols, dpot_status_text(status));
    }
    return DPOT_OK;
}

static void project(void *workspace, const struct dpot_measure *own);

static dpot_status workspace_new(const struct dpot_campaign *campaign,
                                 const struct dpot_allocator *allocator, void **workspace,
                                 struct dpot_error *error)
{
    *workspace = NULL;
    struct workspace *w = dpot_alloc_array(allocator, 1, sizeof *w);
    if (!w) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the mechanism");
    }
    dpot_status status = dpot_index_init(&w->index, project, campaign, allocator, error);
    if (status == DPOT_OK) {
        status = dpot_ground_init(&w->ground, campaign, allocator, error);
    }
    w->n_rows = campaign->n_max;
    w->mu = dpot_alloc_array(allocator, w->n_rows, sizeof(double));
    if (status == DPOT_OK && !w->mu) {
        status = dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu rows", w->n_rows);
    }
    if (status == DPOT_OK) {
        status = new_projection(w, error);
    }
    if (status != DPOT_OK) {
        workspace_free(w);
        return status;
    }
    *workspace = w;
    return DPOT_OK;
}

/* Costs that are equal but for rounding become equal, so that ties are broken by the number of the
 * column and a processor whose library rounds distances otherwise ends at the same law. */
static void round_costs(double *row, size_t n, double step)
{
    for (size_t j = 0; step > 0 && j < n; j++) {
        row[j] = step * rint(row[j] / step);
    }
}

/* mu and the cost rows of the support; missing rows count as weight 0 on point 0. */
static void load_measure(struct workspace *w, const struct dpot_measure *own)
{
    const size_t n_rows = own->support_size < w->n_rows ? own->support_size : w->n_rows;
    double *cost =
        w->exact ? dpot_few_projection_cost(w->exact) : dpot_projection_cost(w->projection);
    for (size_t r = 0; r < w->n_rows; r++) {
        w->mu[r] = r < n_rows ? own->weights[r] : 0;
        double *row = cost + r * w->index.n_cols;
        dpot_ground_row(&w->ground, r < n_rows ? own->support[r] : 0, row);
        round_costs(row, w->index.n_cols, w->cost_step);
    }
}

/* q, the law it would like. */
static void project(void *workspace, const struct dpot_measure *own)
{
    struct workspace *w = workspace;
    load_measure(w, own);
    if (w->exact) {
        dpot_few_projection_run(w->exact, w->mu, w->index.q, NULL);
    } else {
        dpot_projection_run(w->projection, w->mu, w->index.campaign->iterations, 0, w->index.q,
                            NULL);
    }
    dpot_wipe(w->mu, w->n_rows * sizeof *w->mu);
}

const struct dpot_mechanism dpot_mechanism_wpm = {
    .id = DPOT_MECHANISM_WPM,
    .check = dpot_index_check,
    .charge = dpot_index_charge,
    .workspace_bytes = workspace_bytes,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
    .privatize = dpot_index_privatize,
    .law = dpot_index_law,
};

/* The Wasserstein projection mechanism: projects the device's measure onto the LDP polytope of the
 * base measure, entropically (002, Algorithm 1) or, if the campaign says so, exactly (002, section
 * 4; ot/few_projection.h), and draws one output point from the projection.
 *
 * Claim. Neighbours: any two device measures, also of different support (local model). Guarantee:
 * pure epsilon-LDP with epsilon = E / 2^32, for every campaign that passes `check` (1 <= E <= 20
 * 2^32, sum L <= N <= sum U). Proof: client/doc/exact-privacy.md, Theorem A, the integer form of
 * 002, Proposition 3.2. With sample_first the law is a mixture of laws of the same polytope, for
 * which the theorem holds too. Rounding cannot violate it: costs, kernel and projection decide
 * utility only; the draw is from integers W with L <= W <= U and sum W = N for any q, NaN included.
 *
 * Work: the same for every measure: n_max cost rows, padding included, and a fixed number of
 * iterations (entropic) or steps (exact). The exact solver takes passes n_max (n_max + outputs)
 * steps: what it needs, and the rest after the draw, by the same loops on the same arrays. If it
 * runs out of steps, q is feasible but not optimal. The rest does not affect the law, so `law`
 * omits it. The workspace depends on the campaign only: a copy of the campaign with fewer passes or
 * iterations gives a privatizer with shorter runs, for measuring. After workspace_new nothing
 * allocates or fails. */
#include "base/crypto.h"
#include "mechanism/ground.h"
#include "mechanism/index.h"
#include "mechanism/mechanism.h"
#include "ot/few_projection.h"
#include "ot/projection.h"

_Static_assert(DPOT_EXACT_N_MAX_MAX == DPOT_FEW_ROWS_MAX, "the campaign's limit is the solver's");

#define SWEEP_STEPS 32 /* per output, besides one per row */

struct workspace {
    struct dpot_index index; /* first: see index.h */
    struct dpot_ground ground;
    size_t n_rows;                      /* n_max */
    double *mu;                         /* (n_rows) */
    struct dpot_projection *projection; /* entropic, or NULL */
    struct dpot_few_projection *exact;  /* exact, or NULL */
    int cost_scale;                     /* exact: scale of rounded costs */
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
        .passes = dpot_campaign_passes(w->index.campaign),
    };
    w->cost_scale = dpot_few_projection_scale(dpot_ground_cost_bound(w->index.campaign));
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

/* Loads the cost row of a domain point. For the exact solver it is rounded, so that costs that
 * differ only by rounding are equal: ties then go to the lowest column, and a processor whose math
 * library rounds differently finds the same law. */
static void load_row(struct workspace *w, size_t r, uint32_t point)
{
    const size_t n_cols = w->index.n_cols;
    if (!w->exact) {
        dpot_ground_row(&w->ground, point, dpot_projection_cost(w->projection) + r * n_cols);
        return;
    }
    double *row = w->index.q; /* not in use yet */
    uint32_t *rounded = dpot_few_projection_cost(w->exact) + r * n_cols;
    dpot_ground_row(&w->ground, point, row);
    for (size_t j = 0; j < n_cols; j++) {
        rounded[j] = dpot_few_projection_round(row[j], w->cost_scale);
    }
}

/* Loads mu and the cost rows of the support; missing rows count as weight 0 on point 0. */
static void load_measure(struct workspace *w, const struct dpot_measure *own)
{
    const size_t n_rows = own->support_size < w->n_rows ? own->support_size : w->n_rows;
    for (size_t r = 0; r < w->n_rows; r++) {
        w->mu[r] = r < n_rows ? own->weights[r] : 0;
        load_row(w, r, r < n_rows ? own->support[r] : 0);
    }
}

/* Fills q with the law that the mechanism wants. */
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

static void privatize(void *workspace, const struct dpot_private_measure *private_measure,
                      struct dpot_rng *rng, struct dpot_report *report)
{
    struct workspace *w = workspace;
    dpot_index_privatize(workspace, private_measure, rng, report);
    if (w->exact) {
        (void)dpot_few_projection_burn(w->exact);
    }
}

static uint64_t steps(const struct dpot_campaign *campaign)
{
    const uint64_t n_rows = campaign->n_max, n_cols = campaign->output.size;
    const uint64_t own = campaign->solver == DPOT_SOLVER_EXACT
                             ? dpot_campaign_passes(campaign) * n_rows * (n_rows + n_cols)
                             : campaign->iterations * n_cols * (n_rows + SWEEP_STEPS);
    return dpot_index_steps(campaign) + own;
}

const struct dpot_mechanism dpot_mechanism_wpm = {
    .id = DPOT_MECHANISM_WPM,
    .check = dpot_index_check,
    .charge = dpot_index_charge,
    .steps = steps,
    .workspace_bytes = workspace_bytes,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
    .privatize = privatize,
    .law = dpot_index_law,
};

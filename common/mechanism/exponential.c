/* The exponential mechanism (McSherry and Talwar 2007) with the expected cost as utility (002,
 * section 5.2):
 *
 *     u(mu, j) = - sum_i mu_i C_ij,   q_j proportional to exp(epsilon u(mu, j) / (2 Delta)),
 *
 * with Delta the campaign's sensitivity, max_j (max_i C_ij - min_i C_ij) (mechanism/baselines.h).
 * The law is then projected onto the LDP polytope of the base measure and drawn from in integers,
 * as in every index mechanism. With its own base measure, m_j = sqrt(min_i q_ij max_i q_ij) over
 * point masses i, the polytope contains the law of every point mass, and in practice of every
 * mixture: it is unchanged.
 *
 * Claim. Pure epsilon-LDP with epsilon = E / 2^32 between any two device measures, for every
 * campaign that passes `check` (client/doc/exact-privacy.md, Theorem A), and not by the usual
 * argument from Delta: a campaign with a wrong Delta loses utility, not privacy. sample_first and
 * rounding: as wpm.c.
 *
 * Work: the costs of n_max rows, padding included, then one exponential per point and the search of
 * ot/polytope.h in a fixed number of steps: the same for every measure. After workspace_new nothing
 * allocates or fails. */
#include "base/crypto.h"
#include "mechanism/baselines.h"
#include "mechanism/ground.h"
#include "mechanism/index.h"
#include "mechanism/mechanism.h"

struct workspace {
    struct dpot_index index; /* first: see index.h */
    struct dpot_ground ground;
    double *row; /* (n_cols) costs of one point */
};

static size_t workspace_bytes(const struct dpot_campaign *campaign)
{
    return sizeof(struct workspace) + dpot_index_bytes(campaign) + dpot_ground_bytes(campaign) +
           sizeof(double) * campaign->output.size;
}

static void workspace_free(void *workspace)
{
    struct workspace *w = workspace;
    if (!w) {
        return;
    }
    const struct dpot_allocator *allocator = w->index.allocator;
    dpot_free_secret(allocator, w->row, w->index.n_cols, sizeof(double));
    dpot_ground_release(&w->ground);
    dpot_index_release(&w->index);
    dpot_free_array(allocator, w, 1, sizeof *w);
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
    w->row = dpot_alloc_array(allocator, w->index.n_cols, sizeof(double));
    if (status == DPOT_OK && !w->row) {
        status = dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu output points",
                                w->index.n_cols);
    }
    if (status != DPOT_OK) {
        workspace_free(w);
        return status;
    }
    *workspace = w;
    return DPOT_OK;
}

/* q_j = sum_i mu_i C_ij; missing rows count as weight 0 on point 0. */
static void load_mean_costs(struct workspace *w, const struct dpot_measure *own)
{
    const size_t n_max = w->index.campaign->n_max, n_cols = w->index.n_cols;
    const size_t n_rows = own->support_size < n_max ? own->support_size : n_max;
    double *q = w->index.q;
    for (size_t j = 0; j < n_cols; j++) {
        q[j] = 0;
    }
    for (size_t r = 0; r < n_max; r++) {
        const double weight = r < n_rows ? own->weights[r] : 0;
        dpot_ground_row(&w->ground, r < n_rows ? own->support[r] : 0, w->row);
        for (size_t j = 0; j < n_cols; j++) {
            q[j] += weight * w->row[j];
        }
    }
    dpot_wipe(w->row, n_cols * sizeof *w->row);
}

static void project(void *workspace, const struct dpot_measure *own)
{
    struct workspace *w = workspace;
    const struct dpot_campaign *campaign = w->index.campaign;
    const double epsilon = dpot_epsilon_to_double(campaign->epsilon_q32);
    load_mean_costs(w, own);
    dpot_exponential_law(epsilon / (2 * campaign->sensitivity), w->index.q, w->index.n_cols);
    dpot_index_project(&w->index);
}

const struct dpot_mechanism dpot_mechanism_exponential = {
    .id = DPOT_MECHANISM_EXPONENTIAL,
    .check = dpot_index_check,
    .charge = dpot_index_charge,
    .steps = dpot_index_steps,
    .workspace_bytes = workspace_bytes,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
    .privatize = dpot_index_privatize,
    .law = dpot_index_law,
};

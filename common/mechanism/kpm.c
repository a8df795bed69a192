/* The KL projection mechanism (Husain et al. 2020; Park et al. 2024; 002, section 2.2): projects
 * the device's measure onto the LDP polytope of the base measure in KL divergence, and draws one
 * point from the projection. Reports name points of the domain itself; the ground cost is not used.
 *
 *     q_j = min(max(mu_j / r, lower_j), upper_j),  r such that sum q = 1
 *
 * With its own base measure, e^(epsilon/2) / (e^epsilon + k - 1) for each of k points, this is the
 * published mechanism max(mu_j / r, 1 / (e^epsilon + k - 1)), and on point masses k-ary randomised
 * response. A campaign may sign another base measure.
 *
 * Claim. Pure epsilon-LDP with epsilon = E / 2^32 between any two device measures, for every
 * campaign that passes `check` (client/doc/exact-privacy.md, Theorem A). sample_first and rounding:
 * as wpm.c.
 *
 * Work: n_max rows, padding included, then the search for r (ot/polytope.h) in a fixed number of
 * steps: the same for every measure. After workspace_new nothing allocates or fails. */
#include "mechanism/index.h"
#include "mechanism/mechanism.h"

struct workspace {
    struct dpot_index index; /* first: see index.h */
};

static dpot_status check(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    if (!campaign->output_is_domain && !dpot_domain_equal(&campaign->domain, &campaign->output)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "output has other points than domain: kpm reports points of the "
                              "domain, so output must be the same");
    }
    return dpot_index_check(campaign, error);
}

static size_t workspace_bytes(const struct dpot_campaign *campaign)
{
    return sizeof(struct workspace) + dpot_index_bytes(campaign);
}

static void workspace_free(void *workspace)
{
    struct workspace *w = workspace;
    if (!w) {
        return;
    }
    const struct dpot_allocator *allocator = w->index.allocator;
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
    const dpot_status status = dpot_index_init(&w->index, project, campaign, allocator, error);
    if (status != DPOT_OK) {
        workspace_free(w);
        return status;
    }
    *workspace = w;
    return DPOT_OK;
}

/* mu on the whole domain, then q; missing rows count as weight 0 on point 0. */
static void project(void *workspace, const struct dpot_measure *own)
{
    struct workspace *w = workspace;
    const size_t n_max = w->index.campaign->n_max;
    const size_t n_rows = own->support_size < n_max ? own->support_size : n_max;
    double *q = w->index.q;
    for (size_t j = 0; j < w->index.n_cols; j++) {
        q[j] = 0;
    }
    for (size_t r = 0; r < n_max; r++) {
        const uint32_t point = r < n_rows ? own->support[r] : 0;
        q[point < w->index.n_cols ? point : 0] += r < n_rows ? own->weights[r] : 0;
    }
    dpot_index_project(&w->index);
}

const struct dpot_mechanism dpot_mechanism_kpm = {
    .id = DPOT_MECHANISM_KPM,
    .check = check,
    .charge = dpot_index_charge,
    .steps = dpot_index_steps,
    .workspace_bytes = workspace_bytes,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
    .privatize = dpot_index_privatize,
    .law = dpot_index_law,
};

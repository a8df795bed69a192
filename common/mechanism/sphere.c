/* The Wasserstein projection mechanism on a sphere (002, Appendix H), with the directions of a
 * codebook.
 *
 * Device data are unit vectors; the report names one of K directions, which follow from its id
 * (mechanism/codebook.h). The base measure is uniform on these. The law of a device with one vector
 * has the upper probability on the directions nearest to it, a cap, and the lower one on the
 * others; with more vectors it is the exact projection (ot/few_projection.h).
 *
 * Claim. Neighbours: any two sets of vectors (local model). Guarantee: the pair (id, index) is pure
 * epsilon-LDP with epsilon = E / 2^32, for every campaign that passes `check` (1 <= E <= 20 2^32,
 * sum L <= N <= sum U). Proof: client/doc/exact-privacy.md, Theorem A, public randomness: the id is
 * drawn before the data are read, and given the id the codebook is a public list. The directions
 * are not used in the proof: bad ones would cost utility only. sample_first and rounding: as wpm.c.
 *
 * Work: all K directions and n_max rows of costs, then the projection in a fixed number of steps as
 * in wpm.c: the same for all data. After workspace_new nothing allocates or fails. */
#include "base/crypto.h"
#include "mechanism/codebook.h"
#include "mechanism/index.h"
#include "mechanism/mechanism.h"
#include "ot/few_projection.h"

#include <math.h>

_Static_assert(DPOT_EXACT_N_MAX_MAX == DPOT_FEW_ROWS_MAX, "the campaign's limit is the solver's");

#define COORDINATE_STEPS 16 /* per coordinate of a direction */

struct workspace {
    struct dpot_index index; /* first: see index.h */
    size_t n_rows;           /* n_max */
    double *mu;              /* (n_rows) */
    double *direction;       /* (dim) */
    int cost_scale;
    struct dpot_few_projection *projection;
};

static size_t workspace_bytes(const struct dpot_campaign *campaign)
{
    const size_t n_rows = campaign->n_max, dim = campaign->domain.dim;
    const size_t bytes =
        sizeof(struct workspace) + dpot_index_bytes(campaign) + sizeof(double) * (n_rows + dim);
    return dpot_bytes_add(bytes, dpot_few_projection_bytes(n_rows, campaign->output.size));
}

static void workspace_free(void *workspace)
{
    struct workspace *w = workspace;
    if (!w) {
        return;
    }
    const struct dpot_allocator *allocator = w->index.allocator;
    dpot_few_projection_free(w->projection);
    dpot_free_secret(allocator, w->mu, w->n_rows, sizeof(double));
    dpot_free_array(allocator, w->direction, w->index.campaign ? w->index.campaign->domain.dim : 0,
                    sizeof(double));
    dpot_index_release(&w->index);
    dpot_free_array(allocator, w, 1, sizeof *w);
}

static dpot_status allocate(struct workspace *w, struct dpot_error *error)
{
    const struct dpot_campaign *campaign = w->index.campaign;
    const struct dpot_allocator *allocator = w->index.allocator;
    const struct dpot_few_projection_config config = {.n_rows = campaign->n_max,
                                                      .n_cols = w->index.n_cols,
                                                      .polytope = &w->index.polytope,
                                                      .allocator = allocator,
                                                      .passes = dpot_campaign_passes(campaign)};
    w->n_rows = campaign->n_max;
    w->cost_scale = dpot_few_projection_scale(pow(2, campaign->cost_power));
    w->mu = dpot_alloc_array(allocator, w->n_rows, sizeof(double));
    w->direction = dpot_alloc_array(allocator, campaign->domain.dim, sizeof(double));
    dpot_status status = w->mu && w->direction ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status = dpot_few_projection_new(&config, &w->projection);
    }
    return status == DPOT_OK
               ? status
               : dpot_error_set(error, status,
                                "the projection of %zu vectors onto %zu directions: %s", w->n_rows,
                                w->index.n_cols, dpot_status_text(status));
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
        status = allocate(w, error);
    }
    if (status != DPOT_OK) {
        workspace_free(w);
        return status;
    }
    *workspace = w;
    return DPOT_OK;
}

/* |x - v|^p of two unit vectors: (2 - 2 <x, v>)^(p/2). */
static double cost_of(double dot, double power)
{
    const double square = fmax(2 - 2 * dot, 0);
    return power == 2 ? square : power == 1 ? sqrt(square) : pow(square, power / 2);
}

static void load_directions(void *workspace, const double *points,
                            const uint8_t report_id[DPOT_REPORT_ID_LEN])
{
    struct workspace *w = workspace;
    const struct dpot_campaign *campaign = w->index.campaign;
    const uint32_t dim = campaign->domain.dim;
    const size_t n_cols = w->index.n_cols;
    uint32_t *cost = dpot_few_projection_cost(w->projection);
    struct dpot_codebook codebook;
    dpot_codebook_init(&codebook, campaign, report_id);
    for (size_t j = 0; j < n_cols; j++) {
        dpot_codebook_direction(&codebook, (uint32_t)j, w->direction);
        for (size_t r = 0; r < w->n_rows; r++) {
            double dot = 0;
            for (uint32_t i = 0; i < dim; i++) {
                dot += points[r * dim + i] * w->direction[i];
            }
            const double here = cost_of(dot, campaign->cost_power);
            cost[r * n_cols + j] = dpot_few_projection_round(here, w->cost_scale);
        }
    }
}

/* Fills q with the law that the mechanism wants. The measure's support numbers the loaded rows. */
static void project(void *workspace, const struct dpot_measure *own)
{
    struct workspace *w = workspace;
    for (size_t r = 0; r < w->n_rows; r++) {
        w->mu[r] = 0;
    }
    for (size_t r = 0; r < own->support_size && r < w->n_rows; r++) {
        const uint32_t row = own->support[r];
        w->mu[row < w->n_rows ? row : 0] += own->weights[r];
    }
    dpot_few_projection_run(w->projection, w->mu, w->index.q, NULL);
    dpot_wipe(w->mu, w->n_rows * sizeof *w->mu);
}

static void privatize(void *workspace, const struct dpot_private_measure *private_measure,
                      struct dpot_rng *rng, struct dpot_report *report)
{
    struct workspace *w = workspace;
    dpot_index_privatize(workspace, private_measure, rng, report);
    (void)dpot_few_projection_burn(w->projection);
}

static uint64_t steps(const struct dpot_campaign *campaign)
{
    const uint64_t n_rows = campaign->n_max, n_cols = campaign->output.size;
    return dpot_index_steps(campaign) + COORDINATE_STEPS * n_cols * campaign->domain.dim +
           dpot_campaign_passes(campaign) * n_rows * (n_rows + n_cols);
}

const struct dpot_mechanism dpot_mechanism_sphere = {
    .id = DPOT_MECHANISM_WPM,
    .check = dpot_index_check,
    .charge = dpot_index_charge,
    .steps = steps,
    .workspace_bytes = workspace_bytes,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
    .privatize = privatize,
    .law = dpot_index_law,
    .load_directions = load_directions,
};

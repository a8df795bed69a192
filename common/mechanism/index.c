#include "mechanism/index.h"

#include "base/crypto.h"
#include "mechanism/sampler.h"

#include <float.h>

#define COST_STEPS 4     /* per cost, besides one per coordinate */
#define OUTPUT_STEPS 128 /* per output, to project, round and draw */

dpot_status dpot_index_check(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    return dpot_bounds_compute(&campaign->base_measure, campaign->epsilon_q32, NULL, NULL, error);
}

struct dpot_privacy dpot_index_charge(const struct dpot_campaign *campaign)
{
    return dpot_privacy_pure(campaign->epsilon_q32);
}

uint64_t dpot_index_steps(const struct dpot_campaign *campaign)
{
    const uint64_t cost_steps = COST_STEPS + (uint64_t)campaign->domain.dim;
    return campaign->output.size * (campaign->n_max * cost_steps + OUTPUT_STEPS);
}

size_t dpot_bytes_add(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

size_t dpot_index_bytes(const struct dpot_campaign *campaign)
{
    /* Seven arrays of columns. Counts are below 2^24, so the sum fits. */
    return 7 * 8 * (size_t)campaign->output.size;
}

void dpot_index_release(struct dpot_index *index)
{
    const struct dpot_allocator *allocator = index->allocator;
    dpot_free_secret(allocator, index->q, index->n_cols, sizeof(double));
    dpot_free_array(allocator, index->q_lower, index->n_cols, sizeof(double));
    dpot_free_array(allocator, index->q_upper, index->n_cols, sizeof(double));
    dpot_free_array(allocator, index->lower, index->n_cols, sizeof(uint64_t));
    dpot_free_array(allocator, index->upper, index->n_cols, sizeof(uint64_t));
    dpot_free_array(allocator, index->fallback, index->n_cols, sizeof(uint64_t));
    dpot_free_secret(allocator, index->weights, index->n_cols, sizeof(uint64_t));
    *index = (struct dpot_index){0};
}

static bool allocate_arrays(struct dpot_index *index)
{
    const struct dpot_allocator *allocator = index->allocator;
    index->q = dpot_alloc_array(allocator, index->n_cols, sizeof(double));
    index->q_lower = dpot_alloc_array(allocator, index->n_cols, sizeof(double));
    index->q_upper = dpot_alloc_array(allocator, index->n_cols, sizeof(double));
    index->lower = dpot_alloc_array(allocator, index->n_cols, sizeof(uint64_t));
    index->upper = dpot_alloc_array(allocator, index->n_cols, sizeof(uint64_t));
    index->fallback = dpot_alloc_array(allocator, index->n_cols, sizeof(uint64_t));
    index->weights = dpot_alloc_array(allocator, index->n_cols, sizeof(uint64_t));
    return index->q && index->q_lower && index->q_upper && index->lower && index->upper &&
           index->fallback && index->weights;
}

/* L, U, M, and the box of the projection, L / N and U / N. */
static dpot_status set_bounds(struct dpot_index *index, struct dpot_error *error)
{
    const struct dpot_campaign *campaign = index->campaign;
    const dpot_status status = dpot_bounds_compute(&campaign->base_measure, campaign->epsilon_q32,
                                                   index->lower, index->upper, error);
    if (status != DPOT_OK) {
        return status;
    }
    dpot_bounds_fallback(index->lower, index->upper, index->n_cols, index->fallback);
    for (size_t j = 0; j < index->n_cols; j++) {
        index->q_lower[j] = (double)index->lower[j] / (double)DPOT_MASS_ONE;
        index->q_upper[j] = (double)index->upper[j] / (double)DPOT_MASS_ONE;
    }
    index->polytope = (struct dpot_polytope){index->n_cols, index->q_lower, index->q_upper};
    return DPOT_OK;
}

dpot_status dpot_index_init(struct dpot_index *index, dpot_index_projector project,
                            const struct dpot_campaign *campaign,
                            const struct dpot_allocator *allocator, struct dpot_error *error)
{
    *index = (struct dpot_index){.project = project,
                                 .campaign = campaign,
                                 .allocator = allocator,
                                 .n_cols = campaign->output.size};
    if (!allocate_arrays(index)) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu output points",
                              index->n_cols);
    }
    return set_bounds(index, error);
}

void dpot_index_project(struct dpot_index *index)
{
    double *q = index->q;
    for (size_t j = 0; j < index->n_cols; j++) {
        q[j] = q[j] > 0 && q[j] <= DBL_MAX ? q[j] : 0;
    }
    (void)dpot_polytope_project_kl_linear(&index->polytope, q, 1, DPOT_STEPS_ALL, q);
}

/* Rounds q to the weights of the law and wipes it. */
static void round_law(struct dpot_index *index, uint64_t *weights)
{
    dpot_weights_round(index->q, index->lower, index->upper, index->n_cols, weights);
    dpot_wipe(index->q, index->n_cols * sizeof *index->q);
}

static uint32_t draw(struct dpot_index *index, struct dpot_rng *rng)
{
    round_law(index, index->weights);
    const uint32_t drawn = dpot_weights_draw(index->weights, index->lower, index->upper,
                                             index->fallback, index->n_cols, dpot_rng_u64(rng));
    dpot_wipe(index->weights, index->n_cols * sizeof *index->weights);
    return drawn;
}

void dpot_index_law(void *workspace, const struct dpot_private_measure *private_measure,
                    uint64_t *weights)
{
    struct dpot_index *index = workspace;
    index->project(workspace, &private_measure->measure);
    round_law(index, weights);
}

void dpot_index_privatize(void *workspace, const struct dpot_private_measure *private_measure,
                          struct dpot_rng *rng, struct dpot_report *report)
{
    struct dpot_index *index = workspace;
    index->project(workspace, &private_measure->measure);
    report->index = draw(index, rng);
}

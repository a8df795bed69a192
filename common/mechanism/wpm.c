/* The Wasserstein projection mechanism: project the device's measure onto the LDP polytope of the
 * base measure, entropically (002, Algorithm 1), and draw one output point from the projection.
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
 * Work is the same for every measure: n_max rows, padding included, and a fixed number of
 * iterations. After workspace_new nothing allocates and nothing can fail. */
#include "mechanism/mechanism.h"

#include "base/crypto.h"
#include "mechanism/sampler.h"
#include "ot/cost.h"
#include "ot/projection.h"

#include <float.h>
#include <math.h>

#define EARTH_HALF_TURN_KM 20015.1145 /* the longest great-circle distance, rounded up */

struct workspace {
    const struct dpot_campaign *campaign; /* borrowed */
    const struct dpot_allocator *allocator;
    size_t n_rows;        /* n_max */
    size_t n_cols;        /* output points */
    const double *output; /* (n_cols, dim): the campaign's list, or `computed` */
    double *computed;     /* (n_cols, dim) of a grid or ring; owned */
    double *point;        /* (dim) */
    double *mu;           /* (n_rows) */
    double *q;            /* (n_cols) */
    double *q_lower;      /* (n_cols) L / N */
    double *q_upper;      /* (n_cols) U / N */
    uint64_t *lower;      /* (n_cols) L */
    uint64_t *upper;      /* (n_cols) U */
    uint64_t *fallback;   /* (n_cols) M */
    uint64_t *weights;    /* (n_cols) W */
    struct dpot_polytope polytope;
    struct dpot_projection *projection;
};

static dpot_status check(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    return dpot_bounds_compute(&campaign->base_measure, campaign->epsilon_q32, NULL, NULL, error);
}

static struct dpot_privacy charge(const struct dpot_campaign *campaign)
{
    return dpot_privacy_pure(campaign->epsilon_q32);
}

static size_t add_bytes(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static size_t computed_coordinates(const struct dpot_campaign *campaign)
{
    const struct dpot_domain *output = &campaign->output;
    return output->type == DPOT_DOMAIN_POINTS ? 0 : (size_t)output->size * output->dim;
}

static size_t workspace_bytes(const struct dpot_campaign *campaign)
{
    const size_t n_rows = campaign->n_max, n_cols = campaign->output.size;
    /* Seven arrays of columns; rows: mu here, and the place of sample_first (mechanism.c). All
     * counts are below 2^24, so these sums fit. */
    size_t bytes = sizeof(struct workspace) + 7 * 8 * n_cols + (8 + 44) * n_rows;
    bytes += sizeof(double) * (computed_coordinates(campaign) + campaign->domain.dim);
    return add_bytes(bytes, dpot_projection_bytes(n_rows, n_cols));
}

static void workspace_free(void *workspace)
{
    struct workspace *w = workspace;
    if (!w) {
        return;
    }
    const struct dpot_allocator *allocator = w->allocator;
    dpot_projection_free(w->projection);
    dpot_free_array(allocator, w->computed, computed_coordinates(w->campaign), sizeof(double));
    dpot_free_secret(allocator, w->point, w->campaign->domain.dim, sizeof(double));
    dpot_free_secret(allocator, w->mu, w->n_rows, sizeof(double));
    dpot_free_secret(allocator, w->q, w->n_cols, sizeof(double));
    dpot_free_array(allocator, w->q_lower, w->n_cols, sizeof(double));
    dpot_free_array(allocator, w->q_upper, w->n_cols, sizeof(double));
    dpot_free_array(allocator, w->lower, w->n_cols, sizeof(uint64_t));
    dpot_free_array(allocator, w->upper, w->n_cols, sizeof(uint64_t));
    dpot_free_array(allocator, w->fallback, w->n_cols, sizeof(uint64_t));
    dpot_free_secret(allocator, w->weights, w->n_cols, sizeof(uint64_t));
    dpot_free_array(allocator, w, 1, sizeof *w);
}

static bool allocate_arrays(struct workspace *w)
{
    const struct dpot_allocator *allocator = w->allocator;
    w->computed = dpot_alloc_array(allocator, computed_coordinates(w->campaign), sizeof(double));
    w->point = dpot_alloc_array(allocator, w->campaign->domain.dim, sizeof(double));
    w->mu = dpot_alloc_array(allocator, w->n_rows, sizeof(double));
    w->q = dpot_alloc_array(allocator, w->n_cols, sizeof(double));
    w->q_lower = dpot_alloc_array(allocator, w->n_cols, sizeof(double));
    w->q_upper = dpot_alloc_array(allocator, w->n_cols, sizeof(double));
    w->lower = dpot_alloc_array(allocator, w->n_cols, sizeof(uint64_t));
    w->upper = dpot_alloc_array(allocator, w->n_cols, sizeof(uint64_t));
    w->fallback = dpot_alloc_array(allocator, w->n_cols, sizeof(uint64_t));
    w->weights = dpot_alloc_array(allocator, w->n_cols, sizeof(uint64_t));
    return w->computed && w->point && w->mu && w->q && w->q_lower && w->q_upper && w->lower &&
           w->upper && w->fallback && w->weights;
}

/* L, U, M, and the box of the projection, L / N and U / N. */
static dpot_status set_bounds(struct workspace *w, struct dpot_error *error)
{
    const dpot_status status = dpot_bounds_compute(
        &w->campaign->base_measure, w->campaign->epsilon_q32, w->lower, w->upper, error);
    if (status != DPOT_OK) {
        return status;
    }
    dpot_bounds_fallback(w->lower, w->upper, w->n_cols, w->fallback);
    for (size_t j = 0; j < w->n_cols; j++) {
        w->q_lower[j] = (double)w->lower[j] / (double)DPOT_MASS_ONE;
        w->q_upper[j] = (double)w->upper[j] / (double)DPOT_MASS_ONE;
    }
    w->polytope = (struct dpot_polytope){w->n_cols, w->q_lower, w->q_upper};
    return DPOT_OK;
}

/* Extends [lo, hi] to coordinate `i` of all points of a domain. */
static void extend_range(const struct dpot_domain *domain, uint32_t i, double *lo, double *hi)
{
    if (domain->type == DPOT_DOMAIN_GRID) {
        *lo = fmin(*lo, domain->lo[i]);
        *hi = fmax(*hi, domain->hi[i]);
    } else if (domain->type == DPOT_DOMAIN_RING) {
        *lo = fmin(*lo, 0);
        *hi = fmax(*hi, (double)domain->size - 1);
    }
    for (size_t r = 0; domain->type == DPOT_DOMAIN_POINTS && r < domain->size; r++) {
        *lo = fmin(*lo, domain->points[r * domain->dim + i]);
        *hi = fmax(*hi, domain->points[r * domain->dim + i]);
    }
}

/* A bound on the distance of any domain point to any output point, from the box around all of them;
 * public, and cheap enough for every submit. */
static double largest_distance(const struct dpot_campaign *campaign)
{
    const double radians = EARTH_HALF_TURN_KM / 180;
    double sum = 0, sum_squares = 0, largest = 0;
    for (uint32_t i = 0; i < campaign->domain.dim; i++) {
        double lo = DBL_MAX, hi = -DBL_MAX;
        extend_range(&campaign->domain, i, &lo, &hi);
        extend_range(&campaign->output, i, &lo, &hi);
        sum += hi - lo;
        sum_squares += (hi - lo) * (hi - lo);
        largest = fmax(largest, hi - lo);
    }
    switch (campaign->metric.id) {
    case DPOT_METRIC_EUCLIDEAN:
        return sqrt(sum_squares);
    case DPOT_METRIC_L1:
        return sum;
    case DPOT_METRIC_LINF:
        return largest;
    case DPOT_METRIC_COSINE:
        return 2;
    case DPOT_METRIC_HAVERSINE: /* north first, then along a parallel, is not shorter */
        return fmin(sum * radians, EARTH_HALF_TURN_KM);
    case DPOT_METRIC_RING:
        return (double)campaign->metric.ring_size / 2;
    }
    return DBL_MAX;
}

static dpot_status new_projection(struct workspace *w, struct dpot_error *error)
{
    const struct dpot_projection_config config = {
        .n_rows = w->n_rows,
        .n_cols = w->n_cols,
        .lambda = w->campaign->lambda,
        .cost_range = fmin(pow(largest_distance(w->campaign), w->campaign->cost_power), DBL_MAX),
        .polytope = &w->polytope,
        .allocator = w->allocator,
    };
    const dpot_status status = dpot_projection_new(&config, &w->projection);
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "the projection of %zu rows onto %zu points: %s",
                              w->n_rows, w->n_cols, dpot_status_text(status));
    }
    return DPOT_OK;
}

static dpot_status workspace_new(const struct dpot_campaign *campaign,
                                 const struct dpot_allocator *allocator, void **workspace,
                                 struct dpot_error *error)
{
    *workspace = NULL;
    struct workspace *w = dpot_alloc_array(allocator, 1, sizeof *w);
    if (!w) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the mechanism");
    }
    w->campaign = campaign;
    w->allocator = allocator;
    w->n_rows = campaign->n_max;
    w->n_cols = campaign->output.size;
    dpot_status status = DPOT_OK;
    if (!allocate_arrays(w)) {
        status = dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu output points",
                                w->n_cols);
    }
    if (status == DPOT_OK) {
        status = set_bounds(w, error);
    }
    if (status == DPOT_OK) {
        status = new_projection(w, error);
    }
    if (status != DPOT_OK) {
        workspace_free(w);
        return status;
    }
    w->output = campaign->output.points;
    if (campaign->output.type != DPOT_DOMAIN_POINTS) {
        dpot_domain_points(&campaign->output, w->computed);
        w->output = w->computed;
    }
    *workspace = w;
    return DPOT_OK;
}

/* mu and the cost rows of the support; missing rows count as weight 0 on point 0. */
static void load_measure(struct workspace *w, const struct dpot_measure *own)
{
    const struct dpot_campaign *campaign = w->campaign;
    const size_t n_rows = own->support_size < w->n_rows ? own->support_size : w->n_rows;
    double *cost = dpot_projection_cost(w->projection);
    for (size_t r = 0; r < w->n_rows; r++) {
        const uint32_t point = r < n_rows ? own->support[r] : 0;
        w->mu[r] = r < n_rows ? own->weights[r] : 0;
        dpot_domain_point(&campaign->domain, point < campaign->domain.size ? point : 0, w->point);
        dpot_cost_row(&campaign->metric, campaign->cost_power, campaign->domain.dim, w->point,
                      w->output, w->n_cols, cost + r * w->n_cols);
    }
}

static void compute_law(struct workspace *w, const struct dpot_private_measure *private_measure,
                        uint64_t *weights)
{
    load_measure(w, &private_measure->measure);
    dpot_projection_run(w->projection, w->mu, w->campaign->iterations, 0, w->q, NULL);
    dpot_weights_round(w->q, w->lower, w->upper, w->n_cols, weights);
    dpot_wipe(w->q, w->n_cols * sizeof *w->q);
    dpot_wipe(w->mu, w->n_rows * sizeof *w->mu);
}

static void law(void *workspace, const struct dpot_private_measure *private_measure,
                uint64_t *weights)
{
    compute_law(workspace, private_measure, weights);
}

static void privatize(void *workspace, const struct dpot_private_measure *private_measure,
                      struct dpot_rng *rng, struct dpot_report *report)
{
    struct workspace *w = workspace;
    compute_law(w, private_measure, w->weights);
    report->index = dpot_weights_draw(w->weights, w->lower, w->upper, w->fallback, w->n_cols,
                                      dpot_rng_u64(rng));
    dpot_wipe(w->weights, w->n_cols * sizeof *w->weights);
}

const struct dpot_mechanism dpot_mechanism_wpm = {
    .id = DPOT_MECHANISM_WPM,
    .check = check,
    .charge = charge,
    .workspace_bytes = workspace_bytes,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
    .privatize = privatize,
    .law = law,
};

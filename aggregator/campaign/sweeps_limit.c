#include "campaign/sweeps_limit.h"

#include "base/alloc.h"
#include "mechanism/ground.h"
#include "mechanism/index.h"
#include "ot/projection.h"

#include <math.h>

/* Of a change of log v; in the log domain it is relative to cost / lambda. */
#define ROUNDING 1e-14

struct limit {
    const struct dpot_campaign *campaign;
    struct dpot_index index;
    struct dpot_ground ground;
    struct dpot_projection *projection;
    size_t n_rows;
    double *mu; /* (n_rows) */
};

static size_t count_places(const double *histogram, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        n += histogram[i] > 0;
    }
    return n;
}

static dpot_status set_up(struct limit *l, struct dpot_error *error)
{
    const struct dpot_campaign *campaign = l->campaign;
    dpot_status status = dpot_index_init(&l->index, NULL, campaign, NULL, error);
    if (status == DPOT_OK) {
        status = dpot_ground_init(&l->ground, campaign, NULL, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    const struct dpot_projection_config config = {.n_rows = l->n_rows,
                                                  .n_cols = campaign->output.size,
                                                  .lambda = campaign->lambda,
                                                  .cost_range = dpot_ground_cost_bound(campaign),
                                                  .polytope = &l->index.polytope};
    l->mu = dpot_alloc_array(NULL, l->n_rows, sizeof *l->mu);
    status = l->mu ? dpot_projection_new(&config, &l->projection) : DPOT_ERR_MEMORY;
    return status == DPOT_OK
               ? DPOT_OK
               : dpot_error_set(error, status, "the projection of %zu rows onto %u points: %s",
                                l->n_rows, (unsigned)campaign->output.size,
                                dpot_status_text(status));
}

/* Fills mu and its cost rows; returns R. */
static double load_rows(struct limit *l, const double *histogram)
{
    const size_t n_cols = l->campaign->output.size;
    double *cost = dpot_projection_cost(l->projection);
    double widest = 0;
    size_t r = 0;
    for (uint32_t i = 0; i < l->campaign->domain.size; i++) {
        if (histogram[i] > 0) {
            l->mu[r] = histogram[i];
            dpot_ground_row(&l->ground, i, cost + r++ * n_cols);
        }
    }
    for (size_t j = 0; j < n_cols; j++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < l->n_rows; i++) {
            low = fmin(low, cost[i * n_cols + j]);
            high = fmax(high, cost[i * n_cols + j]);
        }
        widest = fmax(widest, high - low);
    }
    return widest;
}

/* After a sweep that changes log v by t (Hilbert seminorm), row sums are within e^t of mu: r is
 * about t. */
static void solve(struct limit *l, double widest, double error_wanted, double *law, double *bound)
{
    const double lambda = l->campaign->lambda;
    const double ratio = dpot_ground_cost_bound(l->campaign) / lambda;
    const double least = ROUNDING * (ratio > DPOT_PROJECTION_KERNEL_RATIO ? ratio : 1);
    const double tol = fmax(least, pow(error_wanted / 4, 2) * lambda / fmax(widest, lambda));
    struct dpot_projection_result result;
    double residual = 2;
    if (widest > 0) {
        dpot_projection_run_scaled(l->projection, l->mu, SWEEPS_LIMIT_ITERATIONS, fmin(tol, 1), law,
                                   &result);
    } else {
        dpot_projection_run(l->projection, l->mu, 1, 0, law, NULL);
        result.converged = 1;
    }
    (void)dpot_projection_transport_cost(l->projection, &residual);
    *bound = result.converged ? sqrt(residual * widest / lambda) : INFINITY;
}

dpot_status sweeps_limit(const struct dpot_campaign *campaign, const double *histogram,
                         double error_wanted, double *law, double *bound, struct dpot_error *error)
{
    struct limit l = {.campaign = campaign,
                      .n_rows = count_places(histogram, campaign->domain.size)};
    const dpot_status status = set_up(&l, error);
    if (status == DPOT_OK) {
        solve(&l, load_rows(&l, histogram), error_wanted, law, bound);
    }
    dpot_projection_free(l.projection);
    dpot_free_array(NULL, l.mu, l.n_rows, sizeof *l.mu);
    dpot_ground_release(&l.ground);
    dpot_index_release(&l.index);
    return status;
}

#include "ot/exact_parts.h"
#include "ot/network_simplex.h"

#include <math.h>
#include <string.h>

#define FEASIBILITY_TOL 1e-9 /* absolute mass */

/* What the projection works on: bounds in units, the scratch of the slack row. */
struct exact_projection {
    size_t n_rows, n_cols;
    double *slack;      /* (2 n_cols) costs of the slack row */
    double *preference; /* (2 n_cols) */
    double *cap;        /* (n_cols) upper bounds, none above what mass one can use */
    int64_t *upper;     /* (n_cols) units */
};

static dpot_status check_bounds(const double *lower, const double *upper, size_t n,
                                double *sum_lower, double *sum_upper, struct dpot_error *error)
{
    struct dpot_exact_sum low = {0.0, 0.0}, high = {0.0, 0.0};
    for (size_t j = 0; j < n; j++) {
        if (!(lower[j] >= 0.0 && upper[j] >= lower[j] && isfinite(upper[j]))) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "the bounds of column %zu are [%g, %g]: need finite numbers with "
                                  "0 <= lower <= upper",
                                  j + 1, lower[j], upper[j]);
        }
        dpot_exact_add(&low, lower[j]);
        dpot_exact_add(&high, fmin(upper[j], fmax(lower[j], 1.0)));
    }
    *sum_lower = dpot_exact_sum_of(&low);
    *sum_upper = dpot_exact_sum_of(&high);
    if (!(*sum_lower <= 1.0 + FEASIBILITY_TOL && *sum_upper >= 1.0 - FEASIBILITY_TOL)) {
        return dpot_error_set(error, DPOT_ERR_INFEASIBLE,
                              "the lower bounds sum to %.17g and the upper bounds to %.17g: 1 must "
                              "lie between them, scale the base measure",
                              *sum_lower, *sum_upper);
    }
    return DPOT_OK;
}

/* Only one q is left: the transport cost to it. */
static dpot_status take_forced(const double *cost, const double *mu, const double *bound,
                               const struct exact_projection *p,
                               const struct dpot_allocator *allocator, double *q,
                               double *transport_cost, struct dpot_error *error)
{
    struct dpot_exact_result result;
    const dpot_status status =
        dpot_exact_ot(cost, mu, bound, p->n_rows, p->n_cols, allocator, &result, error);
    if (status != DPOT_OK) {
        return status;
    }
    *transport_cost = result.transport_cost;
    memcpy(q, bound, p->n_cols * sizeof *q);
    dpot_exact_result_release(&result);
    return DPOT_OK;
}

static dpot_status projection_init(struct exact_projection *p, struct dpot_transport_simplex *t,
                                   size_t n_rows, size_t n_cols,
                                   const struct dpot_allocator *allocator)
{
    p->n_rows = n_rows;
    p->n_cols = n_cols;
    p->slack = dpot_alloc_array(allocator, 2 * n_cols, sizeof *p->slack);
    p->preference = dpot_alloc_array(allocator, 2 * n_cols, sizeof *p->preference);
    p->cap = dpot_alloc_array(allocator, n_cols, sizeof *p->cap);
    p->upper = dpot_alloc_array(allocator, n_cols, sizeof *p->upper);
    const dpot_status status = dpot_transport_simplex_init(t, n_rows + 1, 2 * n_cols, allocator);
    return p->slack && p->preference && p->cap && p->upper ? status : DPOT_ERR_MEMORY;
}

static void projection_release(struct exact_projection *p, const struct dpot_allocator *allocator)
{
    dpot_free_array(allocator, p->slack, 2 * p->n_cols, sizeof *p->slack);
    dpot_free_array(allocator, p->preference, 2 * p->n_cols, sizeof *p->preference);
    dpot_free_array(allocator, p->cap, p->n_cols, sizeof *p->cap);
    dpot_free_array(allocator, p->upper, p->n_cols, sizeof *p->upper);
}

/* The slack row takes the room above the lower bounds that q does not use; in the starting tree it
 * takes it from the columns that are dearest on average, which is already the optimum when mu is a
 * single point. */
static void prepare_slack(struct exact_projection *p, const double *cost, const double *mu)
{
    for (size_t j = 0; j < p->n_cols; j++) {
        p->slack[j] = p->preference[j] = DPOT_TRANSPORT_BARRED;
        p->slack[p->n_cols + j] = p->preference[p->n_cols + j] = 0.0;
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        for (size_t j = 0; j < p->n_cols; j++) {
            p->preference[p->n_cols + j] -= mu[i] * cost[i * p->n_cols + j];
        }
    }
}

static void take_projection(const struct exact_projection *p,
                            const struct dpot_transport_simplex *t, int exponent,
                            const double *lower, const double *upper, double *q)
{
    for (size_t node = 0; node < t->n_rows + t->n_cols; node++) {
        size_t row = 0, col = 0;
        if (t->flow[node] > 0 && dpot_exact_arc_above(t, node, &row, &col) && row == p->n_rows) {
            p->upper[col - p->n_cols] -= t->flow[node];
        }
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        q[j] = fmin(fmax(dpot_exact_to_mass(p->upper[j], exponent), lower[j]), upper[j]);
    }
}

static dpot_status check_projection(const double *cost, const double *mu, const double *lower,
                                    const double *upper, size_t n_rows, size_t n_cols, double *mass,
                                    double *sum_upper, struct dpot_error *error)
{
    double sum_lower = 0.0;
    dpot_status status = dpot_exact_check_shape(cost, n_rows, n_cols, n_cols + 1, error);
    if (status == DPOT_OK) {
        status = dpot_exact_check_masses("mu", mu, n_rows, mass, error);
    }
    if (status == DPOT_OK && fabs(*mass - 1.0) > DPOT_EXACT_MASS_TOL) {
        status =
            dpot_error_set(error, DPOT_ERR_SHAPE, "mu has mass %.17g: scale it to mass one", *mass);
    }
    if (status == DPOT_OK) {
        status = check_bounds(lower, upper, n_cols, &sum_lower, sum_upper, error);
    }
    return status;
}

/* One transportation problem: the rows of mu and the slack row serve, for each column, first its
 * lower bound and then the room up to its upper bound (a second copy of the column). */
static dpot_status project(struct exact_projection *p, struct dpot_transport_simplex *t,
                           const double *cost, const double *mu, double mass, const double *lower,
                           const double *upper, double sum_upper, double *q, double *transport_cost,
                           struct dpot_error *error)
{
    int exponent = 0;
    (void)frexp(fmax(sum_upper, 1.0), &exponent);
    for (size_t j = 0; j < p->n_cols; j++) {
        p->cap[j] = fmin(upper[j], fmax(lower[j], 1.0));
    }
    const int64_t in = dpot_exact_to_units(mu, p->n_rows, 1.0 / mass, exponent, t->supply);
    const int64_t least = dpot_exact_to_units(lower, p->n_cols, 1.0, exponent, t->demand);
    const int64_t most = dpot_exact_to_units(p->cap, p->n_cols, 1.0, exponent, p->upper);
    if (least >= in || most <= in) {
        return take_forced(cost, mu, least >= in ? lower : p->cap, p, t->allocator, q,
                           transport_cost, error);
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        t->demand[p->n_cols + j] = p->upper[j] - t->demand[j];
    }
    t->supply[p->n_rows] = most - in;
    t->width = p->n_cols;
    t->cost = cost;
    t->slack = p->slack;
    prepare_slack(p, cost, mu);
    dpot_transport_simplex_solve(t, p->preference);
    take_projection(p, t, exponent, lower, upper, q);
    *transport_cost = dpot_exact_plan_cost(t, exponent);
    return DPOT_OK;
}

dpot_status dpot_exact_projection(const double *cost, const double *mu, const double *lower,
                                  const double *upper, size_t n_rows, size_t n_cols,
                                  const struct dpot_allocator *allocator, double *q,
                                  double *transport_cost, struct dpot_error *error)
{
    struct exact_projection p = {0};
    struct dpot_transport_simplex t = {0};
    double mass = 0.0, sum_upper = 0.0;
    dpot_status status =
        check_projection(cost, mu, lower, upper, n_rows, n_cols, &mass, &sum_upper, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = projection_init(&p, &t, n_rows, n_cols, allocator);
    if (status == DPOT_OK) {
        status = project(&p, &t, cost, mu, mass, lower, upper, sum_upper, q, transport_cost, error);
    } else {
        (void)dpot_error_set(error, status, "no memory for an exact projection of %zu x %zu",
                             n_rows, n_cols);
    }
    dpot_transport_simplex_release(&t);
    projection_release(&p, allocator);
    return status;
}

#include "ot/exact_parts.h"
#include "ot/few_projection.h"
#include "ot/network_simplex.h"

#include <math.h>
#include <string.h>

#define FEASIBILITY_TOL 1e-9 /* absolute mass */
#define FEW_TOL 1e-10        /* relative gap allowed for rounded costs */

/* The problem, its bounds in units, and scratch for the slack row. */
struct exact_projection {
    const double *cost, *mu, *lower, *upper;
    size_t n_rows, n_cols;
    const struct dpot_allocator *allocator;
    double mass;    /* of mu */
    double *cap;    /* (n_cols) upper bounds, at most what mass one can use */
    int64_t *least; /* (n_cols) lower bounds, units */
    int64_t *most;  /* (n_cols) caps, units; finally q */
    int64_t *given; /* (n_rows) mu, units */
    int64_t sum_least, sum_most, sum_given;
    int exponent;
    double *slack;      /* (2 n_cols) costs of the slack row */
    double *preference; /* (2 n_cols) */
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

static dpot_status projection_init(struct exact_projection *p)
{
    const size_t n = p->n_rows, m = p->n_cols;
    p->cap = dpot_alloc_array(p->allocator, m, sizeof *p->cap);
    p->least = dpot_alloc_array(p->allocator, m, sizeof *p->least);
    p->most = dpot_alloc_array(p->allocator, m, sizeof *p->most);
    p->given = dpot_alloc_array(p->allocator, n, sizeof *p->given);
    return p->cap && p->least && p->most && p->given ? DPOT_OK : DPOT_ERR_MEMORY;
}

static void projection_release(struct exact_projection *p)
{
    const size_t n = p->n_rows, m = p->n_cols;
    dpot_free_array(p->allocator, p->cap, m, sizeof *p->cap);
    dpot_free_array(p->allocator, p->least, m, sizeof *p->least);
    dpot_free_array(p->allocator, p->most, m, sizeof *p->most);
    dpot_free_array(p->allocator, p->given, n, sizeof *p->given);
    dpot_free_array(p->allocator, p->slack, 2 * m, sizeof *p->slack);
    dpot_free_array(p->allocator, p->preference, 2 * m, sizeof *p->preference);
}

static void take_units(struct exact_projection *p, double sum_upper)
{
    (void)frexp(fmax(sum_upper, 1.0), &p->exponent);
    for (size_t j = 0; j < p->n_cols; j++) {
        p->cap[j] = fmin(p->upper[j], fmax(p->lower[j], 1.0));
    }
    p->sum_given = dpot_exact_to_units(p->mu, p->n_rows, 1.0 / p->mass, p->exponent, p->given);
    p->sum_least = dpot_exact_to_units(p->lower, p->n_cols, 1.0, p->exponent, p->least);
    p->sum_most = dpot_exact_to_units(p->cap, p->n_cols, 1.0, p->exponent, p->most);
}

/* ---- the bounds leave one q ---- */

static dpot_status take_forced(const struct exact_projection *p, double *q, double *transport_cost,
                               double *dual, struct dpot_error *error)
{
    const double *bound = p->sum_least >= p->sum_given ? p->lower : p->cap;
    struct dpot_exact_result result;
    const dpot_status status =
        dpot_exact_ot(p->cost, p->mu, bound, p->n_rows, p->n_cols, p->allocator, &result, error);
    if (status != DPOT_OK) {
        return status;
    }
    *transport_cost = result.transport_cost;
    *dual = result.dual;
    memcpy(q, bound, p->n_cols * sizeof *q);
    dpot_exact_result_release(&result);
    return DPOT_OK;
}

/* ---- few points ---- */

static size_t count_points(const struct exact_projection *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_rows; i++) {
        n += p->mu[i] > 0.0;
    }
    return n;
}

/* The smallest and the largest cost of the rows with mass. */
static void find_range(const struct exact_projection *p, double *lowest, double *largest)
{
    *lowest = INFINITY;
    *largest = -INFINITY;
    for (size_t e = 0; e < p->n_rows * p->n_cols; e++) {
        if (p->mu[e / p->n_cols] > 0.0) {
            *lowest = fmin(*lowest, p->cost[e]);
            *largest = fmax(*largest, p->cost[e]);
        }
    }
}

/* Runs the method for few points on the rows with mass. *is_solved is 0 if it ran out of steps, or
 * if the gap due to rounded costs is too large. */
static dpot_status take_few(const struct exact_projection *p, size_t n_points, double *q,
                            double *transport_cost, double *dual, int *is_solved)
{
    const struct dpot_polytope polytope = {p->n_cols, p->lower, p->cap};
    const struct dpot_few_projection_config config = {.n_rows = n_points,
                                                      .n_cols = p->n_cols,
                                                      .polytope = &polytope,
                                                      .allocator = p->allocator,
                                                      .passes = DPOT_FEW_PASSES_MAX};
    struct dpot_few_projection *few = NULL;
    struct dpot_few_projection_result result;
    double mu[DPOT_FEW_ROWS_MAX], lowest, largest;
    const double *rows[DPOT_FEW_ROWS_MAX];
    const dpot_status status = dpot_few_projection_new(&config, &few);
    if (status != DPOT_OK) {
        return status;
    }
    find_range(p, &lowest, &largest);
    const int scale = dpot_few_projection_scale(largest - lowest);
    uint32_t *rounded = dpot_few_projection_cost(few);
    for (size_t i = 0, k = 0; i < p->n_rows; i++) {
        for (size_t j = 0; p->mu[i] > 0.0 && j < p->n_cols; j++) {
            *rounded++ = dpot_few_projection_round(p->cost[i * p->n_cols + j] - lowest, scale);
        }
        if (p->mu[i] > 0.0) {
            rows[k] = p->cost + i * p->n_cols;
            mu[k++] = p->mu[i];
        }
    }
    dpot_few_projection_run(few, mu, q, &result);
    *transport_cost = dpot_few_projection_plan_cost(few, rows);
    *dual = dpot_few_projection_dual(few, rows, lowest, scale);
    *is_solved = result.is_exact && *transport_cost - *dual <= FEW_TOL * fabs(*transport_cost);
    dpot_few_projection_free(few);
    return DPOT_OK;
}

/* ---- many points ---- */

/* The slack row takes the room above the lower bounds that q does not use; in the initial tree,
 * from the columns with the highest mean cost. */
static void prepare_slack(struct exact_projection *p)
{
    for (size_t j = 0; j < p->n_cols; j++) {
        p->slack[j] = p->preference[j] = DPOT_TRANSPORT_BARRED;
        p->slack[p->n_cols + j] = p->preference[p->n_cols + j] = 0.0;
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        for (size_t j = 0; j < p->n_cols; j++) {
            p->preference[p->n_cols + j] -= p->mu[i] * p->cost[i * p->n_cols + j];
        }
    }
}

static void take_projection(const struct exact_projection *p,
                            const struct dpot_transport_simplex *t, double *q)
{
    for (size_t node = 0; node < t->n_rows + t->n_cols; node++) {
        size_t row = 0, col = 0;
        if (t->flow[node] > 0 && dpot_exact_arc_above(t, node, &row, &col) && row == p->n_rows) {
            p->most[col - p->n_cols] -= t->flow[node];
        }
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        q[j] = fmin(fmax(dpot_exact_to_mass(p->most[j], p->exponent), p->lower[j]), p->upper[j]);
    }
}

/* sum_i mu_i F_i + sum_j (lower_j max(v_j, 0) + cap_j min(v_j, 0)), F_i = f_i - f_slack and v_j =
 * min_i C_ij - F_i: for every f a lower bound on the cost of any plan from mu into the polytope. */
static double dual_of(const struct exact_projection *p, const struct dpot_transport_simplex *t)
{
    const double f_slack = t->f[p->n_rows];
    struct dpot_exact_sum sum = {0.0, 0.0};
    for (size_t r = 1; r < t->n_active_rows; r++) { /* the slack row is the first */
        const size_t i = (size_t)t->rows[r];
        dpot_exact_add(&sum, p->mu[i] / p->mass * (t->f[i] - f_slack));
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        double price = INFINITY;
        for (size_t r = 1; r < t->n_active_rows; r++) {
            const size_t i = (size_t)t->rows[r];
            price = fmin(price, p->cost[i * p->n_cols + j] - (t->f[i] - f_slack));
        }
        dpot_exact_add(&sum, (price > 0.0 ? p->lower[j] : p->cap[j]) * price);
    }
    return dpot_exact_sum_of(&sum);
}

/* One transportation problem: the rows of mu and the slack row serve, for each column, its lower
 * bound and the room up to its upper bound (a second copy of the column). */
static dpot_status take_many(struct exact_projection *p, double *q, double *transport_cost,
                             double *dual)
{
    struct dpot_transport_simplex t = {0};
    const size_t n = p->n_rows, m = p->n_cols;
    p->slack = dpot_alloc_array(p->allocator, 2 * m, sizeof *p->slack);
    p->preference = dpot_alloc_array(p->allocator, 2 * m, sizeof *p->preference);
    const dpot_status status = dpot_transport_simplex_init(&t, n + 1, 2 * m, p->allocator);
    if (status == DPOT_OK && p->slack && p->preference) {
        memcpy(t.supply, p->given, n * sizeof *t.supply);
        t.supply[n] = p->sum_most - p->sum_given;
        for (size_t j = 0; j < m; j++) {
            t.demand[j] = p->least[j];
            t.demand[m + j] = p->most[j] - p->least[j];
        }
        t.width = m;
        t.cost = p->cost;
        t.slack = p->slack;
        prepare_slack(p);
        dpot_transport_simplex_solve(&t, p->preference);
        take_projection(p, &t, q);
        *transport_cost = dpot_exact_plan_cost(&t, p->exponent);
        *dual = dual_of(p, &t);
    }
    dpot_transport_simplex_release(&t);
    return p->slack && p->preference ? status : DPOT_ERR_MEMORY;
}

/* ---- entry points ---- */

static dpot_status check_projection(struct exact_projection *p, double *sum_upper,
                                    struct dpot_error *error)
{
    double sum_lower = 0.0;
    dpot_status status =
        dpot_exact_check_shape(p->cost, p->n_rows, p->n_cols, p->n_cols + 1, error);
    if (status == DPOT_OK) {
        status = dpot_exact_check_masses("mu", p->mu, p->n_rows, &p->mass, error);
    }
    if (status == DPOT_OK && fabs(p->mass - 1.0) > DPOT_EXACT_MASS_TOL) {
        status = dpot_error_set(error, DPOT_ERR_SHAPE, "mu has mass %.17g: scale it to mass one",
                                p->mass);
    }
    if (status == DPOT_OK) {
        status = check_bounds(p->lower, p->upper, p->n_cols, &sum_lower, sum_upper, error);
    }
    return status;
}

static dpot_status solve(struct exact_projection *p, double *q, double *transport_cost,
                         double *dual, struct dpot_error *error)
{
    const size_t n_points = count_points(p);
    int is_solved = 0;
    dpot_status status = DPOT_OK;
    if (p->sum_least >= p->sum_given || p->sum_most <= p->sum_given) {
        return take_forced(p, q, transport_cost, dual, error);
    }
    if (n_points <= DPOT_FEW_ROWS_MAX) {
        status = take_few(p, n_points, q, transport_cost, dual, &is_solved);
    }
    if (status == DPOT_OK && !is_solved) {
        status = take_many(p, q, transport_cost, dual);
    }
    return status == DPOT_OK
               ? status
               : dpot_error_set(error, status, "no memory for an exact projection of %zu x %zu",
                                p->n_rows, p->n_cols);
}

dpot_status dpot_exact_projection_proved(const double *cost, const double *mu, const double *lower,
                                         const double *upper, size_t n_rows, size_t n_cols,
                                         const struct dpot_allocator *allocator, double *q,
                                         double *transport_cost, double *dual,
                                         struct dpot_error *error)
{
    struct exact_projection p = {.cost = cost,
                                 .mu = mu,
                                 .lower = lower,
                                 .upper = upper,
                                 .n_rows = n_rows,
                                 .n_cols = n_cols,
                                 .allocator = allocator};
    double sum_upper = 0.0;
    dpot_status status = check_projection(&p, &sum_upper, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = projection_init(&p);
    if (status == DPOT_OK) {
        take_units(&p, sum_upper);
        status = solve(&p, q, transport_cost, dual, error);
    } else {
        (void)dpot_error_set(error, status, "no memory for an exact projection of %zu x %zu",
                             n_rows, n_cols);
    }
    projection_release(&p);
    return status;
}

dpot_status dpot_exact_projection(const double *cost, const double *mu, const double *lower,
                                  const double *upper, size_t n_rows, size_t n_cols,
                                  const struct dpot_allocator *allocator, double *q,
                                  double *transport_cost, struct dpot_error *error)
{
    double dual = 0.0;
    return dpot_exact_projection_proved(cost, mu, lower, upper, n_rows, n_cols, allocator, q,
                                        transport_cost, &dual, error);
}

#include "ot/network_simplex.h"

#include "ot/transport_simplex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_BITS 61         /* the total mass in units lies in [2^60, 2^61) */
#define MASS_TOL 1e-6        /* relative difference of two masses that count as equal */
#define SAME_MASS 1e-12      /* below this the difference is rounding: no scaling, ties stay ties */
#define FEASIBILITY_TOL 1e-9 /* absolute mass */

/* Neumaier's sum: the certificate compares two long sums. */
struct accurate_sum {
    double sum, lost;
};

static void add(struct accurate_sum *s, double x)
{
    const double sum = s->sum + x;
    s->lost += fabs(s->sum) >= fabs(x) ? (s->sum - sum) + x : (x - sum) + s->sum;
    s->sum = sum;
}

static double value_of(const struct accurate_sum *s)
{
    return s->sum + s->lost;
}

static dpot_status check_shape(const double *cost, size_t n_rows, size_t n_cols,
                               size_t n_more_nodes, struct dpot_error *error)
{
    if (n_rows == 0 || n_cols == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the cost matrix is %zu x %zu: both measures need a point", n_rows,
                              n_cols);
    }
    const size_t nodes_max = (size_t)INT32_MAX - 1;
    if (n_more_nodes > nodes_max || n_rows > nodes_max || n_cols > nodes_max ||
        n_rows + n_cols + n_more_nodes > nodes_max || n_rows > SIZE_MAX / sizeof(double) / n_cols) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "a cost matrix of %zu x %zu has %.3g bytes and is beyond the exact "
                              "method: use the entropic one or fewer points",
                              n_rows, n_cols, 8.0 * (double)n_rows * (double)n_cols);
    }
    for (size_t i = 0; i < n_rows * n_cols; i++) {
        if (!(fabs(cost[i]) <= DPOT_TRANSPORT_COST_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "the cost in row %zu, column %zu is %g: costs are finite and "
                                  "below %g",
                                  i / n_cols + 1, i % n_cols + 1, cost[i], DPOT_TRANSPORT_COST_MAX);
        }
    }
    return DPOT_OK;
}

static dpot_status check_masses(const char *name, const double *mass, size_t n, double *total,
                                struct dpot_error *error)
{
    struct accurate_sum sum = {0.0, 0.0};
    for (size_t i = 0; i < n; i++) {
        if (!(mass[i] >= 0.0 && isfinite(mass[i]))) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "mass %zu of %s is %g: masses are finite and not negative", i + 1,
                                  name, mass[i]);
        }
        add(&sum, mass[i]);
    }
    *total = value_of(&sum);
    if (!isfinite(*total)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the sum of %s overflows: scale it to mass one", name);
    }
    return DPOT_OK;
}

/* Rounds masses to units of 2^(exponent - UNIT_BITS); returns their sum. */
static int64_t to_units(const double *mass, size_t n, double factor, int exponent, int64_t *units)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        units[i] = (int64_t)floor(ldexp(mass[i] * factor, UNIT_BITS - exponent) + 0.5);
        sum += units[i];
    }
    return sum;
}

static double to_mass(int64_t units, int exponent)
{
    return ldexp((double)units, exponent - UNIT_BITS);
}

/* The largest entry takes what rounding left between two totals. */
static void add_to_largest(int64_t *units, size_t n, int64_t difference)
{
    size_t largest = 0;
    for (size_t i = 1; i < n; i++) {
        largest = units[i] > units[largest] ? i : largest;
    }
    units[largest] += difference;
}

/* Row and column of the arc above a node; 0 at the root and outside the tree. */
static int arc_above(const struct dpot_transport_simplex *t, size_t node, size_t *row, size_t *col)
{
    if (t->parent[node] < 0) {
        return 0;
    }
    const size_t parent = (size_t)t->parent[node];
    *row = node < t->n_rows ? node : parent;
    *col = (node < t->n_rows ? parent : node) - t->n_rows;
    return 1;
}

static double plan_cost(const struct dpot_transport_simplex *t, int exponent)
{
    struct accurate_sum sum = {0.0, 0.0};
    for (size_t node = 0; node < t->n_rows + t->n_cols; node++) {
        size_t row = 0, col = 0;
        if (t->flow[node] > 0 && arc_above(t, node, &row, &col)) {
            add(&sum,
                to_mass(t->flow[node], exponent) * *dpot_transport_simplex_cost_at(t, row, col));
        }
    }
    return value_of(&sum);
}

static int compare_entries(const void *left, const void *right)
{
    const struct dpot_exact_plan_entry *a = left, *b = right;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return a->col < b->col ? -1 : a->col > b->col;
}

static void take_plan(const struct dpot_transport_simplex *t, int exponent,
                      struct dpot_exact_result *result)
{
    size_t n = 0;
    for (size_t node = 0; node < t->n_rows + t->n_cols; node++) {
        size_t row = 0, col = 0;
        if (t->flow[node] > 0 && arc_above(t, node, &row, &col)) {
            result->entries[n++] = (struct dpot_exact_plan_entry){(uint32_t)row, (uint32_t)col,
                                                                  to_mass(t->flow[node], exponent)};
        }
    }
    qsort(result->entries, n, sizeof *result->entries, compare_entries);
    result->n_entries = n;
    result->transport_cost = plan_cost(t, exponent);
    result->pivots = t->pivots;
}

/* Potentials of every row and column, feasible to the last bit that f_i + g_j can carry: columns
 * without mass get what the rows in the tree allow, then each row what all columns allow. */
static void take_potentials(const struct dpot_transport_simplex *t, const double *a,
                            const double *b, double b_factor, struct dpot_exact_result *result)
{
    const size_t n_rows = t->n_rows, n_cols = t->n_cols;
    memcpy(result->g, t->g, n_cols * sizeof *result->g);
    for (size_t j = 0; j < n_cols; j++) {
        if (result->g[j] == -DPOT_TRANSPORT_BARRED) {
            result->g[j] = INFINITY;
            for (size_t r = 0; r < t->n_active_rows; r++) {
                const size_t i = (size_t)t->rows[r];
                result->g[j] = fmin(result->g[j], t->cost[i * n_cols + j] - t->f[i]);
            }
        }
    }
    struct accurate_sum dual = {0.0, 0.0};
    for (size_t i = 0; i < n_rows; i++) {
        double f = INFINITY;
        for (size_t j = 0; j < n_cols; j++) {
            f = fmin(f, t->cost[i * n_cols + j] - result->g[j]);
        }
        result->f[i] = f;
        add(&dual, a[i] * f);
    }
    for (size_t j = 0; j < n_cols; j++) {
        add(&dual, b[j] * b_factor * result->g[j]);
    }
    result->dual = value_of(&dual);
}

static dpot_status result_init(struct dpot_exact_result *result, size_t n_rows, size_t n_cols,
                               const struct dpot_allocator *allocator)
{
    result->allocator = allocator;
    result->n_rows = n_rows;
    result->n_cols = n_cols;
    result->entries = dpot_alloc_array(allocator, n_rows + n_cols - 1, sizeof *result->entries);
    result->f = dpot_alloc_array(allocator, n_rows, sizeof *result->f);
    result->g = dpot_alloc_array(allocator, n_cols, sizeof *result->g);
    return result->entries && result->f && result->g ? DPOT_OK : DPOT_ERR_MEMORY;
}

void dpot_exact_result_release(struct dpot_exact_result *result)
{
    const size_t n_entries = result->n_rows + result->n_cols - (result->n_rows > 0);
    dpot_free_array(result->allocator, result->entries, n_entries, sizeof *result->entries);
    dpot_free_array(result->allocator, result->f, result->n_rows, sizeof *result->f);
    dpot_free_array(result->allocator, result->g, result->n_cols, sizeof *result->g);
    memset(result, 0, sizeof *result);
}

static dpot_status check_problem(const double *cost, const double *a, const double *b,
                                 size_t n_rows, size_t n_cols, double *total_a, double *b_factor,
                                 struct dpot_error *error)
{
    double total_b = 0.0;
    dpot_status status = check_shape(cost, n_rows, n_cols, 0, error);
    if (status == DPOT_OK) {
        status = check_masses("a", a, n_rows, total_a, error);
    }
    if (status == DPOT_OK) {
        status = check_masses("b", b, n_cols, &total_b, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (*total_a <= 0.0 || fabs(*total_a - total_b) > MASS_TOL * *total_a) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the masses are %.17g and %.17g: exact transport needs two equal "
                              "positive masses, scale one to the other",
                              *total_a, total_b);
    }
    *b_factor = fabs(*total_a - total_b) <= SAME_MASS * *total_a ? 1.0 : *total_a / total_b;
    return DPOT_OK;
}

dpot_status dpot_exact_ot(const double *cost, const double *a, const double *b, size_t n_rows,
                          size_t n_cols, const struct dpot_allocator *allocator,
                          struct dpot_exact_result *result, struct dpot_error *error)
{
    struct dpot_transport_simplex transport = {0};
    double total = 0.0, b_factor = 1.0;
    int exponent = 0;
    memset(result, 0, sizeof *result);
    dpot_status status = check_problem(cost, a, b, n_rows, n_cols, &total, &b_factor, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = dpot_transport_simplex_init(&transport, n_rows, n_cols, allocator);
    if (status == DPOT_OK) {
        status = result_init(result, n_rows, n_cols, allocator);
    }
    if (status != DPOT_OK) {
        goto done;
    }
    (void)frexp(total, &exponent);
    transport.width = n_cols;
    transport.cost = cost;
    const int64_t sum_a = to_units(a, n_rows, 1.0, exponent, transport.supply);
    const int64_t sum_b = to_units(b, n_cols, b_factor, exponent, transport.demand);
    add_to_largest(transport.demand, n_cols, sum_a - sum_b);
    dpot_transport_simplex_solve(&transport, NULL);
    take_plan(&transport, exponent, result);
    take_potentials(&transport, a, b, b_factor, result);
done:
    dpot_transport_simplex_release(&transport);
    if (status != DPOT_OK) {
        dpot_exact_result_release(result);
        (void)dpot_error_set(error, status, "no memory for an exact transport of %zu x %zu", n_rows,
                             n_cols);
    }
    return status;
}

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
    struct accurate_sum low = {0.0, 0.0}, high = {0.0, 0.0};
    for (size_t j = 0; j < n; j++) {
        if (!(lower[j] >= 0.0 && upper[j] >= lower[j] && isfinite(upper[j]))) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "the bounds of column %zu are [%g, %g]: need finite numbers with "
                                  "0 <= lower <= upper",
                                  j + 1, lower[j], upper[j]);
        }
        add(&low, lower[j]);
        add(&high, fmin(upper[j], fmax(lower[j], 1.0)));
    }
    *sum_lower = value_of(&low);
    *sum_upper = value_of(&high);
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
        if (t->flow[node] > 0 && arc_above(t, node, &row, &col) && row == p->n_rows) {
            p->upper[col - p->n_cols] -= t->flow[node];
        }
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        q[j] = fmin(fmax(to_mass(p->upper[j], exponent), lower[j]), upper[j]);
    }
}

static dpot_status check_projection(const double *cost, const double *mu, const double *lower,
                                    const double *upper, size_t n_rows, size_t n_cols, double *mass,
                                    double *sum_upper, struct dpot_error *error)
{
    double sum_lower = 0.0;
    dpot_status status = check_shape(cost, n_rows, n_cols, n_cols + 1, error);
    if (status == DPOT_OK) {
        status = check_masses("mu", mu, n_rows, mass, error);
    }
    if (status == DPOT_OK && fabs(*mass - 1.0) > MASS_TOL) {
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
    const int64_t in = to_units(mu, p->n_rows, 1.0 / mass, exponent, t->supply);
    const int64_t least = to_units(lower, p->n_cols, 1.0, exponent, t->demand);
    const int64_t most = to_units(p->cap, p->n_cols, 1.0, exponent, p->upper);
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
    *transport_cost = plan_cost(t, exponent);
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

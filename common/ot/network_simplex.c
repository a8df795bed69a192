#include "ot/network_simplex.h"

#include "ot/exact_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME_MASS 1e-12 /* relative; smaller differences are rounding: no scaling, ties stay ties */

static dpot_status check_size(size_t n_rows, size_t n_cols, size_t n_more_nodes,
                              struct dpot_error *error)
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
    return DPOT_OK;
}

static dpot_status check_costs(const double *cost, size_t n_rows, size_t n_cols,
                               struct dpot_error *error)
{
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

dpot_status dpot_exact_check_shape(const double *cost, size_t n_rows, size_t n_cols,
                                   size_t n_more_nodes, struct dpot_error *error)
{
    const dpot_status status = check_size(n_rows, n_cols, n_more_nodes, error);
    return status == DPOT_OK ? check_costs(cost, n_rows, n_cols, error) : status;
}

dpot_status dpot_exact_check_masses(const char *name, const double *mass, size_t n, double *total,
                                    struct dpot_error *error)
{
    struct dpot_exact_sum sum = {0.0, 0.0};
    for (size_t i = 0; i < n; i++) {
        if (!(mass[i] >= 0.0 && isfinite(mass[i]))) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "mass %zu of %s is %g: masses are finite and not negative", i + 1,
                                  name, mass[i]);
        }
        dpot_exact_add(&sum, mass[i]);
    }
    *total = dpot_exact_sum_of(&sum);
    if (!isfinite(*total)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the sum of %s overflows: scale it to mass one", name);
    }
    return DPOT_OK;
}

int dpot_exact_arc_above(const struct dpot_transport_simplex *t, size_t node, size_t *row,
                         size_t *col)
{
    if (t->parent[node] < 0) {
        return 0;
    }
    const size_t parent = (size_t)t->parent[node];
    *row = node < t->n_rows ? node : parent;
    *col = (node < t->n_rows ? parent : node) - t->n_rows;
    return 1;
}

double dpot_exact_plan_cost(const struct dpot_transport_simplex *t, int exponent)
{
    struct dpot_exact_sum sum = {0.0, 0.0};
    for (size_t node = 0; node < t->n_rows + t->n_cols; node++) {
        size_t row = 0, col = 0;
        if (t->flow[node] > 0 && dpot_exact_arc_above(t, node, &row, &col)) {
            dpot_exact_add(&sum, dpot_exact_to_mass(t->flow[node], exponent) *
                                     *dpot_transport_simplex_cost_at(t, row, col));
        }
    }
    return dpot_exact_sum_of(&sum);
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
        if (t->flow[node] > 0 && dpot_exact_arc_above(t, node, &row, &col)) {
            result->entries[n++] = (struct dpot_exact_plan_entry){
                (uint32_t)row, (uint32_t)col, dpot_exact_to_mass(t->flow[node], exponent)};
        }
    }
    qsort(result->entries, n, sizeof *result->entries, compare_entries);
    result->n_entries = n;
    result->transport_cost = dpot_exact_plan_cost(t, exponent);
    result->pivots = t->pivots;
}

/* Potentials of all rows and columns, feasible up to the last bit of f_i + g_j: columns without
 * mass get the largest value that the rows of the tree allow, then each row the largest that all
 * columns allow. */
static void take_potentials(const struct dpot_transport_simplex *t, const double *a,
                            const double *b, double b_factor, struct dpot_exact_result *result)
{
    const size_t n_rows = t->n_rows, n_cols = t->n_cols;
    for (size_t j = 0; j < n_cols; j++) {
        result->g[j] = -t->minus_g[j];
        if (t->minus_g[j] == DPOT_TRANSPORT_BARRED) {
            result->g[j] = INFINITY;
            for (size_t r = 0; r < t->n_active_rows; r++) {
                const size_t i = (size_t)t->rows[r];
                result->g[j] = fmin(result->g[j], t->cost[i * n_cols + j] - t->f[i]);
            }
        }
    }
    struct dpot_exact_sum dual = {0.0, 0.0};
    for (size_t i = 0; i < n_rows; i++) {
        double f = INFINITY;
        for (size_t j = 0; j < n_cols; j++) {
            f = fmin(f, t->cost[i * n_cols + j] - result->g[j]);
        }
        result->f[i] = f;
        dpot_exact_add(&dual, a[i] * f);
    }
    for (size_t j = 0; j < n_cols; j++) {
        dpot_exact_add(&dual, b[j] * b_factor * result->g[j]);
    }
    result->dual = dpot_exact_sum_of(&dual);
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

struct dpot_exact_sequence {
    struct dpot_transport_simplex transport;
    struct dpot_exact_result result;
    double *a, *b; /* copies of the masses */
    double b_factor;
    int exponent;
    int has_tree;
};

/* Everything but the costs, which _solve checks. */
static dpot_status check_masses_of_two(const double *a, const double *b, size_t n_rows,
                                       size_t n_cols, double *total_a, double *b_factor,
                                       struct dpot_error *error)
{
    double total_b = 0.0;
    dpot_status status = check_size(n_rows, n_cols, 0, error);
    if (status == DPOT_OK) {
        status = dpot_exact_check_masses("a", a, n_rows, total_a, error);
    }
    if (status == DPOT_OK) {
        status = dpot_exact_check_masses("b", b, n_cols, &total_b, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (*total_a <= 0.0 || fabs(*total_a - total_b) > DPOT_EXACT_MASS_TOL * *total_a) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the masses are %.17g and %.17g: exact transport needs two equal "
                              "positive masses, scale one to the other",
                              *total_a, total_b);
    }
    *b_factor = fabs(*total_a - total_b) <= SAME_MASS * *total_a ? 1.0 : *total_a / total_b;
    return DPOT_OK;
}

static dpot_status sequence_init(struct dpot_exact_sequence *q, const double *a, const double *b,
                                 size_t n_rows, size_t n_cols,
                                 const struct dpot_allocator *allocator)
{
    dpot_status status = dpot_transport_simplex_init(&q->transport, n_rows, n_cols, allocator);
    if (status == DPOT_OK) {
        status = result_init(&q->result, n_rows, n_cols, allocator);
    }
    q->a = dpot_alloc_array(allocator, n_rows, sizeof *q->a);
    q->b = dpot_alloc_array(allocator, n_cols, sizeof *q->b);
    if (status != DPOT_OK || !q->a || !q->b) {
        return DPOT_ERR_MEMORY;
    }
    memcpy(q->a, a, n_rows * sizeof *a);
    memcpy(q->b, b, n_cols * sizeof *b);
    q->transport.width = n_cols;
    return DPOT_OK;
}

/* Releases the content of `q`. */
static void sequence_release(struct dpot_exact_sequence *q, size_t n_rows, size_t n_cols,
                             const struct dpot_allocator *allocator)
{
    dpot_transport_simplex_release(&q->transport);
    dpot_exact_result_release(&q->result);
    dpot_free_array(allocator, q->a, n_rows, sizeof *q->a);
    dpot_free_array(allocator, q->b, n_cols, sizeof *q->b);
    q->a = q->b = NULL;
}

dpot_status dpot_exact_sequence_new(const double *a, const double *b, size_t n_rows, size_t n_cols,
                                    const struct dpot_allocator *allocator,
                                    struct dpot_exact_sequence **sequence, struct dpot_error *error)
{
    double total = 0.0, b_factor = 1.0;
    *sequence = NULL;
    const dpot_status status = check_masses_of_two(a, b, n_rows, n_cols, &total, &b_factor, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct dpot_exact_sequence *q = dpot_alloc_array(allocator, 1, sizeof *q);
    if (!q || sequence_init(q, a, b, n_rows, n_cols, allocator) != DPOT_OK) {
        if (q) {
            sequence_release(q, n_rows, n_cols, allocator);
        }
        dpot_free_array(allocator, q, 1, sizeof *q);
        return dpot_error_set(error, DPOT_ERR_MEMORY,
                              "no memory for an exact transport of %zu x %zu", n_rows, n_cols);
    }
    q->b_factor = b_factor;
    (void)frexp(total, &q->exponent);
    *sequence = q;
    return DPOT_OK;
}

void dpot_exact_sequence_free(struct dpot_exact_sequence *q)
{
    if (q) {
        const struct dpot_allocator *allocator = q->result.allocator;
        sequence_release(q, q->result.n_rows, q->result.n_cols, allocator);
        dpot_free_array(allocator, q, 1, sizeof *q);
    }
}

/* Masses in units; the first solve builds the tree from them. */
static void load_units(struct dpot_exact_sequence *q)
{
    struct dpot_transport_simplex *t = &q->transport;
    const int64_t sum_a = dpot_exact_to_units(q->a, t->n_rows, 1.0, q->exponent, t->supply);
    const int64_t sum_b = dpot_exact_to_units(q->b, t->n_cols, q->b_factor, q->exponent, t->demand);
    dpot_exact_add_to_largest(t->demand, t->n_cols, sum_a - sum_b);
}

dpot_status dpot_exact_sequence_solve(struct dpot_exact_sequence *q, const double *cost,
                                      struct dpot_error *error)
{
    struct dpot_transport_simplex *t = &q->transport;
    const dpot_status status = check_costs(cost, t->n_rows, t->n_cols, error);
    if (status != DPOT_OK) {
        return status;
    }
    t->cost = cost;
    if (q->has_tree) {
        dpot_transport_simplex_resume(t);
    } else {
        load_units(q);
        dpot_transport_simplex_solve(t, NULL);
        q->has_tree = 1;
    }
    take_plan(t, q->exponent, &q->result);
    take_potentials(t, q->a, q->b, q->b_factor, &q->result);
    return DPOT_OK;
}

const struct dpot_exact_result *dpot_exact_sequence_result(const struct dpot_exact_sequence *q)
{
    return &q->result;
}

dpot_status dpot_exact_ot(const double *cost, const double *a, const double *b, size_t n_rows,
                          size_t n_cols, const struct dpot_allocator *allocator,
                          struct dpot_exact_result *result, struct dpot_error *error)
{
    struct dpot_exact_sequence *sequence = NULL;
    memset(result, 0, sizeof *result);
    dpot_status status = dpot_exact_check_shape(cost, n_rows, n_cols, 0, error);
    if (status == DPOT_OK) {
        status = dpot_exact_sequence_new(a, b, n_rows, n_cols, allocator, &sequence, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    status = dpot_exact_sequence_solve(sequence, cost, error);
    if (status == DPOT_OK) {
        *result = sequence->result;
        /* The result owns these now; sizes and allocator are needed to release the rest. */
        sequence->result.entries = NULL;
        sequence->result.f = sequence->result.g = NULL;
    }
    dpot_exact_sequence_free(sequence);
    return status;
}

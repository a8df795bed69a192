#include "ot/sinkhorn.h"

#include "ot/log_sweep.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MASS_TOL 1e-6 /* largest relative difference of equal masses */
#define COST_MAX 1e300
#define SMALL_LOG_RATIO 0.5 /* below, terms linear in log(P / ab) are cancelled analytically */

/* The problem scaled to mass one, with potentials in units of lambda: P_ij = a_i b_j exp(F_i + G_j
 * - C_ij / lambda). Points without mass have the finite potential of the limit. */
struct sinkhorn {
    size_t n_rows, n_cols;
    const double *cost;
    double lambda, inverse_lambda;
    double *a, *b; /* scaled to mass one */
    double *log_a, *log_b;
    double *f, *next_f;
    double *g;
    double *h; /* (max(n_rows, n_cols)) potential plus log mass of one side */
    double *largest;
};

static dpot_status check_masses(const char *name, const double *mass, size_t n, double *total,
                                struct dpot_error *error)
{
    *total = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!(mass[i] >= 0.0 && mass[i] <= DBL_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "mass %zu of %s is %g: masses are finite and not negative", i + 1,
                                  name, mass[i]);
        }
        *total += mass[i];
    }
    return DPOT_OK;
}

static dpot_status check_lambda(double lambda, double largest_cost, struct dpot_error *error)
{
    if (largest_cost > 0.0 && lambda > DPOT_SINKHORN_LAMBDA_RATIO * largest_cost) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "lambda is %g, the largest |cost| %g: above %g times the largest cost "
            "the plan is a x b to about a millionth, use that or a smaller "
            "lambda",
            lambda, largest_cost, DPOT_SINKHORN_LAMBDA_RATIO);
    }
    return DPOT_OK;
}

static dpot_status check_cost(const double *cost, size_t n_rows, size_t n_cols, double lambda,
                              double *largest, struct dpot_error *error)
{
    *largest = 0.0;
    if (n_rows == 0 || n_cols == 0 || n_rows > SIZE_MAX / sizeof(double) / n_cols) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the cost matrix is %zu x %zu (%.3g bytes): both measures need a "
                              "point and the matrix must fit in memory",
                              n_rows, n_cols, 8.0 * (double)n_rows * (double)n_cols);
    }
    if (!(lambda >= DBL_MIN && lambda <= DBL_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "lambda is %g: give at least %.2g, in the units of the cost", lambda,
                              DBL_MIN);
    }
    for (size_t i = 0; i < n_rows * n_cols; i++) {
        if (!(fabs(cost[i]) / lambda <= 1e15 && fabs(cost[i]) <= COST_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "the cost in row %zu, column %zu is %g: costs are finite, at "
                                  "most %g and at most 1e15 lambda",
                                  i / n_cols + 1, i % n_cols + 1, cost[i], COST_MAX);
        }
        *largest = fmax(*largest, fabs(cost[i]));
    }
    return check_lambda(lambda, *largest, error);
}

static void release(struct sinkhorn *s, const struct dpot_allocator *allocator)
{
    const size_t n = s->n_rows, m = s->n_cols, most = n > m ? n : m;
    dpot_free_array(allocator, s->a, n, sizeof(double));
    dpot_free_array(allocator, s->log_a, n, sizeof(double));
    dpot_free_array(allocator, s->log_b, m, sizeof(double));
    dpot_free_array(allocator, s->b, m, sizeof(double));
    dpot_free_array(allocator, s->f, n, sizeof(double));
    dpot_free_array(allocator, s->next_f, n, sizeof(double));
    dpot_free_array(allocator, s->g, m, sizeof(double));
    dpot_free_array(allocator, s->h, most, sizeof(double));
    dpot_free_array(allocator, s->largest, m, sizeof(double));
    memset(s, 0, sizeof *s);
}

static dpot_status init(struct sinkhorn *s, const double *a, double mass_a, const double *b,
                        double mass_b, const struct dpot_allocator *allocator)
{
    const size_t n = s->n_rows, m = s->n_cols, most = n > m ? n : m;
    s->a = dpot_alloc_array(allocator, n, sizeof(double));
    s->log_a = dpot_alloc_array(allocator, n, sizeof(double));
    s->log_b = dpot_alloc_array(allocator, m, sizeof(double));
    s->b = dpot_alloc_array(allocator, m, sizeof(double));
    s->f = dpot_alloc_array(allocator, n, sizeof(double));
    s->next_f = dpot_alloc_array(allocator, n, sizeof(double));
    s->g = dpot_alloc_array(allocator, m, sizeof(double));
    s->h = dpot_alloc_array(allocator, most, sizeof(double));
    s->largest = dpot_alloc_array(allocator, m, sizeof(double));
    if (!s->a || !s->log_a || !s->log_b || !s->b || !s->f || !s->next_f || !s->g || !s->h ||
        !s->largest) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        s->a[i] = a[i] / mass_a;
        s->log_a[i] = log(s->a[i]);
    }
    for (size_t j = 0; j < m; j++) {
        s->b[j] = b[j] / mass_b;
        s->log_b[j] = log(s->b[j]);
    }
    return DPOT_OK;
}

static void add_vectors(const double *x, const double *y, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = x[i] + y[i];
    }
}

static void negate(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = -x[i];
    }
}

/* The f that satisfies the row marginals for the current g. */
static void find_next_f(struct sinkhorn *s)
{
    add_vectors(s->log_b, s->g, s->n_cols, s->h);
    dpot_log_sweep_rows(s->cost, s->n_rows, s->n_cols, s->inverse_lambda, s->h, s->next_f);
    negate(s->next_f, s->n_rows);
}

static void update_g(struct sinkhorn *s)
{
    add_vectors(s->log_a, s->f, s->n_rows, s->h);
    dpot_log_sweep_cols(s->cost, s->n_rows, s->n_cols, s->inverse_lambda, s->h, s->largest, s->g);
    negate(s->g, s->n_cols);
}

/* Row i of the plan has mass a_i exp(F_i - next F_i). */
static double row_residual(const struct sinkhorn *s)
{
    double residual = 0.0;
    for (size_t i = 0; i < s->n_rows; i++) {
        residual += s->a[i] > 0.0 ? s->a[i] * fabs(expm1(s->f[i] - s->next_f[i])) : 0.0;
    }
    return residual;
}

/* Columns are exact after every iteration, so the residual is that of the rows. Computing it takes
 * the next half sweep, which the next iteration needs anyway. */
static void iterate(struct sinkhorn *s, double mass, double tol, size_t max_iterations,
                    struct dpot_sinkhorn_result *result)
{
    find_next_f(s);
    do {
        double *swap = s->f;
        s->f = s->next_f;
        s->next_f = swap;
        update_g(s);
        find_next_f(s);
        result->iterations++;
        result->residual = mass * row_residual(s);
        result->converged = result->residual <= tol;
    } while (!result->converged && result->iterations < max_iterations);
}

/* One entry of lambda KL(P | a x b) with l = log(P / ab): lambda (P l - P + ab). The last two terms
 * sum to zero, both masses being one; with them an entry is of order l^2, without them of order l,
 * and a large lambda would multiply the rounding errors of l. */
static double divergence_term(double lambda, double product, double mass, double log_ratio)
{
    if (fabs(log_ratio) < SMALL_LOG_RATIO) {
        const double second_order = log_ratio * exp(log_ratio) - expm1(log_ratio);
        return lambda * fmax(second_order, 0.0) * product;
    }
    return lambda * (mass > 0.0 ? mass * log_ratio - (mass - product) : product);
}

/* One entry of the dual value lambda (sum aF + sum bG - sum (P - ab)), as lambda (ab (F + G) - P +
 * ab), where F + G = C / lambda + l: again without terms of order l for small l. */
static double dual_term(const struct sinkhorn *s, size_t i, size_t j, double mass, double log_ratio)
{
    const double product = s->a[i] * s->b[j];
    if (fabs(log_ratio) < SMALL_LOG_RATIO) {
        const double second_order = fmax(expm1(log_ratio) - log_ratio, 0.0);
        return product * (s->cost[i * s->n_cols + j] - s->lambda * second_order);
    }
    return s->lambda * (product * (s->f[i] + s->g[j]) - (mass - product));
}

/* The values of row i of the last plan, for mass one; also the plan unless NULL. */
static void evaluate_row(const struct sinkhorn *s, size_t i, double mass_scale, double *plan,
                         struct dpot_sinkhorn_result *row)
{
    memset(row, 0, sizeof *row);
    for (size_t j = 0; j < s->n_cols; j++) {
        const double cost = s->cost[i * s->n_cols + j];
        const double log_ratio = s->f[i] + s->g[j] - cost * s->inverse_lambda;
        const double mass = exp(s->log_a[i] + s->log_b[j] + log_ratio);
        row->transport_cost += mass * cost;
        row->value += divergence_term(s->lambda, s->a[i] * s->b[j], mass, log_ratio);
        row->dual += dual_term(s, i, j, mass, log_ratio);
        if (plan) {
            plan[i * s->n_cols + j] = mass_scale * mass;
        }
    }
}

static void evaluate(const struct sinkhorn *s, double mass_scale, double *plan,
                     struct dpot_sinkhorn_result *result)
{
    double linear = 0.0, divergence = 0.0, dual = 0.0;
    for (size_t i = 0; i < s->n_rows; i++) {
        struct dpot_sinkhorn_result row;
        evaluate_row(s, i, mass_scale, plan, &row);
        linear += row.transport_cost;
        divergence += row.value;
        dual += row.dual;
    }
    result->transport_cost = mass_scale * linear;
    result->value = mass_scale * (linear + divergence);
    result->dual = mass_scale * dual;
}

static void copy_potential(const double *from, size_t n, double lambda, double *to)
{
    for (size_t i = 0; to && i < n; i++) {
        to[i] = lambda * from[i];
    }
}

dpot_status dpot_sinkhorn(const double *cost, const double *a, const double *b, size_t n_rows,
                          size_t n_cols, double lambda, double tol, size_t max_iterations,
                          const struct dpot_allocator *allocator, double *f, double *g,
                          double *plan, struct dpot_sinkhorn_result *result,
                          struct dpot_error *error)
{
    struct sinkhorn s = {.n_rows = n_rows, .n_cols = n_cols, .cost = cost};
    double mass_a = 0.0, mass_b = 0.0, largest = 0.0;
    memset(result, 0, sizeof *result);
    dpot_status status = check_cost(cost, n_rows, n_cols, lambda, &largest, error);
    if (status == DPOT_OK) {
        status = check_masses("a", a, n_rows, &mass_a, error);
    }
    if (status == DPOT_OK) {
        status = check_masses("b", b, n_cols, &mass_b, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (!(mass_a > 0.0 && mass_a <= DBL_MAX && fabs(mass_a - mass_b) <= MASS_TOL * mass_a)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the masses are %.17g and %.17g: balanced transport needs two equal "
                              "positive masses, scale one to the other",
                              mass_a, mass_b);
    }
    s.lambda = largest > 0.0 ? lambda : 1.0; /* without a cost lambda has no effect */
    s.inverse_lambda = 1.0 / s.lambda;
    status = init(&s, a, mass_a, b, mass_b, allocator);
    if (status != DPOT_OK) {
        (void)dpot_error_set(error, status, "no memory for a transport of %zu x %zu", n_rows,
                             n_cols);
    } else {
        iterate(&s, mass_a, tol, max_iterations, result);
        evaluate(&s, mass_a, plan, result);
        copy_potential(s.f, n_rows, s.lambda, f);
        copy_potential(s.g, n_cols, s.lambda, g);
    }
    release(&s, allocator);
    return status;
}

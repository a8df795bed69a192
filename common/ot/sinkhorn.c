#include "ot/sinkhorn.h"

#include "ot/log_sweep.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MASS_TOL 1e-6 /* relative difference of two masses that count as equal */

/* Potentials in units of lambda: P_ij = a_i b_j exp(F_i + G_j - C_ij / lambda). A point without
 * mass has a finite potential too, that of the limit. */
struct sinkhorn {
    size_t n_rows, n_cols;
    const double *cost;
    const double *a;
    double inverse_lambda;
    double *log_a, *log_b;
    double *b; /* scaled to the mass of a */
    double *f, *next_f;
    double *g;
    double *h; /* (max(n_rows, n_cols)) potential plus log mass of one side */
    double *largest;
    double mass;
};

static dpot_status check_masses(const char *name, const double *mass, size_t n, double *total,
                                struct dpot_error *error)
{
    *total = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!(mass[i] >= 0.0 && mass[i] <= DBL_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "%s[%zu] is %g: masses are finite and not negative", name, i,
                                  mass[i]);
        }
        *total += mass[i];
    }
    return DPOT_OK;
}

static dpot_status check_cost(const double *cost, size_t n_rows, size_t n_cols, double lambda,
                              struct dpot_error *error)
{
    if (n_rows == 0 || n_cols == 0 || n_rows > SIZE_MAX / sizeof(double) / n_cols) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the cost matrix is %zu x %zu (%.3g bytes): both measures need a "
                              "point and the matrix must fit in memory",
                              n_rows, n_cols, 8.0 * (double)n_rows * (double)n_cols);
    }
    if (!(lambda > 0.0 && lambda <= DBL_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "lambda is %g: it must be positive, in the units of the cost",
                              lambda);
    }
    for (size_t i = 0; i < n_rows * n_cols; i++) {
        if (!(fabs(cost[i]) / lambda <= 1e15)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "the cost of (%zu, %zu) is %g: costs are finite and at most "
                                  "1e15 lambda",
                                  i / n_cols, i % n_cols, cost[i]);
        }
    }
    return DPOT_OK;
}

static void release(struct sinkhorn *s, const struct dpot_allocator *allocator)
{
    const size_t n = s->n_rows, m = s->n_cols, most = n > m ? n : m;
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

static dpot_status init(struct sinkhorn *s, const double *b, double b_factor,
                        const struct dpot_allocator *allocator)
{
    const size_t n = s->n_rows, m = s->n_cols, most = n > m ? n : m;
    s->log_a = dpot_alloc_array(allocator, n, sizeof(double));
    s->log_b = dpot_alloc_array(allocator, m, sizeof(double));
    s->b = dpot_alloc_array(allocator, m, sizeof(double));
    s->f = dpot_alloc_array(allocator, n, sizeof(double));
    s->next_f = dpot_alloc_array(allocator, n, sizeof(double));
    s->g = dpot_alloc_array(allocator, m, sizeof(double));
    s->h = dpot_alloc_array(allocator, most, sizeof(double));
    s->largest = dpot_alloc_array(allocator, m, sizeof(double));
    if (!s->log_a || !s->log_b || !s->b || !s->f || !s->next_f || !s->g || !s->h || !s->largest) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        s->log_a[i] = log(s->a[i]);
    }
    for (size_t j = 0; j < m; j++) {
        s->b[j] = b[j] * b_factor;
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

/* The f that meets the row marginals against the present g. */
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

/* Columns are exact after every iteration, so the residual is that of the rows. It takes the next
 * half sweep, which is the work of the next iteration anyway. */
static void iterate(struct sinkhorn *s, double tol, size_t max_iterations,
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
        result->residual = row_residual(s);
        result->converged = result->residual <= tol;
    } while (!result->converged && result->iterations < max_iterations);
}

/* All four numbers of the last plan; the plan itself when it is asked for. */
static void evaluate(const struct sinkhorn *s, double lambda, double *plan,
                     struct dpot_sinkhorn_result *result)
{
    double linear = 0.0, divergence = 0.0, plan_mass = 0.0, dual = 0.0;
    for (size_t i = 0; i < s->n_rows; i++) {
        double row_linear = 0.0, row_divergence = 0.0, row_mass = 0.0;
        for (size_t j = 0; j < s->n_cols; j++) {
            const double cost = s->cost[i * s->n_cols + j];
            const double log_ratio = s->f[i] + s->g[j] - cost * s->inverse_lambda;
            const double mass = exp(s->log_a[i] + s->log_b[j] + log_ratio);
            row_linear += mass > 0.0 ? mass * cost : 0.0;
            row_divergence += mass > 0.0 ? mass * log_ratio : 0.0;
            row_mass += mass;
            if (plan) {
                plan[i * s->n_cols + j] = mass;
            }
        }
        linear += row_linear;
        divergence += row_divergence;
        plan_mass += row_mass;
        dual += s->a[i] * s->f[i];
    }
    for (size_t j = 0; j < s->n_cols; j++) {
        dual += s->b[j] * s->g[j];
    }
    result->transport_cost = linear;
    result->value = linear + lambda * divergence;
    result->dual = lambda * (dual - (plan_mass - s->mass));
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
    struct sinkhorn s = {.n_rows = n_rows, .n_cols = n_cols, .cost = cost, .a = a};
    double mass_b = 0.0;
    memset(result, 0, sizeof *result);
    dpot_status status = check_cost(cost, n_rows, n_cols, lambda, error);
    if (status == DPOT_OK) {
        status = check_masses("a", a, n_rows, &s.mass, error);
    }
    if (status == DPOT_OK) {
        status = check_masses("b", b, n_cols, &mass_b, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (!(s.mass > 0.0 && s.mass <= DBL_MAX && fabs(s.mass - mass_b) <= MASS_TOL * s.mass)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the masses are %.17g and %.17g: balanced transport needs two equal "
                              "positive masses, scale one to the other",
                              s.mass, mass_b);
    }
    s.inverse_lambda = 1.0 / lambda;
    status = init(&s, b, s.mass / mass_b, allocator);
    if (status != DPOT_OK) {
        (void)dpot_error_set(error, status, "no memory for a transport of %zu x %zu", n_rows,
                             n_cols);
    } else {
        iterate(&s, tol, max_iterations, result);
        evaluate(&s, lambda, plan, result);
        copy_potential(s.f, n_rows, lambda, f);
        copy_potential(s.g, n_cols, lambda, g);
    }
    release(&s, allocator);
    return status;
}

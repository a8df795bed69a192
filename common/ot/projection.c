#include "ot/projection.h"

#include "base/crypto.h"
#include "ot/linalg.h"
#include "ot/log_sweep.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

/* Terms beyond this cost/lambda vanish in any domain; the limit keeps potentials finite. */
#define COST_RATIO_MAX 1e15

/* Smallest v, where the largest is 1: with K >= exp(-DPOT_PROJECTION_KERNEL_RATIO) > 2^-433 no
 * product of K, v and u is subnormal, and the floor adds less than 2^-67 of K v per column. */
#define V_FLOOR 0x1p-500

#define COARSEST_RATIO 8.0 /* cost range / lambda of the first stage of a scaled run */
#define COARSE_TOL 1e-4    /* Hilbert change that ends a stage before the last */

/* u, v, s and theta are the vectors and the scale themselves, or their logarithms if `in_log`;
 * `kernel` is K = exp(-A) or A, where A_ij = (C_ij - min_j C_ij) / lambda: subtracting the row
 * minimum changes u only. */
struct dpot_projection {
    size_t n_rows, n_cols;
    double lambda, cost_range;
    struct dpot_polytope polytope;
    const struct dpot_allocator *allocator;
    int in_log;
    double theta;
    double *cost;      /* (n_rows, n_cols) */
    double *kernel;    /* (n_rows, n_cols) */
    double *mu;        /* (n_rows) mass one; its logarithm in the log domain */
    double *u;         /* (n_rows) */
    double *v, *s, *q; /* (n_cols) */
    double *scratch;   /* (n_cols) */
};

size_t dpot_projection_bytes(size_t n_rows, size_t n_cols)
{
    if (n_rows == 0 || n_cols == 0) {
        return sizeof(struct dpot_projection);
    }
    const size_t most = (SIZE_MAX - sizeof(struct dpot_projection)) / sizeof(double) / 4;
    if (n_cols > most / 2 || n_rows > most / 2 || n_rows > most / n_cols) {
        return SIZE_MAX;
    }
    const size_t n_vectors = 2 * n_rows + 4 * n_cols, n_matrices = 2 * n_rows * n_cols;
    if (n_vectors > 4 * most - n_matrices) {
        return SIZE_MAX;
    }
    return sizeof(struct dpot_projection) + sizeof(double) * (n_matrices + n_vectors);
}

static int is_sound(const struct dpot_projection_config *config)
{
    return config->n_rows > 0 && config->n_cols > 0 && config->lambda > 0.0 &&
           config->lambda <= DBL_MAX && config->cost_range >= 0.0 && config->polytope &&
           config->polytope->size == config->n_cols &&
           dpot_projection_bytes(config->n_rows, config->n_cols) != SIZE_MAX;
}

dpot_status dpot_projection_new(const struct dpot_projection_config *config,
                                struct dpot_projection **projection)
{
    *projection = NULL;
    if (!is_sound(config)) {
        return DPOT_ERR_ARGUMENT;
    }
    const struct dpot_allocator *allocator = config->allocator;
    const size_t n = config->n_rows, m = config->n_cols;
    struct dpot_projection *p = dpot_alloc_array(allocator, 1, sizeof *p);
    if (!p) {
        return DPOT_ERR_MEMORY;
    }
    p->n_rows = n;
    p->n_cols = m;
    p->lambda = config->lambda;
    p->cost_range = config->cost_range;
    p->polytope = *config->polytope;
    p->allocator = allocator;
    p->cost = dpot_alloc_array(allocator, n * m, sizeof(double));
    p->kernel = dpot_alloc_array(allocator, n * m, sizeof(double));
    p->mu = dpot_alloc_array(allocator, n, sizeof(double));
    p->u = dpot_alloc_array(allocator, n, sizeof(double));
    p->v = dpot_alloc_array(allocator, m, sizeof(double));
    p->s = dpot_alloc_array(allocator, m, sizeof(double));
    p->q = dpot_alloc_array(allocator, m, sizeof(double));
    p->scratch = dpot_alloc_array(allocator, m, sizeof(double));
    if (!p->cost || !p->kernel || !p->mu || !p->u || !p->v || !p->s || !p->q || !p->scratch) {
        dpot_projection_free(p);
        return DPOT_ERR_MEMORY;
    }
    *projection = p;
    return DPOT_OK;
}

void dpot_projection_free(struct dpot_projection *projection)
{
    if (!projection) {
        return;
    }
    const struct dpot_allocator *allocator = projection->allocator;
    const size_t n = projection->n_rows, m = projection->n_cols;
    dpot_free_secret(allocator, projection->cost, n * m, sizeof(double));
    dpot_free_secret(allocator, projection->kernel, n * m, sizeof(double));
    dpot_free_secret(allocator, projection->mu, n, sizeof(double));
    dpot_free_secret(allocator, projection->u, n, sizeof(double));
    dpot_free_secret(allocator, projection->v, m, sizeof(double));
    dpot_free_secret(allocator, projection->s, m, sizeof(double));
    dpot_free_secret(allocator, projection->q, m, sizeof(double));
    dpot_free_secret(allocator, projection->scratch, m, sizeof(double));
    dpot_free_secret(allocator, projection, 1, sizeof *projection);
}

double *dpot_projection_cost(struct dpot_projection *projection)
{
    return projection->cost;
}

/* Makes a cost finite, except NaN, which is replaced once the row's smallest cost is known. */
static double bounded(double cost)
{
    const double below = cost > 1e300 ? 1e300 : cost;
    return below < -1e300 ? -1e300 : below;
}

static double smallest_cost(const double *row, size_t n)
{
    double smallest = 1e300;
    for (size_t j = 0; j < n; j++) {
        const double cost = bounded(row[j]);
        smallest = cost < smallest ? cost : smallest;
    }
    return smallest;
}

/* A cost minus its row's smallest: in [0, range] for any matrix. */
static double excess_cost(double cost, double smallest, double range)
{
    const double excess = bounded(cost) - smallest;
    return excess < range ? excess : range; /* NaN gives the range */
}

/* max over rows of largest - smallest cost; NaN is skipped. */
static double measured_range(const struct dpot_projection *p)
{
    double range = 0.0;
    for (size_t i = 0; i < p->n_rows; i++) {
        const double *row = p->cost + i * p->n_cols;
        const double smallest = smallest_cost(row, p->n_cols);
        for (size_t j = 0; j < p->n_cols; j++) {
            const double excess = bounded(row[j]) - smallest;
            range = excess > range ? excess : range;
        }
    }
    return range;
}

/* A finite limit for excess_cost: the public range, or the largest possible one. */
static double excess_limit(const struct dpot_projection *p)
{
    return p->cost_range < 2e300 ? p->cost_range : 2e300;
}

static void prepare_kernel(struct dpot_projection *p, double lambda)
{
    const double limit = excess_limit(p);
    p->in_log = !(p->cost_range / lambda <= DPOT_PROJECTION_KERNEL_RATIO);
    for (size_t i = 0; i < p->n_rows; i++) {
        const double *row = p->cost + i * p->n_cols;
        double *kernel = p->kernel + i * p->n_cols;
        const double smallest = smallest_cost(row, p->n_cols);
        for (size_t j = 0; j < p->n_cols; j++) {
            const double ratio = excess_cost(row[j], smallest, limit) / lambda;
            kernel[j] = p->in_log ? fmin(ratio, COST_RATIO_MAX) : exp(-ratio);
        }
    }
}

/* mu with mass one. Scaled by its largest entry first, so that the sum cannot overflow. */
static void prepare_mu(struct dpot_projection *p, const double *mu)
{
    double largest = 0.0, sum = 0.0;
    for (size_t i = 0; i < p->n_rows; i++) {
        p->mu[i] = mu[i] > 0.0 && mu[i] <= DBL_MAX ? mu[i] : 0.0;
        largest = p->mu[i] > largest ? p->mu[i] : largest;
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        p->mu[i] = largest > 0.0 ? p->mu[i] / largest : 1.0;
        sum += p->mu[i];
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        p->mu[i] = p->in_log ? log(p->mu[i] / sum) : p->mu[i] / sum;
    }
}

/* v = 1. */
static void prepare_v(struct dpot_projection *p)
{
    for (size_t j = 0; j < p->n_cols; j++) {
        p->v[j] = p->in_log ? 0.0 : 1.0;
    }
    p->theta = p->in_log ? 0.0 : 1.0;
}

/* Hilbert distance between q/s and the last v, over columns with mass before or after. */
static double change_of_v(const struct dpot_projection *p)
{
    double largest = -INFINITY, smallest = INFINITY;
    for (size_t j = 0; j < p->n_cols; j++) {
        const double growth =
            p->in_log ? log(p->q[j]) - p->s[j] - p->v[j] : log(p->q[j] / p->s[j] / p->v[j]);
        if (!isnan(growth)) {
            largest = growth > largest ? growth : largest;
            smallest = growth < smallest ? growth : smallest;
        }
    }
    return largest >= smallest ? largest - smallest : 0.0;
}

/* One sweep of the stored kernel. v is scaled to maximum 1, which the bounds of
 * DPOT_PROJECTION_KERNEL_RATIO rest on: s > 0 everywhere, and nothing overflows. */
static double iterate_kernel(struct dpot_projection *p, enum dpot_polytope_steps steps, int measure)
{
    dpot_linalg_portable.sweep(p->n_rows, p->n_cols, p->kernel, p->mu, p->v, p->u, p->s);
    const double scale = dpot_polytope_project_kl_linear(&p->polytope, p->s, p->theta, steps, p->q);
    const double change = measure ? change_of_v(p) : 0.0;
    double largest = 0.0;
    for (size_t j = 0; j < p->n_cols; j++) {
        p->v[j] = p->q[j] / p->s[j];
        largest = p->v[j] > largest ? p->v[j] : largest;
    }
    /* Only bounds that allow no mass, or far too much, leave this range: then v = 1. */
    const int is_sound = (largest >= 1e-300) & (largest <= 1e300);
    const double shrink = is_sound ? 1.0 / largest : 0.0;
    for (size_t j = 0; j < p->n_cols; j++) {
        const double v = p->v[j] * shrink, least = p->polytope.upper[j] > 0.0 ? V_FLOOR : 0.0;
        p->v[j] = is_sound ? (v > least ? v : least) : 1.0;
    }
    p->theta = is_sound ? scale * shrink : 1.0;
    return change;
}

/* One sweep on potentials. log v is relative to theta, so that it is exactly 0 where q is free, and
 * theta stays near 0. */
static double iterate_log(struct dpot_projection *p, enum dpot_polytope_steps steps, int measure)
{
    dpot_log_sweep_rows(p->kernel, p->n_rows, p->n_cols, 1.0, p->v, p->u);
    for (size_t i = 0; i < p->n_rows; i++) {
        p->u[i] = p->u[i] > -INFINITY ? p->mu[i] - p->u[i] : -INFINITY;
    }
    dpot_log_sweep_cols(p->kernel, p->n_rows, p->n_cols, 1.0, p->u, p->scratch, p->s);
    const double theta = dpot_polytope_project_kl(&p->polytope, p->s, p->theta, steps, p->q);
    const double change = measure ? change_of_v(p) : 0.0;
    for (size_t j = 0; j < p->n_cols; j++) {
        const double log_free = p->s[j] + theta;
        p->v[j] = fabs(log_free) <= DBL_MAX ? log(p->q[j]) - log_free : 0.0;
    }
    p->theta = 0.0;
    return change;
}

static void iterate(struct dpot_projection *p, size_t iterations, double tol,
                    struct dpot_projection_result *result)
{
    const int measure = tol > 0.0;
    result->converged = 0;
    for (size_t t = 0; t < iterations && !result->converged; t++) {
        const enum dpot_polytope_steps steps = measure  ? DPOT_STEPS_NEEDED
                                               : t == 0 ? DPOT_STEPS_ALL
                                                        : DPOT_STEPS_NEAR;
        result->change =
            p->in_log ? iterate_log(p, steps, measure) : iterate_kernel(p, steps, measure);
        result->iterations++;
        result->converged = measure && result->change <= tol;
    }
}

/* Projects the last s with all steps. */
static void finish(struct dpot_projection *p, double *q, const struct dpot_projection_result *done,
                   struct dpot_projection_result *result)
{
    if (p->in_log) {
        (void)dpot_polytope_project_kl(&p->polytope, p->s, p->theta, DPOT_STEPS_ALL, p->q);
    } else {
        (void)dpot_polytope_project_kl_linear(&p->polytope, p->s, p->theta, DPOT_STEPS_ALL, p->q);
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        q[j] = p->q[j];
    }
    if (result) {
        *result = *done;
    }
}

/* Initialises a run: v = 1; s and an empty plan are defined even without an iteration. */
static void start(struct dpot_projection *p, const double *mu, double lambda)
{
    prepare_kernel(p, lambda);
    prepare_mu(p, mu);
    for (size_t j = 0; j < p->n_cols; j++) {
        p->s[j] = p->in_log ? 0.0 : 1.0;
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        p->u[i] = p->in_log ? -INFINITY : 0.0;
    }
    prepare_v(p);
}

void dpot_projection_run(struct dpot_projection *projection, const double *mu, size_t iterations,
                         double tol, double *q, struct dpot_projection_result *result)
{
    struct dpot_projection_result done = {0, 0.0, 0};
    start(projection, mu, projection->lambda);
    iterate(projection, iterations, tol, &done);
    finish(projection, q, &done, result);
}

/* Passes the potentials lambda log v to the next stage, with the smaller lambda; mu and the kernel
 * are recomputed. */
static void refine(struct dpot_projection *p, const double *mu, double old_lambda, double lambda)
{
    double largest = -INFINITY;
    for (size_t j = 0; j < p->n_cols; j++) {
        const double log_v = p->in_log ? p->v[j] : log(p->v[j]);
        p->v[j] = log_v * (old_lambda / lambda);
        largest = p->v[j] > largest ? p->v[j] : largest;
    }
    prepare_kernel(p, lambda);
    prepare_mu(p, mu);
    if (!(fabs(largest) <= DBL_MAX)) {
        prepare_v(p);
        return;
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        p->v[j] = p->in_log ? p->v[j] - largest : exp(p->v[j] - largest);
    }
    p->theta = p->in_log ? 0.0 : 1.0;
}

void dpot_projection_run_scaled(struct dpot_projection *projection, const double *mu,
                                size_t iterations, double tol, double *q,
                                struct dpot_projection_result *result)
{
    struct dpot_projection *p = projection;
    struct dpot_projection_result done = {0, 0.0, 0};
    const double coarsest = fmin(measured_range(p), excess_limit(p)) / COARSEST_RATIO;
    double lambda = fmax(p->lambda, coarsest);
    start(p, mu, lambda);
    while (lambda > p->lambda) {
        iterate(p, iterations - done.iterations, fmax(tol, COARSE_TOL), &done);
        if (done.iterations == iterations) {
            break; /* u, s and q must match the kernel */
        }
        const double finer = fmax(p->lambda, lambda / 2.0);
        refine(p, mu, lambda, finer);
        lambda = finer;
    }
    iterate(p, iterations - done.iterations, tol, &done);
    finish(p, q, &done, result);
}

/* P_ij = u_i K_ij q_j / s_j, at most q_j up to rounding: the scale of v cancels. */
static double plan_mass(const struct dpot_projection *p, size_t i, size_t j)
{
    const double kernel = p->kernel[i * p->n_cols + j];
    const double mass = p->in_log ? exp(p->u[i] - kernel - p->s[j]) * p->q[j]
                                  : p->u[i] * kernel * (p->q[j] / p->s[j]);
    return mass > 0.0 ? mass : 0.0; /* NaN for a column that no row reaches */
}

static double mass_of_row(const struct dpot_projection *p, size_t i)
{
    return p->in_log ? exp(p->mu[i]) : p->mu[i];
}

/* The factor <= 1 that scales row i of the plan down to mu; *sum is its sum before. */
static double row_factor(const struct dpot_projection *p, size_t i, double *sum)
{
    const double mass = mass_of_row(p, i);
    *sum = 0.0;
    for (size_t j = 0; j < p->n_cols; j++) {
        *sum += plan_mass(p, i, j);
    }
    return *sum > mass ? mass / *sum : 1.0;
}

/* Column sums of the plan with scaled rows. Returns the L1 violation of mu before scaling. */
static double sum_columns(const struct dpot_projection *p, double *column_sum)
{
    double residual = 0.0;
    for (size_t j = 0; j < p->n_cols; j++) {
        column_sum[j] = 0.0;
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        double sum = 0.0;
        const double factor = row_factor(p, i, &sum);
        residual += fabs(sum - mass_of_row(p, i));
        for (size_t j = 0; j < p->n_cols; j++) {
            column_sum[j] += factor * plan_mass(p, i, j);
        }
    }
    return residual;
}

/* What a column lacks of q; columns above q are scaled down to it. */
static double column_gap(const struct dpot_projection *p, const double *column_sum, size_t j)
{
    return p->q[j] > column_sum[j] ? p->q[j] - column_sum[j] : 0.0;
}

/* Cost of row i of the rounded plan: the scaled plan, plus the rest of mu_i spread over the columns
 * in proportion to their gaps. The row has mass mu_i, so its smallest cost can be subtracted. */
static double rounded_row_cost(const struct dpot_projection *p, size_t i, const double *column_sum)
{
    const double *row = p->cost + i * p->n_cols;
    const double smallest = smallest_cost(row, p->n_cols), limit = excess_limit(p);
    const double mass = mass_of_row(p, i);
    double sum = 0.0, placed = 0.0, cost = 0.0, gap_cost = 0.0, gaps = 0.0;
    const double factor = row_factor(p, i, &sum);
    for (size_t j = 0; j < p->n_cols; j++) {
        const double excess = excess_cost(row[j], smallest, limit);
        const double gap = column_gap(p, column_sum, j);
        const double shrink = column_sum[j] > p->q[j] ? p->q[j] / column_sum[j] : 1.0;
        const double entry = factor * plan_mass(p, i, j) * shrink;
        placed += entry;
        cost += entry * excess;
        gaps += gap;
        gap_cost += gap * excess;
    }
    const double rest = mass > placed ? mass - placed : 0.0;
    return smallest * mass + cost + (gaps > 0.0 ? rest * (gap_cost / gaps) : 0.0);
}

double dpot_projection_transport_cost(struct dpot_projection *projection, double *residual)
{
    const struct dpot_projection *p = projection;
    double total = 0.0;
    const double violation = sum_columns(p, projection->scratch);
    for (size_t i = 0; i < p->n_rows; i++) {
        total += rounded_row_cost(p, i, p->scratch);
    }
    if (residual) {
        *residual = violation;
    }
    return total;
}

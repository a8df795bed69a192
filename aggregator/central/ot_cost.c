#include "central/ot_cost.h"

#include "base/alloc.h"
#include "ot/cost.h"
#include "ot/network_simplex.h"
#include "solve/transport/entropic.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define STEPS 1024 /* grid steps per sensitivity */
/* 1 / OT_COST_EPSILON_MIN: t = (STEPS + 1) units stays below 2^41 */
#define EPSILON_UNIT ((uint64_t)1 << 30)
#define TOL_SHARE 0.01 /* of B / n */
#define EXACT_TOL 1e-9 /* of B; larger than 2^-COST_BITS and the rounding of masses and sums */
/* Potentials of up to 2^13 + 1 rows or columns stay below 2^46: exact doubles. */
#define COST_BITS 31
#define ATTEMPTS 4
#define ENGINE_SWEEPS 1000000 /* of each attempt */

/* ---- public numbers ---- */

double ot_cost_max(const struct ot_cost_config *config)
{
    /* In these metrics no two points of the box are further apart than its corners. make_costs cuts
     * at this value, so that it holds under rounding too. */
    const double distance =
        dpot_metric_distance(&config->metric, (uint32_t)config->dim, config->lo, config->hi);
    const double most = pow(distance, config->power);
    return config->cap > 0 && config->cap < most ? config->cap : most;
}

static size_t smaller_size(const struct ot_cost_config *config)
{
    return config->n_x < config->n_y ? config->n_x : config->n_y;
}

/* Bounds (i) and (ii) of the header. */
static double sweeps_tol(const struct ot_cost_config *config)
{
    const double most = ot_cost_max(config);
    return 2 * most * (most / config->lambda) / (2.0 * (double)OT_COST_SWEEPS_MAX);
}

static double plain_tol(const struct ot_cost_config *config)
{
    return config->lambda * log((double)smaller_size(config)) + EXACT_TOL * ot_cost_max(config);
}

/* (iii) */
static double product_tol(const struct ot_cost_config *config)
{
    const double most = ot_cost_max(config);
    return config->lambda > 0 ? most * (most / config->lambda) / 8 : HUGE_VAL;
}

double ot_cost_tol(const struct ot_cost_config *config)
{
    const double most = ot_cost_max(config);
    if (!(config->lambda > 0)) {
        return EXACT_TOL * most;
    }
    return fmax(TOL_SHARE * most / (double)smaller_size(config),
                fmin(sweeps_tol(config), plain_tol(config)));
}

bool ot_cost_is_plain(const struct ot_cost_config *config)
{
    return !(config->lambda > 0) || plain_tol(config) <= ot_cost_tol(config);
}

double ot_cost_sensitivity(const struct ot_cost_config *config)
{
    const double most = ot_cost_max(config);
    const double moved = config->adjacency == ADJACENCY_REPLACE_PAIR
                             ? most / (double)config->n_x + most / (double)config->n_y
                             : most / (double)smaller_size(config);
    return (moved + ot_cost_tol(config)) * (1 + 8 * DBL_EPSILON);
}

bool ot_cost_takes_metric(enum dpot_metric_id id)
{
    return id == DPOT_METRIC_EUCLIDEAN || id == DPOT_METRIC_L1 || id == DPOT_METRIC_LINF;
}

dpot_status ot_cost_check(const struct ot_cost_config *config, struct dpot_error *error)
{
    if (!ot_cost_takes_metric(config->metric.id)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the metric is %s: choose euclidean, l1 or linf, whose largest cost "
                              "over a box is known",
                              dpot_metric_name(config->metric.id));
    }
    if (config->n_x == 0 || config->n_y == 0 || config->n_x > OT_COST_PAIRS_MAX / config->n_y) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "%zu and %zu records: give at least one each and at most %zu pairs; "
                              "of more, make private measures first (dpot central coreset)",
                              config->n_x, config->n_y, OT_COST_PAIRS_MAX);
    }
    const double most = ot_cost_max(config);
    if (!(most > 0 && isfinite(most) && ot_cost_sensitivity(config) / STEPS > DBL_MIN &&
          ldexp(most, -COST_BITS) > DBL_MIN)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the largest cost over the box is %g: scale the box or choose "
                              "another power",
                              most);
    }
    if (!(config->epsilon * (double)EPSILON_UNIT >= 1 && config->epsilon <= BUDGET_EPSILON_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "epsilon is %g: choose 2^-30 to %g",
                              config->epsilon, BUDGET_EPSILON_MAX);
    }
    return DPOT_OK;
}

/* ---- the private value ---- */

/* A copy of the points, clamped into the box. */
static double *clamp_points(const struct ot_cost_config *config, const double *points, size_t n)
{
    double *clamped = dpot_alloc_array(NULL, n * config->dim, sizeof *clamped);
    for (size_t i = 0; clamped && i < n * config->dim; i++) {
        const size_t a = i % config->dim;
        clamped[i] = fmin(fmax(points[i], config->lo[a]), config->hi[a]); /* NaN becomes lo */
    }
    return clamped;
}

static dpot_status make_costs(const struct ot_cost_config *config, const double *x, const double *y,
                              double *cost)
{
    double *from = clamp_points(config, x, config->n_x);
    double *to = clamp_points(config, y, config->n_y);
    const double most = ot_cost_max(config);
    const dpot_status status = from && to ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        for (size_t i = 0; i < config->n_x; i++) {
            dpot_cost_row(&config->metric, config->power, (uint32_t)config->dim,
                          from + i * config->dim, to, config->n_y, cost + i * config->n_y);
        }
        for (size_t i = 0; i < config->n_x * config->n_y; i++) {
            cost[i] = fmin(cost[i], most);
        }
    }
    dpot_free_secret(NULL, from, config->n_x * config->dim, sizeof *from);
    dpot_free_secret(NULL, to, config->n_y * config->dim, sizeof *to);
    return status;
}

/* Costs in units of B 2^-COST_BITS, rounded down. In integers the network simplex method makes no
 * error, so its plan is optimal for all records. */
static dpot_status solve_plain(const struct ot_cost_config *config, double *cost, const double *a,
                               const double *b, double *value, struct dpot_error *error)
{
    const double unit = ldexp(ot_cost_max(config), -COST_BITS);
    struct dpot_exact_result result;
    for (size_t i = 0; i < config->n_x * config->n_y; i++) {
        cost[i] = floor(cost[i] / unit);
    }
    const dpot_status status =
        dpot_exact_ot(cost, a, b, config->n_x, config->n_y, NULL, &result, error);
    if (status == DPOT_OK) {
        *value = result.transport_cost * unit;
        dpot_exact_result_release(&result);
    }
    return status;
}

static double mean_of(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return sum / (double)n;
}

static dpot_status use_product_plan(const struct ot_cost_config *config, const double *cost,
                                    double *value)
{
    *value = mean_of(cost, config->n_x * config->n_y) - product_tol(config);
    return DPOT_OK;
}

/* Half-run_engine: to_j = -lambda log(mean over i of exp((from_i - C_ij) / lambda)); afterwards the
 * marginal of `to` is exact. C_ij is cost[i step_from + j step_to]. */
static void half_sweep(double lambda, const double *cost, size_t step_from, size_t step_to,
                       const double *from, size_t n_from, double *to, size_t n_to)
{
    for (size_t j = 0; j < n_to; j++) {
        double most = -HUGE_VAL, sum = 0;
        for (size_t i = 0; i < n_from; i++) {
            most = fmax(most, from[i] - cost[i * step_from + j * step_to]);
        }
        for (size_t i = 0; i < n_from; i++) {
            sum += exp((from[i] - cost[i * step_from + j * step_to] - most) / lambda);
        }
        to[j] = -most - lambda * log(sum / (double)n_from);
    }
}

/* The l1 residual of the rows: the mass of row i times n is exp((f_i - f'_i) / lambda), with
 * f' = next. The dual value is within B times the residual of OT (header, (i)). */
static double residual_of(const struct ot_cost_config *config, const double *f, const double *next)
{
    double sum = 0;
    for (size_t i = 0; i < config->n_x; i++) {
        sum += fabs(expm1((f[i] - next[i]) / config->lambda));
    }
    return sum / (double)config->n_x;
}

double ot_cost_sweep(const struct ot_cost_config *config, const double *cost, double *f, double *g,
                     double *next)
{
    const size_t n_x = config->n_x, n_y = config->n_y;
    const double lambda = config->lambda, enough = ot_cost_tol(config) / ot_cost_max(config);
    half_sweep(lambda, cost, n_y, 1, f, n_x, g, n_y);
    for (size_t t = 0; t < OT_COST_SWEEPS_MAX; t++) {
        half_sweep(lambda, cost, 1, n_y, g, n_y, next, n_x);
        const bool is_enough = residual_of(config, f, next) <= enough;
        memcpy(f, next, n_x * sizeof *f);
        half_sweep(lambda, cost, n_y, 1, f, n_x, g, n_y);
        if (is_enough) {
            break;
        }
    }
    return mean_of(f, n_x) + mean_of(g, n_y);
}

/* Runs the fast engine to a residual; f and g are the start and get the final potentials. */
static dpot_status run_engine(const struct ot_cost_config *config, const double *cost,
                              double residual, double *f, double *g, struct entropic_result *result,
                              struct dpot_error *error)
{
    const struct entropic_options options = {
        .lambda = config->lambda,
        .tol = residual,
        .max_iterations = ENGINE_SWEEPS,
        .relax = true,
        .team = config->team,
    };
    const struct entropic_cost costs = {
        .n_rows = config->n_x, .n_cols = config->n_y, .matrix = cost};
    struct entropic *engine = NULL;
    dpot_status status = entropic_new(config->n_x, config->n_y, &options, &engine, error);
    if (status == DPOT_OK) {
        entropic_warm_start(engine, f, config->n_x, g, config->n_y);
        status = entropic_solve(engine, &costs, NULL, NULL, NULL, result, error);
    }
    if (status == DPOT_OK) {
        entropic_value(engine, result);
        entropic_potentials(engine, f, g);
    }
    entropic_free(engine);
    return status;
}

/* The fast engine's value; is_proved if its primal value shows that it is within tol. */
static dpot_status solve_fast(const struct ot_cost_config *config, const double *cost, double *f,
                              double *g, bool *is_proved, double *value, struct dpot_error *error)
{
    struct entropic_result result = {.primal = 1};
    const double tol = ot_cost_tol(config);
    double residual = tol / (4 * ot_cost_max(config));
    dpot_status status = DPOT_OK;
    *is_proved = false;
    for (size_t i = 0; status == DPOT_OK && !*is_proved && i < ATTEMPTS; i++, residual /= 10) {
        status = run_engine(config, cost, residual, f, g, &result, error);
        *is_proved = status == DPOT_OK && result.primal - result.dual <= tol;
        if (status == DPOT_OK && result.outcome != SOLVE_CONVERGED) {
            break;
        }
    }
    *value = result.dual;
    return status;
}

static dpot_status solve_entropic(const struct ot_cost_config *config, const double *cost,
                                  double *value, struct dpot_error *error)
{
    bool is_proved = false;
    double *f = dpot_alloc_array(NULL, config->n_x, sizeof *f);
    double *g = dpot_alloc_array(NULL, config->n_y, sizeof *g);
    double *next = dpot_alloc_array(NULL, config->n_x, sizeof *next);
    dpot_status status =
        f && g && next ? solve_fast(config, cost, f, g, &is_proved, value, error) : DPOT_ERR_MEMORY;
    if (status != DPOT_ERR_MEMORY && !is_proved) {
        memset(f, 0, config->n_x * sizeof *f); /* the engine's potentials may be invalid */
        *value = ot_cost_sweep(config, cost, f, g, next);
        status = DPOT_OK;
    }
    dpot_free_secret(NULL, f, config->n_x, sizeof *f);
    dpot_free_secret(NULL, g, config->n_y, sizeof *g);
    dpot_free_secret(NULL, next, config->n_x, sizeof *next);
    return status;
}

/* Uniform weights of x, then of y, in one array. */
static double *equal_weights(const struct ot_cost_config *config)
{
    double *weights = dpot_alloc_array(NULL, config->n_x + config->n_y, sizeof *weights);
    for (size_t i = 0; weights && i < config->n_x + config->n_y; i++) {
        weights[i] = 1 / (double)(i < config->n_x ? config->n_x : config->n_y);
    }
    return weights;
}

dpot_status ot_cost_value(const struct ot_cost_config *config, const double *x, const double *y,
                          double *value, struct dpot_error *error)
{
    const size_t n_pairs = config->n_x * config->n_y;
    double *cost = dpot_alloc_array(NULL, n_pairs, sizeof *cost);
    double *weights = equal_weights(config);
    dpot_status status = cost && weights ? make_costs(config, x, y, cost) : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status = product_tol(config) <= ot_cost_tol(config) ? use_product_plan(config, cost, value)
                 : ot_cost_is_plain(config)
                     ? solve_plain(config, cost, weights, weights + config->n_x, value, error)
                     : solve_entropic(config, cost, value, error);
        *value = fmin(fmax(*value, 0), ot_cost_max(config)); /* also maps NaN to 0 */
    }
    dpot_free_secret(NULL, cost, n_pairs, sizeof *cost);
    dpot_free_array(NULL, weights, config->n_x + config->n_y, sizeof *weights);
    return status;
}

/* ---- the release ---- */

static double grid_step(const struct ot_cost_config *config)
{
    return ot_cost_sensitivity(config) / STEPS; /* exact: STEPS is a power of 2 */
}

int64_t ot_cost_steps(const struct ot_cost_config *config, double value)
{
    return (int64_t)floor(value / grid_step(config) + 0.5);
}

struct discrete_laplace ot_cost_noise(const struct ot_cost_config *config)
{
    return (struct discrete_laplace){
        .t = (STEPS + 1) * EPSILON_UNIT,
        .s = (uint64_t)(config->epsilon * (double)EPSILON_UNIT),
    };
}

double ot_cost_noise_scale(const struct ot_cost_config *config)
{
    const struct discrete_laplace noise = ot_cost_noise(config);
    return grid_step(config) * (double)noise.t / (double)noise.s;
}

double ot_cost_spent(const struct ot_cost_config *config)
{
    return (double)ot_cost_noise(config).s / (double)EPSILON_UNIT;
}

double ot_cost_release(const struct ot_cost_config *config, double value, struct exact_draw *draw)
{
    const int64_t noise = discrete_laplace_draw(draw, ot_cost_noise(config));
    /* |steps| <= 1024 n and |noise| <= 2^62: the sum fits and is exact until it becomes a
     * double. */
    return grid_step(config) * (double)(ot_cost_steps(config, value) + noise);
}

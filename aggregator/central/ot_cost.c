#include "central/ot_cost.h"

#include "base/alloc.h"
#include "ot/cost.h"
#include "ot/network_simplex.h"
#include "solve/entropic.h"

#include <float.h>
#include <math.h>

#define STEPS 1024 /* of the grid in one sensitivity */
#define EPSILON_UNIT                                                                               \
    ((uint64_t)1 << 30) /* 1 / OT_COST_EPSILON_MIN: t = (STEPS + 1) units stays below 2^41 */
#define TOL_SHARE 0.01  /* of B / n */
#define EXACT_TOL 1e-9  /* of B */
#define ATTEMPTS 4

/* ---- what is public ---- */

double ot_cost_max(const struct ot_cost_config *config)
{
    /* The corners are as far apart as anything in the box, in these metrics. The cut makes it hold
     * whatever rounding does. */
    const double distance =
        dpot_metric_distance(&config->metric, (uint32_t)config->dim, config->lo, config->hi);
    const double most = pow(distance, config->power);
    return config->cap > 0 && config->cap < most ? config->cap : most;
}

static size_t smaller(const struct ot_cost_config *config)
{
    return config->n_x < config->n_y ? config->n_x : config->n_y;
}

double ot_cost_tol(const struct ot_cost_config *config)
{
    const double most = ot_cost_max(config);
    return config->lambda > 0 ? TOL_SHARE * most / (double)smaller(config) : EXACT_TOL * most;
}

double ot_cost_sensitivity(const struct ot_cost_config *config)
{
    const double most = ot_cost_max(config);
    const double moved = config->adjacency == ADJACENCY_REPLACE_PAIR
                             ? most / (double)config->n_x + most / (double)config->n_y
                             : most / (double)smaller(config);
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
    if (!(most > 0 && isfinite(most) && ot_cost_sensitivity(config) / STEPS > DBL_MIN)) {
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

/* Points clamped into the box: a copy. */
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
        dpot_cost_matrix(&config->metric, config->power, (uint32_t)config->dim, from, config->n_x,
                         to, config->n_y, cost);
        for (size_t i = 0; i < config->n_x * config->n_y; i++) {
            cost[i] = fmin(cost[i], most);
        }
    }
    dpot_free_secret(NULL, from, config->n_x * config->dim, sizeof *from);
    dpot_free_secret(NULL, to, config->n_y * config->dim, sizeof *to);
    return status;
}

/* lower is within tol of the optimum when an upper bound is. */
static dpot_status certify(const struct ot_cost_config *config, double lower, double upper,
                           double *value, struct dpot_error *error)
{
    if (!(upper - lower <= ot_cost_tol(config))) {
        return dpot_error_set(
            error, DPOT_ERR_INFEASIBLE,
            "the value could not be certified to %.3g: choose a larger lambda, or "
            "none; nothing was released",
            ot_cost_tol(config));
    }
    *value = fmin(fmax(lower, 0), ot_cost_max(config));
    return DPOT_OK;
}

static dpot_status solve_exact(const struct ot_cost_config *config, const double *cost,
                               const double *a, const double *b, double *value,
                               struct dpot_error *error)
{
    struct dpot_exact_result result;
    const dpot_status status =
        dpot_exact_ot(cost, a, b, config->n_x, config->n_y, NULL, &result, error);
    if (status != DPOT_OK) {
        return status;
    }
    const double lower = result.dual, upper = result.transport_cost;
    dpot_exact_result_release(&result);
    return certify(config, lower, upper, value, error);
}

/* One solve to a residual; potentials start and end in f and g. */
static dpot_status sweep(const struct ot_cost_config *config, const double *cost, double residual,
                         double *f, double *g, struct entropic_result *result,
                         struct dpot_error *error)
{
    const struct entropic_options options = {
        .lambda = config->lambda,
        .tol = residual,
        .max_iterations = OT_COST_SWEEPS_MAX,
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

static dpot_status solve_entropic(const struct ot_cost_config *config, const double *cost,
                                  double *value, struct dpot_error *error)
{
    struct entropic_result result = {.primal = 1};
    const double tol = ot_cost_tol(config);
    double *f = dpot_alloc_array(NULL, config->n_x, sizeof *f);
    double *g = dpot_alloc_array(NULL, config->n_y, sizeof *g);
    dpot_status status = f && g ? DPOT_OK : DPOT_ERR_MEMORY;
    double residual = tol / (4 * ot_cost_max(config));
    for (size_t i = 0; status == DPOT_OK && i < ATTEMPTS; i++, residual /= 10) {
        status = sweep(config, cost, residual, f, g, &result, error);
        if (status == DPOT_OK && (result.gap <= tol || result.outcome != SOLVE_CONVERGED)) {
            break;
        }
    }
    dpot_free_secret(NULL, f, config->n_x, sizeof *f);
    dpot_free_secret(NULL, g, config->n_y, sizeof *g);
    return status == DPOT_OK ? certify(config, result.dual, result.primal, value, error) : status;
}

/* Equal weights of both sides in one array. */
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
        status = config->lambda > 0
                     ? solve_entropic(config, cost, value, error)
                     : solve_exact(config, cost, weights, weights + config->n_x, value, error);
    }
    dpot_free_secret(NULL, cost, n_pairs, sizeof *cost);
    dpot_free_array(NULL, weights, config->n_x + config->n_y, sizeof *weights);
    return status;
}

/* ---- the release ---- */

static double grid_step(const struct ot_cost_config *config)
{
    return ot_cost_sensitivity(config) / STEPS; /* a power of 2: exact */
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
    /* |steps| <= 1024 n and |noise| <= 2^62: the sum fits, and is exact before it becomes a double. */
    return grid_step(config) * (double)(ot_cost_steps(config, value) + noise);
}

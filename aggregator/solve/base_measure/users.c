#include "solve/base_measure/users.h"

#include <math.h>
#include <string.h>

#define USERS_EPSILON_MAX 100.0

/* ---- the set ---- */

static dpot_status refuse_mass(const struct base_measure_users_config *config, size_t row,
                               size_t point, double mass, struct dpot_error *error)
{
    (void)config;
    return dpot_error_set(error, DPOT_ERR_RANGE,
                          "user %zu has mass %g at point %zu: masses are finite and not negative",
                          row + 1, mass, point + 1);
}

/* Counts a user's points and sums their masses. */
static dpot_status measure_row(const struct base_measure_users_config *config, size_t row,
                               size_t *n_points, double *total, struct dpot_error *error)
{
    const double *mu = config->distributions + row * config->n_rows;
    *n_points = 0;
    *total = 0;
    for (size_t i = 0; i < config->n_rows; i++) {
        if (!(mu[i] >= 0 && isfinite(mu[i]))) {
            return refuse_mass(config, row, i, mu[i], error);
        }
        *n_points += mu[i] > 0;
        *total += mu[i];
    }
    if (!(*total > 0 && isfinite(*total))) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "user %zu has total mass %g: give at least one point a mass above 0",
                              row + 1, *total);
    }
    return DPOT_OK;
}

static size_t row_of(const struct base_measure_users_config *config, size_t user)
{
    return config->chosen ? config->chosen[user] : user;
}

static dpot_status count_points(const struct base_measure_users_config *config, size_t *n_points,
                                struct dpot_error *error)
{
    *n_points = 0;
    for (size_t u = 0; u < config->n_chosen; u++) {
        size_t n = 0;
        double total = 0;
        const dpot_status status = measure_row(config, row_of(config, u), &n, &total, error);
        if (status != DPOT_OK) {
            return status;
        }
        *n_points += n;
    }
    return DPOT_OK;
}

static void fill_user(struct base_measure_users *users,
                      const struct base_measure_users_config *config, size_t user)
{
    const double *mu = config->distributions + row_of(config, user) * config->n_rows;
    size_t at = users->first[user];
    double total = 0;
    for (size_t i = 0; i < config->n_rows; i++) {
        total += mu[i];
    }
    for (size_t i = 0; i < config->n_rows; i++) {
        if (mu[i] > 0) {
            users->points[at] = (uint32_t)i;
            users->masses[at++] = mu[i] / total;
        }
    }
    users->first[user + 1] = at;
    users->most = at - users->first[user] > users->most ? at - users->first[user] : users->most;
}

static dpot_status fill_weights(struct base_measure_users *users,
                                const struct base_measure_users_config *config,
                                struct dpot_error *error)
{
    double sum = 0;
    for (size_t u = 0; u < users->n; u++) {
        users->weights[u] = config->weights ? config->weights[row_of(config, u)] : 1;
        if (!(users->weights[u] >= 0 && isfinite(users->weights[u]))) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "the weight of user %zu is %g: weights are finite and not "
                                  "negative",
                                  row_of(config, u) + 1, users->weights[u]);
        }
        sum += users->weights[u];
    }
    if (!(sum > 0 && isfinite(sum))) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the weights of the %zu users sum to %g: give at least one above 0",
                              users->n, sum);
    }
    for (size_t u = 0; u < users->n; u++) {
        users->weights[u] /= sum;
    }
    return DPOT_OK;
}

static dpot_status check_config(const struct base_measure_users_config *config,
                                struct dpot_error *error)
{
    if (config->n_chosen == 0 || config->n_rows == 0 || config->n_cols == 0) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "%zu users over %zu points: give at least one of each",
                              config->n_chosen, config->n_rows);
    }
    if (!(config->epsilon > 0 && config->epsilon <= USERS_EPSILON_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "epsilon is %g: give a number above 0, at most %g", config->epsilon,
                              USERS_EPSILON_MAX);
    }
    if (config->n_rows > INT32_MAX / 4 || config->n_cols > INT32_MAX / 4) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "%zu x %zu points: give fewer",
                              config->n_rows, config->n_cols);
    }
    return DPOT_OK;
}

static dpot_status allocate_users(struct base_measure_users *users,
                                  const struct base_measure_users_config *config, size_t n_points,
                                  struct dpot_error *error)
{
    const struct dpot_allocator *allocator = config->allocator;
    *users = (struct base_measure_users){.n = config->n_chosen,
                                         .n_rows = config->n_rows,
                                         .n_cols = config->n_cols,
                                         .cost = config->cost,
                                         .epsilon = config->epsilon,
                                         .alpha = exp(-config->epsilon / 2),
                                         .beta = exp(config->epsilon / 2),
                                         .allocator = allocator};
    users->weights = dpot_alloc_array(allocator, users->n, sizeof *users->weights);
    users->first = dpot_alloc_array(allocator, users->n + 1, sizeof *users->first);
    users->points = dpot_alloc_array(allocator, n_points, sizeof *users->points);
    users->masses = dpot_alloc_array(allocator, n_points, sizeof *users->masses);
    if (users->first) {
        users->first[users->n] = n_points; /* release reads it */
    }
    if (!users->weights || !users->first || !users->points || !users->masses) {
        base_measure_users_release(users);
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu users",
                              config->n_chosen);
    }
    return DPOT_OK;
}

dpot_status base_measure_users_init(struct base_measure_users *users,
                                    const struct base_measure_users_config *config,
                                    struct dpot_error *error)
{
    size_t n_points = 0;
    *users = (struct base_measure_users){0};
    dpot_status status = check_config(config, error);
    if (status == DPOT_OK) {
        status = count_points(config, &n_points, error);
    }
    if (status == DPOT_OK) {
        status = allocate_users(users, config, n_points, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    for (size_t u = 0; u < users->n; u++) {
        fill_user(users, config, u);
    }
    status = fill_weights(users, config, error);
    if (status != DPOT_OK) {
        base_measure_users_release(users);
    }
    return status;
}

/* Fills one user at each point in config->chosen. */
static dpot_status place_at_points(struct base_measure_users *users,
                                   const struct base_measure_users_config *config,
                                   struct dpot_error *error)
{
    for (size_t u = 0; u < config->n_chosen; u++) {
        users->points[u] = (uint32_t)config->chosen[u];
        users->masses[u] = 1;
        users->first[u + 1] = u + 1;
    }
    users->most = 1;
    const dpot_status status = fill_weights(users, config, error);
    if (status != DPOT_OK) {
        base_measure_users_release(users);
    }
    return status;
}

dpot_status base_measure_users_init_points(struct base_measure_users *users,
                                           const struct base_measure_users_config *given,
                                           struct dpot_error *error)
{
    struct base_measure_users_config config = *given;
    size_t *rows = dpot_alloc_array(given->allocator, given->n_rows, sizeof *rows);
    *users = (struct base_measure_users){0};
    if (!rows) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu points",
                              given->n_rows);
    }
    config.chosen = rows;
    config.n_chosen = 0;
    for (size_t i = 0; i < given->n_rows; i++) {
        if (!given->weights || given->weights[i] != 0) {
            rows[config.n_chosen++] = i;
        }
    }
    dpot_status status = check_config(&config, error);
    if (status == DPOT_OK) {
        status = allocate_users(users, &config, config.n_chosen, error);
    }
    if (status == DPOT_OK) {
        status = place_at_points(users, &config, error);
    }
    dpot_free_array(given->allocator, rows, given->n_rows, sizeof *rows);
    return status;
}

void base_measure_users_release(struct base_measure_users *users)
{
    const struct dpot_allocator *allocator = users->allocator;
    const size_t n_points = users->first ? users->first[users->n] : 0;
    dpot_free_array(allocator, users->weights, users->n, sizeof *users->weights);
    dpot_free_array(allocator, users->points, n_points, sizeof *users->points);
    dpot_free_array(allocator, users->masses, n_points, sizeof *users->masses);
    dpot_free_array(allocator, users->first, users->n + 1, sizeof *users->first);
    *users = (struct base_measure_users){0};
}

/* ---- tangents ---- */

double base_measure_users_minorant(const struct base_measure_users *users, size_t user,
                                   const double *potentials, double *gradient)
{
    const size_t first = users->first[user], n = users->first[user + 1] - first;
    double offset = 0;
    for (size_t a = 0; a < n; a++) {
        const double *cost = users->cost + (size_t)users->points[first + a] * users->n_cols;
        const double f = potentials[a];
        for (size_t j = 0; a == 0 && j < users->n_cols; j++) {
            gradient[j] = cost[j] - f;
        }
        for (size_t j = 0; a > 0 && j < users->n_cols; j++) {
            gradient[j] = cost[j] - f < gradient[j] ? cost[j] - f : gradient[j];
        }
        offset += users->masses[first + a] * f;
    }
    for (size_t j = 0; j < users->n_cols; j++) {
        gradient[j] *= gradient[j] >= 0 ? users->alpha : users->beta;
    }
    return offset;
}

double base_measure_users_constant(const struct base_measure_users *users, size_t user,
                                   size_t point)
{
    double cost = 0;
    for (size_t a = users->first[user]; a < users->first[user + 1]; a++) {
        cost += users->masses[a] * users->cost[(size_t)users->points[a] * users->n_cols + point];
    }
    return cost;
}

#include "solve/base_measure_users.h"

#include "ot/exact_parts.h"
#include "solve/base_measure_newton.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define USERS_EPSILON_MAX 100.0
#define CAP 2.0   /* upper bounds above it could not be used: the mass is one */
#define NEAR 1e-3 /* relative, of the total mass to an end of M */
#define ROOM                                                                                       \
    1e-12 /* relative: how far the total mass stays from the ends of M when users are projected */

/* ---- the set ---- */

static dpot_status refuse_mass(const struct base_measure_users_config *config, size_t row,
                               size_t point, double mass, struct dpot_error *error)
{
    (void)config;
    return dpot_error_set(error, DPOT_ERR_RANGE,
                          "user %zu has mass %g at point %zu: masses are finite and not negative",
                          row + 1, mass, point + 1);
}

/* Counts the points that a user has, and sums their masses. */
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
        users->first[users->n] = n_points; /* what release needs to know */
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

/* Users at points that the config names as its chosen rows. */
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

/* ---- projecting one user ---- */

struct ranked_point {
    double cost;
    uint32_t col;
};

struct base_measure_projector {
    const struct base_measure_users *users;
    struct dpot_transport_simplex
        simplex; /* its n_rows is set for each user; `cap` when released */
    size_t cap_rows;
    double *cost;                /* (most, n_cols) of the user's points */
    double *slack;               /* (2 n_cols) costs of the slack row */
    double *preference;          /* (2 n_cols) */
    double *bounds;              /* (2 n_cols) lower, then upper */
    double *gradient;            /* (n_cols) when the caller wants none */
    double *potentials;          /* (most) likewise */
    int64_t *units;              /* (n_cols) upper bounds */
    struct ranked_point *ranked; /* (n_cols) of a user at one point */
};

dpot_status base_measure_projector_new(const struct base_measure_users *users,
                                       struct base_measure_projector **out)
{
    const struct dpot_allocator *allocator = users->allocator;
    const size_t n = users->n_cols;
    *out = NULL;
    struct base_measure_projector *p = dpot_alloc_array(allocator, 1, sizeof *p);
    if (!p) {
        return DPOT_ERR_MEMORY;
    }
    p->users = users;
    p->cap_rows = users->most + 1;
    p->cost = dpot_alloc_array(allocator, users->most * n, sizeof *p->cost);
    p->slack = dpot_alloc_array(allocator, 7 * n, sizeof *p->slack);
    p->potentials = dpot_alloc_array(allocator, users->most, sizeof *p->potentials);
    p->units = dpot_alloc_array(allocator, n, sizeof *p->units);
    p->ranked = dpot_alloc_array(allocator, n, sizeof *p->ranked);
    const dpot_status status =
        dpot_transport_simplex_init(&p->simplex, p->cap_rows, 2 * n, allocator);
    if (status != DPOT_OK || !p->cost || !p->slack || !p->potentials || !p->units || !p->ranked) {
        base_measure_projector_free(p);
        return DPOT_ERR_MEMORY;
    }
    p->preference = p->slack + 2 * n;
    p->bounds = p->slack + 4 * n;
    p->gradient = p->slack + 6 * n;
    for (size_t j = 0; j < n; j++) {
        p->slack[j] = DPOT_TRANSPORT_BARRED;
        p->slack[n + j] = 0;
    }
    *out = p;
    return DPOT_OK;
}

void base_measure_projector_free(struct base_measure_projector *p)
{
    if (!p) {
        return;
    }
    const struct dpot_allocator *allocator = p->users->allocator;
    const size_t n = p->users->n_cols;
    if (p->simplex.supply) {
        p->simplex.n_rows = p->cap_rows;
        dpot_transport_simplex_release(&p->simplex);
    }
    dpot_free_array(allocator, p->cost, p->users->most * n, sizeof *p->cost);
    dpot_free_array(allocator, p->slack, 7 * n, sizeof *p->slack);
    dpot_free_array(allocator, p->potentials, p->users->most, sizeof *p->potentials);
    dpot_free_array(allocator, p->units, n, sizeof *p->units);
    dpot_free_array(allocator, p->ranked, n, sizeof *p->ranked);
    dpot_free_array(allocator, p, 1, sizeof *p);
}

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked_point *x = a, *y = b;
    if (x->cost != y->cost) {
        return x->cost < y->cost ? -1 : 1;
    }
    return (x->col > y->col) - (x->col < y->col);
}

/* The scale that keeps the total mass a little inside M, where the slack row has something to do. */
static double scale_inside(const struct base_measure_users *users, const double *m)
{
    double total = 0;
    for (size_t j = 0; j < users->n_cols; j++) {
        total += m[j];
    }
    const double high = users->beta * (1 - ROOM), low = users->alpha * (1 + ROOM);
    if (users->alpha * total < 1 - ROOM && users->beta * total > 1 + ROOM) {
        return 1;
    }
    return users->alpha * total >= 1 - ROOM ? high / total : low / total;
}

/* Where nearly everything is at one of its bounds, the smooth dual is nearly flat, and Newton's method lost. */
static bool is_near_an_end(const struct base_measure_users *users, const double *m)
{
    double total = 0;
    for (size_t j = 0; j < users->n_cols; j++) {
        total += m[j];
    }
    return users->alpha * total > 1 - NEAR || users->beta * total < 1 + NEAR;
}

/* One point: the potential is the cost at which the filling of its knapsack ends. */
static double threshold(struct base_measure_projector *p, const double *cost, const double *m,
                        double scale)
{
    const struct base_measure_users *users = p->users;
    double total = 0, mass = 0;
    for (size_t j = 0; j < users->n_cols; j++) {
        p->ranked[j] = (struct ranked_point){cost[j], (uint32_t)j};
        total += scale * m[j];
    }
    qsort(p->ranked, users->n_cols, sizeof *p->ranked, compare_ranked);
    const double room = (1 - users->alpha * total) / (2 * sinh(users->epsilon / 2));
    size_t r = 0;
    for (; r + 1 < users->n_cols; r++) {
        mass += scale * m[p->ranked[r].col];
        if (mass >= room) {
            break;
        }
    }
    return p->ranked[r].cost;
}

static void gather(struct base_measure_projector *p, size_t user)
{
    const struct base_measure_users *users = p->users;
    const size_t first = users->first[user], n = users->first[user + 1] - first, nv = users->n_cols;
    memset(p->preference, 0, 2 * nv * sizeof *p->preference);
    for (size_t a = 0; a < n; a++) {
        const double *cost = users->cost + (size_t)users->points[first + a] * nv;
        const double mass = users->masses[first + a];
        memcpy(p->cost + a * nv, cost, nv * sizeof *cost);
        for (size_t j = 0; j < nv; j++) {
            p->preference[nv + j] -= mass * cost[j];
        }
    }
    for (size_t j = 0; j < nv; j++) {
        p->preference[j] = DPOT_TRANSPORT_BARRED;
    }
}

/* Masses in units, as ot/exact_projection.c has them. False when there is no room between the bounds. */
static bool set_units(struct base_measure_projector *p, size_t user, const double *m, double scale)
{
    const struct base_measure_users *users = p->users;
    const size_t first = users->first[user], n = users->first[user + 1] - first, nv = users->n_cols;
    struct dpot_transport_simplex *t = &p->simplex;
    double sum = 0;
    int exponent = 0;
    for (size_t j = 0; j < nv; j++) {
        p->bounds[j] = users->alpha * scale * m[j];
        p->bounds[nv + j] = fmin(users->beta * scale * m[j], CAP);
        sum += p->bounds[nv + j];
    }
    (void)frexp(fmax(sum, 1), &exponent);
    const int64_t in = dpot_exact_to_units(users->masses + first, n, 1, exponent, t->supply);
    const int64_t least = dpot_exact_to_units(p->bounds, nv, 1, exponent, t->demand);
    const int64_t most = dpot_exact_to_units(p->bounds + nv, nv, 1, exponent, p->units);
    if (least >= in || most <= in) {
        return false;
    }
    for (size_t j = 0; j < nv; j++) {
        t->demand[nv + j] = p->units[j] - t->demand[j];
    }
    t->supply[n] = most - in;
    return true;
}

static void find_potentials(struct base_measure_projector *p, size_t user, const double *m,
                            double *potentials)
{
    const struct base_measure_users *users = p->users;
    const size_t first = users->first[user], n = users->first[user + 1] - first;
    const double scale = scale_inside(users, m);
    struct dpot_transport_simplex *t = &p->simplex;
    if (n == 1) {
        const double *cost = users->cost + (size_t)users->points[first] * users->n_cols;
        potentials[0] = threshold(p, cost, m, scale);
        return;
    }
    t->n_rows = n + 1;
    t->width = users->n_cols;
    t->cost = p->cost;
    t->slack = p->slack;
    gather(p, user);
    if (!set_units(p, user, m, scale)) { /* one output point: whatever proves something */
        memset(potentials, 0, n * sizeof *potentials);
        for (size_t a = 0; a < n; a++) {
            potentials[a] = p->cost[a * users->n_cols];
        }
        return;
    }
    dpot_transport_simplex_solve(t, p->preference);
    for (size_t a = 0; a < n; a++) {
        potentials[a] = t->f[a] - t->f[n]; /* the slack row pays nothing for room left */
    }
}

static double value_of(struct base_measure_projector *p, size_t user, const double *m,
                       const double *potentials, double *gradient)
{
    double value = base_measure_users_minorant(p->users, user, potentials, gradient);
    for (size_t j = 0; j < p->users->n_cols; j++) {
        value += gradient[j] * m[j];
    }
    return value;
}

double base_measure_project(struct base_measure_projector *p, size_t user, const double *m,
                            double *potentials, double *gradient)
{
    potentials = potentials ? potentials : p->potentials;
    gradient = gradient ? gradient : p->gradient;
    find_potentials(p, user, m, potentials);
    return value_of(p, user, m, potentials, gradient);
}

double base_measure_follow(struct base_measure_projector *p, size_t user, const double *m,
                           double warm, double cold, double *potentials, double *gradient)
{
    const struct base_measure_users *users = p->users;
    const size_t first = users->first[user], n = users->first[user + 1] - first;
    const double *rows[BASE_MEASURE_NEWTON_MAX];
    if (n == 1 || n > BASE_MEASURE_NEWTON_MAX || is_near_an_end(users, m)) {
        return base_measure_project(p, user, m, potentials, gradient);
    }
    for (size_t a = 0; a < n; a++) {
        rows[a] = users->cost + (size_t)users->points[first + a] * users->n_cols;
    }
    const double scale = scale_inside(users, m);
    for (size_t j = 0; j < users->n_cols; j++) {
        p->bounds[j] = scale * m[j];
    }
    const struct base_measure_newton problem = {.n = n,
                                                .n_cols = users->n_cols,
                                                .cost = rows,
                                                .mu = users->masses + first,
                                                .m = p->bounds,
                                                .alpha = users->alpha,
                                                .beta = users->beta};
    if (!base_measure_newton_run(&problem, warm, cold, potentials)) {
        return base_measure_project(p, user, m, potentials, gradient);
    }
    return value_of(p, user, m, potentials, gradient);
}

/* Projection of one user: exact (a transport problem with a slack row), or by Newton's method. */
#include "solve/base_measure/users.h"

#include "ot/exact_parts.h"
#include "solve/base_measure/newton.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CAP 2.0      /* of the upper bounds: the user's mass is 1 */
#define NEAR 1e-3    /* relative distance of the total mass to an end of M where Newton fails */
#define MARGIN 1e-12 /* least relative distance of the total mass to the ends of M */

struct ranked_point {
    double cost;
    uint32_t col;
};

struct base_measure_projector {
    const struct base_measure_users *users;
    struct dpot_transport_simplex simplex; /* n_rows is that of the current user */
    size_t cap_rows;
    double *cost;                /* (most, n_cols) of the user's points */
    double *slack;               /* (2 n_cols) costs of the slack row */
    double *preference;          /* (2 n_cols) */
    double *bounds;              /* (2 n_cols) lower, then upper */
    double *gradient;            /* (n_cols) for callers that pass NULL */
    double *potentials;          /* (most) the same */
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

/* A scale that keeps the total mass inside M by MARGIN, so that the slack row has mass. */
static double scale_inside(const struct base_measure_users *users, const double *m)
{
    double total = 0;
    for (size_t j = 0; j < users->n_cols; j++) {
        total += m[j];
    }
    const double high = users->beta * (1 - MARGIN), low = users->alpha * (1 + MARGIN);
    if (users->alpha * total < 1 - MARGIN && users->beta * total > 1 + MARGIN) {
        return 1;
    }
    return users->alpha * total >= 1 - MARGIN ? high / total : low / total;
}

/* Nearly all masses are at one of their bounds: the smooth dual is nearly flat, and Newton's method
 * fails. */
static bool is_near_an_end(const struct base_measure_users *users, const double *m)
{
    double total = 0;
    for (size_t j = 0; j < users->n_cols; j++) {
        total += m[j];
    }
    return users->alpha * total > 1 - NEAR || users->beta * total < 1 + NEAR;
}

/* A user at one point: the potential is the cost at which the filling of the knapsack ends. */
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
    const double slack = (1 - users->alpha * total) / (2 * sinh(users->epsilon / 2));
    size_t r = 0;
    for (; r + 1 < users->n_cols; r++) {
        mass += scale * m[p->ranked[r].col];
        if (mass >= slack) {
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

/* Converts masses to integer units, as in ot/exact_projection.c. False: no slack between the
 * bounds. */
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

/* The row is outside the solved tree ((4) of ot/transport_simplex.h). */
static bool is_lost(const struct dpot_transport_simplex *t, size_t row)
{
    return t->parent[row] < 0 && t->root != (int32_t)row;
}

/* g_j = min (C_aj - f_a) over the rows of the solved tree. */
static void find_prices(const struct base_measure_projector *p, size_t n, const double *potentials,
                        double *prices)
{
    const struct dpot_transport_simplex *t = &p->simplex;
    const size_t nv = p->users->n_cols;
    for (size_t j = 0; j < nv; j++) {
        prices[j] = INFINITY;
    }
    for (size_t a = 0; a < n; a++) {
        for (size_t j = 0; !is_lost(t, a) && j < nv; j++) {
            prices[j] = fmin(prices[j], p->cost[a * nv + j] - potentials[a]);
        }
    }
}

/* A positive mass may be less than half a unit. Its row then has no flow and no potential from the
 * tree; the largest potential that lowers no g_j is the best one for (U). */
static void extend_to_lost_rows(struct base_measure_projector *p, size_t n, double *potentials)
{
    const struct dpot_transport_simplex *t = &p->simplex;
    const size_t nv = p->users->n_cols;
    bool has_prices = false;
    for (size_t a = 0; a < n; a++) {
        if (!is_lost(t, a)) {
            continue;
        }
        if (!has_prices) {
            find_prices(p, n, potentials, p->bounds);
            has_prices = true;
        }
        potentials[a] = INFINITY;
        for (size_t j = 0; j < nv; j++) {
            potentials[a] = fmin(potentials[a], p->cost[a * nv + j] - p->bounds[j]);
        }
    }
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
    if (!set_units(p, user, m, scale)) { /* one output point: any valid bound */
        memset(potentials, 0, n * sizeof *potentials);
        for (size_t a = 0; a < n; a++) {
            potentials[a] = p->cost[a * users->n_cols];
        }
        return;
    }
    dpot_transport_simplex_solve(t, p->preference);
    for (size_t a = 0; a < n; a++) {
        potentials[a] = t->f[a] - t->f[n]; /* shifts the slack row's potential to 0 */
    }
    extend_to_lost_rows(p, n, potentials);
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

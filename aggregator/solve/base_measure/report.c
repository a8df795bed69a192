#include "solve/base_measure/report.h"

#include "solve/base_measure/certificate.h"
#include "solve/base_measure/crowd.h"
#include "solve/base_measure/planes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define TEMPERATURE 1e-4
#define UNIFORM_TOL 1e-4
#define WORSE_TOL 1e-9 /* relative */

/* Cost and weight of a user, sorted by cost. */
struct paid {
    double cost, weight;
};

static int compare_paid(const void *a, const void *b)
{
    const struct paid *x = a, *y = b;
    return (x->cost > y->cost) - (x->cost < y->cost);
}

/* The standard error of a weighted mean: sqrt(sum w^2 (c - mean)^2 n / (n - 1)). */
static struct base_measure_cost_summary summarise(const struct base_measure_users *users,
                                                  const double *costs, struct paid *paid)
{
    struct base_measure_cost_summary stick = {0};
    const double n = (double)users->n;
    double square = 0, below = 0;
    for (size_t u = 0; u < users->n; u++) {
        stick.cost += users->weights[u] * costs[u];
        paid[u] = (struct paid){costs[u], users->weights[u]};
    }
    for (size_t u = 0; u < users->n; u++) {
        const double d = users->weights[u] * (costs[u] - stick.cost);
        square += d * d;
    }
    stick.cost_error = users->n > 1 ? sqrt(square * n / (n - 1)) : 0;
    qsort(paid, users->n, sizeof *paid, compare_paid);
    for (size_t u = 0; u < users->n && below < 0.95; u++) {
        below += paid[u].weight;
        stick.percentile_95 = paid[u].cost;
    }
    return stick;
}

struct maker {
    const struct base_measure_users *users, *fitted;
    struct team *team;
    struct base_measure_crowd *crowd, *fitted_crowd;
    double *costs, *uniform_costs; /* (n) */
    double *uniform;               /* (n_cols) */
    struct paid *paid;             /* (n) */
};

static dpot_status find_worst(const struct maker *maker, const double *m, double *value)
{
    const struct base_measure_users *users = maker->users;
    const struct base_measure_certificate certificate = {.n_rows = users->n_rows,
                                                         .n_cols = users->n_cols,
                                                         .cost = users->cost,
                                                         .epsilon = users->epsilon};
    return base_measure_certificate_worst(&certificate, m, maker->team, value, NULL);
}

static void choose_uniform(struct maker *maker, double mass, struct base_measure_report *report)
{
    struct base_measure_crowd *crowd = maker->fitted_crowd;
    const size_t n = maker->users->n_cols;
    for (size_t j = 0; j < n; j++) {
        maker->uniform[j] = (mass > 0 ? mass : 1) / (double)n;
    }
    if (!(mass > 0)) {
        const double value = base_measure_crowd_evaluate(crowd, maker->uniform, NULL, NULL);
        base_measure_crowd_set_temperature(crowd, TEMPERATURE * value);
        (void)base_measure_crowd_uniform(crowd, UNIFORM_TOL, maker->uniform);
    }
    report->uniform_mass = (double)n * maker->uniform[0];
}

static dpot_status fill(struct maker *maker, const double *m, double uniform_mass,
                        struct base_measure_report *report)
{
    const struct base_measure_users *users = maker->users;
    choose_uniform(maker, uniform_mass, report);
    (void)base_measure_crowd_constant(maker->fitted_crowd, &report->constant_point);
    (void)base_measure_crowd_costs(maker->crowd, m, maker->costs);
    (void)base_measure_crowd_costs(maker->crowd, maker->uniform, maker->uniform_costs);
    report->n = users->n;
    report->made = summarise(users, maker->costs, maker->paid);
    report->uniform = summarise(users, maker->uniform_costs, maker->paid);
    for (size_t u = 0; u < users->n; u++) {
        const bool is_worse = maker->costs[u] > maker->uniform_costs[u] * (1 + WORSE_TOL);
        report->share_worse += is_worse ? users->weights[u] : 0;
        maker->costs[u] = base_measure_users_constant(users, u, report->constant_point);
    }
    report->constant = summarise(users, maker->costs, maker->paid);
    const dpot_status status = find_worst(maker, m, &report->worst_case);
    return status == DPOT_OK ? find_worst(maker, maker->uniform, &report->uniform_worst_case)
                             : status;
}

static dpot_status set_up(struct maker *maker)
{
    const struct base_measure_users *users = maker->users;
    maker->costs = dpot_alloc_array(NULL, users->n, sizeof *maker->costs);
    maker->uniform_costs = dpot_alloc_array(NULL, users->n, sizeof *maker->uniform_costs);
    maker->uniform = dpot_alloc_array(NULL, users->n_cols, sizeof *maker->uniform);
    maker->paid = dpot_alloc_array(NULL, users->n, sizeof *maker->paid);
    if (!maker->costs || !maker->uniform_costs || !maker->uniform || !maker->paid) {
        return DPOT_ERR_MEMORY;
    }
    dpot_status status =
        base_measure_crowd_new(users, BASE_MEASURE_GROUPS, maker->team, &maker->crowd);
    if (status == DPOT_OK) {
        status = base_measure_crowd_new(maker->fitted, BASE_MEASURE_GROUPS, maker->team,
                                        &maker->fitted_crowd);
    }
    return status;
}

dpot_status base_measure_report_make(const struct base_measure_users *users,
                                     const struct base_measure_users *fitted, const double *m,
                                     double uniform_mass, struct team *team,
                                     struct base_measure_report *report)
{
    struct maker maker = {.users = users, .fitted = fitted ? fitted : users, .team = team};
    *report = (struct base_measure_report){0};
    dpot_status status = set_up(&maker);
    if (status == DPOT_OK) {
        status = fill(&maker, m, uniform_mass, report);
    }
    base_measure_crowd_free(maker.crowd);
    base_measure_crowd_free(maker.fitted_crowd);
    dpot_free_array(NULL, maker.costs, users->n, sizeof *maker.costs);
    dpot_free_array(NULL, maker.uniform_costs, users->n, sizeof *maker.uniform_costs);
    dpot_free_array(NULL, maker.uniform, users->n_cols, sizeof *maker.uniform);
    dpot_free_array(NULL, maker.paid, users->n, sizeof *maker.paid);
    return status;
}

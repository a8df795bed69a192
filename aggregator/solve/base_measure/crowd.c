#include "solve/base_measure/crowd.h"

#include "solve/base_measure/newton.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define WARM 64.0 /* start temperature for stored potentials, in units of the current one */
#define UNIFORM_STEPS_MAX 60 /* far more than bracketing needs */

struct base_measure_crowd {
    const struct base_measure_users *users;
    struct team *team;
    size_t n_groups;
    double temperature;
    const struct solve_control *control;        /* NULL: none */
    atomic_bool is_stopped;                     /* an evaluation was interrupted */
    double *potentials;                         /* (first[n]) */
    bool *is_warm;                              /* (n) has stored potentials */
    struct base_measure_projector **projectors; /* (n_groups) */
    double *values;                             /* (n) cost of each user at the last measure */
    double *offsets;                            /* (n_groups) */
    double *scratch;                            /* (n_groups, n_cols) gradient of one user */
    double *gradients;                          /* (n_groups, n_cols) */

    /* Arguments of the tasks of team_run. */
    const double *m, *proof;
    double *task_offsets, *task_gradients;
};

/* ---- life cycle ---- */

static size_t first_user(const struct base_measure_crowd *crowd, size_t group)
{
    return group * crowd->users->n / crowd->n_groups;
}

static dpot_status allocate(struct base_measure_crowd *crowd)
{
    const struct base_measure_users *users = crowd->users;
    const struct dpot_allocator *allocator = users->allocator;
    const size_t g = crowd->n_groups, size = g * users->n_cols;
    crowd->potentials =
        dpot_alloc_array(allocator, users->first[users->n], sizeof *crowd->potentials);
    crowd->is_warm = dpot_alloc_array(allocator, users->n, sizeof *crowd->is_warm);
    crowd->projectors = dpot_alloc_array(allocator, g, sizeof(struct base_measure_projector *));
    crowd->values = dpot_alloc_array(allocator, users->n, sizeof *crowd->values);
    crowd->offsets = dpot_alloc_array(allocator, g, sizeof *crowd->offsets);
    crowd->scratch = dpot_alloc_array(allocator, size, sizeof *crowd->scratch);
    crowd->gradients = dpot_alloc_array(allocator, size, sizeof *crowd->gradients);
    if (!crowd->potentials || !crowd->is_warm || !crowd->projectors || !crowd->values ||
        !crowd->offsets || !crowd->scratch || !crowd->gradients) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t group = 0; group < g; group++) {
        const dpot_status status = base_measure_projector_new(users, &crowd->projectors[group]);
        if (status != DPOT_OK) {
            return status;
        }
    }
    return DPOT_OK;
}

dpot_status base_measure_crowd_new(const struct base_measure_users *users, size_t n_groups,
                                   struct team *team, struct base_measure_crowd **out)
{
    *out = NULL;
    struct base_measure_crowd *crowd = dpot_alloc_array(users->allocator, 1, sizeof *crowd);
    if (!crowd) {
        return DPOT_ERR_MEMORY;
    }
    crowd->users = users;
    crowd->team = team;
    crowd->n_groups = n_groups < 1 ? 1 : n_groups > users->n ? users->n : n_groups;
    const dpot_status status = allocate(crowd);
    if (status != DPOT_OK) {
        base_measure_crowd_free(crowd);
        return status;
    }
    *out = crowd;
    return DPOT_OK;
}

void base_measure_crowd_free(struct base_measure_crowd *crowd)
{
    if (!crowd) {
        return;
    }
    const struct base_measure_users *users = crowd->users;
    const struct dpot_allocator *allocator = users->allocator;
    const size_t g = crowd->n_groups, size = g * users->n_cols;
    for (size_t group = 0; crowd->projectors && group < g; group++) {
        base_measure_projector_free(crowd->projectors[group]);
    }
    dpot_free_array(allocator, crowd->potentials, users->first[users->n],
                    sizeof *crowd->potentials);
    dpot_free_array(allocator, crowd->is_warm, users->n, sizeof *crowd->is_warm);
    dpot_free_array(allocator, crowd->projectors, g, sizeof(struct base_measure_projector *));
    dpot_free_array(allocator, crowd->values, users->n, sizeof *crowd->values);
    dpot_free_array(allocator, crowd->offsets, g, sizeof *crowd->offsets);
    dpot_free_array(allocator, crowd->scratch, size, sizeof *crowd->scratch);
    dpot_free_array(allocator, crowd->gradients, size, sizeof *crowd->gradients);
    dpot_free_array(allocator, crowd, 1, sizeof *crowd);
}

size_t base_measure_crowd_n_groups(const struct base_measure_crowd *crowd)
{
    return crowd->n_groups;
}

double base_measure_crowd_weight(const struct base_measure_crowd *crowd, size_t group)
{
    double weight = 0;
    for (size_t u = first_user(crowd, group); u < first_user(crowd, group + 1); u++) {
        weight += crowd->users->weights[u];
    }
    return weight;
}

void base_measure_crowd_set_temperature(struct base_measure_crowd *crowd, double temperature)
{
    crowd->temperature = temperature;
}

void base_measure_crowd_set_control(struct base_measure_crowd *crowd,
                                    const struct solve_control *control)
{
    crowd->control = control;
    atomic_store(&crowd->is_stopped, false);
}

bool base_measure_crowd_is_stopped(const struct base_measure_crowd *crowd)
{
    return atomic_load(&crowd->is_stopped);
}

/* The first thread to see the stop sets a flag for the others. */
static bool must_end(struct base_measure_crowd *crowd)
{
    if (!atomic_load(&crowd->is_stopped) && solve_control_must_end(crowd->control)) {
        atomic_store(&crowd->is_stopped, true);
    }
    return atomic_load(&crowd->is_stopped);
}

const double *base_measure_crowd_potentials(const struct base_measure_crowd *crowd)
{
    return crowd->potentials;
}

/* ---- values and tangents ---- */

static double project(struct base_measure_crowd *crowd, struct base_measure_projector *projector,
                      size_t user, const double *m, double *gradient)
{
    double *f = crowd->potentials + crowd->users->first[user];
    const bool is_near = crowd->temperature > 0 && crowd->is_warm[user];
    crowd->is_warm[user] = true;
    return is_near ? base_measure_follow(projector, user, m, WARM * crowd->temperature,
                                         crowd->temperature, f, gradient)
                   : base_measure_project(projector, user, m, f, gradient);
}

double base_measure_crowd_project(struct base_measure_crowd *crowd, size_t user, const double *m,
                                  double *gradient)
{
    return project(crowd, crowd->projectors[0], user, m, gradient);
}

static void evaluate_group(void *ctx, size_t group)
{
    struct base_measure_crowd *crowd = ctx;
    const struct base_measure_users *users = crowd->users;
    const size_t n = users->n_cols;
    double *one = crowd->scratch + group * n, *sum = crowd->task_gradients + group * n;
    double offset = 0;
    memset(sum, 0, n * sizeof *sum);
    for (size_t u = first_user(crowd, group); u < first_user(crowd, group + 1); u++) {
        double at_m = 0;
        if (users->weights[u] == 0) {
            continue;
        }
        if (must_end(crowd)) {
            break;
        }
        crowd->values[u] = project(crowd, crowd->projectors[group], u, crowd->m, one);
        for (size_t j = 0; j < n; j++) {
            at_m += one[j] * crowd->m[j];
            sum[j] += users->weights[u] * one[j];
        }
        offset += users->weights[u] * (crowd->values[u] - at_m);
    }
    crowd->task_offsets[group] = offset;
}

double base_measure_crowd_evaluate(struct base_measure_crowd *crowd, const double *m,
                                   double *offsets, double *gradients)
{
    double value = 0;
    crowd->m = m;
    crowd->task_offsets = offsets ? offsets : crowd->offsets;
    crowd->task_gradients = gradients ? gradients : crowd->gradients;
    team_run(crowd->team, crowd->n_groups, evaluate_group, crowd);
    for (size_t u = 0; u < crowd->users->n; u++) {
        value += crowd->users->weights[u] > 0 ? crowd->users->weights[u] * crowd->values[u] : 0;
    }
    return value;
}

static void prove_group(void *ctx, size_t group)
{
    struct base_measure_crowd *crowd = ctx;
    const struct base_measure_users *users = crowd->users;
    const size_t n = users->n_cols;
    double *one = crowd->scratch + group * n, *sum = crowd->gradients + group * n;
    memset(sum, 0, n * sizeof *sum);
    crowd->offsets[group] = 0;
    for (size_t u = first_user(crowd, group); u < first_user(crowd, group + 1); u++) {
        if (users->weights[u] == 0) {
            continue;
        }
        crowd->offsets[group] +=
            users->weights[u] *
            base_measure_users_minorant(users, u, crowd->proof + users->first[u], one);
        for (size_t j = 0; j < n; j++) {
            sum[j] += users->weights[u] * one[j];
        }
    }
}

double base_measure_crowd_minorant(struct base_measure_crowd *crowd, const double *potentials,
                                   double *gradient)
{
    const size_t n = crowd->users->n_cols;
    double offset = 0;
    crowd->proof = potentials;
    team_run(crowd->team, crowd->n_groups, prove_group, crowd);
    memset(gradient, 0, n * sizeof *gradient);
    for (size_t group = 0; group < crowd->n_groups; group++) {
        offset += crowd->offsets[group];
        for (size_t j = 0; j < n; j++) {
            gradient[j] += crowd->gradients[group * n + j];
        }
    }
    return offset;
}

static void cost_group(void *ctx, size_t group)
{
    struct base_measure_crowd *crowd = ctx;
    const struct base_measure_users *users = crowd->users;
    for (size_t u = first_user(crowd, group); u < first_user(crowd, group + 1); u++) {
        crowd->values[u] = base_measure_project(crowd->projectors[group], u, crowd->m,
                                                crowd->potentials + users->first[u], NULL);
        crowd->is_warm[u] = true;
    }
}

double base_measure_crowd_costs(struct base_measure_crowd *crowd, const double *m, double *costs)
{
    double mean = 0;
    crowd->m = m;
    team_run(crowd->team, crowd->n_groups, cost_group, crowd);
    memcpy(costs, crowd->values, crowd->users->n * sizeof *costs);
    for (size_t u = 0; u < crowd->users->n; u++) {
        mean += crowd->users->weights[u] * costs[u];
    }
    return mean;
}

/* ---- uniform measure and constant answer ---- */

struct end {
    double mass, value, slope;
};

static struct end evaluate_uniform(struct base_measure_crowd *crowd, double mass, double *m)
{
    const size_t n = crowd->users->n_cols;
    struct end end = {.mass = mass};
    for (size_t j = 0; j < n; j++) {
        m[j] = mass / (double)n;
    }
    end.value = base_measure_crowd_evaluate(crowd, m, NULL, NULL);
    for (size_t e = 0; e < crowd->n_groups * n; e++) {
        end.slope += crowd->gradients[e] / (double)n;
    }
    return end;
}

/* The next total mass: with one end known, an eighth of the range beyond it; with two, the
 * intersection of the tangents, kept away from the ends so that the bracket always shrinks. */
static double next_mass(const struct base_measure_users *users, const struct end *left,
                        const struct end *right, double *bound)
{
    const double stride = exp(users->epsilon / 8);
    *bound = -INFINITY;
    if (right->slope <= 0) {
        return fmin(left->mass * stride, users->beta);
    }
    if (left->slope >= 0) {
        return fmax(right->mass / stride, users->alpha);
    }
    const double meet =
        (right->value - left->value + left->slope * left->mass - right->slope * right->mass) /
        (left->slope - right->slope);
    const double width = right->mass - left->mass;
    *bound = left->value + left->slope * (meet - left->mass);
    return fmin(fmax(meet, left->mass + 0.05 * width), right->mass - 0.05 * width);
}

/* E is convex along the line, so tangents with slopes of opposite sign bracket its minimum. */
double base_measure_crowd_uniform(struct base_measure_crowd *crowd, double tol, double *m)
{
    struct end best = evaluate_uniform(crowd, 1, m);
    struct end left = best, right = best; /* slopes of the other sign: not found yet */
    for (int k = 0;
         k < UNIFORM_STEPS_MAX && best.slope != 0 && !base_measure_crowd_is_stopped(crowd); k++) {
        double bound = 0;
        const double mass = next_mass(crowd->users, &left, &right, &bound);
        if (best.value - bound <= tol * best.value || mass == left.mass || mass == right.mass) {
            break;
        }
        const struct end probe = evaluate_uniform(crowd, mass, m);
        if (base_measure_crowd_is_stopped(crowd)) {
            break;
        }
        best = probe.value < best.value ? probe : best;
        left = probe.slope < 0 || left.slope >= 0 ? probe : left;
        right = probe.slope < 0 && right.slope > 0 ? right : probe;
    }
    for (size_t j = 0; j < crowd->users->n_cols; j++) {
        m[j] = best.mass / (double)crowd->users->n_cols;
    }
    return best.value;
}

double base_measure_crowd_constant(const struct base_measure_crowd *crowd, size_t *point)
{
    double best = INFINITY;
    *point = 0;
    for (size_t j = 0; j < crowd->users->n_cols; j++) {
        double cost = 0;
        for (size_t u = 0; u < crowd->users->n; u++) {
            cost += crowd->users->weights[u] * base_measure_users_constant(crowd->users, u, j);
        }
        if (cost < best) {
            best = cost;
            *point = j;
        }
    }
    return best;
}

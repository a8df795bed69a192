#include "solve/base_measure_planes.h"

#include "solve/base_measure_lp.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define PERTURBATION 3e-8 /* of the program's value, at first */
#define CALMER 100.0      /* how much smaller it becomes when it seems to be in the way */
#define PERTURBATION_MIN 1e-13
#define MIX 0.3       /* with users: of the solution, the rest is the best so far */
#define COOL 1e-4     /* temperature of the crowd, of the objective */
#define SLOW 0.9      /* a round that leaves more of the gap is slow */
#define SLOW_ROUNDS 2 /* of the worst case, one after the other: the perturbation is in the way */
#define SLOW_ROUNDS_USERS 6 /* with users, whose mixed points take longer */

/* Where a tangent comes from: a row and its y, or a group of users and the potentials of a round. */
struct source {
    bool is_row;
    size_t index; /* row, or snapshot */
    double y;
};

struct planes {
    const struct base_measure_planes_config *config;
    struct base_measure_planes_result *result;
    struct base_measure_lp *lp;
    size_t n_groups; /* of the program: those of users, then the worst case */
    size_t n_user_groups;
    double mass_unit, value_unit; /* what the program's numbers are counted in */

    double *orbit_size; /* (n_orbits) */
    double *point;      /* (n_cols) evaluated next, or last */
    double *solution;   /* (n_cols) of the program */
    double *x;          /* (n_orbits) */
    double *gradient;   /* (n_cols) */
    double *tied;       /* (n_orbits) gradient of a tangent in the program's units */
    double *offsets;    /* (n_user_groups) */
    double *gradients;  /* (n_user_groups, n_cols) */
    double *w, *y;      /* (n_rows) trial dual point */
    double *potentials; /* (n_points) */

    struct source *sources; /* (cap_sources) by number of the cut */
    size_t n_sources, cap_sources;
    double **snapshots; /* (n_snapshots) potentials of the rounds */
    size_t n_snapshots, cap_snapshots;
    double *cut_weights; /* (cap_sources) */
};

/* ---- memory ---- */

static size_t n_orbits_of(const struct base_measure_planes_config *config)
{
    return config->orbit ? config->n_orbits : config->n_cols;
}

static size_t n_points_of(const struct base_measure_planes_config *config)
{
    return config->crowd ? config->users->first[config->users->n] : 0;
}

static size_t n_rows_of(const struct base_measure_planes_config *config)
{
    return config->phi ? config->phi->n_rows : 0;
}

static dpot_status allocate_result(const struct base_measure_planes_config *config,
                                   struct base_measure_planes_result *result)
{
    const struct dpot_allocator *allocator = config->allocator;
    *result = (struct base_measure_planes_result){.n_cols = config->n_cols,
                                                  .n_rows = n_rows_of(config),
                                                  .n_points = n_points_of(config),
                                                  .objective = INFINITY,
                                                  .allocator = allocator};
    result->base_measure = dpot_alloc_array(allocator, result->n_cols, sizeof(double));
    result->w = dpot_alloc_array(allocator, result->n_rows, sizeof(double));
    result->y = dpot_alloc_array(allocator, result->n_rows, sizeof(double));
    result->potentials = dpot_alloc_array(allocator, result->n_points, sizeof(double));
    return result->base_measure && result->w && result->y && result->potentials ? DPOT_OK
                                                                                : DPOT_ERR_MEMORY;
}

void base_measure_planes_release(struct base_measure_planes_result *result)
{
    const struct dpot_allocator *allocator = result->allocator;
    dpot_free_array(allocator, result->base_measure, result->n_cols, sizeof(double));
    dpot_free_array(allocator, result->w, result->n_rows, sizeof(double));
    dpot_free_array(allocator, result->y, result->n_rows, sizeof(double));
    dpot_free_array(allocator, result->potentials, result->n_points, sizeof(double));
    *result = (struct base_measure_planes_result){0};
}

/* One block for the arrays of fixed size. */
static size_t block_size(const struct planes *p)
{
    const struct base_measure_planes_config *config = p->config;
    return 3 * n_orbits_of(config) + 3 * config->n_cols + p->n_user_groups * (1 + config->n_cols) +
           2 * n_rows_of(config) + n_points_of(config);
}

static dpot_status allocate(struct planes *p)
{
    const struct base_measure_planes_config *config = p->config;
    const size_t n = config->n_cols, n_orbits = n_orbits_of(config), n_rows = n_rows_of(config);
    double *at = dpot_alloc_array(config->allocator, block_size(p), sizeof *at);
    if (!at) {
        return DPOT_ERR_MEMORY;
    }
    p->orbit_size = at;
    p->x = (at += n_orbits);
    p->tied = (at += n_orbits);
    p->point = (at += n_orbits);
    p->solution = (at += n);
    p->gradient = (at += n);
    p->offsets = (at += n);
    p->gradients = (at += p->n_user_groups);
    p->w = (at += p->n_user_groups * n);
    p->y = (at += n_rows);
    p->potentials = at + n_rows;
    for (size_t j = 0; j < n; j++) {
        p->orbit_size[config->orbit ? config->orbit[j] : j]++;
    }
    return DPOT_OK;
}

static void release(struct planes *p)
{
    const struct dpot_allocator *allocator = p->config->allocator;
    base_measure_lp_free(p->lp);
    for (size_t s = 0; s < p->n_snapshots; s++) {
        dpot_free_array(allocator, p->snapshots[s], n_points_of(p->config), sizeof(double));
    }
    dpot_free_array(allocator, p->snapshots, p->cap_snapshots, sizeof(double *));
    dpot_free_array(allocator, p->sources, p->cap_sources, sizeof *p->sources);
    dpot_free_array(allocator, p->cut_weights, p->cap_sources, sizeof *p->cut_weights);
    dpot_free_array(allocator, p->orbit_size, block_size(p), sizeof *p->orbit_size);
}

static dpot_status grow_sources(struct planes *p)
{
    const struct dpot_allocator *allocator = p->config->allocator;
    const size_t cap = p->cap_sources == 0 ? 256 : 2 * p->cap_sources;
    struct source *sources =
        dpot_resize_array(allocator, p->sources, p->cap_sources, cap, sizeof *sources);
    p->sources = sources ? sources : p->sources;
    double *weights = !sources ? NULL
                               : dpot_resize_array(allocator, p->cut_weights, p->cap_sources, cap,
                                                   sizeof *weights);
    if (!weights) {
        if (sources) { /* as it was, so that release knows the size */
            sources = dpot_resize_array(allocator, sources, cap, p->cap_sources, sizeof *sources);
            p->sources = sources ? sources : p->sources;
        }
        return DPOT_ERR_MEMORY;
    }
    p->cut_weights = weights;
    p->cap_sources = cap;
    return DPOT_OK;
}

static dpot_status keep_snapshot(struct planes *p)
{
    const struct dpot_allocator *allocator = p->config->allocator;
    const size_t size = n_points_of(p->config);
    if (p->n_snapshots == p->cap_snapshots) {
        const size_t cap = p->cap_snapshots == 0 ? 16 : 2 * p->cap_snapshots;
        double **snapshots =
            dpot_resize_array(allocator, p->snapshots, p->cap_snapshots, cap, sizeof(double *));
        if (!snapshots) {
            return DPOT_ERR_MEMORY;
        }
        p->snapshots = snapshots;
        p->cap_snapshots = cap;
    }
    double *snapshot = dpot_alloc_array(allocator, size, sizeof *snapshot);
    if (!snapshot) {
        return DPOT_ERR_MEMORY;
    }
    memcpy(snapshot, base_measure_crowd_potentials(p->config->crowd), size * sizeof *snapshot);
    p->snapshots[p->n_snapshots++] = snapshot;
    return DPOT_OK;
}

/* ---- tangents ---- */

/* A tangent of a part, `weight` times that of the program's group: tied over the orbits, in the program's units. */
static dpot_status add_cut(struct planes *p, size_t group, double weight, double offset,
                           const double *gradient, struct source source)
{
    const struct base_measure_planes_config *config = p->config;
    const size_t n_orbits = n_orbits_of(config);
    const double scale = p->mass_unit / (p->value_unit * weight);
    if (p->n_sources == p->cap_sources) {
        const dpot_status status = grow_sources(p);
        if (status != DPOT_OK) {
            return status;
        }
    }
    memset(p->tied, 0, n_orbits * sizeof *p->tied);
    for (size_t j = 0; j < config->n_cols; j++) {
        p->tied[config->orbit ? config->orbit[j] : j] += gradient[j];
    }
    for (size_t o = 0; o < n_orbits; o++) {
        p->tied[o] *= scale / p->orbit_size[o];
    }
    p->sources[p->n_sources] = source;
    const dpot_status status =
        base_measure_lp_add(p->lp, group, offset / (p->value_unit * weight), p->tied);
    p->n_sources += status == DPOT_OK;
    return status;
}

/* Users at `m`: value and a tangent for each group. */
static dpot_status cut_users(struct planes *p, const double *m, double *value)
{
    const struct base_measure_planes_config *config = p->config;
    const double share = 1 - config->worst_share;
    *value = share * base_measure_crowd_evaluate(config->crowd, m, p->offsets, p->gradients);
    dpot_status status = keep_snapshot(p);
    for (size_t g = 0; status == DPOT_OK && g < p->n_user_groups; g++) {
        const double weight = base_measure_crowd_weight(config->crowd, g);
        if (weight > 0) {
            status = add_cut(p, g, weight, p->offsets[g], p->gradients + g * config->n_cols,
                             (struct source){false, p->n_snapshots - 1, 0});
        }
    }
    return status;
}

/* The worst case at `m`: value, and a tangent for each row whose value is above `level`. */
static dpot_status cut_rows(struct planes *p, const double *m, double level, double *value)
{
    const struct base_measure_planes_config *config = p->config;
    struct phi *phi = config->phi;
    dpot_status status = DPOT_OK;
    const double worst = phi_evaluate(phi, m);
    *value += config->worst_share * worst;
    for (size_t i = 0; status == DPOT_OK && i < phi->n_rows; i++) {
        if (!(phi->values[i] > level)) {
            continue;
        }
        memset(p->gradient, 0, config->n_cols * sizeof *p->gradient);
        phi_add_row(phi, i, 1, phi->thresholds[i], p->gradient);
        status = add_cut(p, p->n_groups - 1, 1, phi->thresholds[i], p->gradient,
                         (struct source){true, i, phi->thresholds[i]});
    }
    return status;
}

/* F at `m`, with new tangents; the best measure is kept. */
static dpot_status visit(struct planes *p, const double *m, double level)
{
    double value = 0;
    dpot_status status = DPOT_OK;
    if (p->config->crowd) {
        status = cut_users(p, m, &value);
    }
    if (status == DPOT_OK && p->config->phi) {
        status = cut_rows(p, m, level, &value);
    }
    if (status == DPOT_OK && value < p->result->objective) {
        p->result->objective = value;
        memcpy(p->result->base_measure, m, p->config->n_cols * sizeof *m);
    }
    return status;
}

/* ---- the proof ---- */

/* The dual point that the program's weights are: sums of y for the rows, means of potentials for the users. */
static void gather_dual(struct planes *p, bool is_perturbed)
{
    const struct base_measure_planes_config *config = p->config;
    const size_t n_cuts = base_measure_lp_n_cuts(p->lp);
    double sum = 0;
    base_measure_lp_weights(p->lp, is_perturbed, p->cut_weights);
    memset(p->w, 0, n_rows_of(config) * sizeof *p->w);
    memset(p->y, 0, n_rows_of(config) * sizeof *p->y);
    for (size_t c = 0; c < n_cuts; c++) {
        if (p->sources[c].is_row) {
            p->w[p->sources[c].index] += p->cut_weights[c];
            p->y[p->sources[c].index] += p->cut_weights[c] * p->sources[c].y;
            sum += p->cut_weights[c];
        }
    }
    for (size_t i = 0; sum > 0 && i < n_rows_of(config); i++) {
        p->w[i] *= config->worst_share / sum;
        p->y[i] *= config->worst_share / sum;
    }
}

/* Cuts of users come in rounds of one per group with a weight, in order. */
static void gather_potentials(struct planes *p)
{
    const struct base_measure_users *users = p->config->users;
    const size_t n_cuts = base_measure_lp_n_cuts(p->lp);
    memset(p->potentials, 0, n_points_of(p->config) * sizeof *p->potentials);
    for (size_t g = 0; g < p->n_user_groups; g++) {
        const size_t from = users->first[g * users->n / p->n_user_groups];
        const size_t to = users->first[(g + 1) * users->n / p->n_user_groups];
        double sum = 0;
        for (size_t c = 0; c < n_cuts; c++) {
            sum += !p->sources[c].is_row && base_measure_lp_group(p->lp, c) == g ? p->cut_weights[c]
                                                                                 : 0;
        }
        for (size_t c = 0; sum > 0 && c < n_cuts; c++) {
            if (p->sources[c].is_row || base_measure_lp_group(p->lp, c) != g ||
                p->cut_weights[c] == 0) {
                continue;
            }
            const double *snapshot = p->snapshots[p->sources[c].index];
            for (size_t a = from; a < to; a++) {
                p->potentials[a] += p->cut_weights[c] / sum * snapshot[a];
            }
        }
    }
}

/* min over M of the tangent, with masses tied over the orbits. */
static double least_of(const struct planes *p, double offset, const double *gradient)
{
    const struct base_measure_planes_config *config = p->config;
    double least = INFINITY;
    memset(p->tied, 0, n_orbits_of(config) * sizeof *p->tied);
    for (size_t j = 0; j < config->n_cols; j++) {
        p->tied[config->orbit ? config->orbit[j] : j] += gradient[j];
    }
    for (size_t o = 0; o < n_orbits_of(config); o++) {
        least = fmin(least, p->tied[o] / p->orbit_size[o]);
    }
    return offset + least * exp((least >= 0 ? -1 : 1) * config->epsilon / 2);
}

/* What the weights prove; kept when it is more than before. */
static void prove(struct planes *p, bool is_perturbed)
{
    const struct base_measure_planes_config *config = p->config;
    double offset = 0;
    gather_dual(p, is_perturbed);
    memset(p->gradient, 0, config->n_cols * sizeof *p->gradient);
    if (config->crowd) {
        gather_potentials(p);
        offset = base_measure_crowd_minorant(config->crowd, p->potentials, p->gradient);
        offset *= 1 - config->worst_share;
        for (size_t j = 0; j < config->n_cols; j++) {
            p->gradient[j] *= 1 - config->worst_share;
        }
    }
    for (size_t i = 0; i < n_rows_of(config); i++) {
        if (p->w[i] > 0) {
            phi_add_row(config->phi, i, p->w[i], p->y[i], p->gradient);
            offset += p->y[i];
        }
    }
    const double bound = least_of(p, offset, p->gradient);
    if (bound > p->result->lower_bound) {
        p->result->lower_bound = bound;
        memcpy(p->result->w, p->w, n_rows_of(config) * sizeof *p->w);
        memcpy(p->result->y, p->y, n_rows_of(config) * sizeof *p->y);
        memcpy(p->result->potentials, p->potentials, n_points_of(config) * sizeof *p->potentials);
    }
}

/* ---- rounds ---- */

struct pace {
    double gap; /* least so far */
    double perturbation;
    size_t n_slow;
};

/* The solution of the program as a measure; its total is brought into M, where it is up to rounding. */
static void load_solution(struct planes *p)
{
    const struct base_measure_planes_config *config = p->config;
    double sum = 0;
    base_measure_lp_point(p->lp, p->x);
    for (size_t j = 0; j < config->n_cols; j++) {
        const size_t o = config->orbit ? config->orbit[j] : j;
        p->solution[j] = p->x[o] * p->mass_unit / p->orbit_size[o];
        sum += p->solution[j];
    }
    const double low = exp(-config->epsilon / 2), high = exp(config->epsilon / 2);
    const double scale = sum > 0 ? fmin(fmax(sum, low), high) / sum : 1;
    for (size_t j = 0; j < config->n_cols; j++) {
        p->solution[j] = sum > 0 ? p->solution[j] * scale : low / (double)config->n_cols;
    }
}

static void choose_point(struct planes *p)
{
    const double share = p->config->crowd ? MIX : 1;
    for (size_t j = 0; j < p->config->n_cols; j++) {
        p->point[j] = (1 - share) * p->result->base_measure[j] + share * p->solution[j];
    }
}

/* t of the worst case at the program's solution: rows above it are news. */
static double level_of(const struct planes *p)
{
    if (!p->config->phi) {
        return 0;
    }
    const double t = base_measure_lp_level(p->lp, p->n_groups - 1) * p->value_unit;
    return t + 1e-14 * fabs(t);
}

static dpot_status set_up_program(struct planes *p, double value)
{
    const struct base_measure_planes_config *config = p->config;
    double *weights = dpot_alloc_array(config->allocator, p->n_groups, sizeof *weights);
    if (!weights) {
        return DPOT_ERR_MEMORY;
    }
    double mass = 0;
    for (size_t j = 0; j < config->n_cols; j++) {
        mass += config->starts[config->n_starts - 1][j];
    }
    p->mass_unit = mass;
    p->value_unit = value;
    for (size_t g = 0; g < p->n_user_groups; g++) {
        weights[g] = (1 - config->worst_share) * base_measure_crowd_weight(config->crowd, g);
    }
    if (config->phi) {
        weights[p->n_groups - 1] = config->worst_share;
    }
    const struct base_measure_lp_config lp = {.n_points = n_orbits_of(config),
                                              .n_groups = p->n_groups,
                                              .group_weights = weights,
                                              .mass_min = exp(-config->epsilon / 2) / mass,
                                              .mass_max = exp(config->epsilon / 2) / mass,
                                              .perturbation = PERTURBATION,
                                              .linalg = config->linalg,
                                              .allocator = config->allocator};
    const dpot_status status = base_measure_lp_new(&lp, &p->lp);
    dpot_free_array(config->allocator, weights, p->n_groups, sizeof *weights);
    return status;
}

/* F at the last start, before there is a program: its unit. */
static double first_value(struct planes *p)
{
    const struct base_measure_planes_config *config = p->config;
    const double *m = config->starts[config->n_starts - 1];
    double value = 0;
    if (config->crowd) {
        value +=
            (1 - config->worst_share) * base_measure_crowd_evaluate(config->crowd, m, NULL, NULL);
        base_measure_crowd_cool(config->crowd, COOL * value / (1 - config->worst_share));
    }
    return config->phi ? value + config->worst_share * phi_evaluate(config->phi, m) : value;
}

static bool is_done(struct planes *p, const struct solve_control *control)
{
    struct base_measure_planes_result *result = p->result;
    result->relative_gap = phi_relative_gap(result->objective, result->lower_bound);
    if (result->relative_gap <= p->config->gap) {
        result->outcome = SOLVE_CONVERGED;
        return true;
    }
    return result->rounds >= p->config->max_rounds ||
           solve_control_stops(control, result->rounds, p->config->max_rounds, &result->outcome);
}

/* After a round: calms the program when rounds have become slow. False when there is nothing left to try. */
static bool goes_on(struct planes *p, struct pace *pace)
{
    const double gap = phi_relative_gap(p->result->objective, p->result->lower_bound);
    pace->n_slow = gap > SLOW * pace->gap ? pace->n_slow + 1 : 0;
    pace->gap = fmin(gap, pace->gap);
    if (pace->n_slow < (p->config->crowd ? SLOW_ROUNDS_USERS : SLOW_ROUNDS)) {
        return true;
    }
    if (pace->perturbation / CALMER < PERTURBATION_MIN) {
        return false;
    }
    base_measure_lp_calm(p->lp, CALMER);
    pace->perturbation /= CALMER;
    pace->n_slow = 0;
    return true;
}

static dpot_status run_rounds(struct planes *p, const struct solve_control *control)
{
    struct base_measure_planes_result *result = p->result;
    struct pace pace = {.gap = INFINITY, .perturbation = PERTURBATION};
    dpot_status status = DPOT_OK;
    for (size_t s = 0; status == DPOT_OK && s < p->config->n_starts; s++) {
        status = visit(p, p->config->starts[s], -INFINITY);
    }
    while (status == DPOT_OK && !is_done(p, control)) {
        bool is_optimal = false;
        base_measure_lp_solve(p->lp, control, &is_optimal);
        prove(p, true);
        prove(p, false);
        result->rounds++;
        if (is_done(p, control)) {
            break;
        }
        load_solution(p);
        choose_point(p);
        status = visit(p, p->point, level_of(p));
        if (status == DPOT_OK && !goes_on(p, &pace)) {
            (void)is_done(p, NULL);
            break;
        }
    }
    result->n_cuts = base_measure_lp_n_cuts(p->lp);
    result->n_lp_steps = base_measure_lp_n_steps(p->lp);
    return status;
}

/* Nothing costs anything: there is nothing to improve, and nothing to prove. */
static void take_free_measure(struct planes *p)
{
    const struct base_measure_planes_config *config = p->config;
    memcpy(p->result->base_measure, config->starts[config->n_starts - 1],
           config->n_cols * sizeof(double));
    for (size_t i = 0; i < n_rows_of(config); i++) {
        p->result->w[i] = i == 0 ? config->worst_share : 0;
    }
    p->result->objective = 0;
    p->result->outcome = SOLVE_CONVERGED;
}

dpot_status base_measure_planes(const struct base_measure_planes_config *config,
                                const struct solve_control *control,
                                struct base_measure_planes_result *result, struct dpot_error *error)
{
    struct planes p = {.config = config, .result = result};
    p.n_user_groups = config->crowd ? base_measure_crowd_n_groups(config->crowd) : 0;
    p.n_groups = p.n_user_groups + (config->phi ? 1 : 0);
    dpot_status status = allocate_result(config, result);
    if (status == DPOT_OK) {
        status = allocate(&p);
    }
    if (status == DPOT_OK) {
        const double value = first_value(&p);
        result->outcome = SOLVE_ITERATION_LIMIT;
        if (value > 0) {
            status = set_up_program(&p, value);
            status = status == DPOT_OK ? run_rounds(&p, control) : status;
        } else {
            take_free_measure(&p);
        }
    }
    release(&p);
    if (status == DPOT_OK) {
        return DPOT_OK;
    }
    base_measure_planes_release(result);
    return status == DPOT_ERR_TOO_LARGE
               ? dpot_error_set(error, status,
                                "%zu output points that no symmetry ties, with %zu groups of "
                                "users: cutting planes take at most %zu together",
                                n_orbits_of(config), p.n_groups, BASE_MEASURE_LP_ROWS_MAX)
               : dpot_error_set(error, status, "out of memory for the cutting planes");
}

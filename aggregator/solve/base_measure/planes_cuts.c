#include "solve/base_measure/planes_parts.h"

#include <math.h>
#include <string.h>

/* ---- tangents ---- */

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
        if (sources) { /* restore the old size for release */
            sources = dpot_resize_array(allocator, sources, cap, p->cap_sources, sizeof *sources);
            p->sources = sources ? sources : p->sources;
        }
        return DPOT_ERR_MEMORY;
    }
    p->cut_weights = weights;
    p->cap_sources = cap;
    return DPOT_OK;
}

static dpot_status store_snapshot(struct planes *p)
{
    const struct dpot_allocator *allocator = p->config->allocator;
    const size_t size = planes_n_points(p->config);
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

/* Adds a tangent of a part to its group: divided by `weight`, summed over orbits, in the program's
 * units. */
static dpot_status add_cut(struct planes *p, size_t group, double weight, double offset,
                           const double *gradient, struct source source)
{
    const struct base_measure_planes_config *config = p->config;
    const size_t n_orbits = planes_n_orbits(config);
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

/* Evaluates the users at `m`: value, and a tangent for each group. */
static dpot_status cut_users(struct planes *p, const double *m, double *value)
{
    const struct base_measure_planes_config *config = p->config;
    const double share = 1 - config->worst_share;
    *value = share * base_measure_crowd_evaluate(config->crowd, m, p->offsets, p->gradients);
    if (base_measure_crowd_is_stopped(config->crowd)) {
        *value = INFINITY;
        return DPOT_OK;
    }
    dpot_status status = store_snapshot(p);
    for (size_t g = 0; status == DPOT_OK && g < p->n_user_groups; g++) {
        const double weight = base_measure_crowd_weight(config->crowd, g);
        if (weight > 0) {
            status = add_cut(p, g, weight, p->offsets[g], p->gradients + g * config->n_cols,
                             (struct source){false, p->n_snapshots - 1, 0});
        }
    }
    return status;
}

/* Evaluates the worst case at `m`: value, and a tangent for each row above `level`. */
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

dpot_status planes_evaluate(struct planes *p, const double *m, double level)
{
    double value = 0;
    dpot_status status = DPOT_OK;
    if (p->config->crowd) {
        status = cut_users(p, m, &value);
    }
    if (status == DPOT_OK && p->config->phi && value < INFINITY) {
        status = cut_rows(p, m, level, &value);
    }
    if (status == DPOT_OK && value < p->result->objective) {
        p->result->objective = value;
        memcpy(p->result->base_measure, m, p->config->n_cols * sizeof *m);
    }
    return status;
}

/* ---- the proof ---- */

/* The dual point of the program's weights, rows: weighted sums of y. */
static void gather_dual(struct planes *p, bool is_perturbed)
{
    const struct base_measure_planes_config *config = p->config;
    const size_t n_cuts = base_measure_lp_n_cuts(p->lp);
    double sum = 0;
    base_measure_lp_weights(p->lp, is_perturbed, p->cut_weights);
    memset(p->w, 0, planes_n_rows(config) * sizeof *p->w);
    memset(p->y, 0, planes_n_rows(config) * sizeof *p->y);
    for (size_t c = 0; c < n_cuts; c++) {
        if (p->sources[c].is_row) {
            p->w[p->sources[c].index] += p->cut_weights[c];
            p->y[p->sources[c].index] += p->cut_weights[c] * p->sources[c].y;
            sum += p->cut_weights[c];
        }
    }
    for (size_t i = 0; sum > 0 && i < planes_n_rows(config); i++) {
        p->w[i] *= config->worst_share / sum;
        p->y[i] *= config->worst_share / sum;
    }
}

/* The dual point of the program's weights, users: weighted means of potentials. Every evaluation
 * adds one cut per group of positive weight, in order. */
static void gather_potentials(struct planes *p)
{
    const struct base_measure_users *users = p->config->users;
    const size_t n_cuts = base_measure_lp_n_cuts(p->lp);
    memset(p->potentials, 0, planes_n_points(p->config) * sizeof *p->potentials);
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

/* min over M of the tangent, with masses equal within orbits. */
static double least_of(const struct planes *p, double offset, const double *gradient)
{
    const struct base_measure_planes_config *config = p->config;
    double least = INFINITY;
    memset(p->tied, 0, planes_n_orbits(config) * sizeof *p->tied);
    for (size_t j = 0; j < config->n_cols; j++) {
        p->tied[config->orbit ? config->orbit[j] : j] += gradient[j];
    }
    for (size_t o = 0; o < planes_n_orbits(config); o++) {
        least = fmin(least, p->tied[o] / p->orbit_size[o]);
    }
    return offset + least * exp((least >= 0 ? -1 : 1) * config->epsilon / 2);
}

void planes_update_bound(struct planes *p, bool is_perturbed)
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
    for (size_t i = 0; i < planes_n_rows(config); i++) {
        if (p->w[i] > 0) {
            phi_add_row(config->phi, i, p->w[i], p->y[i], p->gradient);
            offset += p->y[i];
        }
    }
    const double bound = least_of(p, offset, p->gradient);
    if (bound > p->result->lower_bound) {
        p->result->lower_bound = bound;
        memcpy(p->result->w, p->w, planes_n_rows(config) * sizeof *p->w);
        memcpy(p->result->y, p->y, planes_n_rows(config) * sizeof *p->y);
        memcpy(p->result->potentials, p->potentials,
               planes_n_points(config) * sizeof *p->potentials);
    }
}

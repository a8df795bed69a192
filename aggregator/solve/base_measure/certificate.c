#include "solve/base_measure/certificate.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 64          /* blocks of rows, one task each */
#define SUM_TOL 1e-9       /* of the sum of the weights */
#define ACCEPT_TOL 1e-9    /* relative, of an objective and its bound */
#define ACCEPT_COSTS 1e-12 /* the same, relative to the largest cost */
#define ROUNDING 8.0       /* rounding allowance, in DBL_EPSILON times the absolute sum */

/* Neumaier's compensated sum, with the sum of absolute values. */
struct sum {
    double sum, lost, size;
};

static void add(struct sum *s, double x)
{
    const double next = s->sum + x;
    s->lost += fabs(s->sum) >= fabs(x) ? (s->sum - next) + x : (x - next) + s->sum;
    s->sum = next;
    s->size += fabs(x);
}

static double total(const struct sum *s)
{
    return s->sum + s->lost;
}

/* ---- the worst case ---- */

struct entry {
    double cost, mass;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->cost > y->cost) - (x->cost < y->cost);
}

/* phi_i: fills every point to its lower bound, then the nearest points to their upper bounds. */
static double fill_row(const double *cost, const double *m, size_t n, double alpha, double beta,
                       struct entry *entries)
{
    struct sum value = {0}, mass = {0};
    for (size_t j = 0; j < n; j++) {
        entries[j] = (struct entry){cost[j], m[j]};
        add(&mass, alpha * m[j]);
        add(&value, m[j] > 0 ? alpha * m[j] * cost[j] : 0);
    }
    double left = fmax(1 - total(&mass), 0);
    qsort(entries, n, sizeof *entries, compare_entries);
    for (size_t j = 0; j < n && left > 0; j++) {
        const double slack = (beta - alpha) * entries[j].mass;
        const double moved = j + 1 < n ? fmin(slack, left) : left;
        add(&value, moved > 0 ? moved * entries[j].cost : 0);
        left -= moved;
    }
    return total(&value);
}

struct worst_task {
    const struct base_measure_certificate *certificate;
    const double *m;
    struct entry *entries; /* (BLOCKS, n_cols) */
    double values[BLOCKS];
    size_t rows[BLOCKS];
};

static void find_worst_of_block(void *ctx, size_t block)
{
    struct worst_task *task = ctx;
    const struct base_measure_certificate *c = task->certificate;
    const double alpha = exp(-c->epsilon / 2), beta = exp(c->epsilon / 2);
    task->values[block] = -1;
    for (size_t i = block * c->n_rows / BLOCKS; i < (block + 1) * c->n_rows / BLOCKS; i++) {
        const double value = fill_row(c->cost + i * c->n_cols, task->m, c->n_cols, alpha, beta,
                                      task->entries + block * c->n_cols);
        if (value > task->values[block]) {
            task->values[block] = value;
            task->rows[block] = i;
        }
    }
}

dpot_status base_measure_certificate_worst(const struct base_measure_certificate *certificate,
                                           const double *m, struct team *team, double *value,
                                           size_t *worst)
{
    struct worst_task task = {.certificate = certificate, .m = m};
    const size_t size = BLOCKS * certificate->n_cols;
    task.entries = dpot_alloc_array(NULL, size, sizeof *task.entries);
    if (!task.entries) {
        return DPOT_ERR_MEMORY;
    }
    team_run(team, BLOCKS, find_worst_of_block, &task);
    size_t best = 0;
    for (size_t block = 1; block < BLOCKS; block++) {
        best = task.values[block] > task.values[best] ? block : best;
    }
    *value = task.values[best];
    if (worst) {
        *worst = task.rows[best];
    }
    dpot_free_array(NULL, task.entries, size, sizeof *task.entries);
    return DPOT_OK;
}

/* ---- the bound ---- */

static dpot_status check_weights(const struct base_measure_certificate *c, double *scale,
                                 struct dpot_error *error)
{
    struct sum sum = {0};
    *scale = 1;
    for (size_t i = 0; c->w && i < c->n_rows; i++) {
        if (!(c->w[i] >= 0 && isfinite(c->w[i]) && isfinite(c->y[i]))) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "dual weight %zu is %g, with y %g: weights are not negative, and "
                                  "both finite",
                                  i + 1, c->w[i], c->y[i]);
        }
        add(&sum, c->w[i]);
    }
    if (fabs(total(&sum) - c->worst_share) > SUM_TOL) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the dual weights sum to %.17g, not to %.17g: they prove nothing",
                              total(&sum), c->worst_share);
    }
    if (c->worst_share > 0) {
        *scale = c->worst_share / total(&sum);
    }
    return DPOT_OK;
}

static double lesser(double g, double alpha, double beta)
{
    return g >= 0 ? alpha * g : beta * g;
}

static void add_rows(const struct base_measure_certificate *c, double scale, struct sum *offset,
                     struct sum *slopes)
{
    const double alpha = exp(-c->epsilon / 2), beta = exp(c->epsilon / 2);
    for (size_t i = 0; c->w && i < c->n_rows; i++) {
        const double w = scale * c->w[i], y = scale * c->y[i];
        if (w == 0 && y == 0) {
            continue;
        }
        add(offset, y);
        for (size_t j = 0; j < c->n_cols; j++) {
            const double wc = w == 0 ? 0 : w * c->cost[i * c->n_cols + j];
            add(&slopes[j], lesser(wc - y, alpha, beta));
            slopes[j].size += alpha * wc + beta * fabs(y) * (wc < y); /* wc - y is rounded too */
        }
    }
}

static dpot_status add_users(const struct base_measure_certificate *c, struct sum *offset,
                             struct sum *slopes, struct dpot_error *error)
{
    const struct base_measure_users *users = c->users;
    const double alpha = exp(-c->epsilon / 2), beta = exp(c->epsilon / 2);
    for (size_t u = 0; users && u < users->n; u++) {
        const double weight = (1 - c->worst_share) * users->weights[u];
        for (size_t a = users->first[u]; a < users->first[u + 1]; a++) {
            if (!isfinite(c->potentials[a])) {
                return dpot_error_set(error, DPOT_ERR_RANGE,
                                      "potential %zu of user %zu is %g: potentials are finite",
                                      a - users->first[u] + 1, u + 1, c->potentials[a]);
            }
            add(offset, weight * users->masses[a] * c->potentials[a]);
        }
        for (size_t j = 0; j < c->n_cols; j++) {
            double g = INFINITY;
            for (size_t a = users->first[u]; a < users->first[u + 1]; a++) {
                g = fmin(g, c->cost[(size_t)users->points[a] * c->n_cols + j] - c->potentials[a]);
            }
            add(&slopes[j], weight * lesser(g, alpha, beta));
        }
    }
    return DPOT_OK;
}

dpot_status base_measure_certificate_bound(const struct base_measure_certificate *c, double *bound,
                                           struct dpot_error *error)
{
    const double alpha = exp(-c->epsilon / 2), beta = exp(c->epsilon / 2);
    double scale = 1, least = INFINITY;
    struct sum offset = {0};
    struct sum *slopes = dpot_alloc_array(NULL, c->n_cols, sizeof *slopes);
    if (!slopes) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu points", c->n_cols);
    }
    dpot_status status = check_weights(c, &scale, error);
    if (status == DPOT_OK) {
        add_rows(c, scale, &offset, slopes);
        status = add_users(c, &offset, slopes, error);
    }
    for (size_t j = 0; j < c->n_cols; j++) {
        least = fmin(least, total(&slopes[j]) - ROUNDING * DBL_EPSILON * slopes[j].size);
    }
    dpot_free_array(NULL, slopes, c->n_cols, sizeof *slopes);
    *bound =
        total(&offset) - ROUNDING * DBL_EPSILON * offset.size + least * (least >= 0 ? alpha : beta);
    return status;
}

dpot_status base_measure_certificate_accept(const struct base_measure_certificate *c, double bound,
                                            double *objective, struct dpot_error *error)
{
    double largest = 0;
    for (size_t e = 0; e < c->n_rows * c->n_cols; e++) {
        largest = fmax(largest, c->cost[e]);
    }
    const double least = fmax(bound, 0);
    if (!(*objective >= least - ACCEPT_TOL * least - ACCEPT_COSTS * largest)) {
        return dpot_error_set(error, DPOT_ERR_STATE,
                              "the objective is %.12g and its lower bound %.12g: no measure costs "
                              "that little, so that what the users pay is computed wrongly, please "
                              "report this with its inputs",
                              *objective, least);
    }
    *objective = fmax(*objective, 0);
    return DPOT_OK;
}

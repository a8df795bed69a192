#include "solve/base_measure/descent.h"
#include "base/splitmix.h"

#include <math.h>
#include <string.h>

#define STEP 0.3
#define BLOCKS 16 /* blocks of iterates; the mean of the second half uses whole blocks */

struct descent {
    const struct base_measure_descent_config *config;
    size_t n;          /* output points */
    double *log_m, *m; /* (n) */
    double *gradient;  /* (n) */
    double *worst;     /* (n) gradient of the worst case */
    double *sums;      /* (BLOCKS, n) sum of the iterates of each block */
    size_t counts[BLOCKS];
    size_t *order;  /* (users) */
    double squares; /* sum of <m, g^2> / sum m */
    uint64_t random;
};

static void shuffle(struct descent *d)
{
    for (size_t i = d->config->users->n; i > 1; i--) {
        const size_t other = splitmix_below(&d->random, i), held = d->order[i - 1];
        d->order[i - 1] = d->order[other];
        d->order[other] = held;
    }
}

static void find_gradient(struct descent *d, size_t user)
{
    const struct base_measure_descent_config *config = d->config;
    const double share = config->worst_share;
    const double weight = (1 - share) * (double)config->users->n * config->users->weights[user];
    (void)base_measure_crowd_project(config->crowd, user, d->m, d->gradient);
    for (size_t j = 0; j < d->n; j++) {
        d->gradient[j] *= weight;
    }
    if (share > 0) {
        (void)phi_evaluate(config->phi, d->m);
        (void)phi_tangent(config->phi, d->worst);
        for (size_t j = 0; j < d->n; j++) {
            d->gradient[j] += share * d->worst[j];
        }
    }
}

/* The multiplicative step, and the projection onto M in the generalised KL divergence. */
static void step(struct descent *d)
{
    const struct base_measure_users *users = d->config->users;
    double square = 0, total = 0, next = 0;
    for (size_t j = 0; j < d->n; j++) {
        square += d->m[j] * d->gradient[j] * d->gradient[j];
        total += d->m[j];
    }
    d->squares += square / total;
    const double eta = d->squares > 0 ? STEP * sqrt(1 + log((double)d->n)) / sqrt(d->squares) : 0;
    for (size_t j = 0; j < d->n; j++) {
        d->log_m[j] -= eta * d->gradient[j];
        d->m[j] = exp(d->log_m[j]);
        next += d->m[j];
    }
    const double scale = fmin(fmax(next, users->alpha), users->beta) / next;
    for (size_t j = 0; scale != 1 && j < d->n; j++) {
        d->log_m[j] += log(scale);
        d->m[j] *= scale;
    }
}

static void add_iterate(struct descent *d, size_t t, size_t n_total)
{
    const size_t block = (size_t)((double)t / (double)n_total * BLOCKS);
    double *sum = d->sums + block * d->n;
    for (size_t j = 0; j < d->n; j++) {
        sum[j] += d->m[j];
    }
    d->counts[block]++;
}

/* The mean of the second half of the blocks that are in use. */
static void average(const struct descent *d, double *m)
{
    size_t n_blocks = 0, count = 0;
    while (n_blocks < BLOCKS && d->counts[n_blocks] > 0) {
        n_blocks++;
    }
    memset(m, 0, d->n * sizeof *m);
    for (size_t b = n_blocks / 2; b < n_blocks; b++) {
        count += d->counts[b];
        for (size_t j = 0; j < d->n; j++) {
            m[j] += d->sums[b * d->n + j];
        }
    }
    for (size_t j = 0; j < d->n; j++) {
        m[j] /= (double)count;
    }
}

static void run(struct descent *d, const struct solve_control *control, size_t *n_steps,
                enum solve_outcome *outcome)
{
    const size_t n_users = d->config->users->n, n_total = d->config->n_steps;
    size_t t = 0;
    *outcome = SOLVE_ITERATION_LIMIT;
    add_iterate(d, 0, n_total > BLOCKS ? n_total : BLOCKS);
    for (; t < n_total; t++) {
        if (t % n_users == 0) {
            shuffle(d);
        }
        find_gradient(d, d->order[t % n_users]);
        step(d);
        add_iterate(d, t, n_total > BLOCKS ? n_total : BLOCKS);
        if (solve_control_stops(control, t + 1, n_total, outcome)) {
            t++;
            break;
        }
    }
    *n_steps = t;
}

dpot_status base_measure_descend(const struct base_measure_descent_config *config,
                                 const struct solve_control *control, double *m, size_t *n_steps,
                                 enum solve_outcome *outcome)
{
    const size_t n = config->users->n_cols, n_users = config->users->n;
    struct descent d = {.config = config, .n = n, .random = config->seed};
    d.log_m = dpot_alloc_array(config->allocator, (4 + BLOCKS) * n, sizeof *d.log_m);
    d.order = dpot_alloc_array(config->allocator, n_users, sizeof *d.order);
    const bool has_room = d.log_m && d.order;
    if (has_room) {
        d.m = d.log_m + n;
        d.gradient = d.log_m + 2 * n;
        d.worst = d.log_m + 3 * n;
        d.sums = d.log_m + 4 * n;
        memcpy(d.m, config->start, n * sizeof *d.m);
        for (size_t j = 0; j < n; j++) {
            d.log_m[j] = log(d.m[j]);
        }
        for (size_t u = 0; u < n_users; u++) {
            d.order[u] = u;
        }
        run(&d, control, n_steps, outcome);
        average(&d, m);
    }
    dpot_free_array(config->allocator, d.log_m, (4 + BLOCKS) * n, sizeof *d.log_m);
    dpot_free_array(config->allocator, d.order, n_users, sizeof *d.order);
    return has_room ? DPOT_OK : DPOT_ERR_MEMORY;
}

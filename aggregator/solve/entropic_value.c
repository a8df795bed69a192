/* The certificates of a plan: values, and bounds from both sides that hold whatever the sweeps did. */
#include "solve/entropic_state.h"

#include <math.h>
#include <string.h>

struct sums {
    struct entropic *e;
    double *f, *g;    /* potentials of the plan looked at, in units of lambda */
    double *row_mass; /* (n_rows) sum_j b e^t; written */
};

static void value_rows(void *ctx, size_t task)
{
    const struct sums *sums = ctx;
    struct entropic *e = sums->e;
    struct entropic_scratch *scratch = &e->scratch[task];
    struct lanes_values total = {0};
    const size_t begin = task * e->rows_per_task, last = begin + e->rows_per_task;
    const size_t end = last < e->n_rows ? last : e->n_rows;
    memset(scratch->s, 0, e->stride * sizeof *scratch->s);
    for (size_t i = begin; i < end; i += TILE_ROWS) {
        const size_t n_rows = end - i < TILE_ROWS ? end - i : TILE_ROWS;
        const double *cost = entropic_cost_tile(e, scratch, i, n_rows);
        for (size_t r = 0; r < n_rows; r++) {
            struct lanes_values row;
            const double a = e->a[i + r];
            e->lanes->values_row(e->stride, cost + r * e->stride, e->lambda, sums->f[i + r],
                                 sums->g, e->b, a, scratch->s, &row);
            sums->row_mass[i + r] = row.mass;
            if (a > 0.0) {
                total.mass += a * row.mass;
                total.linear += a * row.linear;
                total.kl += a * row.kl;
                total.log += a * row.log;
                total.dual += a * row.dual;
            }
        }
    }
    scratch->values = total;
}

/* Values of the plan of f and g; the masses of its columns in units of b go to e->s. */
static struct lanes_values sum_values(struct entropic *e, double *f, double *g, double *row_mass)
{
    struct sums sums = {e, f, g, row_mass};
    struct lanes_values total = {0};
    team_run(e->options.team, e->n_tasks, value_rows, &sums);
    memset(e->s, 0, e->stride * sizeof *e->s);
    for (size_t t = 0; t < e->n_tasks; t++) {
        total.mass += e->scratch[t].values.mass;
        total.linear += e->scratch[t].values.linear;
        total.kl += e->scratch[t].values.kl;
        total.log += e->scratch[t].values.log;
        total.dual += e->scratch[t].values.dual;
        for (size_t j = 0; j < e->stride; j++) {
            e->s[j] += e->scratch[t].s[j];
        }
    }
    return total;
}

/* -sum P log P = -(sum P t + sum_i P_i log a_i + sum_j P_j log b_j). */
static double entropy(const struct entropic *e, double log_sum)
{
    double sum = log_sum;
    for (size_t i = 0; i < e->n_rows; i++) {
        sum += e->a[i] > 0.0 ? e->a[i] * e->r[i] * log(e->a[i]) : 0.0;
    }
    for (size_t j = 0; j < e->n_cols; j++) {
        sum += e->b[j] > 0.0 ? e->b[j] * e->s[j] * log(e->b[j]) : 0.0;
    }
    return fmax(-sum, 0.0);
}

/* KL(missing / m | mass) times m, where missing_i = mass_i (1 - kept_i) sums to m. */
static double missing_kl(const double *mass, const double *kept, size_t n, double missing)
{
    double kl = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double share = 1.0 - kept[i];
        kl += mass[i] > 0.0 && share > 0.0 ? mass[i] * share * log(share / missing) : 0.0;
    }
    return kl;
}

static double missing_mass(const double *mass, const double *kept, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += mass[i] * fmax(1.0 - kept[i], 0.0);
    }
    return sum;
}

/* The value of a plan with both marginals (Altschuler et al. 2017, Algorithm 2): rows, then columns
 * are scaled down to their marginals, to Q of mass 1 - m, and what is missing, e_a and e_b of mass m,
 * is added as e_a e_b' / m. KL being convex, (1 - m) KL(Q / (1 - m)) + m KL(e_a e_b' / m^2) bounds
 * its divergence, and the largest cost what the addition costs. e->r and e->s hold P's marginals in
 * units of a and b, columns exact. */
static double primal_bound(struct entropic *e, double largest)
{
    double *f = e->u, *g = e->v, *row_kept = e->last_u;
    for (size_t i = 0; i < e->n_rows; i++) {
        f[i] = e->f[i] - log(fmax(e->r[i], 1.0));
    }
    struct lanes_values q = sum_values(e, f, e->g, row_kept);
    for (size_t j = 0; j < e->stride; j++) {
        g[j] = e->g[j] - log(fmax(e->s[j], 1.0));
    }
    q = sum_values(e, f, g, row_kept);
    const double missing = missing_mass(e->a, row_kept, e->n_rows);
    double kl = q.log;
    if (q.mass > 0.0) {
        kl -= q.mass * log(q.mass);
    }
    if (missing > 0.0) {
        const double missing_cols = missing_mass(e->b, e->s, e->n_cols);
        kl += missing_kl(e->a, row_kept, e->n_rows, missing);
        kl += missing_cols > 0.0 ? missing_kl(e->b, e->s, e->n_cols, missing_cols) : 0.0;
    }
    return q.linear + missing * largest + e->lambda * fmax(kl, 0.0);
}

static void restore_scalings(struct entropic *e)
{
    for (size_t i = 0; i < e->n_rows; i++) {
        e->u[i] = e->last_u[i] = 1.0;
    }
    for (size_t j = 0; j < e->stride; j++) {
        e->v[j] = e->last_s[j] = 1.0;
    }
}

void entropic_value(struct entropic *e, struct entropic_result *result)
{
    double residual = 0.0, largest = 0.0;
    (void)sum_values(e, e->f, e->g, e->r);
    for (size_t j = 0; j < e->n_cols; j++) {
        e->g[j] -= e->s[j] > 0.0 && e->s[j] < HUGE_VAL ? log(e->s[j]) : 0.0;
    }
    const struct lanes_values values = sum_values(e, e->f, e->g, e->r);
    for (size_t i = 0; i < e->n_rows; i++) {
        residual += e->a[i] > 0.0 ? e->a[i] * fabs(e->r[i] - 1.0) : 0.0;
    }
    result->residual = e->mass * residual;
    result->transport_cost = e->mass * values.linear;
    result->kl = fmax(values.kl, 0.0);
    result->entropy = entropy(e, values.log);
    result->value = e->mass * (values.linear + e->lambda * result->kl);
    result->dual = e->mass * values.dual;
    for (size_t t = 0; t < e->n_tasks; t++) {
        largest = fmax(largest, e->scratch[t].largest);
    }
    result->primal = fmax(e->mass * primal_bound(e, largest), result->dual);
    result->gap = result->primal - result->dual;
    restore_scalings(e);
}

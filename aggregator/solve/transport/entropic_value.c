/* The certificates of a plan: values and two-sided bounds, computed independently of the sweeps. */
#include "solve/transport/entropic_state.h"

#include <math.h>
#include <string.h>

/* A pass over a plan P_ij = a_i b_j e^t_ij. */
struct reading {
    struct entropic *e;
    double *f, *g;    /* its potentials, in units of lambda */
    double *row_mass; /* (n_rows) sum_j b e^t; output */
    void (*row)(const struct reading *reading, struct entropic_scratch *scratch, size_t i,
                const double *cost);
};

/* Column masses only. */
static void read_columns(const struct reading *reading, struct entropic_scratch *scratch, size_t i,
                         const double *cost)
{
    const struct entropic *e = reading->e;
    double *terms = scratch->tile;
    e->lanes->kernel_row_f64(e->stride, cost, 1.0 / e->lambda, reading->f[i], reading->g, terms);
    e->lanes->add_row(e->stride, e->a[i], terms, scratch->s);
}

static void add_values(struct lanes_values *total, double a, const struct lanes_values *row)
{
    if (a > 0.0) {
        total->mass += a * row->mass;
        total->linear += a * row->linear;
        total->kl += a * row->kl;
        total->log += a * row->log;
        total->dual += a * row->dual;
    }
}

/* All values, and column masses after rows above their marginal are scaled down to it. */
static void read_values(const struct reading *reading, struct entropic_scratch *scratch, size_t i,
                        const double *cost)
{
    const struct entropic *e = reading->e;
    const double a = e->a[i];
    double *terms = scratch->tile;
    struct lanes_values row;
    e->lanes->values_row(e->stride, cost, e->lambda, reading->f[i], reading->g, e->b, terms, &row);
    e->lanes->add_row(e->stride, a, terms, scratch->s);
    e->lanes->add_row(e->stride, a / fmax(row.mass, 1.0), terms, scratch->sums);
    reading->row_mass[i] = row.mass;
    add_values(&scratch->values, a, &row);
}

static void read_masses(const struct reading *reading, struct entropic_scratch *scratch, size_t i,
                        const double *cost)
{
    const struct entropic *e = reading->e;
    double *terms = scratch->tile;
    struct lanes_values row;
    e->lanes->masses_row(e->stride, cost, e->lambda, reading->f[i], reading->g, e->b, terms, &row);
    e->lanes->add_row(e->stride, e->a[i], terms, scratch->s);
    reading->row_mass[i] = row.mass;
    add_values(&scratch->values, e->a[i], &row);
}

static void read_task(void *ctx, size_t task)
{
    const struct reading *reading = ctx;
    struct entropic *e = reading->e;
    struct entropic_scratch *scratch = &e->scratch[task];
    const size_t begin = task * e->rows_per_task, last = begin + e->rows_per_task;
    const size_t end = last < e->n_rows ? last : e->n_rows;
    scratch->values = (struct lanes_values){0};
    memset(scratch->s, 0, e->stride * sizeof *scratch->s);
    memset(scratch->sums, 0, e->stride * sizeof *scratch->s);
    for (size_t i = begin; i < end; i += TILE_ROWS) {
        const size_t n_rows = end - i < TILE_ROWS ? end - i : TILE_ROWS;
        const double *cost = entropic_cost_tile(e, scratch, i, n_rows);
        for (size_t r = 0; r < n_rows; r++) {
            reading->row(reading, scratch, i + r, cost + r * e->stride);
        }
    }
}

/* Stores the plan's column masses in units of b in e->s, and those of read_values' scaled plan in
 * e->h. */
static struct lanes_values read_plan(struct reading *reading)
{
    struct entropic *e = reading->e;
    struct lanes_values total = {0};
    team_run(e->options.team, e->n_tasks, read_task, reading);
    memset(e->s, 0, e->stride * sizeof *e->s);
    memset(e->h, 0, e->stride * sizeof *e->h);
    for (size_t t = 0; t < e->n_tasks; t++) {
        add_values(&total, 1.0, &e->scratch[t].values);
        e->lanes->add_row(e->stride, 1.0, e->scratch[t].s, e->s);
        e->lanes->add_row(e->stride, 1.0, e->scratch[t].sums, e->h);
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
 * are scaled down to their marginals, which gives Q of mass 1 - m; the missing masses e_a and e_b
 * of mass m are added as e_a e_b' / m. By convexity of KL, (1 - m) KL(Q / (1 - m)) + m KL(e_a e_b'
 * / m^2) bounds its divergence, and m times the largest cost bounds the cost of the addition. e->r
 * holds P's row masses in units of a, e->h its column masses in units of b after the rows were
 * scaled. */
static double primal_bound(struct entropic *e, double largest)
{
    double *f = e->u, *g = e->v, *row_kept = e->last_u;
    for (size_t i = 0; i < e->n_rows; i++) {
        f[i] = e->f[i] - log(fmax(e->r[i], 1.0));
    }
    for (size_t j = 0; j < e->stride; j++) {
        g[j] = e->g[j] - log(fmax(e->h[j], 1.0));
    }
    struct reading reading = {e, f, g, row_kept, read_masses};
    const struct lanes_values q = read_plan(&reading);
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
    struct reading reading = {e, e->f, e->g, e->r, read_columns};
    (void)read_plan(&reading);
    for (size_t j = 0; j < e->n_cols; j++) {
        e->g[j] -= e->s[j] > 0.0 && e->s[j] < HUGE_VAL ? log(e->s[j]) : 0.0;
    }
    reading.row = read_values;
    const struct lanes_values values = read_plan(&reading);
    for (size_t i = 0; i < e->n_rows; i++) {
        residual += e->a[i] > 0.0 ? e->a[i] * fabs(e->r[i] - 1.0) : 0.0;
    }
    result->residual = e->mass * residual;
    result->transport_cost = e->mass * values.linear;
    result->kl = fmax(values.kl, 0.0);
    result->entropy = entropy(e, values.log);
    result->dual = e->mass * values.dual;
    for (size_t t = 0; t < e->n_tasks; t++) {
        largest = fmax(largest, e->scratch[t].largest);
    }
    result->primal = fmax(e->mass * primal_bound(e, largest), result->dual);
    result->gap = result->primal - result->dual;
    /* The rows of P are not exact, so that its own value may lie outside, most in float32. */
    const double value = e->mass * (values.linear + e->lambda * result->kl);
    result->value = fmin(fmax(value, result->dual), result->primal);
    restore_scalings(e);
}

#include "solve/transport/divergence.h"

#include "base/alloc.h"

#include <string.h>

/* One part. Adds its potentials times `factor` to f and g, which may be the same array. */
static dpot_status solve_part(const struct entropic_cost *cost, const double *a, const double *b,
                              const struct entropic_options *options,
                              const struct solve_control *control, double factor, double *f,
                              double *g, struct entropic_result *result, struct dpot_error *error)
{
    struct entropic *e = NULL;
    const size_t n = cost->n_rows, m = cost->n_cols;
    double *potentials = dpot_alloc_array(NULL, n + m, sizeof *potentials);
    dpot_status status = potentials
                             ? DPOT_OK
                             : dpot_error_set(error, DPOT_ERR_MEMORY,
                                              "no memory for a transport of %zu x %zu", n, m);
    if (status == DPOT_OK) {
        status = entropic_new(n, m, options, &e, error);
    }
    if (status == DPOT_OK) {
        status = entropic_solve(e, cost, a, b, control, result, error);
    }
    if (status == DPOT_OK) {
        entropic_value(e, result);
        entropic_potentials(e, potentials, potentials + n);
    }
    for (size_t i = 0; status == DPOT_OK && f && i < n; i++) {
        f[i] += factor * potentials[i];
    }
    for (size_t j = 0; status == DPOT_OK && g && j < m; j++) {
        g[j] += factor * potentials[n + j];
    }
    entropic_free(e);
    dpot_free_array(NULL, potentials, n + m, sizeof *potentials);
    return status;
}

static void clear(double *x, size_t n)
{
    if (x) {
        memset(x, 0, n * sizeof *x);
    }
}

static void centre(double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; x && i < n; i++) {
        sum += x[i];
    }
    for (size_t i = 0; x && i < n; i++) {
        x[i] -= sum / (double)n;
    }
}

dpot_status divergence_solve(const struct divergence_problem *p,
                             const struct entropic_options *options,
                             const struct solve_control *control, double *grad_a, double *grad_b,
                             struct divergence_result *r, struct dpot_error *error)
{
    memset(r, 0, sizeof *r);
    clear(grad_a, p->xy->n_rows);
    clear(grad_b, p->xy->n_cols);
    dpot_status status =
        solve_part(p->xy, p->a, p->b, options, control, 1.0, grad_a, grad_b, &r->xy, error);
    /* W(a, a) / 2 depends on a through both marginals: half of each potential. */
    if (status == DPOT_OK) {
        status =
            solve_part(p->xx, p->a, p->a, options, control, -0.5, grad_a, grad_a, &r->xx, error);
    }
    if (status == DPOT_OK) {
        status =
            solve_part(p->yy, p->b, p->b, options, control, -0.5, grad_b, grad_b, &r->yy, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    centre(grad_a, p->xy->n_rows);
    centre(grad_b, p->xy->n_cols);
    r->value = r->xy.value - (r->xx.value + r->yy.value) / 2.0;
    r->lower = r->xy.dual - (r->xx.primal + r->yy.primal) / 2.0;
    r->upper = r->xy.primal - (r->xx.dual + r->yy.dual) / 2.0;
    return DPOT_OK;
}

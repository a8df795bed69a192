#include "solve/projection/batch_parts.h"

#include <math.h>
#include <string.h>

/* The plan is P_ij = u_i K_ij w_j with w = q / s. Its rows are scaled down to mu, then its columns
 * to q, and the missing mass of row i is distributed over the missing masses of all columns in
 * proportion. Costs are computed without the row minima; <mu, row minimum> is added at the end. */

enum { MATRIX_KERNEL, MATRIX_COST_KERNEL, MATRIX_EXCESS };

static const double *matrix_of(const struct batch_axis *axis, int which)
{
    return which == MATRIX_KERNEL   ? axis->kernel_f64
           : which == MATRIX_EXCESS ? axis->excess
                                    : axis->cost_kernel;
}

/* out += (sum over axes of excess_d) x in: each axis in turn has `which`, the others `other`. */
static void apply_cost(const struct projection_batch *b, struct batch_workspace *workspace,
                       size_t n_users, int which, const double *in, double *term, double *out)
{
    const size_t n = n_users * b->row_stride;
    memset(out, 0, n * sizeof *out);
    for (size_t d = 0; d < b->config.n_axes; d++) {
        const double *matrices[PROJECTION_BATCH_AXES];
        for (size_t e = 0; e < b->config.n_axes; e++) {
            matrices[e] = e == d                        ? matrix_of(&b->axes[e], which)
                          : which == MATRIX_COST_KERNEL ? b->axes[e].kernel_f64
                                                        : b->axes[e].ones;
        }
        batch_apply_f64(b, DPOT_NO_TRANSPOSE, matrices, n_users, in, term, workspace->scratch);
        b->lanes->add_row(n, 1.0, term, out);
    }
}

static void apply_kernel(const struct projection_batch *b, struct batch_workspace *workspace,
                         enum dpot_transpose transpose, size_t n_users, const double *in,
                         double *out)
{
    const double *matrices[PROJECTION_BATCH_AXES];
    for (size_t d = 0; d < b->config.n_axes; d++) {
        matrices[d] = matrix_of(&b->axes[d], MATRIX_KERNEL);
    }
    batch_apply_f64(b, transpose, matrices, n_users, in, out, workspace->scratch);
}

/* Scales u so that its row is at most mu; never up. */
static double scale_rows(size_t n, const double *mu, const double *kw, double *u)
{
    double residual = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double sum = u[i] * kw[i];
        residual += fabs(sum - mu[i]);
        u[i] *= sum > mu[i] ? mu[i] / sum : 1.0;
    }
    return residual;
}

/* Scales w so that its column is at most q; s becomes what the column lacks. */
static double scale_cols(size_t n, const double *q, double *w, double *s)
{
    double gaps = 0.0;
    for (size_t j = 0; j < n; j++) {
        const double sum = w[j] * s[j];
        w[j] *= sum > q[j] ? q[j] / sum : 1.0;
        s[j] = q[j] > sum ? q[j] - sum : 0.0;
        gaps += s[j];
    }
    return gaps;
}

static double quotient_or_0(double x, double y)
{
    return y > 0.0 ? x / y : 0.0;
}

void batch_costs(const struct projection_batch *b, struct batch_workspace *workspace,
                 size_t n_users, struct projection_batch_result *results)
{
    const size_t r = b->row_stride, c = b->col_stride;
    double *gap_cost = workspace->kv_f64, *cost = workspace->cost, *placed = workspace->placed,
           *term = workspace->term;
    for (size_t k = 0; k < n_users * c; k++) {
        workspace->w[k] = quotient_or_0(workspace->q[k], workspace->s_f64[k]);
    }
    apply_kernel(b, workspace, DPOT_NO_TRANSPOSE, n_users, workspace->w, placed);
    for (size_t row = 0; row < n_users; row++) {
        results[workspace->user[row]].residual = scale_rows(
            b->n_rows, workspace->mu_f64 + row * r, placed + row * r, workspace->u_f64 + row * r);
    }
    apply_kernel(b, workspace, DPOT_TRANSPOSE, n_users, workspace->u_f64, workspace->s_f64);
    for (size_t row = 0; row < n_users; row++) {
        workspace->change[row] = scale_cols(b->n_cols, workspace->q + row * c,
                                            workspace->w + row * c, workspace->s_f64 + row * c);
    }
    apply_kernel(b, workspace, DPOT_NO_TRANSPOSE, n_users, workspace->w, placed);
    apply_cost(b, workspace, n_users, MATRIX_COST_KERNEL, workspace->w, term, cost);
    apply_cost(b, workspace, n_users, MATRIX_EXCESS, workspace->s_f64, term, gap_cost);
    for (size_t row = 0; row < n_users; row++) {
        double total = 0.0;
        for (size_t i = 0; i < b->n_rows; i++) {
            const size_t k = row * r + i;
            const double mu = workspace->mu_f64[k], mass = workspace->u_f64[k] * placed[k];
            const double rest = mu > mass ? mu - mass : 0.0;
            total += mu * b->row_minimum[i] + workspace->u_f64[k] * cost[k] +
                     rest * quotient_or_0(gap_cost[k], workspace->change[row]);
        }
        results[workspace->user[row]].transport_cost = total;
    }
}

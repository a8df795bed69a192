#include "solve/projection/batch_parts.h"

#include <math.h>
#include <string.h>

/* The plan is P_ij = u_i K_ij w_j with w = q / s. Its rows are scaled down to mu, then its columns to q,
 * and what is missing goes where it is missing, in proportion: the rest of row i over the gaps of all
 * columns. Costs are those without the row minima, which come back as <mu, row minimum>. */

enum { MATRIX_KERNEL, MATRIX_COST_KERNEL, MATRIX_EXCESS };

static const double *matrix_of(const struct batch_axis *axis, int which)
{
    return which == MATRIX_KERNEL   ? axis->kernel_f64
           : which == MATRIX_EXCESS ? axis->excess
                                    : axis->cost_kernel;
}

/* out += (sum over axes of excess_d) x in, where each axis has `which` and all others `other`. */
static void apply_cost(const struct projection_batch *b, struct batch_room *room, size_t n_users,
                       int which, const double *in, double *term, double *out)
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
        batch_apply_f64(b, DPOT_NO_TRANSPOSE, matrices, n_users, in, term, room->scratch);
        b->lanes->add_row(n, 1.0, term, out);
    }
}

static void apply_kernel(const struct projection_batch *b, struct batch_room *room,
                         enum dpot_transpose transpose, size_t n_users, const double *in,
                         double *out)
{
    const double *matrices[PROJECTION_BATCH_AXES];
    for (size_t d = 0; d < b->config.n_axes; d++) {
        matrices[d] = matrix_of(&b->axes[d], MATRIX_KERNEL);
    }
    batch_apply_f64(b, transpose, matrices, n_users, in, out, room->scratch);
}

/* u becomes u times the factor that brings its row down to mu, never up. */
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

/* w becomes w times the factor that brings its column down to q; s, what the column lacks. */
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

void batch_costs(const struct projection_batch *b, struct batch_room *room, size_t n_users,
                 struct projection_batch_result *results)
{
    const size_t r = b->row_stride, c = b->col_stride;
    double *gap_cost = room->kv_f64, *cost = room->cost, *placed = room->placed, *term = room->term;
    for (size_t k = 0; k < n_users * c; k++) {
        room->w[k] = quotient_or_0(room->q[k], room->s_f64[k]);
    }
    apply_kernel(b, room, DPOT_NO_TRANSPOSE, n_users, room->w, placed);
    for (size_t row = 0; row < n_users; row++) {
        results[room->user[row]].residual =
            scale_rows(b->n_rows, room->mu_f64 + row * r, placed + row * r, room->u_f64 + row * r);
    }
    apply_kernel(b, room, DPOT_TRANSPOSE, n_users, room->u_f64, room->s_f64);
    for (size_t row = 0; row < n_users; row++) {
        room->change[row] =
            scale_cols(b->n_cols, room->q + row * c, room->w + row * c, room->s_f64 + row * c);
    }
    apply_kernel(b, room, DPOT_NO_TRANSPOSE, n_users, room->w, placed);
    apply_cost(b, room, n_users, MATRIX_COST_KERNEL, room->w, term, cost);
    apply_cost(b, room, n_users, MATRIX_EXCESS, room->s_f64, term, gap_cost);
    for (size_t row = 0; row < n_users; row++) {
        double total = 0.0;
        for (size_t i = 0; i < b->n_rows; i++) {
            const size_t k = row * r + i;
            const double mu = room->mu_f64[k], mass = room->u_f64[k] * placed[k];
            const double rest = mu > mass ? mu - mass : 0.0;
            total += mu * b->row_minimum[i] + room->u_f64[k] * cost[k] +
                     rest * quotient_or_0(gap_cost[k], room->change[row]);
        }
        results[room->user[row]].transport_cost = total;
    }
}

#include "solve/projection/batch_parts.h"

#include "base/alloc.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define COARSEST_RATIO 8.0 /* as in ot/projection.c */
#define COARSE_TOL 1e-4

/* Entries of a block of users: large enough for efficient products, small enough for the cache. */
#define BLOCK_ENTRIES 65536
#define USERS_LEAST 16
#define USERS_MOST 256

/* ---- memory ---- */

static size_t padded(size_t n)
{
    return (n + LANES_PAD - 1) / LANES_PAD * LANES_PAD;
}

static dpot_status check_config(const struct projection_batch_config *c, struct dpot_error *error)
{
    bool is_sound = c->n_axes >= 1 && c->n_axes <= PROJECTION_BATCH_AXES && c->lambda > 0.0 &&
                    c->lambda <= DBL_MAX && c->tol >= 0.0 && c->polytope && c->iterations > 0 &&
                    !(c->is_float32 && c->tol > 0.0);
    size_t n_rows = 1, n_cols = 1;
    for (size_t d = 0; is_sound && d < c->n_axes; d++) {
        is_sound = c->axes[d].n_rows > 0 && c->axes[d].n_cols > 0 && c->axes[d].cost;
        if (is_sound &&
            (c->axes[d].n_rows > INT32_MAX / n_rows || c->axes[d].n_cols > INT32_MAX / n_cols)) {
            return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "a projection takes at most %d points",
                                  INT32_MAX);
        }
        n_rows *= c->axes[d].n_rows;
        n_cols *= c->axes[d].n_cols;
    }
    if (!is_sound || c->polytope->size != n_cols) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "sizes, lambda, tolerance or sweeps of a batch");
    }
    return DPOT_OK;
}

static void set_sizes(struct projection_batch *b)
{
    size_t largest = 1;
    b->n_rows = b->n_cols = 1;
    for (size_t d = 0; d < b->config.n_axes; d++) {
        const size_t r = b->config.axes[d].n_rows, c = b->config.axes[d].n_cols;
        b->n_rows *= r;
        b->n_cols *= c;
        largest *= r > c ? r : c;
    }
    b->row_stride = padded(b->n_rows);
    b->col_stride = padded(b->n_cols);
    b->tensor = b->config.n_axes > 1 ? largest : 1;
    const size_t k = b->row_stride > b->col_stride ? b->row_stride : b->col_stride;
    const size_t n = BLOCK_ENTRIES / k;
    b->users_max = n < USERS_LEAST ? USERS_LEAST : n > USERS_MOST ? USERS_MOST : n;
    b->n_workspaces = team_size(b->config.team);
}

static bool allocate(struct projection_batch *b)
{
    bool is_complete = true;
    for (size_t d = 0; d < b->config.n_axes; d++) {
        is_complete = batch_axis_init(&b->axes[d], &b->config.axes[d], b->config.is_float32,
                                      b->config.n_axes == 1) &&
                      is_complete;
    }
    b->row_minimum = dpot_alloc_array(NULL, b->n_rows, sizeof(double));
    b->lower_f64 = dpot_alloc_array(NULL, b->col_stride, sizeof(double));
    b->upper_f64 = dpot_alloc_array(NULL, b->col_stride, sizeof(double));
    b->lower_f32 = dpot_alloc_array(NULL, b->col_stride, sizeof(float));
    b->upper_f32 = dpot_alloc_array(NULL, b->col_stride, sizeof(float));
    b->workspaces = dpot_alloc_array(NULL, b->n_workspaces, sizeof *b->workspaces);
    for (size_t t = 0; b->workspaces && t < b->n_workspaces; t++) {
        is_complete = batch_workspace_init(b, &b->workspaces[t]) && is_complete;
    }
    return is_complete && b->row_minimum && b->lower_f64 && b->upper_f64 && b->lower_f32 &&
           b->upper_f32 && b->workspaces;
}

void projection_batch_free(struct projection_batch *b)
{
    if (!b) {
        return;
    }
    for (size_t d = 0; d < b->config.n_axes; d++) {
        batch_axis_release(&b->axes[d]);
    }
    for (size_t t = 0; b->workspaces && t < b->n_workspaces; t++) {
        batch_workspace_release(b, &b->workspaces[t]);
    }
    dpot_free_array(NULL, b->workspaces, b->n_workspaces, sizeof *b->workspaces);
    dpot_free_array(NULL, b->row_minimum, b->n_rows, sizeof(double));
    dpot_free_array(NULL, b->lower_f64, b->col_stride, sizeof(double));
    dpot_free_array(NULL, b->upper_f64, b->col_stride, sizeof(double));
    dpot_free_array(NULL, b->lower_f32, b->col_stride, sizeof(float));
    dpot_free_array(NULL, b->upper_f32, b->col_stride, sizeof(float));
    dpot_free_array(NULL, b, 1, sizeof *b);
}

/* ---- costs ---- */

/* Subtracts the row minima of one axis; `inner` is the product of the row counts after it. */
static bool take_axis(struct projection_batch *b, size_t d, size_t inner)
{
    struct batch_axis *axis = &b->axes[d];
    const double *cost = b->config.axes[d].cost;
    double widest = 0.0;
    bool is_finite = true;
    for (size_t i = 0; i < axis->n_rows; i++) {
        const double *row = cost + i * axis->n_cols;
        double smallest = row[0];
        for (size_t j = 0; j < axis->n_cols; j++) {
            is_finite = is_finite && isfinite(row[j]);
            smallest = fmin(smallest, row[j]);
        }
        for (size_t j = 0; j < axis->n_cols; j++) {
            const double excess = row[j] - smallest;
            axis->excess[i * axis->n_cols + j] = excess;
            widest = fmax(widest, excess);
        }
        for (size_t k = 0; k < b->n_rows; k++) {
            b->row_minimum[k] += k / inner % axis->n_rows == i ? smallest : 0.0;
        }
    }
    b->ratio_range += widest;
    return is_finite;
}

static dpot_status take_costs(struct projection_batch *b, struct dpot_error *error)
{
    size_t inner = 1;
    bool is_finite = true;
    for (size_t d = b->config.n_axes; d-- > 0;) {
        is_finite = take_axis(b, d, inner) && is_finite;
        inner *= b->axes[d].n_rows;
    }
    if (!is_finite) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "a cost is not finite");
    }
    if (!(b->ratio_range / b->config.lambda <= PROJECTION_BATCH_RATIO)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "costs reach %g lambda: a batch takes at most %g",
                              b->ratio_range / b->config.lambda, PROJECTION_BATCH_RATIO);
    }
    for (size_t j = 0; j < b->n_cols; j++) {
        b->lower_f64[j] = b->config.polytope->lower[j];
        b->upper_f64[j] = b->config.polytope->upper[j];
        b->lower_f32[j] = (float)b->lower_f64[j];
        b->upper_f32[j] = (float)b->upper_f64[j];
    }
    return DPOT_OK;
}

static void take_kernels(struct projection_batch *b, double lambda)
{
    b->lambda = lambda;
    for (size_t d = 0; d < b->config.n_axes; d++) {
        struct batch_axis *axis = &b->axes[d];
        for (size_t k = 0; k < axis->n_rows * axis->n_cols; k++) {
            axis->kernel_f64[k] = exp(-axis->excess[k] / lambda);
            axis->cost_kernel[k] = axis->kernel_f64[k] * axis->excess[k];
            if (axis->kernel_f32) {
                axis->kernel_f32[k] = (float)axis->kernel_f64[k];
            }
        }
    }
}

dpot_status projection_batch_new(const struct projection_batch_config *config,
                                 struct projection_batch **batch, struct dpot_error *error)
{
    *batch = NULL;
    dpot_status status = check_config(config, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct projection_batch *b = dpot_alloc_array(NULL, 1, sizeof *b);
    if (!b) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for a batch of projections");
    }
    b->config = *config;
    b->lanes = lanes_get();
    set_sizes(b);
    status = allocate(b) ? take_costs(b, error)
                         : dpot_error_set(error, DPOT_ERR_MEMORY,
                                          "no memory for the projections of %zu onto %zu points",
                                          b->n_rows, b->n_cols);
    if (status != DPOT_OK) {
        projection_batch_free(b);
        return status;
    }
    *batch = b;
    return DPOT_OK;
}

/* ---- rows of a workspace ---- */

static void load_mu(const struct projection_batch *b, struct batch_workspace *workspace, size_t row,
                    const double *mu)
{
    double *to = workspace->mu_f64 + row * b->row_stride;
    double largest = 0.0, sum = 0.0;
    for (size_t i = 0; i < b->n_rows; i++) {
        to[i] = mu[i] > 0.0 && mu[i] <= DBL_MAX ? mu[i] : 0.0;
        largest = fmax(largest, to[i]);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        to[i] = largest > 0.0 ? to[i] / largest : 1.0;
        sum += to[i];
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        to[i] /= sum;
        if (workspace->mu_f32) {
            workspace->mu_f32[row * b->row_stride + i] = (float)to[i];
        }
    }
}

static void first_v(const struct projection_batch *b, struct batch_workspace *workspace, size_t row)
{
    for (size_t j = 0; j < b->n_cols; j++) {
        workspace->v_f64[row * b->col_stride + j] = 1.0;
        if (workspace->v_f32) {
            workspace->v_f32[row * b->col_stride + j] = 1.0F;
        }
    }
    workspace->start[row] = 1.0;
}

/* v from (previous lambda / lambda) log v of the previous stage, scaled to maximum 1. */
static void resume_v(const struct projection_batch *b, struct batch_workspace *workspace,
                     size_t row, const double *log_v)
{
    double largest = -HUGE_VAL;
    for (size_t j = 0; j < b->n_cols; j++) {
        largest = fmax(largest, log_v[j]);
    }
    if (!(fabs(largest) <= DBL_MAX)) {
        first_v(b, workspace, row);
        return;
    }
    for (size_t j = 0; j < b->n_cols; j++) {
        workspace->v_f64[row * b->col_stride + j] = exp(log_v[j] - largest);
    }
    workspace->start[row] = fmax(exp(-largest), DBL_MIN / DBL_EPSILON);
}

static void keep_v(const struct projection_batch *b, const struct batch_workspace *workspace,
                   size_t row, double growth, double *log_v)
{
    for (size_t j = 0; j < b->n_cols; j++) {
        const double v = workspace->v_f64[row * b->col_stride + j];
        log_v[j] = v > 0.0 ? log(v) * growth : -HUGE_VAL;
    }
}

/* Moves row `from` to row `to`, whose user is done. */
static void move_row(const struct projection_batch *b, struct batch_workspace *workspace,
                     size_t from, size_t to)
{
    const size_t r = b->row_stride, c = b->col_stride;
    workspace->user[to] = workspace->user[from];
    workspace->start[to] = workspace->start[from];
    workspace->change[to] = workspace->change[from];
    workspace->lost[to] = workspace->lost[from];
    memcpy(workspace->mu_f64 + to * r, workspace->mu_f64 + from * r, r * sizeof(double));
    memcpy(workspace->v_f64 + to * c, workspace->v_f64 + from * c, c * sizeof(double));
    if (workspace->v_f32) {
        memcpy(workspace->mu_f32 + to * r, workspace->mu_f32 + from * r, r * sizeof(float));
        memcpy(workspace->v_f32 + to * c, workspace->v_f32 + from * c, c * sizeof(float));
    }
}

/* ---- a run ---- */

struct run {
    struct projection_batch *batch;
    const double *mu;
    size_t n_users;
    double *q; /* between stages: log v */
    struct projection_batch_result *results;
    bool costs;
    bool is_first, is_last; /* stage */
    double tol, growth;     /* of this stage; lambda / next lambda */
};

/* Loads the users of a block who are not lost; returns their number. */
static size_t load_users(const struct run *run, struct batch_workspace *workspace, size_t first)
{
    const struct projection_batch *b = run->batch;
    const size_t end = first + b->users_max < run->n_users ? first + b->users_max : run->n_users;
    size_t n = 0;
    for (size_t user = first; user < end; user++) {
        if (run->results[user].is_lost) {
            continue;
        }
        workspace->user[n] = user;
        workspace->change[n] = 0.0;
        load_mu(b, workspace, n, run->mu + user * b->n_rows);
        if (run->is_first) {
            first_v(b, workspace, n);
        } else {
            resume_v(b, workspace, n, run->q + user * b->n_cols);
        }
        n++;
    }
    return n;
}

/* One sweep; removes the rows of lost users. Returns the number of remaining users. */
static size_t sweep(const struct run *run, struct batch_workspace *workspace, size_t n)
{
    const struct projection_batch *b = run->batch;
    (b->config.is_float32 ? batch_sweep_f32 : batch_sweep_f64)(b, workspace, n, workspace->change,
                                                               workspace->lost);
    for (size_t row = n; row-- > 0;) {
        struct projection_batch_result *result = &run->results[workspace->user[row]];
        result->iterations++;
        if (workspace->lost[row]) {
            result->is_lost = true;
            move_row(b, workspace, --n, row);
        }
    }
    return n;
}

static void widen_v(const struct projection_batch *b, struct batch_workspace *workspace, size_t n)
{
    for (size_t k = 0; workspace->v_f32 && k < n * b->col_stride; k++) {
        workspace->v_f64[k] = (double)workspace->v_f32[k];
    }
}

/* The last sweep, in float64, and the transport costs. */
static void finish(const struct run *run, struct batch_workspace *workspace, size_t n)
{
    const struct projection_batch *b = run->batch;
    const double *kernels[PROJECTION_BATCH_AXES];
    for (size_t d = 0; d < b->config.n_axes; d++) {
        kernels[d] = b->axes[d].kernel_f64;
    }
    batch_apply_f64(b, DPOT_NO_TRANSPOSE, kernels, n, workspace->v_f64, workspace->kv_f64,
                    workspace->scratch);
    for (size_t row = 0; row < n; row++) {
        const size_t at = row * b->row_stride;
        (void)b->lanes->quotient_f64(b->row_stride, workspace->mu_f64 + at, workspace->kv_f64 + at,
                                     0.0, workspace->u_f64 + at);
    }
    batch_apply_f64(b, DPOT_TRANSPOSE, kernels, n, workspace->u_f64, workspace->s_f64,
                    workspace->scratch);
    for (size_t row = 0; row < n; row++) {
        double *q = workspace->q + row * b->col_stride;
        (void)dpot_polytope_project_kl_linear(b->config.polytope,
                                              workspace->s_f64 + row * b->col_stride,
                                              workspace->start[row], DPOT_STEPS_NEEDED, q);
        memcpy(run->q + workspace->user[row] * b->n_cols, q, b->n_cols * sizeof *q);
        run->results[workspace->user[row]].iterations++;
    }
    if (run->costs) {
        batch_costs(b, workspace, n, run->results);
    }
}

/* A fixed number of sweeps. */
static void run_fixed(const struct run *run, struct batch_workspace *workspace, size_t first)
{
    size_t n = load_users(run, workspace, first);
    for (size_t t = 1; t < run->batch->config.iterations && n > 0; t++) {
        n = sweep(run, workspace, n);
    }
    widen_v(run->batch, workspace, n);
    finish(run, workspace, n);
}

/* Removes users who are done with this stage: at its tolerance, or one sweep below the limit (the
 * last sweep is done by `finish`). Returns the number of remaining users. */
static size_t remove_done(const struct run *run, struct batch_workspace *workspace, size_t n,
                          double tol)
{
    const struct projection_batch *b = run->batch;
    for (size_t row = n; row-- > 0;) {
        const size_t user = workspace->user[row];
        const struct projection_batch_result *result = &run->results[user];
        if (workspace->change[row] <= tol || result->iterations + 1 >= b->config.iterations) {
            keep_v(b, workspace, row, run->growth, run->q + user * b->n_cols);
            move_row(b, workspace, --n, row);
        }
    }
    return n;
}

/* One stage: brings every user to the stage's tolerance. */
static void run_stage(const struct run *run, struct batch_workspace *workspace, size_t first)
{
    size_t n = remove_done(run, workspace, load_users(run, workspace, first), -1.0);
    while (n > 0) {
        n = sweep(run, workspace, n);
        for (size_t row = 0; row < n; row++) {
            struct projection_batch_result *result = &run->results[workspace->user[row]];
            result->change = workspace->change[row];
            result->is_converged = run->is_last && result->change <= run->tol;
        }
        n = remove_done(run, workspace, n, run->tol);
    }
    if (run->is_last) {
        struct run last = *run;
        last.is_first = false;
        finish(run, workspace, load_users(&last, workspace, first));
    }
}

static void work(void *ctx, size_t task)
{
    const struct run *run = ctx;
    const struct projection_batch *b = run->batch;
    for (size_t block = task; block * b->users_max < run->n_users; block += b->n_workspaces) {
        (b->config.tol > 0.0 ? run_stage : run_fixed)(run, &b->workspaces[task],
                                                      block * b->users_max);
    }
}

/* Coarse to fine: lambda is halved from stage to stage. */
static void run_stages(struct run *run)
{
    struct projection_batch *b = run->batch;
    double lambda = fmax(b->config.lambda, b->ratio_range / COARSEST_RATIO);
    for (run->is_first = true; !run->is_last; run->is_first = false) {
        const double next = fmax(b->config.lambda, lambda / 2.0);
        run->is_last = !(lambda > b->config.lambda);
        run->tol = run->is_last ? b->config.tol : fmax(b->config.tol, COARSE_TOL);
        run->growth = run->is_last ? 1.0 : lambda / next;
        take_kernels(b, lambda);
        team_run(b->config.team, b->n_workspaces, work, run);
        lambda = next;
    }
}

void projection_batch_run(struct projection_batch *batch, const double *mu, size_t n_users,
                          bool costs, double *q, struct projection_batch_result *results)
{
    struct run run = {.batch = batch,
                      .mu = mu,
                      .n_users = n_users,
                      .q = q,
                      .results = results,
                      .costs = costs,
                      .is_first = true};
    memset(results, 0, n_users * sizeof *results);
    if (batch->config.tol > 0.0) {
        run_stages(&run);
    } else {
        take_kernels(batch, batch->config.lambda);
        team_run(batch->config.team, batch->n_workspaces, work, &run);
    }
    for (size_t user = 0; user < n_users; user++) {
        if (results[user].is_lost) {
            memset(q + user * batch->n_cols, 0, batch->n_cols * sizeof *q);
        }
    }
}

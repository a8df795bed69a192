#include "solve/barycenter/parts.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define SINGLE_COLS ((size_t)4096) /* columns whose products are summed in float32 */
#define ANNEAL_BELOW 1e-3          /* relative to the variance: anneal to a smaller lambda */

/* ---- exact plans ---- */

/* Squared distances from the current points to those of the group; row stride n. */
static void fill_matrix(struct barycenter_group *group)
{
    const struct barycenter_state *s = group->state;
    s->lanes->squares(s->m, group->stride, s->dim, s->x, group->points_t, group->matrix);
    for (size_t j = 1; j < s->m && group->stride != group->n; j++) {
        memmove(group->matrix + j * group->n, group->matrix + j * group->stride,
                group->n * sizeof(double));
    }
}

/* Target j is the mean of the points that the plan sends to x_j; without mass, x_j itself. */
static void take_exact_targets(struct barycenter_group *group,
                               const struct dpot_exact_result *result)
{
    const struct barycenter_state *s = group->state;
    const size_t dim = s->dim;
    for (size_t e = 0; e < result->n_entries;) {
        const size_t j = result->entries[e].row;
        double *target = group->targets + j * dim, mass = 0.0;
        memset(target, 0, dim * sizeof *target);
        for (; e < result->n_entries && result->entries[e].row == j; e++) {
            const double *y = group->points + result->entries[e].col * dim;
            mass += result->entries[e].mass;
            for (size_t c = 0; c < dim; c++) {
                target[c] += result->entries[e].mass * y[c];
            }
        }
        for (size_t c = 0; c < dim; c++) {
            target[c] /= mass;
        }
    }
}

static dpot_status solve_exact(struct barycenter_group *group)
{
    const struct barycenter_state *s = group->state;
    dpot_status status = DPOT_OK;
    fill_matrix(group);
    if (!group->sequence) {
        status = dpot_exact_sequence_new(s->b, group->mass, s->m, group->n, NULL, &group->sequence,
                                         &group->error);
    }
    if (status == DPOT_OK) {
        status = dpot_exact_sequence_solve(group->sequence, group->matrix, &group->error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    const struct dpot_exact_result *result = dpot_exact_sequence_result(group->sequence);
    memcpy(group->targets, s->x, s->m * s->dim * sizeof(double));
    take_exact_targets(group, result);
    memcpy(group->potential, result->f, s->m * sizeof(double));
    group->cost = group->objective = fmax(result->transport_cost, 0.0);
    group->residual = 0.0;
    group->sweeps += result->pivots;
    return DPOT_OK;
}

/* ---- Sinkhorn's plans ---- */

static void fill_cost(const void *ctx, size_t first, size_t n_rows, size_t stride, double *out)
{
    const struct barycenter_group *group = ctx;
    const struct barycenter_state *s = group->state;
    if (s->is_single) {
        s->lanes->distances(LANES_SQUARED, n_rows, stride, s->dim, 1.0,
                            s->x_single + first * s->dim, group->single_t, out);
    } else {
        s->lanes->squares(n_rows, stride, s->dim, s->x + first * s->dim, group->points_t, out);
    }
}

/* With one group, its engine uses the team; with several, the groups are the tasks. */
static dpot_status make_engine(struct barycenter_group *group)
{
    const struct barycenter_state *s = group->state;
    const struct entropic_options options = {
        .lambda = s->options->lambda,
        .tol = s->options->inner_tol,
        .max_iterations = s->options->inner_iterations,
        .precision = s->options->precision,
        .relax = s->options->inner_tol > 0.0,
        .anneal = s->options->inner_tol > 0.0 &&
                  s->options->lambda < ANNEAL_BELOW * s->spread * s->spread,
        .team = s->n_groups == 1 ? s->options->team : NULL,
    };
    group->engine_cost = (struct entropic_cost){
        .n_rows = s->m, .n_cols = group->n, .fill = fill_cost, .ctx = group, .keep = true};
    return entropic_new(s->m, group->n, &options, &group->engine, &group->error);
}

/* Independent partial sums, for instruction-level parallelism. */
static double sum_of(const double *x, size_t n)
{
    double sums[8] = {0};
    const size_t n_whole = n - n % 8;
    for (size_t l = 0; l < n_whole; l += 8) {
        for (size_t k = 0; k < 8; k++) {
            sums[k] += x[l + k];
        }
    }
    for (size_t l = n_whole; l < n; l++) {
        sums[0] += x[l];
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

static double sum_of_single(const float *x, size_t n)
{
    double sums[8] = {0};
    const size_t n_whole = n - n % 8;
    for (size_t l = 0; l < n_whole; l += 8) {
        for (size_t k = 0; k < 8; k++) {
            sums[k] += (double)x[l + k];
        }
    }
    for (size_t l = n_whole; l < n; l++) {
        sums[0] += (double)x[l];
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/* Row sums of a tile (n_rows, stride) of the plan, and its product with the points y. */
static void take_rows(struct barycenter_group *group, size_t first, size_t n_rows, double *masses)
{
    const struct barycenter_state *s = group->state;
    entropic_plan_rows(group->engine, first, n_rows, group->rows);
    s->linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, n_rows, s->dim, group->n, 1.0,
                    group->rows, group->n, group->points, s->dim, 0.0,
                    group->targets + first * s->dim, s->dim);
    for (size_t r = 0; r < n_rows; r++) {
        masses[r] = sum_of(group->rows + r * group->n, group->n);
    }
}

/* The same in float32, in blocks of columns that are summed in float64. */
static void take_single_rows(struct barycenter_group *group, size_t first, size_t n_rows,
                             double *masses)
{
    const struct barycenter_state *s = group->state;
    const size_t dim = s->dim;
    double *targets = group->targets + first * dim;
    entropic_plan_tile(group->engine, first, n_rows, group->rows, group->tile);
    memset(targets, 0, n_rows * dim * sizeof *targets);
    memset(masses, 0, n_rows * sizeof *masses);
    for (size_t l = 0; l < group->n; l += SINGLE_COLS) {
        const size_t n = group->n - l < SINGLE_COLS ? group->n - l : SINGLE_COLS;
        s->linalg_f32->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, n_rows, dim, n, 1.0F,
                            group->tile + l, group->stride, group->single + l * dim, dim, 0.0F,
                            group->sums, dim);
        for (size_t k = 0; k < n_rows * dim; k++) {
            targets[k] += (double)group->sums[k];
        }
        for (size_t r = 0; r < n_rows; r++) {
            masses[r] += sum_of_single(group->tile + r * group->stride + l, n);
        }
    }
}

/* Targets and cost from the plan, a few rows at a time. Its columns are exact, so that <C, P> =
 * sum_j (p_j |x_j|^2 - 2 <x_j, (P y)_j>) + sum_l a_l |y_l|^2, p_j the mass of row j. */
static void take_plan(struct barycenter_group *group)
{
    const struct barycenter_state *s = group->state;
    const size_t dim = s->dim;
    double cost = group->second_moment, masses[BARYCENTER_ROWS];
    group->residual = 0.0;
    for (size_t first = 0; first < s->m; first += BARYCENTER_ROWS) {
        const size_t n_rows = s->m - first < BARYCENTER_ROWS ? s->m - first : BARYCENTER_ROWS;
        (s->is_single ? take_single_rows : take_rows)(group, first, n_rows, masses);
        for (size_t j = first; j < first + n_rows; j++) {
            const double *x = s->x + j * dim, mass = masses[j - first];
            double *target = group->targets + j * dim;
            for (size_t c = 0; c < dim; c++) {
                cost += mass * x[c] * x[c] - 2.0 * x[c] * target[c];
                target[c] = mass > 0.0 ? target[c] / mass : x[c];
            }
            group->residual += fabs(mass - s->b[j]);
        }
    }
    group->cost = fmax(cost, 0.0);
}

/* The dual value sum b f + sum a g: at exact columns the entropic value up to the residual. */
static void take_potentials(struct barycenter_group *group)
{
    const struct barycenter_state *s = group->state;
    entropic_potentials(group->engine, group->potential, group->g);
    group->has_g = true;
    group->objective = 0.0;
    for (size_t j = 0; j < s->m; j++) {
        group->objective += s->b[j] * group->potential[j];
    }
    for (size_t l = 0; l < group->n; l++) {
        group->objective += group->mass[l] * group->g[l];
    }
}

static dpot_status solve_sinkhorn(struct barycenter_group *group)
{
    const struct barycenter_state *s = group->state;
    struct entropic_result result;
    dpot_status status = group->engine ? DPOT_OK : make_engine(group);
    if (status != DPOT_OK) {
        return status;
    }
    if (group->has_g && s->options->inner_tol > 0.0) {
        entropic_warm_start(group->engine, NULL, 0, group->g, group->n);
    }
    status = entropic_solve(group->engine, &group->engine_cost, s->b, group->mass, NULL, &result,
                            &group->error);
    if (status == DPOT_OK) {
        group->sweeps += result.iterations;
        take_plan(group);
        take_potentials(group);
    }
    return status;
}

/* ---- all groups ---- */

static void solve_group(void *ctx, size_t task)
{
    struct barycenter_state *s = ctx;
    struct barycenter_group *group = &s->groups[task];
    group->status =
        s->options->inner == BARYCENTER_EXACT ? solve_exact(group) : solve_sinkhorn(group);
}

dpot_status barycenter_transport(struct barycenter_state *s, struct dpot_error *error)
{
    for (size_t k = 0; s->is_single && k < s->m * s->dim; k++) {
        s->x_single[k] = (float)s->x[k];
    }
    team_run(s->n_groups == 1 ? NULL : s->options->team, s->n_groups, solve_group, s);
    for (size_t i = 0; i < s->n_groups; i++) {
        if (s->groups[i].status != DPOT_OK) {
            *error = s->groups[i].error;
            return dpot_error_prefix(error, s->groups[i].status, "group %zu",
                                     s->groups[i].number + 1);
        }
    }
    return DPOT_OK;
}

void barycenter_forget_plans(struct barycenter_state *s, bool forgets_potentials)
{
    for (size_t i = 0; i < s->n_groups; i++) {
        dpot_exact_sequence_free(s->groups[i].sequence);
        s->groups[i].sequence = NULL;
        s->groups[i].has_g = s->groups[i].has_g && !forgets_potentials;
    }
}

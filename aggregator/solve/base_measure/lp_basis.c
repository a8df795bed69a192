#include "solve/base_measure/lp_parts.h"

#include <math.h>
#include <string.h>

double lp_basis_objective(const struct base_measure_lp *lp, size_t column)
{
    if (column < lp->n_points) {
        return 0;
    }
    if (column == lp->n_points) {
        return lp->mass_min;
    }
    return column == lp->n_points + 1 ? -lp->mass_max : lp->offsets[column - lp->n_points - 2];
}

static void load_column(struct base_measure_lp *lp, size_t column)
{
    memset(lp->column, 0, lp->n * sizeof *lp->column);
    if (column < lp->n_points) {
        lp->column[column] = 1;
    } else if (column < lp->n_points + 2) {
        for (size_t o = 0; o < lp->n_points; o++) {
            lp->column[o] = column == lp->n_points ? 1 : -1;
        }
    } else {
        const size_t cut = column - lp->n_points - 2;
        for (size_t o = 0; o < lp->n_points; o++) {
            lp->column[o] = -lp->gradients[cut * lp->n_points + o];
        }
        lp->column[lp->n_points + lp->groups[cut]] = 1;
    }
}

void lp_basis_direction(struct base_measure_lp *lp, size_t column)
{
    if (column < lp->n_points) {
        for (size_t i = 0; i < lp->n; i++) {
            lp->direction[i] = lp->inverse[i * lp->n + column];
        }
        return;
    }
    load_column(lp, column);
    lp->linalg->gemv(DPOT_NO_TRANSPOSE, lp->n, lp->n, 1, lp->inverse, lp->n, lp->column, 0,
                     lp->direction);
}

/* Updates the inverse by a Gauss-Jordan step on the pivot row. */
void lp_basis_pivot(struct base_measure_lp *lp, size_t row)
{
    double *pivot_row = lp->inverse + row * lp->n;
    const double scale = 1 / lp->direction[row];
    for (size_t j = 0; j < lp->n; j++) {
        pivot_row[j] *= scale;
    }
    for (size_t i = 0; i < lp->n; i++) {
        if (i != row && lp->direction[i] != 0) {
            lp->linalg->axpy(lp->n, -lp->direction[i], pivot_row, lp->inverse + i * lp->n);
        }
    }
}

/* x_B = B^-1 b and the multipliers c_B B^-1. */
static void refresh(struct base_measure_lp *lp)
{
    lp->linalg->gemv(DPOT_NO_TRANSPOSE, lp->n, lp->n, 1, lp->inverse, lp->n, lp->rhs, 0, lp->basic);
    for (size_t i = 0; i < lp->n; i++) {
        lp->column[i] = lp_basis_objective(lp, lp->basis[i]);
        lp->basic[i] = fmax(lp->basic[i], 0);
    }
    lp->linalg->gemv(DPOT_TRANSPOSE, lp->n, lp->n, 1, lp->inverse, lp->n, lp->column, 0,
                     lp->multipliers);
}

void base_measure_lp_shrink_perturbation(struct base_measure_lp *lp, double factor)
{
    lp->perturbation /= factor;
    for (size_t o = 0; o < lp->n_points; o++) {
        lp->rhs[o] /= factor;
    }
    if (lp->has_basis) {
        refresh(lp);
    }
}

static void set_identity(struct base_measure_lp *lp)
{
    memset(lp->inverse, 0, lp->n * lp->n * sizeof *lp->inverse);
    for (size_t i = 0; i < lp->n; i++) {
        lp->inverse[i * lp->n + i] = 1;
        lp->is_pivoted[i] = false;
    }
}

/* Pivots a basic column into the free row where it is largest. */
static bool place_column(struct base_measure_lp *lp, size_t column, size_t *new_basis)
{
    size_t best = lp->n;
    lp_basis_direction(lp, column);
    for (size_t i = 0; i < lp->n; i++) {
        if (!lp->is_pivoted[i] &&
            (best == lp->n || fabs(lp->direction[i]) > fabs(lp->direction[best]))) {
            best = i;
        }
    }
    if (best == lp->n || !(fabs(lp->direction[best]) > 1e-13)) {
        return false;
    }
    lp_basis_pivot(lp, best);
    lp->is_pivoted[best] = true;
    new_basis[best] = column;
    return true;
}

/* Slacks first: their columns are those of the identity. */
bool lp_basis_refactor(struct base_measure_lp *lp)
{
    size_t *old = dpot_alloc_array(lp->allocator, lp->n, sizeof *old);
    bool is_good = old != NULL;
    if (!is_good) {
        return false;
    }
    memcpy(old, lp->basis, lp->n * sizeof *old);
    set_identity(lp);
    for (size_t i = 0; i < lp->n; i++) {
        if (old[i] < lp->n_points) {
            lp->basis[old[i]] = old[i];
            lp->is_pivoted[old[i]] = true;
        }
    }
    for (size_t i = 0; is_good && i < lp->n; i++) {
        is_good = old[i] < lp->n_points || place_column(lp, old[i], lp->basis);
    }
    dpot_free_array(lp->allocator, old, lp->n, sizeof *old);
    lp->n_since_refactor = 0;
    if (is_good) {
        refresh(lp);
    }
    return is_good;
}

/* A feasible basis: the first cut of every group, and v as large as the points' rows require. */
bool lp_basis_start(struct base_measure_lp *lp)
{
    size_t least = 0;
    double least_slack = INFINITY;
    memcpy(lp->direction, lp->rhs, lp->n_points * sizeof *lp->direction);
    for (size_t i = 0; i < lp->n; i++) {
        lp->basis[i] = i; /* placeholder in the rows of the groups */
    }
    for (size_t c = lp->n_cuts; c-- > 0;) {
        lp->basis[lp->n_points + lp->groups[c]] = lp->n_points + 2 + c;
    }
    for (size_t g = 0; g < lp->n_groups; g++) {
        const size_t cut = lp->basis[lp->n_points + g] - lp->n_points - 2;
        lp->linalg->axpy(lp->n_points, lp->rhs[lp->n_points + g],
                         lp->gradients + cut * lp->n_points, lp->direction);
    }
    for (size_t o = 0; o < lp->n_points; o++) {
        if (lp->direction[o] < least_slack) {
            least_slack = lp->direction[o];
            least = o;
        }
    }
    if (least_slack < 0) {
        lp->basis[least] = lp->n_points + 1;
    }
    lp->has_basis = true;
    return lp_basis_refactor(lp);
}

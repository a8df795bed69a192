#include "solve/projection/batch.h"

#include "base/alloc.h"

#include <math.h>

/* Rounding error of a cost computed from points, relative to the largest |cost|. */
#define SPLIT_TOL 1e-13

/* A candidate: the first axis has r of the rows and c of the columns. */
struct cut {
    size_t n_rows, n_cols, r, c;
    double tol;
};

/* C(i, j) = C((i_1, 0), (j_1, 0)) + C((0, i_2), (0, j_2)) - C(0, 0) everywhere. */
static bool is_separable(const double *cost, const struct cut *cut)
{
    const size_t row_inner = cut->n_rows / cut->r, col_inner = cut->n_cols / cut->c;
    for (size_t i = cut->n_rows; i-- > 0;) { /* entries far from the origin differ first */
        const double *row = cost + i * cut->n_cols;
        const double *outer = cost + i / row_inner * row_inner * cut->n_cols;
        const double *inner = cost + i % row_inner * cut->n_cols;
        for (size_t j = cut->n_cols; j-- > 0;) {
            const double sum = outer[j / col_inner * col_inner] + inner[j % col_inner] - cost[0];
            if (!(fabs(row[j] - sum) <= cut->tol)) {
                return false;
            }
        }
    }
    return true;
}

static dpot_status take_axes(const double *cost, const struct cut *cut,
                             struct projection_batch_split *split)
{
    const size_t row_inner = cut->n_rows / cut->r, col_inner = cut->n_cols / cut->c;
    const size_t n_first = cut->r * cut->c, n_second = row_inner * col_inner;
    double *axes = dpot_alloc_array(NULL, n_first + n_second, sizeof *axes);
    if (!axes) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t k = 0; k < n_first; k++) {
        axes[k] = cost[k / cut->c * row_inner * cut->n_cols + k % cut->c * col_inner];
    }
    for (size_t k = 0; k < n_second; k++) {
        axes[n_first + k] = cost[k / col_inner * cut->n_cols + k % col_inner] - cost[0];
    }
    split->owned = axes;
    split->n_owned = n_first + n_second;
    split->n_axes = 2;
    split->axes[0] = (struct projection_batch_axis){cut->r, cut->c, axes};
    split->axes[1] = (struct projection_batch_axis){row_inner, col_inner, axes + n_first};
    return DPOT_OK;
}

dpot_status projection_batch_split(const double *cost, size_t n_rows, size_t n_cols,
                                   struct projection_batch_split *split)
{
    struct cut cut = {n_rows, n_cols, 0, 0, 0.0}, best = cut;
    size_t least = n_rows * n_cols;
    *split = (struct projection_batch_split){.n_axes = 1, .axes = {{n_rows, n_cols, cost}}};
    for (size_t k = 0; k < n_rows * n_cols; k++) {
        cut.tol = fmax(cut.tol, SPLIT_TOL * fabs(cost[k]));
    }
    for (cut.r = 2; cut.r < n_rows; cut.r++) {
        for (cut.c = 2; n_rows % cut.r == 0 && cut.c < n_cols; cut.c++) {
            const size_t size = cut.r * cut.c + n_rows / cut.r * (n_cols / cut.c);
            if (n_cols % cut.c == 0 && size < least && is_separable(cost, &cut)) {
                best = cut;
                least = size;
            }
        }
    }
    return best.r > 0 ? take_axes(cost, &best, split) : DPOT_OK;
}

void projection_batch_split_release(struct projection_batch_split *split)
{
    dpot_free_array(NULL, split->owned, split->n_owned, sizeof *split->owned);
    *split = (struct projection_batch_split){0};
}

/* solve/base_measure/lp.h by Clp (COIN-OR): rows are the mass and the cuts, columns x and t. Cuts
 * are added in batches, and the dual simplex method continues from the last basis; no presolve. Clp
 * solves the unperturbed program. It cannot be interrupted. */
#include "solve/base_measure/lp.h"
#include "turns.h"

#include <coin/Clp_C_Interface.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define TOL 1e-9

struct base_measure_lp {
    size_t n_points, n_groups, n_cuts, cap_cuts, n_steps;
    Clp_Simplex *model;
    size_t *groups; /* (cap_cuts) */

    /* Cuts that the model does not have yet. */
    size_t n_added; /* cuts that it has */
    double *offsets, *upper;
    CoinBigIndex *starts;
    int *columns;
    double *values;
};

static void reserve(struct base_measure_lp *lp, size_t cap)
{
    const size_t n_entries = cap * (lp->n_points + 1);
    lp->groups = realloc(lp->groups, cap * sizeof *lp->groups);
    lp->offsets = realloc(lp->offsets, cap * sizeof *lp->offsets);
    lp->upper = realloc(lp->upper, cap * sizeof *lp->upper);
    lp->starts = realloc(lp->starts, (cap + 1) * sizeof *lp->starts);
    lp->columns = realloc(lp->columns, n_entries * sizeof *lp->columns);
    lp->values = realloc(lp->values, n_entries * sizeof *lp->values);
    turn_require(lp->groups && lp->offsets && lp->upper && lp->starts && lp->columns && lp->values,
                 "out of memory");
    lp->cap_cuts = cap;
}

static void set_columns(struct base_measure_lp *lp, const struct base_measure_lp_config *config)
{
    Clp_resize(lp->model, 0, (int)(lp->n_points + lp->n_groups));
    for (size_t o = 0; o < lp->n_points; o++) {
        Clp_columnUpper(lp->model)[o] = config->mass_max;
        lp->columns[o] = (int)o;
        lp->values[o] = 1;
    }
    for (size_t g = 0; g < lp->n_groups; g++) {
        Clp_objective(lp->model)[lp->n_points + g] = config->group_weights[g];
        Clp_columnUpper(lp->model)[lp->n_points + g] = DBL_MAX; /* t >= 0: costs are */
    }
    const CoinBigIndex starts[2] = {0, (CoinBigIndex)lp->n_points};
    Clp_addRows(lp->model, 1, &config->mass_min, &config->mass_max, starts, lp->columns,
                lp->values);
}

dpot_status base_measure_lp_new(const struct base_measure_lp_config *config,
                                struct base_measure_lp **out)
{
    struct base_measure_lp *lp = turn_memory(1, sizeof *lp);
    lp->n_points = config->n_points;
    lp->n_groups = config->n_groups;
    lp->model = Clp_newModel();
    reserve(lp, 64);
    Clp_setLogLevel(lp->model, 0);
    Clp_scaling(lp->model, 0);
    Clp_setPrimalTolerance(lp->model, TOL);
    Clp_setDualTolerance(lp->model, TOL);
    set_columns(lp, config);
    *out = lp;
    return DPOT_OK;
}

void base_measure_lp_free(struct base_measure_lp *lp)
{
    if (lp) {
        Clp_deleteModel(lp->model);
        free(lp->groups);
        free(lp->offsets);
        free(lp->upper);
        free(lp->starts);
        free(lp->columns);
        free(lp->values);
        free(lp);
    }
}

dpot_status base_measure_lp_add(struct base_measure_lp *lp, size_t group, double offset,
                                const double *gradient)
{
    const size_t row = lp->n_cuts - lp->n_added, at = row * (lp->n_points + 1);
    if (lp->n_cuts == lp->cap_cuts) {
        reserve(lp, 2 * lp->cap_cuts);
    }
    for (size_t o = 0; o < lp->n_points; o++) {
        lp->columns[at + o] = (int)o;
        lp->values[at + o] = -gradient[o];
    }
    lp->columns[at + lp->n_points] = (int)(lp->n_points + group);
    lp->values[at + lp->n_points] = 1;
    lp->starts[row] = (CoinBigIndex)at;
    lp->starts[row + 1] = (CoinBigIndex)(at + lp->n_points + 1);
    lp->offsets[row] = offset;
    lp->upper[row] = DBL_MAX;
    lp->groups[lp->n_cuts++] = group;
    return DPOT_OK;
}

size_t base_measure_lp_n_cuts(const struct base_measure_lp *lp)
{
    return lp->n_cuts;
}

void base_measure_lp_shrink_perturbation(struct base_measure_lp *lp, double factor)
{
    (void)lp;
    (void)factor;
}

void base_measure_lp_solve(struct base_measure_lp *lp, const struct solve_control *control,
                           bool *is_optimal)
{
    (void)control;
    Clp_addRows(lp->model, (int)(lp->n_cuts - lp->n_added), lp->offsets, lp->upper, lp->starts,
                lp->columns, lp->values);
    lp->n_added = lp->n_cuts;
    *is_optimal = Clp_dual(lp->model, 0) == 0;
    lp->n_steps += (size_t)Clp_numberIterations(lp->model);
}

size_t base_measure_lp_group(const struct base_measure_lp *lp, size_t cut)
{
    return lp->groups[cut];
}

double base_measure_lp_level(const struct base_measure_lp *lp, size_t group)
{
    return Clp_primalColumnSolution(lp->model)[lp->n_points + group];
}

void base_measure_lp_point(const struct base_measure_lp *lp, double *x)
{
    for (size_t o = 0; o < lp->n_points; o++) {
        x[o] = fmax(Clp_primalColumnSolution(lp->model)[o], 0);
    }
}

void base_measure_lp_weights(struct base_measure_lp *lp, bool is_perturbed, double *w)
{
    (void)is_perturbed;
    for (size_t c = 0; c < lp->n_cuts; c++) {
        w[c] = fmax(Clp_dualRowSolution(lp->model)[1 + c], 0);
    }
}

size_t base_measure_lp_n_steps(const struct base_measure_lp *lp)
{
    return lp->n_steps;
}

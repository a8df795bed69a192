#include "solve/base_measure/lp_parts.h"

#include <math.h>
#include <string.h>

#define PRICE_TOL 1e-12      /* times 1 + |offset|: smaller reduced costs count as 0 */
#define PIVOT_TOL 1e-9       /* smallest pivot */
#define REFACTOR_EVERY 400   /* steps */
#define CHECK_EVERY 16       /* steps between checks of the control */
#define STEPS_MAX_FACTOR 200 /* step limit in units of the rows: it is cycling */
#define HARRIS_SHARE 0.01    /* allowed negative basic value, in units of the perturbation */

static double next_random(struct base_measure_lp *lp)
{
    lp->random = lp->random * 6364136223846793005U + 1442695040888963407U;
    return (double)(lp->random >> 11) * 0x1p-53;
}

/* ---- life cycle ---- */

static void fill_rhs(struct base_measure_lp *lp, const double *group_weights)
{
    for (size_t o = 0; o < lp->n_points; o++) {
        lp->rhs[o] = lp->perturbation * (0.5 + next_random(lp));
    }
    memcpy(lp->rhs + lp->n_points, group_weights, lp->n_groups * sizeof *group_weights);
}

dpot_status base_measure_lp_new(const struct base_measure_lp_config *config,
                                struct base_measure_lp **out)
{
    const struct dpot_allocator *allocator = config->allocator;
    const size_t n = config->n_points + config->n_groups;
    *out = NULL;
    if (n > BASE_MEASURE_LP_ROWS_MAX) {
        return DPOT_ERR_TOO_LARGE;
    }
    struct base_measure_lp *lp = dpot_alloc_array(allocator, 1, sizeof *lp);
    if (!lp) {
        return DPOT_ERR_MEMORY;
    }
    *lp =
        (struct base_measure_lp){.n_points = config->n_points,
                                 .n_groups = config->n_groups,
                                 .n = n,
                                 .mass_min = config->mass_min,
                                 .mass_max = config->mass_max,
                                 .perturbation = config->perturbation,
                                 .random = 1,
                                 .linalg = config->linalg ? config->linalg : &dpot_linalg_portable,
                                 .allocator = allocator};
    lp->inverse = dpot_alloc_array(allocator, n * n, sizeof *lp->inverse);
    lp->rhs = dpot_alloc_array(allocator, 5 * n, sizeof *lp->rhs);
    lp->basis = dpot_alloc_array(allocator, n, sizeof *lp->basis);
    lp->is_pivoted = dpot_alloc_array(allocator, n, sizeof *lp->is_pivoted);
    if (!lp->inverse || !lp->rhs || !lp->basis || !lp->is_pivoted) {
        base_measure_lp_free(lp);
        return DPOT_ERR_MEMORY;
    }
    lp->basic = lp->rhs + n;
    lp->multipliers = lp->rhs + 2 * n;
    lp->column = lp->rhs + 3 * n;
    lp->direction = lp->rhs + 4 * n;
    fill_rhs(lp, config->group_weights);
    *out = lp;
    return DPOT_OK;
}

static void free_cuts(struct base_measure_lp *lp)
{
    const struct dpot_allocator *allocator = lp->allocator;
    dpot_free_array(allocator, lp->gradients, lp->cap_cuts * lp->n_points, sizeof *lp->gradients);
    dpot_free_array(allocator, lp->offsets, 3 * lp->cap_cuts, sizeof *lp->offsets);
    dpot_free_array(allocator, lp->groups, lp->cap_cuts, sizeof *lp->groups);
}

void base_measure_lp_free(struct base_measure_lp *lp)
{
    if (!lp) {
        return;
    }
    const struct dpot_allocator *allocator = lp->allocator;
    free_cuts(lp);
    dpot_free_array(allocator, lp->inverse, lp->n * lp->n, sizeof *lp->inverse);
    dpot_free_array(allocator, lp->rhs, 5 * lp->n, sizeof *lp->rhs);
    dpot_free_array(allocator, lp->basis, lp->n, sizeof *lp->basis);
    dpot_free_array(allocator, lp->is_pivoted, lp->n, sizeof *lp->is_pivoted);
    dpot_free_array(allocator, lp, 1, sizeof *lp);
}

static dpot_status grow_cuts(struct base_measure_lp *lp)
{
    const struct dpot_allocator *allocator = lp->allocator;
    const size_t cap = lp->cap_cuts == 0 ? 64 : 2 * lp->cap_cuts;
    double *gradients = dpot_alloc_array(allocator, cap * lp->n_points, sizeof *gradients);
    double *offsets = dpot_alloc_array(allocator, 3 * cap, sizeof *offsets);
    size_t *groups = dpot_alloc_array(allocator, cap, sizeof *groups);
    if (!gradients || !offsets || !groups) {
        dpot_free_array(allocator, gradients, cap * lp->n_points, sizeof *gradients);
        dpot_free_array(allocator, offsets, 3 * cap, sizeof *offsets);
        dpot_free_array(allocator, groups, cap, sizeof *groups);
        return DPOT_ERR_MEMORY;
    }
    if (lp->n_cuts > 0) {
        memcpy(gradients, lp->gradients, lp->n_cuts * lp->n_points * sizeof *gradients);
        memcpy(offsets, lp->offsets, lp->n_cuts * sizeof *offsets);
        memcpy(offsets + cap, lp->norms, lp->n_cuts * sizeof *offsets);
        memcpy(groups, lp->groups, lp->n_cuts * sizeof *groups);
    }
    free_cuts(lp);
    lp->gradients = gradients;
    lp->offsets = offsets;
    lp->norms = offsets + cap;
    lp->reduced = offsets + 2 * cap;
    lp->groups = groups;
    lp->cap_cuts = cap;
    return DPOT_OK;
}

dpot_status base_measure_lp_add(struct base_measure_lp *lp, size_t group, double offset,
                                const double *gradient)
{
    if (lp->n_cuts == lp->cap_cuts) {
        const dpot_status status = grow_cuts(lp);
        if (status != DPOT_OK) {
            return status;
        }
    }
    memcpy(lp->gradients + lp->n_cuts * lp->n_points, gradient, lp->n_points * sizeof *gradient);
    lp->offsets[lp->n_cuts] = offset;
    lp->norms[lp->n_cuts] = sqrt(1 + lp->linalg->dot(lp->n_points, gradient, gradient));
    lp->groups[lp->n_cuts] = group;
    lp->n_cuts++;
    return DPOT_OK;
}

size_t base_measure_lp_n_cuts(const struct base_measure_lp *lp)
{
    return lp->n_cuts;
}

size_t base_measure_lp_group(const struct base_measure_lp *lp, size_t cut)
{
    return lp->groups[cut];
}

/* ---- pricing ---- */

static double price_cut(const struct base_measure_lp *lp, size_t cut)
{
    return lp->offsets[cut] +
           lp->linalg->dot(lp->n_points, lp->gradients + cut * lp->n_points, lp->multipliers) -
           lp->multipliers[lp->n_points + lp->groups[cut]];
}

static bool is_attractive(const struct base_measure_lp *lp, size_t cut, double reduced)
{
    return reduced > PRICE_TOL * (1 + fabs(lp->offsets[cut]));
}

/* Full pricing: stores the BASE_MEASURE_LP_CANDIDATES cuts with the largest reduced cost per
 * norm. */
static void price_all(struct base_measure_lp *lp)
{
    lp->linalg->gemv(DPOT_NO_TRANSPOSE, lp->n_cuts, lp->n_points, 1, lp->gradients, lp->n_points,
                     lp->multipliers, 0, lp->reduced);
    lp->n_candidates = 0;
    for (size_t c = 0; c < lp->n_cuts; c++) {
        const double t = lp->multipliers[lp->n_points + lp->groups[c]];
        lp->reduced[c] = (lp->reduced[c] + lp->offsets[c] - t) / lp->norms[c];
        if (!is_attractive(lp, c, lp->reduced[c] * lp->norms[c])) {
            continue;
        }
        size_t at = lp->n_candidates < BASE_MEASURE_LP_CANDIDATES ? lp->n_candidates++
                                                                  : BASE_MEASURE_LP_CANDIDATES;
        while (at > 0 && lp->reduced[lp->candidates[at - 1]] < lp->reduced[c]) {
            if (at < BASE_MEASURE_LP_CANDIDATES) {
                lp->candidates[at] = lp->candidates[at - 1];
            }
            at--;
        }
        if (at < BASE_MEASURE_LP_CANDIDATES) {
            lp->candidates[at] = c;
        }
    }
}

struct choice {
    size_t column;
    double reduced; /* not divided by the norm */
    double score;
};

static void offer(struct choice *choice, size_t column, double reduced, double norm)
{
    if (reduced > PRICE_TOL && reduced / norm > choice->score) {
        *choice = (struct choice){column, reduced, reduced / norm};
    }
}

static void choose_candidate(struct base_measure_lp *lp, struct choice *choice)
{
    size_t n_left = 0;
    for (size_t a = 0; a < lp->n_candidates; a++) {
        const size_t cut = lp->candidates[a];
        const double reduced = price_cut(lp, cut);
        if (is_attractive(lp, cut, reduced)) {
            offer(choice, lp->n_points + 2 + cut, reduced, lp->norms[cut]);
            lp->candidates[n_left++] = cut;
        }
    }
    lp->n_candidates = n_left;
}

static bool choose_entering(struct base_measure_lp *lp, struct choice *choice)
{
    double total = 0;
    *choice = (struct choice){.score = 0};
    for (size_t o = 0; o < lp->n_points; o++) {
        total += lp->multipliers[o];
        offer(choice, o, -lp->multipliers[o], 1);
    }
    const double norm = sqrt((double)lp->n_points);
    offer(choice, lp->n_points, lp->mass_min - total, norm);
    offer(choice, lp->n_points + 1, total - lp->mass_max, norm);
    choose_candidate(lp, choice);
    if (choice->score == 0) {
        price_all(lp);
        choose_candidate(lp, choice);
    }
    return choice->score > 0;
}

/* ---- steps ---- */

/* Harris' two-pass ratio test: the largest pivot among the rows that block within a tolerance. */
static size_t choose_leaving(const struct base_measure_lp *lp)
{
    const double tol = HARRIS_SHARE * lp->perturbation;
    double most = INFINITY;
    size_t best = lp->n;
    for (size_t i = 0; i < lp->n; i++) {
        if (lp->direction[i] > PIVOT_TOL) {
            most = fmin(most, (lp->basic[i] + tol) / lp->direction[i]);
        }
    }
    for (size_t i = 0; i < lp->n; i++) {
        if (lp->direction[i] > PIVOT_TOL && lp->basic[i] / lp->direction[i] <= most &&
            (best == lp->n || lp->direction[i] > lp->direction[best])) {
            best = i;
        }
    }
    return best;
}

static void step(struct base_measure_lp *lp, const struct choice *choice, size_t row)
{
    const double length = fmax(lp->basic[row] / lp->direction[row], 0);
    for (size_t i = 0; i < lp->n; i++) {
        lp->basic[i] = fmax(lp->basic[i] - length * lp->direction[i], 0);
    }
    lp_basis_pivot(lp, row);
    lp->basic[row] = length;
    lp->basis[row] = choice->column;
    lp->linalg->axpy(lp->n, choice->reduced, lp->inverse + row * lp->n, lp->multipliers);
    lp->n_steps++;
    lp->n_since_refactor++;
}

static bool stops(const struct base_measure_lp *lp, const struct solve_control *control)
{
    enum solve_outcome outcome = SOLVE_CONVERGED;
    struct solve_control quiet = control ? *control : (struct solve_control){0};
    quiet.progress = NULL; /* progress counts rounds, not simplex steps */
    return lp->n_steps % CHECK_EVERY == 0 && solve_control_stops(&quiet, 0, 0, &outcome);
}

void base_measure_lp_solve(struct base_measure_lp *lp, const struct solve_control *control,
                           bool *is_optimal)
{
    const size_t last = lp->n_steps + STEPS_MAX_FACTOR * lp->n;
    bool is_fresh = false; /* the inverse was just recomputed, so another attempt would not help */
    *is_optimal = false;
    lp->n_candidates = 0;
    if (!lp->has_basis && !lp_basis_start(lp)) {
        return;
    }
    while (lp->n_steps < last && !stops(lp, control)) {
        struct choice choice;
        const bool has_choice = choose_entering(lp, &choice);
        size_t row = lp->n;
        if (has_choice) {
            lp_basis_direction(lp, choice.column);
            row = choose_leaving(lp);
        }
        if (row < lp->n && lp->n_since_refactor < REFACTOR_EVERY) {
            step(lp, &choice, row);
            is_fresh = false;
        } else if (is_fresh || lp->n_since_refactor == 0) {
            *is_optimal = !has_choice;
            return;
        } else if (!lp_basis_refactor(lp)) {
            return;
        } else {
            is_fresh = row == lp->n;
        }
    }
}

/* ---- the solution ---- */

double base_measure_lp_level(const struct base_measure_lp *lp, size_t group)
{
    return lp->multipliers[lp->n_points + group];
}

void base_measure_lp_point(const struct base_measure_lp *lp, double *x)
{
    for (size_t o = 0; o < lp->n_points; o++) {
        x[o] = fmax(lp->multipliers[o], 0);
    }
}

void base_measure_lp_weights(struct base_measure_lp *lp, bool is_perturbed, double *w)
{
    const double *basic = lp->basic;
    memset(w, 0, lp->n_cuts * sizeof *w);
    if (!is_perturbed) {
        memset(lp->column, 0, lp->n_points * sizeof *lp->column);
        memcpy(lp->column + lp->n_points, lp->rhs + lp->n_points,
               lp->n_groups * sizeof *lp->column);
        lp->linalg->gemv(DPOT_NO_TRANSPOSE, lp->n, lp->n, 1, lp->inverse, lp->n, lp->column, 0,
                         lp->direction);
        basic = lp->direction;
    }
    for (size_t i = 0; i < lp->n; i++) {
        if (lp->basis[i] >= lp->n_points + 2) {
            w[lp->basis[i] - lp->n_points - 2] = fmax(basic[i], 0);
        }
    }
}

size_t base_measure_lp_n_steps(const struct base_measure_lp *lp)
{
    return lp->n_steps;
}

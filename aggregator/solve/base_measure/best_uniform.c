#include "solve/base_measure/best_uniform.h"

#include <math.h>
#include <string.h>

#define ITERATIONS_MAX 1000
#define TIE_TOL 1e-12 /* relative: rows this close to the worst count as worst too */

/* The objective at one total mass, its slope, and the dual point of its tangent. */
struct end {
    double total_mass;
    double value; /* of the tangent: at most the objective, equal up to TIE_TOL */
    double slope;
    double *w, *y; /* (n_rows) */
};

struct search {
    struct phi *phi;
    struct end left, right; /* slopes < 0 and > 0 */
    struct end probe;       /* evaluated last */
    double *base_measure;   /* (n_cols) */
    double *gradient;       /* (n_cols) */
    double best_mass, best_value;
    size_t n_evaluations;
};

static dpot_status allocate(struct search *search, double **block)
{
    const size_t k = search->phi->n_rows, n = search->phi->n_cols;
    *block = dpot_alloc_array(search->phi->allocator, 6 * k + n, sizeof **block);
    if (!*block) {
        return DPOT_ERR_MEMORY;
    }
    search->left.w = *block;
    search->left.y = *block + k;
    search->right.w = *block + 2 * k;
    search->right.y = *block + 3 * k;
    search->probe.w = *block + 4 * k;
    search->probe.y = *block + 5 * k;
    search->gradient = *block + 6 * k;
    return DPOT_OK;
}

static void set_uniform(struct search *search, double total_mass)
{
    for (size_t j = 0; j < search->phi->n_cols; j++) {
        search->base_measure[j] = total_mass / (double)search->phi->n_cols;
    }
}

/* The dual point of the tangent. In the worst case all tied rows share the weight: on a homogeneous
 * domain every row ties, and only the mean of their tangents proves optimality. */
static void set_dual(const struct phi *phi, double *w, double *y)
{
    const double top = phi->values[phi->worst];
    size_t n_ties = 0;
    memset(w, 0, phi->n_rows * sizeof *w);
    memset(y, 0, phi->n_rows * sizeof *y);
    if (phi->weights) {
        phi_add_dual(phi, w, y);
        return;
    }
    for (size_t i = 0; i < phi->n_rows; i++) {
        n_ties += phi->values[i] >= top - TIE_TOL * top;
    }
    for (size_t i = 0; i < phi->n_rows; i++) {
        if (phi->values[i] >= top - TIE_TOL * top) {
            w[i] = 1 / (double)n_ties;
            y[i] = w[i] * phi->thresholds[i];
        }
    }
}

/* d/ds of the tangent is the mean of its gradient. */
static void evaluate(struct search *search, double total_mass)
{
    struct end *probe = &search->probe;
    const size_t n = search->phi->n_cols;
    double sum = 0;
    set_uniform(search, total_mass);
    const double objective = phi_evaluate(search->phi, search->base_measure);
    set_dual(search->phi, probe->w, probe->y);
    const double offset = phi_minorant(search->phi, probe->w, probe->y, search->gradient);
    for (size_t j = 0; j < n; j++) {
        sum += search->gradient[j];
    }
    probe->total_mass = total_mass;
    probe->slope = sum / (double)n;
    probe->value = offset + probe->slope * total_mass;
    search->n_evaluations++;
    if (objective < search->best_value) {
        search->best_value = objective;
        search->best_mass = total_mass;
    }
}

static void swap_ends(struct end *a, struct end *b)
{
    const struct end held = *a;
    *a = *b;
    *b = held;
}

/* The intersection of the two tangents, and the bound there. */
static double meet(const struct search *search, double *bound)
{
    const struct end *a = &search->left, *b = &search->right;
    const double s = (b->value - a->value + a->slope * a->total_mass - b->slope * b->total_mass) /
                     (a->slope - b->slope);
    *bound = a->value + a->slope * (s - a->total_mass);
    return s;
}

/* The next total mass: the intersection of the tangents; every third time, or if rounding put it
 * outside, the geometric middle, so that the bracket always shrinks. */
static double choose_next(const struct search *search, double meeting, size_t iteration)
{
    const double low = search->left.total_mass, high = search->right.total_mass;
    const bool is_inside = meeting > low && meeting < high;
    return is_inside && iteration % 3 != 2 ? meeting : sqrt(low) * sqrt(high);
}

/* Shrinks the bracket until its bound reaches the best value. */
static enum solve_outcome shrink(struct search *search, const struct solve_control *control)
{
    enum solve_outcome outcome = SOLVE_CONVERGED;
    for (size_t iteration = 0; iteration < ITERATIONS_MAX; iteration++) {
        double bound = 0;
        const double meeting = meet(search, &bound);
        const double next = choose_next(search, meeting, iteration);
        if (search->best_value - bound <= BEST_UNIFORM_TOL * search->best_value ||
            !(next > search->left.total_mass && next < search->right.total_mass)) {
            return SOLVE_CONVERGED;
        }
        evaluate(search, next);
        if (search->probe.slope == 0) {
            search->left = search->probe; /* flat: the tangent itself is the bound */
            return SOLVE_CONVERGED;
        }
        swap_ends(&search->probe, search->probe.slope < 0 ? &search->left : &search->right);
        if (solve_control_stops(control, search->n_evaluations, ITERATIONS_MAX, &outcome)) {
            return outcome;
        }
    }
    return SOLVE_ITERATION_LIMIT;
}

/* Evaluates both ends of M, then shrinks the bracket between them. An end from which the objective
 * rises is the answer. */
static enum solve_outcome find_mass(struct search *search, const struct solve_control *control)
{
    const struct phi *phi = search->phi;
    enum solve_outcome outcome = SOLVE_CONVERGED;
    evaluate(search, phi->alpha);
    swap_ends(&search->probe, &search->left);
    if (search->left.slope >= 0) {
        return SOLVE_CONVERGED;
    }
    if (solve_control_stops(control, search->n_evaluations, ITERATIONS_MAX, &outcome)) {
        return outcome;
    }
    evaluate(search, phi->beta);
    swap_ends(&search->probe, &search->right);
    if (search->right.slope <= 0) {
        swap_ends(&search->left, &search->right);
        return SOLVE_CONVERGED;
    }
    return shrink(search, control);
}

/* The bound over M of the convex combination of the two tangents that is flat along the line, or of
 * the only tangent. Overwrites the probe's arrays. */
static double find_lower_bound(struct search *search)
{
    const struct end *a = &search->left, *b = &search->right;
    const struct phi *phi = search->phi;
    const bool is_bracket = a->slope < 0 && b->slope > 0;
    const double share = is_bracket ? b->slope / (b->slope - a->slope) : 1; /* of the left one */
    for (size_t i = 0; i < phi->n_rows; i++) {
        search->probe.w[i] = share * a->w[i] + (1 - share) * b->w[i];
        search->probe.y[i] = share * a->y[i] + (1 - share) * b->y[i];
    }
    const double offset = phi_minorant(phi, search->probe.w, search->probe.y, search->gradient);
    return phi_minorant_least(phi, offset, search->gradient);
}

dpot_status best_uniform(struct phi *phi, const struct solve_control *control, double *base_measure,
                         struct best_uniform_result *result)
{
    struct search search = {.phi = phi, .base_measure = base_measure, .best_value = INFINITY};
    double *block = NULL;
    *result = (struct best_uniform_result){0};
    const dpot_status status = allocate(&search, &block);
    if (status != DPOT_OK) {
        return status;
    }
    result->outcome = find_mass(&search, control);
    result->lower_bound = fmax(find_lower_bound(&search), 0); /* costs are not negative */
    result->iterations = search.n_evaluations;
    result->total_mass = search.best_mass;
    set_uniform(&search, search.best_mass);
    result->objective = phi_evaluate(phi, base_measure);
    dpot_free_array(phi->allocator, block, 6 * phi->n_rows + phi->n_cols, sizeof *block);
    return DPOT_OK;
}

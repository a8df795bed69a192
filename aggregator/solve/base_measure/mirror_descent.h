/* The optimal base measure by mirror descent, exactly as published (002, Appendix G).
 *
 *     m^(1) uniform with the largest total mass, beta
 *     g^(t) a subgradient of the objective at m^(t) (one worst row, the first of several)
 *     m^(t+1) = m^(t) exp(-eta g^(t)), scaled to total mass in [alpha, beta] when it is outside
 *     eta = sqrt(2 (1 + log n_cols)) / (beta max C sqrt(T)),  T = max_iterations
 *     answer: the mean of m^(1) .. m^(T),  within  beta^2 max C sqrt(2 (1 + log n_cols) / T)  of the
 *     optimum (Proposition G.1)
 *
 * (The paper writes log k; its proof needs the number of output points, which is k there.) The bound
 * is honest: at epsilon 4 and more the mean is far from optimal after 10^5 steps. So two things are
 * kept that cost nothing: the best iterate, usually far better than the mean, and a lower bound on
 * what any base measure can reach, from the mean of the tangents met (inequality (D) of solve/base_measure/phi.h;
 * over all iterations, and over those since the last power of two).
 * The solver's answer is the better of the mean and the best iterate.
 *
 * Weights live as logarithms, so that an output point whose mass has underflowed can come back.
 * Float64; no allocation, no lock and no output after _new. */
#ifndef DPOT_SOLVE_BASE_MEASURE_MIRROR_DESCENT_H
#define DPOT_SOLVE_BASE_MEASURE_MIRROR_DESCENT_H

#include "solve/base_measure/phi.h"
#include "solve/run/control.h"

#define MIRROR_DESCENT_ITERATIONS_MAX ((size_t)1000000000)

struct mirror_descent;

struct mirror_descent_config {
    struct phi *phi;       /* borrowed; evaluated by the run; its allocator is used */
    size_t max_iterations; /* T above, 1 .. MIRROR_DESCENT_ITERATIONS_MAX: it sets the step size */
    double gap;            /* ends when the relative gap is at most this; 0: all iterations */
};

/* The course of a run, noted about 20 times per decade of iterations and at the end: the same
 * points for every run of that length. The gap is looked at there too. */
struct mirror_descent_point {
    size_t iteration;
    double iterate_objective; /* f(m^(t)) */
    double best_objective;    /* least so far */
    double average_objective; /* of the mean so far */
    double lower_bound;       /* best so far */
};

struct mirror_descent_result {
    const double *base_measure; /* (n_cols) the better of the next two */
    double objective;
    double total_mass;
    const double *best; /* (n_cols) the iterate with the least objective */
    double best_objective;
    const double *average; /* (n_cols) mean of all iterates: the published answer */
    double average_objective;
    double lower_bound; /* on the objective of any base measure; at least 0 */
    const double *
        w; /* (n_rows) the dual point that proves it, by (D): w of sum 1 (0 while nothing is proved) */
    const double *y; /* (n_rows) */
    double relative_gap;
    size_t iterations;
    enum solve_outcome outcome;
    const struct mirror_descent_point *course; /* (course_len) */
    size_t course_len;
};

/* DPOT_ERR_RANGE (a bad number of iterations or gap, with a sentence), DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status mirror_descent_new(const struct mirror_descent_config *config,
                                                struct mirror_descent **solver,
                                                struct dpot_error *error);
void mirror_descent_free(struct mirror_descent *solver);

/* Runs from the start; again gives the same. At least one iterate is always evaluated, so a run that
 * is stopped at any time has a measure inside M. Pointers of the result belong to the solver. O(n_rows
 * n_cols) per iteration. `control` may be NULL. */
void mirror_descent_run(struct mirror_descent *solver, const struct solve_control *control,
                        struct mirror_descent_result *result);

#endif

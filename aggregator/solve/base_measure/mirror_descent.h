/* The optimal base measure by mirror descent (002, Appendix G).
 *
 *     m^(1) the start; as published: uniform with the largest total mass, beta
 *     g^(t) a subgradient of the objective at m^(t) (one worst row, the first of several)
 *     m^(t+1) = m^(t) exp(-eta g^(t)), scaled to total mass in [alpha, beta] if it is outside
 *     eta = sqrt(2 (1 + log n_cols)) / (beta max C sqrt(T)),  T = max_iterations
 *     published answer: the mean of m^(1) .. m^(T), from the published start within
 *     beta^2 max C sqrt(2 (1 + log n_cols) / T) of the optimum (Proposition G.1)
 *
 * (The paper writes log k; its proof needs the number of output points, which is k there.) The
 * bound is realistic: at epsilon 4 and more the mean is far from optimal after 10^5 steps. The
 * solver therefore also stores, at no extra cost, the best iterate, usually far better than the
 * mean, and a lower bound for any base measure from the mean of the tangents (inequality (D) of
 * solve/base_measure/phi.h; over all iterations, and over those since the last power of two). Its
 * answer is the better of the mean and the best iterate by the exact objective. The start is an
 * iterate: the answer is never worse. The programs start at the best uniform measure
 * (solve/base_measure/best_uniform.h), which the published start can miss by a factor of 4.
 *
 * Weights are stored as logarithms, so that a mass that has underflowed can grow again. Float64; no
 * allocation, lock or output after _new. */
#ifndef DPOT_SOLVE_BASE_MEASURE_MIRROR_DESCENT_H
#define DPOT_SOLVE_BASE_MEASURE_MIRROR_DESCENT_H

#include "solve/base_measure/phi.h"
#include "solve/run/control.h"

#define MIRROR_DESCENT_ITERATIONS_MAX ((size_t)1000000000)

struct mirror_descent;

struct mirror_descent_config {
    struct phi *phi;       /* borrowed; evaluated by the run; its allocator is used */
    size_t max_iterations; /* T, 1 .. MIRROR_DESCENT_ITERATIONS_MAX: it sets the step size */
    double gap;            /* relative; the run ends there; 0: all iterations */
    const double *start;   /* (n_cols) borrowed until the last run: in M, entries > 0; NULL: as
                              published */
    double lower_bound;    /* known, on the objective of any base measure; 0: none */
};

/* A point of the trajectory, recorded about 20 times per decade of iterations and at the end, at
 * the same iterations in every run of that length. The gap is checked there too. */
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
    double lower_bound;  /* on the objective of any base measure; at least the known one */
    const double *w, *y; /* (n_rows) its dual point in (D); sum w is 1, or 0: none was found */
    double relative_gap;
    size_t iterations;
    enum solve_outcome outcome;
    const struct mirror_descent_point *trajectory; /* (trajectory_len) */
    size_t trajectory_len;
};

/* DPOT_ERR_RANGE with a message: max_iterations or gap; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status mirror_descent_new(const struct mirror_descent_config *config,
                                                struct mirror_descent **solver,
                                                struct dpot_error *error);
void mirror_descent_free(struct mirror_descent *solver);

/* Runs from the start; repeated runs give the same result. Evaluates at least one iterate, so that
 * a stopped run still has a measure in M. The result's pointers are owned by the solver. O(n_rows
 * n_cols) per iteration. `control` may be NULL. */
void mirror_descent_run(struct mirror_descent *solver, const struct solve_control *control,
                        struct mirror_descent_result *result);

#endif

#include "solve/base_measure/newton.h"

#include <math.h>
#include <string.h>

#define MAX BASE_MEASURE_NEWTON_MAX
#define COOLING 0.25 /* factor from one temperature to the next */
#define STEPS_MAX 12 /* at one temperature */
#define HALVINGS_MAX 12
#define FAR 36.0          /* exp(-FAR) is negligible beside 1 */
#define RESIDUAL_TOL 1e-4 /* L1 error of the masses, before the next temperature */
#define COLD_TOL 1e-6     /* the same, at the last temperature */
#define USEFUL_RESIDUAL                                                                            \
    1e-5 /* a larger error is a failure: the value could be off by that times a large cost */
#define RIDGE 1e-12 /* relative to the largest entry of the diagonal */

struct state {
    double value;
    double gradient[MAX];     /* mu_i - sum_j m_j r_j p_ij */
    double hessian[MAX][MAX]; /* of -D, lower half */
};

#define BLOCK 64 /* columns per block of find_owners */

struct block {
    double least[BLOCK], second[BLOCK], owner[BLOCK];
};

/* For every column of a block: its nearest point, and the distance to the second nearest. */
static void find_owners(const struct base_measure_newton *problem, const double *f, size_t first,
                        size_t n, struct block *restrict block)
{
    for (size_t j = 0; j < n; j++) {
        block->least[j] = block->second[j] = INFINITY;
        block->owner[j] = 0;
    }
    for (size_t i = 0; i < problem->n; i++) {
        const double *cost = problem->cost[i] + first;
        for (size_t j = 0; j < n; j++) {
            const double d = cost[j] - f[i], least = block->least[j];
            const double other = d < least ? least : d;
            block->second[j] = other < block->second[j] ? other : block->second[j];
            block->owner[j] = d < least ? (double)i : block->owner[j];
            block->least[j] = d < least ? d : least;
        }
    }
}

/* The points with a non-negligible share of a column, and their shares; `least` is the smallest
 * reduced cost. */
static size_t share_column(const struct base_measure_newton *problem, const double *f, size_t j,
                           double lambda, double least, size_t *index, double *share, double *g)
{
    double sum = 0;
    size_t n_near = 0;
    for (size_t i = 0; i < problem->n; i++) {
        const double d = problem->cost[i][j] - f[i] - least;
        if (d < FAR * lambda) {
            share[n_near] = exp(-d / lambda);
            sum += share[n_near];
            index[n_near++] = i;
        }
    }
    for (size_t a = 0; a < n_near; a++) {
        share[a] /= sum;
    }
    *g = least - lambda * log(sum);
    return n_near;
}

/* h(g), r = h'(g) and s = - h''(g) >= 0. */
static double soften(const struct base_measure_newton *problem, double g, double lambda, double *r,
                     double *s)
{
    const double z = g / lambda, spread = problem->beta - problem->alpha;
    if (fabs(z) > FAR) {
        *s = 0;
        *r = z > 0 ? problem->alpha : problem->beta;
        return *r * g;
    }
    const double e = exp(-fabs(z));
    const double sigma = z > 0 ? 1 / (1 + e) : e / (1 + e);
    *r = problem->beta - spread * sigma;
    *s = spread * sigma * (1 - sigma) / lambda;
    return problem->beta * g - spread * lambda * (fmax(z, 0) + log1p(e));
}

/* Adds a column with several near points. */
static void add_shared(const struct base_measure_newton *problem, const double *f, double lambda,
                       size_t j, double least, struct state *state)
{
    size_t index[MAX];
    double share[MAX], g = 0, r = 0, s = 0;
    const double m = problem->m[j];
    const size_t n_near = share_column(problem, f, j, lambda, least, index, share, &g);
    state->value += m * soften(problem, g, lambda, &r, &s);
    for (size_t a = 0; a < n_near; a++) {
        state->gradient[index[a]] -= m * r * share[a];
        state->hessian[index[a]][index[a]] += m * r * share[a] / lambda;
        for (size_t b = 0; b <= a; b++) {
            state->hessian[index[a]][index[b]] -= m * (r / lambda - s) * share[a] * share[b];
        }
    }
}

static void evaluate(const struct base_measure_newton *problem, const double *f, double lambda,
                     struct state *state)
{
    struct block block;
    state->value = 0;
    for (size_t i = 0; i < problem->n; i++) {
        state->value += problem->mu[i] * f[i];
        state->gradient[i] = problem->mu[i];
        memset(state->hessian[i], 0, problem->n * sizeof(double));
    }
    for (size_t j = 0; j < problem->n_cols; j++) {
        const size_t b = j % BLOCK;
        double r = 0, s = 0;
        if (b == 0) {
            const size_t left = problem->n_cols - j;
            find_owners(problem, f, j, left < BLOCK ? left : BLOCK, &block);
        }
        if (block.second[b] - block.least[b] < FAR * lambda) {
            add_shared(problem, f, lambda, j, block.least[b], state);
            continue;
        }
        const size_t owner = (size_t)block.owner[b];
        state->value += problem->m[j] * soften(problem, block.least[b], lambda, &r, &s);
        state->gradient[owner] -= problem->m[j] * r;
        state->hessian[owner][owner] += problem->m[j] * s;
    }
}

/* Solves (hessian + ridge) x = gradient by Cholesky; false: not positive definite. */
static bool solve(const struct base_measure_newton *problem, const struct state *state,
                  double ridge, double *x)
{
    static const double tiny = 1e-300;
    double factor[MAX][MAX];
    const size_t n = problem->n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = state->hessian[i][j] + (i == j ? ridge : 0);
            for (size_t l = 0; l < j; l++) {
                sum -= factor[i][l] * factor[j][l];
            }
            if (i == j && !(sum > tiny)) {
                return false;
            }
            factor[i][j] = i == j ? sqrt(sum) : sum / factor[j][j];
        }
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = state->gradient[i];
        for (size_t l = 0; l < i; l++) {
            x[i] -= factor[i][l] * x[l];
        }
        x[i] /= factor[i][i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t l = i + 1; l < n; l++) {
            x[i] -= factor[l][i] * x[l];
        }
        x[i] /= factor[i][i];
    }
    return true;
}

/* The Newton direction; the ridge is raised until the factorisation succeeds. */
static bool find_direction(const struct base_measure_newton *problem, const struct state *state,
                           double lambda, double *direction)
{
    double largest = 1 / lambda * 1e-9;
    for (size_t i = 0; i < problem->n; i++) {
        largest = fmax(largest, state->hessian[i][i]);
    }
    for (double ridge = RIDGE * largest; ridge < 10 * largest; ridge *= 1000) {
        if (solve(problem, state, ridge, direction)) {
            return true;
        }
    }
    return false;
}

static double residual_of(const struct base_measure_newton *problem, const struct state *state)
{
    double sum = 0;
    for (size_t i = 0; i < problem->n; i++) {
        sum += fabs(state->gradient[i]);
    }
    return sum;
}

/* One damped ascent step; false: none found. */
static bool step(const struct base_measure_newton *problem, double lambda, struct state *state,
                 double *f)
{
    double direction[MAX], next[MAX], slope = 0;
    if (!find_direction(problem, state, lambda, direction)) {
        return false;
    }
    for (size_t i = 0; i < problem->n; i++) {
        slope += direction[i] * state->gradient[i];
    }
    const double value = state->value;
    double length = 1;
    for (int k = 0; k < HALVINGS_MAX; k++, length *= 0.4) {
        for (size_t i = 0; i < problem->n; i++) {
            next[i] = f[i] + length * direction[i];
        }
        evaluate(problem, next, lambda, state);
        if (state->value >= value + 0.1 * length * slope) {
            memcpy(f, next, problem->n * sizeof *f);
            return true;
        }
    }
    return false;
}

bool base_measure_newton_run(const struct base_measure_newton *problem, double warm, double cold,
                             double *potentials)
{
    struct state state;
    for (double lambda = warm;; lambda = fmax(COOLING * lambda, cold)) {
        const double tol = lambda > cold ? RESIDUAL_TOL : COLD_TOL;
        evaluate(problem, potentials, lambda, &state);
        for (int k = 0; k < STEPS_MAX && residual_of(problem, &state) > tol; k++) {
            if (!step(problem, lambda, &state, potentials)) {
                break;
            }
        }
        if (!(lambda > cold)) {
            return residual_of(problem, &state) < USEFUL_RESIDUAL;
        }
    }
}

/* Balanced entropic transport, fast engine: min <C,P> + lambda KL(P | a x b) over plans with
 * marginals a and b.
 *
 *     struct entropic *e;
 *     entropic_new(n, m, &options, &e, &error);
 *     entropic_solve(e, &cost, a, b, &control, &result, &error);    any number of times
 *     entropic_value(e, &result);                                   the certificates
 *     entropic_plan_rows(e, 0, n, plan);
 *     entropic_free(e);
 *
 * The kernel K_ij = exp(f_i + g_j - C_ij / lambda) is stored once and swept in one fused pass (each
 * row is read once: u_i = 1 / (K w)_i, then s += a_i u_i K_i, then v = 1 / s, w = b v). When a
 * scaling leaves e^+-14 (float32) or e^+-200 (float64), all scalings are absorbed into f and g and
 * the kernel is recomputed. No row or column can underflow: a solve starts with one sweep in the
 * log domain, after which every column of K has mass 1 and every row at least min b. Sums over
 * columns and rows are float64 over blocks, and values, residuals and bounds are computed in
 * float64 from f and g for either precision. If kernel and cost do not fit in `memory_max`, blocks
 * of rows are recomputed in every sweep.
 *
 * Potentials f and g are in units of the cost in this interface, P_ij = a_i b_j exp((f_i + g_j -
 * C_ij) / lambda). Points without mass are allowed and have finite potentials. Results depend on
 * the processor's instruction set but not on the number of threads. Not thread-safe. Method: Cuturi
 * 2013; absorption: Schmitzer 2019; relaxation: Thibault et al. 2021. */
#ifndef DPOT_SOLVE_TRANSPORT_ENTROPIC_H
#define DPOT_SOLVE_TRANSPORT_ENTROPIC_H

#include "base/error.h"
#include "solve/run/control.h"
#include "solve/run/team.h"

/* The largest |cost| in units of lambda. */
#define ENTROPIC_RATIO_MAX 1e15

/* A cost in blocks of rows, already raised to its power. */
struct entropic_cost {
    size_t n_rows, n_cols;

    /* Writes rows [first, first + n_rows) to out, row r at out + r * stride; the entries between
     * n_cols and stride may be overwritten with any finite number. Called by several threads. */
    void (*fill)(const void *ctx, size_t first, size_t n_rows, size_t stride, double *out);
    const void *ctx;

    /* fill is expensive (points of many dimensions): cache its result, as float32 with float32
     * sweeps. */
    bool keep;

    /* The costs (n_rows, n_cols), borrowed, or NULL. If set, `fill` is not called and may be NULL;
     * if n_cols is a multiple of LANES_PAD, nothing is copied. */
    const double *matrix;
};

enum entropic_precision {
    ENTROPIC_F64 = 0,
    ENTROPIC_F32 =
        1, /* of the kernel; marginals are met to about 1e-6 before the last correction */
};

struct entropic_options {
    double lambda;
    double tol; /* L1 violation of the row marginal; 0: exactly max_iterations */
    size_t max_iterations;
    enum entropic_precision precision;
    bool anneal;       /* start at a large lambda and halve it; for small lambda */
    bool relax;        /* over-relax when the residual falls slowly */
    size_t memory_max; /* bytes of kernel and cached cost; 0: 4 GiB */
    struct team *team; /* borrowed; NULL: the calling thread */
};

struct entropic_result {
    enum solve_outcome outcome;
    size_t iterations;
    size_t absorptions; /* kernels computed */
    double residual;    /* L1 violation of the row marginal: of the last sweep, or of the plan */

    /* Set by entropic_value, for the plan P(f, g) with exact columns: */
    double transport_cost; /* <C,P> */
    double kl;             /* KL(P | a x b) */
    double entropy;        /* -sum P log P, nats, of P scaled to mass one */
    double value;          /* transport_cost + lambda kl, moved into [dual, primal] */
    double dual;           /* a lower bound of the optimal value */
    double primal;         /* an upper bound: value of P rounded to both marginals */
    double gap;            /* primal - dual */
};

struct entropic;

/* For problems of at most (n_rows, n_cols). `options` is copied, its team borrowed. DPOT_ERR_RANGE
 * or DPOT_ERR_MEMORY with a message; *e is then NULL. */
DPOT_WARN_UNUSED dpot_status entropic_new(size_t n_rows, size_t n_cols,
                                          const struct entropic_options *options,
                                          struct entropic **e, struct dpot_error *error);

/* May be NULL. */
void entropic_free(struct entropic *e);

/* Sets the start of the next solve, in cost units; either may be NULL (zero). The lengths must be
 * those of the next problem. Without this call a solve starts from zero. */
void entropic_warm_start(struct entropic *e, const double *f, size_t n_rows, const double *g,
                         size_t n_cols);

/* Sweeps until tol or max_iterations. a (n_rows) and b (n_cols) are >= 0 with equal masses up to
 * 1e-6 relative (b is scaled to a's mass); NULL: equal weights with sum 1. `cost` is borrowed until
 * the next solve. DPOT_ERR_RANGE or DPOT_ERR_SHAPE with a message: nothing was solved. If `control`
 * stops it: the plan so far. */
DPOT_WARN_UNUSED dpot_status entropic_solve(struct entropic *e, const struct entropic_cost *cost,
                                            const double *a, const double *b,
                                            const struct solve_control *control,
                                            struct entropic_result *result,
                                            struct dpot_error *error);

/* Makes the columns of the last solve's plan exact and fills the values of *result. */
void entropic_value(struct entropic *e, struct entropic_result *result);

/* Potentials of the last solve in cost units; either may be NULL. */
void entropic_potentials(const struct entropic *e, double *f /* (n_rows) */,
                         double *g /* (n_cols) */);

/* Rows [first, first + n_rows) of the plan, (n_rows, n_cols). */
void entropic_plan_rows(const struct entropic *e, size_t first, size_t n_rows, double *plan);

/* The same in float32, (n_rows, stride), where stride is n_cols rounded up to LANES_PAD and the
 * padding is 0. May be called from tasks of the engine's own team; `scratch` (stride) is private to
 * the call. */
void entropic_plan_tile(const struct entropic *e, size_t first, size_t n_rows, double *scratch,
                        float *tile);

#endif

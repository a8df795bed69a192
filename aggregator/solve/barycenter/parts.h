/* Internal to barycenter.h: preprocessed groups (barycenter/groups.c), their plans
 * (barycenter/inner.c), starts (barycenter/start.c), iterations (barycenter.c). */
#ifndef DPOT_SOLVE_BARYCENTER_PARTS_H
#define DPOT_SOLVE_BARYCENTER_PARTS_H

#include "ot/linalg_f32.h"
#include "ot/network_simplex.h"
#include "solve/barycenter/barycenter.h"
#include "solve/transport/lanes.h"

struct barycenter_state;

/* A group of positive weight: its points of positive mass, centred. */
struct barycenter_group {
    const struct barycenter_state *state;
    size_t number;        /* index in the problem */
    double weight;        /* w_i; all sum to 1 */
    size_t n, stride;     /* stride: n padded to LANES_PAD */
    double *points;       /* (n, dim) */
    double *points_t;     /* (dim, stride), padded with 0 */
    double *mass;         /* (n) sum 1 */
    double second_moment; /* sum_l a_l |y_l|^2 */

    /* From the last plan to the current points x. */
    double *targets;   /* (m, dim) mean of the sources of x_j */
    double *potential; /* (m) gradient of the objective in b, up to a constant */
    double cost;       /* <C, P> */
    double objective;  /* objective of the inner solver */
    double residual;
    size_t sweeps; /* total so far */
    dpot_status status;
    struct dpot_error error;

    /* Exact. */
    struct dpot_exact_sequence *sequence; /* NULL: none yet, or the weights changed */
    double *matrix;                       /* (m, n) */

    /* Sinkhorn. */
    struct entropic *engine;
    struct entropic_cost engine_cost;
    double *g;    /* (n) potentials of the last plan */
    bool has_g;   /* g is valid */
    double *rows; /* (BARYCENTER_ROWS, stride) of the plan, or scratch */

    /* With float32 sweeps, costs and targets are float32 too. */
    float *single;   /* (n, dim) the points */
    float *single_t; /* (dim, stride) */
    float *tile;     /* (BARYCENTER_ROWS, stride) of the plan */
    float *sums;     /* (BARYCENTER_ROWS, dim) */
};

#define BARYCENTER_ROWS ((size_t)16)

struct barycenter_state {
    const struct barycenter_options *options;
    const struct lanes *lanes;
    const struct dpot_linalg *linalg;
    const struct dpot_linalg_f32 *linalg_f32;
    bool is_single; /* float32 sweeps */
    size_t n_groups, n_groups_cap, dim, m;
    struct barycenter_group *groups; /* (n_groups_cap) */
    double *centre;                  /* (dim) */
    double spread;                   /* root of sum_i w_i E |y - centre|^2 */
    double *x;                       /* (m, dim) current points, centred */
    float *x_single;                 /* (m, dim) */
    double *b;                       /* (m) their weights */
};

/* Validates sizes, points, masses and weights. `weights` (n_groups) receives w, sum 1. */
DPOT_WARN_UNUSED dpot_status barycenter_check(const struct barycenter_problem *problem,
                                              double *weights, struct dpot_error *error);

/* Validates and copies the problem. On failure the state is released. */
DPOT_WARN_UNUSED dpot_status barycenter_state_init(struct barycenter_state *state,
                                                   const struct barycenter_problem *problem,
                                                   const struct barycenter_options *options,
                                                   struct dpot_error *error);
void barycenter_state_release(struct barycenter_state *state);

/* Sets state->x to start `number`, and equal weights. */
DPOT_WARN_UNUSED dpot_status barycenter_start(struct barycenter_state *state, size_t number,
                                              struct dpot_error *error);

/* Solves the transport of every group to the current points. */
DPOT_WARN_UNUSED dpot_status barycenter_transport(struct barycenter_state *state,
                                                  struct dpot_error *error);

/* Drops the plans to warm-start from: the weights changed, or (`forgets_potentials`) a new start
 * begins. */
void barycenter_forget_plans(struct barycenter_state *state, bool forgets_potentials);

#endif

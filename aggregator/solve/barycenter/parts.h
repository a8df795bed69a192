/* The insides of barycenter.h: groups as they are solved (barycenter/groups.c), their plans
 * (barycenter/inner.c), where points start (barycenter/start.c), the iterations (barycenter.c). */
#ifndef DPOT_SOLVE_BARYCENTER_PARTS_H
#define DPOT_SOLVE_BARYCENTER_PARTS_H

#include "ot/linalg_f32.h"
#include "ot/network_simplex.h"
#include "solve/barycenter/barycenter.h"
#include "solve/transport/lanes.h"

struct barycenter_state;

/* One group of positive weight: its points of positive mass, centred. */
struct barycenter_group {
    const struct barycenter_state *state;
    size_t number;        /* in the problem */
    double weight;        /* w_i, all of them sum to 1 */
    size_t n, stride;     /* stride: n padded for lanes */
    double *points;       /* (n, dim) */
    double *points_t;     /* (dim, stride), padded with 0 */
    double *mass;         /* (n) sum 1 */
    double second_moment; /* sum_l a_l |y_l|^2 */

    /* Of the present points x: what the last plan says. */
    double *targets;   /* (m, dim) mean of where the plan to x_j comes from */
    double *potential; /* (m) of the atoms: up to a constant the gradient of the objective in b */
    double cost;       /* <C, P> */
    double objective;  /* what the inner solver minimises */
    double residual;
    size_t sweeps; /* of all iterations so far */
    dpot_status status;
    struct dpot_error error;

    /* Exact. */
    struct dpot_exact_sequence *sequence; /* NULL: none yet, or the weights have changed */
    double *matrix;                       /* (m, n) */

    /* Sinkhorn. */
    struct entropic *engine;
    struct entropic_cost engine_cost;
    double *g;    /* (n) potentials of the last plan */
    bool has_g;   /* there is such a plan */
    double *rows; /* (BARYCENTER_ROWS, stride) of the plan, or scratch */

    /* With float32 sweeps costs and targets are float32 too. */
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
    double *x;                       /* (m, dim) the present points, centred */
    float *x_single;                 /* (m, dim) */
    double *b;                       /* (m) their weights */
};

/* Checks the problem: sizes, finite points, masses and weights. `weights` (n_groups) gets w, sum 1. */
DPOT_WARN_UNUSED dpot_status barycenter_check(const struct barycenter_problem *problem,
                                              double *weights, struct dpot_error *error);

/* Checks and copies. On failure the state is released. */
DPOT_WARN_UNUSED dpot_status barycenter_state_init(struct barycenter_state *state,
                                                   const struct barycenter_problem *problem,
                                                   const struct barycenter_options *options,
                                                   struct dpot_error *error);
void barycenter_state_release(struct barycenter_state *state);

/* Puts state->x where start `number` begins, and equal weights. */
DPOT_WARN_UNUSED dpot_status barycenter_start(struct barycenter_state *state, size_t number,
                                              struct dpot_error *error);

/* Solves the transport of every group to the present points. */
DPOT_WARN_UNUSED dpot_status barycenter_transport(struct barycenter_state *state,
                                                  struct dpot_error *error);

/* The weights have changed, or (`forgets`) another start begins. */
void barycenter_forget_plans(struct barycenter_state *state, bool forgets_potentials);

#endif

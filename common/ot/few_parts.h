/* The engine of ot/few_projection.h.
 *
 * Hubs are the points with mass and the pool, which costs nothing and takes the room between lower
 * and upper bound that q does not use. Column j needs upper_j units: x_ij from point i and z_j from
 * the pool, z_j <= room_j = upper_j - lower_j; so q_j = upper_j - z_j is inside its bounds whatever
 * the flow. Hub h has supply s_h: its mass, or sum upper - 1 for the pool.
 *
 * Between steps, with potentials f of the hubs:
 *   1. the columns are served exactly: sum_i x_ij + z_j = upper_j, x >= 0, 0 <= z_j <= room_j;
 *   2. each by the cheapest hubs: x_ij > 0 only where C_ij - f_i is the smallest of the points,
 *      z_j < room_j only where that is at most -f_pool, z_j > 0 only where it is at least -f_pool
 *      (up to rounding);
 *   3. only supplies are off: excess_h = units served by h - s_h, and the excesses sum to 0.
 * With no excess left, 2 says that the flow is optimal. 2 can be had for any f (few_start.c looks
 * for one with little excess); few_flow.c keeps it while it moves columns from hubs with excess to
 * hubs without along shortest paths (Ahuja, Magnanti and Orlin 1993, section 9.7), hub a taking
 * over column j from hub b at the price C_aj - C_bj. */
#ifndef DPOT_OT_FEW_PARTS_H
#define DPOT_OT_FEW_PARTS_H

#include "ot/exact_units.h"
#include "ot/few_projection.h"

#include <stdint.h>

#define DPOT_FEW_HUBS_MAX (DPOT_FEW_ROWS_MAX + 1)
#define DPOT_FEW_DIGIT_BITS 11
#define DPOT_FEW_DIGITS ((size_t)1 << DPOT_FEW_DIGIT_BITS)

/* The cheapest way for hub `to` to take over a column of hub `from`. A stale edge has lost its
 * column: its price is a lower bound. */
struct dpot_few_edge {
    double price;
    int32_t col;
    int32_t is_stale;
};

struct dpot_few_projection {
    size_t n_rows, n_cols, paths_max;
    struct dpot_polytope polytope;
    const struct dpot_allocator *allocator;
    double *cost;   /* (n_rows, n_cols) */
    int exponent;   /* of the units */
    double unit;    /* mass */
    int64_t *lower; /* (n_cols) units */
    int64_t *room;  /* (n_cols) */
    int64_t sum_lower, sum_room;

    size_t n_points;                        /* rows with mass; the pool is hub n_points */
    size_t rows[DPOT_FEW_ROWS_MAX];         /* of the points */
    const double *costs[DPOT_FEW_ROWS_MAX]; /* (n_cols) each: cost rows of the points */
    int64_t supply[DPOT_FEW_HUBS_MAX], excess[DPOT_FEW_HUBS_MAX];
    double f[DPOT_FEW_HUBS_MAX];

    /* The columns seen from the potentials: smallest C_ij - f_i, its point, and the next. Points
     * are numbers in floats, so that four arrays of one width run through the same lanes. */
    double *first_price, *second_price; /* (n_cols) */
    double *first, *second;             /* (n_cols) */

    int64_t *units;  /* (n_rows, n_cols) x, by point */
    int64_t *pool;   /* (n_cols) z */
    double *closed;  /* (n_cols) 0 where the pool has a share to give, infinity elsewhere */
    int32_t *served; /* (n_rows, n_cols) the columns of each point, in any order */
    int32_t *place;  /* (n_rows, n_cols) where column j is in its point's list */
    size_t n_served[DPOT_FEW_ROWS_MAX];
    struct dpot_few_edge *edges; /* (n_rows + 1, n_rows + 1) from, to */
    double *matrix;              /* (n_rows + 1, n_rows + 1) */

    int64_t bins[DPOT_FEW_DIGITS];
    size_t paths;
    uint64_t looks, looks_max;
};

static inline struct dpot_few_edge *dpot_few_edge(const struct dpot_few_projection *p, size_t from,
                                                  size_t to)
{
    return p->edges + from * (p->n_rows + 1) + to;
}

/* Potentials that leave little excess, and the columns ranked under them. */
void dpot_few_start(struct dpot_few_projection *p);

/* For each column its cheapest point and the next, under the potentials. */
void dpot_few_rank(struct dpot_few_projection *p);

/* From ranked columns: the flow of invariants 1 and 2 that uses up the pool, whose potential is
 * set. Exact for a single point. */
void dpot_few_serve(struct dpot_few_projection *p);

/* Augments until no excess is left: 1, or 0 where the paths ran out and the rest was settled at any
 * cost (invariants 1 and 3 hold). */
int dpot_few_augment(struct dpot_few_projection *p);

#endif

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
 *      z_j < room_j only where that is at most -f_pool, z_j > 0 only where it is at least -f_pool;
 *   3. only supplies are off: excess_h = units served by h - s_h, and the excesses sum to 0.
 * With no excess left, 2 says that the flow is optimal. 2 can be had for any f (few_start.c looks
 * for one with little excess); few_flow.c keeps it while it moves columns from hubs with excess to
 * hubs without along shortest paths (Ahuja, Magnanti and Orlin 1993, section 9.7), hub a taking
 * over column j from hub b at the price C_aj - C_bj. The excess of the pool is always 0, so q, which
 * follows from the pool, is inside its bounds and of mass one wherever the work is cut off.
 *
 * Costs, prices and potentials are whole multiples of DPOT_FEW_POINTS, so that the number of a point
 * fits into a price; no sum of them can overflow, since potentials differ by at most a price a hub. */
#ifndef DPOT_OT_FEW_PARTS_H
#define DPOT_OT_FEW_PARTS_H

#include "ot/exact_units.h"
#include "ot/few_projection.h"

#include <stdint.h>

#define DPOT_FEW_HUBS_MAX (DPOT_FEW_ROWS_MAX + 1)
#define DPOT_FEW_POINTS 64 /* a power of two, for the numbers of points */
#define DPOT_FEW_DIGIT_BITS 11
#define DPOT_FEW_DIGITS ((size_t)1 << DPOT_FEW_DIGIT_BITS)
#define DPOT_FEW_FAR (INT64_MAX / 2) /* above every price and distance */

struct dpot_few_projection {
    size_t n_rows, n_cols;
    uint64_t budget, steps; /* that may be taken, that were */
    int is_spent;           /* the budget did not hold what was wanted */
    struct dpot_polytope polytope;
    const struct dpot_allocator *allocator;
    int64_t *cost;  /* (n_rows, n_cols) */
    int exponent;   /* of the units */
    double unit;    /* mass */
    int64_t *lower; /* (n_cols) units */
    int64_t *room;  /* (n_cols) */
    int64_t sum_lower, sum_room;

    size_t n_points;                         /* rows with mass; the pool is hub n_points */
    size_t rows[DPOT_FEW_ROWS_MAX];          /* of the points */
    const int64_t *costs[DPOT_FEW_ROWS_MAX]; /* (n_cols) each: cost rows of the points */
    int64_t supply[DPOT_FEW_HUBS_MAX], excess[DPOT_FEW_HUBS_MAX];
    int64_t f[DPOT_FEW_HUBS_MAX];
    int64_t left; /* excess of all hubs that have some */

    /* The columns seen from the potentials: smallest C_ij - f_i plus the number of its point, and
     * the next. */
    int64_t *first, *second; /* (n_cols) */

    int64_t *units;  /* (n_rows, n_cols) x, by point */
    int64_t *pool;   /* (n_cols) z */
    int32_t *served; /* (n_rows, n_cols) the columns of each point, in any order */
    int32_t *place;  /* (n_rows, n_cols) where column j is in its point's list */
    size_t n_served[DPOT_FEW_ROWS_MAX];
    float *matrix; /* (n_rows + 1, n_rows + 1) */

    /* The cheapest way for hub `to` to take over a column of hub `from`: its price and the column.
     * A stale edge, whose price is odd, has lost its column: the price is a lower bound. */
    int64_t *price; /* (n_rows + 1, n_rows + 1) from, to */
    int32_t *col;   /* (n_rows + 1, n_rows + 1) */

    int64_t bins[DPOT_FEW_DIGITS];
    size_t paths;
    volatile int64_t burnt; /* what burning found: nobody reads it */
};

/* The two parts of an entry of `first` or `second`. */
static inline size_t dpot_few_point(int64_t entry)
{
    return (size_t)(entry & (DPOT_FEW_POINTS - 1));
}

static inline int64_t dpot_few_price(int64_t entry)
{
    return entry & ~(int64_t)(DPOT_FEW_POINTS - 1);
}

/* Whether the budget holds so many steps more; where not, nothing costly is done from there on. */
static inline int dpot_few_has(struct dpot_few_projection *p, uint64_t steps)
{
    p->is_spent |= steps > p->budget - p->steps;
    return !p->is_spent;
}

/* Takes them, if so. */
static inline int dpot_few_spend(struct dpot_few_projection *p, uint64_t steps)
{
    const int has = dpot_few_has(p, steps);
    p->steps += has ? steps : 0;
    return has;
}

/* Potentials that leave little excess, and the columns ranked under them. */
void dpot_few_start(struct dpot_few_projection *p);

/* From ranked columns: the flow of invariants 1 and 2 that uses up the pool, whose potential is
 * set. Exact for a single point. The same work for all data. */
void dpot_few_serve(struct dpot_few_projection *p);

/* Augments until no excess is left: 1, or 0 where the budget ran out. */
int dpot_few_augment(struct dpot_few_projection *p);

#endif

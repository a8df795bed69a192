/* The engine of ot/few_projection.h.
 *
 * The hubs are the points with mass and the pool, which costs nothing and takes the room between
 * lower and upper bound that q does not use. Column j needs upper_j units: x_ij from point i and
 * z_j from the pool, z_j <= room_j = upper_j - lower_j. So q_j = upper_j - z_j is inside its bounds
 * for every flow. Hub h has supply s_h: its mass, or sum upper - 1 for the pool.
 *
 * Invariants between steps, with potentials f of the hubs:
 *   1. columns are served exactly: sum_i x_ij + z_j = upper_j, x >= 0, 0 <= z_j <= room_j;
 *   2. by the cheapest hubs: x_ij > 0 only where C_ij - f_i is the smallest of the points,
 *      z_j < room_j only where that is at most -f_pool, z_j > 0 only where it is at least -f_pool;
 *   3. only supplies are violated: excess_h = units served by h - s_h, and the excesses sum to 0.
 * Without excess, 2 makes the flow optimal. 2 can be satisfied for any f (few_start.c finds one
 * with little excess). few_flow.c preserves it while it moves columns from hubs with excess to hubs
 * with a deficit along shortest paths (Ahuja, Magnanti and Orlin 1993, section 9.7); hub a takes
 * over column j from hub b at the price C_aj - C_bj. The excess of the pool is always 0, so q,
 * which follows from the pool, is inside its bounds and has mass one wherever the work stops.
 *
 * Prices and potentials are multiples of DPOT_FEW_POINTS, the unit of costs, so that a price can
 * hold the number of a point. No sum overflows, since potentials differ by at most a price per
 * hub. */
#ifndef DPOT_OT_FEW_PARTS_H
#define DPOT_OT_FEW_PARTS_H

#include "ot/exact_units.h"
#include "ot/few_projection.h"

#include <stdint.h>

#define DPOT_FEW_HUBS_MAX (DPOT_FEW_ROWS_MAX + 1)
#define DPOT_FEW_POINTS 64 /* a power of two >= the number of points */
#define DPOT_FEW_DIGIT_BITS 8
#define DPOT_FEW_DIGITS ((size_t)1 << DPOT_FEW_DIGIT_BITS)
#define DPOT_FEW_FAR (INT64_MAX / 2) /* above every price and distance */
#define DPOT_FEW_NO_PAIR (-1)

/* One step of a path. */
struct dpot_few_leg {
    uint8_t from, to;
    int32_t col;
};

struct dpot_few_projection {
    size_t n_rows, n_cols;
    uint64_t budget, steps; /* allowed, taken */
    int is_spent;           /* the budget was too small for the next piece of work */
    struct dpot_polytope polytope;
    const struct dpot_allocator *allocator;
    size_t n_bytes; /* of this block, which holds the arrays too */
    uint32_t *cost; /* (n_rows, n_cols) */
    int exponent;   /* of the units */
    double unit;    /* mass */
    int64_t *lower; /* (n_cols) units */
    int64_t *room;  /* (n_cols) */
    int64_t sum_lower, sum_room;

    size_t n_points;                          /* rows with mass; the pool is hub n_points */
    uint8_t rows[DPOT_FEW_ROWS_MAX];          /* of the points */
    const uint32_t *costs[DPOT_FEW_ROWS_MAX]; /* (n_cols) each: cost rows of the points */
    int64_t supply[DPOT_FEW_HUBS_MAX], excess[DPOT_FEW_HUBS_MAX];
    int64_t f[DPOT_FEW_HUBS_MAX];
    int64_t left; /* sum of the positive excesses */

    /* Smallest and second smallest C_ij - f_i of a column, each plus the number of its point. */
    int64_t *first, *second; /* (n_cols) */

    /* The flow: a pair is a point and a column that it serves. Point i has the pairs begin[i] to
     * begin[i + 1] - 1, in any order; the pairs of a column are a list, from head[j] on. */
    int64_t *pool;  /* (n_cols) z */
    int64_t *units; /* (n_pairs_max) x of each pair */
    int32_t *cols;  /* (n_pairs_max) */
    int32_t *next;  /* (n_pairs_max) of the same column, or DPOT_FEW_NO_PAIR */
    int32_t *head;  /* (n_cols) */
    size_t n_pairs_max;
    int32_t begin[DPOT_FEW_ROWS_MAX + 1];

    /* The cheapest column that hub `to` can take over from hub `from`, and its price. A stale edge,
     * whose price is odd, has lost its column: the price is then a lower bound. */
    int64_t *price; /* (n_rows + 1, n_rows + 1) from, to */
    int32_t *col;   /* (n_rows + 1, n_rows + 1) */

    /* Scratch, here and not on the stack: of Newton's method, of a search, and of the pool. */
    float *matrix; /* (n_rows + 1, n_rows + 1) minus the curvature: mass per window */
    float residual[DPOT_FEW_HUBS_MAX]; /* the slope, mass; then the step, windows */
    double step[DPOT_FEW_HUBS_MAX];
    int64_t base[DPOT_FEW_HUBS_MAX];
    int64_t distance[DPOT_FEW_HUBS_MAX];
    struct dpot_few_leg legs[DPOT_FEW_HUBS_MAX];
    uint8_t before[DPOT_FEW_HUBS_MAX]; /* on the shortest path */
    uint8_t open[DPOT_FEW_HUBS_MAX];   /* hubs whose distance may still fall */
    int64_t bins[DPOT_FEW_DIGITS];

    size_t n_open, paths;
    volatile int64_t burnt; /* keeps the compiler from removing the work of _burn */
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

/* A cost in the unit of prices. */
static inline int64_t dpot_few_cost(uint32_t cost)
{
    return (int64_t)cost * DPOT_FEW_POINTS;
}

/* Whether the budget allows this many more steps; if not, is_spent is set and no more work is
 * done. */
static inline int dpot_few_has(struct dpot_few_projection *p, uint64_t steps)
{
    p->is_spent |= steps > p->budget - p->steps;
    return !p->is_spent;
}

/* Takes the steps if the budget allows them. */
static inline int dpot_few_spend(struct dpot_few_projection *p, uint64_t steps)
{
    const int has = dpot_few_has(p, steps);
    p->steps += has ? steps : 0;
    return has;
}

/* Finds potentials with little excess, and ranks the columns by them. */
void dpot_few_start(struct dpot_few_projection *p);

/* From ranked columns, builds the flow of invariants 1 and 2 that uses up the pool, and sets the
 * pool's potential. Optimal for a single point. The same work for all data. */
void dpot_few_serve(struct dpot_few_projection *p);

/* The pair of point i and column j, or DPOT_FEW_NO_PAIR. */
int32_t dpot_few_find(const struct dpot_few_projection *p, size_t i, size_t j);

/* Augments until no excess is left. Returns 0 if the budget, or the room for pairs, ran out
 * first. */
int dpot_few_augment(struct dpot_few_projection *p);

#endif

/* The network simplex method on a transportation problem in integer units: the engine of
 * ot/network_simplex.h, which checks the data, makes the units and reads the solution.
 *
 * Rows are sources and columns sinks, every row is joined to every column. The cost of a pair may be
 * given once for several columns: column j of the problem has column j % width of the cost matrix.
 * The last row may be a slack row without costs of its own: it is barred from the first `width`
 * columns and free of charge on the others.
 *
 * A spanning tree of the nodes that have mass carries the flow; node i is row i, node n_rows + j
 * column j. Between pivots:
 *   1. flow is conserved exactly, and flow[node] >= 0 is what the arc between node and its parent
 *      carries, always from its row to its column;
 *   2. an arc that points away from the root (column below row) carries a positive flow: the tree
 *      is strongly feasible;
 *   3. f_i + g_j = C_ij on the arcs of the tree, up to rounding;
 *   4. rows and columns without mass are outside the tree, and such a column has g = -BARRED. */
#ifndef DPOT_OT_TRANSPORT_SIMPLEX_H
#define DPOT_OT_TRANSPORT_SIMPLEX_H

#include "base/alloc.h"

#include <stddef.h>
#include <stdint.h>

#define DPOT_TRANSPORT_BARRED 1e300   /* the cost of a pair that must not be used */
#define DPOT_TRANSPORT_COST_MAX 1e200 /* largest |C_ij|: potentials stay far below BARRED */

#define DPOT_TRANSPORT_CANDIDATES 32

/* An arc that may pay. */
struct dpot_transport_arc {
    int32_t row, col;
};

struct dpot_transport_simplex {
    size_t n_rows,
        n_cols; /* the slack row counts; before a solve n_rows may be less than was allocated for, and is
                              put back before the release */
    size_t width;        /* of a cost row; n_cols is a multiple */
    const double *cost;  /* (n_rows or n_rows - 1, width) borrowed */
    const double *slack; /* (n_cols) cost of the slack row, borrowed; NULL without one */
    int64_t *supply;     /* (n_rows) units, used up by the solve */
    int64_t *demand;     /* (n_cols) units, used up by the solve; same sum */
    double *f;           /* (n_nodes) potentials f of the rows and then -g of the columns */
    double *minus_g;     /* (n_cols) f + n_rows, set by the solve */
    int32_t *parent;     /* (n_nodes) -1 at the root and outside the tree */
    int64_t *flow;       /* (n_nodes) */
    size_t pivots;

    /* The tree's own bookkeeping, (n_nodes) each: the nodes in an order in which every subtree is one
     * stretch that begins with its top, where that stretch ends, and its nodes. */
    int32_t *next, *previous, *last, *size;
    int32_t root;
    int32_t *rows; /* (n_rows) those with mass */
    size_t n_active_rows;
    double tol;       /* a reduced cost above -tol counts as 0; cost units */
    double extra_tol; /* part of tol that grows when the pivots do not end */
    size_t cursor_row, cursor_col;
    struct dpot_transport_arc candidates[DPOT_TRANSPORT_CANDIDATES];
    size_t n_candidates, n_picks; /* picks since they were gathered */
    const struct dpot_allocator *allocator;
};

/* Allocates everything but the borrowed costs; n_rows + n_cols must be below 2^31 - 1.
 * DPOT_ERR_MEMORY leaves nothing to release. */
DPOT_WARN_UNUSED dpot_status dpot_transport_simplex_init(struct dpot_transport_simplex *transport,
                                                         size_t n_rows, size_t n_cols,
                                                         const struct dpot_allocator *allocator);
void dpot_transport_simplex_release(struct dpot_transport_simplex *transport);

/* Solves. Supplies and demands are >= 0 with the same positive sum, below 2^62; with a slack row,
 * its supply is positive and below the demand of the columns it may serve. `preference` (n_cols or
 * NULL) orders the slack row's columns in the starting tree: smallest first. */
void dpot_transport_simplex_solve(struct dpot_transport_simplex *transport,
                                  const double *preference);

/* Solves again for other costs (`cost` points to them) and the same masses, from the tree of the last
 * solve, which is feasible whatever the costs are: few pivots where the costs changed little. */
void dpot_transport_simplex_resume(struct dpot_transport_simplex *transport);

/* The cost row of `row`, for the columns from `col` on to the end of their copy of the matrix. */
const double *dpot_transport_simplex_cost_at(const struct dpot_transport_simplex *transport,
                                             size_t row, size_t col);

#endif

/* The network simplex method on a transportation problem in integer units: the engine of
 * ot/network_simplex.h, which checks the data, makes the units and reads the solution.
 *
 * Rows are sources, columns are sinks, and every row is connected to every column. Several columns
 * may share costs: column j of the problem has column j % width of the cost matrix. The last row
 * may be a slack row without costs of its own: barred from the first `width` columns, free on the
 * others.
 *
 * A spanning tree of the nodes with mass carries the flow; node i is row i, node n_rows + j is
 * column j. Invariants between pivots:
 *   1. flow is conserved exactly, and flow[node] >= 0 is the flow of the arc between node and its
 *      parent, always from its row to its column;
 *   2. an arc that points away from the root (column below row) carries a positive flow: the tree
 *      is strongly feasible;
 *   3. f_i + g_j = C_ij on the arcs of the tree, up to rounding;
 *   4. rows and columns without mass are outside the tree; such a column has g = -BARRED. */
#ifndef DPOT_OT_TRANSPORT_SIMPLEX_H
#define DPOT_OT_TRANSPORT_SIMPLEX_H

#include "base/alloc.h"

#include <stddef.h>
#include <stdint.h>

#define DPOT_TRANSPORT_BARRED 1e300   /* the cost of a pair that must not be used */
#define DPOT_TRANSPORT_COST_MAX 1e200 /* largest |C_ij|: potentials stay far below BARRED */

#define DPOT_TRANSPORT_CANDIDATES 32

/* An arc that may have a negative reduced cost. */
struct dpot_transport_arc {
    int32_t row, col;
};

struct dpot_transport_simplex {
    size_t n_rows; /* with the slack row; may be lowered for a solve, restored for release */
    size_t n_cols;
    size_t width;        /* of a cost row; n_cols is a multiple */
    const double *cost;  /* (n_rows or n_rows - 1, width) borrowed */
    const double *slack; /* (n_cols) cost of the slack row, borrowed; NULL without one */
    int64_t *supply;     /* (n_rows) units, used up by the solve */
    int64_t *demand;     /* (n_cols) units, used up by the solve; same sum */
    double *f;           /* (n_nodes) potentials: f of the rows, then -g of the columns */
    double *minus_g;     /* (n_cols) f + n_rows, set by the solve */
    int32_t *parent;     /* (n_nodes) -1 at the root and outside the tree */
    int64_t *flow;       /* (n_nodes) */
    size_t pivots;

    /* The tree, (n_nodes) each: the nodes in an order in which every subtree is contiguous and
     * begins with its root; the last node and the number of nodes of the subtree. */
    int32_t *next, *previous, *last, *size;
    int32_t root;
    int32_t *rows; /* (n_rows) those with mass */
    size_t n_active_rows;
    double tol;       /* reduced costs above -tol count as 0; cost units */
    double extra_tol; /* part of tol that grows if the pivots do not end */
    size_t cursor_row, cursor_col;
    struct dpot_transport_arc candidates[DPOT_TRANSPORT_CANDIDATES];
    size_t n_candidates, n_picks; /* n_picks: since they were gathered */
    const struct dpot_allocator *allocator;
};

/* Allocates everything but the borrowed costs; n_rows + n_cols < 2^31 - 1. DPOT_ERR_MEMORY: nothing
 * to release. */
DPOT_WARN_UNUSED dpot_status dpot_transport_simplex_init(struct dpot_transport_simplex *transport,
                                                         size_t n_rows, size_t n_cols,
                                                         const struct dpot_allocator *allocator);
void dpot_transport_simplex_release(struct dpot_transport_simplex *transport);

/* Solves. Supplies and demands are >= 0 with the same positive sum, below 2^62. The supply of a
 * slack row is positive and below the demand of the columns that it may serve. `preference` (n_cols
 * or NULL) orders the columns of the slack row in the initial tree, smallest first. */
void dpot_transport_simplex_solve(struct dpot_transport_simplex *transport,
                                  const double *preference);

/* Solves again with other costs (in `cost`) and the same masses, from the tree of the last solve,
 * which is feasible for all costs: few pivots if the costs changed little. */
void dpot_transport_simplex_resume(struct dpot_transport_simplex *transport);

/* The costs of `row` from column `col` to the end of its copy of the matrix. */
const double *dpot_transport_simplex_cost_at(const struct dpot_transport_simplex *transport,
                                             size_t row, size_t col);

#endif

/* A public region of the plane: closed rings under the even-odd rule, so that a ring within a ring
 * is a hole and separate rings are islands. Floating point; no guarantee depends on it.
 *
 * Edges are indexed by horizontal strips, so a query costs about as much as the number of edges
 * near it. */
#ifndef DPOT_CENTRAL_POLYGON_H
#define DPOT_CENTRAL_POLYGON_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLYGON_VERTICES_MAX ((size_t)1 << 20)

struct polygon_edge {
    double x[2], y[2];
};

struct polygon {
    size_t n_edges;
    size_t cap;
    struct polygon_edge *edges; /* (cap) owned */
    double lo[2], hi[2];        /* bounding box */

    size_t n_strips;
    /* (n_strips + 1) strip t has members[first[t]] .. members[first[t + 1] - 1] */
    size_t *first;
    uint32_t *members; /* (first[n_strips]) edges that touch the strip; owned */
};

/* Builds the region from vertices (n, 2). A ring is closed whether or not its last vertex repeats
 * the first.
 * rings (n): the ring number of each vertex, contiguous; NULL: one ring.
 * DPOT_ERR_RANGE: a ring with fewer than 3 distinct vertices or all on one line, a coordinate that
 * is not finite, no inside (rings that cancel), too many vertices. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status polygon_init(struct polygon *polygon, const double *vertices,
                                          const double *rings, size_t n, struct dpot_error *error);
void polygon_release(struct polygon *polygon);

bool polygon_holds(const struct polygon *polygon, const double point[2]);

/* Whether the box contains a point of the region, edges included. */
bool polygon_meets(const struct polygon *polygon, const double lo[2], const double hi[2]);

/* A point of the region in a box that meets it, next to the border if the box contains a part of
 * it. It depends on the box alone; if rounding leaves no point inside, it is on the border. */
void polygon_anchor(const struct polygon *polygon, const double lo[2], const double hi[2],
                    double point[2]);

#endif

/* A public region of the plane: closed rings, inside by the even-odd rule, so that a ring within a ring
 * is a hole and rings apart are islands. Floating point; nothing private rests on it.
 *
 * Edges are kept in horizontal strips, so that a question costs about as much as the edges near it. */
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
    double lo[2], hi[2];        /* the box around it */

    size_t n_strips;
    size_t *first; /* (n_strips + 1) strip t has members[first[t]] .. members[first[t + 1] - 1] */
    uint32_t *members; /* (first[n_strips]) edges that touch the strip; owned */
};

/* From vertices (n, 2). rings (n) names the ring of each vertex, which must be together; NULL: all are
 * one ring. Rings are closed whether or not the last vertex repeats the first.
 * DPOT_ERR_RANGE: fewer than 3 different vertices in a ring or all on one line, a coordinate that is not finite, no
 * inside (rings that take each other away), too many vertices. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status polygon_init(struct polygon *polygon, const double *vertices,
                                          const double *rings, size_t n, struct dpot_error *error);
void polygon_release(struct polygon *polygon);

bool polygon_holds(const struct polygon *polygon, const double point[2]);

/* Whether the box has a point of the region, its edges included. */
bool polygon_meets(const struct polygon *polygon, const double lo[2], const double hi[2]);

/* A point of the region in a box that it meets: near the border where the box has one. It is the same
 * for the same box; where rounding leaves nothing inside, a point of the border. */
void polygon_anchor(const struct polygon *polygon, const double lo[2], const double hi[2],
                    double point[2]);

#endif

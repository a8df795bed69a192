/* A public box, or a ball in it, in integer coordinates. Sums over records, and so the sensitivity
 * of a mechanism, are exact.
 *
 * The box has `cells` cells along each axis. A record becomes the centre of its cell, clamped into
 * the box or ball, in multiples of a public unit: 2^-LATTICE_BITS of the longest side. This depends
 * on that record alone, so neighbours stay neighbours. Many records share a cell, which makes
 * transport cheap. */
#ifndef DPOT_CENTRAL_LATTICE_H
#define DPOT_CENTRAL_LATTICE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define LATTICE_BITS 20
#define LATTICE_CELLS_MAX (1u << LATTICE_BITS)
#define LATTICE_DIM_MAX 4096

struct lattice {
    size_t dim;
    const double *lo, *hi; /* (dim) borrowed */
    uint32_t cells;        /* along each axis */
    double radius;         /* of the ball about the middle of the box; 0: no ball */

    /* Set by lattice_init. */
    double unit;
    int32_t *width; /* (dim) coordinates are 0 .. width; owned */
    int64_t ball;   /* radius in units: |2 x - width| <= 2 ball; 0: no ball */
};

/* Prepares the lattice from dim, lo, hi (lo < hi, finite), cells and radius. DPOT_ERR_RANGE,
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status lattice_init(struct lattice *lattice, struct dpot_error *error);
void lattice_release(struct lattice *lattice);

/* The lattice point of a record: the centre of its cell. NaN counts as lo. */
void lattice_snap(const struct lattice *lattice, const double *point, int32_t *x /* (dim) */);

/* Clamps x, any numbers in units, into the box and ball. */
void lattice_clamp(const struct lattice *lattice, double *x /* (dim), units */);

/* The point with coordinates x in units, which need not be integers. */
void lattice_place(const struct lattice *lattice, const double *x, double *point /* (dim) */);

/* Upper bound on the distance of two points, in units. */
double lattice_diameter(const struct lattice *lattice);

#endif

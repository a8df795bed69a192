/* A public box, or a ball in it, in integers: what makes sums over records, and with them the sensitivity
 * of a mechanism, exact.
 *
 * The box is cut into `cells` cells along each axis; a record is the centre of its cell, clamped into the
 * box or ball, in steps of a public unit: 2^-LATTICE_BITS of the longest side. It depends on that record
 * alone, so that neighbours stay neighbours; many records share a cell, which makes transport cheap. */
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
    double radius;         /* of the ball about the middle of the box; 0: none */

    /* Filled by lattice_init. */
    double unit;
    int32_t *width; /* (dim) coordinates are 0 .. width; owned */
    int64_t ball;   /* radius in units: |2 x - width| <= 2 ball; 0: none */
};

/* dim, lo, hi (lo < hi, finite), cells and radius are set. DPOT_ERR_RANGE, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status lattice_init(struct lattice *lattice, struct dpot_error *error);
void lattice_release(struct lattice *lattice);

/* The cell's centre. NaN counts as lo. */
void lattice_snap(const struct lattice *lattice, const double *point, int32_t *x /* (dim) */);

/* Into the box and ball; any numbers. */
void lattice_clamp(const struct lattice *lattice, double *x /* (dim), units */);

/* The place of x, in units or not whole ones. */
void lattice_place(const struct lattice *lattice, const double *x, double *point /* (dim) */);

/* Above the distance of any two points, in units: rounded up. */
double lattice_diameter(const struct lattice *lattice);

#endif

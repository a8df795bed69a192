/* Results of accounting are rounded outward, towards less privacy claimed.
 *
 * The mathematics of this room runs in doubles, whose last digits the C library does not promise. A
 * function that promises an upper bound therefore computes with care (no cancellation, tails in logs)
 * and moves its answer up by a relative margin that its file states and that is far above the error
 * of its steps; a lower bound is moved down. */
#ifndef DPOT_ACCOUNT_OUTWARD_H
#define DPOT_ACCOUNT_OUTWARD_H

#include <math.h>

/* x moved up by `margin` of its size, and by at least one unit in the last place. */
static inline double outward_up(double x, double margin)
{
    return nextafter(x + fabs(x) * margin, INFINITY);
}

/* The same downwards. */
static inline double outward_down(double x, double margin)
{
    return nextafter(x - fabs(x) * margin, -INFINITY);
}

#endif

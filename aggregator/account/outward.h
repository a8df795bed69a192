/* Accounting results are rounded outward, towards a weaker guarantee.
 *
 * The functions of this module use doubles, and the C library does not guarantee their last digits.
 * A function that promises an upper bound avoids cancellation, computes tails in logarithms, and
 * then raises its result by a relative margin that its file states and that is far above the
 * accumulated error. A lower bound is lowered in the same way. */
#ifndef DPOT_ACCOUNT_OUTWARD_H
#define DPOT_ACCOUNT_OUTWARD_H

#include <math.h>

/* x raised by `margin` relative to |x|, and by at least one unit in the last place. */
static inline double outward_up(double x, double margin)
{
    return nextafter(x + fabs(x) * margin, INFINITY);
}

/* x lowered in the same way. */
static inline double outward_down(double x, double margin)
{
    return nextafter(x - fabs(x) * margin, -INFINITY);
}

#endif

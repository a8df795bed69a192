/* The regularised incomplete beta function I_x(a, b) = P[Beta(a, b) <= x]. */
#ifndef DPOT_ACCOUNT_BETA_H
#define DPOT_ACCOUNT_BETA_H

/* log B(a, b) for a and b from 1/2 to 10^7; the error is below 1e-15 (a + b) log(a + b). */
double beta_log(double a, double b);

/* I_x(a, b) and 1 - I_x(a, b) for a, b as above and 0 <= x <= 1. y = 1 - x is given separately, to
 * full precision. The smaller of the two has a relative error of 1e-15 (a + b) log(a + b) unless it
 * underflows; the larger is its complement. */
struct beta_tails {
    double below, above;
};
struct beta_tails beta_cumulative(double a, double b, double x, double y);

#endif

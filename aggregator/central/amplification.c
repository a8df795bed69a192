#include "central/amplification.h"

#include <float.h>
#include <math.h>

double amplification_epsilon(double epsilon, double rate)
{
    /* The errors of expm1, the product and log1p are a few ulp each, and log1p does not enlarge
     * relative errors. */
    const double amplified = log1p(rate * expm1(epsilon)) * (1 + 16 * DBL_EPSILON);
    return fmin(amplified, epsilon);
}

#include "account/zcdp.h"

#include "account/outward.h"

#define MARGIN 1e-13
#define SEARCH_WIDTH 25.0 /* search range around the start, in nats */
#define SEARCH_STEPS 120  /* golden section: 0.618^120 is below 1e-25 */

/* epsilon for alpha = 1 + u, from the formula of zcdp.h:
 *   epsilon = (1 + u) rho - log(delta)/u - log(1 + 1/u) - log(1 + u)/u */
static double epsilon_at(double rho, double log_delta, double log_u)
{
    const double u = exp(log_u);
    return (1 + u) * rho - log_delta / u - log1p(1 / u) - log1p(u) / u;
}

/* Error scale of epsilon_at, whose terms have different signs. */
static double size_at(double rho, double log_delta, double log_u)
{
    const double u = exp(log_u);
    return (1 + u) * rho - log_delta / u + log1p(1 / u) + log1p(u) / u;
}

double zcdp_epsilon(double rho, double delta)
{
    const double golden = 0.61803398874989484820, log_delta = log(delta);
    if (!(rho > 0)) {
        return 0;
    }
    const double start =
        (log(1 - log_delta) - log(rho)) / 2; /* u is about sqrt(-log delta / rho) */
    double low = start - SEARCH_WIDTH, high = start + SEARCH_WIDTH;
    for (int i = 0; i < SEARCH_STEPS; i++) {
        const double left = high - golden * (high - low), right = low + golden * (high - low);
        if (epsilon_at(rho, log_delta, left) < epsilon_at(rho, log_delta, right)) {
            high = right;
        } else {
            low = left;
        }
    }
    const double best = low + (high - low) / 2;
    const double epsilon =
        epsilon_at(rho, log_delta, best) + MARGIN * size_at(rho, log_delta, best);
    return epsilon > 0 ? epsilon : 0;
}

double zcdp_of_pure(double epsilon)
{
    return outward_up(epsilon * epsilon / 2, 0);
}

double zcdp_of_gaussian(double mu)
{
    return outward_up(mu * mu / 2, 0);
}

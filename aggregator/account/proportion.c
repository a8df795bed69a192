#include "account/proportion.h"

#include "account/binomial.h"
#include "account/outward.h"

/* relative to the sum; ratios stay below 1 - 1e-7, so the remainder is below 1e-10 */
#define TERM_END 1e-17
#define TAIL_MARGIN 1e-9 /* relative, above the error of binomial_log_pmf for any count here */
#define HALVINGS 80

/* Upper bound of P[Bin(n, p) >= k] for k > n p: terms decrease by r_i = (n - k - i)/(k + 1 + i)
 * p/(1 - p) < 1, and r_i decreases too. */
static double upper_tail(double n, double k, double p)
{
    const double odds = p / (1 - p);
    double term = 1, sum = 1;
    for (double i = 0; k + i < n && term > TERM_END * sum; i++) {
        const double ratio = (n - k - i) / (k + 1 + i) * odds;
        term *= ratio;
        sum += term;
    }
    return exp(binomial_log_pmf(n, k, p, 1 - p)) * sum * (1 + TAIL_MARGIN);
}

double proportion_lower(uint64_t n_hits, uint64_t n, double error)
{
    const double k = (double)n_hits, trials = (double)n;
    double low = 0, high = k / trials;
    if (n_hits == 0) {
        return 0;
    }
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = low + (high - low) / 2;
        /* From the observed frequency on the tail is about 1/2 or more, far above `error`. */
        if (middle < k / trials && upper_tail(trials, k, middle) <= error) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

double proportion_upper(uint64_t n_hits, uint64_t n, double error)
{
    return fmin(outward_up(1 - proportion_lower(n - n_hits, n, error), TAIL_MARGIN), 1);
}

double proportion_epsilon(const struct proportion_pair *pair, double delta, double error)
{
    const double p = proportion_lower(pair->n_hits, pair->n, error / 2) - delta;
    const double q = proportion_upper(pair->n_other_hits, pair->n_other, error / 2);
    return p > q ? outward_down(log(p / q), TAIL_MARGIN) : 0;
}

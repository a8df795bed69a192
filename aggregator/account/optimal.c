#include "account/optimal.h"

#include "account/binomial.h"
#include "account/outward.h"

#define MARGIN 1e-8 /* relative, of delta: at most 10^6 terms of the recurrence, 1e-15 each */
#define REST 1e-16  /* the sum ends when the remainder is below this fraction of it */
#define BISECTIONS 100

struct optimal {
    double epsilon, k;
    double p; /* of l in optimal.h: 1/(1 + e^epsilon) */
    double q;
};

/* The largest l with a loss (k - 2l) epsilon above `total`; -1: none. */
static double last_above(const struct optimal *o, double total)
{
    double l = fmin(ceil((o->k - total / o->epsilon) / 2) + 1, o->k);
    while (l >= 0 && (o->k - 2 * l) * o->epsilon <= total) {
        l--;
    }
    return l;
}

/* delta(total): the sum over l from the largest down. All terms are positive. Each binomial
 * probability follows from the previous one; below the mode they decrease faster than a geometric
 * series, which bounds the remainder. */
static double delta_of(const struct optimal *o, double total)
{
    double l = last_above(o, total);
    if (l < 0) {
        return 0;
    }
    double pmf = exp(binomial_log_pmf(o->k, l, o->p, o->q));
    if (pmf < 1e-300 && l > o->k * o->p) {
        return 1; /* nearly all losses are far above the total */
    }
    double sum = 0, rest = 0;
    for (; l >= 0; l--) {
        sum += pmf * -expm1(total - (o->k - 2 * l) * o->epsilon);
        const double step = l * o->q / ((o->k - l + 1) * o->p); /* pmf(l - 1) / pmf(l) */
        rest = step < 1 ? pmf * step / (1 - step) : 1;
        if (rest <= REST * sum) {
            break;
        }
        pmf *= step;
    }
    return (sum + (l >= 0 ? rest : 0)) * (1 + MARGIN);
}

double optimal_epsilon(double epsilon, uint64_t count, double delta)
{
    const struct optimal o = {.epsilon = epsilon,
                              .k = (double)count,
                              .p = 1 / (1 + exp(epsilon)),
                              .q = 1 / (1 + exp(-epsilon))};
    double low = 0, high = o.k * epsilon; /* delta is 0 there */
    if (delta_of(&o, 0) <= delta) {
        return 0;
    }
    for (int i = 0; i < BISECTIONS && high - low > 1e-13 * high; i++) {
        const double middle = low + (high - low) / 2;
        if (delta_of(&o, middle) <= delta) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return outward_up(high, 1e-15);
}

/* Composition: the privacy guarantee of several releases about the same people.
 *
 * Four accountants evaluate the same list. Each returns a valid guarantee or the reason why it does
 * not apply; accountant_assumption states its conditions. All assume that the list is fixed before
 * the first release. Results are rounded up. */
#ifndef DPOT_ACCOUNT_COMPOSE_H
#define DPOT_ACCOUNT_COMPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPOSE_VALUE_MAX 1e6
#define COMPOSE_COUNT_MAX 1000000000000000 /* 10^15, exact in a double */

enum compose_unit {
    COMPOSE_EPSILON, /* (epsilon, delta)-private */
    COMPOSE_RHO,     /* rho-zCDP */
    COMPOSE_MU,      /* mu-GDP */
};

/* `count` equal releases. For a part in rho or mu, basic composition converts it at `delta` (0:
 * unset). */
struct compose_part {
    enum compose_unit unit;
    double value; /* in (0, COMPOSE_VALUE_MAX] */
    double delta; /* in [0, 1) */
    /* Gaussian noise calibrated by the analytic formula or a certificate row, so that its (epsilon,
     * delta) determines its mu. */
    bool is_gaussian;
    uint64_t count; /* 1 .. COMPOSE_COUNT_MAX */
};

enum accountant {
    ACCOUNTANT_BASIC,
    ACCOUNTANT_ZCDP,
    ACCOUNTANT_GDP,
    ACCOUNTANT_OPTIMAL,
    ACCOUNTANTS,
};

struct composition {
    const char *why; /* the reason why it does not apply; NULL: it applies */
    double epsilon, delta;
    double rho, mu; /* totals, for zcdp and gdp; else 0 */
};

const char *accountant_name(enum accountant accountant);
const char *accountant_assumption(enum accountant accountant);

/* Runs all accountants for a total `delta` in (0, 1); 0: the sum of the parts' own deltas. */
void compose(const struct compose_part *parts, size_t n_parts, double delta,
             struct composition out[ACCOUNTANTS]);

/* The applicable accountant with the smallest epsilon, the first one if equal; ACCOUNTANTS:
 * none. */
enum accountant compose_best(const struct composition compositions[ACCOUNTANTS]);

#endif

/* Composition: what several releases about the same people cost together.
 *
 * Four accountants look at the same list; each says what it found or why it does not apply, and each
 * answer is a guarantee by itself (compose_assumption has its conditions). All take the list as fixed
 * before anything is released. Rounded up. */
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

/* Equal releases. Of a part in rho or mu, `delta` (0: none) is where basic composition converts it. */
struct compose_part {
    enum compose_unit unit;
    double value;     /* in (0, COMPOSE_VALUE_MAX] */
    double delta;     /* in [0, 1) */
    bool is_gaussian; /* Gaussian noise, calibrated by the analytic formula or a certificate row: an
                         (epsilon, delta) of it stands for its mu */
    uint64_t count;   /* 1 .. COMPOSE_COUNT_MAX */
};

enum accountant {
    ACCOUNTANT_BASIC,
    ACCOUNTANT_ZCDP,
    ACCOUNTANT_GDP,
    ACCOUNTANT_OPTIMAL,
    ACCOUNTANTS,
};

struct composition {
    const char *why; /* why it does not apply; NULL: it does */
    double epsilon, delta;
    double rho, mu; /* totals of zcdp, gdp; else 0 */
};

const char *accountant_name(enum accountant accountant);
const char *accountant_assumption(enum accountant accountant);

/* Runs all of them for a total `delta` in (0, 1); 0 stands for the sum of the parts' own deltas. */
void compose(const struct compose_part *parts, size_t n_parts, double delta,
             struct composition out[ACCOUNTANTS]);

/* The applicable accountant with the smallest epsilon, the first among equals; ACCOUNTANTS: none. */
enum accountant compose_best(const struct composition compositions[ACCOUNTANTS]);

#endif

#include "account/compose.h"

#include "account/gaussian.h"
#include "account/optimal.h"
#include "account/outward.h"
#include "account/zcdp.h"

#define SUM_MARGIN 5e-16  /* a product is rounded once, a compensated sum once more */
#define DELTA_SLACK 1e-12 /* so that 10 times 1e-7 does not exceed 1e-6 */
#define ROOT_MARGIN 1e-9  /* turns gaussian_mu, which is rounded down, into an upper bound */

static const char *const names[ACCOUNTANTS] = {"basic", "zcdp", "gdp", "optimal"};
static const char *const assumptions[ACCOUNTANTS] = {
    "basic: epsilons and deltas add; holds for any releases, also when each is chosen after seeing "
    "the ones before. A part in rho or mu is converted by itself first",
    "zcdp: rhos add, pure epsilon counts as rho = epsilon^2/2, other deltas are added at the end; "
    "holds for discrete Gaussian noise too (a device's sampler is cut off: for reports of rho at "
    "most "
    "8 each add epsilon 2^-39 and delta 2^-75 for every Gaussian coordinate released, and delta "
    "2^-40 for every 1 of rho)",
    "gdp: mu^2 adds, exact for continuous Gaussian noise only; discrete noise is not mu-GDP, give "
    "its "
    "rho instead",
    "optimal: equal pure releases, exact for the worst such mechanism (Kairouz, Oh, Viswanath "
    "2015)",
};

const char *accountant_name(enum accountant accountant)
{
    return names[accountant];
}

const char *accountant_assumption(enum accountant accountant)
{
    return assumptions[accountant];
}

/* A compensated sum (Neumaier): SUM_MARGIN covers any number of terms. A sum without rounding, such
 * as one of integer epsilons, needs no margin. */
struct sum {
    double value, rest;
    bool is_rounded;
};

static void sum_add(struct sum *sum, double x)
{
    const double total = sum->value + x;
    const double error =
        fabs(sum->value) >= fabs(x) ? (sum->value - total) + x : (x - total) + sum->value;
    sum->rest += error;
    sum->is_rounded = sum->is_rounded || error != 0;
    sum->value = total;
}

static void sum_add_times(struct sum *sum, double x, double count)
{
    const double product = x * count;
    sum->is_rounded = sum->is_rounded || fma(x, count, -product) != 0;
    sum_add(sum, product);
}

static double sum_rounded_up(const struct sum *sum)
{
    const double total = sum->value + sum->rest;
    return total > 0 && sum->is_rounded ? outward_up(total, SUM_MARGIN) : total;
}

/* Rounded to nearest, for deltas given by the user. */
static double sum_nearest(const struct sum *sum)
{
    return sum->value + sum->rest;
}

static double own_delta(const struct compose_part *parts, size_t n_parts)
{
    struct sum sum = {0};
    for (size_t i = 0; i < n_parts; i++) {
        sum_add_times(&sum, parts[i].delta, (double)parts[i].count);
    }
    return sum_nearest(&sum);
}

static double part_epsilon(const struct compose_part *part, double delta)
{
    switch (part->unit) {
    case COMPOSE_RHO:
        return zcdp_epsilon(part->value, delta);
    case COMPOSE_MU:
        return gaussian_epsilon(part->value, delta);
    case COMPOSE_EPSILON:
        break;
    }
    return part->value;
}

static bool needs_delta(const struct compose_part *part)
{
    return part->unit != COMPOSE_EPSILON && part->delta <= 0;
}

/* Releases in rho or mu without a delta of their own share the rest of `delta` equally. */
static void compose_basic(const struct compose_part *parts, size_t n_parts, double delta,
                          struct composition *out)
{
    const double own = own_delta(parts, n_parts);
    double n_needy = 0;
    struct sum sum = {0};
    for (size_t i = 0; i < n_parts; i++) {
        n_needy += needs_delta(&parts[i]) ? (double)parts[i].count : 0;
    }
    const double share = n_needy > 0 ? (delta - own) / n_needy * (1 - DELTA_SLACK) : 0;
    if (delta > 0 && own > delta * (1 + DELTA_SLACK)) {
        out->why = "the deltas of the parts add to more than the total delta";
        return;
    }
    if (n_needy > 0 && !(share > 1e-300)) {
        out->why = "no delta is left for the parts in rho or mu that bring none";
        return;
    }
    for (size_t i = 0; i < n_parts; i++) {
        const double at = needs_delta(&parts[i]) ? share : parts[i].delta;
        sum_add_times(&sum, part_epsilon(&parts[i], at), (double)parts[i].count);
    }
    out->epsilon = sum_rounded_up(&sum);
    out->delta = n_needy > 0 ? delta : own;
}

/* Bun, Steinke 2016: an (epsilon, delta) release is delta-approximately epsilon^2/2-zCDP. */
static double part_rho(const struct compose_part *part)
{
    switch (part->unit) {
    case COMPOSE_RHO:
        return part->value;
    case COMPOSE_MU:
        return zcdp_of_gaussian(part->value);
    case COMPOSE_EPSILON:
        break;
    }
    return part->is_gaussian
               ? zcdp_of_gaussian(outward_up(gaussian_mu(part->value, part->delta), ROOT_MARGIN))
               : zcdp_of_pure(part->value);
}

static void compose_zcdp(const struct compose_part *parts, size_t n_parts, double delta,
                         struct composition *out)
{
    struct sum rho = {.is_rounded = true}, lost = {0}; /* rho values are rounded */
    for (size_t i = 0; i < n_parts; i++) {
        const bool is_approximate = parts[i].unit == COMPOSE_EPSILON && !parts[i].is_gaussian;
        sum_add_times(&rho, part_rho(&parts[i]), (double)parts[i].count);
        sum_add_times(&lost, is_approximate ? parts[i].delta : 0, (double)parts[i].count);
    }
    out->rho = sum_rounded_up(&rho);
    const double rest = delta - sum_rounded_up(&lost);
    if (!(rest > 1e-300)) {
        out->why = delta > 0 ? "no delta is left beside those of the parts"
                             : "it needs a total delta above 0";
        return;
    }
    out->epsilon = zcdp_epsilon(out->rho, rest);
    out->delta = delta;
}

static void compose_gdp(const struct compose_part *parts, size_t n_parts, double delta,
                        struct composition *out)
{
    struct sum square = {.is_rounded = true}; /* sum of mu^2 */
    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i].unit != COMPOSE_MU) {
            out->why = "not every part is given by mu";
            return;
        }
        sum_add(&square, parts[i].value * parts[i].value * (double)parts[i].count);
    }
    out->mu = outward_up(sqrt(sum_rounded_up(&square)), 0);
    if (!(delta > 1e-300)) {
        out->why = "it needs a total delta above 0";
        return;
    }
    out->epsilon = gaussian_epsilon(out->mu, delta);
    out->delta = delta;
}

static void compose_optimal(const struct compose_part *parts, size_t n_parts, double delta,
                            struct composition *out)
{
    uint64_t count = 0;
    for (size_t i = 0; i < n_parts; i++) {
        const struct compose_part *part = &parts[i];
        if (part->unit != COMPOSE_EPSILON || part->delta > 0 || part->value != parts[0].value) {
            out->why = "not all parts have the same pure epsilon";
            return;
        }
        count += part->count; /* at most 10^5 times 10^15 */
        if (count > OPTIMAL_COUNT_MAX) {
            out->why = "more than 10^8 releases";
            return;
        }
    }
    if (!(delta > 1e-300)) {
        out->why = "it needs a total delta above 0";
        return;
    }
    out->epsilon = optimal_epsilon(parts[0].value, count, delta);
    out->delta = delta;
}

void compose(const struct compose_part *parts, size_t n_parts, double delta,
             struct composition out[ACCOUNTANTS])
{
    const double total = delta > 0 ? delta : own_delta(parts, n_parts);
    for (int a = 0; a < ACCOUNTANTS; a++) {
        out[a] = (struct composition){0};
    }
    compose_basic(parts, n_parts, delta, &out[ACCOUNTANT_BASIC]);
    if (total >= 1) {
        out[ACCOUNTANT_ZCDP].why = out[ACCOUNTANT_GDP].why = out[ACCOUNTANT_OPTIMAL].why =
            "the deltas of the parts add to 1 or more";
        return;
    }
    compose_zcdp(parts, n_parts, total, &out[ACCOUNTANT_ZCDP]);
    compose_gdp(parts, n_parts, total, &out[ACCOUNTANT_GDP]);
    compose_optimal(parts, n_parts, total, &out[ACCOUNTANT_OPTIMAL]);
}

enum accountant compose_best(const struct composition compositions[ACCOUNTANTS])
{
    enum accountant best = ACCOUNTANTS;
    for (enum accountant a = ACCOUNTANT_BASIC; a < ACCOUNTANTS; a++) {
        if (!compositions[a].why &&
            (best == ACCOUNTANTS || compositions[a].epsilon < compositions[best].epsilon)) {
            best = a;
        }
    }
    return best;
}

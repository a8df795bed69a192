/* The dominating pair (the 2023 paper; for all mechanisms at once). Let E = e^epsilon0 and
 *
 *   C ~ Bin(n - 1, 2/(E + 1)),  A ~ Bin(C, 1/2),  B ~ Bernoulli(E/(E + 1)),
 *   P = (A + B, C - A + 1 - B),   Q = (A + 1 - B, C - A + B).
 *
 * Why it dominates: every epsilon0-private mechanism is the post-processing of one whose
 * probabilities of an output y, over inputs x, take only the two values p_y and E p_y (a point of
 * the cube [1, E]^m is a mixture of its corners). For such a mechanism let S0 be the outputs with
 * probabilities (E, 1) p_y at the two inputs x0, x1 of the user who is replaced, and S1 those with
 * (1, E) p_y; both have the same mass w <= 1/(E + 1) at the small value. All other outputs have the
 * same probability under x0 and x1, and every other user's law is at least p_y on S0 and S1. So the
 * replaced user reports "0" or "1" with probability w (E + 1), the true one with odds E, and every
 * other user is a fair coin between 0 and 1 with probability 2 w. For w = 1/(E + 1) these are P and
 * Q. A smaller w is a post-processing of them: each of the C + 1 answers is kept with probability w
 * (E + 1).
 *
 * Given C = c the likelihood ratio increases with a = the first count, and
 *
 *   delta_c(epsilon) = b [(E - e^epsilon)/(E + 1) - (e^epsilon - 1) F/b],
 *   b = P[Bin(c, 1/2) = t - 1],  F = P[Bin(c, 1/2) >= t],
 *   t = ceil((c + 1) (e^epsilon E - 1) / ((E - 1)(1 + e^epsilon))).
 *
 * delta is the mean of delta_c. Upper bound:
 * (1) delta_c decreases with c (one more coin is post-processing), so in a block of values of C the
 *     delta of the smallest one is used for all;
 * (2) binomial probabilities are log-concave, so in a block they are at most the geometric sequence
 *     through the block's middle, and beyond the blocks at most a geometric series;
 * (3) F is a lower bound (binomial.h), and the sum is raised by MARGIN, which covers rounding. */
#include "account/shuffle.h"

#include "account/binomial.h"
#include "account/outward.h"

#define MARGIN 1e-6
#define REST 1e-6           /* relative to `scale`: mass beyond the blocks, on each side */
#define BLOCKS_PER_SD 64    /* blocks per standard deviation of C */
#define BISECTIONS 60       /* of epsilon in [0, epsilon0] */
#define EPSILON_END 1e-9    /* relative width at which the bisection stops */
#define CLOSED_MARGIN 1e-14 /* of the closed forms: a few roundings */

double shuffle_closed_limit(double n, double delta)
{
    return outward_down(log(n / (8 * log(2 / delta)) - 1), CLOSED_MARGIN);
}

double shuffle_closed_epsilon(double epsilon0, double n, double delta)
{
    const double e = exp(epsilon0);
    const double factor = 4 * sqrt(2 * log(4 / delta)) / sqrt((e + 1) * n) + 4 / n;
    return fmin(epsilon0, outward_up(log1p(expm1(epsilon0) * factor), CLOSED_MARGIN));
}

double shuffle_clones_limit(double n, double delta)
{
    return outward_down(log(n / (16 * log(2 / delta))), CLOSED_MARGIN);
}

double shuffle_clones_epsilon(double epsilon0, double n, double delta)
{
    const double e = exp(epsilon0);
    const double factor = 8 * sqrt(e * log(4 / delta)) / sqrt(n) + 8 * e / n;
    return fmin(epsilon0, outward_up(log1p(tanh(epsilon0 / 2) * factor), CLOSED_MARGIN));
}

bool shuffle_holds(double epsilon0, double limit)
{
    return epsilon0 <= limit; /* false when the limit is NaN */
}

struct pair {
    double epsilon;
    double epsilon0;
    double trials; /* n - 1 */
    double p, q;   /* 2/(E + 1) and (E - 1)/(E + 1) */
    double first;  /* (E - e^epsilon)/(E + 1) */
    double slope;  /* t = ceil(slope (c + 1)); in [1/2, 1] */
};

static void make_pair(struct pair *pair, double epsilon0, double n, double epsilon)
{
    const double above = expm1(epsilon), below = -expm1(-epsilon0); /* e^epsilon - 1, 1 - 1/E */
    pair->epsilon = epsilon;
    pair->epsilon0 = epsilon0;
    pair->trials = n - 1;
    pair->p = 2 / (exp(epsilon0) + 1);
    pair->q = tanh(epsilon0 / 2);
    pair->first = -expm1(epsilon - epsilon0) / (1 + exp(-epsilon0));
    pair->slope = (above + below) / (below * (2 + above));
}

/* delta_c (see the top of this file). */
static double delta_given(const struct pair *pair, double c)
{
    const double lowest = floor(c / 2) + 1; /* t is above the middle for every epsilon > 0 */
    const double t = fmin(fmax(ceil(pair->slope * (c + 1)), lowest), c + 1);
    const double tail = pair->epsilon > 0 ? binomial_fair_tail(c, t) : 0;
    const double bracket = pair->first - expm1(pair->epsilon) * tail;
    return bracket > 0 ? exp(binomial_log_pmf(c, t - 1, 0.5, 0.5)) * bracket : 0;
}

/* pmf(c + 1) / pmf(c) of C; decreases with c. */
static double step_up(const struct pair *pair, double c)
{
    return (pair->trials - c) * pair->p / ((c + 1) * pair->q);
}

static double log_pmf(const struct pair *pair, double c)
{
    return binomial_log_pmf(pair->trials, c, pair->p, pair->q);
}

/* Upper bound of P[C < c] for c below the mode; 0 for c = 0. */
static double mass_below(const struct pair *pair, double c)
{
    if (c <= 0) {
        return 0;
    }
    const double step = 1 / step_up(pair, c - 1); /* pmf(c - 1) / pmf(c) */
    return step < 1 ? fmin(1, exp(log_pmf(pair, c)) * step / (1 - step)) : 1;
}

/* Upper bound of P[C > c] for c above the mode; 0 for c = n - 1. */
static double mass_above(const struct pair *pair, double c)
{
    if (c >= pair->trials) {
        return 0;
    }
    const double step = step_up(pair, c);
    return step < 1 ? fmin(1, exp(log_pmf(pair, c)) * step / (1 - step)) : 1;
}

/* The largest c with mass_below(c) <= mass, or the smallest with mass_above(c) <= mass. */
static double find_end(const struct pair *pair, double mass, bool is_lower)
{
    const double mode = floor((pair->trials + 1) * pair->p);
    double low = is_lower ? 0 : mode - 1, high = is_lower ? mode + 1 : pair->trials;
    while (high - low > 1) {
        const double middle = floor(low + (high - low) / 2);
        const double tail = is_lower ? mass_below(pair, middle) : mass_above(pair, middle);
        if ((tail <= mass) == is_lower) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return is_lower ? low : high;
}

/* s + s^2 + ... + s^n for s = e^log_s. */
static double geometric(double log_s, double n)
{
    const double rest = expm1(log_s);
    return rest == 0 ? n : exp(log_s) * expm1(n * log_s) / rest;
}

/* Upper bound (2) of P[c <= C < c + width]. */
static double block_mass(const struct pair *pair, double c, double width)
{
    const double middle = c + floor((width - 1) / 2);
    const double top = exp(log_pmf(pair, middle));
    if (width <= 1) {
        return top;
    }
    const double log_step = log(step_up(pair, middle));
    return top *
           (1 + geometric(log_step, c + width - 1 - middle) + geometric(-log_step, middle - c));
}

double shuffle_delta(double epsilon0, double n, double epsilon, double scale)
{
    struct pair pair;
    if (epsilon >= epsilon0) {
        return 0;
    }
    make_pair(&pair, epsilon0, n, epsilon);
    const double low = find_end(&pair, REST * scale, true);
    const double high = find_end(&pair, REST * scale, false);
    const double sd = sqrt(pair.trials * pair.p * pair.q);
    const double width = fmax(1, floor(sd / BLOCKS_PER_SD));
    double sum = mass_below(&pair, low) * delta_given(&pair, 0);
    double c = low;
    for (; c <= high; c += width) {
        const double w = fmin(width, pair.trials + 1 - c);
        sum += block_mass(&pair, c, w) * delta_given(&pair, c);
    }
    sum += mass_above(&pair, fmin(c - 1, pair.trials)) * delta_given(&pair, fmin(c, pair.trials));
    return fmin(1, sum * (1 + MARGIN));
}

double shuffle_tight_epsilon(double epsilon0, double n, double delta)
{
    double low = 0, high = epsilon0;
    if (shuffle_delta(epsilon0, n, 0, delta) <= delta) {
        return 0;
    }
    for (int i = 0; i < BISECTIONS && high - low > EPSILON_END * high; i++) {
        const double middle = low + (high - low) / 2;
        if (shuffle_delta(epsilon0, n, middle, delta) <= delta) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

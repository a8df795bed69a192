#include "account/sphere.h"

#include "account/beta.h"

#include <math.h>

#define HALVINGS 200
#define NODES 400       /* of an expectation over the cap's share */
#define REACH_SIGMAS 40 /* beyond this the slowest tail, exponential for n = 1, is below 1e-17 */

/* S, U and M of a cap. */
struct cap {
    double share, cost, mean;
};

/* H = 2^p B((d + p)/2, d/2) / B(d/2, d/2). */
static double mean_cost(const struct sphere *s)
{
    const double half = s->dim / 2;
    return exp(s->power * log(2) + beta_log(half + s->power / 2, half) - beta_log(half, half));
}

/* The cap of all directions with (1 - <x, y>)/2 <= w; v = 1 - w. M is elementary: u = <x, y> has
 * the density f(u) = (1 - u^2)^(d/2 - 1) / B(1/2, d/2), so the integral of u f from t to 1 is
 * (1 - t^2)^(d/2) / (d B(1/2, d/2)). */
static struct cap find_cap(const struct sphere *s, double w, double v)
{
    const double half = s->dim / 2;
    const double log_normal = log(s->dim) + beta_log(0.5, half);
    return (struct cap){.share = beta_cumulative(half, half, w, v).below,
                        .cost =
                            mean_cost(s) * beta_cumulative(half + s->power / 2, half, w, v).below,
                        .mean = w > 0 && v > 0 ? exp(half * log(4 * w * v) - log_normal) : 0};
}

static dpot_status check(const struct sphere *s, double epsilon, struct dpot_error *error)
{
    if (!(s->dim >= 1 && s->dim <= SPHERE_DIM_MAX) || floor(s->dim) != s->dim) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the dimension of the sphere is %g: choose an integer from 1 to %d",
                              s->dim, SPHERE_DIM_MAX);
    }
    if (!(s->power >= 1 && s->power <= 64)) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "the power is %g: choose 1 to 64", s->power);
    }
    if (!(epsilon > 0 && epsilon <= 40)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "epsilon is %g: choose a positive number up to 40", epsilon);
    }
    return DPOT_OK;
}

/* With A = e^(epsilon/2) - e^(-epsilon/2) and B = e^(-epsilon/2), t* is the root of the increasing
 * function G(t) = A U(t) + B H - g(t) (B + A S(t)), g(t) = (2 - 2t)^(p/2). All terms are divided by
 * e^(epsilon/2). */
static double optimality(const struct sphere *s, double epsilon, double h, double w)
{
    const struct cap cap = find_cap(s, w, 1 - w);
    const double b = exp(-epsilon), a = -expm1(-epsilon);
    return a * cap.cost + b * h - pow(4 * w, s->power / 2) * (b + a * cap.share);
}

dpot_status sphere_solve(const struct sphere *sphere, double epsilon,
                         struct sphere_optimum *optimum, struct dpot_error *error)
{
    const dpot_status status = check(sphere, epsilon, error);
    if (status != DPOT_OK) {
        return status;
    }
    const double h = mean_cost(sphere);
    double lo = 0, hi = 1; /* bounds of w: G falls from B H to below 0 */
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = lo + (hi - lo) / 2;
        if (optimality(sphere, epsilon, h, middle) > 0) {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    const struct cap cap = find_cap(sphere, lo, 1 - lo);
    const double b = exp(-epsilon), a = -expm1(-epsilon);
    const double scale = 1 / (b + a * cap.share); /* alpha e^(epsilon/2) */
    *optimum = (struct sphere_optimum){.threshold = 1 - 2 * lo,
                                       .total_mass = scale * exp(-epsilon / 2),
                                       .cap = cap.share,
                                       .cost = scale * (a * cap.cost + b * h),
                                       .mean_cost = h,
                                       .contraction = scale * a * cap.mean};
    return DPOT_OK;
}

/* w as a function of its logit, with v = 1 - w. */
static double from_logit(double logit, double *v)
{
    *v = 1 / (1 + exp(logit));
    return 1 / (1 + exp(-logit));
}

/* The logit of the w whose cap has the given share, as a logit. */
static double find_logit(const struct sphere *s, double share_logit)
{
    double lo = -740, hi = 740;
    for (int i = 0; i < 60; i++) {
        double v;
        const double middle = (lo + hi) / 2, w = from_logit(middle, &v);
        const struct beta_tails tails = beta_cumulative(s->dim / 2, s->dim / 2, w, v);
        if (tails.below > 0 && log(tails.below) - log(tails.above) > share_logit) {
            hi = middle;
        } else {
            lo = middle;
        }
    }
    return (lo + hi) / 2;
}

/* Log density, up to a constant, of the logit of w if the share of its cap is Beta(n, K - n). */
static double log_density(const struct sphere *s, double n, double k, double w, double v)
{
    const double half = s->dim / 2;
    const struct beta_tails tails = beta_cumulative(half, half, w, v);
    if (!(tails.below > 0 && tails.above > 0)) {
        return -INFINITY;
    }
    return (n - 1) * log(tails.below) + (k - n - 1) * log(tails.above) + half * log(w * v);
}

/* The cap of the n nearest of K directions, per direction: E (S, U, M), see the header. Trapezoid
 * rule in the logit of w, where the integrand is analytic and decays on both sides, so its error is
 * that of rounding. The weights are normalised, so no constant is needed. */
static struct cap nearest_cap(const struct sphere *s, double n, double k)
{
    const struct cap all = {1, mean_cost(s), 0};
    if (n <= 0) {
        return (struct cap){0, 0, 0};
    }
    if (n >= k) {
        return all;
    }
    const double centre = log(n) - log(k - n), sigma = sqrt(1 / n + 1 / (k - n));
    const double first = find_logit(s, centre - REACH_SIGMAS * sigma);
    const double last = find_logit(s, centre + REACH_SIGMAS * sigma);
    double v, w = from_logit(find_logit(s, centre), &v), sum = 0;
    const double peak = log_density(s, n, k, w, v);
    struct cap mean = {0, 0, 0};
    for (int i = 0; i < NODES; i++) {
        w = from_logit(first + (last - first) * i / (NODES - 1), &v);
        const double weight = exp(log_density(s, n, k, w, v) - peak);
        if (weight > 0) {
            const struct cap cap = find_cap(s, w, v);
            sum += weight;
            mean.share += weight * cap.share;
            mean.cost += weight * cap.cost;
            mean.mean += weight * cap.mean;
        }
    }
    return (struct cap){mean.share / sum, mean.cost / sum, mean.mean / sum};
}

void sphere_measure(const struct sphere *sphere, uint32_t n_directions, double lower, double upper,
                    struct sphere_channel *channel)
{
    const double k = n_directions, spread = upper - lower;
    const double n_near = spread > 0 ? fmin(fmax((1 - k * lower) / spread, 0), k) : 0;
    const double whole = floor(n_near), part = n_near - whole;
    const struct cap in = nearest_cap(sphere, whole, k);
    const struct cap out = part > 0 ? nearest_cap(sphere, whole + 1, k) : in;
    const double cost = in.cost + part * (out.cost - in.cost);
    const double mean = in.mean + part * (out.mean - in.mean);
    *channel = (struct sphere_channel){.n_near = n_near,
                                       .cost = k * (lower * mean_cost(sphere) + spread * cost),
                                       .contraction = k * spread * mean};
}

/* n directions with the upper probability e^(epsilon/2) m / K, the others with e^(-epsilon/2)
 * m / K. */
static struct sphere_choice choose_near(const struct sphere *s, double epsilon, double n, double k)
{
    const double b = exp(-epsilon), a = -expm1(-epsilon);
    const struct cap cap = nearest_cap(s, n, k);
    const double scale = 1 / (b + a * n / k);
    return (struct sphere_choice){
        .total_mass = scale * exp(-epsilon / 2),
        .channel = {n, scale * (a * cap.cost + b * mean_cost(s)), scale * a * cap.mean}};
}

/* The cost decreases in n while the next nearest direction is cheaper, in expectation, than the law
 * so far, and increases from there: the discrete form of G(t) = 0. */
void sphere_choose(const struct sphere *sphere, double epsilon, uint32_t n_directions,
                   struct sphere_choice *choice)
{
    const double k = n_directions;
    double lo = 1, hi = k - 1;
    while (lo < hi) {
        const double middle = floor((lo + hi) / 2);
        const double here = choose_near(sphere, epsilon, middle, k).channel.cost;
        if (choose_near(sphere, epsilon, middle + 1, k).channel.cost < here) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    *choice = choose_near(sphere, epsilon, lo, k);
}

void sphere_scatter(const struct sphere *sphere, uint32_t n_directions, double lower, double upper,
                    struct sphere_scatter *scatter)
{
    const struct sphere second = {sphere->dim, 2}, fourth = {sphere->dim, 4};
    struct sphere_channel square, quartic;
    sphere_measure(&second, n_directions, lower, upper, &square);
    sphere_measure(&fourth, n_directions, lower, upper, &quartic);
    /* h = 1 - <x, y> avoids cancellation: <x, y> is near 1 for large epsilon. */
    const double h = square.cost / 2, h_square = quartic.cost / 4;
    *scatter = (struct sphere_scatter){.along = fmax(h_square - h * h, 0),
                                       .across = fmax(2 * h - h_square, 0) / sphere->dim,
                                       .square = 1 - 2 * h + h_square};
}

double sphere_report_variance(double contraction)
{
    return 1 / (contraction * contraction) - 1;
}

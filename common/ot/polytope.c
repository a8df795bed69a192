#include "ot/polytope.h"

#include <float.h>
#include <math.h>

/* The equation sum_j min(max(e^theta s_j, l_j), u_j) = 1 is solved in one of two coordinates: in
 * t = e^theta, where the sum is piecewise linear, or in theta itself, where s may span any range.
 * Both are a position on the line, and the search below knows only what this table says.
 *
 * Newton's step from a position is exact as soon as the set of free entries (those strictly inside
 * their bounds) is the right one: the next step then repeats the position, to the last bit in t.
 * Every evaluation also tightens a bracket; a step that leaves it, or too many steps, fall back on
 * bisection, so the search ends whatever the data. */
struct position {
    double sum;  /* of the clipped entries */
    double next; /* Newton's step; NaN when no entry is free */
};

struct coordinate {
    struct position (*evaluate)(const struct dpot_polytope *polytope, const double *values,
                                double at);
    void (*range)(const struct dpot_polytope *polytope, const double *values, double *lo,
                  double *hi);
    double (*middle)(double lo, double hi);
    double lowest;
    double slack; /* relative distance of two positions that count as equal */
};

#define STEPS_MAX 200
#define NEWTON_STEPS 12 /* after these, every other step bisects */
#define LANES 8

/* Floor of the bounds when the range of positions is sought: a bound of zero is reached only in the
 * limit, and n of these are nothing beside a mass of one. */
#define BOUND_FLOOR 1e-40

static double clip(double x, double lower, double upper)
{
    const double raised = x > lower ? x : lower; /* NaN gives the lower bound */
    return raised < upper ? raised : upper;
}

/* Independent lanes, added in a fixed order: the compiler may vectorise them and the sum has the
 * same bits on every machine. */
static double add_lanes(const double lanes[LANES])
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

static struct position evaluate_linear(const struct dpot_polytope *polytope, const double *s,
                                       double scale)
{
    const size_t n = polytope->size, n_blocks = n - n % LANES;
    const double *lower = polytope->lower, *upper = polytope->upper;
    double bound[LANES] = {0}, free_s[LANES] = {0};
    for (size_t j = 0; j < n_blocks; j += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            const double x = scale * s[j + k], l = lower[j + k], u = upper[j + k];
            const double at_bound = x >= u ? u : l;
            const double is_free = x > l && x < u ? 1.0 : 0.0;
            bound[k] += is_free != 0.0 ? 0.0 : at_bound;
            free_s[k] += is_free != 0.0 ? s[j + k] : 0.0;
        }
    }
    for (size_t j = n_blocks; j < n; j++) {
        const double x = scale * s[j], l = lower[j], u = upper[j];
        const int is_free = x > l && x < u;
        bound[j % LANES] += is_free ? 0.0 : x >= u ? u : l;
        free_s[j % LANES] += is_free ? s[j] : 0.0;
    }
    const double bound_sum = add_lanes(bound), free_sum = add_lanes(free_s);
    return (struct position){bound_sum + scale * free_sum,
                             free_sum > 0.0 ? (1.0 - bound_sum) / free_sum : NAN};
}

static struct position evaluate_log(const struct dpot_polytope *polytope, const double *log_s,
                                    double theta)
{
    double bound_sum = 0.0, free_sum = 0.0;
    for (size_t j = 0; j < polytope->size; j++) {
        const double x = exp(log_s[j] + theta), l = polytope->lower[j], u = polytope->upper[j];
        const int is_free = x > l && x < u;
        bound_sum += is_free ? 0.0 : x >= u ? u : l;
        free_sum += is_free ? x : 0.0;
    }
    return (struct position){bound_sum + free_sum, free_sum > 0.0 && bound_sum < 1.0
                                                       ? theta + log((1.0 - bound_sum) / free_sum)
                                                       : NAN};
}

/* From below `lo` everything lies at its lower bound, from above `hi` at its upper one. Entries
 * that no position moves (zero, infinite, NaN) do not count. */
static void range_linear(const struct dpot_polytope *polytope, const double *s, double *lo,
                         double *hi)
{
    for (size_t j = 0; j < polytope->size; j++) {
        if (s[j] > 0.0 && s[j] <= DBL_MAX) {
            const double rise = fmax(polytope->lower[j], BOUND_FLOOR) / s[j];
            const double stop = fmax(polytope->upper[j], BOUND_FLOOR) / s[j];
            *lo = rise < *lo ? rise : *lo;
            *hi = stop > *hi ? stop : *hi;
        }
    }
    *lo = fmax(*lo, DBL_MIN);
    *hi = fmin(*hi, DBL_MAX);
}

static void range_log(const struct dpot_polytope *polytope, const double *log_s, double *lo,
                      double *hi)
{
    for (size_t j = 0; j < polytope->size; j++) {
        if (fabs(log_s[j]) <= DBL_MAX) {
            const double rise = log(fmax(polytope->lower[j], BOUND_FLOOR)) - log_s[j];
            const double stop = log(fmax(polytope->upper[j], BOUND_FLOOR)) - log_s[j];
            *lo = rise < *lo ? rise : *lo;
            *hi = stop > *hi ? stop : *hi;
        }
    }
}

static double middle_linear(double lo, double hi)
{
    return sqrt(lo) * sqrt(hi);
}

static double middle_log(double lo, double hi)
{
    return lo / 2.0 + hi / 2.0;
}

static const struct coordinate linear = {evaluate_linear, range_linear, middle_linear, 0.0, 0.0};
static const struct coordinate logarithmic = {evaluate_log, range_log, middle_log, -INFINITY,
                                              4.0 * DBL_EPSILON};

/* What rounding may leave of |sum q - 1|: absolute mass. */
static double rounding_of(const struct dpot_polytope *polytope)
{
    return DBL_EPSILON * ((double)polytope->size + 8.0);
}

static double search(const struct coordinate *coordinate, const struct dpot_polytope *polytope,
                     const double *values, double start)
{
    double at = start, lo = coordinate->lowest, hi = INFINITY;
    int has_range = 0;
    for (int step = 0; step < STEPS_MAX; step++) {
        const struct position position = coordinate->evaluate(polytope, values, at);
        double next = position.next;
        if (fabs(next - at) <= coordinate->slack * fmax(1.0, fabs(at))) {
            break;
        }
        if (isnan(next) && fabs(position.sum - 1.0) <= rounding_of(polytope)) {
            break; /* a vertex of the polytope */
        }
        if (position.sum < 1.0) {
            lo = at;
        } else {
            hi = at;
        }
        if (!(next > lo && next < hi) || (step >= NEWTON_STEPS && step % 2 == 1)) {
            if (!has_range) {
                double first = DBL_MAX, last = coordinate->lowest;
                coordinate->range(polytope, values, &first, &last);
                lo = fmax(lo, first);
                hi = fmin(hi, last);
                has_range = 1;
            }
            next = coordinate->middle(lo, hi);
            if (!(next > lo && next < hi)) {
                break; /* the bracket is closed, or the polytope empty */
            }
        }
        at = next;
    }
    return at;
}

static double sum_of(const double *q, size_t n)
{
    const size_t n_blocks = n - n % LANES;
    double lanes[LANES] = {0};
    for (size_t j = 0; j < n_blocks; j += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            lanes[k] += q[j + k];
        }
    }
    for (size_t j = n_blocks; j < n; j++) {
        lanes[j % LANES] += q[j];
    }
    return add_lanes(lanes);
}

/* Spreads what is missing from (or exceeds) mass one over the room that is left. The search leaves
 * rounding only, except where no theta exists (infinite log_s) or theta is so large that its last
 * bit matters. The second pass takes the rounding of a first one that came from far away. */
static void mend_mass(const struct dpot_polytope *polytope, double *q)
{
    const size_t n = polytope->size;
    for (int pass = 0; pass < 2; pass++) {
        const double missing = 1.0 - sum_of(q, n);
        if (fabs(missing) <= rounding_of(polytope)) {
            return;
        }
        const double *target = missing > 0.0 ? polytope->upper : polytope->lower;
        double room = 0.0;
        for (size_t j = 0; j < n; j++) {
            room += fabs(target[j] - q[j]);
        }
        const double share = room > 0.0 ? fmin(1.0, fabs(missing) / room) : 0.0;
        for (size_t j = 0; j < n; j++) {
            q[j] = clip(q[j] + share * (target[j] - q[j]), polytope->lower[j], polytope->upper[j]);
        }
    }
}

double dpot_polytope_project_kl(const struct dpot_polytope *polytope, const double *log_s,
                                double theta_start, double *q)
{
    const double start = fabs(theta_start) <= DBL_MAX ? theta_start : 0.0;
    const double theta = search(&logarithmic, polytope, log_s, start);
    for (size_t j = 0; j < polytope->size; j++) {
        q[j] = clip(exp(log_s[j] + theta), polytope->lower[j], polytope->upper[j]);
    }
    mend_mass(polytope, q);
    return theta;
}

double dpot_polytope_project_kl_linear(const struct dpot_polytope *polytope, const double *s,
                                       double scale_start, double *q)
{
    const double start = scale_start >= DBL_MIN && scale_start <= DBL_MAX ? scale_start : 1.0;
    const double scale = search(&linear, polytope, s, start);
    for (size_t j = 0; j < polytope->size; j++) {
        q[j] = clip(scale * s[j], polytope->lower[j], polytope->upper[j]);
    }
    mend_mass(polytope, q);
    return scale;
}

#include "ot/polytope.h"

#include <float.h>
#include <math.h>

/* The equation sum_j min(max(e^theta s_j, l_j), u_j) = 1 is solved in one of two coordinates: in
 * t = e^theta, where the sum is piecewise linear, or in theta, where s may span any range. A
 * position is a value of that coordinate; the search uses only the functions of struct coordinate.
 *
 * A Newton step is exact once the set of free entries (those strictly inside their bounds) is
 * right: the next step then repeats the position, to the last bit in t. Every evaluation also
 * tightens a bracket, which is halved instead of a step that leaves it, and of every other step
 * after the first ones. The number of steps is fixed: a finished search repeats its position. */
struct position {
    double sum;  /* of the clipped entries */
    double next; /* Newton's step; NaN if no entry is free */
};

struct coordinate {
    struct position (*evaluate)(const struct dpot_polytope *polytope, const double *values,
                                double at);
    void (*range)(const struct dpot_polytope *polytope, const double *values, double *lo,
                  double *hi);
    double (*middle)(double lo, double hi);
    double (*move)(double at, double way); /* by a relative distance in t */
    double lowest;
    double least;   /* a distance is divided by max(|position|, least) */
    int near_steps; /* steps of DPOT_STEPS_NEAR */
};

#define STEPS 64
#define NEWTON_STEPS 12           /* after these, every other step bisects */
#define SLACK (4.0 * DBL_EPSILON) /* positions or masses this close are equal */
#define FIRST_WAY 0.02
#define WAY_GROWTH 5.0
#define EXPONENT_MAX 500.0
#define LANES 8

/* Smallest bound assumed in the range of positions: a bound of zero is reached only in the limit,
 * and n of these are negligible next to mass one. */
#define BOUND_FLOOR 1e-40

static double clip(double x, double lower, double upper)
{
    const double raised = x > lower ? x : lower; /* NaN gives the lower bound */
    return raised < upper ? raised : upper;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Independent lanes added in a fixed order: they can be vectorised, and the sum has the same bits
 * on every machine. */
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
            const double is_free = ((x > l) & (x < u)) ? 1.0 : 0.0;
            bound[k] += is_free != 0.0 ? 0.0 : at_bound;
            free_s[k] += is_free != 0.0 ? s[j + k] : 0.0;
        }
    }
    for (size_t j = n_blocks; j < n; j++) {
        const double x = scale * s[j], l = lower[j], u = upper[j];
        const int is_free = (x > l) & (x < u);
        const double at_bound = x >= u ? u : l;
        bound[j % LANES] += is_free ? 0.0 : at_bound;
        free_s[j % LANES] += is_free ? s[j] : 0.0;
    }
    const double bound_sum = add_lanes(bound), free_sum = add_lanes(free_s);
    return (struct position){bound_sum + scale * free_sum,
                             free_sum > 0.0 ? (1.0 - bound_sum) / free_sum : NAN};
}

/* Exponents far from 0, whose exp is 0, infinite or subnormal, are clipped: such entries are at a
 * bound. */
static struct position evaluate_log(const struct dpot_polytope *polytope, const double *log_s,
                                    double theta)
{
    double bound_sum = 0.0, free_sum = 0.0;
    for (size_t j = 0; j < polytope->size; j++) {
        const double exponent = log_s[j] + theta, l = polytope->lower[j], u = polytope->upper[j];
        const double x = exp(clip(exponent, -EXPONENT_MAX, EXPONENT_MAX));
        const int is_free = (x > l) & (x < u) & (exponent > -EXPONENT_MAX);
        const double at_bound = x >= u ? u : l;
        bound_sum += is_free ? 0.0 : at_bound;
        free_sum += is_free ? x : 0.0;
    }
    return (struct position){bound_sum + free_sum, free_sum > 0.0 && bound_sum < 1.0
                                                       ? theta + log((1.0 - bound_sum) / free_sum)
                                                       : NAN};
}

/* Below `lo` all entries are at their lower bound, above `hi` at their upper one. Entries that no
 * position changes (zero, infinite, NaN) are skipped. */
static void range_linear(const struct dpot_polytope *polytope, const double *s, double *lo,
                         double *hi)
{
    for (size_t j = 0; j < polytope->size; j++) {
        const int moves = (s[j] > 0.0) & (s[j] <= DBL_MAX);
        const double divisor = moves ? s[j] : 1.0;
        const double rise = larger(polytope->lower[j], BOUND_FLOOR) / divisor;
        const double stop = larger(polytope->upper[j], BOUND_FLOOR) / divisor;
        *lo = (moves & (rise < *lo)) ? rise : *lo;
        *hi = (moves & (stop > *hi)) ? stop : *hi;
    }
    *lo = larger(*lo, DBL_MIN);
    *hi = *hi < DBL_MAX ? *hi : DBL_MAX;
}

static void range_log(const struct dpot_polytope *polytope, const double *log_s, double *lo,
                      double *hi)
{
    for (size_t j = 0; j < polytope->size; j++) {
        const int moves = fabs(log_s[j]) <= DBL_MAX;
        const double rise = log(larger(polytope->lower[j], BOUND_FLOOR)) - log_s[j];
        const double stop = log(larger(polytope->upper[j], BOUND_FLOOR)) - log_s[j];
        *lo = (moves & (rise < *lo)) ? rise : *lo;
        *hi = (moves & (stop > *hi)) ? stop : *hi;
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

static double move_linear(double at, double way)
{
    return way > 0.0 ? at * (1.0 + way) : at / (1.0 - way);
}

static double move_log(double at, double way)
{
    return at + way;
}

static const struct coordinate linear = {
    evaluate_linear, range_linear, middle_linear, move_linear, 0.0, 0.0, 8};
static const struct coordinate logarithmic = {evaluate_log, range_log, middle_log, move_log,
                                              -INFINITY,    1.0,       12};

/* What rounding may leave of |sum q - 1|, absolute mass. */
static double rounding_of(const struct dpot_polytope *polytope)
{
    return DBL_EPSILON * ((double)polytope->size + 8.0);
}

struct bracket {
    double lo, hi;
};

/* Whether the position is the solution, to the last bit, or is at a vertex of the polytope, where
 * no entry is free. */
static int is_found(const struct coordinate *coordinate, const struct dpot_polytope *polytope,
                    double at, struct position position)
{
    const double size = fabs(at) > coordinate->least ? fabs(at) : coordinate->least;
    const int repeats = fabs(position.next - at) <= SLACK * size;
    const double missing = fabs(position.sum - 1.0);
    const int is_vertex = isnan(position.next) & (missing <= rounding_of(polytope));
    return repeats | is_vertex | (missing <= SLACK);
}

/* From a near start the bracket is open until its ends are found; the search goes beyond it by
 * growing distances. */
static double search(const struct coordinate *coordinate, const struct dpot_polytope *polytope,
                     const double *values, double start, struct bracket bracket,
                     enum dpot_polytope_steps steps)
{
    const int n_steps = steps == DPOT_STEPS_NEAR ? coordinate->near_steps : STEPS;
    double at = start, way = FIRST_WAY;
    for (int step = 0; step < n_steps; step++) {
        const struct position position = coordinate->evaluate(polytope, values, at);
        const int is_low = position.sum < 1.0;
        bracket.lo = is_low ? at : bracket.lo;
        bracket.hi = is_low ? bracket.hi : at;
        const int has_ends = (bracket.lo > coordinate->lowest) & (bracket.hi < INFINITY);
        const double middle = coordinate->middle(bracket.lo, bracket.hi);
        const double beyond = coordinate->move(at, is_low ? way : -way);
        const int is_inside = (position.next > bracket.lo) & (position.next < bracket.hi);
        const int is_newton = is_inside & ((step < NEWTON_STEPS) | (step % 2 == 0));
        const double next = is_newton ? position.next : has_ends ? middle : beyond;
        const int is_open = (next > bracket.lo) & (next < bracket.hi);
        const int is_end = is_found(coordinate, polytope, at, position);
        at = (is_open & !is_end) ? next : at;
        way *= WAY_GROWTH;
        if (steps == DPOT_STEPS_NEEDED && (is_end || !is_open)) {
            break;
        }
    }
    return at;
}

/* From any start: the bracket is the range of positions that change an entry, if there is one. */
static double search_all(const struct coordinate *coordinate, const struct dpot_polytope *polytope,
                         const double *values, double start, enum dpot_polytope_steps steps)
{
    struct bracket bracket = {DBL_MAX, coordinate->lowest};
    coordinate->range(polytope, values, &bracket.lo, &bracket.hi);
    const int is_inside = (start > bracket.lo) & (start < bracket.hi);
    const int has_range = bracket.lo <= bracket.hi;
    const double middle = coordinate->middle(bracket.lo, bracket.hi);
    return search(coordinate, polytope, values, (has_range & !is_inside) ? middle : start, bracket,
                  steps);
}

static double find_position(const struct coordinate *coordinate,
                            const struct dpot_polytope *polytope, const double *values,
                            double start, enum dpot_polytope_steps steps)
{
    const struct bracket everywhere = {coordinate->lowest, INFINITY};
    return steps == DPOT_STEPS_NEAR ? search(coordinate, polytope, values, start, everywhere, steps)
                                    : search_all(coordinate, polytope, values, start, steps);
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

/* Spreads what is missing from mass one, or exceeds it, over the room that is left. That is only
 * rounding, except where no theta exists (infinite log_s), theta is so large that its last bit
 * matters, or more breakpoints lie together than the steps can separate. The second pass removes
 * the rounding of a large first correction. */
static void correct_mass(const struct dpot_polytope *polytope, enum dpot_polytope_steps steps,
                         double *q)
{
    const size_t n = polytope->size;
    for (int pass = steps == DPOT_STEPS_NEAR ? 2 : 0; pass < 2; pass++) {
        const double missing = 1.0 - sum_of(q, n);
        const double *target = missing > 0.0 ? polytope->upper : polytope->lower;
        double room = 0.0;
        for (size_t j = 0; j < n; j++) {
            room += fabs(target[j] - q[j]);
        }
        const int is_right = fabs(missing) <= rounding_of(polytope);
        const double part = room > 0.0 ? fmin(1.0, fabs(missing) / room) : 0.0;
        const double share = is_right ? 0.0 : part;
        for (size_t j = 0; j < n; j++) {
            q[j] = clip(q[j] + share * (target[j] - q[j]), polytope->lower[j], polytope->upper[j]);
        }
    }
}

double dpot_polytope_project_kl(const struct dpot_polytope *polytope, const double *log_s,
                                double theta_start, enum dpot_polytope_steps steps, double *q)
{
    const double start = fabs(theta_start) <= DBL_MAX ? theta_start : 0.0;
    const double theta = find_position(&logarithmic, polytope, log_s, start, steps);
    for (size_t j = 0; j < polytope->size; j++) {
        q[j] = clip(exp(log_s[j] + theta), polytope->lower[j], polytope->upper[j]);
    }
    correct_mass(polytope, steps, q);
    return theta;
}

double dpot_polytope_project_kl_linear(const struct dpot_polytope *polytope, const double *s,
                                       double scale_start, enum dpot_polytope_steps steps,
                                       double *q)
{
    const double start = scale_start >= DBL_MIN && scale_start <= DBL_MAX ? scale_start : 1.0;
    const double scale = find_position(&linear, polytope, s, start, steps);
    for (size_t j = 0; j < polytope->size; j++) {
        q[j] = clip(scale * s[j], polytope->lower[j], polytope->upper[j]);
    }
    correct_mass(polytope, steps, q);
    return scale;
}

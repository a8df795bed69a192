/* The clamp of device data: the point of a domain that is nearest to any doubles whatsoever.
 *
 * euclidean, l1 and linf are decided exactly, as if on real numbers: a comparison in doubles stands
 * only where its error bound allows it, otherwise exact_sum.h decides. Far away every distance
 * rounds to the same double, and the nearest point must not become the first one.
 *
 *   grids, rings   the axes are independent: in euclidean and l1 the nearest point is nearest on
 *                  every axis. In linf with largest gap D it is, on every axis, the first within D.
 *   ring metric    exact: the position is first reduced to one turn, which fmod does exactly.
 *   haversine      latitudes beyond a pole are at the pole, longitudes go round; then doubles.
 *   cosine         a coordinate that is infinite outweighs all that are not; then doubles. */
#include "base/crypto.h"
#include "model/domain.h"
#include "model/exact_sum.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define HUGE_COORDINATE 0x1p400 /* from here on squares are compared scaled down */
#define HUGE_SCALE 0x1p-600
#define LATITUDE_POLE 90.0
#define LONGITUDE_TURN 360.0

/* ---- x as numbers that have a distance ---- */

static double finite_coordinate(double x)
{
    if (isnan(x)) {
        return 0;
    }
    return fmin(fmax(x, -DBL_MAX), DBL_MAX);
}

/* A place on a circle of this length; far out there is none: 0, as for NaN. */
static double reduce(double x, double turn)
{
    return isfinite(x) ? fmod(x, turn) : 0;
}

/* The direction is that of the infinite coordinates, when there are some. */
static void clean_direction(uint32_t dim, const double *x, double *clean)
{
    bool is_infinite = false;
    for (uint32_t i = 0; i < dim; i++) {
        is_infinite |= isinf(x[i]) != 0;
    }
    for (uint32_t i = 0; i < dim; i++) {
        clean[i] = !is_infinite ? finite_coordinate(x[i]) : isinf(x[i]) ? copysign(1, x[i]) : 0;
    }
}

static void clean_coordinates(const struct dpot_metric *metric, uint32_t dim, const double *x,
                              double *clean)
{
    switch (metric->id) {
    case DPOT_METRIC_RING:
        clean[0] = reduce(x[0], (double)metric->ring_size);
        return;
    case DPOT_METRIC_HAVERSINE:
        clean[0] = fmin(fmax(finite_coordinate(x[0]), -LATITUDE_POLE), LATITUDE_POLE);
        clean[1] = reduce(x[1], LONGITUDE_TURN);
        return;
    case DPOT_METRIC_COSINE:
        clean_direction(dim, x, clean);
        return;
    default:
        for (uint32_t i = 0; i < dim; i++) {
            clean[i] = finite_coordinate(x[i]);
        }
        return;
    }
}

/* ---- exact comparisons ---- */

/* sum += sign |x - p| */
static void add_gap(struct dpot_exact_sum *sum, double sign, double x, double p)
{
    const double way = x >= p ? sign : -sign;
    dpot_exact_sum_add(sum, way, x);
    dpot_exact_sum_add(sum, -way, p);
}

static int end_sum(struct dpot_exact_sum *sum)
{
    const int sign = dpot_exact_sum_sign(sum);
    dpot_wipe(sum, sizeof *sum);
    return sign;
}

/* The sign of |x - p| - |y - q|. Rounding is monotone: doubles that differ are in the right order. */
static int compare_gaps(double x, double p, double y, double q)
{
    const double a = fabs(x - p), b = fabs(y - q);
    if (isfinite(a) && isfinite(b) && a != b) {
        return a < b ? -1 : 1;
    }
    struct dpot_exact_sum sum = {{0}};
    add_gap(&sum, 1, x, p);
    add_gap(&sum, -1, y, q);
    return end_sum(&sum);
}

/* The sign of d(x, p) - d(x, q). */
typedef int compare_function(uint32_t dim, const double *x, const double *p, const double *q);

static int compare_l1_exactly(uint32_t dim, const double *x, const double *p, const double *q)
{
    struct dpot_exact_sum sum = {{0}};
    for (uint32_t i = 0; i < dim; i++) {
        add_gap(&sum, 1, x[i], p[i]);
        add_gap(&sum, -1, x[i], q[i]);
    }
    return end_sum(&sum);
}

/* dim additions: relative error (dim + 1) / 2 ulp at most. */
static int compare_l1(uint32_t dim, const double *x, const double *p, const double *q)
{
    double a = 0, b = 0;
    for (uint32_t i = 0; i < dim; i++) {
        a += fabs(x[i] - p[i]);
        b += fabs(x[i] - q[i]);
    }
    const double bound = (dim + 8.0) * DBL_EPSILON * (a + b);
    if (isfinite(bound) && fabs(a - b) > bound) {
        return a < b ? -1 : 1;
    }
    return compare_l1_exactly(dim, x, p, q);
}

/* |x - p|^2 - |x - q|^2 = sum p^2 - 2 x p - q^2 + 2 x q */
static int compare_euclidean_exactly(uint32_t dim, const double *x, const double *p,
                                     const double *q)
{
    struct dpot_exact_sum sum = {{0}};
    for (uint32_t i = 0; i < dim; i++) {
        dpot_exact_sum_add(&sum, p[i], p[i]);
        dpot_exact_sum_add(&sum, -q[i], q[i]);
        dpot_exact_sum_add(&sum, -x[i], p[i]);
        dpot_exact_sum_add(&sum, -x[i], p[i]);
        dpot_exact_sum_add(&sum, x[i], q[i]);
        dpot_exact_sum_add(&sum, x[i], q[i]);
    }
    return end_sum(&sum);
}

/* |x - p|^2 - |x - q|^2 = sum (q - p) ((x - p) + (x - q)): nothing large cancels when x is far.
 * Each term has relative error 5/2 ulp of its part of `size`, the sum dim/2 more; DBL_MIN covers
 * what underflows. */
static int compare_euclidean(uint32_t dim, const double *x, const double *p, const double *q)
{
    double difference = 0, size = 0, largest = 0;
    for (uint32_t i = 0; i < dim; i++) {
        largest = fmax(largest, fabs(x[i]));
    }
    const double scale = largest > HUGE_COORDINATE ? HUGE_SCALE : 1;
    for (uint32_t i = 0; i < dim; i++) {
        const double to_p = (x[i] - p[i]) * scale, to_q = (x[i] - q[i]) * scale;
        const double between = q[i] - p[i];
        difference += between * (to_p + to_q);
        size += fabs(between) * (fabs(to_p) + fabs(to_q) + DBL_MIN);
    }
    const double bound = (dim + 8.0) * (DBL_EPSILON * size + DBL_MIN);
    if (isfinite(difference) && isfinite(bound) && fabs(difference) > bound) {
        return difference < 0 ? -1 : 1;
    }
    return compare_euclidean_exactly(dim, x, p, q);
}

/* The coordinate with the largest gap. */
static uint32_t find_largest_gap(uint32_t dim, const double *x, const double *p)
{
    uint32_t largest = 0;
    for (uint32_t i = 1; i < dim; i++) {
        largest = compare_gaps(x[i], p[i], x[largest], p[largest]) > 0 ? i : largest;
    }
    return largest;
}

static int compare_linf(uint32_t dim, const double *x, const double *p, const double *q)
{
    double a = 0, b = 0;
    for (uint32_t i = 0; i < dim; i++) {
        a = fmax(a, fabs(x[i] - p[i]));
        b = fmax(b, fabs(x[i] - q[i]));
    }
    if (isfinite(a) && isfinite(b) && a != b) {
        return a < b ? -1 : 1;
    }
    const uint32_t i = find_largest_gap(dim, x, p), j = find_largest_gap(dim, x, q);
    return compare_gaps(x[i], p[i], x[j], q[j]);
}

/* A ring position is a whole number plus x in (-size, size): a sum of two doubles, exactly. */
struct two {
    double head, tail; /* head = the sum rounded */
};

static struct two add_two(double a, double b)
{
    const double head = a + b, part = head - a;
    return (struct two){head, (a - (head - part)) + (b - part)};
}

static int order_of_two(struct two a, struct two b)
{
    if (a.head != b.head) {
        return a.head < b.head ? -1 : 1;
    }
    return (a.tail > b.tail) - (a.tail < b.tail);
}

/* The shorter way round from x in (-size, size) to p: w or size - w, w = |x - p| within one turn. */
static struct two find_way_round(double size, double x, double p)
{
    const double whole = (x < 0 ? size : 0) - p;
    const bool is_behind = add_two(whole, x).head < 0;
    const struct two way = is_behind ? add_two(-whole, -x) : add_two(whole, x);
    const struct two other = is_behind ? add_two(size + whole, x) : add_two(size - whole, -x);
    return order_of_two(way, other) <= 0 ? way : other;
}

/* ---- axes: grids and rings ---- */

static uint32_t axis_size(const struct dpot_domain *domain, uint32_t axis)
{
    return domain->type == DPOT_DOMAIN_GRID ? domain->shape[axis] : domain->size;
}

/* First, x goes to the ends of the axis: beyond them every gap grows by the same. */
static uint32_t nearest_on_axis(const struct dpot_domain *domain, uint32_t axis, double x)
{
    const uint32_t size = axis_size(domain, axis);
    x = fmin(fmax(x, dpot_domain_on_axis(domain, axis, 0)),
             dpot_domain_on_axis(domain, axis, size - 1));
    uint32_t nearest = 0;
    double best = dpot_domain_on_axis(domain, axis, 0);
    for (uint32_t j = 1; j < size; j++) {
        const double p = dpot_domain_on_axis(domain, axis, j);
        if (p != best && compare_gaps(x, p, x, best) < 0) {
            nearest = j;
            best = p;
        }
    }
    return nearest;
}

/* linf: on every axis the first point whose gap is at most the largest of the least gaps. */
static void widen_to_largest_gap(const struct dpot_domain *domain, const double *x, uint32_t *cell)
{
    double p[DPOT_GRID_DIM_MAX];
    for (uint32_t i = 0; i < domain->dim; i++) {
        p[i] = dpot_domain_on_axis(domain, i, cell[i]);
    }
    const uint32_t k = find_largest_gap(domain->dim, x, p);
    for (uint32_t i = 0; i < domain->dim; i++) {
        const uint32_t nearest = cell[i];
        cell[i] = 0;
        while (cell[i] < nearest &&
               compare_gaps(x[i], dpot_domain_on_axis(domain, i, cell[i]), x[k], p[k]) > 0) {
            cell[i]++;
        }
    }
}

static uint32_t nearest_by_axes(const struct dpot_domain *domain, const struct dpot_metric *metric,
                                const double *x)
{
    uint32_t cell[DPOT_GRID_DIM_MAX] = {0};
    uint32_t index = 0;
    for (uint32_t i = 0; i < domain->dim; i++) {
        cell[i] = nearest_on_axis(domain, i, x[i]);
    }
    if (metric->id == DPOT_METRIC_LINF) {
        widen_to_largest_gap(domain, x, cell);
    }
    for (uint32_t i = 0; i < domain->dim; i++) {
        index = index * axis_size(domain, i) + cell[i];
    }
    return index;
}

/* ---- lists ---- */

/* l1: x goes to the box around the points; beyond it every distance grows by the same. */
static void clamp_to_box(const struct dpot_domain *domain, double *x)
{
    for (uint32_t i = 0; i < domain->dim; i++) {
        double lo = domain->points[i], hi = lo;
        for (uint32_t j = 1; j < domain->size; j++) {
            lo = fmin(lo, domain->points[(size_t)j * domain->dim + i]);
            hi = fmax(hi, domain->points[(size_t)j * domain->dim + i]);
        }
        x[i] = fmin(fmax(x[i], lo), hi);
    }
}

static uint32_t nearest_in_list(const struct dpot_domain *domain, compare_function *compare,
                                const double *x)
{
    const double *best = domain->points;
    uint32_t nearest = 0;
    for (uint32_t j = 1; j < domain->size; j++) {
        const double *point = domain->points + (size_t)j * domain->dim;
        if (compare(domain->dim, x, point, best) < 0) {
            nearest = j;
            best = point;
        }
    }
    return nearest;
}

/* ---- metrics that are compared as doubles, and the ring ---- */

static uint32_t nearest_on_ring(const struct dpot_domain *domain, const struct dpot_metric *metric,
                                double x)
{
    uint32_t nearest = 0;
    struct two least = {INFINITY, 0};
    for (uint32_t j = 0; j < domain->size; j++) {
        double p = 0;
        dpot_domain_point(domain, j, &p);
        const struct two way = find_way_round((double)metric->ring_size, x, p);
        if (order_of_two(way, least) < 0) {
            least = way;
            nearest = j;
        }
    }
    return nearest;
}

static uint32_t nearest_by_scan(const struct dpot_domain *domain, const struct dpot_metric *metric,
                                const double *x)
{
    double cell[DPOT_GRID_DIM_MAX] = {0};
    uint32_t nearest = 0;
    double least = INFINITY; /* a distance that overflows or is NaN never wins */
    for (uint32_t j = 0; j < domain->size; j++) {
        const double *point = cell;
        if (domain->type == DPOT_DOMAIN_POINTS) {
            point = domain->points + (size_t)j * domain->dim;
        } else {
            dpot_domain_point(domain, j, cell);
        }
        const double distance = dpot_metric_distance(metric, domain->dim, x, point);
        if (distance < least) {
            least = distance;
            nearest = j;
        }
    }
    return nearest;
}

static uint32_t find_nearest(const struct dpot_domain *domain, const struct dpot_metric *metric,
                             double *clean)
{
    const bool is_list = domain->type == DPOT_DOMAIN_POINTS;
    switch (metric->id) {
    case DPOT_METRIC_EUCLIDEAN:
        return is_list ? nearest_in_list(domain, compare_euclidean, clean)
                       : nearest_by_axes(domain, metric, clean);
    case DPOT_METRIC_L1:
        if (is_list) {
            clamp_to_box(domain, clean);
        }
        return is_list ? nearest_in_list(domain, compare_l1, clean)
                       : nearest_by_axes(domain, metric, clean);
    case DPOT_METRIC_LINF:
        return is_list ? nearest_in_list(domain, compare_linf, clean)
                       : nearest_by_axes(domain, metric, clean);
    case DPOT_METRIC_RING:
        return nearest_on_ring(domain, metric, clean[0]);
    default:
        return nearest_by_scan(domain, metric, clean);
    }
}

uint32_t dpot_domain_nearest(const struct dpot_domain *domain, const struct dpot_metric *metric,
                             const double *x)
{
    double clean[DPOT_DOMAIN_DIM_MAX];
    if (domain->type == DPOT_DOMAIN_SPHERE || domain->type == DPOT_DOMAIN_DIRECTIONS) {
        return 0; /* they have no list */
    }
    clean_coordinates(metric, domain->dim, x, clean);
    const uint32_t nearest = find_nearest(domain, metric, clean);
    dpot_wipe(clean, domain->dim * sizeof clean[0]);
    return nearest;
}

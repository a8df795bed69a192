#include "model/nearest.h"

#include "base/crypto.h"
#include "model/weight_key.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define REACH 1024.0   /* extents from the first point; farther coordinates count as this far */
#define NEAR 4.0       /* extents; the points of a list are within 2 */
#define FLAT_BITS 28   /* of an extent; NEAR has 30 */
#define SPHERE_BITS 29 /* of a radius */
#define RING_BITS 28   /* a ring has at most 29 */
#define PART 64        /* numbers prepared at once without memory */
#define WHOLE_OFFSET 0x1p31
#define TINY 0x1p-200    /* of the extent: smaller numbers count as 0; larger squares are normal */
#define LEAST 0x1p-1000  /* smaller coordinates count as 0 */
#define SHORT 0x1p-700   /* no part of a shorter vector is dropped */
#define PLACE_MAX 0x1p52 /* larger positions on a circle count as 0 */
#define LATITUDE_POLE 90.0
#define FULL_TURN 360.0
#define RADIANS_PER_DEGREE 0.017453292519943295

static bool is_flat(enum dpot_metric_id id)
{
    return id == DPOT_METRIC_EUCLIDEAN || id == DPOT_METRIC_L1 || id == DPOT_METRIC_LINF;
}

/* Whether the nearest point is found axis by axis, without a scan. */
static bool has_axes(const struct dpot_nearest *nearest)
{
    const enum dpot_metric_id id = nearest->metric->id;
    switch (nearest->domain->type) {
    case DPOT_DOMAIN_GRID:
        return is_flat(id) || id == DPOT_METRIC_HAVERSINE;
    case DPOT_DOMAIN_RING:
        return is_flat(id) ||
               (id == DPOT_METRIC_RING && nearest->metric->ring_size == nearest->domain->size);
    default:
        return false;
    }
}

/* ---- x as numbers with a distance: selects, and the same steps for all values ---- */

static double clamp(double x, double lo, double hi)
{
    const double above = x > lo ? x : lo; /* NaN gives lo */
    return above < hi ? above : hi;
}

/* Replaces NaN, infinity and numbers smaller than `least`. */
static double clean(double x, double least)
{
    return clamp(fabs(x) >= least ? x : 0, -DBL_MAX, DBL_MAX);
}

/* A position on a circle of length `turn`, in (-turn, turn) up to rounding; 0 if it is too
 * large. */
static double reduce(double x, double turn)
{
    const double size = fabs(x);
    const double place = size >= LEAST && size < PLACE_MAX ? x : 0;
    return place - turn * (double)(int64_t)(place / turn);
}

static double latitude_of(double x)
{
    return clamp(clean(x, LEAST), -LATITUDE_POLE, LATITUDE_POLE);
}

/* ---- axes: grids and rings ---- */

static uint32_t axis_size(const struct dpot_domain *domain, uint32_t axis)
{
    return domain->type == DPOT_DOMAIN_GRID ? domain->shape[axis] : domain->size;
}

static double axis_lo(const struct dpot_domain *domain, uint32_t axis)
{
    return domain->type == DPOT_DOMAIN_GRID ? domain->lo[axis] : -0.5;
}

static double axis_hi(const struct dpot_domain *domain, uint32_t axis)
{
    return domain->type == DPOT_DOMAIN_GRID ? domain->hi[axis] : (double)domain->size - 0.5;
}

/* Clamps x to the axis first (beyond its ends every gap grows by the same), then compares the
 * centres of the cell of x and of the next one on the nearer side. */
static uint32_t nearest_on_axis(const struct dpot_domain *domain, uint32_t axis, double x)
{
    const int64_t last = (int64_t)axis_size(domain, axis) - 1;
    const double lo = axis_lo(domain, axis), hi = axis_hi(domain, axis);
    const double inside = clamp(clean(x, LEAST), lo, hi);
    const double way = inside - lo, least = (hi - lo) * TINY;
    const double cells = (way >= least ? way : 0) / (hi - lo) * (double)(last + 1);
    const int64_t below = (int64_t)(cells + 0.5) - 1; /* -1 .. last */
    const int64_t first = below & ~(below >> 63);
    const int64_t second = below + 1 < last ? below + 1 : last;
    const double first_gap = fabs(inside - dpot_domain_on_axis(domain, axis, (uint32_t)first));
    const double second_gap = fabs(inside - dpot_domain_on_axis(domain, axis, (uint32_t)second));
    const uint64_t is_second = dpot_key_mask(second_gap < first_gap);
    return (uint32_t)(((uint64_t)second & is_second) | ((uint64_t)first & ~is_second));
}

/* The shorter way round; negative positions are counted from the other side, which is exact. */
static uint32_t nearest_on_ring(uint32_t size, double x)
{
    const double place = reduce(x, (double)size), way = fabs(place);
    const uint32_t whole = (uint32_t)way;
    const double rest = way - (double)whole;
    const bool is_behind = place < 0;
    const uint32_t near = (is_behind ? 2 * size - whole : whole) % size;
    const uint32_t next = (is_behind ? 2 * size - whole - 1 : whole + 1) % size;
    const uint32_t lower = near < next ? near : next;
    return rest < 0.5 ? near : rest > 0.5 ? next : lower;
}

/* The angle within half a turn of the middle of an axis: the nearest end of the axis is then also
 * the nearest one around the circle. */
static double turn_to_axis(const struct dpot_domain *grid, uint32_t axis, double angle)
{
    const double middle = reduce(grid->lo[axis] / 2 + grid->hi[axis] / 2, 1024 * FULL_TURN);
    const double turns = (angle - middle) / FULL_TURN + 0.5;
    return angle - FULL_TURN * (double)((int64_t)(turns + 2048) - 2048); /* floor */
}

/* The nearest point of every parallel lies on the meridian that is nearest in longitude. On it, the
 * cosine of the distance to latitude b is sin a sin b + cos a cos b cos(difference): largest at the
 * angle of (cos a cos(difference), sin a) and decreasing away from it. */
static uint32_t nearest_on_globe(const struct dpot_domain *grid, const double *x)
{
    const double east = turn_to_axis(grid, 1, reduce(x[1], FULL_TURN));
    const uint32_t column = nearest_on_axis(grid, 1, east);
    const double a = latitude_of(x[0]) * RADIANS_PER_DEGREE;
    const double way = (dpot_domain_on_axis(grid, 1, column) - east) * RADIANS_PER_DEGREE;
    const double best = atan2(sin(a), cos(a) * cos(way)) / RADIANS_PER_DEGREE;
    return nearest_on_axis(grid, 0, turn_to_axis(grid, 0, best)) * grid->shape[1] + column;
}

static uint32_t nearest_by_axes(const struct dpot_nearest *nearest, const double *x)
{
    const struct dpot_domain *domain = nearest->domain;
    if (nearest->metric->id == DPOT_METRIC_RING) {
        return nearest_on_ring(domain->size, x[0]);
    }
    if (nearest->metric->id == DPOT_METRIC_HAVERSINE) {
        return nearest_on_globe(domain, x);
    }
    uint32_t index = 0;
    for (uint32_t i = 0; i < domain->dim; i++) {
        index = index * axis_size(domain, i) + nearest_on_axis(domain, i, x[i]);
    }
    return index;
}

/* ---- points and places as numbers for the scan ---- */

/* Of a place or a point: what its numbers are made of. */
struct view {
    const double *x;
    double numbers[3]; /* haversine, ring */
    double divisor, least, length;
    bool is_infinite, has_direction;
};

/* Difference from the first point, in extents. */
static double way_of(const struct dpot_nearest *nearest, double x, uint32_t i)
{
    const double origin = nearest->domain->points[i] * nearest->scale;
    const double way = clamp(clean(x, nearest->least) * nearest->scale - origin, -REACH, REACH);
    return fabs(way) >= TINY ? way : 0;
}

/* Infinite coordinates outweigh all finite ones. */
static double component_of(const struct view *view, uint32_t i)
{
    const double x = view->x[i], sign = (double)(x > 0) - (double)(x < 0);
    const double end = fabs(x) > DBL_MAX ? sign : 0;
    const double component = view->is_infinite ? end : clean(x, LEAST);
    return (fabs(component) >= view->least ? component : 0) / view->divisor;
}

/* A vector of length 1. A point without a direction is the unit vector of an additional coordinate,
 * orthogonal to all others; a place without one is as far from all points. */
static void view_direction(uint32_t dim, struct view *view)
{
    double largest = 0, square = 0;
    for (uint32_t i = 0; i < dim; i++) {
        view->is_infinite |= fabs(view->x[i]) > DBL_MAX;
    }
    for (uint32_t i = 0; i < dim; i++) {
        const double size = fabs(component_of(view, i));
        largest = size > largest ? size : largest;
    }
    view->has_direction = largest > 0;
    view->divisor = largest > 0 ? largest : 1;
    view->least = (largest >= SHORT ? largest : 0) * TINY;
    for (uint32_t i = 0; i < dim; i++) {
        square += component_of(view, i) * component_of(view, i);
    }
    view->length = largest > 0 ? sqrt(square) : 1;
}

/* On the unit sphere: chords have the order of great circles. */
static void view_globe(struct view *view)
{
    const double north = latitude_of(view->x[0]) * RADIANS_PER_DEGREE;
    const double east = reduce(view->x[1], FULL_TURN) * RADIANS_PER_DEGREE;
    const double ring = cos(north);
    view->numbers[0] = ring * cos(east);
    view->numbers[1] = ring * sin(east);
    view->numbers[2] = sin(north);
}

static struct view view_of(const struct dpot_nearest *nearest, const double *x)
{
    const double ring_size = (double)nearest->metric->ring_size;
    struct view view = {.x = x, .divisor = 1, .length = 1, .has_direction = true};
    if (nearest->metric->id == DPOT_METRIC_COSINE) {
        view_direction(nearest->domain->dim, &view);
    } else if (nearest->metric->id == DPOT_METRIC_HAVERSINE) {
        view_globe(&view);
    } else if (nearest->metric->id == DPOT_METRIC_RING) {
        const double place = reduce(x[0], ring_size);
        view.numbers[0] = place + (place < 0 ? ring_size : 0);
    }
    return view;
}

static double number_of(const struct dpot_nearest *nearest, const struct view *view, uint32_t i)
{
    if (is_flat(nearest->metric->id)) {
        return way_of(nearest, view->x[i], i);
    }
    if (nearest->metric->id != DPOT_METRIC_COSINE) {
        return view->numbers[i];
    }
    return i < nearest->domain->dim ? component_of(view, i) / view->length
                                    : (double)!view->has_direction;
}

/* ---- the scan, in whole numbers ---- */

/* Numbers begin .. begin + n - 1 in units of 2^shift / unit, rounded: the shift keeps a place far
 * from a list within 32 bits. */
static void prepare(const struct dpot_nearest *nearest, const struct view *view, unsigned shift,
                    uint32_t begin, uint32_t n, int32_t *out)
{
    const double unit = nearest->unit / (double)(1u << shift);
    for (uint32_t i = 0; i < n; i++) {
        const double number = number_of(nearest, view, begin + i) * unit;
        out[i] = (int32_t)((int64_t)(number + WHOLE_OFFSET + 0.5) - (int64_t)WHOLE_OFFSET);
    }
}

/* The least shift that brings all numbers of a place to at most NEAR: the same steps for all. */
static unsigned shift_of(const struct dpot_nearest *nearest, const struct view *view)
{
    double largest = 0;
    unsigned shift = 0;
    for (uint32_t i = 0; i < nearest->width; i++) {
        const double size = fabs(number_of(nearest, view, i));
        largest = size > largest ? size : largest;
    }
    for (double most = NEAR; most < REACH; most *= 2) {
        shift += largest > most;
    }
    return shift;
}

/* Adds coordinates to a number with the order of the distance. A point has no shift yet. */
static uint64_t add_order(const struct dpot_nearest *nearest, uint64_t order, uint32_t n,
                          const int32_t *x, const int32_t *p, unsigned shift)
{
    const enum dpot_metric_id id = nearest->metric->id;
    if (id == DPOT_METRIC_L1 || id == DPOT_METRIC_LINF || id == DPOT_METRIC_RING) {
        const uint64_t ring = (uint64_t)((double)nearest->metric->ring_size * nearest->unit);
        for (uint32_t i = 0; i < n; i++) {
            const int32_t way = x[i] - (p[i] >> shift);
            const uint64_t gap = (uint64_t)(way < 0 ? -(int64_t)way : way);
            const uint64_t larger = gap > order ? gap : order;
            const uint64_t around = gap < ring - gap ? gap : ring - gap;
            order = id == DPOT_METRIC_L1 ? order + gap : id == DPOT_METRIC_LINF ? larger : around;
        }
        return order;
    }
    for (uint32_t i = 0; i < n; i++) {
        const int32_t way = x[i] - (p[i] >> shift);
        order += (uint64_t)((int64_t)way * way);
    }
    return order;
}

struct closest {
    uint32_t index;
    uint64_t order;
};

static void keep_closer(struct closest *best, uint32_t j, uint64_t order)
{
    const uint64_t is_less = dpot_key_mask(order < best->order);
    best->order ^= (best->order ^ order) & is_less;
    best->index ^= (best->index ^ j) & (uint32_t)is_less;
}

static uint32_t nearest_by_scan(struct dpot_nearest *nearest, const double *x)
{
    struct closest best = {0, UINT64_MAX};
    const uint32_t width = nearest->width;
    struct view view = view_of(nearest, x);
    const unsigned shift = shift_of(nearest, &view);
    prepare(nearest, &view, shift, 0, width, nearest->place);
    for (uint32_t j = 0; j < nearest->domain->size; j++) {
        const int32_t *point = nearest->prepared + (size_t)j * width;
        keep_closer(&best, j, add_order(nearest, 0, width, nearest->place, point, shift));
    }
    dpot_wipe(nearest->place, width * sizeof *nearest->place);
    best.index &= (uint32_t)dpot_key_mask(view.has_direction);
    dpot_wipe(&view, sizeof view);
    return best.index;
}

/* A point of the domain; `cell` is scratch for those that are not listed. */
static struct view view_point(const struct dpot_nearest *nearest, uint32_t index, double *cell)
{
    const struct dpot_domain *domain = nearest->domain;
    if (domain->type == DPOT_DOMAIN_POINTS) {
        return view_of(nearest, domain->points + (size_t)index * domain->dim);
    }
    dpot_domain_point(domain, index, cell);
    return view_of(nearest, cell);
}

/* ---- setting up ---- */

static uint32_t width_of(const struct dpot_domain *domain, const struct dpot_metric *metric)
{
    return metric->id == DPOT_METRIC_HAVERSINE ? 3
           : metric->id == DPOT_METRIC_COSINE  ? domain->dim + 1
                                               : domain->dim;
}

static double extent_of(const struct dpot_domain *domain)
{
    double extent = 0;
    for (size_t j = 0; domain->type == DPOT_DOMAIN_POINTS && j < domain->size; j++) {
        for (uint32_t i = 0; i < domain->dim; i++) {
            const double way = fabs(domain->points[j * domain->dim + i] - domain->points[i]);
            extent = way > extent ? way : extent;
        }
    }
    return extent;
}

/* So many numbers that the sum of their squared differences fits 64 bits. */
static double unit_of(const struct dpot_nearest *nearest)
{
    if (nearest->metric->id == DPOT_METRIC_RING) {
        return ldexp(1, RING_BITS - ilogb((double)nearest->metric->ring_size));
    }
    int bits = is_flat(nearest->metric->id) ? FLAT_BITS : SPHERE_BITS;
    for (uint32_t n = 1; is_flat(nearest->metric->id) && n < nearest->width; n *= 4) {
        bits--;
    }
    return ldexp(1, bits);
}

static struct dpot_nearest set_numbers(const struct dpot_domain *domain,
                                       const struct dpot_metric *metric)
{
    const double extent = extent_of(domain);
    const int exponent = extent > 0 ? ilogb(fmin(fmax(extent, 0x1p-1000), 0x1p1022)) : 0;
    struct dpot_nearest nearest = {
        .domain = domain,
        .metric = metric,
        .width = width_of(domain, metric),
        .scale = ldexp(1, -exponent),
        .least = fmax(ldexp(TINY, exponent), LEAST),
    };
    nearest.unit = unit_of(&nearest);
    return nearest;
}

static bool has_list(const struct dpot_domain *domain)
{
    return domain->type != DPOT_DOMAIN_SPHERE && domain->type != DPOT_DOMAIN_DIRECTIONS;
}

/* Numbers of the prepared points and of the place, which follows them. */
static size_t count_prepared(const struct dpot_nearest *nearest)
{
    const bool is_scanned = has_list(nearest->domain) && !has_axes(nearest);
    return is_scanned ? ((size_t)nearest->domain->size + 1) * nearest->width : 0;
}

size_t dpot_nearest_bytes(const struct dpot_domain *domain, const struct dpot_metric *metric)
{
    const struct dpot_nearest nearest = {
        .domain = domain, .metric = metric, .width = width_of(domain, metric)};
    return dpot_array_bytes(count_prepared(&nearest), sizeof *nearest.prepared);
}

dpot_status dpot_nearest_init(struct dpot_nearest *nearest, const struct dpot_domain *domain,
                              const struct dpot_metric *metric,
                              const struct dpot_allocator *allocator)
{
    double cell[DPOT_GRID_DIM_MAX];
    *nearest = set_numbers(domain, metric);
    const size_t n = count_prepared(nearest);
    int32_t *prepared = dpot_alloc_array(allocator, n, sizeof *prepared);
    if (!prepared) {
        *nearest = (struct dpot_nearest){0};
        return DPOT_ERR_MEMORY;
    }
    for (uint32_t j = 0; n > 0 && j < domain->size; j++) {
        const struct view view = view_point(nearest, j, cell);
        prepare(nearest, &view, 0, 0, nearest->width, prepared + (size_t)j * nearest->width);
    }
    nearest->allocator = allocator;
    nearest->prepared = prepared;
    nearest->place = prepared + (n > 0 ? n - nearest->width : 0);
    return DPOT_OK;
}

void dpot_nearest_release(struct dpot_nearest *nearest)
{
    if (nearest->prepared) {
        dpot_free_secret(nearest->allocator, nearest->prepared, count_prepared(nearest),
                         sizeof *nearest->prepared);
    }
    *nearest = (struct dpot_nearest){0};
}

uint32_t dpot_nearest_find(struct dpot_nearest *nearest, const double *x)
{
    if (!has_list(nearest->domain)) {
        return 0;
    }
    return has_axes(nearest) ? nearest_by_axes(nearest, x) : nearest_by_scan(nearest, x);
}

/* As the scan, a part of the numbers at a time. */
static uint64_t order_between(const struct dpot_nearest *nearest, const struct view *place,
                              const struct view *point, unsigned shift)
{
    int32_t x[PART], p[PART];
    uint64_t order = 0;
    for (uint32_t begin = 0; begin < nearest->width; begin += PART) {
        const uint32_t left = nearest->width - begin, n = left < PART ? left : PART;
        prepare(nearest, place, shift, begin, n, x);
        prepare(nearest, point, 0, begin, n, p);
        order = add_order(nearest, order, n, x, p, shift);
    }
    return order;
}

uint32_t dpot_domain_nearest(const struct dpot_domain *domain, const struct dpot_metric *metric,
                             const double *x)
{
    struct closest best = {0, UINT64_MAX};
    double cell[DPOT_GRID_DIM_MAX];
    struct dpot_nearest nearest = set_numbers(domain, metric);
    if (!has_list(domain) || has_axes(&nearest)) {
        return dpot_nearest_find(&nearest, x);
    }
    const struct view place = view_of(&nearest, x);
    const unsigned shift = shift_of(&nearest, &place);
    for (uint32_t j = 0; j < domain->size; j++) {
        const struct view point = view_point(&nearest, j, cell);
        keep_closer(&best, j, order_between(&nearest, &place, &point, shift));
    }
    return place.has_direction ? best.index : 0;
}

#include "model/nearest.h"

#include "base/crypto.h"
#include "model/weight_key.h"

#include <float.h>
#include <math.h>

#define REACH 1024.0     /* extents from the first point; farther coordinates count as this far */
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

/* ---- points and places prepared for the scan ---- */

/* Differences from the first point, in extents. */
static void prepare_flat(const struct dpot_nearest *nearest, const double *x, double *out)
{
    const double scale = nearest->scale;
    for (uint32_t i = 0; i < nearest->width; i++) {
        const double origin = nearest->domain->points[i] * scale;
        const double way = clamp(clean(x[i], nearest->least) * scale - origin, -REACH, REACH);
        out[i] = fabs(way) >= TINY ? way : 0;
    }
}

/* A vector of length 1; one without a direction stays 0, orthogonal to everything. */
static void prepare_direction(uint32_t dim, const double *x, double *out)
{
    double largest = 0, square = 0;
    bool is_infinite = false;
    for (uint32_t i = 0; i < dim; i++) {
        is_infinite |= fabs(x[i]) > DBL_MAX;
    }
    for (uint32_t i = 0; i < dim; i++) {
        const double sign = (double)(x[i] > 0) - (double)(x[i] < 0);
        const double end = fabs(x[i]) > DBL_MAX ? sign : 0;
        out[i] = is_infinite ? end : clean(x[i], LEAST);
        largest = fabs(out[i]) > largest ? fabs(out[i]) : largest;
    }
    const double divisor = largest > 0 ? largest : 1;
    const double least = (largest >= SHORT ? largest : 0) * TINY;
    for (uint32_t i = 0; i < dim; i++) {
        out[i] = (fabs(out[i]) >= least ? out[i] : 0) / divisor;
        square += out[i] * out[i];
    }
    const double length = largest > 0 ? sqrt(square) : 1;
    for (uint32_t i = 0; i < dim; i++) {
        out[i] /= length;
    }
}

/* On the unit sphere: chords have the order of great circles. */
static void prepare_globe(const double *x, double *out)
{
    const double north = latitude_of(x[0]) * RADIANS_PER_DEGREE;
    const double east = reduce(x[1], FULL_TURN) * RADIANS_PER_DEGREE;
    const double ring = cos(north);
    out[0] = ring * cos(east);
    out[1] = ring * sin(east);
    out[2] = sin(north);
    for (uint32_t i = 0; i < 3; i++) {
        out[i] = fabs(out[i]) >= TINY ? out[i] : 0;
    }
}

static void prepare(const struct dpot_nearest *nearest, const double *x, double *out)
{
    switch (nearest->metric->id) {
    case DPOT_METRIC_EUCLIDEAN:
    case DPOT_METRIC_L1:
    case DPOT_METRIC_LINF:
        prepare_flat(nearest, x, out);
        return;
    case DPOT_METRIC_COSINE:
        prepare_direction(nearest->width, x, out);
        return;
    case DPOT_METRIC_HAVERSINE:
        prepare_globe(x, out);
        return;
    case DPOT_METRIC_RING:
        out[0] = reduce(x[0], (double)nearest->metric->ring_size);
        out[0] += out[0] < 0 ? (double)nearest->metric->ring_size : 0;
        return;
    }
}

/* ---- the scan ---- */

static double square_distance(uint32_t n, const double *x, const double *p)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (x[i] - p[i]) * (x[i] - p[i]);
    }
    return sum;
}

static double sum_distance(uint32_t n, const double *x, const double *p)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += fabs(x[i] - p[i]);
    }
    return sum;
}

static double largest_distance(uint32_t n, const double *x, const double *p)
{
    double largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double gap = fabs(x[i] - p[i]);
        largest = gap > largest ? gap : largest;
    }
    return largest;
}

static double angle_order(uint32_t n, const double *x, const double *p)
{
    double dot = 0;
    for (uint32_t i = 0; i < n; i++) {
        dot += x[i] * p[i];
    }
    return -dot;
}

/* A number with the order of the distance. */
static double order_of(const struct dpot_nearest *nearest, const double *p)
{
    const double *x = nearest->place;
    const uint32_t width = nearest->width;
    switch (nearest->metric->id) {
    case DPOT_METRIC_EUCLIDEAN:
    case DPOT_METRIC_HAVERSINE:
        return square_distance(width, x, p);
    case DPOT_METRIC_L1:
        return sum_distance(width, x, p);
    case DPOT_METRIC_LINF:
        return largest_distance(width, x, p);
    case DPOT_METRIC_COSINE:
        return angle_order(width, x, p);
    case DPOT_METRIC_RING: {
        const double way = fabs(x[0] - p[0]), other = (double)nearest->metric->ring_size - way;
        return way < other ? way : other;
    }
    }
    return 0;
}

static void prepare_point(const struct dpot_nearest *nearest, uint32_t index, double *out)
{
    const struct dpot_domain *domain = nearest->domain;
    double cell[DPOT_GRID_DIM_MAX];
    const double *point = cell;
    if (domain->type == DPOT_DOMAIN_POINTS) {
        point = domain->points + (size_t)index * domain->dim;
    } else {
        dpot_domain_point(domain, index, cell);
    }
    prepare(nearest, point, out);
}

static uint32_t nearest_by_scan(struct dpot_nearest *nearest, const double *x, double *scratch)
{
    uint32_t best = 0;
    double least = INFINITY;
    prepare(nearest, x, nearest->place);
    for (uint32_t j = 0; j < nearest->domain->size; j++) {
        const double *point = scratch;
        if (nearest->prepared) {
            point = nearest->prepared + (size_t)j * nearest->width;
        } else {
            prepare_point(nearest, j, scratch);
        }
        const double order = order_of(nearest, point);
        const uint32_t is_less = (uint32_t)dpot_key_mask(order < least);
        least = order < least ? order : least;
        best ^= (best ^ j) & is_less;
    }
    dpot_wipe(nearest->place, nearest->width * sizeof *nearest->place);
    return best;
}

/* ---- setting up ---- */

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

static void set_numbers(struct dpot_nearest *nearest, const struct dpot_domain *domain,
                        const struct dpot_metric *metric)
{
    const double extent = extent_of(domain);
    const int exponent = extent > 0 ? ilogb(fmin(fmax(extent, 0x1p-1000), 0x1p1022)) : 0;
    *nearest = (struct dpot_nearest){
        .domain = domain,
        .metric = metric,
        .width = metric->id == DPOT_METRIC_HAVERSINE ? 3 : domain->dim,
        .scale = ldexp(1, -exponent),
        .least = fmax(ldexp(TINY, exponent), LEAST),
    };
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
        .domain = domain,
        .metric = metric,
        .width = metric->id == DPOT_METRIC_HAVERSINE ? 3 : domain->dim,
    };
    return dpot_array_bytes(count_prepared(&nearest), sizeof(double));
}

dpot_status dpot_nearest_init(struct dpot_nearest *nearest, const struct dpot_domain *domain,
                              const struct dpot_metric *metric,
                              const struct dpot_allocator *allocator)
{
    set_numbers(nearest, domain, metric);
    const size_t n = count_prepared(nearest);
    double *prepared = dpot_alloc_array(allocator, n, sizeof *prepared);
    if (!prepared) {
        *nearest = (struct dpot_nearest){0};
        return DPOT_ERR_MEMORY;
    }
    for (uint32_t j = 0; n > 0 && j < domain->size; j++) {
        prepare_point(nearest, j, prepared + (size_t)j * nearest->width);
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
    return has_axes(nearest) ? nearest_by_axes(nearest, x) : nearest_by_scan(nearest, x, NULL);
}

uint32_t dpot_domain_nearest(const struct dpot_domain *domain, const struct dpot_metric *metric,
                             const double *x)
{
    double place[DPOT_DOMAIN_DIM_MAX], scratch[DPOT_DOMAIN_DIM_MAX];
    struct dpot_nearest nearest;
    if (!has_list(domain)) {
        return 0;
    }
    set_numbers(&nearest, domain, metric);
    nearest.place = place;
    return has_axes(&nearest) ? nearest_by_axes(&nearest, x)
                              : nearest_by_scan(&nearest, x, scratch);
}

#include "model/metric.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define EARTH_RADIUS_KM 6371.0088
#define RADIANS_PER_DEGREE 0.017453292519943295
#define LATITUDE_MAX 90.0
#define LONGITUDE_MAX 360.0 /* for -180..180, 0..360 and -360..0 */

#define GAP_MIN 0x1p-500 /* smaller differences count as 0, so that no square is subnormal */

static double without_small(double x)
{
    return fabs(x) >= GAP_MIN ? x : 0;
}

static double gap_of(double a, double b)
{
    return without_small(fabs(a - b));
}

static double distance_euclidean(size_t dim, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++) {
        const double gap = gap_of(a[i], b[i]);
        sum += gap * gap;
    }
    return sqrt(sum);
}

static double distance_l1(size_t dim, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++) {
        sum += gap_of(a[i], b[i]);
    }
    return sum;
}

static double distance_linf(size_t dim, const double *a, const double *b)
{
    double largest = 0;
    for (size_t i = 0; i < dim; i++) {
        const double gap = gap_of(a[i], b[i]);
        largest = gap > largest ? gap : largest;
    }
    return largest;
}

static double largest_coordinate(size_t dim, const double *a)
{
    double largest = 0;
    for (size_t i = 0; i < dim; i++) {
        largest = fmax(largest, fabs(a[i]));
    }
    return largest;
}

/* The vectors are scaled to largest coordinate 1, so that no square over- or underflows. */
static double distance_cosine(size_t dim, const double *a, const double *b)
{
    const double largest_a = largest_coordinate(dim, a), largest_b = largest_coordinate(dim, b);
    const double scale_a = largest_a > 0 ? largest_a : 1, scale_b = largest_b > 0 ? largest_b : 1;
    double dot = 0, square_a = 0, square_b = 0;
    for (size_t i = 0; i < dim; i++) {
        const double x = without_small(a[i] / scale_a), y = without_small(b[i] / scale_b);
        dot += x * y;
        square_a += x * x;
        square_b += y * y;
    }
    const double squares = square_a * square_b;
    return fmin(fmax(1 - dot / (squares > 0 ? sqrt(squares) : 1), 0), 2);
}

static double square(double x)
{
    return x * x;
}

static double distance_haversine(const double *a, const double *b)
{
    const double lat_a = a[0] * RADIANS_PER_DEGREE, lat_b = b[0] * RADIANS_PER_DEGREE;
    const double half_lat = gap_of(lat_b, lat_a) / 2;
    const double half_lon = gap_of(b[1], a[1]) * RADIANS_PER_DEGREE / 2;
    const double h = square(sin(half_lat)) + cos(lat_a) * cos(lat_b) * square(sin(half_lon));
    return 2 * EARTH_RADIUS_KM * asin(sqrt(fmin(fmax(h, 0), 1)));
}

static double distance_ring(uint32_t ring_size, double a, double b)
{
    const double way = fmod(fabs(a - b), (double)ring_size);
    return fmin(way, (double)ring_size - way);
}

double dpot_metric_distance(const struct dpot_metric *metric, uint32_t dim, const double *a,
                            const double *b)
{
    switch (metric->id) {
    case DPOT_METRIC_EUCLIDEAN:
        return distance_euclidean(dim, a, b);
    case DPOT_METRIC_L1:
        return distance_l1(dim, a, b);
    case DPOT_METRIC_LINF:
        return distance_linf(dim, a, b);
    case DPOT_METRIC_COSINE:
        return distance_cosine(dim, a, b);
    case DPOT_METRIC_HAVERSINE:
        return distance_haversine(a, b);
    case DPOT_METRIC_RING:
        return distance_ring(metric->ring_size, a[0], b[0]);
    }
    return 0;
}

/* One row per metric; dim 0: any. */
struct metric_row {
    enum dpot_metric_id id;
    uint32_t dim;
    const char *name;
};

static const struct metric_row table[] = {
    {DPOT_METRIC_EUCLIDEAN, 0, "euclidean"}, {DPOT_METRIC_L1, 0, "l1"},
    {DPOT_METRIC_LINF, 0, "linf"},           {DPOT_METRIC_COSINE, 0, "cosine"},
    {DPOT_METRIC_HAVERSINE, 2, "haversine"}, {DPOT_METRIC_RING, 1, "ring"},
};
#define N_METRICS (sizeof table / sizeof table[0])

static const struct metric_row *find_row(enum dpot_metric_id id)
{
    for (size_t i = 0; i < N_METRICS; i++) {
        if (table[i].id == id) {
            return &table[i];
        }
    }
    return NULL;
}

dpot_status dpot_metric_check(const struct dpot_metric *metric, uint32_t dim)
{
    const struct metric_row *row = find_row(metric->id);
    if (!row) {
        return DPOT_ERR_RANGE;
    }
    if (dim == 0 || (row->dim != 0 && row->dim != dim)) {
        return DPOT_ERR_SHAPE;
    }
    const int is_ring = metric->id == DPOT_METRIC_RING;
    return is_ring == (metric->ring_size != 0) ? DPOT_OK : DPOT_ERR_RANGE;
}

dpot_status dpot_metric_check_place(const struct dpot_metric *metric, const double *point,
                                    struct dpot_error *error)
{
    const bool is_latitude = fabs(point[0]) <= LATITUDE_MAX;
    if (metric->id != DPOT_METRIC_HAVERSINE || (is_latitude && fabs(point[1]) <= LONGITUDE_MAX)) {
        return DPOT_OK;
    }
    return dpot_error_set(error, DPOT_ERR_RANGE,
                          "%s %.17g is outside [-%g, %g]: give (latitude, longitude) in degrees",
                          is_latitude ? "longitude" : "latitude", point[is_latitude],
                          is_latitude ? LONGITUDE_MAX : LATITUDE_MAX,
                          is_latitude ? LONGITUDE_MAX : LATITUDE_MAX);
}

const char *dpot_metric_name(enum dpot_metric_id id)
{
    const struct metric_row *row = find_row(id);
    return row ? row->name : NULL;
}

dpot_status dpot_metric_find(const char *name, enum dpot_metric_id *id)
{
    for (size_t i = 0; i < N_METRICS; i++) {
        if (strcmp(table[i].name, name) == 0) {
            *id = table[i].id;
            return DPOT_OK;
        }
    }
    return DPOT_ERR_NOT_FOUND;
}

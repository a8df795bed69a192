#include "model/metric.h"

#include "base/double_bits.h"
#include "model/weight_key.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define EARTH_RADIUS_KM 6371.0088
#define RADIANS_PER_DEGREE 0.017453292519943295
#define LATITUDE_MAX 90.0
#define LONGITUDE_MAX 360.0 /* for -180..180, 0..360 and -360..0 */

#define LEAST 0x1p-1000         /* smaller differences count as 0, so that no step is subnormal */
#define NEGLIGIBLE_EXPONENT 500 /* numbers below 2^-500 of the largest do not change a norm */
#define LEAST_EXPONENT 23       /* of LEAST, as a double stores it */
#define EXPONENT_MOST 2045
#define EXPONENT_BIAS 1023
#define FRACTION_BITS 52
#define SAFE_SQUARE 0x1p-900 /* what a larger sum of squares lost to underflow is below rounding */

/* ---- selects by masks: no branch on a coordinate ---- */

/* Numbers that are not negative have the order of their bits, NaN above all. */
static double larger(double a, double b)
{
    return dpot_double_of_bits(dpot_key_max(dpot_double_bits(a), dpot_double_bits(b)));
}

static double without_small(double x, double least)
{
    return dpot_key_choose(dpot_double_bits(fabs(x)) >= dpot_double_bits(least), x, 0);
}

static double gap_of(double a, double b)
{
    return without_small(fabs(a - b), LEAST);
}

/* ---- norms whose squares neither overflow nor vanish: the same steps for all numbers ---- */

static double power_of_two(uint64_t exponent)
{
    return dpot_double_of_bits(exponent << FRACTION_BITS);
}

/* Powers of two around the largest number of a vector: multiplied by `down` it is about 1, and `up`
 * is 1 / down. The product is exact, so results have the same bits as without it. */
struct scale {
    double down, up;
    double least; /* smaller numbers count as 0 */
};

static struct scale scale_of(double largest)
{
    const uint64_t stored = dpot_key_max(dpot_double_bits(largest) >> FRACTION_BITS, 1);
    const uint64_t up = stored ^ ((stored ^ EXPONENT_MOST) & dpot_key_mask(stored > EXPONENT_MOST));
    const uint64_t floor = dpot_key_max(up, NEGLIGIBLE_EXPONENT + LEAST_EXPONENT);
    return (struct scale){.down = power_of_two(2 * EXPONENT_BIAS - up),
                          .up = power_of_two(up),
                          .least = power_of_two(floor - NEGLIGIBLE_EXPONENT)};
}

static double square(double x)
{
    return x * x;
}

static double distance_linf(size_t dim, const double *a, const double *b)
{
    double largest = 0;
    for (size_t i = 0; i < dim; i++) {
        largest = larger(largest, gap_of(a[i], b[i]));
    }
    return largest;
}

static double distance_euclidean(size_t dim, const double *a, const double *b)
{
    const struct scale scale = scale_of(distance_linf(dim, a, b));
    double sum = 0;
    for (size_t i = 0; i < dim; i++) {
        sum += square(without_small(fabs(a[i] - b[i]), scale.least) * scale.down);
    }
    return sqrt(sum) * scale.up;
}

static double distance_l1(size_t dim, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++) {
        sum += gap_of(a[i], b[i]);
    }
    return sum;
}

static double largest_coordinate(size_t dim, const double *a)
{
    double largest = 0;
    for (size_t i = 0; i < dim; i++) {
        largest = larger(largest, fabs(a[i]));
    }
    return largest;
}

static double or_one(double x)
{
    return dpot_key_choose(x > 0, x, 1);
}

static double clamp(double x, double lo, double hi)
{
    const double above = dpot_key_choose(x > lo, x, lo);
    return dpot_key_choose(above < hi, above, hi);
}

/* The vectors are scaled to largest coordinate 1, so that no square over- or underflows. Of nearly
 * parallel ones 1 - cos would cancel: half the squared chord between the unit vectors does not. */
static double distance_cosine(size_t dim, const double *a, const double *b)
{
    const double scale_a = or_one(largest_coordinate(dim, a));
    const double scale_b = or_one(largest_coordinate(dim, b));
    const double least = power_of_two(EXPONENT_BIAS - NEGLIGIBLE_EXPONENT);
    double dot = 0, square_a = 0, square_b = 0, chord = 0;
    for (size_t i = 0; i < dim; i++) {
        const double x = without_small(a[i] / scale_a, least);
        const double y = without_small(b[i] / scale_b, least);
        dot += x * y;
        square_a += x * x;
        square_b += y * y;
    }
    const double cosine = dot / sqrt(or_one(square_a * square_b));
    const double length_a = sqrt(or_one(square_a)), length_b = sqrt(or_one(square_b));
    for (size_t i = 0; i < dim; i++) {
        const double x = without_small(a[i] / scale_a, least) / length_a;
        const double y = without_small(b[i] / scale_b, least) / length_b;
        chord += square(without_small(x - y, least));
    }
    return clamp(dpot_key_choose(cosine > 0.5, chord / 2, 1 - cosine), 0, 2);
}

/* h = sin^2(lat / 2) + cos cos sin^2(lon / 2); its root is scaled as a Euclidean distance. */
static double distance_haversine(const double *a, const double *b)
{
    const double lat_a = a[0] * RADIANS_PER_DEGREE, lat_b = b[0] * RADIANS_PER_DEGREE;
    const double north = sin(gap_of(lat_b, lat_a) / 2);
    const double east = sin(gap_of(b[1], a[1]) * RADIANS_PER_DEGREE / 2);
    const struct scale scale = scale_of(larger(fabs(north), fabs(east)));
    const double h =
        square(without_small(north, scale.least) * scale.down) +
        cos(lat_a) * cos(lat_b) * square(without_small(east, scale.least) * scale.down);
    return 2 * EARTH_RADIUS_KM * asin(clamp(sqrt(clamp(h, 0, DBL_MAX)) * scale.up, 0, 1));
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

double dpot_metric_distance_public(const struct dpot_metric *metric, uint32_t dim, const double *a,
                                   const double *b)
{
    double sum = 0;
    for (size_t i = 0; metric->id == DPOT_METRIC_EUCLIDEAN && i < dim; i++) {
        sum += square(a[i] - b[i]);
    }
    return sum >= SAFE_SQUARE && sum <= DBL_MAX ? sqrt(sum)
                                                : dpot_metric_distance(metric, dim, a, b);
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

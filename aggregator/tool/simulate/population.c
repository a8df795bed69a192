#include "tool/simulate/population.h"

#include "base/alloc.h"
#include "model/metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MIN 3 /* home included */
#define PLACES_MAX 8
#define NEAR_KM 60.0
#define DECAY_KM 15.0
#define KM_PER_DEGREE 111.0 /* of latitude, rounded down so that the window is never too narrow */

struct map {
    size_t n;
    double (*place)[3];   /* (n) sorted by latitude: latitude, longitude, people */
    double *cumulative;   /* (n) people up to and including this place */
    double *near_weights; /* (n) scratch */
    struct dpot_rng *rng;
};

static const struct dpot_metric great_circle = {DPOT_METRIC_HAVERSINE, 0};

/* Longitude breaks ties, so that the order does not depend on qsort. */
static int by_latitude(const void *a, const void *b)
{
    const double *p = a, *q = b;
    const int first = (p[0] > q[0]) - (p[0] < q[0]);
    return first ? first : (p[1] > q[1]) - (p[1] < q[1]);
}

static double uniform(struct dpot_rng *rng)
{
    return ldexp((double)(dpot_rng_u64(rng) >> 11), -53);
}

static size_t uniform_between(struct dpot_rng *rng, size_t low, size_t high)
{
    return low + (size_t)(uniform(rng) * (double)(high - low + 1));
}

/* The first place with latitude >= bound. */
static size_t find_latitude(const struct map *map, double bound)
{
    size_t low = 0, high = map->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (map->place[middle][0] < bound) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Draws an index 0..n-1 in proportion to the steps of a cumulative sum. */
static size_t draw_cumulative(struct dpot_rng *rng, const double *cumulative, size_t n)
{
    const double target = uniform(rng) * cumulative[n - 1];
    size_t low = 0, high = n - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (cumulative[middle] > target) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Fills the cumulative gravity weights around `home` and returns how many places they cover. */
static size_t weigh_neighbours(struct map *map, size_t home, size_t *first)
{
    const double reach = NEAR_KM / KM_PER_DEGREE;
    *first = find_latitude(map, map->place[home][0] - reach);
    double sum = 0;
    size_t n = 0;
    for (size_t i = *first; i < map->n && map->place[i][0] <= map->place[home][0] + reach; i++) {
        const double km = dpot_metric_distance(&great_circle, 2, map->place[home], map->place[i]);
        sum += km <= NEAR_KM ? map->place[i][2] * exp(-km / DECAY_KM) : 0;
        map->near_weights[n++] = sum;
    }
    return n;
}

static void write_row(struct array *devices, size_t *row, size_t device, const double *place,
                      size_t visits)
{
    double *out = devices->values + 4 * (*row)++;
    out[0] = (double)device;
    out[1] = place[0];
    out[2] = place[1];
    out[3] = (double)visits;
}

static void draw_device(struct map *map, size_t device, struct array *devices, size_t *row)
{
    const size_t home = draw_cumulative(map->rng, map->cumulative, map->n);
    size_t first = 0;
    const size_t n_near = weigh_neighbours(map, home, &first);
    const size_t n_places = uniform_between(map->rng, PLACES_MIN, PLACES_MAX);
    write_row(devices, row, device, map->place[home], uniform_between(map->rng, 8, 15));
    for (size_t k = 1; k < n_places; k++) {
        const size_t place = uniform(map->rng) < 0.8
                                 ? first + draw_cumulative(map->rng, map->near_weights, n_near)
                                 : draw_cumulative(map->rng, map->cumulative, map->n);
        write_row(devices, row, device, map->place[place], uniform_between(map->rng, 1, 3));
    }
}

/* Frees the rows that were reserved and not used. */
static dpot_status shrink_rows(struct array *devices, size_t n_rows)
{
    double *values =
        dpot_resize_array(NULL, devices->values, 4 * devices->n_rows, 4 * n_rows, sizeof *values);
    if (!values) {
        return DPOT_ERR_MEMORY;
    }
    devices->values = values;
    devices->n_rows = n_rows;
    return DPOT_OK;
}

static dpot_status check_places(const struct array *places, struct dpot_error *error)
{
    if (places->n_cols != 3 || places->n_rows == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the places have %zu column%s and %zu row%s: give rows of latitude, "
                              "longitude, people",
                              places->n_cols, DPOT_S(places->n_cols), places->n_rows,
                              DPOT_S(places->n_rows));
    }
    double sum = 0;
    for (size_t i = 0; i < places->n_rows; i++) {
        const double *p = places->values + 3 * i;
        if (!(fabs(p[0]) <= 90 && fabs(p[1]) <= 360 && p[2] >= 0 && p[2] <= 1e12)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "place %zu is (%g, %g) with %g people: give latitude in "
                                  "[-90, 90], longitude in degrees and a count >= 0",
                                  i + 1, p[0], p[1], p[2]);
        }
        sum += p[2];
    }
    return sum > 0 ? DPOT_OK : dpot_error_set(error, DPOT_ERR_RANGE, "no place has any people");
}

dpot_status population_draw(const struct array *places, size_t n_devices, struct dpot_rng *rng,
                            struct array *devices, struct dpot_error *error)
{
    struct map map = {.n = places->n_rows, .rng = rng};
    size_t row = 0;
    *devices = (struct array){0};
    dpot_status status = check_places(places, error);
    if (status != DPOT_OK) {
        return status;
    }
    map.place = dpot_alloc_array(NULL, map.n, sizeof *map.place);
    map.cumulative = dpot_alloc_array(NULL, map.n, sizeof *map.cumulative);
    map.near_weights = dpot_alloc_array(NULL, map.n, sizeof *map.near_weights);
    status = array_init(devices, n_devices * PLACES_MAX, 4, false);
    if (!map.place || !map.cumulative || !map.near_weights || status != DPOT_OK) {
        status = dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu devices", n_devices);
        goto done;
    }
    memcpy(map.place, places->values, map.n * sizeof *map.place);
    qsort(map.place, map.n, sizeof *map.place, by_latitude);
    double sum = 0;
    for (size_t i = 0; i < map.n; i++) {
        sum += map.place[i][2];
        map.cumulative[i] = sum;
    }
    for (size_t device = 0; device < n_devices; device++) {
        draw_device(&map, device, devices, &row);
    }
    status = shrink_rows(devices, row);
done:
    dpot_free_array(NULL, map.place, map.n, sizeof *map.place);
    dpot_free_array(NULL, map.cumulative, map.n, sizeof *map.cumulative);
    dpot_free_array(NULL, map.near_weights, map.n, sizeof *map.near_weights);
    if (status != DPOT_OK) {
        array_release(devices);
    }
    return status;
}

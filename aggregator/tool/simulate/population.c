#include "tool/simulate/population.h"

#include "base/alloc.h"
#include "model/metric.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MIN 3 /* home included */
#define PLACES_MAX 8
#define NEAR_KM 60.0
#define DECAY_KM 15.0
#define RADIUS_KM 6371.0088
#define DEGREE 0.017453292519943295 /* in radians */

/* Cells of the globe. Those that can be near a home: all columns of at most 6 rows. */
#define CELL_DEGREES 0.25
#define N_ROWS 720
#define N_COLS 1440
#define N_CELLS ((size_t)N_ROWS * N_COLS)
#define NEAR_CELLS_MAX ((size_t)6 * N_COLS)
#define TRIES_MAX 100 /* then all near places are weighed */

/* A cell near a home: its places are first .. end - 1. */
struct near_cell {
    size_t first, end;
    double most;  /* of exp(-distance / 15 km), as no place is nearer than the cell */
    double bound; /* people times `most`, summed up to this cell */
};

struct map {
    size_t n;
    double (*place)[3];     /* (n) sorted by cell: latitude, longitude, people */
    double *cumulative;     /* (n) people up to and including this place */
    uint32_t *cell;         /* (N_CELLS + 1) the first place of each cell */
    struct near_cell *near; /* (NEAR_CELLS_MAX) of the present home */
    size_t n_near;
    double *weights; /* (n) scratch */
    struct dpot_rng *rng;
};

static const struct dpot_metric great_circle = {DPOT_METRIC_HAVERSINE, 0};

static size_t row_of(double latitude)
{
    const double row = floor((latitude + 90) / CELL_DEGREES);
    return row < 0 ? 0 : row >= N_ROWS ? N_ROWS - 1 : (size_t)row;
}

/* In [0, N_COLS]: N_COLS only by rounding. */
static double columns_east(double longitude)
{
    return (longitude - 360 * floor(longitude / 360)) / CELL_DEGREES;
}

static size_t cell_of(const double *place)
{
    return row_of(place[0]) * N_COLS + (size_t)columns_east(place[1]) % N_COLS;
}

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

/* All coordinates break ties, so that the order does not depend on qsort. */
static int by_cell(const void *a, const void *b)
{
    const double *p = a, *q = b;
    const size_t cell_p = cell_of(p), cell_q = cell_of(q);
    int order = (cell_p > cell_q) - (cell_p < cell_q);
    for (size_t i = 0; order == 0 && i < 3; i++) {
        order = compare(p[i], q[i]);
    }
    return order;
}

static double uniform(struct dpot_rng *rng)
{
    return ldexp((double)(dpot_rng_u64(rng) >> 11), -53);
}

static size_t uniform_between(struct dpot_rng *rng, size_t low, size_t high)
{
    return low + (size_t)(uniform(rng) * (double)(high - low + 1));
}

/* Draws an index first..end-1 in proportion to the steps of a cumulative sum. */
static size_t draw_cumulative(struct dpot_rng *rng, const double *cumulative, size_t first,
                              size_t end)
{
    const double below = first > 0 ? cumulative[first - 1] : 0;
    const double target = below + uniform(rng) * (cumulative[end - 1] - below);
    size_t low = first, high = end - 1;
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

static double people_in(const struct map *map, size_t first, size_t end)
{
    return map->cumulative[end - 1] - (first > 0 ? map->cumulative[first - 1] : 0);
}

/* Kilometres to a meridian that many degrees east or west: no point behind it is nearer. */
static double to_meridian(double latitude, double degrees)
{
    return RADIUS_KM * asin(cos(latitude * DEGREE) * sin(fmin(degrees, 90) * DEGREE));
}

static void add_cell(struct map *map, size_t row, size_t column, double least_km)
{
    const uint32_t *at = map->cell + row * N_COLS + column;
    const double people = at[0] < at[1] ? people_in(map, at[0], at[1]) : 0;
    if (least_km > NEAR_KM || !(people > 0)) {
        return;
    }
    const double most = exp(-least_km / DECAY_KM);
    const double sum = map->n_near > 0 ? map->near[map->n_near - 1].bound : 0;
    map->near[map->n_near++] = (struct near_cell){at[0], at[1], most, sum + most * people};
}

/* Cells of a row, outwards from the column of the home to both sides, as far as they are near. */
static void add_row(struct map *map, const double *home, size_t row)
{
    const double south = CELL_DEGREES * (double)row - 90, at = columns_east(home[1]);
    const double away = fmax(fmax(south - home[0], home[0] - south - CELL_DEGREES), 0);
    const double row_km = RADIUS_KM * DEGREE * away;
    const size_t column = (size_t)at % N_COLS;
    const double east = floor(at) + 1 - at, west = at - floor(at);
    bool is_near[2] = {true, true};
    add_cell(map, row, column, row_km);
    for (size_t k = 1; k <= N_COLS / 2 && (is_near[0] || is_near[1]); k++) {
        const double gaps[2] = {east + (double)(k - 1), west + (double)(k - 1)};
        const size_t columns[2] = {(column + k) % N_COLS, (column + N_COLS - k) % N_COLS};
        for (size_t side = 0; side < 2; side++) {
            const double km = fmax(row_km, to_meridian(home[0], gaps[side] * CELL_DEGREES));
            is_near[side] = km <= NEAR_KM && (side == 0 || k < N_COLS / 2);
            if (is_near[side]) {
                add_cell(map, row, columns[side], km);
            }
        }
    }
}

static void find_near_cells(struct map *map, const double *home)
{
    const double reach = NEAR_KM / (RADIUS_KM * DEGREE);
    map->n_near = 0;
    for (size_t row = row_of(home[0] - reach); row <= row_of(home[0] + reach); row++) {
        add_row(map, home, row);
    }
}

static double decay(double km)
{
    return km <= NEAR_KM ? exp(-km / DECAY_KM) : 0;
}

/* The same by the weights of all near places: where few places of the near cells are near. */
static size_t weigh_near_places(struct map *map, const double *home)
{
    double sum = 0;
    size_t n = 0;
    for (size_t c = 0; c < map->n_near; c++) {
        for (size_t i = map->near[c].first; i < map->near[c].end; i++) {
            const double km = dpot_metric_distance_public(&great_circle, 2, home, map->place[i]);
            sum += map->place[i][2] * decay(km);
            map->weights[n++] = sum;
        }
    }
    size_t k = draw_cumulative(map->rng, map->weights, 0, n);
    for (size_t c = 0;; c++) {
        const size_t size = map->near[c].end - map->near[c].first;
        if (k < size) {
            return map->near[c].first + k;
        }
        k -= size;
    }
}

static size_t draw_near_cell(struct map *map)
{
    const double target = uniform(map->rng) * map->near[map->n_near - 1].bound;
    size_t low = 0, high = map->n_near - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (map->near[middle].bound > target) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Draws a place in proportion to people times exp(-distance / 15 km): a cell by its bound, a place
 * in it by people, which is accepted in proportion to what the bound exceeds. */
static size_t draw_near_place(struct map *map, const double *home)
{
    for (size_t k = 0; k < TRIES_MAX; k++) {
        const struct near_cell *cell = &map->near[draw_near_cell(map)];
        const size_t i = draw_cumulative(map->rng, map->cumulative, cell->first, cell->end);
        const double km = dpot_metric_distance_public(&great_circle, 2, home, map->place[i]);
        if (uniform(map->rng) * cell->most < decay(km)) {
            return i;
        }
    }
    return weigh_near_places(map, home);
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
    const double *home = map->place[draw_cumulative(map->rng, map->cumulative, 0, map->n)];
    const size_t n_places = uniform_between(map->rng, PLACES_MIN, PLACES_MAX);
    find_near_cells(map, home);
    write_row(devices, row, device, home, uniform_between(map->rng, 8, 15));
    for (size_t k = 1; k < n_places; k++) {
        const size_t place = uniform(map->rng) < 0.8
                                 ? draw_near_place(map, home)
                                 : draw_cumulative(map->rng, map->cumulative, 0, map->n);
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

static dpot_status map_init(struct map *map, const struct array *places)
{
    double sum = 0;
    map->place = dpot_alloc_array(NULL, map->n, sizeof *map->place);
    map->cumulative = dpot_alloc_array(NULL, map->n, sizeof *map->cumulative);
    map->cell = dpot_alloc_array(NULL, N_CELLS + 1, sizeof *map->cell);
    map->near = dpot_alloc_array(NULL, NEAR_CELLS_MAX, sizeof *map->near);
    map->weights = dpot_alloc_array(NULL, map->n, sizeof *map->weights);
    if (!map->place || !map->cumulative || !map->cell || !map->near || !map->weights) {
        return DPOT_ERR_MEMORY;
    }
    memcpy(map->place, places->values, map->n * sizeof *map->place);
    qsort(map->place, map->n, sizeof *map->place, by_cell);
    for (size_t i = 0; i < map->n; i++) {
        sum += map->place[i][2];
        map->cumulative[i] = sum;
        map->cell[cell_of(map->place[i]) + 1]++;
    }
    for (size_t c = 0; c < N_CELLS; c++) {
        map->cell[c + 1] += map->cell[c];
    }
    return DPOT_OK;
}

static void map_release(struct map *map)
{
    dpot_free_array(NULL, map->place, map->n, sizeof *map->place);
    dpot_free_array(NULL, map->cumulative, map->n, sizeof *map->cumulative);
    dpot_free_array(NULL, map->cell, N_CELLS + 1, sizeof *map->cell);
    dpot_free_array(NULL, map->near, NEAR_CELLS_MAX, sizeof *map->near);
    dpot_free_array(NULL, map->weights, map->n, sizeof *map->weights);
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
    status = map_init(&map, places);
    if (status == DPOT_OK) {
        status = array_init(devices, n_devices * PLACES_MAX, 4, false);
    }
    for (size_t device = 0; status == DPOT_OK && device < n_devices; device++) {
        draw_device(&map, device, devices, &row);
    }
    if (status == DPOT_OK) {
        status = shrink_rows(devices, row);
    }
    map_release(&map);
    if (status != DPOT_OK) {
        array_release(devices);
        return dpot_error_set(error, status, "out of memory for %zu devices", n_devices);
    }
    return DPOT_OK;
}

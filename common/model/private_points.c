#include "model/private_points.h"

#include "base/crypto.h"
#include "model/places.h"
#include "model/weight_key.h"

#include <float.h>
#include <math.h>
#include <string.h>

dpot_status dpot_private_points_init(struct dpot_private_points *points, size_t n_max, uint32_t dim,
                                     const struct dpot_allocator *allocator)
{
    *points = (struct dpot_private_points){.dim = dim};
    dpot_status status = dpot_private_measure_init(&points->measure, n_max, allocator);
    if (status == DPOT_OK) {
        status = dpot_private_vector_init(&points->vectors, n_max * dim, allocator);
    }
    if (status != DPOT_OK) {
        dpot_private_points_release(points);
    }
    return status;
}

void dpot_private_points_release(struct dpot_private_points *points)
{
    dpot_private_measure_release(&points->measure);
    dpot_private_vector_release(&points->vectors);
    *points = (struct dpot_private_points){0};
}

/* Divides by the largest number first, so that no square over- or underflows. Both outcomes are
 * computed and one is selected. */
void dpot_unit_vector(double *x, uint32_t dim)
{
    double largest = 0, square = 0;
    int is_whole = 1;
    for (uint32_t j = 0; j < dim; j++) {
        const double size = fabs(x[j]);
        is_whole &= size <= DBL_MAX;
        largest = size > largest ? size : largest;
    }
    is_whole &= largest > 0;
    const double divisor = is_whole ? largest : 1;
    for (uint32_t j = 0; j < dim; j++) {
        x[j] = is_whole ? x[j] / divisor : (double)(j == 0);
        square += x[j] * x[j];
    }
    const double length = sqrt(square);
    for (uint32_t j = 0; j < dim; j++) {
        x[j] /= length;
    }
}

/* While data are read, the rows of the measure hold numbers of data rows, heaviest first, ties in
 * order of arrival. The same number may be read several times in succession: it is pending until
 * another one arrives. */
struct choice {
    struct dpot_measure *measure;
    uint32_t entry; /* pending */
    double weight;
};

/* Inserts before the first lighter row; that row and all later ones move by one. */
static void insert(struct dpot_measure *measure, uint32_t entry, double weight)
{
    uint32_t moves = 0;
    for (size_t r = 0; r < measure->support_size; r++) {
        const double there = measure->weights[r];
        moves |= (uint32_t)dpot_key_mask(weight > there);
        const uint32_t swap = (measure->support[r] ^ entry) & moves;
        measure->weights[r] = moves ? weight : there;
        weight = moves ? there : weight;
        measure->support[r] ^= swap;
        entry ^= swap;
    }
}

static void choose(void *ctx, size_t entry, double weight)
{
    struct choice *choice = ctx;
    const uint32_t number = (uint32_t)entry;
    const bool is_same = number == choice->entry;
    insert(choice->measure, choice->entry, is_same ? 0 : choice->weight);
    choice->weight = weight + (is_same ? choice->weight : 0);
    choice->entry = number;
}

/* Sorts by the number of the data row, rows without weight last: odd-even transposition, whose
 * number of exchanges does not depend on the order. */
static void sort_rows(struct dpot_measure *measure)
{
    const size_t n = measure->support_size;
    uint32_t *support = measure->support;
    double *weights = measure->weights;
    for (size_t round = 0; round < n; round++) {
        for (size_t r = round % 2; r + 1 < n; r += 2) {
            const double low = weights[r], high = weights[r + 1];
            const bool is_after = high > 0 && support[r] > support[r + 1];
            const uint32_t swap = (support[r] ^ support[r + 1]) & (uint32_t)dpot_key_mask(is_after);
            weights[r] = is_after ? high : low;
            weights[r + 1] = is_after ? low : high;
            support[r] ^= swap;
            support[r + 1] ^= swap;
        }
    }
}

static void normalize(double *weights, size_t n_rows)
{
    double sum = 0;
    for (size_t r = 0; r < n_rows; r++) {
        sum += weights[r];
    }
    weights[0] += sum > 0 ? 0 : 1;
    sum += sum > 0 ? 0 : 1;
    for (size_t r = 0; r < n_rows; r++) {
        weights[r] /= sum;
    }
}

/* Loads the vector of a row with weight; others keep their zeros. */
static void load_vector(struct dpot_private_points *points, const double *data, size_t r)
{
    const struct dpot_measure *measure = &points->measure.measure;
    double *row = points->vectors.values + r * points->dim;
    const bool is_used = measure->weights[r] > 0;
    const double *source = is_used ? data + (size_t)measure->support[r] * points->dim : row;
    for (uint32_t i = 0; i < points->dim; i++) {
        row[i] = source[i];
    }
    dpot_unit_vector(row, points->dim);
}

/* Data rows have 32-bit numbers: rows beyond are ignored. */
void dpot_private_points_set(struct dpot_private_points *points, const double *data,
                             const double *weights, size_t n, uint64_t uniform)
{
    struct dpot_measure *measure = &points->measure.measure;
    struct choice choice = {.measure = measure};
    const size_t n_rows = data ? (n < UINT32_MAX ? n : UINT32_MAX) : 0;
    memset(measure->support, 0, measure->support_size * sizeof *measure->support);
    memset(measure->weights, 0, measure->support_size * sizeof *measure->weights);
    memset(points->vectors.values, 0, points->vectors.dim * sizeof *points->vectors.values);
    dpot_places_walk(weights, n_rows, uniform, choose, &choice);
    insert(measure, choice.entry, choice.weight);
    sort_rows(measure);
    for (size_t r = 0; r < measure->support_size; r++) {
        load_vector(points, data, r);
    }
    normalize(measure->weights, measure->support_size);
    for (size_t r = 0; r < measure->support_size; r++) {
        measure->support[r] = (uint32_t)r;
    }
    dpot_wipe(&choice, sizeof choice);
}

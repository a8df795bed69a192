#include "model/private_points.h"

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

/* By the largest number first, so that no square overflows or vanishes. Both outcomes are computed
 * and one is selected. */
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

static double usable(double weight)
{
    return weight > 0 && weight <= DBL_MAX ? weight : 0;
}

/* The row that gives way to a heavier one: the lightest, of equals the one that came last. Rows are in
 * no order. */
static size_t find_lightest(const struct dpot_measure *measure, size_t n_rows)
{
    size_t lightest = 0;
    for (size_t r = 1; r < n_rows; r++) {
        const double diff = measure->weights[r] - measure->weights[lightest];
        if (diff < 0 || (diff == 0 && measure->support[r] > measure->support[lightest])) {
            lightest = r;
        }
    }
    return lightest;
}

/* Leaves in support[] the numbers of the rows of data that stay, and returns how many do. */
static size_t keep_heaviest(struct dpot_measure *measure, const double *weights, size_t n)
{
    size_t n_rows = 0;
    for (size_t i = 0; i < n && i < UINT32_MAX; i++) {
        const double weight = weights ? usable(weights[i]) : 1;
        const bool is_full = n_rows == measure->support_size;
        const size_t r = is_full ? find_lightest(measure, n_rows) : n_rows;
        if (weight > (is_full ? measure->weights[r] : 0)) {
            measure->support[r] = (uint32_t)i;
            measure->weights[r] = weight;
            n_rows += !is_full;
        }
    }
    return n_rows;
}

/* Divides by the largest, then by the sum, which neither overflows nor vanishes. */
static void normalize(double *weights, size_t n_rows)
{
    double largest = 0, sum = 0;
    for (size_t r = 0; r < n_rows; r++) {
        largest = fmax(largest, weights[r]);
    }
    for (size_t r = 0; r < n_rows; r++) {
        weights[r] /= largest;
        sum += weights[r];
    }
    for (size_t r = 0; r < n_rows; r++) {
        weights[r] /= sum;
    }
}

void dpot_private_points_set(struct dpot_private_points *points, const double *data,
                             const double *weights, size_t n)
{
    struct dpot_measure *measure = &points->measure.measure;
    const uint32_t dim = points->dim;
    size_t n_rows = keep_heaviest(measure, weights, data ? n : 0);
    memset(points->vectors.values, 0, points->vectors.dim * sizeof *points->vectors.values);
    for (size_t r = 0; r < n_rows; r++) {
        double *row = points->vectors.values + r * dim;
        memcpy(row, data + (size_t)measure->support[r] * dim, dim * sizeof *row);
        dpot_unit_vector(row, dim);
    }
    if (n_rows == 0) {
        points->vectors.values[0] = 1;
        measure->weights[n_rows++] = 1;
    }
    normalize(measure->weights, n_rows);
    for (size_t r = 0; r < measure->support_size; r++) {
        measure->support[r] = (uint32_t)r;
        measure->weights[r] = r < n_rows ? measure->weights[r] : 0;
    }
}

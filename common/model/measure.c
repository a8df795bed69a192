#include "model/measure.h"

#include "base/crypto.h"
#include "model/weight_key.h"

#include <math.h>
#include <string.h>

dpot_status dpot_private_measure_init(struct dpot_private_measure *private_measure, size_t n_max,
                                      const struct dpot_allocator *allocator)
{
    struct dpot_measure *measure = &private_measure->measure;
    *measure = (struct dpot_measure){.support_size = n_max, .allocator = allocator};
    measure->support = dpot_alloc_array(allocator, n_max, sizeof *measure->support);
    measure->weights = dpot_alloc_array(allocator, n_max, sizeof *measure->weights);
    if (!measure->support || !measure->weights) {
        dpot_private_measure_release(private_measure);
        return DPOT_ERR_MEMORY;
    }
    return DPOT_OK;
}

void dpot_private_measure_release(struct dpot_private_measure *private_measure)
{
    struct dpot_measure *measure = &private_measure->measure;
    dpot_free_secret(measure->allocator, measure->support, measure->support_size,
                     sizeof *measure->support);
    dpot_free_secret(measure->allocator, measure->weights, measure->support_size,
                     sizeof *measure->weights);
    *measure = (struct dpot_measure){0};
}

/* ---- the heaviest entries, in a number of steps that depends on size and n_max only ---- */

/* Bits of the threshold: marks are at most 40 2^52 + 1. */
#define MARK_BITS 58

static uint64_t mark_of(const double *histogram, size_t i)
{
    uint64_t mark;
    memcpy(&mark, histogram + i, sizeof mark);
    return mark;
}

/* Replaces the histogram by marks, integers in the order of its weights: 0 for weights that count
 * as 0, 1 for the smallest other one. Returns the key of the largest. */
static uint64_t mark_weights(double *histogram, size_t size)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < size; i++) {
        largest = dpot_key_max(largest, dpot_weight_key(histogram[i]));
    }
    const uint64_t floor = dpot_weight_floor(largest);
    for (size_t i = 0; i < size; i++) {
        const uint64_t key = dpot_weight_key(histogram[i]);
        const uint64_t mark = (key - floor + 1) & dpot_key_mask(key >= floor);
        memcpy(histogram + i, &mark, sizeof mark);
    }
    return largest;
}

/* The number of marks >= least. Both are below 2^63: the top bit of the difference is its
 * borrow. */
static size_t count_from(const double *histogram, size_t size, uint64_t least)
{
    uint64_t n_less = 0;
    for (size_t i = 0; i < size; i++) {
        n_less += (mark_of(histogram, i) - least) >> 63;
    }
    return size - (size_t)n_less;
}

/* The n-th largest mark, bit by bit from the top; 0 if fewer than n are positive. */
static uint64_t find_threshold(const double *histogram, size_t size, size_t n)
{
    uint64_t threshold = 0;
    for (unsigned bit = MARK_BITS; bit-- > 0;) {
        const uint64_t candidate = threshold | UINT64_C(1) << bit;
        threshold |=
            (candidate ^ threshold) & dpot_key_mask(count_from(histogram, size, candidate) >= n);
    }
    return threshold;
}

/* Fills the rows, in the order of the domain, with the marks above the threshold and as many of the
 * first ones at the threshold as fit. Returns the number of rows. */
static size_t take_rows(struct dpot_measure *measure, const double *histogram, size_t size,
                        uint64_t threshold, uint64_t largest)
{
    const size_t n_max = measure->support_size;
    const uint64_t to_key = dpot_weight_floor(largest) - 1;
    size_t room = n_max - count_from(histogram, size, threshold + 1), n_rows = 0;
    for (size_t i = 0; i < size; i++) {
        const uint64_t mark = mark_of(histogram, i);
        const int is_at = mark == threshold && threshold > 0 && room > 0;
        const uint64_t mask = dpot_key_mask(mark > threshold || is_at);
        const size_t row = n_rows < n_max ? n_rows : n_max - 1;
        const double weight = dpot_weight_scaled((mark + to_key) & mask, largest);
        measure->support[row] ^= (measure->support[row] ^ (uint32_t)i) & (uint32_t)mask;
        measure->weights[row] = mask ? weight : measure->weights[row];
        room -= (size_t)is_at;
        n_rows += (size_t)(mask & 1);
    }
    return n_rows;
}

/* Divides by the sum; without rows, sets the public default of a device without data. */
static void normalize_rows(struct dpot_measure *measure, size_t size, size_t n_rows)
{
    const size_t n_max = measure->support_size;
    const size_t n_default = n_max < size ? n_max : size;
    const uint32_t is_empty = (uint32_t)dpot_key_mask(n_rows == 0);
    double sum = 0;
    for (size_t r = 0; r < n_max; r++) {
        sum += measure->weights[r];
    }
    const double divisor = n_rows > 0 ? sum : (double)n_default;
    for (size_t r = 0; r < n_max; r++) {
        const uint32_t spread = (uint32_t)((uint64_t)r * size / n_default);
        const double share = (n_rows > 0 ? measure->weights[r] : (double)(r < n_default)) / divisor;
        measure->weights[r] = share;
        measure->support[r] |= spread & is_empty & (uint32_t)dpot_key_mask(r < n_default);
    }
}

void dpot_private_measure_set(struct dpot_private_measure *private_measure, double *histogram,
                              size_t size)
{
    struct dpot_measure *measure = &private_measure->measure;
    memset(measure->support, 0, measure->support_size * sizeof *measure->support);
    memset(measure->weights, 0, measure->support_size * sizeof *measure->weights);
    const uint64_t largest = mark_weights(histogram, size);
    const uint64_t threshold = find_threshold(histogram, size, measure->support_size);
    const size_t n_rows = take_rows(measure, histogram, size, threshold, largest);
    normalize_rows(measure, size, n_rows);
    dpot_wipe(histogram, size * sizeof *histogram);
}

dpot_status dpot_weights_check(double *weights, size_t n, int normalize, struct dpot_error *error)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(weights[i] >= 0) || isinf(weights[i])) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "weight %zu is %g: weights must be finite and not negative", i,
                                  weights[i]);
        }
        sum += weights[i];
    }
    if (!(sum > 0) || isinf(sum)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the weights sum to %g: the sum must be positive and finite", sum);
    }
    if (!normalize && !(fabs(sum - 1) <= 1e-6)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the weights sum to %.9g: they must sum to 1, or be normalised", sum);
    }
    for (size_t i = 0; i < n; i++) {
        weights[i] /= sum;
    }
    return DPOT_OK;
}

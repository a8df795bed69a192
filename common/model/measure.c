#include "model/measure.h"

#include "base/crypto.h"

#include <math.h>

dpot_status dpot_measure_init(struct dpot_measure *measure, size_t support_size,
                              const struct dpot_allocator *allocator)
{
    *measure = (struct dpot_measure){0};
    uint32_t *support = dpot_alloc_array(allocator, support_size, sizeof *support);
    double *weights = dpot_alloc_array(allocator, support_size, sizeof *weights);
    if (!support || !weights) {
        dpot_free_array(allocator, support, support_size, sizeof *support);
        dpot_free_array(allocator, weights, support_size, sizeof *weights);
        return DPOT_ERR_MEMORY;
    }
    *measure = (struct dpot_measure){support_size, support, weights, allocator};
    return DPOT_OK;
}

void dpot_measure_release(struct dpot_measure *measure)
{
    dpot_free_array(measure->allocator, measure->support, measure->support_size,
                    sizeof *measure->support);
    dpot_free_array(measure->allocator, measure->weights, measure->support_size,
                    sizeof *measure->weights);
    *measure = (struct dpot_measure){0};
}

dpot_status dpot_private_measure_init(struct dpot_private_measure *private_measure, size_t n_max,
                                      const struct dpot_allocator *allocator)
{
    return dpot_measure_init(&private_measure->measure, n_max, allocator);
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

/* True when row a has to leave the measure before row b: the lighter one, of equal ones that with
 * the higher index. */
static int leaves_before(const struct dpot_measure *measure, size_t a, size_t b)
{
    const double *w = measure->weights;
    return w[a] < w[b] || (w[a] == w[b] && measure->support[a] > measure->support[b]);
}

static int index_above(const struct dpot_measure *measure, size_t a, size_t b)
{
    return measure->support[a] > measure->support[b];
}

static void swap_rows(struct dpot_measure *measure, size_t a, size_t b)
{
    const double weight = measure->weights[a];
    const uint32_t point = measure->support[a];
    measure->weights[a] = measure->weights[b];
    measure->support[a] = measure->support[b];
    measure->weights[b] = weight;
    measure->support[b] = point;
}

/* Restores the heap of `n_rows` rows below `row`: every row goes `before` its children. */
static void sift_down(struct dpot_measure *measure, size_t row, size_t n_rows,
                      int (*before)(const struct dpot_measure *, size_t, size_t))
{
    for (size_t child = 2 * row + 1; child < n_rows; child = 2 * row + 1) {
        if (child + 1 < n_rows && before(measure, child + 1, child)) {
            child++;
        }
        if (!before(measure, child, row)) {
            return;
        }
        swap_rows(measure, row, child);
        row = child;
    }
}

static void sift_up(struct dpot_measure *measure, size_t row)
{
    while (row > 0 && leaves_before(measure, row, (row - 1) / 2)) {
        swap_rows(measure, row, (row - 1) / 2);
        row = (row - 1) / 2;
    }
}

/* Leaves the heaviest positive entries in the first rows, as a heap whose root is the first to
 * leave, and returns their number. Work at most size * log(n_max), no memory but the rows. */
static size_t keep_heaviest(struct dpot_measure *measure, const double *histogram, size_t size)
{
    size_t n_rows = 0;
    for (size_t i = 0; i < size; i++) {
        if (!(histogram[i] > 0) || isinf(histogram[i])) {
            continue;
        }
        if (n_rows < measure->support_size) {
            measure->support[n_rows] = (uint32_t)i;
            measure->weights[n_rows] = histogram[i];
            sift_up(measure, n_rows++);
        } else if (n_rows > 0 && histogram[i] > measure->weights[0]) {
            measure->support[0] = (uint32_t)i;
            measure->weights[0] = histogram[i];
            sift_down(measure, 0, n_rows, leaves_before);
        }
    }
    return n_rows;
}

static void sort_by_index(struct dpot_measure *measure, size_t n_rows)
{
    for (size_t row = n_rows / 2; row-- > 0;) {
        sift_down(measure, row, n_rows, index_above);
    }
    for (size_t last = n_rows; last-- > 1;) {
        swap_rows(measure, 0, last);
        sift_down(measure, 0, last, index_above);
    }
}

/* Divides by the sum. A power of two is taken out first, so that weights near the ends of the
 * double range neither overflow the sum nor change ordinary ones. */
static void normalize_rows(double *weights, size_t n_rows)
{
    double largest = 0, sum = 0;
    int exponent = 0;
    for (size_t r = 0; r < n_rows; r++) {
        largest = fmax(largest, weights[r]);
    }
    (void)frexp(largest, &exponent);
    for (size_t r = 0; r < n_rows; r++) {
        weights[r] = ldexp(weights[r], -exponent);
        sum += weights[r];
    }
    for (size_t r = 0; r < n_rows; r++) {
        weights[r] /= sum;
    }
}

/* The public default of a device without data. Returns its number of rows. */
static size_t set_default(struct dpot_measure *measure, size_t size)
{
    const size_t n_rows = measure->support_size < size ? measure->support_size : size;
    for (size_t r = 0; r < n_rows; r++) {
        measure->support[r] = (uint32_t)((uint64_t)r * size / n_rows);
        measure->weights[r] = 1.0 / (double)n_rows;
    }
    return n_rows;
}

void dpot_private_measure_set(struct dpot_private_measure *private_measure, double *histogram,
                              size_t size)
{
    struct dpot_measure *measure = &private_measure->measure;
    size_t n_rows = keep_heaviest(measure, histogram, size);
    if (n_rows > 0) {
        sort_by_index(measure, n_rows);
        normalize_rows(measure->weights, n_rows);
    } else {
        n_rows = set_default(measure, size);
    }
    for (size_t r = n_rows; r < measure->support_size; r++) {
        measure->support[r] = 0;
        measure->weights[r] = 0;
    }
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

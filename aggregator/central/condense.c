#include "central/condense.h"

#include <string.h>

/* The first level at which two cells of level `depth` differ; depth + 1 for the same cell. */
static size_t level_of_difference(uint64_t a, uint64_t b, size_t depth)
{
    size_t level = depth + 1;
    for (uint64_t rest = a ^ b; rest; rest >>= 1) {
        level--;
    }
    return level;
}

size_t condense_level(const uint64_t *codes, size_t n, size_t depth, size_t limit)
{
    size_t first_at[66] = {0}; /* neighbouring codes that first differ at this level */
    for (size_t i = 1; i < n; i++) {
        first_at[level_of_difference(codes[i - 1], codes[i], depth)]++;
    }
    size_t level = 0;
    for (size_t cells = 1; level < depth && cells + first_at[level + 1] <= limit; level++) {
        cells += first_at[level + 1];
    }
    return level;
}

/* Writes the mean of points [begin, end) to position `at` <= begin. */
static void merge(double *points, double *weights, size_t dim, size_t begin, size_t end, size_t at)
{
    double mass = 0;
    for (size_t i = begin; i < end; i++) {
        mass += weights[i];
    }
    /* Accumulates x += w_i / W (x_i - x) in the first row, so the mean stays within the hull of the
     * points. */
    double *mean = points + begin * dim, so_far = weights[begin];
    for (size_t i = begin + 1; i < end && mass > 0; i++) {
        so_far += weights[i];
        for (size_t a = 0; a < dim && weights[i] > 0; a++) {
            mean[a] += weights[i] / so_far * (points[i * dim + a] - mean[a]);
        }
    }
    memmove(points + at * dim, mean, dim * sizeof *points);
    weights[at] = mass;
}

size_t condense(const uint64_t *codes, size_t n, size_t depth, size_t limit, size_t dim,
                double *points, double *weights)
{
    const size_t shift = depth - condense_level(codes, n, depth, limit);
    size_t n_left = 0;
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && codes[end] >> shift == codes[begin] >> shift; end++) {
        }
        merge(points, weights, dim, begin, end, n_left++);
    }
    return n_left;
}

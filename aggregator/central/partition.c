#include "central/partition.h"

#include <math.h>

dpot_status partition_check(const struct partition *partition, struct dpot_error *error)
{
    if (partition->dim < 1 || partition->dim > PARTITION_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the points have %zu coordinates: give 1 to %d", partition->dim,
                              PARTITION_DIM_MAX);
    }
    for (size_t a = 0; a < partition->dim; a++) {
        const double lo = partition->lo[a], hi = partition->hi[a];
        if (!(lo < hi && isfinite(hi - lo))) {
            return dpot_error_set(
                error, DPOT_ERR_RANGE,
                "coordinate %zu of the box goes from %g to %g: give the lower end "
                "first, with a finite distance",
                a + 1, lo, hi);
        }
    }
    return DPOT_OK;
}

/* How often levels 1 .. `level` halve axis a. */
static unsigned n_halvings(const struct partition *partition, size_t level, size_t a)
{
    return level > a ? (unsigned)((level - 1 - a) / partition->dim + 1) : 0;
}

/* Index of the slice of axis a that contains x, at full depth. */
static uint64_t slice_of(const struct partition *partition, size_t a, double x)
{
    const double lo = partition->lo[a], hi = partition->hi[a];
    const double n = ldexp(1, (int)n_halvings(partition, partition->depth, a));
    const double position = floor((x - lo) / (hi - lo) * n);
    return position >= n ? (uint64_t)n - 1 : position > 0 ? (uint64_t)position : 0;
}

uint64_t partition_code(const struct partition *partition, const double *point)
{
    const size_t depth = partition->depth;
    uint64_t code = 0;
    for (size_t a = 0; a < partition->dim && a < depth; a++) {
        const uint64_t slice = slice_of(partition, a, point[a]);
        unsigned bit = n_halvings(partition, depth, a);
        for (size_t j = a; j < depth; j += partition->dim) {
            code |= (slice >> --bit & 1) << (depth - 1 - j);
        }
    }
    return code;
}

bool partition_holds(const struct partition *partition, const double *point)
{
    bool is_inside = true;
    for (size_t a = 0; a < partition->dim; a++) {
        is_inside = is_inside && point[a] >= partition->lo[a] && point[a] <= partition->hi[a];
    }
    return is_inside;
}

void partition_cell(const struct partition *partition, size_t level, uint64_t code, double *lo,
                    double *hi)
{
    for (size_t a = 0; a < partition->dim; a++) {
        uint64_t slice = 0;
        for (size_t j = a; j < level; j += partition->dim) {
            slice = 2 * slice + (code >> (level - 1 - j) & 1);
        }
        const double n = ldexp(1, (int)n_halvings(partition, level, a));
        const double whole = partition->hi[a] - partition->lo[a];
        lo[a] = partition->lo[a] + whole * ((double)slice / n);
        hi[a] = slice + 1 == (uint64_t)n ? partition->hi[a]
                                         : partition->lo[a] + whole * ((double)(slice + 1) / n);
    }
}

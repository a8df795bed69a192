#include "central/lattice.h"

#include "base/alloc.h"

#include <math.h>

#define LATTICE_BALL_MAX ((int64_t)1 << 24)
#define UP 1.000000000001 /* larger than the rounding of a square root and a few sums */

dpot_status lattice_init(struct lattice *lattice, struct dpot_error *error)
{
    double longest = 0;
    lattice->width = NULL;
    if (lattice->dim == 0 || lattice->dim > LATTICE_DIM_MAX || lattice->cells == 0 ||
        lattice->cells > LATTICE_CELLS_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "%zu coordinates in %u cells: give 1 to %d, and 1 to %u",
                              lattice->dim, lattice->cells, LATTICE_DIM_MAX, LATTICE_CELLS_MAX);
    }
    for (size_t a = 0; a < lattice->dim; a++) {
        const double side = lattice->hi[a] - lattice->lo[a];
        if (!(side > 0 && isfinite(side))) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "coordinate %zu of the box runs from %g to %g: give lo < hi", a,
                                  lattice->lo[a], lattice->hi[a]);
        }
        longest = fmax(longest, side);
    }
    lattice->unit = ldexp(longest, -LATTICE_BITS);
    const double ball = ceil(lattice->radius / lattice->unit);
    if (!(ball >= 0 && ball <= (double)LATTICE_BALL_MAX &&
          4 * ball * ball >= (double)lattice->dim) &&
        lattice->radius != 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "a ball of radius %g does not go with a box whose longest side is %g",
                              lattice->radius, longest);
    }
    lattice->ball = (int64_t)ball;
    lattice->width = dpot_alloc_array(NULL, lattice->dim, sizeof *lattice->width);
    if (!lattice->width) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t a = 0; a < lattice->dim; a++) {
        lattice->width[a] = (int32_t)ceil((lattice->hi[a] - lattice->lo[a]) / lattice->unit);
    }
    return DPOT_OK;
}

void lattice_release(struct lattice *lattice)
{
    dpot_free_array(NULL, lattice->width, lattice->dim, sizeof *lattice->width);
    lattice->width = NULL;
}

/* |2 x - width|^2; below 2^63 in any dimension. */
static int64_t square_from_middle(const struct lattice *lattice, const int32_t *x)
{
    int64_t sum = 0;
    for (size_t a = 0; a < lattice->dim; a++) {
        const int64_t from_middle = 2 * (int64_t)x[a] - lattice->width[a];
        sum += from_middle * from_middle;
    }
    return sum;
}

static int32_t step_inward(int32_t x, int32_t width)
{
    const int32_t from_middle = 2 * x - width;
    return from_middle > 1 ? x - 1 : from_middle < -1 ? x + 1 : x;
}

/* Scales into the ball in floating point, then steps inward in integers, because rounding may leave
 * the point outside. The integer test decides. */
static void clamp_to_ball(const struct lattice *lattice, int32_t *x)
{
    const int64_t limit = 4 * lattice->ball * lattice->ball;
    const int64_t square = square_from_middle(lattice, x);
    if (square <= limit) {
        return;
    }
    const double shrink = sqrt((double)limit / (double)square);
    for (size_t a = 0; a < lattice->dim; a++) {
        const double middle = 0.5 * lattice->width[a];
        x[a] = (int32_t)(middle + shrink * (x[a] - middle));
    }
    while (square_from_middle(lattice, x) > limit) {
        for (size_t a = 0; a < lattice->dim; a++) {
            x[a] = step_inward(x[a], lattice->width[a]);
        }
    }
}

void lattice_snap(const struct lattice *lattice, const double *point, int32_t *x)
{
    for (size_t a = 0; a < lattice->dim; a++) {
        const double side = lattice->hi[a] - lattice->lo[a];
        const double share = (point[a] - lattice->lo[a]) / side * lattice->cells;
        /* false for NaN too */
        const double cell = share > 0 ? fmin(floor(share), lattice->cells - 1.0) : 0;
        x[a] = (int32_t)((cell + 0.5) / lattice->cells * lattice->width[a]);
    }
    if (lattice->ball > 0) {
        clamp_to_ball(lattice, x);
    }
}

void lattice_clamp(const struct lattice *lattice, double *x)
{
    double square = 0;
    for (size_t a = 0; a < lattice->dim; a++) {
        x[a] = x[a] > 0 ? fmin(x[a], lattice->width[a]) : 0;
        square += pow(x[a] - 0.5 * lattice->width[a], 2);
    }
    const double limit = (double)lattice->ball;
    if (lattice->ball > 0 && square > limit * limit) {
        const double shrink = limit / sqrt(square);
        for (size_t a = 0; a < lattice->dim; a++) {
            const double middle = 0.5 * lattice->width[a];
            x[a] = middle + shrink * (x[a] - middle);
        }
    }
}

void lattice_place(const struct lattice *lattice, const double *x, double *point)
{
    for (size_t a = 0; a < lattice->dim; a++) {
        const double share = x[a] / lattice->width[a];
        point[a] = lattice->lo[a] + share * (lattice->hi[a] - lattice->lo[a]);
    }
}

double lattice_diameter(const struct lattice *lattice)
{
    double square = 0;
    for (size_t a = 0; a < lattice->dim; a++) {
        square += (double)lattice->width[a] * lattice->width[a];
    }
    const double box = UP * sqrt(square), ball = UP * 2 * (double)lattice->ball;
    return lattice->ball > 0 && ball < box ? ball : box;
}

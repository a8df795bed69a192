/* The sliced distance: projections, a radix sort of each, and the monotone coupling. */
#include "solve/transport/wasserstein.h"

#include "base/double_bits.h"
#include "ot/linalg.h"
#include "solve/run/draw.h"

#include <math.h>
#include <string.h>

#define DIGIT_BITS 11
#define N_BUCKETS ((size_t)1 << DIGIT_BITS)
#define N_PASSES 6 /* 6 x 11 bits hold the 64 of a double */
#define DIRECTIONS_STREAM UINT64_C(0x736c69636564)
#define TWO_PI 6.283185307179586

/* ---- one dimension ---- */

double wasserstein_line(const struct line_point *x, size_t n, const struct line_point *y, size_t m)
{
    double cost = 0;
    size_t i = 0, j = 0;
    double left_x = n > 0 ? x[0].mass : 0, left_y = m > 0 ? y[0].mass : 0;
    while (i < n && j < m) {
        const double moved = fmin(left_x, left_y);
        cost += moved * (x[i].x - y[j].x) * (x[i].x - y[j].x);
        left_x -= moved;
        left_y -= moved;
        /* A remainder of one side at the end is rounding error: ignored. */
        if (left_x <= left_y) {
            left_x = ++i < n ? x[i].mass : 0;
        } else {
            left_y = ++j < m ? y[j].mass : 0;
        }
    }
    return cost;
}

/* Maps doubles to integers in the same order: sets the sign bit of positive ones, inverts negative
 * ones. */
static uint64_t key_of(double value)
{
    const uint64_t bits = dpot_double_bits(value);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static size_t digit_of(double value, unsigned pass)
{
    return (size_t)(key_of(value) >> (DIGIT_BITS * pass)) & (N_BUCKETS - 1);
}

/* Stable sort by x in `points`, with a buffer of the same size. */
static void sort_points(struct line_point *points, struct line_point *buffer, size_t n)
{
    struct line_point *from = points, *to = buffer;
    size_t next[N_BUCKETS];
    for (unsigned pass = 0; pass < N_PASSES; pass++) {
        memset(next, 0, sizeof next);
        for (size_t i = 0; i < n; i++) {
            next[digit_of(from[i].x, pass)]++;
        }
        size_t sum = 0;
        for (size_t b = 0; b < N_BUCKETS; b++) {
            const size_t count = next[b];
            next[b] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) {
            to[next[digit_of(from[i].x, pass)]++] = from[i];
        }
        struct line_point *swap = from;
        from = to;
        to = swap;
    }
}

/* ---- directions ---- */

/* In (0, 1], 53 bits. */
static double uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)((draw_bits(seed, stream, index) >> 11) + 1) * 0x1p-53;
}

/* Uniform on the sphere: a Gaussian vector (Box and Muller), divided by its length. */
static void draw_direction(uint64_t seed, size_t number, size_t dim, double *u)
{
    double squares = 0;
    for (size_t c = 0; c < dim; c++) {
        const uint64_t at = 2 * (number * (uint64_t)dim + c);
        const double radius = sqrt(-2 * log(uniform(seed, DIRECTIONS_STREAM, at)));
        u[c] = radius * cos(TWO_PI * uniform(seed, DIRECTIONS_STREAM, at + 1));
        squares += u[c] * u[c];
    }
    for (size_t c = 0; c < dim; c++) {
        u[c] /= sqrt(squares);
    }
}

/* ---- all directions ---- */

/* Workspace, one slot per thread: a direction, projections, and the points of both sets on the
 * line. */
struct slicer {
    const struct point_set *x, *y;
    const struct dpot_linalg *linalg;
    size_t dim, first; /* direction of slot 0 in this round */
    uint64_t seed;
    size_t n_most;              /* points of the larger set */
    double *directions;         /* (slots, dim) */
    double *projected;          /* (slots, n_most) */
    struct line_point *points;  /* (slots, x->n + y->n) */
    struct line_point *buffers; /* (slots, n_most) */
    double *costs;              /* (n_directions) W_2^2 */
};

static void project(const struct slicer *s, size_t slot, const struct point_set *set,
                    struct line_point *out)
{
    double *projected = s->projected + slot * s->n_most;
    s->linalg->gemv(DPOT_NO_TRANSPOSE, set->n, s->dim, 1, set->points, s->dim,
                    s->directions + slot * s->dim, 0, projected);
    for (size_t i = 0; i < set->n; i++) {
        out[i] =
            (struct line_point){projected[i], set->weights ? set->weights[i] : 1 / (double)set->n};
    }
    sort_points(out, s->buffers + slot * s->n_most, set->n);
}

static void slice(void *ctx, size_t slot)
{
    const struct slicer *s = ctx;
    struct line_point *x = s->points + slot * (s->x->n + s->y->n), *y = x + s->x->n;
    draw_direction(s->seed, s->first + slot, s->dim, s->directions + slot * s->dim);
    project(s, slot, s->x, x);
    project(s, slot, s->y, y);
    s->costs[s->first + slot] = wasserstein_line(x, s->x->n, y, s->y->n);
}

static double mean_of(const double *costs, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += costs[i];
    }
    return sum / (double)n;
}

dpot_status wasserstein_sliced(const struct point_set *x, const struct point_set *y, size_t dim,
                               size_t n_directions, uint64_t seed, struct team *team,
                               const struct dpot_allocator *allocator, double *distance,
                               struct dpot_error *error)
{
    const size_t n_slices = dim == 1 ? 1 : n_directions;
    const size_t n_slots = team_size(team) < n_slices ? team_size(team) : n_slices;
    const size_t n_points = x->n + y->n, n_most = x->n > y->n ? x->n : y->n;
    struct slicer s = {.x = x,
                       .y = y,
                       .linalg = dpot_linalg_openblas(),
                       .dim = dim,
                       .seed = seed,
                       .n_most = n_most};
    s.directions = dpot_alloc_array(allocator, n_slots * dim, sizeof *s.directions);
    s.projected = dpot_alloc_array(allocator, n_slots * n_most, sizeof *s.projected);
    s.points = dpot_alloc_array(allocator, n_slots * n_points, sizeof *s.points);
    s.buffers = dpot_alloc_array(allocator, n_slots * n_most, sizeof *s.buffers);
    s.costs = dpot_alloc_array(allocator, n_slices, sizeof *s.costs);
    dpot_status status = DPOT_OK;
    if (s.directions && s.projected && s.points && s.buffers && s.costs) {
        for (; s.first < n_slices; s.first += n_slots) {
            const size_t left = n_slices - s.first;
            team_run(team, left < n_slots ? left : n_slots, slice, &s);
        }
        *distance = sqrt(mean_of(s.costs, n_slices));
    } else {
        status = dpot_error_set(error, DPOT_ERR_MEMORY,
                                "out of memory for %zu points on %zu "
                                "threads",
                                n_points, n_slots);
    }
    dpot_free_array(allocator, s.directions, n_slots * dim, sizeof *s.directions);
    dpot_free_array(allocator, s.projected, n_slots * n_most, sizeof *s.projected);
    dpot_free_array(allocator, s.points, n_slots * n_points, sizeof *s.points);
    dpot_free_array(allocator, s.buffers, n_slots * n_most, sizeof *s.buffers);
    dpot_free_array(allocator, s.costs, n_slices, sizeof *s.costs);
    return status;
}

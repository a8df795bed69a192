#include "generator/atoms.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINT_MAX 1e30
#define WIDTH_SHARE 8.0   /* the first cell width is the scale divided by this */
#define WIDTH_GROWTH 1.25 /* per attempt */
#define CELL_MAX 1e15     /* doubles represent cell numbers exactly up to here */

void atoms_release(struct atoms *atoms)
{
    dpot_free_array(NULL, atoms->points, atoms->n_cap * atoms->dim, sizeof *atoms->points);
    dpot_free_array(NULL, atoms->weights, atoms->n_cap, sizeof *atoms->weights);
    memset(atoms, 0, sizeof *atoms);
}

static dpot_status check(const double *points, size_t n, size_t dim, size_t n_most,
                         struct dpot_error *error)
{
    if (n == 0 || dim == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "the pool is empty: nothing can be learnt");
    }
    if (n_most > 0 && dim > ATOMS_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the reports have %zu coordinates: at most %d can be gathered into "
                              "atoms, train on minibatches",
                              dim, ATOMS_DIM_MAX);
    }
    for (size_t i = 0; i < n * dim; i++) {
        if (!(fabs(points[i]) <= POINT_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "number %zu of report %zu is %g: reports are finite, below %g",
                                  i % dim + 1, i / dim + 1, points[i], POINT_MAX);
        }
    }
    return DPOT_OK;
}

static double clamp(double x, const double range[2])
{
    return range && x < range[0] ? range[0] : range && x > range[1] ? range[1] : x;
}

static dpot_status take_all(struct atoms *atoms, const double *points, const double range[2],
                            struct dpot_error *error)
{
    atoms->points = dpot_alloc_array(NULL, atoms->n * atoms->dim, sizeof *atoms->points);
    atoms->n_cap = atoms->n;
    if (!atoms->points) {
        const size_t n = atoms->n;
        memset(atoms, 0, sizeof *atoms);
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for %zu reports", n);
    }
    for (size_t i = 0; i < atoms->n * atoms->dim; i++) {
        atoms->points[i] = (float)clamp(points[i], range);
    }
    return DPOT_OK;
}

/* A point and its cell. Sorted by cell, then by position in the pool, so that sums have the same
 * order on every machine. */
struct placed {
    double cell[ATOMS_DIM_MAX];
    size_t row;
};

static int compare(const void *x, const void *y)
{
    const struct placed *a = x, *b = y;
    for (size_t c = 0; c < ATOMS_DIM_MAX; c++) {
        if (a->cell[c] != b->cell[c]) {
            return a->cell[c] < b->cell[c] ? -1 : 1;
        }
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

static bool is_same_cell(const struct placed *a, const struct placed *b)
{
    return memcmp(a->cell, b->cell, sizeof a->cell) == 0;
}

/* Assigns the points to cells of this width, sorts them and counts the cells. */
static size_t assign_cells(struct placed *placed, const double *points, size_t n, size_t dim,
                           double width, const double range[2])
{
    size_t n_cells = 1;
    for (size_t i = 0; i < n; i++) {
        placed[i].row = i;
        for (size_t c = 0; c < dim; c++) {
            placed[i].cell[c] =
                floor(clamp(points[i * dim + c], range) / width) + 0.0; /* + 0.0 turns -0 into +0 */
        }
    }
    qsort(placed, n, sizeof *placed, compare);
    for (size_t i = 1; i < n; i++) {
        n_cells += !is_same_cell(&placed[i], &placed[i - 1]);
    }
    return n_cells;
}

static void gather(struct atoms *atoms, const struct placed *placed, const double *points, size_t n,
                   const double range[2])
{
    const size_t dim = atoms->dim;
    size_t atom = 0;
    for (size_t i = 0, end; i < n; i = end, atom++) {
        double sum[ATOMS_DIM_MAX] = {0};
        for (end = i; end < n && is_same_cell(&placed[end], &placed[i]); end++) {
            for (size_t c = 0; c < dim; c++) {
                sum[c] += clamp(points[placed[end].row * dim + c], range);
            }
        }
        for (size_t c = 0; c < dim; c++) {
            atoms->points[atom * dim + c] = (float)(sum[c] / (double)(end - i));
        }
        atoms->weights[atom] = (double)(end - i) / (double)n;
    }
}

static double first_width(const double *points, size_t n, double scale)
{
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(points[i]));
    }
    return fmax(scale / WIDTH_SHARE, largest / CELL_MAX);
}

static dpot_status gather_all(struct atoms *atoms, const double *points, size_t n, size_t n_most,
                              double scale, const double range[2], struct dpot_error *error)
{
    const size_t dim = atoms->dim;
    struct placed *placed = dpot_alloc_array(NULL, n, sizeof *placed);
    double width = first_width(points, n * dim, scale);
    dpot_status status = placed ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        while ((atoms->n = assign_cells(placed, points, n, dim, width, range)) > n_most) {
            width *= atoms->n > 4 * n_most ? 2.0 : WIDTH_GROWTH;
        }
        atoms->width = width;
        atoms->n_cap = atoms->n;
        atoms->points = dpot_alloc_array(NULL, atoms->n * dim, sizeof *atoms->points);
        atoms->weights = dpot_alloc_array(NULL, atoms->n, sizeof *atoms->weights);
        status = atoms->points && atoms->weights ? DPOT_OK : DPOT_ERR_MEMORY;
    }
    if (status == DPOT_OK) {
        gather(atoms, placed, points, n, range);
    } else {
        (void)dpot_error_set(error, status, "no memory for %zu reports", n);
        atoms_release(atoms);
    }
    dpot_free_array(NULL, placed, n, sizeof *placed);
    return status;
}

dpot_status atoms_init(struct atoms *atoms, const double *points, size_t n, size_t dim,
                       size_t n_most, double scale, const double range[2], struct dpot_error *error)
{
    memset(atoms, 0, sizeof *atoms);
    const dpot_status status = check(points, n, dim, n_most, error);
    if (status != DPOT_OK) {
        return status;
    }
    atoms->n = n;
    atoms->dim = dim;
    /* Cells next to 0 never merge with their mirror images, so a pool may need 2^dim cells. */
    if (n_most == 0 || (n <= n_most && n_most < (size_t)1 << dim)) {
        return take_all(atoms, points, range, error);
    }
    const size_t least = (size_t)1 << dim;
    return gather_all(atoms, points, n, n_most > least ? n_most : least, scale, range, error);
}

struct generator_pool atoms_pool(const struct atoms *atoms)
{
    return (struct generator_pool){atoms->points, atoms->weights, atoms->n};
}

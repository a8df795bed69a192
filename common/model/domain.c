#include "model/domain.h"

#include <math.h>
#include <string.h>

static dpot_status check_size(uint64_t size, struct dpot_error *error)
{
    if (size == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "the domain has no points: give at least one");
    }
    if (size > DPOT_DOMAIN_SIZE_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the domain has %llu points: at most %u are allowed",
                              (unsigned long long)size, DPOT_DOMAIN_SIZE_MAX);
    }
    return DPOT_OK;
}

static dpot_status check_dim(uint32_t dim, uint32_t dim_max, struct dpot_error *error)
{
    if (dim == 0 || dim > dim_max) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the domain has %u coordinates: choose 1 to %u", dim, dim_max);
    }
    return DPOT_OK;
}

static dpot_status check_listed(uint32_t size, uint32_t dim, const double *points,
                                struct dpot_error *error)
{
    dpot_status status = check_size(size, error);
    if (status == DPOT_OK) {
        status = check_dim(dim, DPOT_DOMAIN_DIM_MAX, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    for (size_t i = 0; i < (size_t)size * dim; i++) {
        if (!isfinite(points[i])) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "coordinate %zu of point %zu is %g: it must be finite", i % dim,
                                  i / dim, points[i]);
        }
    }
    return DPOT_OK;
}

static dpot_status check_grid_side(uint32_t i, double lo, double hi, uint32_t shape,
                                   struct dpot_error *error)
{
    if (shape == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "shape %u of the grid is 0: give at least one cell", i);
    }
    /* The product must be finite too, or a cell centre would not be. */
    if (!isfinite(lo) || !isfinite(hi) || !(lo < hi) || !isfinite((hi - lo) * shape)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "side %u of the grid goes from %g to %g: give finite numbers with lo "
                              "< hi",
                              i, lo, hi);
    }
    return DPOT_OK;
}

/* On success *size is the product of the shape. */
static dpot_status check_grid(uint32_t dim, const double *lo, const double *hi,
                              const uint32_t *shape, uint32_t *size, struct dpot_error *error)
{
    dpot_status status = check_dim(dim, DPOT_GRID_DIM_MAX, error);
    uint64_t cells = 1;
    for (uint32_t i = 0; status == DPOT_OK && i < dim; i++) {
        status = check_grid_side(i, lo[i], hi[i], shape[i], error);
        cells *= shape[i]; /* < 2^20 * 2^32: checked after each factor */
        if (status == DPOT_OK) {
            status = check_size(cells, error);
        }
    }
    *size = (uint32_t)cells;
    return status;
}

static dpot_status check_sphere_dim(uint32_t dim, struct dpot_error *error)
{
    if (dim < DPOT_SPHERE_DIM_MIN || dim > DPOT_DOMAIN_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the sphere has %u coordinates: choose %u to %u", dim,
                              (unsigned)DPOT_SPHERE_DIM_MIN, (unsigned)DPOT_DOMAIN_DIM_MAX);
    }
    return DPOT_OK;
}

static dpot_status check_directions(uint32_t size, uint32_t dim, struct dpot_error *error)
{
    const dpot_status status = check_sphere_dim(dim, error);
    if (status != DPOT_OK) {
        return status;
    }
    const uint32_t most = DPOT_DIRECTIONS_NUMBERS_MAX / dim;
    if (size < DPOT_DIRECTIONS_MIN || size > DPOT_DOMAIN_SIZE_MAX || size > most) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "there are %u directions of %u coordinates, which a device computes "
                              "for every report: choose %u to %u",
                              size, dim, (unsigned)DPOT_DIRECTIONS_MIN,
                              most < DPOT_DOMAIN_SIZE_MAX ? most : DPOT_DOMAIN_SIZE_MAX);
    }
    return DPOT_OK;
}

dpot_status dpot_domain_check(const struct dpot_domain *domain, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    uint32_t size = domain->size;
    switch (domain->type) {
    case DPOT_DOMAIN_POINTS:
        if (!domain->points) {
            return dpot_error_set(error, DPOT_ERR_SHAPE, "the domain has no list of points");
        }
        return check_listed(domain->size, domain->dim, domain->points, error);
    case DPOT_DOMAIN_GRID:
        status = check_grid(domain->dim, domain->lo, domain->hi, domain->shape, &size, error);
        break;
    case DPOT_DOMAIN_RING:
        status = check_dim(domain->dim, 1, error);
        if (status == DPOT_OK) {
            status = check_size(domain->size, error);
        }
        break;
    case DPOT_DOMAIN_SPHERE:
        size = 0;
        status = check_sphere_dim(domain->dim, error);
        break;
    case DPOT_DOMAIN_DIRECTIONS:
        return check_directions(domain->size, domain->dim, error);
    default:
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "domain type %d is unknown: choose points, grid, ring or sphere",
                              (int)domain->type);
    }
    if (status == DPOT_OK && size != domain->size) {
        return dpot_error_set(
            error, DPOT_ERR_SHAPE, "the %s has %u points but states %u: they must agree",
            domain->type == DPOT_DOMAIN_GRID ? "grid" : "sphere", size, domain->size);
    }
    return status;
}

bool dpot_domain_equal(const struct dpot_domain *a, const struct dpot_domain *b)
{
    if (a->type != b->type || a->dim != b->dim || a->size != b->size) {
        return false;
    }
    if (a->type == DPOT_DOMAIN_POINTS) {
        return memcmp(a->points, b->points, (size_t)a->size * a->dim * sizeof *a->points) == 0;
    }
    for (uint32_t i = 0; a->type == DPOT_DOMAIN_GRID && i < a->dim; i++) {
        if (memcmp(&a->lo[i], &b->lo[i], sizeof a->lo[i]) != 0 ||
            memcmp(&a->hi[i], &b->hi[i], sizeof a->hi[i]) != 0 || a->shape[i] != b->shape[i]) {
            return false;
        }
    }
    return true;
}

dpot_status dpot_domain_init_points(struct dpot_domain *domain, uint32_t size, uint32_t dim,
                                    const double *points, const struct dpot_allocator *allocator,
                                    struct dpot_error *error)
{
    *domain = (struct dpot_domain){0};
    const dpot_status status = check_listed(size, dim, points, error);
    if (status != DPOT_OK) {
        return status;
    }
    const size_t n_coordinates = (size_t)size * dim;
    double *copy = dpot_alloc_array(allocator, n_coordinates, sizeof *copy);
    if (!copy) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %u domain points", size);
    }
    memcpy(copy, points, n_coordinates * sizeof *copy);
    *domain = (struct dpot_domain){.type = DPOT_DOMAIN_POINTS,
                                   .dim = dim,
                                   .size = size,
                                   .points = copy,
                                   .allocator = allocator};
    return DPOT_OK;
}

dpot_status dpot_domain_init_grid(struct dpot_domain *domain, uint32_t dim, const double *lo,
                                  const double *hi, const uint32_t *shape, struct dpot_error *error)
{
    *domain = (struct dpot_domain){0};
    uint32_t size = 0;
    const dpot_status status = check_grid(dim, lo, hi, shape, &size, error);
    if (status != DPOT_OK) {
        return status;
    }
    domain->type = DPOT_DOMAIN_GRID;
    domain->dim = dim;
    domain->size = size;
    memcpy(domain->lo, lo, dim * sizeof *lo);
    memcpy(domain->hi, hi, dim * sizeof *hi);
    memcpy(domain->shape, shape, dim * sizeof *shape);
    return DPOT_OK;
}

dpot_status dpot_domain_init_ring(struct dpot_domain *domain, uint32_t size,
                                  struct dpot_error *error)
{
    *domain = (struct dpot_domain){0};
    const dpot_status status = check_size(size, error);
    if (status == DPOT_OK) {
        *domain = (struct dpot_domain){.type = DPOT_DOMAIN_RING, .dim = 1, .size = size};
    }
    return status;
}

dpot_status dpot_domain_init_sphere(struct dpot_domain *domain, uint32_t dim,
                                    struct dpot_error *error)
{
    *domain = (struct dpot_domain){0};
    const dpot_status status = check_sphere_dim(dim, error);
    if (status == DPOT_OK) {
        *domain = (struct dpot_domain){.type = DPOT_DOMAIN_SPHERE, .dim = dim};
    }
    return status;
}

dpot_status dpot_domain_init_directions(struct dpot_domain *domain, uint32_t size, uint32_t dim,
                                        struct dpot_error *error)
{
    *domain = (struct dpot_domain){0};
    const dpot_status status = check_directions(size, dim, error);
    if (status == DPOT_OK) {
        *domain = (struct dpot_domain){.type = DPOT_DOMAIN_DIRECTIONS, .dim = dim, .size = size};
    }
    return status;
}

dpot_status dpot_domain_init_copy(struct dpot_domain *domain, const struct dpot_domain *other)
{
    if (other->type == DPOT_DOMAIN_POINTS) {
        return dpot_domain_init_points(domain, other->size, other->dim, other->points,
                                       other->allocator, NULL);
    }
    *domain = *other;
    domain->points = NULL;
    return DPOT_OK;
}

void dpot_domain_release(struct dpot_domain *domain)
{
    dpot_free_array(domain->allocator, domain->points, (size_t)domain->size * domain->dim,
                    sizeof *domain->points);
    *domain = (struct dpot_domain){0};
}

double dpot_domain_on_axis(const struct dpot_domain *domain, uint32_t axis, uint32_t index)
{
    if (domain->type != DPOT_DOMAIN_GRID) {
        return (double)index;
    }
    const double lo = domain->lo[axis], hi = domain->hi[axis];
    return lo + ((double)index + 0.5) * (hi - lo) / (double)domain->shape[axis];
}

static void grid_point(const struct dpot_domain *domain, uint32_t index, double *out)
{
    for (uint32_t i = domain->dim; i-- > 0;) {
        out[i] = dpot_domain_on_axis(domain, i, index % domain->shape[i]);
        index /= domain->shape[i];
    }
}

void dpot_domain_point(const struct dpot_domain *domain, uint32_t index, double *out)
{
    switch (domain->type) {
    case DPOT_DOMAIN_POINTS:
        memcpy(out, domain->points + (size_t)index * domain->dim, domain->dim * sizeof *out);
        break;
    case DPOT_DOMAIN_GRID:
        grid_point(domain, index, out);
        break;
    case DPOT_DOMAIN_RING:
        out[0] = (double)index;
        break;
    case DPOT_DOMAIN_SPHERE:
    case DPOT_DOMAIN_DIRECTIONS:
        memset(out, 0, domain->dim * sizeof *out);
        break;
    }
}

void dpot_domain_points(const struct dpot_domain *domain, double *out)
{
    for (uint32_t i = 0; i < domain->size; i++) {
        dpot_domain_point(domain, i, out + (size_t)i * domain->dim);
    }
}

/* Domains of deconvolution: clamping, and initial supports. */
#include "base/splitmix.h"
#include "solve/estimate/deconvolve.h"

#include <math.h>

#define SEQUENCE_DIM_MAX 8
#define REJECTION_DIM_MAX 3 /* beyond it, a ball fills too little of its box */
#define BISECTIONS 80

static double l1_norm(size_t dim, const double *x)
{
    double sum = 0;
    for (size_t j = 0; j < dim; j++) {
        sum += fabs(x[j]);
    }
    return sum;
}

static double l2_norm(size_t dim, const double *x)
{
    double sum = 0;
    for (size_t j = 0; j < dim; j++) {
        sum = hypot(sum, x[j]);
    }
    return sum;
}

/* sum_j max(|x_j| - threshold, 0) */
static double excess(size_t dim, const double *x, double threshold)
{
    double sum = 0;
    for (size_t j = 0; j < dim; j++) {
        sum += fmax(fabs(x[j]) - threshold, 0);
    }
    return sum;
}

/* The Euclidean projection onto the l1 ball: all coordinates shrink by one threshold (Duchi and
 * others 2008). The threshold is rounded up, so that the sum is at most the radius. */
static void project_l1(size_t dim, double radius, double *x)
{
    double low = 0, high = l1_norm(dim, x);
    if (high <= radius) {
        return;
    }
    for (int i = 0; i < BISECTIONS; i++) {
        const double middle = low + (high - low) / 2;
        if (excess(dim, x, middle) > radius) {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (size_t j = 0; j < dim; j++) {
        x[j] = copysign(fmax(fabs(x[j]) - high, 0), x[j]);
    }
}

static void project_l2(size_t dim, double radius, double *x)
{
    const double norm = l2_norm(dim, x);
    for (size_t j = 0; norm > radius && j < dim; j++) {
        x[j] *= radius / norm;
    }
}

void deconvolve_clamp(const struct deconvolve_domain *domain, size_t dim, double *x)
{
    /* The ball first: clamping to the box before would change the projection onto the ball. */
    if (domain->l1_radius > 0) {
        project_l1(dim, domain->l1_radius, x);
    }
    if (domain->l2_radius > 0) {
        project_l2(dim, domain->l2_radius, x);
    }
    for (size_t j = 0; j < dim; j++) {
        x[j] = fmin(fmax(x[j], domain->lo[j]), domain->hi[j]);
    }
}

static bool is_in_ball(const struct deconvolve_domain *domain, size_t dim, const double *x)
{
    return (domain->l1_radius == 0 || l1_norm(dim, x) <= domain->l1_radius) &&
           (domain->l2_radius == 0 || l2_norm(dim, x) <= domain->l2_radius);
}

/* The root > 1 of r^(dim+1) = r + 1; the powers of its inverse are the steps of Roberts'
 * sequence. */
static double sequence_root(size_t dim)
{
    double root = 2;
    for (int i = 0; i < 60; i++) {
        root = pow(1 + root, 1 / ((double)dim + 1));
    }
    return root;
}

void deconvolve_spread(const struct deconvolve_domain *domain, size_t dim, size_t m, uint64_t seed,
                       double *points)
{
    double step[SEQUENCE_DIM_MAX], at[SEQUENCE_DIM_MAX];
    const bool is_sequence = dim <= SEQUENCE_DIM_MAX;
    const double root = sequence_root(dim);
    uint64_t state = seed;
    for (size_t j = 0; is_sequence && j < dim; j++) {
        step[j] = pow(root, -((double)j + 1));
        at[j] = splitmix_unit(&state);
    }
    size_t attempts = 0;
    for (size_t l = 0; l < m; attempts++) {
        double *x = points + l * dim;
        for (size_t j = 0; j < dim; j++) {
            double share = is_sequence ? at[j] + step[j] : splitmix_unit(&state);
            share -= floor(share);
            if (is_sequence) {
                at[j] = share;
            }
            x[j] = domain->lo[j] + share * (domain->hi[j] - domain->lo[j]);
        }
        const bool may_reject = dim <= REJECTION_DIM_MAX && attempts < 100 * m;
        if (!may_reject || is_in_ball(domain, dim, x)) {
            deconvolve_clamp(domain, dim, x);
            l++;
        }
    }
}

/* The centre of cell `index` of the grid. */
static void find_centre(const struct deconvolve_domain *domain, size_t dim, const uint32_t *shape,
                        size_t index, double *x)
{
    for (size_t j = dim; j-- > 0;) {
        const double share = ((double)(index % shape[j]) + 0.5) / shape[j];
        x[j] = domain->lo[j] + share * (domain->hi[j] - domain->lo[j]);
        index /= shape[j];
    }
}

size_t deconvolve_grid(const struct deconvolve_domain *domain, size_t dim, const uint32_t *shape,
                       double *points)
{
    double x[DECONVOLVE_GRID_DIM_MAX];
    size_t size = 1, n = 0;
    for (size_t j = 0; j < dim; j++) {
        size *= shape[j];
    }
    for (size_t i = 0; i < size; i++) {
        find_centre(domain, dim, shape, i, x);
        if (!is_in_ball(domain, dim, x)) {
            continue;
        }
        for (size_t j = 0; points && j < dim; j++) {
            points[n * dim + j] = x[j];
        }
        n++;
    }
    return n;
}

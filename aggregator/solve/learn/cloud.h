/* Two float32 point clouds and the cost between them, scale * sum_c |x_c - y_c| or scale * sum_c
 * (x_c - y_c)^2: -log of the density of Laplace or Gaussian noise, between a generator's samples
 * and noisy reports (004, Section III; scale = 1 / b, or 1 / (2 sigma^2)). Memory is O((n + m)
 * dim); there is no (n, m, dim) array.
 *
 *     cloud_init(&cloud, n_max, m_max, dim, CLOUD_L1, 1 / b);
 *     cloud_set(&cloud, x, n, y, m);
 *     entropic_solve(e, &cloud.cost, ...);
 *     cloud_gradient(&cloud, e, team, grad);
 *     cloud_release(&cloud); */
#ifndef DPOT_SOLVE_LEARN_CLOUD_H
#define DPOT_SOLVE_LEARN_CLOUD_H

#include "solve/transport/entropic.h"

enum cloud_distance {
    CLOUD_L1 = 0,
    CLOUD_SQUARED = 1,
};

struct cloud {
    struct entropic_cost cost; /* of the current points; its ctx is this struct: do not copy it */
    enum cloud_distance distance;
    double scale;
    size_t n_max, stride_max, dim;
    size_t n, m, stride;
    const float *x; /* (n, dim), borrowed */
    const float *y; /* (m, dim), borrowed */
    float *y_t;     /* (dim, stride): y transposed, padded with 0 */
};

/* DPOT_ERR_MEMORY: *cloud is released. */
DPOT_WARN_UNUSED dpot_status cloud_init(struct cloud *cloud, size_t n_max, size_t m_max, size_t dim,
                                        enum cloud_distance distance, double scale);

void cloud_release(struct cloud *cloud);

/* Both borrowed until the next call; n <= n_max, m <= m_max. */
void cloud_set(struct cloud *cloud, const float *x, size_t n, const float *y, size_t m);

/* The gradient of <C(x), P> with P fixed, by the envelope theorem the gradient of the engine's
 * optimal value in x: grad_i = sum_j P_ij dC_ij / dx_i, overwritten. The sign of 0 is 0. The last
 * solve of `e` must be of this cloud. The result does not depend on the team. DPOT_ERR_MEMORY:
 * nothing was written. */
DPOT_WARN_UNUSED dpot_status cloud_gradient(const struct cloud *cloud, const struct entropic *e,
                                            struct team *team, float *grad /* (n, dim) */);

#endif

/* The E step without binning: any dimension and width, in logarithms. */
#include "solve/estimate/deconvolve_parts.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define LAPLACE_LEAST 1e-2 /* scales: least distance in the weights of Weiszfeld's step */
#define FAR 1e6            /* scales outside the domain: reports farther out are clamped */

struct deconvolve_points {
    struct deconvolve_config config;
    size_t n_sums; /* doubles per task: log-likelihood, mass, pull and weight of targets */
    double *sums;  /* (tasks, n_sums) */
    double *q;     /* (tasks, m) */
    const double *x, *w;
};

static size_t targets_of(const struct deconvolve_config *config)
{
    return config->moves ? config->support_size * config->dim : 0;
}

dpot_status points_new(const struct deconvolve_config *config, struct deconvolve_points **points)
{
    const size_t m = config->support_size;
    struct deconvolve_points *made = dpot_alloc_array(config->allocator, 1, sizeof *made);
    *points = NULL;
    if (!made) {
        return DPOT_ERR_MEMORY;
    }
    made->config = *config;
    made->n_sums = 1 + m + 2 * targets_of(config);
    made->sums =
        dpot_alloc_array(config->allocator, DECONVOLVE_TASKS * made->n_sums, sizeof *made->sums);
    made->q = dpot_alloc_array(config->allocator, DECONVOLVE_TASKS * m, sizeof *made->q);
    if (!made->sums || !made->q) {
        points_free(made);
        return DPOT_ERR_MEMORY;
    }
    *points = made;
    return DPOT_OK;
}

void points_free(struct deconvolve_points *points)
{
    if (!points) {
        return;
    }
    const struct dpot_allocator *allocator = points->config.allocator;
    dpot_free_array(allocator, points->sums, DECONVOLVE_TASKS * points->n_sums,
                    sizeof *points->sums);
    dpot_free_array(allocator, points->q, DECONVOLVE_TASKS * points->config.support_size,
                    sizeof *points->q);
    dpot_free_array(allocator, points, 1, sizeof *points);
}

/* Coordinate j of a report, clamped to FAR, beyond which the cost loses digits. For Laplace noise
 * this changes only a constant. */
static double coordinate(const struct deconvolve_config *config, const double *y, size_t j)
{
    const double far = FAR * config->density->scale;
    return fmin(fmax(y[j], config->domain.lo[j] - far), config->domain.hi[j] + far);
}

/* q_l = w_l P[y | x_l] / f(y); returns ln f(y) without its constants. */
static double share_report(const struct deconvolve_points *points, const double *y, double *q)
{
    const struct deconvolve_config *config = &points->config;
    const size_t m = config->support_size, dim = config->dim;
    const bool is_laplace = config->density->noise == DPOT_NOISE_LAPLACE;
    double largest = -INFINITY, sum = 0;
    for (size_t l = 0; l < m; l++) {
        double cost = 0;
        for (size_t j = 0; j < dim; j++) {
            const double d =
                (coordinate(config, y, j) - points->x[l * dim + j]) / config->density->scale;
            cost += is_laplace ? fabs(d) : d * d / 2;
        }
        q[l] = log(points->w[l]) - cost;
        largest = fmax(largest, q[l]);
    }
    for (size_t l = 0; l < m; l++) {
        q[l] = exp(q[l] - largest);
        sum += q[l];
    }
    for (size_t l = 0; l < m; l++) {
        q[l] /= sum;
    }
    return largest + log(sum);
}

/* Gaussian: the weight of y is q. Laplace: a parabola of weight q / |y - x| majorises |y - x| at
 * the current x, so a step to the weighted mean lowers the cost (Weiszfeld). */
static void pull_targets(const struct deconvolve_points *points, const double *y, const double *q,
                         double *pull, double *weight)
{
    const struct deconvolve_config *config = &points->config;
    const size_t dim = config->dim;
    const double least = LAPLACE_LEAST * config->density->scale;
    for (size_t l = 0; l < config->support_size; l++) {
        for (size_t j = 0; j < dim; j++) {
            const double at = coordinate(config, y, j);
            double strength = q[l];
            if (config->density->noise == DPOT_NOISE_LAPLACE) {
                strength /= fmax(fabs(at - points->x[l * dim + j]), least);
            }
            pull[l * dim + j] += strength * at;
            weight[l * dim + j] += strength;
        }
    }
}

static void expect_task(void *ctx, size_t task)
{
    struct deconvolve_points *points = ctx;
    const struct deconvolve_config *config = &points->config;
    const size_t m = config->support_size;
    const struct deconvolve_span span = deconvolve_share(config->n, task);
    double *sums = points->sums + task * points->n_sums, *q = points->q + task * m;
    memset(sums, 0, points->n_sums * sizeof *sums);
    for (size_t i = span.first; i < span.end; i++) {
        const double *y = config->pool + i * config->dim;
        sums[0] += share_report(points, y, q);
        for (size_t l = 0; l < m; l++) {
            sums[1 + l] += q[l];
        }
        if (config->moves) {
            pull_targets(points, y, q, sums + 1 + m, sums + 1 + m + targets_of(config));
        }
    }
}

/* The constant of every report's cost: -ln P at distance 0, summed over the coordinates (also at
 * the ends of a grid). */
static double constant(const struct deconvolve_config *config)
{
    return (double)config->n * (double)config->dim * config->density->inside;
}

void points_expect(struct deconvolve_points *points, const double *x, const double *w,
                   struct deconvolve_sums *sums)
{
    const struct deconvolve_config *config = &points->config;
    const size_t m = config->support_size, n_targets = targets_of(config);
    points->x = x;
    points->w = w;
    team_run(config->team, DECONVOLVE_TASKS, expect_task, points);
    for (size_t task = 1; task < DECONVOLVE_TASKS; task++) {
        for (size_t i = 0; i < points->n_sums; i++) {
            points->sums[i] += points->sums[task * points->n_sums + i];
        }
    }
    sums->log_likelihood = points->sums[0] - constant(config);
    memcpy(sums->mass, points->sums + 1, m * sizeof *sums->mass);
    for (size_t i = 0; i < n_targets; i++) {
        const double pull = points->sums[1 + m + i], weight = points->sums[1 + m + n_targets + i];
        sums->target[i] = weight > 0 ? pull / weight : x[i];
    }
}

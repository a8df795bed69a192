/* Costs between clouds, and their gradient against finite differences of the optimal value. */
#include "solve/learn/cloud.h"

#include "transport.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 23, M = 31, DIM_TOP = 9 };

struct instance {
    struct cloud cloud;
    struct entropic *e;
    float x[N * DIM_TOP], y[M * DIM_TOP];
};

static void init(struct instance *s, size_t dim, enum cloud_distance distance, double scale,
                 double lambda)
{
    uint64_t seed = dim + 1;
    struct dpot_error error = {""};
    const struct entropic_options options = {
        .lambda = lambda, .tol = 1e-12, .max_iterations = 20000};
    for (size_t k = 0; k < N * dim; k++) {
        s->x[k] = (float)floor(16 * transport_uniform(&seed)) / 16; /* no step crosses a y */
    }
    for (size_t k = 0; k < M * dim; k++) {
        s->y[k] = (float)(floor(48 * transport_uniform(&seed)) - 15.5) / 16;
    }
    cr_assert_eq(cloud_init(&s->cloud, N, M, dim, distance, scale), DPOT_OK);
    cr_assert_eq(entropic_new(N, M, &options, &s->e, &error), DPOT_OK);
}

static double value(struct instance *s)
{
    struct entropic_result result;
    struct dpot_error error = {""};
    cloud_set(&s->cloud, s->x, N, s->y, M);
    cr_assert_eq(entropic_solve(s->e, &s->cloud.cost, NULL, NULL, NULL, &result, &error), DPOT_OK,
                 "%s", error.text);
    entropic_value(s->e, &result);
    return result.value;
}

static void release(struct instance *s)
{
    entropic_free(s->e);
    cloud_release(&s->cloud);
}

Test(cloud, the_gradient_is_the_slope_of_the_optimal_value)
{
    const size_t dims[] = {1, 2, 3, 8, 9};
    for (size_t d = 0; d < 5; d++) {
        for (int distance = 0; distance < 2; distance++) {
            static struct instance s;
            float grad[N * DIM_TOP];
            init(&s, dims[d], distance ? CLOUD_SQUARED : CLOUD_L1, 2.5, 1);
            (void)value(&s);
            cr_assert_eq(cloud_gradient(&s.cloud, s.e, NULL, grad), DPOT_OK);
            for (size_t k = 0; k < N * dims[d]; k += 3) {
                const float x = s.x[k], step = distance ? 0x1p-7F : 0x1p-12F;
                s.x[k] = x + step;
                const double right = value(&s);
                s.x[k] = x - step;
                const double left = value(&s);
                s.x[k] = x;
                const double slope = (right - left) / (2 * (double)step);
                /* masses are 1/23, slopes of a coordinate up to 2.5 times that */
                cr_assert_float_eq((double)grad[k], slope, distance ? 1e-4 : 4e-4,
                                   "dim %zu, distance %d, %zu", dims[d], distance, k);
            }
            release(&s);
        }
    }
}

Test(cloud, a_factor_of_the_cost_and_lambda_is_a_factor_of_the_gradient)
{
    for (int distance = 0; distance < 2; distance++) {
        static struct instance one, scaled;
        float grad[N * DIM_TOP], grad_scaled[N * DIM_TOP];
        init(&one, 3, distance ? CLOUD_SQUARED : CLOUD_L1, 1, 1);
        init(&scaled, 3, distance ? CLOUD_SQUARED : CLOUD_L1, 2.5, 2.5);
        cr_assert_float_eq(value(&scaled), 2.5 * value(&one), 1e-9);
        cr_assert_eq(cloud_gradient(&one.cloud, one.e, NULL, grad), DPOT_OK);
        cr_assert_eq(cloud_gradient(&scaled.cloud, scaled.e, NULL, grad_scaled), DPOT_OK);
        for (size_t k = 0; k < N * 3; k++) {
            cr_assert_float_eq((double)grad_scaled[k], 2.5 * (double)grad[k], 1e-6);
        }
        release(&one);
        release(&scaled);
    }
}

Test(cloud, reports_clipped_to_where_points_can_be_have_the_same_plan_under_l1)
{
    static struct instance whole, clipped;
    float grad[N * DIM_TOP], grad_clipped[N * DIM_TOP];
    double plan[N * M], plan_clipped[N * M];
    init(&whole, 3, CLOUD_L1, 2, 1);
    init(&clipped, 3, CLOUD_L1, 2, 1);
    for (size_t k = 0; k < M * 3; k++) {
        whole.y[k] *= 4;
        clipped.y[k] = fminf(fmaxf(whole.y[k], 0), 1);
    }
    cr_assert_gt(value(&whole), value(&clipped) + 1);
    cr_assert_eq(cloud_gradient(&whole.cloud, whole.e, NULL, grad), DPOT_OK);
    cr_assert_eq(cloud_gradient(&clipped.cloud, clipped.e, NULL, grad_clipped), DPOT_OK);
    entropic_plan_rows(whole.e, 0, N, plan);
    entropic_plan_rows(clipped.e, 0, N, plan_clipped);
    for (size_t k = 0; k < N * M; k++) {
        cr_assert_float_eq(plan_clipped[k], plan[k], 1e-7);
    }
    for (size_t k = 0; k < N * 3; k++) {
        const float x = whole.x[k];
        cr_assert(x > 0 && x < 1 ? fabsf(grad_clipped[k] - grad[k]) < 1e-5F : true);
    }
    release(&whole);
    release(&clipped);
}

Test(cloud, points_that_coincide_have_a_finite_gradient)
{
    static struct instance s;
    float grad[N * DIM_TOP];
    init(&s, 2, CLOUD_L1, 1, 1);
    for (size_t k = 0; k < N * 2; k++) {
        s.x[k] = 0.5F;
    }
    for (size_t k = 0; k < M * 2; k++) {
        s.y[k] = 0.5F;
    }
    cr_assert_float_eq(value(&s), 0, 1e-12);
    cr_assert_eq(cloud_gradient(&s.cloud, s.e, NULL, grad), DPOT_OK);
    for (size_t k = 0; k < N * 2; k++) {
        cr_assert_eq(grad[k], 0.0F);
    }
    release(&s);
}

Test(cloud, a_gradient_carries_its_factor_and_the_team_changes_no_bit)
{
    static struct instance s;
    float grad[N * 3], twice[N * 3];
    struct team *team;
    init(&s, 3, CLOUD_SQUARED, 1, 1);
    cr_assert_eq(team_new(3, &team), DPOT_OK);
    (void)value(&s);
    cr_assert_eq(cloud_gradient(&s.cloud, s.e, NULL, grad), DPOT_OK);
    cr_assert_eq(cloud_gradient(&s.cloud, s.e, team, twice), DPOT_OK);
    cr_assert_eq(memcmp(grad, twice, sizeof grad), 0);
    /* sum over i of grad_i = 2 (mean x - mean y) */
    for (size_t c = 0; c < 3; c++) {
        double sum = 0.0, expected = 0.0;
        for (size_t i = 0; i < N; i++) {
            sum += (double)grad[i * 3 + c];
            expected += 2 * (double)s.x[i * 3 + c] / N;
        }
        for (size_t j = 0; j < M; j++) {
            expected -= 2 * (double)s.y[j * 3 + c] / M;
        }
        cr_assert_float_eq(sum, expected, 1e-5);
    }
    team_free(team);
    release(&s);
}

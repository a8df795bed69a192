#include "solve/learn/optimizer.h"

#include "solve/run/draw.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(optimizer, rmsprop_takes_the_steps_of_its_definition)
{
    struct optimizer o;
    float x[2] = {1, -2};
    const float g1[2] = {0.5F, -3}, g2[2] = {-1, 0};
    cr_assert_eq(optimizer_init(&o, OPTIMIZER_RMSPROP, 2, NULL), DPOT_OK);
    optimizer_step(&o, 0.1F, g1, x);
    /* v = .01 g^2, so the first step is rate / .1, whatever the gradient */
    cr_assert_float_eq((double)x[0], 0.0, 1e-5);
    cr_assert_float_eq((double)x[1], -1.0, 1e-5);
    optimizer_step(&o, 0.1F, g2, x);
    const double v = 0.99 * 0.01 * 0.25 + 0.01;
    cr_assert_float_eq((double)x[0], 0.1 / sqrt(v), 1e-4);
    cr_assert_float_eq((double)x[1], -1.0, 1e-5);
    optimizer_release(&o);
}

Test(optimizer, adam_takes_the_steps_of_its_definition)
{
    struct optimizer o;
    const double gradients[3] = {0.5, -3, 0.25};
    double m = 0, v = 0, expected = 1;
    float x = 1;
    cr_assert_eq(optimizer_init(&o, OPTIMIZER_ADAM, 1, NULL), DPOT_OK);
    for (int t = 1; t <= 3; t++) {
        const double g = gradients[t - 1];
        const float narrow = (float)g;
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        expected -= 0.01 * (m / (1 - pow(0.9, t))) / (sqrt(v / (1 - pow(0.999, t))) + 1e-8);
        optimizer_step(&o, 0.01F, &narrow, &x);
        cr_assert_float_eq((double)x, expected, 1e-6);
    }
    optimizer_release(&o);
}

Test(optimizer, finds_the_minimum_of_a_badly_scaled_quadratic)
{
    for (int kind = OPTIMIZER_RMSPROP; kind <= OPTIMIZER_ADAM; kind++) {
        struct optimizer o;
        float x[3] = {3, -1, 2}, g[3];
        const float scale[3] = {1, 100, 0.01F};
        cr_assert_eq(optimizer_init(&o, (enum optimizer_kind)kind, 3, NULL), DPOT_OK);
        for (uint64_t t = 0; t < 2000; t++) {
            for (size_t i = 0; i < 3; i++) {
                g[i] = scale[i] * x[i];
            }
            optimizer_step(&o, learning_rate_at(LEARNING_COSINE, 0.02, t, 2000), g, x);
        }
        for (size_t i = 0; i < 3; i++) {
            cr_assert_float_eq((double)x[i], 0.0, 1e-2, "%d: %g", kind, (double)x[i]);
        }
        optimizer_release(&o);
    }
}

Test(optimizer, resumes_from_a_copy_of_its_state_with_the_same_bits)
{
    struct optimizer a, b;
    float x[5] = {1, 2, 3, 4, 5}, y[5], g[5] = {1, -1, 2, -2, 0.5F};
    cr_assert_eq(optimizer_init(&a, OPTIMIZER_ADAM, 5, NULL), DPOT_OK);
    cr_assert_eq(optimizer_init(&b, OPTIMIZER_ADAM, 5, NULL), DPOT_OK);
    optimizer_step(&a, 0.1F, g, x);
    memcpy(y, x, sizeof x);
    memcpy(b.state, a.state, a.n_state * sizeof *a.state);
    b.n_steps = a.n_steps;
    optimizer_step(&a, 0.1F, g, x);
    optimizer_step(&b, 0.1F, g, y);
    cr_assert_arr_eq(x, y, sizeof x);
    optimizer_release(&a);
    optimizer_release(&b);
}

Test(optimizer, rates_follow_their_schedule)
{
    cr_assert_float_eq((double)learning_rate_at(LEARNING_CONSTANT, 0.1, 7, 10), 0.1, 1e-8);
    cr_assert_float_eq((double)learning_rate_at(LEARNING_LINEAR, 0.1, 7, 10), 0.03, 1e-8);
    cr_assert_float_eq((double)learning_rate_at(LEARNING_COSINE, 0.1, 0, 10), 0.1, 1e-8);
    cr_assert_float_eq((double)learning_rate_at(LEARNING_COSINE, 0.1, 5, 10), 0.05, 1e-8);
    cr_assert_float_eq((double)learning_rate_at(LEARNING_COSINE, 0.1, 10, 10), 0.0, 1e-8);
}

Test(optimizer, without_memory_there_is_nothing_to_release)
{
    struct test_allocator heap;
    struct optimizer o;
    test_allocator_init(&heap);
    test_allocator_fail_at(&heap, 1);
    cr_assert_eq(optimizer_init(&o, OPTIMIZER_ADAM, 5, &heap.allocator), DPOT_ERR_MEMORY);
    optimizer_release(&o);
    cr_assert_eq(heap.bytes, 0);
}

Test(draw, latent_points_are_uniform_with_mean_0_and_variance_1)
{
    enum { N = 20000, DIM = 3 };
    static float z[N * DIM];
    double mean[DIM] = {0}, square[DIM] = {0}, product = 0;
    latent_draw(11, 4, N, DIM, z);
    for (size_t i = 0; i < N * DIM; i++) {
        cr_assert_lt(fabsf(z[i]), 1.7320509F);
        mean[i % DIM] += (double)z[i] / N;
        square[i % DIM] += (double)z[i] * (double)z[i] / N;
    }
    for (size_t i = 0; i < N; i++) {
        product += (double)z[i * DIM] * (double)z[i * DIM + 1] / N;
    }
    /* Five standard deviations: 1 / sqrt N each; of z^2, sqrt(4/5 / N). */
    for (size_t j = 0; j < DIM; j++) {
        cr_assert_float_eq(mean[j], 0, 5 / sqrt(N));
        cr_assert_float_eq(square[j], 1, 5 * sqrt(0.8 / N));
    }
    cr_assert_float_eq(product, 0, 5 / sqrt(N));
}

Test(draw, every_step_has_different_and_reproducible_points)
{
    float a[64], b[64], c[64];
    latent_draw(1, 0, 32, 2, a);
    latent_draw(1, 0, 16, 4, b);
    cr_assert_arr_eq(a, b, sizeof a);
    latent_draw(1, 1, 32, 2, b);
    latent_draw(2, 0, 32, 2, c);
    for (size_t i = 0; i < 64; i++) {
        cr_assert(a[i] != b[i] && a[i] != c[i] && b[i] != c[i]);
    }
    cr_assert_eq(draw_bits(1, 2, 3), draw_bits(1, 2, 3));
    cr_assert_neq(draw_bits(1, 2, 3), draw_bits(1, 3, 2));
}

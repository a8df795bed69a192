/* The campaign's transform as a matrix: orthonormal if all coefficients are kept, and its
 * transpose. */
#include "generator/transform.h"
#include "solve/run/draw.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define ROWS 4
#define COLS 6
#define SIZE (ROWS * COLS)

static void make(struct transform_matrix *m, uint32_t *keep, uint32_t n_keep)
{
    struct dpot_error error = {{0}};
    const struct dpot_vector_domain vector = {
        .dim = n_keep, .transform = {DPOT_TRANSFORM_DCT, ROWS, COLS, n_keep, keep}};
    cr_assert_eq(transform_matrix_init(m, &vector, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(m->dim, n_keep);
    cr_assert_eq(m->data_dim, SIZE);
}

static void fill(float *x, size_t n, uint64_t stream)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = draw_uniform(1, stream, i) - 0.5F;
    }
}

static double dot(const float *x, const float *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i] * (double)y[i];
    }
    return sum;
}

Test(transform_matrix, all_coefficients_of_an_image_are_an_isometry)
{
    uint32_t keep[SIZE];
    struct transform_matrix m;
    for (uint32_t i = 0; i < SIZE; i++) {
        keep[i] = i;
    }
    make(&m, keep, SIZE);
    for (size_t i = 0; i < SIZE; i++) {
        for (size_t j = 0; j < SIZE; j++) {
            cr_assert_float_eq(dot(m.values + i * SIZE, m.values + j * SIZE, SIZE), i == j, 1e-6);
        }
    }
    transform_matrix_release(&m);
}

/* <T x, y> = <x, T' y>, and T T' is the identity on the kept coefficients. */
Test(transform_matrix, backward_is_the_transpose_of_forward)
{
    static uint32_t keep[] = {0, 1, 5, 6, 7, 13, 23};
    enum { KEPT = 7, N = 3 };
    struct transform_matrix m;
    float x[N * SIZE], y[N * KEPT], tx[N * KEPT], ty[N * SIZE], back[N * KEPT];
    make(&m, keep, KEPT);
    fill(x, N * SIZE, 1);
    fill(y, N * KEPT, 2);
    m.hooks.forward(m.hooks.ctx, x, N, tx);
    m.hooks.backward(m.hooks.ctx, y, N, ty);
    m.hooks.forward(m.hooks.ctx, ty, N, back);
    cr_assert_float_eq(dot(tx, y, N * KEPT), dot(x, ty, N * SIZE), 1e-5);
    for (size_t i = 0; i < N * KEPT; i++) {
        cr_assert_float_eq(back[i], y[i], 1e-6);
    }
    transform_matrix_release(&m);
}

/* One image, by the transform of the devices. */
Test(transform_matrix, forward_equals_the_transform_of_devices)
{
    static uint32_t keep[] = {0, 2, 9, 22};
    const struct dpot_vector_domain vector = {
        .dim = 4, .transform = {DPOT_TRANSFORM_DCT, ROWS, COLS, 4, keep}};
    struct dpot_transformer *transformer = NULL;
    struct transform_matrix m;
    float x[SIZE], found[4];
    double data[SIZE], expected[4];
    make(&m, keep, 4);
    fill(x, SIZE, 3);
    for (size_t i = 0; i < SIZE; i++) {
        data[i] = (double)x[i];
    }
    cr_assert_eq(dpot_transformer_new(&vector, NULL, &transformer), DPOT_OK);
    dpot_transformer_forward(transformer, data, expected);
    m.hooks.forward(m.hooks.ctx, x, 1, found);
    for (size_t j = 0; j < 4; j++) {
        cr_assert_float_eq((double)found[j], expected[j], 1e-6);
    }
    dpot_transformer_free(transformer);
    transform_matrix_release(&m);
}

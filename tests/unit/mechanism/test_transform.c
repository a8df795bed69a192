#include "mechanism/transform.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { ROWS = 3, COLS = 5, SIZE = ROWS * COLS };

static uint32_t all[SIZE];

static struct dpot_vector_domain domain_of(uint32_t *keep, uint32_t n_keep)
{
    return (struct dpot_vector_domain){
        .set = DPOT_VECTOR_L2_BALL,
        .dim = n_keep,
        .radius = 10,
        .grid_step = 1,
        .inverse_step = 1,
        .transform = {DPOT_TRANSFORM_DCT, ROWS, COLS, n_keep, keep},
    };
}

static void fill(double *image)
{
    for (uint32_t i = 0; i < SIZE; i++) {
        image[i] = sin(1.0 + 3.7 * i) - 0.2 * i;
        all[i] = i;
    }
}

/* The definition, term by term. */
static double coefficient(const double *image, int u, int v)
{
    const double pi = acos(-1);
    double sum = 0;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++) {
            sum += image[i * COLS + j] * cos(pi * (2 * i + 1) * u / (2.0 * ROWS)) *
                   cos(pi * (2 * j + 1) * v / (2.0 * COLS));
        }
    }
    return sum * sqrt((u ? 2.0 : 1.0) / ROWS) * sqrt((v ? 2.0 : 1.0) / COLS);
}

Test(transform, the_dct_is_the_orthonormal_one_of_its_definition)
{
    double image[SIZE], out[SIZE], back[SIZE];
    fill(image);
    const struct dpot_vector_domain domain = domain_of(all, SIZE);
    struct dpot_transformer *transformer = NULL;
    cr_assert_eq(dpot_transformer_new(&domain, NULL, &transformer), DPOT_OK);
    dpot_transformer_forward(transformer, image, out);
    double energy_in = 0, energy_out = 0;
    for (int i = 0; i < SIZE; i++) {
        cr_assert_float_eq(out[i], coefficient(image, i / COLS, i % COLS), 1e-13);
        energy_in += image[i] * image[i];
        energy_out += out[i] * out[i];
    }
    cr_assert_float_eq(energy_in, energy_out, 1e-12);
    dpot_transformer_inverse(transformer, out, back);
    for (int i = 0; i < SIZE; i++) {
        cr_assert_float_eq(back[i], image[i], 1e-13);
    }
    dpot_transformer_free(transformer);
}

Test(transform, dropping_coefficients_projects_the_image)
{
    double image[SIZE], out[3], kept[SIZE], again[3];
    uint32_t keep[] = {0, 2, 6};
    fill(image);
    const struct dpot_vector_domain domain = domain_of(keep, 3);
    cr_assert_eq(dpot_vector_data_dim(&domain), SIZE);
    struct dpot_transformer *transformer = NULL;
    cr_assert_eq(dpot_transformer_new(&domain, NULL, &transformer), DPOT_OK);
    dpot_transformer_forward(transformer, image, out);
    dpot_transformer_inverse(transformer, out, kept);
    dpot_transformer_forward(transformer, kept, again);
    for (int i = 0; i < 3; i++) {
        cr_assert_float_eq(out[i], coefficient(image, (int)keep[i] / COLS, (int)keep[i] % COLS),
                           1e-13);
        cr_assert_float_eq(again[i], out[i], 1e-13);
    }
    dpot_transformer_free(transformer);
}

Test(transform, without_a_transform_data_are_copied)
{
    const struct dpot_vector_domain domain = {.dim = 4};
    const double data[] = {1, -2, NAN, INFINITY};
    double out[4];
    struct dpot_transformer *transformer = NULL;
    cr_assert_eq(dpot_transformer_new(&domain, NULL, &transformer), DPOT_OK);
    dpot_transformer_forward(transformer, data, out);
    cr_assert_eq(memcmp(data, out, sizeof data), 0);
    dpot_transformer_free(transformer);
    dpot_transformer_free(NULL);
}

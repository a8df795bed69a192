/* The directions of a report: the same for everyone who knows its id; independent and uniform. */
#include "mechanism/codebook.h"
#include "unit/mechanism/campaigns.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const struct campaign_numbers usual = {.epsilon = 1, .n_max = 1};

static void make(uint32_t dim, uint8_t seed, struct dpot_codebook *codebook)
{
    struct dpot_campaign campaign = campaign_on_sphere(dim, 2, 1, usual);
    const uint8_t id[DPOT_REPORT_ID_LEN] = {seed, 0xa5};
    dpot_codebook_init(codebook, &campaign, id);
    dpot_campaign_release(&campaign);
}

/* The bits are part of the protocol: devices and servers of all releases must agree. */
Test(codebook, the_bits_of_a_direction_are_those_of_every_release)
{
    static const uint32_t dims[] = {2, 3, 5, 64, 127, 128, 129, 300};
    static double direction[300];
    struct dpot_hasher hasher;
    uint8_t hash[DPOT_HASH_LEN];
    char hex[2 * DPOT_HASH_LEN + 1];
    dpot_hasher_init(&hasher);
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        struct dpot_codebook codebook;
        make(dims[i], (uint8_t)i, &codebook);
        for (uint32_t j = 0; j < 500; j++) {
            dpot_codebook_direction(&codebook, j, direction);
            dpot_hasher_add(&hasher, direction, dims[i] * sizeof *direction);
        }
    }
    dpot_hasher_end(&hasher, hash);
    dpot_hex_encode(hex, hash, sizeof hash);
    cr_assert_str_eq(hex, "1829bcef6c26a27a39528d41a98c79f20a9a76192f9a7b74ca437491eede2d65");
}

/* The definition in codebook.h, with the C library's functions. */
Test(codebook, a_direction_is_a_normal_vector_divided_by_its_length)
{
    struct dpot_codebook codebook;
    for (uint32_t j = 0; j < 2000; j++) {
        uint8_t bytes[24];
        double normal[5], square = 0, direction[5];
        make(5, 9, &codebook);
        dpot_stream(bytes, sizeof bytes, codebook.key, j, 0);
        for (size_t k = 0; k < 5; k++) {
            const uint8_t *pair = bytes + 8 * (k / 2);
            double a = 0, b = 0;
            for (size_t i = 4; i-- > 0;) {
                a = a * 256 + pair[i];
                b = b * 256 + pair[4 + i];
            }
            const double quarter = floor(b / 0x1p30);
            const double place = (b - quarter * 0x1p30 + .5) / 0x1p30 - .5;
            const double angle = (quarter + place) * acos(0);
            normal[k] = sqrt(-2 * log((a + .5) / 0x1p32)) * (k % 2 ? sin(angle) : cos(angle));
            square += normal[k] * normal[k];
        }
        dpot_codebook_direction(&codebook, j, direction);
        for (size_t k = 0; k < 5; k++) {
            cr_assert_float_eq(direction[k], normal[k] / sqrt(square), 1e-14);
        }
    }
}

Test(codebook, a_direction_is_a_unit_vector)
{
    static const uint32_t dims[] = {2, 3, 65, 129, 4096};
    static double direction[4096];
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        struct dpot_codebook codebook;
        make(dims[i], 1, &codebook);
        for (uint32_t j = 0; j < 50; j++) {
            double square = 0;
            dpot_codebook_direction(&codebook, j, direction);
            for (uint32_t k = 0; k < dims[i]; k++) {
                square += direction[k] * direction[k];
            }
            cr_assert_float_eq(square, 1, 1e-14);
        }
    }
}

/* Moments of 40,000 directions of four coordinates against those of the uniform law, within 5
 * sigma. */
Test(codebook, directions_are_uniform_as_far_as_moments_tell)
{
    enum { DIM = 4, N = 40000 };
    struct dpot_codebook codebook;
    double mean[DIM] = {0}, second[DIM][DIM] = {{0}}, fourth[DIM] = {0};
    make(DIM, 2, &codebook);
    for (uint32_t j = 0; j < N; j++) {
        double x[DIM];
        dpot_codebook_direction(&codebook, j, x);
        for (size_t a = 0; a < DIM; a++) {
            mean[a] += x[a] / N;
            fourth[a] += pow(x[a], 4) / N;
            for (size_t b = 0; b < DIM; b++) {
                second[a][b] += x[a] * x[b] / N;
            }
        }
    }
    for (size_t a = 0; a < DIM; a++) {
        cr_assert_float_eq(mean[a], 0, 5 * sqrt(.25 / N));
        cr_assert_float_eq(fourth[a], .125, 5 * sqrt(.04 / N)); /* 3 / (d (d + 2)) */
        for (size_t b = 0; b < DIM; b++) {
            cr_assert_float_eq(second[a][b], a == b ? .25 : 0, 5 * sqrt(.0625 / N));
        }
    }
}

/* On the circle the angle is uniform: Kolmogorov-Smirnov test at 1e-9. */
Test(codebook, angles_on_the_circle_are_uniform)
{
    enum { N = 20000, BINS = 64 };
    struct dpot_codebook codebook;
    double counts[BINS] = {0}, chi_square = 0;
    make(2, 3, &codebook);
    for (uint32_t j = 0; j < N; j++) {
        double x[2];
        dpot_codebook_direction(&codebook, j, x);
        const double turn = atan2(x[1], x[0]) / (4 * acos(0)) + .5;
        counts[(size_t)fmin(turn * BINS, BINS - 1)] += 1;
    }
    for (size_t i = 0; i < BINS; i++) {
        chi_square += pow(counts[i] - (double)N / BINS, 2) / ((double)N / BINS);
    }
    cr_assert_lt(chi_square, 150); /* 63 degrees of freedom */
    cr_assert_gt(chi_square, 20);
}

Test(codebook, another_id_campaign_revision_or_dimension_has_other_directions)
{
    struct dpot_campaign campaign = campaign_on_sphere(3, 2, 1, usual);
    uint8_t id[DPOT_REPORT_ID_LEN] = {1};
    struct dpot_codebook first, other;
    dpot_codebook_init(&first, &campaign, id);
    id[15] = 1;
    dpot_codebook_init(&other, &campaign, id);
    cr_assert_arr_neq(first.key, other.key, sizeof first.key);
    id[15] = 0;
    campaign.revision++;
    dpot_codebook_init(&other, &campaign, id);
    cr_assert_arr_neq(first.key, other.key, sizeof first.key);
    campaign.revision--;
    campaign.id[3] ^= 1;
    dpot_codebook_init(&other, &campaign, id);
    cr_assert_arr_neq(first.key, other.key, sizeof first.key);
    campaign.id[3] ^= 1;
    campaign.output.dim++;
    dpot_codebook_init(&other, &campaign, id);
    cr_assert_arr_neq(first.key, other.key, sizeof first.key);
    campaign.output.dim--;
    dpot_codebook_init(&other, &campaign, id);
    cr_assert_arr_eq(first.key, other.key, sizeof first.key);
    dpot_campaign_release(&campaign);
}

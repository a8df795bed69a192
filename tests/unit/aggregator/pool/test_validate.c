/* One report against its campaign. */
#include "mechanism/mechanism.h"
#include "pool/validate.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>

#define DIM 4

static int64_t values[DIM + 1];

static enum dpot_report_status validate_vector(const struct dpot_campaign *campaign, uint32_t dim)
{
    const struct dpot_report report = {.n_values = dim, .values = values};
    return validate_report(campaign, &report, false);
}

Test(validate, a_report_of_the_other_kind_is_malformed)
{
    struct dpot_campaign points = {.mechanism = DPOT_MECHANISM_WPM};
    const struct dpot_campaign vectors = vectors_laplace(1);
    const struct dpot_report index = {.index = 0}, vector = {.n_values = 1, .values = values};
    points.output.size = 10;
    cr_assert_eq(validate_report(&points, &index, false), DPOT_REPORT_ACCEPTED);
    cr_assert_eq(validate_report(&points, &vector, false), DPOT_REPORT_REJECTED_MALFORMED);
    cr_assert_eq(validate_report(&vectors, &vector, false), DPOT_REPORT_ACCEPTED);
    cr_assert_eq(validate_report(&vectors, &index, false), DPOT_REPORT_REJECTED_MALFORMED);
    cr_assert_eq(validate_report(&vectors, &vector, true), DPOT_REPORT_REJECTED_MALFORMED);
}

Test(validate, a_vector_of_another_length_is_malformed)
{
    const struct dpot_campaign campaign = vectors_laplace(DIM);
    for (uint32_t dim = 0; dim <= DIM + 1; dim++) {
        cr_assert_eq(validate_vector(&campaign, dim),
                     dim == DIM ? DPOT_REPORT_ACCEPTED : DPOT_REPORT_REJECTED_MALFORMED);
    }
}

/* Every coordinate may hold the numbers from lo to hi, and no other. */
static void expect_range(const struct dpot_campaign *campaign, uint32_t j, int64_t lo, int64_t hi)
{
    const int64_t inside[] = {lo, hi, 0}, outside[] = {lo - 1, hi + 1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < 3; i++) {
        values[j] = inside[i];
        cr_assert_eq(validate_vector(campaign, DIM), DPOT_REPORT_ACCEPTED, "%lld in coordinate %u",
                     (long long)values[j], j);
    }
    for (size_t i = 0; i < 4; i++) {
        values[j] = outside[i];
        cr_assert_eq(validate_vector(campaign, DIM), DPOT_REPORT_REJECTED_RANGE,
                     "%lld in coordinate %u", (long long)values[j], j);
    }
    values[j] = 0;
}

Test(validate, numbers_beyond_the_output_clamp_of_laplace_are_out_of_range)
{
    int64_t lo[DIM] = {-5, 0, -1000, 7}, hi[DIM] = {5, 0, 2000, 7};
    struct dpot_campaign campaign = vectors_laplace(DIM);
    const int64_t reach = (1 << 13) - 1; /* M - 1, M = 2^(8 + 5) */
    campaign.noise.scale_log2 = 8;
    campaign.vector.lo = lo;
    campaign.vector.hi = hi;
    campaign.vector.n_sides = DIM;
    for (uint32_t j = 0; j < DIM; j++) {
        expect_range(&campaign, j, hi[j] - reach, lo[j] + reach);
    }
    campaign.vector = (struct dpot_vector_domain){
        .set = DPOT_VECTOR_L1_BALL, .dim = DIM, .radius = 30, .grid_step = 1, .inverse_step = 1};
    for (uint32_t j = 0; j < DIM; j++) {
        expect_range(&campaign, j, 30 - reach, -30 + reach);
    }
}

Test(validate, numbers_that_gaussian_noise_cannot_reach_are_out_of_range)
{
    struct dpot_campaign campaign = vectors_laplace(DIM);
    campaign.mechanism = DPOT_MECHANISM_GAUSSIAN;
    campaign.noise.scale_log2 = 6;
    const int64_t reach = 48 * (1 << 4) - 1; /* 48 cells of 2^(6-2) */
    for (uint32_t j = 0; j < DIM; j++) {
        expect_range(&campaign, j, -5 - reach, 5 + reach);
    }
}

Test(validate, the_widest_campaign_has_a_range_without_overflow)
{
    int64_t lo[] = {-DPOT_VECTOR_SIDE_MAX}, hi[] = {DPOT_VECTOR_SIDE_MAX};
    struct dpot_campaign campaign = vectors_laplace(DIM);
    campaign.vector.lo = lo;
    campaign.vector.hi = hi;
    campaign.noise.scale_log2 = DPOT_LAPLACE_SCALE_LOG2_MAX;
    const int64_t reach = ((int64_t)1 << 45) - 1;
    expect_range(&campaign, 0, hi[0] - reach, lo[0] + reach);
}

Test(validate, groups_and_test_marks_of_vectors_are_validated_like_those_of_points)
{
    struct dpot_campaign campaign = vectors_laplace(DIM);
    struct dpot_report report = {.group = 1, .n_values = DIM, .values = values};
    cr_assert_eq(validate_report(&campaign, &report, false), DPOT_REPORT_REJECTED_GROUP);
    report.group = 0;
    report.test = true;
    cr_assert_eq(validate_report(&campaign, &report, false), DPOT_REPORT_ACCEPTED);
    campaign.simulation = false;
    cr_assert_eq(validate_report(&campaign, &report, false), DPOT_REPORT_REJECTED_TEST);
    values[0] = INT64_MAX;
    cr_assert_eq(validate_report(&campaign, &report, false), DPOT_REPORT_REJECTED_RANGE);
    values[0] = 0;
}

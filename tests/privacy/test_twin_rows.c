/* Broken twins of mechanisms (twin_rows.h), which the audit must catch; it must pass the correct
 * rows. The client, the server and the audit are the program's own. */
#include "privacy/examination.h"

#include "mechanism/mechanism.h"
#include "privacy/twin_rows.h"

#include <criterion/criterion.h>
#include <math.h>

#define N_PATH 900
#define N_DIRECT 20000

static void expect_sound(const char *name)
{
    struct subject subject;
    struct verdict verdict;
    row_fault = ROW_SOUND;
    examine_open(&subject, name);
    examine(&subject, NULL, 45, N_DIRECT, &verdict);
    cr_assert(verdict_passes(&verdict), "%s: %g", name, verdict_lower_bound(&verdict));
    subject_release(&subject);
}

Test(twin_rows, the_rows_without_a_fault_pass)
{
    expect_sound("laplace-l1-ball");
    expect_sound("laplace-nan");
    expect_sound("gaussian-l2-ball");
    expect_sound("kpm");
}

/* Half the noise: what the radius in place of the diameter allows. The real check refuses it. */
Test(twin_rows, the_radius_in_place_of_the_diameter)
{
    struct subject subject;
    struct verdict verdict;
    examine_open(&subject, "laplace-l1-ball");
    subject.campaign.noise.scale_log2--;
    cr_assert_eq(dpot_mechanism_check_campaign(&subject.campaign, NULL), DPOT_ERR_EPSILON);
    row_fault = ROW_RADIUS;
    cr_assert_eq(dpot_mechanism_check_campaign(&subject.campaign, NULL), DPOT_OK);
    examine(&subject, NULL, N_PATH, N_DIRECT, &verdict);
    cr_assert_float_eq(verdict_exact_maximum(&verdict), 2, 0.01);
    cr_assert_gt(verdict.direct.epsilon, 1.5);
    cr_assert_gt(verdict.path.epsilon, 1);
    subject_release(&subject);
}

/* A side of 2^32 at scale 2^28: the true loss is 16, and D1 2^32 wraps to 0. */
Test(twin_rows, a_sensitivity_that_wraps_in_64_bits)
{
    struct subject subject;
    struct verdict verdict;
    examine_open(&subject, "laplace-nan");
    struct dpot_campaign *campaign = &subject.campaign;
    campaign->vector.hi[0] = INT64_C(1) << 32;
    campaign->noise.scale_log2 = 28;
    cr_assert_eq(dpot_mechanism_check_campaign(campaign, NULL), DPOT_ERR_EPSILON);
    row_fault = ROW_WRAPPING;
    cr_assert_eq(dpot_mechanism_check_campaign(campaign, NULL), DPOT_OK);
    subject.clipped[0][0] = INT64_C(1) << 32;
    examine(&subject, NULL, 0, N_DIRECT, &verdict);
    cr_assert_float_eq(verdict_exact_maximum(&verdict), 16, 1e-6);
    cr_assert(verdict.vector.is_partial);
    cr_assert_gt(verdict.direct.epsilon, 5);
    subject_release(&subject);
}

Test(twin_rows, half_the_charge)
{
    struct subject subject;
    struct verdict verdict;
    row_fault = ROW_HALF_CHARGE;
    examine_open(&subject, "laplace-l1-ball");
    examine(&subject, NULL, 45, N_DIRECT, &verdict);
    cr_assert_float_eq(verdict_claimed_epsilon(&verdict), 0.5, 0.01);
    cr_assert_gt(verdict_exact_maximum(&verdict), 0.99);
    cr_assert_gt(verdict.direct.epsilon, 0.7);
    cr_assert_not(verdict_passes(&verdict));
    subject_release(&subject);
}

/* Input 0 is far outside: its release is always at the edge. */
Test(twin_rows, clipping_after_the_noise)
{
    struct subject subject;
    struct verdict verdict;
    examine_open(&subject, "laplace-box");
    row_fault = ROW_CLIP_AFTER_NOISE;
    examine_samples(&subject, NULL, N_PATH, N_DIRECT, &verdict);
    cr_assert_gt(verdict.path.epsilon, 1.2);
    cr_assert_gt(verdict.direct.epsilon, 1.2);
    cr_assert(client_path_tally_is_clean(&verdict.tally), "it is seen in the values only");
    subject_release(&subject);
}

Test(twin_rows, nan_skips_the_clamp)
{
    struct subject subject;
    struct verdict verdict;
    examine_open(&subject, "laplace-nan");
    row_fault = ROW_NAN_SKIPS_CLAMP;
    examine_samples(&subject, NULL, N_PATH, N_DIRECT, &verdict);
    cr_assert_gt(verdict.path.epsilon, 3);
    cr_assert_gt(verdict.direct.epsilon, 3);
    subject_release(&subject);
}

Test(twin_rows, a_quarter_of_gaussian_noise)
{
    struct subject subject;
    struct verdict verdict;
    examine_open(&subject, "gaussian-l2-ball");
    row_fault = ROW_QUARTER_NOISE;
    examine_samples(&subject, NULL, 0, N_DIRECT, &verdict);
    cr_assert_gt(verdict.direct.epsilon, 1.5);
    subject_release(&subject);
}

/* 10 % more mass on the true place. */
Test(twin_rows, more_truth_than_the_law_allows)
{
    struct subject subject;
    struct verdict verdict;
    examine_open(&subject, "kpm");
    row_fault = ROW_MORE_TRUTH;
    examine_samples(&subject, NULL, 0, N_DIRECT, &verdict);
    cr_assert_gt(verdict.direct.epsilon, 1.05);
    subject_release(&subject);
}

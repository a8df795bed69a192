/* The campaigns that are audited. */
#include "audit/subject.h"

#include "audit/direct.h"
#include "base/rng_seeded.h"
#include "mechanism/mechanism.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define FOR_EVERY_SUBJECT(subject)                                                                 \
    for (size_t i = 0; subject_names[i]; i++)                                                      \
        for (bool is_open = open_subject(&(subject), subject_names[i]); is_open;                   \
             is_open = false, subject_release(&(subject)))

static bool open_subject(struct subject *subject, const char *name)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(subject_init(subject, name, true, &error), DPOT_OK, "%s: %s", name, error.text);
    return true;
}

Test(subject, every_subject_is_a_campaign_that_devices_accept)
{
    struct subject subject;
    size_t n = 0;
    FOR_EVERY_SUBJECT(subject)
    {
        struct dpot_error error = {{0}};
        cr_assert_eq(dpot_mechanism_check_campaign(&subject.campaign, &error), DPOT_OK, "%s",
                     error.text);
        const double epsilon = dpot_epsilon_to_double(subject.claim.epsilon_q32);
        cr_assert(epsilon > 0.99 && epsilon < 1.01, "%s claims %g", subject.name, epsilon);
        n++;
    }
    cr_assert_eq(n, 21);
}

Test(subject, every_mechanism_has_a_subject)
{
    for (int id = DPOT_MECHANISM_WPM; id <= DPOT_MECHANISM_GAUSSIAN; id++) {
        const char *name = dpot_mechanism_name((enum dpot_mechanism_id)id);
        size_t n = 0;
        for (size_t i = 0; subject_names[i]; i++) {
            n += subject_matches(subject_names[i], name);
        }
        cr_assert_gt(n, 0, "%s", name);
    }
    cr_assert(subject_matches("laplace-box", "laplace"));
    cr_assert(subject_matches("laplace-box", "laplace-box"));
    cr_assert_not(subject_matches("laplace-box", "lap"));
    cr_assert_not(subject_matches("laplace", "laplace-box"));
}

/* Inputs of vector mechanisms are clipped to points as far apart as the set allows. */
Test(subject, inputs_of_vectors_are_a_diameter_apart)
{
    struct subject subject;
    FOR_EVERY_SUBJECT(subject)
    {
        const struct dpot_vector_domain *vector = &subject.campaign.vector;
        double apart = 0, diameter = 0;
        for (uint32_t j = 0; j < vector->dim; j++) {
            apart += fabs((double)(subject.clipped[0][j] - subject.clipped[1][j]));
            diameter += (double)(dpot_vector_hi(vector, j) - dpot_vector_lo(vector, j));
        }
        diameter = vector->radius > 0 ? 2 * (double)vector->radius : diameter;
        cr_assert_eq(apart, diameter, "%s: %g of %g", subject.name, apart, diameter);
    }
}

Test(subject, unknown_names_are_refused)
{
    struct subject subject;
    struct dpot_error error = {{0}};
    cr_assert_eq(subject_init(&subject, "noise", false, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "noise"));
    subject_release(&subject);
}

Test(direct, the_same_seed_gives_the_same_samples)
{
    struct subject subject;
    FOR_EVERY_SUBJECT(subject)
    {
        struct audit_sample samples[2][50];
        for (int run = 0; run < 2; run++) {
            struct dpot_rng_seeded seeded;
            dpot_rng_seeded_init(&seeded, 3, 4);
            cr_assert_eq(direct_run(&subject, 1, &seeded.source, 50, samples[run], NULL), DPOT_OK);
        }
        size_t n_different = 0;
        for (size_t s = 0; s < 50; s++) {
            cr_assert_eq(samples[0][s].number[0], samples[1][s].number[0]);
            n_different += samples[0][s].number[0] != samples[0][0].number[0];
        }
        /* With many directions few of them are the nearest. */
        cr_assert(n_different > 10 || subject.cost > 1, "%s", subject.name);
    }
}

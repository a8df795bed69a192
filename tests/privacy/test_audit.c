/* The program as it is, through the whole client path and by its privatizer, with fixed seeds: no
 * bound and no exact maximum above the claim, no anomaly on the way; and the bounds are not
 * vacuous. */
#include "privacy/examination.h"

#include <criterion/criterion.h>

#define N_PATH 90
#define N_PATH_LARGE 9 /* where a report is much work, and the bound vacuous */
#define N_DIRECT 20000
#define N_PATH_LONG 900

/* One test per mechanism, so that they run in parallel. */
static void expect_private(const char *mechanism, double least_bound)
{
    size_t n = 0;
    for (size_t i = 0; subject_names[i]; i++) {
        struct subject subject;
        struct verdict verdict;
        if (!subject_matches(subject_names[i], mechanism)) {
            continue;
        }
        examine_open(&subject, subject_names[i]);
        const size_t n_path = subject.cost > 1 ? N_PATH_LARGE : N_PATH;
        examine(&subject, NULL, n_path, N_DIRECT / subject.cost, &verdict);
        const double bound = verdict_lower_bound(&verdict);
        cr_assert(verdict_passes(&verdict), "%s: bound %.10g, exact maximum %.12g, claim %.12g, %s",
                  subject.name, bound, verdict_exact_maximum(&verdict),
                  verdict_claimed_epsilon(&verdict), verdict.silence.difference);
        cr_assert_eq(verdict.tally.n_reports, 4 * n_path);
        cr_assert_gt(bound, subject.cost > 1 ? -1 : least_bound, "%s: %g", subject.name, bound);
        subject_release(&subject);
        n++;
    }
    cr_assert_gt(n, 0);
}

Test(audit, wpm_keeps_its_claim)
{
    expect_private("wpm", 0.7);
}

Test(audit, kpm_keeps_its_claim)
{
    expect_private("kpm", 0.7);
}

/* Its own law on this small grid has a loss of only 1/2. */
Test(audit, the_exponential_mechanism_keeps_its_claim)
{
    expect_private("exponential", 0.2);
}

Test(audit, laplace_keeps_its_claim)
{
    expect_private("laplace", 0.7);
}

Test(audit, gaussian_keeps_its_claim)
{
    expect_private("gaussian", 0.2);
}

/* The exact maximum is the claim up to stated margins: the enumeration is not vacuous. */
Test(audit, claims_are_used_up_to_their_margins)
{
    for (size_t i = 0; subject_names[i]; i++) {
        struct subject subject;
        examine_open(&subject, subject_names[i]);
        struct verdict verdict = {.subject = &subject};
        cr_assert_eq(verdict_enumerate(&verdict, NULL), DPOT_OK);
        const double left = verdict_claimed_epsilon(&verdict) - verdict_exact_maximum(&verdict);
        const double margin = subject_matches(subject.name, "gaussian")  ? 0.01
                              : subject_matches(subject.name, "laplace") ? 1e-9
                                                                         : 1e-12;
        cr_assert(left >= 0 && left <= margin, "%s: %g left", subject.name, left);
        subject_release(&subject);
    }
}

/* More samples, through the client path only: the reports of devices are bounded here. */
Test(audit, reports_through_the_client_path_prove_a_good_part_of_the_claim)
{
    struct subject subject;
    struct verdict verdict;
    examine_open(&subject, "laplace-l1-ball");
    examine_samples(&subject, NULL, N_PATH_LONG, 0, &verdict);
    cr_assert(client_path_tally_is_clean(&verdict.tally));
    cr_assert(verdict.path.epsilon > 0.3 && verdict.path.epsilon < 1, "%g", verdict.path.epsilon);
    subject_release(&subject);
}

/* Lower bounds from samples with known laws. */
#include "audit/events.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define N 20000
#define ERROR 1e-6

static struct audit_samples samples_new(uint32_t n_outcomes)
{
    struct audit_samples samples = {.n = N, .n_outcomes = n_outcomes};
    for (int input = 0; input < 2; input++) {
        samples.of[input] = calloc(N, sizeof(struct audit_sample));
        cr_assert_not_null(samples.of[input]);
        for (size_t i = 0; i < N; i++) {
            samples.of[input][i].number[1] = NAN;
        }
    }
    return samples;
}

static struct event_finding find(const struct audit_samples *samples, double delta)
{
    struct event_finding finding;
    cr_assert_eq(events_bound(samples, delta, ERROR, &finding), DPOT_OK);
    return finding;
}

static void samples_free(struct audit_samples *samples)
{
    free(samples->of[0]);
    free(samples->of[1]);
}

/* Shuffles 0 .. n - 1 by a step that is coprime to n. */
static size_t mix(size_t i, size_t n)
{
    return i * 7919 % n;
}

/* Randomised response over 5 outcomes with its exact frequencies: the truth is e^1 times as
 * likely. */
Test(events, of_outcomes_come_close_to_the_true_loss_from_below)
{
    struct audit_samples samples = samples_new(5);
    const double lie = 1 / (exp(1) + 4);
    for (unsigned input = 0; input < 2; input++) {
        for (size_t i = 0; i < N; i++) {
            const double u = ((double)mix(i, N) + 0.5) / N;
            /* outcome numbers are not in the order of their likelihood */
            const double truth = input == 0 ? 3 : 1;
            const double other = floor((u - exp(1) * lie) / lie);
            const double outcome = u < exp(1) * lie ? truth : other >= truth ? other + 1 : other;
            samples.of[input][i].number[0] = outcome;
        }
    }
    const struct event_finding finding = find(&samples, 0);
    cr_assert(finding.epsilon > 0.8 && finding.epsilon < 1, "%g", finding.epsilon);
    samples_free(&samples);
}

/* Uniform on [0, 1] against uniform on [0.4, 1.4]: values below 0.4 are impossible under input
 * 1. */
Test(events, of_numbers_find_the_threshold)
{
    struct audit_samples samples = samples_new(0);
    for (size_t i = 0; i < N; i++) {
        const double u = ((double)mix(i, N) + 0.5) / N;
        samples.of[0][i].number[0] = u;
        samples.of[1][i].number[0] = u + 0.4;
    }
    const struct event_finding finding = find(&samples, 0);
    cr_assert_eq(finding.counts.n, N / 2);
    cr_assert_gt(finding.counts.n_hits, N / 2 * 38 / 100);
    cr_assert_eq(finding.counts.n_other_hits, 0);
    cr_assert_gt(finding.epsilon, 5);
    cr_assert_eq(find(&samples, 0.5).epsilon, 0, "a delta of 1/2 excuses it");
    samples_free(&samples);
}

/* Events of the second number and of the trace are tried too. */
Test(events, of_the_other_number_and_of_the_trace_are_found)
{
    struct audit_samples samples = samples_new(0);
    for (size_t i = 0; i < N; i++) {
        samples.of[0][i].number[1] = (double)(i % 4);
        samples.of[1][i].number[1] = (double)(i % 8);
    }
    cr_assert_gt(find(&samples, 0).epsilon, 5); /* 4 .. 7 */
    for (size_t i = 0; i < N; i++) {
        samples.of[0][i] = (struct audit_sample){{NAN, NAN}, i % 10 == 0 ? 4 : 0};
        samples.of[1][i] = (struct audit_sample){{NAN, NAN}, i % 5 == 0 ? 4 : 0};
    }
    const struct event_finding finding = find(&samples, 0);
    cr_assert_eq(finding.kind, EVENT_TRACE);
    cr_assert_eq(finding.likelier, 1);
    cr_assert(finding.epsilon > 0.4 && finding.epsilon < log(2), "%g", finding.epsilon);
    samples_free(&samples);
}

/* The second half does not repeat a chance difference of the first. Choosing and counting on the
 * same samples would give infinity here. */
Test(events, chosen_on_one_half_are_counted_on_the_other)
{
    struct audit_samples samples = samples_new(0);
    for (size_t i = 0; i < N; i++) {
        samples.of[0][i].number[0] = i < N / 2 ? 1 : 0;
        samples.of[1][i].number[0] = 0;
    }
    const struct event_finding finding = find(&samples, 0);
    cr_assert_eq(finding.kind, EVENT_AT_LEAST);
    cr_assert_eq(finding.counts.n_hits, 0);
    cr_assert_eq(finding.epsilon, 0);
    samples_free(&samples);
}

Test(events, of_indistinguishable_inputs_prove_nothing)
{
    struct audit_samples samples = samples_new(0);
    for (size_t i = 0; i < N; i++) {
        samples.of[0][i].number[0] = (double)mix(i, N);
        samples.of[1][i].number[0] = (double)mix(i + 17, N);
    }
    cr_assert_eq(find(&samples, 0).epsilon, 0);
    samples_free(&samples);
}

/* A missing report is in no event of numbers and still counts as a sample. */
Test(events, missing_numbers_are_in_no_event)
{
    struct audit_samples samples = samples_new(3);
    for (size_t i = 0; i < N; i++) {
        samples.of[0][i].number[0] = i % 2 ? NAN : 7; /* not an outcome of 3 */
        samples.of[1][i].number[0] = i % 2 ? -1 : NAN;
    }
    const struct event_finding finding = find(&samples, 0);
    cr_assert_eq(finding.epsilon, 0);
    samples_free(&samples);
}

/* 400 pairs of independent samples of the same law, at an error of 1 in 20 each: false alarms are
 * at most as frequent as stated (a count of 40 has probability below 1e-4 at 5 %). */
Test(events, raise_false_alarms_no_more_often_than_stated)
{
    uint64_t state = 11;
    size_t n_alarms = 0;
    struct audit_samples samples = samples_new(4);
    samples.n = 200;
    for (size_t round = 0; round < 400; round++) {
        for (size_t i = 0; i < 2 * samples.n; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            samples.of[i % 2][i / 2].number[0] = (double)(state >> 62);
        }
        struct event_finding finding;
        cr_assert_eq(events_bound(&samples, 0, 0.05, &finding), DPOT_OK);
        n_alarms += finding.epsilon > 0;
    }
    cr_assert_lt(n_alarms, 40, "%zu", n_alarms);
    samples_free(&samples);
}

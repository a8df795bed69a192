#include "privacy/examination.h"

#include "audit/direct.h"
#include "base/rng_seeded.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define PATH_SEED 2024
#define DIRECT_SEED 4202

void examine_open(struct subject *subject, const char *name)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(subject_init(subject, name, true, &error), DPOT_OK, "%s: %s", name, error.text);
}

static struct audit_samples samples_new(const struct subject *subject, size_t n)
{
    struct audit_samples samples = {.n = n, .n_outcomes = subject_outcomes(subject)};
    for (int input = 0; input < 2; input++) {
        samples.of[input] = calloc(n, sizeof(struct audit_sample));
        cr_assert_not_null(samples.of[input]);
    }
    return samples;
}

static void find_bound(struct audit_samples *samples, const struct finding *finding,
                       struct event_finding *event)
{
    cr_assert_eq(events_bound(samples, finding_claimed_delta(finding), EXAMINATION_ERROR, event),
                 DPOT_OK);
    free(samples->of[0]);
    free(samples->of[1]);
}

static void walk_path(struct finding *finding, const struct path_seams *seams)
{
    const struct path_plan plan = {finding->subject, PATH_SEED, seams};
    struct audit_samples samples = samples_new(finding->subject, finding->n_path);
    for (unsigned input = 0; input < 2; input++) {
        struct path_tally tally;
        struct dpot_error error = {{0}};
        cr_assert_eq(path_run(&plan, input, (uint64_t)input << 32, samples.n, samples.of[input],
                              &tally, &error),
                     DPOT_OK, "%s: %s", finding->subject->name, error.text);
        path_tally_add(&finding->tally, &tally);
    }
    find_bound(&samples, finding, &finding->path);
}

static void run_privatizer(struct finding *finding)
{
    struct audit_samples samples = samples_new(finding->subject, finding->n_direct);
    for (unsigned input = 0; input < 2; input++) {
        struct dpot_rng_seeded seeded;
        dpot_rng_seeded_init(&seeded, DIRECT_SEED, input);
        cr_assert_eq(
            direct_run(finding->subject, input, &seeded.source, samples.n, samples.of[input], NULL),
            DPOT_OK);
    }
    find_bound(&samples, finding, &finding->direct);
}

void examine_silence(struct finding *finding, const struct path_seams *seams)
{
    const struct path_plan plan = {finding->subject, PATH_SEED, seams};
    struct dpot_error error = {{0}};
    cr_assert_eq(silence_run(&plan, &finding->silence, &error), DPOT_OK, "%s: %s",
                 finding->subject->name, error.text);
}

void examine_samples(const struct subject *subject, const struct path_seams *seams, size_t n_path,
                     size_t n_direct, struct finding *finding)
{
    *finding = (struct finding){.subject = subject, .n_path = n_path, .n_direct = n_direct};
    if (n_path > 0) {
        walk_path(finding, seams);
    }
    if (n_direct > 0) {
        run_privatizer(finding);
    }
}

void examine(const struct subject *subject, const struct path_seams *seams, size_t n_path,
             size_t n_direct, struct finding *finding)
{
    struct dpot_error error = {{0}};
    examine_samples(subject, seams, n_path, n_direct, finding);
    cr_assert_eq(judge_exactly(finding, &error), DPOT_OK, "%s: %s", subject->name, error.text);
    examine_silence(finding, seams);
}

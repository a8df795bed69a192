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

static void find_bound(struct audit_samples *samples, const struct verdict *verdict,
                       struct event_finding *event)
{
    cr_assert_eq(events_bound(samples, verdict_claimed_delta(verdict), EXAMINATION_ERROR, event),
                 DPOT_OK);
    free(samples->of[0]);
    free(samples->of[1]);
}

static void walk_path(struct verdict *verdict, const struct client_path_seams *seams)
{
    const struct client_path_plan plan = {verdict->subject, PATH_SEED, seams};
    struct audit_samples samples = samples_new(verdict->subject, verdict->n_path);
    for (unsigned input = 0; input < 2; input++) {
        struct client_path_tally tally;
        struct dpot_error error = {{0}};
        cr_assert_eq(client_path_run(&plan, input, (uint64_t)input << 32, samples.n,
                                     samples.of[input], &tally, &error),
                     DPOT_OK, "%s: %s", verdict->subject->name, error.text);
        client_path_tally_add(&verdict->tally, &tally);
    }
    find_bound(&samples, verdict, &verdict->path);
}

static void run_privatizer(struct verdict *verdict)
{
    struct audit_samples samples = samples_new(verdict->subject, verdict->n_direct);
    for (unsigned input = 0; input < 2; input++) {
        struct dpot_rng_seeded seeded;
        dpot_rng_seeded_init(&seeded, DIRECT_SEED, input);
        cr_assert_eq(
            direct_run(verdict->subject, input, &seeded.source, samples.n, samples.of[input], NULL),
            DPOT_OK);
    }
    find_bound(&samples, verdict, &verdict->direct);
}

void examine_silence(struct verdict *verdict, const struct client_path_seams *seams)
{
    const struct client_path_plan plan = {verdict->subject, PATH_SEED, seams};
    struct dpot_error error = {{0}};
    cr_assert_eq(silence_run(&plan, &verdict->silence, &error), DPOT_OK, "%s: %s",
                 verdict->subject->name, error.text);
}

void examine_samples(const struct subject *subject, const struct client_path_seams *seams,
                     size_t n_path, size_t n_direct, struct verdict *verdict)
{
    *verdict = (struct verdict){.subject = subject, .n_path = n_path, .n_direct = n_direct};
    if (n_path > 0) {
        walk_path(verdict, seams);
    }
    if (n_direct > 0) {
        run_privatizer(verdict);
    }
}

void examine(const struct subject *subject, const struct client_path_seams *seams, size_t n_path,
             size_t n_direct, struct verdict *verdict)
{
    struct dpot_error error = {{0}};
    examine_samples(subject, seams, n_path, n_direct, verdict);
    cr_assert_eq(verdict_enumerate(verdict, &error), DPOT_OK, "%s: %s", subject->name, error.text);
    examine_silence(verdict, seams);
}

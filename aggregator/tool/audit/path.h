/* Reports by the whole client path: the shipping client on a folder in memory (clamp or transform,
 * sampler, ledger, spool, seal), an aggregator in memory (open, judge, store), the answer lost and the
 * report sent again, a new process in between now and then.
 *
 * A device lives through the rounds of its campaign in pairs: a round with input 0, which every device
 * has, and one with the input under test, whose report is the sample. So a sample's trace can tell
 * whether the report has to do with the one before: neighbouring inputs here are two histories that
 * differ in the second round only, and the claim is that of one report. */
#ifndef DPOT_TOOL_AUDIT_PATH_H
#define DPOT_TOOL_AUDIT_PATH_H

#include "audit/subject.h"
#include "dpot/dpot.h"
#include "tool/simulate/in_process.h"

#define PATH_SAMPLES_PER_DEVICE 9 /* 18 rounds of epsilon 1 and a little, under the ceiling of 20 */

/* Where tests break something. NULL: the program's own. */
struct path_seams {
    void *ctx;
    const struct dpot_rng_source *source;

    /* What the application does with its data in one round; the status is seen by others. */
    dpot_status (*submit)(void *ctx, dpot_client *client, const struct subject *subject,
                          const double *input, enum dpot_submit_outcome *outcome);

    /* Changes a request before it is sent. */
    void (*send)(void *ctx, const double *input, struct dpot_http_request *request);

    /* Puts something between the client and its folder. */
    const struct dpot_filesystem *(*folder)(void *ctx, const struct dpot_filesystem *folder);
};

struct path_plan {
    const struct subject *subject;
    uint64_t seed;                  /* with subject->has_seed */
    const struct path_seams *seams; /* or NULL */
};

/* What was wrong without any statistics. All but the first two are 0 for an honest device. */
struct path_tally {
    uint64_t n_reports;
    uint64_t n_charges;        /* of the ledgers */
    uint64_t n_contradictions; /* rounds with two different reports */
    uint64_t n_missing;        /* rounds without one */
    uint64_t n_lengths;    /* rounds with a request of another length than its report makes it */
    uint64_t n_statuses;   /* rounds in which a submit said something else than to everybody */
    uint64_t n_groups;     /* rounds whose report carried another label */
    uint64_t n_mischarged; /* devices whose ledger does not add up to the claim */
    uint64_t n_pools;      /* servers whose pool is not what was heard on the way to it */
};
void path_tally_add(struct path_tally *a, const struct path_tally *b);

/* As many reports as charges, and nothing else to say. */
bool path_tally_is_clean(const struct path_tally *tally);

/* Runs ceil(n / PATH_SAMPLES_PER_DEVICE) devices against a server of their own and fills n samples of
 * `input`. `first_device` numbers them over all runs: it chooses the seeded streams. A failure is the
 * environment's (memory) or that of a client which refuses its campaign. */
DPOT_WARN_UNUSED dpot_status path_run(const struct path_plan *plan, unsigned input,
                                      uint64_t first_device, size_t n, struct audit_sample *samples,
                                      struct path_tally *tally, struct dpot_error *error);

#endif

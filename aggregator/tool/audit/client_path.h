/* Reports made by the whole client path: the shipping client on a folder in memory (clamp or
 * transform, sampler, ledger, spool, seal), an aggregator in memory (open, validate, store), a lost
 * answer, a second sending, and now and then a restart of the process in between.
 *
 * A device passes the rounds of its campaign in pairs: one round with input 0, the same for every
 * device, and one with the input under test, whose report is the sample. So the trace of a sample
 * shows whether its report depends on the one before. Neighbouring inputs are two histories that
 * differ in the second round only, and the claim is that of one report. */
#ifndef DPOT_TOOL_AUDIT_CLIENT_PATH_H
#define DPOT_TOOL_AUDIT_CLIENT_PATH_H

#include "audit/subject.h"
#include "dpot/dpot.h"
#include "tool/simulate/in_process.h"

#define CLIENT_PATH_SAMPLES_PER_DEVICE                                                             \
    9 /* 18 rounds of epsilon 1 and a little: below the ceiling, 20 */

/* Where tests plant faults. NULL members: the program's own code. */
struct client_path_seams {
    void *ctx;
    const struct dpot_rng_source *source;

    /* Submits the application's data of one round; the status is visible to others. */
    dpot_status (*submit)(void *ctx, dpot_client *client, const struct subject *subject,
                          const double *input, enum dpot_submit_outcome *outcome);

    /* Changes a request before it is sent. */
    void (*send)(void *ctx, const double *input, struct dpot_http_request *request);

    /* Wraps the folder of the client. */
    const struct dpot_filesystem *(*folder)(void *ctx, const struct dpot_filesystem *folder);
};

struct client_path_plan {
    const struct subject *subject;
    uint64_t seed;                         /* with subject->has_seed */
    const struct client_path_seams *seams; /* or NULL */
};

/* Faults that need no statistics. All but the first two counts are 0 for an honest device. */
struct client_path_tally {
    uint64_t n_reports;
    uint64_t n_charges;        /* in the ledgers */
    uint64_t n_contradictions; /* rounds with two different reports */
    uint64_t n_missing;        /* rounds without a report */
    uint64_t n_lengths;        /* rounds with a request whose length its report does not explain */
    uint64_t n_statuses;       /* rounds whose submit returned another status than for other data */
    uint64_t n_groups;         /* rounds whose report carried another label */
    uint64_t n_mischarged;     /* devices whose ledger does not add up to the claim */
    uint64_t n_pools;          /* servers whose pool differs from what was sent to it */
};

void client_path_tally_add(struct client_path_tally *a, const struct client_path_tally *b);

/* As many reports as charges, and no fault. */
bool client_path_tally_is_clean(const struct client_path_tally *tally);

/* The configuration of a device of the plan, without hooks: caps that never refuse, short
 * delays. */
void client_path_config(const struct client_path_plan *plan, const struct in_process *server,
                        struct dpot_client_config *config);

/* Runs ceil(n / CLIENT_PATH_SAMPLES_PER_DEVICE) devices against a server of their own and fills n
 * samples of `input`. `first_device` numbers the devices over all runs and selects their seeded
 * streams. Fails when memory is out or the client refuses its campaign. */
DPOT_WARN_UNUSED dpot_status client_path_run(const struct client_path_plan *plan, unsigned input,
                                             uint64_t first_device, size_t n,
                                             struct audit_sample *samples,
                                             struct client_path_tally *tally,
                                             struct dpot_error *error);

#endif

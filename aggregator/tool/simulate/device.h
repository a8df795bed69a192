/* One virtual device: the shipping client on its own folder, clock and network.
 *
 * Nothing sleeps while the client waits: the clock of the device is set forward to the time it
 * waits for. With an in-process server the clock is wholly virtual, so that many rounds take no
 * real time and a seeded run does not depend on the time of day. Dropout and lost answers are drawn
 * from a random stream that is not the client's. */
#ifndef DPOT_TOOL_SIMULATE_DEVICE_H
#define DPOT_TOOL_SIMULATE_DEVICE_H

#include "dpot/dpot.h"
#include "tool/simulate/crowd.h"
#include "tool/simulate/in_process.h"

/* The reasons of dpot_client_status, in the order of tally.rejected and tally.dropped. */
#define N_REJECTED 6
#define N_DROPPED 6
extern const char *const rejected_names[N_REJECTED];
extern const char *const dropped_names[N_DROPPED];

struct tally {
    uint64_t n_submitted, n_accepted, n_duplicate, n_pending;
    uint64_t n_rejected[N_REJECTED];
    uint64_t n_dropped[N_DROPPED];
};

/* a += b */
void tally_add(struct tally *a, const struct tally *b);
uint64_t tally_rejected(const struct tally *tally);
uint64_t tally_dropped(const struct tally *tally);

/* submitted = accepted + duplicate + rejected + dropped + pending */
bool tally_is_conserved(const struct tally *tally);

/* Common to all devices. Borrows all pointers. */
struct device_plan {
    const struct crowd *crowd;
    const struct dpot_campaign *campaign;
    uint8_t pin[DPOT_SIGN_PUBLIC_LEN];
    const char *server_url;              /* IN_PROCESS_URL in process */
    const struct in_process *in_process; /* NULL: over the network */
    uint32_t rounds;
    double dropout, duplicates; /* probabilities */
    double epsilon_cap, delta_cap;
    bool has_seed;
    uint64_t seed;
    const char *durable; /* folder of folders, or NULL: in memory */
};

struct device_outcome {
    uint32_t n_absent;  /* rounds it did not take part in */
    uint32_t n_refused; /* rounds that its caps refused */
    double place;       /* uniform number that draws its place in population_sample.csv */
    double spent_epsilon;
    struct tally tally;
};

/* Checks a --durable folder, which need not exist, for a run with a server of its own.
 * DPOT_ERR_EXISTS: it holds devices of an earlier run, whose keys and ids are of another server and
 * cannot be changed. */
DPOT_WARN_UNUSED dpot_status device_check_durable(const char *folder, struct dpot_error *error);

/* Runs device number `device` through all rounds. `network` is the worker's transport, NULL in
 * process. Fails only for causes that all devices share: the server is gone, the campaign is
 * refused. */
DPOT_WARN_UNUSED dpot_status device_run(const struct device_plan *plan,
                                        const struct dpot_transport *network, size_t device,
                                        struct device_outcome *outcome, struct dpot_error *error);

#endif

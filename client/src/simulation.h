/* Simulation: what `dpot` and tests may do to a client, and no device can.
 *
 * These functions are in the library dpot_client_simulation, which only the `dpot` tool and tests
 * link; libdpot, dpot-device and dpotd do not contain them (tests/lint/symbols.sh). Without them a
 * client refuses campaigns whose signed bytes say `simulation`, and draws from libsodium. */
#ifndef DPOT_CLIENT_SIMULATION_H
#define DPOT_CLIENT_SIMULATION_H

#include "base/rng.h"
#include "dpot/dpot.h"

/* Accepts campaigns marked `simulation`, and raises the ceiling of epsilon to 512, which only
 * vector mechanisms of such campaigns can reach. */
void dpot_client_allow_simulation(dpot_client *client);

/* Draws report ids and noise from `source` from now on; borrowed for the lifetime of the handle.
 * Reports from a source with is_test carry the TEST mark. */
void dpot_client_set_rng_source(dpot_client *client, const struct dpot_rng_source *source);

/* Sets the work time of every campaign (work.h) instead of measuring it: with a scripted clock
 * times must not depend on the machine. */
void dpot_client_set_work_time(dpot_client *client, uint32_t work_ms);

/* Folds the ledger when it has this many records besides its sums and open charges. */
void dpot_client_fold_after(dpot_client *client, uint32_t n_records);

/* A folder in memory, for virtual devices: bounded, fails only for want of memory, durable for its
 * lifetime. */
DPOT_WARN_UNUSED dpot_status dpot_filesystem_memory_new(const struct dpot_allocator *allocator,
                                                        struct dpot_filesystem **filesystem);
void dpot_filesystem_memory_free(struct dpot_filesystem *filesystem);

#endif

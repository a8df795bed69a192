/* The link seam of simulation: what `dpot` and tests may do to a client and no device can.
 *
 * These functions live in the library dpot_client_simulation, which is linked into the `dpot` tool
 * and into tests only; libdpot, dpot-device and dpotd do not contain them (`nm` checks it). Without
 * them a client refuses campaigns whose signed bytes say `simulation`, and draws from libsodium. */
#ifndef DPOT_CLIENT_SIMULATION_H
#define DPOT_CLIENT_SIMULATION_H

#include "base/rng.h"
#include "dpot/dpot.h"

/* Lets this client take part in campaigns marked `simulation`, and raises the ceiling of epsilon from
 * the devices' to 512 (which only vector mechanisms of such campaigns can reach). */
void dpot_client_allow_simulation(dpot_client *client);

/* Draws report ids and noise from `source` (borrowed for the handle's life) from now on. Reports
 * made from a source with is_test carry the TEST mark. */
void dpot_client_set_rng_source(dpot_client *client, const struct dpot_rng_source *source);

/* Takes this as the work time of every campaign (work.h), in place of measuring it: for scripted clocks, under
 * which times must not depend on the machine. */
void dpot_client_set_work_time(dpot_client *client, uint32_t work_ms);

/* A folder in memory, for virtual devices: bounded, never fails but for memory, durable as long as
 * it lives. */
DPOT_WARN_UNUSED dpot_status dpot_filesystem_memory_new(const struct dpot_allocator *allocator,
                                                        struct dpot_filesystem **filesystem);
void dpot_filesystem_memory_free(struct dpot_filesystem *filesystem);

#endif

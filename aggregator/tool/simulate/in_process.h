/* An aggregator in memory: the real store, registry and ingest, without a network.
 *
 * A campaign is signed with a key made for the occasion and opened; connections route the three
 * device URLs straight to it. Each connection has the clock of its device, so that every virtual
 * device may live at its own time. Several threads may use their own connections at once. */
#ifndef DPOT_TOOL_SIMULATE_IN_PROCESS_H
#define DPOT_TOOL_SIMULATE_IN_PROCESS_H

#include "files/array.h"
#include "pool/decode.h"
#include "pool/ingest.h"

#define IN_PROCESS_URL "http://in-process"

struct in_process {
    const struct dpot_campaign *campaign; /* borrowed */
    struct store *store;
    struct registry *registry;
    struct seal_secret seal_secret;
    uint8_t pin[DPOT_SIGN_PUBLIC_LEN];
    uint8_t hash[DPOT_HASH_LEN];
    struct dpot_buf signed_campaign; /* as served */
    struct dpot_buf signed_keys;
};

/* Release it also after a failure. The campaign, whose id must be set, is borrowed. */
DPOT_WARN_UNUSED dpot_status in_process_open(const struct dpot_campaign *campaign,
                                             struct in_process *server, struct dpot_error *error);
void in_process_close(struct in_process *server);

struct in_process_connection {
    struct dpot_transport transport; /* give its address to a client */
    const struct in_process *server;
    struct ingest ingest;
};

/* `server` and `clock` are borrowed; the struct must not move afterwards. */
void in_process_connect(const struct in_process *server, const struct dpot_clock *clock,
                        struct in_process_connection *connection);

DPOT_WARN_UNUSED dpot_status in_process_count(const struct in_process *server,
                                              struct pool_count *count, struct dpot_error *error);

/* The accepted reports in order: indices (n,), or vectors: in data units (n, data_dim), or their
 * coefficients (n, dim).
 * DPOT_ERR_NOT_FOUND without a sentence when there are none; DPOT_ERR_TOO_LARGE above
 * ARRAY_ENTRIES_MAX numbers. */
DPOT_WARN_UNUSED dpot_status in_process_pool(const struct in_process *server,
                                             enum decode_space space, struct array *pool,
                                             struct dpot_error *error);

/* The numbers of their groups in the same order (n,); status as above. */
DPOT_WARN_UNUSED dpot_status in_process_groups(const struct in_process *server,
                                               struct array *groups, struct dpot_error *error);

#endif

/* An aggregator in memory: the real store, registry and ingest, without a network.
 *
 * Signs one campaign with a new key and opens it; connections route the three device URLs straight
 * to it. Each connection has the clock of its device, so that virtual devices have virtual times of
 * their own. Threads may use different connections at once. */
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

/* Close the server also after a failure. `campaign` is borrowed; its id must be set. */
DPOT_WARN_UNUSED dpot_status in_process_open(const struct dpot_campaign *campaign,
                                             struct in_process *server, struct dpot_error *error);
void in_process_close(struct in_process *server);

struct in_process_connection {
    struct dpot_transport transport; /* pass its address to a client */
    const struct in_process *server;
    struct ingest ingest;
};

/* `server` and `clock` are borrowed; the connection must not move afterwards. */
void in_process_connect(const struct in_process *server, const struct dpot_clock *clock,
                        struct in_process_connection *connection);

DPOT_WARN_UNUSED dpot_status in_process_count(const struct in_process *server,
                                              struct pool_count *count, struct dpot_error *error);

/* Performs `request` and loses the answer: always DPOT_ERR_NETWORK. */
dpot_status transport_lose_answer(const struct dpot_transport *transport,
                                  const struct dpot_http_request *request,
                                  struct dpot_http_response *response);

/* The accepted reports in order: indices (n,), vectors in data units (n, data_dim), or their
 * coefficients (n, dim). DPOT_ERR_NOT_FOUND, without a message: the pool is empty.
 * DPOT_ERR_TOO_LARGE: more than ARRAY_ENTRIES_MAX numbers. */
DPOT_WARN_UNUSED dpot_status in_process_pool(const struct in_process *server,
                                             enum decode_space space, struct array *pool,
                                             struct dpot_error *error);

/* The group numbers of these reports, in the same order (n,); statuses as above. */
DPOT_WARN_UNUSED dpot_status in_process_groups(const struct in_process *server,
                                               struct array *groups, struct dpot_error *error);

#endif

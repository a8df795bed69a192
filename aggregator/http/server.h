/* The HTTP server: sockets, limits and deadlines around routes.h. The HTTP library is used by
 * server.c, exchange.c and head.c only.
 *
 * Invariants
 * (H1) Memory is bounded: heads per connection, bodies per route and over all connections, and the
 *      number of connections.
 * (H2) A request has a deadline for its arrival, from the start of the connection or the end of the
 *      request before, and an answer has one to be read. Peers that miss one are disconnected.
 *      Silent peers never take the last places: the one that was silent longest is disconnected
 *      first.
 * (H3) A request that will be refused is refused before its body is kept.
 * (H4) A request whose handler waits for others holds no thread, and is answered before the server
 *      closes. */
#ifndef DPOT_HTTP_SERVER_H
#define DPOT_HTTP_SERVER_H

#include "http/log.h"
#include "http/routes.h"

struct server_config {
    const char *listen;              /* HOST:PORT */
    const char *tls_cert;            /* PEM text; NULL as tls_key: no TLS */
    const char *tls_key;             /* PEM text */
    unsigned threads;                /* >= 1 */
    unsigned max_connections;        /* >= threads */
    unsigned max_connections_per_ip; /* 0: no such limit */
    unsigned request_timeout_s;      /* >= 1 */
    size_t max_body_memory;          /* bytes of all request bodies together */
    const struct http_app *app;      /* borrowed */
    const struct log *log;           /* borrowed */
};

struct server;

/* Listens and serves on its own threads. The strings of `config` are borrowed until server_close.
 * DPOT_ERR_MALFORMED: `listen`; DPOT_ERR_IO: port in use, unknown host; DPOT_ERR_ARGUMENT:
 * certificate or key; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status server_open(const struct server_config *config, struct server **server,
                                         struct dpot_error *error);

/* "http://127.0.0.1:43211" as bound; borrowed. */
const char *server_url(const struct server *server);

/* Counts since server_open, and what is held now. */
#define SERVER_CLASSES 6
struct server_traffic {
    uint64_t n_answers[SERVER_CLASSES]; /* by the first digit of their status */
    size_t n_running;   /* requests between the end of their head and the end of their answer */
    size_t n_suspended; /* of these, requests whose handler waits for others */
    size_t body_memory; /* bytes held by request bodies */
    struct log_counts log;
};
void server_get_traffic(struct server *server, struct server_traffic *traffic);

/* store_check of the app's store for everybody who asks: one at a time, at most every
 * SERVER_CHECK_MS and a tenth of the time. Otherwise the outcome of the last one, or, when one has
 * run for SERVER_PATIENCE_MS, DPOT_ERR_BUSY. */
#define SERVER_CHECK_MS 100
#define SERVER_PATIENCE_MS 2000
DPOT_WARN_UNUSED dpot_status server_check_store(struct server *server, struct dpot_error *error);

/* True once server_close was called. */
bool server_is_closing(struct server *server);

/* Refuses new connections, waits up to `drain_ms` for running requests, then disconnects all peers.
 * NULL is allowed. */
void server_close(struct server *server, unsigned drain_ms);

#endif

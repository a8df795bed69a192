/* The HTTP server: sockets, limits and deadlines around routes.h. server.c and exchange.c are the HTTP
 * library's only doors.
 *
 * Invariants
 * (H1) Memory is bounded: headers per connection, bodies per route and over all connections, and
 *      the number of connections.
 * (H2) A request has a deadline, from its first byte (or the end of the one before) to its last; an
 *      answer has one to be taken. A slow peer is cut.
 *      Who opens connections and says nothing takes none of the last places: the longest silent gives way.
 * (H3) What will be refused is refused before its body is kept.
 * (H4) A request whose handler waits for others holds no thread, and is answered before the server
 *      closes. */
#ifndef DPOT_HTTP_SERVER_H
#define DPOT_HTTP_SERVER_H

#include "http/log.h"
#include "http/routes.h"

struct server_config {
    const char *listen;              /* HOST:PORT */
    const char *tls_cert;            /* PEM text; both or neither */
    const char *tls_key;             /* PEM text */
    unsigned threads;                /* >= 1 */
    unsigned max_connections;        /* >= threads */
    unsigned max_connections_per_ip; /* 0: no limit of its own */
    unsigned request_timeout_s;      /* >= 1 */
    size_t max_body_memory;          /* of all request bodies together */
    const struct http_app *app;      /* borrowed */
    const struct log *log;           /* borrowed */
};

struct server;

/* Listens and serves on its own threads; the strings of `config` are borrowed until the server is
 * closed. DPOT_ERR_MALFORMED (listen), DPOT_ERR_IO (port in use, ...), DPOT_ERR_ARGUMENT
 * (certificate or key), DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status server_open(const struct server_config *config, struct server **server,
                                         struct dpot_error *error);

/* "http://127.0.0.1:43211" as bound; borrowed. */
const char *server_url(const struct server *server);

/* What the server has answered and holds. */
#define SERVER_CLASSES 6
struct server_traffic {
    uint64_t n_answers[SERVER_CLASSES]; /* by the first digit of their status */
    size_t n_running;   /* requests between their headers and the end of their answer */
    size_t n_suspended; /* of these, those whose work is with others */
    size_t body_memory; /* bytes held by request bodies */
};
void server_get_traffic(struct server *server, struct server_traffic *traffic);

/* Since server_close began: not ready any more, although what runs is finished. */
bool server_is_closing(struct server *server);

/* Stops accepting, waits for running requests up to `drain_ms`, then cuts what is left. NULL is
 * allowed. */
void server_close(struct server *server, unsigned drain_ms);

#endif

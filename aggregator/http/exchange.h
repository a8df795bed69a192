/* One request, from its first line to the end of its answer, as the HTTP library reports it.
 * Internal to server.h, shared by server.c and exchange.c. */
#ifndef DPOT_HTTP_EXCHANGE_H
#define DPOT_HTTP_EXCHANGE_H

#include "http/deadlines.h"
#include "http/head.h"
#include "http/linger.h"
#include "http/listen.h"
#include "http/server.h"

#include <microhttpd.h>
#include <pthread.h>

/* Of server_check_store. */
struct store_checks {
    bool is_running;
    int64_t began_ms, next_ms; /* the running one; the earliest time of the next */
    dpot_status status;        /* of the last one */
    struct dpot_error error;
};

struct server {
    struct server_config config;
    struct MHD_Daemon *daemon;
    struct deadlines *deadlines;
    struct lingering *linger;
    int listen_fd; /* -1: owned by the library, or none */
    char url[LISTEN_URL_SIZE];
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t idle;
    struct server_traffic traffic;
    struct store_checks checks;
    bool is_closing;  /* connections end with their answer */
    bool is_stopping; /* no request may be suspended any more */
};

/* The server's part of a http_pause; handlers see the first member. */
struct connection_pause {
    struct http_pause pause;
    struct server *server;
    struct MHD_Connection *connection;
};

/* One request and its answer. */
struct exchange {
    struct server *server;
    struct deadline *deadline; /* of the connection; NULL: memory was out */
    struct http_request request;
    struct http_response response;
    struct connection_pause pause;
    const struct route *route; /* NULL: unknown */
    struct dpot_buf body;
    size_t charged;   /* to server->traffic.body_memory */
    size_t discarded; /* bytes of a refused body */
    bool is_refused;  /* `response` is the answer already */
    bool is_answered; /* the answer was queued */
    bool closes;      /* the connection ends with the answer, and bytes may follow unread */
    bool has_head;    /* the head is complete, and the request is counted as running */
    struct head_line line;
    int64_t started_ms;
};

/* Callbacks of the library; `ctx` is the server. exchange_on_line is called when the first line of
 * a request was received and returns the context of the others, NULL when memory is out. A request
 * counts as running from its complete head to exchange_on_completed. */
void *exchange_on_line(void *ctx, const char *address, struct MHD_Connection *connection);
enum MHD_Result exchange_on_request(void *ctx, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *data,
                                    size_t *len, void **context);
void exchange_on_completed(void *ctx, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code);

/* Counts an answer by its status; for one without an exchange. */
void exchange_count_answer(struct server *server, unsigned http_status);

/* The time in which a request must arrive. */
int64_t exchange_timeout_ms(const struct server *server);

#endif

/* One request, from its headers to the end of its answer, as the HTTP library calls: the inside of server.h,
 * shared by server.c and exchange.c, which are with head.c that library's only doors. */
#ifndef DPOT_HTTP_EXCHANGE_H
#define DPOT_HTTP_EXCHANGE_H

#include "http/deadlines.h"
#include "http/head.h"
#include "http/listen.h"
#include "http/server.h"

#include <microhttpd.h>
#include <pthread.h>

struct server {
    struct server_config config;
    struct MHD_Daemon *daemon;
    struct deadlines *deadlines;
    int listen_fd;
    char url[LISTEN_URL_SIZE];
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t idle;
    struct server_traffic traffic;
    struct exchange *awaited; /* whose heads are; the inside of last_word.h */
    bool is_closing;          /* connections end with their answer */
    bool is_stopping;         /* nothing is suspended any more */
};

/* What a handler suspends by: its first member is what it sees. */
struct connection_pause {
    struct http_pause pause;
    struct server *server;
    struct MHD_Connection *connection;
};

/* One request and its answer. */
struct exchange {
    struct server *server;
    struct deadline *deadline; /* of the connection; NULL when memory was out */
    struct http_request request;
    struct http_response response;
    struct connection_pause pause;
    const struct route *route; /* NULL: unknown */
    struct dpot_buf body;
    size_t charged;   /* of server->body_memory */
    size_t discarded; /* bytes of a refused body */
    bool is_refused;  /* `response` is the answer already */
    bool is_over;     /* the answer was queued */
    bool closes;      /* the connection ends with the answer */
    bool has_begun;   /* the head is there, and counted as running */
    bool is_told;     /* past the library, which is never to answer (last_word.h) */
    struct head_line line;
    bool is_awaited; /* in the list of last_word.h */
    pthread_t thread;
    struct exchange *previous, *next;
    int64_t started_ms;
};

/* Callbacks of the library; `ctx` is the server. The first is called when the first line of a request is there; what it
 * makes is the context of the others, and NULL when memory is out. A request is counted as running from its whole
 * head to the last call. */
void *exchange_on_line(void *ctx, const char *address, struct MHD_Connection *connection);
enum MHD_Result exchange_on_request(void *ctx, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *data,
                                    size_t *len, void **context);
void exchange_on_completed(void *ctx, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code);

/* The response becomes a refusal of the head: what follows it is not read. */
void exchange_refuse_head(struct exchange *x, unsigned http_status, const char *sentence);

/* Logs and counts the response. */
void exchange_account(const struct exchange *x);

/* Counts an answer that has no exchange. */
void exchange_count_answer(struct server *server, unsigned http_status);

/* The time a request may take to arrive. */
int64_t exchange_timeout_ms(const struct server *server);

/* Paths are plain: an escape stays as it stands and matches no route. */
size_t exchange_keep_escapes(void *ctx, struct MHD_Connection *connection, char *text);

#endif

/* A request and its answer as handlers see them, without the HTTP library. */
#ifndef DPOT_HTTP_MESSAGE_H
#define DPOT_HTTP_MESSAGE_H

#include "base/buf.h"
#include "base/error.h"
#include "http/log.h"
#include "model/campaign.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdio.h>

struct http_request;
struct http_response;
struct server;

/* Lets a handler answer later without holding a thread. The handler sets `work`, `finish` and
 * `abandon`, calls `suspend` and hands the work on; whoever completes it calls `resume`, from any
 * thread. Then exactly one is called: `finish`, on a thread of the server, fills the answer, or
 * `abandon` when the connection has ended. Both free the work. */
struct http_pause {
    void *work;
    void (*finish)(void *work, struct http_response *response, const struct http_request *request);
    void (*abandon)(void *work);

    /* Set by the server. `suspend` returns false when the server is stopping: nothing was
     * suspended, and the handler must answer at once. */
    bool (*suspend)(struct http_pause *pause);
    void (*resume)(struct http_pause *pause);
};

struct http_request {
    const char *method;
    const char *path;
    uint8_t id[DPOT_CAMPAIGN_ID_LEN]; /* {id} of the route's pattern: a campaign's or a job's */
    uint8_t digest[DPOT_HASH_LEN];    /* {digest} of the route's pattern: an artifact's */
    uint32_t revision;                /* of ?revision=N; 0: absent */
    uint32_t limit;                   /* of ?limit=N; 0: absent */
    uint8_t after[DPOT_HASH_LEN];     /* of ?after=HEX */
    size_t after_len;                 /* its bytes; 0: absent */
    unsigned n_given[2];              /* how often each parameter of the route was given */
    const uint8_t *body;
    size_t body_len;
    struct http_pause *pause;
    struct server *server; /* that received it */
};

/* Set up by http_response_init. The content is that of `file` if it is not NULL (an unlinked
 * temporary file, for content larger than memory), else of `borrowed` if that is not NULL (it must
 * outlive the server), else of `body`. */
struct http_response {
    unsigned status;
    const char *content_type; /* a literal */
    const char *allow;        /* with 405: a literal; else NULL */
    uint32_t retry_after_s;   /* 0: no header */
    struct dpot_buf body;
    const struct dpot_buf *borrowed;
    FILE *file;
    enum log_level level;   /* of the request's log line */
    struct dpot_error note; /* for that line; may be empty. Never data of a report */
};

void http_response_init(struct http_response *response);
void http_response_release(struct http_response *response);

/* Answers text/plain: the sentence and a newline. */
void http_response_text(struct http_response *response, unsigned status, const char *sentence);

/* Answers `value`, which it takes. NULL: memory was out, answered 503. */
void http_response_json(struct http_response *response, unsigned status, json_t *value);

/* Answers with an error and sets note and log level. Below /v1 the body is {"error", "status"}
 * (devices look for the status in it), elsewhere text. */
void http_response_refuse(struct http_response *response, const char *path, unsigned http_status,
                          dpot_status status, const char *sentence);

/* Adds a string member to a JSON error; other bodies stay as they are. Neither text may need
 * escapes. */
void http_response_add(struct http_response *response, const char *name, const char *text);

#endif

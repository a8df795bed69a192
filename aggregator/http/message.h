/* A request as handlers see it, and the answer they fill: no HTTP library in sight. */
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

/* How a handler answers later, without holding a thread: it sets `work` and the two functions, suspends,
 * and hands the work on; whoever has done it resumes, from any thread. Then `finish` fills the answer on a
 * thread of the server, or `abandon` frees the work when nobody waits for the answer any more. */
struct http_pause {
    void *work;
    void (*finish)(void *work, struct http_response *response, const struct http_request *request);
    void (*abandon)(void *work);

    /* The server's. False: it is stopping; nothing was suspended, and the handler answers at once. */
    bool (*suspend)(struct http_pause *pause);
    void (*resume)(struct http_pause *pause);
};

struct http_request {
    const char *method;
    const char *path;
    uint8_t id[DPOT_CAMPAIGN_ID_LEN]; /* {id} of the route's pattern: a campaign's or a job's */
    uint8_t digest[DPOT_HASH_LEN];    /* {digest} of the route's pattern: an artifact's */
    uint32_t revision;                /* of ?revision=N; 0: not given */
    const uint8_t *body;
    size_t body_len;
    struct http_pause *pause;
    struct server *server; /* that takes it */
};

/* Set up by http_response_init. The content is that of `file` when it is not NULL (an unlinked
 * temporary one: what is too large for memory), else of `borrowed` when that is not NULL (it must
 * outlive the server), else of `body`. */
struct http_response {
    unsigned status;
    const char *content_type; /* a literal */
    const char *allow;        /* with 405: a literal or borrowed for the answer's life; or NULL */
    uint32_t retry_after_s;   /* 0: no header */
    struct dpot_buf body;
    const struct dpot_buf *borrowed;
    FILE *file;
    enum log_level level;   /* of the request's log line */
    struct dpot_error note; /* for that line; may be empty. Never data of a report */
};

void http_response_init(struct http_response *response);
void http_response_release(struct http_response *response);

/* A short text/plain answer: the sentence and a newline. */
void http_response_text(struct http_response *response, unsigned status, const char *sentence);

/* Takes `value` (NULL: memory is out, answered 503). */
void http_response_json(struct http_response *response, unsigned status, json_t *value);

/* The error answer of `path`: JSON below /v1 ({"error", "status"}; devices look for the status in it), text
 * elsewhere. The note and the log level are set too. */
void http_response_refuse(struct http_response *response, const char *path, unsigned http_status,
                          dpot_status status, const char *sentence);

/* Adds a member to a refusal that is JSON (nothing to another). Neither text needs escaping. */
void http_response_tell(struct http_response *response, const char *name, const char *text);

#endif

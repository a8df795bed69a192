/* Calls to a running dpotd, through the transport hook of dpot/hooks.h. */
#ifndef DPOT_TOOL_SHARED_REMOTE_H
#define DPOT_TOOL_SHARED_REMOTE_H

#include "base/buf.h"
#include "dpot/hooks.h"
#include "tool/shared/command.h"

#define REMOTE_URL_MAX 1024
#define REMOTE_TOKEN_MAX 512

struct remote {
    struct run *run;
    struct dpot_transport *transport;          /* owned */
    char url[REMOTE_URL_MAX];                  /* of the server, without trailing slashes */
    char authorization[REMOTE_TOKEN_MAX + 16]; /* "Bearer ..."; empty: none */
    int http_status;                           /* of the last call; 0: nothing answered */
    bool takes_closed; /* 409 is a success: what a closed campaign's signed bytes come with */
};

/* After a call that failed: whether the server, or what is before it, was away, so that the same call may
 * succeed later. */
bool remote_is_away(const struct remote *remote, dpot_status status);

/* The options that remote_open reads. */
#define REMOTE_OPTIONS                                                                             \
    {"server", "URL", "the aggregator, http:// or https://"},                                      \
    {                                                                                              \
        "ca-file", "F", "certificates to trust (PEM; default: the system's)"                       \
    }
#define REMOTE_TOKEN_OPTION                                                                        \
    {                                                                                              \
        "token-file", "F", "file with the admin token (default: DPOT_TOKEN)"                       \
    }

/* Checks --server, and with `is_admin` finds the token (--token-file, else DPOT_TOKEN). Nothing is
 * sent yet. Release it in every case. */
DPOT_WARN_UNUSED dpot_status remote_open(struct run *run, bool is_admin, struct remote *remote);
void remote_close(struct remote *remote); /* wipes the token */

/* One exchange; the body of a success is appended to `out`, which bounds it. Any HTTP status but
 * 200, 201 and 202 is a failure: the server's own sentence, and a status for the exit code (400, 404,
 * 413: data; 401, 403: refused; 409: not ready; else server). `body` may be NULL. */
DPOT_WARN_UNUSED dpot_status remote_call(struct remote *remote, const char *method,
                                         const char *path, const char *body, struct dpot_buf *out);

/* The same with a JSON object as answer; *answer is a new reference. */
DPOT_WARN_UNUSED dpot_status remote_call_json(struct remote *remote, const char *method,
                                              const char *path, const char *body, json_t **answer);

/* One admin call on a connection of its own, whose JSON answer becomes the result of the run. */
DPOT_WARN_UNUSED dpot_status remote_admin(struct run *run, const char *method, const char *path,
                                          const char *body);

/* Checks that `text` is an id, of a campaign or a job: 32 hex digits. */
bool is_campaign_id(const char *text);

#endif

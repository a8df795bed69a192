/* HTTP calls to a running dpotd, through the transport hook of dpot/hooks.h. */
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
    int http_status;                           /* of the last call; 0: no answer */
    bool takes_closed; /* 409 is a success: the status with the signed bytes of a closed campaign */
};

/* What the answer to a call must be: an object with at least these members. */
struct remote_kind {
    const char *name;
    struct {
        const char *key;
        json_type type;
    } members[3];                   /* ends with a NULL, or at its end */
    const struct remote_kind *rows; /* of the first member, a list; NULL: it is none */
};

extern const struct remote_kind remote_campaign, remote_campaigns, remote_job, remote_jobs,
    remote_pool;

/* After a failed call: true when the server or its proxy was unreachable, so that the same call may
 * succeed later. */
bool remote_is_away(const struct remote *remote, dpot_status status);

/* The options of remote_open. */
#define REMOTE_OPTIONS                                                                             \
    {"server", "URL", "the aggregator, http:// or https://"},                                      \
    {                                                                                              \
        "ca-file", "F", "certificates to trust (PEM; default: the system's)"                       \
    }
#define REMOTE_TOKEN_OPTION                                                                        \
    {                                                                                              \
        "token-file", "F", "file with the admin token (default: DPOT_TOKEN)"                       \
    }

/* Checks --server, and with `is_admin` reads the token (--token-file, else DPOT_TOKEN). Sends
 * nothing. Close the remote also after a failure. */
DPOT_WARN_UNUSED dpot_status remote_open(struct run *run, bool is_admin, struct remote *remote);
void remote_close(struct remote *remote); /* wipes the token */

/* One request, `body` (JSON) may be NULL. The body of a 200, 201 or 202 is appended to `out`, which
 * bounds it. Other HTTP statuses fail with the server's message (400, 404, 413: data; 401, 403:
 * denied; 409, 429: not ready; others: server). */
DPOT_WARN_UNUSED dpot_status remote_call(struct remote *remote, const char *method,
                                         const char *path, const char *body, struct dpot_buf *out);

/* The same, with a JSON object of this kind as the answer; *answer is a new reference.
 * DPOT_ERR_SERVER: it is another. */
DPOT_WARN_UNUSED dpot_status remote_call_json(struct remote *remote, const char *method,
                                              const char *path, const char *body,
                                              const struct remote_kind *kind, json_t **answer);

/* One admin call on a connection of its own; its JSON answer becomes the result of the run. */
DPOT_WARN_UNUSED dpot_status remote_admin(struct run *run, const char *method, const char *path,
                                          const char *body, const struct remote_kind *kind);

/* True for 32 hex digits: the ID of a campaign or a job. */
bool is_campaign_id(const char *text);

/* Refuses a text that is no campaign ID, before it becomes part of a URL. Exit code 2. */
DPOT_WARN_UNUSED dpot_status campaign_id_check(struct run *run, const char *text);

#endif

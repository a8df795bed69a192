/* Requests to the server, through the client's transport hook. */
#ifndef DPOT_CLIENT_HTTP_H
#define DPOT_CLIENT_HTTP_H

#include "base/buf.h"
#include "client.h"

struct dpot_http_answer {
    int status;             /* HTTP status */
    uint32_t retry_after_s; /* 0: none given */
    bool is_web_page; /* the body is a page for people: from a proxy or a network's login page */
    bool is_json;     /* Content-Type application/json, or none: hooks may not report it */
    bool is_protobuf; /* Content-Type application/x-protobuf */
};

/* DPOT_ERR_STATE unless there is a transport and a server. */
DPOT_WARN_UNUSED dpot_status dpot_http_check(dpot_client *client);

/* One POST to `path` of the server; appends the body of the answer to `out`, which bounds it.
 * DPOT_OK whatever the HTTP status; DPOT_ERR_SERVER: the answer is too long; else the transport's
 * failure, DPOT_ERR_NETWORK for instance. */
DPOT_WARN_UNUSED dpot_status dpot_http_post(dpot_client *client, const char *path, const void *body,
                                            size_t body_len, uint32_t timeout_ms,
                                            struct dpot_buf *out, struct dpot_http_answer *answer);

/* One GET. Any HTTP status but 200 is a failure with a sentence: DPOT_ERR_NOT_FOUND (404),
 * DPOT_ERR_DENIED (401, 403), DPOT_ERR_CLOSED (409), DPOT_ERR_SERVER; a web page of any status is
 * DPOT_ERR_NETWORK. *retry_after_s is that of the answer, 0 without one. */
DPOT_WARN_UNUSED dpot_status dpot_http_get(dpot_client *client, const char *path,
                                           uint32_t timeout_ms, struct dpot_buf *out,
                                           uint32_t *retry_after_s);

/* Fetches the seal keys, verifies them against the pin, stores them. Under the folder's lock. */
DPOT_WARN_UNUSED dpot_status dpot_http_fetch_keys(dpot_client *client, uint32_t timeout_ms,
                                                  uint32_t *retry_after_s);

/* The dpot status of an HTTP status that is not a success. */
dpot_status dpot_http_failure(int http_status);

/* What to add to a sentence about it: ", a redirect, ...", for instance, or "". */
const char *dpot_http_hint(int http_status);

#endif

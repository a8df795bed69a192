/* Requests to the server: their form, their answers, and the client's transport hook. */
#ifndef DPOT_CLIENT_HTTP_H
#define DPOT_CLIENT_HTTP_H

#include "base/buf.h"
#include "base/error.h"
#include "dpot/dpot.h"

#include <stdbool.h>

#define DPOT_KEYS_PATH "/v1/keys"
#define DPOT_URL_SIZE 1200 /* server_url is at most 1024 bytes, paths are shorter than 100 */

struct dpot_http_answer {
    int status;             /* HTTP status */
    uint32_t retry_after_s; /* 0: none given */
    bool is_web_page; /* the body is a page for people: from a proxy or a network's login page */
    bool is_json;     /* Content-Type application/json, or none: hooks may not report it */
    bool is_protobuf; /* Content-Type application/x-protobuf */
};

/* DPOT_ERR_STATE unless there is a transport and a server. */
DPOT_WARN_UNUSED dpot_status dpot_http_check(dpot_client *client);

/* Appends the URL of `path` with its NUL; the path alone without config.server_url. */
DPOT_WARN_UNUSED dpot_status dpot_http_put_url(const dpot_client *client, const char *path,
                                               struct dpot_buf *url);

/* Performs a request with a method, a URL, a timeout and perhaps a body by config.transport, under
 * no lock. The body of the answer is appended to `out`, which bounds it. DPOT_OK whatever the HTTP
 * status. Otherwise the transport's failure, DPOT_ERR_NETWORK for instance, with a sentence. */
DPOT_WARN_UNUSED dpot_status dpot_http_perform(dpot_client *client,
                                               struct dpot_http_request *request,
                                               struct dpot_buf *out,
                                               struct dpot_http_answer *answer);

/* Reads an answer, whose body is (data, len). */
void dpot_http_read_answer(const struct dpot_http_response *response, const uint8_t *data,
                           size_t len, struct dpot_http_answer *answer);

/* The sentence about a request without an answer; `reason` may be "". Returns `status`, or
 * DPOT_ERR_SERVER for a POST whose answer is too long: no receipt is. */
dpot_status dpot_http_explain(dpot_client *client, const struct dpot_http_request *request,
                              dpot_status status, const char *reason);

/* Whether the answer to a GET is good. Any HTTP status but 200 is a failure with a sentence:
 * DPOT_ERR_NOT_FOUND (404), DPOT_ERR_DENIED (401, 403), DPOT_ERR_CLOSED (409), DPOT_ERR_SERVER; a
 * web page of any status is DPOT_ERR_NETWORK. */
DPOT_WARN_UNUSED dpot_status dpot_http_check_get(dpot_client *client, const char *url,
                                                 const struct dpot_http_answer *answer);

/* One whole GET of `path`, under no lock. */
DPOT_WARN_UNUSED dpot_status dpot_http_get(dpot_client *client, const char *path,
                                           struct dpot_buf *out);

/* The dpot status of an HTTP status that is not a success. */
dpot_status dpot_http_failure(int http_status);

/* What to add to a sentence about it: ", a redirect, ...", for instance, or "". */
const char *dpot_http_hint(int http_status);

#endif

/* A plain HTTP/1.1 client over a raw socket, without libdpot or a library: the bytes of the test
 * are sent unchanged. It has no assertions, so that plain programs can use it too. */
#ifndef DPOT_TESTS_AGGREGATOR_HTTP_CLIENT_H
#define DPOT_TESTS_AGGREGATOR_HTTP_CLIENT_H

#include "base/buf.h"

#include <stdbool.h>

#define HTTP_HEAD_SIZE 8192

struct http_reply {
    int status; /* 0: the connection ended without an answer */
    char head[HTTP_HEAD_SIZE];
    struct dpot_buf body; /* released with http_reply_release */
};

/* Connects to "http://127.0.0.1:PORT"; -1 on failure. Reads give up after 20 seconds. */
int http_connect(const char *url);
bool http_send(int fd, const void *data, size_t len);

/* Reads one answer; `has_body` false for HEAD. False when the connection ended early or the answer
 * has no length. */
bool http_receive(int fd, bool has_body, struct http_reply *reply);
void http_reply_release(struct http_reply *reply);

/* One request on a new connection; `token` may be NULL. reply->status is 0 when the connection
 * ended without an answer. */
void http_exchange(const char *url, const char *method, const char *path, const char *token,
                   const void *body, size_t len, struct http_reply *reply);

/* The value of a header of the reply, up to the end of its line; NULL: it has none. */
const char *http_header(const struct http_reply *reply, const char *name);

#endif

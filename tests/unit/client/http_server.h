/* A small HTTP/1.1 server on the loopback, in its own process, for tests over a real
 * socket. It answers with a test_server (support/transport.h). */
#ifndef DPOT_TESTS_CLIENT_HTTP_SERVER_H
#define DPOT_TESTS_CLIENT_HTTP_SERVER_H

#include "support/transport.h"

#include <sys/types.h>

struct http_server {
    pid_t process;
    char url[64]; /* http://127.0.0.1:port */
};

/* Starts it; what `server` changes stays in its process. Headers seen by `server`: content type and
 * authorization. A negative status in the answer closes the connection without one; 307 redirects
 * to /elsewhere. */
void http_server_start(struct http_server *s, test_server *server, void *ctx);
/* Stops it. Its address stays taken until the returned descriptor is closed. */
int http_server_stop_and_hold(struct http_server *s);
void http_server_stop(struct http_server *s);

/* A socket that listens at its own port, which becomes s->url: for other kinds of servers. */
int http_server_listen(struct http_server *s);

#endif

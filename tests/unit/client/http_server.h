/* A small HTTP/1.1 server on the loopback, in a process of its own, for tests of what really goes
 * over a socket. It answers with a test_server (support/transport.h). */
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
/* Stops it; nobody else gets its address before the descriptor that this gives is closed. */
int http_server_stop_and_hold(struct http_server *s);
void http_server_stop(struct http_server *s);

/* A socket that listens at a port of its own, which becomes s->url: for other kinds of servers. */
int http_server_listen(struct http_server *s);

#endif

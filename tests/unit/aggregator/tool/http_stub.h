/* A server that answers every request with the same bytes, on loopback, in a child process. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_TOOL_HTTP_STUB_H
#define DPOT_TESTS_UNIT_AGGREGATOR_TOOL_HTTP_STUB_H

#include <stddef.h>
#include <sys/types.h>

struct http_stub {
    pid_t child;
    char url[64];
};

/* `status` is a line such as "404 Not Found". */
void http_stub_start(struct http_stub *stub, const char *status, const void *body, size_t len);
void http_stub_stop(struct http_stub *stub);

#endif

/* A server that answers every request with the same bytes, on loopback, in a child process. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_TOOL_CANNED_SERVER_H
#define DPOT_TESTS_UNIT_AGGREGATOR_TOOL_CANNED_SERVER_H

#include <stddef.h>
#include <sys/types.h>

struct canned_server {
    pid_t child;
    char url[64];
};

/* `status` is a line such as "404 Not Found". */
void canned_server_start(struct canned_server *server, const char *status, const void *body,
                         size_t len);
void canned_server_stop(struct canned_server *server);

#endif

/* A server that answers with the same bytes every time, on loopback, in a child process. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_TOOL_CANNED_SERVER_H
#define DPOT_TESTS_UNIT_AGGREGATOR_TOOL_CANNED_SERVER_H

#include <stddef.h>
#include <sys/types.h>

struct canned_server {
    pid_t child;
    char url[64];
};

struct canned_answer {
    const char *ending; /* of the path; "" for any */
    const char *status; /* a line such as "404 Not Found" */
    const void *body;
    size_t len;
};

/* Each request gets the first of `answers` whose ending matches its path; one must match. */
void canned_server_start_answers(struct canned_server *server, const struct canned_answer *answers,
                                 size_t n);

/* The same answer to every request. */
void canned_server_start(struct canned_server *server, const char *status, const void *body,
                         size_t len);

/* The first request gets `first`; then connections are refused for `away_ms`; later requests get
 * `second`. */
void canned_server_start_away(struct canned_server *server, const char *first, long away_ms,
                              const char *second);
void canned_server_stop(struct canned_server *server);

#endif

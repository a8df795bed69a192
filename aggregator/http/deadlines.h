/* Deadlines of connections. The library's own timeout counts idle time only, so a peer that sends
 * one byte a second never meets it.
 *
 * One thread checks all connections a few times a second and shuts down the sockets of late ones;
 * the thread that serves such a connection then reads its end. An entry is removed before its
 * socket is closed, so a later owner of the same descriptor is never hit.
 *
 * Deadlines also protect against crowds of silent peers. The library divides its connection limit
 * among its threads, and a thread at its limit stops accepting, which may leave new peers unserved.
 * So when seven of eight places of a thread are taken, each new connection there disconnects the
 * peer that the thread has waited for longest.
 *
 * Times are those of dpot_clock_monotonic_ms. Thread-safe. */
#ifndef DPOT_HTTP_DEADLINES_H
#define DPOT_HTTP_DEADLINES_H

#include "dpot/status.h"

#include <stddef.h>
#include <stdint.h>

struct deadlines;
struct deadline;

#define DEADLINE_NEVER INT64_MAX

/* What a connection waits for. */
enum deadline_phase {
    DEADLINE_HEAD, /* the peer: the head of a request is incomplete */
    DEADLINE_BODY, /* the peer: the body of a request is incomplete */
    DEADLINE_OURS, /* the server, or the peer reads our answer: never disconnected to make room */
};

/* Starts the thread, for `n_threads` threads that share `max_connections`. DPOT_ERR_MEMORY: no
 * memory or no thread. */
DPOT_WARN_UNUSED dpot_status deadlines_new(size_t n_threads, size_t max_connections,
                                           struct deadlines **deadlines);

/* Stops the thread. Every entry must have been removed. NULL is allowed. */
void deadlines_free(struct deadlines *deadlines);

/* Adds a socket of the calling thread in phase DEADLINE_HEAD; NULL: no memory. If the thread is
 * short of places, first disconnects one of its peers: the one with the earliest deadline in phase
 * HEAD, or else in phase BODY. */
struct deadline *deadlines_add(struct deadlines *deadlines, int fd, int64_t at_ms);
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline,
                   enum deadline_phase phase, int64_t at_ms);
void deadlines_enter(struct deadlines *deadlines, struct deadline *deadline,
                     enum deadline_phase phase); /* keeps the deadline */
void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline);

/* Disconnects all peers, present and future, and waits up to `patience_ms` until every entry was
 * removed. */
void deadlines_end(struct deadlines *deadlines, int64_t patience_ms);

#endif

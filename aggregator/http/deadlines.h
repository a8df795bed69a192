/* Deadlines of connections: a sender of one byte a second is never idle, so an idle time-out does
 * not stop it.
 *
 * One thread looks at all of them a few times a second and shuts down the sockets that are late;
 * whoever serves the connection then sees its end. An entry is removed before its socket is closed,
 * so no later owner of that number is ever hit.
 *
 * They are also what a crowd meets that opens connections and says nothing. The library deals places out to
 * its threads, and one that has none left stops to listen, which may leave newcomers to nobody. So when
 * seven of eight places of a thread are taken, each newcomer there costs the peer that has been waited for
 * longest its connection, and places are left for those who ask. */
#ifndef DPOT_HTTP_DEADLINES_H
#define DPOT_HTTP_DEADLINES_H

#include "dpot/status.h"

#include <stddef.h>
#include <stdint.h>

struct deadlines;
struct deadline;

#define DEADLINE_NEVER INT64_MAX

/* Whom a connection waits for. */
enum deadline_phase {
    DEADLINE_HEAD, /* the peer: no whole head of a request has come */
    DEADLINE_BODY, /* the peer, in the middle of a request */
    DEADLINE_OURS, /* us, or the peer takes our answer: never cut to make room */
};

/* Starts the thread, for so many threads that share so many places for connections. DPOT_ERR_MEMORY: no memory
 * or no thread. */
DPOT_WARN_UNUSED dpot_status deadlines_new(size_t n_threads, size_t max_connections,
                                           struct deadlines **deadlines);

/* Stops the thread; every entry must have been removed. */
void deadlines_free(struct deadlines *deadlines);

/* Milliseconds of a clock that only goes forward. */
int64_t deadlines_now(void);

/* Watches a socket of the calling thread, whose head is waited for; NULL: no memory. Makes room for it: of
 * that thread's whose head is waited for, or else whose body is, the one with the earliest deadline is cut. */
struct deadline *deadlines_add(struct deadlines *deadlines, int fd, int64_t at_ms);
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline,
                   enum deadline_phase phase, int64_t at_ms);
void deadlines_enter(struct deadlines *deadlines, struct deadline *deadline,
                     enum deadline_phase phase); /* the deadline stays */
void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline);

/* Cuts all, and who comes later, and waits until every one was removed, or for so long. */
void deadlines_end(struct deadlines *deadlines, int64_t patience_ms);

#endif

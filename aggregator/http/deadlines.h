/* Deadlines of connections: a sender of one byte a second is never idle, so an idle time-out does
 * not stop it.
 *
 * One thread looks at all of them a few times a second and shuts down the sockets that are late;
 * whoever serves the connection then sees its end. An entry is removed before its socket is closed,
 * so no later owner of that number is ever hit. */
#ifndef DPOT_HTTP_DEADLINES_H
#define DPOT_HTTP_DEADLINES_H

#include "dpot/status.h"

#include <stdint.h>

struct deadlines;
struct deadline;

#define DEADLINE_NEVER INT64_MAX

/* Starts the thread. DPOT_ERR_MEMORY: no memory or no thread. */
DPOT_WARN_UNUSED dpot_status deadlines_new(struct deadlines **deadlines);

/* Stops the thread; every entry must have been removed. */
void deadlines_free(struct deadlines *deadlines);

/* Milliseconds of a clock that only goes forward. */
int64_t deadlines_now(void);

/* Watches a socket; NULL: no memory. */
struct deadline *deadlines_add(struct deadlines *deadlines, int fd, int64_t at_ms);
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline, int64_t at_ms);
void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline);

#endif

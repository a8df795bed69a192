/* When the server, or one report, is left in peace after a failure. All times by the clock.
 *
 * A report that was kept waits a time drawn uniformly below 2 s, 4 s, 8 s ... 1 h (full jitter). When it
 * was the server that failed, or nobody answered, the whole server is left alone for a time drawn in the same
 * way, and for its Retry-After (at most a day) before that, so that devices which were told the same do not
 * come back together. A Retry-After that is about one report (its round has not opened) holds that report
 * alone, in the same way.
 *
 * Back-off lives in memory: whoever opens the folder sends nothing before the next public time of sending
 * (dpot/dpot.h), and begins anew. A Retry-After is kept in the file "pause" over restarts and for other
 * processes. That file is a hint: it is believed for a day at most, it may be missing or damaged, and failing to
 * write it is no failure.
 *
 * A wait is a length. When the clock is seen to have gone back, each is moved back with it: what was left of it
 * when this handle last looked is left now, and what had ended has ended. An entry of the file that was written
 * under a later clock begins now, with what this handle knows to be left of it; it is written so, under the
 * lock, and not believed before.
 *
 * File "pause" = "DPOTPAU2", entries, keyed checksum. An entry: what it is about (11 bytes of the campaign
 * hash, round, 1; zeros: the whole server, the first entry), from and until (i64 each, milliseconds). When there
 * are more reports to hold than entries the shortest wait is forgotten. */
#ifndef DPOT_CLIENT_BACKOFF_H
#define DPOT_CLIENT_BACKOFF_H

#include "client.h"

/* Looks at the clock, takes over what the file says, and holds every wait to what it can be by the clock as it
 * is now: one that was set back must not make waits longer than they were meant. Under the lock. */
void dpot_backoff_begin(dpot_client *client);

/* Looks at the clock and takes over what the file says; changes nothing on disk. Needs no lock. */
void dpot_backoff_load(dpot_client *client);

/* This report is kept: it waits, after what the server asked for it alone (0: nothing). Under the lock. */
void dpot_backoff_report(dpot_client *client, struct dpot_slot *slot, uint32_t retry_after_s);

/* The server failed, asking for retry_after_s (0: for nothing). Under the lock. */
void dpot_backoff_server(dpot_client *client, uint32_t retry_after_s);

/* When this slot has something to do again; INT64_MAX: never. */
int64_t dpot_backoff_next_due(const dpot_client *client, const struct dpot_slot *slot);

#endif

/* Back-off: when the server, or one report, is tried again after a failure. All times by the clock.
 *
 * A report that was kept waits a time drawn uniformly below 2 s, 4 s, 8 s ... 1 h (full jitter).
 * When the server failed, or nobody answered, no requests go to the server for a time drawn in the
 * same way, after its Retry-After (at most a day): devices that were sent the same Retry-After do
 * not come back together. A Retry-After about one report (its round has not opened) delays that
 * report alone, in the same way.
 *
 * Back-off is in memory only: a new handle sends nothing before the due times (journal.h), and
 * begins anew. A Retry-After is kept in the file "pause", for later and for other processes. That
 * file is a hint: it is trusted for a day at most, may be missing or damaged, and failing to write
 * it is not an error.
 *
 * A wait is a length. When the clock was set back, each wait moves back with it: its remainder
 * stays what it was when this handle last read the clock, and a wait that had ended stays ended. An
 * entry of the file written under a later clock is not trusted; under the lock it is rewritten to
 * begin now, with the remainder that this handle knows.
 *
 * File "pause" = "DPOTPAU2", entries, keyed checksum. An entry: its subject (11 bytes of the
 * campaign hash, round, 1; zeros: the whole server, the first entry), from and until (i64 each,
 * milliseconds). When there are more reports than entries, the entry that ends first is
 * replaced. */
#ifndef DPOT_CLIENT_BACKOFF_H
#define DPOT_CLIENT_BACKOFF_H

#include "client.h"

/* Reads the clock and the file, corrects entries of a later clock on disk, and limits every wait to
 * its longest length from now. Under the lock. */
void dpot_backoff_begin(dpot_client *client);

/* Reads the clock and the file; changes nothing on disk. Needs no lock. */
void dpot_backoff_load(dpot_client *client);

/* Delays this report, after the Retry-After for it alone (0: none). Under the lock. */
void dpot_backoff_report(dpot_client *client, struct dpot_slot *slot, uint32_t retry_after_s);

/* Delays all requests after a failure of the server (Retry-After 0: none). Under the lock. */
void dpot_backoff_server(dpot_client *client, uint32_t retry_after_s);

/* When this slot has something to do again; INT64_MAX: never. */
int64_t dpot_backoff_next_due(const dpot_client *client, const struct dpot_slot *slot);

#endif

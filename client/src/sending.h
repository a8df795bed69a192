/* The mark that a report is on its way: at most one per folder, so that two handles do not send the
 * same report at once, and a withdrawal knows that one may still arrive.
 *
 * File "sending" = "DPOTSND1", 16 random bytes that name the exchange, from and until (i64 each,
 * milliseconds by config.clock), keyed checksum. Written under the folder's lock before the report
 * leaves, overwritten with zeros under the lock when its answer is filed. A process that ends in
 * between holds the others up until then, at most the timeout of its exchange; a mark written under
 * a later clock is rewritten to begin now. It is not synced: after a power cut nothing is on its
 * way. A mark that is missing or damaged is none. */
#ifndef DPOT_CLIENT_SENDING_H
#define DPOT_CLIENT_SENDING_H

#include "client.h"

/* Sets the mark of the client's exchange. DPOT_ERR_BUSY, with a sentence: there is one already; the
 * disk's failure. Under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_sending_begin(dpot_client *client);

/* Ends that mark, if it is still there. A failure lets it run out. Under the lock. */
void dpot_sending_end(dpot_client *client);

/* Whether a report of any handle may be on its way: true also if the file cannot be read. Under the
 * lock. */
bool dpot_sending_is_under_way(dpot_client *client);

#endif

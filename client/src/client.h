/* Inside of a dpot_client: what its files share. */
#ifndef DPOT_CLIENT_CLIENT_H
#define DPOT_CLIENT_CLIENT_H

#include "base/rng.h"
#include "caps.h"
#include "dpot/dpot.h"
#include "storage/campaigns.h"
#include "storage/journal.h"

struct dpot_client {
    struct dpot_client_config config; /* as given, over the defaults; hooks filled in */
    char *server_url;                 /* our copy, without trailing slashes; NULL: no network */
    size_t server_url_size;

    struct dpot_caps caps; /* the campaign cap is held to the ceiling */

    struct dpot_journal journal;
    struct dpot_campaigns campaigns;
    const struct dpot_rng_source *rng_source; /* libsodium, unless simulation.c changed it */
    uint32_t
        given_work_ms; /* of every campaign, in place of measuring (simulation.c); 0: measured */
    uint64_t n_late;   /* submits of this handle that ended after their horizon */
    bool is_withdrawn; /* as of the last lock */
    int64_t quiet_until_ms; /* the whole server is left in peace; INT64_MIN: it is not */
    int64_t quiet_said_ms;  /* the end that "pause" said when it was last taken over; 0: never */
    bool has_seen;          /* the clock was looked at for waits, */
    int64_t seen_ms;        /* and said this then */
    uint32_t n_failures;    /* of the server in a row, since this handle was opened */
    struct dpot_error error;
};

/* The label of this device in a campaign with groups: of config.groups, else config.group. */
uint32_t dpot_client_group(const dpot_client *client,
                           const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN]);

/* Looks whether consent was withdrawn, and drops what waits if it was (a withdrawal that a crash cut
 * off goes on here). Under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_client_load_consent(dpot_client *client);

/* DPOT_ERR_CONSENT when the mark of a withdrawal is there now: it needs no lock, so that it may have
 * come since ours was taken. Changes nothing. */
DPOT_WARN_UNUSED dpot_status dpot_client_look_for_withdrawal(dpot_client *client);

/* Lays the file ready that withdrawing renames; without it withdrawing needs a new name. Under the
 * lock. */
void dpot_client_prepare_consent(dpot_client *client);

/* DPOT_ERR_CONSENT with a sentence after a withdrawal. Under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_client_check_consent(dpot_client *client);

/* DPOT_ERR_EXISTS when a report was charged to a newer revision of the campaign: whoever brought this one back
 * would have it charged again. Under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_client_check_newest(dpot_client *client,
                                                      const struct dpot_signed_campaign *revision);

/* DPOT_ERR_CLOSED when the server's last answer about this revision, as the ledger has it, was that it
 * is closed: nothing that is reported to it could count. Public and durable. */
DPOT_WARN_UNUSED dpot_status
dpot_client_check_not_closed(dpot_client *client, const struct dpot_signed_campaign *revision);

/* The round of device time `time_ms`. DPOT_ERR_CLOSED, DPOT_ERR_NOT_OPEN with both times. */
DPOT_WARN_UNUSED dpot_status dpot_client_find_round(dpot_client *client,
                                                    const struct dpot_campaign *campaign,
                                                    int64_t time_ms, uint32_t *round);

/* Forgets the last failure; every public call begins with it. */
void dpot_client_forget_error(dpot_client *client);

/* The end of every public call: a failure without a sentence gets the one of the status table.
 * Returns `status`. */
dpot_status dpot_client_end(dpot_client *client, dpot_status status);

/* The clock as it is; sending, waiting and the server's keys go by it, everything that is charged goes
 * by device time. */
int64_t dpot_client_clock(const dpot_client *client);

/* Device time: max(clock, latest time in the ledger). */
int64_t dpot_client_time(const dpot_client *client);

/* Takes the folder's lock, catches up with the disk, completes a withdrawal or files what has ended
 * by itself (DONE). The
 * lock is held on DPOT_OK only. DPOT_ERR_LEDGER when the ledger cannot be trusted. */
DPOT_WARN_UNUSED dpot_status dpot_client_lock(dpot_client *client);
void dpot_client_unlock(dpot_client *client);

/* What a pump that got n_sent answers tells (`result` may be NULL): how reports have ended since the last one
 * told, and what waits. */
void dpot_client_put_ends(dpot_client *client, size_t n_sent, struct dpot_pump_result *result);

/* The sum of the window that ends at `time_ms`. */
struct dpot_privacy dpot_client_window_spent(const dpot_client *client, int64_t time_ms);

#endif

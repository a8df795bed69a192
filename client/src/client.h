/* Inside of a dpot_client, shared by the files of client/src. */
#ifndef DPOT_CLIENT_CLIENT_H
#define DPOT_CLIENT_CLIENT_H

#include "base/rng.h"
#include "caps.h"
#include "dpot/dpot.h"
#include "exchange.h"
#include "storage/campaigns.h"
#include "storage/journal.h"

#include <stdatomic.h>

struct dpot_client {
    struct dpot_client_config config; /* as given, over the defaults; hooks filled in */
    char *server_url;                 /* our copy, without trailing slashes; NULL: no network */
    size_t server_url_size;

    struct dpot_caps caps; /* the campaign cap is limited to the ceiling */

    struct dpot_journal journal;
    struct dpot_campaigns campaigns;
    const struct dpot_rng_source *rng_source; /* libsodium, unless simulation.c changed it */
    uint32_t fixed_work_ms;  /* of every campaign, not measured (simulation.c); 0: measured */
    uint64_t n_late;         /* submits of this handle that ended after their horizon */
    bool is_withdrawn;       /* as of the last lock */
    int64_t paused_until_ms; /* no requests before this time; INT64_MIN: no pause */
    int64_t pause_read_ms;   /* end of the pause last read from "pause"; 0: never */
    bool has_last_clock;     /* backoff.c has read the clock: */
    int64_t last_clock_ms;   /* its last value there */
    uint32_t n_failures;     /* of the server in a row, since this handle was opened */
    struct exchange exchange;
    atomic_bool is_cancelled; /* by dpot_client_cancel, until a pump or enrolling has ended */
    struct dpot_error error;

    void *owned; /* hooks that belong to this client (settings/settings.c), or NULL */
    void (*release_owned)(void *owned); /* called last of all */
};

/* The label of this device in a campaign with groups: of config.groups, else config.group. */
uint32_t dpot_client_group(const dpot_client *client,
                           const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN]);

/* Checks whether consent is withdrawn. If it is, drops what waits: this completes a withdrawal that
 * a crash cut off. Under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_client_load_consent(dpot_client *client);

/* DPOT_ERR_CONSENT when the file of a withdrawal exists now. It may have come since our lock was
 * taken, because withdrawing needs no lock. Changes nothing. */
DPOT_WARN_UNUSED dpot_status dpot_client_check_withdrawal(dpot_client *client);

/* Creates the file that withdrawing renames; without it withdrawing creates a new name. Under the
 * lock. */
void dpot_client_prepare_consent(dpot_client *client);

/* DPOT_ERR_CONSENT with a sentence after a withdrawal. Under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_client_check_consent(dpot_client *client);

/* DPOT_ERR_EXISTS when a report was charged to a newer revision of the campaign: restoring an old
 * revision must not lead to a second charge. Under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_client_check_newest(dpot_client *client,
                                                      const struct dpot_signed_campaign *revision);

/* DPOT_ERR_CLOSED when the server's last answer about this revision, recorded in the ledger, closed
 * it: no report to it would count. Public and durable. */
DPOT_WARN_UNUSED dpot_status
dpot_client_check_not_closed(dpot_client *client, const struct dpot_signed_campaign *revision);

/* The round of device time `time_ms`. DPOT_ERR_CLOSED, DPOT_ERR_NOT_OPEN: the sentence has both
 * times. */
DPOT_WARN_UNUSED dpot_status dpot_client_find_round(dpot_client *client,
                                                    const struct dpot_campaign *campaign,
                                                    int64_t time_ms, uint32_t *round);

/* The call that dpot_client_cancel was for has ended. */
void dpot_client_end_cancel(dpot_client *client);

/* Clears the last error; every public call begins with it. */
void dpot_client_clear_error(dpot_client *client);

/* The end of every public call: sets the sentence of the status table if a failure has none.
 * Returns `status`. */
dpot_status dpot_client_end(dpot_client *client, dpot_status status);

/* Copies the sentence of a failed opening, or of the status table if it has none, to `text` (cut to
 * `cap`; NULL is allowed); "" for DPOT_OK. */
void dpot_client_put_error(char *text, size_t cap, const struct dpot_error *error,
                           dpot_status status);

/* The clock as it is. Sending, waiting and the server's keys go by it; charges go by device
 * time. */
int64_t dpot_client_clock(const dpot_client *client);

/* The clock, or when the answer came that is being filed: how long that waited for the lock, for
 * instance for a submit of another handle, is told by nothing. */
int64_t dpot_client_answer_clock(const dpot_client *client);

/* The steady clock, in microseconds: for lengths of time. */
int64_t dpot_client_steady_us(const dpot_client *client);

/* Device time: max(clock, latest time in the ledger). */
int64_t dpot_client_time(const dpot_client *client);

/* Takes the folder's lock and reads what others wrote. Then completes a withdrawal, or writes DONE
 * for reports that are lost. The lock is held on DPOT_OK only. DPOT_ERR_LEDGER: the ledger cannot
 * be trusted. */
DPOT_WARN_UNUSED dpot_status dpot_client_lock(dpot_client *client);
void dpot_client_unlock(dpot_client *client);

/* Fills the result (NULL: none is wanted) of a call that got n_sent final answers: how reports have
 * ended since the last result, and what waits. */
void dpot_client_fill_pump_result(dpot_client *client, size_t n_sent,
                                  struct dpot_pump_result *result);

/* The sum of the window that ends at `time_ms`. */
struct dpot_privacy dpot_client_window_spent(const dpot_client *client, int64_t time_ms);

#endif

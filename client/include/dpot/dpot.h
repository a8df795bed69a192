/* dpot/dpot.h - local differential privacy on the device: the whole installed API of libdpot.
 *
 * WHAT IT DOES. It privatises a user's own data on the device and ships ONE privatised report per
 * campaign round to the aggregator. Raw data never reach disk, log or network. Every report is
 * charged to a durable ledger BEFORE data are read; caps that you set are never exceeded; a report
 * that was made is sent until the server has acknowledged it, each time the same report (its id, its numbers);
 * the sealed bytes around it are new each time.
 *
 *     struct dpot_client_config config;
 *     dpot_client_config_init(&config, sizeof config);
 *     config.server_url = "https://pool.example.org";
 *     memcpy(config.pin, pin, sizeof config.pin);           (the aggregator's signing key)
 *     config.campaign_epsilon_cap = 4;                      (caps have no default)
 *     config.window_epsilon_cap = 4;
 *     config.window_seconds = 86400;
 *     config.lifetime_epsilon_cap = 20;
 *     config.filesystem = files;                            (dpot_filesystem_posix_new)
 *     config.transport = network;                           (dpot_transport_curl_new)
 *     dpot_client_open(&config, &client);
 *     dpot_client_enroll(client, campaign_id);              (fetch and verify the campaign)
 *     dpot_client_submit_points(client, campaign_id, points, NULL, n, 2, NULL);
 *     dpot_client_pump(client, 10000, NULL);                (send what is due, now and then)
 *     dpot_client_close(client);
 *
 * CONVENTIONS (they hold for every function below).
 *  - Every call returns DPOT_OK (0) or a negative status of dpot/status.h; dpot_client_last_error
 * gives one sentence. A status <= -900 is fatal for the handle: close it and open again.
 *  - Pointers in arguments are borrowed for the call; those inside the config for the handle's
 * life.
 *  - One handle, one thread at a time. libdpot starts no threads, sleeps nowhere, prints nothing,
 * never exits and keeps no global state beyond one idempotent initialisation. Two handles or
 * processes may share a folder; while one is inside a submit, a pump (its exchanges with the server
 * included) or an opening, the other gets DPOT_ERR_BUSY: try again. A withdrawal is heard all the same.
 *  - After fork() a child must not use the handle, nor its hooks: it opens the folder anew. A child forked
 * while a call is under way (in a hook, by another thread) holds the folder's lock as long as it lives:
 * calls get DPOT_ERR_BUSY. exec ends that, every descriptor is closed by it.
 *  - Structs that dpot fills (status, pump result) start with struct_size: set it to sizeof of yours before
 *    the call (0 is DPOT_ERR_ARGUMENT). A NULL where one is not allowed is DPOT_ERR_ARGUMENT.
 *  - Device time never goes back: it is max(clock, latest charge in the ledger). After a charge under a
 *    clock far ahead, rounds before that time count as closed and nothing but waiting or a new folder,
 *    which is a fresh budget, helps. Answers do not move it; a clock far ahead in a pump drops, as too
 *    old, what should have been sent. Give a clock that the network or the platform disciplines.
 *  - Whether a submit succeeds depends on public facts and the ledger only, never on the data:
 * after data have been read nothing fails visibly. Nor do the number of steps of a submit, the time
 * of sending, or the id, order and length of what is sent.
 *
 * WHAT IT PROMISES. Each report of an index mechanism is (epsilon)-LDP for the compiled program, by
 * integers (exact-draw theorem in mechanism/sampler.h), against an adversary who cannot break
 * ChaCha20. Reports add up by basic composition; the ledger enforces your caps on the sum. The
 * files "ledger" and "spool" must be kept out of backups and cloud restore: without a hardware
 * counter (config.counter) a restored old or shortened copy cannot be detected and a reinstall is a fresh
 * budget. A virtual machine snapshot taken inside a submit can repeat randomness. */
#ifndef DPOT_DPOT_H
#define DPOT_DPOT_H

#include "dpot/hooks.h"
#include "dpot/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DPOT_VERSION_MAJOR 0
#define DPOT_VERSION_MINOR 1
#define DPOT_VERSION_PATCH 0
#define DPOT_VERSION "0.1.0"

typedef struct dpot_client dpot_client;

/* How an install adds up what its reports cost. Chosen when the folder is opened for the first time
 * and then fixed: another one is refused (DPOT_ERR_ARGUMENT). */
enum dpot_accountant {
    DPOT_ACCOUNTANT_BASIC = 1, /* sums of epsilon and delta */
    DPOT_ACCOUNTANT_ZCDP = 2,  /* sums of rho: for installs that report Gaussian vectors often */
};

/* The group of this device in one campaign. */
struct dpot_campaign_group {
    uint8_t campaign_id[16];
    uint32_t group;
};

struct dpot_client_config {
    size_t struct_size;
    const char *server_url; /* "https://host[:port]"; NULL: no network, dpot_client_import only */
    uint8_t pin[32];        /* Ed25519 public key that signs campaigns; must be set */

    /* Caps: no default, opening fails with DPOT_ERR_CAP_UNSET until all are set. Epsilon in (0,
     * 2^31); above every cap stands the compile-time ceiling for one report: epsilon 20; or rho 8 for a
     * Gaussian campaign that has a rho and no epsilon (zCDP installs only). Only the
     * lifetime cap is a guarantee: a clock set forward refreshes windows. */
    double campaign_epsilon_cap; /* over all revisions and rounds of one (pin, campaign id) */
    double window_epsilon_cap;   /* rolling sum over the last window_seconds of device time */
    uint64_t window_seconds;
    double lifetime_epsilon_cap; /* over everything, for ever */

    /* A report is due at start + W + U by the clock: W is the public work time of its campaign
     * (dpot_client_get_campaign), U is drawn uniformly from 1 ms to max(send_delay_ms, 8 W) for each report,
     * before its data are read. The start is that of the submit, or, right after another submit, the start of
     * that one + its W; so in a row of submits no time depends on how long the work really took. Until the
     * last start + W pumps send nothing. dpot sleeps nowhere: a report leaves in the first pump from its due
     * time on, so let pump be called at next_due_ms or by a timer. What an app does in answer to the end of
     * a submit shows how long it took, and U hides that only in part (doc/privacy.md). At least 1; default
     * 2000. After a clock was set back by more than ten minutes a report is due U from then. */
    uint32_t send_delay_ms;
    uint32_t
        request_timeout_ms; /* one exchange with the server; default 30000; enrolling has two */

    /* 16..64 bytes from the platform's keystore that key the checksums of both files; NULL: a fixed
     * key (accidents are caught, tampering is not). */
    const uint8_t *keystore_key;
    size_t keystore_key_len;

    const struct dpot_filesystem *filesystem; /* required */
    const struct dpot_transport *transport;   /* NULL: enroll and pump return DPOT_ERR_STATE */
    const struct dpot_clock *clock;           /* NULL: the system clock */
    const struct dpot_allocator *allocator;   /* NULL: the C library's heap */
    const struct dpot_counter *counter; /* NULL: none; must read 0 before the first install. For
                                                 life: a folder charged under one is refused without */

    /* In campaigns with groups: the number of the label this device reports under. It leaves the device as it
     * is: choose it by what is public about the device (region, model), never by its data. Of campaigns that
     * are in `groups` below it is not the one. */
    uint32_t group;

    uint32_t accountant; /* enum dpot_accountant; default DPOT_ACCOUNTANT_BASIC */

    /* Basic: delta caps beside the epsilon caps above, in [0, 1); default 0: campaigns that need a
     * delta (Gaussian) are refused. */
    double campaign_delta_cap;
    double window_delta_cap;
    double lifetime_delta_cap;

    /* zCDP: these in place of all epsilon and delta caps, which must be 0 then. No default. A pure
     * epsilon counts as rho = epsilon^2 / 2; rho with a delta is about
     * epsilon = rho + 2 sqrt(rho ln(1/delta)), for Gaussian noise of a delta from 1e-9 on
     * (doc/privacy.md has the surcharge). */
    double campaign_rho_cap;
    double window_rho_cap;
    double lifetime_rho_cap;

    /* Reports of one campaign never take more than an eighth of this in the spool (all of it behind the
     * header of 256 bytes): before a submit charges, reports of the same campaign that wait are dropped, those
     * first whose round closes first, and counted (n_dropped_spool), until the new one fits. Other campaigns
     * lose nothing by it; with up to eight campaigns the file is never longer. A report takes 256 bytes, a
     * vector 8 bytes a number more, up to the next 256; a campaign whose report does not fit is refused by enrolling and importing.
     * While the file is rewritten a copy lies beside it. Default 16 MiB; 0: no cap. The age of what waits has a
     * cap too: 30 days after its round. */
    uint64_t spool_max_bytes;

    /* Campaigns whose groups mean different things: the number of the label in each of them, in the place of
     * `group`. (n_groups), each campaign once; NULL and 0: none. */
    const struct dpot_campaign_group *groups;
    size_t n_groups;

    /* What a campaign may ask of this device; above these enrolling, importing and submits refuse it
     * (DPOT_ERR_TOO_LARGE). The work time W of a report in milliseconds, default 10000; 0: no cap. Choose it
     * below what a watchdog allows. Memory while a report is made, in bytes, default 0: 256 MiB. */
    uint32_t work_max_ms;
    uint64_t memory_max_bytes;
};

/* Sets struct_size and every default. `struct_size` is sizeof of the caller's struct. */
DPOT_API void dpot_client_config_init(struct dpot_client_config *config, size_t struct_size);

/* Opens the folder: takes its lock for the moment, reads, repairs and re-syncs ledger and spool,
 * and decides the state of every report from disk. *client is NULL on failure; `error_text` (may be
 * NULL) gets one sentence. DPOT_ERR_CAP_UNSET, DPOT_ERR_ARGUMENT (pin, filesystem, a hook that lacks a function
 * or its struct_size, another accountant, the counter gone or half given), DPOT_ERR_BUSY,
 * DPOT_ERR_IO, DPOT_ERR_NO_SPACE, DPOT_ERR_MEMORY. DPOT_ERR_LEDGER is NOT returned here: a ledger that cannot be
 * trusted opens with its whole budget spent, so that status can say so; submits are then refused.
 */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_open(const struct dpot_client_config *config,
                                                       dpot_client **client, char *error_text,
                                                       size_t error_cap);
DPOT_API void dpot_client_close(dpot_client *client); /* NULL is allowed; reports stay on disk */

/* One sentence about this handle's last failure ("" before the first); valid until the next call.
 * It never holds device data. */
DPOT_API const char *dpot_client_last_error(const dpot_client *client);

/* Fetches the newest signed revision of a campaign and the seal keys, verifies them against the pin
 * and stores them. Call it again to learn of a new revision. DPOT_ERR_NETWORK, DPOT_ERR_SERVER,
 * DPOT_ERR_DENIED, DPOT_ERR_NOT_FOUND, DPOT_ERR_CLOSED (the server says that no revision is open),
 * DPOT_ERR_SIGNATURE, DPOT_ERR_MALFORMED (also: another
 * campaign than was asked for), DPOT_ERR_VERSION, DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE,
 * DPOT_ERR_INFEASIBLE, DPOT_ERR_EPSILON (above the ceiling), DPOT_ERR_SIMULATION, DPOT_ERR_UNEXPECTED
 * (dpot_client_expect), DPOT_ERR_EXISTS
 * (a newer revision is stored or was charged, or another one of the same number is stored), DPOT_ERR_BUSY, DPOT_ERR_IO,
 * DPOT_ERR_NO_SPACE, DPOT_ERR_MEMORY. A refusal leaves the stored revision in place and its reports on their way; the stored one again
 * is DPOT_OK. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_enroll(dpot_client *client,
                                                         const uint8_t campaign_id[16]);

/* The same from bytes (provisioning without a network): a SignedCampaign as served. Writes its
 * campaign id. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_import(dpot_client *client, const void *data,
                                                         size_t len, uint8_t campaign_id[16]);

/* Accepts nothing but these campaigns and seal keys from now on, in this handle: `digests` is (n, 32), copied;
 * n = 0 accepts again whatever the pin has signed. A digest is the hash of a campaign revision ("hash" of
 * `dpot campaign show ID --json`) or the BLAKE2b-256 of the seal keys as they are served
 * (curl -s URL/v1/keys | b2sum -l 256). Others are refused with DPOT_ERR_UNEXPECTED, when they are fetched and
 * when they are used; submits are refused uncharged as long as the keys that are here are not in the list. It
 * proves that this device got the same bytes as everybody who got the same list; not that there is one list for
 * all: that is for the channel that brings it. DPOT_ERR_ARGUMENT (more than 4096), DPOT_ERR_MEMORY. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_expect(dpot_client *client,
                                                         const uint8_t (*digests)[32], size_t n);

/* What a submit did. */
enum dpot_submit_outcome {
    DPOT_SUBMIT_REPORTED = 1, /* a report was made, charged and spooled */
    DPOT_SUBMIT_RESUMED = 2,  /* an earlier submit had been charged and then cut off: the report was
                                 made now under that charge */
    DPOT_SUBMIT_PENDING = 3,  /* this round's report exists already and waits to be sent */
    DPOT_SUBMIT_DONE = 4,     /* this round's report has had its final answer, or was dropped */
    DPOT_SUBMIT_LOST =
        5, /* this round's report was charged and is lost: its file was damaged or gone */
};

/* Privatises the user's places: `points` is (n, dim) row-major with optional weights (n) >= 0; each
 * is clamped to the nearest point of the campaign's domain. n = 0 (then dim is not looked at), NULL
 * points or no positive weight report from the public default. Every submit reads the same number of
 * entries: of more than 1,024 points 1,024 are drawn by weight, of more than 4,096 entries evenly spaced
 * ones are considered. One report per round: later submits in the round do not read the data (see outcome,
 * which may be NULL). When a crash cuts a submit off after its charge, the next one in the round reads the
 * data once more (DPOT_SUBMIT_RESUMED); after a second crash the report is made from the public default.
 *
 * Refusals, all before the data are read: DPOT_ERR_ARGUMENT (no memory holds n points), DPOT_ERR_NOT_FOUND (not enrolled), DPOT_ERR_SHAPE (dim is
 * not the campaign's), DPOT_ERR_RANGE (the group of config is not one of the campaign's),
 * DPOT_ERR_EXISTS (a report was charged to a newer revision than the one that is stored: an old copy was put
 * back; enroll again), DPOT_ERR_NOT_OPEN, DPOT_ERR_CLOSED (by the campaign's times, or because the server's last answer
 * about this revision, kept in the ledger, was that it is closed: enroll again),
 * DPOT_ERR_BUDGET (a cap; nothing was charged),
 * DPOT_ERR_EPSILON, DPOT_ERR_SIMULATION, DPOT_ERR_UNEXPECTED, DPOT_ERR_TOO_LARGE (work_max_ms,
 * memory_max_bytes), DPOT_ERR_CONSENT, DPOT_ERR_LEDGER, DPOT_ERR_BUSY, DPOT_ERR_MEMORY,
 * DPOT_ERR_IO, DPOT_ERR_NO_SPACE (before the charge). DPOT_ERR_POISONED: the disk failed after charging began; the
 * charge may be on disk, nothing was sent; close and open again. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_submit_points(
    dpot_client *client, const uint8_t campaign_id[16], const double *points /* (n, dim) */,
    const double *weights /* (n) or NULL: equal */, size_t n, uint32_t dim,
    enum dpot_submit_outcome *outcome);

/* The same from a histogram over the campaign's domain: `size` must be the domain's
 * (DPOT_ERR_SHAPE); NaN, negative and infinite entries count as 0. NULL (then size is not looked at)
 * and a histogram without a positive entry report from the public default. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_submit_histogram(
    dpot_client *client, const uint8_t campaign_id[16],
    const double *histogram /* (size) or NULL */, size_t size, enum dpot_submit_outcome *outcome);

/* Campaigns of the vector mechanisms (laplace, gaussian): privatises one vector of `dim` numbers.
 * `dim` must be the campaign's (DPOT_ERR_SHAPE); NULL (then dim is not looked at) reports from the
 * public default, the vector of zeros. NaN counts as 0; the vector is transformed and clipped to the campaign's public set before
 * noise. Otherwise as dpot_client_submit_points, which is refused (DPOT_ERR_SHAPE) in such campaigns
 * as this is in the others.
 *
 * Campaigns on a sphere take vectors by both calls, one here or several with weights there; each is
 * divided by its length. Zeros, and a vector with a number that is not finite, count as the public
 * default (1, 0, ..., 0), as does NULL. Histograms are refused. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_submit_vector(
    dpot_client *client, const uint8_t campaign_id[16], const double *vector /* (dim) or NULL */,
    uint32_t dim, enum dpot_submit_outcome *outcome);

/* The user withdraws consent. From when this returns DPOT_OK, and over every later opening of the
 * folder, every report that waited is dropped unsent and wiped, and submits, enrolling and importing
 * return DPOT_ERR_CONSENT until dpot_client_grant. The ledger stays and what was charged stays charged:
 * withdrawing gives no budget back. It is recorded there too, so that deleting the file that says it gives no
 * consent back (on a full disk from the next call on that has room). What has been sent cannot be called back,
 * and a report whose answer was lost may have arrived: it counts as withdrawn here and may count there.
 * It needs no space on the disk: a file that enrolling laid ready is renamed and the spool is wiped in
 * place; what cannot be recorded then is recorded later. The file comes first, without the folder's
 * lock, and every pump looks for it before each POST. DPOT_ERR_BUSY: consent is withdrawn and no
 * sending begins any more, but what another handle is sending just now may still arrive, and what
 * waits is wiped by the next call of any handle; withdraw again to be sure.
 * DPOT_ERR_LEDGER: consent is withdrawn; the ledger cannot be trusted, so nothing was sent anyway.
 * Anything else (DPOT_ERR_NO_SPACE, DPOT_ERR_IO, DPOT_ERR_POISONED): the sentence names the file and
 * says which half is missing: either consent may still count as given, then withdraw again; or it is
 * withdrawn for good and the next opening wipes what waits. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_withdraw(dpot_client *client);

/* The same for a folder whose client cannot be opened (a disk that takes no byte, a damaged setting):
 * only the file is renamed, before anything is read or written; no lock is needed. DPOT_OK: no sending
 * begins any more, and the next opening wipes what waits. DPOT_ERR_NOT_FOUND: no install is here.
 * Anything else: consent may still count as given. `error_text` (may be NULL) gets one sentence. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_folder_withdraw(const struct dpot_filesystem *filesystem,
                                                           char *error_text, size_t error_cap);

/* The user consents again. DPOT_OK also when nothing was withdrawn. DPOT_ERR_BUSY, DPOT_ERR_LEDGER,
 * DPOT_ERR_IO, DPOT_ERR_NO_SPACE: it still counts as withdrawn. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_grant(dpot_client *client);

struct dpot_pump_result {
    size_t struct_size;
    size_t n_sent;    /* reports that got an answer now, of whatever kind */
    size_t n_pending; /* reports still waiting */
    int64_t
        next_due_ms; /* when, by config.clock, pump has something to do again; INT64_MAX: nothing */

    /* How reports have ended since the last pump of this handle, or since it was opened: what this
     * pump was answered, and what came to its end without an answer (age, lost). */
    size_t n_accepted;
    size_t n_duplicate;
    size_t n_rejected_malformed;
    size_t n_rejected_range;
    size_t n_rejected_group;
    size_t n_rejected_test;
    size_t n_rejected_token;
    size_t n_rejected_closed;
    size_t n_dropped_closed; /* 409: enroll again to learn of a newer revision */
    size_t n_dropped_age;
    size_t n_dropped_malformed;
    size_t n_dropped_lost;
    size_t n_dropped_withdrawn;
    size_t n_dropped_spool;
};

/* Sends what is due, one report a POST (a round has one), and files the answers. DPOT_OK
 * also when there was nothing to do. What the server's answer does:
 *
 *     202                   the receipt decides: accepted, duplicate or rejected; the report is gone. A
 *                           receipt that cannot be read, or is not for one report, is no answer: 503; one
 *                           that names another POST is nobody's: as no answer
 *     400, 413              dropped as malformed
 *     409                   dropped as closed
 *     409, round over       by the server's clock and not by device time: kept, only this report waits
 *                           (DPOT_ERR_CLOSED: look at the clocks; told by "closed": "round" in the body)
 *     400, 409, 413 beside a "batch" that is not the BLAKE2b-256 of what was sent: kept, as no answer
 *     400, 409, 413 in another encoding than UTF-8 (a byte order mark, NUL bytes): kept, as no answer
 *     410                   the seal keys are fetched and the same report is sealed and sent again, once a
 *                           pump; then 503
 *     503, round not open   kept; only this report waits, for the server's Retry-After (DPOT_ERR_NOT_OPEN:
 *                           look at the clock; told by DPOT_ERR_NOT_OPEN in the body)
 *     408, 429, 500..       kept; the pump ends (DPOT_ERR_SERVER) and the whole server is left in peace
 *     no answer, too long   the same (DPOT_ERR_NETWORK, DPOT_ERR_SERVER)
 *     401, 403, 404, else   kept; this report backs off (DPOT_ERR_DENIED, DPOT_ERR_NOT_FOUND, DPOT_ERR_SERVER)
 *     a web page            whatever the status: kept; it is a proxy or the login page of a network
 *                           (DPOT_ERR_NETWORK). A body in text/html, or one that begins like HTML; but a receipt
 *                           in text/html that names the POST is the server's
 *
 * Waits are drawn uniformly below 2 s, doubling with every failure up to an hour, after the server's
 * Retry-After, which is honoured up to a day, by later processes too. They are lengths: a clock that is set back
 * makes none longer. A Retry-After beside 401, 403, 404 or
 * another status below 500 is about this report. Nothing is dropped before its round
 * has closed plus 30 days but as above, by withdrawn consent, and by spool_max_bytes. A DONE record is
 * durable before a report is deleted, so that each is in one bin of the status at every moment. The time is
 * needed for that, for the public time of sending and for the server's keys; the ledger's clock does not
 * move.
 *
 * deadline_ms bounds the call (0: nothing is sent), by the steady clock of the machine and by
 * config.clock, whichever goes further, whatever the server does, as far as the transport keeps
 * timeout_ms (dpot_transport_curl_new does); the disk comes on top. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_pump(dpot_client *client, uint32_t deadline_ms,
                                                       struct dpot_pump_result *result);

/* What spent_epsilon and spent_delta are in a zCDP install once a report had a rho and no epsilon. */
#define DPOT_EPSILON_NONE 4294967296.0
#define DPOT_DELTA_NONE 1.0

/* Everything the ledger knows, as it is on the disk now, whoever wrote it; while another handle or process has
 * the folder (DPOT_ERR_BUSY elsewhere), or when the disk fails, as this handle last saw it, and DPOT_OK all the
 * same. Conservation: submitted = accepted + duplicate + all rejected + all
 * dropped + pending, at every durable state of the files: no crash and no restart counts a report twice or
 * not at all. Epsilons are sums of what was charged. */
struct dpot_client_status {
    size_t struct_size;
    uint64_t n_submitted; /* charges */
    uint64_t n_accepted;
    uint64_t n_duplicate;
    uint64_t n_rejected_malformed;
    uint64_t n_rejected_range;
    uint64_t n_rejected_group;
    uint64_t n_rejected_test;
    uint64_t n_rejected_token;
    uint64_t n_rejected_closed;
    uint64_t n_dropped_closed; /* the server said the round is closed (409) */
    uint64_t n_dropped_age;    /* 30 days after the round closed */
    uint64_t n_dropped_malformed;
    uint64_t n_dropped_lost; /* spool slot lost, or never filled before the round closed */
    uint64_t n_pending;
    double spent_epsilon;        /* lifetime */
    double window_spent_epsilon; /* in the window that ends now */
    double lifetime_epsilon_cap;
    double window_epsilon_cap;
    double campaign_epsilon_cap;
    int64_t device_time_ms; /* max(clock, latest charge in the ledger) */
    int is_exhausted;       /* the ledger cannot be trusted: everything counts as spent */

    uint64_t n_dropped_withdrawn; /* dpot_client_withdraw */
    uint32_t accountant; /* enum dpot_accountant; its caps below, those of the other are 0 */
    double spent_delta;  /* lifetime; as charged, also with zCDP */
    double window_spent_delta;
    double lifetime_delta_cap;
    double window_delta_cap;
    double campaign_delta_cap;
    double spent_rho; /* lifetime; as charged, also with the basic accountant */
    double window_spent_rho;
    double lifetime_rho_cap;
    double window_rho_cap;
    double campaign_rho_cap;

    uint64_t n_dropped_spool; /* config.spool_max_bytes: made room for a newer report */

    /* By config.clock. When the next of the reports that wait may be sent: a pump before that does nothing
     * about them. INT64_MAX: none waits. */
    int64_t next_due_ms;
    int64_t
        paused_until_ms; /* the server is left in peace until then, as it has asked; 0: it is not */

    /* Submits of this handle that took longer than the work time of their campaign: the times that followed
     * may say something about their data. For finding a work time that is too short; keep it on the device. */
    uint64_t n_late;
};
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_status(dpot_client *client,
                                                             struct dpot_client_status *status);

/* A campaign as it is stored here: the newest revision that was enrolled. */
struct dpot_campaign_info {
    size_t struct_size;
    uint32_t revision;
    uint32_t rounds;
    uint32_t n_groups;  /* labels, 0 without groups: config.group is below this then */
    uint32_t is_vector; /* 1: it takes vectors; 0: points and histograms */
    int64_t opens_ms;
    int64_t closes_ms;

    /* The work on one report, whatever the data. Steps follow from the signed campaign; a step is about one
     * look at a cost. How long they take was measured here when the campaign was enrolled; 0: not yet, by a
     * release before; the next submit does. W is the next power of two from twice that + 60 on. */
    uint64_t steps;
    uint64_t memory_bytes; /* while the report is made */
    uint64_t measured_us;
    uint32_t work_ms; /* W */
};

/* DPOT_ERR_NOT_FOUND: not enrolled; DPOT_ERR_IO; or as dpot_client_enroll for stored bytes that do not
 * verify any more (damaged, or another pin). */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_campaign(dpot_client *client,
                                                               const uint8_t campaign_id[16],
                                                               struct dpot_campaign_info *info);

/* What the ledger says in a few sentences for the device's owner: what was spent of which cap, what
 * became of the reports, and the label that they carry openly to each campaign with groups. Cut to `cap` bytes with its NUL; 1024 are enough, with 512 more
 * for each of these campaigns. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_statement(dpot_client *client, char *text,
                                                                size_t cap);

/* Epsilon charged so far to one campaign (all its revisions and rounds). */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_campaign_spent(dpot_client *client,
                                                                     const uint8_t campaign_id[16],
                                                                     double *spent_epsilon);

/* The same in every unit, as charged, whatever the accountant (DPOT_EPSILON_NONE, DPOT_DELTA_NONE: there is
 * none). With a ledger that cannot be trusted: the caps. */
struct dpot_spending {
    size_t struct_size;
    double epsilon;
    double delta;
    double rho;
};
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_campaign_spending(
    dpot_client *client, const uint8_t campaign_id[16], struct dpot_spending *spending);

#ifdef __cplusplus
}
#endif

#endif

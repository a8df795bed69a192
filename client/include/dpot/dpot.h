/* dpot/dpot.h - local differential privacy on the device: the API of libdpot.
 *
 * libdpot privatises a user's own data on the device and sends one privatised report per campaign
 * round to an aggregator. Raw data never reach disk, log or network. Every report is charged to a
 * durable ledger before the data are read, and the sum of charges never exceeds your caps.
 *
 *     dpot_client_config_init(&config, sizeof config);
 *     config.server_url = "https://pool.example.org";
 *     memcpy(config.pin, pin, sizeof config.pin);
 *     config.campaign_epsilon_cap = config.window_epsilon_cap = 4;
 *     config.window_seconds = 86400;
 *     config.lifetime_epsilon_cap = 20;
 *     config.filesystem = files;
 *     config.transport = network;
 *     if (dpot_client_open(&config, &client, NULL, 0) == DPOT_OK &&
 *         dpot_client_enroll(client, campaign_id) == DPOT_OK &&
 *         dpot_client_submit_points(client, campaign_id, points, NULL, n, 2, NULL) == DPOT_OK) {
 *         status = dpot_client_pump(client, 10000, NULL);
 *     }
 *     dpot_client_close(client);
 *
 * Conventions (details: libdpot(3); proofs: doc/privacy.md):
 *  - Calls return DPOT_OK or a negative status of dpot/status.h, listed below without DPOT_ERR_;
 *    dpot_client_last_error says why. After a status <= -900 close the handle and open again.
 *  - Calls that use the folder can also return IO, NO_SPACE, MEMORY, POISONED (a write failed half
 *    way) and BUSY: another handle or process is in a submit, a pump or an opening; try again.
 *  - A NULL where none is allowed is ARGUMENT; so is struct_size 0 in a struct that dpot fills.
 *  - Arguments are borrowed for the call; what config points to, for the lifetime of the handle.
 *  - Other languages open a client by texts and get results as JSON: dpot/settings.h.
 *  - One handle, one thread at a time. After fork() the child opens the folder anew. */
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

/* DPOT_VERSION of the library that runs, which may be newer than this header. */
DPOT_API const char *dpot_version(void);

typedef struct dpot_client dpot_client;

/* ---- Configuration ---- */
enum dpot_accountant {
    DPOT_ACCOUNTANT_BASIC = 1, /* sums of epsilon and delta */
    DPOT_ACCOUNTANT_ZCDP = 2,  /* sums of rho: for installs that report Gaussian vectors often */
};

struct dpot_campaign_group {
    uint8_t campaign_id[16];
    uint32_t group; /* of this device in that campaign */
};

struct dpot_client_config {
    size_t struct_size;
    const char *server_url; /* "https://host[:port]"; NULL: no network (but see next_request) */
    uint8_t pin[32];        /* required: Ed25519 public key that signs campaigns */
    /* Caps: no default. Basic accountant: epsilons in (0, 2^31); zCDP: 0. */
    double campaign_epsilon_cap; /* over all revisions and rounds of one (pin, campaign id) */
    double window_epsilon_cap;   /* over the last window_seconds of device time */
    uint64_t window_seconds;     /* required with both accountants */
    double lifetime_epsilon_cap; /* over everything: the only cap that no clock can refresh */
    uint32_t send_delay_ms;      /* bound of the random sending delay, at least 1; default 2000 */
    uint32_t request_timeout_ms; /* of one exchange, at least 1; default 30000; enroll has two */
    const uint8_t *keystore_key; /* keys the files' checksums; NULL: a fixed key, no secret */
    size_t keystore_key_len;     /* 16 to 64 bytes */
    const struct dpot_filesystem *filesystem; /* required; dpot_filesystem_posix_new */
    const struct dpot_transport *transport;   /* NULL: enroll and pump return STATE */
    const struct dpot_clock *clock;           /* NULL: the system clock */
    const struct dpot_allocator *allocator;   /* NULL: the C library's heap */
    const struct dpot_counter *counter;       /* NULL: none; must read 0 before the first install */
    uint32_t group;            /* label number in campaigns with groups; sent openly */
    uint32_t accountant;       /* fixed once the folder exists; default DPOT_ACCOUNTANT_BASIC */
    double campaign_delta_cap; /* basic: in [0, 1); default 0, which refuses Gaussian campaigns */
    double window_delta_cap;
    double lifetime_delta_cap;
    double campaign_rho_cap; /* zCDP: no default, in place of all epsilon and delta caps */
    double window_rho_cap;
    double lifetime_rho_cap;
    uint64_t spool_max_bytes; /* an eighth of it per campaign; 0: no cap; default 16 MiB */
    const struct dpot_campaign_group *groups; /* (n_groups) replaces `group` in these campaigns */
    size_t n_groups;
    uint32_t work_max_ms;      /* most work time per report; 0: no cap; default 10000 */
    uint64_t memory_max_bytes; /* most memory to make a report; 0: 256 MiB, the default */
};

/* Sets struct_size and every default. `struct_size` is sizeof of the caller's struct. */
DPOT_API void dpot_client_config_init(struct dpot_client_config *config, size_t struct_size);

/* ---- Opening and closing ---- */
/* Reads, repairs and re-syncs the folder's ledger and spool. On failure *client is NULL and
 * `error_text` (may be NULL) has one sentence. An untrusted ledger opens with its budget spent.
 *   CAP_UNSET  a cap is missing
 *   ARGUMENT   pin, filesystem, an incomplete hook, another accountant or counter than before
 *   RANDOM     a libdpot without POSIX has no source of randomness (dpot_random_set) */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_open(const struct dpot_client_config *config,
                                                       dpot_client **client, char *error_text,
                                                       size_t error_cap);
DPOT_API void dpot_client_close(dpot_client *client); /* NULL is allowed; reports stay on disk */

/* One sentence on the last failure ("": none), never device data; valid until the next call. */
DPOT_API const char *dpot_client_last_error(const dpot_client *client);

/* ---- Campaigns ---- */
/* Fetches the newest revision of a campaign and the seal keys, verifies them against the pin and
 * stores them. Call it again for a newer one. A refusal leaves the stored revision in place.
 *   CLOSED     no revision is open at the server
 *   EXISTS     a newer revision, or another one of this number, is stored or was charged
 *   TOO_LARGE  above work_max_ms, memory_max_bytes or its share of spool_max_bytes; a 65th campaign
 *   NETWORK, SERVER, DENIED, NOT_FOUND, CONSENT, STATE, and what refuses the bytes: libdpot(3) */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_enroll(dpot_client *client,
                                                         const uint8_t campaign_id[16]);

/* The same without a network, from a SignedCampaign as served. campaign_id may be NULL. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_import(dpot_client *client, const void *data,
                                                         size_t len, uint8_t campaign_id[16]);

/* From now on this handle refuses campaigns and seal keys whose hash is not in `digests` (n, 32):
 * UNEXPECTED. n = 0 accepts again whatever the pin has signed. ARGUMENT: n above 4096. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_expect(dpot_client *client,
                                                         const uint8_t (*digests)[32], size_t n);

/* ---- Submitting ----
 * Checks campaign and caps, charges, reads the data, privatises and spools: one report per round.
 * Refusals, and IO and NO_SPACE, come before the data are read and charge nothing:
 *   SHAPE      not the campaign's dim, size or kind of data
 *   RANGE      the device's group is not one of the campaign's
 *   NOT_OPEN   by the campaign's times
 *   CLOSED     by the campaign's times, or the server's last answer: enroll again
 *   EXISTS     the stored revision is an old copy, a newer one was charged: enroll again
 *   BUDGET     a cap
 *   ARGUMENT   no memory holds n points
 *   NOT_FOUND (enroll first), EPSILON, SIMULATION, UNEXPECTED, TOO_LARGE, CONSENT, LEDGER
 * After POISONED the charge may be on disk; nothing was sent. */
enum dpot_submit_outcome {
    DPOT_SUBMIT_REPORTED = 1, /* a report was made, charged and spooled */
    DPOT_SUBMIT_RESUMED = 2,  /* made now, under the charge of a submit that a crash cut off */
    DPOT_SUBMIT_PENDING = 3,  /* this round's report exists already and waits to be sent */
    DPOT_SUBMIT_DONE = 4,     /* this round's report has had its final answer, or was dropped */
    DPOT_SUBMIT_LOST = 5,     /* this round's report was charged; its file was damaged or lost */
};

/* Places, clamped to the domain's nearest points. Without any: the public default. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_submit_points(
    dpot_client *client, const uint8_t campaign_id[16], const double *points /* (n, dim) */,
    const double *weights /* (n) or NULL: equal */, size_t n, uint32_t dim,
    enum dpot_submit_outcome *outcome /* may be NULL */);

/* A histogram over the domain. NULL, or no positive entry: the public default. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_submit_histogram(
    dpot_client *client, const uint8_t campaign_id[16],
    const double *histogram /* (size) or NULL */, size_t size, enum dpot_submit_outcome *outcome);

/* A vector, for laplace, gaussian and spheres. NULL: the public default. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_submit_vector(
    dpot_client *client, const uint8_t campaign_id[16], const double *vector /* (dim) or NULL */,
    uint32_t dim, enum dpot_submit_outcome *outcome);

/* ---- Consent ---- */
/* Withdraws consent: waiting reports are wiped unsent; submits, enrolling and importing return
 * CONSENT until dpot_client_grant. Charges stay. Needs no disk space.
 *   BUSY    withdrawn, but another handle's exchange may still arrive: withdraw again to be sure
 *   LEDGER  withdrawn; the ledger cannot be trusted, so nothing was sent anyway
 *   IO, NO_SPACE, POISONED: the sentence says whether consent may still count as given */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_withdraw(dpot_client *client);

/* The same for a folder that cannot be opened; the next opening wipes. NOT_FOUND: no install. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_folder_withdraw(const struct dpot_filesystem *filesystem,
                                                           char *error_text, size_t error_cap);

/* Consents again; OK also if nothing was withdrawn. After a failure consent is still withdrawn. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_grant(dpot_client *client);

/* ---- Sending ---- */
struct dpot_pump_result { /* may be NULL in the call */
    size_t struct_size;
    size_t n_sent;       /* reports that got an answer now, of whatever kind */
    size_t n_pending;    /* reports still waiting */
    int64_t next_due_ms; /* when, by config.clock, pump has work again; INT64_MAX: never */
    size_t n_accepted;   /* from here on: how reports ended since the last result, or opening */
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

/* Sends what is due, one report per POST, and records the answers; OK also if nothing was due.
 * `deadline_ms` bounds the call, disk excepted; 0 sends nothing. Failures keep the report:
 *   NETWORK, SERVER    no answer, or a failing server: no requests to it for a while
 *   DENIED, NOT_FOUND  401 or 403, 404: this report backs off
 *   NOT_OPEN, CLOSED   the round, by the server's clock alone: check the clocks */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_pump(dpot_client *client, uint32_t deadline_ms,
                                                       struct dpot_pump_result *result);

/* The same in two halves, for apps that carry requests themselves (an event loop, a gateway): no
 * transport is needed. Fills `request` with the exchange that is due, else its method is NULL and
 * result->next_due_ms (`result` may be NULL) says when to ask again. Borrowed until the next call
 * of one of the two; asked again before its answer, the same request until timeout_ms is over, and
 * then as after no answer. Without config.server_url `url` is the path alone.
 *   BUSY  another handle is in a submit, or has a request under way */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_next_request(dpot_client *client,
                                                               struct dpot_http_request *request,
                                                               struct dpot_pump_result *result);

/* Files the answer to that request, or that none came (NULL, or status 0). The failures of pump.
 *   STATE  there is no such request: its answer was filed
 *   BUSY   kept in memory; the next call of one of the three files it */
DPOT_API DPOT_WARN_UNUSED dpot_status
dpot_client_take_response(dpot_client *client, const struct dpot_http_response *response,
                          const void *body, size_t body_len, struct dpot_pump_result *result);

/* ---- Status ---- */
#define DPOT_EPSILON_NONE 4294967296.0 /* spent_epsilon and spent_delta of a zCDP install once */
#define DPOT_DELTA_NONE 1.0            /* a report had a rho and no epsilon */

/* submitted = accepted + duplicate + rejected + dropped + pending, at every durable state. */
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
    uint64_t n_dropped_closed; /* the server said that the round is closed (409) */
    uint64_t n_dropped_age;    /* 30 days after the round closed */
    uint64_t n_dropped_malformed;
    uint64_t n_dropped_lost; /* spool slot lost, or never filled before the round closed */
    uint64_t n_pending;
    double spent_epsilon;        /* lifetime; spent_*: as charged, whatever the accountant */
    double window_spent_epsilon; /* in the window that ends now */
    double lifetime_epsilon_cap;
    double window_epsilon_cap;
    double campaign_epsilon_cap;
    int64_t device_time_ms;       /* max(clock, latest charge in the ledger) */
    int is_exhausted;             /* the ledger cannot be trusted: everything counts as spent */
    uint64_t n_dropped_withdrawn; /* dpot_client_withdraw */
    uint32_t accountant;          /* enum dpot_accountant; caps of the other one are 0 */
    double spent_delta;
    double window_spent_delta;
    double lifetime_delta_cap;
    double window_delta_cap;
    double campaign_delta_cap;
    double spent_rho;
    double window_spent_rho;
    double lifetime_rho_cap;
    double window_rho_cap;
    double campaign_rho_cap;
    uint64_t n_dropped_spool; /* spool_max_bytes: made room for a newer report */
    int64_t next_due_ms;      /* first waiting report, by config.clock; INT64_MAX: none */
    int64_t paused_until_ms;  /* no requests before this time (Retry-After); 0: no pause */
    uint64_t n_late;          /* submits of this handle that took longer than their work time */
};

/* The folder now; while another has it or the disk fails, as this handle last saw it, and OK. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_status(dpot_client *client,
                                                             struct dpot_client_status *status);

struct dpot_campaign_info {
    size_t struct_size;
    uint32_t revision; /* the newest that is stored here */
    uint32_t rounds;
    uint32_t n_groups;  /* labels; 0: none, else the device's group must be below */
    uint32_t is_vector; /* 1: it takes vectors; 0: points and histograms */
    int64_t opens_ms;
    int64_t closes_ms;
    uint64_t steps;        /* of the work on one report, whatever the data */
    uint64_t memory_bytes; /* for it */
    uint64_t measured_us;  /* of the steps, here, at enrolling; 0: not measured yet */
    uint32_t work_ms;      /* the work time W; 0: not measured yet */
    uint32_t n_numbers;    /* of one vector (also on a sphere), else of a histogram */
};

/* NOT_FOUND: not enrolled. As dpot_client_enroll for stored bytes that do not verify any more. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_campaign(dpot_client *client,
                                                               const uint8_t campaign_id[16],
                                                               struct dpot_campaign_info *info);

/* Sentences for the owner, cut to `cap` with the NUL: 1024 suffice, and 512 per campaign more. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_statement(dpot_client *client, char *text,
                                                                size_t cap);

/* What was charged to one campaign; the caps if the ledger cannot be trusted. */
struct dpot_spending {
    size_t struct_size;
    double epsilon; /* or DPOT_EPSILON_NONE */
    double delta;   /* or DPOT_DELTA_NONE */
    double rho;
};
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_campaign_spent(dpot_client *client,
                                                                     const uint8_t campaign_id[16],
                                                                     double *spent_epsilon);
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_campaign_spending(
    dpot_client *client, const uint8_t campaign_id[16], struct dpot_spending *spending);

#ifdef __cplusplus
}
#endif

#endif

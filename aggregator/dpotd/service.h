/* A running aggregator: opens and connects all modules in order, and closes them in reverse
 * order. */
#ifndef DPOT_DPOTD_SERVICE_H
#define DPOT_DPOTD_SERVICE_H

#include "dpotd/config.h"
#include "store/store.h"

/* Overrides; zero: defaults. */
struct service_hooks {
    const struct dpot_clock *clock; /* NULL: the system's */
    FILE *log_stream;               /* only its descriptor is used; NULL: stderr */
    const char *notes;              /* lines of the log once it is open; NULL: none */
    void (*on_committed)(void *ctx, size_t n_reports); /* as in struct writer_config */
    void (*on_owned)(void *ctx); /* the store is owned: no other server uses it */
    void *ctx;
};

struct service;

/* Reads keys and tokens, opens the store as its owner, and starts to listen and serve.
 * listen: NULL: as configured.
 * DPOT_ERR_IO: store, port, missing file. DPOT_ERR_BUSY: another process serves the store.
 * DPOT_ERR_DENIED: others can read a key. DPOT_ERR_MALFORMED, DPOT_ERR_VERSION, ...; with a
 * message. On failure nothing is left running. */
DPOT_WARN_UNUSED dpot_status service_open(const struct config *config, const char *listen,
                                          const struct service_hooks *hooks,
                                          struct service **service, struct dpot_error *error);

/* "http://127.0.0.1:43211"; borrowed. */
const char *service_url(const struct service *service);

/* Appends a line, with its newline, to the log as it is, and waits a second at most until it is
 * written. */
void service_print(const struct service *service, const char *line);

/* The public key that devices pin; borrowed. */
const uint8_t *service_pin(const struct service *service);

/* Stops accepting requests, completes running ones and closes the store; NULL is allowed. */
void service_close(struct service *service);

/* service_close with a status. DPOT_ERR_IO: the store was removed or replaced while it was served;
 * restore it from where the message says. */
dpot_status service_stop(struct service *service, struct dpot_error *error);

/* Options and callbacks of service_check. */
struct service_check_options {
    /* One call for each fault, and with DPOT_OK for each note. */
    void (*report)(void *ctx, dpot_status status, const char *sentence);
    /* Periodic progress: the pool being read and the reports read so far. May be NULL. */
    void (*progress)(void *ctx, const struct revision_record *record, uint64_t n_read);
    void *ctx;
    bool is_quick; /* skip pools: reading large ones takes long */
    /* Check only the store, or a copy of one, and the keys it belongs to. Nothing is written, an
     * older schema is not a fault, and if the keys cannot be read, campaigns are not verified,
     * which is reported as a note. */
    bool is_store_only;
};

/* Checks everything that service_open needs: keys, tokens, certificate, address, the store, whether
 * it is writable, its campaigns, artifacts and pools. Changes nothing, and continues after a fault.
 * A server may be running. For `dpotd doctor`. DPOT_ERR_MEMORY: nothing was checked. */
DPOT_WARN_UNUSED dpot_status service_check(const struct config *config,
                                           const struct service_check_options *options,
                                           struct dpot_error *error);

/* Remedy for the faults of a store that should be migrated. */
extern const char service_no_migration[];

/* Checks only the store or copy `url`. DPOT_OK: no fault.
 * Otherwise the status of the first fault, with the message `remedy`. DPOT_ERR_IO, DPOT_ERR_MEMORY,
 * DPOT_ERR_BUSY: the check could not be completed and found no fault; the message says why. */
DPOT_WARN_UNUSED dpot_status service_check_store(const struct config *config, const char *url,
                                                 const struct service_check_options *options,
                                                 const char *remedy, struct dpot_error *error);

#endif

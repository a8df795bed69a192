/* A running aggregator: every room opened and wired together, in order, and closed in reverse. */
#ifndef DPOT_DPOTD_SERVICE_H
#define DPOT_DPOTD_SERVICE_H

#include "dpotd/config.h"
#include "store/store.h"

/* What a program may replace; zero for the defaults. */
struct service_hooks {
    const struct dpot_clock *clock;                    /* NULL: the system's */
    FILE *log_stream;                                  /* NULL: stderr */
    void (*on_committed)(void *ctx, size_t n_reports); /* struct writer_config */
    void (*on_owned)(void *ctx); /* the store is ours: no other server is to be regarded */
    void *ctx;
};

struct service;

/* Reads keys and tokens, opens the store as its owner, listens and serves. `listen` NULL: as configured.
 * DPOT_ERR_IO (store, port, missing file), DPOT_ERR_BUSY (another process serves the store), DPOT_ERR_DENIED (a key others can read),
 * DPOT_ERR_MALFORMED, DPOT_ERR_VERSION, ... with one sentence; nothing is left running. */
DPOT_WARN_UNUSED dpot_status service_open(const struct config *config, const char *listen,
                                          const struct service_hooks *hooks,
                                          struct service **service, struct dpot_error *error);

/* "http://127.0.0.1:43211"; borrowed. */
const char *service_url(const struct service *service);

/* What devices pin; borrowed. */
const uint8_t *service_pin(const struct service *service);

/* Stops accepting, finishes running requests, closes the store. NULL is allowed. */
void service_close(struct service *service);

/* The same. DPOT_ERR_IO: the store was removed or replaced while it was served, and has to be restored;
 * the sentence says from what. */
dpot_status service_stop(struct service *service, struct dpot_error *error);

/* How service_check looks, and who hears of it. */
struct service_look {
    /* One sentence for each fault, and with DPOT_OK for what is worth knowing. */
    void (*tell)(void *ctx, dpot_status status, const char *sentence);
    /* Told now and then which pool is being read, and how far. */
    void (*progress)(void *ctx, const struct revision_record *record, uint64_t n_read);
    void *ctx;
    bool is_quick; /* pools are left out: reading them takes long when they are large */
    /* The store alone, or a copy of one, and the keys it belongs to, which need not be in use: nothing is
     * written, an older schema is no fault, and without keys that can be read campaigns are not verified,
     * which is told. */
    bool is_store_only;
};

/* Looks at everything service_open needs, changes nothing of it and goes on after a fault: keys, tokens,
 * certificate, address, the store, whether it takes writes, its campaigns, artifacts and pools. A server
 * may be running. DPOT_ERR_MEMORY: nothing was looked at. For `dpotd doctor`. */
DPOT_WARN_UNUSED dpot_status service_check(const struct config *config,
                                           const struct service_look *look,
                                           struct dpot_error *error);

/* What to do about faults of a store that was to be brought up to date. */
extern const char service_no_migration[];

/* Looks so at the store, or the copy, `url` alone. DPOT_OK: there is no fault. Otherwise the status of the
 * first, and the sentence `remedy`. DPOT_ERR_IO, DPOT_ERR_MEMORY, DPOT_ERR_BUSY: something hindered the look, and it
 * found no fault; the sentence says what. */
DPOT_WARN_UNUSED dpot_status service_check_store(const struct config *config, const char *url,
                                                 const struct service_look *look,
                                                 const char *remedy, struct dpot_error *error);

#endif

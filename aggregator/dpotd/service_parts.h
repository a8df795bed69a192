/* Internals of a service, shared by service.c, which runs it, and service_check.c, which checks its
 * parts. */
#ifndef DPOT_DPOTD_SERVICE_PARTS_H
#define DPOT_DPOTD_SERVICE_PARTS_H

#include "dpotd/service.h"
#include "keys/keys.h"

#define SERVICE_EXPIRY_NOTICE_MS (INT64_C(30) * 86400000) /* for keys and certificates */

struct service {
    struct service_hooks hooks;
    struct log log;
    struct server_keys keys;
    struct tokens tokens;
    struct store *store;
    struct registry *registry;
    struct tally *tally;
    struct writer *writer;
    struct ingest ingest;
    struct runner *runner;
    char checkpoint_folder[CONFIG_TEXT_SIZE]; /* of jobs; empty: the store is in memory */
    struct http_app app;
    struct dpot_buf tls_cert, tls_key;
    struct server *server;
    bool is_merge_logged; /* a failing merge is in the log */
    /* Why the store must be restored before it is opened again; empty: no need. */
    struct dpot_error loss;
};

struct service_records {
    struct revision_record *record; /* (n) */
    size_t n;
    bool is_out_of_memory;
};

/* Creates a service with nothing open; free it with service_close. */
dpot_status service_new(const struct config *config, const struct service_hooks *hooks,
                        struct service **service, struct dpot_error *error);
dpot_status service_read_tokens(struct service *s, const struct config *config,
                                struct dpot_error *error);
dpot_status service_read_tls(struct service *s, const struct config *config,
                             struct dpot_error *error);

/* Checks the dates of the certificate. DPOT_ERR_CLOSED: expired. DPOT_ERR_NOT_OPEN: not yet valid.
 * DPOT_OK with a message: expires soon. */
dpot_status service_check_tls(const struct service *s, struct dpot_error *error);

/* Checks that devices can seal reports now, as seal_secrets_check. */
dpot_status service_check_keys(const struct service *s, struct dpot_error *error);

/* The keys that devices are shown: all that have not expired, also those that are not valid yet. */
void service_pick_keys(const struct service *s, struct dpot_keys *keys);

/* All revisions; free `record` with dpot_free_array, also after a failure. */
dpot_status service_list_revisions(struct service *s, struct service_records *records,
                                   struct dpot_error *error);

/* Opens the registry over the open store. DPOT_ERR_CORRUPT, DPOT_ERR_SIGNATURE: a revision does not
 * verify. */
dpot_status service_open_registry(struct service *s, struct dpot_error *error);
dpot_status service_open_server(struct service *s, const struct config *config, const char *listen,
                                struct dpot_error *error);

#endif

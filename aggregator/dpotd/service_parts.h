/* The inside of a service, for service.c, which runs one, and service_check.c, which looks at what one would
 * find. */
#ifndef DPOT_DPOTD_SERVICE_PARTS_H
#define DPOT_DPOTD_SERVICE_PARTS_H

#include "dpotd/service.h"
#include "keys/keys.h"

#define SERVICE_EXPIRY_NOTICE_MS (INT64_C(30) * 86400000) /* of keys and certificates */

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
    char keep_folder[CONFIG_TEXT_SIZE]; /* of the jobs; empty: the store is in memory */
    struct http_app app;
    struct dpot_buf tls_cert, tls_key;
    struct server *server;
    bool is_merge_told; /* that reports could not be merged is in the log */
    struct dpot_error
        loss; /* why the store has to be restored before it is opened again; empty: it has not */
};

struct service_records {
    struct revision_record *record; /* (n) */
    size_t n;
    bool is_out_of_memory;
};

/* Nothing is open yet; closed with service_close. */
dpot_status service_new(const struct config *config, const struct service_hooks *hooks,
                        struct service **service, struct dpot_error *error);
dpot_status service_read_tokens(struct service *s, const struct config *config,
                                struct dpot_error *error);
dpot_status service_read_tls(struct service *s, const struct config *config,
                             struct dpot_error *error);

/* The sentence says what is wrong with the dates of the certificate: DPOT_ERR_CLOSED (it expired),
 * DPOT_ERR_NOT_OPEN, or DPOT_OK and a sentence when it expires soon. */
dpot_status service_check_tls(const struct service *s, struct dpot_error *error);

/* Devices see every key that has not expired. */
dpot_status service_pick_keys(const struct service *s, struct dpot_keys *keys,
                              struct dpot_error *error);

/* Every revision; released with dpot_free_array, also after a failure. */
dpot_status service_list_revisions(struct service *s, struct service_records *records,
                                   struct dpot_error *error);

/* Over the store, which is open; every revision in it verifies. */
dpot_status service_open_registry(struct service *s, struct dpot_error *error);
dpot_status service_open_server(struct service *s, const struct config *config, const char *listen,
                                struct dpot_error *error);

#endif

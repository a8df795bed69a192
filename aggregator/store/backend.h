/* What a storage backend implements, with the contracts of store.h. store.c lists the backends. */
#ifndef DPOT_STORE_BACKEND_H
#define DPOT_STORE_BACKEND_H

#include "store/store.h"

enum store_use {
    STORE_SHARED,   /* store_open */
    STORE_OWNED,    /* store_open_owned */
    STORE_EXISTING, /* store_open_existing */
    STORE_OLD,      /* store_open_old */
};

struct store_backend {
    const char *scheme; /* the URL up to and including its colon */

    /* `validator` is for STORE_OWNED only. */
    dpot_status (*open)(const char *location, enum store_use use,
                        const struct store_validator *validator, struct store **store,
                        struct dpot_error *error);
    void (*close)(struct store *store);
    void (*watch)(struct store *store, store_watcher watch, void *ctx);
    void (*get_schema)(struct store *store, int *found, int *current);
    dpot_status (*backup)(struct store *store, const char *path,
                          const struct store_validator *validator, struct dpot_error *error);
    dpot_status (*save)(struct store *store, const char *what,
                        const struct store_validator *validator, char *name, size_t cap,
                        struct dpot_error *error);
    dpot_status (*replace)(const char *location, const char *from, char *kept, size_t cap,
                           struct dpot_error *error);
    dpot_status (*check)(struct store *store, struct dpot_error *error);
    dpot_status (*try_write)(struct store *store, struct dpot_error *error);
    dpot_status (*check_structure)(struct store *store, struct dpot_error *error);
    dpot_status (*check_tables)(struct store *store, enum store_tables which, store_each_fault each,
                                void *ctx, struct dpot_error *error);
    dpot_status (*add_revision)(struct store *store, const struct revision_record *record,
                                const void *signed_bytes, size_t len, struct dpot_error *error);
    dpot_status (*set_state)(struct store *store, const uint8_t *hash, enum revision_state state,
                             struct dpot_error *error);
    dpot_status (*list_revisions)(struct store *store, store_each_revision each, void *ctx,
                                  struct dpot_error *error);
    dpot_status (*get_revision)(struct store *store, const uint8_t *hash,
                                struct revision_record *record, struct dpot_buf *out,
                                struct dpot_error *error);
    dpot_status (*find_campaign)(struct store *store, const uint8_t *campaign_id,
                                 struct revision_record *record, struct dpot_buf *out,
                                 struct dpot_error *error);
    dpot_status (*append_group)(struct store *store, const struct store_append *const *appends,
                                size_t n, dpot_status *outcomes, struct dpot_error *error);
    dpot_status (*merge)(struct store *store, const uint8_t *hash, uint32_t n_rounds,
                         bool *has_merged, struct dpot_error *error);
    dpot_status (*load_ids)(struct store *store, struct dpot_error *error);
    void (*get_id_usage)(struct store *store, struct store_id_usage *usage);
    size_t (*count_damaged)(struct store *store);
    bool (*is_damaged)(struct store *store, const uint8_t *hash, struct dpot_error *sentence);
    dpot_status (*count_pool)(struct store *store, const uint8_t *hash, struct pool_count *count,
                              struct dpot_error *error);
    dpot_status (*count_all)(struct store *store, struct pool_count *count, uint64_t *n_dropped,
                             struct dpot_error *error);
    dpot_status (*add_drops)(struct store *store, const uint64_t *n, struct dpot_error *error);
    dpot_status (*read_pool)(struct store *store, const uint8_t *hash, store_each_report each,
                             void *ctx, struct dpot_error *error);
    dpot_status (*add_job)(struct store *store, const struct job_record *record,
                           struct dpot_error *error);
    dpot_status (*get_job)(struct store *store, const uint8_t *id, struct job_record *record,
                           struct dpot_error *error);
    dpot_status (*next_job)(struct store *store, struct job_record *record,
                            struct dpot_error *error);
    dpot_status (*list_jobs)(struct store *store, const uint8_t *after, store_each_job each,
                             void *ctx, struct dpot_error *error);
    dpot_status (*update_job)(struct store *store, const struct job_record *record,
                              struct dpot_error *error);
    dpot_status (*finish_job)(struct store *store, struct job_record *record, const void *artifact,
                              size_t len, struct dpot_error *error);
    dpot_status (*requeue_jobs)(struct store *store, int64_t now_ms, struct dpot_error *error);
    dpot_status (*get_artifact)(struct store *store, const uint8_t *digest, struct dpot_buf *out,
                                struct dpot_error *error);
    dpot_status (*check_artifacts)(struct store *store, store_each_damage each, void *ctx,
                                   struct dpot_error *error);
};

/* The first member of every backend's own struct. */
struct store {
    const struct store_backend *backend;
};

/* One numbered file of store/migrations/<backend>/, embedded at build time. */
struct store_migration {
    int version;
    const char *sql;
};

extern const struct store_backend store_sqlite;
extern const struct store_migration store_sqlite_migrations[]; /* by version from 1, without gaps */
extern const size_t store_sqlite_n_migrations;

#endif

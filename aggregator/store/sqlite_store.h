/* The embedded store: one SQLite file.
 *
 *  - What one commit holds of one (hash, round) is one block, a row with a packed blob (store/packed.h);
 *    which ids are there is known from an exact set in memory per (hash, round) (store/id_cache.h).
 *  - Nothing numbers the commits (T7): a block is known by the least id in it, its number is a hash, and the
 *    reports in it are in the order of ids. When a round is over its blocks are merged, so that it is not known either which
 *    reports came together (sqlite_merge.c). What is freed is overwritten with zeros.
 *  - (T2) holds even when two processes use one file: inside the write transaction, before a set is asked,
 *    it has as many ids as the round has reports, or is read anew.
 *  - The database's lock guards all of this struct.
 *  - What only reads has a connection of its own, under a lock of its own, so that it never waits for a
 *    commit to reach the disk; it sees every commit that has. A store in memory has one for both. */
#ifndef DPOT_STORE_SQLITE_STORE_H
#define DPOT_STORE_SQLITE_STORE_H

#include "store/backend.h"
#include "store/database.h"
#include "store/id_cache.h"
#include "store/packed.h"

#include <pthread.h>

/* What says that the store is owned (T6): two descriptors; -1: it is not. */
struct sqlite_lock {
    int file;         /* beside the database */
    int database;     /* of the database itself */
    bool is_marked;   /* the file says that the store is owned by us, or that was tried */
    int64_t n_closed; /* reports when it was closed before; 0: not known */
};

struct sqlite_store {
    struct store base;
    struct database *database;
    struct database *reader; /* the same for a store in memory */
    struct id_cache ids;
    struct sqlite_lock lock;
    pthread_mutex_t weight_mutex; /* guards `weight`, so that who asks for it waits for no commit */
    struct store_weight weight;   /* of `ids` */
    bool has_write_failed;        /* the last append or check did: a check then really writes */
    store_watcher watch;          /* NULL: nobody */
    void *watch_ctx;
};

/* Takes the lock. */
struct sqlite_store *sqlite_store_lock(struct store *store);
void sqlite_store_unlock(struct sqlite_store *s);

/* Takes the lock of the connection that reads, and releases it. */
struct database *sqlite_store_lock_reader(struct store *store);
void sqlite_store_unlock_reader(struct database *reader);

/* "WHAT in the store is not what was written: ..." */
dpot_status sqlite_store_fail_corrupt(const char *what, struct dpot_error *error);

/* sqlite_lock.c (T6): takes the locks of the database PATH, before SQLite opens it; none on failure.
 * What a restore that was cut off left is cleared away. DPOT_ERR_BUSY: another store has them;
 * DPOT_ERR_IO: also when the file has two names; DPOT_ERR_STATE, when `needs_store`: there was a
 * store, and now there is none. */
DPOT_WARN_UNUSED dpot_status sqlite_lock_take(const char *path, bool needs_store,
                                              struct sqlite_lock *lock, struct dpot_error *error);

/* After SQLite has closed the database; one that is not held is allowed. */
void sqlite_lock_release(struct sqlite_lock *lock);

/* Writes down, durably, that there is a store, and which file. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status sqlite_lock_mark(const char *path, struct sqlite_lock *lock,
                                              struct dpot_error *error);

/* The same, that it is closed, with so many reports (0: not known). DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status sqlite_lock_mark_closed(const char *path,
                                                     const struct sqlite_lock *lock,
                                                     int64_t n_reports, struct dpot_error *error);

/* Whether the database has no name left: it is gone when it is closed. */
bool sqlite_lock_is_nameless(const struct sqlite_lock *lock);

/* Without taking anything: whether PATH is what was written down; *n_closed as in the struct.
 * DPOT_ERR_IO: it has a second hard link; DPOT_ERR_STATE: there was a store and there is none, or a
 * living process serves another file of this name. */
DPOT_WARN_UNUSED dpot_status sqlite_lock_look(const char *path, int64_t *n_closed,
                                              struct dpot_error *error);

/* sqlite_room.c: writes some MiB beside PATH, for a moment. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status sqlite_room_try(const char *path, struct dpot_error *error);

/* The state of a revision, under the lock. DPOT_ERR_NOT_FOUND. */
DPOT_WARN_UNUSED dpot_status sqlite_store_get_state(struct sqlite_store *s, const uint8_t *hash,
                                                    enum revision_state *state,
                                                    struct dpot_error *error);

/* Members of the backend (store.h), by file. sqlite_revisions.c: */
dpot_status sqlite_store_add_revision(struct store *store, const struct revision_record *record,
                                      const void *signed_bytes, size_t len,
                                      struct dpot_error *error);
dpot_status sqlite_store_set_state(struct store *store, const uint8_t *hash,
                                   enum revision_state state, struct dpot_error *error);
dpot_status sqlite_store_list_revisions(struct store *store, store_each_revision each, void *ctx,
                                        struct dpot_error *error);
dpot_status sqlite_store_get_revision(struct store *store, const uint8_t *hash,
                                      struct revision_record *record, struct dpot_buf *out,
                                      struct dpot_error *error);
dpot_status sqlite_store_find_campaign(struct store *store, const uint8_t *campaign_id,
                                       struct revision_record *record, struct dpot_buf *out,
                                       struct dpot_error *error);

/* sqlite_append.c: */
dpot_status sqlite_store_append_group(struct store *store,
                                      const struct store_append *const *appends, size_t n,
                                      dpot_status *outcomes, struct dpot_error *error);

/* sqlite_ids.c: */
dpot_status sqlite_store_load_ids(struct store *store, struct dpot_error *error);
void sqlite_store_weigh(struct store *store, struct store_weight *weight);

/* Weighs the sets of ids anew, under the lock. */
void sqlite_store_note_weight(struct sqlite_store *s);

/* Brings a set up to the last commit, under the lock. On failure the entry is dropped. */
DPOT_WARN_UNUSED dpot_status sqlite_store_catch_up(struct sqlite_store *s,
                                                   struct id_cache_entry *entry,
                                                   struct dpot_error *error);

/* sqlite_pool.c: */
dpot_status sqlite_store_count_pool(struct store *store, const uint8_t *hash,
                                    struct pool_count *count, struct dpot_error *error);
dpot_status sqlite_store_count_all(struct store *store, struct pool_count *count,
                                   uint64_t *n_dropped, struct dpot_error *error);
dpot_status sqlite_store_add_drops(struct store *store, const uint64_t *n,
                                   struct dpot_error *error);
dpot_status sqlite_store_read_pool(struct store *store, const uint8_t *hash, store_each_report each,
                                   void *ctx, struct dpot_error *error);

/* sqlite_backup.c: */
dpot_status sqlite_store_backup(struct store *store, const char *path,
                                const struct store_judge *judge, struct dpot_error *error);
dpot_status sqlite_store_save(struct store *store, const char *what,
                              const struct store_judge *judge, char *name, size_t cap,
                              struct dpot_error *error);

dpot_status sqlite_store_replace(const char *path, const char *from, char *kept, size_t cap,
                                 struct dpot_error *error);

/* Called by whoever has taken the locks: takes back what a replacement that was cut off left, the
 * second name of the former store. The file and its log are as they were before it. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status sqlite_store_undo_replace(const char *real, struct dpot_error *error);

/* sqlite_jobs.c: */
dpot_status sqlite_store_add_job(struct store *store, const struct job_record *record,
                                 struct dpot_error *error);
dpot_status sqlite_store_get_job(struct store *store, const uint8_t *id, struct job_record *record,
                                 struct dpot_error *error);
dpot_status sqlite_store_next_job(struct store *store, struct job_record *record,
                                  struct dpot_error *error);
dpot_status sqlite_store_list_jobs(struct store *store, store_each_job each, void *ctx,
                                   struct dpot_error *error);
dpot_status sqlite_store_update_job(struct store *store, const struct job_record *record,
                                    struct dpot_error *error);
dpot_status sqlite_store_finish_job(struct store *store, struct job_record *record,
                                    const void *artifact, size_t len, struct dpot_error *error);
dpot_status sqlite_store_requeue_jobs(struct store *store, int64_t now_ms,
                                      struct dpot_error *error);

/* sqlite_artifacts.c: */
dpot_status sqlite_store_get_artifact(struct store *store, const uint8_t *digest,
                                      struct dpot_buf *out, struct dpot_error *error);
dpot_status sqlite_store_check_artifacts(struct store *store, store_each_damage each, void *ctx,
                                         struct dpot_error *error);

/* Adds an artifact inside a transaction, unless it is there; repairs it when it is damaged. */
DPOT_WARN_UNUSED dpot_status sqlite_store_add_artifact(struct sqlite_store *s,
                                                       const uint8_t *digest, const void *data,
                                                       size_t len, struct dpot_error *error);

/* The newest job that ended with this artifact, under the lock. DPOT_ERR_NOT_FOUND without a sentence. */
DPOT_WARN_UNUSED dpot_status sqlite_store_find_maker(struct sqlite_store *s, const uint8_t *digest,
                                                     struct job_record *record,
                                                     struct dpot_error *error);

/* The first job after *seq that is the newest to have ended with an artifact that is not there, under the
 * lock. DPOT_ERR_NOT_FOUND without a sentence. */
DPOT_WARN_UNUSED dpot_status sqlite_store_next_missing(struct sqlite_store *s, int64_t *seq,
                                                       struct job_record *record,
                                                       struct dpot_error *error);

/* Copies column `column` when it has exactly `len` bytes. */
bool sqlite_store_read_bytes(struct query query, int column, uint8_t *out, size_t len);

/* Columns of a block, as sqlite_store_read_block takes them, of a table "block". */
#define SQLITE_BLOCK_COLUMNS "round, first, format, n_reports, sum, reports"
enum { COLUMN_ROUND, COLUMN_FIRST, COLUMN_FORMAT, COLUMN_N_REPORTS, COLUMN_SUM, COLUMN_REPORTS };

/* The reports of the row, when its numbers are numbers (so that the round may be used after DPOT_OK) and its
 * checksum says that it is what was written for the revision `hash`; the block lives as long as the row.
 * DPOT_ERR_CORRUPT, which names the block by its first id, and its round. */
DPOT_WARN_UNUSED dpot_status sqlite_store_read_block(struct query query, const uint8_t *hash,
                                                     struct packed_block *block,
                                                     struct dpot_error *error);

/* Adds a block inside a transaction. DPOT_ERR_CORRUPT: there is one with this first id, which is then no
 * new one. */
struct sqlite_block {
    const uint8_t *hash, *first;
    uint32_t round;
    bool is_merged;
    int format;
    size_t n_reports;
    const struct dpot_buf *reports;
};
DPOT_WARN_UNUSED dpot_status sqlite_store_add_block(struct database *database,
                                                    const struct sqlite_block *block,
                                                    struct dpot_error *error);

/* Reports that the rounds count. */
extern const char sqlite_count_reports[];

/* sqlite_merge.c: */
dpot_status sqlite_store_merge(struct store *store, const uint8_t *hash, uint32_t n_rounds,
                               bool *has_merged, struct dpot_error *error);

/* The same of every round of every revision in a file that nobody else has open. */
DPOT_WARN_UNUSED dpot_status sqlite_store_merge_all(struct database *database,
                                                    struct dpot_error *error);

/* sqlite_check.c: */
dpot_status sqlite_store_check_tables(struct store *store, enum store_tables which,
                                      store_each_fault each, void *ctx, struct dpot_error *error);

#endif

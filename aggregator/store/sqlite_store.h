/* The embedded store: one SQLite file, used through two connections (store/database.h).
 *
 *  - The reports of one (hash, round) in one commit are one block: a row with a packed blob
 *    (store/packed.h). An exact set in memory per (hash, round) knows the stored ids
 *    (store/id_cache.h).
 *  - (T7): a block is identified by its least id, its row number is a hash, and its reports are in
 *    the order of ids. When a round has closed its blocks are merged, so that the file does not
 *    show either which reports were committed together (sqlite_merge.c). Freed space is overwritten
 *    with zeros.
 *  - (T2) holds when several processes write one file: inside the write transaction a set that has
 *    not as many ids as the round has reports is read anew before it is used.
 *  - The lock of `database` guards this struct, except `reader`, `usage` and `damages`.
 *  - `reader`, under a lock of its own, never waits for a commit; it sees every transaction that
 *    was committed. A store in memory has one connection for both. */
#ifndef DPOT_STORE_SQLITE_STORE_H
#define DPOT_STORE_SQLITE_STORE_H

#include "store/backend.h"
#include "store/database.h"
#include "store/id_cache.h"
#include "store/packed.h"

#include <pthread.h>

/* The locks of an owner (T6): two descriptors, -1 if not held. */
struct sqlite_lock {
    int file;         /* of PATH-lock */
    int database;     /* of the database */
    bool is_marked;   /* PATH-lock names this owner's database, or a write of it was tried */
    int64_t n_closed; /* reports when the store was closed before; 0: not known */
};

struct sqlite_store {
    struct store base;
    struct database *database;
    struct database *reader;
    struct id_cache ids;
    struct sqlite_lock lock;
    pthread_mutex_t notes_mutex; /* guards the next two, so that reading them waits for no commit */
    struct store_id_usage usage; /* of `ids` */
    struct sqlite_damage *damages; /* a list */
    bool has_write_failed;         /* the last append or check: the next check really writes */
    store_watcher watch;           /* may be NULL */
    void *watch_ctx;
};

struct sqlite_store *sqlite_store_lock(struct store *store);
void sqlite_store_unlock(struct sqlite_store *s);

struct database *sqlite_store_lock_reader(struct store *store);
void sqlite_store_unlock_reader(struct database *reader);

/* Sets and returns DPOT_ERR_CORRUPT: "WHAT in the store is not what was written: ...". */
dpot_status sqlite_store_fail_corrupt(const char *what, struct dpot_error *error);

/* Copies a column of exactly `len` bytes; false: it has another length. */
bool sqlite_store_read_bytes(struct query query, int column, uint8_t *out, size_t len);

/* Reports in all rounds, as they are counted. */
extern const char sqlite_count_reports[];

/* ---- sqlite_lock.c (T6) ---- */

/* Takes both locks of the database PATH before SQLite opens it, and removes what an interrupted
 * replacement left. On failure neither is held.
 * DPOT_ERR_BUSY: another store has them; DPOT_ERR_IO: also a second hard link; DPOT_ERR_STATE, if
 * `needs_store`: there was a store and it is missing or empty. */
DPOT_WARN_UNUSED dpot_status sqlite_lock_take(const char *path, bool needs_store,
                                              struct sqlite_lock *lock, struct dpot_error *error);

/* Call after SQLite has closed the database. A lock that is not held is left as it is. */
void sqlite_lock_release(struct sqlite_lock *lock);

/* Writes durably that there is a store, and device and inode of its database. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status sqlite_lock_mark(const char *path, struct sqlite_lock *lock,
                                              struct dpot_error *error);

/* Writes durably that the store is closed with so many reports; 0: not known. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status sqlite_lock_mark_closed(const char *path,
                                                     const struct sqlite_lock *lock,
                                                     int64_t n_reports, struct dpot_error *error);

/* Whether the database has no name left, so that closing it deletes it. */
bool sqlite_lock_is_nameless(const struct sqlite_lock *lock);

/* Checks PATH against PATH-lock without taking a lock; *n_closed as in the struct.
 * DPOT_ERR_IO: a second hard link; DPOT_ERR_STATE: there was a store and it is missing or empty, or
 * a running process serves another file of this name. */
DPOT_WARN_UNUSED dpot_status sqlite_lock_check(const char *path, int64_t *n_closed,
                                               struct dpot_error *error);

/* ---- blocks (sqlite_block.c) ---- */

/* Columns of a row of table block, in the order that sqlite_store_read_block expects. */
#define SQLITE_BLOCK_COLUMNS "round, first, format, n_reports, sum, reports"
enum { COLUMN_ROUND, COLUMN_FIRST, COLUMN_FORMAT, COLUMN_N_REPORTS, COLUMN_SUM, COLUMN_REPORTS };

/* Validates the present row: types and ranges of its numbers, its checksum for the revision `hash`,
 * its layout and its key. The block is valid until the next step of the query.
 * DPOT_ERR_CORRUPT names the block by its first id, and its round. */
DPOT_WARN_UNUSED dpot_status sqlite_store_read_block(struct query query, const uint8_t *hash,
                                                     struct packed_block *block,
                                                     struct dpot_error *error);

struct sqlite_block {
    const uint8_t *hash, *first;
    uint32_t round;
    bool is_merged;
    int format;
    size_t n_reports;
    const struct dpot_buf *reports;
};

/* Adds a block inside a transaction. DPOT_ERR_CORRUPT: the round has a block with this first id,
 * which its set of ids should have known. */
DPOT_WARN_UNUSED dpot_status sqlite_store_add_block(struct database *database,
                                                    const struct sqlite_block *block,
                                                    struct dpot_error *error);

/* ---- members of the backend (store.h), and what files share, by file ---- */

/* sqlite_revisions.c */
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

/* The state of a revision, under the lock. DPOT_ERR_NOT_FOUND. */
DPOT_WARN_UNUSED dpot_status sqlite_store_get_state(struct sqlite_store *s, const uint8_t *hash,
                                                    enum revision_state *state,
                                                    struct dpot_error *error);

/* sqlite_append.c */
dpot_status sqlite_store_append_group(struct store *store,
                                      const struct store_append *const *appends, size_t n,
                                      dpot_status *outcomes, struct dpot_error *error);

/* sqlite_damage.c: notes what reading the reports of `round` has found. DPOT_ERR_CORRUPT: damage,
 * with its sentence; DPOT_OK: none, and earlier notes about it are removed; others say nothing. */
#define SQLITE_ALL_ROUNDS ((int64_t)-1)
void sqlite_store_note_read(struct sqlite_store *s, const uint8_t *hash, int64_t round,
                            int64_t took_ms, dpot_status status, const struct dpot_error *error);

/* DPOT_ERR_CORRUPT: `round` was found damaged a moment ago. It is not read again yet: reports for
 * it come without end, and others wait for the lock. */
DPOT_WARN_UNUSED dpot_status sqlite_store_check_known(struct sqlite_store *s, const uint8_t *hash,
                                                      int64_t round, struct dpot_error *error);
size_t sqlite_store_count_damaged(struct store *store);
bool sqlite_store_is_damaged(struct store *store, const uint8_t *hash, struct dpot_error *sentence);
void sqlite_store_forget_damage(struct sqlite_store *s);

/* sqlite_ids.c */
dpot_status sqlite_store_load_ids(struct store *store, struct dpot_error *error);
void sqlite_store_get_id_usage(struct store *store, struct store_id_usage *usage);

/* Updates s->usage, under the lock. */
void sqlite_store_update_id_usage(struct sqlite_store *s);

/* Makes a set of ids as complete as the last commit, under the lock. Failure drops the entry. */
DPOT_WARN_UNUSED dpot_status sqlite_store_catch_up(struct sqlite_store *s,
                                                   struct id_cache_entry *entry,
                                                   struct dpot_error *error);

/* sqlite_merge.c */
dpot_status sqlite_store_merge(struct store *store, const uint8_t *hash, uint32_t n_rounds,
                               bool *has_merged, struct dpot_error *error);

/* Merges every round of every revision of a file that no other process has open. */
DPOT_WARN_UNUSED dpot_status sqlite_store_merge_all(struct database *database,
                                                    struct dpot_error *error);

/* sqlite_pool.c */
dpot_status sqlite_store_count_pool(struct store *store, const uint8_t *hash,
                                    struct pool_count *count, struct dpot_error *error);
dpot_status sqlite_store_count_all(struct store *store, struct pool_count *count,
                                   uint64_t *n_dropped, struct dpot_error *error);
dpot_status sqlite_store_add_drops(struct store *store, const uint64_t *n,
                                   struct dpot_error *error);
dpot_status sqlite_store_read_pool(struct store *store, const uint8_t *hash, store_each_report each,
                                   void *ctx, struct dpot_error *error);

/* sqlite_backup.c */
dpot_status sqlite_store_backup(struct store *store, const char *path,
                                const struct store_validator *validator, struct dpot_error *error);
dpot_status sqlite_store_save(struct store *store, const char *what,
                              const struct store_validator *validator, char *name, size_t cap,
                              struct dpot_error *error);
dpot_status sqlite_store_replace(const char *path, const char *from, char *kept, size_t cap,
                                 struct dpot_error *error);

/* Removes the second name of a store that an interrupted replacement left; the store and its log
 * are as before it. The caller holds the locks. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status sqlite_store_undo_replace(const char *real, struct dpot_error *error);

/* sqlite_check.c */
dpot_status sqlite_store_check_tables(struct store *store, enum store_tables which,
                                      store_each_fault each, void *ctx, struct dpot_error *error);

/* sqlite_jobs.c */
dpot_status sqlite_store_add_job(struct store *store, const struct job_record *record,
                                 struct dpot_error *error);
dpot_status sqlite_store_get_job(struct store *store, const uint8_t *id, struct job_record *record,
                                 struct dpot_error *error);
dpot_status sqlite_store_next_job(struct store *store, struct job_record *record,
                                  struct dpot_error *error);
dpot_status sqlite_store_list_jobs(struct store *store, const uint8_t *after, store_each_job each,
                                   void *ctx, struct dpot_error *error);
dpot_status sqlite_store_update_job(struct store *store, const struct job_record *record,
                                    struct dpot_error *error);
dpot_status sqlite_store_finish_job(struct store *store, struct job_record *record,
                                    const void *artifact, size_t len, struct dpot_error *error);
dpot_status sqlite_store_requeue_jobs(struct store *store, int64_t now_ms,
                                      struct dpot_error *error);

/* The newest job that made this artifact, under the lock. DPOT_ERR_NOT_FOUND without a sentence. */
DPOT_WARN_UNUSED dpot_status sqlite_store_find_maker(struct sqlite_store *s, const uint8_t *digest,
                                                     struct job_record *record,
                                                     struct dpot_error *error);

/* The next job after *seq whose artifact is missing, the newest of those with that artifact; under
 * the lock. DPOT_ERR_NOT_FOUND without a sentence. */
DPOT_WARN_UNUSED dpot_status sqlite_store_next_missing(struct sqlite_store *s, int64_t *seq,
                                                       struct job_record *record,
                                                       struct dpot_error *error);

/* sqlite_artifacts.c */
dpot_status sqlite_store_get_artifact(struct store *store, const uint8_t *digest,
                                      struct dpot_buf *out, struct dpot_error *error);
dpot_status sqlite_store_check_artifacts(struct store *store, store_each_damage each, void *ctx,
                                         struct dpot_error *error);

/* Adds an artifact inside a transaction, or repairs it if it is damaged. */
DPOT_WARN_UNUSED dpot_status sqlite_store_add_artifact(struct sqlite_store *s,
                                                       const uint8_t *digest, const void *data,
                                                       size_t len, struct dpot_error *error);

#endif

/* The store: signed campaign revisions, accepted reports, jobs and artifacts, durable.
 *
 * One call is one transaction. Thread-safe: the store serialises writers itself. Callbacks run on
 * the calling thread, outside the store's lock unless said otherwise.
 * Backends are rows of a table in store.c, chosen by the URL: "sqlite:PATH", or "sqlite::memory:"
 * for simulations.
 *
 * Invariants
 * (T1) A call that returned DPOT_OK is on disk (synchronous=FULL), in files that still have their
 *      names: a store whose files were removed, renamed or replaced accepts nothing more.
 * (T2) A report id is stored at most once in a (campaign hash, round): ids are compared exactly.
 * (T3) Reports are never changed or deleted; a pool only grows until its revision closes.
 * (T4) A job that has ended never changes, and it is done exactly when its artifact is stored.
 * (T5) An artifact is named by the BLAKE2b-256 of its bytes, is never changed or deleted, and is
 *      checked against its name whenever it is read. Bytes that no longer match (the disk changed
 *      them) are replaced when a job computes bytes that do: the digest proves that they are equal.
 * (T6) At most one process owns a store: only the owner may run its jobs.
 * (T7) Neither the stored data nor the order of reading shows in which order reports arrived.
 *      dpotd(8), WHAT OTHERS SEE, says what a reader of the file still learns of an open round. */
#ifndef DPOT_STORE_STORE_H
#define DPOT_STORE_STORE_H

#include "base/buf.h"
#include "model/campaign.h"

enum revision_state {
    REVISION_DRAFT = 1,
    REVISION_OPEN = 2,
    REVISION_CLOSED = 3,
};

/* "draft", "open", "closed". */
const char *revision_state_name(enum revision_state state);

struct revision_record {
    uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN];
    uint32_t revision;
    uint8_t hash[DPOT_HASH_LEN];
    char name[DPOT_CAMPAIGN_NAME_MAX + 1];
    enum revision_state state;
    int64_t created_ms;
};

/* Validated reports of one (campaign hash, round), as one write: all indices, or all vectors of one
 * length. Statuses come back in the order of the reports. */
struct store_append {
    uint8_t hash[DPOT_HASH_LEN];
    uint32_t round;
    size_t n_reports;
    const struct dpot_report *reports; /* (n_reports) */
    const uint8_t *is_refused;         /* (n_reports) 1: do not store, leave statuses[i] as it is */
    enum dpot_report_status *statuses; /* (n_reports) set to accepted or duplicate */
};

struct pool_count {
    uint64_t n_accepted;
    uint64_t n_duplicate;
    uint64_t n_rejected[DPOT_REPORT_STATUS_END]; /* by status; since the store was created */
};

/* Why a batch that could be read was refused as a whole. The numbers are stored. */
enum drop_reason {
    DROP_UNKNOWN = 0,  /* no such campaign, or the batch is for another one */
    DROP_ROUND = 1,    /* the campaign has no such round, or reports of another length */
    DROP_NOT_OPEN = 2, /* the round has not opened */
    DROP_CLOSED = 3,   /* the round or the revision is closed */
    DROP_STORE = 4,    /* the store or memory failed: the device sends again */
    DROP_REASONS
};

/* "unknown", "round", "not_open", "closed", "store". */
const char *drop_reason_name(enum drop_reason reason);

struct store;

/* ---- opening and closing ---- */

/* Opens or creates a store and migrates an older schema. Other processes may have it open too.
 * DPOT_ERR_ARGUMENT: unknown URL scheme; DPOT_ERR_IO: not writable; DPOT_ERR_MALFORMED: of another
 * program; DPOT_ERR_VERSION: a newer schema; DPOT_ERR_CORRUPT: damaged, or not a database. */
DPOT_WARN_UNUSED dpot_status store_open(const char *url, struct store **store,
                                        struct dpot_error *error);

/* Validates a store before its older schema is migrated, and a copy before it gets its name.
 * `path`: of the store, or of the copy so far; it may be opened for reading.
 * Any status but DPOT_OK is returned to the caller: the store is unchanged, the copy is removed. */
struct store_validator {
    dpot_status (*validate)(void *ctx, const char *path, struct dpot_error *error);
    void *ctx;
};

/* store_open as the owner of the store (T6), from before the file is touched until store_close or
 * the end of the process, however it ends. `validator` may be NULL.
 * DPOT_ERR_BUSY: another process owns it; the sentence names the file and, if known, the process.
 * DPOT_ERR_STATE: the store is missing, empty or an older copy of the one that was owned before:
 * reports that it lacks would be counted again. */
DPOT_WARN_UNUSED dpot_status store_open_owned(const char *url,
                                              const struct store_validator *validator,
                                              struct store **store, struct dpot_error *error);

/* Opens an existing store to read it: nothing is created and no schema migrated.
 * DPOT_ERR_NOT_FOUND: there is no such file yet, or the store is in memory; DPOT_ERR_STATE: as for
 * store_open_owned, or it is not the file that is served; DPOT_ERR_VERSION: another schema. */
DPOT_WARN_UNUSED dpot_status store_open_existing(const char *url, struct store **store,
                                                 struct dpot_error *error);

/* The same for a store whose schema may be older: tables missing from an older schema read as
 * empty, and missing checksums of commits as correct. */
DPOT_WARN_UNUSED dpot_status store_open_old(const char *url, struct store **store,
                                            struct dpot_error *error);

/* Closes the store; NULL is allowed. An owned store whose file was removed or replaced is saved
 * beside it as PATH.rescued-TIME, and the watcher is called with DPOT_ERR_STATE. */
void store_close(struct store *store);

/* `watch` is called once when the store can accept nothing more, with the reason, and once with
 * DPOT_OK when it can again. On any thread, under the store's lock: it must not call the store. */
typedef void (*store_watcher)(void *ctx, dpot_status status, const char *sentence);
void store_watch(struct store *store, store_watcher watch, void *ctx);

/* Versions of the schema: the one found when the store was opened (0: new), and this program's. */
void store_get_schema(struct store *store, int *found, int *current);

/* ---- copies ---- */

/* Writes the whole store, as of one moment, into the new file `path`; others may read and write
 * meanwhile. In the copy all rounds are merged (store_merge), unless its schema is older.
 * `validator` may be NULL.
 * DPOT_ERR_EXISTS: there is such a file; any failure: no copy is left. */
DPOT_WARN_UNUSED dpot_status store_backup(struct store *store, const char *path,
                                          const struct store_validator *validator,
                                          struct dpot_error *error);

/* Writes an unmerged copy beside the store, as PATH.WHAT-TIME. `name` receives that path. */
#define STORE_PATH_SIZE 4400
DPOT_WARN_UNUSED dpot_status store_save(struct store *store, const char *what,
                                        const struct store_validator *validator,
                                        char name[STORE_PATH_SIZE], struct dpot_error *error);

/* Replaces a store that no process has open by the file `from`, in one step. `from`: a store on the
 * same file system that no process has open. `kept` receives the path under which the former store
 * is kept, or "" if there was none.
 * DPOT_ERR_BUSY: the store is served or open; DPOT_ERR_IO: the former store is there under one of
 * the two names. */
DPOT_WARN_UNUSED dpot_status store_replace(const char *url, const char *from,
                                           char kept[STORE_PATH_SIZE], struct dpot_error *error);

/* ---- checks ---- */

/* Cheap readiness check: the files are those that were opened, reading works, and writing is
 * possible; after a failed write it really writes. */
DPOT_WARN_UNUSED dpot_status store_check(struct store *store, struct dpot_error *error);

/* Really writes: a row that exists for this, and some MiB beside the store, removed at once.
 * DPOT_ERR_IO with a remedy: the disk is full, or a file is at its limit; DPOT_ERR_BUSY. */
DPOT_WARN_UNUSED dpot_status store_try_write(struct store *store, struct dpot_error *error);

/* Reads every page of the database, indexes included. DPOT_ERR_CORRUPT with a remedy. */
DPOT_WARN_UNUSED dpot_status store_check_structure(struct store *store, struct dpot_error *error);

/* Checks that the tables hold nothing that dpotd does not write: reports of unknown revisions,
 * tables and triggers of other programs, counts that are no counts or do not match, missing or
 * foreign blocks, jobs of unknown revisions or with times that do not fit their state.
 * `each` receives one sentence with its remedy for each kind of fault, under the store's lock. */
enum store_tables {
    STORE_SMALL_TABLES,      /* without blocks: fast, whatever their number */
    STORE_TABLES,            /* with blocks */
    STORE_TABLES_AND_COUNTS, /* and their number of reports, for a caller that does not read them */
};
typedef void (*store_each_fault)(void *ctx, const char *sentence);
DPOT_WARN_UNUSED dpot_status store_check_tables(struct store *store, enum store_tables which,
                                                store_each_fault each, void *ctx,
                                                struct dpot_error *error);

/* ---- revisions ---- */

/* Adds a draft revision with its signed bytes. DPOT_ERR_EXISTS: hash or (id, revision) exists. */
DPOT_WARN_UNUSED dpot_status store_add_revision(struct store *store,
                                                const struct revision_record *record,
                                                const void *signed_bytes, size_t len,
                                                struct dpot_error *error);

/* Opens or closes a revision. Opening it closes the open revision of the same campaign in the same
 * transaction. Setting the present state again succeeds.
 * DPOT_ERR_NOT_FOUND; DPOT_ERR_CLOSED: a closed revision never opens again; DPOT_ERR_ARGUMENT: back
 * to draft. */
DPOT_WARN_UNUSED dpot_status store_set_state(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                             enum revision_state state, struct dpot_error *error);

/* Calls `each` for every revision until it returns non-zero: newest campaign first, revisions
 * descending. */
typedef int (*store_each_revision)(void *ctx, const struct revision_record *record);
DPOT_WARN_UNUSED dpot_status store_list_revisions(struct store *store, store_each_revision each,
                                                  void *ctx, struct dpot_error *error);

/* Fills the record of a revision, by hash, or of a campaign: its open revision, else the newest
 * closed one, else the newest draft. Appends the signed bytes to `out`, which may be NULL.
 * DPOT_ERR_NOT_FOUND. */
DPOT_WARN_UNUSED dpot_status store_get_revision(struct store *store,
                                                const uint8_t hash[DPOT_HASH_LEN],
                                                struct revision_record *record,
                                                struct dpot_buf *out, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status store_find_campaign(struct store *store,
                                                 const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN],
                                                 struct revision_record *record,
                                                 struct dpot_buf *out, struct dpot_error *error);

/* ---- reports ---- */

/* Stores the new reports (T1, T2) and counts every status.
 * On failure nothing is stored or counted, and `statuses` is undefined. DPOT_ERR_NOT_FOUND: no such
 * revision; DPOT_ERR_CLOSED: it is not open; DPOT_ERR_SHAPE: indices and vectors, or vectors of
 * different lengths; DPOT_ERR_TOO_LARGE: more than PACKED_BLOCK_MAX bytes when packed;
 * DPOT_ERR_IO, DPOT_ERR_BUSY, DPOT_ERR_CORRUPT, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status store_append_reports(struct store *store,
                                                  const struct store_append *append,
                                                  struct dpot_error *error);

/* Group commit: several appends in one transaction, which is one sync. Of two reports with one id
 * the first in the given order is accepted.
 * outcomes (n): DPOT_OK, or why this append alone was refused, as by store_append_reports.
 * Returns the failure of the transaction: nothing of the group is stored or counted. The sentence
 * is that of the failure, or of the last refusal. */
DPOT_WARN_UNUSED dpot_status store_append_group(struct store *store,
                                                const struct store_append *const *appends, size_t n,
                                                dpot_status *outcomes, struct dpot_error *error);

/* Merges blocks of the closed rounds of a revision, those below `n_rounds`, so that the file no
 * longer shows which reports were committed together. One step takes some MiB of memory and log.
 * *has_merged: whether a step was done; call again until it is false. Failure: nothing changed. */
DPOT_WARN_UNUSED dpot_status store_merge(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                         uint32_t n_rounds, bool *has_merged,
                                         struct dpot_error *error);

/* Loads the ids of the newest rounds of open revisions, for which the first append would wait.
 * DPOT_ERR_IO, DPOT_ERR_CORRUPT, DPOT_ERR_MEMORY: the ids loaded so far are kept. */
DPOT_WARN_UNUSED dpot_status store_load_ids(struct store *store, struct dpot_error *error);

/* Memory of the sets of ids, by which duplicates are found. Does not wait for commits. */
struct store_id_usage {
    uint64_t n_ids, n_bytes;
};
void store_get_id_usage(struct store *store, struct store_id_usage *usage);

/* Revisions whose reports were found damaged since the store was opened: at its start, or when
 * reports were added, merged or read. A later read of the same reports that finds none takes the
 * damage away. Neither waits for commits.
 * is_damaged: `sentence`, which may be NULL, receives what was found, with its remedy. */
size_t store_count_damaged(struct store *store);
bool store_is_damaged(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                      struct dpot_error *sentence);

/* Counts of one revision over all rounds; zeros for a hash without reports. */
DPOT_WARN_UNUSED dpot_status store_count_pool(struct store *store,
                                              const uint8_t hash[DPOT_HASH_LEN],
                                              struct pool_count *count, struct dpot_error *error);

/* Counts over all revisions, and counts of dropped reports. */
DPOT_WARN_UNUSED dpot_status store_count_all(struct store *store, struct pool_count *count,
                                             uint64_t n_dropped[DROP_REASONS],
                                             struct dpot_error *error);

/* Adds to the counts of dropped reports. */
DPOT_WARN_UNUSED dpot_status store_add_drops(struct store *store, const uint64_t n[DROP_REASONS],
                                             struct dpot_error *error);

/* Calls `each` for every report of a revision that was accepted before this call, by round and then
 * in the order of ids as bytes, until it returns non-zero. Reports accepted meanwhile may be
 * included, but no round is read twice. The values of a report are valid during that call only.
 * At most 64 MiB of a round are in memory; a larger round uses an unlinked file in /tmp.
 * DPOT_ERR_CORRUPT: after the rounds before the damage, or at the end when fewer or more reports
 * were found than counted; DPOT_ERR_IO: /tmp is full; DPOT_ERR_MEMORY. */
typedef int (*store_each_report)(void *ctx, uint32_t round, const struct dpot_report *report);
DPOT_WARN_UNUSED dpot_status store_read_pool(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                             store_each_report each, void *ctx,
                                             struct dpot_error *error);

/* ---- jobs: one row a run (jobs/runner.h has the state diagram) ---- */

#define JOB_ID_LEN 16
#define JOB_KIND_SIZE 33
#define JOB_PARAMETERS_SIZE 2049
#define JOB_SENTENCE_SIZE 400
#define JOB_ATTEMPTS_MAX 3 /* of a job during which the process ends each time */

enum job_state {
    JOB_QUEUED = 1,
    JOB_RUNNING = 2,
    JOB_DONE = 3,
    JOB_FAILED = 4,
    JOB_CANCELLED = 5,
};

/* "queued", "running", "done", "failed", "cancelled". */
const char *job_state_name(enum job_state state);

struct job_record {
    uint8_t id[JOB_ID_LEN];
    char kind[JOB_KIND_SIZE];
    uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN];
    uint8_t hash[DPOT_HASH_LEN];          /* of its revision */
    uint32_t revision;                    /* its number; read only; 0: not in the store */
    enum revision_state revision_state;   /* when the record was read; read only */
    char parameters[JOB_PARAMETERS_SIZE]; /* JSON */
    enum job_state state;
    uint64_t n_done, n_total;                 /* progress; n_total 0: not known yet */
    uint32_t n_attempts;                      /* number of starts */
    int64_t created_ms, started_ms, ended_ms; /* 0: not yet */
    char sentence[JOB_SENTENCE_SIZE];         /* why it failed; else empty */
    uint8_t artifact[DPOT_HASH_LEN];          /* digest when the job is done; else zeros */
};

/* Adds a queued job: id, kind, campaign, hash, parameters and created_ms of the record.
 * DPOT_ERR_EXISTS: the id is stored; DPOT_ERR_BUSY: JOB_QUEUED_MAX jobs are queued. */
#define JOB_QUEUED_MAX 100
DPOT_WARN_UNUSED dpot_status store_add_job(struct store *store, const struct job_record *record,
                                           struct dpot_error *error);

/* DPOT_ERR_NOT_FOUND. */
DPOT_WARN_UNUSED dpot_status store_get_job(struct store *store, const uint8_t id[JOB_ID_LEN],
                                           struct job_record *record, struct dpot_error *error);

/* The job that was queued first. DPOT_ERR_NOT_FOUND without a sentence when none is queued. */
DPOT_WARN_UNUSED dpot_status store_next_job(struct store *store, struct job_record *record,
                                            struct dpot_error *error);

/* Calls `each` for every job, newest first, until it returns non-zero; few at a time are in memory.
 * after: the id of a job: only for those that are older; NULL: for all.
 * DPOT_ERR_NOT_FOUND: no job has the id `after`. */
typedef int (*store_each_job)(void *ctx, const struct job_record *record);
DPOT_WARN_UNUSED dpot_status store_list_jobs(struct store *store, const uint8_t *after,
                                             store_each_job each, void *ctx,
                                             struct dpot_error *error);

/* Writes state, progress, attempts, times and sentence of a job that has not ended; any state but
 * JOB_DONE (store_finish_job).
 * DPOT_ERR_NOT_FOUND; DPOT_ERR_STATE: the job has ended; DPOT_ERR_ARGUMENT. */
DPOT_WARN_UNUSED dpot_status store_update_job(struct store *store, const struct job_record *record,
                                              struct dpot_error *error);

/* Stores an artifact and sets the job to JOB_DONE with it (T4); fills record->artifact and
 * record->state. An artifact that is stored already is kept, and repaired if it is damaged (T5).
 * Status as for store_update_job; DPOT_ERR_CORRUPT: the damage is not in that artifact alone. */
DPOT_WARN_UNUSED dpot_status store_finish_job(struct store *store, struct job_record *record,
                                              const void *artifact, size_t len,
                                              struct dpot_error *error);

/* Queues the jobs that an ended process left running again, without progress; those with
 * JOB_ATTEMPTS_MAX attempts fail, at now_ms. */
DPOT_WARN_UNUSED dpot_status store_requeue_jobs(struct store *store, int64_t now_ms,
                                                struct dpot_error *error);

/* Appends the bytes of an artifact to `out`.
 * DPOT_ERR_NOT_FOUND; the sentence names the job if there is one whose artifact this is;
 * DPOT_ERR_CORRUPT: the bytes do not have this digest (T5). */
DPOT_WARN_UNUSED dpot_status store_get_artifact(struct store *store,
                                                const uint8_t digest[DPOT_HASH_LEN],
                                                struct dpot_buf *out, struct dpot_error *error);

/* Reads every artifact. Calls `each` for every damaged one (T5), with the newest job that made it
 * or NULL, and then for every missing artifact of a job that is done (T4), with the newest such
 * job, until it returns non-zero. DPOT_ERR_CORRUPT: the tables cannot be read. */
typedef int (*store_each_damage)(void *ctx, const uint8_t digest[DPOT_HASH_LEN],
                                 const struct job_record *job, bool is_missing);
DPOT_WARN_UNUSED dpot_status store_check_artifacts(struct store *store, store_each_damage each,
                                                   void *ctx, struct dpot_error *error);

#endif

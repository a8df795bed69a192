/* The store: campaigns' signed revisions, accepted reports, jobs and artifacts, durable.
 *
 * One call is one transaction. Several threads may call one store (it serialises writers itself).
 * Backends are rows of a table in store.c, chosen by the URL: "sqlite:PATH" ("sqlite::memory:" for
 * simulations).
 *
 * Callbacks run on the calling thread, outside the store's lock.
 *
 * Invariants
 * (T1) A call that returned DPOT_OK is on disk (synchronous=FULL), in files that have their names: a
 *      store whose files were removed, renamed or replaced takes nothing more.
 * (T2) A report id is stored at most once within (campaign hash, round): ids are compared exactly.
 * (T3) Reports are never changed or deleted; pools only grow until their revision closes.
 * (T4) A job that has ended never changes, and it is done exactly when its artifact is stored.
 * (T5) An artifact is named by the BLAKE2b-256 of its bytes, never changed or deleted, and checked
 *      against its name whenever it is read. Bytes that no longer have their name (the disk changed
 *      them) are replaced when a job computes bytes that do: the digest proves that those are they.
 * (T6) At most one process owns a store: only an owner may run its jobs.
 * (T7) Nothing tells in which order reports came: neither how they are stored, nor how they are read. The page on
 *      dpotd says what a reader of the file still sees of a round that is not over. */
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

/* Reports of one (campaign hash, round), checked, as one write: all of an index, or all of a vector of
 * one length. Statuses come back in order. */
struct store_append {
    uint8_t hash[DPOT_HASH_LEN];
    uint32_t round;
    size_t n_reports;
    const struct dpot_report *reports; /* (n_reports) */
    const uint8_t *is_refused;         /* (n_reports) 1: leave statuses[i] alone, do not store */
    enum dpot_report_status *statuses; /* (n_reports) accepted or duplicate is written */
};

struct pool_count {
    uint64_t n_accepted;
    uint64_t n_duplicate;
    uint64_t n_rejected[DPOT_REPORT_STATUS_END]; /* by status; kept since the store was made */
};

/* Why a batch was refused whole although it could be read. The numbers are in the store. */
enum drop_reason {
    DROP_UNKNOWN = 0,  /* no such campaign, or the batch is for another one */
    DROP_ROUND = 1,    /* the campaign has no such round, or reports of another length */
    DROP_NOT_OPEN = 2, /* the round has not begun */
    DROP_CLOSED = 3,   /* the round or the revision is over */
    DROP_STORE = 4,    /* the store or memory failed: the device sends again */
    DROP_REASONS
};

/* "unknown", "round", "not_open", "closed", "store". */
const char *drop_reason_name(enum drop_reason reason);

struct store;

/* Opens or creates, and brings an older schema up to date. DPOT_ERR_ARGUMENT for an unknown URL scheme,
 * DPOT_ERR_IO with a sentence (unwritable folder, not a database), DPOT_ERR_VERSION for a schema newer
 * than this program. Others may have the store open too. */
DPOT_WARN_UNUSED dpot_status store_open(const char *url, struct store **store,
                                        struct dpot_error *error);

/* Ends everything; NULL is allowed. An owned store whose file was removed or replaced is saved beside it, as
 * PATH.rescued-TIME, and the watch is told with DPOT_ERR_STATE. */
void store_close(struct store *store);

/* `watch` is told, once and again when there is something new, that the store can take nothing more and
 * why, and with DPOT_OK that it can again. On any thread, under the store's lock: it must not call the
 * store. */
typedef void (*store_watcher)(void *ctx, dpot_status status, const char *sentence);
void store_watch(struct store *store, store_watcher watch, void *ctx);

/* Who is asked before a store with an older schema is brought up to date, and before a copy gets its name: `path`
 * is that of the store, or of the copy until then. What it returns but DPOT_OK is returned, and nothing is done to
 * the store; a copy is removed. It may open what it judges, to look. */
struct store_judge {
    dpot_status (*judge)(void *ctx, const char *path, struct dpot_error *error);
    void *ctx;
};

/* store_open as the store's owner (T6), from before the file is touched until store_close or the end of
 * the process, however it ends. `judge` may be NULL. DPOT_ERR_BUSY: another owns it; the sentence names
 * the file and, where it is known, the process. DPOT_ERR_STATE: there is no store now, or an empty file,
 * or an older copy, where there was one when it was owned before: what is missing would be counted again. */
DPOT_WARN_UNUSED dpot_status store_open_owned(const char *url, const struct store_judge *judge,
                                              struct store **store, struct dpot_error *error);

/* Opens what is there, to look: nothing is created and no schema changed. DPOT_ERR_NOT_FOUND: there is
 * no such file yet (or it lives in memory only); DPOT_ERR_STATE: there was one, or another file than
 * the one that is served; DPOT_ERR_VERSION: an older or newer schema. */
DPOT_WARN_UNUSED dpot_status store_open_existing(const char *url, struct store **store,
                                                 struct dpot_error *error);

/* The same of one whose schema may be older: what that has not reads as empty, and as checksum of a commit
 * counts whatever belongs to it. */
DPOT_WARN_UNUSED dpot_status store_open_old(const char *url, struct store **store,
                                            struct dpot_error *error);

/* Versions of the schema: as it was found when the store was opened (0: it is new), and this program's. */
void store_get_schema(struct store *store, int *found, int *current);

/* Writes the whole store, as of one moment, into a new file; others may read and write meanwhile. In the copy all
 * rounds are merged (store_merge), unless the schema is older.
 * DPOT_ERR_EXISTS: there is such a file; DPOT_ERR_IO, ..., or what the judge says: none was left. */
DPOT_WARN_UNUSED dpot_status store_backup(struct store *store, const char *path,
                                          const struct store_judge *judge,
                                          struct dpot_error *error);

/* The same beside itself, as PATH.WHAT-TIME: `name` gets that. */
#define STORE_PATH_SIZE 4400
DPOT_WARN_UNUSED dpot_status store_save(struct store *store, const char *what,
                                        const struct store_judge *judge, char name[STORE_PATH_SIZE],
                                        struct dpot_error *error);

/* Puts the file `from`, a store that nobody has open, of the same file system, in the place of a store
 * that nobody has open or serves, in one step. `kept` gets the name under which the former one is kept;
 * empty: there was none. DPOT_ERR_BUSY: it is served, or open; DPOT_ERR_IO: what was there is there under
 * one of the two names. */
DPOT_WARN_UNUSED dpot_status store_replace(const char *url, const char *from,
                                           char kept[STORE_PATH_SIZE], struct dpot_error *error);

/* Cheap liveness check: that the files are the ones that were opened, a read, and that writing is
 * possible; after a write that failed, a write. */
DPOT_WARN_UNUSED dpot_status store_check(struct store *store, struct dpot_error *error);

/* Really writes: a row that is there for this, and some MiB beside the store that are gone at once.
 * DPOT_ERR_IO with a remedy: the disk is full, or a file at its limit; DPOT_ERR_BUSY. */
DPOT_WARN_UNUSED dpot_status store_try_write(struct store *store, struct dpot_error *error);

/* Reads the whole file, also what no other function looks at (indexes), as the database lays it out.
 * DPOT_ERR_CORRUPT with a remedy. */
DPOT_WARN_UNUSED dpot_status store_check_structure(struct store *store, struct dpot_error *error);

/* Whether the tables hold what no dpotd puts there: reports of unknown revisions, tables and triggers of
 * others, counts that are none or not of what is there, commits that are gone or came from elsewhere, jobs of
 * unknown revisions or whose times do not go with their state. `each` gets one sentence, with its remedy,
 * for each kind that is there, under the store's lock. */
enum store_tables {
    STORE_SMALL_TABLES,      /* without the commits: at once, however many there are */
    STORE_TABLES,            /* with them */
    STORE_TABLES_AND_COUNTS, /* and as many reports as were counted: for who does not read them all */
};
typedef void (*store_each_fault)(void *ctx, const char *sentence);
DPOT_WARN_UNUSED dpot_status store_check_tables(struct store *store, enum store_tables which,
                                                store_each_fault each, void *ctx,
                                                struct dpot_error *error);

/* Adds a draft revision with its signed bytes. DPOT_ERR_EXISTS: hash or (id, revision) is there. */
DPOT_WARN_UNUSED dpot_status store_add_revision(struct store *store,
                                                const struct revision_record *record,
                                                const void *signed_bytes, size_t len,
                                                struct dpot_error *error);

/* Opens or closes a revision; opening it closes whichever other revision of the campaign is open,
 * in the same transaction. A state it has already is no error. DPOT_ERR_NOT_FOUND; DPOT_ERR_CLOSED:
 * a closed revision never opens again; DPOT_ERR_ARGUMENT: back to draft. */
DPOT_WARN_UNUSED dpot_status store_set_state(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                             enum revision_state state, struct dpot_error *error);

/* Calls `each` for every revision, newest campaign first, revisions descending; stops when it
 * returns non-zero. */
typedef int (*store_each_revision)(void *ctx, const struct revision_record *record);
DPOT_WARN_UNUSED dpot_status store_list_revisions(struct store *store, store_each_revision each,
                                                  void *ctx, struct dpot_error *error);

/* Appends the signed bytes of a revision to `out` (which may be NULL) and fills its record. By
 * hash; or the newest revision of a campaign id that is open, else closed, else a draft.
 * DPOT_ERR_NOT_FOUND. */
DPOT_WARN_UNUSED dpot_status store_get_revision(struct store *store,
                                                const uint8_t hash[DPOT_HASH_LEN],
                                                struct revision_record *record,
                                                struct dpot_buf *out, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status store_find_campaign(struct store *store,
                                                 const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN],
                                                 struct revision_record *record,
                                                 struct dpot_buf *out, struct dpot_error *error);

/* Stores what is new (T1, T2) and counts every status. On failure nothing of the batch is stored or
 * counted, and `statuses` is undefined. DPOT_ERR_NOT_FOUND (no such revision), DPOT_ERR_CLOSED (it
 * is not open), DPOT_ERR_SHAPE (indices and vectors, or vectors of different lengths, in one batch),
 * DPOT_ERR_TOO_LARGE (more than PACKED_BLOCK_MAX bytes as packed), DPOT_ERR_IO, DPOT_ERR_BUSY,
 * DPOT_ERR_CORRUPT, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status store_append_reports(struct store *store,
                                                  const struct store_append *append,
                                                  struct dpot_error *error);

/* Group commit: several appends in one transaction, which is one sync. Of two reports with one id the first in
 * the order given is accepted. outcomes (n): DPOT_OK; or why the append was refused by
 * itself, the others untouched, as by store_append_reports. A failure of the transaction is returned,
 * and nothing of the group is stored or counted. The sentence is that of the failure, or of the last
 * refusal. */
DPOT_WARN_UNUSED dpot_status store_append_group(struct store *store,
                                                const struct store_append *const *appends, size_t n,
                                                dpot_status *outcomes, struct dpot_error *error);

/* For rounds that are over, those below `n_rounds`, of a revision: mixes reports that came in different commits, so
 * that the file tells no more which of them came together. One step, of some MiB in memory and in the log;
 * `has_merged` says whether it did one: call again until it did not. DPOT_ERR_IO, DPOT_ERR_CORRUPT, ...:
 * nothing changed. */
DPOT_WARN_UNUSED dpot_status store_merge(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                         uint32_t n_rounds, bool *has_merged,
                                         struct dpot_error *error);

/* Reads the ids of the newest rounds of open revisions, which the first append would otherwise wait for.
 * DPOT_ERR_IO, DPOT_ERR_CORRUPT, DPOT_ERR_MEMORY: what was read stays. */
DPOT_WARN_UNUSED dpot_status store_load_ids(struct store *store, struct dpot_error *error);

/* What the store keeps in memory to know duplicates. */
struct store_weight {
    uint64_t n_ids, n_id_bytes;
};
void store_weigh(struct store *store, struct store_weight *weight);

/* Counts of one revision over all rounds; zeros for a hash without reports. */
DPOT_WARN_UNUSED dpot_status store_count_pool(struct store *store,
                                              const uint8_t hash[DPOT_HASH_LEN],
                                              struct pool_count *count, struct dpot_error *error);

/* Counts over all revisions, and of reports that were dropped. */
DPOT_WARN_UNUSED dpot_status store_count_all(struct store *store, struct pool_count *count,
                                             uint64_t n_dropped[DROP_REASONS],
                                             struct dpot_error *error);

/* Adds to the counts of dropped reports. */
DPOT_WARN_UNUSED dpot_status store_add_drops(struct store *store, const uint64_t n[DROP_REASONS],
                                             struct dpot_error *error);

/* Calls `each` for every report of a revision accepted before this call, by round and then in the order of ids
 * as bytes, until it returns non-zero; reports that are accepted meanwhile may be among them, but no round is
 * read again. The report's values are valid during the call only. DPOT_ERR_CORRUPT after the rounds before it,
 * or at the end, when they are not as many as were counted; DPOT_ERR_MEMORY; DPOT_ERR_IO: a round is larger than
 * 64 MiB, which are in memory at a time, and its file does not fit /tmp. */
typedef int (*store_each_report)(void *ctx, uint32_t round, const struct dpot_report *report);
DPOT_WARN_UNUSED dpot_status store_read_pool(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                             store_each_report each, void *ctx,
                                             struct dpot_error *error);

/* Jobs: one row a run (jobs/runner.h has the state diagram). */

#define JOB_ID_LEN 16
#define JOB_KIND_SIZE 33
#define JOB_PARAMETERS_SIZE 2049
#define JOB_SENTENCE_SIZE 400
#define JOB_ATTEMPTS_MAX 3 /* of a job whose process dies each time */

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
    uint8_t hash[DPOT_HASH_LEN];          /* the revision it is about */
    uint32_t revision;                    /* its number; read, never written; 0: it is not there */
    enum revision_state revision_state;   /* likewise, as of the reading */
    char parameters[JOB_PARAMETERS_SIZE]; /* JSON */
    enum job_state state;
    uint64_t n_done, n_total;                 /* progress; n_total 0: not known yet */
    uint32_t n_attempts;                      /* how often it was begun */
    int64_t created_ms, started_ms, ended_ms; /* 0: not yet */
    char sentence[JOB_SENTENCE_SIZE];         /* why it failed; else empty */
    uint8_t artifact[DPOT_HASH_LEN];          /* its digest, when it is done; else zeros */
};

/* Adds a queued job: id, kind, campaign, hash, parameters and created_ms of the record.
 * DPOT_ERR_EXISTS: the id is there. */
DPOT_WARN_UNUSED dpot_status store_add_job(struct store *store, const struct job_record *record,
                                           struct dpot_error *error);

/* DPOT_ERR_NOT_FOUND. */
DPOT_WARN_UNUSED dpot_status store_get_job(struct store *store, const uint8_t id[JOB_ID_LEN],
                                           struct job_record *record, struct dpot_error *error);

/* The job that has waited longest. DPOT_ERR_NOT_FOUND without a sentence when none is queued. */
DPOT_WARN_UNUSED dpot_status store_next_job(struct store *store, struct job_record *record,
                                            struct dpot_error *error);

/* Calls `each` for every job, newest first; stops when it returns non-zero. */
typedef int (*store_each_job)(void *ctx, const struct job_record *record);
DPOT_WARN_UNUSED dpot_status store_list_jobs(struct store *store, store_each_job each, void *ctx,
                                             struct dpot_error *error);

/* Writes state, progress, attempts, times and sentence of a job that has not ended; any state but
 * done, which store_finish_job gives. DPOT_ERR_NOT_FOUND; DPOT_ERR_STATE: it has ended;
 * DPOT_ERR_ARGUMENT. */
DPOT_WARN_UNUSED dpot_status store_update_job(struct store *store, const struct job_record *record,
                                              struct dpot_error *error);

/* Stores an artifact and makes the job done with it (T4); fills record->artifact and record->state.
 * Bytes that are stored already are no error, and damaged ones are repaired (T5). Status as
 * store_update_job; DPOT_ERR_CORRUPT: the file is damaged beyond that artifact. */
DPOT_WARN_UNUSED dpot_status store_finish_job(struct store *store, struct job_record *record,
                                              const void *artifact, size_t len,
                                              struct dpot_error *error);

/* Jobs that a dead process left running are queued again, without progress; after JOB_ATTEMPTS_MAX
 * attempts they have failed, at now_ms. */
DPOT_WARN_UNUSED dpot_status store_requeue_jobs(struct store *store, int64_t now_ms,
                                                struct dpot_error *error);

/* Appends the bytes of an artifact. DPOT_ERR_NOT_FOUND, also when it is missing although a job names it,
 * which the sentence says then; DPOT_ERR_CORRUPT: not the bytes that were
 * stored (T5). */
DPOT_WARN_UNUSED dpot_status store_get_artifact(struct store *store,
                                                const uint8_t digest[DPOT_HASH_LEN],
                                                struct dpot_buf *out, struct dpot_error *error);

/* Reads every artifact and calls `each` for those that are damaged (T5), with the newest job that made
 * it; NULL when no job names it any more. Then for those that are missing although a job names them
 * (T4), with the newest such job. Stops when it returns non-zero. DPOT_ERR_CORRUPT: the file is
 * damaged so that it cannot be told. */
typedef int (*store_each_damage)(void *ctx, const uint8_t digest[DPOT_HASH_LEN],
                                 const struct job_record *job, bool is_missing);
DPOT_WARN_UNUSED dpot_status store_check_artifacts(struct store *store, store_each_damage each,
                                                   void *ctx, struct dpot_error *error);

#endif

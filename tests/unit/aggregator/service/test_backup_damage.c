/* Stores with faults are not copied. */
#include "base/clock.h"
#include "dpotd/backup.h"
#include "dpotd/init.h"
#include "keys/keys.h"
#include "model/artifact.h"
#include "store/database.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_REPORTS 6 /* three commits of two */
#define FIRST_BLOCK " WHERE first = (SELECT min(first) FROM block)"

static char folder[FIXTURE_PATH_SIZE], copy[FIXTURE_PATH_SIZE], store_path[FIXTURE_PATH_SIZE];
static struct config config;
static char reported[4096]; /* one line each */

static void note(void *ctx, dpot_status status, const char *sentence)
{
    (void)ctx;
    (void)snprintf(reported + strlen(reported), sizeof reported - strlen(reported), "%s%s\n",
                   status == DPOT_OK ? "note: " : "", sentence);
}

static const struct service_check_options options = {.report = note};

static void append(struct store *store, const uint8_t hash[DPOT_HASH_LEN], uint32_t first)
{
    const struct dpot_report reports[2] = {fixture_report(first), fixture_report(first + 1)};
    const uint8_t is_refused[2] = {0, 0};
    enum dpot_report_status statuses[2];
    struct store_append batch = {
        .n_reports = 2, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    memcpy(batch.hash, hash, sizeof batch.hash);
    cr_assert_eq(store_append_reports(store, &batch, NULL), DPOT_OK);
}

static void fill(struct store *store, struct registry *registry)
{
    struct revision_record record;
    struct dpot_error error = {{0}};
    json_t *spec = fixture_spec();
    struct dpot_buf artifact;
    struct job_record job = {.id = {0xAB}, .kind = "estimate", .parameters = "{}"};
    cr_assert_eq(registry_create(registry, spec, &record, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(registry_open_campaign(registry, record.campaign_id, &record, NULL, &error),
                 DPOT_OK, "%s", error.text);
    for (uint32_t i = 0; i < N_REPORTS; i += 2) {
        append(store, record.hash, i);
    }
    memcpy(job.campaign_id, record.campaign_id, sizeof job.campaign_id);
    memcpy(job.hash, record.hash, sizeof job.hash);
    job.created_ms = job.started_ms = job.ended_ms = FIXTURE_NOW_MS;
    job.n_attempts = 1;
    cr_assert_eq(store_add_job(store, &job, &error), DPOT_OK, "%s", error.text);
    dpot_buf_init(&artifact, DPOT_ARTIFACT_BYTES_MAX, NULL);
    fixture_artifact(&job, &artifact);
    cr_assert_eq(store_finish_job(store, &job, artifact.data, artifact.len, &error), DPOT_OK, "%s",
                 error.text);
    dpot_buf_release(&artifact);
    json_decref(spec);
}

/* An installation whose store holds reports of an open campaign and a job with its artifact. */
static void set_up(void)
{
    struct init_result result;
    struct server_keys keys;
    struct test_clock clock;
    struct store *store = NULL;
    struct registry *registry = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_init(), DPOT_OK);
    test_clock_init(&clock, FIXTURE_NOW_MS);
    fixture_folder(folder);
    fixture_path(copy, folder, "copy.db");
    fixture_path(store_path, folder, "dpot.db");
    reported[0] = '\0';
    cr_assert_eq(init_run(folder, "127.0.0.1:0", dpot_clock_system(), &result, &error), DPOT_OK,
                 "%s", error.text);
    cr_assert_eq(config_read(result.config_path, &config, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(server_keys_read(config.keys_dir, &keys, NULL), DPOT_OK);
    cr_assert_eq(store_open_owned(config.store, NULL, &store, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(registry_new(store, keys.secret_key, &clock.clock, &registry, NULL), DPOT_OK);
    fill(store, registry);
    registry_free(registry);
    store_close(store);
    server_keys_wipe(&keys);
}

static void tear_down(void)
{
    fixture_remove(folder);
}

TestSuite(backup_damage, .init = set_up, .fini = tear_down);

/* Runs statements on the store's file directly. */
static void tamper(const char *sql)
{
    struct database *database = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(database_open_old(store_path, &database, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(database_execute(database, "tampering", sql, &error), DPOT_OK, "%s: %s", sql,
                 error.text);
    database_close(database);
}

static bool is_there(const char *name)
{
    char path[FIXTURE_PATH_SIZE];
    fixture_path(path, folder, name);
    return access(path, F_OK) == 0;
}

static size_t count_temporary(void)
{
    DIR *dir = opendir(folder);
    size_t n = 0;
    cr_assert_not_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        n += strstr(e->d_name, ".tmp") != NULL;
    }
    (void)closedir(dir);
    return n;
}

static void refuse_backup(const char *sql, const char *word)
{
    struct backup_made made;
    struct dpot_error error = {{0}};
    reported[0] = '\0';
    cr_assert_eq(backup_make(&config, copy, &options, &made, &error), DPOT_ERR_CORRUPT, "%s: %s",
                 sql, error.text);
    cr_assert(strstr(reported, word) || strstr(error.text, word), "%s: %s %s", sql, error.text,
              reported);
    cr_assert_not_null(strstr(error.text, "restore"), "%s", error.text);
    cr_assert_not(is_there("copy.db"), "%s", sql);
    cr_assert_eq(count_temporary(), 0, "%s", sql);
}

Test(backup_damage, a_store_with_a_fault_is_not_copied_and_the_older_copy_stays)
{
    static const struct {
        const char *sql, *word;
    } faults[] = {
        {"UPDATE block SET reports = x'ff' || substr(reports, 2)" FIRST_BLOCK, "(block "},
        {"UPDATE block SET sum = zeroblob(16)" FIRST_BLOCK, "(block "},
        {"DELETE FROM block" FIRST_BLOCK, "holds 0 reports and counted 6"},
        {"UPDATE pool_count SET n = n + 1 WHERE status = 1", "counted 7"},
        {"UPDATE revision SET signed = substr(signed, 2)", "does not verify"},
        {"UPDATE artifact SET bytes = x'00'", "is damaged"},
        {"UPDATE job SET kind = 'estimatf'", "the kind of job ab00"},
        {"UPDATE job SET parameters = '{\"a\":1}'", "the parameters of job ab00"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char older[FIXTURE_PATH_SIZE];
        struct backup_made made;
        struct stat before, after;
        struct dpot_error error = {{0}};
        fixture_path(older, folder, "older.db");
        cr_assert_eq(backup_make(&config, older, &options, &made, &error), DPOT_OK, "%s %s",
                     error.text, reported);
        cr_assert_eq(made.count.n_accepted, N_REPORTS);
        cr_assert_str_eq(reported, "");
        cr_assert_eq(stat(older, &before), 0);
        tamper(faults[i].sql);
        refuse_backup(faults[i].sql, faults[i].word);
        cr_assert_eq(stat(older, &after), 0);
        cr_assert(before.st_ino == after.st_ino && before.st_size == after.st_size &&
                  before.st_mtime == after.st_mtime);
        struct backup_restored restored;
        reported[0] = '\0';
        cr_assert_eq(backup_restore(&config, older, &options, &restored, &error), DPOT_OK, "%s %s",
                     error.text, reported);
        cr_assert_eq(restored.count.n_accepted, N_REPORTS);
        (void)unlink(older);
    }
}

Test(backup_damage, a_store_with_an_inconsistent_index_is_not_copied)
{
    tamper("PRAGMA writable_schema = ON;"
           "UPDATE sqlite_schema SET sql = 'CREATE INDEX job_state ON job (state, seq) "
           "WHERE seq > 1' WHERE name = 'job_state';"
           "PRAGMA writable_schema = RESET;");
    tamper("REINDEX job_state");
    tamper("PRAGMA writable_schema = ON;"
           "UPDATE sqlite_schema SET sql = 'CREATE INDEX job_state ON job (state, seq)'"
           " WHERE name = 'job_state';"
           "PRAGMA writable_schema = RESET;");
    refuse_backup("an index that misses a row", "missing from index job_state");
}

/* Without keys the reports can still be copied. */
Test(backup_damage, without_keys_a_copy_is_made_and_its_signatures_are_reported_as_unchecked)
{
    char key[FIXTURE_PATH_SIZE];
    struct backup_made made;
    struct dpot_error error = {{0}};
    fixture_path(key, folder, "keys/signing.key");
    cr_assert_eq(unlink(key), 0);
    cr_assert_eq(backup_make(&config, copy, &options, &made, &error), DPOT_OK, "%s %s", error.text,
                 reported);
    cr_assert_eq(made.count.n_accepted, N_REPORTS);
    cr_assert_eq(strncmp(reported, "note: the signatures of campaigns are not checked", 49), 0,
                 "%s", reported);
    cr_assert_not_null(strstr(reported, "signing.key"), "%s", reported);
}

/* ---- older schemas ---- */

/* Makes the store as a program of that version would have made it. */
static void age(int version)
{
    static const char *const steps[] = {NULL, "DROP TABLE job; DROP TABLE artifact",
                                        "DROP TABLE drop_count", "DROP TABLE commit_sum"};
    char head[128], lock[FIXTURE_PATH_SIZE];
    for (size_t i = 0; i < FIXTURE_N_TO_VERSION_4; i++) {
        tamper(fixture_to_version_4[i]);
    }
    for (int i = 3; i >= version; i--) {
        tamper(steps[i]);
    }
    (void)snprintf(head, sizeof head,
                   "PRAGMA user_version = %d; DELETE FROM schema_version WHERE version > %d",
                   version, version);
    tamper(head);
    fixture_path(lock, folder, "dpot.db-lock"); /* it has the newer version */
    (void)unlink(lock);
}

Test(backup_damage, a_store_of_an_older_schema_is_copied_unchanged_and_migrated_when_restored)
{
    for (int version = 4; version >= 1; version--) {
        struct backup_made made;
        struct backup_restored restored;
        struct dpot_error error = {{0}};
        age(version);
        cr_assert_eq(backup_make(&config, copy, &options, &made, &error), DPOT_OK, "%s %s",
                     error.text, reported);
        cr_assert_eq(made.schema, version);
        cr_assert_eq(made.current, 5);
        cr_assert_eq(made.count.n_accepted, N_REPORTS);
        cr_assert_eq(fixture_ask(copy, "SELECT max(version) FROM schema_version"), version);
        cr_assert_eq(fixture_ask(store_path, "SELECT max(version) FROM schema_version"), version,
                     "the store stays as it is");
        cr_assert_eq(backup_restore(&config, copy, &options, &restored, &error), DPOT_OK, "%s %s",
                     error.text, reported);
        cr_assert_eq(restored.count.n_accepted, N_REPORTS);
        cr_assert_eq(fixture_ask(store_path, "SELECT max(version) FROM schema_version"), 5);
        cr_assert_eq(fixture_ask(store_path, "SELECT count(*) FROM main.block"), N_REPORTS / 2);
        cr_assert_eq(fixture_ask(restored.kept, "SELECT max(version) FROM schema_version"), version,
                     "what was replaced too");
        cr_assert_eq(unlink(copy), 0);
    }
}

/* Damage that a store of version 3 can show without checksums. */
static const struct {
    const char *sql, *word;
} old_faults[] = {
    {"UPDATE commits SET reports = substr(reports, 2) WHERE seq = 2", "(block 2"},
    {"UPDATE commits SET reports = substr(reports, 1, 16) || x'ff' || substr(reports, 18)"
     " WHERE seq = 2",
     "none of the campaign"},
    {"UPDATE commits SET reports = substr(reports, 1, 28) || substr(reports, 1, 28) WHERE seq = 2",
     "1 stored report is there twice"},
    {"DELETE FROM commits WHERE seq = 2", "holds 4 reports and counted 6"},
    {"UPDATE commits SET hash = zeroblob(32) WHERE seq = 3", "not in the store"},
    {"UPDATE revision SET signed = substr(signed, 2)", "does not verify"},
    {"UPDATE artifact SET bytes = x'00'", "is damaged"},
};
#define N_OLD_FAULTS (sizeof old_faults / sizeof old_faults[0])

static size_t read_bytes(const char *path, char *out, size_t cap)
{
    FILE *in = fopen(path, "rb");
    cr_assert_not_null(in);
    const size_t n = fread(out, 1, cap, in);
    cr_assert(n > 0 && n < cap);
    (void)fclose(in);
    return n;
}

/* A second copy of the store under another name. */
static void duplicate(const char *from, const char *to)
{
    static char bytes[1 << 20];
    const size_t n = read_bytes(from, bytes, sizeof bytes);
    FILE *out = fopen(to, "wb");
    cr_assert_not_null(out);
    cr_assert_eq(fwrite(bytes, 1, n, out), n);
    cr_assert_eq(fclose(out), 0);
}

Test(backup_damage, a_fault_of_an_older_schema_is_neither_copied_nor_restored)
{
    char whole[FIXTURE_PATH_SIZE];
    fixture_path(whole, folder, "whole.db");
    age(3);
    duplicate(store_path, whole);
    for (size_t i = 0; i < N_OLD_FAULTS; i++) {
        struct backup_restored restored;
        tamper(old_faults[i].sql);
        refuse_backup(old_faults[i].sql, old_faults[i].word);
        duplicate(store_path, copy);
        reported[0] = '\0';
        cr_assert_eq(backup_restore(&config, copy, &options, &restored, NULL), DPOT_ERR_CORRUPT,
                     "%s", old_faults[i].sql);
        cr_assert_not_null(strstr(reported, old_faults[i].word), "%s: %s", old_faults[i].sql,
                           reported);
        cr_assert_not(is_there("dpot.db.restoring"));
        cr_assert_eq(unlink(copy), 0);
        duplicate(whole, store_path);
    }
}

/* They would write one copy. */
Test(backup_damage, a_restore_waits_for_no_other_one_and_spoils_none)
{
    struct backup_restored restored;
    struct dpot_error error = {{0}};
    char beside[FIXTURE_PATH_SIZE];
    duplicate(store_path, copy);
    fixture_path(beside, folder, "dpot.db.restoring");
    fixture_write(beside, "of the other");
    const int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_eq(flock(lock, LOCK_EX), 0);
    cr_assert_eq(backup_restore(&config, copy, &options, &restored, &error), DPOT_ERR_BUSY);
    cr_assert_not_null(strstr(error.text, "another restore"), "%s", error.text);
    backup_sweep(&config);
    cr_assert(is_there("dpot.db.restoring"));
    (void)close(lock);
    cr_assert_eq(backup_restore(&config, copy, &options, &restored, &error), DPOT_OK, "%s",
                 error.text);
    cr_assert_not(is_there("dpot.db.restoring"));
}

Test(backup_damage, a_backup_removes_what_a_killed_one_left_and_no_running_one)
{
    struct backup_made made;
    struct dpot_error error = {{0}};
    char left[FIXTURE_PATH_SIZE], running[FIXTURE_PATH_SIZE];
    fixture_path(left, folder, ".dpot-0011223344556677.tmp");
    fixture_path(running, folder, ".dpot-8899aabbccddeeff.tmp");
    fixture_write(left, "half");
    fixture_write(running, "half");
    const int lock = open(running, O_RDONLY | O_CLOEXEC);
    cr_assert_eq(flock(lock, LOCK_EX), 0);
    cr_assert_eq(backup_make(&config, copy, &options, &made, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(count_temporary(), 1);
    cr_assert_eq(access(running, F_OK), 0);
    (void)close(lock);
}

/* The copy is sound but SQLite cannot open its log: a fault of the disk, not of the copy. */
Test(backup_damage, a_disk_fault_during_the_check_is_not_a_fault_of_the_copy)
{
    char log_path[FIXTURE_PATH_SIZE];
    struct backup_restored restored;
    struct dpot_error error = {{0}};
    duplicate(store_path, copy);
    fixture_path(log_path, folder, "dpot.db.restoring-wal");
    cr_assert_eq(mkdir(log_path, 0700), 0);
    cr_assert_eq(backup_restore(&config, copy, &options, &restored, &error), DPOT_ERR_IO, "%s",
                 error.text);
    cr_assert_not_null(strstr(error.text, "found no fault"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "and try again: "), "%s", error.text);
    cr_assert_null(strstr(error.text, "another copy"), "%s", error.text);
    cr_assert_not(is_there("dpot.db.restoring"));
    cr_assert_eq(rmdir(log_path), 0);
    cr_assert_eq(backup_restore(&config, copy, &options, &restored, &error), DPOT_OK, "%s",
                 error.text);
}

static char before[1 << 20], after[1 << 20];

/* Neither migrate nor serve adds checksums to damaged data. */
static void refuse_migration(const char *sql, const char *word)
{
    struct backup_migrated migrated;
    struct service *service = NULL;
    struct dpot_error error = {{0}};
    FILE *log = tmpfile();
    const struct service_hooks hooks = {.log_stream = log};
    const size_t n = read_bytes(store_path, before, sizeof before);
    reported[0] = '\0';
    cr_assert_eq(backup_migrate(&config, &options, &migrated, &error), DPOT_ERR_CORRUPT, "%s: %s",
                 sql, error.text);
    cr_assert_not_null(strstr(reported, word), "%s: %s", sql, reported);
    cr_assert_not_null(strstr(error.text, "dpotd restore"), "%s", error.text);
    cr_assert_str_eq(migrated.copy, "");
    cr_assert_eq(service_open(&config, "127.0.0.1:0", &hooks, &service, &error), DPOT_ERR_CORRUPT,
                 "%s: %s", sql, error.text);
    cr_assert_not_null(strstr(error.text, "dpotd restore"), "%s", error.text);
    cr_assert_eq(read_bytes(store_path, after, sizeof after), n);
    cr_assert_eq(memcmp(before, after, n), 0, "%s: nothing is changed", sql);
    rewind(log);
    after[fread(after, 1, sizeof after - 1, log)] = '\0';
    cr_assert_not_null(strstr(after, "event=store.check"), "%s", after);
    cr_assert_not_null(strstr(after, word), "%s: %s", sql, after);
    (void)fclose(log);
}

Test(backup_damage, a_store_of_an_older_schema_that_has_a_fault_is_not_migrated)
{
    char whole[FIXTURE_PATH_SIZE];
    struct backup_migrated migrated;
    struct dpot_error error = {{0}};
    fixture_path(whole, folder, "whole.db");
    age(3);
    duplicate(store_path, whole);
    for (size_t i = 0; i < N_OLD_FAULTS; i++) {
        tamper(old_faults[i].sql);
        refuse_migration(old_faults[i].sql, old_faults[i].word);
        duplicate(whole, store_path);
    }
    cr_assert_eq(backup_migrate(&config, &options, &migrated, &error), DPOT_OK, "%s %s", error.text,
                 reported);
    cr_assert_eq(migrated.from, 3);
    cr_assert_eq(fixture_ask(migrated.copy, "SELECT max(version) FROM schema_version"), 3);
}

/* What is particular to the SQLite file: opening what is not ours, a full disk, damage, two
 * processes. */
#include "store/database.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[FIXTURE_PATH_SIZE];
static char path[FIXTURE_PATH_SIZE];
static char url[FIXTURE_PATH_SIZE + 16];

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    fixture_folder(folder);
    fixture_path(path, folder, "dpot.db");
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
}

static void tear_down(void)
{
    fixture_remove(folder);
}

TestSuite(sqlite, .init = set_up, .fini = tear_down);

static void refuse_open(const char *bad_url, dpot_status expected, const char *word)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open(bad_url, &store, &error), expected, "%s", error.text);
    cr_assert_null(store);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
}

/* Runs one statement on the file behind the store's back. */
static void tamper(const char *sql)
{
    struct database *database = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(database_open(path, &database, &error), DPOT_OK, "%s", error.text);
    struct query q = query_start(database, STATEMENT_PROBE, sql);
    cr_assert_neq(query_step(q), QUERY_FAILED);
    query_finish(q);
    database_close(database);
}

/* With a checksum that belongs to what was altered. */
static void tamper_and_sum(const char *sql)
{
    tamper(sql);
    tamper(
        "UPDATE commit_sum SET sum = (SELECT dpot_commit_sum(hash, round, seq, format, n_reports,"
        " reports) FROM commits WHERE commits.seq = commit_sum.seq)");
}

Test(sqlite, a_missing_folder_is_refused_with_the_path)
{
    refuse_open("sqlite:/nonexistent/dpot.db", DPOT_ERR_IO, "/nonexistent/dpot.db");
}

Test(sqlite, a_url_without_a_path_is_refused)
{
    refuse_open("sqlite:", DPOT_ERR_ARGUMENT, "without a path");
}

Test(sqlite, a_file_that_is_no_database_is_refused_and_untouched)
{
    char text[16] = "";
    fixture_write(path, "this is a diary, not a database, and it is long enough to tell\n");
    refuse_open(url, DPOT_ERR_CORRUPT, "not a database");
    FILE *stream = fopen(path, "r");
    cr_assert_not_null(fgets(text, 8, stream));
    (void)fclose(stream);
    cr_assert_str_eq(text, "this is");
}

static int count_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    (void)round;
    (void)report;
    ++*(size_t *)ctx;
    return 0;
}

/* A device sends one report, so a pool is as many commits as reports: reading it takes a step a commit.
 * With a step for every commit before, this would take minutes of processor time, not a second. */
Test(sqlite, a_pool_of_many_small_commits_is_read_in_one_go)
{
    enum { COMMITS = 20000 };
    const struct dpot_campaign campaign = vectors_laplace(2);
    struct revision_record record;
    struct store *store = NULL;
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN], secret_key[DPOT_SIGN_SECRET_LEN];
    int64_t values[2];
    size_t n = 0;
    dpot_sign_keypair(public_key, secret_key);
    cr_assert_eq(store_open("sqlite::memory:", &store, NULL), DPOT_OK);
    vectors_open(store, &campaign, secret_key, &record);
    for (uint32_t i = 0; i < COMMITS; i++) {
        const struct dpot_report report = vectors_report(i, 2, 5, values);
        vectors_append(store, record.hash, i % 3, &report, 1);
    }
    const clock_t began = clock();
    cr_assert_eq(store_read_pool(store, record.hash, count_report, &n, NULL), DPOT_OK);
    cr_assert_eq(n, COMMITS);
    cr_assert_lt((double)(clock() - began) / CLOCKS_PER_SEC, 10);
    store_close(store);
}

Test(sqlite, a_database_of_another_program_is_refused)
{
    struct store *store = NULL;
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    store_close(store);
    tamper("PRAGMA application_id = 7");
    refuse_open(url, DPOT_ERR_MALFORMED, "another program");
}

Test(sqlite, a_newer_schema_is_refused)
{
    struct store *store = NULL;
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    store_close(store);
    tamper("INSERT INTO schema_version (version, applied) VALUES (99, 'tomorrow')");
    refuse_open(url, DPOT_ERR_VERSION, "99");
}

/* Of a program that keeps the steps elsewhere only the head is known. */
Test(sqlite, a_schema_that_is_newer_by_its_head_alone_is_refused)
{
    struct store *store = NULL;
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    store_close(store);
    tamper("PRAGMA user_version = 98");
    refuse_open(url, DPOT_ERR_VERSION, "98");
    cr_assert_eq(store_open_existing(url, &store, NULL), DPOT_ERR_VERSION);
    cr_assert_eq(store_open_old(url, &store, NULL), DPOT_ERR_VERSION);
}

Test(sqlite, a_store_has_its_version_in_the_head_of_the_file)
{
    struct store *store = NULL;
    struct database *database = NULL;
    int found = -1, current = 0;
    int64_t in_head = 0;
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    store_get_schema(store, &found, &current);
    store_close(store);
    cr_assert_eq(found, 0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(database_open(path, &database, NULL), DPOT_OK);
        cr_assert_eq(database_ask(database, "PRAGMA user_version", &in_head, NULL, 0, NULL),
                     DPOT_OK);
        database_close(database);
        cr_assert_eq(in_head, current);
        tamper("PRAGMA user_version = 0"); /* as before it was kept there */
    }
}

Test(sqlite, a_full_disk_stores_nothing_and_is_told_until_there_is_room)
{
    struct rig rig;
    struct dpot_report reports[DPOT_BATCH_REPORTS_MAX];
    struct stat info;
    struct rlimit limit, unlimited;
    char wal[FIXTURE_PATH_SIZE + 8];
    for (uint32_t i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
        reports[i] = fixture_report(i);
    }
    rig_init(&rig, url, fixture_spec());
    cr_assert_eq(rig_post(&rig, 0, reports, 10, NULL), INGEST_ACCEPTED);

    (void)snprintf(wal, sizeof wal, "%s-wal", path);
    cr_assert_eq(stat(wal, &info), 0);
    const off_t used = info.st_size; /* of which a part is free since the log was begun anew */
    for (int i = 0; i < 1000 && info.st_size == used; i++) {
        cr_assert_eq(store_try_write(rig.store, NULL), DPOT_OK);
        cr_assert_eq(stat(wal, &info), 0);
    }
    cr_assert_gt(info.st_size, used);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    limit = unlimited;
    limit.rlim_cur = (rlim_t)info.st_size + 100;
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int attempt = 0; attempt < 3; attempt++) {
        cr_assert_eq(rig_post(&rig, 0, reports, DPOT_BATCH_REPORTS_MAX, NULL), INGEST_NOT_YET);
        cr_assert_neq(store_check(rig.store, NULL), DPOT_OK);
    }
    cr_assert_eq(rig_count(&rig).n_accepted, 10);
    cr_assert_eq(rig_count(&rig).n_duplicate, 0);

    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    cr_assert_eq(store_check(rig.store, NULL), DPOT_OK);
    cr_assert_eq(rig_post(&rig, 0, reports, DPOT_BATCH_REPORTS_MAX, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_accepted, DPOT_BATCH_REPORTS_MAX);
    cr_assert_eq(rig_count(&rig).n_duplicate, 10);
    rig_reopen(&rig, url);
    cr_assert_eq(rig_count(&rig).n_accepted, DPOT_BATCH_REPORTS_MAX);
    rig_release(&rig);
}

/* Of two campaigns the first has stored its part when the disk is full: both are taken back, and an id
 * that was there before stays known. */
Test(sqlite, a_group_that_cannot_be_committed_leaves_no_id_behind)
{
    static struct dpot_report reports[DPOT_BATCH_REPORTS_MAX];
    static uint8_t is_refused[DPOT_BATCH_REPORTS_MAX];
    static enum dpot_report_status statuses[2][DPOT_BATCH_REPORTS_MAX];
    struct rig rig;
    struct rlimit limit, unlimited;
    struct stat info;
    struct revision_record other = {.revision = 1, .hash = {7}, .campaign_id = {7}, .name = "b"};
    char wal[FIXTURE_PATH_SIZE + 8];
    dpot_status outcomes[2];
    rig_init(&rig, url, fixture_spec());
    cr_assert_eq(store_add_revision(rig.store, &other, other.hash, 2, NULL), DPOT_OK);
    cr_assert_eq(store_set_state(rig.store, other.hash, REVISION_OPEN, NULL), DPOT_OK);
    struct store_append appends[2];
    for (size_t i = 0; i < 2; i++) {
        appends[i] = (struct store_append){.n_reports = DPOT_BATCH_REPORTS_MAX,
                                           .reports = reports,
                                           .is_refused = is_refused,
                                           .statuses = statuses[i]};
        memcpy(appends[i].hash, i == 0 ? rig.record.hash : other.hash, DPOT_HASH_LEN);
    }
    for (uint32_t i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
        reports[i] = fixture_report(i);
    }
    const struct store_append *group[] = {&appends[0], &appends[1]};
    cr_assert_eq(rig_post(&rig, 0, reports, 10, NULL), INGEST_ACCEPTED);
    (void)snprintf(wal, sizeof wal, "%s-wal", path);
    cr_assert_eq(stat(wal, &info), 0);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    limit = unlimited;
    limit.rlim_cur = (rlim_t)info.st_size + 100;
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int attempt = 0; attempt < 3; attempt++) {
        cr_assert_neq(store_append_group(rig.store, group, 2, outcomes, NULL), DPOT_OK);
    }
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    cr_assert_eq(store_append_group(rig.store, group, 2, outcomes, NULL), DPOT_OK);
    for (size_t i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
        cr_assert_eq(statuses[0][i], i < 10 ? DPOT_REPORT_DUPLICATE : DPOT_REPORT_ACCEPTED);
        cr_assert_eq(statuses[1][i], DPOT_REPORT_ACCEPTED);
    }
    cr_assert_eq(rig_count(&rig).n_accepted, DPOT_BATCH_REPORTS_MAX);
    cr_assert_eq(rig_count(&rig).n_duplicate, 10);
    rig_release(&rig);
}

Test(sqlite, a_block_of_reports_with_another_length_is_corrupt)
{
    struct rig rig;
    struct pool_count count;
    const struct dpot_report reports[] = {fixture_report(1), fixture_report(2)};
    rig_init(&rig, url, fixture_spec());
    cr_assert_eq(rig_post(&rig, 0, reports, 2, NULL), INGEST_ACCEPTED);
    rig_release(&rig);
    tamper("UPDATE commits SET reports = substr(reports, 1, 30)");
    cr_assert_eq(store_open(url, &rig.store, NULL), DPOT_OK);
    struct dpot_error error = {{0}};
    const uint8_t is_refused[2] = {0};
    enum dpot_report_status statuses[2];
    struct store_append append = {
        .n_reports = 2, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    memcpy(append.hash, rig.record.hash, sizeof append.hash);
    cr_assert_eq(store_append_reports(rig.store, &append, &error), DPOT_ERR_CORRUPT);
    cr_assert_not_null(strstr(error.text, "backup"));
    cr_assert_eq(store_count_pool(rig.store, rig.record.hash, &count, NULL), DPOT_OK);
    cr_assert_eq(count.n_accepted, 2);
    store_close(rig.store);
}

Test(sqlite, an_id_that_is_stored_twice_is_corrupt)
{
    struct rig rig;
    const struct dpot_report report = fixture_report(1);
    rig_init(&rig, url, fixture_spec());
    cr_assert_eq(rig_post(&rig, 0, &report, 1, NULL), INGEST_ACCEPTED);
    rig_release(&rig);
    tamper("INSERT INTO commits (hash, round, format, n_reports, reports)"
           " SELECT hash, round, format, n_reports, reports FROM commits");
    tamper_and_sum("INSERT INTO commit_sum (seq, sum) VALUES (2, x'')");
    rig.store = NULL;
    cr_assert_eq(store_open(url, &rig.store, NULL), DPOT_OK);
    const uint8_t is_refused[1] = {0};
    enum dpot_report_status status;
    struct store_append append = {
        .n_reports = 1, .reports = &report, .is_refused = is_refused, .statuses = &status};
    memcpy(append.hash, rig.record.hash, sizeof append.hash);
    cr_assert_eq(store_append_reports(rig.store, &append, NULL), DPOT_ERR_CORRUPT);
    store_close(rig.store);
}

static int ignore_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    (void)ctx;
    (void)round;
    (void)report;
    return 0;
}

/* Alters a stored block of two vectors of three numbers; reading it and rebuilding its ids must fail. */
static void refuse_altered_vectors(const char *sql)
{
    struct store *store = NULL;
    struct revision_record record = {.revision = 1, .name = "vectors"};
    struct dpot_error error = {{0}};
    int64_t values[2][3];
    const struct dpot_report reports[] = {vectors_report(1, 3, 100, values[0]),
                                          vectors_report(2, 3, 100, values[1])};
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_add_revision(store, &record, "x", 1, NULL), DPOT_OK);
    cr_assert_eq(store_set_state(store, record.hash, REVISION_OPEN, NULL), DPOT_OK);
    vectors_append(store, record.hash, 0, reports, 2);
    store_close(store);
    tamper_and_sum(sql);
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_read_pool(store, record.hash, ignore_report, NULL, &error), DPOT_ERR_CORRUPT,
                 "%s", sql);
    cr_assert_not_null(strstr(error.text, "a block of reports"), "%s", error.text);
    const uint8_t is_refused[2] = {0};
    enum dpot_report_status statuses[2];
    struct store_append append = {
        .n_reports = 2, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    cr_assert_eq(store_append_reports(store, &append, NULL), DPOT_ERR_CORRUPT, "%s", sql);
    store_close(store);
    cr_assert_eq(unlink(path), 0);
}

Test(sqlite, a_block_of_vectors_that_was_torn_or_altered_is_corrupt)
{
    static const char *const alterations[] = {
        "UPDATE commits SET reports = substr(reports, 1, length(reports) - 1)",
        "UPDATE commits SET reports = substr(reports, 1, 8)",
        "UPDATE commits SET reports = substr(reports, 1, 7)",
        "UPDATE commits SET reports = x''",
        "UPDATE commits SET reports = reports || x'00'",
        "UPDATE commits SET reports = x'00000000' || substr(reports, 5)",
        "UPDATE commits SET reports = x'ffffffff' || substr(reports, 5)",
        "UPDATE commits SET reports = x'0300000009000000' || substr(reports, 9)",
        "UPDATE commits SET reports = x'0300000000000000' || substr(reports, 9)",
        "UPDATE commits SET n_reports = 1",
        "UPDATE commits SET n_reports = -2",
        "UPDATE commits SET n_reports = 4611686018427387904",
        "UPDATE commits SET format = 1",
        "UPDATE commits SET format = 3",
    };
    for (size_t i = 0; i < sizeof alterations / sizeof alterations[0]; i++) {
        refuse_altered_vectors(alterations[i]);
    }
}

/* What is well formed, and is not what was written: another id would be counted again. */
static void refuse_altered_commit(const char *sql, bool is_in_pool)
{
    struct rig rig;
    struct dpot_error error = {{0}};
    const struct dpot_report reports[] = {fixture_report(1), fixture_report(2)};
    const uint8_t is_refused[2] = {0};
    enum dpot_report_status statuses[2];
    struct store_append append = {
        .n_reports = 2, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    rig_init(&rig, url, fixture_spec());
    cr_assert_eq(rig_post(&rig, 0, reports, 2, NULL), INGEST_ACCEPTED);
    memcpy(append.hash, rig.record.hash, sizeof append.hash);
    rig_release(&rig);
    tamper(sql);
    cr_assert_eq(store_open(url, &rig.store, NULL), DPOT_OK);
    cr_assert_eq(store_load_ids(rig.store, &error), DPOT_ERR_CORRUPT, "%s", sql);
    cr_assert_not_null(strstr(error.text, "commit "), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "from a backup"), "%s", error.text);
    cr_assert_eq(store_read_pool(rig.store, append.hash, ignore_report, NULL, NULL),
                 DPOT_ERR_CORRUPT, "%s", sql);
    if (is_in_pool) {
        cr_assert_eq(store_append_reports(rig.store, &append, NULL), DPOT_ERR_CORRUPT, "%s", sql);
    }
    store_close(rig.store);
    cr_assert_eq(unlink(path), 0);
}

Test(sqlite, a_commit_that_is_not_what_was_written_is_corrupt)
{
    refuse_altered_commit("UPDATE commits SET reports = x'ff' || substr(reports, 2)", true);
    refuse_altered_commit("UPDATE commits SET reports ="
                          " substr(reports, 1, length(reports) - 1) || x'07'",
                          true);
    refuse_altered_commit("UPDATE commits SET round = 1", false);
    refuse_altered_commit("UPDATE commits SET seq = seq + 7", true);
    refuse_altered_commit("UPDATE commit_sum SET sum = zeroblob(16)", true);
    refuse_altered_commit("DELETE FROM commit_sum", true);
}

static void count_fault(void *ctx, const char *sentence)
{
    int *n = ctx;
    cr_assert_not_null(strstr(sentence, "from a backup"), "%s", sentence);
    (*n)++;
}

static int count_faults(void)
{
    struct store *store = NULL;
    int n = 0;
    cr_assert_eq(store_open_existing(url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_check_tables(store, count_fault, &n, NULL), DPOT_OK);
    store_close(store);
    return n;
}

Test(sqlite, what_no_server_writes_is_found_in_the_tables)
{
    static const char *const alterations[] = {
        "CREATE TABLE evil (a)",
        "CREATE VIEW evil AS SELECT 1",
        "CREATE TRIGGER evil AFTER INSERT ON commits BEGIN DELETE FROM commits; END",
        "UPDATE commits SET hash = zeroblob(32)",
        "DELETE FROM commit_sum",
        "DELETE FROM commits",
        "UPDATE pool_count SET n = -5",
        "UPDATE pool_count SET n = 'many'",
        "INSERT INTO drop_count (reason, n) VALUES (1, -3)",
        "DELETE FROM probe",
    };
    for (size_t i = 0; i < sizeof alterations / sizeof alterations[0]; i++) {
        struct rig rig;
        const struct dpot_report report = fixture_report(1);
        rig_init(&rig, url, fixture_spec());
        cr_assert_eq(rig_post(&rig, 0, &report, 1, NULL), INGEST_ACCEPTED);
        rig_release(&rig);
        cr_assert_eq(count_faults(), 0);
        tamper(alterations[i]);
        cr_assert_eq(count_faults(), 1, "%s", alterations[i]);
        cr_assert_eq(unlink(path), 0);
    }
}

Test(sqlite, two_stores_on_one_file_accept_an_id_once)
{
    struct rig rig;
    struct store *other = NULL;
    enum dpot_report_status statuses[3];
    const struct dpot_report reports[] = {fixture_report(1), fixture_report(2), fixture_report(3)};
    rig_init(&rig, url, fixture_spec());
    cr_assert_eq(store_open(url, &other, NULL), DPOT_OK);
    cr_assert_eq(rig_post(&rig, 0, reports, 1, statuses), INGEST_ACCEPTED);
    const uint8_t is_refused[3] = {0};
    struct store_append append = {
        .n_reports = 2, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    memcpy(append.hash, rig.record.hash, sizeof append.hash);
    cr_assert_eq(store_append_reports(other, &append, NULL), DPOT_OK);
    cr_assert_eq(statuses[0], DPOT_REPORT_DUPLICATE);
    cr_assert_eq(statuses[1], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(rig_post(&rig, 0, reports, 3, statuses), INGEST_ACCEPTED);
    cr_assert_eq(statuses[1], DPOT_REPORT_DUPLICATE);
    cr_assert_eq(statuses[2], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_accepted, 3);
    store_close(other);
    rig_release(&rig);
}

Test(sqlite, a_transaction_that_was_cut_off_leaves_no_trace)
{
    struct rig rig;
    struct database *database = NULL;
    rig_init(&rig, url, fixture_spec());
    rig_release(&rig);
    cr_assert_eq(database_open(path, &database, NULL), DPOT_OK);
    cr_assert_eq(database_begin(database, NULL), DPOT_OK);
    cr_assert(query_run(query_start(database, STATEMENT_PROBE, "DELETE FROM revision")));
    database_close(database);
    cr_assert_eq(store_open(url, &rig.store, NULL), DPOT_OK);
    struct revision_record record;
    cr_assert_eq(store_get_revision(rig.store, rig.record.hash, &record, NULL, NULL), DPOT_OK);
    store_close(rig.store);
}

static void finish_job(struct store *store, const char *bytes)
{
    struct job_record record = {.kind = "any", .parameters = "{}", .created_ms = 1};
    struct dpot_error error = {{0}};
    dpot_random_bytes(record.id, sizeof record.id);
    cr_assert_eq(store_add_job(store, &record, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(store_finish_job(store, &record, bytes, strlen(bytes), &error), DPOT_OK, "%s",
                 error.text);
}

Test(sqlite, an_artifact_altered_on_disk_is_corrupt_and_never_served)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    struct dpot_buf bytes;
    uint8_t digest[DPOT_HASH_LEN];
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    finish_job(store, "result");
    store_close(store);
    tamper("UPDATE artifact SET bytes = CAST('resulT' AS BLOB)");
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    dpot_hash(digest, "result", 6);
    dpot_buf_init(&bytes, 100, NULL);
    cr_assert_eq(store_get_artifact(store, digest, &bytes, &error), DPOT_ERR_CORRUPT);
    cr_assert_not_null(strstr(error.text, "an artifact"), "%s", error.text);
    cr_assert_eq(bytes.len, 0);

    cr_assert_not_null(strstr(error.text, "start its job again"), "%s", error.text);
    dpot_buf_release(&bytes);
    store_close(store);
}

/* What a look at every artifact says. */
struct seen_damage {
    size_t n, n_without_job, n_missing;
    uint8_t digest[DPOT_HASH_LEN];
    char kind[JOB_KIND_SIZE];
};

static int note_damage(void *ctx, const uint8_t digest[DPOT_HASH_LEN], const struct job_record *job,
                       bool is_missing)
{
    struct seen_damage *seen = ctx;
    seen->n++;
    seen->n_without_job += job == NULL;
    seen->n_missing += is_missing;
    memcpy(seen->digest, digest, DPOT_HASH_LEN);
    (void)snprintf(seen->kind, sizeof seen->kind, "%s", job ? job->kind : "");
    return 0;
}

static struct seen_damage check_artifacts(struct store *store)
{
    struct seen_damage seen = {.n = 0};
    struct dpot_error error = {{0}};
    cr_assert_eq(store_check_artifacts(store, note_damage, &seen, &error), DPOT_OK, "%s",
                 error.text);
    return seen;
}

Test(sqlite, a_job_that_computes_the_bytes_again_repairs_a_damaged_artifact)
{
    struct store *store = NULL;
    struct dpot_buf bytes;
    uint8_t digest[DPOT_HASH_LEN];
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    finish_job(store, "result");
    finish_job(store, "another");
    cr_assert_eq(check_artifacts(store).n, 0);
    store_close(store);
    tamper("UPDATE artifact SET bytes = CAST('resulT' AS BLOB) WHERE seq = 1");
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    dpot_hash(digest, "result", 6);
    const struct seen_damage seen = check_artifacts(store);
    cr_assert_eq(seen.n, 1);
    cr_assert_eq(memcmp(seen.digest, digest, sizeof digest), 0);
    cr_assert_str_eq(seen.kind, "any");

    finish_job(store, "a third"); /* other bytes repair nothing */
    cr_assert_eq(check_artifacts(store).n, 1);
    finish_job(store, "result");
    cr_assert_eq(check_artifacts(store).n, 0);
    dpot_buf_init(&bytes, 100, NULL);
    cr_assert_eq(store_get_artifact(store, digest, &bytes, NULL), DPOT_OK);
    cr_assert_eq(bytes.len, 6);
    cr_assert_eq(memcmp(bytes.data, "result", 6), 0);
    dpot_buf_release(&bytes);
    store_close(store);
}

Test(sqlite, a_damaged_artifact_that_no_job_names_is_told_too)
{
    struct store *store = NULL;
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    finish_job(store, "result");
    store_close(store);
    tamper("UPDATE artifact SET digest = zeroblob(32)");
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    const struct seen_damage seen = check_artifacts(store);
    cr_assert_eq(seen.n, 2);
    cr_assert_eq(seen.n_without_job, 1);
    cr_assert_eq(seen.n_missing, 1, "the job's own name has no artifact now");
    store_close(store);
}

Test(sqlite, an_artifact_that_is_missing_is_told_once_with_its_newest_job)
{
    struct store *store = NULL;
    struct dpot_buf bytes;
    struct dpot_error error = {{0}};
    uint8_t digest[DPOT_HASH_LEN];
    dpot_buf_init(&bytes, 100, NULL);
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    finish_job(store, "result");
    finish_job(store, "result");
    finish_job(store, "another");
    store_close(store);
    tamper("DELETE FROM artifact");
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    cr_assert_eq(check_artifacts(store).n, 2);
    cr_assert_eq(check_artifacts(store).n_missing, 2);
    dpot_hash(digest, "result", 6);
    cr_assert_eq(store_get_artifact(store, digest, &bytes, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "start that job again"), "%s", error.text);
    digest[0] ^= 1;
    cr_assert_eq(store_get_artifact(store, digest, &bytes, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "no artifact has this digest"), "%s", error.text);
    finish_job(store, "result");
    cr_assert_eq(check_artifacts(store).n, 1, "the job made it again");
    store_close(store);
}

Test(sqlite, a_write_that_is_tried_finds_a_disk_without_room)
{
    struct rig rig;
    struct rlimit limit, unlimited;
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    rig_init(&rig, url, fixture_spec());
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(store_try_write(store, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    limit = unlimited;
    limit.rlim_cur = 1000000;
    (void)signal(SIGXFSZ, SIG_IGN);
    store_close(store);
    rig_release(&rig);
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(store_check(store, &error), DPOT_OK, "a small write fits");
    cr_assert_eq(store_try_write(store, &error), DPOT_ERR_IO);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    cr_assert_eq(store_try_write(store, &error), DPOT_OK, "%s", error.text);
    store_close(store);
}

Test(sqlite, looking_makes_no_store_and_changes_no_schema)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_null(store);
    cr_assert_not_null(strstr(error.text, path), "%s", error.text);
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert_eq(store_open_existing("sqlite:/nonexistent/a.db", &store, &error), DPOT_ERR_IO);
    cr_assert_eq(store_open_existing("sqlite::memory:", &store, &error), DPOT_ERR_NOT_FOUND);

    fixture_write(path, "");
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_VERSION);
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_size, 0);

    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    store_close(store);
    tamper("DELETE FROM schema_version WHERE version > 1");
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_VERSION);
    cr_assert_not_null(strstr(error.text, "version 1"), "%s", error.text);
}

Test(sqlite, a_damaged_job_is_corrupt)
{
    struct store *store = NULL;
    struct job_record record = {.id = {1}, .kind = "any", .parameters = "{}"};
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_add_job(store, &record, NULL), DPOT_OK);
    store_close(store);
    tamper("UPDATE job SET hash = x'00'");
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_get_job(store, record.id, &record, &error), DPOT_ERR_CORRUPT);
    cr_assert_not_null(strstr(error.text, "a job"), "%s", error.text);
    store_close(store);
}

Test(sqlite, a_store_of_the_first_version_gets_the_tables_of_jobs)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    store_close(store);
    tamper("DROP TABLE job");
    tamper("DROP TABLE artifact");
    tamper("DROP TABLE drop_count");
    tamper("DROP TABLE commit_sum");
    tamper("DELETE FROM schema_version WHERE version > 1");
    cr_assert_eq(store_open(url, &store, &error), DPOT_OK, "%s", error.text);
    finish_job(store, "result");
    store_close(store);
}

Test(sqlite, a_store_of_the_second_version_keeps_reports_counts_and_ids)
{
    struct rig rig;
    struct dpot_report reports[10];
    uint64_t n_dropped[DROP_REASONS];
    struct pool_count count;
    for (uint32_t i = 0; i < 10; i++) {
        reports[i] = fixture_report(i);
    }
    rig_init(&rig, url, fixture_spec());
    cr_assert_eq(rig_post(&rig, 0, reports, 7, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_post(&rig, 0, reports, 2, NULL), INGEST_ACCEPTED);
    rig_release(&rig);
    tamper("DROP TABLE drop_count");
    tamper("DROP TABLE commit_sum");
    tamper("DELETE FROM schema_version WHERE version > 2");
    rig_resume(&rig, url);
    cr_assert_eq(rig_count(&rig).n_accepted, 7);
    cr_assert_eq(rig_post(&rig, 0, reports, 10, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_accepted, 10);
    cr_assert_eq(rig_count(&rig).n_duplicate, 2 + 7);
    cr_assert_eq(store_count_all(rig.store, &count, n_dropped, NULL), DPOT_OK);
    cr_assert_eq(count.n_accepted, 10);
    cr_assert_eq(n_dropped[DROP_CLOSED], 0);
    rig_release(&rig);
}

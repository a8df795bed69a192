/* The SQLite file: other databases, other versions of the schema, a full disk, two processes. */
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/store/store_file.h"
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

TestSuite(sqlite, .init = store_file_set_up, .fini = store_file_tear_down);

static void refuse_open(const char *bad_url, dpot_status expected, const char *word)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open(bad_url, &store, &error), expected, "%s", error.text);
    cr_assert_null(store);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
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
    fixture_write(store_file.path,
                  "this is a diary, not a database, and it is long enough to tell\n");
    refuse_open(store_file.url, DPOT_ERR_CORRUPT, "not a database");
    FILE *stream = fopen(store_file.path, "r");
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

/* A device sends one report, so a pool may have as many commits as reports. Reading takes one step
 * a commit; in quadratic time this test would take minutes, not a second, of processor time. */
Test(sqlite, a_pool_of_many_small_commits_is_read_in_linear_time)
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
    store_file_make();
    store_file_tamper("PRAGMA application_id = 7");
    refuse_open(store_file.url, DPOT_ERR_MALFORMED, "another program");
}

Test(sqlite, a_newer_schema_is_refused)
{
    store_file_make();
    store_file_tamper("INSERT INTO schema_version (version, applied) VALUES (99, 'tomorrow')");
    refuse_open(store_file.url, DPOT_ERR_VERSION, "99");
}

/* A later program may store its versions elsewhere: only the header of the file is fixed. */
Test(sqlite, a_schema_that_is_newer_by_its_header_only_is_refused)
{
    struct store *store = NULL;
    store_file_make();
    store_file_tamper("PRAGMA user_version = 98");
    refuse_open(store_file.url, DPOT_ERR_VERSION, "98");
    cr_assert_eq(store_open_existing(store_file.url, &store, NULL), DPOT_ERR_VERSION);
    cr_assert_eq(store_open_old(store_file.url, &store, NULL), DPOT_ERR_VERSION);
}

Test(sqlite, a_store_has_its_version_in_the_header_of_the_file)
{
    struct store *store = NULL;
    struct database *database = NULL;
    int found = -1, current = 0;
    int64_t in_header = 0;
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    store_get_schema(store, &found, &current);
    store_close(store);
    cr_assert_eq(found, 0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(database_open(store_file.path, &database, NULL), DPOT_OK);
        cr_assert_eq(database_ask(database, "PRAGMA user_version", &in_header, NULL, 0, NULL),
                     DPOT_OK);
        database_close(database);
        cr_assert_eq(in_header, current);
        store_file_tamper("PRAGMA user_version = 0"); /* as in older stores */
    }
}

/* A disk that takes no longer files. RLIM_INFINITY: one with space. */
static void limit_files(rlim_t n_bytes)
{
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = n_bytes < limit.rlim_max ? n_bytes : limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(sqlite, a_full_disk_stores_nothing_and_is_not_ready_until_there_is_space)
{
    struct rig rig;
    struct dpot_report reports[DPOT_BATCH_REPORTS_MAX];
    struct stat info;
    char wal[FIXTURE_PATH_SIZE + 8];
    for (uint32_t i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
        reports[i] = fixture_report(i);
    }
    rig_init(&rig, store_file.url, fixture_spec());
    cr_assert_eq(rig_post(&rig, 0, reports, 10, NULL), INGEST_ACCEPTED);

    (void)snprintf(wal, sizeof wal, "%s-wal", store_file.path);
    cr_assert_eq(stat(wal, &info), 0);
    const off_t used = info.st_size; /* a part is free since the log was restarted */
    for (int i = 0; i < 1000 && info.st_size == used; i++) {
        cr_assert_eq(store_try_write(rig.store, NULL), DPOT_OK);
        cr_assert_eq(stat(wal, &info), 0);
    }
    cr_assert_gt(info.st_size, used);
    limit_files((rlim_t)info.st_size + 100);
    for (int attempt = 0; attempt < 3; attempt++) {
        cr_assert_eq(rig_post(&rig, 0, reports, DPOT_BATCH_REPORTS_MAX, NULL), INGEST_NOT_YET);
        cr_assert_neq(store_check(rig.store, NULL), DPOT_OK);
    }
    cr_assert_eq(rig_count(&rig).n_accepted, 10);
    cr_assert_eq(rig_count(&rig).n_duplicate, 0);

    /* Space for a small write, but not for a batch, is not enough. */
    limit_files((rlim_t)info.st_size + 20 * 4096);
    cr_assert_eq(store_check(rig.store, NULL), DPOT_ERR_IO);
    limit_files(RLIM_INFINITY);
    cr_assert_eq(store_check(rig.store, NULL), DPOT_OK);
    cr_assert_eq(rig_post(&rig, 0, reports, DPOT_BATCH_REPORTS_MAX, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_accepted, DPOT_BATCH_REPORTS_MAX);
    cr_assert_eq(rig_count(&rig).n_duplicate, 10);
    rig_reopen(&rig, store_file.url);
    cr_assert_eq(rig_count(&rig).n_accepted, DPOT_BATCH_REPORTS_MAX);
    rig_release(&rig);
}

/* The disk is full after the part of the first of two campaigns was written: both are rolled back,
 * and an earlier id stays known. */
Test(sqlite, a_group_that_cannot_be_committed_leaves_no_id_behind)
{
    static struct dpot_report reports[DPOT_BATCH_REPORTS_MAX];
    static uint8_t is_refused[DPOT_BATCH_REPORTS_MAX];
    static enum dpot_report_status statuses[2][DPOT_BATCH_REPORTS_MAX];
    struct rig rig;
    struct stat info;
    struct revision_record other = {.revision = 1, .hash = {7}, .campaign_id = {7}, .name = "b"};
    char wal[FIXTURE_PATH_SIZE + 8];
    dpot_status outcomes[2];
    rig_init(&rig, store_file.url, fixture_spec());
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
    (void)snprintf(wal, sizeof wal, "%s-wal", store_file.path);
    cr_assert_eq(stat(wal, &info), 0);
    limit_files((rlim_t)info.st_size + 100);
    for (int attempt = 0; attempt < 3; attempt++) {
        cr_assert_neq(store_append_group(rig.store, group, 2, outcomes, NULL), DPOT_OK);
    }
    limit_files(RLIM_INFINITY);
    cr_assert_eq(store_append_group(rig.store, group, 2, outcomes, NULL), DPOT_OK);
    for (size_t i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
        cr_assert_eq(statuses[0][i], i < 10 ? DPOT_REPORT_DUPLICATE : DPOT_REPORT_ACCEPTED);
        cr_assert_eq(statuses[1][i], DPOT_REPORT_ACCEPTED);
    }
    cr_assert_eq(rig_count(&rig).n_accepted, DPOT_BATCH_REPORTS_MAX);
    cr_assert_eq(rig_count(&rig).n_duplicate, 10);
    rig_release(&rig);
}

Test(sqlite, two_stores_on_one_file_accept_an_id_once)
{
    struct rig rig;
    struct store *other = NULL;
    enum dpot_report_status statuses[3];
    const struct dpot_report reports[] = {fixture_report(1), fixture_report(2), fixture_report(3)};
    rig_init(&rig, store_file.url, fixture_spec());
    cr_assert_eq(store_open(store_file.url, &other, NULL), DPOT_OK);
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

Test(sqlite, an_interrupted_transaction_leaves_no_trace)
{
    struct rig rig;
    struct database *database = NULL;
    rig_init(&rig, store_file.url, fixture_spec());
    rig_release(&rig);
    cr_assert_eq(database_open(store_file.path, &database, NULL), DPOT_OK);
    cr_assert_eq(database_begin(database, NULL), DPOT_OK);
    cr_assert(query_run(query_start(database, STATEMENT_PROBE, "DELETE FROM revision")));
    database_close(database);
    cr_assert_eq(store_open(store_file.url, &rig.store, NULL), DPOT_OK);
    struct revision_record record;
    cr_assert_eq(store_get_revision(rig.store, rig.record.hash, &record, NULL, NULL), DPOT_OK);
    store_close(rig.store);
}

Test(sqlite, trying_to_write_finds_a_full_disk)
{
    struct rig rig;
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    rig_init(&rig, store_file.url, fixture_spec());
    cr_assert_eq(store_open_existing(store_file.url, &store, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(store_try_write(store, &error), DPOT_OK, "%s", error.text);
    store_close(store);
    rig_release(&rig);
    cr_assert_eq(store_open_existing(store_file.url, &store, &error), DPOT_OK, "%s", error.text);
    limit_files(1000000);
    cr_assert_eq(store_check(store, &error), DPOT_OK, "a small write fits");
    cr_assert_eq(store_try_write(store, &error), DPOT_ERR_IO);
    limit_files(RLIM_INFINITY);
    cr_assert_eq(store_try_write(store, &error), DPOT_OK, "%s", error.text);
    store_close(store);
}

Test(sqlite, reading_neither_creates_nor_migrates_a_store)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open_existing(store_file.url, &store, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_null(store);
    cr_assert_not_null(strstr(error.text, store_file.path), "%s", error.text);
    cr_assert_neq(access(store_file.path, F_OK), 0);
    cr_assert_eq(store_open_existing("sqlite:/nonexistent/a.db", &store, &error), DPOT_ERR_IO);
    cr_assert_eq(store_open_existing("sqlite::memory:", &store, &error), DPOT_ERR_NOT_FOUND);

    fixture_write(store_file.path, "");
    cr_assert_eq(store_open_existing(store_file.url, &store, &error), DPOT_ERR_VERSION);
    struct stat info;
    cr_assert_eq(stat(store_file.path, &info), 0);
    cr_assert_eq(info.st_size, 0);

    store_file_make();
    store_file_tamper("DELETE FROM schema_version WHERE version > 1");
    cr_assert_eq(store_open_existing(store_file.url, &store, &error), DPOT_ERR_VERSION);
    cr_assert_not_null(strstr(error.text, "version 1"), "%s", error.text);
}

Test(sqlite, a_store_of_the_first_version_gets_the_tables_of_jobs)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    store_file_make();
    store_file_age(1);
    cr_assert_eq(store_open(store_file.url, &store, &error), DPOT_OK, "%s", error.text);
    store_file_finish_job(store, "result");
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
    rig_init(&rig, store_file.url, fixture_spec());
    cr_assert_eq(rig_post(&rig, 0, reports, 7, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_post(&rig, 0, reports, 2, NULL), INGEST_ACCEPTED);
    rig_release(&rig);
    store_file_age(2);
    rig_resume(&rig, store_file.url);
    cr_assert_eq(rig_count(&rig).n_accepted, 7);
    cr_assert_eq(rig_post(&rig, 0, reports, 10, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_accepted, 10);
    cr_assert_eq(rig_count(&rig).n_duplicate, 2 + 7);
    cr_assert_eq(store_count_all(rig.store, &count, n_dropped, NULL), DPOT_OK);
    cr_assert_eq(count.n_accepted, 10);
    cr_assert_eq(n_dropped[DROP_CLOSED], 0);
    rig_release(&rig);
}

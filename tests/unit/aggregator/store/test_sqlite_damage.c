/* Altered rows are found, named and refused. */
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/store/store_file.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

TestSuite(sqlite_damage, .init = store_file_set_up, .fini = store_file_tear_down);

/* Alters rows and makes their checksums match. */
static void tamper_and_sum(const char *sql)
{
    store_file_tamper(sql);
    store_file_tamper(
        "UPDATE block SET sum = dpot_commit_sum(hash, round, 0, format, n_reports, reports)");
}

Test(sqlite_damage, a_block_of_reports_with_another_length_is_corrupt)
{
    struct rig rig;
    struct pool_count count;
    const struct dpot_report reports[] = {fixture_report(1), fixture_report(2)};
    rig_init(&rig, store_file.url, fixture_spec());
    cr_assert_eq(rig_post(&rig, 0, reports, 2, NULL), INGEST_ACCEPTED);
    rig_release(&rig);
    store_file_tamper("UPDATE block SET reports = substr(reports, 1, 30)");
    cr_assert_eq(store_open(store_file.url, &rig.store, NULL), DPOT_OK);
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

Test(sqlite_damage, an_id_that_is_stored_twice_is_corrupt)
{
    struct rig rig;
    const struct dpot_report report = fixture_report(1);
    rig_init(&rig, store_file.url, fixture_spec());
    cr_assert_eq(rig_post(&rig, 0, &report, 1, NULL), INGEST_ACCEPTED);
    rig_release(&rig);
    store_file_tamper("UPDATE round SET n_reports = 2");
    tamper_and_sum("UPDATE block SET reports = reports || reports, n_reports = 2");
    rig.store = NULL;
    cr_assert_eq(store_open(store_file.url, &rig.store, NULL), DPOT_OK);
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

/* Alters a block of two vectors of three numbers: reading it and its ids must fail. */
static void refuse_altered_vectors(const char *sql)
{
    struct store *store = NULL;
    struct revision_record record = {.revision = 1, .name = "vectors"};
    struct dpot_error error = {{0}};
    int64_t values[2][3];
    const struct dpot_report reports[] = {vectors_report(1, 3, 100, values[0]),
                                          vectors_report(2, 3, 100, values[1])};
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_add_revision(store, &record, "x", 1, NULL), DPOT_OK);
    cr_assert_eq(store_set_state(store, record.hash, REVISION_OPEN, NULL), DPOT_OK);
    vectors_append(store, record.hash, 0, reports, 2);
    store_close(store);
    tamper_and_sum(sql);
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_read_pool(store, record.hash, ignore_report, NULL, &error), DPOT_ERR_CORRUPT,
                 "%s", sql);
    cr_assert_not_null(strstr(error.text, "a block of reports"), "%s", error.text);
    const uint8_t is_refused[2] = {0};
    enum dpot_report_status statuses[2];
    struct store_append append = {
        .n_reports = 2, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    cr_assert_eq(store_append_reports(store, &append, NULL), DPOT_ERR_CORRUPT, "%s", sql);
    store_close(store);
    cr_assert_eq(unlink(store_file.path), 0);
}

Test(sqlite_damage, a_block_of_vectors_that_was_torn_or_altered_is_corrupt)
{
    static const char *const alterations[] = {
        "UPDATE block SET reports = substr(reports, 1, length(reports) - 1)",
        "UPDATE block SET reports = substr(reports, 1, 8)",
        "UPDATE block SET reports = substr(reports, 1, 7)",
        "UPDATE block SET reports = x''",
        "UPDATE block SET reports = reports || x'00'",
        "UPDATE block SET reports = x'00000000' || substr(reports, 5)",
        "UPDATE block SET reports = x'ffffffff' || substr(reports, 5)",
        "UPDATE block SET reports = x'0300000009000000' || substr(reports, 9)",
        "UPDATE block SET reports = x'0300000000000000' || substr(reports, 9)",
        "UPDATE block SET n_reports = 1",
        "UPDATE block SET n_reports = -2",
        "UPDATE block SET n_reports = 4611686018427387904",
        "UPDATE block SET format = 1",
        "UPDATE block SET format = 3",
    };
    for (size_t i = 0; i < sizeof alterations / sizeof alterations[0]; i++) {
        refuse_altered_vectors(alterations[i]);
    }
}

/* Well formed but altered: an altered id would be counted again. */
static void refuse_altered_commit(const char *sql, bool is_in_pool)
{
    struct rig rig;
    struct dpot_error error = {{0}};
    const struct dpot_report reports[] = {fixture_report(1), fixture_report(2)};
    const uint8_t is_refused[2] = {0};
    enum dpot_report_status statuses[2];
    struct store_append append = {
        .n_reports = 2, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    rig_init(&rig, store_file.url, fixture_spec());
    cr_assert_eq(rig_post(&rig, 0, reports, 2, NULL), INGEST_ACCEPTED);
    memcpy(append.hash, rig.record.hash, sizeof append.hash);
    rig_release(&rig);
    store_file_tamper(sql);
    cr_assert_eq(store_open(store_file.url, &rig.store, NULL), DPOT_OK);
    cr_assert_eq(store_load_ids(rig.store, &error), DPOT_ERR_CORRUPT, "%s", sql);
    cr_assert_not_null(strstr(error.text, " round "), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "from a backup"), "%s", error.text);
    cr_assert_eq(store_read_pool(rig.store, append.hash, ignore_report, NULL, NULL),
                 DPOT_ERR_CORRUPT, "%s", sql);
    if (is_in_pool) {
        cr_assert_eq(store_append_reports(rig.store, &append, NULL), DPOT_ERR_CORRUPT, "%s", sql);
    }
    store_close(rig.store);
    cr_assert_eq(unlink(store_file.path), 0);
}

Test(sqlite_damage, a_commit_that_is_not_what_was_written_is_corrupt)
{
    refuse_altered_commit("UPDATE block SET reports = x'ff' || substr(reports, 2)", true);
    refuse_altered_commit("UPDATE block SET reports ="
                          " substr(reports, 1, length(reports) - 1) || x'07'",
                          true);
    refuse_altered_commit("UPDATE block SET round = 1", false);
    refuse_altered_commit("UPDATE block SET first = zeroblob(16)", true);
    refuse_altered_commit("UPDATE block SET sum = zeroblob(16)", true);
    refuse_altered_commit("UPDATE block SET sum = x''", true);
    refuse_altered_commit("DELETE FROM block", true);
}

/* With the original checksum, which covers converted numbers. */
Test(sqlite_damage, a_commit_whose_numbers_are_of_another_type_is_corrupt)
{
    static const char *const rounds[] = {"'x'", "x'00'", "0.5", "1.5", "-1", "4294967296", "1e300"};
    char sql[96];
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        (void)snprintf(sql, sizeof sql, "UPDATE block SET round = %s", rounds[i]);
        refuse_altered_commit(sql, false);
    }
    refuse_altered_commit("UPDATE block SET format = 1.5", true);
    refuse_altered_commit("UPDATE block SET n_reports = 2.5", true);
    refuse_altered_commit("UPDATE block SET n_reports = '2 reports'", true);
}

static dpot_status append_one(struct rig *rig, uint32_t round, uint32_t i)
{
    const struct dpot_report report = fixture_report(i);
    struct store_append append = {.round = round,
                                  .n_reports = 1,
                                  .reports = &report,
                                  .is_refused = (const uint8_t[]){0},
                                  .statuses = (enum dpot_report_status[]){0}};
    memcpy(append.hash, rig->record.hash, sizeof append.hash);
    return store_append_reports(rig->store, &append, NULL);
}

Test(sqlite_damage, an_invalid_round_is_found_at_the_start_behind_later_rounds)
{
    struct rig rig;
    struct dpot_error error = {{0}};
    rig_init(&rig, store_file.url, fixture_spec());
    for (uint32_t round = 0; round < 4; round++) {
        cr_assert_eq(append_one(&rig, round, round), DPOT_OK);
    }
    rig_release(&rig);
    store_file_tamper("UPDATE round SET round = 0.5 WHERE round = 0");
    cr_assert_eq(store_open(store_file.url, &rig.store, NULL), DPOT_OK);
    cr_assert_eq(store_load_ids(rig.store, &error), DPOT_ERR_CORRUPT);
    cr_assert_not_null(strstr(error.text, "a round"), "%s", error.text);
    store_close(rig.store);
}

/* Appends until the damage is read again. */
static void append_to_mended(struct rig *rig, uint32_t round)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    while (append_one(rig, round, 10 + round) != DPOT_OK) {
        (void)nanosleep(&pause, NULL);
    }
}

Test(sqlite_damage, two_damaged_rounds_are_one_revision_until_both_are_sound)
{
    static const char mend[] = "UPDATE block SET sum = dpot_commit_sum(hash, round, 0, format,"
                               " n_reports, reports)";
    struct rig rig;
    rig_init(&rig, store_file.url, fixture_spec());
    cr_assert_eq(append_one(&rig, 0, 0), DPOT_OK);
    cr_assert_eq(append_one(&rig, 1, 1), DPOT_OK);
    rig_release(&rig);
    store_file_tamper("UPDATE block SET sum = zeroblob(16)");
    cr_assert_eq(store_open(store_file.url, &rig.store, NULL), DPOT_OK);
    cr_assert_eq(store_load_ids(rig.store, NULL), DPOT_ERR_CORRUPT);
    cr_assert_eq(store_count_damaged(rig.store), 1);
    store_file_tamper(mend);
    cr_assert_eq(append_one(&rig, 1, 11), DPOT_ERR_CORRUPT, "it is not read at once");
    append_to_mended(&rig, 1);
    cr_assert(store_is_damaged(rig.store, rig.record.hash, NULL), "round 0 was not read");
    append_to_mended(&rig, 0);
    cr_assert_eq(store_count_damaged(rig.store), 0);
    store_close(rig.store);
}

static void count_fault(void *ctx, const char *sentence)
{
    int *n = ctx;
    cr_assert_not_null(strstr(sentence, "from a backup"), "%s", sentence);
    (*n)++;
}

static int count_faults(enum store_tables which)
{
    struct store *store = NULL;
    int n = 0;
    cr_assert_eq(store_open_existing(store_file.url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_check_tables(store, which, count_fault, &n, NULL), DPOT_OK);
    store_close(store);
    return n;
}

/* A job in each state, with columns as the runner writes them. */
static void add_jobs(struct rig *rig)
{
    for (uint8_t state = JOB_QUEUED; state <= JOB_CANCELLED; state++) {
        struct job_record job = {
            .id = {state}, .kind = "estimate", .parameters = "{\"a\":1}", .created_ms = 1000};
        memcpy(job.campaign_id, rig->record.campaign_id, sizeof job.campaign_id);
        memcpy(job.hash, rig->record.hash, sizeof job.hash);
        cr_assert_eq(store_add_job(rig->store, &job, NULL), DPOT_OK);
        job.state = (enum job_state)state;
        job.n_attempts = state == JOB_QUEUED ? 0 : 1;
        job.started_ms = state == JOB_QUEUED ? 0 : 2000;
        job.ended_ms = state < JOB_DONE ? 0 : 3000;
        (void)snprintf(job.sentence, sizeof job.sentence, "%s", state == JOB_FAILED ? "why" : "");
        cr_assert_eq(state == JOB_DONE ? store_finish_job(rig->store, &job, "result", 6, NULL)
                                       : store_update_job(rig->store, &job, NULL),
                     DPOT_OK);
    }
}

Test(sqlite_damage, rows_that_no_server_writes_are_found)
{
    static const char *const alterations[] = {
        "CREATE TABLE evil (a)",
        "CREATE VIEW evil AS SELECT 1",
        "CREATE TRIGGER evil AFTER INSERT ON block BEGIN DELETE FROM block; END",
        "UPDATE pool_count SET n = -5",
        "UPDATE pool_count SET n = 'many'",
        "UPDATE pool_count SET n = n + (1 << 53)",
        "UPDATE pool_count SET n = 1.5",
        "UPDATE pool_count SET status = 9",
        "UPDATE pool_count SET status = 0",
        "UPDATE pool_count SET hash = zeroblob(32)",
        "INSERT INTO drop_count (reason, n) VALUES (1, -3)",
        "INSERT INTO drop_count (reason, n) VALUES (5, 3)",
        "DELETE FROM probe",
        "DELETE FROM schema_version WHERE version = 2",
        "UPDATE revision SET created_ms = -1",
        "UPDATE job SET hash = zeroblob(32) WHERE seq = 1",
        "UPDATE job SET campaign_id = zeroblob(16) WHERE seq = 3",
        "UPDATE job SET kind = 'Estimate' WHERE seq = 3",
        "UPDATE job SET kind = x'ff' WHERE seq = 4",
        "UPDATE job SET parameters = '{\"a\":1' WHERE seq = 1",
        "UPDATE job SET parameters = '[]' WHERE seq = 1",
        "UPDATE job SET id = x'01' WHERE seq = 2",
        "UPDATE job SET n_done = -1 WHERE seq = 2",
        "UPDATE job SET n_total = 'many' WHERE seq = 2",
        "UPDATE job SET created_ms = 1 << 60 WHERE seq = 2",
        "UPDATE job SET ended_ms = 3 WHERE seq = 1",
        "UPDATE job SET ended_ms = 3 WHERE seq = 2",
        "UPDATE job SET ended_ms = 0 WHERE seq = 3",
        "UPDATE job SET started_ms = 0 WHERE seq = 3",
        "UPDATE job SET n_attempts = 0 WHERE seq = 2",
        "UPDATE job SET started_ms = 2 WHERE seq = 1",
        "UPDATE job SET sentence = '' WHERE seq = 4",
        "UPDATE job SET sentence = 'because' WHERE seq = 5",
        "UPDATE job SET state = 5 WHERE seq = 4",
        "UPDATE job SET state = 2 WHERE seq = 1",
        "UPDATE job SET n_done = 2 WHERE seq = 1",
        "UPDATE job SET n_total = 2 WHERE seq = 1",
        "UPDATE job SET n_attempts = 0 WHERE seq = 5",
        "UPDATE job SET seq = -1 WHERE seq = 5",
        "UPDATE artifact SET seq = 0",
        "UPDATE revision SET seq = -seq",
        "DELETE FROM job WHERE seq = 3",
        "UPDATE revision SET state = 1",
        "UPDATE round SET n_merges = -1",
        "UPDATE round SET n_merges = 'x'",
        "UPDATE round SET round = 0.5",
        /* from here on in blocks, which a quick check skips */
        "UPDATE block SET hash = zeroblob(32)",
        "UPDATE block SET n_reports = 2",
        "UPDATE block SET round = 'x'",
        "UPDATE block SET round = 1.5",
        "UPDATE block SET round = 1 << 32",
        "UPDATE block SET format = 1.5",
        "UPDATE block SET n_reports = 1.5",
        "UPDATE block SET is_merged = 1",
        "UPDATE block SET sum = x''",
        "UPDATE round SET n_arrived = 0",
        "UPDATE round SET n_reports = 2",
        "DELETE FROM round",
        "UPDATE pool_count SET n = 2",
        "DELETE FROM pool_count",
        "DELETE FROM block",
    };
    bool reads_blocks = false;
    for (size_t i = 0; i < sizeof alterations / sizeof alterations[0]; i++) {
        struct rig rig;
        const struct dpot_report report = fixture_report(1);
        rig_init(&rig, store_file.url, fixture_spec());
        cr_assert_eq(rig_post(&rig, 0, &report, 1, NULL), INGEST_ACCEPTED);
        add_jobs(&rig);
        rig_release(&rig);
        reads_blocks = reads_blocks || strstr(alterations[i], "UPDATE block SET hash");
        cr_assert_eq(count_faults(STORE_TABLES_AND_COUNTS), 0);
        store_file_tamper(alterations[i]);
        cr_assert_geq(count_faults(STORE_TABLES_AND_COUNTS), 1, "%s", alterations[i]);
        cr_assert_eq(count_faults(STORE_SMALL_TABLES) > 0, !reads_blocks, "%s", alterations[i]);
        cr_assert_eq(unlink(store_file.path), 0);
    }
}

Test(sqlite_damage, a_damaged_job_is_corrupt)
{
    struct store *store = NULL;
    struct job_record record = {.id = {1}, .kind = "any", .parameters = "{}"};
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_add_job(store, &record, NULL), DPOT_OK);
    store_close(store);
    store_file_tamper("UPDATE job SET hash = x'00'");
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_get_job(store, record.id, &record, &error), DPOT_ERR_CORRUPT);
    cr_assert_not_null(strstr(error.text, "a job"), "%s", error.text);
    store_close(store);
}

static int64_t ask(const char *sql)
{
    struct database *database = NULL;
    int64_t value = 0;
    cr_assert_eq(database_open(store_file.path, &database, NULL), DPOT_OK);
    cr_assert_eq(database_ask(database, sql, &value, NULL, 0, NULL), DPOT_OK);
    database_close(database);
    return value;
}

/* Flips a bit of the only entry of an index. */
static void alter_index(const char *name, off_t from_end)
{
    char sql[128];
    (void)snprintf(sql, sizeof sql, "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", name);
    const off_t page_len = (off_t)ask("PRAGMA page_size");
    const off_t at = (off_t)ask(sql) * page_len - from_end;
    store_file_flip(store_file.path, at);
}

Test(sqlite_damage, an_index_that_does_not_match_its_table_is_found_and_not_served)
{
    static const char *const names[] = {"revision_one_open", "sqlite_autoindex_revision_1",
                                        "sqlite_autoindex_revision_2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct rig rig;
        struct store *store = NULL;
        struct dpot_error error = {{0}};
        rig_init(&rig, store_file.url, fixture_spec());
        rig_release(&rig);
        alter_index(names[i], 6);
        cr_assert_eq(store_open_owned(store_file.url, NULL, &store, &error), DPOT_ERR_CORRUPT, "%s",
                     names[i]);
        cr_assert_not_null(strstr(error.text, names[i]), "%s", error.text);
        cr_assert_not_null(strstr(error.text, "backup"), "%s", error.text);
        cr_assert_eq(store_open_existing(store_file.url, &store, &error), DPOT_OK, "%s",
                     error.text);
        cr_assert_eq(store_check_structure(store, &error), DPOT_ERR_CORRUPT, "%s", names[i]);
        store_close(store);
        cr_assert_eq(unlink(store_file.path), 0);
        fixture_remove(store_file.folder);
        store_file_set_up();
    }
}

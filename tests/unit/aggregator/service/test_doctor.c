/* Faults that the doctor finds in an installation, its store or a copy of it, each in one
 * sentence. */
#include "model/artifact.h"
#include "store/database.h"
#include "store/store.h"
#include "unit/aggregator/service/dpotd.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(doctor, .init = dpotd_set_up, .fini = dpotd_tear_down);

static void write_config(const char *listen, const char *rest)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"listen\":\"%s\",\"store\":\"sqlite:dpot.db\",\"keys_dir\":\"keys\","
                   "\"tokens_file\":\"tokens\"%s}",
                   listen, rest);
    fixture_write(in_folder("dpotd.json"), text);
}

static int doctor(void)
{
    return RUN(ARG("doctor"), ARG("--config"), in_folder("dpotd.json"));
}

Test(doctor, an_unfinished_key_is_noted_and_pruned_unless_it_is_being_made)
{
    cr_assert_eq(RUN(ARG("init"), ARG("--dir"), folder), 0);
    fixture_write(in_folder("keys/.dpot-0011223344556677.tmp"), "secret_key 00");
    fixture_write(in_folder("keys/.dpot-8899aabbccddeeff.tmp"), "secret_key 00");
    const int fd = open(in_folder("keys/.dpot-8899aabbccddeeff.tmp"), O_WRONLY | O_CLOEXEC);
    cr_assert_eq(flock(fd, LOCK_EX), 0, "this process makes one of the two");
    cr_assert_eq(doctor(), 0, "%s", err);
    cr_assert_not_null(strstr(out, ".dpot-0011223344556677.tmp was left"), "%s", out);
    cr_assert_null(strstr(out, ".dpot-8899"), "%s", out);
    cr_assert_eq(RUN(ARG("keys"), ARG("prune"), ARG("--config"), in_folder("dpotd.json")), 0);
    cr_assert_not_null(strstr(out, "removed 1 unfinished key file\n"), "%s", out);
    cr_assert_neq(access(in_folder("keys/.dpot-0011223344556677.tmp"), F_OK), 0);
    cr_assert_eq(access(in_folder("keys/.dpot-8899aabbccddeeff.tmp"), F_OK), 0);
    (void)close(fd);
    cr_assert_eq(
        RUN(ARG("keys"), ARG("prune"), ARG("--json"), ARG("--config"), in_folder("dpotd.json")), 0);
    cr_assert_str_eq(out, "{\"removed\":0,\"unfinished\":1}\n");
    cr_assert_neq(access(in_folder("keys/.dpot-8899aabbccddeeff.tmp"), F_OK), 0);
    cr_assert_eq(access(in_folder("keys/signing.key"), F_OK), 0);
}

Test(doctor, the_doctor_creates_no_store)
{
    init();
    cr_assert_eq(doctor(), 0, "%s", err);
    cr_assert_not_null(strstr(out, "there is no store"), "%s", out);
    cr_assert_neq(access(in_folder("dpot.db"), F_OK), 0);
    cr_assert_eq(RUN(ARG("doctor"), ARG("--json"), ARG("--config"), in_folder("dpotd.json")), 0);
    json_t *printed = fixture_json(out);
    cr_assert(json_is_true(json_object_get(printed, "ok")));
    cr_assert_eq(json_array_size(json_object_get(printed, "faults")), 0);
    cr_assert_eq(json_array_size(json_object_get(printed, "notes")), 1);
    json_decref(printed);
}

Test(doctor, the_doctor_reports_a_missing_or_invalid_certificate)
{
    init();
    write_config("127.0.0.1:0", ",\"tls\":{\"cert\":\"cert.pem\",\"key\":\"key.pem\"}");
    cr_assert_eq(doctor(), 6);
    expect_sentence("cert.pem");
    fixture_write(in_folder("cert.pem"), "no certificate\n");
    cr_assert_eq(doctor(), 6);
    expect_sentence("key.pem");
    fixture_write(in_folder("key.pem"), "no key\n");
    cr_assert_eq(chmod(in_folder("key.pem"), 0600), 0);
    cr_assert_eq(doctor(), 3);
    expect_sentence("PEM certificate");
}

static void copy_golden(const char *name, const char *to)
{
    char from[FIXTURE_PATH_SIZE], text[4096];
    (void)snprintf(from, sizeof from, "%s/golden/certificates/%s", DPOT_TEST_DATA, name);
    FILE *stream = fopen(from, "r");
    cr_assert_not_null(stream, "%s", from);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    (void)fclose(stream);
    fixture_write(in_folder(to), text);
    cr_assert_eq(chmod(in_folder(to), 0600), 0);
}

Test(doctor, the_doctor_reports_a_certificate_outside_its_dates)
{
    init();
    write_config("127.0.0.1:0", ",\"tls\":{\"cert\":\"cert.pem\",\"key\":\"key.pem\"}");
    copy_golden("key.pem", "key.pem");
    copy_golden("lasting.pem", "cert.pem");
    cr_assert_eq(doctor(), 0, "%s", err);
    cr_assert_null(strstr(out, "certificate"), "%s", out);
    copy_golden("expired.pem", "cert.pem");
    cr_assert_eq(doctor(), 3);
    expect_sentence("expired at 2020-02-01T00:00:00Z");
    copy_golden("future.pem", "cert.pem");
    cr_assert_eq(doctor(), 3);
    expect_sentence("not valid before 2090-01-01T00:00:00Z");
}

Test(doctor, the_doctor_reports_a_foreign_address)
{
    init();
    write_config("no.such.host.invalid:80", "");
    cr_assert_eq(doctor(), 6);
    expect_sentence("no.such.host.invalid");
    write_config("192.0.2.1:80", ""); /* reserved for documentation */
    cr_assert_eq(doctor(), 6);
    expect_sentence("192.0.2.1");
}

Test(doctor, the_doctor_reports_all_faults)
{
    init();
    write_config("no.such.host.invalid:80", "");
    fixture_write(in_folder("tokens"), "nonsense\n");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--json"), ARG("--config"), in_folder("dpotd.json")), 3);
    cr_assert_not_null(strstr(err, "line 1"), "%s", err);
    cr_assert_not_null(strstr(err, "no.such.host.invalid"), "%s", err);
    json_t *printed = fixture_json(out);
    cr_assert(json_is_false(json_object_get(printed, "ok")));
    cr_assert_eq(json_array_size(json_object_get(printed, "faults")), 2);
    json_decref(printed);
}

/* Runs one statement on the store's file directly. */
static void tamper(const char *sql)
{
    struct database *database = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(database_open(in_folder("dpot.db"), &database, &error), DPOT_OK, "%s", error.text);
    cr_assert(query_run(query_start(database, STATEMENT_PROBE, sql)), "%s", sql);
    database_close(database);
}

/* Serves for a moment, with one campaign. */
static void make_campaign(void)
{
    char url[128], token[TOKEN_SIZE];
    init_for_token(token);
    const pid_t child = serve(url, sizeof url);
    cr_assert_eq(status_of(url, "POST", "/v1/admin/campaigns", token, fixture_census_spec), 201);
    stop(child);
}

static int note_revision(void *ctx, const struct revision_record *record)
{
    struct job_record *job = ctx;
    memcpy(job->campaign_id, record->campaign_id, sizeof job->campaign_id);
    memcpy(job->hash, record->hash, sizeof job->hash);
    return 0;
}

static void make_done_job(void)
{
    struct store *store = NULL;
    struct job_record job = {
        .id = {0xAB}, .kind = "base-measure", .parameters = "{}", .created_ms = 1};
    struct dpot_buf artifact;
    char url[FIXTURE_PATH_SIZE + 16];
    make_campaign();
    (void)snprintf(url, sizeof url, "sqlite:%s", in_folder("dpot.db"));
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_list_revisions(store, note_revision, &job, NULL), DPOT_OK);
    cr_assert_eq(store_add_job(store, &job, NULL), DPOT_OK);
    job.n_attempts = 1;
    job.started_ms = job.ended_ms = 2;
    dpot_buf_init(&artifact, DPOT_ARTIFACT_BYTES_MAX, NULL);
    fixture_artifact(&job, &artifact);
    cr_assert_eq(store_finish_job(store, &job, artifact.data, artifact.len, NULL), DPOT_OK);
    dpot_buf_release(&artifact);
    store_close(store);
}

/* Rows have no checksum: their content is compared with the artifact, and columns with each
 * other. */
Test(doctor, the_doctor_and_the_start_report_impossible_jobs_and_counts)
{
    static const struct {
        const char *sql, *word;
        bool is_seen_at_start;
    } faults[] = {
        {"UPDATE job SET kind = 'base-measurd'", "the kind of job ab00", false},
        {"UPDATE job SET kind = 'base-measure', parameters = '{\"a\":1}'",
         "the parameters of job ab00", false},
        {"UPDATE job SET parameters = '{}', started_ms = 0", "do not go with the state of job ab00",
         true},
        {"UPDATE job SET started_ms = 2, campaign_id = zeroblob(16)", "is named by job ab00", true},
    };
    make_done_job();
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char url[128];
        tamper(faults[i].sql);
        cr_assert_eq(doctor(), 3);
        expect_sentence(faults[i].word);
        const pid_t child = serve(url, sizeof url);
        stop(child);
        cr_assert_eq(strstr(err, faults[i].word) != NULL, faults[i].is_seen_at_start, "%s", err);
    }
}

/* A queued job, so that no artifact has its kind. A store of another version may have such kinds
 * and is sound. */
Test(doctor, a_kind_of_job_that_is_not_known_is_noted)
{
    make_done_job();
    tamper("INSERT INTO job (id, kind, campaign_id, hash, parameters, state, created_ms)"
           " SELECT zeroblob(16), 'estimate', campaign_id, hash, '{}', 1, 1 FROM revision");
    cr_assert_eq(doctor(), 0, "%s", err);
    cr_assert_null(strstr(out, "kind"), "%s", out);
    tamper("UPDATE job SET kind = 'estimbte' WHERE state = 1");
    cr_assert_eq(doctor(), 0, "%s", err);
    cr_assert_not_null(strstr(out, "00 has the kind \"estimbte\", which"), "%s", out);
}

Test(doctor, the_doctor_reports_reports_of_a_draft_and_artifacts_of_no_job)
{
    make_done_job(); /* of a draft: not a fault */
    cr_assert_eq(doctor(), 0, "%s", err);
    tamper("INSERT INTO pool_count (hash, status, n) SELECT hash, 3, 1 FROM revision");
    cr_assert_eq(doctor(), 3);
    expect_sentence("counted of a draft, revision 1 of campaign ");
    tamper("UPDATE revision SET state = 2");
    cr_assert_eq(doctor(), 0, "%s", err);
    tamper("DELETE FROM job");
    cr_assert_eq(doctor(), 3);
    expect_sentence("gone or altered that made artifact ");
}

Test(doctor, the_doctor_reports_damaged_and_missing_artifacts_with_their_job)
{
    make_done_job();
    cr_assert_eq(doctor(), 0, "%s", err);
    tamper("UPDATE artifact SET bytes = x'00'");
    cr_assert_eq(doctor(), 3);
    expect_sentence("base-measure job ab00");
    expect_sentence("is damaged: start that job again");
    tamper("DELETE FROM artifact");
    cr_assert_eq(doctor(), 3);
    expect_sentence("base-measure job ab00");
    expect_sentence("is missing: start that job again");
}

/* Also updates the checksums. */
static void tamper_and_sum(const char *sql)
{
    tamper(sql);
    tamper("UPDATE block SET sum = dpot_commit_sum(hash, round, 0, format, n_reports, reports)");
    tamper("DELETE FROM round");
    tamper("INSERT INTO round SELECT hash, round, sum(n_reports), count(*), 0 FROM block"
           " GROUP BY hash, round");
}

/* The doctor's sentence about the pool after one more change. */
static void expect_damaged_pool(const char *sql, const char *word)
{
    tamper_and_sum(sql);
    cr_assert_eq(doctor(), 3, "%s", err);
    expect_sentence("the pool of revision 1 of campaign ");
    expect_sentence(word);
    expect_sentence("from a backup");
}

Test(doctor, the_doctor_reports_a_pool_with_lost_or_foreign_reports)
{
    make_campaign();
    tamper("UPDATE revision SET state = 2");
    cr_assert_eq(doctor(), 0, "%s", err);
    expect_damaged_pool("INSERT INTO pool_count (hash, status, n) SELECT hash, 1, 2 FROM revision",
                        "the store holds 0 reports and counted 2");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--quick"), ARG("--config"), in_folder("dpotd.json")), 3);
    expect_sentence("the count of accepted reports of revision 1 of campaign ");
    expect_sentence(" is 2 and the reports are 0");
    expect_damaged_pool("INSERT INTO block SELECT 1, hash, 0, zeroblob(16), 1, 2, 0, x'',"
                        " zeroblob(55) FROM revision",
                        "a block of reports");
    tamper_and_sum("UPDATE block SET reports = zeroblob(56)");
    cr_assert_eq(doctor(), 0, "%s", err);
    expect_damaged_pool("UPDATE pool_count SET n = 1", "holds 2 reports and counted 1");
    tamper("UPDATE pool_count SET n = 2");
    expect_damaged_pool("UPDATE block SET reports = zeroblob(16) || x'ffffffff' || zeroblob(36)",
                        "1 of 2 stored reports are none of the campaign");
    tamper_and_sum("UPDATE block SET reports = zeroblob(56)");
    expect_damaged_pool("UPDATE block SET round = 7",
                        "2 of 2 stored reports are none of the campaign");
    tamper_and_sum("UPDATE block SET round = 0");
    cr_assert_eq(doctor(), 0, "%s", err);
    tamper("UPDATE block SET reports = x'01' || substr(reports, 2)"); /* one bit */
    cr_assert_eq(doctor(), 3, "%s", err);
    expect_sentence(" of round 0");
}

/* A store that has been served once. */
static void make_store(void)
{
    char url[128];
    init();
    const pid_t child = serve(url, sizeof url);
    stop(child);
}

Test(doctor, the_doctor_reports_foreign_tables)
{
    make_store();
    tamper("CREATE TRIGGER evil AFTER INSERT ON block BEGIN DELETE FROM block; END");
    cr_assert_eq(doctor(), 3);
    expect_sentence("trigger \"evil\"");
}

Test(doctor, a_fault_of_a_copy_that_is_not_restored_is_reported_as_the_copys)
{
    make_store();
    tamper("CREATE TRIGGER evil AFTER INSERT ON block BEGIN DELETE FROM block; END");
    cr_assert_eq(rename(in_folder("dpot.db"), in_folder("copy.db")), 0);
    cr_assert_eq(RUN(ARG("restore"), ARG("--config"), in_folder("dpotd.json"), ARG("--from"),
                     in_folder("copy.db")),
                 3, "%s", err);
    cr_assert_not_null(strstr(err, "dpotd: in the copy: "), "%s", err);
    cr_assert_not_null(strstr(err, "trigger \"evil\""), "%s", err);
    cr_assert_eq(unlink(in_folder("keys/signing.key")), 0);
    cr_assert_eq(RUN(ARG("restore"), ARG("--config"), in_folder("dpotd.json"), ARG("--from"),
                     in_folder("copy.db")),
                 6, "%s", err);
    cr_assert_null(strstr(err, "in the copy"), "the key is none of it: %s", err);
    expect_sentence("signing.key");
}

Test(doctor, the_doctor_reports_a_store_that_cannot_grow)
{
    char url[128];
    init();
    const pid_t child = serve(url, sizeof url);
    file_limit = 1000000;
    cr_assert_eq(doctor(), 6, "%s", err);
    expect_sentence("does not take 4 MiB more");
    file_limit = RLIM_INFINITY;
    cr_assert_eq(doctor(), 0, "%s", err);
    stop(child);
}

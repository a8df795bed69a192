#include "unit/aggregator/fixture.h"

#include "proto/wire_artifact.h"
#include "store/database.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char fixture_census_spec[] =
    "{\"name\":\"census\",\"domain\":{\"type\":\"grid\",\"lo\":[24.5,-125],\"hi\":[49.4,-66.9],"
    "\"shape\":[16,24]},\"output\":\"same\",\"metric\":\"haversine\",\"power\":1,"
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":2,\"lambda\":40,\"iterations\":300,"
    "\"base_measure\":\"uniform\",\"sample_first\":false,\"n_max\":32},"
    "\"rounds\":1,\"opens\":\"2026-12-01T00:00:00Z\",\"closes\":\"2026-12-08T00:00:00Z\","
    "\"min_pool\":1000,\"groups\":[],\"simulation\":false}";

static const char ring_spec[] =
    "{\"name\":\"ring\",\"domain\":{\"type\":\"ring\",\"size\":10},\"metric\":\"ring\","
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,\"lambda\":0.5},"
    "\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":\"2027-01-01T00:00:00Z\",\"min_pool\":3}";

void fixture_folder(char out[FIXTURE_PATH_SIZE])
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(out, FIXTURE_PATH_SIZE, "%s/dpot-test-XXXXXX", base ? base : "/tmp");
    cr_assert_not_null(mkdtemp(out));
}

static void remove_content(const char *folder, int levels)
{
    DIR *dir = opendir(folder);
    cr_assert_not_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        char path[2 * FIXTURE_PATH_SIZE];
        struct stat info;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && levels > 0) {
            remove_content(path, levels - 1);
            (void)rmdir(path);
        } else {
            (void)unlink(path);
        }
    }
    (void)closedir(dir);
}

void fixture_remove(const char *folder)
{
    remove_content(folder, 2);
    cr_assert_eq(rmdir(folder), 0);
}

void fixture_path(char out[FIXTURE_PATH_SIZE], const char *folder, const char *name)
{
    cr_assert_lt(snprintf(out, FIXTURE_PATH_SIZE, "%s/%s", folder, name), FIXTURE_PATH_SIZE);
}

void fixture_write(const char *path, const char *text)
{
    FILE *stream = fopen(path, "w");
    cr_assert_not_null(stream);
    cr_assert_geq(fputs(text, stream), 0);
    cr_assert_eq(fclose(stream), 0);
}

json_t *fixture_json(const char *text)
{
    struct dpot_error error = {{0}};
    json_t *value = NULL;
    cr_assert_eq(json_parse(text, strlen(text), &value, &error), DPOT_OK, "%s", error.text);
    return value;
}

json_t *fixture_spec(void)
{
    return fixture_json(ring_spec);
}

static void open_rooms(struct rig *rig, const char *url)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open(url, &rig->store, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(
        registry_new(rig->store, rig->secret_key, &rig->clock.clock, &rig->registry, &error),
        DPOT_OK, "%s", error.text);
    rig->ingest.store = rig->store;
    rig->ingest.registry = rig->registry;
}

static void close_rooms(struct rig *rig)
{
    registry_free(rig->registry);
    store_close(rig->store);
}

/* With a second registry: that of the rig has not read the revision yet. */
void rig_find_length(struct rig *rig)
{
    struct registry *registry = NULL;
    struct registry_revision revision;
    struct dpot_error error = {{0}};
    cr_assert_eq(registry_new(rig->store, rig->secret_key, &rig->clock.clock, &registry, &error),
                 DPOT_OK, "%s", error.text);
    cr_assert_eq(registry_get(registry, rig->record.hash, &revision, &error), DPOT_OK, "%s",
                 error.text);
    rig->report_len_max = dpot_wire_report_len_max(revision.campaign);
    registry_free(registry);
}

void rig_init(struct rig *rig, const char *url, json_t *spec)
{
    struct dpot_error error = {{0}};
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN];
    cr_assert_eq(dpot_init(), DPOT_OK);
    *rig = (struct rig){.store = NULL};
    test_clock_init(&rig->clock, FIXTURE_NOW_MS);
    dpot_sign_keypair(public_key, rig->secret_key);
    dpot_seal_keypair(rig->secret.key.public_key, rig->secret.secret_key);
    dpot_seal_key_id(rig->secret.key.public_key, rig->secret.key.id);
    rig->secret.key.not_before_ms = 0;
    rig->secret.key.not_after_ms = FIXTURE_NOW_MS + INT64_C(86400000) * 400;
    rig->ingest = (struct ingest){
        .clock = &rig->clock.clock, .seal_secrets = &rig->secret, .n_seal_secrets = 1};
    open_rooms(rig, url);
    cr_assert_eq(registry_create(rig->registry, spec, &rig->record, &error), DPOT_OK, "%s",
                 error.text);
    json_decref(spec);
    cr_assert_eq(
        registry_open_campaign(rig->registry, rig->record.campaign_id, &rig->record, NULL, &error),
        DPOT_OK, "%s", error.text);
    rig_find_length(rig);
}

void rig_release(struct rig *rig)
{
    close_rooms(rig);
}

void rig_reopen(struct rig *rig, const char *url)
{
    close_rooms(rig);
    open_rooms(rig, url);
}

void rig_resume(struct rig *rig, const char *url)
{
    open_rooms(rig, url);
}

const char *const fixture_to_version_4[FIXTURE_N_TO_VERSION_4] = {
    "CREATE TABLE commits (seq INTEGER PRIMARY KEY, hash BLOB NOT NULL, round INTEGER NOT NULL,"
    " format INTEGER NOT NULL, n_reports INTEGER NOT NULL, reports BLOB NOT NULL)",
    "CREATE INDEX commits_pool ON commits (hash, round, seq)",
    "CREATE TABLE commit_sum (seq INTEGER PRIMARY KEY, sum BLOB NOT NULL)",
    "INSERT INTO commits (hash, round, format, n_reports, reports)"
    " SELECT hash, round, format, n_reports, reports FROM block",
    "INSERT INTO commit_sum (seq, sum) SELECT seq,"
    " dpot_commit_sum(hash, round, seq, format, n_reports, reports) FROM commits",
    "DROP TABLE block",
    "DROP TABLE round",
};

struct dpot_report fixture_report(uint32_t n)
{
    struct dpot_report report = {.index = n % FIXTURE_RING_SIZE};
    uint8_t hash[DPOT_HASH_LEN];
    dpot_hash(hash, &n, sizeof n);
    memcpy(report.id, hash, sizeof report.id);
    return report;
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(((const struct dpot_report *)a)->id, ((const struct dpot_report *)b)->id,
                  DPOT_REPORT_ID_LEN);
}

void fixture_sort(struct dpot_report *reports, size_t n)
{
    qsort(reports, n, sizeof *reports, compare_ids);
}

static dpot_status seal(const struct dpot_seal_key *key, const uint8_t hash[DPOT_HASH_LEN],
                        size_t report_len_max, uint32_t round, const struct dpot_report *reports,
                        size_t n, struct dpot_buf *out)
{
    struct dpot_batch batch = {.round = round,
                               .n_reports = n,
                               .reports = (struct dpot_report *)reports,
                               .report_len_max = report_len_max};
    memcpy(batch.campaign_hash, hash, sizeof batch.campaign_hash);
    return dpot_wire_batch_seal(&batch, key, out);
}

void fixture_seal(const struct dpot_seal_key *key, const uint8_t hash[DPOT_HASH_LEN],
                  uint32_t round, const struct dpot_report *reports, size_t n, struct dpot_buf *out)
{
    cr_assert_eq(seal(key, hash, 0, round, reports, n, out), DPOT_OK);
}

void rig_seal(const struct rig *rig, const struct dpot_seal_key *key, uint32_t round,
              const struct dpot_report *reports, size_t n, struct dpot_buf *out)
{
    const dpot_status status =
        seal(key, rig->record.hash, rig->report_len_max, round, reports, n, out);
    if (status == DPOT_ERR_ARGUMENT) {
        fixture_seal(key, rig->record.hash, round, reports, n, out);
    } else {
        cr_assert_eq(status, DPOT_OK);
    }
}

enum ingest_verdict rig_post(struct rig *rig, uint32_t round, const struct dpot_report *reports,
                             size_t n, enum dpot_report_status *statuses)
{
    struct dpot_buf body, receipt;
    struct ingest_result result;
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, NULL);
    dpot_buf_init(&receipt, DPOT_BATCH_BYTES_MAX, NULL);
    rig_seal(rig, &rig->secret.key, round, reports, n, &body);
    ingest_batch(&rig->ingest, rig->record.campaign_id, body.data, body.len, &receipt, &result);
    if (result.verdict == INGEST_ACCEPTED && statuses) {
        cr_assert_eq(dpot_wire_receipt_decode(receipt.data, receipt.len, NULL, NULL, statuses, n),
                     DPOT_OK);
    }
    dpot_buf_release(&receipt);
    dpot_buf_release(&body);
    return result.verdict;
}

struct pool_count rig_count(const struct rig *rig)
{
    struct pool_count count;
    struct dpot_error error = {{0}};
    cr_assert_eq(store_count_pool(rig->store, rig->record.hash, &count, &error), DPOT_OK, "%s",
                 error.text);
    return count;
}

void fixture_artifact(const struct job_record *job, struct dpot_buf *out)
{
    double value = 1;
    struct dpot_artifact artifact = {
        .program_version = "0", .revision = 1, .n_values = 1, .values = &value};
    struct dpot_error error = {{0}};
    (void)snprintf(artifact.kind, sizeof artifact.kind, "%s", job->kind);
    (void)snprintf(artifact.parameters, sizeof artifact.parameters, "%s", job->parameters);
    memcpy(artifact.campaign_hash, job->hash, sizeof artifact.campaign_hash);
    cr_assert_eq(dpot_wire_artifact_encode(&artifact, out, &error), DPOT_OK, "%s", error.text);
}

int64_t fixture_ask(const char *path, const char *sql)
{
    struct database *database = NULL;
    struct dpot_error error = {{0}};
    int64_t n = 0;
    cr_assert_eq(database_open_old(path, &database, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(database_ask(database, sql, &n, NULL, 0, &error), DPOT_OK, "%s", error.text);
    database_close(database);
    return n;
}

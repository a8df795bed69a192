/* Copies of the store: made while it is served, restored; reports sent again are duplicates. */
#include "base/clock.h"
#include "dpotd/backup.h"
#include "dpotd/init.h"
#include "dpotd/service.h"
#include "keys/keys.h"
#include "store/database.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/http_client.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char spec[] =
    "{\"name\":\"backup\",\"domain\":{\"type\":\"ring\",\"size\":10},\"metric\":\"ring\","
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,\"lambda\":0.5},"
    "\"opens\":\"2020-01-01T00:00:00Z\",\"closes\":\"2100-01-01T00:00:00Z\"}";

static char folder[FIXTURE_PATH_SIZE], copy[FIXTURE_PATH_SIZE], store[FIXTURE_PATH_SIZE];
static struct init_result installation;
static struct config config;
static struct service *service;
static struct server_keys keys;
static FILE *log_stream;

static char hex_id[2 * DPOT_CAMPAIGN_ID_LEN + 1];
static uint8_t campaign_hash[DPOT_HASH_LEN];

static void start(void)
{
    const struct service_hooks hooks = {.log_stream = log_stream};
    struct dpot_error error = {{0}};
    cr_assert_eq(service_open(&config, "127.0.0.1:0", &hooks, &service, &error), DPOT_OK, "%s",
                 error.text);
}

static void stop(void)
{
    service_close(service);
    service = NULL;
}

static json_t *admin(const char *method, const char *path, const char *body)
{
    struct http_reply reply;
    http_exchange(service_url(service), method, path, installation.token, body, strlen(body),
                  &reply);
    cr_assert_eq(dpot_buf_append(&reply.body, "", 1), DPOT_OK);
    json_t *value = fixture_json((const char *)reply.body.data);
    http_reply_release(&reply);
    return value;
}

static int note_hash(void *ctx, const struct revision_record *record)
{
    (void)ctx;
    memcpy(campaign_hash, record->hash, sizeof campaign_hash);
    return 0;
}

static void open_campaign(void)
{
    char path[256];
    struct store *opened = NULL;
    json_t *record = admin("POST", "/v1/admin/campaigns", spec);
    (void)snprintf(hex_id, sizeof hex_id, "%s", json_string_value(json_object_get(record, "id")));
    json_decref(record);
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/open", hex_id);
    json_decref(admin("POST", path, ""));
    cr_assert_eq(store_open_existing(config.store, &opened, NULL), DPOT_OK);
    cr_assert_eq(store_list_revisions(opened, note_hash, NULL, NULL), DPOT_OK);
    store_close(opened);
}

static void set_up(void)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_init(), DPOT_OK);
    fixture_folder(folder);
    fixture_path(copy, folder, "copy.db");
    fixture_path(store, folder, "dpot.db");
    cr_assert_eq(init_run(folder, "127.0.0.1:0", dpot_clock_system(), &installation, &error),
                 DPOT_OK, "%s", error.text);
    cr_assert_eq(config_read(installation.config_path, &config, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(server_keys_read(config.keys_dir, &keys, NULL), DPOT_OK);
    config.log = LOG_LEVEL_DEBUG;
    log_stream = tmpfile();
    start();
    open_campaign();
}

static void tear_down(void)
{
    stop();
    (void)fclose(log_stream);
    fixture_remove(folder);
}

TestSuite(backup, .init = set_up, .fini = tear_down);

/* Posts reports first, first + 1, ...; returns how many were accepted. */
static size_t post(uint32_t first, size_t n)
{
    struct dpot_report reports[64];
    enum dpot_report_status statuses[64];
    struct dpot_buf body;
    struct http_reply reply;
    char path[256];
    size_t n_accepted = 0;
    for (size_t i = 0; i < n; i++) {
        reports[i] = fixture_report(first + (uint32_t)i);
    }
    (void)snprintf(path, sizeof path, "/v1/campaigns/%s/reports", hex_id);
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, NULL);
    fixture_seal(&keys.seal_secrets[0].key, campaign_hash, 0, reports, n, &body);
    http_exchange(service_url(service), "POST", path, NULL, body.data, body.len, &reply);
    cr_assert_eq(reply.status, 202);
    cr_assert_eq(dpot_wire_receipt_decode(reply.body.data, reply.body.len, NULL, NULL, statuses, n),
                 DPOT_OK);
    for (size_t i = 0; i < n; i++) {
        n_accepted += statuses[i] == DPOT_REPORT_ACCEPTED;
    }
    http_reply_release(&reply);
    dpot_buf_release(&body);
    return n_accepted;
}

static char faults[4096];

static void note_fault(void *ctx, dpot_status status, const char *sentence)
{
    (void)ctx;
    if (status != DPOT_OK) {
        (void)snprintf(faults + strlen(faults), sizeof faults - strlen(faults), "%s\n", sentence);
    }
}

static const struct service_check_options options = {.report = note_fault};

static void expect_restored(uint64_t n_accepted)
{
    struct backup_restored restored;
    struct dpot_error error = {{0}};
    cr_assert_eq(backup_restore(&config, copy, &options, &restored, &error), DPOT_OK, "%s %s",
                 error.text, faults);
    cr_assert_eq(restored.count.n_accepted, n_accepted);
    cr_assert_eq(access(restored.kept, F_OK), 0);
}

static void refuse_restore(dpot_status expected, const char *word)
{
    struct backup_restored restored;
    struct dpot_error error = {{0}};
    char beside[FIXTURE_PATH_SIZE];
    fixture_path(beside, folder, "dpot.db.restoring");
    faults[0] = '\0';
    cr_assert_eq(backup_restore(&config, copy, &options, &restored, &error), expected, "%s %s",
                 error.text, faults);
    cr_assert(strstr(error.text, word) || strstr(faults, word), "%s\n%s", error.text, faults);
    cr_assert_neq(access(beside, F_OK), 0, "nothing is left beside the store");
}

Test(backup, reports_accepted_before_are_duplicates_after_a_restore)
{
    struct backup_made made;
    struct dpot_error error = {{0}};
    cr_assert_eq(post(0, 30), 30);
    cr_assert_eq(backup_make(&config, copy, &options, &made, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(made.count.n_accepted, 30);
    cr_assert_eq(post(30, 10), 10);
    stop();
    expect_restored(30);
    start();
    cr_assert_eq(post(0, 30), 0);
    cr_assert_eq(post(30, 10), 10, "these came after the copy");
}

static atomic_bool is_over;

static void *post_on(void *ctx)
{
    size_t *n_posted = ctx;
    while (!is_over) {
        *n_posted += post((uint32_t)*n_posted, 20);
    }
    return NULL;
}

/* The copy is a snapshot: a complete pool with as many reports as its counter, between the numbers
 * acknowledged before and after. */
Test(backup, a_copy_made_under_load_is_complete)
{
    size_t n_posted = 0;
    pthread_t thread;
    struct backup_made made;
    struct dpot_error error = {{0}};
    cr_assert_eq(pthread_create(&thread, NULL, post_on, &n_posted), 0);
    for (int i = 0; i < 5; i++) {
        (void)unlink(copy);
        cr_assert_eq(backup_make(&config, copy, &options, &made, &error), DPOT_OK, "%s",
                     error.text);
        cr_assert_eq(made.count.n_accepted % 20, 0);
    }
    is_over = true;
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_leq(made.count.n_accepted, n_posted);
    stop();
    expect_restored(made.count.n_accepted);
    start();
}

Test(backup, an_existing_file_is_not_overwritten)
{
    struct backup_made made;
    struct dpot_error error = {{0}};
    fixture_write(copy, "mine");
    cr_assert_eq(backup_make(&config, copy, &options, &made, &error), DPOT_ERR_EXISTS);
    cr_assert_not_null(strstr(error.text, copy), "%s", error.text);
    (void)snprintf(config.store, sizeof config.store, "sqlite:%s/none.db", folder);
    (void)unlink(copy);
    cr_assert_eq(backup_make(&config, copy, &options, &made, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_neq(access(copy, F_OK), 0);
    (void)snprintf(config.store, sizeof config.store, "sqlite:%s", store);
}

Test(backup, a_store_that_is_served_is_not_replaced)
{
    struct backup_made made;
    cr_assert_eq(post(0, 5), 5);
    cr_assert_eq(backup_make(&config, copy, &options, &made, NULL), DPOT_OK);
    refuse_restore(DPOT_ERR_BUSY, "served by process");
    cr_assert_eq(post(0, 5), 0);
    struct backup_migrated migrated;
    cr_assert_eq(backup_migrate(&config, &options, &migrated, NULL), DPOT_ERR_BUSY);
}

Test(backup, a_copy_of_other_keys_is_not_restored)
{
    struct backup_made made;
    cr_assert_eq(post(0, 5), 5);
    cr_assert_eq(backup_make(&config, copy, &options, &made, NULL), DPOT_OK);
    stop();
    char kept[FIXTURE_PATH_SIZE], path[FIXTURE_PATH_SIZE];
    fixture_path(kept, folder, "signing.kept");
    fixture_path(path, folder, "keys/signing.key");
    cr_assert_eq(rename(path, kept), 0);
    uint8_t pin[DPOT_SIGN_PUBLIC_LEN];
    bool was_kept = true;
    cr_assert_eq(server_keys_complete(config.keys_dir, dpot_clock_system(), pin, &was_kept, NULL),
                 DPOT_OK);
    refuse_restore(DPOT_ERR_CORRUPT, "signing.key");
    cr_assert_eq(rename(kept, path), 0);

    cr_assert_eq(truncate(copy, 5000), 0);
    refuse_restore(DPOT_ERR_CORRUPT, "backup");
    fixture_write(copy, "a diary that is long enough to be told from a database file, is it not?");
    refuse_restore(DPOT_ERR_CORRUPT, "not a database");
    refuse_restore(DPOT_ERR_CORRUPT, copy);
    fixture_write(copy, "");
    refuse_restore(DPOT_ERR_MALFORMED, "empty");
    (void)unlink(copy);
    refuse_restore(DPOT_ERR_IO, "No such file");
    start();
    cr_assert_eq(post(0, 5), 0, "the store is as it was");
}

Test(backup, a_damaged_store_is_replaced_and_kept_unchanged)
{
    struct backup_made made;
    struct stat info;
    cr_assert_eq(post(0, 5), 5);
    cr_assert_eq(backup_make(&config, copy, &options, &made, NULL), DPOT_OK);
    stop();
    fixture_write(store, "this was a database once, and a long one, before the disk had its day");
    expect_restored(5);
    cr_assert_eq(stat(store, &info), 0);
    cr_assert_eq(info.st_nlink, 1);
    start();
    cr_assert_eq(post(0, 6), 1);
}

Test(backup, a_store_that_is_missing_is_restored)
{
    struct backup_made made;
    struct backup_restored restored;
    struct dpot_error error = {{0}};
    cr_assert_eq(post(0, 5), 5);
    cr_assert_eq(backup_make(&config, copy, &options, &made, NULL), DPOT_OK);
    stop();
    (void)unlink(store);
    cr_assert_eq(backup_restore(&config, copy, &options, &restored, &error), DPOT_OK, "%s %s",
                 error.text, faults);
    cr_assert_str_eq(restored.kept, "");
    start();
    cr_assert_eq(post(0, 5), 0);
}

/* A store older than the third version, and older than the version number in the file header. */
Test(backup, migrating_saves_the_store_as_it_was_and_keeps_every_report)
{
    struct backup_migrated migrated;
    struct database *database = NULL;
    struct dpot_error error = {{0}};
    int64_t n = 0;
    cr_assert_eq(post(0, 5), 5);
    stop();
    cr_assert_eq(database_open(store, &database, &error), DPOT_OK, "%s", error.text);
    for (size_t i = 0; i < FIXTURE_N_TO_VERSION_4; i++) {
        cr_assert_eq(database_execute(database, "ageing", fixture_to_version_4[i], &error), DPOT_OK,
                     "%s", error.text);
    }
    cr_assert_eq(database_execute(database, "ageing",
                                  "DROP TABLE drop_count; DROP TABLE commit_sum;"
                                  "PRAGMA user_version = 0;"
                                  "DELETE FROM schema_version WHERE version > 2;",
                                  &error),
                 DPOT_OK, "%s", error.text);
    database_close(database);
    cr_assert_eq(backup_migrate(&config, &options, &migrated, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(migrated.from, 2);
    cr_assert_gt(migrated.to, 2);
    cr_assert_not_null(strstr(migrated.copy, "dpot.db.version-2-"), "%s", migrated.copy);
    cr_assert_eq(database_open_old(migrated.copy, &database, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(database_found_version(database), 2);
    cr_assert_eq(database_ask(database, "SELECT sum(n_reports) FROM commits", &n, NULL, 0, &error),
                 DPOT_OK);
    cr_assert_eq(n, 5);
    database_close(database);
    cr_assert_eq(database_open_existing(store, &database, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(database_ask(database, "PRAGMA user_version", &n, NULL, 0, &error), DPOT_OK);
    cr_assert_eq(n, migrated.to);
    database_close(database);
    start();
    cr_assert_eq(post(0, 6), 1, "what was counted is a duplicate");
}

Test(backup, migrating_prints_both_versions)
{
    struct backup_migrated migrated;
    stop();
    cr_assert_eq(backup_migrate(&config, &options, &migrated, NULL), DPOT_OK);
    cr_assert_eq(migrated.from, migrated.to);
    cr_assert_gt(migrated.to, 2);
    cr_assert_str_eq(migrated.copy, "");
    (void)unlink(store);
    cr_assert_eq(backup_migrate(&config, &options, &migrated, NULL), DPOT_ERR_STATE);
    cr_assert_neq(access(store, F_OK), 0, "none is made");
}

/* Nothing that identifies a device is in the log, at any level. */
Test(backup, logs_show_commits_and_no_device)
{
    static char content[200000];
    char own_url[128];
    cr_assert_eq(post(0, 5), 5);
    cr_assert_eq(post(0, 5), 0);
    (void)snprintf(own_url, sizeof own_url, "%s", service_url(service) + 7);
    stop(); /* the log is complete */
    rewind(log_stream);
    content[fread(content, 1, sizeof content - 1, log_stream)] = '\0';
    cr_assert_not_null(strstr(content, "event=store.commit n_reports=5"));
    cr_assert_not_null(strstr(content, "status=202"));
    for (const char *line = content; line; line = strchr(line + 1, '\n')) {
        const char *address = strstr(line, "127.0.0.1");
        const char *own = strstr(line, own_url);
        cr_assert(!address || (own && own <= address), "an address that is not ours: %.200s", line);
        line = address ? address : line;
    }
    for (uint32_t i = 0; i < 5; i++) {
        const struct dpot_report report = fixture_report(i);
        char hex[2 * DPOT_REPORT_ID_LEN + 1];
        dpot_hex_encode(hex, report.id, sizeof report.id);
        cr_assert_null(strstr(content, hex));
    }
}

Test(backup, seal_keys_are_added_up_to_the_limit_and_removed_when_expired)
{
    struct test_clock clock;
    struct server_keys all;
    struct dpot_seal_key added;
    struct dpot_error error = {{0}};
    size_t n_removed = 9;
    test_clock_init(&clock, dpot_clock_system()->now(NULL));
    cr_assert_eq(server_keys_prune(config.keys_dir, &clock.clock, &n_removed, NULL), DPOT_OK);
    cr_assert_eq(n_removed, 0);
    for (size_t i = 1; i < DPOT_SEAL_KEYS_MAX; i++) {
        cr_assert_eq(server_keys_add(config.keys_dir, &clock.clock, 2, &added, &error), DPOT_OK);
    }
    cr_assert_eq(server_keys_add(config.keys_dir, &clock.clock, 2, &added, &error),
                 DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "prune"), "%s", error.text);
    cr_assert_eq(added.not_after_ms, clock.now_ms - clock.now_ms % 1000 + INT64_C(2) * 86400000);
    clock.now_ms += INT64_C(3) * 86400000;
    cr_assert_eq(server_keys_prune(config.keys_dir, &clock.clock, &n_removed, NULL), DPOT_OK);
    cr_assert_eq(n_removed, DPOT_SEAL_KEYS_MAX - 1);
    cr_assert_eq(server_keys_read(config.keys_dir, &all, NULL), DPOT_OK);
    cr_assert_eq(all.n_seal_secrets, 1);
    clock.now_ms += INT64_C(500) * 86400000;
    cr_assert_eq(server_keys_prune(config.keys_dir, &clock.clock, &n_removed, &error),
                 DPOT_ERR_STATE);
    cr_assert_eq(server_keys_read(config.keys_dir, &all, NULL), DPOT_OK, "the last one stays");
}

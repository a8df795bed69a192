/* An installation on a disk that fails: keys and tokens that were shown are never lost, copies of
 * the store are whole or not there, and every command can be repeated. */
#include "dpotd/backup.h"
#include "dpotd/init.h"
#include "http/tokens.h"
#include "keys/keys.h"
#include "unit/aggregator/faults/walk.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REPORTED_DONE 'D'
#define REPORTED_BROKEN 'X'
#define RUNS_MAX 36

static struct test_clock now;

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    walk_make_folders();
    disk_clear(folder);
    test_clock_init(&now, FIXTURE_NOW_MS);
}

static void tear_down(void)
{
    fixture_remove(home);
}

TestSuite(install_faults, .init = set_up, .fini = tear_down);

static const char *path_in(const char *where, const char *name)
{
    static char path[2 * FIXTURE_PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", where, name);
    return path;
}

/* Everything that `serve` reads is whole. */
static void read_installation(struct config *config, struct server_keys *keys,
                              struct tokens *tokens)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(config_read(path_in(folder, "dpotd.json"), config, &error), DPOT_OK, "%s: %s",
                 walk_place, error.text);
    cr_assert_eq(server_keys_read(config->keys_dir, keys, &error), DPOT_OK, "%s: %s", walk_place,
                 error.text);
    cr_assert_eq(tokens_read(config->tokens_file, tokens, &error), DPOT_OK, "%s: %s", walk_place,
                 error.text);
}

/* ---- dpotd init ---- */

/* The output that the user has seen and may have given to devices and colleagues. */
struct shown {
    uint8_t pin[DPOT_SIGN_PUBLIC_LEN];
    char token[INIT_TOKEN_SIZE];
};

static void report_bytes(const void *data, size_t len)
{
    const unsigned char *bytes = data;
    disk_report(REPORTED_DONE);
    for (size_t i = 0; i < len; i++) {
        disk_report(bytes[i]);
    }
}

static void install(void *ctx)
{
    (void)ctx;
    struct init_result result;
    struct dpot_error error = {{0}};
    dpot_status status = init_run(folder, "127.0.0.1:0", &now.clock, &result, &error);
    if (status == DPOT_ERR_IO) {
        status = init_run(folder, "127.0.0.1:0", &now.clock, &result, &error);
    }
    if (status == DPOT_OK) {
        struct shown shown;
        memcpy(shown.pin, result.pin, sizeof shown.pin);
        memcpy(shown.token, result.token, sizeof shown.token);
        report_bytes(&shown, sizeof shown);
    } else if (!error.text[0]) {
        disk_report(REPORTED_BROKEN);
    }
}

static void validate_installation(void *ctx, const struct disk_outcome *outcome)
{
    (void)ctx;
    struct shown shown;
    struct init_result repeated;
    struct dpot_error error = {{0}};
    struct config config;
    struct server_keys keys;
    struct tokens tokens;
    uint8_t pin[DPOT_SIGN_PUBLIC_LEN];
    const bool was_shown =
        outcome->n_reported == 1 + sizeof shown && outcome->reported[0] == REPORTED_DONE;
    cr_assert(was_shown || outcome->n_reported == 0, "%s", walk_place);
    const dpot_status status = init_run(folder, "127.0.0.1:0", &now.clock, &repeated, &error);
    cr_assert(status == DPOT_ERR_EXISTS || (!was_shown && status == DPOT_OK), "%s: %s", walk_place,
              error.text);
    read_installation(&config, &keys, &tokens);
    if (was_shown) {
        memcpy(&shown, outcome->reported + 1, sizeof shown);
        dpot_sign_public(keys.secret_key, pin);
        cr_assert_arr_eq(pin, shown.pin, sizeof pin, "%s: the pin was shown", walk_place);
        cr_assert_not_null(tokens_find(&tokens, shown.token), "%s: the token was shown",
                           walk_place);
    }
}

Test(install_faults, a_reported_installation_is_complete_and_any_other_can_be_completed)
{
    const struct walk walk = {install, validate_installation, NULL, NULL, folder};
    cr_log_info("%zu runs", walk_all(&walk, RUNS_MAX));
}

/* The same after an earlier run that was interrupted after its token: the file grows. */
Test(install_faults, a_second_token_never_removes_the_first)
{
    const struct walk walk = {install, validate_installation, NULL, seed, folder};
    struct init_result result;
    cr_assert_eq(init_run(seed, "127.0.0.1:0", &now.clock, &result, NULL), DPOT_OK);
    cr_assert_eq(unlink(result.config_path), 0);
    cr_log_info("%zu runs", walk_all(&walk, RUNS_MAX));
}

/* ---- dpotd keys add, keys prune ---- */

static void change_keys(void *ctx)
{
    (void)ctx;
    struct dpot_seal_key added;
    struct dpot_error error = {{0}};
    size_t n_removed = 0;
    struct test_clock later = now;
    later.clock.ctx = &later;
    later.now_ms += INT64_C(86400000) * 500; /* the first has expired */
    if (server_keys_add(path_in(folder, "keys"), &later.clock, 400, &added, &error) == DPOT_OK) {
        report_bytes(added.id, sizeof added.id);
        if (server_keys_prune(path_in(folder, "keys"), &later.clock, &n_removed, &error) !=
                DPOT_OK &&
            !error.text[0]) {
            disk_report(REPORTED_BROKEN);
        }
    } else if (!error.text[0]) {
        disk_report(REPORTED_BROKEN);
    }
}

/* A part of a key that an interrupted run left is unlocked at its end: it is found and removed. */
static void expect_no_leftovers(void)
{
    char keys[2 * FIXTURE_PATH_SIZE];
    struct dpot_error error = {{0}};
    size_t n = 0;
    (void)snprintf(keys, sizeof keys, "%s", path_in(folder, "keys"));
    cr_assert_eq(server_keys_clear(keys, &n, &error), DPOT_OK, "%s: %s", walk_place, error.text);
    DIR *dir = opendir(keys);
    cr_assert_not_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        cr_assert_null(strstr(e->d_name, ".tmp"), "%s: %s", walk_place, e->d_name);
    }
    (void)closedir(dir);
}

static void validate_keys(void *ctx, const struct disk_outcome *outcome)
{
    (void)ctx;
    struct config config;
    struct server_keys keys;
    struct tokens tokens;
    bool is_there = outcome->n_reported == 0;
    read_installation(&config, &keys, &tokens);
    for (size_t i = 0; i < keys.n_seal_secrets && !is_there; i++) {
        is_there =
            outcome->n_reported == 1 + DPOT_SEAL_KEY_ID_LEN &&
            memcmp(keys.seal_secrets[i].key.id, outcome->reported + 1, DPOT_SEAL_KEY_ID_LEN) == 0;
    }
    cr_assert(is_there, "%s: the key was announced", walk_place);
    expect_no_leftovers();
}

Test(install_faults, keys_are_complete_and_an_added_one_stays)
{
    const struct walk walk = {change_keys, validate_keys, NULL, seed, folder};
    struct init_result result;
    cr_assert_eq(init_run(seed, "127.0.0.1:0", &now.clock, &result, NULL), DPOT_OK);
    cr_log_info("%zu runs", walk_all(&walk, RUNS_MAX));
}

/* ---- dpotd backup, restore ---- */

#define N_NOW 4
#define N_COPIED 2

static void append(struct store *store, const uint8_t hash[DPOT_HASH_LEN], uint32_t first)
{
    struct dpot_report reports[2] = {fixture_report(first), fixture_report(first + 1)};
    const uint8_t is_refused[2] = {0, 0};
    enum dpot_report_status statuses[2];
    struct store_append batch = {
        .n_reports = 2, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    memcpy(batch.hash, hash, sizeof batch.hash);
    cr_assert_eq(store_append_reports(store, &batch, NULL), DPOT_OK);
}

static void ignore_report(void *ctx, dpot_status status, const char *sentence)
{
    (void)ctx;
    (void)status;
    (void)sentence;
}

static const struct service_check_options options = {.report = ignore_report};

/* An installation whose store holds N_NOW reports, and a copy of when it held N_COPIED. */
static void make_store(void)
{
    struct init_result result;
    struct config config;
    struct server_keys keys;
    struct store *store = NULL;
    struct registry *registry = NULL;
    struct revision_record record;
    struct backup_made made;
    json_t *spec = fixture_spec();
    cr_assert_eq(init_run(seed, "127.0.0.1:0", &now.clock, &result, NULL), DPOT_OK);
    cr_assert_eq(config_read(result.config_path, &config, NULL), DPOT_OK);
    cr_assert_eq(server_keys_read(config.keys_dir, &keys, NULL), DPOT_OK);
    cr_assert_eq(store_open(config.store, &store, NULL), DPOT_OK);
    cr_assert_eq(registry_new(store, keys.secret_key, &now.clock, &registry, NULL), DPOT_OK);
    cr_assert_eq(registry_create(registry, spec, &record, NULL), DPOT_OK);
    cr_assert_eq(registry_open_campaign(registry, record.campaign_id, &record, NULL, NULL),
                 DPOT_OK);
    append(store, record.hash, 0);
    cr_assert_eq(backup_make(&config, path_in(seed, "copy.db"), &options, &made, NULL), DPOT_OK);
    append(store, record.hash, 2);
    json_decref(spec);
    registry_free(registry);
    store_close(store);
}

/* A store that has two names after a crash is not opened; the error message says to remove the
 * other name. */
static void remove_second_name(const char *name)
{
    char path[2 * FIXTURE_PATH_SIZE];
    struct stat info, other;
    (void)snprintf(path, sizeof path, "%s", path_in(folder, name));
    if (stat(path, &info) != 0 || info.st_nlink == 1) {
        return;
    }
    DIR *dir = opendir(folder);
    cr_assert_not_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        const bool is_it = strcmp(e->d_name, name) == 0;
        if (!is_it && stat(path_in(folder, e->d_name), &other) == 0 &&
            other.st_ino == info.st_ino) {
            cr_assert_eq(unlink(path_in(folder, e->d_name)), 0);
        }
    }
    (void)closedir(dir);
}

/* -1: there is none. */
static long count_reports(const char *name)
{
    char url[2 * FIXTURE_PATH_SIZE + 16];
    struct store *store = NULL;
    struct pool_count count = {0};
    uint64_t n_dropped[DROP_REASONS];
    struct dpot_error error = {{0}};
    remove_second_name(name);
    (void)snprintf(url, sizeof url, "sqlite:%s", path_in(folder, name));
    const dpot_status status = store_open_existing(url, &store, &error);
    cr_assert(status == DPOT_OK || status == DPOT_ERR_NOT_FOUND, "%s: %s: %s", walk_place, name,
              error.text);
    if (status == DPOT_OK) {
        cr_assert_eq(store_count_all(store, &count, n_dropped, NULL), DPOT_OK);
    }
    store_close(store);
    return status == DPOT_OK ? (long)count.n_accepted : -1;
}

static void back_up(void *ctx)
{
    (void)ctx;
    struct config config;
    struct backup_made made;
    struct dpot_error error = {{0}};
    dpot_status status = config_read(path_in(folder, "dpotd.json"), &config, &error);
    if (status == DPOT_OK) {
        status = backup_make(&config, path_in(folder, "new.db"), &options, &made, &error);
    }
    if (status == DPOT_OK && made.count.n_accepted == N_NOW) {
        disk_report(REPORTED_DONE);
    } else if (!error.text[0]) {
        disk_report(REPORTED_BROKEN);
    }
}

static void validate_backup(void *ctx, const struct disk_outcome *outcome)
{
    (void)ctx;
    struct config config;
    struct backup_made made;
    struct dpot_error error = {{0}};
    const long n = count_reports("new.db");
    cr_assert_not(was_reported(outcome, REPORTED_BROKEN), "%s", walk_place);
    cr_assert(n == N_NOW || (n == -1 && !was_reported(outcome, REPORTED_DONE)), "%s: %ld",
              walk_place, n);
    cr_assert_eq(count_reports("dpot.db"), N_NOW, "%s", walk_place);
    cr_assert_eq(config_read(path_in(folder, "dpotd.json"), &config, NULL), DPOT_OK);
    const dpot_status status =
        backup_make(&config, path_in(folder, "new.db"), &options, &made, &error);
    cr_assert_eq(status, n == -1 ? DPOT_OK : DPOT_ERR_EXISTS, "%s: %s", walk_place, error.text);
    cr_assert_eq(count_reports("new.db"), N_NOW, "%s", walk_place);
}

Test(install_faults, a_backup_is_complete_or_missing)
{
    const struct walk walk = {back_up, validate_backup, NULL, seed, folder};
    make_store();
    cr_log_info("%zu runs", walk_all(&walk, RUNS_MAX));
}

static dpot_status restore_copy(struct dpot_error *error)
{
    struct backup_restored restored;
    struct config config;
    dpot_status status = config_read(path_in(folder, "dpotd.json"), &config, error);
    if (status == DPOT_OK) {
        status = backup_restore(&config, path_in(folder, "copy.db"), &options, &restored, error);
    }
    return status;
}

static void restore(void *ctx)
{
    (void)ctx;
    struct dpot_error error = {{0}};
    if (restore_copy(&error) == DPOT_OK) {
        disk_report(REPORTED_DONE);
    } else if (!error.text[0]) {
        disk_report(REPORTED_BROKEN);
    }
}

static void validate_restored(void *ctx, const struct disk_outcome *outcome)
{
    (void)ctx;
    struct dpot_error error = {{0}};
    const long n = count_reports("dpot.db");
    const bool was_done = was_reported(outcome, REPORTED_DONE);
    cr_assert_not(was_reported(outcome, REPORTED_BROKEN), "%s", walk_place);
    cr_assert(n == N_COPIED || (n == N_NOW && !was_done), "%s: %ld", walk_place, n);
    cr_assert_eq(count_reports("copy.db"), N_COPIED, "%s", walk_place);
    const dpot_status status = restore_copy(&error);
    /* Within the same second the name for the former store is taken: an error, and nothing is
     * lost. */
    cr_assert(status == DPOT_OK || status == DPOT_ERR_EXISTS, "%s: %s", walk_place, error.text);
    cr_assert_eq(count_reports("dpot.db"), status == DPOT_OK ? N_COPIED : n, "%s", walk_place);
}

Test(install_faults, a_restored_store_is_the_former_or_the_copy)
{
    const struct walk walk = {restore, validate_restored, NULL, seed, folder};
    make_store();
    cr_log_info("%zu runs", walk_all(&walk, RUNS_MAX / 2));
}

#include "dpotd/init.h"

#include "base/clock.h"
#include "http/tokens.h"
#include "keys/key_file.h"
#include "keys/keys.h"
#include "support/clock.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[FIXTURE_PATH_SIZE];
static struct test_clock clock;
static struct init_result result;

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    test_clock_init(&clock, FIXTURE_NOW_MS + 123);
    fixture_folder(folder);
}

static void tear_down(void)
{
    fixture_remove(folder);
}

TestSuite(init, .init = set_up, .fini = tear_down);

static void make(void)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(init_run(folder, "127.0.0.1:8080", &clock.clock, &result, &error), DPOT_OK, "%s",
                 error.text);
}

static char *in_folder(const char *name)
{
    static char path[FIXTURE_PATH_SIZE];
    fixture_path(path, folder, name);
    return path;
}

static mode_t mode_of(const char *name)
{
    struct stat info;
    cr_assert_eq(stat(in_folder(name), &info), 0, "%s", name);
    return info.st_mode & 0777;
}

/* The path of the only seal key. */
static const char *seal_path(void)
{
    static char path[2 * FIXTURE_PATH_SIZE];
    char keys[FIXTURE_PATH_SIZE];
    fixture_path(keys, folder, "keys");
    DIR *dir = opendir(keys);
    cr_assert_not_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (strncmp(e->d_name, "seal-", 5) == 0) {
            (void)snprintf(path, sizeof path, "%s/%s", keys, e->d_name);
        }
    }
    (void)closedir(dir);
    return path;
}

static dpot_status read_keys(struct server_keys *keys, struct dpot_error *error)
{
    return server_keys_read(in_folder("keys"), keys, error);
}

Test(init, a_new_installation_is_private_and_complete)
{
    struct config config;
    struct server_keys keys;
    struct tokens tokens;
    uint8_t pin[DPOT_SIGN_PUBLIC_LEN];
    make();
    cr_assert_eq(mode_of("dpotd.json"), 0600);
    cr_assert_eq(mode_of("tokens"), 0600);
    cr_assert_eq(mode_of("keys"), 0700);
    cr_assert_eq(mode_of("keys/signing.key"), 0600);
    cr_assert_eq(config_read(result.config_path, &config, NULL), DPOT_OK);
    cr_assert_str_eq(config.listen, "127.0.0.1:8080");
    cr_assert_eq(read_keys(&keys, NULL), DPOT_OK);
    dpot_sign_public(keys.secret_key, pin);
    cr_assert_eq(memcmp(pin, result.pin, sizeof pin), 0);
    cr_assert_eq(keys.n_seal_secrets, 1);
    cr_assert_eq(keys.seal_secrets[0].key.not_before_ms,
                 FIXTURE_NOW_MS - SERVER_KEYS_EARLY_MINUTES * INT64_C(60000),
                 "devices whose clocks are slow can report");
    cr_assert_eq(keys.seal_secrets[0].key.not_after_ms, FIXTURE_NOW_MS + INT64_C(34560000000));
    cr_assert_eq(tokens_read(config.tokens_file, &tokens, NULL), DPOT_OK);
    cr_assert_not_null(tokens_find(&tokens, result.token));
    server_keys_wipe(&keys);
}

Test(init, a_missing_folder_is_made)
{
    char path[FIXTURE_PATH_SIZE];
    fixture_path(path, folder, "new");
    cr_assert_eq(init_run(path, "h:1", &clock.clock, &result, NULL), DPOT_OK);
    cr_assert_eq(mode_of("new"), 0700);
    cr_assert_eq(access(in_folder("new/dpotd.json"), F_OK), 0);
}

Test(init, an_installation_is_never_overwritten)
{
    struct dpot_error error = {{0}};
    struct server_keys before, after;
    make();
    cr_assert_eq(read_keys(&before, NULL), DPOT_OK);
    cr_assert_eq(init_run(folder, "h:1", &clock.clock, &result, &error), DPOT_ERR_EXISTS);
    cr_assert_not_null(strstr(error.text, "dpotd.json"));
    cr_assert_eq(read_keys(&after, NULL), DPOT_OK);
    cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
}

/* As after an init that was interrupted before its last file. */
static void repeat(struct init_result *again)
{
    struct dpot_error error = {{0}};
    (void)unlink(in_folder("dpotd.json"));
    cr_assert_eq(init_run(folder, "h:1", &clock.clock, again, &error), DPOT_OK, "%s", error.text);
}

Test(init, an_interrupted_installation_is_completed_and_keeps_its_keys)
{
    struct server_keys before, after;
    struct tokens tokens;
    struct init_result again;
    make();
    cr_assert_not(result.kept_signing_key);
    cr_assert_eq(read_keys(&before, NULL), DPOT_OK);
    repeat(&again);
    cr_assert(again.kept_signing_key);
    cr_assert_eq(memcmp(again.pin, result.pin, sizeof again.pin), 0);
    cr_assert_eq(read_keys(&after, NULL), DPOT_OK);
    cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
    cr_assert_eq(tokens_read(in_folder("tokens"), &tokens, NULL), DPOT_OK);
    cr_assert_eq(tokens.n, 2);
    cr_assert_not_null(tokens_find(&tokens, result.token));
    cr_assert_not_null(tokens_find(&tokens, again.token));

    cr_assert_eq(unlink(in_folder("tokens")), 0);
    cr_assert_eq(unlink(seal_path()), 0); /* interrupted between the two keys */
    repeat(&again);
    cr_assert_eq(memcmp(again.pin, result.pin, sizeof again.pin), 0);
    cr_assert_eq(read_keys(&after, NULL), DPOT_OK);
    cr_assert_eq(after.n_seal_secrets, 1);
}

Test(init, a_half_written_file_of_an_earlier_run_is_named_and_unchanged)
{
    struct dpot_error error = {{0}};
    make();
    cr_assert_eq(unlink(in_folder("dpotd.json")), 0);
    fixture_write(in_folder("tokens"), "admin 00");
    cr_assert_eq(init_run(folder, "h:1", &clock.clock, &result, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "tokens"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "move away"), "%s", error.text);
    cr_assert_eq(unlink(in_folder("keys/signing.key")), 0);
    cr_assert_eq(key_file_write_new(in_folder("keys/signing.key"), "secret_key 00", NULL), DPOT_OK);
    cr_assert_eq(init_run(folder, "h:1", &clock.clock, &result, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "signing.key"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "move it away"), "%s", error.text);
    cr_assert_neq(access(in_folder("dpotd.json"), F_OK), 0);
}

Test(init, two_installations_share_nothing)
{
    struct init_result other;
    char path[FIXTURE_PATH_SIZE];
    fixture_path(path, folder, "other");
    make();
    cr_assert_eq(init_run(path, "h:1", &clock.clock, &other, NULL), DPOT_OK);
    cr_assert_neq(memcmp(other.pin, result.pin, sizeof other.pin), 0);
    cr_assert_str_neq(other.token, result.token);
}

Test(init, a_bad_address_is_refused_before_any_file_is_created)
{
    cr_assert_eq(init_run(folder, "nowhere", &clock.clock, &result, NULL), DPOT_ERR_MALFORMED);
    cr_assert_neq(access(in_folder("keys"), F_OK), 0);
}

Test(init, a_folder_that_cannot_be_made_is_an_io_error)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(init_run("/proc/dpot", "h:1", &clock.clock, &result, &error), DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "/proc/dpot"));
}

static void refuse_keys(dpot_status expected, const char *word)
{
    struct server_keys keys;
    struct dpot_error error = {{0}};
    const dpot_status status = read_keys(&keys, &error);
    cr_assert_eq(status, expected, "%s: %s", dpot_status_name(status), error.text);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
    cr_assert_eq(keys.n_seal_secrets, 0);
}

Test(keys, a_key_that_others_can_read_is_refused)
{
    set_up();
    make();
    cr_assert_eq(chmod(in_folder("keys/signing.key"), 0640), 0);
    refuse_keys(DPOT_ERR_DENIED, "chmod 600");
    cr_assert_eq(chmod(in_folder("keys/signing.key"), 0600), 0);
    cr_assert_eq(chmod(seal_path(), 0604), 0);
    refuse_keys(DPOT_ERR_DENIED, "seal-");
    tear_down();
}

/* Users with write access to the folder can replace files that they cannot read. */
Test(keys, a_folder_of_keys_that_others_can_write_is_refused)
{
    struct server_keys keys;
    struct dpot_error error = {{0}};
    set_up();
    make();
    cr_assert_eq(chmod(in_folder("keys"), 0755), 0);
    cr_assert_eq(read_keys(&keys, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(chmod(in_folder("keys"), 0770), 0);
    refuse_keys(DPOT_ERR_DENIED, "chmod go-w");
    cr_assert_eq(chmod(in_folder("keys"), 0702), 0);
    refuse_keys(DPOT_ERR_DENIED, "chmod go-w");
    tear_down();
}

Test(keys, a_missing_key_is_named)
{
    set_up();
    make();
    cr_assert_eq(unlink(seal_path()), 0);
    refuse_keys(DPOT_ERR_NOT_FOUND, "seal-*.key");
    cr_assert_eq(unlink(in_folder("keys/signing.key")), 0);
    refuse_keys(DPOT_ERR_IO, "signing.key");
    tear_down();
}

static void rewrite(const char *path, const char *text)
{
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(key_file_write_new(path, text, NULL), DPOT_OK);
}

Test(keys, a_damaged_key_file_is_refused)
{
    static const char *const bad[] = {
        "",
        "secret_key",
        "secret_key 00",
        "id 00",
        "\n\n\n",
        "id 0011223344556677\nsecret_key "
        "0000000000000000000000000000000000000000000000000000000000000001\n"
        "not_before 2026-01-01T00:00:00Z\nnot_after 2027-01-01T00:00:00Z"};
    struct dpot_buf good;
    set_up();
    make();
    dpot_buf_init(&good, 10000, NULL);
    cr_assert_eq(key_file_read(in_folder("keys/signing.key"), KEY_FILE_OTHERS, &good, NULL),
                 DPOT_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rewrite(seal_path(), bad[i]);
        refuse_keys(DPOT_ERR_MALFORMED, "seal-");
    }
    for (size_t i = 0; i < 5; i++) {
        rewrite(in_folder("keys/signing.key"), bad[i]);
        refuse_keys(DPOT_ERR_MALFORMED, "signing.key");
    }
    /* With a wrong public half two signatures would reveal the secret. */
    cr_assert_eq(dpot_buf_append(&good, "", 1), DPOT_OK);
    char *text = (char *)good.data;
    char *last = strchr(strstr(text, "secret_key "), '\n');
    last = last ? last - 1 : text + strlen(text) - 1;
    *last = *last == '0' ? '1' : '0';
    rewrite(in_folder("keys/signing.key"), text);
    refuse_keys(DPOT_ERR_MALFORMED, "signing.key");
    dpot_buf_release(&good);
    tear_down();
}

Test(keys, other_files_in_the_folder_are_unchanged)
{
    struct server_keys keys;
    set_up();
    make();
    fixture_write(in_folder("keys/README"), "hello");
    fixture_write(in_folder("keys/seal-.keys"), "hello");
    cr_assert_eq(read_keys(&keys, NULL), DPOT_OK);
    cr_assert_eq(keys.n_seal_secrets, 1);
    tear_down();
}

/* Opening a pipe blocks until there is a writer. */
Test(keys, a_pipe_in_the_place_of_a_key_is_refused_at_once)
{
    struct dpot_error error = {{0}};
    set_up();
    make();
    cr_assert_eq(unlink(seal_path()), 0);
    cr_assert_eq(mkfifo(seal_path(), 0600), 0);
    refuse_keys(DPOT_ERR_MALFORMED, "plain file");
    cr_assert_eq(key_file_check_plain(seal_path(), &error), DPOT_ERR_MALFORMED);
    cr_assert_eq(key_file_check_plain(in_folder("keys"), &error), DPOT_ERR_MALFORMED);
    cr_assert_eq(key_file_check_plain(in_folder("keys/signing.key"), &error), DPOT_OK);
    cr_assert_eq(key_file_check_plain(in_folder("none"), &error), DPOT_OK);
    tear_down();
}

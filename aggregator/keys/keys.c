#include "keys/keys.h"

#include "base/clock.h"
#include "keys/key_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4352
#define MINUTE_MS INT64_C(60000)
#define DAY_MS ((int64_t)86400000)

static dpot_status join(char out[PATH_SIZE], const char *folder, const char *name,
                        struct dpot_error *error)
{
    const int n = snprintf(out, PATH_SIZE, "%s/%s", folder, name);
    return n > 0 && n < PATH_SIZE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "keys_dir is too long: use a shorter path");
}

/* ---- creating ---- */

static dpot_status create_signing_key(const char *folder, uint8_t *pin, struct dpot_error *error)
{
    uint8_t secret_key[DPOT_SIGN_SECRET_LEN];
    char path[PATH_SIZE], hex[2 * DPOT_SIGN_SECRET_LEN + 1], text[sizeof hex + 16];
    dpot_status status = join(path, folder, "signing.key", error);
    dpot_sign_keypair(pin, secret_key);
    dpot_hex_encode(hex, secret_key, sizeof secret_key);
    (void)snprintf(text, sizeof text, "secret_key %s", hex);
    if (status == DPOT_OK) {
        status = key_file_write_new(path, text, error);
    }
    dpot_wipe(secret_key, sizeof secret_key);
    dpot_wipe(hex, sizeof hex);
    dpot_wipe(text, sizeof text);
    return status;
}

static void format_seal_secret(const struct seal_secret *secret, char *out, size_t cap)
{
    char id[2 * DPOT_SEAL_KEY_ID_LEN + 1], hex[2 * DPOT_SEAL_SECRET_LEN + 1];
    char not_before[DPOT_RFC3339_SIZE], not_after[DPOT_RFC3339_SIZE];
    dpot_hex_encode(id, secret->key.id, sizeof secret->key.id);
    dpot_hex_encode(hex, secret->secret_key, sizeof secret->secret_key);
    dpot_time_format(secret->key.not_before_ms, not_before);
    dpot_time_format(secret->key.not_after_ms, not_after);
    (void)snprintf(out, cap, "id %s\nsecret_key %s\nnot_before %s\nnot_after %s", id, hex,
                   not_before, not_after);
    dpot_wipe(hex, sizeof hex);
}

static dpot_status seal_path(char out[PATH_SIZE], const char *folder,
                             const struct dpot_seal_key *key, struct dpot_error *error)
{
    char name[64], id[2 * DPOT_SEAL_KEY_ID_LEN + 1];
    dpot_hex_encode(id, key->id, sizeof key->id);
    (void)snprintf(name, sizeof name, "seal-%s.key", id);
    return join(out, folder, name, error);
}

static dpot_status create_seal_key(const char *folder, int64_t now_ms, unsigned days,
                                   struct dpot_seal_key *created, struct dpot_error *error)
{
    struct seal_secret secret;
    char path[PATH_SIZE], text[512];
    dpot_seal_keypair(secret.key.public_key, secret.secret_key);
    dpot_seal_key_id(secret.key.public_key, secret.key.id);
    secret.key.not_before_ms = now_ms - now_ms % 1000 - SERVER_KEYS_EARLY_MINUTES * MINUTE_MS;
    secret.key.not_after_ms = now_ms - now_ms % 1000 + days * DAY_MS;
    format_seal_secret(&secret, text, sizeof text);
    *created = secret.key;
    dpot_status status = seal_path(path, folder, created, error);
    if (status == DPOT_OK) {
        status = key_file_write_new(path, text, error);
    }
    dpot_wipe(&secret, sizeof secret);
    dpot_wipe(text, sizeof text);
    return status;
}

/* ---- reading ---- */

/* Copies the value of the line "NAME VALUE" in `text`; false if there is none. */
static bool find_value(const char *text, const char *name, char *out, size_t cap)
{
    const size_t name_len = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, name_len) == 0 && line[name_len] == ' ') {
            const char *value = line + name_len + 1;
            const size_t len = strcspn(value, "\r\n");
            if (len >= cap) {
                return false;
            }
            memcpy(out, value, len);
            out[len] = '\0';
            return true;
        }
    }
    return false;
}

static bool find_hex(const char *text, const char *name, uint8_t *out, size_t len)
{
    char hex[2 * DPOT_SIGN_SECRET_LEN + 1];
    const bool is_good =
        find_value(text, name, hex, sizeof hex) && dpot_hex_decode(hex, out, len) == DPOT_OK;
    dpot_wipe(hex, sizeof hex);
    return is_good;
}

static bool find_time(const char *text, const char *name, int64_t *time_ms)
{
    char value[DPOT_RFC3339_SIZE];
    return find_value(text, name, value, sizeof value) &&
           dpot_time_parse(value, time_ms) == DPOT_OK;
}

/* A secret key with a mismatched public half must never sign: see base/crypto.h. */
static bool parse_signing_key(const char *text, uint8_t *secret_key)
{
    return find_hex(text, "secret_key", secret_key, DPOT_SIGN_SECRET_LEN) &&
           dpot_sign_is_whole(secret_key);
}

/* Public key and id are derived; the id in the file must equal the derived one. */
static bool parse_seal_secret(const char *text, struct seal_secret *secret)
{
    uint8_t id[DPOT_SEAL_KEY_ID_LEN];
    if (!find_hex(text, "id", id, sizeof id) ||
        !find_hex(text, "secret_key", secret->secret_key, sizeof secret->secret_key) ||
        !find_time(text, "not_before", &secret->key.not_before_ms) ||
        !find_time(text, "not_after", &secret->key.not_after_ms) ||
        secret->key.not_before_ms >= secret->key.not_after_ms) {
        return false;
    }
    dpot_seal_public(secret->secret_key, secret->key.public_key);
    dpot_seal_key_id(secret->key.public_key, secret->key.id);
    return memcmp(id, secret->key.id, sizeof id) == 0;
}

static dpot_status read_key(const char *folder, const char *name, struct server_keys *keys,
                            struct dpot_error *error)
{
    struct dpot_buf text;
    char path[PATH_SIZE];
    dpot_buf_init(&text, KEY_FILE_BYTES_MAX + 1, NULL);
    dpot_status status = join(path, folder, name, error);
    if (status == DPOT_OK) {
        status = key_file_read(path, KEY_FILE_OTHERS, &text, error);
    }
    if (status == DPOT_OK) {
        const char *content = (const char *)text.data;
        const bool is_good =
            strcmp(name, "signing.key") == 0
                ? parse_signing_key(content, keys->secret_key)
                : parse_seal_secret(content, &keys->seal_secrets[keys->n_seal_secrets]);
        if (!is_good) {
            status =
                dpot_error_set(error, DPOT_ERR_MALFORMED,
                               "%s is not a key file of dpotd: restore it from a backup", path);
        }
    }
    dpot_buf_release_secret(&text);
    return status;
}

static bool is_seal_name(const char *name)
{
    static const char head[] = "seal-", tail[] = ".key";
    const size_t len = strlen(name);
    return len > sizeof head + sizeof tail - 2 && strncmp(name, head, sizeof head - 1) == 0 &&
           strcmp(name + len - (sizeof tail - 1), tail) == 0;
}

static dpot_status read_seal_keys(const char *folder, DIR *dir, struct server_keys *keys,
                                  struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    const struct dirent *entry = NULL;
    for (entry = readdir(dir); status == DPOT_OK && entry; entry = readdir(dir)) {
        if (!is_seal_name(entry->d_name)) {
            continue;
        }
        if (keys->n_seal_secrets == DPOT_SEAL_KEYS_MAX) {
            return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                  "%s has more than %d seal keys: remove expired ones", folder,
                                  DPOT_SEAL_KEYS_MAX);
        }
        status = read_key(folder, entry->d_name, keys, error);
        keys->n_seal_secrets += status == DPOT_OK;
    }
    return status;
}

dpot_status server_keys_read(const char *folder, struct server_keys *keys, struct dpot_error *error)
{
    *keys = (struct server_keys){.n_seal_secrets = 0};
    dpot_status status = key_file_check_folder(folder, error);
    if (status == DPOT_OK) {
        status = read_key(folder, "signing.key", keys, error);
    }
    if (status == DPOT_OK) {
        DIR *dir = opendir(folder);
        status = dir ? read_seal_keys(folder, dir, keys, error)
                     : dpot_error_set(error, DPOT_ERR_IO, "opening %s failed: %s", folder,
                                      strerror(errno));
        if (dir) {
            (void)closedir(dir);
        }
    }
    if (status == DPOT_OK && keys->n_seal_secrets == 0) {
        status = dpot_error_set(
            error, DPOT_ERR_NOT_FOUND,
            "%s has no seal-*.key: devices could not report; put the files back, or make "
            "a new key with dpotd keys add (devices seal again for it)",
            folder);
    }
    if (status != DPOT_OK) {
        server_keys_wipe(keys);
    }
    return status;
}

void server_keys_wipe(struct server_keys *keys)
{
    dpot_wipe(keys, sizeof *keys);
}

/* ---- completing ---- */

static dpot_status keep_signing_key(const char *folder, uint8_t *pin, struct dpot_error *error)
{
    struct server_keys keys = {.n_seal_secrets = 0};
    const dpot_status status = read_key(folder, "signing.key", &keys, error);
    if (status == DPOT_OK) {
        dpot_sign_public(keys.secret_key, pin);
    }
    server_keys_wipe(&keys);
    return status == DPOT_ERR_MALFORMED
               ? dpot_error_prefix(error, status,
                                   "if no device has the pin of this key, move it away and repeat")
               : status;
}

/* DPOT_ERR_NOT_FOUND: there is no seal key. */
static dpot_status check_seal_keys(const char *folder, struct dpot_error *error)
{
    struct server_keys keys;
    const dpot_status status = server_keys_read(folder, &keys, error);
    server_keys_wipe(&keys);
    return status;
}

dpot_status server_keys_complete(const char *folder, const struct dpot_clock *clock,
                                 uint8_t pin[DPOT_SIGN_PUBLIC_LEN], bool *kept_signing_key,
                                 struct dpot_error *error)
{
    char path[PATH_SIZE];
    dpot_status status = join(path, folder, "signing.key", error);
    if (status != DPOT_OK) {
        return status;
    }
    *kept_signing_key = access(path, F_OK) == 0;
    status = *kept_signing_key ? keep_signing_key(folder, pin, error)
                               : create_signing_key(folder, pin, error);
    if (status == DPOT_OK) {
        status = check_seal_keys(folder, error);
    }
    struct dpot_seal_key created;
    return status == DPOT_ERR_NOT_FOUND
               ? create_seal_key(folder, clock->now(clock->ctx), SERVER_KEYS_DAYS, &created, error)
               : status;
}

/* ---- changing ---- */

dpot_status server_keys_add(const char *folder, const struct dpot_clock *clock, unsigned days,
                            struct dpot_seal_key *added, struct dpot_error *error)
{
    struct server_keys keys;
    dpot_status status = server_keys_read(folder, &keys, error);
    const size_t n = keys.n_seal_secrets;
    server_keys_wipe(&keys);
    if (status == DPOT_OK && n == DPOT_SEAL_KEYS_MAX) {
        return dpot_error_set(
            error, DPOT_ERR_TOO_LARGE,
            "%s has %d seal keys, the most there may be: dpotd keys prune removes "
            "expired ones",
            folder, DPOT_SEAL_KEYS_MAX);
    }
    /* Also repairs a folder without seal keys. */
    return status == DPOT_OK || status == DPOT_ERR_NOT_FOUND
               ? create_seal_key(folder, clock->now(clock->ctx), days, added, error)
               : status;
}

static dpot_status remove_key(const char *folder, const struct dpot_seal_key *key,
                              struct dpot_error *error)
{
    char path[PATH_SIZE];
    const dpot_status status = seal_path(path, folder, key, error);
    return status == DPOT_OK && unlink(path) != 0
               ? dpot_error_set(error, DPOT_ERR_IO, "removing %s failed: %s", path, strerror(errno))
               : status;
}

static dpot_status prune(const char *folder, const struct server_keys *keys, int64_t now_ms,
                         size_t *n_removed, struct dpot_error *error)
{
    size_t n_expired = 0;
    dpot_status status = DPOT_OK;
    for (size_t i = 0; i < keys->n_seal_secrets; i++) {
        n_expired += now_ms >= keys->seal_secrets[i].key.not_after_ms;
    }
    if (n_expired == keys->n_seal_secrets) {
        return dpot_error_set(error, DPOT_ERR_STATE,
                              "every seal key has expired: run dpotd keys add first");
    }
    for (size_t i = 0; status == DPOT_OK && i < keys->n_seal_secrets; i++) {
        const struct dpot_seal_key *key = &keys->seal_secrets[i].key;
        if (now_ms >= key->not_after_ms) {
            status = remove_key(folder, key, error);
            *n_removed += status == DPOT_OK;
        }
    }
    return status;
}

dpot_status server_keys_prune(const char *folder, const struct dpot_clock *clock, size_t *n_removed,
                              struct dpot_error *error)
{
    struct server_keys keys;
    *n_removed = 0;
    dpot_status status = server_keys_read(folder, &keys, error);
    if (status == DPOT_OK) {
        status = prune(folder, &keys, clock->now(clock->ctx), n_removed, error);
    }
    server_keys_wipe(&keys);
    return status;
}

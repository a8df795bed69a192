#include "dpotd/init.h"

#include "http/listen.h"
#include "http/tokens.h"
#include "keys/key_file.h"
#include "keys/keys.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static dpot_status join(char out[CONFIG_TEXT_SIZE], const char *folder, const char *name,
                        struct dpot_error *error)
{
    const int n = snprintf(out, CONFIG_TEXT_SIZE, "%s/%s", folder, name);
    return n > 0 && n < CONFIG_TEXT_SIZE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "the path of --dir is too long");
}

/* Creates the folder if it is missing. */
static dpot_status make_folder(const char *path, struct dpot_error *error)
{
    if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST) {
        return dpot_error_set(error, DPOT_ERR_IO, "creating %s failed: %s", path, strerror(errno));
    }
    return key_file_sync_folder(path, error);
}

static dpot_status refuse_existing(const char *config_path, struct dpot_error *error)
{
    return access(config_path, F_OK) == 0
               ? dpot_error_set(error, DPOT_ERR_EXISTS,
                                "%s exists already and is not overwritten: choose another folder",
                                config_path)
               : DPOT_OK;
}

/* Adds the token to a new file or to an existing one, whose tokens may be in use. */
static dpot_status add_token(const char *path, const char *line, struct dpot_error *error)
{
    struct tokens tokens;
    if (access(path, F_OK) != 0) {
        return key_file_write_new(path, line, error);
    }
    const dpot_status status = tokens_read(path, &tokens, error);
    if (status != DPOT_OK) {
        return dpot_error_prefix(error, status, "repair or move away the file of an earlier init");
    }
    return tokens.n < TOKENS_MAX
               ? key_file_append(path, line, error)
               : dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                "%s has %d tokens already: remove a line and repeat", path,
                                TOKENS_MAX);
}

static dpot_status create_token(const char *folder, char token[INIT_TOKEN_SIZE],
                                struct dpot_error *error)
{
    uint8_t secret[(INIT_TOKEN_SIZE - 1) / 2];
    char path[CONFIG_TEXT_SIZE], line[TOKEN_NAME_MAX + 2 * DPOT_HASH_LEN + 3];
    dpot_random_bytes(secret, sizeof secret);
    dpot_hex_encode(token, secret, sizeof secret);
    dpot_wipe(secret, sizeof secret);
    tokens_format("admin", token, line, sizeof line);
    line[strcspn(line, "\n")] = '\0'; /* key_file_* appends it */
    const dpot_status status = join(path, folder, "tokens", error);
    return status == DPOT_OK ? add_token(path, line, error) : status;
}

dpot_status init_run(const char *folder, const char *listen, const struct dpot_clock *clock,
                     struct init_result *result, struct dpot_error *error)
{
    char keys[CONFIG_TEXT_SIZE];
    *result = (struct init_result){.token = {0}};
    dpot_status status = listen_check(listen, error);
    if (status == DPOT_OK) {
        status = join(result->config_path, folder, "dpotd.json", error);
    }
    if (status == DPOT_OK) {
        status = join(keys, folder, "keys", error);
    }
    if (status == DPOT_OK) {
        status = refuse_existing(result->config_path, error);
    }
    if (status == DPOT_OK) {
        status = make_folder(folder, error);
    }
    if (status == DPOT_OK) {
        status = make_folder(keys, error);
    }
    if (status == DPOT_OK) {
        status = server_keys_complete(keys, clock, result->pin, &result->kept_signing_key, error);
    }
    if (status == DPOT_OK) {
        status = create_token(folder, result->token, error);
    }
    return status == DPOT_OK ? config_write_new(result->config_path, listen, error) : status;
}

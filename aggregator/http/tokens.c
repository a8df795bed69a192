#include "http/tokens.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 256

static dpot_status refuse_line(const char *path, size_t number, const char *remedy,
                               struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_MALFORMED, "line %zu of the tokens file %s: %s", number,
                          path, remedy);
}

/* "NAME HASH" or "NAME HASH metrics", without the newline. */
static dpot_status read_line(const char *path, size_t number, char *line, struct tokens *tokens,
                             struct dpot_error *error)
{
    char *space = strchr(line, ' ');
    const size_t name_len = space ? (size_t)(space - line) : 0;
    if (name_len == 0 || name_len > TOKEN_NAME_MAX) {
        return refuse_line(path, number, "write a name, a space and the token's hash", error);
    }
    if (tokens->n == TOKENS_MAX) {
        return refuse_line(path, number, "there are too many tokens, at most 64", error);
    }
    struct token *entry = &tokens->entries[tokens->n];
    char *scope = strchr(space + 1, ' ');
    entry->is_for_metrics = scope != NULL;
    if (scope && strcmp(scope + 1, "metrics") != 0) {
        return refuse_line(path, number, "only the word metrics may follow the hash", error);
    }
    if (scope) {
        *scope = '\0';
    }
    if (dpot_hex_decode(space + 1, entry->hash, sizeof entry->hash) != DPOT_OK) {
        return refuse_line(path, number, "the hash needs 64 hex digits", error);
    }
    memcpy(entry->name, line, name_len);
    entry->name[name_len] = '\0';
    tokens->n++;
    return DPOT_OK;
}

static dpot_status read_stream(const char *path, FILE *stream, struct tokens *tokens,
                               struct dpot_error *error)
{
    char line[LINE_SIZE];
    dpot_status status = DPOT_OK;
    for (size_t number = 1; status == DPOT_OK && fgets(line, sizeof line, stream); number++) {
        const size_t len = strcspn(line, "\r\n");
        if (len == sizeof line - 1) {
            return refuse_line(path, number, "the line is too long", error);
        }
        line[len] = '\0';
        if (line[0] != '\0' && line[0] != '#') {
            status = read_line(path, number, line, tokens, error);
        }
    }
    return status == DPOT_OK && ferror(stream)
               ? dpot_error_set(error, DPOT_ERR_IO, "reading %s failed: %s", path, strerror(errno))
               : status;
}

dpot_status tokens_read(const char *path, struct tokens *tokens, struct dpot_error *error)
{
    *tokens = (struct tokens){0};
    FILE *stream = fopen(path, "r");
    if (!stream) {
        return dpot_error_set(error, DPOT_ERR_IO, "opening the tokens file %s failed: %s", path,
                              strerror(errno));
    }
    const dpot_status status = read_stream(path, stream, tokens, error);
    (void)fclose(stream);
    return status;
}

const struct token *tokens_find(const struct tokens *tokens, const char *token)
{
    uint8_t hash[DPOT_HASH_LEN];
    const size_t len = strlen(token);
    const struct token *found = NULL;
    if (len == 0 || len > TOKEN_LEN_MAX) {
        return NULL;
    }
    dpot_hash(hash, token, len);
    for (size_t i = 0; i < tokens->n; i++) {
        if (dpot_secret_equal(hash, tokens->entries[i].hash, sizeof hash)) {
            found = &tokens->entries[i];
        }
    }
    return found;
}

void tokens_format(const char *name, const char *token, char *out, size_t cap)
{
    uint8_t hash[DPOT_HASH_LEN];
    char hex[2 * DPOT_HASH_LEN + 1];
    dpot_hash(hash, token, strlen(token));
    dpot_hex_encode(hex, hash, sizeof hash);
    (void)snprintf(out, cap, "%s %s\n", name, hex);
}

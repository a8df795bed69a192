/* Bearer tokens. The file has lines "NAME HASH", HASH the BLAKE2b-256 of the token in hex; "
 * metrics" behind it makes a token that opens /metrics alone. The server stores no token. Empty
 * lines and lines that start with # are skipped. */
#ifndef DPOT_HTTP_TOKENS_H
#define DPOT_HTTP_TOKENS_H

#include "base/crypto.h"
#include "base/error.h"

#include <stdbool.h>

#define TOKENS_MAX 64
#define TOKEN_LEN_MAX 256
#define TOKEN_NAME_MAX 64

struct token {
    char name[TOKEN_NAME_MAX + 1];
    uint8_t hash[DPOT_HASH_LEN];
    bool is_for_metrics; /* and for nothing else */
};

struct tokens {
    size_t n;
    struct token entries[TOKENS_MAX];
};

/* Reads the file. DPOT_ERR_IO; DPOT_ERR_MALFORMED with the line number. */
DPOT_WARN_UNUSED dpot_status tokens_read(const char *path, struct tokens *tokens,
                                         struct dpot_error *error);

/* The entry of this token, NULL for none. Takes the same time whichever entry it is. */
const struct token *tokens_find(const struct tokens *tokens, const char *token);

/* Formats a line of the file with its newline. `out` needs TOKEN_NAME_MAX + 2 * DPOT_HASH_LEN + 3
 * bytes. */
void tokens_format(const char *name, const char *token, char *out, size_t cap);

#endif

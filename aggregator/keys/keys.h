/* The server's keys on disk: one that signs campaigns (devices pin its public half), and those that
 * devices seal reports for. Text files of "name value" lines, mode 0600, in one folder:
 *
 *     signing.key     secret_key <128 hex digits>
 *     seal-ID.key     id <16 hex digits>
 *                     secret_key <64 hex digits>
 *                     not_before 2026-12-01T00:00:00Z
 *                     not_after 2028-01-05T00:00:00Z */
#ifndef DPOT_KEYS_KEYS_H
#define DPOT_KEYS_KEYS_H

#include "base/crypto.h"
#include "base/error.h"
#include "dpot/hooks.h"
#include "pool/ingest.h"

struct server_keys {
    uint8_t secret_key[DPOT_SIGN_SECRET_LEN];
    size_t n_seal_secrets;
    struct seal_secret seal_secrets[DPOT_SEAL_KEYS_MAX];
};

/* Writes what an existing folder lacks: a new signing key, and one seal key that is valid from now for
 * 400 days. What is there is kept; *kept_signing_key tells. DPOT_ERR_MALFORMED, DPOT_ERR_DENIED: a key
 * that is there is no good; DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status server_keys_complete(const char *folder,
                                                  const struct dpot_clock *clock,
                                                  uint8_t pin[DPOT_SIGN_PUBLIC_LEN],
                                                  bool *kept_signing_key, struct dpot_error *error);

/* Adds a seal key that is valid from now for so many days; the server announces it when it starts again.
 * DPOT_ERR_TOO_LARGE: there are as many as can be; DPOT_ERR_IO. */
#define SERVER_KEYS_DAYS 400
#define SERVER_KEYS_DAYS_MAX 3650
DPOT_WARN_UNUSED dpot_status server_keys_add(const char *folder, const struct dpot_clock *clock,
                                             unsigned days, struct dpot_seal_key *added,
                                             struct dpot_error *error);

/* Removes the files of seal keys that have expired, which open nothing any more, unless none would be left.
 * DPOT_ERR_STATE then; DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status server_keys_prune(const char *folder, const struct dpot_clock *clock,
                                               size_t *n_removed, struct dpot_error *error);

/* The key files that a command was making when it was cut off (NAME.key.partial): each holds a secret that nothing
 * uses. One that a running command is making is not among them. The first removes them, and tells how many;
 * the second tells the path of each and leaves it. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status server_keys_clear(const char *folder, size_t *n,
                                               struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status server_keys_find_unfinished(const char *folder,
                                                         void (*tell)(void *ctx, const char *path),
                                                         void *ctx, struct dpot_error *error);

/* Reads them all. DPOT_ERR_IO (missing), DPOT_ERR_DENIED (readable by others), DPOT_ERR_MALFORMED,
 * DPOT_ERR_NOT_FOUND (no seal key), DPOT_ERR_TOO_LARGE (too many). Wipe them when done. */
DPOT_WARN_UNUSED dpot_status server_keys_read(const char *folder, struct server_keys *keys,
                                              struct dpot_error *error);
void server_keys_wipe(struct server_keys *keys);

#endif

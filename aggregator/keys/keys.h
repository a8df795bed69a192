/* The server's keys on disk: one signs campaigns (devices pin its public half), the others are
 * those to which devices seal reports. Text files of "name value" lines, mode 0600, in one folder:
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

/* Creates missing keys in an existing folder: a signing key, and one seal key valid for 400 days.
 * Existing keys are kept; *kept_signing_key reports whether there was a signing key.
 * DPOT_ERR_MALFORMED, DPOT_ERR_DENIED: an existing key is invalid. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status server_keys_complete(const char *folder,
                                                  const struct dpot_clock *clock,
                                                  uint8_t pin[DPOT_SIGN_PUBLIC_LEN],
                                                  bool *kept_signing_key, struct dpot_error *error);

/* Adds a seal key that is valid for `days` from now. The server announces it after a restart.
 * DPOT_ERR_TOO_LARGE: the maximum number of keys exists. DPOT_ERR_IO. */
#define SERVER_KEYS_DAYS 400
#define SERVER_KEYS_DAYS_MAX 3650
DPOT_WARN_UNUSED dpot_status server_keys_add(const char *folder, const struct dpot_clock *clock,
                                             unsigned days, struct dpot_seal_key *added,
                                             struct dpot_error *error);

/* Removes expired seal keys, which open no report any more. DPOT_ERR_STATE: all have expired, none
 * was removed. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status server_keys_prune(const char *folder, const struct dpot_clock *clock,
                                               size_t *n_removed, struct dpot_error *error);

/* Key files left by interrupted commands (.dpot-*.tmp), each with a secret that nothing uses;
 * files of running commands are skipped. server_keys_clear removes and counts them;
 * server_keys_find_unfinished reports their paths. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status server_keys_clear(const char *folder, size_t *n,
                                               struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status server_keys_find_unfinished(const char *folder,
                                                         void (*report)(void *ctx,
                                                                        const char *path),
                                                         void *ctx, struct dpot_error *error);

/* Reads all keys. Wipe them with server_keys_wipe.
 * DPOT_ERR_IO: missing. DPOT_ERR_DENIED: readable by others. DPOT_ERR_MALFORMED.
 * DPOT_ERR_NOT_FOUND: no seal key. DPOT_ERR_TOO_LARGE: too many keys. */
DPOT_WARN_UNUSED dpot_status server_keys_read(const char *folder, struct server_keys *keys,
                                              struct dpot_error *error);
void server_keys_wipe(struct server_keys *keys);

#endif

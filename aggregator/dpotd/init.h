/* dpotd init: a new installation in one folder.
 *
 *     DIR/dpotd.json   configuration              0600
 *     DIR/keys/        signing key, seal key      0700, files 0600
 *     DIR/tokens       hashes of admin tokens     0600
 *
 * dpotd.json is written last, so a folder with one is complete. Nothing is ever overwritten: after
 * an interrupted run its keys are kept and a token is added (that of the earlier run was never
 * shown). */
#ifndef DPOT_DPOTD_INIT_H
#define DPOT_DPOTD_INIT_H

#include "base/crypto.h"
#include "base/error.h"
#include "dpotd/config.h"

#define INIT_TOKEN_SIZE 65 /* 64 hex digits and NUL */

struct init_result {
    char config_path[CONFIG_TEXT_SIZE];
    uint8_t pin[DPOT_SIGN_PUBLIC_LEN]; /* the public key that devices pin */
    char token[INIT_TOKEN_SIZE];       /* the admin token, stored nowhere else; wipe it */
    bool kept_signing_key;             /* it existed, without a dpotd.json */
};

/* Creates the installation; can be repeated after a failure.
 * DPOT_ERR_EXISTS: DIR has a dpotd.json. DPOT_ERR_MALFORMED: listen is invalid, or a file of an
 * earlier run is damaged (the message has the remedy). DPOT_ERR_DENIED, DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status init_run(const char *folder, const char *listen,
                                      const struct dpot_clock *clock, struct init_result *result,
                                      struct dpot_error *error);

#endif

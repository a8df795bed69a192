/* The identity of one install, and the 256-byte header that binds a file to it.
 *
 * Opening a folder that holds nothing of dpot creates an install with a random id. The files
 * "install", "ledger" and "spool" begin with a header that repeats the id under a checksum keyed
 * from the app's keystore, so that a ledger of another install, or one whose key is lost, is
 * detected. "install" is that header alone: it proves later that there was a ledger. */
#ifndef DPOT_CLIENT_STORAGE_INSTALL_H
#define DPOT_CLIENT_STORAGE_INSTALL_H

#include "base/crypto.h"

#include <stdint.h>

#define DPOT_INSTALL_NAME "install"
#define DPOT_CONSENT_NAME "consent" /* consent.c: one file under two names */
#define DPOT_WITHDRAWN_NAME "withdrawn"
#define DPOT_PAUSE_NAME "pause"     /* backoff.c */
#define DPOT_SENDING_NAME "sending" /* sending.c */
#define DPOT_INSTALL_ID_LEN 16
#define DPOT_HEADER_LEN 256
#define DPOT_MAC_LEN DPOT_HASH_LEN

struct dpot_install {
    uint8_t id[DPOT_INSTALL_ID_LEN];
    uint8_t key[DPOT_HASH_LEN]; /* of every checksum in ledger and spool */
};

/* The content of a header beside the install id. */
struct dpot_header {
    uint64_t counter;    /* largest value of the hardware counter seen in this file before */
    uint64_t generation; /* of the spool: number of times it was rewritten */
    uint32_t accountant; /* of the ledger: enum dpot_accountant; else 0 */
};

/* Derives the checksum key from the app's key (16..64 bytes; NULL: a fixed one, against accidents
 * only). Does not change the id. */
void dpot_install_init_key(struct dpot_install *install, const uint8_t *keystore_key,
                           size_t keystore_key_len);

/* Writes the header of the file kind `magic`, 8 characters such as "DPOTLDG1". */
void dpot_header_encode(const struct dpot_install *install, const char *magic,
                        const struct dpot_header *header, uint8_t out[DPOT_HEADER_LEN]);

/* Decodes a header and its install id. DPOT_ERR_CORRUPT: another kind, or the checksum fails. */
DPOT_WARN_UNUSED dpot_status dpot_header_decode(const struct dpot_install *install,
                                                const char *magic,
                                                const uint8_t in[DPOT_HEADER_LEN],
                                                struct dpot_header *header,
                                                uint8_t id[DPOT_INSTALL_ID_LEN]);

/* The checksum of (previous MAC || data), at most 512 bytes of data. */
void dpot_mac(const struct dpot_install *install, const uint8_t previous[DPOT_MAC_LEN],
              const void *data, size_t len, uint8_t out[DPOT_MAC_LEN]);

#endif

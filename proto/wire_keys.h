/* Seal keys <-> bytes, signed by the pinned key. */
#ifndef DPOT_PROTO_WIRE_KEYS_H
#define DPOT_PROTO_WIRE_KEYS_H

#include "base/buf.h"
#include "base/crypto.h"
#include "base/error.h"

#define DPOT_SEAL_KEY_ID_LEN 8
#define DPOT_SEAL_KEYS_MAX 16
#define DPOT_KEYS_BYTES_MAX (64u << 10)

struct dpot_seal_key {
    uint8_t id[DPOT_SEAL_KEY_ID_LEN];
    uint8_t public_key[DPOT_SEAL_PUBLIC_LEN];
    int64_t not_before_ms; /* whole seconds */
    int64_t not_after_ms;  /* exclusive */
};

struct dpot_keys {
    size_t n_seal_keys;
    struct dpot_seal_key seal_keys[DPOT_SEAL_KEYS_MAX];
};

/* The id of a public key: the first 8 bytes of its BLAKE2b-256. */
void dpot_seal_key_id(const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                      uint8_t id[DPOT_SEAL_KEY_ID_LEN]);

/* Signs the keys and appends the SignedKeys. Fails as dpot_wire_keys_open, except
 * DPOT_ERR_SIGNATURE. */
DPOT_WARN_UNUSED dpot_status dpot_wire_keys_sign(const struct dpot_keys *keys,
                                                 const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                                                 struct dpot_buf *out, struct dpot_error *error);

/* Opens a SignedKeys. DPOT_ERR_SIGNATURE: a signer other than `pin`, or a wrong signature;
 * DPOT_ERR_VERSION: an unknown version or field; DPOT_ERR_MALFORMED: wrong lengths, an id that is
 * not its key's, an empty window; DPOT_ERR_TOO_LARGE: more than DPOT_SEAL_KEYS_MAX keys;
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_wire_keys_open(const void *data, size_t len,
                                                 const uint8_t pin[DPOT_SIGN_PUBLIC_LEN],
                                                 const struct dpot_allocator *allocator,
                                                 struct dpot_keys *keys, struct dpot_error *error);

/* The key to seal for at `time_ms`: of those valid then the one that is valid longest; NULL:
 * none. */
const struct dpot_seal_key *dpot_keys_current(const struct dpot_keys *keys, int64_t time_ms);

#endif

/* The envelope of SignedCampaign and SignedKeys: content, signing key, signature.
 *
 * The signature is over (prefix || content), where the prefix is a domain separator with its NUL: a
 * signature of one kind of content is not valid for another. */
#ifndef DPOT_PROTO_SIGNED_H
#define DPOT_PROTO_SIGNED_H

#include "base/crypto.h"
#include "proto/message.h"

/* The largest number of bytes that an envelope adds to its content. */
#define DPOT_SIGNED_OVERHEAD 128u

struct dpot_signed {
    ProtobufCBinaryData content;
    uint8_t key_id[DPOT_SIGN_PUBLIC_LEN];
    uint8_t signature[DPOT_SIGNATURE_LEN];
};

/* Signs (content, len), which is borrowed. `prefix_len` counts the NUL. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_signed_make(struct dpot_signed *envelope, const void *content,
                                              size_t len, const char *prefix, size_t prefix_len,
                                              const uint8_t secret_key[DPOT_SIGN_SECRET_LEN]);

/* Fills an envelope from its unpacked parts (content is borrowed) and checks it.
 * DPOT_ERR_MALFORMED: wrong lengths; DPOT_ERR_SIGNATURE: a signer other than `pin`, unless that is
 * NULL, or a wrong signature. */
DPOT_WARN_UNUSED dpot_status dpot_signed_check(
    struct dpot_signed *envelope, const ProtobufCBinaryData *content,
    const ProtobufCBinaryData *key_id, const ProtobufCBinaryData *signature, const char *prefix,
    size_t prefix_len, const uint8_t *pin /* [32] or NULL */, struct dpot_error *error);

#endif

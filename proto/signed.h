/* The envelope that SignedCampaign and SignedKeys share: content, the key that signed, signature.
 *
 * The signature is over (prefix || content), where the prefix is a domain separator with its NUL,
 * so that a signature of one kind of content is worth nothing for another. */
#ifndef DPOT_PROTO_SIGNED_H
#define DPOT_PROTO_SIGNED_H

#include "base/crypto.h"
#include "proto/message.h"

/* Most bytes an envelope adds to its content. */
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

/* Takes the three parts of an unpacked envelope (content stays borrowed) and checks them: lengths
 * (DPOT_ERR_MALFORMED), the signer against `pin` unless that is NULL, and the signature
 * (DPOT_ERR_SIGNATURE). */
DPOT_WARN_UNUSED dpot_status dpot_signed_check(
    struct dpot_signed *envelope, const ProtobufCBinaryData *content,
    const ProtobufCBinaryData *key_id, const ProtobufCBinaryData *signature, const char *prefix,
    size_t prefix_len, const uint8_t *pin /* [32] or NULL */, struct dpot_error *error);

#endif

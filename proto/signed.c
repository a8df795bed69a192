#include "proto/signed.h"

#include <string.h>

dpot_status dpot_signed_make(struct dpot_signed *envelope, const void *content, size_t len,
                             const char *prefix, size_t prefix_len,
                             const uint8_t secret_key[DPOT_SIGN_SECRET_LEN])
{
    /* protobuf-c has no const members, but does not write to what it packs. */
    envelope->content = (ProtobufCBinaryData){len, (uint8_t *)content};
    dpot_sign_public(secret_key, envelope->key_id);
    return dpot_sign(envelope->signature, prefix, prefix_len, content, len, secret_key);
}

static dpot_status check_signer(const uint8_t *key_id, const uint8_t *pin, struct dpot_error *error)
{
    if (!pin || memcmp(key_id, pin, DPOT_SIGN_PUBLIC_LEN) == 0) {
        return DPOT_OK;
    }
    char named[2 * DPOT_SIGN_PUBLIC_LEN + 1];
    char pinned[2 * DPOT_SIGN_PUBLIC_LEN + 1];
    dpot_hex_encode(named, key_id, DPOT_SIGN_PUBLIC_LEN);
    dpot_hex_encode(pinned, pin, DPOT_SIGN_PUBLIC_LEN);
    return dpot_error_set(error, DPOT_ERR_SIGNATURE,
                          "it is signed by key %s, but the pinned key is %s", named, pinned);
}

dpot_status dpot_signed_check(struct dpot_signed *envelope, const ProtobufCBinaryData *content,
                              const ProtobufCBinaryData *key_id,
                              const ProtobufCBinaryData *signature, const char *prefix,
                              size_t prefix_len, const uint8_t *pin, struct dpot_error *error)
{
    if (key_id->len != DPOT_SIGN_PUBLIC_LEN) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "key_id has %zu bytes: it needs %d",
                              key_id->len, DPOT_SIGN_PUBLIC_LEN);
    }
    if (signature->len != DPOT_SIGNATURE_LEN) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "signature has %zu bytes: it needs %d",
                              signature->len, DPOT_SIGNATURE_LEN);
    }
    envelope->content = *content;
    memcpy(envelope->key_id, key_id->data, DPOT_SIGN_PUBLIC_LEN);
    memcpy(envelope->signature, signature->data, DPOT_SIGNATURE_LEN);
    const dpot_status status = check_signer(envelope->key_id, pin, error);
    if (status != DPOT_OK) {
        return status;
    }
    const dpot_status signature_status = dpot_sign_check(
        envelope->signature, prefix, prefix_len, content->data, content->len, envelope->key_id);
    if (signature_status == DPOT_ERR_SIGNATURE) {
        return dpot_error_set(
            error, signature_status,
            "the signature does not match the content: it was altered or damaged");
    }
    return signature_status;
}

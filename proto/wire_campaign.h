/* Campaign revisions <-> bytes.
 *
 * Decoders check lengths before use, bound counts, refuse unknown versions and fields at every
 * depth (naming message and field number), and accept canonical bytes only. The signature is
 * checked BEFORE the content is parsed. A SignedCampaign has at most DPOT_CAMPAIGN_BYTES_MAX bytes;
 * the campaign inside, 128 fewer. */
#ifndef DPOT_PROTO_WIRE_CAMPAIGN_H
#define DPOT_PROTO_WIRE_CAMPAIGN_H

#include "base/buf.h"
#include "model/campaign.h"

/* Appends the canonical bytes of a campaign, unsigned, without checking values. DPOT_ERR_ARGUMENT:
 * no wire form (an unknown domain type or mechanism, parameters of another mechanism, times that
 * are not whole seconds). DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_wire_campaign_encode(const struct dpot_campaign *campaign,
                                                       struct dpot_buf *out);

/* Parses canonical bytes (data, len) into `campaign`, to be released; zeroed on failure. Checks the
 * form only: call dpot_mechanism_check_campaign next. DPOT_ERR_MALFORMED, DPOT_ERR_VERSION (unknown
 * version, field or mechanism), DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY, or as dpot_domain_init_*. */
DPOT_WARN_UNUSED dpot_status dpot_wire_campaign_decode(const void *data, size_t len,
                                                       const struct dpot_allocator *allocator,
                                                       struct dpot_campaign *campaign,
                                                       struct dpot_error *error);

/* Signs canonical campaign bytes and appends the SignedCampaign. */
DPOT_WARN_UNUSED dpot_status dpot_wire_campaign_sign(const void *campaign_bytes, size_t len,
                                                     const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                                                     struct dpot_buf *out,
                                                     struct dpot_error *error);

/* A verified SignedCampaign. */
struct dpot_signed_campaign {
    struct dpot_campaign campaign;        /* release it when done */
    uint8_t hash[DPOT_HASH_LEN];          /* campaign hash */
    uint8_t signer[DPOT_SIGN_PUBLIC_LEN]; /* public key that signed */
};

/* Opens a SignedCampaign: checks signer and signature, then decodes as above. `pin` NULL accepts
 * the signer that it names, for tools that show files. DPOT_ERR_SIGNATURE: wrong signer or
 * signature; otherwise as dpot_wire_campaign_decode. *out is zeroed on failure. */
DPOT_WARN_UNUSED dpot_status dpot_wire_campaign_open(const void *data, size_t len,
                                                     const uint8_t *pin /* [32] or NULL */,
                                                     const struct dpot_allocator *allocator,
                                                     struct dpot_signed_campaign *out,
                                                     struct dpot_error *error);
void dpot_signed_campaign_release(struct dpot_signed_campaign *signed_campaign);

#endif

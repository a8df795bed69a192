#include "proto/wire_campaign.h"

#include "campaign.pb-c.h"
#include "proto/message.h"
#include "proto/signed.h"

#include <string.h>

static const char prefix[] = "dpot.campaign.v1"; /* signed with its NUL */

static dpot_status append_envelope(struct dpot_signed *envelope, struct dpot_buf *out)
{
    Dpot__V1__SignedCampaign message;
    dpot__v1__signed_campaign__init(&message);
    message.campaign = envelope->content;
    message.key_id = (ProtobufCBinaryData){sizeof envelope->key_id, envelope->key_id};
    message.signature = (ProtobufCBinaryData){sizeof envelope->signature, envelope->signature};
    return dpot_message_append(&message.base, out);
}

dpot_status dpot_wire_campaign_sign(const void *campaign_bytes, size_t len,
                                    const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                                    struct dpot_buf *out, struct dpot_error *error)
{
    if (len == 0 || len > DPOT_CAMPAIGN_BYTES_MAX - DPOT_SIGNED_OVERHEAD) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the campaign has %zu bytes: 1 to %u can be signed", len,
                              DPOT_CAMPAIGN_BYTES_MAX - DPOT_SIGNED_OVERHEAD);
    }
    struct dpot_signed envelope;
    dpot_status status =
        dpot_signed_make(&envelope, campaign_bytes, len, prefix, sizeof prefix, secret_key);
    if (status == DPOT_OK) {
        status = append_envelope(&envelope, out);
    }
    return status == DPOT_OK ? status
                             : dpot_error_set(error, status, "the campaign could not be signed");
}

static dpot_status open_envelope(const void *data, size_t len, const uint8_t *pin,
                                 struct dpot_arena *arena, struct dpot_signed *envelope,
                                 struct dpot_error *error)
{
    ProtobufCMessage *base = NULL;
    dpot_status status =
        dpot_message_unpack(&dpot__v1__signed_campaign__descriptor, data, len, arena, &base, error);
    const Dpot__V1__SignedCampaign *message = (const Dpot__V1__SignedCampaign *)base;
    if (status == DPOT_OK) {
        status = dpot_message_refuse_unknown(base, error);
    }
    if (status == DPOT_OK && !dpot_message_packs_to(base, data, len)) {
        status = dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the signed campaign is not in canonical form");
    }
    if (status != DPOT_OK) {
        return status;
    }
    return dpot_signed_check(envelope, &message->campaign, &message->key_id, &message->signature,
                             prefix, sizeof prefix, pin, error);
}

dpot_status dpot_wire_campaign_open(const void *data, size_t len, const uint8_t *pin,
                                    const struct dpot_allocator *allocator,
                                    struct dpot_signed_campaign *out, struct dpot_error *error)
{
    memset(out, 0, sizeof *out); /* an assignment may make a copy on the stack */
    if (len > DPOT_CAMPAIGN_BYTES_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the signed campaign has %zu bytes: at most %u", len,
                              DPOT_CAMPAIGN_BYTES_MAX);
    }
    struct dpot_arena arena;
    struct dpot_signed envelope;
    dpot_arena_init(&arena, DPOT_MESSAGE_CEILING(len), allocator);
    dpot_status status = open_envelope(data, len, pin, &arena, &envelope, error);
    if (status == DPOT_OK) {
        status = dpot_wire_campaign_decode(envelope.content.data, envelope.content.len, allocator,
                                           &out->campaign, error);
    }
    if (status == DPOT_OK) {
        dpot_hash(out->hash, envelope.content.data, envelope.content.len);
        memcpy(out->signer, envelope.key_id, sizeof out->signer);
    }
    dpot_arena_release(&arena);
    return status;
}

void dpot_signed_campaign_release(struct dpot_signed_campaign *signed_campaign)
{
    dpot_campaign_release(&signed_campaign->campaign);
    memset(signed_campaign, 0, sizeof *signed_campaign);
}

#include "campaign/publish.h"

#include "campaign/spec_read.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "proto/wire_artifact.h"
#include "proto/wire_campaign.h"

#include <string.h>

#define BASE_MEASURE_KIND "base-measure" /* of the jobs whose values are masses */

/* ---- drafts ---- */

static void fill_record(const struct dpot_campaign *campaign, int64_t now_ms,
                        struct revision_record *record)
{
    *record = (struct revision_record){
        .revision = campaign->revision, .state = REVISION_DRAFT, .created_ms = now_ms};
    memcpy(record->campaign_id, campaign->id, sizeof record->campaign_id);
    memcpy(record->name, campaign->name, sizeof record->name);
}

dpot_status publish_draft(struct store *store, const struct dpot_clock *clock,
                          const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                          const struct dpot_campaign *campaign, struct revision_record *record,
                          struct dpot_error *error)
{
    struct dpot_buf bytes, signed_bytes;
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    dpot_buf_init(&signed_bytes, PUBLISH_BYTES_MAX, NULL);
    fill_record(campaign, clock->now(clock->ctx), record);
    dpot_status status = dpot_wire_campaign_encode(campaign, &bytes);
    if (status != DPOT_OK) {
        status = dpot_error_set(error, status,
                                "the campaign takes more than %u bytes: use a grid or "
                                "fewer points",
                                DPOT_CAMPAIGN_BYTES_MAX);
    }
    if (status == DPOT_OK) {
        dpot_hash(record->hash, bytes.data, bytes.len);
        status = dpot_wire_campaign_sign(bytes.data, bytes.len, secret_key, &signed_bytes, error);
    }
    if (status == DPOT_OK) {
        status = store_add_revision(store, record, signed_bytes.data, signed_bytes.len, error);
    }
    dpot_buf_release(&signed_bytes);
    dpot_buf_release(&bytes);
    return status;
}

/* ---- the masses of a change ---- */

static dpot_status check_length(const char *what, size_t n, const struct dpot_campaign *campaign,
                                struct dpot_error *error)
{
    return n == campaign->output.size
               ? DPOT_OK
               : dpot_error_set(
                     error, DPOT_ERR_SHAPE,
                     "%s has %zu mass%s for %u output points: give one positive mass each", what, n,
                     n == 1 ? "" : "es", campaign->output.size);
}

static dpot_status read_masses(const json_t *value, const struct dpot_campaign *campaign, double *m,
                               struct dpot_error *error)
{
    if (!json_is_array(value)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "base_measure must be an array of %u masses", campaign->output.size);
    }
    const dpot_status status =
        check_length("base_measure", json_array_size(value), campaign, error);
    return status == DPOT_OK
               ? spec_read_numbers(value, "base_measure", m, campaign->output.size, error)
               : status;
}

/* An artifact of this very campaign: of another one it would be the best measure for other costs. */
static dpot_status check_artifact(struct store *store, const struct dpot_artifact *artifact,
                                  const struct dpot_campaign *campaign, struct dpot_error *error)
{
    struct revision_record record;
    if (strcmp(artifact->kind, BASE_MEASURE_KIND) != 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the artifact is of kind %s: give the one of a base-measure job",
                              artifact->kind);
    }
    const dpot_status status =
        store_get_revision(store, artifact->campaign_hash, &record, NULL, error);
    if (status == DPOT_ERR_NOT_FOUND ||
        (status == DPOT_OK &&
         memcmp(record.campaign_id, campaign->id, DPOT_CAMPAIGN_ID_LEN) != 0)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the artifact is of another campaign: give its masses as an array if "
                              "they are meant for this one");
    }
    return status == DPOT_OK ? check_length("the artifact", artifact->n_values, campaign, error)
                             : status;
}

static dpot_status decode_artifact(struct store *store, const struct dpot_buf *bytes,
                                   const struct dpot_campaign *campaign, double *m,
                                   struct dpot_error *error)
{
    struct dpot_artifact artifact;
    dpot_status status = dpot_wire_artifact_decode(bytes->data, bytes->len, NULL, &artifact, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = check_artifact(store, &artifact, campaign, error);
    if (status == DPOT_OK) {
        memcpy(m, artifact.values, artifact.n_values * sizeof *m);
    }
    dpot_artifact_release(&artifact);
    return status;
}

static dpot_status load_artifact(struct store *store, const json_t *value,
                                 const struct dpot_campaign *campaign, double *m,
                                 struct dpot_error *error)
{
    uint8_t digest[DPOT_HASH_LEN];
    struct dpot_buf bytes;
    const char *text = json_string_value(value);
    if (!text || dpot_hex_decode(text, digest, sizeof digest) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "artifact is \"%.80s\": give a digest of %d hex digits",
                              text ? text : "no text", 2 * DPOT_HASH_LEN);
    }
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    dpot_status status = store_get_artifact(store, digest, &bytes, error);
    if (status == DPOT_OK) {
        status = decode_artifact(store, &bytes, campaign, m, error);
    }
    dpot_buf_release(&bytes);
    return status;
}

static dpot_status change_base_measure(struct store *store, struct dpot_campaign *campaign,
                                       const json_t *change, struct dpot_error *error)
{
    const json_t *masses = json_object_get(change, "base_measure");
    const json_t *artifact = json_object_get(change, "artifact");
    if (!masses == !artifact) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "give either base_measure (an array of masses) or artifact (a "
                              "digest), %s",
                              masses ? "not both" : "one of them is needed");
    }
    if (campaign->base_measure.size == 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the campaign's mechanism is %s, which has no base measure: create a "
                              "campaign of wpm",
                              dpot_mechanism_name(campaign->mechanism));
    }
    const size_t size = campaign->output.size;
    double *m = dpot_alloc_array(NULL, size, sizeof *m);
    if (!m) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu masses", size);
    }
    dpot_status status = masses ? read_masses(masses, campaign, m, error)
                                : load_artifact(store, artifact, campaign, m, error);
    if (status == DPOT_OK) {
        status = dpot_base_measure_encode(m, size, campaign->epsilon_q32, &campaign->base_measure,
                                          error);
        status = status == DPOT_OK ? status : dpot_error_prefix(error, status, "base_measure");
    }
    dpot_free_array(NULL, m, size, sizeof *m);
    return status;
}

/* ---- the change as a whole ---- */

static dpot_status change_time(const json_t *change, const char *key, int64_t *time_ms,
                               struct dpot_error *error)
{
    const char *text = NULL;
    const dpot_status status = json_get_string(change, "", key, &text, error);
    if (status == DPOT_ERR_NOT_FOUND) {
        return DPOT_OK;
    }
    if (status == DPOT_OK && dpot_time_parse(text, time_ms) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "%s is \"%.40s\": give a UTC time such as \"2026-12-01T00:00:00Z\"",
                              key, text);
    }
    return status;
}

dpot_status publish_change(struct store *store, struct dpot_campaign *campaign,
                           const json_t *change, struct dpot_error *error)
{
    static const char *const keys[] = {"base_measure", "artifact", "opens", "closes", NULL};
    dpot_status status = json_check_keys(change, "", keys, error);
    if (status == DPOT_OK && campaign->revision == UINT32_MAX) {
        status = dpot_error_set(error, DPOT_ERR_RANGE, "the campaign has no revision left");
    }
    if (status == DPOT_OK) {
        campaign->revision++;
        campaign->loss_counts = false; /* what a revision of before may have, no new one has */
        status = change_time(change, "opens", &campaign->opens_ms, error);
    }
    if (status == DPOT_OK) {
        status = change_time(change, "closes", &campaign->closes_ms, error);
    }
    if (status == DPOT_OK) {
        status = change_base_measure(store, campaign, change, error);
    }
    return status == DPOT_OK ? dpot_mechanism_check_campaign(campaign, error) : status;
}

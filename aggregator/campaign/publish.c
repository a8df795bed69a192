#include "campaign/publish.h"

#include "campaign/spec_fields.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "proto/wire_artifact.h"
#include "proto/wire_campaign.h"

#include <math.h>
#include <string.h>

#define BASE_MEASURE_KIND "base-measure" /* kind of the jobs whose values are masses */

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

/* The artifact must be of this campaign: another one has other costs, and another best measure. */
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
    return status == DPOT_OK && artifact->n_values != campaign->output.size
               ? dpot_error_set(error, DPOT_ERR_SHAPE,
                                "the artifact has %zu masses for %u output points: give one of the "
                                "same points",
                                artifact->n_values, campaign->output.size)
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

struct change {
    const json_t *base_measure, *artifact; /* NULL: not given */
    int64_t opens_ms, closes_ms;
};

static dpot_status change_base_measure(struct store *store, struct dpot_campaign *campaign,
                                       const struct change *change, struct dpot_error *error)
{
    const json_t *masses = change->base_measure, *artifact = change->artifact;
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
    dpot_status status = masses
                             ? json_read_numbers(masses, "base_measure", -INFINITY, m, size, error)
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

dpot_status publish_change(struct store *store, struct dpot_campaign *campaign, const json_t *given,
                           struct dpot_error *error)
{
    static const struct json_field fields[] = {
        FIELD_VALUE("base_measure", struct change, base_measure, .remedy = NULL),
        FIELD_VALUE("artifact", struct change, artifact, .remedy = NULL),
        FIELD_OTHER("opens", struct change, opens_ms, spec_read_time, .keeps = true),
        FIELD_OTHER("closes", struct change, closes_ms, spec_read_time, .keeps = true),
        {.key = NULL},
    };
    struct change change = {.opens_ms = campaign->opens_ms, .closes_ms = campaign->closes_ms};
    dpot_status status = json_read_fields(given, "", fields, NULL, &change, error);
    if (status == DPOT_OK && campaign->revision == UINT32_MAX) {
        status = dpot_error_set(error, DPOT_ERR_RANGE, "the campaign has no revision left");
    }
    if (status != DPOT_OK) {
        return status;
    }
    campaign->revision++;
    campaign->loss_counts = false; /* only old revisions have it */
    campaign->opens_ms = change.opens_ms;
    campaign->closes_ms = change.closes_ms;
    status = change_base_measure(store, campaign, &change, error);
    return status == DPOT_OK ? dpot_mechanism_check_campaign(campaign, error) : status;
}

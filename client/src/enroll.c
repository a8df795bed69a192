/* Enrolling: fetches a campaign over the network, or takes it from bytes; verifies and stores
 * it. */
#include "arguments.h"
#include "base/clock.h"
#include "client.h"
#include "http.h"
#include "work.h"

#include <stdio.h>
#include <string.h>

/* A campaign whose slot does not fit into its share of the spool could never report. */
static dpot_status check_share(dpot_client *client, const struct dpot_campaign *campaign)
{
    const bool is_vector = dpot_mechanism_is_vector(campaign->mechanism);
    const uint64_t len = dpot_slot_len(is_vector ? campaign->vector.dim : 0);
    const uint64_t max_bytes = client->config.spool_max_bytes;
    if (len <= dpot_journal_share(max_bytes)) {
        return DPOT_OK;
    }
    return dpot_error_set(&client->error, DPOT_ERR_TOO_LARGE,
                          "campaign \"%s\": a report takes %llu bytes of the spool, more than an "
                          "eighth of config.spool_max_bytes, %llu: give at least %llu",
                          campaign->name, (unsigned long long)len, (unsigned long long)max_bytes,
                          (unsigned long long)(DPOT_SPOOL_SHARES * len + DPOT_HEADER_LEN));
}

/* Refuses a campaign that this device cannot afford, before it is stored. */
static dpot_status check_costs(dpot_client *client, const struct dpot_signed_campaign *revision,
                               uint64_t load_us)
{
    struct dpot_work work;
    const dpot_status status = check_share(client, &revision->campaign);
    return status == DPOT_OK ? dpot_work_find(client, revision, load_us, &work) : status;
}

/* Verifies bytes; *load_us is how long that took. */
static dpot_status verify(dpot_client *client, const void *data, size_t len,
                          struct dpot_signed_campaign *revision, uint64_t *load_us)
{
    const int64_t start_us = dpot_client_steady_us(client);
    const dpot_status status =
        dpot_campaigns_verify(&client->campaigns, data, len, revision, &client->error);
    *load_us = (uint64_t)(dpot_client_steady_us(client) - start_us);
    return status;
}

/* Stores verified bytes, under the lock. */
static dpot_status store(dpot_client *client, const struct dpot_signed_campaign *revision,
                         const void *data, size_t len, uint64_t load_us)
{
    dpot_status status = dpot_journal_lock(&client->journal, &client->error);
    if (status != DPOT_OK) {
        return status;
    }
    status = dpot_client_load_consent(client);
    if (status == DPOT_OK) {
        status = dpot_client_check_consent(client);
    }
    if (status == DPOT_OK) {
        status = dpot_client_check_newest(client, revision);
    }
    if (status == DPOT_OK) {
        status = check_costs(client, revision, load_us);
    }
    if (status == DPOT_OK) {
        status = dpot_campaigns_store(&client->campaigns, revision, data, len, &client->error);
    }
    if (status == DPOT_OK) {
        dpot_client_prepare_consent(client);
    }
    dpot_journal_unlock(&client->journal);
    return status;
}

dpot_status dpot_client_import(dpot_client *client, const void *data, size_t len,
                               uint8_t campaign_id[16])
{
    struct dpot_signed_campaign revision;
    uint64_t load_us = 0;
    dpot_status status = dpot_client_require(client, data, "data");
    if (status != DPOT_OK) {
        return status;
    }
    dpot_client_clear_error(client);
    status = verify(client, data, len, &revision, &load_us);
    if (status != DPOT_OK) {
        return dpot_client_end(
            client, dpot_campaigns_prefix_error("the campaign to import", status, &client->error));
    }
    status = store(client, &revision, data, len, load_us);
    if (status == DPOT_OK && campaign_id) {
        memcpy(campaign_id, revision.campaign.id, DPOT_CAMPAIGN_ID_LEN);
    }
    dpot_signed_campaign_release(&revision);
    return dpot_client_end(client, status);
}

static dpot_status enroll_bytes(dpot_client *client, const uint8_t campaign_id[16],
                                const struct dpot_buf *body)
{
    struct dpot_signed_campaign revision;
    uint64_t load_us = 0;
    dpot_status status = verify(client, body->data, body->len, &revision, &load_us);
    if (status != DPOT_OK) {
        char what[64], hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
        dpot_hex_encode(hex, campaign_id, DPOT_CAMPAIGN_ID_LEN);
        (void)snprintf(what, sizeof what, "campaign %s", hex);
        return dpot_campaigns_prefix_error(what, status, &client->error);
    }
    if (memcmp(revision.campaign.id, campaign_id, DPOT_CAMPAIGN_ID_LEN) != 0) {
        status = dpot_error_set(&client->error, DPOT_ERR_MALFORMED,
                                "the server answered with another campaign than was asked for");
    } else {
        status = store(client, &revision, body->data, body->len, load_us);
    }
    dpot_signed_campaign_release(&revision);
    return status;
}

static dpot_status fetch_campaign(dpot_client *client, const uint8_t campaign_id[16])
{
    char path[64];
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    struct dpot_buf body;
    dpot_hex_encode(hex, campaign_id, DPOT_CAMPAIGN_ID_LEN);
    (void)snprintf(path, sizeof path, "/v1/campaigns/%s", hex);
    dpot_buf_init(&body, DPOT_SIGNED_BYTES_MAX, client->config.allocator);
    dpot_status status = dpot_http_get(client, path, &body);
    if (status == DPOT_OK) {
        status = enroll_bytes(client, campaign_id, &body);
    } else if (status == DPOT_ERR_CLOSED) {
        status = dpot_error_set(&client->error, status,
                                "campaign %s is closed: no revision is open; nothing was stored or "
                                "charged",
                                hex);
    } else if (status == DPOT_ERR_NOT_FOUND) {
        const struct dpot_error got = client->error; /* the URL without its password */
        status = dpot_error_set(&client->error, status,
                                "%s: no such campaign: is the ID right, and is it still a draft?",
                                got.text);
    }
    dpot_buf_release(&body);
    return status;
}

static dpot_status fetch_keys(dpot_client *client)
{
    struct dpot_buf body;
    dpot_buf_init(&body, DPOT_SIGNED_KEYS_BYTES_MAX, client->config.allocator);
    dpot_status status = dpot_http_get(client, DPOT_KEYS_PATH, &body);
    if (status == DPOT_OK) {
        status = dpot_journal_lock(&client->journal, &client->error);
    }
    if (status == DPOT_OK) {
        status = dpot_campaigns_store_keys(&client->campaigns, body.data, body.len, &client->error);
        dpot_journal_unlock(&client->journal);
    }
    dpot_buf_release(&body);
    return status;
}

dpot_status dpot_client_enroll(dpot_client *client, const uint8_t campaign_id[16])
{
    dpot_status status = dpot_client_require(client, campaign_id, "campaign_id");
    if (status != DPOT_OK) {
        return status;
    }
    dpot_client_clear_error(client);
    status = dpot_http_check(client);
    if (status == DPOT_OK) {
        status = fetch_campaign(client, campaign_id);
    }
    if (status == DPOT_OK) {
        status = fetch_keys(client);
    }
    return dpot_client_end(client, status);
}

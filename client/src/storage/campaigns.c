#include "storage/campaigns.h"

#include "mechanism/mechanism.h"
#include "storage/files.h"

#include <stdio.h>
#include <string.h>

static void name_file(const uint8_t id[DPOT_CAMPAIGN_ID_LEN], char name[DPOT_FILE_NAME_MAX + 1])
{
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    dpot_hex_encode(hex, id, DPOT_CAMPAIGN_ID_LEN);
    (void)snprintf(name, DPOT_FILE_NAME_MAX + 1, "campaign-%s", hex);
}

/* The ceiling, in the unit of the accountant: rho = epsilon^2 / 2. */
static dpot_status check_epsilon(const struct dpot_campaigns *campaigns,
                                 const struct dpot_campaign *campaign, struct dpot_error *error)
{
    const struct dpot_privacy cost = dpot_mechanism_charge(campaign);
    const struct dpot_privacy ceiling = dpot_privacy_pure(campaigns->epsilon_ceiling_q32);
    const bool has_epsilon = cost.epsilon_q32 != UINT64_MAX;
    if (!has_epsilon && !campaigns->is_zcdp) {
        return dpot_error_set(error, DPOT_ERR_EPSILON,
                              "campaign \"%s\" has a rho and no epsilon: it is for installs with "
                              "the zCDP accountant",
                              campaign->name);
    }
    if (has_epsilon && cost.epsilon_q32 > ceiling.epsilon_q32) {
        return dpot_error_set(error, DPOT_ERR_EPSILON,
                              "campaign \"%s\" asks for epsilon %.6g: this build accepts at most "
                              "%.6g for one report",
                              campaign->name, dpot_epsilon_to_double(cost.epsilon_q32),
                              dpot_epsilon_to_double(ceiling.epsilon_q32));
    }
    if (!has_epsilon && cost.rho_q32 > ceiling.rho_q32) {
        return dpot_error_set(error, DPOT_ERR_EPSILON,
                              "campaign \"%s\" asks for rho %.6g: this build accepts at most %.6g "
                              "for one report",
                              campaign->name, dpot_epsilon_to_double(cost.rho_q32),
                              dpot_epsilon_to_double(ceiling.rho_q32));
    }
    return DPOT_OK;
}

/* A check of devices only, beyond the validation that both sides share. */
static dpot_status check_simulation(const struct dpot_campaigns *campaigns,
                                    const struct dpot_campaign *campaign, struct dpot_error *error)
{
    if (campaign->simulation && !campaigns->allow_simulation) {
        return dpot_error_set(error, DPOT_ERR_SIMULATION,
                              "campaign \"%s\" is marked as a simulation: a real device takes no "
                              "part in it",
                              campaign->name);
    }
    return DPOT_OK;
}

/* Not in constant time: all of it is public. */
static dpot_status check_expected(const struct dpot_campaigns *campaigns,
                                  const uint8_t digest[DPOT_HASH_LEN], const char *what,
                                  struct dpot_error *error)
{
    char hex[2 * DPOT_HASH_LEN + 1];
    for (size_t i = 0; i < campaigns->n_expected; i++) {
        if (memcmp(campaigns->expected[i], digest, DPOT_HASH_LEN) == 0) {
            return DPOT_OK;
        }
    }
    if (campaigns->n_expected == 0) {
        return DPOT_OK;
    }
    dpot_hex_encode(hex, digest, DPOT_HASH_LEN);
    return dpot_error_set(
        error, DPOT_ERR_UNEXPECTED,
        "%s with the hash %s is not in the list that this app expects: update the "
        "list, or ask who serves other bytes",
        what, hex);
}

dpot_status dpot_campaigns_verify(const struct dpot_campaigns *campaigns, const void *data,
                                  size_t len, struct dpot_signed_campaign *out,
                                  struct dpot_error *error)
{
    dpot_status status =
        dpot_wire_campaign_open(data, len, campaigns->pin, campaigns->allocator, out, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = check_expected(campaigns, out->hash, "the campaign", error);
    if (status == DPOT_OK) {
        status = check_simulation(campaigns, &out->campaign, error);
    }
    if (status == DPOT_OK) {
        status = dpot_mechanism_check_campaign(&out->campaign, error);
    }
    if (status == DPOT_OK) {
        status = check_epsilon(campaigns, &out->campaign, error);
    }
    if (status != DPOT_OK) {
        dpot_signed_campaign_release(out);
        memset(out, 0, sizeof *out);
    }
    return status;
}

/* Reads and verifies the file of campaign `id`; refuses a file about another campaign. */
static dpot_status load(const struct dpot_campaigns *campaigns,
                        const uint8_t id[DPOT_CAMPAIGN_ID_LEN], struct dpot_signed_campaign *out,
                        struct dpot_error *error)
{
    char name[DPOT_FILE_NAME_MAX + 1];
    struct dpot_buf file;
    name_file(id, name);
    memset(out, 0, sizeof *out);
    dpot_buf_init(&file, DPOT_SIGNED_BYTES_MAX, campaigns->allocator);
    dpot_status status = dpot_file_read(campaigns->filesystem, name, &file);
    if (status == DPOT_OK) {
        status = dpot_campaigns_verify(campaigns, file.data, file.len, out, error);
    }
    dpot_buf_release(&file);
    if (status == DPOT_OK && memcmp(out->campaign.id, id, DPOT_CAMPAIGN_ID_LEN) != 0) {
        dpot_signed_campaign_release(out);
        memset(out, 0, sizeof *out);
        status = dpot_error_set(error, DPOT_ERR_CORRUPT,
                                "the file \"%s\" is about another campaign", name);
    }
    return status;
}

/* True when bytes that were verified when stored do not verify now. A refusal of what the campaign
 * asks for (its epsilon, a simulation) is not damage: another build or accountant accepted it. */
static bool is_damage(dpot_status status)
{
    return status <= -200 && status > -300 && status != DPOT_ERR_NOT_FOUND;
}

static dpot_status explain_damage(const uint8_t id[DPOT_CAMPAIGN_ID_LEN], dpot_status status,
                                  struct dpot_error *error)
{
    char name[DPOT_FILE_NAME_MAX + 1];
    const struct dpot_error cause = *error;
    name_file(id, name);
    return dpot_error_set(error, status,
                          "the file \"%s\" is damaged or not ours: %.240s. To fetch it anew enroll "
                          "again; nothing was charged",
                          name, cause.text[0] ? cause.text : dpot_status_text(status));
}

dpot_status dpot_campaigns_prefix_error(const char *what, dpot_status status,
                                        struct dpot_error *error)
{
    const struct dpot_error cause = *error;
    return dpot_error_set(error, status, "%s: %.300s", what,
                          cause.text[0] ? cause.text : dpot_status_text(status));
}

dpot_status dpot_campaigns_load(const struct dpot_campaigns *campaigns,
                                const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                                struct dpot_signed_campaign *out, struct dpot_error *error)
{
    const dpot_status status = load(campaigns, id, out, error);
    if (status == DPOT_ERR_NOT_FOUND) {
        char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
        dpot_hex_encode(hex, id, DPOT_CAMPAIGN_ID_LEN);
        return dpot_error_set(error, status, "campaign %s is not known here: enroll first", hex);
    }
    if (status == DPOT_ERR_IO) {
        return dpot_error_set(error, status, "reading the stored campaign failed: %s",
                              dpot_file_why(campaigns->filesystem, status));
    }
    return is_damage(status) ? explain_damage(id, status, error) : status;
}

/* Whether `revision` may replace what is stored. A stored file that does not verify (damaged, or
 * signed by a key that is no longer pinned) counts as none. */
static dpot_status compare_with_stored(const struct dpot_campaigns *campaigns,
                                       const struct dpot_signed_campaign *revision, bool *is_stored,
                                       struct dpot_error *error)
{
    struct dpot_signed_campaign stored;
    *is_stored = false;
    dpot_status status = load(campaigns, revision->campaign.id, &stored, NULL);
    if (status == DPOT_ERR_IO || status == DPOT_ERR_MEMORY) {
        return status;
    }
    if (status != DPOT_OK) {
        return DPOT_OK;
    }
    const uint32_t old = stored.campaign.revision, new = revision->campaign.revision;
    *is_stored = memcmp(stored.hash, revision->hash, DPOT_HASH_LEN) == 0;
    if (!*is_stored && new <= old) {
        status =
            dpot_error_set(error, DPOT_ERR_EXISTS,
                           "revision %u is refused: revision %u of this campaign is stored "
                           "here%s",
                           (unsigned)new, (unsigned)old, new == old ? " with other content" : "");
    }
    dpot_signed_campaign_release(&stored);
    return status;
}

dpot_status dpot_campaigns_store(const struct dpot_campaigns *campaigns,
                                 const struct dpot_signed_campaign *revision, const void *data,
                                 size_t len, struct dpot_error *error)
{
    bool is_stored = false;
    dpot_status status = compare_with_stored(campaigns, revision, &is_stored, error);
    if (status == DPOT_OK && !is_stored) {
        char name[DPOT_FILE_NAME_MAX + 1];
        name_file(revision->campaign.id, name);
        status = dpot_file_replace(campaigns->filesystem, name, data, len);
    }
    if (status == DPOT_ERR_IO || status == DPOT_ERR_NO_SPACE) {
        return dpot_error_set(error, status, "storing the campaign failed: %s",
                              dpot_file_why(campaigns->filesystem, status));
    }
    return status;
}

static dpot_status open_keys(const struct dpot_campaigns *campaigns, const void *data, size_t len,
                             struct dpot_keys *keys, struct dpot_error *error)
{
    uint8_t digest[DPOT_HASH_LEN];
    dpot_hash(digest, data, len);
    const dpot_status status =
        dpot_wire_keys_open(data, len, campaigns->pin, campaigns->allocator, keys, error);
    return status == DPOT_OK ? check_expected(campaigns, digest, "the set of seal keys", error)
                             : status;
}

dpot_status dpot_campaigns_store_keys(const struct dpot_campaigns *campaigns, const void *data,
                                      size_t len, struct dpot_error *error)
{
    struct dpot_keys keys;
    dpot_status status = open_keys(campaigns, data, len, &keys, error);
    if (status == DPOT_ERR_UNEXPECTED) {
        return status;
    }
    if (status != DPOT_OK) {
        return dpot_campaigns_prefix_error("the server's seal keys", status, error);
    }
    status = dpot_file_replace(campaigns->filesystem, DPOT_KEYS_NAME, data, len);
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "storing the server's seal keys failed: %s",
                              dpot_file_why(campaigns->filesystem, status));
    }
    return DPOT_OK;
}

dpot_status dpot_campaigns_load_keys(const struct dpot_campaigns *campaigns, struct dpot_keys *keys,
                                     struct dpot_error *error)
{
    struct dpot_buf file;
    dpot_buf_init(&file, DPOT_SIGNED_KEYS_BYTES_MAX, campaigns->allocator);
    dpot_status status = dpot_file_read(campaigns->filesystem, DPOT_KEYS_NAME, &file);
    if (status == DPOT_ERR_IO) {
        (void)dpot_error_set(error, status, "reading the server's seal keys failed: %s",
                             dpot_file_why(campaigns->filesystem, status));
    }
    if (status == DPOT_OK) {
        status = open_keys(campaigns, file.data, file.len, keys, error);
    }
    dpot_buf_release(&file);
    return status;
}

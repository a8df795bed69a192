/* Whether a campaign accepts a report now: by the ledger, its public times, and the server's last
 * answer. */
#include "base/clock.h"
#include "client.h"

#include <string.h>

/* An answer "closed" closes the revision if it came this long before the end of its round; or a
 * quarter of the round if that is shorter. */
#define CLOSED_MARGIN_MS ((int64_t)3600 * 1000)

/* "Closed" in answer to a late report, or from a server whose clock is slightly ahead, may be about
 * the round alone. */
static bool closes_revision(const struct dpot_campaign *campaign, const struct dpot_answer *answer)
{
    const int64_t opens_ms = dpot_campaign_round_opens(campaign, answer->round);
    const int64_t closes_ms = dpot_campaign_round_closes(campaign, answer->round);
    const int64_t quarter_ms = (closes_ms - opens_ms) / 4;
    const int64_t margin_ms = quarter_ms < CLOSED_MARGIN_MS ? quarter_ms : CLOSED_MARGIN_MS;
    const bool is_closed =
        answer->done == DPOT_DONE_DROPPED_CLOSED || answer->done == DPOT_REPORT_REJECTED_CLOSED;
    return is_closed && answer->done_ms <= closes_ms - margin_ms;
}

/* The ledger has an entry for each campaign, for ever. */
static dpot_status check_has_place(dpot_client *client, const struct dpot_campaign *campaign)
{
    const struct dpot_ledger_sums *sums = &client->journal.ledger.sums;
    if (sums->n_campaigns < DPOT_LEDGER_CAMPAIGNS_MAX ||
        dpot_sums_find(sums, client->campaigns.pin, campaign->id)) {
        return DPOT_OK;
    }
    return dpot_error_set(&client->error, DPOT_ERR_TOO_LARGE,
                          "campaign \"%s\": reports were charged to %zu other campaigns, and a "
                          "folder has place for %d: use another folder, which is a fresh budget. "
                          "Nothing was charged",
                          campaign->name, sums->n_campaigns, DPOT_LEDGER_CAMPAIGNS_MAX);
}

dpot_status dpot_client_check_newest(dpot_client *client,
                                     const struct dpot_signed_campaign *revision)
{
    const struct dpot_campaign *campaign = &revision->campaign;
    struct dpot_charge charge = {.revision = campaign->revision};
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    memcpy(charge.key.campaign_hash, revision->hash, sizeof charge.key.campaign_hash);
    memcpy(charge.signer, client->campaigns.pin, sizeof charge.signer);
    memcpy(charge.campaign_id, campaign->id, sizeof charge.campaign_id);
    if (!dpot_ledger_is_older(&client->journal.ledger, &charge)) {
        return check_has_place(client, campaign);
    }
    dpot_hex_encode(hex, campaign->id, DPOT_CAMPAIGN_ID_LEN);
    return dpot_error_set(&client->error, DPOT_ERR_EXISTS,
                          "campaign %s: revision %u is refused: the ledger has a report to a newer "
                          "one, so an old copy was put in its place (\"campaign-%s\"?). To fetch "
                          "the newest enroll again; nothing was charged",
                          hex, (unsigned)campaign->revision, hex);
}

dpot_status dpot_client_check_not_closed(dpot_client *client,
                                         const struct dpot_signed_campaign *revision)
{
    const struct dpot_ledger *ledger = &client->journal.ledger;
    const struct dpot_campaign *campaign = &revision->campaign;
    const struct dpot_ledger_campaign *charged =
        dpot_sums_find_revision(&ledger->sums, revision->hash);
    if (!charged || !closes_revision(campaign, &charged->answer)) {
        return DPOT_OK;
    }
    return dpot_error_set(
        &client->error, DPOT_ERR_CLOSED,
        "campaign \"%s\": the server has closed revision %u, a report to it would "
        "not count; enroll again to learn of a newer one. Nothing was charged",
        campaign->name, (unsigned)campaign->revision);
}

static dpot_status refuse(dpot_client *client, const struct dpot_campaign *campaign,
                          int64_t time_ms, dpot_status status)
{
    const int64_t now_ms = dpot_client_clock(client);
    const bool is_closed = status == DPOT_ERR_CLOSED;
    char device[DPOT_RFC3339_SIZE], edge[DPOT_RFC3339_SIZE], now[DPOT_RFC3339_SIZE];
    dpot_time_format(time_ms, device);
    dpot_time_format(is_closed ? campaign->closes_ms : campaign->opens_ms, edge);
    dpot_time_format(now_ms, now);
    if (is_closed && now_ms < campaign->closes_ms) {
        return dpot_error_set(
            &client->error, status,
            "campaign \"%s\", revision %u, closes at %s and device_time is %s: a "
            "charge was made under a clock far ahead of the present %s, and device "
            "time never goes back. Wait until then, or begin a new folder, which is "
            "a fresh budget",
            campaign->name, (unsigned)campaign->revision, edge, device, now);
    }
    return dpot_error_set(
        &client->error, status, "campaign \"%s\", revision %u, %s %s and device_time is %s",
        campaign->name, (unsigned)campaign->revision,
        is_closed ? "has closed at" : "has not opened yet: it opens at", edge, device);
}

dpot_status dpot_client_find_round(dpot_client *client, const struct dpot_campaign *campaign,
                                   int64_t time_ms, uint32_t *round)
{
    const dpot_status status = dpot_campaign_round(campaign, time_ms, round);
    return status == DPOT_OK ? DPOT_OK : refuse(client, campaign, time_ms, status);
}

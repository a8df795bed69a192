#include "storage/ledger_sums.h"

#include <string.h>

bool dpot_key_equal(const struct dpot_key *a, const struct dpot_key *b)
{
    return a->round == b->round && memcmp(a->campaign_hash, b->campaign_hash, DPOT_HASH_LEN) == 0;
}

void dpot_sums_init(struct dpot_ledger_sums *sums, const struct dpot_allocator *allocator)
{
    *sums = (struct dpot_ledger_sums){.allocator = allocator};
}

void dpot_sums_release(struct dpot_ledger_sums *sums)
{
    dpot_free_array(sums->allocator, sums->campaigns, sums->cap_campaigns, sizeof *sums->campaigns);
    dpot_free_array(sums->allocator, sums->spans, sums->cap_spans, sizeof *sums->spans);
    dpot_sums_init(sums, sums->allocator);
}

void dpot_sums_clear(struct dpot_ledger_sums *sums)
{
    memset(sums->n_ended, 0, sizeof sums->n_ended);
    sums->spent = (struct dpot_privacy){0};
    sums->n_campaigns = sums->n_spans = 0;
}

static dpot_status reserve_campaign(struct dpot_ledger_sums *sums)
{
    if (sums->n_campaigns < sums->cap_campaigns) {
        return DPOT_OK;
    }
    const size_t cap = sums->cap_campaigns ? 2 * sums->cap_campaigns : 2;
    struct dpot_ledger_campaign *campaigns = dpot_resize_array(
        sums->allocator, sums->campaigns, sums->cap_campaigns, cap, sizeof *sums->campaigns);
    if (!campaigns) {
        return DPOT_ERR_MEMORY;
    }
    sums->campaigns = campaigns;
    sums->cap_campaigns = cap;
    return DPOT_OK;
}

static dpot_status reserve_span(struct dpot_ledger_sums *sums)
{
    if (sums->n_spans < sums->cap_spans || sums->cap_spans == DPOT_LEDGER_SPANS_MAX) {
        return DPOT_OK;
    }
    const size_t cap = sums->cap_spans ? 2 * sums->cap_spans : 6; /* 6 * 2^5 are the most */
    struct dpot_ledger_span *spans =
        dpot_resize_array(sums->allocator, sums->spans, sums->cap_spans, cap, sizeof *sums->spans);
    if (!spans) {
        return DPOT_ERR_MEMORY;
    }
    sums->spans = spans;
    sums->cap_spans = cap;
    return DPOT_OK;
}

dpot_status dpot_sums_reserve(struct dpot_ledger_sums *sums)
{
    const dpot_status status = reserve_campaign(sums);
    return status == DPOT_OK ? reserve_span(sums) : status;
}

/* The length of the union of two neighbours, for its age. */
static double width(const struct dpot_ledger_span *older, const struct dpot_ledger_span *newer,
                    int64_t now_ms)
{
    return ((double)newer->last_ms - (double)older->first_ms) /
           ((double)now_ms - (double)newer->last_ms + 1);
}

static void merge_narrowest(struct dpot_ledger_sums *sums, int64_t now_ms)
{
    struct dpot_ledger_span *spans = sums->spans;
    size_t best = 0;
    for (size_t i = 1; i + 1 < sums->n_spans; i++) {
        if (width(&spans[i], &spans[i + 1], now_ms) <
            width(&spans[best], &spans[best + 1], now_ms)) {
            best = i;
        }
    }
    spans[best].last_ms = spans[best + 1].last_ms;
    spans[best].spent = dpot_privacy_add(spans[best].spent, spans[best + 1].spent);
    memmove(&spans[best + 1], &spans[best + 2], (sums->n_spans - best - 2) * sizeof *spans);
    sums->n_spans--;
}

static void add_to_spans(struct dpot_ledger_sums *sums, int64_t time_ms, struct dpot_privacy cost)
{
    struct dpot_ledger_span *last = sums->n_spans > 0 ? &sums->spans[sums->n_spans - 1] : NULL;
    if (last && last->first_ms == time_ms) {
        last->spent = dpot_privacy_add(last->spent, cost);
        return;
    }
    if (sums->n_spans == DPOT_LEDGER_SPANS_MAX) {
        merge_narrowest(sums, time_ms);
    }
    sums->spans[sums->n_spans++] = (struct dpot_ledger_span){time_ms, time_ms, cost};
}

static struct dpot_ledger_campaign *find_campaign(const struct dpot_ledger_sums *sums,
                                                  const uint8_t *signer, const uint8_t *campaign_id)
{
    for (size_t i = 0; i < sums->n_campaigns; i++) {
        struct dpot_ledger_campaign *campaign = &sums->campaigns[i];
        if (memcmp(campaign->campaign_id, campaign_id, DPOT_CAMPAIGN_ID_LEN) == 0 &&
            memcmp(campaign->signer, signer, DPOT_SIGN_PUBLIC_LEN) == 0) {
            return campaign;
        }
    }
    return NULL;
}

static struct dpot_ledger_campaign *add_campaign(struct dpot_ledger_sums *sums,
                                                 const struct dpot_charge *charge)
{
    struct dpot_ledger_campaign *campaign = &sums->campaigns[sums->n_campaigns++];
    *campaign = (struct dpot_ledger_campaign){.newest = charge->key};
    memcpy(campaign->signer, charge->signer, sizeof campaign->signer);
    memcpy(campaign->campaign_id, charge->campaign_id, sizeof campaign->campaign_id);
    return campaign;
}

static bool is_same_revision(const struct dpot_key *a, const struct dpot_key *b)
{
    return memcmp(a->campaign_hash, b->campaign_hash, DPOT_HASH_LEN) == 0;
}

void dpot_sums_charge(struct dpot_ledger_sums *sums, const struct dpot_charge *charge)
{
    struct dpot_ledger_campaign *campaign =
        find_campaign(sums, charge->signer, charge->campaign_id);
    if (!campaign) {
        campaign = add_campaign(sums, charge);
    }
    if (!is_same_revision(&campaign->newest, &charge->key)) {
        campaign->answer = (struct dpot_answer){0};
    }
    campaign->newest = charge->key;
    campaign->newest_done = DPOT_DONE_NOT_YET;
    campaign->revision =
        charge->revision > campaign->revision ? charge->revision : campaign->revision;
    campaign->spent = dpot_privacy_add(campaign->spent, charge->cost);
    sums->spent = dpot_privacy_add(sums->spent, charge->cost);
    add_to_spans(sums, charge->time_ms, charge->cost);
    sums->n_ended[DPOT_DONE_NOT_YET]++;
}

/* True for ends by an answer of the server: receipts, 409, 400 and 413. */
static bool is_answer(uint8_t done)
{
    return (done > 0 && done < DPOT_REPORT_STATUS_END) || done == DPOT_DONE_DROPPED_CLOSED ||
           done == DPOT_DONE_DROPPED_MALFORMED;
}

void dpot_sums_finish(struct dpot_ledger_sums *sums, const struct dpot_charge *charge, uint8_t done,
                      int64_t done_ms)
{
    struct dpot_ledger_campaign *campaign =
        find_campaign(sums, charge->signer, charge->campaign_id);
    sums->n_ended[DPOT_DONE_NOT_YET]--;
    sums->n_ended[done]++;
    if (dpot_key_equal(&campaign->newest, &charge->key)) {
        campaign->newest_done = done;
    }
    if (is_answer(done) && is_same_revision(&campaign->newest, &charge->key)) {
        campaign->answer = (struct dpot_answer){done, charge->key.round, done_ms};
    }
}

const struct dpot_ledger_campaign *dpot_sums_find(const struct dpot_ledger_sums *sums,
                                                  const uint8_t signer[DPOT_SIGN_PUBLIC_LEN],
                                                  const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN])
{
    return find_campaign(sums, signer, campaign_id);
}

struct dpot_privacy dpot_sums_spent_on(const struct dpot_ledger_sums *sums,
                                       const uint8_t signer[DPOT_SIGN_PUBLIC_LEN],
                                       const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN])
{
    const struct dpot_ledger_campaign *campaign = find_campaign(sums, signer, campaign_id);
    return campaign ? campaign->spent : (struct dpot_privacy){0};
}

const struct dpot_ledger_campaign *
dpot_sums_find_revision(const struct dpot_ledger_sums *sums,
                        const uint8_t campaign_hash[DPOT_HASH_LEN])
{
    for (size_t i = 0; i < sums->n_campaigns; i++) {
        if (memcmp(sums->campaigns[i].newest.campaign_hash, campaign_hash, DPOT_HASH_LEN) == 0) {
            return &sums->campaigns[i];
        }
    }
    return NULL;
}

struct dpot_privacy dpot_sums_spent_after(const struct dpot_ledger_sums *sums, int64_t after_ms)
{
    struct dpot_privacy sum = {0};
    for (size_t i = sums->n_spans; i > 0 && sums->spans[i - 1].last_ms > after_ms; i--) {
        sum = dpot_privacy_add(sum, sums->spans[i - 1].spent);
    }
    return sum;
}

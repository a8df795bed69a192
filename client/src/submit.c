/* A submit: the pipeline from the user's data to a report in the spool. Read this file first.
 *
 * The privacy argument (doc/privacy.md) rests on the order below, which the table `stages` defines:
 *
 * 1. The submit starts at the horizon of the previous one, or at the clock if that is later
 *    (journal.h, virtual time). The campaign is verified again. The round follows from its public
 *    schedule, the state of the key (campaign hash, round) from the disk. A round that has its
 *    report is settled: the data are not read.
 * 2. Caps are checked. Everything that can fail is done now: memory, randomness, report id, the
 *    delay until the report is sent.
 * 3. If the campaign's share of the spool is full, older reports of it are dropped. A slot with the
 *    id and the delay is made durable, then the CHARGE with the new horizon.
 * 4. The hardware counter is advanced.
 * 5. The data are read, clamped and privatised, in the same number of steps whatever they are.
 *    Nothing here can fail.
 * 6. The report is written to its slot, durably.
 * 7. The lock is released. The uploader sends the report later, its delay after the horizon.
 *
 * A refusal in stages 1 and 2 depends on public facts and the ledger, never on the data. A failure
 * in stages 3, 4 and 6 comes from the disk and poisons the handle. The next opening decides from
 * the disk: a charge without a report means that nothing had left, and the report is made under the
 * old charge, with the id and the delay of the slot; a charge with a report means that those bytes
 * are sent. */
#include "arguments.h"
#include "base/clock.h"
#include "client.h"
#include "draft.h"
#include "proto/wire_report.h"
#include "work.h"

#include <string.h>

#define DELAY_WORK_TIMES 8 /* the longest delay is at least this many work times */

struct submission {
    dpot_client *client;
    const uint8_t *campaign_id;
    struct dpot_device_data data;

    struct dpot_signed_campaign revision;
    struct dpot_key key;
    enum dpot_key_state state;           /* before this submit */
    enum dpot_submit_outcome settled_as; /* 0, or the answer that ends the pipeline early */
    int64_t start_ms;                    /* virtual time, by the clock: for sending */
    int64_t time_ms;                     /* the same as device time: for round, window, charge */
    bool has_lock;
    bool is_without_data; /* DPOT_READINGS_MAX is reached: the data are not read again */

    uint64_t load_us; /* time to verify the campaign */
    struct dpot_work work;
    struct dpot_slot_name name;
    struct dpot_draft draft;
};

static struct dpot_error *error_of(struct submission *s)
{
    return &s->client->error;
}

/* ---- 1. campaign, round, state ---- */

static dpot_status take_lock(struct submission *s)
{
    const dpot_status status = dpot_client_lock(s->client);
    s->has_lock = status == DPOT_OK;
    const int64_t now_ms = dpot_client_clock(s->client);
    const int64_t horizon_ms = dpot_journal_horizon(&s->client->journal, now_ms);
    s->start_ms = horizon_ms > now_ms ? horizon_ms : now_ms;
    s->time_ms = dpot_journal_time(&s->client->journal, s->start_ms);
    return status == DPOT_OK ? dpot_client_check_consent(s->client) : status;
}

static dpot_status validate_campaign(struct submission *s)
{
    const int64_t start_us = dpot_client_steady_us(s->client);
    const dpot_status status =
        dpot_campaigns_load(&s->client->campaigns, s->campaign_id, &s->revision, error_of(s));
    s->load_us = (uint64_t)(dpot_client_steady_us(s->client) - start_us);
    return status == DPOT_OK ? dpot_shape_check(s->client, &s->revision.campaign, &s->data)
                             : status;
}

/* Checked before the charge: a report that cannot be sealed for the stored keys would be charged
 * for nothing. */
static dpot_status check_keys(struct submission *s)
{
    struct dpot_keys keys;
    struct dpot_error why = {{0}};
    const dpot_status status = s->client->campaigns.n_expected > 0
                                   ? dpot_campaigns_load_keys(&s->client->campaigns, &keys, &why)
                                   : DPOT_OK;
    if (status != DPOT_ERR_UNEXPECTED && status != DPOT_ERR_NOT_FOUND) {
        return DPOT_OK; /* damaged keys are fetched again */
    }
    return dpot_error_set(
        error_of(s), DPOT_ERR_UNEXPECTED, "%s",
        status == DPOT_ERR_UNEXPECTED
            ? why.text
            : "this app expects certain seal keys and none are stored: enroll again");
}

static dpot_status check_revision(struct submission *s)
{
    const dpot_status status = dpot_client_check_newest(s->client, &s->revision);
    return status == DPOT_OK ? dpot_client_check_not_closed(s->client, &s->revision) : status;
}

static dpot_status find_round(struct submission *s)
{
    memcpy(s->key.campaign_hash, s->revision.hash, sizeof s->key.campaign_hash);
    const dpot_status status =
        dpot_client_find_round(s->client, &s->revision.campaign, s->time_ms, &s->key.round);
    if (status != DPOT_OK) {
        return status;
    }
    s->state = dpot_journal_state(&s->client->journal, &s->key);
    if (s->state == DPOT_KEY_REPORTED) {
        s->settled_as = DPOT_SUBMIT_PENDING;
    } else if (s->state == DPOT_KEY_DONE || s->state == DPOT_KEY_LOST) {
        const bool is_lost = dpot_journal_is_lost(&s->client->journal, &s->key);
        s->settled_as = is_lost ? DPOT_SUBMIT_LOST : DPOT_SUBMIT_DONE;
    }
    return DPOT_OK;
}

/* ---- 2. caps, and everything that can fail ---- */

/* A report that was charged already needs no check: its charge is in the sums. */
static dpot_status check_caps(struct submission *s)
{
    const dpot_client *client = s->client;
    const struct dpot_ledger_sums *sums = &client->journal.ledger.sums;
    const struct dpot_privacy cost = dpot_mechanism_charge(&s->revision.campaign);
    if (s->state == DPOT_KEY_CHARGED) {
        return DPOT_OK;
    }
    const struct dpot_caps *caps = &client->caps;
    dpot_status status = dpot_cap_check(
        caps->campaign, dpot_sums_spent_on(sums, client->campaigns.pin, s->campaign_id), cost,
        "campaign", error_of(s));
    if (status == DPOT_OK) {
        status = dpot_cap_check(caps->window, dpot_client_window_spent(client, s->time_ms), cost,
                                "window", error_of(s));
    }
    if (status == DPOT_OK) {
        status = dpot_cap_check(caps->lifetime, sums->spent, cost, "lifetime", error_of(s));
    }
    return status;
}

static dpot_status find_work(struct submission *s)
{
    return dpot_work_find(s->client, &s->revision, s->load_us, &s->work);
}

static dpot_status allocate_everything(struct submission *s)
{
    const dpot_status status = dpot_journal_reserve(&s->client->journal);
    return status == DPOT_OK ? dpot_draft_init(&s->draft, &s->revision.campaign,
                                               s->client->config.allocator, error_of(s))
                             : status;
}

static uint32_t longest_delay_ms(const struct submission *s)
{
    const uint64_t of_work_ms = (uint64_t)DELAY_WORK_TIMES * s->work.work_ms;
    const uint64_t most_ms = of_work_ms < UINT32_MAX ? of_work_ms : UINT32_MAX;
    const uint32_t asked_ms = s->client->config.send_delay_ms;
    return most_ms > asked_ms ? (uint32_t)most_ms : asked_ms;
}

/* Keeps the draws of a slot that a crash left. */
static void name_slot(struct submission *s, const uint8_t random_delay[8])
{
    const struct dpot_campaign *campaign = &s->revision.campaign;
    const struct dpot_spool *spool = &s->client->journal.spool;
    const size_t slot = dpot_spool_find(spool, &s->key);
    const bool is_vector = dpot_mechanism_is_vector(campaign->mechanism);
    s->name = (struct dpot_slot_name){
        .key = s->key,
        .closes_ms = dpot_campaign_round_closes(campaign, s->key.round),
        .n_values = is_vector ? campaign->vector.dim : 0,
        .has_losses = campaign->loss_counts,
        .has_draws = true,
        .delay_ms = dpot_journal_draw_delay(random_delay, longest_delay_ms(s)),
        .report_len_max = (uint32_t)dpot_wire_report_len_max(campaign)};
    memcpy(s->name.campaign_id, s->campaign_id, sizeof s->name.campaign_id);
    memcpy(s->name.report_id, s->draft.report.id, sizeof s->name.report_id);
    if (slot != SIZE_MAX && spool->slots[slot].name.has_draws) {
        s->name = spool->slots[slot].name;
        memcpy(s->draft.report.id, s->name.report_id, sizeof s->name.report_id);
    }
}

/* A source that fails is noticed here, before any data are read. */
static dpot_status draw_randomness(struct submission *s)
{
    const struct dpot_rng_source *source = s->client->rng_source;
    struct dpot_report *report = &s->draft.report;
    uint8_t random_delay[8], random_places[8];
    dpot_rng_init(s->draft.rng, source);
    source->fill(source->ctx, report->id, sizeof report->id);
    source->fill(source->ctx, random_delay, sizeof random_delay);
    source->fill(source->ctx, random_places, sizeof random_places);
    s->draft.uniform = dpot_load_u64(random_places);
    dpot_wipe(random_places, sizeof random_places);
    report->group =
        s->revision.campaign.n_groups > 0 ? dpot_client_group(s->client, s->campaign_id) : 0;
    report->test = source->is_test;
    name_slot(s, random_delay);
    return dpot_random_check(error_of(s));
}

/* ---- 3. and 4. slot, charge, counter ---- */

/* Before the charge: the reports dropped are older, and were charged themselves. */
static dpot_status make_room(struct submission *s)
{
    struct dpot_journal *journal = &s->client->journal;
    const dpot_status status =
        dpot_journal_make_room(journal, &s->name, s->client->config.spool_max_bytes, s->time_ms);
    return status == DPOT_OK ? dpot_journal_fold(journal) : status;
}

static dpot_status preallocate_slot(struct submission *s)
{
    if (s->state == DPOT_KEY_CHARGED) {
        return DPOT_OK; /* CHARGED means that the slot exists */
    }
    return dpot_journal_preallocate(&s->client->journal, &s->name);
}

static int64_t horizon_ms(const struct submission *s)
{
    return s->start_ms + s->work.work_ms + s->work.extra_ms;
}

/* A crash cut the work off: the data are read once more, up to DPOT_READINGS_MAX. */
static dpot_status resume_durably(struct submission *s)
{
    struct dpot_journal *journal = &s->client->journal;
    const size_t charge = dpot_ledger_find(&journal->ledger, &s->key);
    s->is_without_data = journal->ledger.charges[charge].n_readings >= DPOT_READINGS_MAX;
    return s->is_without_data ? DPOT_OK
                              : dpot_journal_resume(journal, &s->key, s->time_ms, horizon_ms(s));
}

static dpot_status charge_durably(struct submission *s)
{
    if (s->state == DPOT_KEY_CHARGED) {
        return resume_durably(s);
    }
    struct dpot_charge charge = {.key = s->key,
                                 .revision = s->revision.campaign.revision,
                                 .cost = dpot_mechanism_charge(&s->revision.campaign),
                                 .time_ms = s->time_ms,
                                 .horizon_ms = horizon_ms(s)};
    memcpy(charge.signer, s->client->campaigns.pin, sizeof charge.signer);
    memcpy(charge.campaign_id, s->campaign_id, sizeof charge.campaign_id);
    return dpot_journal_charge(&s->client->journal, &charge);
}

/* ---- 5. the data ---- */

/* After DPOT_READINGS_MAX readings without a report it is made without the data. */
static dpot_status read_and_privatize(struct submission *s)
{
    const struct dpot_device_data no_data = {.kind = s->data.kind};
    dpot_draft_make(&s->draft, s->is_without_data ? &no_data : &s->data);
    return DPOT_OK;
}

/* ---- 6. the spool ---- */

static dpot_status spool_durably(struct submission *s)
{
    const dpot_status status = dpot_journal_spool(&s->client->journal, &s->key, &s->draft.report);
    s->client->n_late += dpot_client_clock(s->client) > horizon_ms(s);
    return status;
}

/* ---- the pipeline ---- */

static dpot_status (*const stages[])(struct submission *) = {
    take_lock,           /* held from 1 to 7; consent */
    validate_campaign,   /* 1 */
    check_keys,          /* 1 */
    check_revision,      /* 1 */
    find_round,          /* 1 */
    check_caps,          /* 2 */
    find_work,           /* 2 */
    allocate_everything, /* 2 */
    draw_randomness,     /* 2 */
    make_room,           /* 3 */
    preallocate_slot,    /* 3 */
    charge_durably,      /* 3, 4 */
    read_and_privatize,  /* 5 */
    spool_durably,       /* 6 */
};

/* 7, and wiping of everything that held data, noise or the report. */
static void clean_up(struct submission *s)
{
    if (s->has_lock) {
        dpot_client_unlock(s->client);
    }
    dpot_draft_release(&s->draft);
    dpot_signed_campaign_release(&s->revision);
}

static dpot_status submit(struct submission *s, enum dpot_submit_outcome *outcome)
{
    dpot_status status = dpot_client_require(s->client, s->campaign_id, "campaign_id");
    if (status != DPOT_OK) {
        return status;
    }
    dpot_client_clear_error(s->client);
    status = dpot_shape_check_count(s->client, &s->data);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        if (status == DPOT_OK && s->settled_as == 0) {
            status = stages[i](s);
        }
    }
    clean_up(s);
    if (status == DPOT_OK && outcome) {
        const bool is_resumed = s->state == DPOT_KEY_CHARGED;
        *outcome = s->settled_as ? s->settled_as
                   : is_resumed  ? DPOT_SUBMIT_RESUMED
                                 : DPOT_SUBMIT_REPORTED;
    }
    return dpot_client_end(s->client, status);
}

dpot_status dpot_client_submit_points(dpot_client *client, const uint8_t campaign_id[16],
                                      const double *points, const double *weights, size_t n,
                                      uint32_t dim, enum dpot_submit_outcome *outcome)
{
    struct submission s = {.client = client,
                           .campaign_id = campaign_id,
                           .data = {.points = points, .weights = weights, .n = n, .dim = dim}};
    return submit(&s, outcome);
}

dpot_status dpot_client_submit_histogram(dpot_client *client, const uint8_t campaign_id[16],
                                         const double *histogram, size_t size,
                                         enum dpot_submit_outcome *outcome)
{
    struct submission s = {.client = client,
                           .campaign_id = campaign_id,
                           .data = {.kind = DATA_HISTOGRAM, .histogram = histogram, .size = size}};
    return submit(&s, outcome);
}

dpot_status dpot_client_submit_vector(dpot_client *client, const uint8_t campaign_id[16],
                                      const double *vector, uint32_t dim,
                                      enum dpot_submit_outcome *outcome)
{
    struct submission s = {.client = client,
                           .campaign_id = campaign_id,
                           .data = {.kind = DATA_VECTOR, .vector = vector, .dim = dim}};
    s.data.points = vector; /* one point of a sphere */
    s.data.n = vector ? 1 : 0;
    return submit(&s, outcome);
}

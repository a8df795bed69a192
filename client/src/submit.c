/* A submit: the one pipeline from the user's data to a report in the spool. Read this first.
 *
 * The order below is the privacy argument (exact-privacy D, rules 0 and C) and is written down in
 * one place only, the table `stages`:
 *
 * 1. The campaign is verified again, the round read off its public schedule, the state of the key
 *    (campaign hash, round) off the disk. A round that has its report is settled: data stay unread.
 * 2. Caps are checked. Everything that can fail is done now: memory, randomness, report id.
 * 3. Where the spool is at its cap, older reports are dropped. A slot for the report is made durable,
 *    then the CHARGE is.
 * 4. The hardware counter goes up.
 * 5. The data are read, clamped and privatised. Nothing here can fail, whatever the data are.
 * 6. The report goes into its slot, durably.
 * 7. The lock is released. The report is sent later, by the uploader, at a public time.
 *
 * A refusal of stages 1 and 2 depends on public facts and the ledger, never on the data. A failure
 * of stages 3, 4 and 6 is the disk's; it poisons the handle, and the next opening decides from the
 * disk: charged but without a report means the report is made under the old charge (nothing had
 * left); with a report means the very same bytes are sent. */
#include "client.h"
#include "mechanism/mechanism.h"
#include "model/places.h"
#include "shape.h"

#include <fenv.h>
#include <stdio.h>
#include <string.h>

struct submission {
    dpot_client *client;
    const uint8_t *campaign_id;
    struct dpot_device_data data;

    struct dpot_signed_campaign revision;
    struct dpot_key key;
    enum dpot_key_state state;           /* before this submit */
    enum dpot_submit_outcome settled_as; /* 0, or the answer that ends the pipeline early */
    int64_t start_ms;                    /* device time */
    int64_t began_ms;                    /* the same by the clock, which sending goes by */
    bool has_lock;

    struct dpot_privatizer *privatizer;
    struct dpot_private_measure private_measure; /* index mechanisms */
    struct dpot_nearest nearest;
    double *histogram; /* (domain size) scratch */
    size_t histogram_size;
    struct dpot_private_points private_points; /* spheres */
    struct dpot_private_vector private_vector; /* vector mechanisms */
    int64_t *values;                           /* (dim) of the report */
    uint32_t n_values;
    struct dpot_rng rng;
    struct dpot_report report;
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
    s->began_ms = dpot_client_clock(s->client);
    s->start_ms = dpot_journal_time(&s->client->journal, s->began_ms);
    return status == DPOT_OK ? dpot_client_check_consent(s->client) : status;
}

static bool is_vector(const struct submission *s)
{
    return dpot_mechanism_is_vector(s->revision.campaign.mechanism);
}

static dpot_status validate_campaign(struct submission *s)
{
    const dpot_status status =
        dpot_campaigns_load(&s->client->campaigns, s->campaign_id, &s->revision, error_of(s));
    return status == DPOT_OK ? dpot_shape_check(s->client, &s->revision.campaign, &s->data)
                             : status;
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
        dpot_client_find_round(s->client, &s->revision.campaign, s->start_ms, &s->key.round);
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

/* A report that was charged already is made without asking again: its charge is in the sums. */
static dpot_status check_caps(struct submission *s)
{
    const dpot_client *client = s->client;
    const struct dpot_ledger *ledger = &client->journal.ledger;
    const struct dpot_privacy cost = dpot_mechanism_charge(&s->revision.campaign);
    if (s->state == DPOT_KEY_CHARGED) {
        return DPOT_OK;
    }
    const struct dpot_caps *caps = &client->caps;
    dpot_status status = dpot_cap_check(
        caps->campaign, dpot_ledger_spent_campaign(ledger, client->campaigns.pin, s->campaign_id),
        cost, "campaign", error_of(s));
    if (status == DPOT_OK) {
        status = dpot_cap_check(caps->window, dpot_client_window_spent(client, s->start_ms), cost,
                                "window", error_of(s));
    }
    if (status == DPOT_OK) {
        status = dpot_cap_check(caps->lifetime, dpot_ledger_spent(ledger), cost, "lifetime",
                                error_of(s));
    }
    return status;
}

static dpot_status allocate_for_points(struct submission *s)
{
    const struct dpot_allocator *allocator = s->client->config.allocator;
    const struct dpot_campaign *campaign = &s->revision.campaign;
    const dpot_status status =
        dpot_private_measure_init(&s->private_measure, campaign->n_max, allocator);
    if (status != DPOT_OK) {
        return status;
    }
    s->histogram = dpot_alloc_array(allocator, campaign->domain.size, sizeof *s->histogram);
    s->histogram_size = campaign->domain.size;
    return s->histogram
               ? dpot_nearest_init(&s->nearest, &campaign->domain, &campaign->metric, allocator)
               : DPOT_ERR_MEMORY;
}

static dpot_status allocate_for_sphere(struct submission *s)
{
    return dpot_private_points_init(&s->private_points, s->revision.campaign.n_max,
                                    s->revision.campaign.domain.dim, s->client->config.allocator);
}

static dpot_status allocate_for_vector(struct submission *s)
{
    const struct dpot_allocator *allocator = s->client->config.allocator;
    const struct dpot_vector_domain *vector = &s->revision.campaign.vector;
    const dpot_status status =
        dpot_private_vector_init(&s->private_vector, dpot_vector_data_dim(vector), allocator);
    if (status != DPOT_OK) {
        return status;
    }
    s->values = dpot_alloc_array(allocator, vector->dim, sizeof *s->values);
    s->n_values = vector->dim;
    s->report.values = s->values;
    return s->values ? DPOT_OK : DPOT_ERR_MEMORY;
}

static dpot_status allocate_everything(struct submission *s)
{
    const struct dpot_allocator *allocator = s->client->config.allocator;
    dpot_status status = dpot_journal_reserve(&s->client->journal);
    if (status == DPOT_OK) {
        status = dpot_privatizer_new(&s->revision.campaign, allocator, &s->privatizer, error_of(s));
    }
    if (status == DPOT_OK) {
        status = is_vector(s)                                     ? allocate_for_vector(s)
                 : dpot_campaign_is_sphere(&s->revision.campaign) ? allocate_for_sphere(s)
                                                                  : allocate_for_points(s);
    }
    return status;
}

/* A source that fails ends the process here, before there are data it could depend on. */
static dpot_status fetch_randomness(struct submission *s)
{
    const struct dpot_rng_source *source = s->client->rng_source;
    dpot_rng_init(&s->rng, source);
    source->fill(source->ctx, s->report.id, sizeof s->report.id);
    s->report.group =
        s->revision.campaign.n_groups > 0 ? dpot_client_group(s->client, s->campaign_id) : 0;
    s->report.test = source->is_test;
    return DPOT_OK;
}

/* ---- 3. and 4. slot, charge, counter ---- */

static uint32_t count_values(const struct submission *s)
{
    return is_vector(s) ? s->revision.campaign.vector.dim : 0;
}

/* Before the charge: what is dropped is older, and was charged itself. */
static dpot_status make_room(struct submission *s)
{
    return dpot_journal_make_room(&s->client->journal, &s->key, count_values(s),
                                  s->client->config.spool_max_bytes, s->start_ms);
}

static dpot_status preallocate_slot(struct submission *s)
{
    if (s->state == DPOT_KEY_CHARGED) {
        return DPOT_OK; /* it is there: that is what CHARGED means */
    }
    struct dpot_slot_name name = {
        .key = s->key,
        .closes_ms = dpot_campaign_round_closes(&s->revision.campaign, s->key.round),
        .n_values = count_values(s),
        .tells_losses = s->revision.campaign.loss_counts};
    memcpy(name.campaign_id, s->campaign_id, sizeof name.campaign_id);
    return dpot_journal_preallocate(&s->client->journal, &name);
}

static dpot_status charge_durably(struct submission *s)
{
    if (s->state == DPOT_KEY_CHARGED) {
        return DPOT_OK;
    }
    struct dpot_charge charge = {.key = s->key,
                                 .revision = s->revision.campaign.revision,
                                 .cost = dpot_mechanism_charge(&s->revision.campaign),
                                 .time_ms = s->start_ms};
    memcpy(charge.signer, s->client->campaigns.pin, sizeof charge.signer);
    memcpy(charge.campaign_id, s->campaign_id, sizeof charge.campaign_id);
    return dpot_journal_charge(&s->client->journal, &charge);
}

/* ---- 5. the data ---- */

/* What counts as nothing there is for dpot_private_measure_set. */
static void read_histogram(struct submission *s)
{
    const double *source = s->data.histogram ? s->data.histogram : s->histogram;
    memmove(s->histogram, source, s->histogram_size * sizeof *source);
}

/* Total: no data at all are the public default of dpot_private_measure_set. */
static void privatize_measure(struct submission *s)
{
    const uint64_t coin = dpot_rng_u64(&s->rng); /* before the data, and always */
    if (s->data.kind == DATA_HISTOGRAM) {
        read_histogram(s);
    } else {
        dpot_places_read(&s->nearest, s->data.points, s->data.weights, s->data.n, coin,
                         s->histogram);
    }
    dpot_private_measure_set(&s->private_measure, s->histogram, s->histogram_size);
    dpot_privatizer_run(s->privatizer, &s->private_measure, &s->rng, &s->report);
}

/* Total. The id of the report, which names its directions, was drawn in stage 2. */
static void privatize_points(struct submission *s)
{
    const uint64_t coin = dpot_rng_u64(&s->rng); /* before the data, and always */
    dpot_private_points_set(&s->private_points, s->data.points, s->data.weights, s->data.n, coin);
    dpot_privatizer_run_points(s->privatizer, &s->private_points, &s->rng, &s->report);
}

/* Total: zeros without data; what is not finite is for the mechanism's clamp. */
static void privatize_vector(struct submission *s)
{
    double *values = s->private_vector.values;
    const double *source = s->data.vector ? s->data.vector : values;
    memmove(values, source, s->private_vector.dim * sizeof *values);
    dpot_privatizer_run_vector(s->privatizer, &s->private_vector, &s->rng, &s->report);
}

/* Traps of the host are held off, so that 0/0 in a sweep is not a signal. */
static dpot_status read_and_privatize(struct submission *s)
{
    fenv_t environment;
    const bool is_held = feholdexcept(&environment) == 0;
    if (is_vector(s)) {
        privatize_vector(s);
    } else if (dpot_campaign_is_sphere(&s->revision.campaign)) {
        privatize_points(s);
    } else {
        privatize_measure(s);
    }
    if (is_held) {
        (void)fesetenv(&environment);
    }
    return DPOT_OK;
}

/* ---- 6. the spool ---- */

static dpot_status spool_durably(struct submission *s)
{
    struct dpot_journal *journal = &s->client->journal;
    const dpot_status status = dpot_journal_spool(journal, &s->key, &s->report, s->began_ms);
    if (status == DPOT_OK) {
        struct dpot_slot *slot = &journal->spool.slots[dpot_spool_find(&journal->spool, &s->key)];
        slot->due_ms = dpot_journal_sending_time(s->began_ms, dpot_client_clock(s->client),
                                                 s->client->config.send_delay_ms);
    }
    return status;
}

/* ---- the pipeline ---- */

static dpot_status (*const stages[])(struct submission *) = {
    take_lock,           /* held from 1 to 7; consent */
    validate_campaign,   /* 1 */
    check_revision,      /* 1 */
    find_round,          /* 1 */
    check_caps,          /* 2 */
    allocate_everything, /* 2 */
    fetch_randomness,    /* 2 */
    make_room,           /* 3 */
    preallocate_slot,    /* 3 */
    charge_durably,      /* 3, 4 */
    read_and_privatize,  /* 5 */
    spool_durably,       /* 6 */
};

/* 7, and wiping: whatever has touched data, noise or the report. */
static void clean_up(struct submission *s)
{
    const struct dpot_allocator *allocator = s->client->config.allocator;
    if (s->has_lock) {
        dpot_client_unlock(s->client);
    }
    dpot_privatizer_free(s->privatizer);
    dpot_private_measure_release(&s->private_measure);
    dpot_free_secret(allocator, s->histogram, s->histogram_size, sizeof *s->histogram);
    dpot_nearest_release(&s->nearest);
    dpot_private_points_release(&s->private_points);
    dpot_private_vector_release(&s->private_vector);
    dpot_free_secret(allocator, s->values, s->n_values, sizeof *s->values);
    dpot_rng_release(&s->rng);
    dpot_wipe(&s->report, sizeof s->report);
    dpot_signed_campaign_release(&s->revision);
}

static dpot_status submit(struct submission *s, enum dpot_submit_outcome *outcome)
{
    if (!s->client || !s->campaign_id) {
        return DPOT_ERR_ARGUMENT;
    }
    dpot_client_forget_error(s->client);
    dpot_status status = dpot_shape_check_count(s->client, &s->data);
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

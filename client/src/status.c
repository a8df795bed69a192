/* Status of the ledger, of a pump and of a campaign. Writes nothing except repairs while opening
 * the files. */
#include "arguments.h"
#include "backoff.h"
#include "client.h"
#include "mechanism/mechanism.h"
#include "storage/files.h"
#include "work.h"

#include <string.h>

static void count_done(struct dpot_client_status *status, unsigned done, uint64_t n)
{
    switch (done) {
    case DPOT_REPORT_ACCEPTED:
        status->n_accepted += n;
        break;
    case DPOT_REPORT_DUPLICATE:
        status->n_duplicate += n;
        break;
    case DPOT_REPORT_REJECTED_MALFORMED:
        status->n_rejected_malformed += n;
        break;
    case DPOT_REPORT_REJECTED_RANGE:
        status->n_rejected_range += n;
        break;
    case DPOT_REPORT_REJECTED_GROUP:
        status->n_rejected_group += n;
        break;
    case DPOT_REPORT_REJECTED_TEST:
        status->n_rejected_test += n;
        break;
    case DPOT_REPORT_REJECTED_TOKEN:
        status->n_rejected_token += n;
        break;
    case DPOT_REPORT_REJECTED_CLOSED:
        status->n_rejected_closed += n;
        break;
    case DPOT_DONE_DROPPED_CLOSED:
        status->n_dropped_closed += n;
        break;
    case DPOT_DONE_DROPPED_AGE:
        status->n_dropped_age += n;
        break;
    case DPOT_DONE_DROPPED_MALFORMED:
        status->n_dropped_malformed += n;
        break;
    case DPOT_DONE_DROPPED_LOST:
        status->n_dropped_lost += n;
        break;
    case DPOT_DONE_DROPPED_WITHDRAWN:
        status->n_dropped_withdrawn += n;
        break;
    case DPOT_DONE_DROPPED_SPOOL:
        status->n_dropped_spool += n;
        break;
    default:
        status->n_pending += n;
        break;
    }
}

/* One member of a cap; 0 where the accountant has none. */
static double epsilon_cap(uint64_t cap_q32)
{
    return cap_q32 == UINT64_MAX ? 0 : dpot_epsilon_to_double(cap_q32);
}

static double delta_cap(uint64_t cap_q64)
{
    return cap_q64 == UINT64_MAX ? 0 : dpot_delta_to_double(cap_q64);
}

static void fill_caps(const dpot_client *client, struct dpot_client_status *status)
{
    const struct dpot_caps *caps = &client->caps;
    status->accountant = client->config.accountant;
    status->lifetime_epsilon_cap = epsilon_cap(caps->lifetime.epsilon_q32);
    status->window_epsilon_cap = epsilon_cap(caps->window.epsilon_q32);
    status->campaign_epsilon_cap = epsilon_cap(caps->campaign.epsilon_q32);
    status->lifetime_delta_cap = delta_cap(caps->lifetime.delta_q64);
    status->window_delta_cap = delta_cap(caps->window.delta_q64);
    status->campaign_delta_cap = delta_cap(caps->campaign.delta_q64);
    status->lifetime_rho_cap = epsilon_cap(caps->lifetime.rho_q32);
    status->window_rho_cap = epsilon_cap(caps->window.rho_q32);
    status->campaign_rho_cap = epsilon_cap(caps->campaign.rho_q32);
}

static void fill_spent(const dpot_client *client, struct dpot_client_status *status)
{
    const struct dpot_ledger *ledger = &client->journal.ledger;
    const struct dpot_privacy spent = ledger->sums.spent;
    const struct dpot_privacy window = dpot_client_window_spent(client, status->device_time_ms);
    status->spent_epsilon = dpot_epsilon_to_double(spent.epsilon_q32);
    status->window_spent_epsilon = dpot_epsilon_to_double(window.epsilon_q32);
    status->spent_delta = dpot_delta_to_double(spent.delta_q64);
    status->window_spent_delta = dpot_delta_to_double(window.delta_q64);
    status->spent_rho = dpot_epsilon_to_double(spent.rho_q32);
    status->window_spent_rho = dpot_epsilon_to_double(window.rho_q32);
}

/* An install that is withdrawn or exhausted sends nothing. */
static void fill_times(dpot_client *client, struct dpot_client_status *status)
{
    const struct dpot_spool *spool = &client->journal.spool;
    status->next_due_ms = INT64_MAX;
    if (client->is_withdrawn || client->journal.is_exhausted) {
        return;
    }
    dpot_backoff_load(client);
    for (size_t i = 0; i < spool->n_slots; i++) {
        const int64_t due_ms = dpot_backoff_next_due(client, &spool->slots[i]);
        if (spool->slots[i].content == DPOT_SLOT_REPORT && due_ms < status->next_due_ms) {
            status->next_due_ms = due_ms;
        }
    }
    const bool is_paused = client->paused_until_ms > dpot_client_clock(client);
    status->paused_until_ms = is_paused ? client->paused_until_ms : 0;
}

static void fill_status(const dpot_client *client, struct dpot_client_status *status)
{
    const struct dpot_ledger *ledger = &client->journal.ledger;
    fill_caps(client, status);
    status->device_time_ms = dpot_client_time(client);
    status->is_exhausted = client->journal.is_exhausted;
    status->n_late = client->n_late;
    if (status->is_exhausted) {
        status->spent_epsilon = status->lifetime_epsilon_cap;
        status->window_spent_epsilon = status->window_epsilon_cap;
        status->spent_delta = status->lifetime_delta_cap;
        status->window_spent_delta = status->window_delta_cap;
        status->spent_rho = status->lifetime_rho_cap;
        status->window_spent_rho = status->window_rho_cap;
        return;
    }
    for (unsigned done = 0; done < DPOT_DONE_END; done++) {
        /* A withdrawal on a full disk: dropped, though its record is not written yet. */
        const bool is_withdrawn = done == DPOT_DONE_NOT_YET && client->is_withdrawn;
        count_done(status, is_withdrawn ? DPOT_DONE_DROPPED_WITHDRAWN : done,
                   ledger->sums.n_ended[done]);
        status->n_submitted += ledger->sums.n_ended[done];
    }
    fill_spent(client, status);
}

/* Under the lock: whether consent is withdrawn, also by another handle or process. */
static void refresh_withdrawn(dpot_client *client)
{
    struct dpot_journal *journal = &client->journal;
    bool is_marked = false;
    if (dpot_file_exists(journal->filesystem, DPOT_WITHDRAWN_NAME, &is_marked) == DPOT_OK) {
        client->is_withdrawn = is_marked || journal->ledger.is_withdrawn;
    }
}

/* Reads what others wrote. While another handle has the folder, or the disk fails, what this handle
 * last saw suffices, unless it has never loaded the files or is poisoned. */
static dpot_status refresh(dpot_client *client)
{
    struct dpot_journal *journal = &client->journal;
    dpot_client_clear_error(client);
    const dpot_status status = dpot_journal_lock(journal, &client->error);
    if (status == DPOT_OK) {
        refresh_withdrawn(client);
        dpot_journal_unlock(journal);
    }
    const bool is_known = journal->is_loaded && !journal->is_poisoned;
    return dpot_client_end(client, is_known ? DPOT_OK : status);
}

dpot_status dpot_client_get_status(dpot_client *client, struct dpot_client_status *status)
{
    dpot_status result = dpot_client_check_filled(client, status, sizeof *status, "status");
    result = result == DPOT_OK ? refresh(client) : result;
    if (result != DPOT_OK) {
        return result;
    }
    struct dpot_client_status full = {.struct_size = status->struct_size};
    fill_status(client, &full);
    fill_times(client, &full);
    memcpy(status, &full, status->struct_size < sizeof full ? status->struct_size : sizeof full);
    return DPOT_OK;
}

dpot_status dpot_client_get_campaign(dpot_client *client, const uint8_t campaign_id[16],
                                     struct dpot_campaign_info *info)
{
    struct dpot_signed_campaign revision;
    dpot_status status = dpot_client_require(client, campaign_id, "campaign_id");
    if (status == DPOT_OK) {
        status = dpot_client_check_filled(client, info, sizeof *info, "info");
    }
    if (status != DPOT_OK) {
        return status;
    }
    dpot_client_clear_error(client);
    status = dpot_campaigns_load(&client->campaigns, campaign_id, &revision, &client->error);
    if (status != DPOT_OK) {
        return dpot_client_end(client, status);
    }
    const struct dpot_campaign *campaign = &revision.campaign;
    struct dpot_work work;
    (void)dpot_work_load(client, &revision, &work);
    const struct dpot_campaign_info full = {
        .struct_size = info->struct_size,
        .revision = campaign->revision,
        .rounds = campaign->rounds,
        .n_groups = campaign->n_groups,
        .is_vector = dpot_mechanism_is_vector(campaign->mechanism),
        .opens_ms = campaign->opens_ms,
        .closes_ms = campaign->closes_ms,
        .steps = work.steps,
        .memory_bytes = work.bytes,
        .measured_us = work.measured_us,
        .work_ms = work.work_ms,
        .n_numbers = dpot_mechanism_is_vector(campaign->mechanism)
                         ? dpot_vector_data_dim(&campaign->vector)
                     : dpot_campaign_is_sphere(campaign) ? campaign->domain.dim
                                                         : campaign->domain.size,
    };
    memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
    dpot_signed_campaign_release(&revision);
    return dpot_client_end(client, DPOT_OK);
}

/* ---- what a pump has done ---- */

static void fill_ends(const size_t *n_ended, struct dpot_pump_result *full)
{
    full->n_accepted = n_ended[DPOT_REPORT_ACCEPTED];
    full->n_duplicate = n_ended[DPOT_REPORT_DUPLICATE];
    full->n_rejected_malformed = n_ended[DPOT_REPORT_REJECTED_MALFORMED];
    full->n_rejected_range = n_ended[DPOT_REPORT_REJECTED_RANGE];
    full->n_rejected_group = n_ended[DPOT_REPORT_REJECTED_GROUP];
    full->n_rejected_test = n_ended[DPOT_REPORT_REJECTED_TEST];
    full->n_rejected_token = n_ended[DPOT_REPORT_REJECTED_TOKEN];
    full->n_rejected_closed = n_ended[DPOT_REPORT_REJECTED_CLOSED];
    full->n_dropped_closed = n_ended[DPOT_DONE_DROPPED_CLOSED];
    full->n_dropped_age = n_ended[DPOT_DONE_DROPPED_AGE];
    full->n_dropped_malformed = n_ended[DPOT_DONE_DROPPED_MALFORMED];
    full->n_dropped_lost = n_ended[DPOT_DONE_DROPPED_LOST];
    full->n_dropped_withdrawn = n_ended[DPOT_DONE_DROPPED_WITHDRAWN];
    full->n_dropped_spool = n_ended[DPOT_DONE_DROPPED_SPOOL];
}

void dpot_client_fill_pump_result(dpot_client *client, size_t n_sent,
                                  struct dpot_pump_result *result)
{
    struct dpot_journal *journal = &client->journal;
    if (!result) {
        return;
    }
    struct dpot_pump_result full = {
        .struct_size = result->struct_size, .n_sent = n_sent, .next_due_ms = INT64_MAX};
    full.n_pending =
        client->is_withdrawn ? 0 : (size_t)journal->ledger.sums.n_ended[DPOT_DONE_NOT_YET];
    fill_ends(journal->n_ended, &full);
    for (size_t i = 0; i < journal->spool.n_slots; i++) {
        const int64_t due_ms = dpot_backoff_next_due(client, &journal->spool.slots[i]);
        full.next_due_ms = due_ms < full.next_due_ms ? due_ms : full.next_due_ms;
    }
    memset(journal->n_ended, 0, sizeof journal->n_ended);
    memcpy(result, &full, result->struct_size < sizeof full ? result->struct_size : sizeof full);
}

/* ---- one campaign ---- */

static void fill_spending(const dpot_client *client, const uint8_t *campaign_id,
                          struct dpot_spending *full)
{
    const struct dpot_privacy cap = client->caps.campaign;
    const struct dpot_privacy spent =
        dpot_sums_spent_on(&client->journal.ledger.sums, client->campaigns.pin, campaign_id);
    const bool is_exhausted = client->journal.is_exhausted;
    full->epsilon =
        is_exhausted ? epsilon_cap(cap.epsilon_q32) : dpot_epsilon_to_double(spent.epsilon_q32);
    full->delta = is_exhausted ? delta_cap(cap.delta_q64) : dpot_delta_to_double(spent.delta_q64);
    full->rho = is_exhausted ? epsilon_cap(cap.rho_q32) : dpot_epsilon_to_double(spent.rho_q32);
}

dpot_status dpot_client_get_campaign_spending(dpot_client *client, const uint8_t campaign_id[16],
                                              struct dpot_spending *spending)
{
    dpot_status result = dpot_client_require(client, campaign_id, "campaign_id");
    if (result == DPOT_OK) {
        result = dpot_client_check_filled(client, spending, sizeof *spending, "spending");
    }
    result = result == DPOT_OK ? refresh(client) : result;
    if (result != DPOT_OK) {
        return result;
    }
    struct dpot_spending full = {.struct_size = spending->struct_size};
    fill_spending(client, campaign_id, &full);
    memcpy(spending, &full,
           spending->struct_size < sizeof full ? spending->struct_size : sizeof full);
    return DPOT_OK;
}

dpot_status dpot_client_get_campaign_spent(dpot_client *client, const uint8_t campaign_id[16],
                                           double *spent_epsilon)
{
    struct dpot_spending spending = {.struct_size = sizeof spending};
    dpot_status status = dpot_client_require(client, spent_epsilon, "spent_epsilon");
    if (status == DPOT_OK) {
        status = dpot_client_get_campaign_spending(client, campaign_id, &spending);
    }
    if (status == DPOT_OK) {
        *spent_epsilon = spending.epsilon;
    }
    return status;
}

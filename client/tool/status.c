/* status: what was spent, what became of every report, when the next one may go. */
#include "base/clock.h"
#include "cli/object.h"
#include "cli/options.h"
#include "session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Calls `take` for each count of reports with its JSON key. */
static void list_counts(const struct dpot_client_status *status,
                        void (*take)(void *ctx, const char *name, uint64_t count), void *ctx)
{
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
        {"submitted", status->n_submitted},
        {"accepted", status->n_accepted},
        {"duplicate", status->n_duplicate},
        {"rejected_malformed", status->n_rejected_malformed},
        {"rejected_range", status->n_rejected_range},
        {"rejected_group", status->n_rejected_group},
        {"rejected_test", status->n_rejected_test},
        {"rejected_token", status->n_rejected_token},
        {"rejected_closed", status->n_rejected_closed},
        {"dropped_closed", status->n_dropped_closed},
        {"dropped_age", status->n_dropped_age},
        {"dropped_malformed", status->n_dropped_malformed},
        {"dropped_lost", status->n_dropped_lost},
        {"dropped_withdrawn", status->n_dropped_withdrawn},
        {"dropped_spool", status->n_dropped_spool},
        {"pending", status->n_pending},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        take(ctx, counts[i].name, counts[i].count);
    }
}

static void take_json(void *ctx, const char *name, uint64_t count)
{
    object_count(ctx, name, count);
}

/* Leaves zeros out, except of submitted and pending. */
static void take_line(void *ctx, const char *name, uint64_t count)
{
    (void)ctx;
    if (count > 0 || strcmp(name, "submitted") == 0 || strcmp(name, "pending") == 0) {
        printf("reports %s: %llu\n", name, (unsigned long long)count);
    }
}

/* NaN if a report without an epsilon or delta made the sum undefined (dpot/dpot.h). */
static double defined(double spent, double none)
{
    return spent < none ? spent : NAN;
}

/* Writes null for a time that never comes. */
static void put_time(struct object *object, const char *key, int64_t time_ms)
{
    char text[DPOT_RFC3339_SIZE];
    if (time_ms == 0 || time_ms == INT64_MAX) {
        object_number(object, key, NAN);
    } else {
        dpot_time_format(time_ms, text);
        object_text(object, key, text);
    }
}

/* The group of this device in the campaign; false: the campaign has none or is unknown. */
static bool find_group(const struct session *s, uint32_t *group, uint32_t *n_groups)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    const bool is_known =
        dpot_client_get_campaign(s->client, s->settings.campaign, &info) == DPOT_OK;
    *n_groups = info.n_groups;
    return is_known && info.n_groups > 0 &&
           settings_find_group(&s->settings, s->settings.campaign, group);
}

static void print_json(const struct session *s, const struct dpot_client_status *status,
                       const struct dpot_spending *campaign)
{
    uint32_t group = 0, n_groups = 0;
    char now[DPOT_RFC3339_SIZE];
    struct object object;
    dpot_time_format(status->device_time_ms, now);
    object_begin(&object, stdout);
    list_counts(status, take_json, &object);
    object_number(&object, "spent_epsilon", defined(status->spent_epsilon, DPOT_EPSILON_NONE));
    object_number(&object, "lifetime_epsilon_cap", status->lifetime_epsilon_cap);
    object_number(&object, "window_spent_epsilon",
                  defined(status->window_spent_epsilon, DPOT_EPSILON_NONE));
    object_number(&object, "window_epsilon_cap", status->window_epsilon_cap);
    object_number(&object, "campaign_spent_epsilon", defined(campaign->epsilon, DPOT_EPSILON_NONE));
    object_number(&object, "campaign_epsilon_cap", status->campaign_epsilon_cap);
    object_text(&object, "accountant",
                status->accountant == DPOT_ACCOUNTANT_ZCDP ? "zcdp" : "basic");
    object_number(&object, "spent_delta", defined(status->spent_delta, DPOT_DELTA_NONE));
    object_number(&object, "lifetime_delta_cap", status->lifetime_delta_cap);
    object_number(&object, "window_spent_delta",
                  defined(status->window_spent_delta, DPOT_DELTA_NONE));
    object_number(&object, "window_delta_cap", status->window_delta_cap);
    object_number(&object, "campaign_spent_delta", defined(campaign->delta, DPOT_DELTA_NONE));
    object_number(&object, "campaign_delta_cap", status->campaign_delta_cap);
    object_number(&object, "spent_rho", status->spent_rho);
    object_number(&object, "lifetime_rho_cap", status->lifetime_rho_cap);
    object_number(&object, "window_spent_rho", status->window_spent_rho);
    object_number(&object, "window_rho_cap", status->window_rho_cap);
    object_number(&object, "campaign_spent_rho", campaign->rho);
    object_number(&object, "campaign_rho_cap", status->campaign_rho_cap);
    object_text(&object, "device_time", now);
    object_bool(&object, "is_exhausted", status->is_exhausted != 0);
    put_time(&object, "next_due", status->next_due_ms);
    put_time(&object, "paused_until", status->paused_until_ms);
    object_number(&object, "group", find_group(s, &group, &n_groups) ? (double)group : NAN);
    object_end(&object);
}

/* Prints when waiting reports may be sent, and by what. */
static void print_times(const struct dpot_client_status *status)
{
    char text[DPOT_RFC3339_SIZE];
    if (status->next_due_ms == INT64_MAX) {
        return;
    }
    if (status->paused_until_ms > 0) {
        dpot_time_format(status->paused_until_ms, text);
        printf("paused until %s: the server has asked for it\n", text);
    }
    dpot_time_format(status->next_due_ms, text);
    printf("the next report may be sent from %s on, by dpot-device flush\n", text);
}

static void print_text(const struct session *s, const struct dpot_client_status *status,
                       const struct dpot_spending *campaign)
{
    char statement[4096];
    uint32_t group = 0, n_groups = 0;
    if (dpot_client_get_statement(s->client, statement, sizeof statement) == DPOT_OK) {
        fputs(statement, stdout);
    }
    if (status->accountant == DPOT_ACCOUNTANT_BASIC) {
        printf("epsilon spent %.2f of %.2f in this campaign\n", campaign->epsilon,
               status->campaign_epsilon_cap);
    } else {
        printf("rho spent %.4g of %.4g in this campaign\n", campaign->rho,
               status->campaign_rho_cap);
    }
    if (find_group(s, &group, &n_groups)) {
        printf("group %u of the %u (from 0) in this campaign, sent openly\n", (unsigned)group,
               (unsigned)n_groups);
    }
    list_counts(status, take_line, NULL);
    print_times(status);
}

/* The campaign of --campaign must be known: enrolled, or charged before. */
static dpot_status check_known(const struct session *s, struct run *run,
                               const struct dpot_spending *campaign)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    const dpot_status status = dpot_client_get_campaign(s->client, s->settings.campaign, &info);
    return status == DPOT_ERR_NOT_FOUND && campaign->epsilon == 0 && campaign->rho == 0
               ? session_fail(s, run, status)
               : DPOT_OK;
}

static dpot_status get_status(const struct session *s, struct run *run,
                              struct dpot_client_status *status, struct dpot_spending *campaign)
{
    dpot_status result = dpot_client_get_status(s->client, status);
    if (result == DPOT_OK) {
        result = dpot_client_get_campaign_spending(s->client, s->settings.campaign, campaign);
    }
    return result == DPOT_OK ? DPOT_OK : session_fail(s, run, result);
}

static dpot_status run_status(struct run *run)
{
    struct session s = {0};
    struct dpot_client_status status = {.struct_size = sizeof status};
    struct dpot_spending campaign = {.struct_size = sizeof campaign};
    dpot_status result = open_session(&s, run);
    if (result == DPOT_OK) {
        result = get_status(&s, run, &status, &campaign);
    }
    if (result == DPOT_OK && option_is_given(run, "campaign")) {
        result = check_known(&s, run, &campaign);
    }
    if (result == DPOT_OK && run->is_json) {
        print_json(&s, &status, &campaign);
    } else if (result == DPOT_OK) {
        print_text(&s, &status, &campaign);
    }
    close_session(&s);
    return result;
}

static const struct option options[] = {
    {"dir", "DIR", "folder of this device"},
    {"campaign", "ID", "report what this campaign spent, not the one enrolled last"},
    {NULL, NULL, NULL},
};

const struct command command_status = {
    .name = "status",
    .summary = "print what was spent, and what became of every report",
    .details = "Prints what was spent of every cap and what became of every report: submitted is "
               "the sum of all\n"
               "other counts, whatever crashed or was killed.",
    .example = "dpot-device status --dir device --json",
    .options = options,
    .n_required = 1,
    .run = run_status,
};

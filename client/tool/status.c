/* status: what was spent, what became of every report, when the next one may go. */
#include "base/clock.h"
#include "json.h"
#include "session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How reports ended, with the names of the JSON keys. */
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
    json_count(ctx, name, count);
}

/* People see what happened, not a column of zeros. */
static void take_line(void *ctx, const char *name, uint64_t count)
{
    (void)ctx;
    if (count > 0 || strcmp(name, "submitted") == 0 || strcmp(name, "pending") == 0) {
        printf("reports %s: %llu\n", name, (unsigned long long)count);
    }
}

/* What a report without an epsilon, delta has made of their sums: there is none (dpot/dpot.h). */
static double defined(double spent, double none)
{
    return spent < none ? spent : NAN;
}

/* null for a time that never comes. */
static void json_time(struct json *json, const char *key, int64_t time_ms)
{
    char text[DPOT_RFC3339_SIZE];
    if (time_ms == 0 || time_ms == INT64_MAX) {
        json_number(json, key, NAN);
    } else {
        dpot_time_format(time_ms, text);
        json_text(json, key, text);
    }
}

/* The label that reports to this campaign carry; false: it has no groups, or is not known. */
static bool find_group(const struct session *s, uint32_t *group, uint32_t *n_groups)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    const bool is_known =
        dpot_client_get_campaign(s->client, s->settings.campaign, &info) == DPOT_OK;
    *n_groups = info.n_groups;
    return is_known && info.n_groups > 0 &&
           settings_find_group(&s->settings, s->settings.campaign, group);
}

static void say_status_json(const struct session *s, const struct dpot_client_status *status,
                            const struct dpot_spending *campaign)
{
    uint32_t group = 0, n_groups = 0;
    char now[DPOT_RFC3339_SIZE];
    struct json json;
    dpot_time_format(status->device_time_ms, now);
    json_begin(&json, stdout);
    list_counts(status, take_json, &json);
    json_number(&json, "spent_epsilon", defined(status->spent_epsilon, DPOT_EPSILON_NONE));
    json_number(&json, "lifetime_epsilon_cap", status->lifetime_epsilon_cap);
    json_number(&json, "window_spent_epsilon",
                defined(status->window_spent_epsilon, DPOT_EPSILON_NONE));
    json_number(&json, "window_epsilon_cap", status->window_epsilon_cap);
    json_number(&json, "campaign_spent_epsilon", defined(campaign->epsilon, DPOT_EPSILON_NONE));
    json_number(&json, "campaign_epsilon_cap", status->campaign_epsilon_cap);
    json_text(&json, "accountant", status->accountant == DPOT_ACCOUNTANT_ZCDP ? "zcdp" : "basic");
    json_number(&json, "spent_delta", defined(status->spent_delta, DPOT_DELTA_NONE));
    json_number(&json, "lifetime_delta_cap", status->lifetime_delta_cap);
    json_number(&json, "window_spent_delta", defined(status->window_spent_delta, DPOT_DELTA_NONE));
    json_number(&json, "window_delta_cap", status->window_delta_cap);
    json_number(&json, "campaign_spent_delta", defined(campaign->delta, DPOT_DELTA_NONE));
    json_number(&json, "campaign_delta_cap", status->campaign_delta_cap);
    json_number(&json, "spent_rho", status->spent_rho);
    json_number(&json, "lifetime_rho_cap", status->lifetime_rho_cap);
    json_number(&json, "window_spent_rho", status->window_spent_rho);
    json_number(&json, "window_rho_cap", status->window_rho_cap);
    json_number(&json, "campaign_spent_rho", campaign->rho);
    json_number(&json, "campaign_rho_cap", status->campaign_rho_cap);
    json_text(&json, "device_time", now);
    json_bool(&json, "is_exhausted", status->is_exhausted != 0);
    json_time(&json, "next_due", status->next_due_ms);
    json_time(&json, "paused_until", status->paused_until_ms);
    json_number(&json, "group", find_group(s, &group, &n_groups) ? (double)group : NAN);
    json_end(&json);
}

/* When what waits may go, and that it does not go by itself. */
static void say_times(const struct dpot_client_status *status)
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

static void say_status(const struct session *s, const struct dpot_client_status *status,
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
    say_times(status);
}

/* A campaign that was asked for by its id must be known: enrolled, or charged before. */
static enum exit_code check_known(const struct session *s, const struct dpot_spending *campaign,
                                  struct failure *failure)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    const dpot_status status = dpot_client_get_campaign(s->client, s->settings.campaign, &info);
    return status == DPOT_ERR_NOT_FOUND && campaign->epsilon == 0 && campaign->rho == 0
               ? fail_status(failure, status, dpot_client_last_error(s->client))
               : EXIT_DONE;
}

enum exit_code run_status(const struct options *options, struct failure *failure)
{
    struct session s = {0};
    struct dpot_client_status status = {.struct_size = sizeof status};
    struct dpot_spending campaign = {.struct_size = sizeof campaign};
    enum exit_code code = open_session(&s, options, failure);
    if (code == EXIT_DONE) {
        dpot_status result = dpot_client_get_status(s.client, &status);
        if (result == DPOT_OK) {
            result = dpot_client_get_campaign_spending(s.client, s.settings.campaign, &campaign);
        }
        if (result != DPOT_OK) {
            code = fail_status(failure, result, dpot_client_last_error(s.client));
        }
    }
    if (code == EXIT_DONE && options->campaign) {
        code = check_known(&s, &campaign, failure);
    }
    if (code == EXIT_DONE && options->json) {
        say_status_json(&s, &status, &campaign);
    } else if (code == EXIT_DONE) {
        say_status(&s, &status, &campaign);
    }
    close_session(&s);
    return code;
}

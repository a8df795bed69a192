/* The statement: what was spent and what became of the reports, in sentences for the device's
 * owner. */
#include "arguments.h"
#include "client.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DAY_S 86400
#define HOUR_S 3600
#define STATEMENT_DELTA 1e-6 /* at which rho is converted to an epsilon */

/* Appends to text[0..used), cut to `cap` with the NUL; returns the new `used`. */
DPOT_PRINTF(4, 5)
static size_t put(char *text, size_t cap, size_t used, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(text + used, cap - used, format, arguments);
    va_end(arguments);
    return n < 0 || (size_t)n >= cap - used ? cap - 1 : used + (size_t)n;
}

static void describe_window(uint64_t seconds, char *text, size_t cap)
{
    if (seconds % DAY_S == 0) {
        const unsigned long long days = seconds / DAY_S;
        (void)snprintf(text, cap, "%llu day%s", days, days == 1 ? "" : "s");
    } else if (seconds % HOUR_S == 0) {
        const unsigned long long hours = seconds / HOUR_S;
        (void)snprintf(text, cap, "%llu hour%s", hours, hours == 1 ? "" : "s");
    } else {
        (void)snprintf(text, cap, "%llu seconds", (unsigned long long)seconds);
    }
}

static size_t put_basic(const struct dpot_client_status *s, const char *window, char *text,
                        size_t cap, size_t used)
{
    used = put(text, cap, used,
               "Spent %.4g of %.4g (epsilon, over the life of this install); in the last "
               "%s %.4g of %.4g.\n",
               s->spent_epsilon, s->lifetime_epsilon_cap, window, s->window_spent_epsilon,
               s->window_epsilon_cap);
    if (s->spent_delta > 0 || s->lifetime_delta_cap > 0) {
        used = put(text, cap, used, "Spent delta %.3g of %.3g.\n", s->spent_delta,
                   s->lifetime_delta_cap);
    }
    return used;
}

/* Rho as an epsilon. */
static void describe_rho(struct dpot_privacy spent, char *text, size_t cap)
{
    const double epsilon = spent.rho_q32 > 0 ? dpot_epsilon_of_rho(spent, STATEMENT_DELTA) : 0.0;
    if (isfinite(epsilon)) {
        (void)snprintf(text, cap, "about epsilon %.4g at delta %.0e", epsilon, STATEMENT_DELTA);
    } else {
        (void)snprintf(text, cap, "no epsilon at delta %.0e", STATEMENT_DELTA);
    }
}

static size_t put_zcdp(const dpot_client *client, const struct dpot_client_status *s,
                       const char *window, char *text, size_t cap, size_t used)
{
    char meaning[64];
    describe_rho(client->journal.ledger.sums.spent, meaning, sizeof meaning);
    return put(text, cap, used,
               "Spent %.4g of %.4g (rho of zCDP, over the life of this install; %s); in "
               "the last %s %.4g of %.4g.\n",
               s->spent_rho, s->lifetime_rho_cap, meaning, window, s->window_spent_rho,
               s->window_rho_cap);
}

static size_t put_reports(const struct dpot_client_status *s, char *text, size_t cap, size_t used)
{
    const uint64_t n_refused = s->n_rejected_malformed + s->n_rejected_range + s->n_rejected_group +
                               s->n_rejected_test + s->n_rejected_token + s->n_rejected_closed;
    const uint64_t n_dropped = s->n_dropped_closed + s->n_dropped_age + s->n_dropped_malformed +
                               s->n_dropped_lost + s->n_dropped_spool;
    return put(text, cap, used,
               "%llu report%s charged: %llu counted by the server, %llu refused by it, "
               "%llu dropped, %llu withdrawn, %llu waiting to be sent.\n",
               (unsigned long long)s->n_submitted, s->n_submitted == 1 ? " was" : "s were",
               (unsigned long long)(s->n_accepted + s->n_duplicate), (unsigned long long)n_refused,
               (unsigned long long)n_dropped, (unsigned long long)s->n_dropped_withdrawn,
               (unsigned long long)s->n_pending);
}

/* True for the first of the campaigns with one id, of several signers. */
static bool is_first_of_id(const struct dpot_ledger_campaign *campaigns, size_t campaign)
{
    for (size_t i = 0; i < campaign; i++) {
        if (memcmp(campaigns[i].campaign_id, campaigns[campaign].campaign_id,
                   DPOT_CAMPAIGN_ID_LEN) == 0) {
            return false;
        }
    }
    return true;
}

static size_t put_label(const struct dpot_campaign *campaign, uint32_t group, char *text,
                        size_t cap, size_t used)
{
    if (group >= campaign->n_groups) {
        return used;
    }
    return put(text, cap, used,
               "Reports to \"%s\" carry the label \"%s\" openly: it is not protected, and "
               "epsilon does not count it.\n",
               campaign->name, campaign->groups[group]);
}

/* What a report of a sphere is: no vector leaves the device. */
static size_t put_sphere(const struct dpot_campaign *campaign, char *text, size_t cap, size_t used)
{
    if (!dpot_campaign_is_sphere(campaign)) {
        return used;
    }
    return put(text, cap, used,
               "Reports to \"%s\" hold no vector of yours: each has its own list of %u random "
               "directions, drawn before your data were read, and names one of them, which may "
               "be any of them; epsilon %.4g says how much likelier one near yours is.\n",
               campaign->name, (unsigned)campaign->output.size,
               dpot_epsilon_to_double(campaign->epsilon_q32));
}

/* What leaves the device without noise, the label, and what reports of a sphere are: a line for
 * every campaign with either that reports were charged to and whose revision is in the folder. */
static size_t put_open_parts(const dpot_client *client, char *text, size_t cap, size_t used)
{
    const struct dpot_ledger_sums *sums = &client->journal.ledger.sums;
    for (size_t i = 0; i < sums->n_campaigns; i++) {
        struct dpot_signed_campaign revision;
        struct dpot_error error = {{0}};
        if (!is_first_of_id(sums->campaigns, i) ||
            dpot_campaigns_load(&client->campaigns, sums->campaigns[i].campaign_id, &revision,
                                &error) != DPOT_OK) {
            continue;
        }
        used = put_sphere(&revision.campaign, text, cap, used);
        used = put_label(&revision.campaign, dpot_client_group(client, revision.campaign.id), text,
                         cap, used);
        dpot_signed_campaign_release(&revision);
    }
    return used;
}

dpot_status dpot_client_get_statement(dpot_client *client, char *text, size_t cap)
{
    struct dpot_client_status s = {.struct_size = sizeof s};
    char window[48];
    dpot_status status = dpot_client_require(client, text, "text");
    if (status == DPOT_OK && cap == 0) {
        status = dpot_error_set(&client->error, DPOT_ERR_ARGUMENT,
                                "cap is 0: 1024 bytes and 512 per campaign suffice");
    }
    if (status != DPOT_OK) {
        return status;
    }
    text[0] = '\0';
    status = dpot_client_get_status(client, &s);
    if (status != DPOT_OK) {
        return status;
    }
    describe_window(client->config.window_seconds, window, sizeof window);
    size_t used = 0;
    if (s.is_exhausted) {
        (void)snprintf(text, cap,
                       "The ledger of this install cannot be trusted (%s): its whole budget counts "
                       "as spent and nothing more is reported.\n",
                       client->journal.why_exhausted);
        return DPOT_OK;
    }
    used = s.accountant == DPOT_ACCOUNTANT_ZCDP ? put_zcdp(client, &s, window, text, cap, used)
                                                : put_basic(&s, window, text, cap, used);
    used = put_reports(&s, text, cap, used);
    used = put_open_parts(client, text, cap, used);
    if (client->is_withdrawn) {
        (void)snprintf(text + used, cap - used, "Consent is withdrawn: nothing is reported.\n");
    }
    return DPOT_OK;
}

#include "tool/audit/client_path.h"

#include "base/rng_seeded.h"
#include "client/src/simulation.h"
#include "tool/audit/wiretap.h"

#include <math.h>
#include <string.h>

#define SEND_DELAY_MS 1000
#define PUMPS_MAX 12
#define DEADLINE_MS 60000
#define RESTART_EVERY 3 /* every third sample the process restarts before the second sending */
#define DELTA_CAP 0.01
#define WINDOW_SECONDS 86400
#define CHARGE_TOLERANCE 1e-9

void client_path_tally_add(struct client_path_tally *a, const struct client_path_tally *b)
{
    a->n_reports += b->n_reports;
    a->n_charges += b->n_charges;
    a->n_contradictions += b->n_contradictions;
    a->n_missing += b->n_missing;
    a->n_lengths += b->n_lengths;
    a->n_statuses += b->n_statuses;
    a->n_groups += b->n_groups;
    a->n_mischarged += b->n_mischarged;
    a->n_pools += b->n_pools;
}

bool client_path_tally_is_clean(const struct client_path_tally *tally)
{
    return tally->n_reports == tally->n_charges &&
           tally->n_contradictions + tally->n_missing + tally->n_lengths + tally->n_statuses +
                   tally->n_groups + tally->n_mischarged + tally->n_pools ==
               0;
}

/* ---- a device ---- */

struct device {
    const struct client_path_plan *plan;
    const struct in_process *server;
    struct dpot_clock clock;
    int64_t now_ms;
    struct dpot_transport network; /* in front of the wiretap */
    struct wiretap tap;
    struct dpot_filesystem *filesystem;
    struct dpot_rng_seeded source;
    dpot_client *client;
    const double *input; /* of this round */
    struct client_path_tally *tally;
    struct dpot_error *error;
};

static int64_t read_clock(void *ctx)
{
    return ((const struct device *)ctx)->now_ms;
}

static dpot_status send_through(void *ctx, const struct dpot_http_request *request,
                                struct dpot_http_response *response)
{
    struct device *d = ctx;
    const struct client_path_seams *seams = d->plan->seams;
    struct dpot_http_request copy = *request;
    if (seams && seams->send && d->input) {
        seams->send(seams->ctx, d->input, &copy);
    }
    return d->tap.transport.perform(d->tap.transport.ctx, &copy, response);
}

void client_path_config(const struct client_path_plan *plan, const struct in_process *server,
                        struct dpot_client_config *config)
{
    dpot_client_config_init(config, sizeof *config);
    config->server_url = IN_PROCESS_URL;
    memcpy(config->pin, server->pin, sizeof config->pin);
    config->campaign_epsilon_cap = DPOT_EPSILON_CEILING;
    config->window_epsilon_cap = DPOT_EPSILON_CEILING;
    config->lifetime_epsilon_cap = DPOT_EPSILON_CEILING;
    config->campaign_delta_cap = DELTA_CAP;
    config->window_delta_cap = DELTA_CAP;
    config->lifetime_delta_cap = DELTA_CAP;
    config->window_seconds = WINDOW_SECONDS;
    config->send_delay_ms = SEND_DELAY_MS;
    config->group = plan->subject->group;
}

static dpot_status open_client(struct device *d)
{
    struct dpot_client_config config;
    const struct client_path_seams *seams = d->plan->seams;
    client_path_config(d->plan, d->server, &config);
    config.filesystem =
        seams && seams->folder ? seams->folder(seams->ctx, d->filesystem) : d->filesystem;
    config.transport = &d->network;
    config.clock = &d->clock;
    const dpot_status status =
        dpot_client_open(&config, &d->client, d->error->text, sizeof d->error->text);
    if (status != DPOT_OK) {
        return status;
    }
    if (d->plan->subject->has_seed) {
        dpot_client_allow_simulation(d->client);
        dpot_client_set_rng_source(d->client, &d->source.source);
    }
    if (seams && seams->source) {
        dpot_client_set_rng_source(d->client, seams->source);
    }
    return DPOT_OK;
}

static dpot_status fail(struct device *d, dpot_status status, const char *what)
{
    return dpot_error_set(d->error, status, "%s, %s: %s", d->plan->subject->name, what,
                          dpot_client_last_error(d->client));
}

/* ---- a round ---- */

static dpot_status submit_data(dpot_client *client, const struct subject *subject,
                               const double *input, enum dpot_submit_outcome *outcome)
{
    const struct dpot_campaign *campaign = &subject->campaign;
    if (dpot_mechanism_is_vector(campaign->mechanism)) {
        return dpot_client_submit_vector(client, campaign->id, input, subject->dim, outcome);
    }
    return dpot_client_submit_points(client, campaign->id, input, NULL, 1, subject->dim, outcome);
}

/* The outcome must not depend on the data: the application sees it. */
static void submit(struct device *d, enum dpot_submit_outcome expected)
{
    const struct client_path_seams *seams = d->plan->seams;
    const struct subject *subject = d->plan->subject;
    enum dpot_submit_outcome outcome = 0;
    const dpot_status status =
        seams && seams->submit ? seams->submit(seams->ctx, d->client, subject, d->input, &outcome)
                               : submit_data(d->client, subject, d->input, &outcome);
    if (status != DPOT_OK || outcome != expected) {
        d->tap.trace |= WIRETAP_STATUS;
    }
}

/* Pumps until nothing is pending or, with `until_lost`, until the answer was lost. Time never goes
 * back. */
static dpot_status send_reports(struct device *d, bool until_lost)
{
    for (int i = 0; i < PUMPS_MAX; i++) {
        struct dpot_pump_result result = {.struct_size = sizeof result};
        const dpot_status status = dpot_client_pump(d->client, DEADLINE_MS, &result);
        if (DPOT_STATUS_IS_FATAL(status)) {
            return fail(d, status, "sending");
        }
        if (result.n_pending == 0 || result.next_due_ms == INT64_MAX ||
            (until_lost && !d->tap.loses_next_answer)) {
            return DPOT_OK;
        }
        d->now_ms = result.next_due_ms > d->now_ms ? result.next_due_ms : d->now_ms;
    }
    return DPOT_OK;
}

static dpot_status restart(struct device *d)
{
    dpot_client_close(d->client);
    const dpot_status status = open_client(d);
    if (status == DPOT_OK) {
        submit(d, DPOT_SUBMIT_PENDING);
    }
    return status;
}

static void count_trace(struct device *d, uint32_t trace)
{
    struct client_path_tally *tally = d->tally;
    tally->n_reports += d->tap.n_reports;
    tally->n_contradictions += (trace & WIRETAP_DIFFERS) != 0;
    tally->n_missing += (trace & WIRETAP_MISSING) != 0;
    tally->n_lengths += (trace & WIRETAP_LENGTH) != 0;
    tally->n_statuses += (trace & WIRETAP_STATUS) != 0;
    tally->n_groups += (trace & WIRETAP_GROUP) != 0;
}

/* One round; with `is_hard` the answer is lost, and with `restarts` the process restarts then. */
static dpot_status run_round(struct device *d, uint32_t round, bool is_hard, bool restarts,
                             struct audit_sample *sample)
{
    d->now_ms = dpot_campaign_round_opens(&d->plan->subject->campaign, round);
    wiretap_begin(&d->tap);
    submit(d, DPOT_SUBMIT_REPORTED);
    dpot_status status = DPOT_OK;
    if (is_hard) {
        d->tap.loses_next_answer = true;
        status = send_reports(d, true);
    }
    if (status == DPOT_OK && restarts) {
        status = restart(d);
    }
    if (status == DPOT_OK) {
        status = send_reports(d, false);
    }
    d->tap.loses_next_answer = false;
    *sample = wiretap_end(&d->tap);
    count_trace(d, sample->trace);
    return status;
}

/* A round with input 0, then the sample's round with the input under test. */
static dpot_status run_round_pair(struct device *d, size_t pair, unsigned input,
                                  struct audit_sample *sample)
{
    const struct subject *subject = d->plan->subject;
    struct audit_sample unused;
    d->input = subject->input[0];
    const dpot_status status = run_round(d, (uint32_t)(2 * pair), false, false, &unused);
    d->input = subject->input[input];
    return status == DPOT_OK ? run_round(d, (uint32_t)(2 * pair + 1), true,
                                         pair % RESTART_EVERY == RESTART_EVERY - 1, sample)
                             : status;
}

/* Every report must be charged what the campaign claims. */
static dpot_status check_ledger(struct device *d)
{
    struct dpot_client_status s = {.struct_size = sizeof s};
    const dpot_status status = dpot_client_get_status(d->client, &s);
    if (status != DPOT_OK) {
        return fail(d, status, "reading its ledger");
    }
    const struct dpot_privacy *claim = &d->plan->subject->claim;
    const double epsilon = dpot_epsilon_to_double(claim->epsilon_q32) * (double)s.n_submitted;
    const double delta = dpot_delta_to_double(claim->delta_q64) * (double)s.n_submitted;
    d->tally->n_charges += s.n_submitted;
    d->tally->n_mischarged += fabs(s.spent_epsilon - epsilon) > CHARGE_TOLERANCE * epsilon ||
                              fabs(s.spent_delta - delta) > CHARGE_TOLERANCE * delta;
    return DPOT_OK;
}

static dpot_status run_rounds(struct device *d, unsigned input, size_t n,
                              struct audit_sample *samples)
{
    dpot_status status = dpot_filesystem_memory_new(NULL, &d->filesystem);
    if (status == DPOT_OK) {
        status = open_client(d);
    }
    if (status == DPOT_OK) {
        status = dpot_client_enroll(d->client, d->plan->subject->campaign.id);
        status = status == DPOT_OK ? status : fail(d, status, "enrolling");
    }
    for (size_t i = 0; i < n && status == DPOT_OK; i++) {
        status = run_round_pair(d, i, input, &samples[i]);
    }
    return status == DPOT_OK ? check_ledger(d) : status;
}

static dpot_status run_device(const struct client_path_plan *plan, const struct in_process *server,
                              uint64_t number, unsigned input, size_t n,
                              struct audit_sample *samples, struct client_path_tally *tally,
                              uint64_t *digest, struct dpot_error *error)
{
    struct device d = {.plan = plan, .server = server, .tally = tally, .error = error};
    d.clock = (struct dpot_clock){.struct_size = sizeof d.clock, .ctx = &d, .now = read_clock};
    d.network = (struct dpot_transport){sizeof d.network, &d, send_through};
    d.now_ms = plan->subject->campaign.opens_ms;
    dpot_rng_seeded_init(&d.source, plan->seed, number);
    wiretap_init(&d.tap, plan->subject, server, &d.clock);
    const dpot_status status = run_rounds(&d, input, n, samples);
    *digest += d.tap.digest;
    dpot_client_close(d.client);
    if (d.filesystem) {
        dpot_filesystem_memory_free(d.filesystem);
    }
    return status;
}

/* ---- devices and their server ---- */

static int add_digest(void *ctx, uint32_t round, const struct dpot_report *report)
{
    uint64_t *digest = ctx;
    (void)round;
    *digest += wiretap_digest(report);
    return 0;
}

/* The pool must hold every report that was sent, once and unchanged; `sent` is their digest. */
static dpot_status check_pool(const struct in_process *server, uint64_t sent,
                              struct client_path_tally *tally, struct dpot_error *error)
{
    struct pool_count count;
    uint64_t stored = 0;
    dpot_status status = in_process_count(server, &count, error);
    if (status == DPOT_OK) {
        status = store_read_pool(server->store, server->hash, add_digest, &stored, error);
    }
    tally->n_pools += count.n_accepted != tally->n_reports || stored != sent;
    return status;
}

dpot_status client_path_run(const struct client_path_plan *plan, unsigned input,
                            uint64_t first_device, size_t n, struct audit_sample *samples,
                            struct client_path_tally *tally, struct dpot_error *error)
{
    struct in_process server;
    uint64_t digest = 0;
    dpot_status status = in_process_open(&plan->subject->campaign, &server, error);
    *tally = (struct client_path_tally){0};
    for (size_t i = 0; i < n && status == DPOT_OK; i += CLIENT_PATH_SAMPLES_PER_DEVICE) {
        const size_t left = n - i;
        const size_t n_here =
            left < CLIENT_PATH_SAMPLES_PER_DEVICE ? left : CLIENT_PATH_SAMPLES_PER_DEVICE;
        status = run_device(plan, &server, first_device + i / CLIENT_PATH_SAMPLES_PER_DEVICE, input,
                            n_here, samples + i, tally, &digest, error);
    }
    if (status == DPOT_OK) {
        status = check_pool(&server, digest, tally, error);
    }
    in_process_close(&server);
    return status;
}

#include "tool/simulate/device.h"

#include "base/clock.h"
#include "base/rng_seeded.h"
#include "client/src/simulation.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PUMPS_MAX 12  /* attempts to send the report of a round */
#define ENROLLS_MAX 6 /* attempts to enrol over the network */
#define PAUSE_MS 50   /* before the second attempt over the network; doubles */
#define PAUSE_MAX_MS 2000
#define DEADLINE_MS 60000
#define SEND_DELAY_MS 2000
#define WORK_TIME_MS 64
#define PATH_SIZE 4096
#define FOLDER_PREFIX "device-" /* then the number of the device */

const char *const rejected_names[N_REJECTED] = {"malformed", "range", "group",
                                                "test",      "token", "closed"};
const char *const dropped_names[N_DROPPED] = {"closed", "age",       "malformed",
                                              "lost",   "withdrawn", "spool"};

/* ---- tallies ---- */

void tally_add(struct tally *a, const struct tally *b)
{
    a->n_submitted += b->n_submitted;
    a->n_accepted += b->n_accepted;
    a->n_duplicate += b->n_duplicate;
    a->n_pending += b->n_pending;
    for (size_t i = 0; i < N_REJECTED; i++) {
        a->n_rejected[i] += b->n_rejected[i];
    }
    for (size_t i = 0; i < N_DROPPED; i++) {
        a->n_dropped[i] += b->n_dropped[i];
    }
}

uint64_t tally_rejected(const struct tally *tally)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < N_REJECTED; i++) {
        sum += tally->n_rejected[i];
    }
    return sum;
}

uint64_t tally_dropped(const struct tally *tally)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < N_DROPPED; i++) {
        sum += tally->n_dropped[i];
    }
    return sum;
}

bool tally_is_conserved(const struct tally *tally)
{
    return tally->n_submitted == tally->n_accepted + tally->n_duplicate + tally->n_pending +
                                     tally_rejected(tally) + tally_dropped(tally);
}

/* ---- clock and network of a device ---- */

struct device_clock {
    struct dpot_clock clock;
    const struct dpot_clock *base; /* NULL: the clock stands still between settings */
    int64_t offset_ms;             /* ahead of base; without base the time itself */
};

static int64_t read_clock(void *ctx)
{
    const struct device_clock *c = ctx;
    return c->offset_ms + (c->base ? c->base->now(c->base->ctx) : 0);
}

/* The clock never goes back. */
static void set_forward(struct device_clock *c, int64_t time_ms)
{
    const int64_t now_ms = read_clock(c);
    c->offset_ms += time_ms > now_ms ? time_ms - now_ms : 0;
}

struct lossy_network {
    struct dpot_transport transport;
    const struct dpot_transport *inner;
    bool loses_next_post;
};

static dpot_status perform(void *ctx, const struct dpot_http_request *request,
                           struct dpot_http_response *response)
{
    struct lossy_network *network = ctx;
    if (!network->loses_next_post || strcmp(request->method, "POST") != 0) {
        return network->inner->perform(network->inner->ctx, request, response);
    }
    network->loses_next_post = false;
    return transport_lose_answer(network->inner, request, response);
}

static void pause_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

/* ---- one device ---- */

struct device {
    const struct device_plan *plan;
    const struct crowd_device *data;
    struct device_clock clock;
    struct in_process_connection connection; /* unused over the network */
    struct lossy_network network;
    struct dpot_filesystem *filesystem;
    struct dpot_rng_seeded client_source;
    dpot_client *client; /* NULL before the first round it takes part in */
    struct device_outcome *outcome;
    struct dpot_error *error;
};

static void connect(struct device *d, const struct dpot_transport *network)
{
    d->clock.clock = (struct dpot_clock){
        .struct_size = sizeof d->clock.clock, .ctx = &d->clock, .now = read_clock};
    d->clock.base = d->plan->in_process ? NULL : dpot_clock_system();
    d->network.transport =
        (struct dpot_transport){sizeof d->network.transport, &d->network, perform};
    d->network.inner = network;
    if (d->plan->in_process) {
        in_process_connect(d->plan->in_process, &d->clock.clock, &d->connection);
        d->network.inner = &d->connection.transport;
    }
}

dpot_status device_check_durable(const char *folder, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    DIR *stream = opendir(folder);
    const struct dirent *entry = stream ? readdir(stream) : NULL;
    for (; entry && status == DPOT_OK; entry = readdir(stream)) {
        if (strncmp(entry->d_name, FOLDER_PREFIX, sizeof FOLDER_PREFIX - 1) == 0) {
            status = dpot_error_set(error, DPOT_ERR_EXISTS,
                                    "--durable %.200s holds %.80s of an earlier run, whose server "
                                    "is gone: give an empty folder",
                                    folder, entry->d_name);
        }
    }
    if (stream) {
        (void)closedir(stream);
    }
    return status;
}

static dpot_status open_folder(struct device *d)
{
    char path[PATH_SIZE];
    if (!d->plan->durable) {
        return dpot_filesystem_memory_new(NULL, &d->filesystem);
    }
    (void)snprintf(path, sizeof path, "%s/" FOLDER_PREFIX "%.0f", d->plan->durable, d->data->id);
    const dpot_status status = dpot_filesystem_posix_new(path, &d->filesystem);
    return status == DPOT_OK ? status
                             : dpot_error_set(d->error, status, "the folder %s: %s", path,
                                              dpot_status_text(status));
}

/* Short rounds get a shorter delay, so that a report can be sent twice within its round. */
static uint32_t send_delay_ms(const struct dpot_campaign *campaign)
{
    const int64_t length_ms =
        dpot_campaign_round_closes(campaign, 0) - dpot_campaign_round_opens(campaign, 0);
    const int64_t delay_ms = length_ms / 8;
    return delay_ms < 1 ? 1 : delay_ms > SEND_DELAY_MS ? SEND_DELAY_MS : (uint32_t)delay_ms;
}

/* Set, not measured, so that a simulation does not depend on the machine; at most an eighth of the
 * send delay. */
static uint32_t work_time_ms(const struct dpot_campaign *campaign)
{
    const uint32_t work_ms = send_delay_ms(campaign) / 8;
    return work_ms < 1 ? 1 : work_ms > WORK_TIME_MS ? WORK_TIME_MS : work_ms;
}

static dpot_status open_client(struct device *d)
{
    const struct device_plan *plan = d->plan;
    struct dpot_client_config config;
    dpot_status status = open_folder(d);
    if (status != DPOT_OK) {
        return status;
    }
    dpot_client_config_init(&config, sizeof config);
    config.server_url = plan->server_url;
    memcpy(config.pin, plan->pin, sizeof config.pin);
    config.campaign_epsilon_cap = plan->epsilon_cap;
    config.window_epsilon_cap = plan->epsilon_cap;
    config.lifetime_epsilon_cap = plan->epsilon_cap;
    config.campaign_delta_cap = plan->delta_cap;
    config.window_delta_cap = plan->delta_cap;
    config.lifetime_delta_cap = plan->delta_cap;
    config.window_seconds = 86400;
    config.group = d->data->group;
    config.send_delay_ms = send_delay_ms(plan->campaign);
    config.filesystem = d->filesystem;
    config.transport = &d->network.transport;
    config.clock = &d->clock.clock;
    status = dpot_client_open(&config, &d->client, d->error->text, sizeof d->error->text);
    if (status != DPOT_OK) {
        return status;
    }
    dpot_client_set_work_time(d->client, work_time_ms(plan->campaign));
    if (plan->campaign->simulation) {
        dpot_client_allow_simulation(d->client);
    }
    if (plan->has_seed) {
        dpot_client_set_rng_source(d->client, &d->client_source.source);
    }
    return DPOT_OK;
}

static dpot_status fail(struct device *d, dpot_status status, const char *what)
{
    return dpot_error_set(d->error, status, "device %.0f, %s: %s", d->data->id, what,
                          dpot_client_last_error(d->client));
}

/* Tries again while the server is busy or starting. */
static dpot_status enroll(struct device *d)
{
    long wait_ms = PAUSE_MS;
    for (int i = 1;; i++, wait_ms *= 2) {
        const dpot_status status = dpot_client_enroll(d->client, d->plan->campaign->id);
        const bool may_pass = status == DPOT_ERR_NETWORK || status == DPOT_ERR_SERVER;
        if (status == DPOT_OK) {
            return status;
        }
        if (!may_pass || d->plan->in_process || i == ENROLLS_MAX) {
            return fail(d, status, "enrolling");
        }
        pause_ms(wait_ms);
    }
}

static dpot_status submit_vector(struct device *d)
{
    const struct crowd *crowd = d->plan->crowd;
    double *vector = dpot_alloc_array(NULL, crowd->dim, sizeof *vector);
    if (!vector) {
        return DPOT_ERR_MEMORY;
    }
    crowd_vector(crowd, (size_t)(d->data - crowd->devices), d->plan->campaign, vector);
    const dpot_status status =
        dpot_client_submit_vector(d->client, d->plan->campaign->id, vector, crowd->dim, NULL);
    dpot_free_array(NULL, vector, crowd->dim, sizeof *vector);
    return status;
}

static dpot_status submit(struct device *d)
{
    const struct crowd *crowd = d->plan->crowd;
    if (dpot_mechanism_is_vector(d->plan->campaign->mechanism)) {
        return submit_vector(d);
    }
    return dpot_client_submit_points(
        d->client, d->plan->campaign->id, crowd->points + d->data->first * crowd->dim,
        crowd->counts + d->data->first, d->data->n_rows, crowd->dim, NULL);
}

/* A report that is unsent after all attempts is pending, which does not fail the simulation. */
static dpot_status send_reports(struct device *d)
{
    long wait_ms = PAUSE_MS;
    for (int i = 0; i < PUMPS_MAX; i++) {
        struct dpot_pump_result result = {.struct_size = sizeof result};
        const bool loses = d->network.loses_next_post;
        const dpot_status status = dpot_client_pump(d->client, DEADLINE_MS, &result);
        if (DPOT_STATUS_IS_FATAL(status)) {
            return fail(d, status, "sending");
        }
        if (result.n_pending == 0 || result.next_due_ms == INT64_MAX) {
            return DPOT_OK;
        }
        set_forward(&d->clock, result.next_due_ms);
        const bool was_lost_on_purpose = loses && !d->network.loses_next_post;
        if (status != DPOT_OK && !d->plan->in_process && !was_lost_on_purpose) {
            pause_ms(wait_ms);
            wait_ms = 2 * wait_ms < PAUSE_MAX_MS ? 2 * wait_ms : PAUSE_MAX_MS;
        }
    }
    return DPOT_OK;
}

static dpot_status take_part(struct device *d, bool loses_answer)
{
    dpot_status status = DPOT_OK;
    if (!d->client) {
        status = open_client(d);
        if (status == DPOT_OK) {
            status = enroll(d);
        }
        if (status != DPOT_OK) {
            return status;
        }
    }
    status = submit(d);
    if (status == DPOT_ERR_BUDGET) {
        d->outcome->n_refused++;
        return DPOT_OK;
    }
    if (status != DPOT_OK) {
        return fail(d, status, "submitting");
    }
    d->network.loses_next_post = loses_answer;
    status = send_reports(d);
    d->network.loses_next_post = false;
    return status;
}

/* In process every round begins shortly after its opening. */
static void begin_round(struct device *d, uint32_t round)
{
    const struct dpot_campaign *campaign = d->plan->campaign;
    if (d->plan->in_process) {
        set_forward(&d->clock, dpot_campaign_round_opens(campaign, round) +
                                   (int64_t)send_delay_ms(campaign) / 2);
    }
}

static double uniform(struct dpot_rng *rng)
{
    return ldexp((double)(dpot_rng_u64(rng) >> 11), -53);
}

static dpot_status run_rounds(struct device *d, struct dpot_rng *chance)
{
    d->outcome->place = uniform(chance);
    for (uint32_t round = 0; round < d->plan->rounds; round++) {
        const bool is_absent = uniform(chance) < d->plan->dropout;
        const bool loses_answer = uniform(chance) < d->plan->duplicates;
        if (is_absent) {
            d->outcome->n_absent++;
            continue;
        }
        begin_round(d, round);
        const dpot_status status = take_part(d, loses_answer);
        if (status != DPOT_OK) {
            return status;
        }
    }
    return DPOT_OK;
}

static dpot_status read_status(struct device *d)
{
    struct dpot_client_status s = {.struct_size = sizeof s};
    if (!d->client) {
        return DPOT_OK;
    }
    const dpot_status status = dpot_client_get_status(d->client, &s);
    if (status != DPOT_OK) {
        return fail(d, status, "reading its status");
    }
    d->outcome->spent_epsilon = s.spent_epsilon;
    d->outcome->tally = (struct tally){
        .n_submitted = s.n_submitted,
        .n_accepted = s.n_accepted,
        .n_duplicate = s.n_duplicate,
        .n_pending = s.n_pending,
        .n_rejected = {s.n_rejected_malformed, s.n_rejected_range, s.n_rejected_group,
                       s.n_rejected_test, s.n_rejected_token, s.n_rejected_closed},
        .n_dropped = {s.n_dropped_closed, s.n_dropped_age, s.n_dropped_malformed, s.n_dropped_lost,
                      s.n_dropped_withdrawn, s.n_dropped_spool}};
    return DPOT_OK;
}

static void close_device(struct device *d)
{
    dpot_client_close(d->client);
    if (d->filesystem && d->plan->durable) {
        dpot_filesystem_posix_free(d->filesystem);
    } else if (d->filesystem) {
        dpot_filesystem_memory_free(d->filesystem);
    }
}

dpot_status device_run(const struct device_plan *plan, const struct dpot_transport *network,
                       size_t device, struct device_outcome *outcome, struct dpot_error *error)
{
    struct device d = {
        .plan = plan, .data = &plan->crowd->devices[device], .outcome = outcome, .error = error};
    struct dpot_rng_seeded chance_source;
    struct dpot_rng chance;
    *outcome = (struct device_outcome){0};
    connect(&d, network);
    dpot_rng_seeded_init(&d.client_source, plan->seed, 2 * (uint64_t)device);
    dpot_rng_seeded_init(&chance_source, plan->seed, 2 * (uint64_t)device + 1);
    dpot_rng_init(&chance, plan->has_seed ? &chance_source.source : &dpot_rng_source_sodium);
    dpot_status status = run_rounds(&d, &chance);
    if (status == DPOT_OK) {
        status = read_status(&d);
    }
    dpot_rng_release(&chance);
    close_device(&d);
    return status;
}

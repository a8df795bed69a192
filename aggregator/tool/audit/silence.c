#include "tool/audit/silence.h"

#include "tool/audit/watched.h"
#include "tool/shared/progress.h"

#include <math.h>
#include <string.h>

#define SEND_DELAY_MS 1000
#define LONG_MS 60000 /* longer than any wait after one failure */
#define END_MS 120000 /* before the end of a round */
#define DELTA_CAP 0.01
#define WINDOW_SECONDS 86400
#define WORK_MS (WATCHED_WORK_MS - 1) /* that input 1 takes longer */

/* What happens in a round. */
struct scene {
    struct watched_answer first, then; /* answers; `then` after a minute, unless its status is 0 */
    bool restarts;                     /* before anything is sent */
    bool is_late;                      /* the last minutes of the round */
    bool is_last;                      /* its last millisecond, and then the next round's submit */
};

static const struct scene scenes[] = {
    {.first = {202, DPOT_REPORT_ACCEPTED}},
    {.first = {0, 0}, .then = {202, DPOT_REPORT_DUPLICATE}},
    {.first = {202, DPOT_REPORT_REJECTED_RANGE}, .restarts = true},
    {.first = {503, 0}, .then = {202, DPOT_REPORT_ACCEPTED}},
    {.first = {410, 0}, .then = {202, DPOT_REPORT_ACCEPTED}, .restarts = true},
    {.first = {202, DPOT_REPORT_ACCEPTED}, .is_last = true},
    {.first = {400, 0}},
    {.first = {409, 0}, .is_late = true},
};
#define N_SCENES (sizeof scenes / sizeof scenes[0])

#define ROUNDS_APART 2
#define SILENCE_STREAM (UINT64_C(3) << 62)

struct life {
    const struct path_plan *plan;
    struct watched device;
    struct dpot_transport network; /* in front of the witness */
    const double *input;
    int64_t work_ms;
    bool is_open; /* its rounds have begun */
    double longest_ms;
};

struct lives {
    const struct path_plan *plan;
    struct in_process server;
    struct in_process_connection connection;
    struct life of[2];
};

/* ---- a life ---- */

static dpot_status send_through(void *ctx, const struct dpot_http_request *request,
                                struct dpot_http_response *response)
{
    struct life *life = ctx;
    const struct path_seams *seams = life->plan->seams;
    const struct dpot_transport *next = &life->device.witness.transport;
    struct dpot_http_request copy = *request;
    if (seams && seams->send && life->is_open) {
        seams->send(seams->ctx, life->input, &copy);
    }
    return next->perform(next->ctx, &copy, response);
}

static void fill_config(const struct lives *lives, struct dpot_client_config *config)
{
    dpot_client_config_init(config, sizeof *config);
    config->server_url = IN_PROCESS_URL;
    memcpy(config->pin, lives->server.pin, sizeof config->pin);
    config->campaign_epsilon_cap = DPOT_EPSILON_CEILING;
    config->window_epsilon_cap = DPOT_EPSILON_CEILING;
    config->lifetime_epsilon_cap = DPOT_EPSILON_CEILING;
    config->campaign_delta_cap = DELTA_CAP;
    config->window_delta_cap = DELTA_CAP;
    config->lifetime_delta_cap = DELTA_CAP;
    config->window_seconds = WINDOW_SECONDS;
    config->send_delay_ms = SEND_DELAY_MS;
    config->group = lives->plan->subject->group;
}

static void submit_data(struct life *life)
{
    const struct subject *subject = life->plan->subject;
    const struct path_seams *seams = life->plan->seams;
    const struct watched_data data = {.points = life->input,
                                      .n = 1,
                                      .dim = subject->dim,
                                      .is_vector =
                                          dpot_mechanism_is_vector(subject->campaign.mechanism)};
    enum dpot_submit_outcome outcome = 0;
    if (seams && seams->submit) {
        const dpot_status status =
            seams->submit(seams->ctx, life->device.client, subject, life->input, &outcome);
        watched_note_submit(&life->device, status, outcome);
    } else {
        watched_submit(&life->device, subject->campaign.id, &data, life->work_ms);
    }
}

static void submit(struct life *life)
{
    const double started = progress_seconds();
    submit_data(life);
    life->longest_ms = fmax(life->longest_ms, (progress_seconds() - started) * 1000);
}

/* ---- a round ---- */

static void send_later(struct life *life, struct watched_answer answer)
{
    struct watched *device = &life->device;
    if (answer.http_status > 0) {
        device->answer = answer;
        device->witness.now_ms += LONG_MS;
        watched_send(device);
    }
}

static dpot_status restart(struct life *life, struct dpot_error *error)
{
    watched_close(&life->device);
    const dpot_status status = watched_open(&life->device, error);
    if (status == DPOT_OK) {
        submit_data(life); /* it is there already */
    }
    return status;
}

static int64_t start_of(const struct dpot_campaign *campaign, const struct scene *scene,
                        uint32_t round)
{
    const int64_t closes_ms = dpot_campaign_round_closes(campaign, round);
    return scene->is_last   ? closes_ms - 1
           : scene->is_late ? closes_ms - END_MS
                            : dpot_campaign_round_opens(campaign, round);
}

/* What the work of a submit takes is the public's again once the clock is set for the sending. */
static dpot_status play(struct life *life, const struct scene *scene, uint32_t round,
                        struct dpot_error *error)
{
    struct watched *device = &life->device;
    const struct dpot_campaign *campaign = &life->plan->subject->campaign;
    const int64_t start_ms = start_of(campaign, scene, round);
    dpot_status status = DPOT_OK;
    device->answer = scene->first;
    device->witness.now_ms = start_ms;
    submit(life);
    if (scene->is_last) {
        submit(life);
    }
    watched_pump(device); /* nothing is due */
    device->witness.now_ms = start_ms + 2 * WATCHED_WORK_MS;
    if (scene->restarts) {
        status = restart(life, error);
    }
    watched_send(device);
    send_later(life, scene->then);
    watched_note_status(device, campaign->id);
    return status;
}

/* At the end a report is withdrawn. */
static dpot_status live(struct life *life, struct dpot_error *error)
{
    struct watched *device = &life->device;
    const struct dpot_campaign *campaign = &life->plan->subject->campaign;
    dpot_status status = watched_open(device, error);
    for (size_t i = 0; i < N_SCENES && status == DPOT_OK; i++) {
        status = play(life, &scenes[i], (uint32_t)(ROUNDS_APART * i), error);
    }
    if (status == DPOT_OK) {
        const int64_t start_ms = dpot_campaign_round_opens(campaign, ROUNDS_APART * N_SCENES);
        device->witness.now_ms = start_ms;
        submit(life);
        device->witness.now_ms = start_ms + WATCHED_WORK_MS;
        const dpot_status withdrawn = dpot_client_withdraw(device->client);
        witness_note(&device->witness, "withdrawal: %d", withdrawn);
        device->witness.now_ms += LONG_MS;
        watched_send(device);
        watched_note_status(device, campaign->id);
        watched_note_statement(device);
    }
    watched_close(device);
    return status;
}

/* ---- both ---- */

static dpot_status begin(struct lives *lives, int i, struct dpot_error *error)
{
    struct dpot_client_config config;
    struct life *life = &lives->of[i];
    fill_config(lives, &config);
    const dpot_status status =
        watched_init(&life->device, &config, &lives->connection.transport,
                     &lives->server.seal_secret, life->plan->subject->campaign.opens_ms);
    watched_seed(&life->device, 0, 0, life->plan->subject->has_seed);
    life->network = (struct dpot_transport){sizeof life->network, life, send_through};
    life->device.config.transport = &life->network;
    life->work_ms = i * WORK_MS;
    life->input = life->plan->subject->input[i];
    return status == DPOT_OK ? DPOT_OK
                             : dpot_error_set(error, status, "there is no memory for a device");
}

/* The second folder is a copy of the first. */
static dpot_status enroll(struct lives *lives, struct dpot_error *error)
{
    struct watched *first = &lives->of[0].device, *second = &lives->of[1].device;
    dpot_status status = watched_open(first, error);
    if (status == DPOT_OK) {
        status = dpot_client_enroll(first->client, lives->plan->subject->campaign.id);
        status = status == DPOT_OK ? DPOT_OK
                                   : dpot_error_set(error, status, "%s, enrolling: %s",
                                                    lives->plan->subject->name,
                                                    dpot_client_last_error(first->client));
    }
    watched_close(first);
    return status == DPOT_OK ? witness_copy_folder(&first->witness, second->folder) : status;
}

static dpot_status live_both(struct lives *lives, struct silence_finding *finding,
                             struct dpot_error *error)
{
    dpot_status status = begin(lives, 0, error);
    if (status == DPOT_OK) {
        status = begin(lives, 1, error);
    }
    if (status == DPOT_OK) {
        status = enroll(lives, error);
    }
    for (int i = 0; i < 2 && status == DPOT_OK; i++) {
        struct life *life = &lives->of[i];
        witness_forget(&life->device.witness);
        watched_seed(&life->device, lives->plan->seed, SILENCE_STREAM,
                     lives->plan->subject->has_seed);
        life->is_open = true;
        status = live(life, error);
        finding->longest_ms[i] = life->longest_ms;
    }
    return status;
}

dpot_status silence_run(const struct path_plan *plan, struct silence_finding *finding,
                        struct dpot_error *error)
{
    struct lives lives = {.plan = plan, .of = {{.plan = plan}, {.plan = plan}}};
    *finding = (struct silence_finding){.is_silent = false};
    dpot_status status = in_process_open(&plan->subject->campaign, &lives.server, error);
    if (status == DPOT_OK) {
        in_process_connect(&lives.server, NULL, &lives.connection); /* nothing is ingested */
        status = live_both(&lives, finding, error);
    }
    if (status == DPOT_OK) {
        finding->is_silent = !witness_differs(&lives.of[0].device.witness,
                                              &lives.of[1].device.witness, finding->difference);
        finding->n_lines = witness_count(&lives.of[0].device.witness);
    }
    watched_release(&lives.of[0].device);
    watched_release(&lives.of[1].device);
    in_process_close(&lives.server);
    return status;
}

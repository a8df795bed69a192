#include "tool/audit/silence.h"

#include "tool/audit/scripted_device.h"
#include "tool/shared/progress.h"

#include <math.h>
#include <string.h>

#define LONG_MS 60000                         /* longer than any wait after one failure */
#define END_MS 120000                         /* before the end of a round */
#define WORK_MS (SCRIPTED_DEVICE_WORK_MS - 1) /* by which the work of input 1 is longer */

/* The script of a round. */
struct scene {
    struct scripted_device_answer first,
        then;      /* answers; `then` after a minute, unless its status is 0 */
    bool restarts; /* the process restarts before anything is sent */
    bool is_late;  /* in the last minutes of the round */
    bool is_last;  /* in its last millisecond, before the next round's submit */
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

/* One of the two runs. */
struct side {
    const struct client_path_plan *plan;
    struct scripted_device device;
    struct dpot_transport network; /* in front of the recorder */
    const double *input;
    int64_t work_ms;
    bool is_open; /* the rounds have begun */
    double longest_ms;
};

struct sides {
    const struct client_path_plan *plan;
    struct in_process server;
    struct in_process_connection connection;
    struct side of[2];
};

/* ---- one run ---- */

static dpot_status send_through(void *ctx, const struct dpot_http_request *request,
                                struct dpot_http_response *response)
{
    struct side *side = ctx;
    const struct client_path_seams *seams = side->plan->seams;
    const struct dpot_transport *next = &side->device.recorder.transport;
    struct dpot_http_request copy = *request;
    if (seams && seams->send && side->is_open) {
        seams->send(seams->ctx, side->input, &copy);
    }
    return next->perform(next->ctx, &copy, response);
}

static void submit_data(struct side *side)
{
    const struct subject *subject = side->plan->subject;
    const struct client_path_seams *seams = side->plan->seams;
    const struct scripted_device_data data = {
        .points = side->input,
        .n = 1,
        .dim = subject->dim,
        .is_vector = dpot_mechanism_is_vector(subject->campaign.mechanism)};
    enum dpot_submit_outcome outcome = 0;
    if (seams && seams->submit) {
        const dpot_status status =
            seams->submit(seams->ctx, side->device.client, subject, side->input, &outcome);
        scripted_device_note_submit(&side->device, status, outcome);
    } else {
        scripted_device_submit(&side->device, subject->campaign.id, &data, side->work_ms);
    }
}

static void submit(struct side *side)
{
    const double started = progress_seconds();
    submit_data(side);
    side->longest_ms = fmax(side->longest_ms, (progress_seconds() - started) * 1000);
}

/* ---- a round ---- */

static void send_later(struct side *side, struct scripted_device_answer answer)
{
    struct scripted_device *device = &side->device;
    if (answer.http_status > 0) {
        device->answer = answer;
        device->recorder.now_ms += LONG_MS;
        scripted_device_send(device);
    }
}

static dpot_status restart(struct side *side, struct dpot_error *error)
{
    scripted_device_close(&side->device);
    const dpot_status status = scripted_device_open(&side->device, error);
    if (status == DPOT_OK) {
        submit_data(side); /* the round's report is in the spool already */
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

/* The clock is set to a public time after each submit, so that no later time depends on its
 * work. */
static dpot_status play(struct side *side, const struct scene *scene, uint32_t round,
                        struct dpot_error *error)
{
    struct scripted_device *device = &side->device;
    const struct dpot_campaign *campaign = &side->plan->subject->campaign;
    const int64_t start_ms = start_of(campaign, scene, round);
    dpot_status status = DPOT_OK;
    device->answer = scene->first;
    device->recorder.now_ms = start_ms;
    submit(side);
    if (scene->is_last) {
        submit(side);
    }
    scripted_device_pump(device); /* nothing is due */
    device->recorder.now_ms = start_ms + 2 * SCRIPTED_DEVICE_WORK_MS;
    if (scene->restarts) {
        status = restart(side, error);
    }
    scripted_device_send(device);
    send_later(side, scene->then);
    scripted_device_note_status(device, campaign->id);
    return status;
}

/* Plays all scenes, then withdraws a report. */
static dpot_status play_all(struct side *side, struct dpot_error *error)
{
    struct scripted_device *device = &side->device;
    const struct dpot_campaign *campaign = &side->plan->subject->campaign;
    dpot_status status = scripted_device_open(device, error);
    for (size_t i = 0; i < N_SCENES && status == DPOT_OK; i++) {
        status = play(side, &scenes[i], (uint32_t)(ROUNDS_APART * i), error);
    }
    if (status == DPOT_OK) {
        const int64_t start_ms = dpot_campaign_round_opens(campaign, ROUNDS_APART * N_SCENES);
        device->recorder.now_ms = start_ms;
        submit(side);
        device->recorder.now_ms = start_ms + SCRIPTED_DEVICE_WORK_MS;
        const dpot_status withdrawn = dpot_client_withdraw(device->client);
        recorder_note(&device->recorder, "withdrawal: %d", withdrawn);
        device->recorder.now_ms += LONG_MS;
        scripted_device_send(device);
        scripted_device_note_status(device, campaign->id);
        scripted_device_note_statement(device);
    }
    scripted_device_close(device);
    return status;
}

/* ---- both runs ---- */

static dpot_status begin(struct sides *sides, int i, struct dpot_error *error)
{
    struct dpot_client_config config;
    struct side *side = &sides->of[i];
    client_path_config(sides->plan, &sides->server, &config);
    const dpot_status status =
        scripted_device_init(&side->device, &config, &sides->connection.transport,
                             &sides->server.seal_secret, side->plan->subject->campaign.opens_ms);
    scripted_device_seed(&side->device, 0, 0, side->plan->subject->has_seed);
    side->network = (struct dpot_transport){sizeof side->network, side, send_through};
    side->device.config.transport = &side->network;
    side->work_ms = i * WORK_MS;
    side->input = side->plan->subject->input[i];
    return status == DPOT_OK ? DPOT_OK
                             : dpot_error_set(error, status, "there is no memory for a device");
}

/* Enrols the first device and copies its folder to the second. */
static dpot_status enroll(struct sides *sides, struct dpot_error *error)
{
    struct scripted_device *first = &sides->of[0].device, *second = &sides->of[1].device;
    dpot_status status = scripted_device_open(first, error);
    if (status == DPOT_OK) {
        status = dpot_client_enroll(first->client, sides->plan->subject->campaign.id);
        status = status == DPOT_OK ? DPOT_OK
                                   : dpot_error_set(error, status, "%s, enrolling: %s",
                                                    sides->plan->subject->name,
                                                    dpot_client_last_error(first->client));
    }
    scripted_device_close(first);
    return status == DPOT_OK ? recorder_copy_folder(&first->recorder, second->folder) : status;
}

static dpot_status play_both(struct sides *sides, struct silence_finding *finding,
                             struct dpot_error *error)
{
    dpot_status status = begin(sides, 0, error);
    if (status == DPOT_OK) {
        status = begin(sides, 1, error);
    }
    if (status == DPOT_OK) {
        status = enroll(sides, error);
    }
    for (int i = 0; i < 2 && status == DPOT_OK; i++) {
        struct side *side = &sides->of[i];
        recorder_forget(&side->device.recorder);
        scripted_device_seed(&side->device, sides->plan->seed, SILENCE_STREAM,
                             sides->plan->subject->has_seed);
        side->is_open = true;
        status = play_all(side, error);
        finding->longest_ms[i] = side->longest_ms;
    }
    return status;
}

dpot_status silence_run(const struct client_path_plan *plan, struct silence_finding *finding,
                        struct dpot_error *error)
{
    struct sides sides = {.plan = plan, .of = {{.plan = plan}, {.plan = plan}}};
    *finding = (struct silence_finding){.is_silent = false};
    dpot_status status = in_process_open(&plan->subject->campaign, &sides.server, error);
    if (status == DPOT_OK) {
        in_process_connect(&sides.server, NULL, &sides.connection); /* nothing is ingested */
        status = play_both(&sides, finding, error);
    }
    if (status == DPOT_OK) {
        finding->is_silent = !recorder_differs(&sides.of[0].device.recorder,
                                               &sides.of[1].device.recorder, finding->difference);
        finding->n_lines = recorder_count(&sides.of[0].device.recorder);
    }
    scripted_device_release(&sides.of[0].device);
    scripted_device_release(&sides.of[1].device);
    in_process_close(&sides.server);
    return status;
}

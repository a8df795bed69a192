/* The whole loop: devices report to revision 1, a job finds a better base measure, an admin signs
 * it into revision 2, and the devices fetch, verify and use that, charged again.
 *
 * The shipping client on memory files and libcurl, against a whole aggregator in this process. */
#include "base/clock.h"
#include "dpot/dpot.h"
#include "dpotd/init.h"
#include "dpotd/service.h"
#include "simulation.h"
#include "system/ahead.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/http_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define N_DEVICES 6
#define EPSILON 2
#define MINUTE_MS 60000

static char folder[FIXTURE_PATH_SIZE];
static struct init_result installation;
static struct service *service;
static FILE *log_stream;
static char hex_id[2 * DPOT_CAMPAIGN_ID_LEN + 1];
static uint8_t id[DPOT_CAMPAIGN_ID_LEN];

static const char spec[] =
    "{\"name\":\"loop\",\"domain\":{\"type\":\"grid\",\"lo\":[0,0],\"hi\":[1,1],\"shape\":[4,4]},"
    "\"metric\":\"euclidean\",\"min_pool\":4,"
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":2,\"lambda\":0.1,\"iterations\":50},"
    "\"opens\":\"2020-01-01T00:00:00Z\",\"closes\":\"2100-01-01T00:00:00Z\"}";

struct device {
    struct dpot_filesystem *files;
    struct dpot_transport *network;
    dpot_client *client;
};
static struct device devices[N_DEVICES];

static void open_device(struct device *device)
{
    struct dpot_client_config config;
    char sentence[400] = "";
    cr_assert_eq(dpot_filesystem_memory_new(NULL, &device->files), DPOT_OK);
    cr_assert_eq(dpot_transport_curl_new(NULL, &device->network), DPOT_OK);
    dpot_client_config_init(&config, sizeof config);
    config.server_url = service_url(service);
    memcpy(config.pin, installation.pin, sizeof config.pin);
    config.campaign_epsilon_cap = 2 * EPSILON; /* two revisions only */
    config.window_epsilon_cap = 20;
    config.window_seconds = 3600;
    config.lifetime_epsilon_cap = 20;
    config.filesystem = device->files;
    config.transport = device->network;
    config.clock = &ahead;
    cr_assert_eq(dpot_client_open(&config, &device->client, sentence, sizeof sentence), DPOT_OK,
                 "%s", sentence);
}

static void close_device(struct device *device)
{
    dpot_client_close(device->client);
    dpot_transport_curl_free(device->network);
    dpot_filesystem_memory_free(device->files);
}

/* ---- the admin ---- */

static json_t *call(const char *method, const char *path, const char *body, int status)
{
    struct http_reply reply;
    json_t *value = NULL;
    struct dpot_error error = {{0}};
    http_exchange(service_url(service), method, path, installation.token, body, strlen(body),
                  &reply);
    cr_assert_eq(reply.status, status, "%s %s: %d %.*s", method, path, reply.status,
                 (int)reply.body.len, (const char *)reply.body.data);
    cr_assert_eq(json_parse(reply.body.data, reply.body.len, &value, &error), DPOT_OK, "%s",
                 error.text);
    http_reply_release(&reply);
    return value;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static json_t *call_campaign(const char *method, const char *tail, const char *body, int status)
{
    char path[160];
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s%s", hex_id, tail);
    return call(method, path, body, status);
}

static void expect_pool(int64_t revision, int64_t accepted)
{
    json_t *campaign = call_campaign("GET", "", "", 200);
    cr_assert_eq(json_integer_value(json_object_get(campaign, "revision")), revision);
    const json_t *pool = json_object_get(campaign, "pool");
    cr_assert_eq(json_integer_value(json_object_get(pool, "accepted")), accepted);
    json_decref(campaign);
}

/* Runs a job to its end; its artifact's digest. */
static void run_job(const char *kind, const char *parameters, char digest[65])
{
    char body[200], path[128];
    const struct timespec pause = {.tv_nsec = 2000000};
    int n_left = 150000; /* five minutes */
    (void)snprintf(body, sizeof body, "{\"kind\":\"%s\",\"campaign\":\"%s\",\"parameters\":%s}",
                   kind, hex_id, parameters);
    json_t *job = call("POST", "/v1/admin/jobs", body, 202);
    (void)snprintf(path, sizeof path, "/v1/admin/jobs/%s", text_of(job, "id"));
    while (strcmp(text_of(job, "state"), "queued") == 0 ||
           strcmp(text_of(job, "state"), "running") == 0) {
        json_decref(job);
        cr_assert_gt(n_left--, 0, "the job never ended");
        (void)nanosleep(&pause, NULL);
        job = call("GET", path, "", 200);
    }
    cr_assert_str_eq(text_of(job, "state"), "done", "%s", text_of(job, "error"));
    (void)snprintf(digest, 65, "%s", text_of(job, "artifact"));
    json_decref(job);
}

static void revise_and_open(const char *change, int64_t revision)
{
    json_t *record = call_campaign("POST", "/revise", change, 201);
    cr_assert_eq(json_integer_value(json_object_get(record, "revision")), revision);
    json_decref(record);
    json_decref(call_campaign("POST", "/open", "", 200));
}

static void set_up(void)
{
    struct config config;
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_init(), DPOT_OK);
    fixture_folder(folder);
    log_stream = tmpfile();
    const struct service_hooks hooks = {.log_stream = log_stream};
    cr_assert_eq(init_run(folder, "127.0.0.1:0", dpot_clock_system(), &installation, &error),
                 DPOT_OK, "%s", error.text);
    cr_assert_eq(config_read(installation.config_path, &config, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(service_open(&config, NULL, &hooks, &service, &error), DPOT_OK, "%s", error.text);
    json_t *record = call("POST", "/v1/admin/campaigns", spec, 201);
    (void)snprintf(hex_id, sizeof hex_id, "%s", text_of(record, "id"));
    cr_assert_eq(dpot_hex_decode(hex_id, id, sizeof id), DPOT_OK);
    json_decref(record);
    json_decref(call_campaign("POST", "/open", "", 200));
    for (size_t i = 0; i < N_DEVICES; i++) {
        open_device(&devices[i]);
    }
}

static void tear_down(void)
{
    for (size_t i = 0; i < N_DEVICES; i++) {
        close_device(&devices[i]);
    }
    service_close(service);
    (void)fclose(log_stream);
    fixture_remove(folder);
}

TestSuite(second_revision, .init = set_up, .fini = tear_down);

/* ---- the devices ---- */

static void enroll(struct device *device)
{
    cr_assert_eq(dpot_client_enroll(device->client, id), DPOT_OK, "%s",
                 dpot_client_last_error(device->client));
}

static dpot_status submit(struct device *device, enum dpot_submit_outcome *outcome)
{
    const double home[2] = {0.3, 0.7};
    return dpot_client_submit_points(device->client, id, home, NULL, 1, 2, outcome);
}

static void report(struct device *device)
{
    enum dpot_submit_outcome outcome;
    cr_assert_eq(submit(device, &outcome), DPOT_OK, "%s", dpot_client_last_error(device->client));
    cr_assert_eq(outcome, DPOT_SUBMIT_REPORTED);
}

static void pump(struct device *device)
{
    ahead_ms += 10 * MINUTE_MS;
    cr_assert_eq(dpot_client_pump(device->client, 10000, NULL), DPOT_OK, "%s",
                 dpot_client_last_error(device->client));
}

static struct dpot_client_status status_of(struct device *device)
{
    struct dpot_client_status status = {.struct_size = sizeof status};
    cr_assert_eq(dpot_client_get_status(device->client, &status), DPOT_OK);
    return status;
}

Test(second_revision, devices_fetch_and_use_the_new_revision_and_are_charged_again)
{
    char digest[65], change[128];
    for (size_t i = 0; i < N_DEVICES; i++) {
        enroll(&devices[i]);
        report(&devices[i]);
        if (i > 0) { /* the first device stays offline with its report */
            pump(&devices[i]);
        }
    }
    expect_pool(1, N_DEVICES - 1);
    run_job("estimate", "{}", digest);

    run_job("base-measure", "{\"max_iterations\":2000}", digest);
    (void)snprintf(change, sizeof change, "{\"artifact\":\"%s\"}", digest);
    revise_and_open(change, 2);
    expect_pool(2, 0);

    /* The pending report is of the closed revision: refused, and dropped as closed. */
    pump(&devices[0]);
    struct dpot_client_status status = status_of(&devices[0]);
    cr_assert_eq(status.n_dropped_closed, 1);
    cr_assert_eq(status.n_pending, 0);

    for (size_t i = 0; i < N_DEVICES; i++) {
        enroll(&devices[i]);
        report(&devices[i]);
        pump(&devices[i]);
        status = status_of(&devices[i]);
        cr_assert_eq(status.n_submitted, 2);
        cr_assert_eq(status.n_accepted, i > 0 ? 2 : 1);
        cr_assert_float_eq(status.spent_epsilon, 2 * EPSILON, 1e-9);
    }
    expect_pool(2, N_DEVICES);
    run_job("estimate", "{}", digest);
}

Test(second_revision, the_cap_of_a_campaign_counts_all_its_revisions)
{
    char digest[65], change[128];
    enum dpot_submit_outcome outcome;
    struct device *device = &devices[0];
    run_job("base-measure", "{\"method\":\"uniform\"}", digest);
    (void)snprintf(change, sizeof change, "{\"artifact\":\"%s\"}", digest);
    enroll(device);
    report(device);
    for (int64_t revision = 2; revision <= 3; revision++) {
        revise_and_open(change, revision);
        enroll(device);
        if (revision == 2) {
            report(device);
        }
    }
    cr_assert_eq(submit(device, &outcome), DPOT_ERR_BUDGET, "%s",
                 dpot_client_last_error(device->client));
    cr_assert_float_eq(status_of(device).spent_epsilon, 2 * EPSILON, 1e-9);
}

Test(second_revision, a_device_that_did_not_enroll_again_is_refused_by_the_closed_revision)
{
    char digest[65], change[128];
    struct device *device = &devices[0];
    run_job("base-measure", "{\"method\":\"uniform\"}", digest);
    (void)snprintf(change, sizeof change, "{\"artifact\":\"%s\"}", digest);
    enroll(device);
    revise_and_open(change, 2);
    report(device); /* to revision 1, which it still believes open */
    pump(device);
    cr_assert_eq(status_of(device).n_dropped_closed, 1);
    expect_pool(2, 0);
    enroll(device);
    report(device);
    pump(device);
    cr_assert_eq(status_of(device).n_accepted, 1);
    expect_pool(2, 1);
}

/* One report, one charge, one count: the shipping client on POSIX files and libcurl against an
 * aggregator in a process of its own that is killed after the commit and before the answer. */
#include "base/clock.h"
#include "base/crypto.h"
#include "dpot/dpot.h"
#include "http/server.h"
#include "support/child.h"
#include "system/ahead.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DAY_MS 86400000

struct aggregator {
    pid_t process;
    char url[64];
};

static char folder[64];
static uint8_t signing_public[DPOT_SIGN_PUBLIC_LEN], signing_secret[DPOT_SIGN_SECRET_LEN];
static struct seal_secret seal;
static uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN];

static void make_path(char out[128], const char *name)
{
    (void)snprintf(out, 128, "%s/%s", folder, name);
}

static void make_keys(void)
{
    const int64_t now = dpot_clock_system()->now(NULL) / 1000 * 1000;
    cr_assert_eq(dpot_init(), DPOT_OK);
    dpot_sign_keypair(signing_public, signing_secret);
    dpot_seal_keypair(seal.key.public_key, seal.secret_key);
    dpot_seal_key_id(seal.key.public_key, seal.key.id);
    seal.key.not_before_ms = now - DAY_MS;
    seal.key.not_after_ms = now + DAY_MS;
}

static void set_up(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/dpot-end-to-end-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    make_keys();
}

static void tear_down(void)
{
    static const char *const names[] = {"dpot.db", "dpot.db-wal", "dpot.db-shm"};
    char path[128], device[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        make_path(path, names[i]);
        (void)unlink(path);
    }
    static const char *const files[] = {"ledger", "spool", "lock", "keys", "install"};
    make_path(device, "device");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)snprintf(path, sizeof path, "%.80s/%s", device, files[i]);
        (void)unlink(path);
    }
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    dpot_hex_encode(hex, campaign_id, sizeof campaign_id);
    (void)snprintf(path, sizeof path, "%.70s/campaign-%s", device, hex);
    (void)unlink(path);
    (void)rmdir(device);
    (void)rmdir(folder);
}

/* ---- the aggregator, in a child process ---- */

struct parts {
    struct store *store;
    struct registry *registry;
    struct ingest ingest;
    struct dpot_error error;
};

static void open_parts(struct parts *parts)
{
    char url[160], path[128];
    make_path(path, "dpot.db");
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    cr_assert_eq(store_open(url, &parts->store, &parts->error), DPOT_OK, "%s", parts->error.text);
    cr_assert_eq(registry_new(parts->store, signing_secret, dpot_clock_system(), &parts->registry,
                              &parts->error),
                 DPOT_OK);
    parts->ingest = (struct ingest){.store = parts->store,
                                    .registry = parts->registry,
                                    .clock = dpot_clock_system(),
                                    .seal_secrets = &seal,
                                    .n_seal_secrets = 1};
}

static void close_parts(struct parts *parts)
{
    registry_free(parts->registry);
    store_close(parts->store);
}

static void open_campaign(void)
{
    char opens[DPOT_RFC3339_SIZE], closes[DPOT_RFC3339_SIZE], text[700];
    const int64_t now = dpot_clock_system()->now(NULL);
    dpot_time_format(now - DAY_MS, opens);
    dpot_time_format(now + DAY_MS, closes);
    const int len =
        snprintf(text, sizeof text,
                 "{\"name\":\"crash\",\"domain\":{\"type\":\"grid\",\"lo\":[0,0],\"hi\":[1,1],"
                 "\"shape\":[4,4]},\"metric\":\"euclidean\",\"mechanism\":{\"type\":\"wpm\","
                 "\"epsilon\":2,\"lambda\":0.1,\"iterations\":50,\"base_measure\":\"uniform\"},"
                 "\"opens\":\"%s\",\"closes\":\"%s\"}",
                 opens, closes);
    struct parts parts = {0};
    struct revision_record record;
    json_t *spec = NULL;
    open_parts(&parts);
    cr_assert_eq(json_parse(text, (size_t)len, &spec, &parts.error), DPOT_OK);
    cr_assert_eq(registry_create(parts.registry, spec, &record, &parts.error), DPOT_OK, "%s",
                 parts.error.text);
    cr_assert_eq(
        registry_open_campaign(parts.registry, record.campaign_id, &record, NULL, &parts.error),
        DPOT_OK);
    memcpy(campaign_id, record.campaign_id, sizeof campaign_id);
    json_decref(spec);
    close_parts(&parts);
}

static void die_before_the_answer(void *ctx, size_t n_reports)
{
    (void)ctx;
    (void)n_reports;
    (void)kill(getpid(), SIGKILL);
}

/* Serves until killed; writes its URL to the pipe. */
static void serve(int pipe_end, bool dies)
{
    static struct parts parts;
    static struct http_app app;
    const struct log quiet = {0};
    struct server *server = NULL;
    const struct dpot_keys keys = {1, {seal.key}};
    open_parts(&parts);
    const struct writer_config writer_config = {.store = parts.store,
                                                .max_reports = 5000,
                                                .on_committed =
                                                    dies ? die_before_the_answer : NULL};
    cr_assert_eq(writer_open(&writer_config, &parts.ingest.writer, &parts.error), DPOT_OK);
    app = (struct http_app){.store = parts.store,
                            .registry = parts.registry,
                            .ingest = &parts.ingest,
                            .body_max = DPOT_BATCH_BYTES_MAX};
    dpot_buf_init(&app.signed_keys, DPOT_KEYS_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_keys_sign(&keys, signing_secret, &app.signed_keys, NULL), DPOT_OK);
    const struct server_config config = {.listen = "127.0.0.1:0",
                                         .threads = 1,
                                         .max_connections = 16,
                                         .request_timeout_s = 10,
                                         .max_body_memory = 64u << 20,
                                         .app = &app,
                                         .log = &quiet};
    cr_assert_eq(server_open(&config, &server, &parts.error), DPOT_OK, "%s", parts.error.text);
    const char *url = server_url(server);
    cr_assert_eq(write(pipe_end, url, strlen(url)), (ssize_t)strlen(url));
    (void)close(pipe_end);
    for (;;) {
        (void)pause();
    }
}

static struct aggregator start(bool dies)
{
    struct aggregator aggregator = {0};
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    aggregator.process = child_fork();
    if (aggregator.process == 0) {
        (void)close(ends[0]);
        serve(ends[1], dies);
    }
    (void)close(ends[1]);
    const ssize_t n = read(ends[0], aggregator.url, sizeof aggregator.url - 1);
    cr_assert_gt(n, 0, "the aggregator did not start");
    (void)close(ends[0]);
    return aggregator;
}

static int stop(struct aggregator aggregator, int signal_number)
{
    int status = 0;
    if (signal_number) {
        (void)kill(aggregator.process, signal_number);
    }
    cr_assert_eq(waitpid(aggregator.process, &status, 0), aggregator.process);
    return status;
}

/* ---- the device ---- */

struct device {
    struct dpot_filesystem *files;
    struct dpot_transport *network;
    dpot_client *client;
};

static void open_device(struct device *device, const char *url)
{
    struct dpot_client_config config;
    char path[128], sentence[400] = "";
    make_path(path, "device");
    cr_assert_eq(dpot_filesystem_posix_new(path, &device->files), DPOT_OK);
    cr_assert_eq(dpot_transport_curl_new(NULL, &device->network), DPOT_OK);
    dpot_client_config_init(&config, sizeof config);
    config.server_url = url;
    memcpy(config.pin, signing_public, sizeof config.pin);
    config.campaign_epsilon_cap = 2;
    config.window_epsilon_cap = 2;
    config.window_seconds = 3600;
    config.lifetime_epsilon_cap = 2;
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
    dpot_filesystem_posix_free(device->files);
}

static uint64_t count_pool(uint64_t *duplicates)
{
    struct parts parts = {0};
    struct revision_record record;
    struct pool_count count;
    open_parts(&parts);
    cr_assert_eq(store_find_campaign(parts.store, campaign_id, &record, NULL, &parts.error),
                 DPOT_OK);
    cr_assert_eq(store_count_pool(parts.store, record.hash, &count, &parts.error), DPOT_OK);
    *duplicates = count.n_duplicate;
    close_parts(&parts);
    return count.n_accepted;
}

Test(end_to_end, one_report_one_charge_one_count_when_the_server_dies_before_its_answer,
     .init = set_up, .fini = tear_down)
{
    const double home[2] = {0.3, 0.7};
    enum dpot_submit_outcome outcome;
    struct dpot_client_status status = {.struct_size = sizeof status};
    struct device device = {0};
    uint64_t duplicates = 0;
    open_campaign();

    struct aggregator aggregator = start(true);
    open_device(&device, aggregator.url);
    cr_assert_eq(dpot_client_enroll(device.client, campaign_id), DPOT_OK, "%s",
                 dpot_client_last_error(device.client));
    cr_assert_eq(dpot_client_submit_points(device.client, campaign_id, home, NULL, 1, 2, &outcome),
                 DPOT_OK, "%s", dpot_client_last_error(device.client));
    cr_assert_eq(outcome, DPOT_SUBMIT_REPORTED);
    ahead_ms += 60000;
    cr_assert_eq(dpot_client_pump(device.client, 10000, NULL), DPOT_ERR_NETWORK);
    cr_assert(WIFSIGNALED(stop(aggregator, 0)), "the aggregator outlived its commit");
    close_device(&device);
    cr_assert_eq(count_pool(&duplicates), 1);

    aggregator = start(false);
    open_device(&device, aggregator.url);
    cr_assert_eq(dpot_client_submit_points(device.client, campaign_id, home, NULL, 1, 2, &outcome),
                 DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_PENDING);
    ahead_ms += 2 * 3600 * 1000;
    cr_assert_eq(dpot_client_pump(device.client, 10000, NULL), DPOT_OK, "%s",
                 dpot_client_last_error(device.client));
    cr_assert_eq(dpot_client_get_status(device.client, &status), DPOT_OK);
    cr_assert_eq(status.n_submitted, 1);
    cr_assert_eq(status.n_duplicate, 1);
    cr_assert_eq(status.n_accepted, 0);
    cr_assert_eq(status.n_pending, 0);
    cr_assert_float_eq(status.spent_epsilon, 2, 1e-9);
    close_device(&device);
    (void)stop(aggregator, SIGKILL);
    cr_assert_eq(count_pool(&duplicates), 1);
    cr_assert_eq(duplicates, 1);
}

Test(end_to_end, a_killed_server_loses_nothing_it_acknowledged, .init = set_up, .fini = tear_down)
{
    const double home[2] = {0.3, 0.7};
    struct dpot_client_status status = {.struct_size = sizeof status};
    struct device device = {0};
    uint64_t duplicates = 0;
    open_campaign();
    const struct aggregator aggregator = start(false);
    open_device(&device, aggregator.url);
    cr_assert_eq(dpot_client_enroll(device.client, campaign_id), DPOT_OK);
    cr_assert_eq(dpot_client_submit_points(device.client, campaign_id, home, NULL, 1, 2, NULL),
                 DPOT_OK);
    ahead_ms += 60000;
    cr_assert_eq(dpot_client_pump(device.client, 10000, NULL), DPOT_OK);
    (void)stop(aggregator, SIGKILL);
    cr_assert_eq(dpot_client_get_status(device.client, &status), DPOT_OK);
    cr_assert_eq(status.n_accepted, 1);
    close_device(&device);
    cr_assert_eq(count_pool(&duplicates), 1);
    cr_assert_eq(duplicates, 0);
}

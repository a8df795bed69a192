#include "unit/aggregator/http/rig.h"

#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

struct rig rig;
struct tokens tokens;
struct http_app app;
struct server_config config;
struct server *server;
FILE *log_stream;
struct log logger;
char hex_id[2 * DPOT_CAMPAIGN_ID_LEN + 1];
char reports_path[128];

static void set_up_tokens(void)
{
    char line[200];
    tokens_format("admin", TOKEN, line, sizeof line);
    line[strlen(line) - 1] = '\0';
    tokens.n = 1;
    cr_assert_eq(dpot_hex_decode(strchr(line, ' ') + 1, tokens.entries[0].hash, DPOT_HASH_LEN),
                 DPOT_OK);
}

void http_start(void)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(server_open(&config, &server, &error), DPOT_OK, "%s", error.text);
}

void http_use_short_timeout(void)
{
    server_close(server, 60000);
    config.request_timeout_s = TIMEOUT_S;
    http_start();
}

void http_use_writer(void (*on_committed)(void *ctx, size_t n), void *ctx)
{
    const struct writer_config writer_config = {
        .store = rig.store, .max_reports = 5000, .on_committed = on_committed, .ctx = ctx};
    writer_close(rig.ingest.writer);
    cr_assert_eq(writer_open(&writer_config, &rig.ingest.writer, NULL), DPOT_OK);
}

atomic_bool has_committed, may_answer;

void wait_for(const atomic_bool *flag)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    for (int i = 0; i < 12000 && !atomic_load(flag); i++) {
        (void)nanosleep(&pause, NULL);
    }
}

void hold_until_released(void *ctx, size_t n)
{
    (void)ctx;
    (void)n;
    atomic_store(&has_committed, true);
    wait_for(&may_answer);
}

void http_set_up(void)
{
    struct dpot_keys keys = {.n_seal_keys = 1};
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    cr_assert_eq(tally_new(rig.store, &rig.ingest.tally, NULL), DPOT_OK);
    set_up_tokens();
    keys.seal_keys[0] = rig.secret.key;
    http_use_writer(NULL, NULL);
    log_stream = tmpfile();
    logger = (struct log){.level = LOG_LEVEL_DEBUG, .clock = &rig.clock.clock};
    cr_assert_eq(log_sink_open(fileno(log_stream), logger.clock, &logger.sink), DPOT_OK);
    app = (struct http_app){.store = rig.store,
                            .registry = rig.registry,
                            .ingest = &rig.ingest,
                            .tokens = &tokens,
                            .body_max = DPOT_BATCH_BYTES_MAX};
    dpot_buf_init(&app.signed_keys, DPOT_KEYS_BYTES_MAX, NULL);
    cr_assert_eq(registry_sign_keys(rig.registry, &keys, &app.signed_keys, NULL), DPOT_OK);
    config = (struct server_config){.listen = "127.0.0.1:0",
                                    .threads = 4,
                                    .max_connections = 64,
                                    .request_timeout_s = 60,
                                    .max_body_memory = (size_t)64 << 20,
                                    .app = &app,
                                    .log = &logger};
    dpot_hex_encode(hex_id, rig.record.campaign_id, sizeof rig.record.campaign_id);
    (void)snprintf(reports_path, sizeof reports_path, "/v1/campaigns/%s/reports", hex_id);
    http_start();
}

void http_tear_down(void)
{
    server_close(server, 60000);
    writer_close(rig.ingest.writer);
    dpot_buf_release(&app.signed_keys);
    log_sink_close(logger.sink, LOG_PATIENCE_MS);
    tally_free(rig.ingest.tally);
    rig_release(&rig);
    (void)fclose(log_stream);
}

/* Returns the status of one request; `text` holds the start of the reply. */
char text[16384];
struct http_reply last;
int request(const char *method, const char *path, const char *token, const void *body, size_t len)
{
    http_exchange(server_url(server), method, path, token, body, len, &last);
    const size_t n = last.body.len < sizeof text - 1 ? last.body.len : sizeof text - 1;
    if (n > 0) {
        memcpy(text, last.body.data, n);
    }
    text[n] = '\0';
    http_reply_release(&last);
    return last.status;
}

int get(const char *path)
{
    return request("GET", path, NULL, "", 0);
}

void http_expect_health(void)
{
    int status = 0;
    for (int i = 0; i < 20 && status != 200; i++) {
        status = get("/healthz");
    }
    cr_assert_eq(status, 200);
}

const char *campaign_path(const char *prefix, const char *tail)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s%s", prefix, hex_id, tail);
    return path;
}

size_t post_head(char head[POST_HEAD_SIZE], size_t body_len)
{
    const int len =
        snprintf(head, POST_HEAD_SIZE, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                 reports_path, body_len);
    cr_assert(len > 0 && len < POST_HEAD_SIZE);
    return (size_t)len;
}

struct dpot_buf sealed(uint32_t first, size_t n)
{
    static struct dpot_report reports[DPOT_BATCH_REPORTS_MAX];
    struct dpot_buf body;
    for (size_t i = 0; i < n; i++) {
        reports[i] = fixture_report(first + (uint32_t)i);
    }
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, NULL);
    rig_seal(&rig, &rig.secret.key, 0, reports, n, &body);
    return body;
}

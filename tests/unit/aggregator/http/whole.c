#include "unit/aggregator/http/whole.h"

#include "base/clock.h"
#include "dpotd/init.h"
#include "dpotd/service.h"
#include "store/database.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define REPORTS_MAX 100

char whole_id[2 * DPOT_CAMPAIGN_ID_LEN + 1];
static char folder[FIXTURE_PATH_SIZE];
static struct init_result installation;
static struct service *service;
static FILE *log_stream;

static const char spec[] =
    "{\"name\":\"jobs\",\"domain\":{\"type\":\"ring\",\"size\":10},\"metric\":\"ring\","
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,\"lambda\":0.5},\"min_pool\":3,"
    "\"opens\":\"2020-01-01T00:00:00Z\",\"closes\":\"2100-01-01T00:00:00Z\"}";

static void read_config(struct config *config)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(config_read(installation.config_path, config, &error), DPOT_OK, "%s", error.text);
}

void whole_open(void)
{
    struct config config;
    struct dpot_error error = {{0}};
    const struct service_hooks hooks = {.log_stream = log_stream};
    read_config(&config);
    cr_assert_eq(service_open(&config, "127.0.0.1:0", &hooks, &service, &error), DPOT_OK, "%s",
                 error.text);
}

void whole_close(void)
{
    service_close(service);
    service = NULL;
}

const char *whole_url(void)
{
    return service_url(service);
}

const char *whole_token(void)
{
    return installation.token;
}

json_t *whole_call(const char *method, const char *path, const char *body, int status)
{
    struct http_reply reply;
    http_exchange(whole_url(), method, path, installation.token, body, strlen(body), &reply);
    json_t *value = NULL;
    cr_assert_eq(reply.status, status, "%s %s: %d %.*s", method, path, reply.status,
                 (int)reply.body.len, (const char *)reply.body.data);
    if (json_parse(reply.body.data, reply.body.len, &value, NULL) != DPOT_OK) {
        value = NULL;
    }
    http_reply_release(&reply);
    return value;
}

const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

void whole_set_up(void)
{
    struct dpot_error error = {{0}};
    char path[128];
    cr_assert_eq(dpot_init(), DPOT_OK);
    fixture_folder(folder);
    log_stream = tmpfile();
    cr_assert_eq(init_run(folder, "127.0.0.1:0", dpot_clock_system(), &installation, &error),
                 DPOT_OK, "%s", error.text);
    whole_open();
    json_t *record = whole_call("POST", "/v1/admin/campaigns", spec, 201);
    (void)snprintf(whole_id, sizeof whole_id, "%s", text_of(record, "id"));
    json_decref(record);
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/open", whole_id);
    json_decref(whole_call("POST", path, "", 200));
}

void whole_tear_down(void)
{
    whole_close();
    (void)fclose(log_stream);
    fixture_remove(folder);
}

json_t *whole_start(const char *kind, const char *parameters, int status)
{
    char body[400];
    (void)snprintf(body, sizeof body, "{\"kind\":\"%s\",\"campaign\":\"%s\",\"parameters\":%s}",
                   kind, whole_id, parameters);
    return whole_call("POST", "/v1/admin/jobs", body, status);
}

json_t *whole_wait(json_t *job)
{
    char path[128];
    const struct timespec pause = {.tv_nsec = 2000000};
    int n_left = 150000; /* five minutes */
    (void)snprintf(path, sizeof path, "/v1/admin/jobs/%s", text_of(job, "id"));
    while (strcmp(text_of(job, "state"), "queued") == 0 ||
           strcmp(text_of(job, "state"), "running") == 0) {
        json_decref(job);
        cr_assert_gt(n_left--, 0, "the job never ended");
        (void)nanosleep(&pause, NULL);
        job = whole_call("GET", path, "", 200);
    }
    return job;
}

static int copy_hash(void *ctx, const struct revision_record *record)
{
    memcpy(ctx, record->hash, sizeof record->hash);
    return 1;
}

void whole_add_reports(uint32_t first, size_t n)
{
    struct config config;
    struct store *store = NULL;
    struct dpot_report reports[REPORTS_MAX];
    enum dpot_report_status statuses[REPORTS_MAX];
    const uint8_t is_refused[REPORTS_MAX] = {0};
    struct store_append append = {
        .n_reports = n, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    for (uint32_t i = 0; i < n; i++) {
        reports[i] = fixture_report(first + i);
    }
    read_config(&config);
    cr_assert_eq(store_open_owned(config.store, NULL, &store, NULL), DPOT_OK);
    cr_assert_eq(store_list_revisions(store, copy_hash, append.hash, NULL), DPOT_OK);
    cr_assert_eq(store_append_reports(store, &append, NULL), DPOT_OK);
    store_close(store);
}

void whole_tamper(const char *sql)
{
    char file[FIXTURE_PATH_SIZE];
    struct database *database = NULL;
    fixture_path(file, folder, "dpot.db");
    cr_assert_eq(database_open(file, &database, NULL), DPOT_OK);
    cr_assert(query_run(query_start(database, STATEMENT_PROBE, sql)), "%s", sql);
    database_close(database);
}

const char *whole_log(void)
{
    static char lines[16384];
    rewind(log_stream);
    lines[fread(lines, 1, sizeof lines - 1, log_stream)] = '\0';
    return lines;
}

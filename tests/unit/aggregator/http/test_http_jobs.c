/* Jobs, artifacts and revisions over HTTP, on a whole service in this process. */
#include "base/clock.h"
#include "dpotd/init.h"
#include "dpotd/service.h"
#include "store/database.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/http_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static char folder[FIXTURE_PATH_SIZE];
static struct init_result installation;
static struct service *service;
static FILE *log_stream;
static char id[2 * DPOT_CAMPAIGN_ID_LEN + 1];

static const char spec[] =
    "{\"name\":\"jobs\",\"domain\":{\"type\":\"ring\",\"size\":10},\"metric\":\"ring\","
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,\"lambda\":0.5},\"min_pool\":3,"
    "\"opens\":\"2020-01-01T00:00:00Z\",\"closes\":\"2100-01-01T00:00:00Z\"}";

static void open_service(void)
{
    struct config config;
    struct dpot_error error = {{0}};
    const struct service_hooks hooks = {.log_stream = log_stream};
    cr_assert_eq(config_read(installation.config_path, &config, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(service_open(&config, "127.0.0.1:0", &hooks, &service, &error), DPOT_OK, "%s",
                 error.text);
}

/* Returns the JSON of the answer to one admin request, NULL without one. */
static json_t *call(const char *method, const char *path, const char *body, int status)
{
    struct http_reply reply;
    http_exchange(service_url(service), method, path, installation.token, body, strlen(body),
                  &reply);
    json_t *value = NULL;
    cr_assert_eq(reply.status, status, "%s %s: %d %.*s", method, path, reply.status,
                 (int)reply.body.len, (const char *)reply.body.data);
    if (json_parse(reply.body.data, reply.body.len, &value, NULL) != DPOT_OK) {
        value = NULL;
    }
    http_reply_release(&reply);
    return value;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void set_up(void)
{
    struct dpot_error error = {{0}};
    char path[128];
    cr_assert_eq(dpot_init(), DPOT_OK);
    fixture_folder(folder);
    log_stream = tmpfile();
    cr_assert_eq(init_run(folder, "127.0.0.1:0", dpot_clock_system(), &installation, &error),
                 DPOT_OK, "%s", error.text);
    open_service();
    json_t *record = call("POST", "/v1/admin/campaigns", spec, 201);
    (void)snprintf(id, sizeof id, "%s", text_of(record, "id"));
    json_decref(record);
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/open", id);
    json_decref(call("POST", path, "", 200));
}

static void tear_down(void)
{
    service_close(service);
    (void)fclose(log_stream);
    fixture_remove(folder);
}

TestSuite(http_jobs, .init = set_up, .fini = tear_down, .timeout = 120);

static json_t *start(const char *kind, const char *parameters, int status)
{
    char body[400];
    (void)snprintf(body, sizeof body, "{\"kind\":\"%s\",\"campaign\":\"%s\",\"parameters\":%s}",
                   kind, id, parameters);
    return call("POST", "/v1/admin/jobs", body, status);
}

/* Takes `job` and returns it when it has ended. */
static json_t *wait_for(json_t *job)
{
    char path[128];
    const struct timespec pause = {.tv_nsec = 2000000};
    (void)snprintf(path, sizeof path, "/v1/admin/jobs/%s", text_of(job, "id"));
    while (strcmp(text_of(job, "state"), "queued") == 0 ||
           strcmp(text_of(job, "state"), "running") == 0) {
        json_decref(job);
        (void)nanosleep(&pause, NULL);
        job = call("GET", path, "", 200);
    }
    return job;
}

static void expect_error(json_t *answer, const char *word)
{
    cr_assert_not_null(strstr(text_of(answer, "error"), word), "%s", text_of(answer, "error"));
    json_decref(answer);
}

Test(http_jobs, a_job_is_started_watched_and_its_artifact_fetched)
{
    char path[160];
    struct http_reply reply;
    uint8_t hash[DPOT_HASH_LEN];
    char digest[2 * DPOT_HASH_LEN + 1];
    json_t *job = start("base-measure", "{\"max_iterations\":50,\"gap\":0}", 202);
    cr_assert_str_eq(text_of(job, "state"), "queued");
    cr_assert_str_eq(text_of(job, "campaign"), id);
    cr_assert(json_is_null(json_object_get(job, "artifact")));
    job = wait_for(job);
    cr_assert_str_eq(text_of(job, "state"), "done", "%s", text_of(job, "error"));
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(job, "progress"), "done")), 50);
    cr_assert_eq(
        json_integer_value(json_object_get(json_object_get(job, "parameters"), "max_iterations")),
        50);
    (void)snprintf(path, sizeof path, "/v1/admin/artifacts/%s", text_of(job, "artifact"));
    http_exchange(service_url(service), "GET", path, installation.token, "", 0, &reply);
    cr_assert_eq(reply.status, 200);
    dpot_hash(hash, reply.body.data, reply.body.len);
    dpot_hex_encode(digest, hash, sizeof hash);
    cr_assert_str_eq(digest, text_of(job, "artifact"));
    http_reply_release(&reply);

    json_t *list = call("GET", "/v1/admin/jobs", "", 200);
    const json_t *jobs = json_object_get(list, "jobs");
    cr_assert_eq(json_array_size(jobs), 1);
    cr_assert(json_equal(json_array_get(jobs, 0), job));
    json_decref(list);
    json_decref(job);
}

Test(http_jobs, a_running_job_is_cancelled_over_http)
{
    char path[160];
    json_t *job = start("base-measure", "{\"max_iterations\":1000000000,\"gap\":0}", 202);
    (void)snprintf(path, sizeof path, "/v1/admin/jobs/%s/cancel", text_of(job, "id"));
    struct http_reply reply;
    http_exchange(service_url(service), "POST", path, installation.token, "", 0, &reply);
    cr_assert(reply.status == 202 || reply.status == 200);
    http_reply_release(&reply);
    job = wait_for(job);
    cr_assert_str_eq(text_of(job, "state"), "cancelled");
    expect_error(call("POST", path, "", 409), "cancelled");
    json_decref(job);
}

Test(http_jobs, wrong_jobs_are_refused_with_a_sentence)
{
    expect_error(start("frobnicate", "{}", 400),
                 "choose base-measure, estimate, generator or barycenter");
    expect_error(start("base-measure", "{\"methd\":1}", 400), "parameters.methd");
    expect_error(start("base-measure", "3", 400), "parameters");
    expect_error(start("estimate", "{}", 409), "not yet: 0 of 3 accepted reports");
    expect_error(call("POST", "/v1/admin/jobs", "{\"kind\":\"estimate\"}", 400), "campaign");
    expect_error(call("POST", "/v1/admin/jobs", "{\"kind\":\"estimate\",\"campaign\":\"x\"}", 400),
                 "campaign is \"x\"");
    expect_error(call("POST", "/v1/admin/jobs", "{\"knd\":1}", 400), "knd");
    expect_error(call("POST", "/v1/admin/jobs?revision=1", "{}", 400), "this path takes none");
    expect_error(call("GET", "/v1/admin/jobs?state=done", "", 400), "\"state\"");
    expect_error(call("POST", "/v1/admin/jobs", "not json", 400), "JSON");
    expect_error(call("POST", "/v1/admin/jobs",
                      "{\"kind\":\"estimate\","
                      "\"campaign\":\"00000000000000000000000000000000\"}",
                      404),
                 "campaign");
    expect_error(call("GET", "/v1/admin/jobs/00000000000000000000000000000000", "", 404), "job");
    expect_error(call("POST", "/v1/admin/jobs/00000000000000000000000000000000/cancel", "", 404),
                 "job");
    expect_error(call("GET",
                      "/v1/admin/artifacts/0000000000000000000000000000000000000000000000000000"
                      "000000000000",
                      "", 404),
                 "artifact");
    json_decref(call("GET", "/v1/admin/jobs/xyz", "", 404));
    json_decref(call("GET", "/v1/admin/artifacts/00", "", 404));
}

Test(http_jobs, jobs_and_artifacts_need_the_token)
{
    static const char *const paths[] = {"/v1/admin/jobs",
                                        "/v1/admin/jobs/00000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct http_reply reply;
        http_exchange(service_url(service), "GET", paths[i], NULL, "", 0, &reply);
        cr_assert_eq(reply.status, 401);
        http_reply_release(&reply);
    }
}

Test(http_jobs, a_campaign_is_revised_from_an_artifact)
{
    char path[160], body[160];
    json_t *job = wait_for(start("base-measure", "{\"method\":\"uniform\"}", 202));
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/revise", id);
    (void)snprintf(body, sizeof body, "{\"artifact\":\"%s\"}", text_of(job, "artifact"));
    json_t *record = call("POST", path, body, 201);
    cr_assert_eq(json_integer_value(json_object_get(record, "revision")), 2);
    cr_assert_str_eq(text_of(record, "state"), "draft");
    json_decref(record);
    expect_error(call("POST", path, "{\"base_measure\":[1,2]}", 400), "2 entries");
    expect_error(call("POST", path, "{}", 400), "one of them is needed");
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/open", id);
    record = call("POST", path, "", 200);
    cr_assert_eq(json_integer_value(json_object_get(record, "revision")), 2);
    json_decref(record);
    json_decref(job);
}

static json_t *start_on(const char *revision, int status)
{
    char body[200];
    (void)snprintf(body, sizeof body,
                   "{\"kind\":\"base-measure\",\"campaign\":\"%s\",\"revision\":%s,"
                   "\"parameters\":{\"method\":\"uniform\"}}",
                   id, revision);
    return call("POST", "/v1/admin/jobs", body, status);
}

Test(http_jobs, a_job_names_its_revision)
{
    char path[160];
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/revise", id);
    json_decref(call("POST", path,
                     "{\"base_measure\":[0.12,0.06,0.18,0.12,0.12,0.12,0.06,0.18,0.12,0.12]}",
                     201));
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/open", id);
    json_decref(call("POST", path, "", 200));
    for (json_int_t n = 1; n <= 2; n++) {
        json_t *job = start_on(n == 1 ? "1" : "2", 202);
        cr_assert_eq(json_integer_value(json_object_get(job, "revision")), n);
        cr_assert_str_eq(text_of(job, "revision_state"), n == 1 ? "closed" : "open");
        cr_assert(json_is_array(json_object_get(job, "other_revisions")));
        job = wait_for(job);
        cr_assert_str_eq(text_of(job, "state"), "done", "%s", text_of(job, "error"));
        cr_assert_eq(json_integer_value(json_object_get(job, "revision")), n);
        json_decref(job);
    }
    expect_error(start_on("3", 404), "choose from 2 (open), 1 (closed)");
    expect_error(start_on("0", 400), "revision is 0");
    expect_error(start_on("\"1\"", 400), "revision is \"1\"");
    expect_error(start_on("1.5", 400), "revision is 1.5");
    expect_error(start_on("null", 400), "revision is null");
    expect_error(start_on("4294967296", 400), "revision is 4294967296");
}

Test(http_jobs, an_artifact_altered_on_disk_is_answered_500_and_signed_into_nothing)
{
    char path[160], file[FIXTURE_PATH_SIZE], body[160];
    struct database *database = NULL;
    json_t *job = wait_for(start("base-measure", "{\"method\":\"uniform\"}", 202));
    service_close(service);
    fixture_path(file, folder, "dpot.db");
    cr_assert_eq(database_open(file, &database, NULL), DPOT_OK);
    struct query q = query_start(database, STATEMENT_PROBE,
                                 "UPDATE artifact SET bytes = CAST(bytes || x'00' AS BLOB)");
    cr_assert(query_run(q));
    database_close(database);
    open_service();
    (void)snprintf(path, sizeof path, "/v1/admin/artifacts/%s", text_of(job, "artifact"));
    expect_error(call("GET", path, "", 500), "an artifact in the store is not what was written");
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/revise", id);
    (void)snprintf(body, sizeof body, "{\"artifact\":\"%s\"}", text_of(job, "artifact"));
    expect_error(call("POST", path, body, 500), "not what was written");
    json_decref(job);
}

/* One row was altered by hand: the others are still listed. */
Test(http_jobs, a_job_altered_on_disk_does_not_hide_the_others)
{
    char path[160], file[FIXTURE_PATH_SIZE];
    struct database *database = NULL;
    json_decref(wait_for(start("base-measure", "{\"method\":\"uniform\"}", 202)));
    json_t *job = wait_for(start("base-measure", "{\"max_iterations\":2}", 202));
    service_close(service);
    fixture_path(file, folder, "dpot.db");
    cr_assert_eq(database_open(file, &database, NULL), DPOT_OK);
    struct query q = query_start(database, STATEMENT_PROBE,
                                 "UPDATE job SET parameters = '{', kind = CAST(x'ff' AS TEXT)"
                                 " WHERE seq = 2");
    cr_assert(query_run(q));
    database_close(database);
    open_service();
    json_t *list = call("GET", "/v1/admin/jobs", "", 200);
    cr_assert_eq(json_array_size(json_object_get(list, "jobs")), 2);
    json_decref(list);
    (void)snprintf(path, sizeof path, "/v1/admin/jobs/%s", text_of(job, "id"));
    json_t *shown = call("GET", path, "", 200);
    cr_assert(json_is_null(json_object_get(shown, "parameters")));
    cr_assert(json_is_null(json_object_get(shown, "kind")));
    cr_assert_str_eq(text_of(shown, "state"), "done");
    json_decref(shown);
    json_decref(job);
}

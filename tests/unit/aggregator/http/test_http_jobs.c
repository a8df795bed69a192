/* Jobs, artifacts and revisions over HTTP, on a whole service in this process. */
#include "unit/aggregator/http/whole.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

TestSuite(http_jobs, .init = whole_set_up, .fini = whole_tear_down);

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
    json_t *job = whole_start("base-measure", "{\"max_iterations\":50,\"gap\":0}", 202);
    cr_assert_str_eq(text_of(job, "state"), "queued");
    cr_assert_str_eq(text_of(job, "campaign"), whole_id);
    cr_assert(json_is_null(json_object_get(job, "artifact")));
    job = whole_wait(job);
    cr_assert_str_eq(text_of(job, "state"), "done", "%s", text_of(job, "error"));
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(job, "progress"), "done")), 50);
    cr_assert_eq(
        json_integer_value(json_object_get(json_object_get(job, "parameters"), "max_iterations")),
        50);
    (void)snprintf(path, sizeof path, "/v1/admin/artifacts/%s", text_of(job, "artifact"));
    http_exchange(whole_url(), "GET", path, whole_token(), "", 0, &reply);
    cr_assert_eq(reply.status, 200);
    dpot_hash(hash, reply.body.data, reply.body.len);
    dpot_hex_encode(digest, hash, sizeof hash);
    cr_assert_str_eq(digest, text_of(job, "artifact"));
    http_reply_release(&reply);

    json_t *list = whole_call("GET", "/v1/admin/jobs", "", 200);
    const json_t *jobs = json_object_get(list, "jobs");
    cr_assert_eq(json_array_size(jobs), 1);
    cr_assert(json_equal(json_array_get(jobs, 0), job));
    json_decref(list);
    json_decref(job);
}

Test(http_jobs, a_running_job_is_cancelled_over_http)
{
    char path[160];
    json_t *job = whole_start("base-measure", "{\"max_iterations\":1000000000,\"gap\":0}", 202);
    (void)snprintf(path, sizeof path, "/v1/admin/jobs/%s/cancel", text_of(job, "id"));
    struct http_reply reply;
    http_exchange(whole_url(), "POST", path, whole_token(), "", 0, &reply);
    cr_assert(reply.status == 202 || reply.status == 200);
    http_reply_release(&reply);
    job = whole_wait(job);
    cr_assert_str_eq(text_of(job, "state"), "cancelled");
    expect_error(whole_call("POST", path, "", 409), "cancelled");
    json_decref(job);
}

Test(http_jobs, wrong_jobs_are_refused_with_a_sentence)
{
    expect_error(whole_start("frobnicate", "{}", 400),
                 "choose base-measure, estimate, generator or barycenter");
    expect_error(whole_start("base-measure", "{\"methd\":1}", 400), "parameters.methd");
    expect_error(whole_start("base-measure", "3", 400), "parameters");
    expect_error(whole_start("estimate", "{}", 409), "not yet: 0 of 3 accepted reports");
    expect_error(whole_call("POST", "/v1/admin/jobs", "{\"kind\":\"estimate\"}", 400), "campaign");
    expect_error(
        whole_call("POST", "/v1/admin/jobs", "{\"kind\":\"estimate\",\"campaign\":\"x\"}", 400),
        "campaign is \"x\"");
    expect_error(whole_call("POST", "/v1/admin/jobs", "{\"knd\":1}", 400), "knd");
    expect_error(whole_call("POST", "/v1/admin/jobs?revision=1", "{}", 400),
                 "this path takes none");
    expect_error(whole_call("GET", "/v1/admin/jobs?state=done", "", 400), "\"state\"");
    expect_error(whole_call("POST", "/v1/admin/jobs", "not json", 400), "JSON");
    expect_error(whole_call("POST", "/v1/admin/jobs",
                            "{\"kind\":\"estimate\","
                            "\"campaign\":\"00000000000000000000000000000000\"}",
                            404),
                 "campaign");
    expect_error(whole_call("GET", "/v1/admin/jobs/00000000000000000000000000000000", "", 404),
                 "job");
    expect_error(
        whole_call("POST", "/v1/admin/jobs/00000000000000000000000000000000/cancel", "", 404),
        "job");
    expect_error(
        whole_call("GET",
                   "/v1/admin/artifacts/0000000000000000000000000000000000000000000000000000"
                   "000000000000",
                   "", 404),
        "artifact");
    json_decref(whole_call("GET", "/v1/admin/jobs/xyz", "", 404));
    json_decref(whole_call("GET", "/v1/admin/artifacts/00", "", 404));
}

Test(http_jobs, jobs_and_artifacts_need_the_token)
{
    static const char *const paths[] = {"/v1/admin/jobs",
                                        "/v1/admin/jobs/00000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct http_reply reply;
        http_exchange(whole_url(), "GET", paths[i], NULL, "", 0, &reply);
        cr_assert_eq(reply.status, 401);
        http_reply_release(&reply);
    }
}

Test(http_jobs, a_campaign_is_revised_from_an_artifact)
{
    char path[160], body[160];
    json_t *job = whole_wait(whole_start("base-measure", "{\"method\":\"uniform\"}", 202));
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/revise", whole_id);
    (void)snprintf(body, sizeof body, "{\"artifact\":\"%s\"}", text_of(job, "artifact"));
    json_t *record = whole_call("POST", path, body, 201);
    cr_assert_eq(json_integer_value(json_object_get(record, "revision")), 2);
    cr_assert_str_eq(text_of(record, "state"), "draft");
    json_decref(record);
    expect_error(whole_call("POST", path, "{\"base_measure\":[1,2]}", 400), "2 entries");
    expect_error(whole_call("POST", path, "{}", 400), "one of them is needed");
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/open", whole_id);
    record = whole_call("POST", path, "", 200);
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
                   whole_id, revision);
    return whole_call("POST", "/v1/admin/jobs", body, status);
}

Test(http_jobs, a_job_names_its_revision)
{
    char path[160];
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/revise", whole_id);
    json_decref(whole_call("POST", path,
                           "{\"base_measure\":[0.12,0.06,0.18,0.12,0.12,0.12,0.06,0.18,0.12,0.12]}",
                           201));
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/open", whole_id);
    json_decref(whole_call("POST", path, "", 200));
    for (json_int_t n = 1; n <= 2; n++) {
        json_t *job = start_on(n == 1 ? "1" : "2", 202);
        cr_assert_eq(json_integer_value(json_object_get(job, "revision")), n);
        cr_assert_str_eq(text_of(job, "revision_state"), n == 1 ? "closed" : "open");
        cr_assert(json_is_array(json_object_get(job, "other_revisions")));
        job = whole_wait(job);
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
    char path[160], body[160];
    json_t *job = whole_wait(whole_start("base-measure", "{\"method\":\"uniform\"}", 202));
    whole_close();
    whole_tamper("UPDATE artifact SET bytes = CAST(bytes || x'00' AS BLOB)");
    whole_open();
    (void)snprintf(path, sizeof path, "/v1/admin/artifacts/%s", text_of(job, "artifact"));
    expect_error(whole_call("GET", path, "", 500),
                 "an artifact in the store is not what was written");
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/revise", whole_id);
    (void)snprintf(body, sizeof body, "{\"artifact\":\"%s\"}", text_of(job, "artifact"));
    expect_error(whole_call("POST", path, body, 500), "not what was written");
    json_decref(job);
}

/* One row was altered by hand: the others are still listed. */
Test(http_jobs, a_job_altered_on_disk_does_not_hide_the_others)
{
    char path[160];
    json_decref(whole_wait(whole_start("base-measure", "{\"method\":\"uniform\"}", 202)));
    json_t *job = whole_wait(whole_start("base-measure", "{\"max_iterations\":2}", 202));
    whole_close();
    whole_tamper("UPDATE job SET parameters = '{', kind = CAST(x'ff' AS TEXT) WHERE seq = 2");
    whole_open();
    json_t *list = whole_call("GET", "/v1/admin/jobs", "", 200);
    cr_assert_eq(json_array_size(json_object_get(list, "jobs")), 2);
    json_decref(list);
    (void)snprintf(path, sizeof path, "/v1/admin/jobs/%s", text_of(job, "id"));
    json_t *shown = whole_call("GET", path, "", 200);
    cr_assert(json_is_null(json_object_get(shown, "parameters")));
    cr_assert(json_is_null(json_object_get(shown, "kind")));
    cr_assert_str_eq(text_of(shown, "state"), "done");
    json_decref(shown);
    json_decref(job);
}

/* dpot job, artifact get and campaign revise, against canned answers. */
#include "canned_server.h"
#include "process.h"
#include "unit/files/folder.h"

#include "base/crypto.h"
#include "proto/wire_artifact.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "000102030405060708090a0b0c0d0e0f"
#define DIGEST ID ID

static void set_up(void)
{
    folder_make();
    cr_assert_eq(dpot_init(), DPOT_OK);
    (void)setenv("DPOT_TOKEN", "secret-token", 1);
}

TestSuite(job, .init = set_up, .fini = folder_remove);

/* Runs "ARGUMENTS --server URL" against a server that answers so. */
static void answer(const char *status, const void *body, size_t len, const char *arguments,
                   int exit_code, const char *word)
{
    struct canned_server server;
    struct process p;
    char text[512];
    canned_server_start(&server, status, body, len);
    (void)snprintf(text, sizeof text, "%s --server %s", arguments, server.url);
    process_run(&p, text);
    canned_server_stop(&server);
    cr_assert_eq(p.exit_code, exit_code, "%s: %d %s", arguments, p.exit_code, p.err);
    cr_assert(strstr(p.out, word) || strstr(p.err, word), "%s says: %s%s", arguments, p.out, p.err);
}

static void answer_text(const char *status, const char *body, const char *arguments, int exit_code,
                        const char *word)
{
    answer(status, body, strlen(body), arguments, exit_code, word);
}

#define JOB(state, error)                                                                          \
    "{\"id\":\"" ID "\",\"kind\":\"estimate\",\"campaign\":\"" ID "\",\"state\":\"" state          \
    "\",\"progress\":{\"done\":1,\"total\":4},\"error\":" error ",\"artifact\":null,"              \
    "\"created\":\"now\"}"

#define CAMPAIGN "{\"id\":\"" ID "\",\"state\":\"draft\"}"

Test(job, a_wrong_command_line_is_refused_before_anything_is_sent)
{
    expect_exit("job start", 2, "base-measure|estimate|generator|barycenter");
    expect_exit("job start estimate", 2, "--campaign");
    expect_exit("job start estimate --campaign xyz", 2, "32 hex digits");
    expect_exit("job start estimate --campaign " ID, 2, "--server");
    expect_exit("job start estimate mirror --campaign " ID " --server http://x", 2, "key=value");
    expect_exit("job start estimate =1 --campaign " ID " --server http://x", 2, "key=value");
    expect_exit("job start estimate a=1 a=2 --campaign " ID " --server http://x", 2, "twice");
    expect_exit("job show xyz --server http://x", 2, "no job ID");
    expect_exit("job cancel --server http://x", 2, "ID is missing");
    expect_exit("job show " ID " " ID " --server http://x", 2, "one argument too many");
    expect_exit("artifact get " DIGEST " --server http://x", 2, "--out");
    expect_exit("artifact get " ID " --out x.npy --server http://x", 2, "64 hex digits");
    expect_exit("campaign revise " ID " --server http://x", 2, "--base-measure");
    expect_exit("campaign revise xyz --base-measure m.csv --server http://x", 2, "32 hex digits");
    expect_exit("campaign revise " ID " --base-measure absent.npy --server http://x", 6,
                "absent.npy");
}

Test(job, a_base_measure_that_is_no_vector_of_numbers_is_refused_before_sending)
{
    write_text("matrix.csv", "1,2\n3,4\n");
    expect_exit("campaign revise " ID " --base-measure matrix.csv --server http://x", 3, "2 x 2");
    write_text("nan.csv", "1\nnan\n");
    expect_exit("campaign revise " ID " --base-measure nan.csv --server http://x", 3, "nan");
}

Test(job, masses_that_a_campaign_cannot_encode_are_reported)
{
    write_text("one.csv", "0.25\n1e-300\n0.25\n");
    write_text("two.csv", "0.25\n1e-300\n1e-20\n");
    write_text("none.csv", "0.25\n1e-9\n0.25\n");
    answer_text("201 Created", CAMPAIGN, "campaign revise " ID " --base-measure one.csv", 0,
                "1 mass is below");
    answer_text("201 Created", CAMPAIGN, "campaign revise " ID " --base-measure two.csv", 0,
                "2 masses are below");
    static struct process p;
    struct canned_server server;
    char text[256];
    canned_server_start(&server, "201 Created", CAMPAIGN, sizeof CAMPAIGN - 1);
    (void)snprintf(text, sizeof text, "campaign revise " ID " --base-measure none.csv --server %s",
                   server.url);
    process_run(&p, text);
    canned_server_stop(&server);
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_str_empty(p.err);
}

Test(job, a_started_job_is_shown_as_stored)
{
    answer_text("202 Accepted", JOB("queued", "null"), "job start estimate --campaign " ID, 0,
                "queued");
}

Test(job, waiting_ends_with_the_job)
{
    static const char start[] = "job start estimate --wait --campaign " ID;
    answer_text("202 Accepted", JOB("done", "null"), start, 0, "done");
    answer_text("202 Accepted", JOB("failed", "\"out of luck\""), start, 1, "failed: out of luck");
    answer_text("202 Accepted", JOB("cancelled", "null"), start, 7, "cancelled");
}

Test(job, the_servers_error_message_is_printed)
{
    static const char body[] = "{\"error\":\"not yet: 812 of 1000 accepted reports\"}";
    answer_text("409 Conflict", body, "job start estimate --campaign " ID, 7, "not yet: 812");
    answer_text("400 Bad Request", body, "job start estimate --campaign " ID, 3, "not yet: 812");
    answer_text("404 Not Found", body, "job show " ID, 3, "not yet: 812");
    answer_text("301 Moved Permanently", "", "job show " ID, 6, "give --server the URL that it");
}

Test(job, the_list_is_a_table_with_the_progress)
{
    answer_text("200 OK", "{\"jobs\":[" JOB("running", "null") "]}", "job list", 0, "25%");
    answer_text("200 OK", "{\"jobs\":[]}", "job list", 0, "0");
}

static void list_pages(const char *arguments, int exit_code, const char *printed)
{
    static const char older[] = "{\"jobs\":[{\"id\":\"a2\"},{\"id\":\"a1\"}],\"next\":null}";
    static const char newest[] = "{\"jobs\":[{\"id\":\"a4\"},{\"id\":\"a3\"}],\"next\":\"a3\"}";
    static const char second[] = "{\"jobs\":[{\"id\":\"a2\"}],\"next\":\"a2\"}";
    static const struct canned_answer answers[] = {
        {"/v1/admin/jobs", "200 OK", newest, sizeof newest - 1},
        {"/v1/admin/jobs?limit=3", "200 OK", newest, sizeof newest - 1},
        {"/v1/admin/jobs?after=a3", "200 OK", older, sizeof older - 1},
        {"/v1/admin/jobs?limit=1&after=a3", "200 OK", second, sizeof second - 1},
    };
    struct canned_server server;
    struct process p;
    char text[512];
    canned_server_start_answers(&server, answers, sizeof answers / sizeof answers[0]);
    (void)snprintf(text, sizeof text, "job list --json %s --server %s", arguments, server.url);
    process_run(&p, text);
    canned_server_stop(&server);
    cr_assert_eq(p.exit_code, exit_code, "%s: %d %s", arguments, p.exit_code, p.err);
    cr_assert_str_eq(exit_code == 0 ? p.out : "", printed);
}

Test(job, the_list_follows_every_page_or_ends_at_its_limit)
{
    list_pages("", 0,
               "{\"jobs\":[{\"id\":\"a4\"},{\"id\":\"a3\"},{\"id\":\"a2\"},{\"id\":\"a1\"}],"
               "\"next\":null}\n");
    list_pages("--limit 3", 0,
               "{\"jobs\":[{\"id\":\"a4\"},{\"id\":\"a3\"},{\"id\":\"a2\"}],\"next\":\"a2\"}\n");
    list_pages("--after a3", 0, "{\"jobs\":[{\"id\":\"a2\"},{\"id\":\"a1\"}],\"next\":null}\n");
    list_pages("--limit 0", 2, "");
    list_pages("--after x&y", 2, "");
}

Test(job, pages_that_do_not_go_on_are_refused)
{
    static const char *const nexts[] = {"\"\"", "\"a&b\"", "7", "\"" DIGEST "0\""};
    const char *again = "{\"jobs\":[{\"id\":\"a4\"}],\"next\":\"a4\"}";
    char body[256];
    answer_text("200 OK", again, "job list", 6, "not a page of a list of jobs: next is that of");
    answer_text("200 OK", again, "job list --after a4", 6, "ignores ?after=");
    for (size_t i = 0; i < sizeof nexts / sizeof nexts[0]; i++) {
        (void)snprintf(body, sizeof body, "{\"jobs\":[{\"id\":\"a4\"}],\"next\":%s}", nexts[i]);
        answer_text("200 OK", body, "job list", 6, "next is no ID and no hash");
    }
}

Test(job, an_answer_of_another_kind_is_refused)
{
    static const struct {
        const char *arguments, *body, *sentence;
    } cases[] = {
        {"campaign list", "{}", "answer is not a list of campaigns: \"campaigns\" is missing"},
        {"campaign list --json", "{\"campaigns\":5}", "not a list of campaigns: \"campaigns\""},
        {"campaign list", "{\"campaigns\":[7]}", "not a list of campaigns: \"id\""},
        {"job list", "{}", "not a list of jobs: \"jobs\""},
        {"job list", "{\"jobs\":[{\"id\":null}]}", "not a list of jobs: \"id\""},
        {"job show " ID, "{}", "not a job: \"id\""},
        {"job show " ID, "{\"id\":\"a\",\"x\":1}", "not a job: \"state\""},
        {"job start estimate --campaign " ID, "{}", "not a job: \"id\""},
        {"campaign show " ID, "{\"foreign\":true}", "not a campaign: \"id\""},
        {"campaign open " ID, "{}", "not a campaign: \"id\""},
        {"pool " ID, "{}", "not a pool: \"accepted\""},
        {"pool " ID, "{\"accepted\":1}", "not a pool: \"mechanism\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        answer_text("200 OK", cases[i].body, cases[i].arguments, 6, cases[i].sentence);
    }
}

Test(job, foreign_text_steers_no_terminal)
{
    answer_text("400 Bad Request", "{\"error\":\"a\\u001b[2J\\nb\"}", "job show " ID, 3,
                "a?[2J?b\n");
    answer_text("200 OK", "{\"campaigns\":[{\"id\":\"a1\",\"na\\rme\":\"x\\u009by\"}]}",
                "campaign list", 0, "id  na?me  \na1  x?y    \n");
    answer_text("200 OK",
                "{\"id\":\"a\",\"state\":\"b\\u001bc\",\"k\\te\":[\"a sentence that is longer than "
                "the columns\\r of a list\"]}",
                "job show " ID, 0,
                "b?c\nk?e                      - a sentence that is longer than the columns? of");
}

Test(job, a_server_without_pages_is_listed_all_the_same)
{
    answer_text("200 OK", "{\"jobs\":[{\"id\":\"a1\"}]}", "job list --json", 0,
                "{\"jobs\":[{\"id\":\"a1\"}],\"next\":null}");
}

Test(job, a_full_queue_is_not_ready)
{
    answer_text("429 Too Many Requests", "{\"error\":\"100 jobs wait already\"}",
                "job start estimate --campaign " ID, 7, "100 jobs wait already");
}

/* ---- artifacts ---- */

static struct dpot_buf encode(const struct dpot_artifact *artifact, char digest[65])
{
    struct dpot_buf bytes;
    uint8_t hash[DPOT_HASH_LEN];
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_artifact_encode(artifact, &bytes, NULL), DPOT_OK);
    dpot_hash(hash, bytes.data, bytes.len);
    dpot_hex_encode(digest, hash, sizeof hash);
    return bytes;
}

static struct dpot_buf sample(char digest[65])
{
    double values[3] = {0.5, 0.25, 0.125};
    uint64_t counts[3] = {4, 2, 1};
    struct dpot_artifact artifact = {.kind = "estimate",
                                     .program_version = "0.1.0",
                                     .has_pool = true,
                                     .pool_count = 7,
                                     .parameters = "{\"a\":1}",
                                     .n_values = 3,
                                     .values = values,
                                     .n_counts = 3,
                                     .counts = counts};
    cr_assert_eq(dpot_artifact_add_number(&artifact, "objective", 0.75), DPOT_OK);
    cr_assert_eq(dpot_artifact_add_number(&artifact, "is_converged", 0), DPOT_OK);
    return encode(&artifact, digest);
}

Test(job, an_artifact_becomes_an_array_with_its_side_file)
{
    char digest[65], arguments[256], text[4096];
    struct dpot_buf bytes = sample(digest);
    (void)snprintf(arguments, sizeof arguments, "artifact get %s --out a.csv --json", digest);
    answer("200 OK", bytes.data, bytes.len, arguments, 0, "\"objective\":0.75");
    text[folder_read("a.csv", text, sizeof text - 1)] = '\0';
    cr_assert_str_eq(text, "0.5\n0.25\n0.125\n");
    text[folder_read("a.csv.json", text, sizeof text - 1)] = '\0';
    json_t *side = json_loads(text, 0, NULL);
    cr_assert_not_null(side);
    cr_assert_str_eq(json_string_value(json_object_get(side, "digest")), digest);
    cr_assert_str_eq(json_string_value(json_object_get(side, "kind")), "estimate");
    cr_assert_eq(number_of(side, "pool_count"), 7);
    cr_assert_eq(json_array_size(json_object_get(side, "counts")), 3);
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(side, "parameters"), "a")), 1);
    json_decref(side);
    dpot_buf_release(&bytes);
}

Test(job, the_table_says_yes_or_no_where_a_number_means_that)
{
    char digest[65], arguments[256];
    struct dpot_buf bytes = sample(digest);
    (void)snprintf(arguments, sizeof arguments, "artifact get %s --out a.csv", digest);
    answer("200 OK", bytes.data, bytes.len, arguments, 0, "is_converged             no\n");
    dpot_buf_release(&bytes);
}

Test(job, a_name_that_ends_in_pb_gets_the_bytes)
{
    char digest[65], arguments[256];
    uint8_t saved[4096];
    struct dpot_buf bytes = sample(digest);
    (void)snprintf(arguments, sizeof arguments, "artifact get %s --out a.pb", digest);
    answer("200 OK", bytes.data, bytes.len, arguments, 0, "estimate");
    cr_assert_eq(folder_read("a.pb", saved, sizeof saved), bytes.len);
    cr_assert_arr_eq(saved, bytes.data, bytes.len);
    dpot_buf_release(&bytes);
}

/* A generator with two evaluations, whose model has six bytes. */
static struct dpot_buf sample_generator(char digest[65])
{
    double values[10] = {0, 3, 0.5, 0.25, 0.001, 1, 2, 0.5, 0.25, 0.0005};
    uint8_t model[6] = {8, 7, 'o', 'n', 'n', 'x'};
    const struct dpot_artifact artifact = {.kind = "generator",
                                           .program_version = "0.1.0",
                                           .parameters = "{}",
                                           .n_values = 10,
                                           .values = values,
                                           .n_model = sizeof model,
                                           .model = model};
    return encode(&artifact, digest);
}

Test(job, a_generator_becomes_its_model_or_the_table_of_its_curve)
{
    char digest[65], arguments[256], text[4096];
    struct dpot_buf bytes = sample_generator(digest);
    (void)snprintf(arguments, sizeof arguments, "artifact get %s --out g.onnx --json", digest);
    answer("200 OK", bytes.data, bytes.len, arguments, 0, "\"model_bytes\":6");
    cr_assert_eq(folder_read("g.onnx", text, sizeof text), 6);
    cr_assert_arr_eq(text, "\x08\x07onnx", 6);
    cr_assert_gt(folder_read("g.onnx.json", text, sizeof text), 0);
    (void)snprintf(arguments, sizeof arguments, "artifact get %s --out c.csv", digest);
    answer("200 OK", bytes.data, bytes.len, arguments, 0, "generator");
    text[folder_read("c.csv", text, sizeof text - 1)] = '\0';
    cr_assert_str_eq(text, "step,loss,gap,residual,learning_rate\n0,3,0.5,0.25,0.001\n"
                           "1,2,0.5,0.25,0.0005\n");
    dpot_buf_release(&bytes);
}

Test(job, an_artifact_without_a_model_is_no_onnx_file)
{
    char digest[65], arguments[256];
    struct dpot_buf bytes = sample(digest);
    (void)snprintf(arguments, sizeof arguments, "artifact get %s --out g.onnx", digest);
    answer("200 OK", bytes.data, bytes.len, arguments, 3, "is of kind estimate and has no model");
    dpot_buf_release(&bytes);
}

Test(job, bytes_with_another_digest_are_refused_and_not_written)
{
    char digest[65];
    struct process p;
    struct dpot_buf bytes = sample(digest);
    answer("200 OK", bytes.data, bytes.len, "artifact get " DIGEST " --out a.npy", 3,
           "do not have this digest");
    process_run(&p, "ot --x a.npy --y a.npy --metric l1 --exact");
    cr_assert_eq(p.exit_code, 6, "nothing was to be written");
    answer_text("200 OK", "", "artifact get " DIGEST " --out a.npy", 3, "do not have this digest");
    dpot_buf_release(&bytes);
}

/* ---- a server that restarts ---- */

static void wait_through(struct process *p, const char *more, long away_ms)
{
    struct canned_server server;
    char text[512];
    canned_server_start_away(&server, JOB("queued", "null"), away_ms, JOB("done", "null"));
    (void)snprintf(text, sizeof text, "job start estimate --wait %s --campaign " ID " --server %s",
                   more, server.url);
    process_run(p, text);
    canned_server_stop(&server);
}

Test(job, waiting_survives_a_restart_of_the_server)
{
    static struct process p;
    wait_through(&p, "", 4000);
    cr_assert_eq(p.exit_code, 0, "%d %s", p.exit_code, p.err);
    cr_assert_not_null(strstr(p.out, "done"), "%s", p.out);
    cr_assert_not_null(strstr(p.err, "dpot job start: the server is away, waiting\n"), "%s", p.err);
    wait_through(&p, "--quiet", 1500);
    cr_assert_eq(p.exit_code, 0, "%d %s", p.exit_code, p.err);
    cr_assert_str_empty(p.err);
}

Test(job, a_lost_server_is_reported_with_the_command_to_check_the_job)
{
    static struct process p;
    wait_through(&p, "--away 1", 30000);
    cr_assert_eq(p.exit_code, 6, "%d %s", p.exit_code, p.err);
    cr_assert_not_null(strstr(p.err,
                              "Job " ID " goes on when it is back: look with dpot job show " ID
                              " --server http"),
                       "%s", p.err);
    expect_exit("job start estimate --campaign " ID " --away-seconds 5 --server http://x", 2,
                "--wait");
    expect_exit("job start estimate --wait --campaign " ID " --away-seconds -5 --server http://x",
                2, "--away-seconds is -5");
}

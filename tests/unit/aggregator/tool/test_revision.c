/* dpot ... --revision N, against canned answers. */
#include "canned_server.h"
#include "process.h"
#include "unit/files/folder.h"

#include "base/buf.h"
#include "base/crypto.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ID "000102030405060708090a0b0c0d0e0f"
#define OTHERS                                                                                     \
    "\"other_revisions\":[{\"revision\":1,\"hash\":\"aa\",\"state\":\"closed\","                   \
    "\"reports\":1234567}]"
#define POOL(revision, state) COUNTED_POOL(revision, state, "2")
#define COUNTED_POOL(revision, state, accepted)                                                    \
    "{\"id\":\"" ID "\",\"revision\":" revision ",\"state\":\"" state                              \
    "\",\"campaign_hash\":\"ab\","                                                                 \
    "\"content_digest\":\"cd\",\"mechanism\":\"wpm\",\"scale\":null,\"accepted\":" accepted ","    \
    "\"duplicate\":0,\"rejected\":{}," OTHERS "}"
#define OLD_POOL                                                                                   \
    "{\"id\":\"" ID "\",\"state\":\"open\",\"campaign_hash\":\"ab\",\"mechanism\":\"wpm\","        \
    "\"accepted\":2}"

static void set_up(void)
{
    folder_make();
    cr_assert_eq(dpot_init(), DPOT_OK);
    (void)setenv("DPOT_TOKEN", "secret-token", 1);
}

TestSuite(revision, .init = set_up, .fini = folder_remove);

/* Runs "ARGUMENTS --server URL" where every path that ends so gets this body. */
static void run(struct process *p, const char *arguments, const char *ending, const char *body)
{
    uint8_t indices[8] = {3, 0, 0, 0, 4, 0, 0, 0};
    struct canned_server server;
    char text[512];
    const struct canned_answer answers[] = {
        {"/pool/export?revision=2", "200 OK", indices, sizeof indices},
        {"/pool/export", "200 OK", indices, 4},
        {ending, "200 OK", body, strlen(body)},
    };
    canned_server_start_answers(&server, answers, 3);
    (void)snprintf(text, sizeof text, "%s --server %s", arguments, server.url);
    process_run(p, text);
    canned_server_stop(&server);
}

Test(revision, is_a_number_from_1)
{
    static const char *const values[] = {"0", "-1", "x", "1.5", "4294967296"};
    static const char *const commands[] = {"pool " ID,
                                           "campaign show " ID,
                                           "campaign close " ID,
                                           "campaign fetch " ID " --out f",
                                           "job start estimate --campaign " ID,
                                           "estimate --campaign " ID " --pool p.csv --out e.csv"};
    for (size_t c = 0; c < sizeof commands / sizeof commands[0]; c++) {
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            char text[256];
            (void)snprintf(text, sizeof text, "%s --server http://127.0.0.1:9 --revision %s",
                           commands[c], values[i]);
            expect_exit(text, 2, "--revision is");
        }
    }
    write_text("spec.json", "{}");
    expect_exit("campaign show spec.json --revision 1", 2, "a file is one revision");
    expect_exit("estimate --campaign spec.json --revision 1 --pool p.csv --out e.csv", 2,
                "a file is one revision");
}

Test(revision, of_a_pool_is_requested_and_printed_with_the_others)
{
    struct process p;
    run(&p, "pool " ID " --revision 2", "/pool?revision=2", POOL("2", "open"));
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.out, "revision                 2\n"), "%s", p.out);
    cr_assert_not_null(strstr(p.out, "state                    open\n"), "%s", p.out);
    cr_assert_not_null(strstr(p.out, "campaign_hash            ab\n"), "%s", p.out);
    cr_assert_not_null(strstr(p.out, "revision 1 (closed) holds 1,234,567 reports: --revision 1\n"),
                       "%s", p.out);
    run(&p, "pool " ID " --json", "/pool", POOL("2", "open"));
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.out, OTHERS), "%s", p.out);
    run(&p, "pool " ID, "/pool",
        "{\"revision\":1,\"accepted\":0,\"mechanism\":\"wpm\",\"other_revisions\":[]}");
    cr_assert_null(strstr(p.out, "other_revisions"), "%s", p.out);
}

/* Between the description and the export another revision may open. */
Test(revision, of_an_export_is_the_described_one_and_in_the_side_file)
{
    struct process p;
    run(&p, "pool " ID " --out pool.npy", "/pool", POOL("2", "open"));
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    json_t *side = json_load_file(folder_path("pool.npy.json"), 0, NULL);
    cr_assert_eq(number_of(side, "n"), 2, "the export was asked by its number");
    cr_assert_eq(number_of(side, "revision"), 2);
    cr_assert_str_eq(json_string_value(json_object_get(side, "state")), "open");
    cr_assert_str_eq(json_string_value(json_object_get(side, "content_digest")), "cd");
    json_decref(side);
}

Test(revision, of_an_older_server_is_checked)
{
    struct process p;
    static const char *const commands[] = {"pool " ID " --revision 1 --out pool.npy",
                                           "campaign show " ID " --revision 1"};
    for (size_t i = 0; i < 2; i++) {
        run(&p, commands[i], "?revision=1", OLD_POOL);
        cr_assert_eq(p.exit_code, 6, "%s: %d %s", commands[i], p.exit_code, p.err);
        cr_assert_not_null(strstr(p.err, "does not answer about revision 1"), "%s", p.err);
        run(&p, commands[i], "?revision=1", POOL("2", "open"));
        cr_assert_eq(p.exit_code, 6, "%s: %d %s", commands[i], p.exit_code, p.err);
    }
    run(&p, "pool " ID " --out pool.npy", "/pool", OLD_POOL);
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    json_t *side = json_load_file(folder_path("pool.npy.json"), 0, NULL);
    cr_assert_eq(number_of(side, "n"), 1);
    cr_assert_null(json_object_get(side, "revision"));
    cr_assert_null(json_object_get(side, "content_digest"));
    json_decref(side);
}

Test(revision, without_reports_is_refused_with_one_that_has_some)
{
    struct process p;
    struct canned_server server;
    char text[256];
    static const char empty[] = COUNTED_POOL("2", "open", "0");
    const struct canned_answer answers[] = {{"/pool/export?revision=2", "200 OK", "", 0},
                                            {"/pool", "200 OK", empty, sizeof empty - 1}};
    canned_server_start_answers(&server, answers, 2);
    (void)snprintf(text, sizeof text, "pool " ID " --out pool.npy --server %s", server.url);
    process_run(&p, text);
    canned_server_stop(&server);
    cr_assert_eq(p.exit_code, 7, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "the pool is empty"), "%s", p.err);
    cr_assert_not_null(strstr(p.err, "holds 1,234,567 reports: --revision 1"), "%s", p.err);
}

Test(revision, that_counted_more_than_it_exports_is_refused)
{
    struct process p;
    run(&p, "pool " ID " --out pool.npy", "/pool", COUNTED_POOL("2", "open", "3"));
    cr_assert_eq(p.exit_code, 6, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "has 2 reports and the server counted 3"), "%s", p.err);
    cr_assert_neq(access(folder_path("pool.npy"), F_OK), 0);
}

Test(revision, list_of_a_campaign_is_one_line_each)
{
    struct process p;
    run(&p, "campaign show " ID, ID,
        "{\"id\":\"" ID "\",\"revision\":2,\"state\":\"open\",\"revisions\":["
        "{\"revision\":2,\"hash\":\"0123456789abcdef\",\"state\":\"open\",\"reports\":0,"
        "\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":\"2027-01-01T00:00:00Z\"},"
        "{\"revision\":1,\"hash\":\"fedcba9876543210\",\"state\":\"closed\",\"reports\":1,"
        "\"opens\":null,\"closes\":null}]}");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.out, "2: open, 0 reports, hash 0123456789ab, "
                                     "2026-01-01T00:00:00Z to 2027-01-01T00:00:00Z\n"),
                       "%s", p.out);
    cr_assert_not_null(strstr(p.out, "1: closed, 1 report, hash fedcba987654, - to -\n"), "%s",
                       p.out);
}

Test(revision, closed_by_opening_another_is_printed)
{
    struct process p;
    run(&p, "campaign open " ID, "/open",
        "{\"id\":\"" ID
        "\",\"revision\":2,\"state\":\"open\",\"closed\":{\"revision\":1,\"state\":\"closed\","
        "\"reports\":1000}}");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(
        strstr(p.out, "revision 1, whose pool (1,000 reports) stays readable with --revision 1\n"),
        "%s", p.out);
    run(&p, "campaign open " ID, "/open",
        "{\"id\":\"" ID "\",\"revision\":1,\"state\":\"open\",\"closed\":null}");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_null(strstr(p.out, "closed"), "%s", p.out);
}

Test(revision, closed_by_number_is_the_given_one)
{
    struct process p;
    run(&p, "campaign close " ID " --revision 2 --json", "/close?revision=2", POOL("2", "closed"));
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.out, "\"state\":\"closed\""), "%s", p.out);
    run(&p, "campaign close " ID " --json", "/close", POOL("1", "closed"));
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    run(&p, "campaign close " ID " --revision 2", "/close?revision=2", POOL("1", "closed"));
    cr_assert_eq(p.exit_code, 6, "%d %s", p.exit_code, p.err);
    cr_assert_not_null(strstr(p.err, "does not answer about revision 2"), "%s", p.err);
}

Test(revision, of_a_job_is_printed_with_the_others_also_after_waiting)
{
    struct process p;
    static const char started[] = "{\"id\":\"" ID "\",\"kind\":\"estimate\",\"state\":\"queued\","
                                  "\"revision\":2,\"revision_state\":\"open\"," OTHERS "}",
                      done[] = "{\"id\":\"" ID "\",\"kind\":\"estimate\",\"state\":\"done\","
                               "\"revision\":2,\"revision_state\":\"open\"}";
    struct canned_server server;
    char text[256];
    const struct canned_answer answers[] = {{"/jobs", "202 Accepted", started, sizeof started - 1},
                                            {ID, "200 OK", done, sizeof done - 1}};
    canned_server_start_answers(&server, answers, 2);
    (void)snprintf(text, sizeof text,
                   "job start estimate --campaign " ID " --revision 2 --wait --quiet --server %s",
                   server.url);
    process_run(&p, text);
    canned_server_stop(&server);
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.out, "revision                 2\n"), "%s", p.out);
    cr_assert_not_null(strstr(p.out, "holds 1,234,567 reports: --revision 1\n"), "%s", p.out);
}

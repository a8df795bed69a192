/* The program as an operator runs it: exit codes, one sentence on failure, signals. */
#include "base/compiler.h"
#include "unit/aggregator/http_client.h"
#include "unit/aggregator/service/dpotd.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TestSuite(dpotd, .init = dpotd_set_up, .fini = dpotd_tear_down);

Test(dpotd, help_and_version_are_printed_for_every_command)
{
    cr_assert_eq(RUN(ARG("--help")), 0);
    cr_assert_not_null(strstr(out, "Example:"));
    cr_assert_eq(RUN(ARG("--version")), 0);
    cr_assert_eq(strncmp(out, "dpotd ", 6), 0);
    static const char *const commands[] = {"init", "serve", "doctor"};
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(RUN(ARG(commands[i]), ARG("--help")), 0);
        cr_assert_not_null(strstr(out, "Example:\n  dpotd"), "%s", commands[i]);
    }
}

#if !DPOT_IS_SANITIZED /* shadow memory is larger than the limits */
Test(dpotd, ends_with_its_code_in_a_small_address_space)
{
    init();
    for (rlim_t mib = 80; mib <= 180; mib += 20) {
        address_limit = mib << 20;
        cr_assert_eq(RUN(ARG("--version")), 0, "%s", err);
        cr_assert_eq(strncmp(out, "dpotd ", 6), 0, "%s", out);
        cr_assert_eq(RUN(ARG("fly")), 2, "%s", err);
        cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("none.json")), 6, "%s", err);
    }
}
#endif

Test(dpotd, an_answer_that_cannot_be_written_is_exit_6)
{
    file_limit = 0;
    cr_assert_eq(RUN(ARG("--help")), 6);
    cr_assert_eq(RUN(ARG("--version")), 6);
}

Test(dpotd, a_wrong_command_line_is_exit_2)
{
    cr_assert_eq(finish(launch((char *[]){ARG("dpotd"), NULL})), 2);
    expect_sentence("a command is missing");
    cr_assert_eq(RUN(ARG("fly")), 2);
    expect_sentence("fly");
    cr_assert_eq(RUN(ARG("keys"), ARG("foo")), 2);
    expect_sentence("\"keys foo\" is not a command: keys takes list, add or prune");
    cr_assert_eq(RUN(ARG("keys")), 2);
    expect_sentence("keys takes list, add or prune");
    cr_assert_eq(RUN(ARG("keys"), ARG("--config"), ARG("f"), ARG("add")), 2);
    expect_sentence("keys takes list, add or prune first, then options, not --config");
    cr_assert_eq(RUN(ARG("--config"), ARG("f"), ARG("serve")), 2);
    expect_sentence("the command comes first");
    cr_assert_eq(RUN(ARG("serve"), ARG("--wings")), 2);
    expect_sentence("--wings");
    cr_assert_eq(RUN(ARG("serve"), ARG("--config")), 2);
    expect_sentence("--config");
    cr_assert_eq(RUN(ARG("serve")), 2);
    expect_sentence("--config FILE");
    cr_assert_eq(RUN(ARG("init")), 2);
    expect_sentence("--dir DIR");
    cr_assert_eq(RUN(ARG("init"), ARG("--config"), ARG("x")), 2);
}

Test(dpotd, init_prints_pin_and_token_and_refuses_to_run_twice)
{
    init();
    json_t *printed = fixture_json(out);
    cr_assert_eq(strlen(json_string_value(json_object_get(printed, "pin"))), 64);
    cr_assert_eq(strlen(json_string_value(json_object_get(printed, "token"))), 64);
    json_decref(printed);
    cr_assert_eq(RUN(ARG("init"), ARG("--dir"), folder), 3);
    expect_sentence("not overwritten");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--config"), in_folder("dpotd.json")), 0, "%s", err);
}

Test(dpotd, bad_config_is_exit_3_and_a_missing_file_exit_6)
{
    init();
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("nothing.json")), 6);
    expect_sentence("nothing.json");
    fixture_write(in_folder("bad.json"), "{\"listen\":\"127.0.0.1:0\",\"typo\":1}");
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("bad.json")), 3);
    expect_sentence("typo");
    fixture_write(in_folder("tokens"), "nonsense\n");
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 3);
    expect_sentence("line 1");
    cr_assert_eq(unlink(in_folder("tokens")), 0);
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 6);
    expect_sentence("tokens");
}

Test(dpotd, a_key_that_others_can_read_is_exit_3)
{
    init();
    cr_assert_eq(chmod(in_folder("keys/signing.key"), 0644), 0);
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 3);
    expect_sentence("chmod 600");
    cr_assert_eq(unlink(in_folder("keys/signing.key")), 0);
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 6);
    expect_sentence("signing.key");
}

Test(dpotd, a_store_that_cannot_be_opened_is_exit_6_and_one_that_is_none_exit_3)
{
    init();
    cr_assert_eq(mkdir(in_folder("dpot.db"), 0700), 0);
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 3);
    expect_sentence("dpot.db is a folder, pipe or device");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--config"), in_folder("dpotd.json")), 3);
    cr_assert_eq(rmdir(in_folder("dpot.db")), 0);
    fixture_write(in_folder("elsewhere.json"),
                  "{\"listen\":\"127.0.0.1:0\",\"store\":\"sqlite:none/dpot.db\","
                  "\"keys_dir\":\"keys\",\"tokens_file\":\"tokens\"}");
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("elsewhere.json")), 6);
    expect_sentence("none/dpot.db");
    fixture_write(in_folder("dpot.db"), "not a database at all, but long enough to be looked at\n");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--config"), in_folder("dpotd.json")), 3);
    expect_sentence("not a database");
}

static void stop_with(int signal_number)
{
    char url[128], line[256];
    struct http_reply reply;
    const pid_t child = serve(url, sizeof url);
    http_exchange(url, "GET", "/readyz", NULL, "", 0, &reply);
    cr_assert_eq(reply.status, 200);
    http_reply_release(&reply);
    cr_assert_eq(kill(child, signal_number), 0);
    cr_assert_eq(finish(child), 0, "%s", err);
    (void)snprintf(line, sizeof line, "dpotd: listening on %s\n", url);
    cr_assert_not_null(strstr(err, line), "%s", err);
    cr_assert_str_eq(out, "");
}

Test(dpotd, a_ready_file_of_an_earlier_run_is_removed_when_the_start_fails)
{
    init();
    fixture_write(in_folder("ready"), "http://127.0.0.1:1\n");
    fixture_write(in_folder("tokens"), "nonsense\n");
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json"), ARG("--ready-file"),
                     in_folder("ready")),
                 3);
    cr_assert_neq(access(in_folder("ready"), F_OK), 0);
}

Test(dpotd, serve_prints_its_address_and_stops_cleanly_on_a_signal)
{
    init();
    stop_with(SIGTERM);
    stop_with(SIGINT);
}

Test(dpotd, a_port_in_use_is_exit_6)
{
    char url[128];
    init();
    const pid_t child = serve(url, sizeof url);
    cr_assert_eq(RUN(ARG("init"), ARG("--dir"), in_folder("other")), 0, "%s", err);
    cr_assert_eq(
        finish(launch((char *[]){ARG("dpotd"), ARG("serve"), ARG("--config"),
                                 in_folder("other/dpotd.json"), ARG("--listen"), url + 7, NULL})),
        6);
    expect_sentence("choose another port");
    stop(child);
}

Test(dpotd, a_store_that_is_served_already_is_exit_6_until_its_server_is_gone)
{
    char url[128], who[64];
    init();
    pid_t child = serve(url, sizeof url);
    (void)snprintf(who, sizeof who, "served by process %ld", (long)child);
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json"), ARG("--listen"),
                     ARG("127.0.0.1:0"), ARG("--ready-file"), in_folder("ready")),
                 6);
    cr_assert_eq(access(in_folder("ready"), F_OK), 0, "the living server's ready file stays");
    expect_sentence(who);
    expect_sentence("dpot.db");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--config"), in_folder("dpotd.json")), 0, "%s", err);
    cr_assert_eq(kill(child, SIGKILL), 0);
    (void)waitpid(child, NULL, 0);
    child = serve(url, sizeof url);
    stop(child);
}

#define FILE_LIMIT 200000 /* bytes: the write-ahead log reaches this after a few campaigns */
#define CAMPAIGNS_MAX 200

static int create_campaign(const char *url, const char *token)
{
    return status_of(url, "POST", "/v1/admin/campaigns", token, fixture_census_spec);
}

Test(dpotd, a_file_at_its_limit_is_503_and_the_server_continues)
{
    char url[128], token[TOKEN_SIZE];
    int status = 201;
    init_for_token(token);
    file_limit = FILE_LIMIT;
    pid_t child = serve(url, sizeof url);
    for (int i = 0; i < CAMPAIGNS_MAX && status == 201; i++) {
        status = create_campaign(url, token);
    }
    cr_assert_eq(status, 503, "%d", status);
    const struct timespec a_check = {.tv_nsec = 100000000};
    int ready = 200; /* a page may fit where a campaign does not: each check takes one */
    for (int i = 0; i < 40 && ready == 200; i++) {
        cr_assert_eq(create_campaign(url, token), 503);
        (void)nanosleep(&a_check, NULL);
        ready = status_of(url, "GET", "/readyz", NULL, "");
    }
    cr_assert_eq(ready, 503);
    cr_assert_eq(status_of(url, "GET", "/v1/admin/campaigns", token, ""), 200);
    stop(child);
    file_limit = RLIM_INFINITY;
    child = serve(url, sizeof url);
    cr_assert_eq(create_campaign(url, token), 201);
    stop(child);
}

Test(dpotd, the_same_token_and_pin_hold_after_a_restart)
{
    char url[128], token[TOKEN_SIZE];
    struct http_reply reply;
    init_for_token(token);
    pid_t child = serve(url, sizeof url);
    http_exchange(url, "POST", "/v1/admin/campaigns", token, fixture_census_spec,
                  strlen(fixture_census_spec), &reply);
    cr_assert_eq(reply.status, 201);
    http_reply_release(&reply);
    cr_assert_eq(kill(child, SIGKILL), 0);
    (void)waitpid(child, NULL, 0);
    child = serve(url, sizeof url);
    http_exchange(url, "GET", "/v1/admin/campaigns", token, "", 0, &reply);
    cr_assert_eq(reply.status, 200);
    cr_assert_eq(dpot_buf_append(&reply.body, "", 1), DPOT_OK);
    cr_assert_not_null(strstr((const char *)reply.body.data, "\"census\""));
    http_reply_release(&reply);
    stop(child);
}

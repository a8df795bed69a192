/* dpot-device as scripts see it: real processes, a real folder, a real socket. */
#include "unit/client/http_server.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct authority authority;
static struct world world; /* the server's half only */
static struct http_server http;
static char folder[64];
static char dir[96], campaign[40], pin[80];

/* The paths of a request come without a host: the world's server looks at how they end. */
static void serve(void *ctx, const struct dpot_http_request *request, struct test_answer *answer)
{
    struct world *w = ctx;
    w->network.server(w, request, answer);
}

static void set_up(void)
{
    memcpy(folder, "/tmp/dpot-tool-XXXXXX", 22);
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(dir, sizeof dir, "%s/device", folder);
    authority_init(&authority, 1);
    authority.campaign.opens_ms = ((int64_t)time(NULL) - 3600) * 1000;
    authority.campaign.closes_ms = authority.campaign.opens_ms + DAY_MS;
    for (size_t i = 0; i < 2; i++) {
        authority.keys.seal_keys[i].not_after_ms = authority.campaign.closes_ms + DAY_MS;
    }
    authority_sign(&authority);
    authority_sign_keys(&authority);
    world_init(&world, &authority, 1);
    dpot_hex_encode(campaign, authority.campaign.id, 16);
    dpot_hex_encode(pin, authority.pin, 32);
    http_server_start(&http, serve, &world);
}

static void tear_down(void)
{
    static const char *const names[] = {"device.conf", "lock",    "ledger",
                                        "spool",       "install", "keys"};
    char path[256];
    http_server_stop(&http);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s/campaign-%s", dir, campaign);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/data.csv", folder);
    (void)unlink(path);
    (void)rmdir(dir);
    (void)rmdir(folder);
    world_release(&world);
    authority_release(&authority);
}

TestSuite(tool, .init = set_up, .fini = tear_down);

static char out[65536], err[65536];

static void read_all(int descriptor, char *text, size_t size)
{
    size_t len = 0;
    ssize_t n = 0;
    while (len + 1 < size && (n = read(descriptor, text + len, size - 1 - len)) > 0) {
        len += (size_t)n;
    }
    text[len] = '\0';
    (void)close(descriptor);
}

/* Runs dpot-device with the arguments up to NULL and `input` on its standard input; gives the exit
 * code, fills `out` and `err`. */
static int run(const char *input, const char *const *arguments)
{
    const char *argv[40] = {DPOT_TEST_BIN "/dpot-device"};
    int in_pipe[2], out_pipe[2], err_pipe[2], status = 0;
    for (size_t i = 0; arguments[i]; i++) {
        argv[i + 1] = arguments[i];
    }
    cr_assert_eq(pipe(in_pipe), 0);
    cr_assert_eq(pipe(out_pipe), 0);
    cr_assert_eq(pipe(err_pipe), 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)dup2(in_pipe[0], 0);
        (void)dup2(out_pipe[1], 1);
        (void)dup2(err_pipe[1], 2);
        (void)close(in_pipe[1]);
        (void)execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    (void)close(in_pipe[0]);
    (void)close(out_pipe[1]);
    (void)close(err_pipe[1]);
    if (input) {
        (void)!write(in_pipe[1], input, strlen(input));
    }
    (void)close(in_pipe[1]);
    read_all(out_pipe[0], out, sizeof out);
    read_all(err_pipe[0], err, sizeof err);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define RUN(input, ...) run(input, (const char *const[]){__VA_ARGS__, NULL})

static int enroll(const char *more)
{
    return RUN(NULL, "enroll", "--server", http.url, "--campaign", campaign, "--pin", pin, "--dir",
               dir, "--campaign-cap", "4", "--window-cap", "4", "--window-seconds", "86400",
               "--lifetime-cap", "20", more);
}

static json_t *parse_out(void)
{
    json_error_t error;
    json_t *json = json_loads(out, JSON_REJECT_DUPLICATES, &error);
    cr_assert_not_null(json, "%s in: %s", error.text, out);
    return json;
}

static void assert_json_text(const char *key, const char *expected)
{
    json_t *json = parse_out();
    const char *value = json_string_value(json_object_get(json, key));
    cr_assert_not_null(value, "no %s in: %s", key, out);
    cr_assert_str_eq(value, expected);
    json_decref(json);
}

static double json_number_of(const char *key)
{
    json_t *json = parse_out();
    cr_assert(json_is_number(json_object_get(json, key)), "no %s in: %s", key, out);
    const double value = json_number_value(json_object_get(json, key));
    json_decref(json);
    return value;
}

Test(tool, enrolls_reports_flushes_and_tells_its_status)
{
    cr_assert_eq(enroll("--json"), 0, "%s", err);
    assert_json_text("outcome", "enrolled");
    assert_json_text("campaign", campaign);
    cr_assert_eq(RUN("3\n4\n", "report", "--dir", dir, "--points", "-", "--json"), 0, "%s", err);
    assert_json_text("outcome", "reported");
    cr_assert_eq(RUN("3\n4\n", "report", "--dir", dir, "--points", "-", "--json"), 0, "%s", err);
    assert_json_text("outcome", "pending");
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--wait", "0", "--json"), 7, "%s", err);
    assert_json_text("outcome", "pending");
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--json"), 0, "%s", err);
    assert_json_text("outcome", "answered");
    cr_assert_eq(json_number_of("sent"), 1);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0, "%s", err);
    cr_assert_eq(json_number_of("submitted"), 1);
    cr_assert_eq(json_number_of("accepted"), 1);
    cr_assert_eq(json_number_of("pending"), 0);
    cr_assert_eq(json_number_of("spent_epsilon"), 1);
    cr_assert_eq(json_number_of("lifetime_epsilon_cap"), 20);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0, "%s", err);
    cr_assert_not_null(strstr(out, "Spent 1 of 20 "), "%s", out);
    cr_assert_eq(RUN("3\n", "report", "--dir", dir, "--points", "-"), 0);
    cr_assert_not_null(strstr(out, "done"), "%s", out);
}

Test(tool, a_missing_cap_is_refused_for_privacy_and_named)
{
    static const char *const caps[] = {"--campaign-cap", "--window-cap", "--window-seconds",
                                       "--lifetime-cap"};
    for (size_t missing = 0; missing < 4; missing++) {
        const char *arguments[24] = {"enroll", "--server", http.url, "--campaign", campaign,
                                     "--pin",  pin,        "--dir",  dir};
        size_t n = 9;
        for (size_t i = 0; i < 4; i++) {
            if (i != missing) {
                arguments[n++] = caps[i];
                arguments[n++] = "4";
            }
        }
        cr_assert_eq(run(NULL, arguments), 4);
        cr_assert_not_null(strstr(err, caps[missing]), "%s", err);
    }
}

Test(tool, a_cap_that_is_none_is_refused_for_privacy)
{
    cr_assert_eq(RUN(NULL, "enroll", "--server", http.url, "--campaign", campaign, "--pin", pin,
                     "--dir", dir, "--campaign-cap", "0", "--window-cap", "4", "--window-seconds",
                     "86400", "--lifetime-cap", "20", "--json"),
                 4);
    assert_json_text("status", "DPOT_ERR_CAP_UNSET");
}

Test(tool, mistakes_on_the_command_line_are_usage_errors)
{
    cr_assert_eq(RUN(NULL, "fly"), 2);
    cr_assert_eq(RUN(NULL, "status"), 2);
    cr_assert_eq(RUN(NULL, "status", "--dir"), 2);
    cr_assert_eq(RUN(NULL, "status", "--points", "x"), 2);
    cr_assert_eq(RUN(NULL, "report", "--dir", dir), 2);
    cr_assert_eq(RUN(NULL, "report", "--dir", dir, "--points", "-", "--histogram", "-"), 2);
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--wait", "soon"), 2);
    cr_assert_eq(RUN(NULL, "enroll", "--server", http.url), 2);
    cr_assert_eq(RUN(NULL, "enroll", "--server", http.url, "--campaign", "xyz", "--pin", pin,
                     "--dir", dir, "--campaign-cap", "4", "--window-cap", "4", "--window-seconds",
                     "1", "--lifetime-cap", "4"),
                 2);
    cr_assert_not_null(strstr(err, "--campaign"));
}

Test(tool, help_and_version_answer_without_a_folder)
{
    static const char *const commands[] = {"enroll", "report", "flush", "status"};
    cr_assert_eq(RUN(NULL, "--help"), 0);
    cr_assert_eq(RUN(NULL, "--version"), 0);
    cr_assert_not_null(strstr(out, DPOT_VERSION));
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(RUN(NULL, commands[i], "--help"), 0);
        cr_assert_not_null(strstr(out, "Example"), "%s", out);
    }
}

Test(tool, a_folder_that_was_never_enrolled_says_what_to_do)
{
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 3);
    cr_assert_not_null(strstr(err, "enroll"), "%s", err);
}

Test(tool, a_campaign_under_another_pin_is_refused)
{
    pin[0] = pin[0] == '0' ? '1' : '0';
    cr_assert_eq(enroll("--json"), 3);
    assert_json_text("status", "DPOT_ERR_SIGNATURE");
}

Test(tool, a_server_that_is_away_is_an_io_error)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN("1\n", "report", "--dir", dir, "--points", "-"), 0, "%s", err);
    http_server_stop(&http);
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--wait", "4", "--json"), 6, "%s", err);
    assert_json_text("status", "DPOT_ERR_NETWORK");
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
    cr_assert_eq(json_number_of("pending"), 1);
    cr_assert_eq(enroll(NULL), 6);
    http_server_start(&http, serve, &world); /* for tear_down */
}

Test(tool, bad_data_are_named_by_line_and_never_shown)
{
    static const char *const bad[] = {"1\nsecret\n", "1\n2,77\n", "1,2\n", "1\n0x10\n",
                                      "\n1,\n2\n"};
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(RUN(bad[i], "report", "--dir", dir, "--points", "-", "--json"), 3, "%zu: %s",
                     i, err);
        assert_json_text("outcome", "failed");
        cr_assert_null(strstr(out, "secret"));
        cr_assert_null(strstr(err, "secret"));
        cr_assert_null(strstr(err, "77"));
    }
    cr_assert_eq(RUN(NULL, "report", "--dir", dir, "--points", "/nonexistent"), 6);
    cr_assert_eq(RUN("1\n2\n", "report", "--dir", dir, "--histogram", "-"), 3);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
    cr_assert_eq(json_number_of("submitted"), 0);
}

Test(tool, headers_weights_and_files_are_read)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/data.csv", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs("place,weight\r\n3,0.5\r\n\r\n4,2\r\n", file);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN(NULL, "report", "--dir", dir, "--points", path, "--weighted"), 0, "%s", err);
    cr_assert_not_null(strstr(out, "reported"));
}

Test(tool, a_campaign_that_has_not_opened_is_not_ready)
{
    authority.campaign.opens_ms += 7200 * 1000;
    authority_sign(&authority);
    http_server_stop(&http);
    http_server_start(&http, serve, &world);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN("1\n", "report", "--dir", dir, "--points", "-", "--json"), 7, "%s", err);
    assert_json_text("status", "DPOT_ERR_NOT_OPEN");
}

Test(tool, a_device_without_data_reports_like_any_other)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN("", "report", "--dir", dir, "--points", "-", "--json"), 0, "%s", err);
    assert_json_text("outcome", "reported");
}

Test(tool, a_histogram_is_read_one_number_a_line)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN("1\n0\n0\n2\nnan\n0\n0\n1\n", "report", "--dir", dir, "--histogram", "-"), 0,
                 "%s", err);
}

Test(tool, an_exhausted_budget_is_refused_for_privacy)
{
    char path[128];
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    (void)snprintf(path, sizeof path, "%s/ledger", dir);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(RUN("1\n", "report", "--dir", dir, "--points", "-", "--json"), 4);
    assert_json_text("status", "DPOT_ERR_LEDGER");
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0);
    cr_assert_not_null(strstr(out, "cannot be trusted"));
}

Test(tool, its_settings_are_for_the_owner_alone)
{
    char path[128];
    struct stat about;
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    (void)snprintf(path, sizeof path, "%s/device.conf", dir);
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 0777, 0600);
}

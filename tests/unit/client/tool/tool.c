#include "unit/client/tool/tool.h"

#include "support/child.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct authority authority;
struct world world;
struct http_server http;
char folder[64], dir[96], campaign[40], pin[80];
char out[65536], err[65536];

/* The HTTP status of every answer to a POST (0: the world's), and the status in its receipt. The
 * server's process knows them if it is started afterwards. */
static int post_status;
static uint8_t post_receipt;

/* Paths come without a host: the world's server compares only their ends. */
static void serve(void *ctx, const struct dpot_http_request *request, struct test_answer *answer)
{
    struct world *w = ctx;
    if (post_status == 0 || strcmp(request->method, "POST") != 0) {
        w->network.server(w, request, answer);
        return;
    }
    const uint8_t receipt[] = {0x0a, 0x01, post_receipt};
    answer->status = post_status;
    answer->body_len = post_receipt == UINT8_MAX ? sizeof answer->body
                       : post_receipt > 0        ? sizeof receipt
                                                 : 0;
    answer->content_type = "application/x-protobuf";
    memcpy(answer->body, receipt, sizeof receipt);
    if (post_status == 409) {
        test_answer_refuse(answer, post_status, request);
    }
}

void start_serving(void)
{
    http_server_start(&http, serve, &world);
}

void serve_posts_with(int status, uint8_t receipt)
{
    post_status = status;
    post_receipt = receipt;
    http_server_stop(&http);
    start_serving();
}

void tool_set_up(void)
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

void tool_forget_device(void)
{
    static const char *const names[] = {"device.conf", "lock",    "ledger",    "spool", "install",
                                        "keys",        "consent", "withdrawn", "pause", "sending"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s/campaign-%s", dir, campaign);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/work-%s", dir, campaign);
    (void)unlink(path);
    (void)rmdir(dir);
}

void tool_tear_down(void)
{
    char path[256];
    http_server_stop(&http);
    tool_forget_device();
    (void)snprintf(path, sizeof path, "%s/data.csv", folder);
    (void)unlink(path);
    (void)rmdir(folder);
    world_release(&world);
    authority_release(&authority);
}

void read_all(int descriptor, char *text, size_t size)
{
    size_t len = 0;
    ssize_t n = 0;
    while (len + 1 < size && (n = read(descriptor, text + len, size - 1 - len)) > 0) {
        len += (size_t)n;
    }
    text[len] = '\0';
    (void)close(descriptor);
}

/* No sentence of the program may use terms of the C API. */
static void assert_in_words_of_the_command_line(void)
{
    static const char *const words[] = {"dpot_client_", "config.", "handle", "DPOT_ACCOUNTANT"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_assert_null(strstr(err, words[i]), "%s", err);
    }
}

int run(const char *input, const char *const *arguments)
{
    const char *argv[40] = {DPOT_TEST_BIN "/dpot-device"};
    int in_pipe[2], out_pipe[2], err_pipe[2], status = 0;
    for (size_t i = 0; arguments[i]; i++) {
        argv[i + 1] = arguments[i];
    }
    cr_assert_eq(pipe(in_pipe), 0);
    cr_assert_eq(pipe(out_pipe), 0);
    cr_assert_eq(pipe(err_pipe), 0);
    const pid_t child = child_fork();
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
    assert_in_words_of_the_command_line();
    return WEXITSTATUS(status);
}

int enroll(const char *more)
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

void assert_json_text(const char *key, const char *expected)
{
    json_t *json = parse_out();
    const char *value = json_string_value(json_object_get(json, key));
    cr_assert_not_null(value, "no %s in: %s", key, out);
    cr_assert_str_eq(value, expected);
    json_decref(json);
}

double json_number_of(const char *key)
{
    json_t *json = parse_out();
    cr_assert(json_is_number(json_object_get(json, key)), "no %s in: %s", key, out);
    const double value = json_number_value(json_object_get(json, key));
    json_decref(json);
    return value;
}

void report_once(void)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN("3\n", "report", "--dir", dir, "--points", "-"), 0, "%s", err);
}

void write_settings_of_before(const char *url, const char *more)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/device.conf", dir);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_gt(fprintf(file,
                         "server=%s\ncampaign=%s\npin=%s\ncampaign_cap=4\nwindow_cap=4\n"
                         "window_seconds=86400\nlifetime_cap=20\n%s",
                         url, campaign, pin, more),
                 0);
    cr_assert_eq(fclose(file), 0);
}

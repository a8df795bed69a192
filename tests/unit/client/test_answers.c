/* Answers that are not the server's, or not about this POST: replayed receipts, web pages of
 * proxies and captive portals; and a round that has not opened at the server, which delays its
 * report only. */
#include "backoff.h"
#include "proto/wire_report.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HOUR_MS ((int64_t)3600 * 1000)
#define NOT_OPEN "{\"error\":\"this round has not opened yet\",\"status\":\"DPOT_ERR_NOT_OPEN\"}"

static struct authority authority;
static struct world world;

/* What a middlebox has stored of the previous exchange, and whether it answers with that. */
static struct test_answer kept;
static bool replays;
static const char *served_as; /* content type of the answer to a POST */

static void serve(void *ctx, const struct dpot_http_request *request, struct test_answer *answer)
{
    if (strcmp(request->method, "POST") != 0) {
        world_server(ctx, request, answer);
    } else if (replays) {
        *answer = kept;
    } else {
        world_server(ctx, request, answer);
        kept = *answer;
        answer->content_type = served_as ? served_as : answer->content_type;
    }
}

static void set_up(void)
{
    authority_init(&authority, 20);
    world_init(&world, &authority, 1);
    test_transport_init(&world.network, serve, &world);
    replays = false;
    served_as = NULL;
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(answers, .init = set_up, .fini = tear_down);

static dpot_client *with_report(void)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    return client;
}

static void assert_says(const dpot_client *client, const char *words)
{
    cr_assert_not_null(strstr(dpot_client_last_error(client), words), "%s",
                       dpot_client_last_error(client));
}

/* A second campaign of the same signer, and a report to it. */
static void report_to_another(dpot_client *client)
{
    struct dpot_buf bytes;
    uint8_t id[DPOT_CAMPAIGN_ID_LEN];
    const double place = 1;
    authority.campaign.id[15] ^= 0xff;
    authority_sign_campaign(&authority, &authority.campaign, &bytes);
    authority.campaign.id[15] ^= 0xff;
    cr_assert_eq(dpot_client_import(client, bytes.data, bytes.len, id), DPOT_OK);
    cr_assert_eq(dpot_client_submit_points(client, id, &place, NULL, 1, 1, NULL), DPOT_OK);
    dpot_buf_release(&bytes);
}

/* ---- receipts ---- */

Test(answers, a_receipt_that_was_replayed_deletes_nothing)
{
    dpot_client *client = with_report();
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    replays = true;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NETWORK);
    assert_says(client, "for another batch");
    cr_assert_eq(world.n_received, 1, "the second has not arrived");
    cr_assert_eq(world_status(client).n_pending, 1);
    replays = false;
    world.clock.now_ms += HOUR_MS;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 2);
    cr_assert_eq(world.n_received, 2);
    dpot_client_close(client);
}

/* Sealing is randomised: the receipt of an earlier try of the same report does not fit this try. */
Test(answers, a_receipt_of_an_earlier_try_does_not_count)
{
    dpot_client *client = with_report();
    test_transport_script(&world.network,
                          (struct test_script){.status = 503, .reaches_server = true});
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_SERVER);
    replays = true;
    world.clock.now_ms += HOUR_MS;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NETWORK);
    cr_assert_eq(world_status(client).n_pending, 1);
    replays = false;
    world.clock.now_ms += HOUR_MS;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_duplicate, 1);
    dpot_client_close(client);
}

Test(answers, an_older_server_whose_receipts_name_no_post_is_trusted)
{
    world.is_old_server = true;
    dpot_client *client = with_report();
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

/* As short as a digest: without the type that dpotd gives it, anything may look like it. */
Test(answers, a_receipt_that_names_no_post_needs_the_type_of_one)
{
    static const char *const types[] = {NULL, "text/plain", "application/octet-stream",
                                        "application/json"};
    dpot_client *client = with_report();
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        test_transport_script(
            &world.network,
            (struct test_script){.status = 202, .content_type = types[i], .body = "\x0a\x01\x01"});
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NETWORK);
        cr_assert_eq(world_status(client).n_pending, 1);
        world.clock.now_ms += HOUR_MS + 1;
    }
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(client);
}

/* ---- refusals ---- */

/* Refusals of the received POST, in several spellings. */
static int refusal_status;
static const char *refusal_format, *refusal_type = "application/json";
static void serve_refusal(void *ctx, const struct dpot_http_request *request,
                          struct test_answer *answer)
{
    uint8_t digest[DPOT_HASH_LEN];
    char hex[2 * DPOT_HASH_LEN + 1];
    if (strcmp(request->method, "POST") != 0) {
        world_server(ctx, request, answer);
        return;
    }
    dpot_wire_batch_digest(request->body, request->body_len, digest);
    dpot_hex_encode(hex, digest, sizeof digest);
    answer->status = refusal_status;
    answer->content_type = refusal_type;
    answer->body_len =
        (size_t)snprintf((char *)answer->body, sizeof answer->body, refusal_format, hex);
}

#define CLOSED "{\"status\":\"DPOT_ERR_CLOSED\",\"closed\":\"revision\",\"batch\":\"%s\""

static const int dropping[] = {400, 409, 413};
#define N_DROPPING (sizeof dropping / sizeof dropping[0])
#define OTHER "6f3b1d7a6f3b1d7a6f3b1d7a6f3b1d7a6f3b1d7a6f3b1d7a6f3b1d7a6f3b1d7a"

/* The statuses that go with 400, 409 and 413. */
static const char *const names[] = {"DPOT_ERR_MALFORMED", "DPOT_ERR_CLOSED", "DPOT_ERR_TOO_LARGE"};

/* Pumps into this answer to each dropping status: the report must be kept. */
static void expect_kept(dpot_client *client, const char *type, const char *format,
                        dpot_status expected, const char *words)
{
    static char body[1024]; /* outlives the script's row */
    for (size_t i = 0; i < N_DROPPING; i++) {
        (void)snprintf(body, sizeof body, format, names[i], names[i]);
        world.network.n_script = world.network.script_used = 0;
        test_transport_script(
            &world.network,
            (struct test_script){.status = dropping[i], .content_type = type, .body = body});
        cr_assert_eq(world_pump(&world, client, NULL), expected, "HTTP %d: %s", dropping[i], body);
        assert_says(client, words);
        cr_assert_eq(world_status(client).n_pending, 1, "HTTP %d: %s", dropping[i], body);
        world.clock.now_ms += HOUR_MS + 1;
    }
}

static void expect_sent(dpot_client *client)
{
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

static const char json[] = "application/json";

Test(answers, a_refusal_of_another_batch_than_was_sent_deletes_nothing)
{
    static const char *const bodies[] = {
        "{\"error\":\"x\",\"status\":\"%s\",\"batch\":\"" OTHER "\"}",
        " { \"batch\" :\n \"" OTHER "\" ,\t\"status\":\"%s\" } ",
        "{\"status\":\"%s\",\"batch\":\"6f3b\"}",
        "{\"status\":\"%s\",\"batch\":\"" OTHER "0f\"}", /* too long for a digest */
    };
    dpot_client *client = with_report();
    for (size_t j = 0; j < sizeof bodies / sizeof bodies[0]; j++) {
        expect_kept(client, json, bodies[j], DPOT_ERR_NETWORK, "for another batch");
    }
    expect_sent(client);
}

Test(answers, a_refusal_of_a_body_that_was_not_read_deletes_nothing)
{
    static const char *const bodies[] = {
        "{\"error\":\"the body is larger than 9 bytes\",\"status\":\"%s\"}",
        "{\"error\":\"\",\"status\":\"%s\",\"batch\":\"\"}",
    };
    dpot_client *client = with_report();
    for (size_t j = 0; j < sizeof bodies / sizeof bodies[0]; j++) {
        expect_kept(client, json, bodies[j], DPOT_ERR_SERVER, "refused the report unread");
    }
    expect_sent(client);
}

/* What other programs answer in the server's place. */
Test(answers, a_refusal_that_is_not_dpotds_deletes_nothing)
{
    static const struct {
        const char *type, *body;
    } rows[] = {
        {NULL, ""},
        {"text/html", ""},
        {"text/plain", "closed\n"},
        {"text/plain; charset=utf-8", "Client sent an HTTP request to an HTTPS server.\n"},
        {"text/plain; charset=utf-8", "400 Bad Request: missing required Host header"},
        {"text/plain", "413 Request Entity Too Large"},
        {"text/plain", "upstream connect error or disconnect/reset before headers"},
        {"text/plain", "4 < 5"},
        {"text/plain", "<"},
        {json, "{}"},
        {json, "[]"},
        {json, "null"},
        {json, "{\"error\": \"closed\"}"},
        {json, "{\"message\":\"Bad Request\",\"request_id\":\"7b\"}"},
        {json, "{\"error\":{\"code\":409,\"status\":\"DPOT_ERR_CLOSED\"}}"},
        {json, "{\"error\":\"x\",\"status\":409,\"batch\":null}"},
        {"application/problem+json", "{\"status\":\"%s\",\"batch\":\"\"}"},
        {"text/plain", "{\"status\":\"%s\",\"batch\":\"" OTHER "\"}"},
        {json, "{\"status\":\"%s\",\"batch\":\"" OTHER},        /* cut off */
        {json, "{\"status\":\"%s\",\"batch\":\"" OTHER "\"}}"}, /* and more */
        {json, "{\"status\":\"%s\",\"status\":\"%s\"}"},
        {NULL, "HTTP/1.1 400 Bad Request\r\nDate: Mon, 01 Jan 2029 00:00:00 GMT\r\n"},
        {json, "\xef\xbb\xbf{\"status\":\"%s\"}"},
        {"application/grpc", "\x08\x01"},
    };
    dpot_client *client = with_report();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_kept(client, rows[i].type, rows[i].body, DPOT_ERR_NETWORK,
                    "in place of the server's answer");
    }
    expect_sent(client);
}

Test(answers, a_refusal_of_the_batch_that_was_sent_drops_it)
{
    static const char *const formats[] = {
        "{\"error\":\"x\",\"status\":\"DPOT_ERR_SIGNATURE\",\"batch\":\"%s\"}",
        ("{\"x\":\"\\\"batch\\\":\", \"batch\" :\n\"%s\",\"status\":\"DPOT_ERR_CLOSED\","
         "\"closed\":\"revision\"}\n"),
        "{\"status\":\"DPOT_ERR_TOO_LARGE\",\"batch\":\"%s\"}"};
    static const char *const types[] = {"application/json", NULL,
                                        "Application/JSON; charset=utf-8"};
    test_transport_init(&world.network, serve_refusal, &world);
    dpot_client *client = world_enroll(&world);
    for (size_t i = 0; i < N_DROPPING; i++) {
        refusal_status = dropping[i];
        refusal_format = formats[i];
        refusal_type = types[i];
        world.clock.now_ms = OPENS_MS + (int64_t)(i + 1) * DAY_MS - HOUR_MS / 2;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK, "HTTP %d: %s", dropping[i],
                     dpot_client_last_error(client));
    }
    cr_assert_eq(world_status(client).n_dropped_malformed, 2);
    cr_assert_eq(world_status(client).n_dropped_closed, 1);
    dpot_client_close(client);
}

/* The digest alone is not enough: status, type and form must be dpotd's, too. */
Test(answers, a_refusal_with_the_right_batch_and_another_status_deletes_nothing)
{
    static const struct {
        int status;
        const char *type, *format;
    } rows[] = {
        {409, json, "{\"status\":\"DPOT_ERR_TOO_LARGE\",\"batch\":\"%s\"}"},
        {413, json, "{\"status\":\"DPOT_ERR_CLOSED\",\"batch\":\"%s\"}"},
        {400, json, "{\"status\":\"OK\",\"batch\":\"%s\"}"},
        {400, json, "{\"batch\":\"%s\"}"},
        {400, json, "{\"status\":\"DPOT_ERR_\",\"batch\":\"%s\"}"},
        {400, json, "{\"status\":\"DPOT_ERR_MALFORMED_\",\"batch\":\"%s\"}"},
        {400, json, "{\"status\":\"DPOT_ERR_TOO_LARGE\",\"batch\":\"%s\"}"},
        {400, json, "{\"status\":\"DPOT_ERR_CLOSED\",\"batch\":\"%s\",\"closed\":\"revision\"}"},
        {409, json, "{\"status\":\"DPOT_ERR_CLOSED\",\"batch\":\"%s\"}"},
        {409, json, "{\"status\":\"DPOT_ERR_CLOSED\",\"batch\":\"%s\",\"closed\":\"junk\"}"},
        {409, json, CLOSED ",\"b\\u0061tch\":\"" OTHER "\"}"}, /* twice */
        {409, json, CLOSED ",\"cl\\u006fsed\":\"round\"}"},
        {409, "text/plain", CLOSED "}"},
        {409, "application/jsonp", CLOSED "}"},
        {409, json, "(" CLOSED "})"},
    };
    dpot_client *client = with_report();
    test_transport_init(&world.network, serve_refusal, &world);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        refusal_status = rows[i].status;
        refusal_type = rows[i].type;
        refusal_format = rows[i].format;
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NETWORK, "row %zu", i);
        cr_assert_eq(world_status(client).n_pending, 1, "row %zu", i);
        world.clock.now_ms += HOUR_MS + 1;
    }
    dpot_client_close(client);
}

/* It is never proven, so only its age ends it, and the others go on. */
Test(answers, a_report_that_is_always_refused_unproven_ends_by_age_and_alone)
{
    dpot_client *client = with_report();
    test_transport_script(&world.network, (struct test_script){.status = 413});
    report_to_another(client);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NETWORK);
    cr_assert_eq(world.n_received, 1, "the other campaign goes on");
    for (int i = 0; i < 20; i++) {
        world.clock.now_ms += DAY_MS;
        world.network.n_script = world.network.script_used = 0;
        test_transport_script(&world.network, (struct test_script){.status = 413});
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NETWORK, "day %d", i);
    }
    world.clock.now_ms += 40 * DAY_MS;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_dropped_age, 1);
    dpot_client_close(client);
}

/* A proxy that remembers another device's refusal. */
Test(answers, a_refusal_that_was_replayed_deletes_nothing)
{
    dpot_client *client = with_report();
    test_transport_init(&world.network, serve_refusal, &world);
    refusal_status = 409;
    refusal_format = CLOSED "}";
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_dropped_closed, 1);
    world.clock.now_ms += DAY_MS;
    authority.campaign.revision = 2;
    authority_sign(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    static char old[160];
    (void)snprintf(old, sizeof old, CLOSED "}", OTHER);
    refusal_format = old;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NETWORK);
    cr_assert_eq(world_status(client).n_pending, 1);
    dpot_client_close(client);
}

/* ---- web pages ---- */

Test(answers, a_web_page_deletes_nothing_whatever_its_status)
{
    static const int statuses[] = {400, 409, 413, 410, 404, 200, 202, 302, 511, 503};
    static const struct {
        const char *type, *body;
    } pages[] = {
        {"text/html", "Please log in"},
        {"Text/HTML; charset=utf-8", "<!DOCTYPE html><html></html>"},
        {NULL, "\r\n <html><body>409</body></html>"},
        {"text/plain", "<HTML>"},
        {"application/octet-stream", "<?xml version=\"1.0\"?>"},
    };
    dpot_client *client = with_report();
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        for (size_t j = 0; j < sizeof pages / sizeof pages[0]; j++) {
            /* For a status that decides nothing only how the bytes begin counts. */
            const bool is_page = j > 0 || statuses[i] != 200;
            test_transport_script(&world.network,
                                  (struct test_script){.status = statuses[i],
                                                       .content_type = pages[j].type,
                                                       .body = pages[j].body});
            cr_assert_eq(world_pump(&world, client, NULL),
                         is_page ? DPOT_ERR_NETWORK : DPOT_ERR_SERVER, "HTTP %d, page %zu",
                         statuses[i], j);
            if (is_page) {
                assert_says(client, "came in place of the server's answer");
            }
            cr_assert_eq(world_status(client).n_pending, 1, "HTTP %d, page %zu", statuses[i], j);
            world.clock.now_ms += HOUR_MS + 1;
            if (world.network.n_script == TEST_SCRIPT_MAX) {
                world.network.n_script = world.network.script_used = 0;
            }
        }
    }
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

/* In text/html: accepted with the digest of what was sent; without it the report is kept. */
Test(answers, a_receipt_in_text_html_must_name_what_was_sent)
{
    for (int is_old = 0; is_old < 2; is_old++) {
        dpot_client *client = with_report();
        served_as = "text/html";
        world.is_old_server = is_old;
        cr_assert_eq(world_pump(&world, client, NULL), is_old ? DPOT_ERR_NETWORK : DPOT_OK);
        cr_assert_eq(world_status(client).n_pending, (uint64_t)is_old);
        dpot_client_close(client);
        tear_down();
        set_up();
    }
}

static void serve_login(void *ctx, const struct dpot_http_request *request,
                        struct test_answer *answer)
{
    static const char page[] = "<html>Welcome to the hotel</html>";
    (void)request;
    answer->status = *(const int *)ctx;
    answer->content_type = "text/html";
    answer->body_len = sizeof page - 1;
    memcpy(answer->body, page, answer->body_len);
}

Test(answers, behind_a_login_page_enrolling_says_so)
{
    static const int statuses[] = {200, 409, 404, 302};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        int status = statuses[i];
        dpot_client *client = world_open(&world);
        test_transport_init(&world.network, serve_login, &status);
        cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_NETWORK);
        assert_says(client, "web page");
        dpot_client_close(client);
    }
}

Test(answers, a_redirect_is_not_followed_and_named)
{
    dpot_client *client = with_report();
    test_transport_script(&world.network, (struct test_script){.status = 307});
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_SERVER);
    assert_says(client, "a redirect, which is not followed (give the URL that it leads to)");
    world.clock.now_ms += HOUR_MS + 1;
    test_transport_script(&world.network, (struct test_script){.status = 304});
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_SERVER);
    assert_says(client, "HTTP status 304, an unexpected answer");
    cr_assert_eq(world_status(client).n_pending, 1);
    dpot_client_close(client);
}

/* ---- a round that has not opened at the server ---- */

Test(answers, a_round_that_is_not_open_at_the_server_delays_its_own_report_only)
{
    struct dpot_pump_result result;
    dpot_client *client = with_report();
    report_to_another(client);
    test_transport_script(&world.network, (struct test_script){.status = 503,
                                                               .retry_after_s = 3600,
                                                               .content_type = "application/json",
                                                               .body = NOT_OPEN});
    cr_assert_eq(world_pump(&world, client, &result), DPOT_ERR_NOT_OPEN);
    assert_says(client, "c0ffee01020304050607080909090909: round 0 has not opened at the server");
    assert_says(client, "2023-11-14"); /* the clock */
    cr_assert_eq(world.n_received, 1, "the other campaign goes on");
    cr_assert_eq(result.n_accepted, 1);
    cr_assert_eq(result.n_pending, 1);
    cr_assert_gt(result.next_due_ms, world.clock.now_ms + HOUR_MS);
    cr_assert_leq(result.next_due_ms, world.clock.now_ms + HOUR_MS + 2000);
    dpot_client_close(client);

    /* Another process waits with this report as well, and with no other. */
    client = world_open(&world);
    report_to_another(client);
    world.clock.now_ms += HOUR_MS / 2;
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    world.clock.now_ms += HOUR_MS / 2 + 2000;
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(world.n_received, 2);
    cr_assert_eq(result.n_pending, 0);
    dpot_client_close(client);
}

/* The file has room for twelve: the others are tried again earlier, never later. */
Test(answers, more_held_reports_than_the_file_holds_are_no_trouble)
{
    struct dpot_pump_result result;
    dpot_client *client = world_enroll(&world);
    for (int i = 0; i < 14; i++) {
        world.clock.now_ms = OPENS_MS + i * DAY_MS + HOUR_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        test_transport_script(
            &world.network,
            (struct test_script){.status = 503, .retry_after_s = 86400, .body = NOT_OPEN});
    }
    cr_assert_eq(world_pump(&world, client, &result), DPOT_ERR_NOT_OPEN);
    cr_assert_eq(world.network.script_used, 14);
    dpot_client_close(client);
    client = world_open(&world);
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(world.n_received, 2, "two were forgotten");
    world.clock.now_ms += DAY_MS + 2000;
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(world.n_received, 14);
    dpot_client_close(client);
}

Test(answers, an_unknown_campaign_that_asks_to_wait_delays_its_own_report_only)
{
    dpot_client *client = with_report();
    report_to_another(client);
    test_transport_script(&world.network,
                          (struct test_script){.status = 404, .retry_after_s = 3600});
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(world.n_received, 1);
    world.clock.now_ms += HOUR_MS / 2;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    world.clock.now_ms += HOUR_MS / 2 + 2000;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 2);
    dpot_client_close(client);
}

/* Any other 503 is about the server. */
Test(answers, a_server_without_its_store_delays_all_reports)
{
    dpot_client *client = with_report();
    report_to_another(client);
    test_transport_script(
        &world.network,
        (struct test_script){
            .status = 503,
            .retry_after_s = 5,
            .body = "{\"error\":\"the disk is full\",\"status\":\"DPOT_ERR_NO_SPACE\"}"});
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_SERVER);
    cr_assert_eq(world.n_received, 0);
    dpot_client_close(client);
}

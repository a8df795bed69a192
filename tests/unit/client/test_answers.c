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

TestSuite(answers, .init = set_up, .fini = tear_down, .timeout = 60);

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

/* ---- refusals ---- */

/* Refusals of the received POST, in several spellings. */
static int refusal_status;
static const char *refusal_format;
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
    answer->content_type = "application/json";
    answer->body_len =
        (size_t)snprintf((char *)answer->body, sizeof answer->body, refusal_format, hex);
}

static const int dropping[] = {400, 409, 413};
#define N_DROPPING (sizeof dropping / sizeof dropping[0])
#define OTHER "6f3b1d7a6f3b1d7a6f3b1d7a6f3b1d7a6f3b1d7a6f3b1d7a6f3b1d7a6f3b1d7a"

Test(answers, a_refusal_of_another_batch_than_was_sent_deletes_nothing)
{
    static const char *const bodies[] = {
        "{\"error\":\"x\",\"status\":\"DPOT_ERR_CLOSED\",\"batch\":\"" OTHER "\"}",
        "{ \"batch\" :\n \"" OTHER "\" }",
        "{\"batch\":\"\"}", /* none was read */
        "{\"batch\":\"6f3b\"}",
        "{\"batch\":null}",
        "{\"batch\":\"6f3b", /* cut off */
        "{\"batch\":",
        "{\"error\":\"batch\",\"batch\":\"" OTHER "0\"}",
    };
    dpot_client *client = with_report();
    for (size_t i = 0; i < N_DROPPING; i++) {
        for (size_t j = 0; j < sizeof bodies / sizeof bodies[0]; j++) {
            test_transport_script(&world.network,
                                  (struct test_script){.status = dropping[i], .body = bodies[j]});
            cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NETWORK, "HTTP %d, body %zu",
                         dropping[i], j);
            assert_says(client, "for another batch");
            cr_assert_eq(world_status(client).n_pending, 1);
            world.clock.now_ms += HOUR_MS + 1;
        }
    }
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

Test(answers, a_refusal_of_the_batch_that_was_sent_drops_it)
{
    static const char *const formats[] = {
        "{\"error\":\"x\",\"batch\":\"%s\"}",
        "{\"error\":\"no \\\"batch\\\": here\", \"batch\" : \"%s\"}", "{\"error\":\"batch\"}"};
    test_transport_init(&world.network, serve_refusal, &world);
    dpot_client *client = world_enroll(&world);
    for (size_t i = 0; i < N_DROPPING; i++) {
        refusal_status = dropping[i];
        refusal_format = formats[i];
        world.clock.now_ms = OPENS_MS + (int64_t)(i + 1) * DAY_MS - HOUR_MS / 2;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK, "HTTP %d: %s", dropping[i],
                     dpot_client_last_error(client));
    }
    cr_assert_eq(world_status(client).n_dropped_malformed, 2);
    cr_assert_eq(world_status(client).n_dropped_closed, 1);
    dpot_client_close(client);
}

/* A proxy that remembers another device's refusal. */
Test(answers, a_refusal_that_was_replayed_deletes_nothing)
{
    dpot_client *client = with_report();
    test_transport_init(&world.network, serve_refusal, &world);
    refusal_status = 409;
    refusal_format = "{\"batch\":\"%s\"}";
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_dropped_closed, 1);
    world.clock.now_ms += DAY_MS;
    authority.campaign.revision = 2;
    authority_sign(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    static char old[128];
    (void)snprintf(old, sizeof old, "{\"batch\":\"%s\"}", OTHER);
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
                assert_says(client, "web page");
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

/* The contract: an answer without a body, or with one that is no web page, is the server's. */
Test(answers, a_bare_answer_is_the_servers)
{
    static const struct test_script rows[] = {
        {.status = 409},
        {.status = 409, .content_type = "text/html"},
        {.status = 409, .content_type = "text/plain", .body = "closed\n"},
        {.status = 409, .content_type = "application/json", .body = "{\"error\": \"closed\"}"},
        {.status = 400, .content_type = "text/plain", .body = "4 < 5"},
        {.status = 413, .body = "<"},
    };
    const size_t n_rows = sizeof rows / sizeof rows[0];
    dpot_client *client = world_enroll(&world);
    for (size_t i = 0; i < n_rows; i++) {
        world.clock.now_ms = OPENS_MS + (int64_t)(i + 1) * DAY_MS - HOUR_MS / 2;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        test_transport_script(&world.network, rows[i]);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK, "row %zu", i);
    }
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_dropped_closed, 4);
    cr_assert_eq(status.n_dropped_malformed, 2);
    dpot_client_close(client);
}

/* The HTTP library of a server answers a damaged Content-Length so, without reading the POST. */
Test(answers, a_head_in_place_of_a_refusal_deletes_nothing)
{
    static const int statuses[] = {400, 409, 413};
    dpot_client *client = with_report();
    for (size_t i = 0; i < 3; i++) {
        const char head[] = "HTTP/1.1 400 Bad Request\r\nDate: Mon, 01 Jan 2029 00:00:00 GMT\r\n";
        kept = (struct test_answer){.status = statuses[i], .body_len = sizeof head - 1};
        memcpy(kept.body, head, sizeof head - 1);
        replays = true;
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NETWORK);
        assert_says(client, "the head of another answer");
        cr_assert_eq(world_status(client).n_pending, 1);
        world.clock.now_ms += 2 * HOUR_MS;
    }
    dpot_client_close(client);
}

Test(answers, a_refusal_in_another_encoding_is_not_the_servers)
{
    static const struct {
        const char *body;
        size_t len;
    } rows[] = {
        {"\xef\xbb\xbf<html>", 9}, {"\xef\xbb\xbf{}", 5}, {"\xff\xfe<\0h\0", 6},
        {"\xfe\xff\0<\0h", 6},     {"no\0", 3},           {"\0", 1},
        {"ferm\xe9", 5},           {"\xe2\x82", 2},       {"\xc0\xaf", 2},
        {"\xf5\x80\x80\x80", 4},
    };
    static const int statuses[] = {400, 409, 413};
    dpot_client *client = with_report();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kept = (struct test_answer){.status = statuses[i % 3], .body_len = rows[i].len};
        memcpy(kept.body, rows[i].body, rows[i].len);
        replays = true;
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_NETWORK, "row %zu", i);
        assert_says(client, "another encoding");
        cr_assert_eq(world_status(client).n_pending, 1);
        world.clock.now_ms += HOUR_MS + 1;
    }
    kept = (struct test_answer){.status = 409, .body_len = 10};
    memcpy(kept.body, "ferm\xc3\xa9 \xe2\x82\xac", 10);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_dropped_closed, 1);
    dpot_client_close(client);
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
    assert_says(client, "redirect");
    cr_assert_eq(world_status(client).n_pending, 1);
    dpot_client_close(client);
}

/* ---- a round that has not opened at the server ---- */

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

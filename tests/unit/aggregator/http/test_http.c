/* The server on loopback, as devices and analysts use it. */
#include "store/sqlite_store.h"
#include "unit/aggregator/http/rig.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

TestSuite(http, .init = http_set_up, .fini = http_tear_down);

Test(http, a_living_process_is_healthy_and_a_store_that_answers_is_ready)
{
    cr_assert_eq(get("/healthz"), 200);
    cr_assert_str_eq(text, "ok\n");
    cr_assert_eq(get("/readyz"), 200);
}

Test(http, keys_are_served_signed)
{
    struct dpot_keys keys;
    cr_assert_eq(get("/v1/keys"), 200);
    cr_assert_eq(strncmp(http_header(&last, "Content-Type"), "application/x-protobuf", 22), 0);
    cr_assert_eq(dpot_wire_keys_open(app.signed_keys.data, app.signed_keys.len,
                                     registry_pin(rig.registry), NULL, &keys, NULL),
                 DPOT_OK);
    cr_assert_eq(memcmp(text, app.signed_keys.data, app.signed_keys.len), 0);
}

Test(http, a_campaign_is_served_as_signed_open_or_closed_but_not_as_a_draft)
{
    struct dpot_signed_campaign content;
    struct http_reply reply;
    http_exchange(server_url(server), "GET", campaign_path("/v1/campaigns", ""), NULL, "", 0,
                  &reply);
    cr_assert_eq(reply.status, 200);
    cr_assert_eq(dpot_wire_campaign_open(reply.body.data, reply.body.len,
                                         registry_pin(rig.registry), NULL, &content, NULL),
                 DPOT_OK);
    cr_assert_eq(memcmp(content.campaign.id, rig.record.campaign_id, DPOT_CAMPAIGN_ID_LEN), 0);
    dpot_signed_campaign_release(&content);
    http_reply_release(&reply);
    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/close"), TOKEN, "", 0),
                 200);
    http_exchange(server_url(server), "GET", campaign_path("/v1/campaigns", ""), NULL, "", 0,
                  &reply);
    cr_assert_eq(reply.status, 409, "a device is not to be charged for it");
    cr_assert_eq(dpot_wire_campaign_open(reply.body.data, reply.body.len,
                                         registry_pin(rig.registry), NULL, &content, NULL),
                 DPOT_OK, "analysts still read it");
    dpot_signed_campaign_release(&content);
    http_reply_release(&reply);

    struct revision_record draft;
    json_t *spec = fixture_spec();
    cr_assert_eq(registry_create(rig.registry, spec, &draft, NULL), DPOT_OK);
    json_decref(spec);
    dpot_hex_encode(hex_id, draft.campaign_id, sizeof draft.campaign_id);
    cr_assert_eq(get(campaign_path("/v1/campaigns", "")), 404);
}

Test(http, unknown_paths_are_404_and_other_methods_405)
{
    cr_assert_eq(get("/"), 404);
    cr_assert_eq(get("/v1/campaigns/00000000000000000000000000000000"), 404);
    cr_assert_eq(get("/v1/campaigns/zz000000000000000000000000000000"), 404);
    cr_assert_eq(get("/v1/campaigns/00"), 404);
    cr_assert_eq(get("/v1/keys/"), 404);
    cr_assert_eq(request("DELETE", "/v1/keys", NULL, "", 0), 405);
    cr_assert_eq(strncmp(http_header(&last, "Allow"), "GET, HEAD\r\n", 11), 0);
    cr_assert_eq(get(reports_path), 405);
    cr_assert_eq(strncmp(http_header(&last, "Allow"), "POST\r\n", 6), 0);
    cr_assert_eq(request("PUT", "/v1/admin/campaigns", NULL, "", 0), 405);
    cr_assert_eq(strncmp(http_header(&last, "Allow"), "GET, HEAD, POST\r\n", 17), 0);
    cr_assert_not_null(strstr(text, "DPOT_ERR_ARGUMENT"));
}

Test(http, head_is_get_without_the_body)
{
    cr_assert_eq(request("HEAD", "/v1/keys", NULL, "", 0), 200);
    cr_assert_eq(strtoul(http_header(&last, "Content-Length"), NULL, 10), app.signed_keys.len);
    cr_assert_eq(request("HEAD", "/nowhere", NULL, "", 0), 404);
}

/* The last answer must name the POST it is for. */
static void read_receipt(const struct dpot_buf *body, enum dpot_report_status statuses[2])
{
    uint8_t digest[DPOT_HASH_LEN];
    const size_t len = strtoul(http_header(&last, "Content-Length"), NULL, 10);
    dpot_wire_batch_digest(body->data, body->len, digest);
    cr_assert_eq(dpot_wire_receipt_decode(text, len, digest, NULL, statuses, 2), DPOT_OK);
    digest[0] ^= 1;
    cr_assert_eq(dpot_wire_receipt_decode(text, len, digest, NULL, statuses, 2),
                 DPOT_ERR_SIGNATURE);
}

Test(http, reports_are_accepted_once_over_http)
{
    enum dpot_report_status statuses[2];
    struct dpot_buf body = sealed(0, 2);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    cr_assert_eq(strncmp(http_header(&last, "Content-Type"), "application/x-protobuf", 22), 0);
    read_receipt(&body, statuses);
    cr_assert_eq(statuses[0], DPOT_REPORT_ACCEPTED);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    read_receipt(&body, statuses);
    cr_assert_eq(statuses[0], DPOT_REPORT_DUPLICATE);
    cr_assert_eq(rig_count(&rig).n_accepted, 2);
    dpot_buf_release(&body);
}

Test(http, every_verdict_of_ingest_is_a_status)
{
    struct dpot_buf body = sealed(0, 1);
    cr_assert_eq(request("POST", reports_path, NULL, "junk", 4), 400);
    cr_assert_eq(strncmp(http_header(&last, "Content-Type"), "application/json", 16), 0);
    cr_assert_not_null(strstr(text, "\"status\":\"DPOT_ERR_MALFORMED\""), "%s", text);
    cr_assert_eq(request("POST", reports_path, NULL, "", 0), 400);
    body.data[4] ^= 1;
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 410);
    body.data[4] ^= 1;
    rig.clock.now_ms -= INT64_C(86400000) * 365;
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 503);
    cr_assert_not_null(http_header(&last, "Retry-After"));
    cr_assert_not_null(strstr(text, "DPOT_ERR_NOT_OPEN"), "%s", text);
    rig.clock.now_ms += INT64_C(86400000) * 365;
    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/close"), TOKEN, "", 0),
                 200);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 409);
    reports_path[14] ^= 1;
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 404);
    dpot_buf_release(&body);
}

Test(http, the_admin_api_asks_for_a_token)
{
    static const char *const paths[] = {"/v1/admin/campaigns",
                                        "/v1/admin/campaigns/00000000000000000000000000000000"};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(request("GET", paths[i], NULL, "", 0), 401);
        cr_assert_not_null(http_header(&last, "WWW-Authenticate"));
        cr_assert_not_null(strstr(text, "DPOT_ERR_DENIED"));
        cr_assert_eq(request("GET", paths[i], "wrong", "", 0), 403);
        cr_assert_eq(request("GET", paths[i], TOKEN "x", "", 0), 403);
        cr_assert_eq(request("GET", paths[i], TOKEN, "", 0), i == 0 ? 200 : 404);
    }
}

Test(http, a_campaign_lives_through_the_admin_api)
{
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, fixture_census_spec,
                         strlen(fixture_census_spec)),
                 201);
    json_t *record = fixture_json(text);
    cr_assert_str_eq(json_string_value(json_object_get(record, "state")), "draft");
    cr_assert_str_eq(json_string_value(json_object_get(record, "name")), "census");
    cr_assert_eq(json_integer_value(json_object_get(record, "revision")), 1);
    cr_assert_eq(strlen(json_string_value(json_object_get(record, "hash"))), 64);
    (void)snprintf(hex_id, sizeof hex_id, "%s", json_string_value(json_object_get(record, "id")));
    json_decref(record);

    cr_assert_eq(request("GET", "/v1/admin/campaigns", TOKEN, "", 0), 200);
    json_t *list = fixture_json(text);
    const json_t *rows = json_object_get(list, "campaigns");
    cr_assert_eq(json_array_size(rows), 2);
    cr_assert_str_eq(json_string_value(json_object_get(json_array_get(rows, 0), "id")), hex_id);
    cr_assert_str_eq(json_string_value(json_object_get(json_array_get(rows, 0), "created")),
                     "2026-06-01T00:00:00Z");
    json_decref(list);

    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/open"), TOKEN, "", 0), 200);
    cr_assert_not_null(strstr(text, "\"open\""));
    cr_assert_eq(request("GET", campaign_path("/v1/admin/campaigns", ""), TOKEN, "", 0), 200);
    json_t *shown = fixture_json(text);
    cr_assert_str_eq(json_string_value(json_object_get(json_object_get(shown, "spec"), "metric")),
                     "haversine");
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(shown, "pool"), "min_pool")),
                 1000);
    json_decref(shown);
    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/close"), TOKEN, "", 0),
                 200);
    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/open"), TOKEN, "", 0), 409);
    cr_assert_not_null(strstr(text, "DPOT_ERR_CLOSED"));
}

Test(http, a_refused_spec_is_answered_with_its_key)
{
    static const char unknown[] = "{\"typo\":1}", broken[] = "{\"name\":";
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, unknown, sizeof unknown - 1), 400);
    cr_assert_not_null(strstr(text, "typo"));
    cr_assert_not_null(strstr(text, "DPOT_ERR_MALFORMED"));
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, broken, sizeof broken - 1), 400);
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, "", 0), 400);
    cr_assert_eq(request("POST", "/v1/admin/campaigns", TOKEN, "\xff\xfe", 2), 400);
    cr_assert_eq(rig.record.state, REVISION_OPEN);
}

/* `text` holds the indices of reports from .. from + n - 1. */
static void expect_export(uint32_t from, uint32_t n)
{
    struct dpot_report reports[64];
    for (uint32_t i = 0; i < n; i++) {
        reports[i] = fixture_report(from + i);
    }
    fixture_sort(reports, n);
    for (uint32_t i = 0; i < n; i++) {
        cr_assert_eq(dpot_load_u32((const uint8_t *)text + 4 * (size_t)i), reports[i].index);
    }
}

Test(http, the_pool_is_counted_and_exported_in_order)
{
    struct dpot_buf body = sealed(0, 25);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    dpot_buf_release(&body);
    cr_assert_eq(request("GET", campaign_path("/v1/admin/campaigns", "/pool"), TOKEN, "", 0), 200);
    json_t *pool = fixture_json(text);
    cr_assert_eq(json_integer_value(json_object_get(pool, "n")), 25);
    cr_assert_eq(json_integer_value(json_object_get(pool, "accepted")), 25);
    cr_assert_eq(json_integer_value(json_object_get(pool, "duplicate")), 25);
    cr_assert_eq(
        json_integer_value(json_object_get(json_object_get(pool, "rejected"), "malformed")), 0);
    cr_assert(json_is_true(json_object_get(pool, "is_ready")));
    cr_assert(json_is_null(json_object_get(pool, "scale")));
    cr_assert_str_eq(json_string_value(json_object_get(pool, "mechanism")), "wpm");
    json_decref(pool);
    cr_assert_eq(request("GET", campaign_path("/v1/admin/campaigns", "/pool/export"), TOKEN, "", 0),
                 200);
    cr_assert_eq(strtoul(http_header(&last, "Content-Length"), NULL, 10), 100);
    expect_export(0, 25);
}

/* Runs one statement behind the store's back. */
static void tamper(const char *sql)
{
    struct sqlite_store *s = sqlite_store_lock(rig.store);
    struct query q = query_start(s->database, STATEMENT_PROBE, sql);
    cr_assert(query_run(q));
    sqlite_store_unlock(s);
}

Test(http, a_pool_that_lost_reports_is_counted_and_not_exported)
{
    for (uint32_t i = 0; i < 3; i++) {
        struct dpot_buf body = sealed(10 * i, 10);
        cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
        dpot_buf_release(&body);
    }
    tamper("DELETE FROM block WHERE first = (SELECT first FROM block LIMIT 1)");
    cr_assert_eq(request("GET", campaign_path("/v1/admin/campaigns", "/pool/export"), TOKEN, "", 0),
                 500);
    cr_assert_not_null(strstr(text, "the store holds 20 reports and counted 30"), "%s", text);
    cr_assert_eq(request("GET", campaign_path("/v1/admin/campaigns", "/pool"), TOKEN, "", 0), 200);
}

Test(http, an_index_pool_has_no_coefficients)
{
    struct dpot_buf body = sealed(0, 2);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    dpot_buf_release(&body);
    cr_assert_eq(
        request("GET", campaign_path("/v1/admin/campaigns", "/pool/coefficients"), TOKEN, "", 0),
        400);
    cr_assert_not_null(strstr(text, "DPOT_ERR_SHAPE"));
    cr_assert_not_null(strstr(text, "wpm"));
    cr_assert_eq(
        request("GET", campaign_path("/v1/admin/campaigns", "/pool/coefficients"), NULL, "", 0),
        401);
}

Test(http, a_pool_of_vectors_is_described_and_exported_in_data_units)
{
    const struct dpot_campaign campaign = vectors_gaussian();
    int64_t values[4][VECTORS_DCT_DIM];
    struct dpot_report reports[4];
    struct dpot_buf body;
    vectors_open(rig.store, &campaign, rig.secret_key, &rig.record);
    rig_find_length(&rig);
    dpot_hex_encode(hex_id, rig.record.campaign_id, sizeof rig.record.campaign_id);
    for (uint32_t i = 0; i < 4; i++) {
        reports[i] = vectors_report(i, VECTORS_DCT_DIM, 200, values[i]);
    }
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, NULL);
    rig_seal(&rig, &rig.secret.key, 0, reports, 4, &body);
    fixture_sort(reports, 4);
    cr_assert_eq(
        request("POST", campaign_path("/v1/campaigns", "/reports"), NULL, body.data, body.len), 202,
        "%s", text);
    dpot_buf_release(&body);
    cr_assert_eq(request("GET", campaign_path("/v1/admin/campaigns", "/pool"), TOKEN, "", 0), 200);
    json_t *pool = fixture_json(text);
    cr_assert_eq(json_integer_value(json_object_get(pool, "n")), 4);
    cr_assert_eq(json_number_value(json_object_get(pool, "scale")), 32);
    cr_assert_eq(json_integer_value(json_object_get(pool, "data_dim")), VECTORS_DCT_DATA_DIM);
    json_decref(pool);
    cr_assert_eq(request("GET", campaign_path("/v1/admin/campaigns", "/pool/export"), TOKEN, "", 0),
                 200);
    cr_assert_eq(strtoul(http_header(&last, "Content-Length"), NULL, 10),
                 8 * VECTORS_DCT_DATA_DIM * 4);
    cr_assert_eq(
        request("GET", campaign_path("/v1/admin/campaigns", "/pool/coefficients"), TOKEN, "", 0),
        200);
    cr_assert_eq(strtoul(http_header(&last, "Content-Length"), NULL, 10), 8 * VECTORS_DCT_DIM * 4);
    for (size_t i = 0; i < VECTORS_DCT_DIM * 4; i++) {
        const uint64_t bits = dpot_load_u64((const uint8_t *)text + 8 * i);
        double number;
        memcpy(&number, &bits, sizeof number);
        cr_assert_eq(number,
                     0.5 * (double)reports[i / VECTORS_DCT_DIM].values[i % VECTORS_DCT_DIM]);
    }
}

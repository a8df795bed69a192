/* One campaign with two revisions and a pool each: every answer is about the revision that was
 * named. */
#include "unit/aggregator/http/rig.h"

#include "proto/wire_campaign.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define N_FIRST 25 /* reports 0 .. 24 in revision 1 */
#define N_SECOND 7 /* reports 103 .. 109 in revision 2 */
#define SECOND_FROM 103u

static struct revision_record first;

static int admin(const char *method, const char *tail, const char *body)
{
    return request(method, campaign_path("/v1/admin/campaigns", tail), TOKEN, body, strlen(body));
}

/* The JSON of a successful answer. */
static json_t *ask(const char *method, const char *tail, const char *body)
{
    const int status = admin(method, tail, body);
    cr_assert(status == 200 || status == 201, "%s %s: %d %s", method, tail, status, text);
    return fixture_json(text);
}

static void post(uint32_t from, size_t n)
{
    struct dpot_buf body = sealed(from, n);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    dpot_buf_release(&body);
}

static void refuse(const char *tail, int status, const char *word)
{
    cr_assert_eq(admin("GET", tail, ""), status, "%s: %d %s", tail, last.status, text);
    cr_assert_not_null(strstr(text, word), "%s says: %s", tail, text);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static json_int_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *hex_of(const uint8_t *hash)
{
    static char hex[2 * DPOT_HASH_LEN + 1];
    dpot_hex_encode(hex, hash, DPOT_HASH_LEN);
    return hex;
}

static void revise(void)
{
    json_decref(ask("POST", "/revise",
                    "{\"base_measure\":[0.12,0.06,0.18,0.12,0.12,0.12,0.06,0.18,0.12,0.12]}"));
}

static void set_up(void)
{
    http_set_up();
    first = rig.record;
    post(0, N_FIRST);
    revise();
    json_t *opened = ask("POST", "/open", "");
    const json_t *closed = json_object_get(opened, "closed");
    cr_assert_eq(integer_of(opened, "revision"), 2);
    cr_assert_eq(integer_of(closed, "revision"), 1);
    cr_assert_eq(integer_of(closed, "reports"), N_FIRST);
    cr_assert_str_eq(text_of(closed, "state"), "closed");
    cr_assert_eq(dpot_hex_decode(text_of(opened, "hash"), rig.record.hash, DPOT_HASH_LEN), DPOT_OK);
    json_decref(opened);
    post(SECOND_FROM, N_SECOND);
}

TestSuite(http_revisions, .init = set_up, .fini = http_tear_down);

static void expect_export(const char *tail, uint32_t from, size_t n)
{
    cr_assert_eq(admin("GET", tail, ""), 200, "%s: %s", tail, text);
    cr_assert_eq(strtoul(http_header(&last, "Content-Length"), NULL, 10), 4 * n);
    struct dpot_report reports[64];
    cr_assert_leq(n, 64);
    for (uint32_t i = 0; i < n; i++) {
        reports[i] = fixture_report(from + i);
    }
    fixture_sort(reports, n);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(dpot_load_u32((const uint8_t *)text + 4 * i), reports[i].index);
    }
}

Test(http_revisions, the_export_of_each_is_what_went_into_it)
{
    expect_export("/pool/export?revision=1", 0, N_FIRST);
    expect_export("/pool/export?revision=2", SECOND_FROM, N_SECOND);
    expect_export("/pool/export", SECOND_FROM, N_SECOND);
    post(SECOND_FROM + N_SECOND, 3);
    expect_export("/pool/export?revision=1", 0, N_FIRST);
    expect_export("/pool/export?revision=2", SECOND_FROM, N_SECOND + 3);
}

static void expect_pool(const char *tail, const struct revision_record *record, uint32_t number,
                        const char *state, json_int_t n, uint32_t other, json_int_t n_other)
{
    json_t *pool = ask("GET", tail, "");
    const json_t *others = json_object_get(pool, "other_revisions");
    cr_assert_eq(integer_of(pool, "revision"), number);
    cr_assert_str_eq(text_of(pool, "state"), state);
    cr_assert_str_eq(text_of(pool, "campaign_hash"), hex_of(record->hash));
    cr_assert_eq(integer_of(pool, "accepted"), n);
    cr_assert_eq(json_array_size(others), 1);
    cr_assert_eq(integer_of(json_array_get(others, 0), "revision"), other);
    cr_assert_eq(integer_of(json_array_get(others, 0), "reports"), n_other);
    json_decref(pool);
}

Test(http_revisions, a_pool_says_which_revision_it_is_of_and_where_else_reports_are)
{
    expect_pool("/pool", &rig.record, 2, "open", N_SECOND, 1, N_FIRST);
    expect_pool("/pool?revision=2", &rig.record, 2, "open", N_SECOND, 1, N_FIRST);
    expect_pool("/pool?revision=1", &first, 1, "closed", N_FIRST, 2, N_SECOND);
}

/* Scripts look for the last "accepted" or "state" in the text. */
Test(http_revisions, lists_of_others_stand_first)
{
    static const char *const tails[] = {"/pool?revision=1", "?revision=1"};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(admin("GET", tails[i], ""), 200);
        const char *list = strstr(text, i == 0 ? "\"other_revisions\":[" : "\"revisions\":[");
        cr_assert_eq(list, text + 1, "%s", text);
        const char *end = strchr(list, ']');
        cr_assert_not_null(strstr(end, "\"state\":\"closed\""), "%s", text);
        cr_assert_null(strstr(end, "\"state\":\"open\""), "%s", text);
        cr_assert_not_null(strstr(end, "\"accepted\":25"), "%s", text);
    }
}

Test(http_revisions, a_campaign_lists_them_all)
{
    revise(); /* revision 3, a draft without reports */
    static const struct {
        json_int_t revision;
        const char *state;
        json_int_t accepted;
    } expected[] = {{3, "draft", 0}, {2, "open", N_SECOND}, {1, "closed", N_FIRST}};
    json_t *campaign = ask("GET", "?revision=1", "");
    cr_assert_eq(integer_of(campaign, "revision"), 1);
    cr_assert_str_eq(text_of(campaign, "hash"), hex_of(first.hash));
    cr_assert_eq(integer_of(json_object_get(campaign, "spec"), "revision"), 1);
    cr_assert_eq(integer_of(json_object_get(campaign, "pool"), "accepted"), N_FIRST);
    const json_t *revisions = json_object_get(campaign, "revisions");
    cr_assert_eq(json_array_size(revisions), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = json_array_get(revisions, i);
        cr_assert_eq(integer_of(row, "revision"), expected[i].revision);
        cr_assert_str_eq(text_of(row, "state"), expected[i].state);
        cr_assert_eq(integer_of(row, "reports"), expected[i].accepted);
        cr_assert_str_eq(text_of(row, "opens"), "2026-01-01T00:00:00Z");
        cr_assert_str_eq(text_of(row, "closes"), "2027-01-01T00:00:00Z");
    }
    cr_assert_str_eq(text_of(json_array_get(revisions, 2), "hash"), hex_of(first.hash));
    json_decref(campaign);
    campaign = ask("GET", "", "");
    cr_assert_eq(integer_of(campaign, "revision"), 2, "the open one, not the draft");
    json_decref(campaign);
    json_t *pool = ask("GET", "/pool?revision=3", "");
    cr_assert_str_eq(text_of(pool, "state"), "draft");
    cr_assert_eq(json_array_size(json_object_get(pool, "other_revisions")), 2);
    json_decref(pool);
}

Test(http_revisions, the_signed_campaign_of_each_is_there_for_admins)
{
    const struct revision_record *const records[] = {&first, &rig.record};
    for (uint32_t i = 0; i < 2; i++) {
        struct dpot_signed_campaign content;
        char tail[40];
        (void)snprintf(tail, sizeof tail, "/signed?revision=%u", i + 1);
        cr_assert_eq(admin("GET", tail, ""), 200);
        const size_t len = strtoul(http_header(&last, "Content-Length"), NULL, 10);
        cr_assert_eq(
            dpot_wire_campaign_open(text, len, registry_pin(rig.registry), NULL, &content, NULL),
            DPOT_OK);
        cr_assert_arr_eq(content.hash, records[i]->hash, DPOT_HASH_LEN);
        cr_assert_eq(content.campaign.revision, i + 1);
        dpot_signed_campaign_release(&content);
    }
    cr_assert_eq(request("GET", campaign_path("/v1/admin/campaigns", "/signed"), NULL, "", 0), 401);
}

Test(http_revisions, a_number_that_does_not_exist_is_404_with_those_that_do)
{
    static const char *const tails[] = {"?revision=3", "/pool?revision=3",
                                        "/pool/export?revision=3", "/signed?revision=3",
                                        "/pool?revision=4294967295"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        refuse(tails[i], 404, "choose from 2 (open), 1 (closed)");
        cr_assert_not_null(strstr(text, "DPOT_ERR_NOT_FOUND"));
    }
}

Test(http_revisions, what_is_no_number_is_refused_with_its_text)
{
    static const char *const values[] = {"0",          "",    "one",  "-1",
                                         "1.0",        "1e0", "+1",   "0x1",
                                         "4294967296", "%31", "1%20", "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char tail[64], word[80];
        (void)snprintf(tail, sizeof tail, "/pool?revision=%s", values[i]);
        (void)snprintf(word, sizeof word, "is \\\"%s\\\": give a number from 1",
                       strcmp(values[i], "+1") == 0 ? " 1" : values[i]);
        refuse(tail, 400, strcmp(values[i], "+1") == 0 ? "give a number from 1" : word);
    }
    refuse("/pool?revision", 400, "give a number from 1");
    refuse("/pool?revision=1&revision=2", 400, "given twice");
    refuse("/pool?revision=1&revision=1", 400, "given twice");
}

Test(http_revisions, a_query_that_a_path_does_not_take_is_refused_by_name)
{
    refuse("?revison=1", 400, "\\\"revison\\\" is not known here: only revision=N is");
    refuse("/pool?Revision=1", 400, "\\\"Revision\\\"");
    refuse("/pool?revision=1&limit=5", 400, "\\\"limit\\\"");
    refuse("/pool?%72evision=1", 400, "%72evision");
    refuse("/pool/export?hash=ab", 400, "\\\"hash\\\"");
    cr_assert_eq(request("GET", "/v1/admin/campaigns?revision=1", TOKEN, "", 0), 400);
    cr_assert_not_null(strstr(text, "only limit=N and after=HASH are"), "%s", text);
    cr_assert_eq(admin("POST", "/open?revision=1", ""), 400);
    cr_assert_not_null(strstr(text, "this path takes none"), "%s", text);
    cr_assert_eq(admin("POST", "/close?revison=1", ""), 400);
    cr_assert_eq(admin("POST", "/revise?revision=1", "{}"), 400);
    json_t *pool = ask("GET", "/pool", "");
    cr_assert_str_eq(text_of(pool, "state"), "open", "a refused close closes nothing");
    json_decref(pool);
    cr_assert_eq(
        request("GET", campaign_path("/v1/admin/campaigns", "/pool?limit=5"), "wrong", "", 0), 403,
        "the token comes first");
    cr_assert_eq(get("/healthz?probe=1"), 200, "public paths are not about one revision");
}

Test(http_revisions, closing_is_repeated_without_harm_and_takes_a_number)
{
    revise();
    for (int i = 0; i < 2; i++) {
        json_t *closed = ask("POST", "/close", "");
        cr_assert_eq(integer_of(closed, "revision"), 2);
        json_decref(closed);
    }
    json_t *draft = ask("GET", "?revision=3", "");
    cr_assert_str_eq(text_of(draft, "state"), "draft");
    json_decref(draft);
    json_t *abandoned = ask("POST", "/close?revision=3", "");
    cr_assert_str_eq(text_of(abandoned, "state"), "closed");
    cr_assert_eq(integer_of(abandoned, "revision"), 3);
    json_decref(abandoned);
    cr_assert_eq(admin("POST", "/close?revision=9", ""), 404);
}

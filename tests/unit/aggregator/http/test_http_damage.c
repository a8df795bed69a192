/* Damaged reports are seen: readiness and metrics say that there are some, to administrators which
 * campaign has them. */
#include "unit/aggregator/http/whole.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(http_damage, .init = whole_set_up, .fini = whole_tear_down);

/* Every block is rotated by a byte, and back. */
#define ROTATED(first, rest) "UPDATE block SET reports = CAST(" first " || " rest " AS BLOB)"
static const char damage[] = ROTATED("substr(reports, 2)", "substr(reports, 1, 1)");
static const char repair[] =
    ROTATED("substr(reports, -1)", "substr(reports, 1, length(reports) - 1)");

static char page[16384]; /* of the last answer */

static int get(const char *path)
{
    struct http_reply reply;
    http_exchange(whole_url(), "GET", path, whole_token(), "", 0, &reply);
    const int status = reply.status;
    (void)snprintf(page, sizeof page, "%.*s", (int)reply.body.len, (const char *)reply.body.data);
    http_reply_release(&reply);
    return status;
}

static void expect_count(int n)
{
    char line[64];
    (void)snprintf(line, sizeof line, "\ndpotd_revisions_damaged %d\n", n);
    cr_assert_eq(get("/metrics"), 200);
    cr_assert_not_null(strstr(page, line), "%s", page);
    cr_assert_null(strstr(page, whole_id));
}

static void expect_damage(const json_t *object, bool is_damaged)
{
    const char *sentence = text_of(object, "damage");
    cr_assert_eq(strstr(sentence, "not what was written") != NULL, is_damaged, "%s", sentence);
    cr_assert_not_null(json_object_get(object, "damage"));
}

/* What the administrator sees of the campaign. */
static void expect_campaign(bool is_damaged)
{
    char path[128];
    json_t *list = whole_call("GET", "/v1/admin/campaigns", "", 200);
    expect_damage(json_array_get(json_object_get(list, "campaigns"), 0), is_damaged);
    json_decref(list);
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s", whole_id);
    json_t *shown = whole_call("GET", path, "", 200);
    expect_damage(shown, is_damaged);
    expect_damage(json_array_get(json_object_get(shown, "revisions"), 0), is_damaged);
    json_decref(shown);
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/pool", whole_id);
    json_t *pool = whole_call("GET", path, "", 200);
    expect_damage(pool, is_damaged);
    json_decref(pool);
}

static void expect_ready(bool is_ready)
{
    cr_assert_eq(get("/readyz"), is_ready ? 200 : 503);
    cr_assert_str_eq(page,
                     is_ready ? "ok\n" : "the server takes no reports now: its log says why\n");
}

static int export_pool(void)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/pool/export", whole_id);
    return get(path);
}

static void restart_with(const char *sql)
{
    whole_close();
    if (sql) {
        whole_tamper(sql);
    }
    whole_open();
}

Test(http_damage, damage_found_at_the_start_is_named_to_administrators_only)
{
    char line[96];
    whole_close();
    whole_add_reports(0, 4);
    whole_open();
    expect_ready(true);
    expect_count(0);
    expect_campaign(false);
    restart_with(damage);
    expect_ready(false);
    expect_count(1);
    expect_campaign(true);
    whole_close();
    (void)snprintf(line, sizeof line, "event=store.damage campaign=%s revision=1", whole_id);
    cr_assert_not_null(strstr(whole_log(), line), "%s", whole_log());
    (void)snprintf(line, sizeof line, "revision 1 of campaign %s: a block", whole_id);
    cr_assert_not_null(strstr(whole_log(), line), "the refused readiness: %s", whole_log());
    whole_open();
}

Test(http_damage, damage_found_by_a_job_or_an_export_is_seen_until_a_sound_reading)
{
    whole_close();
    whole_add_reports(0, 4);
    whole_open();
    whole_tamper(damage);
    expect_ready(true);
    json_t *job = whole_wait(whole_start("estimate", "{}", 202));
    cr_assert_str_eq(text_of(job, "state"), "failed");
    json_decref(job);
    expect_ready(false);
    expect_count(1);
    expect_campaign(true);
    whole_tamper(repair);
    cr_assert_eq(export_pool(), 200, "%s", page);
    expect_ready(true);
    expect_count(0);
    expect_campaign(false);
    whole_tamper(damage);
    cr_assert_eq(export_pool(), 500);
    expect_ready(false);
    expect_count(1);
}

Test(http_damage, damage_of_a_closed_revision_is_counted_and_costs_no_readiness)
{
    char path[128];
    whole_close();
    whole_add_reports(0, 4);
    restart_with(damage);
    expect_ready(false);
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%s/close", whole_id);
    json_decref(whole_call("POST", path, "", 200));
    expect_ready(true);
    expect_count(1);
    expect_campaign(true);
}

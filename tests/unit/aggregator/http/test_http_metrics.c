/* GET /metrics: the counts add up for every outcome of a report, and after a restart. */
#include "unit/aggregator/http/rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void open_counts(void)
{
    cr_assert_eq(tally_new(rig.store, &rig.ingest.tally, NULL), DPOT_OK);
}

TestSuite(metrics, .init = http_set_up, .fini = http_tear_down);

/* The value of a line of the page in `text`. */
static uint64_t value_of(const char *name)
{
    char line[128];
    (void)snprintf(line, sizeof line, "\n%s ", name);
    const char *found = strstr(text, line);
    cr_assert_not_null(found, "%s is not there", name);
    return strtoull(found + strlen(line), NULL, 10);
}

static uint64_t sum_of(const char *name)
{
    char start[128];
    uint64_t sum = 0;
    (void)snprintf(start, sizeof start, "\n%s{", name);
    for (const char *line = strstr(text, start); line; line = strstr(line + 1, start)) {
        sum += strtoull(strchr(line, ' ') + 1, NULL, 10);
    }
    return sum;
}

static int scrape(const char *token)
{
    return request("GET", "/metrics", token, "", 0);
}

static void expect_law(uint64_t submitted)
{
    cr_assert_eq(scrape(TOKEN), 200);
    cr_assert_eq(value_of("dpotd_reports_submitted_total"), submitted);
    cr_assert_eq(value_of("dpotd_reports_accepted_total") +
                     value_of("dpotd_reports_duplicate_total") +
                     sum_of("dpotd_reports_rejected_total") +
                     sum_of("dpotd_reports_dropped_total") + value_of("dpotd_reports_pending"),
                 submitted);
}

static int post(uint32_t first, size_t n)
{
    struct dpot_buf body = sealed(first, n);
    const int status = request("POST", reports_path, NULL, body.data, body.len);
    dpot_buf_release(&body);
    return status;
}

/* Sends reports with every outcome and returns their number. */
static uint64_t post_all_ways(void)
{
    struct dpot_report reports[3] = {fixture_report(1), fixture_report(2), fixture_report(3)};
    struct dpot_buf body;
    cr_assert_eq(post(0, 10), 202);
    cr_assert_eq(post(5, 10), 202);
    reports[0].index = 1000;
    reports[1].group = 7;
    reports[2].test = true;
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, NULL);
    rig_seal(&rig, &rig.secret.key, 0, reports, 3, &body);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    dpot_buf_reset(&body);
    rig_seal(&rig, &rig.secret.key, 9, reports, 3, &body);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 400);
    cr_assert_eq(request("POST", reports_path, NULL, "DPB1", 4), 400);
    dpot_buf_release(&body);
    return 10 + 10 + 3 + 3;
}

Test(metrics, every_report_is_somewhere)
{
    const uint64_t n = post_all_ways();
    expect_law(n);
    cr_assert_eq(value_of("dpotd_reports_accepted_total"), 15);
    cr_assert_eq(value_of("dpotd_reports_duplicate_total"), 5);
    cr_assert_eq(value_of("dpotd_reports_rejected_total{reason=\"range\"}"), 1);
    cr_assert_eq(value_of("dpotd_reports_rejected_total{reason=\"group\"}"), 1);
    cr_assert_eq(value_of("dpotd_reports_rejected_total{reason=\"test\"}"), 1);
    cr_assert_eq(value_of("dpotd_reports_dropped_total{reason=\"round\"}"), 3);
    cr_assert_eq(value_of("dpotd_batches_total{status=\"202\"}"), 3);
    cr_assert_eq(value_of("dpotd_batches_total{status=\"400\"}"), 2);
    cr_assert_eq(value_of("dpotd_ids"), 15);
    cr_assert_geq(value_of("dpotd_commits_total"), 1);
    cr_assert_eq(value_of("dpotd_http_answers_total{class=\"4xx\"}"), 2);
    cr_assert_geq(value_of("dpotd_http_running"), 1, "this request itself");
    cr_assert_eq(value_of("dpotd_seal_keys_expire_seconds"),
                 (uint64_t)rig.secret.key.not_after_ms / 1000);
    cr_assert_null(strstr(text, "certificate"), "there is none without TLS");
}

Test(metrics, a_closed_round_drops_what_comes_late)
{
    cr_assert_eq(post(0, 4), 202);
    rig.clock.now_ms += INT64_C(86400000) * 400;
    rig.secret.key.not_after_ms = INT64_MAX;
    cr_assert_eq(post(4, 4), 409);
    expect_law(8);
    cr_assert_eq(value_of("dpotd_reports_dropped_total{reason=\"closed\"}"), 4);
}

Test(metrics, the_law_holds_after_a_restart)
{
    const uint64_t n = post_all_ways();
    cr_assert_eq(tally_save(rig.ingest.tally, rig.store, NULL), DPOT_OK);
    tally_free(rig.ingest.tally);
    open_counts();
    expect_law(n);
    cr_assert_eq(post(15, 5), 202);
    expect_law(n + 5);
    cr_assert_eq(value_of("dpotd_reports_accepted_total"), 20);
}

/* Dropped counts that were not stored are lost from both sides. */
Test(metrics, the_law_holds_after_a_crash)
{
    const uint64_t n = post_all_ways();
    tally_free(rig.ingest.tally);
    open_counts();
    expect_law(n - 3);
}

Test(metrics, labels_are_words_of_this_program)
{
    size_t n_lines = 0;
    (void)post_all_ways();
    cr_assert_eq(scrape(TOKEN), 200);
    cr_assert_null(strstr(text, hex_id));
    cr_assert_null(strstr(text, "ring"), "the campaign's name");
    for (const char *line = text; line; line = strchr(line + 1, '\n')) {
        n_lines++;
    }
    cr_assert_eq(scrape(TOKEN), 200);
    for (const char *line = text; line; line = strchr(line + 1, '\n')) {
        n_lines--;
    }
    cr_assert_eq(n_lines, 0, "the page does not grow");
}

Test(metrics, without_a_token_nobody_counts_what_comes)
{
    cr_assert_eq(get("/metrics"), 401);
    cr_assert_null(strstr(text, "dpotd_"), "%s", text);
    cr_assert_eq(scrape("guess"), 403);
    cr_assert_eq(request("HEAD", "/metrics", NULL, "", 0), 401);
    app.has_open_metrics = true;
    cr_assert_eq(get("/metrics"), 200);
    app.has_open_metrics = false;
}

Test(metrics, a_token_for_them_opens_nothing_else)
{
    tokens.entries[tokens.n] = (struct token){.is_for_metrics = true};
    dpot_hash(tokens.entries[tokens.n++].hash, "count", 5);
    cr_assert_eq(scrape("count"), 200);
    cr_assert_eq(request("GET", "/v1/admin/campaigns", "count", "", 0), 403);
    cr_assert_not_null(strstr(text, "for /metrics only"), "%s", text);
    cr_assert_eq(request("GET", "/v1/admin/campaigns", TOKEN, "", 0), 200);
}

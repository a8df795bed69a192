/* POST /v1/forward: what a gateway gets for the bodies of its devices. */
#include "http/forward.h"
#include "store/backend.h"
#include "unit/aggregator/http/rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(http_forward, .init = http_set_up, .fini = http_tear_down);

#define PATH "/v1/forward"
#define LIST_MAX ((size_t)16 << 20)

static struct dpot_buf new_list(void)
{
    struct dpot_buf list;
    dpot_buf_init(&list, LIST_MAX, NULL);
    cr_assert_eq(dpot_buf_append(&list, "DPF1", 4), DPOT_OK);
    return list;
}

static void add_for(struct dpot_buf *list, const uint8_t id[DPOT_CAMPAIGN_ID_LEN], const void *body,
                    size_t len)
{
    cr_assert_eq(dpot_buf_append(list, id, DPOT_CAMPAIGN_ID_LEN), DPOT_OK);
    cr_assert_eq(dpot_buf_append_u32(list, (uint32_t)len), DPOT_OK);
    cr_assert_eq(dpot_buf_append(list, body, len), DPOT_OK);
}

static void add(struct dpot_buf *list, const void *body, size_t len)
{
    add_for(list, rig.record.campaign_id, body, len);
}

/* Adds n bodies of one report each, from report `first` on. */
static void add_reports(struct dpot_buf *list, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct dpot_buf body = sealed(first + i, 1);
        add(list, body.data, body.len);
        dpot_buf_release(&body);
    }
}

static int forward(const struct dpot_buf *list)
{
    return request("POST", PATH, NULL, list->data, list->len);
}

/* ---- answers, read from the last reply ---- */

struct answer {
    unsigned status;
    uint32_t retry_after_s;
    char type[64];
    const char *content;
    size_t len;
};

static size_t answers_at;

static void begin_answers(void)
{
    cr_assert_eq(last.status, 200, "%d %s", last.status, text);
    cr_assert_eq(
        strncmp(http_header(&last, "Content-Type"), FORWARD_TYPE "\r\n", sizeof FORWARD_TYPE + 1),
        0);
    cr_assert_eq(memcmp(text, "DPF1", 4), 0);
    answers_at = 4;
}

static struct answer next_answer(void)
{
    struct answer answer = {0};
    const uint8_t *head = (const uint8_t *)text + answers_at;
    const uint32_t numbers = dpot_load_u32(head), type_len = numbers >> 16;
    cr_assert_lt(type_len, sizeof answer.type);
    answer.status = numbers & 0xffff;
    answer.retry_after_s = dpot_load_u32(head + 4);
    answer.len = dpot_load_u32(head + 8);
    memcpy(answer.type, head + 12, type_len);
    answer.content = (const char *)head + 12 + type_len;
    answers_at += 12 + type_len + answer.len;
    cr_assert_lt(answers_at, sizeof text);
    return answer;
}

static void expect_end(void)
{
    cr_assert_eq(strtoul(http_header(&last, "Content-Length"), NULL, 10), answers_at);
}

/* The only status of a receipt that answers the body. */
static enum dpot_report_status receipt_of(const struct answer *answer, const struct dpot_buf *body)
{
    uint8_t digest[DPOT_HASH_LEN];
    enum dpot_report_status status = DPOT_REPORT_STATUS_END;
    cr_assert_eq(answer->status, 202);
    cr_assert_str_eq(answer->type, "application/x-protobuf");
    dpot_wire_batch_digest(body->data, body->len, digest);
    cr_assert_eq(dpot_wire_receipt_decode(answer->content, answer->len, digest, NULL, &status, 1),
                 DPOT_OK);
    return status;
}

static void expect_statuses(unsigned status, size_t n)
{
    begin_answers();
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(next_answer().status, status, "body %zu", i);
    }
    expect_end();
}

/* ---- each body ---- */

Test(http_forward, reports_are_accepted_once_however_often_they_come)
{
    struct dpot_buf list = new_list(), body = sealed(0, 1), again = sealed(0, 1);
    add(&list, body.data, body.len);
    add(&list, again.data, again.len); /* the same report, sealed anew */
    cr_assert_eq(forward(&list), 200);
    begin_answers();
    struct answer answer = next_answer();
    cr_assert_eq(receipt_of(&answer, &body), DPOT_REPORT_ACCEPTED);
    answer = next_answer();
    cr_assert_eq(receipt_of(&answer, &again), DPOT_REPORT_DUPLICATE);
    expect_end();
    cr_assert_eq(forward(&list), 200);
    begin_answers();
    answer = next_answer();
    cr_assert_eq(receipt_of(&answer, &body), DPOT_REPORT_DUPLICATE);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    cr_assert_eq(rig_count(&rig).n_accepted, 1);
    cr_assert_eq(rig_count(&rig).n_duplicate, 4 - 1 + 1);
    dpot_buf_release(&again);
    dpot_buf_release(&body);
    dpot_buf_release(&list);
}

/* The answer in a list and that to a POST of its own. */
static void expect_same(const struct dpot_buf *list, size_t i, const char *path,
                        const struct dpot_buf *body, unsigned status)
{
    static char content[4096];
    cr_assert_eq(forward(list), 200);
    begin_answers();
    struct answer answer = next_answer();
    for (size_t j = 0; j < i; j++) {
        answer = next_answer();
    }
    memcpy(content, answer.content, answer.len);
    cr_assert_eq(answer.status, status);
    cr_assert_eq(request("POST", path, NULL, body->data, body->len), (int)status);
    const char *retry = http_header(&last, "Retry-After");
    cr_assert_eq(retry ? strtoul(retry, NULL, 10) : 0, answer.retry_after_s);
    cr_assert_eq(strncmp(http_header(&last, "Content-Type"), answer.type, strlen(answer.type)), 0);
    cr_assert_eq(strlen(text), answer.len);
    cr_assert_eq(memcmp(text, content, answer.len), 0, "%s", text);
}

Test(http_forward, each_body_has_the_answer_of_a_post_of_its_own)
{
    static const char unknown_path[] = "/v1/campaigns/00000000000000000000000000000000/reports";
    static const uint8_t unknown[DPOT_CAMPAIGN_ID_LEN];
    struct dpot_buf list = new_list(), junk, good = sealed(0, 1), key = sealed(1, 1),
                    damaged = sealed(2, 1);
    dpot_buf_init(&junk, 4, NULL);
    cr_assert_eq(dpot_buf_append(&junk, "junk", 4), DPOT_OK);
    key.data[4] ^= 1;
    damaged.data[damaged.len - 1] ^= 1;
    add(&list, junk.data, junk.len);
    add(&list, key.data, key.len);
    add(&list, damaged.data, damaged.len);
    add_for(&list, unknown, good.data, good.len);
    add(&list, "", 0);
    add(&list, good.data, good.len);
    expect_same(&list, 0, reports_path, &junk, 400);
    expect_same(&list, 1, reports_path, &key, 410);
    expect_same(&list, 2, reports_path, &damaged, 400);
    expect_same(&list, 3, unknown_path, &good, 404);
    junk.len = 0;
    expect_same(&list, 4, reports_path, &junk, 400);
    cr_assert_eq(rig_count(&rig).n_accepted, 1, "refused bodies cost the others nothing");
    rig.clock.now_ms -= INT64_C(86400000) * 365;
    expect_same(&list, 5, reports_path, &good, 503);
    cr_assert_not_null(strstr(text, "DPOT_ERR_NOT_OPEN"), "%s", text);
    rig.clock.now_ms += INT64_C(86400000) * 365;
    cr_assert_eq(request("POST", campaign_path("/v1/admin/campaigns", "/close"), TOKEN, "", 0),
                 200);
    expect_same(&list, 5, reports_path, &good, 409);
    cr_assert_not_null(strstr(text, "\"closed\":\"revision\""), "%s", text);
    dpot_buf_release(&junk);
    dpot_buf_release(&damaged);
    dpot_buf_release(&key);
    dpot_buf_release(&good);
    dpot_buf_release(&list);
}

/* ---- the list ---- */

Test(http_forward, a_list_is_stored_in_one_commit)
{
    struct dpot_buf list = new_list();
    struct writer_work work;
    add_reports(&list, 0, 100);
    add(&list, "junk", 4);
    cr_assert_eq(forward(&list), 200);
    writer_get_work(rig.ingest.writer, &work);
    cr_assert_eq(work.n_commits, 1);
    cr_assert_eq(work.n_batches, 100);
    cr_assert_eq(rig_count(&rig).n_accepted, 100);
    dpot_buf_release(&list);
}

Test(http_forward, a_list_that_cannot_be_read_is_refused_whole)
{
    struct dpot_buf list = new_list();
    add_reports(&list, 0, 2);
    const size_t len = list.len, first_len = 4 + (len - 4) / 2;
    for (list.len = 0; list.len < len; list.len++) {
        if (list.len != first_len) {
            cr_assert_eq(forward(&list), 400, "%zu bytes", list.len);
            cr_assert_not_null(strstr(text, "\"status\":\"DPOT_ERR_MALFORMED\""), "%s", text);
            cr_assert_not_null(strstr(text, "\"batch\":\"\""), "it is about no body: %s", text);
        }
    }
    list.len = len;
    list.data[3] = '2';
    cr_assert_eq(forward(&list), 400);
    list.data[3] = '1';
    list.data[4 + DPOT_CAMPAIGN_ID_LEN + 3] = 0xff;
    cr_assert_eq(forward(&list), 400);
    cr_assert_eq(rig_count(&rig).n_accepted, 0);
    dpot_buf_release(&list);
}

Test(http_forward, a_list_has_a_limit_of_bodies_and_one_of_bytes)
{
    struct dpot_buf list = new_list();
    for (int i = 0; i < FORWARD_ITEMS_MAX; i++) {
        add(&list, "", 0);
    }
    cr_assert_eq(forward(&list), 200);
    add(&list, "", 0);
    cr_assert_eq(forward(&list), 413);
    cr_assert_not_null(strstr(text, "more than 1000 bodies"), "%s", text);
    cr_assert_not_null(strstr(text, "\"batch\":\"\""), "%s", text);
    app.body_max = list.len - 1;
    cr_assert_eq(forward(&list), 413);
    cr_assert_not_null(strstr(text, "send less at a time"), "%s", text);
    dpot_buf_release(&list);
}

static bool refuse_to_suspend(struct http_pause *pause)
{
    (void)pause;
    return false;
}

Test(http_forward, a_server_that_stops_answers_every_body_at_once)
{
    struct dpot_buf list = new_list();
    struct http_response response;
    struct http_pause pause = {.suspend = refuse_to_suspend};
    add_reports(&list, 0, 2);
    const struct http_request stopping = {
        .path = PATH, .body = list.data, .body_len = list.len, .pause = &pause};
    http_response_init(&response);
    api_forward(&app, &stopping, &response);
    cr_assert_eq(response.status, 200);
    cr_assert_null(pause.work);
    cr_assert_eq(response.body.data[4] | response.body.data[5] << 8, 503);
    cr_assert_str_eq(response.note.text,
                     "0 of 2 accepted: body 1, 503: the server is stopping: try again");
    http_response_release(&response);
    dpot_buf_release(&list);
    cr_assert_eq(rig_count(&rig).n_accepted, 0);
}

static dpot_status fail_append(struct store *store, const struct store_append *const *appends,
                               size_t n, dpot_status *outcomes, struct dpot_error *error)
{
    (void)store;
    (void)appends;
    (void)n;
    (void)outcomes;
    return dpot_error_set(error, DPOT_ERR_IO, "the disk is full");
}

Test(http_forward, a_store_that_fails_keeps_the_reports_on_their_devices)
{
    static struct store_backend backend;
    const struct store_backend *working = rig.store->backend;
    struct dpot_buf list = new_list();
    backend = *working;
    backend.append_group = fail_append;
    rig.store->backend = &backend;
    add_reports(&list, 0, 3);
    cr_assert_eq(forward(&list), 200);
    expect_statuses(503, 3);
    cr_assert_null(strstr(text + 4, "disk"), "the reason is in the log");
    rig.store->backend = working;
    cr_assert_eq(forward(&list), 200);
    expect_statuses(202, 3);
    cr_assert_eq(rig_count(&rig).n_accepted, 3);
    dpot_buf_release(&list);
}

Test(http_forward, a_gateway_that_goes_away_gets_duplicates_when_it_comes_again)
{
    struct dpot_buf list = new_list();
    char head[256];
    http_use_writer(hold_until_released, NULL);
    add_reports(&list, 0, 5);
    const int fd = http_connect(server_url(server));
    const int len =
        snprintf(head, sizeof head,
                 "POST " PATH " HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", list.len);
    cr_assert(http_send(fd, head, (size_t)len) && http_send(fd, list.data, list.len));
    wait_for(&has_committed);
    (void)close(fd);
    atomic_store(&may_answer, true);
    cr_assert_eq(forward(&list), 200);
    expect_statuses(202, 5);
    cr_assert_eq(rig_count(&rig).n_accepted, 5);
    cr_assert_eq(rig_count(&rig).n_duplicate, 5);
    dpot_buf_release(&list);
}

/* ---- what the operator sees ---- */

static void expect_metric(const char *line)
{
    cr_assert_not_null(strstr(text, line), "%s is not in %s", line, text);
}

Test(http_forward, metrics_count_bodies_and_the_log_has_one_line)
{
    static char content[100000];
    struct dpot_buf list = new_list();
    logger.level = LOG_LEVEL_INFO;
    add_reports(&list, 0, 3);
    add(&list, "junk", 4);
    cr_assert_eq(forward(&list), 200);
    cr_assert_eq(request("GET", "/metrics", TOKEN, "", 0), 200);
    expect_metric("\ndpotd_batches_total{status=\"202\"} 3\n");
    expect_metric("\ndpotd_batches_total{status=\"400\"} 1\n");
    expect_metric("\ndpotd_commit_batches_total 3\n");
    expect_metric("\ndpotd_reports_submitted_total 3\n");
    expect_metric("\ndpotd_reports_pending 0\n");
    expect_metric("\ndpotd_http_answers_total{class=\"2xx\"} 1\n");
    server_close(server, 60000);
    server = NULL;
    log_sink_close(logger.sink, LOG_PATIENCE_MS);
    logger.sink = NULL;
    rewind(log_stream);
    content[fread(content, 1, sizeof content - 1, log_stream)] = '\0';
    const char *line = strstr(content, "route=" PATH " status=200 ");
    cr_assert_not_null(line, "%s", content);
    cr_assert_not_null(strstr(line, "note=\"3 of 4 accepted: body 4, 400: "), "%s", line);
    cr_assert_null(strstr(line + 1, "route="), "one line");
    dpot_buf_release(&list);
}

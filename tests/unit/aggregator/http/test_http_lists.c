/* Lists of the admin API show all that exists, page by page; the queue of jobs has an end. */
#include "unit/aggregator/http/whole.h"

#include "store/store.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(http_lists, .init = whole_set_up, .fini = whole_tear_down);

#define ROWS_MAX 200
#define KEY_SIZE (2 * DPOT_HASH_LEN + 1)

static void expect_error(const char *path, int status, const char *word)
{
    json_t *answer = whole_call("GET", path, "", status);
    cr_assert_not_null(strstr(text_of(answer, "error"), word), "%s: %s", path,
                       text_of(answer, "error"));
    json_decref(answer);
}

/* A list, fetched in pages of `limit` rows. */
struct rows {
    const char *name, *key; /* of the list, and of what names a row */
    size_t n;
    char keys[ROWS_MAX][KEY_SIZE];
};

/* Adds a page; returns whether there are more. */
static bool add_page(struct rows *rows, const json_t *page, size_t limit, char next[KEY_SIZE])
{
    const json_t *list = json_object_get(page, rows->name);
    const char *found = text_of(page, "next");
    cr_assert_leq(json_array_size(list), limit);
    cr_assert_not_null(json_object_get(page, "next"));
    for (size_t i = 0; i < json_array_size(list); i++) {
        cr_assert_lt(rows->n, ROWS_MAX);
        (void)snprintf(rows->keys[rows->n++], KEY_SIZE, "%s",
                       text_of(json_array_get(list, i), rows->key));
    }
    (void)snprintf(next, KEY_SIZE, "%s", found);
    return found[0] != '\0';
}

static void fetch(struct rows *rows, const char *name, const char *key, size_t limit)
{
    char path[192], next[KEY_SIZE] = "";
    bool has_more = true;
    *rows = (struct rows){.name = name, .key = key};
    while (has_more) {
        (void)snprintf(path, sizeof path, "/v1/admin/%s?limit=%zu%s%s", name, limit,
                       next[0] ? "&after=" : "", next);
        json_t *page = whole_call("GET", path, "", 200);
        has_more = add_page(rows, page, limit, next);
        json_decref(page);
    }
}

/* Every size of a page shows the same rows, each once. */
static void expect_pages(const char *name, const char *key, size_t n)
{
    static struct rows all, some;
    fetch(&all, name, key, 1000);
    cr_assert_eq(all.n, n, "%zu %s, not %zu", all.n, name, n);
    for (size_t limit = 1; limit <= n; limit = 3 * limit + 1) {
        fetch(&some, name, key, limit);
        cr_assert_eq(some.n, n);
        cr_assert_eq(memcmp(some.keys, all.keys, sizeof some.keys), 0);
    }
}

Test(http_lists, the_queue_of_jobs_ends_and_the_list_shows_every_job)
{
    static const char parameters[] = "{\"max_iterations\":1000000000,\"gap\":0}";
    char body[300];
    struct http_reply reply;
    size_t n = 0;
    (void)snprintf(body, sizeof body,
                   "{\"kind\":\"base-measure\",\"campaign\":\"%s\",\"parameters\":%s}", whole_id,
                   parameters);
    for (int status = 202; status == 202; n++) {
        http_exchange(whole_url(), "POST", "/v1/admin/jobs", whole_token(), body, strlen(body),
                      &reply);
        status = reply.status;
        if (status != 202) {
            cr_assert_eq(status, 429);
            cr_assert_eq(strncmp(http_header(&reply, "Retry-After"), "60\r\n", 4), 0);
        }
        http_reply_release(&reply);
        cr_assert_leq(n, JOB_QUEUED_MAX + 1, "one runs");
    }
    json_t *refused = whole_start("base-measure", parameters, 429);
    cr_assert_not_null(strstr(text_of(refused, "error"), "100 jobs wait already"));
    json_decref(refused);
    expect_pages("jobs", "id", n - 1);
}

Test(http_lists, the_list_of_campaigns_comes_in_pages)
{
    char spec[300];
    for (int i = 2; i <= 5; i++) {
        (void)snprintf(spec, sizeof spec,
                       "{\"name\":\"c%d\",\"domain\":{\"type\":\"ring\",\"size\":10},"
                       "\"metric\":\"ring\",\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,"
                       "\"lambda\":0.5},\"min_pool\":3,\"opens\":\"2020-01-01T00:00:00Z\","
                       "\"closes\":\"2100-01-01T00:00:00Z\"}",
                       i);
        json_decref(whole_call("POST", "/v1/admin/campaigns", spec, 201));
    }
    expect_pages("campaigns", "hash", 5);
}

Test(http_lists, a_page_that_does_not_exist_is_refused)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    char path[160];
    expect_error("/v1/admin/jobs?limit=0", 400, "from 1 to 1000");
    expect_error("/v1/admin/jobs?limit=1001", 400, "from 1 to 1000");
    expect_error("/v1/admin/campaigns?limit=x", 400, "limit is \"x\"");
    expect_error("/v1/admin/jobs?limit=1&limit=1", 400, "twice");
    expect_error("/v1/admin/jobs?limit=1&after=00", 400, "32 hex digits");
    expect_error("/v1/admin/jobs?revision=1", 400, "only limit=N and after=ID are");
    expect_error("/v1/admin/campaigns?after=00", 400, "64 hex digits");
    (void)snprintf(path, sizeof path, "/v1/admin/jobs?after=%.32s", zeros);
    expect_error(path, 404, "no job");
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns?after=%s", zeros);
    expect_error(path, 404, "no revision");
}

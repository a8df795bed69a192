#include "tool/shared/paging.h"

#include "tool/shared/options.h"

#include <stdio.h>
#include <string.h>

#define PAGE_ROWS 1000 /* the most that a server sends at once */
#define NEXT_DIGITS 64 /* of a revision's hash; a job's id is shorter */
#define PATH_SIZE 256

struct paging {
    struct run *run;
    struct remote remote;
    const char *path, *key;
    uint64_t limit;             /* rows to come; 0: all */
    char next[NEXT_DIGITS + 1]; /* empty: from the first */
    json_t *rows;
};

/* Without a query for the first of all rows: a server without pages sends all of them. */
static void name_page(const struct paging *paging, char path[PATH_SIZE])
{
    const uint64_t n = paging->limit > PAGE_ROWS ? PAGE_ROWS : paging->limit;
    (void)snprintf(path, PATH_SIZE, "%s", paging->path);
    if (n > 0) {
        (void)snprintf(path + strlen(path), PATH_SIZE - strlen(path), "?limit=%u", (unsigned)n);
    }
    if (paging->next[0]) {
        (void)snprintf(path + strlen(path), PATH_SIZE - strlen(path), "%cafter=%s",
                       n > 0 ? '&' : '?', paging->next);
    }
}

static dpot_status fetch_page(struct paging *paging, bool *has_more)
{
    char path[PATH_SIZE];
    json_t *answer = NULL;
    name_page(paging, path);
    const dpot_status status = remote_call_json(&paging->remote, "GET", path, NULL, &answer);
    if (status == DPOT_OK) {
        const json_t *rows = json_object_get(answer, paging->key);
        const size_t n = json_array_size(rows);
        const char *next = json_string_value(json_object_get(answer, "next"));
        (void)json_array_extend(paging->rows, json_object_get(answer, paging->key));
        (void)snprintf(paging->next, sizeof paging->next, "%s", next ? next : "");
        *has_more = next && n > 0 && (paging->limit == 0 || paging->limit > n);
        paging->limit -= paging->limit > n ? n : paging->limit;
    }
    json_decref(answer);
    return status;
}

static dpot_status fetch_pages(struct paging *paging)
{
    bool has_more = true;
    dpot_status status = remote_open(paging->run, true, &paging->remote);
    while (status == DPOT_OK && has_more) {
        status = fetch_page(paging, &has_more);
    }
    remote_close(&paging->remote);
    return status;
}

static dpot_status read_after(struct paging *paging)
{
    const char *after = option_text(paging->run, "after");
    const size_t len = after ? strlen(after) : 0;
    if (after && (len == 0 || len > NEXT_DIGITS || strspn(after, "0123456789abcdef") != len)) {
        return RUN_USAGE(paging->run, "--after is %.80s: give next of an earlier list", after);
    }
    memcpy(paging->next, after ? after : "", len + 1);
    return DPOT_OK;
}

static void put_result(struct paging *paging)
{
    struct run *run = paging->run;
    (void)json_object_clear(run->result);
    (void)json_object_set(run->result, paging->key, paging->rows);
    if (paging->next[0]) {
        (void)json_object_set_new(run->result, "next", json_string(paging->next));
    } else if (run->is_json) {
        (void)json_object_set_new(run->result, "next", json_null());
    }
}

dpot_status paging_list(struct run *run, const char *path, const char *key)
{
    struct paging paging = {.run = run, .path = path, .key = key};
    dpot_status status = option_integer(run, "limit", 1, PAGING_LIMIT_MAX, &paging.limit);
    if (status == DPOT_OK) {
        status = read_after(&paging);
    }
    if (status != DPOT_OK) {
        return status;
    }
    paging.rows = json_array();
    status = fetch_pages(&paging);
    if (status == DPOT_OK) {
        put_result(&paging);
    }
    json_decref(paging.rows);
    return status;
}

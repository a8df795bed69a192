#include "tool/shared/paging.h"

#include "tool/shared/options.h"

#include <stdio.h>
#include <string.h>

#define PAGE_ROWS 1000 /* the most that a server sends at once */
#define NEXT_DIGITS 64 /* of a revision's hash; a job's id is shorter */
#define PATH_SIZE 256
#define ROWS_MAX 1000000 /* without --limit */

struct paging {
    struct run *run;
    struct remote remote;
    const char *path, *key;
    const struct remote_kind *kind;
    uint64_t limit; /* rows to come; 0: all */
    size_t rows_max;
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

static bool is_next(const char *text)
{
    const size_t len = strlen(text);
    return len > 0 && len <= NEXT_DIGITS && strspn(text, "0123456789abcdef") == len;
}

static dpot_status refuse_page(struct paging *paging, const char *why)
{
    return dpot_error_set(&paging->run->error, DPOT_ERR_SERVER,
                          "%.120s%s: the server's answer is not a page of %s: %s",
                          paging->remote.url, paging->path, paging->kind->name, why);
}

/* A server, or a cache before it, that ignores "after" sends the same page for ever. */
static dpot_status take_next(struct paging *paging, const json_t *next)
{
    const char *text = json_string_value(next);
    if (next && !json_is_null(next) && (!text || !is_next(text))) {
        return refuse_page(paging, "next is no ID and no hash");
    }
    if (text && strcmp(text, paging->next) == 0) {
        return refuse_page(paging, "next is that of the page before. Is there a cache that "
                                   "ignores ?after=?");
    }
    (void)snprintf(paging->next, sizeof paging->next, "%s", text ? text : "");
    return DPOT_OK;
}

static dpot_status fetch_page(struct paging *paging, bool *has_more)
{
    char path[PATH_SIZE];
    json_t *answer = NULL;
    name_page(paging, path);
    dpot_status status =
        remote_call_json(&paging->remote, "GET", path, NULL, paging->kind, &answer);
    if (status == DPOT_OK) {
        status = take_next(paging, json_object_get(answer, "next"));
    }
    if (status == DPOT_OK) {
        const json_t *rows = json_object_get(answer, paging->key);
        const size_t n = json_array_size(rows);
        (void)json_array_extend(paging->rows, (json_t *)rows);
        *has_more = paging->next[0] && n > 0 && (paging->limit == 0 || paging->limit > n);
        paging->limit -= paging->limit > n ? n : paging->limit;
    }
    if (status == DPOT_OK && *has_more && json_array_size(paging->rows) >= paging->rows_max) {
        status = refuse_page(paging, "there are a million rows and more: give --limit");
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
    if (after && !is_next(after)) {
        return RUN_USAGE(paging->run, "--after is %.80s: give next of an earlier list", after);
    }
    (void)snprintf(paging->next, sizeof paging->next, "%s", after ? after : "");
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

dpot_status paging_list(struct run *run, const char *path, const struct remote_kind *kind)
{
    struct paging paging = {.run = run, .path = path, .kind = kind, .key = kind->members[0].key};
    dpot_status status = option_integer(run, "limit", 1, PAGING_LIMIT_MAX, &paging.limit);
    paging.rows_max = paging.limit > 0 ? PAGING_LIMIT_MAX : ROWS_MAX;
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

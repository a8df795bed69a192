#include "http/api.h"

#include "base/clock.h"

/* The HTTP status of a failure; 400 for one without a row. */
struct status_row {
    dpot_status status;
    unsigned http_status;
};
static const struct status_row statuses[] = {
    {DPOT_ERR_NOT_FOUND, 404}, {DPOT_ERR_EXISTS, 409},    {DPOT_ERR_CLOSED, 409},
    {DPOT_ERR_STATE, 409},     {DPOT_ERR_TOO_LARGE, 413}, {DPOT_ERR_CORRUPT, 500},
    {DPOT_ERR_MEMORY, 503},    {DPOT_ERR_IO, 503},        {DPOT_ERR_BUSY, 503},
};

void api_refuse(const struct http_request *request, struct http_response *response,
                dpot_status status, const struct dpot_error *error)
{
    unsigned http_status = 400;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        if (statuses[i].status == status) {
            http_status = statuses[i].http_status;
        }
    }
    http_response_refuse(response, request->path, http_status, status, error->text);
}

dpot_status api_parse(const struct http_request *request, json_t **value, struct dpot_error *error)
{
    return json_parse(request->body ? (const char *)request->body : "", request->body_len, value,
                      error);
}

void api_page_init(struct api_page *page, const struct http_request *request)
{
    *page = (struct api_page){.rows = json_array(),
                              .rows_max = request->limit > 0 ? request->limit : ROUTE_ROWS_MAX};
}

int api_page_add(struct api_page *page, json_t *row)
{
    page->has_more = json_array_size(page->rows) == page->rows_max;
    if (page->has_more) {
        json_decref(row);
    } else {
        page->is_short = json_array_append_new(page->rows, row) != 0;
    }
    return page->has_more || page->is_short;
}

void api_page_answer(struct api_page *page, const char *name, const char *key,
                     const struct http_request *request, struct http_response *response,
                     dpot_status status, const struct dpot_error *error)
{
    const json_t *last = json_array_get(page->rows, json_array_size(page->rows) - 1);
    json_t *next = page->has_more ? json_object_get(last, key) : NULL;
    if (status == DPOT_OK && page->is_short) {
        http_response_json(response, 200, NULL);
    } else if (status == DPOT_OK) {
        http_response_json(response, 200, json_pack("{s:O,s:O?}", name, page->rows, "next", next));
    } else {
        api_refuse(request, response, status, error);
    }
    json_decref(page->rows);
}

json_t *api_hex(const uint8_t *data, size_t len)
{
    char text[2 * DPOT_HASH_LEN + 1];
    dpot_hex_encode(text, data, len);
    return json_string(text);
}

json_t *api_time(int64_t time_ms)
{
    char text[DPOT_RFC3339_SIZE];
    dpot_time_format(time_ms, text);
    return time_ms == 0 ? json_null() : json_string(text);
}

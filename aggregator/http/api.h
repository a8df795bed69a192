/* What handlers share. */
#ifndef DPOT_HTTP_API_H
#define DPOT_HTTP_API_H

#include "http/routes.h"

/* Parses the body as JSON; *value is a new reference, NULL on failure. */
DPOT_WARN_UNUSED dpot_status api_parse(const struct http_request *request, json_t **value,
                                       struct dpot_error *error);

/* Answers a failure with the HTTP status of `status`. */
void api_refuse(const struct http_request *request, struct http_response *response,
                dpot_status status, const struct dpot_error *error);

/* Answers a POST of reports with a verdict; after INGEST_ACCEPTED the body is the receipt. */
void api_answer_batch(const struct http_request *request, struct http_response *response,
                      const struct ingest_result *result);

/* One page of a list: the rows after request->after, at most request->limit. */
struct api_page {
    json_t *rows; /* an array */
    size_t rows_max;
    bool has_more; /* there are rows after these */
    bool is_short; /* of memory: rows are missing */
};

void api_page_init(struct api_page *page, const struct http_request *request);

/* Adds a row, which it takes. Non-zero: the page is full, and the row was not added. */
int api_page_add(struct api_page *page, json_t *row);

/* Answers {name: rows, "next": member `key` of the last row, null if there are no more}. With a
 * failure in `status` it refuses instead. Releases the page. */
void api_page_answer(struct api_page *page, const char *name, const char *key,
                     const struct http_request *request, struct http_response *response,
                     dpot_status status, const struct dpot_error *error);

/* At most DPOT_HASH_LEN bytes in lower-case hex. New reference. */
json_t *api_hex(const uint8_t *data, size_t len);

/* An RFC 3339 time, null for 0. New reference. */
json_t *api_time(int64_t time_ms);

#endif

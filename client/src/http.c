#include "http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define URL_SIZE 1200 /* server_url is at most 1024 bytes, paths are shorter than 100 */

dpot_status dpot_http_check(dpot_client *client)
{
    if (!client->config.transport || !client->server_url) {
        return dpot_error_set(&client->error, DPOT_ERR_STATE,
                              "no network: config.transport and config.server_url must be set");
    }
    return DPOT_OK;
}

dpot_status dpot_http_failure(int http_status)
{
    switch (http_status) {
    case 401:
    case 403:
        return DPOT_ERR_DENIED;
    case 404:
        return DPOT_ERR_NOT_FOUND;
    case 409:
        return DPOT_ERR_CLOSED;
    default:
        return DPOT_ERR_SERVER;
    }
}

const char *dpot_http_hint(int http_status)
{
    switch (http_status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
        return ", a redirect, which is not followed (give the URL that it leads to)";
    default:
        return http_status < 400 ? ", an unexpected answer" : "";
    }
}

static dpot_status take_body(void *sink, const void *data, size_t len)
{
    return dpot_buf_append(sink, data, len);
}

/* True for "<html", "<!doctype", "<?xml": no answer of dpotd begins so. */
static bool looks_like_html(const uint8_t *data, size_t len)
{
    size_t at = 0;
    while (at < len && (data[at] == ' ' || (data[at] >= '\t' && data[at] <= '\r'))) {
        at++;
    }
    if (len - at < 2 || data[at] != '<') {
        return false;
    }
    const uint8_t next = data[at + 1] | 0x20; /* lower case */
    return data[at + 1] == '!' || data[at + 1] == '?' || (next >= 'a' && next <= 'z');
}

/* With or without parameters. */
static bool has_type(const struct dpot_http_response *response, const char *type)
{
    const char *after = response->content_type + strlen(type);
    return strncasecmp(response->content_type, type, strlen(type)) == 0 &&
           (*after == '\0' || *after == ';' || *after == ' ');
}

/* By how the body begins; or by its Content-Type, unless the body is empty or the status is below
 * 300: text/html may then be a default beside good bytes, which their decoder validates. */
static bool is_web_page(const struct dpot_http_response *response, const uint8_t *body, size_t len)
{
    return looks_like_html(body, len) ||
           (len > 0 && response->status >= 300 && has_type(response, "text/html"));
}

/* Writes the URL of `path` for people: without user and password. */
static void write_shown(const dpot_client *client, const char *path, char url[URL_SIZE])
{
    const char *after = strstr(client->server_url, "://") + 3; /* dpot_client_open has checked it */
    const char *host = after;
    for (const char *c = after; *c != '\0' && *c != '/'; c++) {
        host = *c == '@' ? c + 1 : host;
    }
    (void)snprintf(url, URL_SIZE, "%.*s%s%s", (int)(after - client->server_url), client->server_url,
                   host, path);
}

/* Completes and performs a request; the sentence of a failure names the URL. */
static dpot_status exchange(dpot_client *client, struct dpot_http_request *request,
                            const char *path, struct dpot_buf *out, struct dpot_http_answer *answer)
{
    const struct dpot_transport *transport = client->config.transport;
    struct dpot_http_response response = {.struct_size = sizeof response};
    const size_t len_before = out->len;
    char url[URL_SIZE], shown[URL_SIZE];
    (void)snprintf(url, sizeof url, "%s%s", client->server_url, path);
    write_shown(client, path, shown);
    request->struct_size = sizeof *request;
    request->url = url;
    request->body_max = out->max - out->len;
    request->on_body = take_body;
    request->sink = out;
    const dpot_status status = transport->perform(transport->ctx, request, &response);
    if (status == DPOT_ERR_TOO_LARGE) {
        return dpot_error_set(&client->error, status,
                              "%s %s: the server's answer is longer than %zu bytes",
                              request->method, shown, request->body_max);
    }
    if (status != DPOT_OK) {
        const bool is_post = status == DPOT_ERR_NETWORK && request->body;
        return dpot_error_set(
            &client->error, status, "%s %s: %s%.*s%s", request->method, shown,
            response.reason[0] ? "no answer from the server: " : dpot_status_text(status),
            (int)sizeof response.reason, response.reason,
            is_post ? ". The report is kept and sent again: if it has arrived it counts once" : "");
    }
    answer->status = response.status;
    answer->retry_after_s = response.retry_after_s;
    answer->is_json = !response.content_type[0] || has_type(&response, "application/json");
    answer->is_protobuf = has_type(&response, "application/x-protobuf");
    answer->is_web_page = out->len > len_before &&
                          is_web_page(&response, out->data + len_before, out->len - len_before);
    return DPOT_OK;
}

dpot_status dpot_http_post(dpot_client *client, const char *path, const void *body, size_t body_len,
                           uint32_t timeout_ms, struct dpot_buf *out,
                           struct dpot_http_answer *answer)
{
    struct dpot_http_request request = {.method = "POST",
                                        .content_type = "application/x-protobuf",
                                        .body = body,
                                        .body_len = body_len,
                                        .timeout_ms = timeout_ms};
    const dpot_status status = exchange(client, &request, path, out, answer);
    return status == DPOT_ERR_TOO_LARGE ? DPOT_ERR_SERVER : status; /* no receipt is that long */
}

dpot_status dpot_http_get(dpot_client *client, const char *path, uint32_t timeout_ms,
                          struct dpot_buf *out, uint32_t *retry_after_s)
{
    struct dpot_http_request request = {.method = "GET", .timeout_ms = timeout_ms};
    struct dpot_http_answer answer = {0};
    const dpot_status status = exchange(client, &request, path, out, &answer);
    *retry_after_s = answer.retry_after_s;
    char shown[URL_SIZE];
    write_shown(client, path, shown);
    if (status == DPOT_OK && answer.is_web_page) {
        return dpot_error_set(&client->error, DPOT_ERR_NETWORK,
                              "GET %s: a web page came in place of the server's answer (HTTP "
                              "status %d): the login page of a network, or a proxy?",
                              shown, answer.status);
    }
    if (status != DPOT_OK || answer.status == 200) {
        return status;
    }
    char wait[48] = "";
    if (answer.retry_after_s > 0) {
        (void)snprintf(wait, sizeof wait, ": try again in %u s", (unsigned)answer.retry_after_s);
    }
    return dpot_error_set(&client->error, dpot_http_failure(answer.status),
                          "GET %s: the server answered with HTTP status %d%s%s", shown,
                          answer.status, dpot_http_hint(answer.status), wait);
}

dpot_status dpot_http_fetch_keys(dpot_client *client, uint32_t timeout_ms, uint32_t *retry_after_s)
{
    struct dpot_buf body;
    dpot_buf_init(&body, DPOT_SIGNED_KEYS_BYTES_MAX, client->config.allocator);
    dpot_status status = dpot_http_get(client, "/v1/keys", timeout_ms, &body, retry_after_s);
    if (status == DPOT_OK) {
        status = dpot_campaigns_store_keys(&client->campaigns, body.data, body.len, &client->error);
    }
    dpot_buf_release(&body);
    return status;
}

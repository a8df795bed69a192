#include "http.h"

#include "client.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* Writes a URL for people: without user and password. */
static void write_shown(const char *url, char shown[DPOT_URL_SIZE])
{
    const char *scheme_end = strstr(url, "://");
    const char *after = scheme_end ? scheme_end + 3 : url;
    const char *host = after;
    for (const char *c = after; *c != '\0' && *c != '/'; c++) {
        host = *c == '@' ? c + 1 : host;
    }
    (void)snprintf(shown, DPOT_URL_SIZE, "%.*s%s", (int)(after - url), url, host);
}

dpot_status dpot_http_put_url(const dpot_client *client, const char *path, struct dpot_buf *url)
{
    const char *server_url = client->server_url ? client->server_url : "";
    const dpot_status status = dpot_buf_append(url, server_url, strlen(server_url));
    return status == DPOT_OK ? dpot_buf_append(url, path, strlen(path) + 1) : status;
}

void dpot_http_read_answer(const struct dpot_http_response *response, const uint8_t *data,
                           size_t len, struct dpot_http_answer *answer)
{
    *answer = (struct dpot_http_answer){
        .status = response->status,
        .retry_after_s = response->retry_after_s,
        .is_json = !response->content_type[0] || has_type(response, "application/json"),
        .is_protobuf = has_type(response, "application/x-protobuf"),
        .is_web_page = len > 0 && is_web_page(response, data, len),
    };
}

dpot_status dpot_http_explain(dpot_client *client, const struct dpot_http_request *request,
                              dpot_status status, const char *reason)
{
    char shown[DPOT_URL_SIZE];
    const bool is_post = request->body != NULL;
    write_shown(request->url, shown);
    if (status == DPOT_ERR_TOO_LARGE) {
        return dpot_error_set(&client->error, is_post ? DPOT_ERR_SERVER : status,
                              "%s %s: the server's answer is longer than %zu bytes",
                              request->method, shown, request->body_max);
    }
    return dpot_error_set(
        &client->error, status, "%s %s: %s%.160s%s", request->method, shown,
        reason[0] ? "no answer from the server: " : dpot_status_text(status), reason,
        status == DPOT_ERR_NETWORK && is_post
            ? ". The report is kept and sent again: if it has arrived it counts once"
            : "");
}

dpot_status dpot_http_perform(dpot_client *client, struct dpot_http_request *request,
                              struct dpot_buf *out, struct dpot_http_answer *answer)
{
    const struct dpot_transport *transport = client->config.transport;
    struct dpot_http_response response = {.struct_size = sizeof response};
    request->struct_size = sizeof *request;
    request->body_max = out->max - out->len;
    request->on_body = take_body;
    request->sink = out;
    const dpot_status status = transport->perform(transport->ctx, request, &response);
    response.content_type[sizeof response.content_type - 1] = '\0'; /* whatever the hook wrote */
    response.reason[sizeof response.reason - 1] = '\0';
    if (status != DPOT_OK) {
        return dpot_http_explain(client, request, status, response.reason);
    }
    dpot_http_read_answer(&response, out->data, out->len, answer);
    return DPOT_OK;
}

dpot_status dpot_http_check_get(dpot_client *client, const char *url,
                                const struct dpot_http_answer *answer)
{
    char shown[DPOT_URL_SIZE];
    write_shown(url, shown);
    if (answer->is_web_page) {
        return dpot_error_set(&client->error, DPOT_ERR_NETWORK,
                              "GET %s: a web page came in place of the server's answer (HTTP "
                              "status %d): the login page of a network, or a proxy?",
                              shown, answer->status);
    }
    if (answer->status == 200) {
        return DPOT_OK;
    }
    char wait[48] = "";
    if (answer->retry_after_s > 0) {
        (void)snprintf(wait, sizeof wait, ": try again in %u s", (unsigned)answer->retry_after_s);
    }
    return dpot_error_set(&client->error, dpot_http_failure(answer->status),
                          "GET %s: the server answered with HTTP status %d%s%s", shown,
                          answer->status, dpot_http_hint(answer->status), wait);
}

dpot_status dpot_http_get(dpot_client *client, const char *path, struct dpot_buf *out)
{
    struct dpot_http_answer answer = {0};
    struct dpot_buf url;
    dpot_buf_init(&url, DPOT_URL_SIZE, client->config.allocator);
    dpot_status status = dpot_http_put_url(client, path, &url);
    if (status == DPOT_OK) {
        struct dpot_http_request request = {.method = "GET",
                                            .url = (const char *)url.data,
                                            .timeout_ms = client->config.request_timeout_ms};
        status = dpot_http_perform(client, &request, out, &answer);
    }
    if (status == DPOT_OK) {
        status = dpot_http_check_get(client, (const char *)url.data, &answer);
    }
    dpot_buf_release(&url);
    return status;
}

#include "tool/shared/remote.h"

#include "base/crypto.h"
#include "tool/shared/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 60000
#define ERROR_BODY_MAX 65536
#define ID_DIGITS 32

bool is_campaign_id(const char *text)
{
    return strlen(text) == ID_DIGITS && strspn(text, "0123456789abcdefABCDEF") == ID_DIGITS;
}

dpot_status campaign_id_check(struct run *run, const char *text)
{
    return is_campaign_id(text)
               ? DPOT_OK
               : RUN_USAGE(run, "\"%.80s\" is no campaign ID: it has 32 hex digits", text);
}

static dpot_status copy_url(struct remote *remote)
{
    const char *url = NULL;
    dpot_status status =
        option_require(remote->run, "server", "the URL of the aggregator, http://HOST:PORT", &url);
    if (status != DPOT_OK) {
        return status;
    }
    size_t len = strlen(url);
    while (len > 0 && url[len - 1] == '/') {
        len--;
    }
    if ((strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) ||
        len >= sizeof remote->url || strpbrk(url, " \t\r\n")) {
        return RUN_USAGE(remote->run, "--server is %.80s: give http://HOST[:PORT] or https://...",
                         url);
    }
    memcpy(remote->url, url, len);
    return DPOT_OK;
}

static dpot_status read_token_file(struct remote *remote, const char *path, char *token, size_t cap)
{
    FILE *stream = fopen(path, "r");
    if (!stream) {
        return dpot_error_set(&remote->run->error, DPOT_ERR_IO,
                              "reading --token-file %s failed: %s", path, strerror(errno));
    }
    if (!fgets(token, (int)cap, stream)) {
        token[0] = '\0';
    }
    (void)fclose(stream);
    token[strcspn(token, "\r\n")] = '\0';
    return DPOT_OK;
}

static dpot_status find_token(struct remote *remote)
{
    char token[REMOTE_TOKEN_MAX + 2] = {0};
    const char *path = option_text(remote->run, "token-file");
    const char *environment = getenv("DPOT_TOKEN");
    dpot_status status = DPOT_OK;
    if (path) {
        status = read_token_file(remote, path, token, sizeof token);
    } else if (environment) {
        (void)snprintf(token, sizeof token, "%s", environment);
    }
    const size_t len = strlen(token);
    if (status == DPOT_OK && len == 0) {
        status = RUN_USAGE(remote->run, "the admin token is missing: set DPOT_TOKEN or give "
                                        "--token-file F");
    }
    if (status == DPOT_OK && len > REMOTE_TOKEN_MAX) {
        status =
            RUN_USAGE(remote->run, "the admin token is longer than %d bytes", REMOTE_TOKEN_MAX);
    }
    for (size_t i = 0; status == DPOT_OK && i < len; i++) {
        if (token[i] <= ' ' || token[i] > '~') {
            status = RUN_USAGE(remote->run, "the admin token holds a blank or control character: "
                                            "give the token alone");
        }
    }
    if (status == DPOT_OK) {
        (void)snprintf(remote->authorization, sizeof remote->authorization, "Bearer %s", token);
    }
    dpot_wipe(token, sizeof token);
    return status;
}

dpot_status remote_open(struct run *run, bool is_admin, struct remote *remote)
{
    *remote = (struct remote){.run = run};
    dpot_status status = copy_url(remote);
    if (status == DPOT_OK && is_admin) {
        status = find_token(remote);
    }
    if (status == DPOT_OK) {
        status = dpot_transport_curl_new(option_text(run, "ca-file"), &remote->transport);
        if (status != DPOT_OK) {
            return dpot_error_set(&run->error, status, "the network cannot be used: %s",
                                  dpot_status_text(status));
        }
    }
    return status;
}

void remote_close(struct remote *remote)
{
    if (remote->transport) {
        dpot_transport_curl_free(remote->transport);
    }
    dpot_wipe(remote, sizeof *remote);
}

static dpot_status take_body(void *sink, const void *data, size_t len)
{
    return dpot_buf_append(sink, data, len);
}

/* All other HTTP statuses are failures of the server. */
static const struct {
    int http_status;
    dpot_status status;
} meanings[] = {
    {400, DPOT_ERR_MALFORMED}, {401, DPOT_ERR_DENIED}, {403, DPOT_ERR_DENIED},
    {404, DPOT_ERR_NOT_FOUND}, {409, DPOT_ERR_CLOSED}, {413, DPOT_ERR_TOO_LARGE},
    {429, DPOT_ERR_STATE},
};

static dpot_status status_of_http(int http_status)
{
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (meanings[i].http_status == http_status) {
            return meanings[i].status;
        }
    }
    return DPOT_ERR_SERVER;
}

/* Fails with the server's message when the body is {"error": ...}. */
static dpot_status refuse(struct remote *remote, int http_status, const char *path,
                          const struct dpot_buf *body)
{
    json_t *object = NULL;
    const char *sentence = NULL;
    if (body->len > 0 && json_parse(body->data, body->len, &object, NULL) == DPOT_OK) {
        sentence = json_string_value(json_object_get(object, "error"));
    }
    if (!sentence && http_status >= 300 && http_status < 400) {
        sentence = "a redirect, which is not followed: give --server the URL that it leads to "
                   "(curl -I shows it)";
    }
    const dpot_status status = dpot_error_set(
        &remote->run->error, status_of_http(http_status), "%.120s%.120s: HTTP %d%s%s", remote->url,
        path, http_status, sentence ? ": " : "", sentence ? sentence : "");
    json_decref(object);
    return status;
}

bool remote_is_away(const struct remote *remote, dpot_status status)
{
    const int http = remote->http_status; /* 502 to 504: a proxy whose server is away or closing */
    return status == DPOT_ERR_NETWORK || (status == DPOT_ERR_SERVER && http >= 502 && http <= 504);
}

dpot_status remote_call(struct remote *remote, const char *method, const char *path,
                        const char *body, struct dpot_buf *out)
{
    char url[REMOTE_URL_MAX + 256];
    struct dpot_http_response response = {.struct_size = sizeof response};
    (void)snprintf(url, sizeof url, "%s%s", remote->url, path);
    const size_t room = out->max - out->len;
    const struct dpot_http_request request = {
        .struct_size = sizeof request,
        .method = method,
        .url = url,
        .content_type = body ? "application/json" : NULL,
        .authorization = remote->authorization[0] ? remote->authorization : NULL,
        .body = body,
        .body_len = body ? strlen(body) : 0,
        .timeout_ms = TIMEOUT_MS,
        .body_max = room > ERROR_BODY_MAX ? room : ERROR_BODY_MAX,
        .on_body = take_body,
        .sink = out};
    const size_t start = out->len;
    remote->http_status = 0;
    const dpot_status status =
        remote->transport->perform(remote->transport->ctx, &request, &response);
    if (status != DPOT_OK) {
        return dpot_error_set(&remote->run->error, status, "%s %.300s: %s%s%.*s", method, url,
                              dpot_status_text(status), response.reason[0] ? ": " : "",
                              (int)sizeof response.reason, response.reason);
    }
    remote->http_status = response.status;
    if ((response.status >= 200 && response.status <= 202) ||
        (response.status == 409 && remote->takes_closed)) {
        return DPOT_OK;
    }
    struct dpot_buf answer = *out;
    answer.data = answer.data ? answer.data + start : NULL;
    answer.len -= start;
    return refuse(remote, response.status, path, &answer);
}

/* ---- the kinds of answers ---- */

static const struct remote_kind row = {"", {{"id", JSON_STRING}}, NULL};
const struct remote_kind remote_campaign = {
    "a campaign", {{"id", JSON_STRING}, {"state", JSON_STRING}}, NULL};
const struct remote_kind remote_campaigns = {
    "a list of campaigns", {{"campaigns", JSON_ARRAY}}, &row};
const struct remote_kind remote_job = {
    "a job", {{"id", JSON_STRING}, {"state", JSON_STRING}}, NULL};
const struct remote_kind remote_jobs = {"a list of jobs", {{"jobs", JSON_ARRAY}}, &row};
const struct remote_kind remote_pool = {
    "a pool", {{"accepted", JSON_INTEGER}, {"mechanism", JSON_STRING}}, NULL};

/* The key of a member that is missing or of another type; NULL: there is none. */
static const char *find_fault(const struct remote_kind *kind, const json_t *answer)
{
    const char *fault = NULL;
    for (size_t i = 0; !fault && i < sizeof kind->members / sizeof kind->members[0]; i++) {
        const char *key = kind->members[i].key;
        const json_t *value = key ? json_object_get(answer, key) : NULL;
        fault = key && (!value || json_typeof(value) != kind->members[i].type) ? key : NULL;
    }
    const json_t *rows = kind->rows ? json_object_get(answer, kind->members[0].key) : NULL;
    for (size_t i = 0; !fault && i < json_array_size(rows); i++) {
        fault = find_fault(kind->rows, json_array_get(rows, i));
    }
    return fault;
}

static dpot_status check_kind(struct remote *remote, const char *path,
                              const struct remote_kind *kind, const json_t *answer)
{
    if (!json_is_object(answer)) {
        return dpot_error_set(&remote->run->error, DPOT_ERR_SERVER,
                              "%.120s%.120s did not answer with a JSON object: is it a dpotd?",
                              remote->url, path);
    }
    const char *fault = find_fault(kind, answer);
    return fault ? dpot_error_set(&remote->run->error, DPOT_ERR_SERVER,
                                  "%.120s%.120s: the server's answer is not %s: \"%s\" is missing "
                                  "or of another type. Is it a dpotd?",
                                  remote->url, path, kind->name, fault)
                 : DPOT_OK;
}

dpot_status remote_call_json(struct remote *remote, const char *method, const char *path,
                             const char *body, const struct remote_kind *kind, json_t **answer)
{
    struct dpot_buf buf;
    *answer = NULL;
    dpot_buf_init(&buf, DPOT_JSON_BYTES_MAX, NULL);
    dpot_status status = remote_call(remote, method, path, body, &buf);
    if (status == DPOT_OK) {
        const char *text = buf.data ? (const char *)buf.data : "";
        status = json_parse(text, buf.len, answer, NULL) == DPOT_ERR_MEMORY
                     ? DPOT_ERR_MEMORY
                     : check_kind(remote, path, kind, *answer);
    }
    if (status != DPOT_OK) {
        json_decref(*answer);
        *answer = NULL;
    }
    dpot_buf_release(&buf);
    return status;
}

dpot_status remote_admin(struct run *run, const char *method, const char *path, const char *body,
                         const struct remote_kind *kind)
{
    struct remote remote;
    json_t *answer = NULL;
    dpot_status status = remote_open(run, true, &remote);
    if (status == DPOT_OK) {
        status = remote_call_json(&remote, method, path, body, kind, &answer);
    }
    remote_close(&remote);
    if (status == DPOT_OK) {
        json_decref(run->result);
        run->result = answer;
    }
    return status;
}

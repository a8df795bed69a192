#include "http/message.h"

#include <stdlib.h>
#include <string.h>

#define BODY_MAX ((size_t)64 << 20) /* bytes of an answer in memory; exports go through a file */

static const char api_prefix[] = "/v1/", admin_prefix[] = "/v1/admin";

void http_response_init(struct http_response *response)
{
    *response = (struct http_response){.status = 500, .content_type = "text/plain; charset=utf-8"};
    dpot_buf_init(&response->body, BODY_MAX, NULL);
}

void http_response_release(struct http_response *response)
{
    dpot_buf_release(&response->body);
    if (response->file) {
        (void)fclose(response->file);
        response->file = NULL;
    }
}

static void set_level(struct http_response *response)
{
    response->level = response->status >= 500   ? LOG_LEVEL_ERROR
                      : response->status >= 400 ? LOG_LEVEL_INFO
                                                : LOG_LEVEL_DEBUG;
}

void http_response_text(struct http_response *response, unsigned status, const char *sentence)
{
    response->status = status;
    response->content_type = "text/plain; charset=utf-8";
    set_level(response);
    response->borrowed = NULL;
    dpot_buf_reset(&response->body);
    if (dpot_buf_append(&response->body, sentence, strlen(sentence)) != DPOT_OK ||
        dpot_buf_append(&response->body, "\n", 1) != DPOT_OK) {
        dpot_buf_reset(&response->body); /* the status must suffice */
    }
}

static void answer_no_memory(struct http_response *response)
{
    http_response_text(response, 503, "out of memory: try again");
    response->retry_after_s = 1;
}

void http_response_json(struct http_response *response, unsigned status, json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(value);
    response->status = status;
    response->content_type = "application/json";
    set_level(response);
    dpot_buf_reset(&response->body);
    if (!text || dpot_buf_append(&response->body, text, strlen(text)) != DPOT_OK) {
        answer_no_memory(response);
    }
    free(text);
}

static bool begins_with(const char *path, const char *prefix)
{
    return strncmp(path, prefix, strlen(prefix)) == 0;
}

/* Jansson accepts UTF-8 only, and a sentence may quote a value that was cut inside a character. */
static void keep_ascii(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text >= 0x80) {
            *text = '?';
        }
    }
}

void http_response_add(struct http_response *response, const char *name, const char *text)
{
    char member[160];
    struct dpot_buf *body = &response->body;
    if (body->len < 2 || body->data[body->len - 1] != '}') {
        return;
    }
    const int len = snprintf(member, sizeof member, ",\"%s\":\"%s\"}", name, text);
    body->len--; /* the brace, which the member ends with */
    if (len < 0 || (size_t)len >= sizeof member ||
        dpot_buf_append(body, member, (size_t)len) != DPOT_OK) {
        answer_no_memory(response);
    }
}

void http_response_refuse(struct http_response *response, const char *path, unsigned http_status,
                          dpot_status status, const char *sentence)
{
    struct dpot_error *note = &response->note;
    (void)dpot_error_set(note, status, "%s", *sentence ? sentence : dpot_status_text(status));
    keep_ascii(note->text);
    if (!begins_with(path, api_prefix)) {
        http_response_text(response, http_status, note->text);
        return;
    }
    http_response_json(
        response, http_status,
        json_pack("{s:s,s:s}", "error", note->text, "status", dpot_status_name(status)));
    if (http_status < 500 && begins_with(path, admin_prefix)) {
        /* The sentence may quote the body, which no log may hold. */
        (void)dpot_error_set(note, status, "%s", dpot_status_name(status));
    }
}

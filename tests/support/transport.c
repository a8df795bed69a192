#include "support/transport.h"

#include "proto/wire_refusal.h"
#include "proto/wire_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse(struct test_answer *answer, int http_status, const char *closed,
                   const struct dpot_http_request *request)
{
    uint8_t digest[DPOT_HASH_LEN];
    struct dpot_buf body;
    const dpot_status status = http_status == 409   ? DPOT_ERR_CLOSED
                               : http_status == 413 ? DPOT_ERR_TOO_LARGE
                                                    : DPOT_ERR_MALFORMED;
    dpot_buf_init(&body, sizeof answer->body, NULL);
    dpot_wire_batch_digest(request->body, request->body_len, digest);
    if (dpot_wire_refusal_encode(status, closed, digest, &body) == DPOT_OK) {
        memcpy(answer->body, body.data, body.len);
    }
    answer->status = http_status;
    answer->content_type = "application/json";
    answer->body_len = body.len;
    dpot_buf_release(&body);
}

void test_answer_refuse(struct test_answer *answer, int http_status,
                        const struct dpot_http_request *request)
{
    refuse(answer, http_status, http_status == 409 ? "revision" : NULL, request);
}

/* Before the brace at the end. */
static void add_members(struct test_answer *answer, const char *members)
{
    char *end = (char *)answer->body + answer->body_len - 1;
    if (members) {
        answer->body_len += (size_t)snprintf(end, 1024, ",%s}", members) - 1;
    }
}

static void play(const struct test_script *row, struct test_answer *answer)
{
    answer->failure = row->failure;
    answer->status = row->status;
    answer->retry_after_s = row->retry_after_s;
    answer->content_type = row->content_type;
    answer->body_len = row->body ? strlen(row->body) : 0;
    if (row->body) {
        memcpy(answer->body, row->body, answer->body_len);
    }
}

static void answer_request(struct test_transport *t, const struct dpot_http_request *request,
                           struct test_answer *answer)
{
    const bool is_post = strcmp(request->method, "POST") == 0;
    const bool is_scripted = is_post && t->script_used < t->n_script;
    t->n_posts += is_post;
    t->n_gets += !is_post;
    if (!is_scripted || t->script[t->script_used].reaches_server) {
        t->server(t->server_ctx, request, answer);
    }
    if (is_scripted) {
        const struct test_script *row = &t->script[t->script_used++];
        play(row, answer);
        if (row->is_refusal) {
            const bool is_closed = row->status == 409 && !row->body;
            refuse(answer, row->status, is_closed ? "revision" : NULL, request);
            add_members(answer, row->body);
        }
    }
}

/* Delivers the body in two pieces, as networks do. */
static dpot_status deliver(const struct dpot_http_request *request,
                           const struct test_answer *answer)
{
    const size_t half = answer->body_len / 2;
    if (answer->body_len > request->body_max) {
        return DPOT_ERR_TOO_LARGE;
    }
    dpot_status status = request->on_body(request->sink, answer->body, half);
    if (status == DPOT_OK) {
        status = request->on_body(request->sink, answer->body + half, answer->body_len - half);
    }
    return status;
}

static dpot_status perform(void *ctx, const struct dpot_http_request *request,
                           struct dpot_http_response *response)
{
    struct test_transport *t = ctx;
    if (t->is_down && *t->is_down) {
        return DPOT_ERR_NETWORK;
    }
    struct test_answer *answer = calloc(1, sizeof *answer);
    if (!answer) {
        return DPOT_ERR_MEMORY;
    }
    (void)snprintf(t->last_url, sizeof t->last_url, "%s", request->url);
    (void)snprintf(t->last_content_type, sizeof t->last_content_type, "%s",
                   request->content_type ? request->content_type : "");
    answer_request(t, request, answer);
    dpot_status status = answer->failure;
    if (status == DPOT_OK) {
        response->status = answer->status;
        response->retry_after_s = answer->retry_after_s;
        (void)snprintf(response->content_type, sizeof response->content_type, "%s",
                       answer->content_type ? answer->content_type : "");
        status = deliver(request, answer);
    }
    free(answer);
    return status;
}

void test_transport_init(struct test_transport *t, test_server *server, void *server_ctx)
{
    *t = (struct test_transport){.transport = {sizeof t->transport, NULL, perform},
                                 .server = server,
                                 .server_ctx = server_ctx};
    t->transport.ctx = t;
}

void test_transport_script(struct test_transport *t, struct test_script row)
{
    if (t->n_script < TEST_SCRIPT_MAX) {
        t->script[t->n_script++] = row;
    }
}

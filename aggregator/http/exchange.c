#include "http/exchange.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Bytes read of a body that is refused while it comes, so that its sender can read the answer. */
#define DISCARD_MAX LINGER_BYTES_MAX
#define SLOWEST_READER ((int64_t)64) /* bytes per ms at which an answer must be read */

/* ---- refusing ---- */

static void refuse(struct exchange *x, unsigned http_status, dpot_status status,
                   const char *sentence)
{
    http_response_refuse(&x->response, x->request.path, http_status, status, sentence);
    x->is_refused = true;
}

/* Closes the connection: what follows may be a body or another request. */
static void refuse_head(struct exchange *x, unsigned http_status, const char *sentence)
{
    refuse(x, http_status, DPOT_ERR_MALFORMED, sentence);
    http_response_add(&x->response, "batch", ""); /* no body was read, so no report is refused */
    x->closes = true;
}

static void refuse_too_large(struct exchange *x)
{
    struct dpot_error error;
    (void)dpot_error_set(&error, DPOT_ERR_TOO_LARGE,
                         "the body is larger than %zu bytes: send less at a time",
                         route_body_max(x->server->config.app, x->route));
    refuse(x, 413, DPOT_ERR_TOO_LARGE, error.text);
    http_response_add(&x->response, "batch", ""); /* unread, too */
}

static void refuse_busy(struct exchange *x)
{
    refuse(x, 503, DPOT_ERR_MEMORY, "the server is busy: try again");
    x->response.retry_after_s = 2;
}

/* ---- memory of bodies ---- */

static void set_charge(struct exchange *x, size_t charged)
{
    struct server *server = x->server;
    (void)pthread_mutex_lock(&server->mutex);
    server->traffic.body_memory = server->traffic.body_memory - x->charged + charged;
    (void)pthread_mutex_unlock(&server->mutex);
    x->charged = charged;
}

static void drop_body(struct exchange *x)
{
    dpot_buf_release(&x->body);
    set_charge(x, 0);
}

static bool is_memory_left(struct server *server)
{
    (void)pthread_mutex_lock(&server->mutex);
    const bool is_left = server->traffic.body_memory <= server->config.max_body_memory;
    (void)pthread_mutex_unlock(&server->mutex);
    return is_left;
}

static void take_body(struct exchange *x, const char *data, size_t len)
{
    const size_t before = x->charged;
    const dpot_status status = dpot_buf_append(&x->body, data, len);
    set_charge(x, x->body.cap);
    if (status == DPOT_ERR_TOO_LARGE) {
        refuse_too_large(x);
    } else if (status != DPOT_OK || (x->charged > before && !is_memory_left(x->server))) {
        refuse_busy(x);
    }
    if (x->is_refused) {
        drop_body(x);
    }
}

/* ---- checking the head (H3) ---- */

static bool needs_token(const struct exchange *x)
{
    return x->route->auth == ROUTE_ADMIN ||
           (x->route->auth == ROUTE_METRICS && !x->server->config.app->has_open_metrics);
}

/* 401 without a bearer token, 403 for an unknown one or one for something else. */
static void check_token(struct exchange *x, struct MHD_Connection *connection)
{
    static const char scheme[] = "Bearer ";
    const char *value = head_value(connection, MHD_HTTP_HEADER_AUTHORIZATION);
    if (!value || strncasecmp(value, scheme, sizeof scheme - 1) != 0) {
        refuse(x, 401, DPOT_ERR_DENIED, "give an admin token: Authorization: Bearer TOKEN");
        return;
    }
    const struct token *token =
        tokens_find(x->server->config.app->tokens, value + sizeof scheme - 1);
    if (!token) {
        refuse(x, 403, DPOT_ERR_DENIED, "the admin token is wrong: check DPOT_TOKEN");
    } else if (token->is_for_metrics && x->route->auth != ROUTE_METRICS) {
        refuse(x, 403, DPOT_ERR_DENIED, "the token is for /metrics only: give an admin token");
    }
}

/* The Content-Length; 0 without one. */
static unsigned long long announced_length(struct MHD_Connection *connection)
{
    const char *value = head_value(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return value ? strtoull(value, NULL, 10) : 0; /* the library checked the digits */
}

/* Nothing is decompressed, so that no body grows. */
static bool is_encoded(struct MHD_Connection *connection)
{
    const char *encoding = head_value(connection, MHD_HTTP_HEADER_CONTENT_ENCODING);
    return encoding && strcasecmp(encoding, "identity") != 0;
}

/* For each query parameter, until one is refused. */
static enum MHD_Result take_query(void *ctx, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    struct exchange *x = ctx;
    struct dpot_error error = {{0}};
    (void)kind;
    const dpot_status status = routes_take_query(x->route, &x->request, name, value, &error);
    if (status != DPOT_OK) {
        refuse(x, 400, status, error.text);
    }
    return status == DPOT_OK ? MHD_YES : MHD_NO;
}

static void check_head(struct exchange *x, struct MHD_Connection *connection)
{
    const char *allow = NULL;
    const char *ambiguity = head_find_ambiguity(connection, &x->line);
    bool is_served = true;
    x->request.path = head_find_path(x->request.path, &is_served);
    if (ambiguity || !is_served) {
        refuse_head(x, 400, ambiguity ? ambiguity : "the address names no host, or a user");
        return;
    }
    if (head_has_chunks(connection)) {
        refuse_head(x, 411, "the body comes in chunks: send it with its Content-Length");
        return;
    }
    x->route = routes_find(&x->request, &allow);
    if (!x->route && allow) {
        refuse(x, 405, DPOT_ERR_ARGUMENT, "this path does not take that method");
        x->response.allow = allow;
    } else if (!x->route) {
        refuse(x, 404, DPOT_ERR_NOT_FOUND, "no such path: check the address");
    } else if (needs_token(x)) {
        check_token(x, connection);
    }
    if (!x->is_refused && x->route->auth == ROUTE_ADMIN) {
        (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_query, x);
    }
    if (x->is_refused) {
        return;
    }
    const size_t body_max = route_body_max(x->server->config.app, x->route);
    dpot_buf_init(&x->body, body_max, NULL);
    if (announced_length(connection) > body_max) {
        refuse_too_large(x);
    } else if (is_encoded(connection)) {
        refuse(x, 415, DPOT_ERR_ARGUMENT, "the body is encoded: send it without Content-Encoding");
    }
}

/* ---- answering ---- */

/* Moves the content out of the response. NULL: memory is out. */
static struct MHD_Response *make_response(struct http_response *from)
{
    if (from->file) {
        const off_t len = ftello(from->file);
        const int fd = len < 0 ? -1 : dup(fileno(from->file));
        if (fd < 0) {
            return NULL;
        }
        struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)len, fd);
        if (!response) {
            (void)close(fd);
        }
        return response;
    }
    if (from->borrowed) {
        return MHD_create_response_from_buffer(from->borrowed->len, from->borrowed->data,
                                               MHD_RESPMEM_PERSISTENT);
    }
    if (from->body.len == 0) {
        return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(from->body.len, from->body.data, MHD_RESPMEM_MUST_FREE);
    if (response) {
        dpot_buf_init(&from->body, 0, NULL); /* the library frees it with free() */
    }
    return response;
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name, value); /* no memory: the answer goes without */
}

static void add_headers(struct MHD_Response *response, const struct exchange *x)
{
    const struct http_response *from = &x->response;
    add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, from->content_type);
    add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    add_header(response, "X-Content-Type-Options", "nosniff");
    if (from->allow) {
        add_header(response, MHD_HTTP_HEADER_ALLOW, from->allow);
    }
    if (from->status == 401) {
        add_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    }
    if (from->retry_after_s > 0) {
        char seconds[16];
        (void)snprintf(seconds, sizeof seconds, "%u", from->retry_after_s);
        add_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (server_is_closing(x->server) || x->closes) {
        add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    }
}

static int64_t content_length(const struct http_response *response)
{
    if (response->file) {
        return (int64_t)ftello(response->file);
    }
    return (int64_t)(response->borrowed ? response->borrowed->len : response->body.len);
}

/* The method for the log: "-" for one that strangers made up. */
static const char *plain_method(const char *method)
{
    static const char *const known[] = {"GET",    "HEAD",    "POST",  "PUT",
                                        "DELETE", "OPTIONS", "PATCH", NULL};
    for (size_t i = 0; known[i]; i++) {
        if (strcmp(method, known[i]) == 0) {
            return known[i];
        }
    }
    return "-";
}

static void log_exchange(const struct exchange *x, int64_t now_ms)
{
    char note[LOG_QUOTED_SIZE], kind[LOG_KIND_SIZE];
    const struct http_response *r = &x->response;
    (void)snprintf(kind, sizeof kind, "method=%s route=%s status=%u",
                   plain_method(x->request.method), x->route ? x->route->pattern : "-", r->status);
    log_write_folded(
        x->server->config.log, r->level, "http.request", kind, "in=%zu out=%lld ms=%lld%s%s",
        x->request.body_len, (long long)content_length(r), (long long)(now_ms - x->started_ms),
        r->note.text[0] ? " note=" : "", r->note.text[0] ? log_quote(note, r->note.text) : "");
}

void exchange_count_answer(struct server *server, unsigned http_status)
{
    const unsigned digit = http_status / 100;
    (void)pthread_mutex_lock(&server->mutex);
    server->traffic.n_answers[digit < SERVER_CLASSES ? digit : 0]++;
    (void)pthread_mutex_unlock(&server->mutex);
}

static void set_deadline(const struct exchange *x, enum deadline_phase phase, int64_t at_ms)
{
    if (x->deadline) {
        deadlines_set(x->server->deadlines, x->deadline, phase, at_ms);
    }
}

int64_t exchange_timeout_ms(const struct server *server)
{
    return (int64_t)server->config.request_timeout_s * 1000;
}

static enum MHD_Result answer(struct exchange *x, struct MHD_Connection *connection)
{
    const int64_t now_ms = dpot_clock_monotonic_ms();
    const int64_t reading_ms = content_length(&x->response) / SLOWEST_READER;
    log_exchange(x, now_ms);
    exchange_count_answer(x->server, x->response.status);
    drop_body(x);
    set_deadline(x, DEADLINE_OURS, now_ms + exchange_timeout_ms(x->server) + reading_ms);
    struct MHD_Response *response = make_response(&x->response);
    if (!response) {
        return MHD_NO;
    }
    add_headers(response, x);
    const enum MHD_Result result = MHD_queue_response(connection, x->response.status, response);
    MHD_destroy_response(response); /* the connection keeps its own reference */
    x->is_answered = true;
    return result;
}

/* ---- pausing ---- */

/* The library must not be stopped with suspended connections, so each is counted, and none is added
 * once the server stops. */
static bool suspend(struct http_pause *pause)
{
    struct connection_pause *p = (struct connection_pause *)pause;
    (void)pthread_mutex_lock(&p->server->mutex);
    const bool is_suspended = !p->server->is_stopping;
    p->server->traffic.n_suspended += is_suspended;
    (void)pthread_mutex_unlock(&p->server->mutex);
    if (is_suspended) {
        MHD_suspend_connection(p->connection);
    }
    return is_suspended;
}

/* The exchange may end as soon as the connection is resumed: it is not touched after that. */
static void resume(struct http_pause *pause)
{
    struct connection_pause *p = (struct connection_pause *)pause;
    struct server *server = p->server;
    MHD_resume_connection(p->connection);
    (void)pthread_mutex_lock(&server->mutex);
    server->traffic.n_suspended--;
    if (server->traffic.n_suspended == 0) {
        (void)pthread_cond_signal(&server->idle);
    }
    (void)pthread_mutex_unlock(&server->mutex);
}

/* ---- the callbacks of the library ---- */

void *exchange_on_line(void *ctx, const char *address, struct MHD_Connection *connection)
{
    struct server *server = ctx;
    struct exchange *x = dpot_alloc_array(NULL, 1, sizeof *x);
    const union MHD_ConnectionInfo *socket =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (!x) {
        return NULL;
    }
    *x = (struct exchange){
        .server = server,
        .deadline = socket ? socket->socket_context : NULL,
        .request = {.server = server, .method = "", .path = address ? address : ""},
        .line = {.address = address, .has_blank = address && head_has_blank(address)}};
    x->request.pause = &x->pause.pause;
    x->pause = (struct connection_pause){.pause = {.suspend = suspend, .resume = resume},
                                         .server = server,
                                         .connection = connection};
    http_response_init(&x->response);
    return x;
}

static void count_running(struct server *server)
{
    (void)pthread_mutex_lock(&server->mutex);
    server->traffic.n_running++;
    (void)pthread_mutex_unlock(&server->mutex);
}

static enum MHD_Result begin(struct exchange *x, struct MHD_Connection *connection)
{
    x->has_head = true;
    x->started_ms = dpot_clock_monotonic_ms();
    count_running(x->server);
    if (x->deadline) {
        deadlines_enter(x->server->deadlines, x->deadline, DEADLINE_BODY);
    }
    check_head(x, connection);
    /* A refused body is not waited for: it may be long, or never come. */
    x->closes = x->closes || (x->is_refused && announced_length(connection) > 0);
    return x->closes ? answer(x, connection) : MHD_YES;
}

static enum MHD_Result take(struct exchange *x, const char *data, size_t *len)
{
    if (x->is_refused) {
        x->discarded += *len;
        if (x->discarded > DISCARD_MAX) {
            return MHD_NO;
        }
    } else {
        take_body(x, data, *len);
    }
    *len = 0;
    return MHD_YES;
}

/* The request is complete, or the work of its handler is done. False: the request was suspended. */
static bool handle(struct exchange *x)
{
    struct http_pause *pause = &x->pause.pause;
    if (pause->work) {
        pause->finish(pause->work, &x->response, &x->request);
        pause->work = NULL;
        return true;
    }
    set_deadline(x, DEADLINE_OURS, DEADLINE_NEVER); /* the peer waits for us */
    x->request.body = x->body.data;
    x->request.body_len = x->body.len;
    x->route->handle(x->server->config.app, &x->request, &x->response);
    if (pause->work) {
        x->request.body = NULL;
        drop_body(x); /* the work does not need it */
    }
    return !pause->work;
}

enum MHD_Result exchange_on_request(void *ctx, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *data,
                                    size_t *len, void **context)
{
    struct exchange *x = *context;
    (void)ctx;
    if (!x) {
        return MHD_NO; /* memory was out */
    }
    if (!x->has_head) {
        x->request.method = method;
        x->request.path = path;
        x->line.method = method;
        x->line.version = version;
        return begin(x, connection);
    }
    if (x->is_answered) {
        *len = 0;
        return MHD_YES;
    }
    if (*len > 0) {
        return take(x, data, len);
    }
    if (!x->is_refused && !handle(x)) {
        return MHD_YES; /* the library calls again after resume */
    }
    return answer(x, connection);
}

/* The library is about to close its descriptor. */
static void keep_open(struct server *server, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info) {
        linger_add(server->linger, info->connect_fd);
    }
}

void exchange_on_completed(void *ctx, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code)
{
    struct server *server = ctx;
    struct exchange *x = *context;
    if (!x) {
        return;
    }
    if (x->closes && code == MHD_REQUEST_TERMINATED_COMPLETED_OK) {
        keep_open(server, connection);
    }
    if (x->pause.pause.work) { /* the connection ended before the work was answered */
        x->pause.pause.abandon(x->pause.pause.work);
    }
    const bool had_head = x->has_head;
    if (had_head) {
        set_deadline(x, DEADLINE_HEAD, dpot_clock_monotonic_ms() + exchange_timeout_ms(server));
    }
    drop_body(x);
    http_response_release(&x->response);
    dpot_free_array(NULL, x, 1, sizeof *x);
    *context = NULL;
    if (!had_head) {
        return;
    }
    (void)pthread_mutex_lock(&server->mutex);
    server->traffic.n_running--;
    if (server->traffic.n_running == 0) {
        (void)pthread_cond_signal(&server->idle);
    }
    (void)pthread_mutex_unlock(&server->mutex);
}

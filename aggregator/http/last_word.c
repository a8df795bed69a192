#include "http/last_word.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define HEAD_SIZE 512
#define DATE_SIZE 40

void last_word_await(struct exchange *x)
{
    struct server *server = x->server;
    x->thread = pthread_self();
    x->is_awaited = true;
    (void)pthread_mutex_lock(&server->mutex);
    x->next = server->awaited;
    if (x->next) {
        x->next->previous = x;
    }
    server->awaited = x;
    (void)pthread_mutex_unlock(&server->mutex);
}

/* Under the mutex. */
static void unlink_awaited(struct exchange *x)
{
    if (x->previous) {
        x->previous->next = x->next;
    } else {
        x->server->awaited = x->next;
    }
    if (x->next) {
        x->next->previous = x->previous;
    }
    x->next = NULL;
    x->previous = NULL;
    x->is_awaited = false;
}

void last_word_forget(struct exchange *x)
{
    (void)pthread_mutex_lock(&x->server->mutex);
    if (x->is_awaited) {
        unlink_awaited(x);
    }
    (void)pthread_mutex_unlock(&x->server->mutex);
}

/* One of this thread, whose connections nobody else touches, and what it is refused with. */
static struct exchange *take_bad(struct server *server, unsigned *http_status)
{
    struct exchange *x = NULL;
    *http_status = 0;
    (void)pthread_mutex_lock(&server->mutex);
    for (x = server->awaited; x; x = x->next) {
        *http_status =
            pthread_equal(x->thread, pthread_self()) ? head_judge_length(x->pause.connection) : 0;
        if (*http_status != 0) {
            unlink_awaited(x);
            break;
        }
    }
    (void)pthread_mutex_unlock(&server->mutex);
    return x;
}

static void format_date(char out[DATE_SIZE])
{
    const time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) || strftime(out, DATE_SIZE, "%a, %d %b %Y %H:%M:%S GMT", &utc) == 0) {
        out[0] = '\0';
    }
}

/* Head and body, as the library would send them. */
static dpot_status format_answer(const struct http_response *response, struct dpot_buf *out)
{
    char head[HEAD_SIZE], date[DATE_SIZE];
    format_date(date);
    const int len =
        snprintf(head, sizeof head,
                 "HTTP/1.1 %u %s\r\nDate: %s\r\nConnection: close\r\nContent-Type: %s\r\n"
                 "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                 "Content-Length: %zu\r\n\r\n",
                 response->status, response->status == 413 ? "Content Too Large" : "Bad Request",
                 date, response->content_type, response->body.len);
    const dpot_status status = dpot_buf_append(out, head, (size_t)len);
    return status == DPOT_OK ? dpot_buf_append(out, response->body.data, response->body.len)
                             : status;
}

/* What does not go at once is lost: nobody waits for such a peer. */
static void send_last(struct MHD_Connection *connection, const struct dpot_buf *bytes)
{
    const union MHD_ConnectionInfo *socket =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *tls =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (tls && tls->tls_session) {
        (void)gnutls_record_send(tls->tls_session, bytes->data, bytes->len);
        (void)gnutls_bye(tls->tls_session, GNUTLS_SHUT_WR);
    } else if (socket) {
        (void)send(socket->connect_fd, bytes->data, bytes->len, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    if (socket) { /* the library's own answer goes nowhere, and the connection ends */
        (void)shutdown(socket->connect_fd, SHUT_WR);
    }
}

static void refuse(struct exchange *x, unsigned http_status)
{
    struct dpot_buf bytes;
    exchange_refuse_head(x, http_status,
                         http_status == 413
                             ? "the Content-Length is too large: send less at a time"
                             : "the Content-Length is no number: send the digits of one");
    x->is_told = true;
    x->started_ms = deadlines_now();
    exchange_account(x);
    dpot_buf_init(&bytes, HEAD_SIZE + x->response.body.len, NULL);
    if (format_answer(&x->response, &bytes) != DPOT_OK) {
        dpot_buf_reset(&bytes);
    }
    send_last(x->pause.connection, &bytes);
    dpot_buf_release(&bytes);
}

void last_word_give(struct server *server)
{
    unsigned http_status = 0;
    for (struct exchange *x = take_bad(server, &http_status); x;
         x = take_bad(server, &http_status)) {
        refuse(x, http_status);
    }
}

/* "Error processing request (HTTP response code is 414 ('<html>...')). Closing connection." What it says of a
 * Content-Length was answered, and counted, above. */
void last_word_count(struct server *server, const char *text)
{
    static const char words[] = "HTTP response code is ";
    const char *at = strstr(text, words);
    const unsigned long http_status = at ? strtoul(at + sizeof words - 1, NULL, 10) : 0;
    if (http_status >= 400 && http_status <= 599 && !strstr(at, "<b>Content-Length</b>")) {
        exchange_count_answer(server, (unsigned)http_status);
    }
}

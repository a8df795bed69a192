#include "http/server.h"

#include "base/clock.h"
#include "http/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define END_MS 2000                      /* for the threads to see the end of their connections */
#define CHECK_PAUSE_MS 5000              /* the longest between two checks of the store */
#define HEADER_MEMORY ((size_t)32 << 10) /* per connection */
#define STACK_SIZE ((size_t)1 << 20) /* of a thread: the usual 8 MiB exceed small address spaces */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct server *server = ctx;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *socket_context =
            info ? deadlines_add(server->deadlines, info->connect_fd,
                                 dpot_clock_monotonic_ms() + exchange_timeout_ms(server))
                 : NULL;
    } else if (*socket_context) {
        deadlines_remove(server->deadlines, *socket_context);
        *socket_context = NULL;
    }
}

/* Where this process may open no more files and the thread has no connection, the library tries
 * again at once, without end: it waits a little here. */
static void wait_if_out_of_files(struct server *server, const char *text)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    if (strstr(text, "limit at FIRST connection")) {
        log_write_folded(server->config.log, LOG_LEVEL_WARNING, "http.files", "",
                         "note=\"no more files may be opened: new connections wait\"");
        (void)nanosleep(&pause, NULL);
    }
}

/* Paths are not unescaped, so that an escaped path matches no route. */
static size_t keep_escapes(void *ctx, struct MHD_Connection *connection, char *text)
{
    (void)ctx;
    (void)connection;
    return strlen(text);
}

/* Counts an answer that the library gave by itself, which only its message reports:
 * "Error processing request (HTTP response code is 414 ('<html>...')). Closing connection." */
static void count_library_answer(struct server *server, const char *text)
{
    static const char words[] = "HTTP response code is ";
    const char *at = strstr(text, words);
    if (at) {
        exchange_count_answer(server, (unsigned)strtoul(at + sizeof words - 1, NULL, 10));
    }
}

static void on_library_message(void *ctx, const char *format, va_list arguments)
{
    char text[LOG_QUOTED_SIZE], quoted[LOG_QUOTED_SIZE];
    struct server *server = ctx;
    (void)vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\r\n")] = '\0';
    count_library_answer(server, text);
    wait_if_out_of_files(server, text);
    log_write(server->config.log, LOG_LEVEL_DEBUG, "http.library", "note=%s",
              log_quote(quoted, text));
}

/* A server that drains accepts no connections. (MHD_quiesce_daemon aborts when a thread of the
 * library removes the listening socket from its epoll set at the same moment: 0.9.75.) */
static enum MHD_Result accept_unless_closing(void *ctx, const struct sockaddr *peer, socklen_t len)
{
    (void)peer;
    (void)len;
    return server_is_closing(ctx) ? MHD_NO : MHD_YES;
}

/* Opening and closing. */

static struct MHD_Daemon *start_daemon(struct server *server)
{
    const struct server_config *config = &server->config;
    struct MHD_OptionItem options[16];
    size_t n = 0;
#define OPTION(...) options[n++] = (struct MHD_OptionItem){__VA_ARGS__}
    OPTION(MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)exchange_on_completed, server);
    OPTION(MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, server);
    OPTION(MHD_OPTION_LISTEN_SOCKET, server->listen_fd, NULL);
    OPTION(MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)keep_escapes, NULL);
    OPTION(MHD_OPTION_CONNECTION_LIMIT, (intptr_t)config->max_connections, NULL);
    OPTION(MHD_OPTION_PER_IP_CONNECTION_LIMIT, (intptr_t)config->max_connections_per_ip, NULL);
    OPTION(MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)config->request_timeout_s, NULL);
    OPTION(MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)HEADER_MEMORY, NULL);
    OPTION(MHD_OPTION_THREAD_STACK_SIZE, (intptr_t)STACK_SIZE, NULL);
    OPTION(MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)exchange_on_line, server);
    /* Strict, the library refuses a missing Host itself, with two heads; head.c refuses it, and
     * more. */
    OPTION(MHD_OPTION_STRICT_FOR_CLIENT, 0, NULL);
    if (config->threads > 1) {
        OPTION(MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)config->threads, NULL);
    }
    /* With TLS the library's epoll mode spins on a stalled client hello. */
    unsigned flags =
        (config->tls_cert ? MHD_USE_POLL_INTERNAL_THREAD : MHD_USE_EPOLL_INTERNAL_THREAD) |
        MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    if (config->tls_cert) {
        flags |= MHD_USE_TLS;
        OPTION(MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)config->tls_cert);
        OPTION(MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)config->tls_key);
        OPTION(MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_PRIORITIES);
    }
    OPTION(MHD_OPTION_END, 0, NULL);
#undef OPTION
    return MHD_start_daemon(flags, 0, accept_unless_closing, server, exchange_on_request, server,
                            MHD_OPTION_EXTERNAL_LOGGER, on_library_message, server,
                            MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

static dpot_status start(struct server *server, struct dpot_error *error)
{
    const struct server_config *config = &server->config;
    dpot_status status = listen_open(config->listen, &server->listen_fd, error);
    if (status == DPOT_OK) {
        status = listen_url(server->listen_fd, config->tls_cert != NULL, server->url, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (!config->tls_cert && !listen_is_loopback(server->listen_fd)) {
        log_write(config->log, LOG_LEVEL_WARNING, "http.plain",
                  "note=\"plain HTTP beyond this machine: put a TLS proxy in front or set tls\"");
    }
    status = deadlines_new(config->threads, config->max_connections, &server->deadlines);
    if (status == DPOT_OK) {
        status = linger_new(linger_sockets(config->max_connections), exchange_timeout_ms(server),
                            &server->linger);
    }
    if (status != DPOT_OK) {
        return dpot_error_set(error, status,
                              "a thread of the HTTP server did not start: " DPOT_MORE_THREADS);
    }
    server->daemon = start_daemon(server);
    if (server->daemon) {
        return DPOT_OK;
    }
    return config->tls_cert
               ? dpot_error_set(
                     error, DPOT_ERR_ARGUMENT,
                     "the HTTP server did not start: check that tls.cert and tls.key are a "
                     "PEM certificate and its key")
               : dpot_error_set(error, DPOT_ERR_MEMORY,
                                "the HTTP server did not start: " DPOT_MORE_THREADS
                                ", or lower limits.threads");
}

dpot_status server_open(const struct server_config *config, struct server **server,
                        struct dpot_error *error)
{
    struct server *s = dpot_alloc_array(NULL, 1, sizeof *s);
    *server = NULL;
    if (!s) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the HTTP server");
    }
    s->config = *config;
    s->listen_fd = -1;
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->idle, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&s->mutex, NULL);
    const dpot_status status = start(s, error);
    if (status != DPOT_OK) {
        server_close(s, 0);
        return status;
    }
    *server = s;
    return DPOT_OK;
}

const char *server_url(const struct server *server)
{
    return server->url;
}

void server_get_traffic(struct server *server, struct server_traffic *traffic)
{
    (void)pthread_mutex_lock(&server->mutex);
    *traffic = server->traffic;
    (void)pthread_mutex_unlock(&server->mutex);
    traffic->log = log_sink_get_counts(server->config.log->sink);
}

/* Returns with the mutex held; it is free meanwhile. */
static void check_now(struct server *server)
{
    struct store_checks *checks = &server->checks;
    struct dpot_error error = {{0}};
    checks->is_running = true;
    checks->began_ms = dpot_clock_monotonic_ms();
    (void)pthread_mutex_unlock(&server->mutex);
    const dpot_status status = store_check(server->config.app->store, &error);
    (void)pthread_mutex_lock(&server->mutex);
    const int64_t now_ms = dpot_clock_monotonic_ms(), pause_ms = 9 * (now_ms - checks->began_ms);
    *checks = (struct store_checks){
        .next_ms = now_ms + (pause_ms < SERVER_CHECK_MS  ? SERVER_CHECK_MS
                             : pause_ms < CHECK_PAUSE_MS ? pause_ms
                                                         : CHECK_PAUSE_MS),
        .status = status,
        .error = error,
    };
}

dpot_status server_check_store(struct server *server, struct dpot_error *error)
{
    const struct store_checks *checks = &server->checks;
    (void)pthread_mutex_lock(&server->mutex);
    const int64_t now_ms = dpot_clock_monotonic_ms();
    if (!checks->is_running && now_ms >= checks->next_ms) {
        check_now(server);
    }
    dpot_status status = checks->status;
    *error = checks->error;
    if (checks->is_running && now_ms - checks->began_ms >= SERVER_PATIENCE_MS) {
        status = dpot_error_set(error, DPOT_ERR_BUSY, "the store has not answered for %lld ms",
                                (long long)(now_ms - checks->began_ms));
    }
    (void)pthread_mutex_unlock(&server->mutex);
    return status;
}

bool server_is_closing(struct server *server)
{
    (void)pthread_mutex_lock(&server->mutex);
    const bool is_closing = server->is_closing;
    (void)pthread_mutex_unlock(&server->mutex);
    return is_closing;
}

/* Waits up to drain_ms for running requests, then for suspended ones, whose work always ends. */
static void drain(struct server *server, unsigned drain_ms)
{
    const int64_t at_ms = dpot_clock_monotonic_ms() + drain_ms;
    const struct timespec at = {.tv_sec = (time_t)(at_ms / 1000),
                                .tv_nsec = (long)(at_ms % 1000) * 1000000};
    int failed = 0;
    (void)pthread_mutex_lock(&server->mutex);
    server->is_closing = true;
    while (server->traffic.n_running > 0 && failed == 0) {
        failed = pthread_cond_timedwait(&server->idle, &server->mutex, &at);
    }
    server->is_stopping = true;
    while (server->traffic.n_suspended > 0) {
        (void)pthread_cond_wait(&server->idle, &server->mutex);
    }
    (void)pthread_mutex_unlock(&server->mutex);
}

void server_close(struct server *server, unsigned drain_ms)
{
    if (!server) {
        return;
    }
    if (server->daemon) {
        drain(server, drain_ms);
        /* The library crashes when it is stopped while it refuses a request by itself: disconnect
         * all peers first. */
        deadlines_end(server->deadlines, END_MS);
        MHD_stop_daemon(server->daemon); /* closes the listening socket */
        server->listen_fd = -1;
    }
    linger_free(server->linger);
    deadlines_free(server->deadlines);
    if (server->listen_fd >= 0) {
        (void)close(server->listen_fd);
    }
    (void)pthread_cond_destroy(&server->idle);
    (void)pthread_mutex_destroy(&server->mutex);
    dpot_free_array(NULL, server, 1, sizeof *server);
}

/* Heads that two readers, such as a proxy and this server, may read differently: no request hides
 * in them. */
#include "unit/aggregator/http/rig.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(http_heads, .init = http_set_up, .fini = http_tear_down);

/* Reads until the connection ends. False: it does not end. */
static bool read_all(int fd, char *out, size_t cap)
{
    size_t len = 0;
    ssize_t n = 1;
    while (n > 0 && len < cap - 1) {
        n = recv(fd, out + len, cap - 1 - len, 0);
        len += n > 0 ? (size_t)n : 0;
    }
    out[len] = '\0';
    return len < cap - 1;
}

/* A POST whose head hides the length of its body from one of two readers. The body is a request. */
static void smuggle(size_t number, const char *hidden, size_t len)
{
    static char answers[16384];
    static const char body[] = "\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    char message[1024];
    const int fd = http_connect(server_url(server));
    cr_assert_geq(fd, 0);
    const size_t n =
        (size_t)snprintf(message, sizeof message, "POST %s HTTP/1.1\r\nHost: x\r\n", reports_path);
    memcpy(message + n, hidden, len);
    memcpy(message + n + len, body, sizeof body - 1);
    cr_assert(http_send(
        fd, message, n + len + sizeof body - 1)); /* in one piece, so that nothing is left unread */
    cr_assert(read_all(fd, answers, sizeof answers));
    cr_assert_eq(strncmp(answers, "HTTP/1.1 400 ", 13), 0, "%zu: %s: %s", number, hidden, answers);
    cr_assert_null(strstr(answers + 13, "HTTP/1.1 2"), "%zu: %s: %s", number, hidden, answers);
    (void)close(fd);
}

Test(http_heads, a_head_that_two_readers_may_read_differently_is_400_and_ends_the_connection)
{
#define HIDDEN(text)                                                                               \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
    static const struct {
        const char *text;
        size_t len;
    } hidden[] = {
        HIDDEN("Content-Length : 34"),
        HIDDEN("Content-Length\t: 34"),
        HIDDEN(" Content-Length: 34"),
        HIDDEN("\tContent-Length: 34"),
        HIDDEN("X: y\r\n Content-Length: 34"),
        HIDDEN("X:\r\n\tContent-Length: 34"),
        HIDDEN("X: y\r\n z\r\nY: z"),
        HIDDEN("X: y\r\n z"),
        HIDDEN("X:\r\n z"),
        HIDDEN("Content-Length:\r\n 34"),
        HIDDEN("Transfer-Encoding:\r\n chunked"),
        HIDDEN("X: y\nContent-Length: 34"),
        HIDDEN("X: y\rContent-Length: 34"),
        HIDDEN("X: y\0\r\nContent-Length: 34"),
        HIDDEN("X: y\0z"),
        HIDDEN("X: y\0\0z"),
        HIDDEN("X\0: y"),
        HIDDEN("Content-Length:\x0b"
               "34"),
        HIDDEN("Content-Length: 34\0"),
        HIDDEN("Content Length: 34"),
        HIDDEN("Content-Length(: 34"),
        HIDDEN(": 34"),
        HIDDEN("X-\xc3\xa9: y"),
        HIDDEN("Content-Length 34"),
        HIDDEN("Content-Length: 4\r\nTransfer-Encoding : chunked"),
        HIDDEN("Transfer-Encoding: chunked\0"),
    };
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        smuggle(i, hidden[i].text, hidden[i].len);
    }
    cr_assert_eq(get("/healthz"), 200);
}

static char answers[16384];

/* True when the answer to `message` is 400, the only one, and ends the connection. */
static bool is_refused_alone(const char *message)
{
    const int fd = http_connect(server_url(server));
    cr_assert_geq(fd, 0);
    cr_assert(http_send(fd, message, strlen(message)));
    cr_assert(read_all(fd, answers, sizeof answers));
    (void)close(fd);
    return strncmp(answers, "HTTP/1.1 400 ", 13) == 0 && !strstr(answers + 13, "\nHTTP/1.1 ");
}

Test(http_heads, a_first_line_or_an_end_with_a_bare_lf_or_a_second_blank_is_400)
{
    static const char *const heads[] = {
        "GET /healthz HTTP/1.1\nHost: x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\n\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\n\n",
        "GET /healthz HTTP/1.1\r\nHost: x\n\r\n",
        "GET /healthz HTTP/1.0\n\n",
        "GET /healthz HTTP/1.0\r\n\n",
        "GET /healthz HTTP/1.0\n\r\n",
        "GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /healthz  HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /heal thz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /healthz?a=b c HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /heal\rthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /healthz\tHTTP/1.1 HTTP/1.1\r\nHost: x\r\n\r\n",
        "G(T /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nX: y\r\n\r\n",
        "GET /healthz HTTP/1.2\r\nX: y\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        cr_assert(is_refused_alone(heads[i]), "%zu: %s", i, heads[i]);
    }
    cr_assert_eq(get("/healthz"), 200);
}

Test(http_heads, a_header_without_a_name_is_refused_as_such)
{
    static const char *const heads[] = {
        "GET /healthz HTTP/1.1\r\n: a\r\nHost: x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\n: a\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\n:\r\nX: y\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        cr_assert(is_refused_alone(heads[i]), "%zu", i);
        cr_assert_not_null(strstr(answers, "no name before its colon"), "%zu: %s", i, answers);
    }
}

Test(http_heads, what_is_refused_below_v1_is_json_also_in_absolute_form)
{
    static const char *const heads[] = {
        "GET http://user:word@x/v1/keys HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET http:///v1/keys HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET http://x/v1/keys HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        cr_assert(is_refused_alone(heads[i]), "%zu", i);
        cr_assert_not_null(strstr(answers, "\r\n\r\n{\"error\":"), "%zu: %s", i, answers);
    }
}

/* The library answers these by itself. */
Test(http_heads, a_length_that_is_no_number_is_refused_and_counted_and_ends_the_connection)
{
    static const struct {
        const char *length;
        int status;
    } rows[] = {{"5, 5", 400},
                {"+5", 400},
                {"-1", 400},
                {"0x10", 400},
                {"5 1", 400},
                {"", 400},
                {"five", 400},
                {"99999999999999999999999x", 413},
                {"18446744073709551616", 413},
                {"99999999999999999999999", 413}};
    const size_t n = sizeof rows / sizeof rows[0];
    struct server_traffic before, after;
    server_get_traffic(server, &before);
    for (size_t i = 0; i < n; i++) {
        char message[512], first[32];
        const int fd = http_connect(server_url(server));
        (void)snprintf(message, sizeof message,
                       "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %s\r\n\r\nhello",
                       reports_path, rows[i].length);
        (void)snprintf(first, sizeof first, "HTTP/1.1 %d ", rows[i].status);
        cr_assert(http_send(fd, message, strlen(message)));
        cr_assert(read_all(fd, answers, sizeof answers));
        (void)close(fd);
        cr_assert_eq(strncmp(answers, first, strlen(first)), 0, "\"%s\": %s", rows[i].length,
                     answers);
        cr_assert_null(strstr(answers, "HTTP/1.1 2"), "\"%s\": %s", rows[i].length, answers);
    }
    server_get_traffic(server, &after);
    cr_assert_eq(after.n_answers[4] - before.n_answers[4], n);
    cr_assert_eq(get("/healthz"), 200);
}

/* Heads in pieces, beside incomplete heads on the same threads. */
Test(http_heads, a_bad_length_ends_no_connection_but_its_own)
{
    enum { N_WAITING = 8 };
    static const char start[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n";
    static const char bad[] = "POST /v1/keys HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n";
    struct http_reply reply;
    int waiting[N_WAITING];
    const int fd = http_connect(server_url(server));
    cr_assert(http_send(fd, bad, sizeof bad - 1));
    for (size_t i = 0; i < N_WAITING; i++) {
        waiting[i] = http_connect(server_url(server));
        cr_assert(http_send(waiting[i], start, sizeof start - 1));
    }
    cr_assert_eq(get("/healthz"), 200);
    cr_assert(http_send(fd, "\r\n", 2));
    cr_assert(read_all(fd, answers, sizeof answers));
    cr_assert_eq(strncmp(answers, "HTTP/1.1 400 ", 13), 0, "%s", answers);
    cr_assert_null(strstr(answers, "HTTP/1.1 2"), "%s", answers);
    (void)close(fd);
    for (size_t i = 0; i < N_WAITING; i++) {
        cr_assert(http_send(waiting[i], "\r\n", 2));
        cr_assert(http_receive(waiting[i], true, &reply));
        cr_assert_eq(reply.status, 200);
        http_reply_release(&reply);
        (void)close(waiting[i]);
    }
}

Test(http_heads, a_token_before_a_nul_is_not_the_token)
{
    static const char *const tails[] = {"z", "\0z", " z"};
    static const char head[] =
        "GET /v1/admin/campaigns HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " TOKEN;
    for (size_t i = 0; i < 3; i++) {
        struct http_reply reply;
        const int fd = http_connect(server_url(server));
        const size_t len = i == 1 ? 2 : strlen(tails[i]);
        char message[256];
        memcpy(message, head, sizeof head); /* with its NUL */
        memcpy(message + sizeof head, tails[i], len);
        memcpy(message + sizeof head + len, "\r\n\r\n", 4);
        cr_assert(http_send(fd, message, sizeof head + len + 4));
        (void)http_receive(fd, true, &reply);
        cr_assert_eq(reply.status, 400, "tail %zu: %d", i, reply.status);
        http_reply_release(&reply);
        (void)close(fd);
    }
}

Test(http_heads, an_honest_head_in_any_shape_is_read)
{
    static const char odd[] =
        "GET /healthz HTTP/1.1\r\nHost:x\r\nX-Empty:\r\nX-Blank: \r\nX:\t y z \r\n"
        "Cookie: a=b; c=d\r\nX-Latin: caf\xe9\r\n!#$%&'*+-.^_`|~09: y\r\n\r\n";
    static const char *const heads[] = {
        odd, "GET /healthz HTTP/1.0\r\n\r\n",
        "GET /v1/keys?a=b&c HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n"};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct http_reply reply;
        const int fd = http_connect(server_url(server));
        cr_assert(http_send(fd, heads[i], strlen(heads[i])));
        (void)http_receive(fd, true, &reply);
        cr_assert_eq(reply.status, 200, "head %zu: %d", i, reply.status);
        http_reply_release(&reply);
        (void)close(fd);
    }
}

static atomic_bool is_over;

/* Sends heads that the library refuses by itself, one connection after another. */
static void *hammer(void *ctx)
{
    static const char bad[] = "POST /v1 HTTP/1.1\r\nHost: x\r\nContent-Length: five\r\n\r\n";
    const char *url = ctx;
    char answer[512];
    while (!atomic_load(&is_over)) {
        const int fd = http_connect(url);
        if (fd >= 0) {
            (void)(http_send(fd, bad, sizeof bad - 1) && recv(fd, answer, sizeof answer, 0) > 0);
            (void)close(fd);
        }
    }
    return NULL;
}

Test(http_heads, a_server_that_is_closed_while_it_refuses_ends_whole)
{
    for (int round = 0; round < 40; round++) {
        pthread_t threads[3];
        const size_t n = sizeof threads / sizeof threads[0];
        char url[128];
        struct server_traffic traffic;
        (void)snprintf(url, sizeof url, "%s", server_url(server));
        atomic_store(&is_over, false);
        for (size_t i = 0; i < n; i++) {
            cr_assert_eq(pthread_create(&threads[i], NULL, hammer, url), 0);
        }
        traffic.n_answers[4] = 0;
        for (int i = 0; i < 600000 && traffic.n_answers[4] < 20; i++) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
            server_get_traffic(server, &traffic);
        }
        server_close(server, 60000);
        atomic_store(&is_over, true);
        for (size_t i = 0; i < n; i++) {
            (void)pthread_join(threads[i], NULL);
        }
        http_start();
        cr_assert_geq(traffic.n_answers[4], 20);
    }
}

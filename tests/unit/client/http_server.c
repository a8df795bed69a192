#include "unit/client/http_server.h"

#include "support/child.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD_MAX 16384
#define BODY_MAX (1u << 20)

/* One request as text. */
struct parsed {
    char method[8];
    char path[1024];
    char content_type[128];
    char authorization[1024];
    size_t body_len;
};

/* Reads up to the empty line, byte by byte; false at the end of the connection. */
static bool read_head(int connection, char *head)
{
    size_t len = 0;
    while (len + 1 < HEAD_MAX && read(connection, head + len, 1) == 1) {
        len++;
        head[len] = '\0';
        if (len >= 4 && strcmp(head + len - 4, "\r\n\r\n") == 0) {
            return true;
        }
    }
    return false;
}

static void copy_header(const char *head, const char *name, char *out, size_t size)
{
    const size_t name_len = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        const char *start = line + 2;
        if (strncasecmp(start, name, name_len) == 0 && start[name_len] == ':') {
            start += name_len + 1;
            start += strspn(start, " ");
            const size_t len = strcspn(start, "\r");
            (void)snprintf(out, size, "%.*s", (int)len, start);
            return;
        }
    }
}

static bool parse(const char *head, struct parsed *p)
{
    char length[32] = "0";
    memset(p, 0, sizeof *p);
    copy_header(head, "content-type", p->content_type, sizeof p->content_type);
    copy_header(head, "authorization", p->authorization, sizeof p->authorization);
    copy_header(head, "content-length", length, sizeof length);
    p->body_len = strtoul(length, NULL, 10);
    return sscanf(head, "%7s %1023s", p->method, p->path) == 2 && p->body_len <= BODY_MAX;
}

static bool read_body(int connection, uint8_t *body, size_t len)
{
    for (size_t got = 0; got < len;) {
        const ssize_t n = read(connection, body + got, len - got);
        if (n <= 0) {
            return false;
        }
        got += (size_t)n;
    }
    return true;
}

static bool send_answer(int connection, const struct test_answer *answer)
{
    char head[512], retry[64] = "", type[96] = "";
    if (answer->retry_after_s > 0) {
        (void)snprintf(retry, sizeof retry, "Retry-After: %u\r\n", (unsigned)answer->retry_after_s);
    }
    if (answer->content_type) {
        (void)snprintf(type, sizeof type, "Content-Type: %s\r\n", answer->content_type);
    }
    const int len =
        snprintf(head, sizeof head, "HTTP/1.1 %d Answer\r\n%s%s%sContent-Length: %zu\r\n\r\n",
                 answer->status, retry, type,
                 answer->status == 307 ? "Location: /elsewhere\r\n" : "", answer->body_len);
    return write(connection, head, (size_t)len) == len &&
           write(connection, answer->body, answer->body_len) == (ssize_t)answer->body_len;
}

static void serve_connection(int connection, test_server *server, void *ctx)
{
    static char head[HEAD_MAX];
    static uint8_t body[BODY_MAX];
    static struct test_answer answer;
    struct parsed p;
    while (read_head(connection, head) && parse(head, &p) &&
           read_body(connection, body, p.body_len)) {
        const struct dpot_http_request request = {
            .struct_size = sizeof request,
            .method = p.method,
            .url = p.path,
            .content_type = p.content_type,
            .authorization = p.authorization,
            .body = body,
            .body_len = p.body_len,
        };
        memset(&answer, 0, sizeof answer);
        server(ctx, &request, &answer);
        if (answer.status < 0 || !send_answer(connection, &answer)) {
            return;
        }
    }
}

int http_server_listen(struct http_server *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_geq(listener, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(listener, 8), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    (void)snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u", ntohs(address.sin_port));
    return listener;
}

void http_server_start(struct http_server *s, test_server *server, void *ctx)
{
    const int listener = http_server_listen(s);
    s->process = child_fork();
    cr_assert_geq(s->process, 0);
    if (s->process == 0) {
        (void)signal(SIGPIPE, SIG_IGN);
        for (;;) {
            const int connection = accept(listener, NULL, NULL);
            serve_connection(connection, server, ctx);
            (void)close(connection);
        }
    }
    (void)close(listener);
}

void http_server_stop(struct http_server *s)
{
    int status = 0;
    (void)kill(s->process, SIGKILL);
    (void)waitpid(s->process, &status, 0);
}

int http_server_stop_and_hold(struct http_server *s)
{
    const int yes = 1, holder = socket(AF_INET, SOCK_STREAM, 0);
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)strtoul(strrchr(s->url, ':') + 1, NULL, 10))};
    http_server_stop(s);
    cr_assert_eq(setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    cr_assert_eq(bind(holder, (const struct sockaddr *)&address, sizeof address), 0);
    return holder;
}

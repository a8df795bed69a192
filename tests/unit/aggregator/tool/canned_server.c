#include "canned_server.h"

#include "support/child.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD_SIZE 8192

/* Reads up to the end of the header; bodies of the tests are short and stay in the socket. */
static void read_request(int connection, char text[HEAD_SIZE])
{
    size_t len = 0;
    text[0] = '\0';
    while (len < HEAD_SIZE - 1) {
        const ssize_t n = read(connection, text + len, HEAD_SIZE - 1 - len);
        if (n <= 0) {
            return;
        }
        len += (size_t)n;
        text[len] = '\0';
        if (strstr(text, "\r\n\r\n")) {
            return;
        }
    }
}

/* "METHOD PATH HTTP/1.1 ..." */
static const struct canned_answer *choose(const char *head, const struct canned_answer *answers,
                                          size_t n)
{
    const char *path = strchr(head, ' ');
    const size_t len = path ? strcspn(path + 1, " ") : 0;
    for (size_t i = 0; path && i < n; i++) {
        const size_t ending_len = strlen(answers[i].ending);
        if (ending_len <= len &&
            strncmp(path + 1 + len - ending_len, answers[i].ending, ending_len) == 0) {
            return &answers[i];
        }
    }
    return NULL;
}

static void serve(int listener, const struct canned_answer *answers, size_t n_answers,
                  size_t n_requests)
{
    for (size_t i = 0; i < n_requests; i++) {
        char head[256], request[HEAD_SIZE];
        const int connection = accept(listener, NULL, NULL);
        if (connection < 0) {
            _exit(1);
        }
        read_request(connection, request);
        const struct canned_answer *answer = choose(request, answers, n_answers);
        if (!answer) {
            _exit(2);
        }
        const int n = snprintf(head, sizeof head,
                               "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                               answer->status, answer->len);
        (void)!write(connection, head, (size_t)n);
        (void)!write(connection, answer->body, answer->len);
        (void)shutdown(connection, SHUT_WR);
        read_request(connection,
                     /* reads the rest of the body, so that closing does not reset the connection */
                     request);
        (void)close(connection);
    }
}

/* On loopback; port 0: any that is free. Sets *port. No connection is accepted before listen().
 * Returns -1 on failure. */
static int bind_at(in_port_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = *port};
    socklen_t address_len = sizeof address;
    const int on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &address_len) != 0) {
        return -1;
    }
    *port = address.sin_port;
    return listener;
}

/* Forks; the child gets 0. */
static pid_t start(struct canned_server *server, int *listener, in_port_t *port)
{
    *port = 0;
    *listener = bind_at(port);
    cr_assert_geq(*listener, 0);
    cr_assert_eq(listen(*listener, 8), 0);
    (void)snprintf(server->url, sizeof server->url, "http://127.0.0.1:%u", (unsigned)ntohs(*port));
    server->child = child_fork();
    cr_assert_geq(server->child, 0);
    return server->child;
}

void canned_server_start_answers(struct canned_server *server, const struct canned_answer *answers,
                                 size_t n)
{
    int listener = -1;
    in_port_t port = 0;
    if (start(server, &listener, &port) == 0) {
        serve(listener, answers, n, SIZE_MAX);
    }
    (void)close(listener);
}

void canned_server_start_away(struct canned_server *server, const char *first, long away_ms,
                              const char *second)
{
    int listener = -1;
    in_port_t port = 0;
    const struct canned_answer before = {"", "200 OK", first, strlen(first)};
    const struct canned_answer after = {"", "200 OK", second, strlen(second)};
    const struct timespec pause = {away_ms / 1000, away_ms % 1000 * 1000000};
    if (start(server, &listener, &port) == 0) {
        serve(listener, &before, 1, 1);
        (void)close(listener);
        listener = bind_at(&port); /* immediately, so that no other program gets the port */
        (void)nanosleep(&pause, NULL);
        (void)listen(listener, 8); /* a failure ends in accept */
        serve(listener, &after, 1, SIZE_MAX);
    }
    (void)close(listener);
}

void canned_server_start(struct canned_server *server, const char *status, const void *body,
                         size_t len)
{
    const struct canned_answer answer = {"", status, body, len};
    canned_server_start_answers(server, &answer, 1);
}

void canned_server_stop(struct canned_server *server)
{
    (void)kill(server->child, SIGKILL);
    (void)waitpid(server->child, NULL, 0);
}

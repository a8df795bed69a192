#include "canned_server.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads up to the end of the header; bodies of the tests are short and stay in the socket. */
static void read_request(int connection)
{
    char text[8192];
    size_t len = 0;
    while (len < sizeof text - 1) {
        const ssize_t n = read(connection, text + len, sizeof text - 1 - len);
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

static void serve(int listener, const char *status, const void *body, size_t len)
{
    for (;;) {
        char head[256];
        const int connection = accept(listener, NULL, NULL);
        if (connection < 0) {
            _exit(1);
        }
        read_request(connection);
        const int n = snprintf(head, sizeof head,
                               "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                               status, len);
        (void)!write(connection, head, (size_t)n);
        (void)!write(connection, body, len);
        (void)shutdown(connection, SHUT_WR);
        read_request(connection); /* what is left of the body, so that closing does not reset */
        (void)close(connection);
    }
}

void canned_server_start(struct canned_server *server, const char *status, const void *body,
                         size_t len)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t address_len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_geq(listener, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(listener, 8), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &address_len), 0);
    (void)snprintf(server->url, sizeof server->url, "http://127.0.0.1:%u",
                   (unsigned)ntohs(address.sin_port));
    server->child = fork();
    cr_assert_geq(server->child, 0);
    if (server->child == 0) {
        (void)alarm(60); /* never outlives its test by much */
        serve(listener, status, body, len);
    }
    (void)close(listener);
}

void canned_server_stop(struct canned_server *server)
{
    (void)kill(server->child, SIGKILL);
    (void)waitpid(server->child, NULL, 0);
}

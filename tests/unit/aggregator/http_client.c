#include "unit/aggregator/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define REPLY_MAX ((size_t)64 << 20)

int http_connect(const char *url)
{
    const char *port = strrchr(url, ':');
    struct sockaddr_in address = {.sin_family = AF_INET};
    const struct timeval patience = {.tv_sec = 60};
    address.sin_port = htons((uint16_t)strtoul(port ? port + 1 : "0", NULL, 10));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
                    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0 ||
                    connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

bool http_send(int fd, const void *data, size_t len)
{
    const char *next = data;
    while (len > 0) {
        const ssize_t n = send(fd, next, len, MSG_NOSIGNAL);
        if (n <= 0) {
            return false;
        }
        next += n;
        len -= (size_t)n;
    }
    return true;
}

const char *http_header(const struct http_reply *reply, const char *name)
{
    const size_t len = strlen(name);
    for (const char *line = strstr(reply->head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, len) == 0 && line[len] == ':') {
            return line + len + 1 + strspn(line + len + 1, " ");
        }
    }
    return NULL;
}

/* Reads up to the empty line, byte by byte. */
static bool receive_head(int fd, struct http_reply *reply)
{
    size_t len = 0;
    while (len < HTTP_HEAD_SIZE - 1 && recv(fd, reply->head + len, 1, 0) == 1) {
        len++;
        reply->head[len] = '\0';
        if (len >= 4 && strcmp(reply->head + len - 4, "\r\n\r\n") == 0) {
            return true;
        }
    }
    return false;
}

bool http_receive(int fd, bool has_body, struct http_reply *reply)
{
    *reply = (struct http_reply){.status = 0};
    dpot_buf_init(&reply->body, REPLY_MAX, NULL);
    if (!receive_head(fd, reply) || strncmp(reply->head, "HTTP/1.", 7) != 0) {
        return false;
    }
    const int status = (int)strtol(reply->head + 9, NULL, 10);
    const char *length = http_header(reply, "Content-Length");
    if (status == 100) {
        http_reply_release(reply);
        return http_receive(fd, has_body, reply);
    }
    if (!length) {
        return false;
    }
    char block[4096];
    size_t left = has_body ? strtoul(length, NULL, 10) : 0;
    while (left > 0) {
        const ssize_t n = recv(fd, block, left < sizeof block ? left : sizeof block, 0);
        if (n <= 0 || dpot_buf_append(&reply->body, block, (size_t)n) != DPOT_OK) {
            return false;
        }
        left -= (size_t)n;
    }
    reply->status = status;
    return true;
}

void http_reply_release(struct http_reply *reply)
{
    dpot_buf_release(&reply->body);
}

void http_exchange(const char *url, const char *method, const char *path, const char *token,
                   const void *body, size_t len, struct http_reply *reply)
{
    char head[1024];
    const int n = snprintf(head, sizeof head,
                           "%s %s HTTP/1.1\r\nHost: test\r\n%s%s%sContent-Length: %zu\r\n\r\n",
                           method, path, token ? "Authorization: Bearer " : "", token ? token : "",
                           token ? "\r\n" : "", len);
    const int fd = http_connect(url);
    *reply = (struct http_reply){.status = 0};
    if (fd >= 0 && n > 0 && n < (int)sizeof head && http_send(fd, head, (size_t)n)) {
        (void)http_send(fd, body, len); /* an early refusal may have come */
        (void)http_receive(fd, strcmp(method, "HEAD") != 0, reply);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

#include "system/relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

bool relay_send(int socket_fd, const char *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = write(socket_fd, data, len);
        if (n <= 0) {
            return false;
        }
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static bool receive_all(int socket_fd, char *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = read(socket_fd, data, len);
        if (n <= 0) {
            return false;
        }
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static size_t content_length(const char *head)
{
    static const char name[] = "content-length:";
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, sizeof name - 1) == 0) {
            return strtoul(line + 2 + sizeof name - 1, NULL, 10);
        }
    }
    return 0;
}

bool relay_receive(int device, struct relay_request *r)
{
    r->head_len = 0;
    while (r->head_len + 1 < RELAY_HEAD_MAX && read(device, r->head + r->head_len, 1) == 1) {
        r->head[++r->head_len] = '\0';
        if (r->head_len >= 4 && strcmp(r->head + r->head_len - 4, "\r\n\r\n") == 0) {
            r->body_len = content_length(r->head);
            return r->body_len <= RELAY_BODY_MAX && receive_all(device, r->body, r->body_len);
        }
    }
    return false;
}

/* A connection to the server named in the file, or -1. */
static int reach(const char *upstream_file)
{
    char text[256] = "";
    FILE *file = fopen(upstream_file, "r");
    if (!file || !fgets(text, sizeof text, file)) {
        text[0] = '\0';
    }
    if (file) {
        (void)fclose(file);
    }
    const char *port = strrchr(text, ':');
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons((uint16_t)(port ? strtoul(port + 1, NULL, 10) : 0));
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    if (server >= 0 && connect(server, (struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(server);
        return -1;
    }
    return server;
}

int relay_pass_on(const char *upstream_file, const struct relay_request *r)
{
    static const char close_it[] = "Connection: close\r\n\r\n";
    const int server = reach(upstream_file);
    if (server >= 0 && relay_send(server, r->head, r->head_len - 2) &&
        relay_send(server, close_it, sizeof close_it - 1) &&
        relay_send(server, r->body, r->body_len)) {
        return server;
    }
    if (server >= 0) {
        (void)close(server);
    }
    return -1;
}

void relay_drain(int server, int to)
{
    char block[4096];
    ssize_t n = 0;
    while ((n = read(server, block, sizeof block)) > 0) {
        if (to >= 0 && !relay_send(to, block, (size_t)n)) {
            return;
        }
    }
}

void relay_tell_status(int device, const char *status)
{
    char text[128];
    const int len = snprintf(text, sizeof text,
                             "HTTP/1.1 %s Told\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
                             "Connection: close\r\n\r\n",
                             status);
    (void)relay_send(device, text, (size_t)len);
}

/* The file appears atomically. */
static bool write_url(const char *url_file, const struct sockaddr_in *address)
{
    char temporary[1024];
    (void)snprintf(temporary, sizeof temporary, "%s.new", url_file);
    FILE *file = fopen(temporary, "w");
    if (!file) {
        return false;
    }
    (void)fprintf(file, "http://127.0.0.1:%u\n", (unsigned)ntohs(address->sin_port));
    return fclose(file) == 0 && rename(temporary, url_file) == 0;
}

int relay_listen(const char *url_file)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) != 0 ||
        !write_url(url_file, &address)) {
        return -1;
    }
    return listener;
}

bool relay_get(const char *upstream_file, const char *path)
{
    static struct relay_request r;
    const char *token = getenv("DPOT_TOKEN");
    const int len = snprintf(r.head, sizeof r.head,
                             "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path,
                             token ? token : "");
    r.head_len = (size_t)len;
    const int server = relay_pass_on(upstream_file, &r);
    if (server < 0) {
        return false;
    }
    relay_drain(server, STDOUT_FILENO);
    (void)close(server);
    return true;
}

#include "http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST_SIZE 256
#define PORT_SIZE 6

struct host_port {
    char host[HOST_SIZE];
    char port[PORT_SIZE];
};

static bool is_port(const char *text)
{
    unsigned value = 0;
    size_t n = 0;
    for (; text[n] >= '0' && text[n] <= '9' && n < PORT_SIZE - 1; n++) {
        value = value * 10 + (unsigned)(text[n] - '0');
    }
    return n > 0 && text[n] == '\0' && value <= 65535;
}

static bool split(const char *text, struct host_port *out)
{
    const char *colon = strrchr(text, ':');
    if (!colon || !is_port(colon + 1)) {
        return false;
    }
    size_t len = (size_t)(colon - text);
    const bool is_bracketed = len > 2 && text[0] == '[' && text[len - 1] == ']';
    if (is_bracketed) {
        text++;
        len -= 2;
    }
    if (len == 0 || len >= HOST_SIZE ||
        (!is_bracketed && (memchr(text, ':', len) || text[0] == '['))) {
        return false;
    }
    memcpy(out->host, text, len);
    out->host[len] = '\0';
    memcpy(out->port, colon + 1, strlen(colon + 1) + 1);
    return true;
}

static dpot_status parse(const char *text, struct host_port *out, struct dpot_error *error)
{
    return split(text, out) ? DPOT_OK
                            : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                             "listen is \"%.80s\": give HOST:PORT such as "
                                             "127.0.0.1:8080 or [::1]:8080",
                                             text);
}

dpot_status listen_check(const char *text, struct dpot_error *error)
{
    struct host_port where;
    return parse(text, &where, error);
}

static int bind_one(const struct addrinfo *address)
{
    const int one = 1;
    const int fd = socket(address->ai_family, address->ai_socktype, address->ai_protocol);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0) {
        const int reason = errno;
        (void)close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

/* `port` replaces the port of the text; NULL: it does not. */
static dpot_status open_at(const char *text, const char *port, int *fd, struct dpot_error *error)
{
    struct host_port where;
    struct addrinfo *addresses = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    *fd = -1;
    const dpot_status status = parse(text, &where, error);
    if (status != DPOT_OK) {
        return status;
    }
    const int failed = getaddrinfo(where.host, port ? port : where.port, &hints, &addresses);
    if (failed) {
        return dpot_error_set(error, DPOT_ERR_IO,
                              "listen is \"%.80s\": %s: give an address of this machine", text,
                              gai_strerror(failed));
    }
    int reason = 0;
    for (const struct addrinfo *a = addresses; a && *fd < 0; a = a->ai_next) {
        *fd = bind_one(a);
        reason = errno;
    }
    freeaddrinfo(addresses);
    if (*fd >= 0) {
        return DPOT_OK;
    }
    return dpot_error_set(error, DPOT_ERR_IO, "listening on %.80s failed: %s%s", text,
                          strerror(reason),
                          reason == EADDRINUSE ? "; choose another port or stop what uses it" : "");
}

dpot_status listen_open(const char *text, int *fd, struct dpot_error *error)
{
    return open_at(text, NULL, fd, error);
}

dpot_status listen_check_host(const char *text, struct dpot_error *error)
{
    int fd = -1;
    const dpot_status status = open_at(text, "0", &fd, error);
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

dpot_status listen_url(int fd, bool is_tls, char out[LISTEN_URL_SIZE], struct dpot_error *error)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    char host[INET6_ADDRSTRLEN], port[PORT_SIZE];
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0 ||
        getnameinfo((struct sockaddr *)&address, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return dpot_error_set(error, DPOT_ERR_IO, "the bound address is unknown: %s",
                              strerror(errno));
    }
    const bool is_v6 = address.ss_family == AF_INET6;
    (void)snprintf(out, LISTEN_URL_SIZE, "%s://%s%s%s:%s", is_tls ? "https" : "http",
                   is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    return DPOT_OK;
}

bool listen_is_loopback(int fd)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        return false;
    }
    if (address.ss_family == AF_INET6) {
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&address)->sin6_addr) != 0;
    }
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address;
    return address.ss_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> 24 == 127;
}

/* A network between devices and a server that fails as it is told, for system tests.
 *
 *     delivery_network UPSTREAM_FILE URL_FILE CONDUCT[,CONDUCT...]
 *         listens on the loopback, writes its URL to URL_FILE and passes requests on to the server whose URL is
 *         in UPSTREAM_FILE at that moment. POSTs meet one CONDUCT after the other; the last one stays:
 *             pass    the answer comes back
 *             lose    the server gets the request, the device no answer
 *             gone    neither
 *             hold    the server gets the request, its answer is held until the device hangs up
 *             NUMBER  neither: the device is told this HTTP status, with Retry-After: 1
 *     delivery_network get UPSTREAM_FILE PATH
 *         prints what the server answers */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_MAX 16384
#define BODY_MAX (1u << 20)

struct request {
    char head[HEAD_MAX]; /* with the empty line */
    size_t head_len;
    char body[BODY_MAX];
    size_t body_len;
};

static bool send_all(int socket_fd, const char *data, size_t len)
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

static bool receive_request(int device, struct request *r)
{
    r->head_len = 0;
    while (r->head_len + 1 < HEAD_MAX && read(device, r->head + r->head_len, 1) == 1) {
        r->head[++r->head_len] = '\0';
        if (r->head_len >= 4 && strcmp(r->head + r->head_len - 4, "\r\n\r\n") == 0) {
            r->body_len = content_length(r->head);
            return r->body_len <= BODY_MAX && receive_all(device, r->body, r->body_len);
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

/* Sends the request on, with "Connection: close", so that the answer ends with the connection. */
static int pass_on(const char *upstream_file, const struct request *r)
{
    static const char close_it[] = "Connection: close\r\n\r\n";
    const int server = reach(upstream_file);
    if (server >= 0 && send_all(server, r->head, r->head_len - 2) &&
        send_all(server, close_it, sizeof close_it - 1) && send_all(server, r->body, r->body_len)) {
        return server;
    }
    if (server >= 0) {
        (void)close(server);
    }
    return -1;
}

/* Copies the answer to `to`, or drops it (-1). */
static void drain(int server, int to)
{
    char block[4096];
    ssize_t n = 0;
    while ((n = read(server, block, sizeof block)) > 0) {
        if (to >= 0 && !send_all(to, block, (size_t)n)) {
            return;
        }
    }
}

static void tell_status(int device, const char *status)
{
    char text[128];
    const int len = snprintf(text, sizeof text,
                             "HTTP/1.1 %s Told\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
                             "Connection: close\r\n\r\n",
                             status);
    (void)send_all(device, text, (size_t)len);
}

static void serve(int device, const struct request *r, const char *upstream_file,
                  const char *conduct)
{
    char nothing;
    if (strcmp(conduct, "gone") == 0) {
        return;
    }
    if (conduct[0] >= '0' && conduct[0] <= '9') {
        tell_status(device, conduct);
        return;
    }
    const int server = pass_on(upstream_file, r);
    if (server < 0) {
        return;
    }
    drain(server, strcmp(conduct, "pass") == 0 ? device : -1);
    if (strcmp(conduct, "hold") == 0) {
        (void)!read(device, &nothing, 1); /* until it hangs up */
    }
    (void)close(server);
}

/* Takes the first word off the list, unless it is the last. */
static void next_conduct(char **list, char *conduct, size_t size)
{
    const size_t len = strcspn(*list, ",");
    (void)snprintf(conduct, size, "%.*s", (int)len, *list);
    *list += (*list)[len] == ',' ? len + 1 : 0;
}

/* The file appears whole. */
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

static int listen_somewhere(const char *url_file)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 8) != 0 || getsockname(listener, (struct sockaddr *)&address, &len) != 0 ||
        !write_url(url_file, &address)) {
        return -1;
    }
    return listener;
}

static int get(const char *upstream_file, const char *path)
{
    static struct request r;
    const int len = snprintf(r.head, sizeof r.head, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    r.head_len = (size_t)len;
    const int server = pass_on(upstream_file, &r);
    if (server < 0) {
        return 1;
    }
    drain(server, STDOUT_FILENO);
    return 0;
}

int main(int argc, char **argv)
{
    static struct request r;
    if (argc != 4) {
        fprintf(stderr, "usage: delivery_network UPSTREAM_FILE URL_FILE CONDUCTS\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (strcmp(argv[1], "get") == 0) {
        return get(argv[2], argv[3]);
    }
    char *conducts = argv[3], conduct[32];
    const int listener = listen_somewhere(argv[2]);
    while (listener >= 0) {
        const int device = accept(listener, NULL, NULL);
        if (receive_request(device, &r)) {
            if (strncmp(r.head, "POST", 4) == 0) {
                next_conduct(&conducts, conduct, sizeof conduct);
            } else {
                (void)snprintf(conduct, sizeof conduct, "pass");
            }
            serve(device, &r, argv[1], conduct);
        }
        (void)close(device);
    }
    return 1;
}

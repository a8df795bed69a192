/* A relay between devices and a server in system tests: requests are read completely and forwarded
 * to the present server. Programs that fail on purpose are built on it. */
#ifndef DPOT_TESTS_SYSTEM_RELAY_H
#define DPOT_TESTS_SYSTEM_RELAY_H

#include <stdbool.h>
#include <stddef.h>

#define RELAY_HEAD_MAX 16384
#define RELAY_BODY_MAX (1u << 20)

struct relay_request {
    char head[RELAY_HEAD_MAX]; /* with the empty line */
    size_t head_len;
    char body[RELAY_BODY_MAX];
    size_t body_len;
};

bool relay_send(int socket_fd, const char *data, size_t len);

/* Reads one request; false when the device hung up before its end, or it is too long. */
bool relay_receive(int device, struct relay_request *request);

/* Sends the request to the server whose URL is in the file, with "Connection: close", so that the
 * answer ends with the connection. Returns the socket to read it from; -1: no server. */
int relay_pass_on(const char *upstream_file, const struct relay_request *request);

/* Copies the answer to `to`, or drops it (-1). */
void relay_drain(int server, int to);

/* Answers the device with an HTTP status, no body, and Retry-After: 1. */
void relay_tell_status(int device, const char *status);

/* Listens on the loopback and writes "http://127.0.0.1:PORT" to the file, atomically. -1 on
 * failure. */
int relay_listen(const char *url_file);

/* Prints the server's answer to a GET, head and body; false without a server. */
bool relay_get(const char *upstream_file, const char *path);

#endif

/* The listening socket. It is opened here and not by the HTTP library, so that every failure has
 * its own sentence and the port that was bound for port 0 can be reported. */
#ifndef DPOT_HTTP_LISTEN_H
#define DPOT_HTTP_LISTEN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define LISTEN_URL_SIZE 128

/* Checks the form "HOST:PORT" or "[IPV6]:PORT", port 0 to 65535. DPOT_ERR_MALFORMED. */
DPOT_WARN_UNUSED dpot_status listen_check(const char *text, struct dpot_error *error);

/* Checks that the host is an address of this machine: binds it at a free port and closes the
 * socket, so that a server which already listens there does not matter. Status as listen_open. */
DPOT_WARN_UNUSED dpot_status listen_check_host(const char *text, struct dpot_error *error);

/* Binds and listens; *fd is owned by the caller, -1 on failure. DPOT_ERR_MALFORMED: the form;
 * DPOT_ERR_IO: unknown host, port in use, not permitted. */
DPOT_WARN_UNUSED dpot_status listen_open(const char *text, int *fd, struct dpot_error *error);

/* Formats the bound address: "http://127.0.0.1:43211". DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status listen_url(int fd, bool is_tls, char out[LISTEN_URL_SIZE],
                                        struct dpot_error *error);

/* True when only this machine can reach the address. */
bool listen_is_loopback(int fd);

#endif

/* The listening socket, made here so that every refusal is a sentence of ours and port 0 can be
 * told. */
#ifndef DPOT_HTTP_LISTEN_H
#define DPOT_HTTP_LISTEN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define LISTEN_URL_SIZE 128

/* "HOST:PORT" or "[IPV6]:PORT", port 0..65535, as text only. DPOT_ERR_MALFORMED with a sentence. */
DPOT_WARN_UNUSED dpot_status listen_check(const char *text, struct dpot_error *error);

/* The host has an address, and it is one of this machine: bound for a moment, at a free port, so that a
 * server that listens there already is no matter. DPOT_ERR_MALFORMED, DPOT_ERR_IO as below. */
DPOT_WARN_UNUSED dpot_status listen_check_host(const char *text, struct dpot_error *error);

/* Binds and listens; *fd is -1 on failure. DPOT_ERR_MALFORMED as above; DPOT_ERR_IO: unknown host,
 * port in use, not allowed. */
DPOT_WARN_UNUSED dpot_status listen_open(const char *text, int *fd, struct dpot_error *error);

/* "http://127.0.0.1:43211" as bound. */
DPOT_WARN_UNUSED dpot_status listen_url(int fd, bool is_tls, char out[LISTEN_URL_SIZE],
                                        struct dpot_error *error);

/* True when only this machine can reach the address. */
bool listen_is_loopback(int fd);

#endif

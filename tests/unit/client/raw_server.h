/* A server that calls a function for each connection: for answers that are not HTTP, or missing. */
#ifndef DPOT_TESTS_CLIENT_RAW_SERVER_H
#define DPOT_TESTS_CLIENT_RAW_SERVER_H

#include "unit/client/http_server.h"

/* Starts it in its own process, and each connection in another, so that one that hangs does not
 * block the others. Ends with raw_server_stop. */
void raw_server_start(struct http_server *s, void (*serve)(int connection));
void raw_server_stop(struct http_server *s);

/* For those functions: reads up to the empty line after the head; sends text, false when nobody
 * listens. */
void raw_read_head(int connection);
bool raw_say(int connection, const char *text);
void raw_rest_ms(long ms);

/* Sends nothing more and waits until the peer closes: closing a connection with unread bytes resets
 * it, and the last bytes sent may be lost. */
void raw_hear_out(int connection);

#endif

/* A server that does with each connection what a function says: for answers that are no HTTP, or none. */
#ifndef DPOT_TESTS_CLIENT_RAW_SERVER_H
#define DPOT_TESTS_CLIENT_RAW_SERVER_H

#include "unit/client/http_server.h"

/* Starts it in a process of its own; each connection in another, so that one that hangs holds up no other.
 * Ends with raw_server_stop. */
void raw_server_start(struct http_server *s, void (*serve)(int connection));
void raw_server_stop(struct http_server *s);

/* For those functions: reads up to the empty line after the head; sends text, false when nobody listens. */
void raw_read_head(int connection);
bool raw_say(int connection, const char *text);
void raw_rest_ms(long ms);

/* Has nothing more to say and waits for the other to hang up: a connection that is closed with something unread is
 * reset, and what was said last may be lost. */
void raw_hear_out(int connection);

#endif

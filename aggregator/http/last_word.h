/* Refusals of heads that the HTTP library refuses itself, and badly: inside of exchange.h.
 *
 * libmicrohttpd 0.9.75 answers a Content-Length that is no number, or none that fits, as soon as the head is there,
 * and asks nobody. It then forgets that it has answered and sends the head of the same answer again, into its
 * body. What it does give is a line for the log, before that, on the thread of the connection. So every
 * request whose head is awaited is known here, and when the library says anything, those of this thread whose
 * length is no number are answered past it, on their sockets, which take nothing more after that.
 *
 * It does not matter which of them the library meant: each has sent what it is refused for. */
#ifndef DPOT_HTTP_LAST_WORD_H
#define DPOT_HTTP_LAST_WORD_H

#include "http/exchange.h"

/* The head of this exchange is awaited, on the calling thread; and no longer. Forgetting one that is not known is
 * no error. */
void last_word_await(struct exchange *x);
void last_word_forget(struct exchange *x);

/* The library has said something, on the calling thread. */
void last_word_give(struct server *server);

/* What it said, in words. It answers itself also what is no request at all or has a head that is too long: in
 * HTML, because of these nothing is known here, not even the connection, before they are answered. But it says
 * so, with the status, and they are counted. */
void last_word_count(struct server *server, const char *text);

#endif

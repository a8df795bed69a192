/* Sockets of peers that were refused before their body was read. Closing a socket with unread bytes
 * resets the connection, and the peer may lose the answer (RFC 9112, 9.6). So a duplicate of the
 * descriptor keeps the socket open after the library has closed its own, and one thread reads and
 * discards what still comes until the peer closes, within limits. Nothing is written.
 *
 * Thread-safe. */
#ifndef DPOT_HTTP_LINGER_H
#define DPOT_HTTP_LINGER_H

#include "dpot/status.h"

#include <stddef.h>
#include <stdint.h>

#define LINGER_MAX 32                       /* sockets at once; a new one replaces the oldest */
#define LINGER_SHARE 8                      /* at most one for so many connections, and one more */
#define LINGER_BYTES_MAX ((size_t)16 << 20) /* discarded of each */

struct lingering;

/* How many sockets a server of `max_connections` keeps: 1 to LINGER_MAX. */
size_t linger_sockets(size_t max_connections);

/* Starts the thread; at most `n` sockets (1 to LINGER_MAX), each closed after `patience_ms`.
 * DPOT_ERR_MEMORY: no memory, descriptor or thread. */
DPOT_WARN_UNUSED dpot_status linger_new(size_t n, int64_t patience_ms, struct lingering **linger);

/* Closes all sockets and stops the thread. NULL is allowed. */
void linger_free(struct lingering *linger);

/* Duplicates `fd`, whose answer has been written. Without a descriptor left nothing happens. */
void linger_add(struct lingering *linger, int fd);

#endif

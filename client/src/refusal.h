/* Reads the JSON object of a refusal, for the uploader. Accepts any bytes. */
#ifndef DPOT_CLIENT_REFUSAL_H
#define DPOT_CLIENT_REFUSAL_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/crypto.h"

/* True for text as dpotd writes it: UTF-8 without NUL and without a byte order mark; or no
 * bytes. */
bool dpot_refusal_is_text(const struct dpot_buf *body);

/* True for the head of an answer in place of a body: what libmicrohttpd 0.9 sends after a damaged
 * Content-Length. */
bool dpot_refusal_is_head(const struct dpot_buf *body);

/* The round has not opened at the server: not a failure of the server. */
bool dpot_refusal_is_not_open(const struct dpot_buf *body);

/* True when the refusal names a POST other than that of this digest: the body was damaged on its
 * way, or the answer belongs to another POST. A refusal that names none counts as about what was
 * sent. */
bool dpot_refusal_is_for_other_batch(const struct dpot_buf *body,
                                     const uint8_t batch[DPOT_HASH_LEN]);

/* True when the round is closed only because its time is over by the server's clock. `now` is that
 * clock's time, "" unless it looks like a time. */
bool dpot_refusal_is_round_over(const struct dpot_buf *body, char now[DPOT_RFC3339_SIZE]);

#endif

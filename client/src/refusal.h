/* What the JSON object of a refusal says, for the uploader. Total: any bytes may come. */
#ifndef DPOT_CLIENT_REFUSAL_H
#define DPOT_CLIENT_REFUSAL_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/crypto.h"

/* Text as our server writes it: UTF-8 without NUL and without a byte order mark. Nothing at all is text. */
bool dpot_refusal_is_text(const struct dpot_buf *body);

/* The round has not opened at the server: one that is refused so is no failure of the server. */
bool dpot_refusal_is_not_open(const struct dpot_buf *body);

/* True when the refusal names a POST and it is not the one of this digest: the body was damaged on its way
 * there, or the answer is another's. One that names none is the server's word about what was sent. */
bool dpot_refusal_is_of_another(const struct dpot_buf *body, const uint8_t batch[DPOT_HASH_LEN]);

/* True when the round is closed for no other reason than that its time is over by the server's clock, of
 * which `now` is what it says: empty unless it looks like a time. */
bool dpot_refusal_is_round_over(const struct dpot_buf *body, char now[DPOT_RFC3339_SIZE]);

#endif

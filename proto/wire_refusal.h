/* The JSON object with which dpotd refuses a POST of reports. */
#ifndef DPOT_PROTO_WIRE_REFUSAL_H
#define DPOT_PROTO_WIRE_REFUSAL_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/crypto.h"

/* Members that are missing read as "", values with escapes or that do not fit as "?". */
struct dpot_refusal {
    char status[32];                     /* "DPOT_ERR_CLOSED" */
    char batch[2 * DPOT_HASH_LEN + 1];   /* dpot_wire_batch_digest of the POST, in hex */
    char closed[16];                     /* with 409: "round" or "revision" */
    char server_time[DPOT_RFC3339_SIZE]; /* with "round" */
};

/* Reads one flat JSON object of strings. Accepts any bytes. False, and every member "", for
 * anything else, for a member above that is there twice and for a name with an escape. */
bool dpot_wire_refusal_decode(const void *data, size_t len, struct dpot_refusal *refusal);

/* Whether the refusal names the POST of this digest. */
bool dpot_wire_refusal_names(const struct dpot_refusal *refusal,
                             const uint8_t batch[DPOT_HASH_LEN]);

/* Appends the refusal of the POST with digest `batch`; `closed` is "round", "revision" or NULL.
 * DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_wire_refusal_encode(dpot_status status, const char *closed,
                                                      const uint8_t batch[DPOT_HASH_LEN],
                                                      struct dpot_buf *out);

#endif

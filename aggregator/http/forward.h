/* The list of bodies that a gateway forwards in one POST, and the list of their answers. Numbers
 * are little-endian.
 *
 *     list     "DPF1" and for each body
 *              campaign id (16) | length (4) | body
 *     answers  "DPF1" and for each body, in the order of the list
 *              HTTP status (2) | length of the type (2) | Retry-After in seconds, 0: none (4) |
 *              length of the content (4) | Content-Type | content */
#ifndef DPOT_HTTP_FORWARD_H
#define DPOT_HTTP_FORWARD_H

#include "http/message.h"

#define FORWARD_ITEMS_MAX 1000
#define FORWARD_TYPE "application/vnd.dpot.forward"

/* One body; points into the list. */
struct forward_item {
    const uint8_t *id; /* (DPOT_CAMPAIGN_ID_LEN) */
    const uint8_t *body;
    size_t len;
};

/* The part of a checked list that was not read yet. */
struct forward_list {
    const uint8_t *data;
    size_t len;
};

/* Checks the form of the whole list (data, len): 1 to FORWARD_ITEMS_MAX bodies of any content, *n
 * of them. DPOT_ERR_MALFORMED, DPOT_ERR_TOO_LARGE: more. */
DPOT_WARN_UNUSED dpot_status forward_open(const void *data, size_t len, struct forward_list *list,
                                          size_t *n, struct dpot_error *error);

/* Takes the next of the n bodies. */
void forward_take(struct forward_list *list, struct forward_item *item);

/* forward_begin starts a list of answers in `out`, forward_append adds the answer to one body.
 * DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY: `out` is of no use. */
DPOT_WARN_UNUSED dpot_status forward_begin(struct dpot_buf *out);
DPOT_WARN_UNUSED dpot_status forward_append(struct dpot_buf *out,
                                            const struct http_response *answer);

#endif

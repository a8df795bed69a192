/* Strict checks of a request's head, which the HTTP library reads leniently. Internal to
 * exchange.c.
 *
 * The checks compare where the library left names and values in its buffer (0.9.75 parses a head in
 * place). */
#ifndef DPOT_HTTP_HEAD_H
#define DPOT_HTTP_HEAD_H

#include <microhttpd.h>
#include <stdbool.h>

/* The first line, in the library's buffer. */
struct head_line {
    const char *method;
    const char *address; /* as received, before its query was cut off */
    const char *version;
    bool has_blank; /* the address holds a blank or a control character */
};

/* Returns a sentence that says why two readers may read this head differently, or NULL. Such a
 * request must be refused and its connection closed: what follows may be taken for another
 * request. */
const char *head_find_ambiguity(struct MHD_Connection *connection, const struct head_line *line);

/* Whether the body is chunked. The library reads chunk lines and trailers itself, and leniently. */
bool head_has_chunks(struct MHD_Connection *connection);

/* Whether the address holds a blank or a control character. */
bool head_has_blank(const char *address);

/* The path of an address: itself, or what follows the authority of "http://HOST:PORT/PATH"
 * (absolute form, RFC 9112, 3.2.2), whatever host that names; "/" if nothing does. Sets is_served
 * to false where the authority is empty or names a user. */
const char *head_find_path(const char *address, bool *is_served);

/* The value of a header; NULL: absent. */
const char *head_value(struct MHD_Connection *connection, const char *name);

#endif

/* The head of a request, with distrust: inside of exchange.c, and a door of the HTTP library. */
#ifndef DPOT_HTTP_HEAD_H
#define DPOT_HTTP_HEAD_H

#include <microhttpd.h>
#include <stdbool.h>

/* The first line, where the library keeps it. */
struct head_line {
    const char *method;
    const char *address; /* as it came, before its query was cut off */
    const char *version;
    bool has_blank; /* the address holds a blank or a control character */
};

/* Why two readers of this head may disagree about what it says: a sentence, or NULL. Such a request is
 * refused and its connection closed, because what follows it may be taken for another request. */
const char *head_find_ambiguity(struct MHD_Connection *connection, const struct head_line *line);

/* What the Content-Length is refused with, by what came of the head so far: 400 (no number), 413 (no 64 bits hold it),
 * or 0. */
unsigned head_judge_length(struct MHD_Connection *connection);

/* Whether the body comes in chunks: their lines and trailers are read by the library alone, which is lenient. */
bool head_has_chunks(struct MHD_Connection *connection);

/* Whether the address holds a blank or a control character. */
bool head_has_blank(const char *address);

/* The value of a header; NULL: it is not there. */
const char *head_value(struct MHD_Connection *connection, const char *name);

#endif

/* The head of a request, with distrust: inside of exchange.c, and a door of the HTTP library. */
#ifndef DPOT_HTTP_HEAD_H
#define DPOT_HTTP_HEAD_H

#include <microhttpd.h>

/* Why two readers of this head may disagree about what it says: a sentence, or NULL. Such a request is
 * refused and its connection closed, because what follows it may be taken for another request. */
const char *head_find_ambiguity(struct MHD_Connection *connection);

/* The value of a header; NULL: it is not there. */
const char *head_value(struct MHD_Connection *connection, const char *name);

#endif

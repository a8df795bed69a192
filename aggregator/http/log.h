/* The operator's log: one line of key=value pairs an event, on a stream.
 *
 *     ts=2026-12-01T00:00:00Z level=info event=http.request method=POST route="/v1/..." status=202
 *
 * A log MUST NOT hold bodies, ids of reports, tokens or keys. Values that may hold blanks go
 * through log_quote. */
#ifndef DPOT_HTTP_LOG_H
#define DPOT_HTTP_LOG_H

#include "base/compiler.h"
#include "dpot/hooks.h"

#include <stddef.h>
#include <stdio.h>

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_ERROR,
};

struct log {
    enum log_level level; /* lower levels are not written */
    FILE *stream;         /* borrowed; NULL: nothing is written */
    const struct dpot_clock *clock;
};

#define LOG_QUOTED_SIZE 512

/* Writes one line. `format` gives the pairs behind the event and may be "". Thread-safe. */
void log_write(const struct log *log, enum log_level level, const char *event, const char *format,
               ...) DPOT_PRINTF(4, 5);

/* Copies the text in double quotes, with control characters and quotes replaced, cut to fit;
 * returns `out`. */
const char *log_quote(char out[LOG_QUOTED_SIZE], const char *text);

#endif

/* The operator's log: one line of key=value pairs an event.
 *
 *     ts=2026-12-01T00:00:00Z level=info event=http.request method=POST route="/v1/..." status=202
 *
 * Logging never waits: lines go to a bounded buffer that a thread of its own writes (log_sink.h).
 *
 * A log MUST NOT hold bodies, ids of reports, tokens or keys. Values that may hold blanks go
 * through log_quote. */
#ifndef DPOT_HTTP_LOG_H
#define DPOT_HTTP_LOG_H

#include "base/compiler.h"
#include "dpot/hooks.h"
#include "http/log_sink.h"

#include <stddef.h>

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_ERROR,
};

struct log {
    enum log_level level;  /* lower levels are not written */
    struct log_sink *sink; /* borrowed; NULL: nothing is written */
    const struct dpot_clock *clock;
};

#define LOG_QUOTED_SIZE 512

/* Writes one line. `format` gives the pairs behind the event and may be "". Thread-safe. */
void log_write(const struct log *log, enum log_level level, const char *event, const char *format,
               ...) DPOT_PRINTF(4, 5);

/* log_write for events that strangers can cause as often as they like. `kind`: the first pairs of
 * the line, of few possible values. Of lines that agree in level, event and kind, ten are written a
 * minute and the others counted: one line with n_folded follows. At level debug all are written. */
void log_write_folded(const struct log *log, enum log_level level, const char *event,
                      const char *kind, const char *format, ...) DPOT_PRINTF(5, 6);

/* Copies the text in double quotes, with control characters and quotes replaced, cut to fit;
 * returns `out`. */
const char *log_quote(char out[LOG_QUOTED_SIZE], const char *text);

#endif

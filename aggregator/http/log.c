#include "http/log.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 1024

static const char *const names[] = {
    [LOG_LEVEL_DEBUG] = "debug",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_ERROR] = "error",
};

/* Writes the time, `head` and the pairs of `format`, cut to fit. */
static void write_line(const struct log *log, const char *head, const char *format,
                       va_list arguments)
{
    char line[LINE_SIZE], ts[DPOT_RFC3339_SIZE];
    dpot_time_format(log->clock->now(log->clock->ctx), ts);
    const int used = snprintf(line, sizeof line, "ts=%s %s%s", ts, head, *format ? " " : "");
    if (used < 0 || used >= LINE_SIZE - 1) {
        return;
    }
    (void)vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    const size_t len = strlen(line);
    line[len] = '\n';
    log_sink_put(log->sink, line, len + 1);
}

void log_write(const struct log *log, enum log_level level, const char *event, const char *format,
               ...)
{
    char head[LOG_KIND_SIZE];
    va_list arguments;
    if (level < log->level || !log->sink) {
        return;
    }
    (void)snprintf(head, sizeof head, "level=%s event=%s", names[level], event);
    va_start(arguments, format);
    write_line(log, head, format, arguments);
    va_end(arguments);
}

void log_write_folded(const struct log *log, enum log_level level, const char *event,
                      const char *kind, const char *format, ...)
{
    char head[LOG_KIND_SIZE];
    va_list arguments;
    if (level < log->level || !log->sink) {
        return;
    }
    (void)snprintf(head, sizeof head, "level=%s event=%s%s%s", names[level], event,
                   *kind ? " " : "", kind);
    if (log->level > LOG_LEVEL_DEBUG && !log_sink_admit(log->sink, head)) {
        return;
    }
    va_start(arguments, format);
    write_line(log, head, format, arguments);
    va_end(arguments);
}

const char *log_quote(char out[LOG_QUOTED_SIZE], const char *text)
{
    size_t n = 0;
    out[n++] = '"';
    for (; *text && n < LOG_QUOTED_SIZE - 2; text++) {
        const unsigned char c = (unsigned char)*text;
        out[n++] = c < 0x20 || c == 0x7f ? ' ' : c == '"' || c == '\\' ? '\'' : *text;
    }
    out[n++] = '"';
    out[n] = '\0';
    return out;
}

#include "http/log.h"

#include "base/clock.h"

#include <stdarg.h>
#include <string.h>

#define LINE_SIZE 1024

static const char *const names[] = {
    [LOG_LEVEL_DEBUG] = "debug",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_ERROR] = "error",
};

void log_write(const struct log *log, enum log_level level, const char *event, const char *format,
               ...)
{
    if (level < log->level || !log->stream) {
        return;
    }
    char line[LINE_SIZE], ts[DPOT_RFC3339_SIZE];
    dpot_time_format(log->clock->now(log->clock->ctx), ts);
    int used = snprintf(line, sizeof line, "ts=%s level=%s event=%s%s", ts, names[level], event,
                        *format ? " " : "");
    if (used < 0 || used >= LINE_SIZE - 1) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    const size_t len = strlen(line);
    line[len] = '\n';
    (void)fwrite(line, 1, len + 1,
                 log->stream); /* one call: the stream's lock keeps the line whole */
    (void)fflush(log->stream);
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

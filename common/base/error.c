#include "base/error.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *dpot_shortest(double value, char out[DPOT_SHORTEST_SIZE])
{
    for (int n_digits = 6; n_digits <= 17; n_digits++) {
        (void)snprintf(out, DPOT_SHORTEST_SIZE, "%.*g", n_digits, value);
        if (strtod(out, NULL) == value) {
            break;
        }
    }
    return out;
}

dpot_status dpot_error_set(struct dpot_error *error, dpot_status status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
        dpot_utf8_make_printable(error->text);
    }
    return status;
}

dpot_status dpot_error_prefix(struct dpot_error *error, dpot_status status, const char *format, ...)
{
    if (error) {
        struct dpot_error old = *error;
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
        const size_t used = strlen(error->text);
        const char *rest = old.text[0] ? old.text : dpot_status_text(status);
        (void)snprintf(error->text + used, sizeof error->text - used, ": %s", rest);
        dpot_utf8_make_printable(error->text);
    }
    return status;
}

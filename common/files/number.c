#include "files/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MIN 15 /* as many always survive a double, so trailing zeros can be left out */
#define DIGITS_MAX 17 /* as many always tell doubles apart */

void number_format(double value, char out[NUMBER_SIZE])
{
    for (int digits = DIGITS_MIN; digits <= DIGITS_MAX; digits++) {
        (void)snprintf(out, NUMBER_SIZE, "%.*g", digits, value);
        if (!isfinite(value) || strtod(out, NULL) == value) {
            return;
        }
    }
}

bool number_parse(const char *text, double *value)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && !strpbrk(text, "xX(");
}

bool number_parse_finite(const char *text, double *value)
{
    const bool is_number = number_parse(text, value);
    return is_number && isfinite(*value) && !(errno == ERANGE && *value == 0) &&
           !strpbrk(text, " \t\n");
}

bool number_parse_integer(const char *text, uint64_t *value)
{
    errno = 0;
    *value = strtoull(text, NULL, 10);
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0' && errno != ERANGE;
}

#include "files/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MIN 15 /* decimals of 15 digits survive a double: %g can drop trailing zeros */
#define DIGITS_MAX 17 /* decimals of 17 digits distinguish all doubles */

void number_format(double value, char out[NUMBER_SIZE])
{
    if (isnan(value)) { /* whose sign printf would show */
        (void)snprintf(out, NUMBER_SIZE, "nan");
        return;
    }
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
    return end != text && *end == '\0' && !strpbrk(text, "xX(\n\v\f\r");
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

bool number_parse_pair(const char *text, double pair[2])
{
    char first[64];
    const char *comma = strchr(text, ',');
    if (!comma || comma - text >= (ptrdiff_t)sizeof first) {
        return false;
    }
    (void)snprintf(first, sizeof first, "%.*s", (int)(comma - text), text);
    return number_parse_finite(first, &pair[0]) && number_parse_finite(comma + 1, &pair[1]);
}

bool number_parse_sides(const char *text, size_t n_max, size_t most, size_t *sides, size_t *n)
{
    for (*n = 0; *n < n_max; text++) {
        char *end = NULL;
        const unsigned long side = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
        if (side < 1 || side > most || (*end != 'x' && *end != '\0')) {
            return false;
        }
        sides[(*n)++] = side;
        most /= side;
        text = end;
        if (*text == '\0') {
            return true;
        }
    }
    return false;
}

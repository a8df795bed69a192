#include "settings/decimal.h"

#include "base/error.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 64 /* bytes: more digits than a double has */

bool dpot_decimal_parse(const char *text, double *value)
{
    char local[TEXT_MAX + 16], *end = NULL;
    const size_t len = strlen(text);
    const char *point = strchr(text, '.');
    if (len > TEXT_MAX || text[strspn(text, "0123456789.eE+-")] != '\0') {
        return false;
    }
    const int n_before = (int)(point ? (size_t)(point - text) : len);
    (void)snprintf(local, sizeof local, "%.*s%s%s", n_before, text,
                   point ? localeconv()->decimal_point : "", point ? point + 1 : "");
    const double parsed = strtod(local, &end);
    if (end == local || *end != '\0' || !isfinite(parsed) ||
        (parsed == 0 && strcspn(text, "123456789") < strcspn(text, "eE"))) {
        return false;
    }
    *value = parsed;
    return true;
}

bool dpot_decimal_parse_integer(const char *text, uint64_t most, uint64_t *value)
{
    uint64_t parsed = 0;
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0') {
        return false;
    }
    for (; *text; text++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (digit > most || parsed > (most - digit) / 10) {
            return false;
        }
        parsed = 10 * parsed + digit;
    }
    *value = parsed;
    return true;
}

void dpot_decimal_format(double value, char out[DPOT_DECIMAL_SIZE])
{
    char local[DPOT_SHORTEST_SIZE];
    size_t used = 0;
    (void)dpot_shortest(value, local);
    for (const char *c = local; *c; c++) {
        if (strchr("0123456789+-e", *c)) {
            out[used++] = *c;
        } else if (used > 0 && out[used - 1] != '.') { /* the point of the locale, perhaps long */
            out[used++] = '.';
        }
    }
    out[used] = '\0';
}

#include "unit/aggregator/page.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

const char *page_section(const char *path, const char *from, const char *to)
{
    static char text[200000];
    FILE *stream = fopen(path, "rb");
    cr_assert_not_null(stream, "%s", path);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    (void)fclose(stream);
    char *begin = strstr(text, from);
    cr_assert_not_null(begin, "%s has no %s", path, from);
    char *end = to ? strstr(begin + strlen(from), to) : NULL;
    if (end) {
        *end = '\0';
    }
    return begin;
}

static bool has_number(const char *text, size_t len, double value)
{
    char *end = NULL;
    for (const char *at = text; at<text + len; at = end> at ? end : at + 1) {
        if (strtod(at, &end) == value && end > at) {
            return true;
        }
    }
    return false;
}

void page_expect_parameters(const char *text, const json_t *parameters)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)parameters, key, value)
    {
        char name[64];
        (void)snprintf(name, sizeof name, "`%s`", key);
        const char *place = strstr(text, name), *null = place ? strstr(place, "null") : NULL;
        cr_assert_not_null(place, "%s is not in: %s", name, text);
        place += strlen(name);
        const size_t len = strcspn(place, "`");
        cr_assert(!json_is_number(value) || has_number(place, len, json_number_value(value)),
                  "%s: %g", key, json_number_value(value));
        cr_assert(!json_is_null(value) || (null && null < place + len), "%s: null", key);
    }
}

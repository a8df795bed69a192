#include "files/spelling.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Three rows of the table of distances of the prefixes: optimal string alignment. */
size_t spelling_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][SPELLING_LEN_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *here = rows[2];
    if (a_len > SPELLING_LEN_MAX || b_len > SPELLING_LEN_MAX) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= b_len; j++) {
        above[j] = j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        here[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            const size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            here[j] = least(replaced, 1 + least(above[j], here[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                here[j] = least(here[j], before[j - 2] + 1);
            }
        }
        size_t *free_row = before;
        before = above;
        above = here;
        here = free_row;
    }
    return above[b_len];
}

void spelling_offer(struct spelling *spelling, const char *name, size_t len)
{
    const char *text = spelling->text;
    const size_t text_len = spelling->len > 0 ? spelling->len : strlen(text);
    const size_t most = text_len < 3 ? 1 : (text_len + 2) / 3;
    const size_t distance = spelling_distance(text, text_len, name, len);
    const bool begins = text_len >= 3 && len > text_len && memcmp(text, name, text_len) == 0;
    const bool is_near = distance <= most && distance < least(text_len, len);
    if (!is_near && !begins) {
        return;
    }
    if (!spelling->best || distance < spelling->distance) {
        spelling->best = name;
        spelling->best_len = len;
        spelling->distance = distance;
    }
}

void spelling_hint(const struct spelling *spelling, const char *prefix,
                   char out[SPELLING_HINT_SIZE])
{
    out[0] = '\0';
    if (spelling->best) {
        (void)snprintf(out, SPELLING_HINT_SIZE, " (did you mean %s%.*s?)", prefix,
                       (int)spelling->best_len, spelling->best);
    }
}

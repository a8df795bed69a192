#include "picture/label.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

#define ELLIPSIS "\xE2\x80\xA6"
#define TEXT_BYTES_MAX ((LABEL_BYTES_MAX) * (LABEL_LINES_MAX))

static bool is_blank(uint32_t code)
{
    return code <= 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0x2028 || code == 0x2029;
}

void label_clean(const char *text, char *out, size_t cap)
{
    size_t n = 0;
    bool is_gap = false; /* a blank is pending */
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        uint32_t code = 0;
        size_t len = dpot_utf8_decode(s, SIZE_MAX, &code);
        const bool is_sound = len > 0 && (code & 0xFFFE) != 0xFFFE;
        const char *shown = is_sound ? (const char *)s : DPOT_UTF8_REPLACEMENT;
        const size_t shown_len = is_sound ? len : sizeof DPOT_UTF8_REPLACEMENT - 1;
        s += len > 0 ? len : 1;
        if (is_sound && is_blank(code)) {
            is_gap = n > 0;
            continue;
        }
        if (n + is_gap + shown_len >= cap) {
            break;
        }
        if (is_gap) {
            out[n++] = ' ';
        }
        is_gap = false;
        memcpy(out + n, shown, shown_len);
        n += shown_len;
    }
    out[n] = '\0';
}

/* Start of the character before `end`. */
static size_t previous(const char *text, size_t end)
{
    do {
        end--;
    } while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80);
    return end;
}

/* Shortens clean text with an ellipsis; `must`: text after it was left out, so one is needed
 * anyway. */
static void shorten(const struct picture_font *font, const char *clean, double width, bool must,
                    char out[LABEL_BYTES_MAX])
{
    size_t len = strlen(clean);
    while (len >= LABEL_BYTES_MAX - sizeof ELLIPSIS) {
        len = previous(clean, len);
        must = true;
    }
    (void)snprintf(out, LABEL_BYTES_MAX, "%.*s%s", (int)len, clean, must ? ELLIPSIS : "");
    while (len > 0 && picture_text_width(font, out) > width) {
        len = previous(clean, len);
        while (len > 0 && clean[len - 1] == ' ') {
            len--;
        }
        (void)snprintf(out, LABEL_BYTES_MAX, "%.*s%s", (int)len, clean, ELLIPSIS);
    }
}

void label_fit(const struct picture_font *font, const char *text, double width,
               char out[LABEL_BYTES_MAX])
{
    char clean[LABEL_BYTES_MAX];
    label_clean(text, clean, sizeof clean);
    shorten(font, clean, width, strlen(clean) + 4 >= sizeof clean, out);
}

/* Length of the longest prefix of whole words that fits a line; at least one word. */
static size_t line_len(const struct picture_font *font, const char *rest, double width)
{
    char line[TEXT_BYTES_MAX];
    size_t best = strcspn(rest, " ");
    for (size_t end = best; rest[end];) {
        end += 1 + strcspn(rest + end + 1, " ");
        (void)snprintf(line, sizeof line, "%.*s", (int)end, rest);
        if (picture_text_width(font, line) > width) {
            break;
        }
        best = end;
    }
    return best;
}

void label_wrap(const struct picture_font *font, const char *text, double width, size_t n_max,
                struct label_lines *out)
{
    char clean[TEXT_BYTES_MAX], line[TEXT_BYTES_MAX];
    out->n = 0;
    label_clean(text ? text : "", clean, sizeof clean);
    for (const char *rest = clean; *rest && out->n < n_max && out->n < LABEL_LINES_MAX;) {
        const bool is_last = out->n + 1 == n_max || out->n + 1 == LABEL_LINES_MAX;
        const size_t len = line_len(font, rest, width);
        (void)snprintf(line, sizeof line, "%.*s", (int)len, rest);
        rest += len;
        rest += *rest == ' ';
        shorten(font, line, width, is_last && *rest, out->lines[out->n++]);
    }
}

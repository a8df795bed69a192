#include "picture/label.h"

#include <stdio.h>
#include <string.h>

#define ELLIPSIS "\xE2\x80\xA6"
#define REPLACEMENT "\xEF\xBF\xBD"
#define TEXT_BYTES_MAX ((LABEL_BYTES_MAX) * (LABEL_LINES_MAX))

/* Decodes one character of 1 to 4 bytes; returns its length, 0 when it is not UTF-8 (RFC 3629). */
static size_t decode(const unsigned char *s, uint32_t *code)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t len = s[0] < 0x80             ? 1
                       : (s[0] & 0xE0) == 0xC0 ? 2
                       : (s[0] & 0xF0) == 0xE0 ? 3
                       : (s[0] & 0xF8) == 0xF0 ? 4
                                               : 0;
    if (len == 0) {
        return 0;
    }
    *code = len == 1 ? s[0] : s[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80) { /* also the NUL at the end */
            return 0;
        }
        *code = *code << 6 | (s[i] & 0x3Fu);
    }
    const bool is_sound =
        *code >= smallest[len] && *code <= 0x10FFFF && !(*code >= 0xD800 && *code <= 0xDFFF);
    return is_sound ? len : 0;
}

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
        size_t len = decode(s, &code);
        const bool is_sound = len > 0 && (code & 0xFFFE) != 0xFFFE;
        const char *shown = is_sound ? (const char *)s : REPLACEMENT;
        const size_t shown_len = is_sound ? len : sizeof REPLACEMENT - 1;
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

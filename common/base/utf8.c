#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

size_t dpot_utf8_decode(const void *text, size_t len, uint32_t *code)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = text;
    const size_t n = len == 0                ? 0
                     : s[0] < 0x80           ? 1
                     : (s[0] & 0xE0) == 0xC0 ? 2
                     : (s[0] & 0xF0) == 0xE0 ? 3
                     : (s[0] & 0xF8) == 0xF0 ? 4
                                             : 0;
    if (n == 0 || n > len) {
        return 0;
    }
    uint32_t value = n == 1 ? s[0] : s[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) { /* also the NUL at the end */
            return 0;
        }
        value = value << 6 | (s[i] & 0x3Fu);
    }
    const bool is_sound =
        value >= smallest[n] && value <= 0x10FFFF && !(value >= 0xD800 && value <= 0xDFFF);
    if (code) {
        *code = value;
    }
    return is_sound ? n : 0;
}

void dpot_utf8_make_printable(char *text)
{
    char *out = text;
    while (*text) {
        uint32_t code = 0;
        const size_t n = dpot_utf8_decode(text, SIZE_MAX, &code);
        if (n == 0 || code < ' ' || (code >= 0x7F && code < 0xA0)) {
            *out++ = '?';
        } else {
            memmove(out, text, n);
            out += n;
        }
        text += n > 0 ? n : 1;
    }
    *out = '\0';
}

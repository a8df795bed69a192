#include "files/csv_names.h"

#include "base/utf8.h"
#include "files/number.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SHOWN_CHARACTERS 32

static bool is_missing_word(const char *text)
{
    static const char *const words[] = {"na",  "n/a", "n.a.",    "n.a",       "null", "none",
                                        "nil", "nat", "missing", "undefined", "true", "false"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            return true;
        }
    }
    return strncasecmp(text, "nan(", 4) == 0; /* nan(ind), nan(0x1) */
}

/* Characters beyond ASCII that are no letters: signs, spaces, currencies, digits, symbols. */
static bool is_letter(uint32_t code)
{
    static const uint32_t others[][2] = {
        {0x80, 0xA9},     {0xAB, 0xB4},       {0xB6, 0xB9},       {0xBB, 0xBF},
        {0xD7, 0xD7},     {0xF7, 0xF7},       {0x58F, 0x58F},     {0x600, 0x61F},
        {0x660, 0x66D},   {0x6F0, 0x6F9},     {0x7C0, 0x7C9},     {0xE3F, 0xE3F},
        {0xE50, 0xE5B},   {0xED0, 0xED9},     {0xF20, 0xF33},     {0x1040, 0x1049},
        {0x1680, 0x1680}, {0x17DB, 0x17E9},   {0x1800, 0x1819},   {0x2000, 0x2BFF},
        {0x3000, 0x3004}, {0x3007, 0x3030},   {0xE000, 0xF8FF},   {0xFD3E, 0xFD3F},
        {0xFDFC, 0xFDFC}, {0xFE00, 0xFE6F},   {0xFEFF, 0xFEFF},   {0xFF00, 0xFF20},
        {0xFFE0, 0xFFFF}, {0x1D7CE, 0x1D7FF}, {0xE0000, 0x10FFFF}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (code >= others[i][0] && code <= others[i][1]) {
            return false;
        }
    }
    const bool is_indic_digit =
        code >= 0x900 && code < 0xE00 && (code & 0x7F) >= 0x66 && (code & 0x7F) <= 0x6F;
    return !is_indic_digit;
}

static bool begins_with_letter(const char *text)
{
    uint32_t code = 0;
    (void)dpot_utf8_decode(text, SIZE_MAX, &code);
    return code == '_' || (code >= 'A' && code <= 'Z') || (code >= 'a' && code <= 'z') ||
           (code >= 0x80 && is_letter(code));
}

static bool is_readable(const char *text)
{
    size_t len = 1;
    for (; *text && len > 0; text += len) {
        const bool is_control = ((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7F;
        len = is_control ? 0 : dpot_utf8_decode(text, SIZE_MAX, NULL);
    }
    return len > 0;
}

/* "USD 5.00", "US$5": up to three capitals, a blank or a sign, and a number. */
static bool is_amount(const char *text)
{
    const size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const char *rest = text + n;
    double value = 0;
    uint32_t code = 0;
    const size_t len = dpot_utf8_decode(rest, SIZE_MAX, &code);
    const bool is_sign = code == ' ' || code == '$' || (code >= 0x80 && !is_letter(code));
    return n > 0 && n <= 3 && len > 0 && is_sign && number_parse(rest + len, &value);
}

enum csv_kind csv_kind_of(const char *text, double *value)
{
    if (number_parse(text, value)) {
        return CSV_NUMBER;
    }
    *value = NAN;
    return !*text                     ? CSV_EMPTY
           : !is_readable(text)       ? CSV_UNTEXT
           : is_missing_word(text)    ? CSV_MISSING
           : is_amount(text)          ? CSV_OTHER
           : begins_with_letter(text) ? CSV_NAME
                                      : CSV_OTHER;
}

void csv_show(const char *text, char shown[CSV_SHOWN_MAX])
{
    size_t len = 1;
    shown[0] = '"';
    for (size_t i = 0; *text && i < SHOWN_CHARACTERS && len < CSV_SHOWN_MAX - 12; i++) {
        uint32_t code = 0;
        const size_t n = dpot_utf8_decode(text, SIZE_MAX, &code);
        const bool is_plain = n == 1 && code >= ' ' && code != 0x7F;
        if (n > 1) {
            len += (size_t)snprintf(shown + len, CSV_SHOWN_MAX - len, "<U+%04X>", (unsigned)code);
        } else {
            shown[len++] = is_plain ? *text : '?';
        }
        text += n > 0 ? n : 1;
    }
    (void)snprintf(shown + len, CSV_SHOWN_MAX - len, "\"");
}

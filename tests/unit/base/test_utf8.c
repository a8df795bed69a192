#include "base/utf8.h"

#include <criterion/criterion.h>

Test(utf8, characters_are_decoded_by_their_lengths)
{
    static const struct {
        const char *text;
        size_t len;
        uint32_t code;
    } rows[] = {
        {"a", 1, 'a'},
        {"", 1, 0},
        {"\xC2\x80", 2, 0x80},
        {"\xE0\xA0\x80", 3, 0x800},
        {"\xEF\xBF\xBF", 3, 0xFFFF},
        {"\xF4\x8F\xBF\xBF", 4, 0x10FFFF},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t code = 1;
        cr_assert_eq(dpot_utf8_decode(rows[i].text, SIZE_MAX, &code), rows[i].len, "%zu", i);
        cr_assert_eq(code, rows[i].code, "%zu", i);
        cr_assert_eq(dpot_utf8_decode(rows[i].text, rows[i].len - 1, NULL), 0, "%zu", i);
    }
}

Test(utf8, overlong_cut_and_foreign_bytes_are_none)
{
    static const char *const texts[] = {"\x80",
                                        "\xC1\x81",
                                        "\xE0\x9F\xBF",
                                        "\xED\xA0\x80",
                                        "\xF4\x90\x80\x80",
                                        "\xF8\x88\x80\x80\x80",
                                        "\xE2\x82",
                                        "\xC3x",
                                        "\xFF"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cr_assert_eq(dpot_utf8_decode(texts[i], SIZE_MAX, NULL), 0, "%zu", i);
    }
}

Test(utf8, control_characters_and_foreign_bytes_become_question_marks)
{
    char text[] = "\x1B[2J\r\n\t\x7F\xC2\x9B\xFF\xC3\xA9\xE2\x82";
    dpot_utf8_make_printable(text);
    cr_assert_str_eq(text, "?[2J??????\xC3\xA9??");
}

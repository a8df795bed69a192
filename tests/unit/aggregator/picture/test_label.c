#include "picture/label.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(label, .fini = picture_release_fonts);

static const struct picture_font font = {12, false};

static void expect_clean(const char *text, const char *expected)
{
    char out[64];
    label_clean(text, out, sizeof out);
    cr_assert_str_eq(out, expected);
}

Test(label, clean_text_stays_as_it_is)
{
    expect_clean("", "");
    expect_clean("error in km, \xCE\xB5 = 2 \xE2\x89\xA4 4 \xF0\x9F\x98\x80",
                 "error in km, \xCE\xB5 = 2 \xE2\x89\xA4 4 \xF0\x9F\x98\x80");
}

Test(label, blanks_and_control_characters_become_one_blank)
{
    expect_clean("  a\t\n b\x01\x7F"
                 "c\xC2\x85"
                 "d  ",
                 "a b c d");
    expect_clean(" \n ", "");
}

Test(label, bytes_that_are_not_utf8_are_replaced)
{
    expect_clean("a\xFF"
                 "b",
                 "a\xEF\xBF\xBD"
                 "b");
    expect_clean("\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD");                 /* overlong */
    expect_clean("\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); /* surrogate */
    expect_clean("\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    expect_clean("\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD"); /* cut short */
    expect_clean("\xEF\xBF\xBE", "\xEF\xBF\xBD");         /* U+FFFE is not allowed in XML */
}

Test(label, long_text_is_cut_between_characters)
{
    char out[8];
    label_clean("abcdef\xC3\xA9\xC3\xA9", out, sizeof out);
    cr_assert_str_eq(out, "abcdef");
    label_clean("abcde\xC3\xA9\xC3\xA9", out, sizeof out);
    cr_assert_str_eq(out, "abcde\xC3\xA9");
}

Test(label, text_that_does_not_fit_ends_in_an_ellipsis)
{
    char out[LABEL_BYTES_MAX];
    label_fit(&font, "short", 200, out);
    cr_assert_str_eq(out, "short");
    label_fit(&font, "a text that is far too long for this", 80, out);
    cr_assert(strlen(out) > 6 && strcmp(out + strlen(out) - 3, "\xE2\x80\xA6") == 0, "%s", out);
    cr_assert_leq(picture_text_width(&font, out), 80);
    label_fit(&font, "wide", 0, out);
    cr_assert_str_eq(out, "\xE2\x80\xA6");
}

Test(label, lines_break_at_blanks_and_the_last_one_is_shortened)
{
    struct label_lines lines;
    label_wrap(&font, "one two three four five six seven", 70, 3, &lines);
    cr_assert_eq(lines.n, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_leq(picture_text_width(&font, lines.lines[i]), 70);
    }
    cr_assert_not_null(strstr(lines.lines[2], "\xE2\x80\xA6"), "%s", lines.lines[2]);
    label_wrap(&font, "one two", 700, 3, &lines);
    cr_assert_eq(lines.n, 1);
    cr_assert_str_eq(lines.lines[0], "one two");
    label_wrap(&font, NULL, 700, 3, &lines);
    cr_assert_eq(lines.n, 0);
}

Test(label, endless_text_is_bounded)
{
    static char text[100000];
    struct label_lines lines;
    memset(text, 'W', sizeof text - 1);
    label_wrap(&font, text, 300, 3, &lines);
    cr_assert_eq(lines.n, 1);
    cr_assert_leq(picture_text_width(&font, lines.lines[0]), 300);
}

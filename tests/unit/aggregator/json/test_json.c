#include "unit/files/folder.h"

#include "json/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(json, .init = folder_make, .fini = folder_remove);

static json_t *parse(const char *text)
{
    struct dpot_error error = {""};
    json_t *value = NULL;
    cr_assert_eq(json_parse(text, strlen(text), &value, &error), DPOT_OK, "%s", error.text);
    return value;
}

Test(json, broken_texts_are_refused_with_their_place)
{
    const char *const texts[] = {"",
                                 "{",
                                 "{\"a\":1,}",
                                 "{\"a\":1}x",
                                 "[1,2",
                                 "{\"a\":1 \"b\":2}",
                                 "nul",
                                 "{\"a\":1,\"a\":2}",
                                 "{\"a\":NaN}",
                                 "\"\xff\"",
                                 "{\"a\":1e999}",
                                 "\xEF\xBB\xBF{}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct dpot_error error = {""};
        json_t *value = NULL;
        cr_assert_eq(json_parse(texts[i], strlen(texts[i]), &value, &error), DPOT_ERR_MALFORMED,
                     "%s", texts[i]);
        cr_assert_null(value);
        cr_assert_not_null(strstr(error.text, "line 1"), "%s", error.text);
    }
}

Test(json, a_nul_in_a_text_is_refused_without_naming_options_of_the_parser)
{
    const char *const texts[] = {"{\"a\":\"x\\u0000y\"}", "{\"a\\u0000b\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct dpot_error error = {""};
        json_t *value = NULL;
        cr_assert_eq(json_parse(texts[i], strlen(texts[i]), &value, &error), DPOT_ERR_MALFORMED);
        cr_assert_not_null(strstr(error.text, "\\u0000, which is not accepted"), "%s", error.text);
        cr_assert_null(strstr(error.text, "JSON_"), "%s", error.text);
    }
}

Test(json, deep_nesting_is_refused_and_does_not_crash)
{
    static char text[1000000];
    struct dpot_error error;
    json_t *value = NULL;
    memset(text, '[', sizeof text);
    cr_assert_eq(json_parse(text, sizeof text, &value, &error), DPOT_ERR_MALFORMED);
}

Test(json, readers_check_type_and_range_and_name_the_key)
{
    struct dpot_error error = {""};
    double number = 5;
    int64_t integer = 5;
    const char *text = NULL;
    json_t *v = parse("{\"epsilon\":\"two\",\"n\":2.5,\"ok\":3,\"s\":\"x\"}");
    cr_assert_eq(json_get_number(v, "mechanism", "epsilon", 0, 20, &number, &error),
                 DPOT_ERR_MALFORMED);
    cr_assert_str_eq(error.text, "mechanism.epsilon is \"two\": give a number from 0 to 20");
    cr_assert_eq(json_get_integer(v, "", "n", 0, 20, &integer, &error), DPOT_ERR_MALFORMED);
    cr_assert_str_eq(error.text, "n is 2.5: give an integer from 0 to 20");
    cr_assert_eq(json_get_number(v, "", "ok", 4, 20, &number, &error), DPOT_ERR_RANGE);
    cr_assert_str_eq(error.text, "ok is 3: give a number from 4 to 20");
    cr_assert_eq(json_get_integer(v, "", "ok", 4, 20, &integer, &error), DPOT_ERR_RANGE);
    cr_assert_eq(json_get_string(v, NULL, "ok", &text, &error), DPOT_ERR_MALFORMED);
    cr_assert(number == 5 && integer == 5 && !text);
    cr_assert_eq(json_get_number(v, "", "ok", 0, 20, &number, &error), DPOT_OK);
    cr_assert_eq(json_get_integer(v, "", "ok", 0, 20, &integer, &error), DPOT_OK);
    cr_assert_eq(json_get_string(v, "", "s", &text, &error), DPOT_OK);
    cr_assert(number == 3 && integer == 3 && strcmp(text, "x") == 0);
    json_decref(v);
}

Test(json, missing_keys_leave_value_and_error_unchanged)
{
    struct dpot_error error = {"before"};
    double number = 7;
    json_t *v = parse("{}");
    cr_assert_eq(json_get_number(v, "", "x", 0, 1, &number, &error), DPOT_ERR_NOT_FOUND);
    cr_assert(number == 7 && strcmp(error.text, "before") == 0);
    json_decref(v);
}

Test(json, a_written_file_is_read_back)
{
    struct dpot_error error;
    json_t *out = parse("{\"a\":[0.1,3],\"b\":\"x\"}"), *in = NULL;
    cr_assert_eq(json_write(folder_path("a.json"), out, &error), DPOT_OK);
    cr_assert_eq(json_read(folder_path("a.json"), &in, &error), DPOT_OK);
    cr_assert(json_equal(out, in));
    json_decref(in);
    json_decref(out);
    cr_assert_eq(json_read(folder_write("b.json", "\xEF\xBB\xBF{}", 5), &in, &error), DPOT_OK, "%s",
                 error.text);
    json_decref(in);
    cr_assert_eq(json_read(folder_path("none.json"), &in, &error), DPOT_ERR_IO);
    cr_assert_null(in);
    cr_assert_eq(json_read(folder_write("e.json", "", 0), &in, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "e.json"));
}

Test(json, numbers_that_json_cannot_hold_become_null)
{
    json_t *a = json_number(NAN), *b = json_number(-INFINITY), *c = json_number(2.5);
    cr_assert(json_is_null(a) && json_is_null(b) && json_real_value(c) == 2.5);
    json_decref(a);
    json_decref(b);
    json_decref(c);
}

Test(json, a_long_text_is_shown_with_both_quotes)
{
    char shown[16];
    json_t *text = json_string("a text that does not fit"), *whole = json_string("abcdefghijklm");
    json_show(shown, sizeof shown, text);
    cr_assert_str_eq(shown, "\"a text tha...\"");
    json_show(shown, sizeof shown, whole);
    cr_assert_str_eq(shown, "\"abcdefghijklm\"");
    json_decref(text);
    json_decref(whole);
}

#include "files/spelling.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

static size_t distance(const char *a, const char *b)
{
    return spelling_distance(a, strlen(a), b, strlen(b));
}

/* The nearest of a few names; "" for none. */
static const char *nearest(const char *text)
{
    static const char *const names[] = {"epsilon", "metric", "out", "max-iterations", "tol", "ot"};
    struct spelling spelling = {.text = text};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        spelling_offer(&spelling, names[i], strlen(names[i]));
    }
    return spelling.best ? spelling.best : "";
}

Test(spelling, a_change_is_a_letter_more_less_or_other_or_two_swapped)
{
    cr_assert_eq(distance("metric", "metric"), 0);
    cr_assert_eq(distance("metrik", "metric"), 1);
    cr_assert_eq(distance("mertic", "metric"), 1);
    cr_assert_eq(distance("metrics", "metric"), 1);
    cr_assert_eq(distance("", "metric"), 6);
    cr_assert_eq(distance("kitten", "sitting"), 3);
    char text[SPELLING_LEN_MAX + 2];
    memset(text, 'a', sizeof text);
    cr_assert_eq(spelling_distance(text, sizeof text, "a", 1), SIZE_MAX);
}

Test(spelling, the_nearest_name_is_suggested_and_none_that_is_far)
{
    cr_assert_str_eq(nearest("epsilno"), "epsilon");
    cr_assert_str_eq(nearest("metrc"), "metric");
    cr_assert_str_eq(nearest("max-iter"), "max-iterations", "the beginning of it");
    cr_assert_str_eq(nearest("to"), "tol", "the first of the nearest");
    cr_assert_str_eq(nearest("x"), "");
    cr_assert_str_eq(nearest("temperature"), "");
    cr_assert_str_eq(nearest(""), "");
}

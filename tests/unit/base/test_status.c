#include "base/error.h"

#include <criterion/criterion.h>
#include <string.h>

struct row {
    dpot_status status;
    const char *name;
};

static const struct row rows[] = {
#define ROW(name, value, text) {value, #name},
    DPOT_STATUS_TABLE(ROW)
#undef ROW
};
#define N_ROWS (sizeof rows / sizeof rows[0])

Test(status, every_code_and_every_text_is_its_own)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        cr_assert_str_eq(dpot_status_name(rows[i].status), rows[i].name);
        for (size_t j = 0; j < i; j++) {
            cr_assert_neq(rows[i].status, rows[j].status);
            cr_assert_str_neq(dpot_status_text(rows[i].status), dpot_status_text(rows[j].status));
        }
    }
}

Test(status, failures_are_negative_and_lie_in_a_published_band)
{
    cr_assert_eq(DPOT_OK, 0);
    for (size_t i = 1; i < N_ROWS; i++) {
        const dpot_status status = rows[i].status;
        cr_assert((status <= -1 && status >= -99) || (status <= -100 && status >= -199) ||
                      (status <= -200 && status >= -299) || (status <= -300 && status >= -399) ||
                      (status <= -900 && status >= -999),
                  "%s is %d", rows[i].name, status);
    }
}

Test(status, only_the_fatal_band_says_close_the_handle)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const int is_fatal =
            rows[i].status == DPOT_ERR_POISONED || rows[i].status == DPOT_ERR_LEDGER;
        cr_assert_eq(DPOT_STATUS_IS_FATAL(rows[i].status), is_fatal, "%s", rows[i].name);
    }
}

Test(status, published_numbers_stay)
{
    cr_assert_eq(DPOT_ERR_ARGUMENT, -1);
    cr_assert_eq(DPOT_ERR_MEMORY, -100);
    cr_assert_eq(DPOT_ERR_MALFORMED, -200);
    cr_assert_eq(DPOT_ERR_INFEASIBLE, -207);
    cr_assert_eq(DPOT_ERR_BUDGET, -300);
    cr_assert_eq(DPOT_ERR_POISONED, -900);
}

Test(status, an_unknown_number_has_a_text)
{
    cr_assert_str_eq(dpot_status_text(-12345), "unknown status");
    cr_assert_str_eq(dpot_status_name(1), "DPOT_ERR_UNKNOWN");
}

Test(error, a_refusal_is_one_sentence_and_its_status)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_error_set(&error, DPOT_ERR_RANGE, "epsilon is %d: choose at most 20", 21),
                 DPOT_ERR_RANGE);
    cr_assert_str_eq(error.text, "epsilon is 21: choose at most 20");
    cr_assert_eq(dpot_error_prefix(&error, DPOT_ERR_RANGE, "campaign %s", "census"),
                 DPOT_ERR_RANGE);
    cr_assert_str_eq(error.text, "campaign census: epsilon is 21: choose at most 20");
}

Test(error, a_quoted_text_steers_no_terminal)
{
    struct dpot_error error = {""};
    (void)dpot_error_set(&error, DPOT_ERR_SERVER, "%s", "\x1B[1m\nx");
    cr_assert_str_eq(error.text, "?[1m?x");
    (void)dpot_error_prefix(&error, DPOT_ERR_SERVER, "%s", "a\rb");
    cr_assert_str_eq(error.text, "a?b: ?[1m?x");
}

Test(error, a_number_just_outside_of_a_limit_does_not_read_like_the_limit)
{
    char text[DPOT_SHORTEST_SIZE];
    cr_assert_str_eq(dpot_shortest(20, text), "20");
    cr_assert_str_eq(dpot_shortest(0.1, text), "0.1");
    cr_assert_str_eq(dpot_shortest(-1e15, text), "-1e+15");
    cr_assert_str_eq(dpot_shortest(1e15 + 1, text), "1000000000000001");
    cr_assert_str_eq(dpot_shortest(20 + 1 / 4294967296.0, text), "20.00000000023283");
}

Test(error, a_prefix_without_a_sentence_takes_the_text_of_the_status)
{
    struct dpot_error error = {{0}};
    (void)dpot_error_prefix(&error, DPOT_ERR_IO, "ledger");
    cr_assert_str_eq(error.text, "ledger: reading or writing a file failed");
}

Test(error, a_long_sentence_is_cut_and_nobody_has_to_ask_for_one)
{
    struct dpot_error error = {{0}};
    char text[600];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_assert_eq(dpot_error_set(&error, DPOT_ERR_IO, "%s", text), DPOT_ERR_IO);
    cr_assert_eq(strlen(error.text), sizeof error.text - 1);
    cr_assert_eq(dpot_error_prefix(&error, DPOT_ERR_IO, "%s", text), DPOT_ERR_IO);
    cr_assert_eq(strlen(error.text), sizeof error.text - 1);
    cr_assert_eq(dpot_error_set(NULL, DPOT_ERR_IO, "nobody asked"), DPOT_ERR_IO);
    cr_assert_eq(dpot_error_prefix(NULL, DPOT_ERR_IO, "nobody asked"), DPOT_ERR_IO);
}

/* dpot account, as a user runs it. */
#include "../tool/process.h"
#include "golden.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TestSuite(account_tool, .init = folder_make, .fini = folder_remove);

static json_t *composed(const char *spend, const char *options)
{
    char arguments[256];
    write_text("spend.json", spend);
    (void)snprintf(arguments, sizeof arguments, "account compose --spend spend.json %s", options);
    json_t *r = expect_json(arguments, 0);
    cr_assert_gt(json_array_size(json_object_get(r, "assumptions")), 2);
    return r;
}

static double member(const json_t *object, const char *outer, const char *inner)
{
    return number_of(json_object_get(object, outer), inner);
}

Test(account_tool, compose_converts_rho_and_mu_as_the_vectors_do)
{
    json_t *root = golden_load("accounting.json");
    static const char *const lists[][3] = {{"zcdp_eps", "rho", "zcdp"}, {"gdp_eps", "mu", "gdp"}};
    for (size_t l = 0; l < 2; l++) {
        const json_t *cases = json_object_get(root, lists[l][0]);
        for (size_t i = 0; i < json_array_size(cases); i++) {
            const json_t *c = json_array_get(cases, i);
            const double exact = golden_number(c, "eps"), delta = golden_number(c, "delta");
            char spend[256], options[64];
            (void)snprintf(spend, sizeof spend, "[{\"mechanism\":\"gaussian\",\"%s\":%.17g}]",
                           lists[l][1], golden_number(c, lists[l][1]));
            (void)snprintf(options, sizeof options, "--delta %.17g", delta);
            json_t *r = composed(spend, options);
            cr_assert_float_eq(number_of(r, "epsilon"), exact, 1e-6 * exact);
            cr_assert_float_eq(member(r, lists[l][2], "epsilon"), exact, 1e-6 * exact);
            cr_assert_eq(number_of(r, "delta"), delta);
            json_decref(r);
            (void)snprintf(spend, sizeof spend,
                           "[{\"mechanism\":\"gaussian\",\"%s\":%.17g,\"delta\":%.17g}]",
                           lists[l][1], golden_number(c, lists[l][1]), delta);
            r = composed(spend, "");
            cr_assert_float_eq(number_of(r, "epsilon"), exact, 1e-6 * exact);
            json_decref(r);
        }
    }
    json_decref(root);
}

Test(account_tool, compose_shows_every_accountant_beside_the_others)
{
    json_t *r =
        composed("[{\"mechanism\":\"laplace\",\"epsilon\":0.1,\"count\":100}]", "--delta 1e-6");
    cr_assert_str_eq(json_string_value(json_object_get(r, "accountant")), "optimal");
    cr_assert_eq(number_of(r, "releases"), 100);
    cr_assert_float_eq(member(r, "basic", "epsilon"), 10, 1e-12);
    cr_assert_eq(member(r, "basic", "delta"), 0);
    cr_assert_float_eq(member(r, "zcdp", "rho"), 0.5, 1e-12);
    cr_assert_lt(number_of(r, "epsilon"), member(r, "zcdp", "epsilon"));
    cr_assert(json_is_null(json_object_get(json_object_get(r, "gdp"), "epsilon")));
    cr_assert_not_null(json_object_get(json_object_get(r, "gdp"), "why_not"));
    json_decref(r);
    r = composed("[{\"mechanism\":\"wpm\",\"epsilon\":2,\"note\":\"week 1\"},"
                 "{\"mechanism\":\"gaussian\",\"epsilon\":1,\"delta\":1e-6,\"count\":3}]",
                 "");
    cr_assert_float_eq(number_of(r, "epsilon"), 5, 1e-12);
    cr_assert_float_eq(number_of(r, "delta"), 3e-6, 1e-18);
    cr_assert_str_eq(json_string_value(json_object_get(r, "accountant")), "basic");
    json_decref(r);
    expect_exit("account compose --spend spend.json", 0, "basic.epsilon            5\n");
}

Test(account_tool, compose_takes_huge_counts)
{
    json_t *r = composed("[{\"mechanism\":\"wpm\",\"epsilon\":1e6,\"count\":1000000000000000},"
                         "{\"mechanism\":\"other\",\"rho\":1e-100,\"delta\":1e-300}]",
                         "--delta 1e-6");
    cr_assert(number_of(r, "epsilon") >= 1e21 && number_of(r, "epsilon") < 1.1e21);
    json_decref(r);
}

static void expect_spend_refused(const char *spend, const char *sentence)
{
    write_text("spend.json", spend);
    expect_exit("account compose --spend spend.json", 3, sentence);
}

Test(account_tool, compose_refuses_bad_lists_with_entry_value_and_remedy)
{
#define ENTRY(rest)                                                                                \
    "[{\"mechanism\":\"laplace\",\"epsilon\":1},{\"mechanism\":\"laplace\"" rest "}]"
    expect_spend_refused("", "JSON");
    expect_spend_refused("[{]", "JSON");
    expect_spend_refused("{}", "must be a list of 1 to");
    expect_spend_refused("[]", "must be a list of 1 to");
    expect_spend_refused("3", "spend.json");
    expect_spend_refused("[3]", "spend[0] must be a JSON object");
    expect_spend_refused("[{\"epsilon\":1}]", "spend[0].mechanism is missing");
    expect_spend_refused("[{\"mechanism\":\"\",\"epsilon\":1}]", "spend[0].mechanism is \"\"");
    expect_spend_refused("[{\"mechanism\":\"Gaussian\",\"epsilon\":1}]", "or other for one");
    expect_spend_refused("[{\"mechanism\":5,\"epsilon\":1}]", "spend[0].mechanism is 5");
    expect_spend_refused(ENTRY(""), "spend[1] has neither epsilon nor rho nor mu");
    expect_spend_refused(ENTRY(",\"epsilon\":0"), "spend[1].epsilon is 0: give a number above 0");
    expect_spend_refused(ENTRY(",\"epsilon\":-1"), "spend[1].epsilon is -1");
    expect_spend_refused(ENTRY(",\"epsilon\":NaN"), "JSON");
    expect_spend_refused(ENTRY(",\"epsilon\":1e999"), "JSON");
    expect_spend_refused(ENTRY(",\"epsilon\":1e7"), "give a number from 0 to 1e+06");
    expect_spend_refused(ENTRY(",\"epsilon\":\"1\""), "spend[1].epsilon is \"1\"");
    expect_spend_refused(ENTRY(",\"epsilon\":1,\"mu\":1"), "has both epsilon and mu");
    expect_spend_refused(ENTRY(",\"epsilon\":1,\"delta\":1"), "spend[1].delta is 1");
    expect_spend_refused(ENTRY(",\"epsilon\":1,\"delta\":-1e-9"), "spend[1].delta is -1");
    expect_spend_refused(ENTRY(",\"epsilon\":1,\"delta\":1e-305"), "spend[1].delta is 1e-305");
    expect_spend_refused(ENTRY(",\"epsilon\":1,\"count\":0"), "spend[1].count is 0");
    expect_spend_refused(ENTRY(",\"epsilon\":1,\"count\":1.5"), "give an integer");
    expect_spend_refused(ENTRY(",\"epsilon\":1,\"count\":1000000000000001"), "spend[1].count is");
    expect_spend_refused(ENTRY(",\"epsilon\":1,\"count\":99999999999999999999"), "JSON");
    expect_spend_refused(ENTRY(",\"epsilon\":1,\"sigma\":1"), "spend[1].sigma is not known");
    expect_spend_refused(ENTRY(",\"epsilon\":1,\"epsilon\":2"), "duplicate");
    expect_spend_refused("[{\"mechanism\":\"gaussian\",\"epsilon\":1}]", "add its delta");
    expect_spend_refused("[{\"mechanism\":\"other\",\"epsilon\":1,\"delta\":0.4,\"count\":3}]",
                         "the deltas add to 1.2");
    write_text("spend.json", "[{\"mechanism\":\"gaussian\",\"rho\":1}]");
    expect_exit("account compose --spend spend.json", 2, "give --delta");
    write_text("spend.json", "[{\"mechanism\":\"other\",\"epsilon\":1,\"delta\":1e-3}]");
    expect_exit("account compose --spend spend.json --delta 1e-4", 3, "give a larger one");
    expect_exit("account compose --spend spend.json --delta 0", 2, "--delta is 0");
    expect_exit("account compose --spend spend.json --delta 1", 2, "--delta is 1");
    expect_exit("account compose --spend none.json", 6, "none.json");
    expect_exit("account compose", 2, "--spend is missing");
}

Test(account_tool, compose_refuses_a_deeply_nested_list)
{
    char text[8192];
    memset(text, '[', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    expect_spend_refused(text, "spend.json");
}

Test(account_tool, shuffle_gives_the_closed_form_of_the_vectors_and_its_assumptions)
{
    json_t *root = golden_load("shuffle.json");
    const json_t *tests = json_object_get(json_object_get(root, "reference"), "tests");
    for (size_t i = 0; i < json_array_size(tests); i++) {
        const json_t *t = json_array_get(tests, i);
        char arguments[256];
        (void)snprintf(arguments, sizeof arguments,
                       "account shuffle --epsilon0 %.17g --n %.0f --delta %.17g",
                       golden_number(t, "eps0"), golden_number(t, "n"), golden_number(t, "delta"));
        json_t *r = expect_json(arguments, 0);
        expect_just_above(number_of(r, "epsilon"), golden_number(t, "fmt23"), 1e-12, "epsilon");
        expect_just_above(number_of(r, "clones_epsilon"), golden_number(t, "fmt21"), 1e-12, "2021");
        cr_assert_lt(number_of(r, "tight_epsilon"), number_of(r, "epsilon"));
        cr_assert_eq(number_of(r, "delta"), golden_number(t, "delta"));
        const json_t *assumptions = json_object_get(r, "assumptions");
        cr_assert_eq(json_array_size(assumptions), 5);
        cr_assert_not_null(strstr(json_string_value(json_array_get(assumptions, 1)), "NOT"));
        json_decref(r);
    }
    json_decref(root);
}

Test(account_tool, shuffle_refuses_a_theorem_outside_its_condition)
{
    struct process p;
    process_run(&p, "account shuffle --epsilon0 5 --n 20000 --delta 1e-6 --bound clones");
    cr_assert_eq(p.exit_code, 2);
    cr_assert_not_null(strstr(p.err, "the theorem holds up to 4.456"), "%s", p.err);
    expect_exit("account shuffle --epsilon0 1 --n 100 --delta 1e-6", 2, "--n is 100: too few");
    json_t *r = expect_json("account shuffle --epsilon0 5 --n 20000 --delta 1e-6 --bound tight", 0);
    cr_assert(json_is_null(json_object_get(r, "clones_epsilon")));
    cr_assert_eq(number_of(r, "epsilon"), number_of(r, "tight_epsilon"));
    json_decref(r);
}

Test(account_tool, shuffle_refuses_bad_numbers)
{
    expect_exit("account shuffle --n 10 --delta 1e-6", 2, "--epsilon0 is missing");
    expect_exit("account shuffle --epsilon0 1 --delta 1e-6", 2, "--n is missing");
    expect_exit("account shuffle --epsilon0 1 --n 10", 2, "--delta is missing");
    expect_exit("account shuffle --epsilon0 0 --n 10 --delta 1e-6", 2, "--epsilon0 is 0");
    expect_exit("account shuffle --epsilon0 nan --n 10 --delta 1e-6", 2, "--epsilon0 is nan");
    expect_exit("account shuffle --epsilon0 -1 --n 10 --delta 1e-6", 2, "--epsilon0 is -1");
    expect_exit("account shuffle --epsilon0 513 --n 10 --delta 1e-6", 2, "to 512");
    expect_exit("account shuffle --epsilon0 1 --n 1 --delta 1e-6", 2, "--n is 1");
    expect_exit("account shuffle --epsilon0 1 --n 1e6 --delta 1e-6", 2, "--n is 1e6");
    expect_exit("account shuffle --epsilon0 1 --n 10000000000000000 --delta 1e-6", 2, "--n is");
    expect_exit("account shuffle --epsilon0 1 --n 10 --delta 0", 2, "--delta is 0");
    expect_exit("account shuffle --epsilon0 1 --n 10 --delta 1", 2, "--delta is 1");
    expect_exit("account shuffle --epsilon0 1 --n 10 --delta 1e-6 --bound best", 2,
                "choose closed, clones or tight");
    expect_exit("account --help", 0, "account shuffle");
}

Test(account_tool, shuffle_of_a_trillion_users_takes_bounded_time)
{
    const time_t start = time(NULL);
    json_t *r = expect_json("account shuffle --epsilon0 4 --n 1000000000000 --delta 1e-9", 0);
    cr_assert(number_of(r, "tight_epsilon") > 0 && number_of(r, "epsilon") < 1e-3);
    cr_assert_leq(time(NULL) - start, 60, "about a second without sanitizers");
    json_decref(r);
}

/* The number after a name in the human-readable table. */
static double shown(const struct process *p, const char *name)
{
    const char *line = strstr(p->out, name);
    cr_assert_not_null(line, "%s: %s", name, p->out);
    return strtod(line + strlen(name), NULL);
}

Test(account_tool, the_table_never_rounds_an_epsilon_down)
{
    static struct process p;
    json_t *r = composed("[{\"mechanism\":\"wpm\",\"epsilon\":0.1,\"count\":3},"
                         "{\"mechanism\":\"gaussian\",\"rho\":0.0123456789012345}]",
                         "--delta 1e-6");
    process_run(&p, "account compose --spend spend.json --delta 1e-6");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_eq(shown(&p, "\nzcdp.epsilon"), member(r, "zcdp", "epsilon"));
    cr_assert_eq(shown(&p, "\nzcdp.rho"), member(r, "zcdp", "rho"));
    cr_assert_eq(shown(&p, "epsilon "), number_of(r, "epsilon"));
    json_decref(r);
}

Test(account_tool, a_delta_left_by_basic_composition_is_reported)
{
    json_t *r = composed("[{\"mechanism\":\"other\",\"epsilon\":0.1,\"delta\":1e-7},"
                         "{\"mechanism\":\"other\",\"epsilon\":0.2}]",
                         "--delta 1e-6");
    cr_assert_eq(number_of(r, "delta"), 1e-7);
    cr_assert_float_eq(number_of(r, "spare_delta"), 9e-7, 1e-18);
    cr_assert_not_null(strstr(json_string_value(json_object_get(r, "spare_delta_note")), "basic"));
    json_decref(r);
    r = composed("[{\"mechanism\":\"gaussian\",\"rho\":0.1}]", "--delta 1e-6");
    cr_assert_null(json_object_get(r, "spare_delta"));
    json_decref(r);
}

/* The command line of a small program: its exit codes, options, refusals and pages. */
#include "cli/options.h"
#include "cli/program.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

TestSuite(cli, .init = folder_make, .fini = folder_remove);

static char out[8192], err[4096]; /* of the last run */

/* What a command of the program finds, for the tests to look at. */
static struct run seen;

static dpot_status keep_run(struct run *run)
{
    seen = *run;
    return DPOT_OK;
}

static dpot_status fail(struct run *run)
{
    return dpot_error_set(&run->error, DPOT_ERR_BUDGET, "\xFF is \"spent\"");
}

static const struct option options[] = {
    {"in", "F", "the input"},
    {"files", "F...", "more of them"},
    {"size", "N 1..9", "how large"},
    {"share", "X (0,1]", "how much"},
    {"count", "N 0..", "how many"},
    {"kind", "round|square", "its shape"},
    {"label", "T", "a text, which stands beside the thing when it is shown, as long as it is"},
    {"exact", NULL, "to the last digit"},
    {NULL, NULL, NULL},
};
static const struct command make = {
    .name = "make",
    .operands = "NAME...",
    .max_operands = 3,
    .summary = "Makes it.",
    .details = "Really.",
    .example = "small make --in x",
    .options = options,
    .n_required = 1,
    .run = keep_run,
};
static const struct command keys_add = {
    .name = "keys add", .summary = "Adds.", .details = "", .example = "", .run = fail};
static const struct command keys_list = {
    .name = "keys list", .summary = "Lists.", .details = "", .example = "", .run = keep_run};
static const struct command *const commands[] = {&make, &keys_add, &keys_list, NULL};
static const struct section sections[] = {{"Things", &make}, {"Keys", &keys_add}, {NULL, NULL}};
static const struct option_alias aliases[] = {
    {NULL, "input", "in"}, {"make", "length", "size"}, {NULL, NULL, NULL}};
static const struct program program = {.name = "small",
                                       .version = "1",
                                       .summary = "Small.",
                                       .example = "",
                                       .commands = commands,
                                       .sections = sections,
                                       .aliases = aliases,
                                       .exit_codes = EXIT_CODES_ALL & ~(1u << EXIT_CODE_STOPPED)};

/* Runs it with these words up to NULL; its exit code. */
static int run_words(const char *const *words)
{
    char *argv[16] = {NULL};
    int argc = 1;
    for (; words[argc - 1]; argc++) {
        argv[argc] = (char *)words[argc - 1];
    }
    cr_assert_not_null(freopen(folder_path("out"), "w", stdout));
    cr_assert_not_null(freopen(folder_path("err"), "w", stderr));
    const int code = program_run(&program, argc, argv);
    (void)fflush(NULL);
    out[folder_read("out", out, sizeof out - 1)] = '\0';
    err[folder_read("err", err, sizeof err - 1)] = '\0';
    return code;
}
#define RUN(...) run_words((const char *const[]){__VA_ARGS__, NULL})

static void expect(int code, int expected, const char *sentence)
{
    cr_assert_eq(code, expected, "%d: %s", code, err);
    cr_assert_not_null(strstr(err, sentence), "%s", err);
    cr_assert_eq(strchr(err, '\n'), err + strlen(err) - 1, "one sentence: %s", err);
}

Test(cli, every_status_has_the_exit_code_of_the_manuals)
{
    static const struct {
        dpot_status status;
        int code;
    } rows[] = {
        {DPOT_OK, 0},
        {DPOT_ERR_ARGUMENT, 2},
        {DPOT_ERR_STATE, 7},
        {DPOT_ERR_MEMORY, 1},
        {DPOT_ERR_IO, 6},
        {DPOT_ERR_NETWORK, 6},
        {DPOT_ERR_BUSY, 6},
        {DPOT_ERR_RANDOM, 1},
        {DPOT_ERR_SERVER, 6},
        {DPOT_ERR_NO_SPACE, 6},
        {DPOT_ERR_MALFORMED, 3},
        {DPOT_ERR_VERSION, 3},
        {DPOT_ERR_SIGNATURE, 3},
        {DPOT_ERR_RANGE, 3},
        {DPOT_ERR_SHAPE, 3},
        {DPOT_ERR_NOT_FOUND, 3},
        {DPOT_ERR_CORRUPT, 3},
        {DPOT_ERR_INFEASIBLE, 3},
        {DPOT_ERR_TOO_LARGE, 3},
        {DPOT_ERR_EXISTS, 3},
        {DPOT_ERR_BUDGET, 4},
        {DPOT_ERR_EPSILON, 4},
        {DPOT_ERR_CLOSED, 7},
        {DPOT_ERR_NOT_OPEN, 7},
        {DPOT_ERR_CAP_UNSET, 4},
        {DPOT_ERR_SIMULATION, 4},
        {DPOT_ERR_DENIED, 4},
        {DPOT_ERR_CONSENT, 4},
        {DPOT_ERR_UNEXPECTED, 4},
        {DPOT_ERR_POISONED, 6},
        {DPOT_ERR_LEDGER, 4},
    };
#define CHECK(name, value, text)                                                                   \
    cr_assert_eq(rows[n].status, name, "row %zu", n);                                              \
    cr_assert_eq(exit_code_of(name), rows[n].code, #name);                                         \
    n++;
    size_t n = 0;
    DPOT_STATUS_TABLE(CHECK)
    cr_assert_eq(n, sizeof rows / sizeof rows[0]);
    cr_assert_eq(exit_code_of(-12345), 1);
}

Test(cli, options_are_taken_in_any_order_and_either_spelling)
{
    cr_assert_eq(RUN("make", "--exact", "a", "--size=7", "--in", "x", "--", "--b"), 0, "%s", err);
    uint64_t size = 0;
    cr_assert_eq(option_integer(&seen, "size", 1, 9, &size), DPOT_OK);
    cr_assert_eq(size, 7);
    cr_assert(option_is_given(&seen, "exact") && !seen.is_json && seen.n_threads >= 1);
    cr_assert(seen.n_operands == 2 && seen.program == &program && seen.command == &make);
    cr_assert_eq(RUN("make", "--in", "x", "--files", "a", "b", "--files", "c", "--json", "--json"),
                 0, "%s", err);
    cr_assert(seen.n_operands == 2 && seen.is_json);
}

Test(cli, a_wrong_command_line_is_one_sentence_and_exit_code_2)
{
    expect(RUN("make"), 2, "small make: option --in is missing: give --in F");
    expect(RUN("make", "--in", "x", "--in", "y"), 2, "option --in is given twice");
    expect(RUN("make", "--in"), 2, "option --in has no value: give --in F");
    expect(RUN("make", "--in", "--exact"), 2, "option --in has no value before --exact");
    expect(RUN("make", "--in="), 2, "option --in is empty");
    expect(RUN("make", "--exact=1"), 2, "option --exact takes no value");
    expect(RUN("make", "--out", "x"), 2, "option --out is not known: see small make --help");
    expect(RUN("make", "--in", "x", "1", "2", "3", "4"), 2, "\"4\" is one argument too many");
    expect(run_words((const char *const[]){NULL}), 2, "a command is missing: see small --help");
    expect(RUN("break"), 2, "\"break\" is not a command: see small --help");
    expect(RUN("--in", "x"), 2, "the command comes first, then its options, not --in");
    expect(RUN("keys"), 2, "small: keys takes add or list: see small keys --help");
    expect(RUN("keys", "drop"), 2, "\"keys drop\" is not a command: keys takes add or list");
    expect(RUN("keys", "--json"), 2, "keys takes add or list first, then options, not --json");
}

Test(cli, values_are_checked_with_their_range)
{
    double number = 5;
    uint64_t integer = 5;
    cr_assert_eq(RUN("make", "--in", "0x10", "--label", "1e-400"), 0);
    cr_assert_eq(option_number(&seen, "in", 0, 100, &number), DPOT_ERR_ARGUMENT);
    cr_assert_eq(option_number(&seen, "label", 0, 1e6, &number), DPOT_ERR_ARGUMENT);
    cr_assert_str_eq(seen.error.text, "--label is 1e-400: give a number from 0 to 1000000");
    cr_assert_eq(option_integer(&seen, "label", 0, 9, &integer), DPOT_ERR_ARGUMENT);
    cr_assert_eq(option_positive(&seen, "label", 9, &number), DPOT_ERR_ARGUMENT);
    cr_assert(number == 5 && integer == 5);
}

Test(cli, a_failure_is_a_sentence_and_with_json_an_object)
{
    expect(RUN("keys", "add"), 4, "small keys add: ");
    cr_assert_str_empty(out);
    expect(RUN("keys", "add", "--json"), 4, "small keys add: ");
    json_t *object = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(object, "%s", out);
    cr_assert_str_eq(json_string_value(json_object_get(object, "error")), "? is \"spent\"");
    cr_assert_str_eq(json_string_value(json_object_get(object, "status")), "DPOT_ERR_BUDGET");
    cr_assert_eq(json_integer_value(json_object_get(object, "exit_code")), 4);
    json_decref(object);
}

Test(cli, pages_and_completion_come_of_the_same_tables)
{
    cr_assert_eq(RUN("--help"), 0);
    cr_assert_not_null(strstr(out, "  keys list "));
    cr_assert_not_null(strstr(out, "Exit codes: 0 done, 1 internal, 2 usage"));
    cr_assert_null(strstr(out, " 5 "));
    cr_assert_eq(RUN("make", "--help"), 0);
    cr_assert_not_null(strstr(out, "usage: small make --in F NAME... [options]\n"), "%s", out);
    cr_assert_not_null(
        strstr(out,
               "  --label T                  a text, which stands beside the thing when it is\n"
               "                             shown, as long as it is\n"),
        "%s", out);
    cr_assert_eq(RUN("keys", "--help"), 0);
    cr_assert_not_null(strstr(out, "  small keys add "));
    cr_assert_eq(RUN("--version"), 0);
    cr_assert_str_eq(out, "small 1\n");
    cr_assert_eq(RUN("completion"), 0);
    cr_assert_str_eq(out, "help\nmake\nkeys\n", "a group once");
    cr_assert_eq(RUN("completion", "keys"), 0);
    cr_assert_str_eq(out, "add\nlist\n");
    cr_assert_eq(RUN("completion", "make", "--exact"), 0);
    cr_assert_str_eq(out, "--in\n--files\n--size\n--share\n--count\n--kind\n--label\n--exact\n--"
                          "json\n--quiet\n--help\n");
    cr_assert_eq(RUN("completion", "make", "--in"), 0);
    cr_assert_str_eq(out, "<files>\n");
    cr_assert_eq(RUN("completion", "make", "--kind"), 0);
    cr_assert_str_eq(out, "round\nsquare\n");
    cr_assert_eq(RUN("completion", "make", "--size"), 0);
    cr_assert_str_empty(out, "a number comes next");
    cr_assert_eq(RUN("completion", "make", "--in", "x", "--files", "y"), 0);
    cr_assert_str_eq(out, "--files\n--size\n--share\n--count\n--kind\n--label\n--exact\n--json\n--"
                          "quiet\n--help\n<files>\n");
}

Test(cli, help_prints_the_page_of_a_command_or_of_a_group)
{
    static char page[sizeof out];
    cr_assert_eq(RUN("make", "--help"), 0);
    memcpy(page, out, sizeof page);
    cr_assert_eq(RUN("help", "make"), 0);
    cr_assert_str_eq(out, page);
    cr_assert_eq(RUN("help", "keys", "add"), 0);
    cr_assert_not_null(strstr(out, "usage: small keys add"), "%s", out);
    cr_assert_eq(RUN("help", "keys"), 0);
    cr_assert_not_null(strstr(out, "  small keys list "), "%s", out);
    cr_assert_eq(RUN("help"), 0);
    cr_assert_not_null(strstr(out, "usage: small COMMAND"), "%s", out);
    expect(RUN("help", "mak"), 2, "\"mak\" is not a command (did you mean make?)");
    expect(RUN("help", "keys", "ad"), 2, "\"keys ad\" is not a command (did you mean add?)");
}

Test(cli, commands_stand_under_the_headings_of_their_sections)
{
    cr_assert_eq(RUN("--help"), 0);
    const char *first = strstr(out, "\nThings:\n  make "),
               *second = strstr(out, "\nKeys:\n  keys add ");
    cr_assert(first && second && first < second, "%s", out);
}

Test(cli, a_mistyped_name_gets_the_nearest_one)
{
    expect(RUN("maek", "--in", "x"), 2, "\"maek\" is not a command (did you mean make?)");
    expect(RUN("keys", "lsit"), 2, "(did you mean list?)");
    expect(RUN("make", "--sise", "4"), 2, "--sise is not known (did you mean --size?)");
    expect(RUN("make", "--sise=4"), 2, "--sise is not known (did you mean --size?)");
    expect(RUN("make", "--zzzzz"), 2, "--zzzzz is not known: see");
    expect(RUN("make", "--kind", "sqare"), 2,
           "--kind is sqare: choose round or square (did you mean square?)");
    expect(RUN("make", "--kind", "oval"), 2, "--kind is oval: choose round or square\n");
}

Test(cli, the_bounds_of_the_page_are_those_of_the_refusal)
{
    static const char *const sizes[] = {"0", "10", "-1",  "1.5",
                                        "",  "x",  "1e3", "99999999999999999999"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        cr_assert_eq(RUN("make", "--in", "x", "--size", sizes[i]), 2, "%s", sizes[i]);
        cr_assert(!*sizes[i] || strstr(err, ": give an integer from 1 to 9\n"), "%s", err);
    }
    static const char *const shares[] = {"0", "1.0001", "nan", "inf", "1e-400", "0x1", "1 "};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        cr_assert_eq(RUN("make", "--in", "x", "--share", shares[i]), 2, "%s", shares[i]);
        cr_assert_not_null(strstr(err, ": give a number above 0, at most 1\n"), "%s", err);
    }
    expect(RUN("make", "--in", "x", "--count", "18446744073709551616"), 2,
           "--count is 18446744073709551616: give an integer from 0 to 18446744073709551615\n");
    expect(RUN("make", "--in", "x", "--count", "-1"), 2, "give an integer at least 0\n");
    cr_assert_eq(RUN("make", "--in", "x", "--size", "9", "--share", "1"), 0, "%s", err);
    cr_assert_eq(RUN("make", "--help"), 0);
    cr_assert_not_null(strstr(out, "how large; from 1 to 9\n"), "%s", out);
    cr_assert_not_null(strstr(out, "how much; above 0, at most 1\n"), "%s", out);
}

Test(cli, a_former_spelling_is_taken_and_shown_nowhere)
{
    cr_assert_eq(RUN("make", "--input", "x", "--length=7"), 0, "%s", err);
    cr_assert_str_eq(option_text(&seen, "in"), "x");
    cr_assert_str_eq(option_text(&seen, "size"), "7");
    static const char both[] = "--input is the old name of --in: give one of them";
    expect(RUN("make", "--input", "x", "--in", "y"), 2, both);
    expect(RUN("make", "--in", "x", "--input", "y"), 2, both);
    expect(RUN("make", "--input", "x", "--input", "y"), 2, "option --input is given twice");
    expect(RUN("make", "--input"), 2, "option --input has no value");
    expect(RUN("make", "--in", "x", "--length", "0"), 2, "--length is 0: give");
    expect(RUN("make", "--lenght", "7"), 2, "option --lenght is not known");
    cr_assert_null(strstr(err, "--length"), "%s", err);
    expect(RUN("keys", "list", "--length", "7"), 2, "option --length is not known");
    cr_assert_eq(RUN("make", "--help"), 0);
    cr_assert(!strstr(out, "--input") && !strstr(out, "--length"));
    cr_assert_eq(RUN("completion", "make"), 0);
    cr_assert(!strstr(out, "--input") && !strstr(out, "--length"));
}

#include "process.h"
#include "unit/files/folder.h"

#include "base/compiler.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(command, .init = folder_make, .fini = folder_remove);

static const char *const names[] = {
    "project",        "ot",
    "estimate",       "simulate",
    "population",     "campaign create",
    "campaign list",  "campaign show",
    "campaign open",  "campaign close",
    "campaign fetch", "pool",
    "plan",
};

Test(command, version_is_one_line)
{
    struct process p;
    process_run(&p, "--version");
    cr_assert_eq(p.exit_code, 0);
    cr_assert_eq(strncmp(p.out, "dpot 0.", 7), 0);
    cr_assert_eq(strchr(p.out, '\n'), p.out + strlen(p.out) - 1);
}

#if !DPOT_IS_SANITIZED /* shadow memory is larger than the limits */
Test(command, ends_with_its_code_in_a_small_address_space)
{
    static struct process p;
    for (size_t mib = 80; mib <= 180; mib += 20) {
        process_address_space = mib << 20;
        process_run(&p, "--version");
        cr_assert_eq(p.exit_code, 0, "%d: %s", p.exit_code, p.err);
        process_run(&p, "fly");
        cr_assert_eq(p.exit_code, 2, "%d: %s", p.exit_code, p.err);
    }
}
#endif

Test(command, help_lists_every_command_and_the_exit_codes)
{
    struct process p;
    process_run(&p, "--help");
    cr_assert_eq(p.exit_code, 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_assert_not_null(strstr(p.out, names[i]), "%s", names[i]);
    }
    cr_assert_not_null(strstr(p.out, "Exit codes"));
}

Test(command, every_command_has_a_page_with_an_example)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct process p;
        char arguments[64], example[64];
        (void)snprintf(arguments, sizeof arguments, "%s --help", names[i]);
        (void)snprintf(example, sizeof example, "Example:\n  dpot %s", names[i]);
        process_run(&p, arguments);
        cr_assert_eq(p.exit_code, 0, "%s", names[i]);
        cr_assert_not_null(strstr(p.out, example), "%s: %s", names[i], p.out);
        cr_assert_not_null(strstr(p.out, "--json"));
        cr_assert_not_null(strstr(p.out, "--threads"));
    }
}

Test(command, group_lists_its_commands)
{
    expect_exit("campaign --help", 0, "campaign create");
    expect_exit("campaign", 2, "campaign takes create, list, show, open, close, revise or fetch");
    expect_exit("campaign burn", 2, "\"campaign burn\" is not a command");
}

Test(command, wrong_command_lines_are_refused)
{
    expect_exit("", 2, "a command is missing: see dpot --help");
    expect_exit("--exact ot", 2, "the command comes first, then its options, not --exact");
    expect_exit("projekt", 2, "\"projekt\" is not a command");
    expect_exit("ot --frobnicate 1", 2, "option --frobnicate is not known");
    expect_exit("ot -x", 2, "option -x is not known");
    expect_exit("ot extra", 2, "\"extra\" is one argument too many");
    expect_exit("ot --lambda 1 --lambda 1", 2, "--lambda is given twice");
    expect_exit("ot --exact=yes", 2, "--exact takes no value");
    expect_exit("ot --cost", 2, "--cost has no value");
    expect_exit("ot --cost --exact", 2, "--cost has no value before --exact: give --cost F");
    expect_exit("barycenter --group-files --quiet --support 1 --exact --out x.csv", 2,
                "--group-files has no value before --quiet");
    expect_exit("ot --cost=--exact --exact", 6, "--exact: reading failed");
    expect_exit("ot --cost= --exact", 2, "--cost is empty");
    expect_exit("campaign open", 2, "ID is missing");
    expect_exit("ot --threads 0", 2, "--threads is 0: give an integer from 1");
    expect_exit("ot --threads -1", 2, "--threads is -1");
    expect_exit("ot --seed 18446744073709551616", 2, "--seed is 18446744073709551616");
    expect_exit("ot --seed 1.5", 2, "--seed is 1.5");
}

Test(command, failure_with_json_is_one_object_too)
{
    json_t *object = expect_json("ot --cost none.csv --exact", 6);
    cr_assert_eq(number_of(object, "exit_code"), 6);
    cr_assert_str_eq(json_string_value(json_object_get(object, "status")), "DPOT_ERR_IO");
    cr_assert_not_null(strstr(json_string_value(json_object_get(object, "error")),
                              "--cost: none.csv: reading failed"));
    json_decref(object);
    object = expect_json("ot --bad", 2);
    json_decref(object);
}

Test(command, only_one_output_may_be_stdout)
{
    write_text("c.csv", "0,1\n1,0\n");
    expect_exit("ot --cost c.csv --exact --plan-out - --potentials-out -", 2,
                "second output on stdout");
    struct process p;
    process_run(&p, "ot --cost c.csv --exact --plan-out - --json");
    cr_assert_eq(p.exit_code, 2);
    process_run(&p, "ot --cost c.csv --exact --plan-out -");
    cr_assert_eq(p.exit_code, 0);
    cr_assert_str_eq(p.out, "0.5,0\n0,0.5\n");
    cr_assert_not_null(strstr(p.err, "transport_cost"), "the table goes to stderr");
}

Test(command, output_that_cannot_be_written_is_reported_once)
{
    struct process p;
    if (access("/dev/full", W_OK) != 0) {
        cr_skip_test("this machine has no /dev/full");
    }
    write_text("c.csv", "0,1\n1,0\n");
    cr_assert_eq(symlink("/dev/full", folder_path("stdout.txt")), 0);
    process_run(&p, "convert --in c.csv --out -");
    cr_assert_eq(p.exit_code, 6);
    cr_assert_str_eq(p.err, "dpot convert: writing to standard output failed: No space left on "
                            "device\n");
}

Test(command, names_of_arrays_determine_their_format)
{
    write_text("c.csv", "0,1\n1,0\n");
    write_text("mu.csv", "0.5\n0.5\n");
    write_text("places.csv", "40,-100,10\n");
    expect_exit("project --mu mu.csv --cost c.csv --base-measure uniform --epsilon 1 --exact --out "
                "q.npz",
                2, "--out is q.npz: give a name that ends in .npy or .csv, or - for stdout");
    expect_exit("ot --cost c.csv --exact --plan-out p.NPY", 2, "--plan-out is p.NPY");
    expect_exit("ot --cost c.csv --exact --potentials-out p.txt", 2, "--potentials-out is p.txt");
    expect_exit("base-measure --cost c.csv --epsilon 1 --out m", 2, "--out is m:");
    expect_exit("base-measure --cost c.csv --epsilon 1 --out m.csv --trajectory-out t.dat", 2,
                "--trajectory-out is t.dat");
    expect_exit("estimate --campaign c --pool p.csv --out e.json", 2, "--out is e.json");
    expect_exit("population --places places.csv --devices 1 --out d.tsv", 2, "--out is d.tsv");
    expect_exit("pool 000102030405060708090a0b0c0d0e0f --out p.bin", 2, "--out is p.bin");
    json_decref(expect_json("ot --cost c.csv --exact --plan-out /dev/null", 0));
}

Test(command, options_may_be_joined_with_an_equals_sign)
{
    write_text("c.csv", "0,1\n1,0\n");
    json_t *object = expect_json("ot --cost=c.csv --exact", 0);
    cr_assert_eq(number_of(object, "transport_cost"), 0);
    json_decref(object);
}

Test(command, files_that_cannot_be_written_are_exit_code_6)
{
    write_text("c.csv", "0,1\n1,0\n");
    expect_exit("ot --cost c.csv --exact --plan-out no/such/folder.npy", 6, "no/such/folder.npy");
}

Test(command, too_wide_a_picture_is_a_wrong_option_with_the_largest_width)
{
    write_text("curve.csv", "0,1\n1,2\n");
    expect_exit("plot curves --in curve.csv --width 20000 --out c.svg", 2, "this one may be ");
    write_text("huge.csv", "0,1e308\n1,-1e308\n");
    expect_exit("plot curves --in huge.csv --out c.svg", 3, "finite numbers of at most 1e+300");
}

/* dpot central --ledger: charges before data are opened, refuses above caps, locks its file. */
#include "../tool/process.h"
#include "support/child.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BOX "--domain {\"type\":\"box\",\"lo\":[0,0],\"hi\":[1,1]} "
#define CORESET "central coreset --data data.csv --out out.csv " BOX
#define BEGIN "--ledger l --name people --epsilon-cap 1 "
#define MORE "--ledger l --name people "

static void set_up(void)
{
    folder_make();
    write_text("data.csv", "0.5,0.5\n0.25,0.5\n0.5,0.75\n");
}

TestSuite(ledger_tool, .init = set_up, .fini = folder_remove);

static double sum_of(const char *key)
{
    json_t *r = expect_json("central ledger --ledger l --name people", 0);
    const double sum = number_of(r, key);
    json_decref(r);
    return sum;
}

Test(ledger_tool, runs_add_up_and_the_caps_refuse)
{
    json_decref(expect_json(CORESET "--epsilon 0.5 " BEGIN, 0));
    json_decref(
        expect_json("central ot-cost --x data.csv --y data.csv --metric l1 --exact --epsilon "
                    "0.25 " BOX MORE,
                    0));
    json_decref(expect_json("central transport-map --x data.csv --y data.csv --grid 4x4 --family 2 "
                            "--out m.csv --epsilon 0.25 " BOX MORE,
                            0));
    expect_exit(CORESET "--epsilon 0.001 " MORE, 4, "has spent epsilon 1 of 1");
    json_t *r = expect_json("central ledger --ledger l --name people", 0);
    const json_t *charges = json_object_get(r, "charges");
    cr_assert_eq(json_array_size(charges), 3);
    cr_assert_str_eq(json_string_value(json_object_get(json_array_get(charges, 1), "mechanism")),
                     "transport-cost");
    cr_assert_eq(number_of(r, "epsilon"), 1);
    cr_assert_eq(number_of(r, "epsilon_cap"), 1);
    cr_assert(json_is_null(json_object_get(r, "rho_cap")));
    json_decref(r);
    r = expect_json("central ledger --ledger l", 0);
    cr_assert_eq(json_array_size(json_object_get(r, "data_sets")), 1);
    json_decref(r);
    expect_exit("central ledger --ledger l --name nobody", 3, "nobody");
    expect_exit("central ledger --ledger l --name poeple", 3, "(did you mean people?)");
}

Test(ledger_tool, noisy_iterations_are_charged_in_delta_and_in_rho)
{
    static const char run[] =
        "central barycenter --data data.csv --out out.csv --support 1 --delta "
        "1e-6 --method noisy-agnostic --epsilon 0.5 " BOX MORE;
    char line[512];
    (void)snprintf(line, sizeof line, "%s--epsilon-cap 1", run);
    expect_exit(line, 4, "delta");
    (void)snprintf(line, sizeof line, "%s--epsilon-cap 1 --delta-cap 2e-6", run);
    json_t *r = expect_json(line, 0);
    const double rho = number_of(r, "rho");
    json_decref(r);
    json_decref(expect_json(run, 0));
    expect_exit(run, 4, "has spent epsilon 1 of 1");
    cr_assert_float_eq(sum_of("rho"), 2 * rho, 1e-3 * rho);
    cr_assert_float_eq(sum_of("delta"), 2e-6, 1e-15);
    cr_assert_lt(rho, 0.125, "far less than of a pure epsilon");
}

Test(ledger_tool, a_wrong_command_line_is_not_charged)
{
    expect_exit(CORESET "--epsilon 1 --name people", 2, "without --ledger");
    expect_exit(CORESET "--epsilon 1 --rho-cap 1", 2, "without --ledger");
    expect_exit(CORESET "--epsilon 1 --ledger l --epsilon-cap 1", 2, "--name");
    expect_exit(CORESET "--epsilon 1 --ledger l --epsilon-cap 1 --name a/b", 2, "letters");
    expect_exit(CORESET "--epsilon 1 " BEGIN "--rho-cap 1", 2, "--rho-cap");
    expect_exit(CORESET "--epsilon 1 " MORE "--delta-cap 0.1", 2, "--epsilon-cap");
    expect_exit(CORESET "--epsilon 1 " BEGIN "--simulation", 2, "--simulation");
    expect_exit(CORESET "--epsilon 1 --depth 99 " BEGIN, 2, "--depth");
    expect_exit("central coreset --data data.csv --out out.csv --epsilon 1 --domain {} " BEGIN, 3,
                "--domain");
    expect_exit(CORESET "--epsilon 1 " MORE, 6, "--epsilon-cap");
    cr_assert_neq(access(folder_path("l"), F_OK), 0);
    expect_exit("central coreset --data data.csv --out l --epsilon 1 " BOX BEGIN, 2, "--out");
}

/* A pipe without a writer, and a missing file: opening them would block or fail. */
Test(ledger_tool, caps_refuse_before_the_data_are_opened)
{
    json_decref(expect_json(CORESET "--epsilon 1 " BEGIN, 0));
    cr_assert_eq(mkfifo(folder_path("pipe.csv"), 0600), 0);
    expect_exit("central coreset --data pipe.csv --out out.csv --epsilon 1 " BOX MORE, 4,
                "no data were read");
    expect_exit("central coreset --data nowhere.csv --out out.csv --epsilon 1 " BOX MORE, 4,
                "no data were read");
    expect_exit(
        "central ot-cost --x pipe.csv --y pipe.csv --metric l1 --exact --epsilon 1 " BOX MORE, 4,
        "read");
    expect_exit("central transport-map --x pipe.csv --y pipe.csv --grid 2x2 --family 2 --out m.csv "
                "--epsilon 1 " BOX MORE,
                4, "read");
    expect_exit("central barycenter --data pipe.csv --support 1 --out m.csv --epsilon 1 " BOX MORE,
                4, "read");
    cr_assert_eq(sum_of("epsilon"), 1);
}

Test(ledger_tool, a_failure_after_the_charge_stays_charged)
{
    expect_exit("central coreset --data nowhere.csv --out out.csv --epsilon 0.25 " BOX BEGIN, 6,
                "nowhere.csv");
    cr_assert_eq(sum_of("epsilon"), 0.25);
    write_text("bad.csv", "1,2,3\n3,4,5\n");
    expect_exit("central coreset --data bad.csv --out out.csv --epsilon 0.25 " BOX MORE, 3,
                "they must agree");
    cr_assert_eq(sum_of("epsilon"), 0.5);
}

/* Starts the program with these arguments and does not wait for it. */
static pid_t start(const char *arguments)
{
    static char program[] = DPOT_TEST_BIN "/dpot";
    char text[1024], *rest = NULL, *argv[40] = {program};
    int argc = 1;
    (void)snprintf(text, sizeof text, "%s", arguments);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = word;
    }
    const pid_t child = child_fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        const int nothing = open("/dev/null", O_WRONLY);
        if (chdir(folder_path(".")) != 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
            dup2(nothing, STDERR_FILENO) < 0) {
            _exit(99);
        }
        (void)execv(program, argv);
        _exit(99);
    }
    return child;
}

static int end_of(pid_t child)
{
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static size_t size_of_ledger(void)
{
    struct stat info;
    return stat(folder_path("l"), &info) == 0 ? (size_t)info.st_size : 0;
}

Test(ledger_tool, a_run_killed_after_its_charge_stays_charged)
{
    static const char run[] =
        "central coreset --data pipe.csv --out out.csv --epsilon 0.5 " BOX BEGIN;
    cr_assert_eq(mkfifo(folder_path("pipe.csv"), 0600), 0);
    for (int i = 1; i <= 2; i++) {
        const pid_t child = start(run); /* charges, then waits for its data */
        while (size_of_ledger() < 64 + 256 * (size_t)(i + 1)) {
            cr_assert_eq(waitpid(child, NULL, WNOHANG), 0, "it ended before its charge");
            (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        }
        cr_assert_eq(kill(child, SIGKILL), 0);
        cr_assert_eq(end_of(child), 128 + SIGKILL);
        cr_assert_neq(access(folder_path("out.csv"), F_OK), 0);
        cr_assert_eq(sum_of("epsilon"), 0.5 * i, "the same run again is charged again");
    }
    expect_exit(run, 4, "has spent epsilon 1 of 1");
}

Test(ledger_tool, of_concurrent_runs_only_those_within_the_cap_succeed)
{
    pid_t children[8];
    int n_done = 0, n_refused = 0;
    for (int i = 0; i < 8; i++) {
        char line[512];
        (void)snprintf(line, sizeof line,
                       "central coreset --data data.csv --out out%d.csv --epsilon 0.3 " BOX BEGIN,
                       i);
        children[i] = start(line);
    }
    for (int i = 0; i < 8; i++) {
        const int exit_code = end_of(children[i]);
        n_done += exit_code == 0;
        n_refused += exit_code == 4;
    }
    cr_assert_eq(n_done, 3);
    cr_assert_eq(n_refused, 5);
    cr_assert_float_eq(sum_of("epsilon"), 0.9, 1e-9);
}

/* Byte for byte, except for the time and the checksums. */
Test(ledger_tool, the_ledger_does_not_depend_on_the_records)
{
    static const char *const data[] = {"0.5,0.5\n0.25,0.5\n", "99,99\n-1e300,5\n", "0,0\n0,0\n"};
    char first[1024] = "", other[1024] = "";
    for (size_t i = 0; i < 3; i++) {
        write_text("data.csv", data[i]);
        (void)unlink(folder_path("l"));
        json_decref(expect_json(CORESET "--epsilon 0.5 " BEGIN, 0));
        const size_t len = folder_read("l", i == 0 ? first : other, sizeof first);
        cr_assert_eq(len, 64 + 2 * 256);
        for (size_t r = 64; r < len; r += 256) {
            memset((i == 0 ? first : other) + r + 16, 0, 8);
            memset((i == 0 ? first : other) + r + 224, 0, 32);
        }
        cr_assert(i == 0 || memcmp(first, other, len) == 0);
    }
}

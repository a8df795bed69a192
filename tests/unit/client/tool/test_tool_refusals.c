/* Refusals of dpot-device: contradictory options, invalid values and files, missing parts of a
 * folder. */
#include "unit/client/tool/tool.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(tool_refusals, .init = tool_set_up, .fini = tool_tear_down);

static void assert_says(const char *words)
{
    cr_assert_not_null(strstr(err, words), "looked for: %s, found: %s", words, err);
}

/* A path in the device's folder; valid until the next call. */
static const char *in_dir(const char *name)
{
    static char path[400];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static const char *work_file(void)
{
    static char name[64];
    (void)snprintf(name, sizeof name, "work-%s", campaign);
    return name;
}

static const char *campaign_file(void)
{
    static char name[64];
    (void)snprintf(name, sizeof name, "campaign-%s", campaign);
    return name;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    (void)fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

static int report(void)
{
    return RUN("3\n", "report", "--dir", dir, "--points", "-");
}

/* ---- options ---- */

Test(tool_refusals, an_option_that_is_given_twice_is_a_usage_error)
{
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--dir", folder), 2);
    assert_says("--dir is given twice");
    cr_assert_eq(RUN("3\n", "report", "--dir", dir, "--points", "-", "--points", "-"), 2);
    assert_says("--points is given twice");
    report_once();
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json", "--json"), 0, "a flag is a flag: %s",
                 err);
}

Test(tool_refusals, weights_go_with_points)
{
    report_once();
    cr_assert_eq(RUN("1\n", "report", "--dir", dir, "--weighted", "--histogram", "-"), 2);
    assert_says("--weighted goes with --points");
    cr_assert_eq(RUN("1\n", "report", "--dir", dir, "--vector", "-", "--weighted"), 2);
}

static int enroll_with_group(const char *group)
{
    return RUN(NULL, "enroll", "--server", http.url, "--campaign", campaign, "--pin", pin, "--dir",
               dir, "--campaign-cap", "4", "--window-cap", "4", "--window-seconds", "86400",
               "--lifetime-cap", "20", "--group", group);
}

Test(tool_refusals, a_label_in_a_campaign_without_groups_is_refused_and_not_kept)
{
    cr_assert_eq(enroll_with_group("256"), 2);
    assert_says("--group 256: this campaign has no groups");
    cr_assert_neq(access(in_dir("device.conf"), F_OK), 0);
    cr_assert_eq(report(), 3, "nothing was enrolled");
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(enroll_with_group("1"), 2);
    cr_assert_eq(enroll_with_group("0"), 0, "the default: %s", err);
    cr_assert_eq(report(), 0, "the folder works as before: %s", err);
}

Test(tool_refusals, a_wait_that_is_none_is_told_which_there_are)
{
    report_once();
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--wait-seconds", "99999999999"), 2);
    assert_says("from 0 to 1000000");
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--wait-seconds", "-1"), 2);
}

static size_t count_files(void)
{
    size_t n = 0;
    DIR *folder_of_device = opendir(dir);
    while (folder_of_device && readdir(folder_of_device)) {
        n++;
    }
    if (folder_of_device) {
        (void)closedir(folder_of_device);
    }
    return n;
}

Test(tool_refusals, an_enrollment_in_a_closed_campaign_leaves_nothing)
{
    world.is_closed = true;
    serve_posts_with(0, 0);
    cr_assert_eq(enroll(NULL), 7, "%s", err);
    assert_says("nothing was stored or charged");
    cr_assert_neq(access(dir, F_OK), 0, "the folder that it made");
    cr_assert_eq(mkdir(dir, 0700), 0);
    cr_assert_eq(enroll(NULL), 7, "%s", err);
    cr_assert_eq(count_files(), 2, "an empty folder is empty again");
    world.is_closed = false;
    serve_posts_with(0, 0);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(report(), 0, "%s", err);
    const size_t n_files = count_files();
    world.is_closed = true;
    serve_posts_with(0, 0);
    cr_assert_eq(enroll(NULL), 7, "%s", err);
    cr_assert_eq(count_files(), n_files, "a folder that is used stays");
}

Test(tool_refusals, a_file_of_certificates_must_be_one_and_goes_with_https)
{
    char path[400];
    const char *const rest[] = {"--campaign",
                                campaign,
                                "--pin",
                                pin,
                                "--dir",
                                dir,
                                "--campaign-cap",
                                "4",
                                "--window-cap",
                                "4",
                                "--window-seconds",
                                "60",
                                "--lifetime-cap",
                                "4"};
    const char *arguments[24] = {"enroll", "--server", http.url, "--ca-file", "nofile"};
    memcpy(arguments + 5, rest, sizeof rest);
    cr_assert_eq(run(NULL, arguments), 2);
    assert_says("--ca-file goes with https://");
    arguments[2] = "https://127.0.0.1:9";
    cr_assert_eq(run(NULL, arguments), 3);
    assert_says("--ca-file nofile: No such file");
    (void)snprintf(path, sizeof path, "%s/data.csv", folder);
    write_file(path, "");
    arguments[4] = path;
    cr_assert_eq(run(NULL, arguments), 3);
    assert_says("give a file of certificates");
    cr_assert_neq(access(dir, F_OK), 0, "no folder was made");
}

Test(tool_refusals, a_value_that_an_option_cannot_have_is_told_with_what_it_can)
{
    const struct {
        const char *option, *value, *range;
    } rows[] = {
        {"--campaign", "12", "give 32 hexadecimal digits"},
        {"--pin", "xyz", "give 64 hexadecimal digits"},
        {"--campaign-cap", "four", "give a number above 0"},
        {"--window-seconds", "-1", "give an integer from 1 to 999999999999999999"},
        {"--window-seconds", "1.5", "give an integer from 1 to 999999999999999999"},
        {"--accountant", "best", "choose basic or zcdp"},
        {"--delta-cap", "1e-5x", "give a number at least 0, below 1"},
        {"--group", "4294967296", "give an integer from 0 to 4294967295"},
        {"--max-spool", "1k", "give an integer from 0 to 999999999999999999"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *arguments[32] = {"enroll", "--server", http.url, rows[i].option, rows[i].value};
        const char *const sound[][2] = {{"--campaign", campaign}, {"--pin", pin},
                                        {"--dir", dir},           {"--campaign-cap", "4"},
                                        {"--window-cap", "4"},    {"--window-seconds", "60"},
                                        {"--lifetime-cap", "4"}};
        size_t n = 5;
        for (size_t k = 0; k < sizeof sound / sizeof sound[0]; k++) {
            if (strcmp(sound[k][0], rows[i].option) != 0) {
                arguments[n++] = sound[k][0];
                arguments[n++] = sound[k][1];
            }
        }
        cr_assert_eq(run(NULL, arguments), 2, "%s", rows[i].option);
        assert_says(rows[i].option);
        assert_says(rows[i].value);
        assert_says(rows[i].range);
    }
}

Test(tool_refusals, a_cap_above_the_ceiling_is_held_to_it_and_said)
{
    cr_assert_eq(enroll(NULL), 0);
    cr_assert_null(strstr(err, "--campaign-cap"));
    cr_assert_eq(RUN(NULL, "enroll", "--server", http.url, "--campaign", campaign, "--pin", pin,
                     "--dir", dir, "--campaign-cap", "25", "--window-cap", "25", "--window-seconds",
                     "86400", "--lifetime-cap", "25"),
                 0);
    assert_says("--campaign-cap 25 is above");
    assert_says("epsilon 20");
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
    cr_assert_float_eq(json_number_of("campaign_epsilon_cap"), 20, 1e-9);
}

/* ---- the folder ---- */

Test(tool_refusals, a_path_that_is_no_folder_says_why)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/data.csv", folder);
    write_file(path, "1\n");
    cr_assert_eq(RUN(NULL, "status", "--dir", path), 6);
    assert_says("not a folder that can be written: Not a directory");
    cr_assert_eq(RUN(NULL, "withdraw", "--dir", path), 6);
}

Test(tool_refusals, a_file_that_cannot_be_read_is_named_with_the_cause)
{
    report_once();
    cr_assert_eq(unlink(in_dir("ledger")), 0);
    cr_assert_eq(mkdir(in_dir("ledger"), 0700), 0);
    cr_assert_eq(report(), 6);
    assert_says("a regular file is expected here, no folder, pipe or device (\"ledger\")");
    cr_assert_eq(rmdir(in_dir("ledger")), 0);
}

Test(tool_refusals, a_damaged_campaign_is_named_and_enrolling_mends_it)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    write_file(in_dir(campaign_file()), "no campaign");
    cr_assert_eq(report(), 3);
    assert_says(campaign_file());
    assert_says("run dpot-device enroll again");
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(report(), 0, "%s", err);
}

Test(tool_refusals, the_status_of_an_unknown_campaign_is_none)
{
    report_once();
    cr_assert_eq(
        RUN(NULL, "status", "--dir", dir, "--campaign", "00112233445566778899aabbccddeeff"), 3);
    assert_says("00112233445566778899aabbccddeeff is not known here");
    cr_assert_eq(out[0], '\0');
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--campaign", campaign), 0);
    cr_assert_eq(unlink(in_dir(campaign_file())), 0);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--campaign", campaign), 0,
                 "the ledger knows it: %s", err);
}

Test(tool_refusals, what_waits_is_told_with_its_time)
{
    cr_assert_eq(enroll(NULL), 0);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0);
    cr_assert_null(strstr(out, "may be sent"));
    cr_assert_eq(report(), 0, "%s", err);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0);
    cr_assert_not_null(strstr(out, "the next report may be sent from 20"), "%s", out);
    cr_assert_not_null(strstr(out, "by dpot-device flush"));
    cr_assert_null(strstr(out, "paused"));
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
    cr_assert_not_null(strstr(out, "\"next_due\": \"20"), "%s", out);
    cr_assert_not_null(strstr(out, "\"paused_until\": null"), "%s", out);
}

/* ---- missing parts of the folder ---- */

/* Removes all files but one, which proves that there was a ledger. */
static void keep_only(const char *name)
{
    struct dirent *entry = NULL;
    DIR *folder_of_device = opendir(dir);
    cr_assert_not_null(folder_of_device);
    while ((entry = readdir(folder_of_device))) {
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, name) != 0) {
            cr_assert_eq(unlink(in_dir(entry->d_name)), 0, "%s", entry->d_name);
        }
    }
    (void)closedir(folder_of_device);
}

Test(tool_refusals, part_of_a_folder_is_no_fresh_budget)
{
    const char *const names[] = {"device.conf", campaign_file(), "consent",
                                 "install",     "keys",          "spool"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        report_once();
        keep_only(names[i]);
        (void)enroll(NULL); /* the other commands need the settings */
        cr_assert_eq(report(), 4, "%s: %s", names[i], err);
        assert_says("\"ledger\" is missing");
        cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
        cr_assert_not_null(strstr(out, "\"is_exhausted\": true"), "%s", out);
        keep_only("");
    }
    report_once(); /* an empty folder is a new one */
}

/* After each single deletion the second report of the round is not made and consent stays
 * withdrawn. The test fails if the folder has a file that has no row here. */
Test(tool_refusals, no_file_of_the_folder_gives_budget_or_consent_back)
{
    const struct {
        const char *name;
        int second, withdrawn; /* exit codes of a report */
    } rows[] = {
        {"ledger", 4, 4}, {"spool", 7, 4},         {"install", 0, 4},   {"keys", 0, 4},
        {"lock", 0, 4},   {"consent", 0, 4},       {"withdrawn", 0, 4}, {"device.conf", 3, 3},
        {"pause", 0, 4},  {campaign_file(), 3, 4}, {work_file(), 0, 4}, {"sending", 0, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        report_once();
        (void)unlink(in_dir(rows[i].name));
        cr_assert_eq(report(), rows[i].second, "%s: %s", rows[i].name, err);
        cr_assert_null(strstr(out, "reported:"), "%s: a second report", rows[i].name);
        keep_only("");
        report_once();
        cr_assert_eq(RUN(NULL, "withdraw", "--dir", dir), 0, "%s", err);
        (void)unlink(in_dir(rows[i].name));
        cr_assert_eq(report(), rows[i].withdrawn, "%s: %s", rows[i].name, err);
        keep_only("");
    }
    report_once();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)unlink(in_dir(rows[i].name));
    }
    cr_assert_eq(rmdir(dir), 0, "a file that is in no row");
}

/* The same for vectors and for zcdp. */
Test(tool_refusals, vectors_and_rho_are_no_exception)
{
    static const enum dpot_mechanism_id mechanisms[] = {DPOT_MECHANISM_LAPLACE,
                                                        DPOT_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 2; i++) {
        authority_ask_for_vectors(&authority, mechanisms[i]);
        serve_posts_with(0, 0);
        cr_assert_eq(RUN(NULL, "enroll", "--server", http.url, "--campaign", campaign, "--pin", pin,
                         "--dir", dir, "--campaign-cap", "4", "--window-cap", "4",
                         "--window-seconds", "86400", "--lifetime-cap", "20", "--accountant",
                         "zcdp"),
                     0, "%s", err);
        cr_assert_eq(RUN("", "report", "--dir", dir, "--vector", "-"), 0, "%s", err);
        cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0, "%s", err);
        cr_assert_not_null(strstr(out, "rho spent"), "%s", out);
        cr_assert_not_null(strstr(out, "may be sent from"), "%s", out);
        cr_assert_eq(RUN(NULL, "withdraw", "--dir", dir), 0, "%s", err);
        cr_assert_eq(unlink(in_dir("withdrawn")), 0);
        cr_assert_eq(RUN("", "report", "--dir", dir, "--vector", "-"), 4);
        assert_says("withdrawn");
        cr_assert_eq(RUN(NULL, "grant", "--dir", dir), 0, "%s", err);
        cr_assert_eq(RUN("1\n", "report", "--dir", dir, "--points", "-"), 3);
        assert_says("use --vector");
        cr_assert_eq(unlink(in_dir("ledger")), 0);
        cr_assert_eq(RUN("", "report", "--dir", dir, "--vector", "-"), 4);
        cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
        cr_assert_float_eq(json_number_of("campaign_spent_rho"), 4, 1e-9);
        keep_only("");
    }
}

/* dpot-device and obstacles in its folder: another process, a limit, a wrong path. */
#include "support/child.h"
#include "unit/client/tool/tool.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(tool_folder, .init = tool_set_up, .fini = tool_tear_down);

static int64_t count(const char *key)
{
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0, "%s", err);
    return (int64_t)json_number_of(key);
}

Test(tool_folder, a_disk_that_takes_no_byte_does_not_stand_in_the_way_of_a_withdrawal)
{
    struct rlimit limit;
    report_once();
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit nothing = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &nothing), 0);
    cr_assert_eq(RUN(NULL, "withdraw", "--dir", dir), 6, "%s", err);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_not_null(strstr(err, "consent is withdrawn"), "%s", err);
    cr_assert_not_null(strstr(err, "not wiped yet"), "%s", err);
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--json"), 0, "%s", err);
    cr_assert_eq(json_number_of("sent"), 0);
    cr_assert_eq(count("dropped_withdrawn"), 1);
    cr_assert_eq(RUN(NULL, "withdraw", "--dir", dir), 0, "%s", err);
}

Test(tool_folder, damaged_settings_do_not_stand_in_the_way_of_a_withdrawal)
{
    char path[256];
    struct stat about;
    report_once();
    (void)snprintf(path, sizeof path, "%s/device.conf", dir);
    cr_assert_eq(truncate(path, 5), 0);
    cr_assert_eq(RUN(NULL, "withdraw", "--dir", dir), 3, "%s", err);
    cr_assert_not_null(strstr(err, "consent is withdrawn"), "%s", err);
    (void)snprintf(path, sizeof path, "%s/withdrawn", dir);
    cr_assert_eq(stat(path, &about), 0);
}

/* Reads device.conf, or writes it if `text` is not NULL. */
static size_t settings_file(const char *text, size_t len, char *into, size_t cap)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/device.conf", dir);
    FILE *file = fopen(path, text ? "w" : "r");
    cr_assert_not_null(file);
    const size_t n = text ? fwrite(text, 1, len, file) : fread(into, 1, cap, file);
    cr_assert_eq(fclose(file), 0);
    return n;
}

Test(tool_folder, settings_with_a_flipped_bit_or_cut_anywhere_are_refused)
{
    char sound[4096], damaged[4096];
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    const size_t len = settings_file(NULL, 0, sound, sizeof sound);
    for (size_t at = 0; at < len; at += 3) {
        memcpy(damaged, sound, len);
        damaged[at] = (char)(damaged[at] ^ 1 << at % 8);
        cr_assert_eq(settings_file(damaged, len, NULL, 0), len);
        cr_assert_eq(RUN(NULL, "status", "--dir", dir), 3, "byte %zu: %s", at, out);
        cr_assert_not_null(strstr(err, "device.conf"), "%s", err);
        cr_assert_not_null(strstr(err, "dpot-device enroll again"), "%s", err);
        cr_assert_eq(settings_file(sound, at, NULL, 0), at);
        cr_assert_eq(RUN(NULL, "status", "--dir", dir), 3, "cut at %zu: %s", at, out);
    }
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(count("submitted"), 0);
}

Test(tool_folder, a_hand_edit_is_refused_with_the_options_that_change_the_same)
{
    char text[4096] = "";
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    const size_t len = settings_file(NULL, 0, text, sizeof text - 1);
    char *cap = strstr(text, "campaign_cap=4");
    cr_assert_not_null(cap);
    cap[strlen("campaign_cap=")] = '9';
    cr_assert_eq(settings_file(text, len, NULL, 0), len);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 3);
    cr_assert_not_null(strstr(err, "edited by hand"), "%s", err);
    cr_assert_not_null(strstr(err, "--group"), "%s", err);
}

Test(tool_folder, a_report_that_is_lost_with_its_file_is_not_called_done)
{
    char path[256];
    report_once();
    (void)snprintf(path, sizeof path, "%s/spool", dir);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(RUN("3\n", "report", "--dir", dir, "--points", "-"), 7, "%s", err);
    cr_assert_not_null(strstr(out, "lost: "), "%s", out);
    cr_assert_not_null(strstr(err, "is lost: its file \"spool\""), "%s", err);
    cr_assert_eq(RUN("3\n", "report", "--dir", dir, "--points", "-", "--json"), 7, "%s", err);
    assert_json_text("outcome", "lost");
    cr_assert_eq(count("dropped_lost"), 1);
    cr_assert_eq(count("submitted"), 1);
}

/* Each file that a command reads, replaced by a link, a folder and a pipe: the error names it. */
Test(tool_folder, what_is_no_file_is_named_with_what_is_expected)
{
    static const char *const names[] = {"keys", "ledger", "spool", "device.conf"};
    static const char *const kinds[] = {"no symbolic link", "no folder, pipe or device",
                                        "no folder, pipe or device"};
    char path[256], aside[256];
    report_once();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)snprintf(aside, sizeof aside, "%s/%s.aside", dir, names[i]);
        cr_assert_eq(rename(path, aside), 0);
        for (size_t kind = 0; kind < 3; kind++) {
            cr_assert_eq(kind == 0   ? symlink(aside, path)
                         : kind == 1 ? mkdir(path, 0700)
                                     : mkfifo(path, 0600),
                         0);
            cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--wait-seconds", "0"), 6, "%s %zu: %s",
                         names[i], kind, err);
            cr_assert_not_null(strstr(err, names[i]), "%s", err);
            cr_assert_not_null(strstr(err, "a regular file is expected"), "%s", err);
            cr_assert_not_null(strstr(err, kinds[kind]), "%s", err);
            cr_assert_eq(remove(path), 0);
        }
        cr_assert_eq(rename(aside, path), 0);
    }
}

Test(tool_folder, another_process_in_the_folder_is_not_ready_and_consent_is_heard)
{
    char path[256];
    report_once();
    (void)snprintf(path, sizeof path, "%s/lock", dir);
    const int lock = open(path, O_RDWR);
    cr_assert_geq(lock, 0);
    cr_assert_eq(flock(lock, LOCK_EX | LOCK_NB), 0);
    static const char *const commands[] = {"status", "grant", "flush"};
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(RUN(NULL, commands[i], "--dir", dir), 7, "%s", err);
        cr_assert_not_null(strstr(err, "another process is using the folder: try again"), "%s",
                           err);
    }
    cr_assert_eq(RUN(NULL, "withdraw", "--dir", dir), 7, "%s", err);
    cr_assert_not_null(strstr(err, "consent is withdrawn"), "%s", err);
    (void)close(lock);
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--json"), 0, "%s", err);
    cr_assert_eq(json_number_of("sent"), 0);
    cr_assert_eq(count("dropped_withdrawn"), 1);
}

Test(tool_folder, only_enroll_makes_a_folder)
{
    static const char *const commands[] = {"report", "flush", "status", "withdraw", "grant"};
    struct stat about;
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(RUN("1\n", commands[i], "--dir", dir, i == 0 ? "--points" : NULL, "-"), 3,
                     "%s", err);
        cr_assert_not_null(strstr(err, "no such folder"), "%s", err);
        cr_assert_neq(stat(dir, &about), 0, "%s made it", commands[i]);
    }
    cr_assert_eq(enroll(NULL), 0, "%s", err);
}

Test(tool_folder, an_enrollment_that_fails_leaves_a_folder_that_works_as_it_was)
{
    static const char *const away = "http://127.0.0.1:1";
    char wrong[80];
    report_once();
    (void)snprintf(wrong, sizeof wrong, "%s", pin);
    wrong[0] = wrong[0] == '0' ? '1' : '0';
    const char *const tries[][2] = {{http.url, wrong}, {away, pin}};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_neq(RUN(NULL, "enroll", "--server", tries[i][0], "--campaign", campaign, "--pin",
                          tries[i][1], "--dir", dir, "--campaign-cap", "4", "--window-cap", "4",
                          "--window-seconds", "86400", "--lifetime-cap", "20"),
                      0, "try %zu", i);
    }
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--json"), 0, "%s", err);
    cr_assert_eq(json_number_of("sent"), 1);
}

Test(tool_folder, a_flush_waits_for_the_time_of_sending_however_short_its_wait)
{
    int code = 1; /* on a busy machine the exchange may take longer than the rest of the wait */
    report_once();
    for (size_t i = 0; i < 20 && code != 0; i++) {
        code = RUN(NULL, "flush", "--dir", dir, "--wait-seconds", "0", "--json");
    }
    cr_assert_eq(code, 0, "%s", err);
    assert_json_text("outcome", "answered");
    cr_assert_eq(json_number_of("sent"), 1);
}

/* Runs a command with descriptors 0, 1 and 2 closed as the bits say; returns the exit code. */
static int run_with_closed(unsigned closed, const char *const *arguments)
{
    const char *argv[12] = {DPOT_TEST_BIN "/dpot-device"};
    int status = 0;
    for (size_t i = 0; arguments[i]; i++) {
        argv[i + 1] = arguments[i];
    }
    const pid_t child = child_fork();
    if (child == 0) {
        for (int i = 0; i < 3; i++) {
            if (closed & 1u << i) {
                (void)close(i);
            }
        }
        (void)execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

Test(tool_folder, closed_descriptors_are_neither_data_nor_files_of_the_device)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    const char *const report[] = {"report", "--dir", dir, "--points", "-", NULL};
    const char *const status[] = {"status", "--dir", dir, NULL};
    for (unsigned closed = 1; closed < 8; closed += 2) {
        cr_assert_eq(run_with_closed(closed, report), 6, "closed %u", closed);
        cr_assert_eq(run_with_closed(closed, status), closed & 2 ? 6 : 0, "closed %u", closed);
    }
    cr_assert_eq(count("submitted"), 0);
}

/* Runs a command whose stdout is full; `err` is its stderr. */
static int run_into_a_full_disk(const char *const *arguments)
{
    const char *argv[12] = {DPOT_TEST_BIN "/dpot-device"};
    int status = 0, says[2];
    for (size_t i = 0; arguments[i]; i++) {
        argv[i + 1] = arguments[i];
    }
    cr_assert_eq(pipe(says), 0);
    const pid_t child = child_fork();
    if (child == 0) {
        (void)dup2(open("/dev/null", O_RDONLY), 0);
        (void)dup2(open("/dev/full", O_WRONLY), 1);
        (void)dup2(says[1], 2);
        (void)execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    (void)close(says[1]);
    read_all(says[0], err, sizeof err);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

Test(tool_folder, when_only_the_printing_fails_it_says_that_the_rest_is_done)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    const char *const report[] = {"report", "--dir", dir, "--points", "-", "--json", NULL};
    const char *const flush[] = {"flush", "--dir", dir, "--json", "--quiet", NULL};
    const char *const status[] = {"status", "--dir", dir, NULL};
    cr_assert_eq(run_into_a_full_disk(report), 6);
    cr_assert_not_null(strstr(err, "report is charged and queued"), "%s", err);
    cr_assert_eq(count("submitted"), 1);
    cr_assert_eq(run_into_a_full_disk(flush), 6);
    cr_assert_not_null(strstr(err, "was sent"), "%s", err);
    cr_assert_eq(count("accepted"), 1);
    cr_assert_eq(run_into_a_full_disk(status), 6);
    cr_assert_not_null(strstr(err, "standard output failed: No space"), "%s", err);
}

/* The commands of dpot-device, their exit codes and sentences. */
#include "unit/client/tool/tool.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(tool, .init = tool_set_up, .fini = tool_tear_down);

Test(tool, enrolls_reports_flushes_and_tells_its_status)
{
    cr_assert_eq(enroll("--json"), 0, "%s", err);
    assert_json_text("outcome", "enrolled");
    assert_json_text("campaign", campaign);
    cr_assert_eq(RUN("3\n4\n", "report", "--dir", dir, "--points", "-", "--json"), 0, "%s", err);
    assert_json_text("outcome", "reported");
    cr_assert_eq(RUN("3\n4\n", "report", "--dir", dir, "--points", "-", "--json"), 0, "%s", err);
    assert_json_text("outcome", "pending");
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--json"), 0, "%s", err);
    assert_json_text("outcome", "answered");
    cr_assert_eq(json_number_of("sent"), 1);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0, "%s", err);
    cr_assert_eq(json_number_of("submitted"), 1);
    cr_assert_eq(json_number_of("accepted"), 1);
    cr_assert_eq(json_number_of("pending"), 0);
    cr_assert_eq(json_number_of("spent_epsilon"), 1);
    cr_assert_eq(json_number_of("lifetime_epsilon_cap"), 20);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0, "%s", err);
    cr_assert_not_null(strstr(out, "Spent 1 of 20 "), "%s", out);
    cr_assert_eq(RUN("3\n", "report", "--dir", dir, "--points", "-"), 0);
    cr_assert_not_null(strstr(out, "done"), "%s", out);
}

Test(tool, a_missing_cap_is_refused_for_privacy_and_named)
{
    static const char *const caps[] = {"--campaign-cap", "--window-cap", "--window-seconds",
                                       "--lifetime-cap"};
    for (size_t missing = 0; missing < 4; missing++) {
        const char *arguments[24] = {"enroll", "--server", http.url, "--campaign", campaign,
                                     "--pin",  pin,        "--dir",  dir};
        size_t n = 9;
        for (size_t i = 0; i < 4; i++) {
            if (i != missing) {
                arguments[n++] = caps[i];
                arguments[n++] = "4";
            }
        }
        cr_assert_eq(run(NULL, arguments), 4);
        cr_assert_not_null(strstr(err, caps[missing]), "%s", err);
    }
}

Test(tool, a_cap_that_is_none_is_refused_for_privacy)
{
    cr_assert_eq(RUN(NULL, "enroll", "--server", http.url, "--campaign", campaign, "--pin", pin,
                     "--dir", dir, "--campaign-cap", "0", "--window-cap", "4", "--window-seconds",
                     "86400", "--lifetime-cap", "20", "--json"),
                 4);
    assert_json_text("status", "DPOT_ERR_CAP_UNSET");
}

Test(tool, mistakes_on_the_command_line_are_usage_errors)
{
    cr_assert_eq(RUN(NULL, "fly"), 2);
    cr_assert_eq(RUN(NULL, "status"), 2);
    cr_assert_eq(RUN(NULL, "status", "--dir"), 2);
    cr_assert_eq(RUN(NULL, "status", "--points", "x"), 2);
    cr_assert_eq(RUN(NULL, "report", "--dir", dir), 2);
    cr_assert_eq(RUN(NULL, "report", "--dir", dir, "--points", "-", "--histogram", "-"), 2);
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--wait-seconds", "soon"), 2);
    cr_assert_eq(RUN(NULL, "enroll", "--server", http.url), 2);
    cr_assert_eq(RUN(NULL, "enroll", "--server", http.url, "--campaign", "xyz", "--pin", pin,
                     "--dir", dir, "--campaign-cap", "4", "--window-cap", "4", "--window-seconds",
                     "1", "--lifetime-cap", "4"),
                 2);
    cr_assert_not_null(strstr(err, "--campaign"));
}

Test(tool, help_and_version_answer_without_a_folder)
{
    static const char *const commands[] = {"enroll", "report", "flush", "status"};
    cr_assert_eq(RUN(NULL, "--help"), 0);
    cr_assert_eq(RUN(NULL, "--version"), 0);
    cr_assert_not_null(strstr(out, DPOT_VERSION));
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(RUN(NULL, commands[i], "--help"), 0);
        cr_assert_not_null(strstr(out, "Example"), "%s", out);
    }
}

Test(tool, a_folder_that_was_never_enrolled_says_what_to_do)
{
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 3);
    cr_assert_not_null(strstr(err, "enroll"), "%s", err);
}

Test(tool, a_campaign_under_another_pin_is_refused)
{
    pin[0] = pin[0] == '0' ? '1' : '0';
    cr_assert_eq(enroll("--json"), 3);
    assert_json_text("status", "DPOT_ERR_SIGNATURE");
}

Test(tool, a_server_that_is_away_is_an_io_error)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN("1\n", "report", "--dir", dir, "--points", "-"), 0, "%s", err);
    const int holder = http_server_stop_and_hold(&http);
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--wait-seconds", "8", "--json"), 6, "%s", err);
    assert_json_text("status", "DPOT_ERR_NETWORK");
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
    cr_assert_eq(json_number_of("pending"), 1);
    cr_assert_eq(enroll(NULL), 6);
    (void)close(holder);
    start_serving(); /* for tear_down */
}

Test(tool, data_of_another_form_are_refused_and_never_shown)
{
    static const char *const bad[] = {"secret,77\n", "77;secret\n1;2\n", "77\tsecret\n"};
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(RUN(bad[i], "report", "--dir", dir, "--points", "-", "--json"), 3, "%zu: %s",
                     i, err);
        assert_json_text("outcome", "failed");
        cr_assert_null(strstr(out, "secret"));
        cr_assert_null(strstr(err, "secret"));
        cr_assert_null(strstr(err, "77"));
    }
    cr_assert_eq(RUN(NULL, "report", "--dir", dir, "--points", "/nonexistent"), 6);
    cr_assert_eq(RUN("1\n2\n", "report", "--dir", dir, "--histogram", "-"), 3);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
    cr_assert_eq(json_number_of("submitted"), 0);
}

Test(tool, headers_weights_and_files_are_read)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/data.csv", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs("place,weight\r\n3,0.5\r\n4,2\r\n\r\n", file);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN(NULL, "report", "--dir", dir, "--points", path, "--weighted"), 0, "%s", err);
    cr_assert_not_null(strstr(out, "reported"));
}

Test(tool, a_campaign_that_has_not_opened_is_not_ready)
{
    authority.campaign.opens_ms += 7200 * 1000;
    authority_sign(&authority);
    serve_posts_with(0, 0);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN("1\n", "report", "--dir", dir, "--points", "-", "--json"), 7, "%s", err);
    assert_json_text("status", "DPOT_ERR_NOT_OPEN");
}

Test(tool, a_device_without_data_reports_like_any_other)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN("", "report", "--dir", dir, "--points", "-", "--json"), 0, "%s", err);
    assert_json_text("outcome", "reported");
}

Test(tool, a_histogram_is_read_one_number_a_line)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN("1\n0\n0\n2\nnan\n0\n0\n1\n", "report", "--dir", dir, "--histogram", "-"), 0,
                 "%s", err);
}

Test(tool, an_exhausted_budget_is_refused_for_privacy)
{
    char path[128];
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    (void)snprintf(path, sizeof path, "%s/ledger", dir);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(RUN("1\n", "report", "--dir", dir, "--points", "-", "--json"), 4);
    assert_json_text("status", "DPOT_ERR_LEDGER");
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0);
    cr_assert_not_null(strstr(out, "cannot be trusted"));
}

Test(tool, its_settings_are_for_the_owner_alone)
{
    char path[128];
    struct stat about;
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    (void)snprintf(path, sizeof path, "%s/device.conf", dir);
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 0777, 0600);
}

/* ---- exit codes and sentences ---- */

static int enroll_as(const char *accountant, const char *delta_cap)
{
    return RUN(NULL, "enroll", "--server", http.url, "--campaign", campaign, "--pin", pin, "--dir",
               dir, "--campaign-cap", "4", "--window-cap", "4", "--window-seconds", "86400",
               "--lifetime-cap", "20", "--accountant", accountant, delta_cap ? "--delta-cap" : NULL,
               delta_cap);
}

Test(tool, another_accountant_is_refused_for_privacy)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(enroll_as("zcdp", NULL), 4);
    cr_assert_not_null(strstr(err, "--accountant"), "%s", err);
    cr_assert_not_null(strstr(err, "life of the folder"), "%s", err);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0, "the settings are what they were");
}

static int enroll_in_group(const char *group)
{
    return RUN(NULL, "enroll", "--server", http.url, "--campaign", campaign, "--pin", pin, "--dir",
               dir, "--campaign-cap", "4", "--window-cap", "4", "--window-seconds", "86400",
               "--lifetime-cap", "20", "--group", group);
}

Test(tool, the_group_is_chosen_when_enrolling_and_told_in_the_status)
{
    authority.campaign.n_groups = 2;
    authority.campaign.groups = dpot_alloc_array(NULL, 2, sizeof *authority.campaign.groups);
    memcpy(authority.campaign.groups[0], "north", 6);
    memcpy(authority.campaign.groups[1], "south", 6);
    authority_sign(&authority);
    serve_posts_with(0, 0);
    cr_assert_eq(enroll_in_group("-1"), 2);
    cr_assert_not_null(strstr(err, "--group is -1"), "%s", err);
    cr_assert_eq(enroll_in_group("2"), 0, "%s", err);
    cr_assert_eq(RUN("0.5\n", "report", "--dir", dir, "--points", "-"), 3, "%s", err);
    cr_assert_not_null(strstr(err, "--group is 2"), "%s", err);
    cr_assert_eq(enroll_in_group("1"), 0, "%s", err);
    cr_assert_eq(RUN("0.5\n", "report", "--dir", dir, "--points", "-"), 0, "%s", err);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0, "%s", err);
    cr_assert_not_null(strstr(out, "carry the label \"south\" openly"), "%s", out);
}

/* From now on the server has another campaign, with these groups. */
static void serve_campaign(uint8_t id, uint32_t n_groups)
{
    authority.campaign.id[0] = id;
    authority.campaign.n_groups = n_groups;
    authority_sign(&authority);
    dpot_hex_encode(campaign, authority.campaign.id, 16);
    serve_posts_with(0, 0);
}

static void assert_group(const char *of, double group)
{
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--campaign", of, "--json"), 0, "%s", err);
    cr_assert_eq(json_number_of("group"), group, "%s", out);
}

/* The fixture removes only the file of the last campaign. */
static void remove_campaigns(void)
{
    char path[256];
    for (uint8_t id = 1; id < 4; id++) {
        authority.campaign.id[0] = id;
        dpot_hex_encode(campaign, authority.campaign.id, 16);
        (void)snprintf(path, sizeof path, "%s/campaign-%s", dir, campaign);
        (void)unlink(path);
    }
}

static void have_labels(void)
{
    authority.campaign.groups = dpot_alloc_array(NULL, 2, sizeof *authority.campaign.groups);
    memcpy(authority.campaign.groups[0], "north", 6);
    memcpy(authority.campaign.groups[1], "south", 6);
}

Test(tool, each_campaign_keeps_its_group_whatever_is_enrolled_after_it)
{
    char first[sizeof campaign];
    have_labels();
    serve_campaign(1, 2);
    memcpy(first, campaign, sizeof first);
    cr_assert_eq(enroll_in_group("1"), 0, "%s", err);
    cr_assert_not_null(strstr(out, "group 1 openly"), "%s", out);
    serve_campaign(2, 0);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    serve_campaign(3, 2);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    assert_group(campaign, 0);
    assert_group(first, 1);
    cr_assert_eq(RUN("3\n", "report", "--dir", dir, "--points", "-", "--campaign", first), 0, "%s",
                 err);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0, "%s", err);
    cr_assert_not_null(strstr(out, "carry the label \"south\" openly"), "%s", out);
    serve_campaign(1, 2);
    cr_assert_eq(enroll(NULL), 0, "without --group: %s", err);
    assert_group(first, 1);
    remove_campaigns();
}

Test(tool, the_one_group_of_settings_of_before_is_that_of_what_was_enrolled_then)
{
    char first[sizeof campaign];
    have_labels();
    serve_campaign(1, 2);
    memcpy(first, campaign, sizeof first);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    write_settings_of_before(http.url, "accountant=basic\ndelta_cap=0\nca_file=\ngroup=1\n"
                                       "spool_max=16777216\n");
    assert_group(first, 1);
    serve_campaign(2, 2);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    assert_group(campaign, 0);
    assert_group(first, 1);
    serve_campaign(1, 2);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    assert_group(first, 1);
    remove_campaigns();
}

Test(tool, zcdp_takes_no_delta_cap)
{
    cr_assert_eq(enroll_as("zcdp", "1e-6"), 2);
    cr_assert_not_null(strstr(err, "--delta-cap goes with --accountant basic"), "%s", err);
    cr_assert_eq(enroll_as("basic", "1"), 2);
    cr_assert_not_null(strstr(err, "--delta-cap"), "%s", err);
    cr_assert_eq(enroll_as("basic", "1e-6"), 0, "%s", err);
}

Test(tool, a_delta_cap_that_is_too_small_for_a_number_is_no_zero)
{
    cr_assert_eq(enroll_as("basic", "1e-400"), 2);
    cr_assert_not_null(strstr(err, "--delta-cap is 1e-400"), "%s", err);
    cr_assert_eq(enroll_as("basic", "0"), 0, "%s", err);
}

Test(tool, what_is_not_defined_is_null_in_a_status)
{
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_GAUSSIAN);
    authority.campaign.noise.certificate_row = 0;
    authority_sign(&authority);
    serve_posts_with(0, 0);
    cr_assert_eq(enroll_as("zcdp", NULL), 0, "%s", err);
    cr_assert_eq(RUN("", "report", "--dir", dir, "--vector", "-"), 0, "%s", err);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
    cr_assert_not_null(strstr(out, "\"spent_epsilon\": null"), "%s", out);
    cr_assert_not_null(strstr(out, "\"window_spent_epsilon\": null"), "%s", out);
    cr_assert_not_null(strstr(out, "\"campaign_spent_epsilon\": null"), "%s", out);
    cr_assert_not_null(strstr(out, "\"spent_delta\": null"), "%s", out);
    cr_assert_not_null(strstr(out, "\"campaign_spent_delta\": null"), "%s", out);
    cr_assert_gt(json_number_of("spent_rho"), 0);
    cr_assert_eq(json_number_of("campaign_spent_rho"), json_number_of("spent_rho"));
}

Test(tool, an_address_that_is_none_is_a_usage_error)
{
    (void)snprintf(http.url, sizeof http.url, "ftp://127.0.0.1");
    cr_assert_eq(enroll(NULL), 2);
    cr_assert_not_null(strstr(err, "--server must begin with"), "%s", err);
    (void)snprintf(http.url, sizeof http.url, "http://");
    cr_assert_eq(enroll(NULL), 2);
    cr_assert_not_null(strstr(err, "--server has no host"), "%s", err);
}

/* run() checks the terms of every sentence. */
Test(tool, refusals_speak_of_options_and_commands)
{
    cr_assert_eq(RUN(NULL, "enroll", "--server", http.url, "--campaign", campaign, "--pin", pin,
                     "--dir", dir, "--campaign-cap", "4", "--window-cap", "0", "--window-seconds",
                     "86400", "--lifetime-cap", "20"),
                 4);
    cr_assert_not_null(strstr(err, "--window-cap"), "%s", err);
    report_once();
    cr_assert_eq(RUN(NULL, "withdraw", "--dir", dir), 0, "%s", err);
    cr_assert_eq(RUN("1\n", "report", "--dir", dir, "--points", "-"), 4);
    cr_assert_not_null(strstr(err, "dpot-device grant"), "%s", err);
    cr_assert_eq(RUN(NULL, "grant", "--dir", dir), 0, "%s", err);
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    authority.campaign.revision = 2;
    authority_sign(&authority);
    serve_posts_with(0, 0);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN("1\n", "report", "--dir", dir, "--points", "-"), 3);
    cr_assert_not_null(strstr(err, "use --vector"), "%s", err);
}

Test(tool, help_says_when_the_data_are_read)
{
    cr_assert_eq(RUN(NULL, "report", "--help"), 0);
    cr_assert_not_null(strstr(out, "A refusal charges nothing"));
    cr_assert_null(strstr(out, "then reads the data"));
}

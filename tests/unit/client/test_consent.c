/* Withdrawn consent, and the statement. */
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct authority authority;
static struct world world;

static void set_up(void)
{
    authority_init(&authority, 30);
    world_init(&world, &authority, 1);
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(consent, .init = set_up, .fini = tear_down);

Test(consent, withdrawing_drops_what_waits_and_keeps_the_charge)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 0);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_dropped_withdrawn, 1);
    cr_assert_eq(status.n_pending, 0);
    cr_assert_float_eq(status.spent_epsilon, 1, 1e-9);
    assert_conserved(&status);
    dpot_client_close(client);
}

Test(consent, nothing_is_submitted_or_enrolled_until_it_is_granted_again)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK, "twice is once");
    dpot_client_close(client);
    client = world_open(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_CONSENT);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "withdrawn"));
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_CONSENT);
    cr_assert_eq(world_status(client).n_submitted, 0);
    cr_assert_eq(dpot_client_grant(client), DPOT_OK);
    cr_assert_eq(dpot_client_grant(client), DPOT_OK, "twice is once");
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
}

Test(consent, a_round_that_was_withdrawn_is_not_reported_again)
{
    enum dpot_submit_outcome outcome;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    cr_assert_eq(dpot_client_grant(client), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_DONE);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 0);
    dpot_client_close(client);
}

/* ---- in the ledger ---- */

static bool is_reporting(dpot_client *client)
{
    const dpot_status status = world_submit(&world, client, NULL);
    cr_assert(status == DPOT_OK || status == DPOT_ERR_CONSENT);
    return status == DPOT_OK;
}

Test(consent, deleting_the_mark_does_not_give_it_back)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    test_filesystem_delete(&world.files, "withdrawn");
    cr_assert_not(is_reporting(client), "nor in the handle that withdrew");
    dpot_client_close(client);
    client = world_open(&world);
    cr_assert_not(is_reporting(client));
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_CONSENT);
    cr_assert_eq(world_status(client).n_submitted, 0);
    cr_assert_eq(dpot_client_grant(client), DPOT_OK, "granting needs no mark");
    cr_assert(is_reporting(client));
    dpot_client_close(client);
}

Test(consent, a_mark_that_was_made_without_a_client_is_in_the_ledger_from_the_next_opening_on)
{
    dpot_client_close(world_enroll(&world));
    cr_assert_eq(dpot_folder_withdraw(&world.files.filesystem, NULL, 0), DPOT_OK);
    dpot_client_close(world_open(&world));
    test_filesystem_delete(&world.files, "withdrawn");
    dpot_client *client = world_open(&world);
    cr_assert_not(is_reporting(client));
    dpot_client_close(client);
}

Test(consent, what_could_not_be_recorded_on_a_full_disk_is_recorded_when_there_is_room)
{
    dpot_client *client = world_enroll(&world);
    world.files.is_full = true;
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    cr_assert_not(is_reporting(client));
    world.files.is_full = false;
    cr_assert_not(is_reporting(client)); /* and records it */
    test_filesystem_delete(&world.files, "withdrawn");
    cr_assert_not(is_reporting(client));
    dpot_client_close(client);
}

/* Every change of mind is a record: the ledger stays sound, and the last one counts. */
Test(consent, changes_of_mind_are_all_in_the_ledger)
{
    dpot_client *client = world_enroll(&world);
    cr_assert(is_reporting(client));
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
        cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
        cr_assert_eq(dpot_client_grant(client), DPOT_OK);
        cr_assert_eq(dpot_client_grant(client), DPOT_OK);
    }
    dpot_client_close(client);
    client = world_open(&world);
    size_t len = 0;
    (void)test_filesystem_durable(&world.files, "ledger", &len);
    cr_assert_eq(len, 256 + 192 * (1 + 1 + 3 * 2)); /* CHARGE, DONE, six CONSENT */
    world.clock.now_ms += DAY_MS;
    cr_assert(is_reporting(client));
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.is_exhausted, 0);
    cr_assert_eq(status.n_submitted, 2);
    dpot_client_close(client);
}

/* Cut off anywhere, a grant has happened or not; after DPOT_OK it has. */
Test(consent, a_grant_cut_off_anywhere_is_none_or_whole)
{
    bool was_whole = false;
    for (size_t n = 1; !was_whole; n++) {
        cr_assert_lt(n, 100);
        struct world w;
        world_init(&w, &authority, n);
        dpot_client *client = world_enroll(&w);
        cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
        test_filesystem_cut_at(&w.files, n / 2 + 1, n % 2 == 1);
        was_whole = dpot_client_grant(client) == DPOT_OK;
        dpot_client_close(client);
        test_filesystem_restart(&w.files, TEST_LOSE_RANDOM);
        client = world_open(&w);
        const dpot_status status = world_submit(&w, client, NULL);
        cr_assert(status == DPOT_OK || (status == DPOT_ERR_CONSENT && !was_whole), "cut %zu", n);
        cr_assert_eq(dpot_client_grant(client), DPOT_OK);
        cr_assert_eq(world_submit(&w, client, NULL), DPOT_OK);
        cr_assert_eq(world_status(client).is_exhausted, 0);
        dpot_client_close(client);
        world_release(&w);
    }
}

Test(consent, a_grant_that_cannot_be_recorded_leaves_consent_withdrawn)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    world.files.is_full = true;
    cr_assert_eq(dpot_client_grant(client), DPOT_ERR_NO_SPACE);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "still counts as withdrawn"));
    world.files.is_full = false;
    cr_assert_not(is_reporting(client));
    cr_assert_eq(dpot_client_grant(client), DPOT_OK);
    cr_assert(is_reporting(client));
    dpot_client_close(client);
}

/* Cut off by a power failure at any write, a withdrawal has not happened or is completed by the
 * next opening: never half of it. On a full disk too. */
static void cut_off_everywhere(bool is_full)
{
    bool was_whole = false;
    for (size_t n = 1; !was_whole; n++) {
        cr_assert_lt(n, 200);
        struct world w;
        world_init(&w, &authority, n);
        dpot_client *client = world_enroll(&w);
        cr_assert_eq(world_submit(&w, client, NULL), DPOT_OK);
        w.files.is_full = is_full;
        test_filesystem_cut_at(&w.files, n / 2 + 1, n % 2 == 1);
        was_whole = dpot_client_withdraw(client) == DPOT_OK;
        dpot_client_close(client);
        test_filesystem_restart(&w.files, TEST_LOSE_RANDOM);
        w.files.is_full = false;
        client = world_open(&w);
        const dpot_status submit = world_submit(&w, client, NULL);
        cr_assert(submit == DPOT_OK || submit == DPOT_ERR_CONSENT);
        cr_assert(!was_whole || submit == DPOT_ERR_CONSENT);
        cr_assert_eq(world_pump(&w, client, NULL), DPOT_OK);
        const struct dpot_client_status status = world_status(client);
        assert_conserved(&status);
        cr_assert_eq(w.n_received, submit == DPOT_OK ? 1 : 0, "cut %zu", n);
        cr_assert_eq(status.n_dropped_withdrawn, submit == DPOT_OK ? 0 : 1, "cut %zu", n);
        dpot_client_close(client);
        world_release(&w);
    }
}

Test(consent, a_withdrawal_cut_off_anywhere_is_none_or_whole)
{
    cut_off_everywhere(false);
}

Test(consent, a_withdrawal_on_a_full_disk_cut_off_anywhere_is_none_or_whole)
{
    cut_off_everywhere(true);
}

/* ---- a full disk ---- */

/* Whether the bytes of the report are still in the folder. */
static bool has_bytes(const uint8_t *needle, size_t needle_len)
{
    static const char *const names[] = {"spool", "spool.new"};
    for (size_t k = 0; k < 2; k++) {
        size_t len = 0;
        const uint8_t *data = test_filesystem_durable(&world.files, names[k], &len);
        for (size_t i = 0; data && i + needle_len <= len; i++) {
            if (memcmp(data + i, needle, needle_len) == 0) {
                return true;
            }
        }
    }
    return false;
}

#define REPORT_AT (256 + 104) /* the header, and the name of the first slot */

/* Withdraws on a full disk; checks again in a new process and when there is space. */
static void withdraw_for_good(dpot_client *client)
{
    size_t len = 0;
    uint8_t report[64];
    const uint8_t *spool = test_filesystem_durable(&world.files, "spool", &len);
    cr_assert_geq(len, REPORT_AT + sizeof report);
    memcpy(report, spool + REPORT_AT, sizeof report);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK, "%s", dpot_client_last_error(client));
    for (size_t i = 0; i < 3; i++) {
        cr_assert_not(has_bytes(report, sizeof report), "the report is not wiped");
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK, "%s",
                     dpot_client_last_error(client));
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_CONSENT);
        const struct dpot_client_status status = world_status(client);
        cr_assert_eq(status.n_dropped_withdrawn, 1);
        cr_assert_eq(status.n_pending, 0);
        cr_assert_eq(status.is_exhausted, 0);
        assert_conserved(&status);
        dpot_client_close(client);
        world.files.is_full = i == 0;
        world.files.has_no_names = false;
        client = world_open(&world);
    }
    cr_assert_eq(dpot_client_grant(client), DPOT_OK);
    enum dpot_submit_outcome outcome;
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_DONE);
    cr_assert_eq(world.n_received, 0);
    dpot_client_close(client);
}

Test(consent, withdrawing_needs_no_space)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.files.is_full = true;
    withdraw_for_good(client);
}

Test(consent, withdrawing_needs_no_space_without_the_prepared_file)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    test_filesystem_delete(&world.files, "consent");
    world.files.is_full = true;
    withdraw_for_good(client);
}

Test(consent, withdrawing_without_space_does_not_fall_behind_the_hardware_counter)
{
    struct hardware hardware;
    hardware_init(&hardware);
    world.config.counter = &hardware.counter;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.files.is_full = true;
    withdraw_for_good(client);
}

Test(consent, a_submit_that_a_full_disk_stopped_does_not_prevent_withdrawing)
{
    dpot_client *client = world_enroll(&world);
    world.files.is_full = true;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_POISONED);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "\"spool\": no space is left"), "%s",
                       dpot_client_last_error(client));
    cr_assert_eq(dpot_client_withdraw(client), DPOT_ERR_POISONED);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "consent is withdrawn"));
    dpot_client_close(client);
    client = world_open(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_CONSENT);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    dpot_client_close(client);
}

/* Opening cannot record that the report is too old, and must succeed for the user who withdraws. */
Test(consent, an_end_that_cannot_be_recorded_does_not_prevent_withdrawing)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
    world.clock.now_ms += 400 * DAY_MS;
    world.files.is_full = true;
    client = world_open(&world);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_CONSENT);
    cr_assert_eq(world_status(client).n_dropped_withdrawn, 1);
    dpot_client_close(client);
}

Test(consent, a_folder_that_takes_no_name_names_the_file_and_says_what_is_left)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.files.is_full = world.files.has_no_names = true;
    cr_assert_eq(dpot_client_withdraw(client), DPOT_ERR_NO_SPACE);
    const char *text = dpot_client_last_error(client);
    cr_assert_not_null(strstr(text, "\"withdrawn\": no space is left"), "%s", text);
    cr_assert_not_null(strstr(text, "may still count as given"), "%s", text);
    cr_assert_not_null(strstr(text, "was dropped"), "%s", text);
    world.files.is_full = world.files.has_no_names = false;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 0, "it was dropped");
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_CONSENT);
    dpot_client_close(client);
}

/* ---- while another process has the lock ---- */

static dpot_client *other; /* of the same folder */

/* A server during whose answer the user withdraws. */
static void serve_while_withdrawing(void *ctx, const struct dpot_http_request *request,
                                    struct test_answer *answer)
{
    if (other) {
        cr_assert_eq(dpot_client_withdraw(other), DPOT_ERR_BUSY);
        const char *text = dpot_client_last_error(other);
        cr_assert_not_null(strstr(text, "consent is withdrawn"), "%s", text);
        cr_assert_not_null(strstr(text, "Another process"), "%s", text);
    }
    world.network.server = world_server;
    world_server(ctx, request, answer);
}

Test(consent, a_withdrawal_takes_effect_during_the_answer_of_a_slow_server)
{
    dpot_client *client = world_enroll(&world);
    other = world_open(&world);
    for (int round = 0; round < 3; round++) {
        world.clock.now_ms = OPENS_MS + round * DAY_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    }
    world.network.server = serve_while_withdrawing;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(world.n_received, 1, "one was on its way");
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_accepted, 0);
    cr_assert_eq(status.n_dropped_withdrawn, 3);
    assert_conserved(&status);
    cr_assert_eq(dpot_client_withdraw(other), DPOT_OK, "and now for sure");
    dpot_client_close(other);
    dpot_client_close(client);
}

static void fetch_while_withdrawing(void *ctx, const struct dpot_http_request *request,
                                    struct test_answer *answer)
{
    cr_assert_eq(dpot_folder_withdraw(&world.files.filesystem, NULL, 0), DPOT_OK);
    world_server(ctx, request, answer);
}

Test(consent, a_withdrawal_while_keys_are_fetched_stops_the_report_they_are_for)
{
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_import(client, authority.signed_campaign.data,
                                    authority.signed_campaign.len, NULL),
                 DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.network.server = fetch_while_withdrawing;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(world.network.n_gets, 1);
    cr_assert_eq(world.network.n_posts, 0);
    cr_assert_eq(world_status(client).n_dropped_withdrawn, 1);
    dpot_client_close(client);
}

/* ---- without a client ---- */

Test(consent, a_folder_is_withdrawn_without_opening_it)
{
    char text[400];
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
    world.files.is_full = true;
    world.files.is_locked = true;
    cr_assert_eq(dpot_folder_withdraw(&world.files.filesystem, text, sizeof text), DPOT_OK);
    cr_assert_str_eq(text, "");
    world.files.is_full = world.files.is_locked = false;
    client = world_open(&world);
    cr_assert_eq(world_status(client).n_dropped_withdrawn, 1);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_CONSENT);
    dpot_client_close(client);
}

Test(consent, a_folder_that_cannot_be_marked_says_that_consent_may_still_count)
{
    char text[400];
    dpot_client_close(world_enroll(&world));
    world.files.is_full = world.files.has_no_names = true;
    cr_assert_eq(dpot_folder_withdraw(&world.files.filesystem, text, sizeof text),
                 DPOT_ERR_NO_SPACE);
    cr_assert_not_null(strstr(text, "may still count as given"), "%s", text);
}

Test(consent, a_folder_without_an_install_gets_no_mark)
{
    size_t len = 0;
    cr_assert_eq(dpot_folder_withdraw(&world.files.filesystem, NULL, 0), DPOT_ERR_NOT_FOUND);
    cr_assert_null(test_filesystem_cached(&world.files, "withdrawn", &len));
    cr_assert_eq(dpot_folder_withdraw(NULL, NULL, 0), DPOT_ERR_ARGUMENT);
}

Test(consent, an_install_that_cannot_be_trusted_is_withdrawn_all_the_same)
{
    dpot_client *client = world_enroll(&world);
    dpot_client_close(client);
    test_filesystem_delete(&world.files, "ledger");
    client = world_open(&world);
    cr_assert_eq(dpot_client_withdraw(client), DPOT_ERR_LEDGER);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "consent is withdrawn"));
    size_t len = 0;
    cr_assert_not_null(test_filesystem_durable(&world.files, "withdrawn", &len));
    dpot_client_close(client);
}

Test(consent, the_statement_says_what_is_spent_of_each_cap)
{
    char text[1024], tiny[12];
    world.config.lifetime_epsilon_cap = 4;
    world.config.window_epsilon_cap = 2;
    world.config.window_seconds = 7 * 86400;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(dpot_client_get_statement(client, text, sizeof text), DPOT_OK);
    cr_assert_not_null(strstr(text, "Spent 1 of 4 "), "%s", text);
    cr_assert_not_null(strstr(text, "7 days 1 of 2"), "%s", text);
    cr_assert_not_null(strstr(text, "1 report was charged"), "%s", text);
    cr_assert_not_null(strstr(text, "1 waiting"), "%s", text);
    cr_assert_eq(dpot_client_get_statement(client, tiny, sizeof tiny), DPOT_OK);
    cr_assert_str_eq(tiny, "Spent 1 of ");
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    cr_assert_eq(dpot_client_get_statement(client, text, sizeof text), DPOT_OK);
    cr_assert_not_null(strstr(text, "Consent is withdrawn"), "%s", text);
    dpot_client_close(client);
}

static size_t count_text(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        n++;
    }
    return n;
}

Test(consent, the_statement_names_the_label_that_is_sent_openly)
{
    char text[1024], line[128];
    authority.campaign.n_groups = 2;
    authority.campaign.groups = dpot_alloc_array(NULL, 2, sizeof *authority.campaign.groups);
    memcpy(authority.campaign.groups[0], "north", 6);
    memcpy(authority.campaign.groups[1], "south", 6);
    authority_sign(&authority);
    world.config.group = 1;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_get_statement(client, text, sizeof text), DPOT_OK);
    cr_assert_null(strstr(text, "openly"), "nothing was reported: %s", text);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        cr_assert_eq(dpot_client_get_statement(client, text, sizeof text), DPOT_OK);
        (void)snprintf(line, sizeof line, "Reports to \"%s\" carry the label \"south\" openly",
                       authority.campaign.name);
        cr_assert_eq(count_text(text, line), 1, "%s", text);
    }
    dpot_client_close(client);
}

Test(consent, the_statement_has_no_label_without_groups)
{
    char text[1024];
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(dpot_client_get_statement(client, text, sizeof text), DPOT_OK);
    cr_assert_null(strstr(text, "label"), "%s", text);
    dpot_client_close(client);
}

/* Withdrawn consent, and the statement. */
#include "unit/client/world.h"

#include <criterion/criterion.h>
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

/* Cut off by a power failure at any write, a withdrawal has not happened or is completed by the next
 * opening: never half of it. */
Test(consent, a_withdrawal_cut_off_anywhere_is_none_or_whole)
{
    bool was_whole = false;
    for (size_t n = 1; !was_whole; n++) {
        cr_assert_lt(n, 200);
        struct world w;
        world_init(&w, &authority, n);
        dpot_client *client = world_enroll(&w);
        cr_assert_eq(world_submit(&w, client, NULL), DPOT_OK);
        test_filesystem_cut_at(&w.files, n / 2 + 1, n % 2 == 1);
        was_whole = dpot_client_withdraw(client) == DPOT_OK;
        dpot_client_close(client);
        test_filesystem_restart(&w.files, TEST_LOSE_RANDOM);
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

Test(consent, the_statement_tells_what_is_spent_of_what)
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
    cr_assert_not_null(strstr(text, "1 waiting"), "%s", text);
    cr_assert_eq(dpot_client_get_statement(client, tiny, sizeof tiny), DPOT_OK);
    cr_assert_str_eq(tiny, "Spent 1 of ");
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    cr_assert_eq(dpot_client_get_statement(client, text, sizeof text), DPOT_OK);
    cr_assert_not_null(strstr(text, "Consent is withdrawn"), "%s", text);
    dpot_client_close(client);
}

#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
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

TestSuite(caps, .init = set_up, .fini = tear_down);

static void assert_opening_refused(dpot_status expected, const char *word)
{
    dpot_client *client = NULL;
    char text[400] = "";
    cr_assert_eq(dpot_client_open(&world.config, &client, text, sizeof text), expected);
    cr_assert_null(client);
    cr_assert_not_null(strstr(text, word), "%s", text);
}

Test(caps, opening_fails_until_every_cap_is_set)
{
    static const double bad[] = {0, -1, NAN, INFINITY, 2147483648.0, 1e-12};
    double *const fields[] = {&world.config.campaign_epsilon_cap, &world.config.window_epsilon_cap,
                              &world.config.lifetime_epsilon_cap};
    static const char *const names[] = {"campaign_epsilon_cap", "window_epsilon_cap",
                                        "lifetime_epsilon_cap"};
    for (size_t f = 0; f < 3; f++) {
        const double good = *fields[f];
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            *fields[f] = bad[i];
            assert_opening_refused(DPOT_ERR_CAP_UNSET, names[f]);
        }
        *fields[f] = good;
    }
    world.config.window_seconds = 0;
    assert_opening_refused(DPOT_ERR_CAP_UNSET, "window_seconds");
    world.config.window_seconds = UINT64_MAX;
    dpot_client_close(world_open(&world));
}

static dpot_status read_nothing(void *ctx, uint64_t *value)
{
    (void)ctx;
    *value = 0;
    return DPOT_OK;
}

static dpot_status go_nowhere(void *ctx)
{
    (void)ctx;
    return DPOT_OK;
}

Test(caps, opening_names_what_else_is_wrong_with_the_configuration)
{
    const struct dpot_client_config good = world.config;
    world.config.filesystem = NULL;
    assert_opening_refused(DPOT_ERR_ARGUMENT, "filesystem");
    world.config = good;
    memset(world.config.pin, 0, sizeof world.config.pin);
    assert_opening_refused(DPOT_ERR_ARGUMENT, "pin");
    world.config = good;
    world.config.server_url = "ftp://x";
    assert_opening_refused(DPOT_ERR_ARGUMENT, "server_url must begin");
    world.config.server_url = "https:///";
    assert_opening_refused(DPOT_ERR_ARGUMENT, "server_url has no host after https://");
    world.config = good;
    world.config.send_delay_ms = 0;
    assert_opening_refused(DPOT_ERR_ARGUMENT, "send_delay_ms");
    world.config = good;
    world.config.keystore_key = world.config.pin;
    world.config.keystore_key_len = 15;
    assert_opening_refused(DPOT_ERR_ARGUMENT, "keystore_key_len is 15");
    world.config = good;
    const struct dpot_counter halves[] = {{.struct_size = sizeof halves[0], .read = read_nothing},
                                          {.struct_size = sizeof halves[0], .advance = go_nowhere}};
    for (size_t i = 0; i < 2; i++) {
        world.config.counter = &halves[i];
        assert_opening_refused(DPOT_ERR_ARGUMENT, "counter");
    }
    world.config = good;
    world.config.struct_size = 0;
    assert_opening_refused(DPOT_ERR_ARGUMENT, "struct_size");
}

Test(caps, the_config_of_an_older_release_opens_with_the_old_behaviour)
{
    world.config.group = 77; /* behind the end of the older struct: not read */
    world.config.struct_size = offsetof(struct dpot_client_config, group);
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
}

static dpot_status submit_on_day(dpot_client *client, int64_t day)
{
    world.clock.now_ms = OPENS_MS + day * DAY_MS;
    return world_submit(&world, client, NULL);
}

Test(caps, the_campaign_cap_counts_all_rounds_and_revisions)
{
    world.config.campaign_epsilon_cap = 3;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(submit_on_day(client, 0), DPOT_OK);
    cr_assert_eq(submit_on_day(client, 1), DPOT_OK);
    authority.campaign.revision = 2;
    authority_sign(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(submit_on_day(client, 2), DPOT_OK);
    cr_assert_eq(submit_on_day(client, 3), DPOT_ERR_BUDGET);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "campaign cap"));
    cr_assert_eq(world_status(client).n_submitted, 3);
    dpot_client_close(client);
}

Test(caps, another_campaign_has_a_campaign_cap_of_its_own)
{
    world.config.campaign_epsilon_cap = 1;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(submit_on_day(client, 0), DPOT_OK);
    cr_assert_eq(submit_on_day(client, 1), DPOT_ERR_BUDGET);
    struct dpot_buf other;
    uint8_t id[16];
    authority.campaign.id[15] ^= 1;
    authority_sign_campaign(&authority, &authority.campaign, &other);
    cr_assert_eq(dpot_client_import(client, other.data, other.len, id), DPOT_OK);
    const double place = 1;
    cr_assert_eq(dpot_client_submit_points(client, id, &place, NULL, 1, 1, NULL), DPOT_OK);
    dpot_buf_release(&other);
    dpot_client_close(client);
}

Test(caps, the_campaign_cap_is_limited_to_the_ceiling)
{
    world.config.campaign_epsilon_cap = 1000;
    dpot_client *client = world_enroll(&world);
    cr_assert_float_eq(world_status(client).campaign_epsilon_cap, 20, 1e-12);
    for (int64_t day = 0; day < 20; day++) {
        cr_assert_eq(submit_on_day(client, day), DPOT_OK);
    }
    cr_assert_eq(submit_on_day(client, 20), DPOT_ERR_BUDGET);
    dpot_client_close(client);
}

Test(caps, the_window_cap_is_a_rolling_sum)
{
    world.config.window_epsilon_cap = 2;
    world.config.window_seconds = 2 * 86400;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(submit_on_day(client, 0), DPOT_OK);
    cr_assert_eq(submit_on_day(client, 1), DPOT_OK);
    /* The charge of day 0 leaves the window after exactly two days. */
    world.clock.now_ms = OPENS_MS + 2 * DAY_MS - 1;
    cr_assert_float_eq(world_status(client).window_spent_epsilon, 2, 1e-12);
    cr_assert_eq(submit_on_day(client, 2), DPOT_OK);
    cr_assert_eq(submit_on_day(client, 2) == DPOT_OK, true); /* settled: nothing is charged */
    cr_assert_float_eq(world_status(client).window_spent_epsilon, 2, 1e-12);
    dpot_client_close(client);
}

Test(caps, a_full_window_refuses_and_names_itself)
{
    world.config.window_epsilon_cap = 1.5;
    world.config.window_seconds = 2 * 86400;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(submit_on_day(client, 0), DPOT_OK);
    cr_assert_eq(submit_on_day(client, 1), DPOT_ERR_BUDGET);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "window cap"));
    cr_assert_eq(world_status(client).n_submitted, 1);
    dpot_client_close(client);
}

Test(caps, a_clock_set_back_refreshes_no_window_and_no_round)
{
    world.config.window_epsilon_cap = 1;
    world.config.window_seconds = 86400;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(submit_on_day(client, 5), DPOT_OK);
    enum dpot_submit_outcome outcome = 0;
    for (int64_t day = 4; day >= -3000; day -= 501) {
        world.clock.now_ms = OPENS_MS + day * DAY_MS;
        cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK);
        cr_assert_eq(outcome, DPOT_SUBMIT_PENDING); /* device time stays at the latest charge */
        cr_assert_eq(world_status(client).device_time_ms, OPENS_MS + 5 * DAY_MS);
    }
    world.clock.now_ms = INT64_MIN;
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK);
    dpot_client_close(client);
    client = world_open(&world); /* and the next handle knows it too */
    cr_assert_eq(world_status(client).device_time_ms, OPENS_MS + 5 * DAY_MS);
    dpot_client_close(client);
}

Test(caps, a_clock_set_forward_refreshes_windows_but_never_the_lifetime)
{
    world.config.window_epsilon_cap = 1;
    world.config.window_seconds = 3600;
    world.config.lifetime_epsilon_cap = 4;
    dpot_client *client = world_enroll(&world);
    for (int64_t day = 0; day < 4; day++) {
        cr_assert_eq(submit_on_day(client, day), DPOT_OK);
    }
    for (int64_t day = 4; day < 30; day++) {
        cr_assert_eq(submit_on_day(client, day), DPOT_ERR_BUDGET);
        cr_assert_not_null(strstr(dpot_client_last_error(client), "lifetime cap"));
    }
    dpot_client_close(client);
    client = world_open(&world);
    cr_assert_eq(submit_on_day(client, 29), DPOT_ERR_BUDGET);
    cr_assert_eq(world_status(client).n_submitted, 4);
    dpot_client_close(client);
}

Test(caps, a_cap_that_equals_the_sum_allows_it_and_one_below_does_not)
{
    world.config.lifetime_epsilon_cap = 2;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(submit_on_day(client, 0), DPOT_OK);
    cr_assert_eq(submit_on_day(client, 1), DPOT_OK);
    dpot_client_close(client);
    world_release(&world);
    world_init(&world, &authority, 2);
    world.config.lifetime_epsilon_cap = nextafter(2, 0);
    client = world_enroll(&world);
    cr_assert_eq(submit_on_day(client, 0), DPOT_OK);
    cr_assert_eq(submit_on_day(client, 1), DPOT_ERR_BUDGET);
    dpot_client_close(client);
}

Test(caps, a_report_under_an_old_charge_is_made_whatever_the_caps_say_now)
{
    dpot_client *client = world_enroll(&world);
    world_stop_before_report(&world, client, TEST_LOSE_ALL);
    world.config.lifetime_epsilon_cap = 0.5;
    client = world_open(&world);
    cr_assert_eq(world_status(client).n_submitted, 1);
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_RESUMED);
    cr_assert_eq(world_status(client).n_submitted, 1);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(client);
}

Test(caps, a_charge_whose_round_closed_before_its_report_was_made_is_lost)
{
    dpot_client *client = world_enroll(&world);
    world_stop_before_report(&world, client, TEST_LOSE_ALL);
    world.clock.now_ms = OPENS_MS + DAY_MS - 1;
    client = world_open(&world);
    cr_assert_eq(world_status(client).n_pending, 1);
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(submit_on_day(client, 1), DPOT_OK);
    cr_assert_eq(world_status(client).n_pending, 2, "only a pump ends what the clock says is over");
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_submitted, 2);
    cr_assert_eq(status.n_dropped_lost, 1);
    cr_assert_eq(status.n_accepted, 1);
    assert_conserved(&status);
    (void)outcome;
    dpot_client_close(client);
}

/* ---- accountants ---- */

static void choose_zcdp(double rho)
{
    world.config.accountant = DPOT_ACCOUNTANT_ZCDP;
    world.config.campaign_epsilon_cap = 0;
    world.config.window_epsilon_cap = 0;
    world.config.lifetime_epsilon_cap = 0;
    world.config.campaign_rho_cap = rho;
    world.config.window_rho_cap = rho;
    world.config.lifetime_rho_cap = rho;
}

Test(caps, zcdp_counts_pure_reports_by_half_the_square)
{
    choose_zcdp(1.25); /* epsilon 1 is rho 0.5: two fit, three do not */
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(submit_on_day(client, 0), DPOT_OK);
    cr_assert_eq(submit_on_day(client, 1), DPOT_OK);
    cr_assert_eq(submit_on_day(client, 2), DPOT_ERR_BUDGET);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "rho cap of 1.25"));
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.accountant, DPOT_ACCOUNTANT_ZCDP);
    cr_assert_float_eq(status.spent_rho, 1, 1e-8);
    cr_assert_float_eq(status.lifetime_rho_cap, 1.25, 1e-8);
    cr_assert_eq(status.lifetime_epsilon_cap, 0);
    dpot_client_close(client);
}

Test(caps, an_install_keeps_the_accountant_it_was_created_with)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
    const struct dpot_client_config basic = world.config;
    choose_zcdp(10);
    assert_opening_refused(DPOT_ERR_ARGUMENT, "DPOT_ACCOUNTANT_BASIC");
    world.config = basic;
    dpot_client_close(world_open(&world));
}

Test(caps, caps_of_the_other_accountant_are_refused)
{
    const struct dpot_client_config good = world.config;
    world.config.window_rho_cap = 1;
    assert_opening_refused(DPOT_ERR_ARGUMENT, "window_rho_cap");
    world.config = good;
    choose_zcdp(1);
    world.config.lifetime_epsilon_cap = 1;
    assert_opening_refused(DPOT_ERR_ARGUMENT, "lifetime_epsilon_cap");
    choose_zcdp(0);
    assert_opening_refused(DPOT_ERR_CAP_UNSET, "campaign_rho_cap");
    world.config = good;
    world.config.accountant = 3;
    assert_opening_refused(DPOT_ERR_ARGUMENT, "accountant");
    world.config = good;
    world.config.campaign_delta_cap = 1;
    assert_opening_refused(DPOT_ERR_ARGUMENT, "campaign_delta_cap");
    world.config.campaign_delta_cap = -1e-9;
    assert_opening_refused(DPOT_ERR_ARGUMENT, "campaign_delta_cap");
}

/* ---- hooks ---- */

static void assert_named(const char *what)
{
    char text[400];
    dpot_client *client = NULL;
    cr_assert_eq(dpot_client_open(&world.config, &client, text, sizeof text), DPOT_ERR_ARGUMENT,
                 "%s", what);
    cr_assert_null(client);
    cr_assert_not_null(strstr(text, what), "%s: %s", what, text);
}

Test(caps, a_file_hook_that_lacks_a_function_is_named_and_none_is_called)
{
    static const struct {
        const char *name;
        size_t offset;
    } members[] = {
        {"filesystem.open", offsetof(struct dpot_filesystem, open)},
        {"filesystem.close", offsetof(struct dpot_filesystem, close)},
        {"filesystem.size", offsetof(struct dpot_filesystem, size)},
        {"filesystem.read_at", offsetof(struct dpot_filesystem, read_at)},
        {"filesystem.write_at", offsetof(struct dpot_filesystem, write_at)},
        {"filesystem.truncate", offsetof(struct dpot_filesystem, truncate)},
        {"filesystem.sync ", offsetof(struct dpot_filesystem, sync)},
        {"filesystem.sync_directory", offsetof(struct dpot_filesystem, sync_directory)},
        {"filesystem.rename", offsetof(struct dpot_filesystem, rename)},
        {"filesystem.remove", offsetof(struct dpot_filesystem, remove)},
        {"filesystem.lock", offsetof(struct dpot_filesystem, lock)},
        {"filesystem.unlock", offsetof(struct dpot_filesystem, unlock)},
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        struct dpot_filesystem broken = world.files.filesystem;
        memset((char *)&broken + members[i].offset, 0, sizeof broken.lock);
        world.config.filesystem = &broken;
        assert_named(members[i].name);
        cr_assert_eq(dpot_folder_withdraw(&broken, NULL, 0), DPOT_ERR_ARGUMENT);
    }
    struct dpot_filesystem sizeless = world.files.filesystem;
    sizeless.struct_size = 0;
    world.config.filesystem = &sizeless;
    assert_named("filesystem.struct_size");
    sizeless.struct_size = offsetof(struct dpot_filesystem, explain); /* an older one is whole */
    dpot_client_close(world_open(&world));
}

Test(caps, the_other_hooks_must_be_whole_too)
{
    struct dpot_clock clock = {.struct_size = sizeof clock};
    struct dpot_transport transport = {.struct_size = sizeof transport};
    const struct dpot_allocator allocator = {0};
    world.config.allocator = &allocator;
    assert_named("allocator.resize");
    world.config.allocator = NULL;
    world.config.clock = &clock;
    assert_named("clock.now");
    clock.struct_size = 0;
    assert_named("clock.struct_size is 0");
    clock.struct_size = 65537;
    assert_named("clock.struct_size is 65537");
    world.config.clock = &world.clock.clock;
    world.config.transport = &transport;
    assert_named("transport.perform");
    transport = world.network.transport;
    transport.struct_size = 0;
    assert_named("transport.struct_size");
}

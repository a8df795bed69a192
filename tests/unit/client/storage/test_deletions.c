/* Each file of a device's folder, deleted by itself: it has no effect, or ends reporting. It never
 * refreshes the budget, repeats a report or gives consent back. */
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct authority authority;
static struct world world;

enum outcome {
    NOTHING,   /* everything is as it was */
    LOST,      /* the report that waited is lost and counted; what was spent stays */
    UNKNOWN,   /* the campaign is unknown: enroll again; what waits is sent */
    EXHAUSTED, /* the whole budget counts as spent */
};

/* Every file that a folder can hold; the test fails when there is another one. */
static const struct {
    const char *name; /* or how it begins */
    enum outcome outcome;
} table[] = {
    {"ledger", EXHAUSTED}, {"spool", LOST},      {"install", NOTHING},   {"keys", NOTHING},
    {"consent", NOTHING},  {"pause", NOTHING},   {"withdrawn", NOTHING}, {"campaign-", UNKNOWN},
    {"work-", NOTHING},    {"sending", NOTHING},
};

static enum outcome outcome_of(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strncmp(name, table[i].name, strlen(table[i].name)) == 0) {
            return table[i].outcome;
        }
    }
    cr_assert_fail("nobody has decided what comes of deleting \"%s\"", name);
    return EXHAUSTED;
}

static void set_up(void)
{
    authority_init(&authority, 30);
}

static void tear_down(void)
{
    authority_release(&authority);
}

TestSuite(deletions, .init = set_up, .fini = tear_down);

/* One report was accepted, one waits, and the server has sent a Retry-After. */
static void live(void)
{
    world_init(&world, &authority, 1);
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    test_transport_script(&world.network, (struct test_script){.status = 429, .retry_after_s = 60});
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_SERVER);
    dpot_client_close(client);
}

/* Deletes the i-th name of the folder; false when there is none. */
static bool delete_file(size_t i, char name[64])
{
    size_t n = 0;
    for (size_t k = 0; k < TEST_NAMES_MAX; k++) {
        if (world.files.cached[k].name[0] && n++ == i) {
            (void)snprintf(name, 64, "%s", world.files.cached[k].name);
            test_filesystem_delete(&world.files, name);
            return true;
        }
    }
    return false;
}

static void assert_as_decided(const char *name)
{
    enum dpot_submit_outcome outcome = DPOT_SUBMIT_REPORTED;
    const enum outcome expected = outcome_of(name);
    dpot_client *client = world_open(&world);
    const struct dpot_client_status status = world_status(client);
    const dpot_status submitted = world_submit(&world, client, &outcome);
    world.clock.now_ms += 2 * 60 * 1000;
    const dpot_status pumped = world_pump(&world, client, NULL);
    cr_assert_eq(status.is_exhausted, expected == EXHAUSTED, "%s", name);
    if (expected == EXHAUSTED) {
        cr_assert_eq(submitted, DPOT_ERR_LEDGER);
        cr_assert_eq(pumped, DPOT_ERR_LEDGER);
        cr_assert_float_eq(status.spent_epsilon, status.lifetime_epsilon_cap, 1e-9);
    } else {
        cr_assert_eq(submitted, expected == UNKNOWN ? DPOT_ERR_NOT_FOUND : DPOT_OK, "%s", name);
        cr_assert_neq(outcome, expected == UNKNOWN ? 0 : DPOT_SUBMIT_REPORTED,
                      "%s: a second report in one round", name);
        cr_assert_eq(pumped, DPOT_OK, "%s: %s", name, dpot_client_last_error(client));
        cr_assert_float_eq(status.spent_epsilon, 2, 1e-9, "%s", name);
    }
    cr_assert_eq(world.n_received, expected == EXHAUSTED || expected == LOST ? 1 : 2, "%s", name);
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
}

Test(deletions, of_each_file_have_no_effect_or_end_reporting)
{
    char name[64] = "";
    size_t n = 0;
    for (bool is_there = true; is_there; n++) {
        live();
        is_there = delete_file(n, name);
        if (is_there) {
            assert_as_decided(name);
        }
        world_release(&world);
    }
    cr_assert_eq(n, 8 + 1, "ledger, spool, install, keys, consent, sending, pause, campaign");
}

Test(deletions, of_each_file_do_not_give_withdrawn_consent_back)
{
    char name[64] = "";
    size_t n = 0;
    for (bool is_there = true; is_there; n++) {
        live();
        dpot_client *client = world_open(&world);
        cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
        dpot_client_close(client);
        is_there = delete_file(n, name);
        if (is_there) {
            client = world_open(&world);
            world.clock.now_ms += DAY_MS;
            const dpot_status status = world_submit(&world, client, NULL);
            cr_assert_eq(status, outcome_of(name) == EXHAUSTED ? DPOT_ERR_LEDGER : DPOT_ERR_CONSENT,
                         "%s", name);
            cr_assert_eq(world_pump(&world, client, NULL),
                         outcome_of(name) == EXHAUSTED ? DPOT_ERR_LEDGER : DPOT_OK);
            cr_assert_eq(world.n_received, 1, "%s", name);
            dpot_client_close(client);
        }
        world_release(&world);
    }
    cr_assert_eq(n, 8 + 1);
}

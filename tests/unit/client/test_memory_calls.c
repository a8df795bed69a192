/* Every call of the library short of memory, in a campaign of vectors with reports that wait: it
 * fails or does its work, charges and waiting reports stay, and nothing leaks. */
#include "support/allocator.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <string.h>

#define N_ROUNDS 4

static struct authority authority;
static struct world world;
static struct test_allocator heap;
static dpot_client *client;

static void set_up(void)
{
    authority_init(&authority, N_ROUNDS);
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    world_init(&world, &authority, 1);
    test_allocator_init(&heap);
    world.config.allocator = &heap.allocator;
    client = world_enroll(&world);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        world.clock.now_ms += DAY_MS;
    }
}

static void tear_down(void)
{
    dpot_client_close(client);
    cr_assert_eq(heap.bytes, 0);
    world_release(&world);
    authority_release(&authority);
}

TestSuite(memory_calls, .init = set_up, .fini = tear_down);

static dpot_status reopen(void)
{
    dpot_client_close(client);
    return dpot_client_open(&world.config, &client, NULL, 0);
}

static dpot_status enroll(void)
{
    return dpot_client_enroll(client, authority.campaign.id);
}

static dpot_status import(void)
{
    uint8_t id[16];
    return dpot_client_import(client, authority.signed_campaign.data, authority.signed_campaign.len,
                              id);
}

static dpot_status submit(void)
{
    return world_submit(&world, client, NULL);
}

static dpot_status state(void)
{
    char text[2048];
    return dpot_client_get_statement(client, text, sizeof text);
}

static dpot_status pump(void)
{
    world.clock.now_ms += 60 * 1000;
    return world_pump(&world, client, NULL);
}

/* Fails in each allocation, the n-th alone, until the call needs fewer. */
static void run_short(const char *name, dpot_status (*call)(void), uint64_t n_submitted)
{
    dpot_status status = DPOT_ERR_MEMORY;
    for (size_t n = 1; status != DPOT_OK; n++) {
        test_allocator_fail_at(&heap, n);
        status = call();
        test_allocator_fail_at(&heap, 0);
        cr_assert(status == DPOT_OK || status == DPOT_ERR_MEMORY, "%s, allocation %zu: %s", name, n,
                  dpot_status_name(status));
        cr_assert_not(world.files.is_locked, "%s, allocation %zu", name, n);
        if (client && status != DPOT_OK) {
            const struct dpot_client_status now = world_status(client);
            cr_assert_eq(now.n_submitted, n_submitted, "%s, allocation %zu", name, n);
            assert_conserved(&now);
        }
        if (!client) { /* an opening that failed: sound again */
            cr_assert_eq(heap.bytes, 0, "%s, allocation %zu", name, n);
        }
    }
}

Test(memory_calls, each_of_them_fails_or_does_its_work)
{
    run_short("open", reopen, 2);
    run_short("enroll", enroll, 2);
    run_short("import", import, 2);
    run_short("statement", state, 2);
    run_short("submit", submit, 2);
    cr_assert_eq(world_status(client).n_submitted, 3);
    run_short("pump", pump, 3);
    for (size_t i = 0; i < 8; i++) { /* what has backed off */
        world.clock.now_ms += 3600 * 1000;
        cr_assert_eq(pump(), DPOT_OK);
    }
    const struct dpot_client_status now = world_status(client);
    cr_assert_eq(now.n_accepted + now.n_duplicate, 3); /* an answer may have been lost */
    cr_assert_eq(world_count_contradictions(&world), 0);
    cr_assert_eq(world.n_uncharged, 0);
}

/* A withdrawal short of memory may fail, but after DPOT_OK no report leaves. */
Test(memory_calls, a_withdrawal_short_of_memory_takes_effect_or_fails)
{
    bool is_heard = false;
    for (size_t n = 1; !is_heard; n++) {
        test_allocator_fail_at(&heap, n);
        const dpot_status status = dpot_client_withdraw(client);
        test_allocator_fail_at(&heap, 0);
        is_heard = status == DPOT_OK;
        cr_assert(is_heard || dpot_client_last_error(client)[0] != '\0', "allocation %zu", n);
    }
    cr_assert_eq(pump(), DPOT_OK);
    cr_assert_eq(world.n_received, 0);
    const struct dpot_client_status now = world_status(client);
    cr_assert_eq(now.n_submitted, 2);
    cr_assert_eq(now.n_pending, 0);
    assert_conserved(&now);
    cr_assert_eq(dpot_client_grant(client), DPOT_OK);
    cr_assert_eq(submit(), DPOT_OK);
}

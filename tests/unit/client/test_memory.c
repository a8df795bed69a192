#include "simulation.h"
#include "support/allocator.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <string.h>

static struct authority authority;
static struct world world;
static struct test_allocator heap;

static void set_up(void)
{
    authority_init(&authority, 3);
    world_init(&world, &authority, 1);
    test_allocator_init(&heap);
    world.config.allocator = &heap.allocator;
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(memory, .init = set_up, .fini = tear_down);

Test(memory, opening_fails_cleanly_at_every_allocation)
{
    dpot_client_close(world_enroll(&world));
    bool is_open = false;
    for (size_t n = 1; !is_open; n++) {
        dpot_client *client = NULL;
        test_allocator_fail_at(&heap, n);
        const dpot_status status = dpot_client_open(&world.config, &client, NULL, 0);
        test_allocator_fail_at(&heap, 0);
        is_open = status == DPOT_OK;
        cr_assert(is_open || status == DPOT_ERR_MEMORY, "allocation %zu: %s", n,
                  dpot_status_name(status));
        cr_assert_eq(client != NULL, is_open);
        cr_assert_not(world.files.is_locked);
        dpot_client_close(client);
        cr_assert_eq(heap.bytes, 0);
    }
}

Test(memory, enrolling_fails_cleanly_at_every_allocation)
{
    bool is_done = false;
    dpot_client *client = world_open(&world);
    for (size_t n = 1; !is_done; n++) {
        test_allocator_fail_at(&heap, n);
        const dpot_status status = dpot_client_enroll(client, authority.campaign.id);
        test_allocator_fail_at(&heap, 0);
        is_done = status == DPOT_OK;
        cr_assert(is_done || status == DPOT_ERR_MEMORY, "allocation %zu: %s", n,
                  dpot_status_name(status));
    }
    dpot_client_close(client);
    cr_assert_eq(heap.bytes, 0);
}

Test(memory, a_submit_runs_out_before_its_charge_or_not_at_all)
{
    bool is_done = false;
    dpot_client *client = world_enroll(&world);
    for (size_t n = 1; !is_done; n++) {
        const size_t n_operations = world.files.n_operations;
        test_allocator_fail_at(&heap, n);
        const dpot_status status = world_submit(&world, client, NULL);
        test_allocator_fail_at(&heap, 0);
        is_done = status == DPOT_OK;
        cr_assert(is_done || status == DPOT_ERR_MEMORY, "allocation %zu: %s", n,
                  dpot_status_name(status));
        if (!is_done) {
            cr_assert_eq(world.files.n_operations, n_operations, "allocation %zu", n);
            cr_assert_eq(world_status(client).n_submitted, 0);
        }
        cr_assert_not(world.files.is_locked);
    }
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(client);
    cr_assert_eq(heap.bytes, 0);
}

Test(memory, a_pump_that_runs_out_keeps_the_report)
{
    bool is_done = false;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    for (size_t n = 1; !is_done; n++) {
        world.clock.now_ms += 3600 * 1000;
        test_allocator_fail_at(&heap, n);
        const dpot_status status = world_pump(&world, client, NULL);
        test_allocator_fail_at(&heap, 0);
        is_done = status == DPOT_OK;
        cr_assert(is_done || status == DPOT_ERR_MEMORY, "allocation %zu: %s", n,
                  dpot_status_name(status));
        cr_assert_eq(world_status(client).n_pending, is_done ? 0 : 1);
    }
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
    cr_assert_eq(heap.bytes, 0);
}

Test(memory, a_device_in_memory_stays_small_over_many_rounds)
{
    struct dpot_filesystem *files = NULL;
    cr_assert_eq(dpot_filesystem_memory_new(&heap.allocator, &files), DPOT_OK);
    world.config.filesystem = files;
    authority_extend(&authority, 100, DPOT_EPSILON_ONE / 8);
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < 100; round++) {
        world.clock.now_ms = OPENS_MS + round * DAY_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    }
    cr_assert_eq(world_status(client).n_accepted, 100);
    cr_assert_lt(heap.bytes, 150000);
    dpot_client_close(client);
    dpot_filesystem_memory_free(files);
    cr_assert_eq(heap.bytes, 0);
}

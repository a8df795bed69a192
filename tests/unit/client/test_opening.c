#include "storage/journal.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct authority authority;
static struct world world;

static void set_up(void)
{
    authority_init(&authority, 5);
    world_init(&world, &authority, 1);
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(opening, .init = set_up, .fini = tear_down);

/* A copy of a file of the folder; free it. */
struct copy {
    uint8_t *data;
    size_t len;
};

static struct copy copy_file(const char *name)
{
    struct copy copy = {0};
    const uint8_t *data = test_filesystem_cached(&world.files, name, &copy.len);
    cr_assert_not_null(data);
    copy.data = malloc(copy.len + 4096);
    cr_assert_not_null(copy.data);
    memcpy(copy.data, data, copy.len);
    return copy;
}

/* Rounds 0..n-1 submitted; those below `n_sent` also sent. */
static void live(uint32_t n, uint32_t n_sent)
{
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < n; round++) {
        world.clock.now_ms = OPENS_MS + round * DAY_MS + 1000;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        if (round < n_sent) {
            cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
        }
    }
    dpot_client_close(client);
}

/* Everything counts as spent, nothing is charged, sent or written. */
static void assert_exhausted(void)
{
    dpot_client *client = world_open(&world);
    const struct dpot_client_status status = world_status(client);
    const size_t n_posts = world.network.n_posts, n_operations = world.files.n_operations;
    cr_assert_eq(status.is_exhausted, 1);
    cr_assert_float_eq(status.spent_epsilon, status.lifetime_epsilon_cap, 1e-12);
    cr_assert_float_eq(status.window_spent_epsilon, status.window_epsilon_cap, 1e-12);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_LEDGER);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "counts as spent"));
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_LEDGER);
    cr_assert_eq(world.network.n_posts, n_posts);
    cr_assert_eq(world.files.n_operations, n_operations);
    dpot_client_close(client);
}

static struct dpot_client_status open_and_look(void)
{
    dpot_client *client = world_open(&world);
    const struct dpot_client_status status = world_status(client);
    assert_conserved(&status);
    dpot_client_close(client);
    return status;
}

/* ---- the ledger ---- */

Test(opening, a_torn_tail_of_any_length_is_cut_off_the_file)
{
    live(2, 2);
    const struct copy ledger = copy_file("ledger");
    for (size_t extra = 1; extra < 192; extra++) {
        memset(ledger.data + ledger.len, 0xa5, extra);
        test_filesystem_put(&world.files, "ledger", ledger.data, ledger.len + extra);
        const struct dpot_client_status status = open_and_look();
        cr_assert_eq(status.is_exhausted, 0);
        cr_assert_eq(status.n_submitted, 2);
        size_t len = 0;
        (void)test_filesystem_durable(&world.files, "ledger", &len);
        cr_assert_eq(len, ledger.len);
    }
    free(ledger.data);
}

Test(opening, a_ledger_cut_at_any_byte_of_its_last_record_goes_on_without_it)
{
    live(2, 2);
    const struct copy ledger = copy_file("ledger");
    for (size_t missing = 1; missing < 192; missing++) {
        test_filesystem_put(&world.files, "ledger", ledger.data, ledger.len - missing);
        const struct dpot_client_status status = open_and_look();
        cr_assert_eq(status.is_exhausted, 0);
        cr_assert_eq(status.n_submitted, 2);
        cr_assert_eq(status.n_accepted, 1);
        cr_assert_eq(status.n_dropped_lost, 1); /* its DONE was in the record, its slot is free */
    }
    free(ledger.data);
}

Test(opening, any_flipped_bit_before_the_last_record_exhausts_the_budget)
{
    live(2, 2);
    const struct copy ledger = copy_file("ledger");
    for (size_t i = 0; i < ledger.len - 192; i += i % 3 + 1) {
        ledger.data[i] ^= 0x10;
        test_filesystem_put(&world.files, "ledger", ledger.data, ledger.len);
        assert_exhausted();
        ledger.data[i] ^= 0x10;
    }
    test_filesystem_put(&world.files, "ledger", ledger.data, ledger.len);
    cr_assert_eq(open_and_look().n_accepted, 2); /* and nothing was written over it meanwhile */
    free(ledger.data);
}

Test(opening, a_record_taken_out_of_the_middle_exhausts_the_budget)
{
    live(3, 3);
    const struct copy ledger = copy_file("ledger");
    for (size_t i = 0; i < 5; i++) {
        uint8_t *shorter = malloc(ledger.len);
        cr_assert_not_null(shorter);
        const size_t at = 256 + i * 192;
        memcpy(shorter, ledger.data, at);
        memcpy(shorter + at, ledger.data + at + 192, ledger.len - at - 192);
        test_filesystem_put(&world.files, "ledger", shorter, ledger.len - 192);
        free(shorter);
        if (i < 4) {
            assert_exhausted();
        }
    }
    free(ledger.data);
}

Test(opening, a_missing_ledger_exhausts_the_budget_while_anything_proves_an_install)
{
    static const char *const proofs[] = {"install",   "spool", "keys",   "consent",
                                         "withdrawn", "pause", "sending"};
    enum { N_PROOFS = sizeof proofs / sizeof proofs[0] };
    live(1, 1);
    test_filesystem_delete(&world.files, "ledger");
    assert_exhausted();
    for (size_t only = 0; only < N_PROOFS; only++) {
        for (size_t i = 0; i < N_PROOFS; i++) {
            test_filesystem_delete(&world.files, proofs[i]);
        }
        test_filesystem_put(&world.files, proofs[only], "any content", 11);
        assert_exhausted();
    }
    test_filesystem_delete(&world.files, proofs[N_PROOFS - 1]);
    cr_assert_eq(open_and_look().is_exhausted, 0); /* no trace: a new install, as documented */
}

Test(opening, a_ledger_without_its_whole_header_exhausts_the_budget)
{
    live(1, 1);
    const struct copy ledger = copy_file("ledger");
    for (size_t len = 0; len < 256; len += 15) {
        test_filesystem_put(&world.files, "ledger", ledger.data, len);
        assert_exhausted();
    }
    free(ledger.data);
}

Test(opening, the_ledger_of_another_install_exhausts_the_budget)
{
    live(1, 0);
    const struct copy spool = copy_file("spool"), install = copy_file("install");
    test_filesystem_delete(&world.files, "ledger");
    test_filesystem_delete(&world.files, "install");
    test_filesystem_delete(&world.files, "spool");
    test_filesystem_delete(&world.files, "keys");
    (void)open_and_look();
    test_filesystem_put(&world.files, "install", install.data, install.len);
    assert_exhausted();
    test_filesystem_put(&world.files, "spool", spool.data, spool.len);
    assert_exhausted();
    free(spool.data);
    free(install.data);
}

Test(opening, without_its_keystore_key_the_ledger_is_not_trusted)
{
    const uint8_t key[16] = {1, 2, 3}, other[16] = {1, 2, 4};
    world.config.keystore_key = key;
    world.config.keystore_key_len = sizeof key;
    live(1, 1);
    cr_assert_eq(open_and_look().is_exhausted, 0);
    world.config.keystore_key = other;
    assert_exhausted();
    world.config.keystore_key = NULL;
    world.config.keystore_key_len = 0;
    assert_exhausted();
    world.config.keystore_key = key;
    world.config.keystore_key_len = sizeof key;
    cr_assert_eq(open_and_look().n_accepted, 1);
}

/* ---- the spool ---- */

Test(opening, a_report_without_a_charge_exhausts_the_budget)
{
    live(1, 0);
    const struct copy ledger = copy_file("ledger");
    test_filesystem_put(&world.files, "ledger", ledger.data, ledger.len - 192);
    assert_exhausted();
    for (size_t missing = 1; missing < 192; missing += 19) {
        test_filesystem_put(&world.files, "ledger", ledger.data, ledger.len - missing);
        assert_exhausted();
    }
    free(ledger.data);
}

Test(opening, a_deleted_spool_costs_its_reports_and_nothing_else)
{
    live(2, 1);
    test_filesystem_delete(&world.files, "spool");
    dpot_client *client = world_open(&world);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.is_exhausted, 0);
    cr_assert_eq(status.n_dropped_lost, 1);
    cr_assert_eq(status.n_pending, 0);
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_LOST);
    dpot_client_close(client);
    cr_assert_eq(open_and_look().n_dropped_lost, 1); /* DONE is in the ledger */
}

Test(opening, a_spool_with_any_flipped_bit_sends_the_same_report_or_none)
{
    live(1, 0);
    const struct copy spool = copy_file("spool"), ledger = copy_file("ledger");
    for (size_t i = 0; i < spool.len; i++) {
        spool.data[i] ^= 4;
        test_filesystem_put(&world.files, "spool", spool.data, spool.len);
        test_filesystem_put(&world.files, "ledger", ledger.data, ledger.len);
        spool.data[i] ^= 4;
        dpot_client *client = world_open(&world);
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
        const struct dpot_client_status status = world_status(client);
        cr_assert_eq(status.is_exhausted, 0, "byte %zu", i);
        cr_assert_eq(status.n_submitted, 1);
        assert_conserved(&status);
        dpot_client_close(client);
    }
    cr_assert_eq(world_count_contradictions(&world), 0);
    free(spool.data);
    free(ledger.data);
}

Test(opening, a_spool_cut_at_any_byte_sends_the_same_report_or_none)
{
    live(1, 0);
    const struct copy spool = copy_file("spool"), ledger = copy_file("ledger");
    for (size_t len = 0; len < spool.len; len += 7) {
        test_filesystem_put(&world.files, "spool", spool.data, len);
        test_filesystem_put(&world.files, "ledger", ledger.data, ledger.len);
        dpot_client *client = world_open(&world);
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world_status(client).n_dropped_lost, 1);
        dpot_client_close(client);
    }
    cr_assert_eq(world.n_received, 0);
    free(spool.data);
    free(ledger.data);
}

Test(opening, a_round_that_is_named_twice_exhausts_the_budget)
{
    live(1, 0);
    const struct copy spool = copy_file("spool");
    memcpy(spool.data + spool.len, spool.data + 256, 256);
    test_filesystem_put(&world.files, "spool", spool.data, spool.len + 256);
    assert_exhausted();
    free(spool.data);
}

Test(opening, many_rounds_compact_the_spool_and_lose_nothing)
{
    authority_extend(&authority, 100, DPOT_EPSILON_ONE / 8);
    dpot_client *client = world_enroll(&world);
    size_t longest = 0, len = 0;
    for (uint32_t round = 0; round < 100; round++) {
        world.clock.now_ms = OPENS_MS + round * DAY_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s",
                     dpot_client_last_error(client));
        if (round % 3 > 0) {
            cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
        }
        (void)test_filesystem_cached(&world.files, "spool", &len);
        longest = len > longest ? len : longest;
    }
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_accepted, 100);
    assert_conserved(&status);
    cr_assert_leq(longest, 256 + 33 * 256);
    cr_assert_eq(world.n_received, 100);
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
    cr_assert_eq(open_and_look().n_accepted, 100);
}

/* ---- several handles ---- */

Test(opening, a_handle_sees_what_another_has_done_meanwhile)
{
    dpot_client *app = world_enroll(&world), *extension = world_open(&world);
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(world_submit(&world, app, NULL), DPOT_OK);
    cr_assert_eq(world_submit(&world, extension, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_PENDING);
    cr_assert_eq(world_pump(&world, extension, NULL), DPOT_OK);
    cr_assert_eq(world_submit(&world, app, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_DONE);
    cr_assert_eq(world_pump(&world, app, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(app);
    dpot_client_close(extension);
}

Test(opening, a_handle_sees_a_report_that_another_made_under_its_old_charge)
{
    dpot_client *client = world_enroll(&world);
    world_stop_before_report(&world, client, TEST_KILL);
    dpot_client *app = world_open(&world), *extension = world_open(&world);
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(world_submit(&world, app, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_RESUMED);
    /* The ledger has not changed since the extension read it; the spool has. */
    cr_assert_eq(world_submit(&world, extension, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_PENDING);
    cr_assert_eq(world_pump(&world, extension, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(app);
    dpot_client_close(extension);
}

/* ---- poison ---- */

Test(opening, a_disk_error_after_charging_began_poisons_the_handle_until_it_is_opened_again)
{
    /* Of a submit: slot write, sync, folder; charge write, sync, folder; report write, sync. */
    for (size_t n = 1; n <= 8; n++) {
        world_release(&world);
        world_init(&world, &authority, n);
        dpot_client *client = world_enroll(&world);
        test_filesystem_cut_at(&world.files, n, n % 2);
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_POISONED);
        test_filesystem_restart(&world.files, TEST_KILL);
        struct dpot_client_status status = {.struct_size = sizeof status};
        const size_t n_operations = world.files.n_operations;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_POISONED);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_POISONED);
        cr_assert_eq(dpot_client_get_status(client, &status), DPOT_ERR_POISONED);
        cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_POISONED);
        cr_assert_eq(world.files.n_operations, n_operations);
        cr_assert_eq(world.n_received, 0);
        dpot_client_close(client);
        client = world_open(&world);
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world.n_received, 1);
        cr_assert_eq(world_status(client).n_submitted, 1);
        dpot_client_close(client);
    }
}

/* ---- the hardware counter ---- */

static struct hardware hardware;

static void add_counter(void)
{
    hardware_init(&hardware);
    world.config.counter = &hardware.counter;
}

Test(opening, with_a_counter_a_restored_copy_of_both_files_exhausts_the_budget)
{
    add_counter();
    live(1, 1);
    const struct copy ledger = copy_file("ledger"), spool = copy_file("spool");
    world.clock.now_ms = OPENS_MS + DAY_MS;
    dpot_client *client = world_open(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
    cr_assert_eq(hardware.value, 4); /* two for each report */
    test_filesystem_put(&world.files, "ledger", ledger.data, ledger.len);
    test_filesystem_put(&world.files, "spool", spool.data, spool.len);
    assert_exhausted();
    free(ledger.data);
    free(spool.data);
}

Test(opening, with_a_counter_a_spool_from_before_the_report_exhausts_the_budget)
{
    add_counter();
    dpot_client *client = world_enroll(&world);
    world_stop_before_report(&world, client, TEST_KILL);
    const struct copy spool = copy_file("spool");
    client = world_open(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
    test_filesystem_put(&world.files, "spool", spool.data, spool.len);
    assert_exhausted(); /* otherwise it would be sampled a second time */
    free(spool.data);
}

Test(opening, with_a_counter_a_reinstall_is_not_a_fresh_budget)
{
    add_counter();
    live(1, 1);
    world_release(&world);
    world_init(&world, &authority, 2);
    world.config.counter = &hardware.counter;
    assert_exhausted();
    hardware.value = 0;
    cr_assert_eq(open_and_look().is_exhausted, 0);
}

Test(opening, a_file_one_ahead_of_the_counter_is_a_crash_and_goes_on)
{
    add_counter();
    live(1, 0);
    hardware.value--;
    const struct dpot_client_status status = open_and_look();
    cr_assert_eq(status.is_exhausted, 0);
    cr_assert_eq(hardware.value, 2);
    hardware.value -= 2;
    assert_exhausted();
}

Test(opening, a_folder_with_a_counter_is_refused_without_it_and_not_touched)
{
    add_counter();
    live(2, 1);
    world.config.counter = NULL;
    for (size_t i = 0; i < 2; i++) {
        const size_t n_operations = world.files.n_operations;
        dpot_client *client = NULL;
        char text[400];
        cr_assert_eq(dpot_client_open(&world.config, &client, text, sizeof text),
                     DPOT_ERR_ARGUMENT);
        cr_assert_null(client);
        cr_assert_not_null(strstr(text, "hardware counter"), "%s", text);
        cr_assert_eq(world.files.n_operations, n_operations);
    }
    world.config.counter = &hardware.counter;
    const struct dpot_client_status status = open_and_look();
    cr_assert_eq(status.is_exhausted, 0);
    cr_assert_eq(status.n_submitted, 2);
}

Test(opening, compaction_keeps_the_largest_counter_value)
{
    add_counter();
    authority_extend(&authority, 40, DPOT_EPSILON_ONE / 8);
    live(40, 40);
    size_t len = 0;
    (void)test_filesystem_cached(&world.files, "spool", &len);
    cr_assert_lt(len, 40 * 256);
    const struct dpot_client_status status = open_and_look();
    cr_assert_eq(status.is_exhausted, 0);
    cr_assert_eq(status.n_accepted, 40);
}

Test(opening, the_version_is_that_of_the_header)
{
    cr_assert_str_eq(dpot_version(), DPOT_VERSION);
}

/* The files of a device, byte for byte: a later version must read what this one wrote. The hashes
 * were made by device_files.py, from the layout alone. */
#include "storage/ledger.h"
#include "storage/spool.h"
#include "support/filesystem.h"

#include <criterion/criterion.h>
#include <string.h>

static struct test_filesystem files;
static struct dpot_install install;
static struct dpot_ledger ledger;
static struct dpot_spool spool;

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    test_filesystem_init(&files, 1);
    dpot_install_init_key(&install, NULL, 0);
    for (size_t i = 0; i < sizeof install.id; i++) {
        install.id[i] = (uint8_t)i;
    }
    dpot_ledger_init(&ledger, &files.filesystem, NULL, &install);
    dpot_spool_init(&spool, &files.filesystem, NULL, &install);
}

static void tear_down(void)
{
    dpot_ledger_release(&ledger);
    dpot_spool_release(&spool);
    test_filesystem_release(&files);
}

TestSuite(format, .init = set_up, .fini = tear_down);

static struct dpot_key key_of(uint32_t round)
{
    struct dpot_key key = {.round = round};
    memset(key.campaign_hash, 0xab, sizeof key.campaign_hash);
    return key;
}

static struct dpot_charge charge_of(uint32_t round, int64_t time_ms)
{
    struct dpot_charge charge = {.key = key_of(round), .cost = {1, 2, 3, 4}, .time_ms = time_ms};
    memset(charge.signer, 0xcd, sizeof charge.signer);
    memset(charge.campaign_id, 0xef, sizeof charge.campaign_id);
    return charge;
}

static void assert_hash(const char *name, size_t expected_len, const char *expected)
{
    uint8_t hash[DPOT_HASH_LEN];
    char hex[2 * DPOT_HASH_LEN + 1];
    size_t len = 0;
    const uint8_t *data = test_filesystem_durable(&files, name, &len);
    cr_assert_eq(len, expected_len);
    dpot_hash(hash, data, len);
    dpot_hex_encode(hex, hash, sizeof hash);
    cr_assert_str_eq(hex, expected, "%s: %s", name, hex);
}

Test(format, a_ledger_of_two_charges_a_resume_and_a_done_is_these_bytes)
{
    struct dpot_charge first = charge_of(0, 1000), second = charge_of(1, 2000);
    second.revision = 7; /* the first is of an older release */
    second.horizon_ms = 2064;
    cr_assert_eq(dpot_ledger_create(&ledger, 1, 7), DPOT_OK);
    cr_assert_eq(dpot_ledger_open_file(&ledger), DPOT_OK);
    cr_assert_eq(dpot_ledger_load(&ledger), DPOT_OK);
    cr_assert_eq(dpot_ledger_charge(&ledger, &first, 8), DPOT_OK);
    cr_assert_eq(dpot_ledger_charge(&ledger, &second, 9), DPOT_OK);
    cr_assert_eq(dpot_ledger_resume(&ledger, 1, 2500, 2564, 10), DPOT_OK);
    cr_assert_eq(dpot_ledger_finish(&ledger, 0, DPOT_DONE_DROPPED_AGE, 3000, 10), DPOT_OK);
    assert_hash(DPOT_LEDGER_NAME, 256 + 4 * 192,
                "219610ab450eeb2f07088205a39e0f22093e2cf68de13f3c1917da00d8d43150");

    cr_assert_eq(dpot_ledger_load(&ledger), DPOT_OK);
    cr_assert_eq(ledger.n_charges, 2);
    cr_assert_eq(ledger.charges[0].done, DPOT_DONE_DROPPED_AGE);
    cr_assert_eq(ledger.charges[1].done, DPOT_DONE_NOT_YET);
    cr_assert_eq(ledger.charges[0].revision, 0);
    cr_assert_eq(ledger.charges[1].revision, 7);
    cr_assert_eq(ledger.charges[1].cost.rho_q32, 3);
    cr_assert_eq(ledger.charges[1].cost.n_gaussian, 4);
    cr_assert_eq(ledger.latest_ms, 2000, "an end does not move device time");
    cr_assert_eq(ledger.charges[0].horizon_ms, 0);
    cr_assert_eq(ledger.charges[1].horizon_ms, 2564);
    cr_assert_eq(ledger.charges[0].n_readings, 1);
    cr_assert_eq(ledger.charges[1].n_readings, 2);
    cr_assert_eq(ledger.horizon_ms, 2564);
    cr_assert_eq(ledger.counter, 10);
    cr_assert_eq(ledger.sums.spent.epsilon_q32, 2);
    cr_assert_eq(dpot_sums_spent_after(&ledger.sums, 1000).delta_q64, 2);
    cr_assert_eq(dpot_sums_spent_after(&ledger.sums, 999).delta_q64, 4);
}

Test(format, a_withdrawal_and_a_grant_are_these_bytes)
{
    struct dpot_charge first = charge_of(0, 1000);
    cr_assert_eq(dpot_ledger_create(&ledger, 1, 7), DPOT_OK);
    cr_assert_eq(dpot_ledger_open_file(&ledger), DPOT_OK);
    cr_assert_eq(dpot_ledger_load(&ledger), DPOT_OK);
    cr_assert_eq(dpot_ledger_charge(&ledger, &first, 8), DPOT_OK);
    cr_assert_eq(dpot_ledger_set_consent(&ledger, true, 2000, 8), DPOT_OK);
    cr_assert_eq(dpot_ledger_load(&ledger), DPOT_OK);
    cr_assert(ledger.is_withdrawn);
    cr_assert_eq(dpot_ledger_set_consent(&ledger, false, 3000, 8), DPOT_OK);
    assert_hash(DPOT_LEDGER_NAME, 256 + 3 * 192,
                "6e102cd58fffee7f758a0cad6e019a5012fa4854523252457a36dad58b00d0ae");
    cr_assert_eq(dpot_ledger_load(&ledger), DPOT_OK);
    cr_assert_not(ledger.is_withdrawn);
    cr_assert_eq(ledger.latest_ms, 1000, "nor does consent move device time");
    cr_assert_eq(ledger.n_charges, 1);
}

Test(format, a_spool_of_empty_filled_and_free_slots_is_these_bytes)
{
    const struct dpot_report report = {.id = {1, 2, 3}, .index = 5, .group = 6, .test = true};
    struct dpot_slot_name name = {.campaign_id = {9}, .closes_ms = 86400000};
    cr_assert_eq(dpot_spool_create(&spool, 7), DPOT_OK);
    cr_assert_eq(dpot_spool_open_file(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
    for (uint32_t round = 0; round < 4; round++) { /* the first is of an older release */
        const struct dpot_slot_name draws = {.report_id = {1, 2, 3}};
        name.has_draws = round > 0;
        memcpy(name.report_id, draws.report_id, sizeof name.report_id);
        name.delay_ms = 1500;
        name.report_len_max = 40;
        name.key = key_of(round);
        cr_assert_eq(dpot_spool_append(&spool, &name), DPOT_OK);
    }
    cr_assert_eq(dpot_spool_fill(&spool, 1, &report, 8), DPOT_OK);
    cr_assert_eq(dpot_spool_fill(&spool, 2, &report, 9), DPOT_OK);
    cr_assert_eq(dpot_spool_acknowledge(&spool, 2), DPOT_OK);
    cr_assert_eq(dpot_spool_repair(&spool), DPOT_OK);
    assert_hash(DPOT_SPOOL_NAME, 256 + 4 * 256,
                "032c67d6d72f1ded247ee020b9efeb97385367be77212293138d76d7ac945433");

    cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
    cr_assert_eq(spool.n_slots, 4);
    cr_assert_eq(spool.slots[0].content, DPOT_SLOT_EMPTY);
    cr_assert_eq(spool.slots[1].content, DPOT_SLOT_REPORT);
    cr_assert_eq(spool.slots[2].content, DPOT_SLOT_FREE);
    cr_assert_eq(spool.slots[1].report.index, 5);
    cr_assert_eq(spool.slots[1].report.group, 6);
    cr_assert_eq(spool.slots[1].report.test, true);
    cr_assert_not(spool.slots[0].name.has_draws);
    cr_assert(spool.slots[1].name.has_draws);
    cr_assert_eq(spool.slots[1].name.report_id[2], 3);
    cr_assert_eq(spool.slots[1].name.delay_ms, 1500);
    cr_assert_eq(spool.slots[1].name.report_len_max, 40);
    cr_assert_eq(spool.slots[3].content, DPOT_SLOT_EMPTY);
    cr_assert_eq(spool.slots[1].name.closes_ms, 86400000);
    cr_assert_eq(spool.counter, 8); /* 9 went with its report; the ledger has it */
}

Test(format, an_acknowledged_report_leaves_no_trace_in_its_slot)
{
    const struct dpot_report report = {.id = {0xfe, 0xdc, 0xba, 0x98}, .index = 5};
    const struct dpot_slot_name name = {.key = key_of(0)};
    cr_assert_eq(dpot_spool_create(&spool, 0), DPOT_OK);
    cr_assert_eq(dpot_spool_open_file(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_append(&spool, &name), DPOT_OK);
    cr_assert_eq(dpot_spool_fill(&spool, 0, &report, 0), DPOT_OK);
    cr_assert_eq(dpot_spool_acknowledge(&spool, 0), DPOT_OK);
    size_t len = 0;
    const uint8_t *data = test_filesystem_cached(&files, DPOT_SPOOL_NAME, &len);
    for (size_t i = 0; i + 4 <= len; i++) {
        cr_assert_neq(memcmp(data + i, report.id, 4), 0);
    }
}

/* Drawn delays are at least 1: nothing is divided by 0. */
Test(format, draws_without_a_delay_are_damage)
{
    const struct dpot_slot_name name = {.key = key_of(0), .closes_ms = 1, .has_draws = true};
    cr_assert_eq(dpot_spool_create(&spool, 0), DPOT_OK);
    cr_assert_eq(dpot_spool_open_file(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_append(&spool, &name), DPOT_OK);
    cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
    cr_assert_eq(spool.slots[0].content, DPOT_SLOT_BROKEN);
}

/* A slot of 40 values is three units: its name, 32 values, the rest. */
Test(format, a_slot_of_values_is_as_long_as_they_are_and_reads_back)
{
    int64_t values[40];
    for (int i = 0; i < 40; i++) {
        values[i] = i % 2 ? INT64_MIN + i : INT64_MAX - i;
    }
    const struct dpot_report report = {.id = {7}, .n_values = 40, .values = values};
    struct dpot_slot_name name = {.key = key_of(0), .closes_ms = 1, .n_values = 40};
    cr_assert_eq(dpot_slot_len(40), 768);
    cr_assert_eq(dpot_spool_create(&spool, 0), DPOT_OK);
    cr_assert_eq(dpot_spool_open_file(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_append(&spool, &name), DPOT_OK);
    name = (struct dpot_slot_name){.key = key_of(1), .closes_ms = 1};
    cr_assert_eq(dpot_spool_append(&spool, &name), DPOT_OK);
    cr_assert_eq(dpot_spool_fill(&spool, 0, &report, 6), DPOT_OK);
    bool is_current = false;
    cr_assert_eq(dpot_spool_is_current(&spool, &is_current), DPOT_OK);
    cr_assert(is_current);
    cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
    cr_assert_eq(spool.n_slots, 2);
    cr_assert_eq(spool.slots[0].content, DPOT_SLOT_REPORT);
    cr_assert_eq(spool.slots[0].report.n_values, 40);
    cr_assert_eq(memcmp(spool.slots[0].report.values, values, sizeof values), 0);
    cr_assert_eq(spool.slots[1].content, DPOT_SLOT_EMPTY);
    cr_assert_eq(spool.slots[1].offset, 256 + 768);
}

/* Every byte of a filled slot counts: flipping one breaks this slot and leaves its neighbour. */
Test(format, an_altered_byte_breaks_the_slot_and_not_the_next_one)
{
    int64_t values[40] = {1, 2, 3};
    const struct dpot_report report = {.id = {7}, .n_values = 40, .values = values};
    struct dpot_slot_name name = {
        .key = key_of(0), .closes_ms = 1, .n_values = 40, .has_draws = true, .delay_ms = 9};
    cr_assert_eq(dpot_spool_create(&spool, 0), DPOT_OK);
    cr_assert_eq(dpot_spool_open_file(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_append(&spool, &name), DPOT_OK);
    cr_assert_eq(dpot_spool_fill(&spool, 0, &report, 6), DPOT_OK);
    name = (struct dpot_slot_name){.key = key_of(1), .closes_ms = 1};
    cr_assert_eq(dpot_spool_append(&spool, &name), DPOT_OK);
    size_t len = 0;
    uint8_t copy[256 + 768 + 256];
    memcpy(copy, test_filesystem_cached(&files, DPOT_SPOOL_NAME, &len), sizeof copy);
    cr_assert_eq(len, sizeof copy);
    for (size_t at = 256; at < 256 + 768; at++) {
        copy[at] ^= 0x10;
        dpot_spool_close_file(&spool);
        test_filesystem_put(&files, DPOT_SPOOL_NAME, copy, sizeof copy);
        cr_assert_eq(dpot_spool_open_file(&spool), DPOT_OK);
        cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
        copy[at] ^= 0x10;
        cr_assert_eq(dpot_spool_find(&spool, &(struct dpot_key){.round = 9}), SIZE_MAX);
        cr_assert_eq(spool.slots[0].content, DPOT_SLOT_BROKEN, "byte %zu", at);
        const struct dpot_slot *last = &spool.slots[spool.n_slots - 1];
        cr_assert_eq(last->content, DPOT_SLOT_EMPTY, "byte %zu", at);
        cr_assert_eq(last->name.key.round, 1);
    }
}

Test(format, an_append_cut_short_is_torn_and_cut_off)
{
    struct dpot_slot_name name = {.key = key_of(0), .closes_ms = 1, .n_values = 40};
    cr_assert_eq(dpot_spool_create(&spool, 0), DPOT_OK);
    cr_assert_eq(dpot_spool_open_file(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_append(&spool, &name), DPOT_OK);
    size_t len = 0;
    uint8_t copy[256 + 768];
    memcpy(copy, test_filesystem_cached(&files, DPOT_SPOOL_NAME, &len), sizeof copy);
    for (size_t cut = 257; cut < sizeof copy; cut += 37) {
        dpot_spool_close_file(&spool);
        test_filesystem_put(&files, DPOT_SPOOL_NAME, copy, cut);
        cr_assert_eq(dpot_spool_open_file(&spool), DPOT_OK);
        cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
        cr_assert_eq(spool.n_slots, 0, "cut at %zu", cut);
        cr_assert(spool.is_torn);
        cr_assert_eq(dpot_spool_repair(&spool), DPOT_OK);
        (void)test_filesystem_cached(&files, DPOT_SPOOL_NAME, &len);
        cr_assert_eq(len, 256);
    }
}

/* Revisions of one campaign by their hashes: 'a' was charged, then 'b'. */
static struct dpot_charge charge_to(uint8_t hash, uint32_t revision)
{
    struct dpot_charge charge = charge_of(revision, 1000);
    memset(charge.key.campaign_hash, hash, sizeof charge.key.campaign_hash);
    charge.revision = revision;
    return charge;
}

Test(format, an_older_revision_is_found_by_its_number_and_in_old_records_by_its_place)
{
    for (uint32_t newest = 0; newest < 4; newest += 3) { /* 0: records of older releases */
        const struct dpot_charge first = charge_to('a', newest == 0 ? 0 : 2);
        struct dpot_charge second = charge_to('b', newest);
        second.key.round = 9;
        cr_assert_eq(dpot_ledger_create(&ledger, 1, 7), DPOT_OK);
        cr_assert_eq(dpot_ledger_open_file(&ledger), DPOT_OK);
        cr_assert_eq(dpot_ledger_load(&ledger), DPOT_OK);
        cr_assert_eq(dpot_ledger_charge(&ledger, &first, 8), DPOT_OK);
        cr_assert_eq(dpot_ledger_charge(&ledger, &second, 8), DPOT_OK);
        struct dpot_charge asked = charge_to('a', 2);
        cr_assert(dpot_ledger_is_older(&ledger, &asked));
        asked.signer[0] ^= 1;
        cr_assert_not(dpot_ledger_is_older(&ledger, &asked), "of another signer");
        asked = charge_to('b', 3);
        cr_assert_not(dpot_ledger_is_older(&ledger, &asked));
        asked = charge_to('c', 4);
        cr_assert_not(dpot_ledger_is_older(&ledger, &asked));
        asked = charge_to('d', 1); /* never charged: old records do not show it */
        cr_assert_eq(dpot_ledger_is_older(&ledger, &asked), newest != 0);
        dpot_ledger_close_file(&ledger);
    }
}

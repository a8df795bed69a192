/* The files of a device, byte for byte: a later version must read what this one wrote. The hashes
 * were made by device_files.py, from the layout alone. */
#include "ledger.h"
#include "spool.h"
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

Test(format, a_ledger_of_two_charges_and_a_done_is_these_bytes)
{
    struct dpot_charge first = charge_of(0, 1000), second = charge_of(1, 2000);
    cr_assert_eq(dpot_ledger_create(&ledger, 7), DPOT_OK);
    cr_assert_eq(dpot_ledger_open_file(&ledger), DPOT_OK);
    cr_assert_eq(dpot_ledger_load(&ledger), DPOT_OK);
    cr_assert_eq(dpot_ledger_charge(&ledger, &first, 8), DPOT_OK);
    cr_assert_eq(dpot_ledger_charge(&ledger, &second, 9), DPOT_OK);
    cr_assert_eq(dpot_ledger_finish(&ledger, 0, DPOT_DONE_DROPPED_AGE, 3000, 9), DPOT_OK);
    assert_hash(DPOT_LEDGER_NAME, 256 + 3 * 192,
                "a961503790c4247168bd32a9f4ef3a7ea1f754e2f1ecbeabde1a4eaf52441fd4");

    cr_assert_eq(dpot_ledger_load(&ledger), DPOT_OK);
    cr_assert_eq(ledger.n_charges, 2);
    cr_assert_eq(ledger.charges[0].done, DPOT_DONE_DROPPED_AGE);
    cr_assert_eq(ledger.charges[1].done, DPOT_DONE_NOT_YET);
    cr_assert_eq(ledger.charges[1].cost.rho_q32, 3);
    cr_assert_eq(ledger.charges[1].cost.n_gaussian, 4);
    cr_assert_eq(ledger.latest_ms, 3000);
    cr_assert_eq(ledger.counter, 9);
    cr_assert_eq(dpot_ledger_spent(&ledger).epsilon_q32, 2);
    cr_assert_eq(dpot_ledger_spent_after(&ledger, 1000).delta_q64, 2);
    cr_assert_eq(dpot_ledger_spent_after(&ledger, 999).delta_q64, 4);
}

Test(format, a_spool_of_an_empty_a_filled_and_a_free_slot_is_these_bytes)
{
    const struct dpot_report report = {.id = {1, 2, 3}, .index = 5, .group = 6, .test = true};
    struct dpot_slot_name name = {.campaign_id = {9}, .closes_ms = 86400000};
    cr_assert_eq(dpot_spool_create(&spool, 7), DPOT_OK);
    cr_assert_eq(dpot_spool_open_file(&spool), DPOT_OK);
    cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
    for (uint32_t round = 0; round < 3; round++) {
        name.key = key_of(round);
        cr_assert_eq(dpot_spool_append(&spool, &name), DPOT_OK);
    }
    cr_assert_eq(dpot_spool_fill(&spool, 1, &report, 1234, 8), DPOT_OK);
    cr_assert_eq(dpot_spool_fill(&spool, 2, &report, 1234, 9), DPOT_OK);
    cr_assert_eq(dpot_spool_acknowledge(&spool, 2), DPOT_OK);
    cr_assert_eq(dpot_spool_repair(&spool), DPOT_OK);
    assert_hash(DPOT_SPOOL_NAME, 256 + 3 * 256,
                "af5e4d9edaec7e71fe0ae8b7d65076744569928fe7ece369341056df7f1b440a");

    cr_assert_eq(dpot_spool_load(&spool), DPOT_OK);
    cr_assert_eq(spool.n_slots, 3);
    cr_assert_eq(spool.slots[0].content, DPOT_SLOT_EMPTY);
    cr_assert_eq(spool.slots[1].content, DPOT_SLOT_REPORT);
    cr_assert_eq(spool.slots[2].content, DPOT_SLOT_FREE);
    cr_assert_eq(spool.slots[1].report.index, 5);
    cr_assert_eq(spool.slots[1].report.group, 6);
    cr_assert_eq(spool.slots[1].report.test, true);
    cr_assert_eq(spool.slots[1].start_ms, 1234);
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
    cr_assert_eq(dpot_spool_fill(&spool, 0, &report, 0, 0), DPOT_OK);
    cr_assert_eq(dpot_spool_acknowledge(&spool, 0), DPOT_OK);
    size_t len = 0;
    const uint8_t *data = test_filesystem_cached(&files, DPOT_SPOOL_NAME, &len);
    for (size_t i = 0; i + 4 <= len; i++) {
        cr_assert_neq(memcmp(data + i, report.id, 4), 0);
    }
}

/* The curator's ledger: sums, caps, and files that are torn, damaged or missing. */
#include "tool/central/ledger.h"
#include "unit/files/folder.h"

#include "base/crypto.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER 64
#define RECORD 256
#define ONE ((double)LEDGER_ONE)

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    folder_make();
}

TestSuite(ledger, .init = set_up, .fini = folder_remove);

static struct ledger_entry wish_of(const char *name, double epsilon)
{
    struct ledger_entry wish = {.mechanism = "test", .adjacency = ADJACENCY_REPLACE_ONE};
    (void)snprintf(wish.name, sizeof wish.name, "%s", name);
    wish.cost.epsilon = ledger_units(epsilon, ONE);
    wish.cost.rho = ledger_units(epsilon * epsilon / 2, ONE);
    return wish;
}

static struct ledger_cost caps_of(double epsilon)
{
    return (struct ledger_cost){ledger_units(epsilon, ONE), 0, LEDGER_NO_CAP};
}

static dpot_status charge(const char *name, double epsilon, double cap)
{
    struct dpot_error error = {""};
    const struct ledger_entry wish = wish_of(name, epsilon);
    const struct ledger_cost caps = caps_of(cap);
    const dpot_status status =
        ledger_charge(folder_path("l"), &wish, cap > 0 ? &caps : NULL, &error);
    cr_assert(status == DPOT_OK || error.text[0], "a sentence");
    return status;
}

/* Number of charges of the data set; SIZE_MAX: the ledger cannot be read. */
static size_t count(const char *name, double *spent)
{
    struct ledger ledger;
    size_t n = 0;
    if (ledger_read(folder_path("l"), &ledger, NULL) != DPOT_OK) {
        ledger_release(&ledger);
        return SIZE_MAX;
    }
    *spent = 0;
    for (size_t i = 0; i < ledger.n_entries; i++) {
        n += strcmp(ledger.entries[i].name, name) == 0;
    }
    for (size_t i = 0; i < ledger.n_data_sets; i++) {
        if (strcmp(ledger.data_sets[i].name, name) == 0) {
            *spent = (double)ledger.data_sets[i].spent.epsilon / ONE;
            cr_assert_eq(ledger.data_sets[i].n_charges, n);
        }
    }
    ledger_release(&ledger);
    return n;
}

Test(ledger, ten_tenths_fit_a_cap_of_one_and_no_eleventh)
{
    double spent = 0;
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(charge("a", 0.1, i == 0 ? 1 : 0), DPOT_OK, "%d", i);
    }
    cr_assert_eq(charge("a", 0.1, 0), DPOT_ERR_BUDGET);
    cr_assert_eq(charge("a", 4e-12, 0), DPOT_OK, "what is rounded off");
    cr_assert_eq(count("a", &spent), 11);
    cr_assert_float_eq(spent, 1, 1e-8);
}

Test(ledger, each_data_set_has_fixed_caps)
{
    double spent = 0;
    cr_assert_eq(charge("a", 1, 0), DPOT_ERR_IO, "there is no file, and nothing makes one");
    cr_assert_neq(access(folder_path("l"), F_OK), 0);
    cr_assert_eq(charge("a", 1, 2), DPOT_OK);
    cr_assert_eq(charge("b", 1, 0), DPOT_ERR_BUDGET, "a name that is not known");
    cr_assert_eq(charge("b", 3, 2), DPOT_ERR_BUDGET, "the first is beyond its own caps");
    cr_assert_eq(count("b", &spent), 0);
    cr_assert_eq(charge("b", 1, 1), DPOT_OK);
    cr_assert_eq(charge("a", 1, 3), DPOT_ERR_BUDGET, "other caps");
    cr_assert_eq(charge("a", 1, 2), DPOT_OK, "the same again");
    cr_assert_eq(charge("a", 1e-6, 0), DPOT_ERR_BUDGET);
    cr_assert_eq(count("a", &spent), 2);
    cr_assert_eq(spent, 2);
}

Test(ledger, delta_and_rho_have_caps_as_well)
{
    struct ledger_entry wish = wish_of("a", 1);
    wish.cost.delta = ledger_units(1e-6, LEDGER_DELTA_ONE);
    struct ledger_cost caps = caps_of(9);
    cr_assert_eq(ledger_charge(folder_path("l"), &wish, &caps, NULL), DPOT_ERR_BUDGET);
    caps.delta = ledger_units(2e-6, LEDGER_DELTA_ONE);
    cr_assert_eq(ledger_charge(folder_path("l"), &wish, &caps, NULL), DPOT_OK);
    cr_assert_eq(ledger_charge(folder_path("l"), &wish, NULL, NULL), DPOT_OK);
    cr_assert_eq(ledger_charge(folder_path("l"), &wish, NULL, NULL), DPOT_ERR_BUDGET);

    wish = wish_of("b", 1);
    caps = (struct ledger_cost){LEDGER_NO_CAP, LEDGER_NO_CAP, ledger_units(1.2, ONE)};
    cr_assert_eq(ledger_charge(folder_path("l"), &wish, &caps, NULL), DPOT_OK);
    cr_assert_eq(ledger_charge(folder_path("l"), &wish, NULL, NULL), DPOT_OK);
    cr_assert_eq(ledger_charge(folder_path("l"), &wish, NULL, NULL), DPOT_ERR_BUDGET);
}

Test(ledger, a_data_set_has_one_adjacency)
{
    struct ledger_entry wish = wish_of("a", 1);
    cr_assert_eq(charge("a", 1, 9), DPOT_OK);
    wish.adjacency = ADJACENCY_ADD_REMOVE;
    cr_assert_eq(ledger_charge(folder_path("l"), &wish, NULL, NULL), DPOT_ERR_BUDGET);
}

Test(ledger, sums_do_not_wrap_around)
{
    cr_assert_eq(ledger_units(1e300, ONE), LEDGER_NO_CAP - 1);
    struct ledger_entry wish = wish_of("a", 1);
    const struct ledger_cost caps = {LEDGER_NO_CAP - 1, LEDGER_NO_CAP - 1, LEDGER_NO_CAP};
    wish.cost.epsilon = LEDGER_NO_CAP - 2;
    cr_assert_eq(ledger_charge(folder_path("l"), &wish, &caps, NULL), DPOT_OK);
    cr_assert_eq(ledger_charge(folder_path("l"), &wish, &caps, NULL), DPOT_ERR_BUDGET);
}

Test(ledger, names_are_restricted)
{
    static const char *const bad[] = {"", "a b", "a/b", "\xc3\xa4", "a\n"};
    char longest[LEDGER_NAME_SIZE + 1];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_not(ledger_is_name(bad[i]), "%s", bad[i]);
    }
    memset(longest, 'x', sizeof longest);
    longest[LEDGER_NAME_SIZE] = '\0';
    cr_assert_not(ledger_is_name(longest));
    cr_assert(ledger_is_name(longest + 1));
    cr_assert(ledger_is_name("residents-2026.v1_B"));
}

/* ---- files ---- */

static size_t fill(uint8_t *bytes, size_t cap)
{
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(charge("a", 0.5, i == 0 ? 9 : 0), DPOT_OK);
    }
    const size_t len = folder_read("l", bytes, cap);
    cr_assert_eq(len, HEADER + 4 * RECORD); /* BEGIN and three charges */
    return len;
}

Test(ledger, the_next_charge_removes_a_torn_end)
{
    uint8_t bytes[4096];
    const size_t len = fill(bytes, sizeof bytes);
    double spent = 0;
    for (size_t cut = len - RECORD; cut < len; cut += 17) {
        (void)folder_write("l", bytes, cut);
        cr_assert_eq(count("a", &spent), 2, "%zu", cut);
        cr_assert_eq(charge("a", 0.25, 0), DPOT_OK, "%zu", cut);
        cr_assert_eq(count("a", &spent), 3, "%zu", cut);
        cr_assert_eq(spent, 1.25, "%zu", cut);
    }
    /* The length is there but not the bytes, as after a power failure. */
    memset(bytes + len - 100, 0, 100);
    (void)folder_write("l", bytes, len);
    cr_assert_eq(count("a", &spent), 2);
    cr_assert_eq(charge("a", 0.25, 0), DPOT_OK);
    cr_assert_eq(count("a", &spent), 3);
}

Test(ledger, a_file_interrupted_at_its_creation_is_created)
{
    uint8_t bytes[4096];
    double spent = 0;
    (void)fill(bytes, sizeof bytes);
    for (size_t cut = 0; cut <= HEADER; cut += 16) {
        (void)folder_write("l", bytes, cut);
        cr_assert_eq(count("a", &spent), 0, "%zu", cut);
        cr_assert_eq(charge("a", 1, 0), DPOT_ERR_BUDGET, "%zu: no data set has begun", cut);
        cr_assert_eq(charge("a", 1, 4), DPOT_OK, "%zu", cut);
        cr_assert_eq(count("a", &spent), 1, "%zu", cut);
    }
}

Test(ledger, damage_anywhere_else_is_refused_and_nothing_is_written)
{
    static uint8_t bytes[4096], after[4096];
    double spent = 0;
    const size_t len = fill(bytes, sizeof bytes);
    for (size_t at = 0; at < len - RECORD; at += 3) {
        bytes[at] ^= 0x10;
        (void)folder_write("l", bytes, len);
        cr_assert_eq(count("a", &spent), SIZE_MAX, "%zu", at);
        cr_assert_eq(charge("a", 0.5, 0), DPOT_ERR_CORRUPT, "%zu", at);
        cr_assert_eq(charge("a", 0.5, 9), DPOT_ERR_CORRUPT, "%zu", at);
        cr_assert_eq(folder_read("l", after, sizeof after), len);
        cr_assert_arr_eq(bytes, after, len);
        bytes[at] ^= 0x10;
    }
    /* A record is missing in the middle. */
    memmove(bytes + HEADER + RECORD, bytes + HEADER + 2 * RECORD, 2 * RECORD);
    (void)folder_write("l", bytes, len - RECORD);
    cr_assert_eq(charge("a", 0.5, 0), DPOT_ERR_CORRUPT);
}

Test(ledger, a_file_that_is_no_ledger_is_unchanged)
{
    char after[64] = "";
    (void)folder_write("l", "lat,lon\n1,2\n", 12);
    cr_assert_eq(charge("a", 1, 2), DPOT_ERR_CORRUPT);
    cr_assert_eq(folder_read("l", after, sizeof after), 12);
    cr_assert_eq(memcmp(after, "lat,lon\n1,2\n", 12), 0);
    cr_assert_eq(unlink(folder_path("l")), 0);
    cr_assert_eq(mkfifo(folder_path("l"), 0600), 0);
    cr_assert_neq(charge("a", 1, 2), DPOT_OK, "and it does not wait for somebody at the other end");
    cr_assert_eq(unlink(folder_path("l")), 0);
    cr_assert_eq(symlink("elsewhere", folder_path("l")), 0);
    cr_assert_eq(charge("a", 1, 2), DPOT_ERR_IO);
    cr_assert_neq(access(folder_path("elsewhere"), F_OK), 0);
}

/* The curator's ledger on a disk that fails: acknowledged charges are durable after any fault. */
#include "tool/central/ledger.h"
#include "unit/aggregator/faults/walk.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define CHARGES 3
#define REPORTED_CHARGE 'C'
#define REPORTED_BROKEN 'X'

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    walk_make_folders();
}

static void tear_down(void)
{
    fixture_remove(home);
}

TestSuite(ledger_faults, .init = set_up, .fini = tear_down);

static dpot_status charge(struct dpot_error *error)
{
    char path[2 * FIXTURE_PATH_SIZE];
    const struct ledger_entry wish = {.name = "people",
                                      .mechanism = "test",
                                      .adjacency = ADJACENCY_REPLACE_ONE,
                                      .cost = {.epsilon = 1}};
    const struct ledger_cost caps = {2 * CHARGES, 0, LEDGER_NO_CAP};
    (void)snprintf(path, sizeof path, "%s/ledger", folder);
    return ledger_charge(path, &wish, &caps, error);
}

/* Data are read after the charge is acknowledged. After a failure the next run tries again. */
static void scene(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < CHARGES; i++) {
        struct dpot_error error = {""};
        const dpot_status status = charge(&error);
        if (status == DPOT_OK) {
            disk_report(REPORTED_CHARGE);
        } else if ((status != DPOT_ERR_IO && status != DPOT_ERR_NO_SPACE) || !error.text[0]) {
            disk_report(REPORTED_BROKEN);
        }
    }
}

static void validate(void *ctx, const struct disk_outcome *outcome)
{
    (void)ctx;
    char path[2 * FIXTURE_PATH_SIZE];
    struct ledger ledger;
    struct dpot_error error = {""};
    size_t n_reported = 0;
    cr_assert_not(was_reported(outcome, REPORTED_BROKEN), "%s", walk_place);
    for (size_t i = 0; i < outcome->n_reported; i++) {
        n_reported += outcome->reported[i] == REPORTED_CHARGE;
    }
    (void)snprintf(path, sizeof path, "%s/ledger", folder);
    const dpot_status status = ledger_read(path, &ledger, &error);
    cr_assert(status == DPOT_OK || n_reported == 0, "%s: %s", walk_place, error.text);
    cr_assert_neq(status, DPOT_ERR_CORRUPT, "%s: %s", walk_place, error.text);
    cr_assert_geq(ledger.n_entries, n_reported, "%s", walk_place);
    cr_assert_leq(ledger.n_entries, CHARGES, "%s", walk_place);
    ledger_release(&ledger);
    cr_assert_eq(charge(&error), DPOT_OK, "%s, and the next run: %s", walk_place, error.text);
}

Test(ledger_faults, acknowledged_charges_are_durable_and_the_next_run_works)
{
    const struct walk walk = {scene, validate, NULL, NULL, folder};
    cr_log_info("%zu runs", walk_all(&walk, 400));
}

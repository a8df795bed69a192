/* A device on raw flash that submits and sends, with the power ending in any operation of the
 * flash, and again soon after. */
#include "support/flash.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>

#define HOUR_MS ((int64_t)3600 * 1000)

static struct authority authority;
static struct world w;
static struct test_flash flash;
static struct flash_files files;

/* Opening, enrolling, submitting, sending: once the power ends, each call fails. */
static dpot_status live(void)
{
    dpot_client *client = NULL;
    dpot_status status = flash_files_open(&files, &flash.port);
    status = status == DPOT_OK ? dpot_client_open(&w.config, &client, NULL, 0) : status;
    if (status != DPOT_OK) {
        return status;
    }
    status = dpot_client_enroll(client, authority.campaign.id);
    status = status == DPOT_OK ? world_submit(&w, client, NULL) : status;
    status = status == DPOT_OK ? world_pump(&w, client, NULL) : status;
    dpot_client_close(client);
    w.clock.now_ms += HOUR_MS;
    return status;
}

static void live_until_cut(size_t n, enum test_flash_cut cut)
{
    flash.cut = cut;
    flash.cut_at = n;
    (void)!live();
    flash.is_down = false;
}

static void assert_one_charge_and_one_end(void)
{
    flash.cut_at = 0;
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(live(), DPOT_OK, "%s", files.why);
    }
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK);
    dpot_client *client = world_open(&w);
    const struct dpot_client_status s = world_status(client);
    cr_assert_eq(s.is_exhausted, 0);
    cr_assert_eq(s.n_submitted, 1);
    cr_assert_float_eq(s.spent_epsilon, 1, 0);
    cr_assert_eq(s.n_accepted + s.n_duplicate + s.n_dropped_lost, 1);
    cr_assert_eq(s.n_pending, 0);
    assert_conserved(&s);
    cr_assert_eq(world_count_contradictions(&w), 0);
    cr_assert_eq(flash.n_programmed_twice, 0);
    dpot_client_close(client);
}

/* False: the life had fewer than n operations. */
static bool cut_at(size_t n, enum test_flash_cut cut)
{
    world_init(&w, &authority, n);
    test_flash_init(&flash, n);
    w.config.filesystem = &files.filesystem;
    w.network.is_down = &flash.is_down;
    live_until_cut(n, cut);
    const bool is_hit = flash.cut_at == 0;
    live_until_cut(1 + n * 7 % 20, (enum test_flash_cut)(n % TEST_FLASH_CUTS));
    assert_one_charge_and_one_end();
    world_release(&w);
    return is_hit;
}

Test(flash_device, no_cut_of_the_power_counts_a_report_twice_or_charges_less)
{
    authority_init(&authority, 1);
    for (size_t cut = 0; cut < TEST_FLASH_CUTS; cut++) {
        size_t n = 1;
        while (cut_at(n, (enum test_flash_cut)cut)) {
            n++;
        }
        cr_assert_gt(n, 20);
    }
    authority_release(&authority);
}

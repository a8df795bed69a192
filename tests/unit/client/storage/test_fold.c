/* Folding: ten years in a bounded file, with the sums and states of a ledger that never folds. */
#include "client.h"
#include "simulation.h"
#include "storage/ledger.h"
#include "support/allocator.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_MS ((int64_t)3600 * 1000)
#define HOURS_OF_TEN_YEARS 87600
#define N_CAMPAIGNS 3
#define FILE_MAX ((uint64_t)64 << 10)
#define HEAP_MAX ((size_t)32 << 10)

/* ---- ten years ---- */

/* What was charged, one by one. */
struct model {
    struct dpot_privacy costs[HOURS_OF_TEN_YEARS]; /* of the charge in each hour */
    struct dpot_privacy of_campaign[N_CAMPAIGNS];
    uint64_t n_ended[DPOT_DONE_END];
};

static struct dpot_charge charge_of(uint32_t hour)
{
    struct dpot_charge charge = {.time_ms = OPENS_MS + hour * HOUR_MS,
                                 .key = {.round = hour},
                                 .revision = 1 + hour / 8760,
                                 .cost = {1 + hour % 7, hour % 3, 1 + hour % 5, hour % 2}};
    memset(charge.campaign_id, (int)(hour % N_CAMPAIGNS) + 1, sizeof charge.campaign_id);
    memset(charge.key.campaign_hash, (int)charge.revision, sizeof charge.key.campaign_hash);
    charge.key.campaign_hash[0] = charge.campaign_id[0];
    return charge;
}

static struct dpot_privacy sum_after(const struct model *model, uint32_t hours, int64_t after_ms)
{
    struct dpot_privacy sum = {0};
    for (uint32_t h = hours; h > 0 && OPENS_MS + (h - 1) * HOUR_MS > after_ms; h--) {
        sum = dpot_privacy_add(sum, model->costs[h - 1]);
    }
    return sum;
}

static void assert_equal(struct dpot_privacy a, struct dpot_privacy b, uint32_t hour)
{
    cr_assert_arr_eq(&a, &b, sizeof a, "hour %u", (unsigned)hour);
}

/* A window counts everything within it, and nothing that is an eighth of its length older. */
static void assert_windows(const struct dpot_ledger *ledger, const struct model *model,
                           uint32_t hours)
{
    static const int64_t lengths[] = {1, 24, 168, 720, 8760, 50000};
    const int64_t now_ms = OPENS_MS + (hours - 1) * HOUR_MS;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const int64_t length_ms = lengths[i] * HOUR_MS;
        const struct dpot_privacy got = dpot_sums_spent_after(&ledger->sums, now_ms - length_ms);
        const struct dpot_privacy least = sum_after(model, hours, now_ms - length_ms);
        const struct dpot_privacy most =
            sum_after(model, hours, now_ms - length_ms - length_ms / 8 - HOUR_MS);
        cr_assert(dpot_privacy_within(least, got), "hour %u, window %lld: too little",
                  (unsigned)hours, (long long)lengths[i]);
        cr_assert(dpot_privacy_within(got, most), "hour %u, window %lld: too much", (unsigned)hours,
                  (long long)lengths[i]);
    }
}

static void assert_sums(const struct dpot_ledger *ledger, const struct model *model, uint32_t hours)
{
    static const uint8_t signer[DPOT_SIGN_PUBLIC_LEN];
    assert_equal(ledger->sums.spent, sum_after(model, hours, INT64_MIN), hours);
    for (uint32_t i = 0; i < N_CAMPAIGNS && i < hours; i++) {
        assert_equal(dpot_sums_spent_on(&ledger->sums, signer, charge_of(i).campaign_id),
                     model->of_campaign[i], hours);
    }
    cr_assert_arr_eq(ledger->sums.n_ended, model->n_ended, sizeof model->n_ended);
    assert_windows(ledger, model, hours);
}

/* One hour: a charge, the end of the one two hours ago, a fold when it is time. */
static void live_an_hour(struct dpot_ledger *ledger, struct model *model, uint32_t hour)
{
    static const uint8_t ends[] = {1, 2, 1, DPOT_DONE_DROPPED_AGE, 1, DPOT_DONE_DROPPED_LOST};
    const struct dpot_charge charge = charge_of(hour);
    model->costs[hour] = charge.cost;
    model->of_campaign[hour % N_CAMPAIGNS] =
        dpot_privacy_add(model->of_campaign[hour % N_CAMPAIGNS], charge.cost);
    model->n_ended[DPOT_DONE_NOT_YET]++;
    cr_assert_eq(dpot_ledger_charge(ledger, &charge, 0), DPOT_OK);
    if (hour >= 2) {
        const struct dpot_charge old = charge_of(hour - 2);
        const uint8_t done = ends[hour % sizeof ends];
        const size_t at = dpot_ledger_find(ledger, &old.key);
        cr_assert_neq(at, SIZE_MAX);
        cr_assert_eq(dpot_ledger_finish(ledger, at, done, charge.time_ms, 0), DPOT_OK);
        model->n_ended[DPOT_DONE_NOT_YET]--;
        model->n_ended[done]++;
    }
    if (dpot_ledger_is_foldable(ledger)) {
        cr_assert_eq(dpot_ledger_fold(ledger), DPOT_OK);
    }
}

Test(fold, ten_years_of_hourly_reports_fit_in_64_kB_of_file_and_32_kB_of_memory)
{
    struct dpot_filesystem *files = NULL;
    struct dpot_ledger ledger;
    struct test_allocator heap;
    struct dpot_install install = {.id = {1}};
    struct model *model = calloc(1, sizeof *model);
    uint64_t size = 0, largest = 0;
    cr_assert_not_null(model);
    cr_assert_eq(dpot_init(), DPOT_OK);
    cr_assert_eq(dpot_filesystem_memory_new(NULL, &files), DPOT_OK);
    test_allocator_init(&heap);
    dpot_install_init_key(&install, NULL, 0);
    dpot_ledger_init(&ledger, files, &heap.allocator, &install);
    cr_assert_eq(dpot_ledger_create(&ledger, 1, 0), DPOT_OK);
    cr_assert_eq(dpot_ledger_open_file(&ledger), DPOT_OK);
    cr_assert_eq(dpot_ledger_load(&ledger), DPOT_OK);
    for (uint32_t hour = 0; hour < HOURS_OF_TEN_YEARS; hour++) {
        live_an_hour(&ledger, model, hour);
        cr_assert_eq(files->size(files->ctx, ledger.file, &size), DPOT_OK);
        largest = size > largest ? size : largest;
        if (hour % 997 == 0) {
            cr_assert_eq(dpot_ledger_load(&ledger), DPOT_OK);
            assert_sums(&ledger, model, hour + 1);
        }
    }
    cr_assert_leq(largest, FILE_MAX);
    cr_assert_leq(heap.peak, HEAP_MAX);
    cr_log_info("%llu bytes of file, %zu of memory", (unsigned long long)largest, heap.peak);
    dpot_ledger_release(&ledger);
    dpot_filesystem_memory_free(files);
    cr_assert_eq(heap.bytes, 0);
    free(model);
}

/* ---- the client over a ledger that folds at every occasion ---- */

static struct authority authority;
static struct world world, other;

static void set_up(void)
{
    authority_init(&authority, 40);
    world_init(&world, &authority, 1);
    world_init(&other, &authority, 1);
}

static void tear_down(void)
{
    world_release(&other);
    world_release(&world);
    authority_release(&authority);
}

TestSuite(folded, .init = set_up, .fini = tear_down);

static dpot_client *open_folding(struct world *w)
{
    dpot_client *client = world_open(w);
    dpot_client_fold_after(client, 1);
    return client;
}

static uint64_t fold_end(const dpot_client *client)
{
    return client->journal.ledger.fold_end;
}

Test(folded, status_and_outcomes_are_those_of_a_ledger_that_never_folds)
{
    dpot_client_close(world_enroll(&world));
    dpot_client_close(world_enroll(&other));
    for (uint32_t round = 0; round < 20; round++) {
        enum dpot_submit_outcome outcomes[2][2];
        dpot_client *client = open_folding(&world), *twin = world_open(&other);
        world.clock.now_ms = other.clock.now_ms = OPENS_MS + round * DAY_MS;
        for (size_t i = 0; i < 2; i++) {
            cr_assert_eq(world_submit(&world, client, &outcomes[0][i]), DPOT_OK, "round %u: %s",
                         (unsigned)round, dpot_client_last_error(client));
            cr_assert_eq(world_submit(&other, twin, &outcomes[1][i]), DPOT_OK);
            cr_assert_eq(outcomes[0][i], outcomes[1][i], "round %u", (unsigned)round);
            if (round % 3 != 1) { /* else the report waits */
                cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
                cr_assert_eq(world_pump(&other, twin, NULL), DPOT_OK);
            }
        }
        const struct dpot_client_status folded = world_status(client), plain = world_status(twin);
        assert_conserved(&folded);
        cr_assert_eq(folded.n_submitted, round + 1);
        cr_assert_eq(folded.n_accepted, plain.n_accepted);
        cr_assert_eq(folded.n_pending, plain.n_pending);
        cr_assert_eq(folded.spent_epsilon, plain.spent_epsilon);
        cr_assert_eq(folded.window_spent_epsilon, plain.window_spent_epsilon);
        cr_assert_eq(fold_end(twin), 0);
        cr_assert(round < 3 || fold_end(client) > 0);
        dpot_client_close(client);
        dpot_client_close(twin);
    }
}

Test(folded, a_file_that_is_cut_within_its_sums_counts_as_spent)
{
    size_t len = 0;
    dpot_client_close(world_enroll(&world));
    dpot_client *client = open_folding(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_gt(fold_end(client), 0);
    dpot_client_close(client);
    uint8_t whole[8192];
    const uint8_t *file = test_filesystem_cached(&world.files, DPOT_LEDGER_NAME, &len);
    cr_assert(len > DPOT_HEADER_LEN && len <= sizeof whole);
    memcpy(whole, file, len);
    for (size_t cut = DPOT_HEADER_LEN + 1; cut < len; cut += 61) {
        test_filesystem_put(&world.files, DPOT_LEDGER_NAME, whole, cut);
        client = world_open(&world);
        cr_assert(world_status(client).is_exhausted, "%zu of %zu bytes", cut, len);
        dpot_client_close(client);
    }
    test_filesystem_put(&world.files, DPOT_LEDGER_NAME, whole, len);
    client = world_open(&world);
    cr_assert_not(world_status(client).is_exhausted);
    cr_assert_eq(world_status(client).n_accepted, 1);
    dpot_client_close(client);
}

Test(folded, a_file_that_is_put_back_is_found_by_the_counter)
{
    struct hardware hardware;
    size_t len = 0;
    uint8_t old[8192];
    hardware_init(&hardware);
    world.config.counter = &hardware.counter;
    dpot_client_close(world_enroll(&world));
    for (uint32_t round = 0; round < 3; round++) {
        dpot_client *client = open_folding(&world);
        world.clock.now_ms = OPENS_MS + round * DAY_MS;
        cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
        dpot_client_close(client);
        const uint8_t *file = test_filesystem_cached(&world.files, DPOT_LEDGER_NAME, &len);
        if (round == 1) {
            cr_assert_leq(len, sizeof old);
            memcpy(old, file, len);
        }
    }
    test_filesystem_put(&world.files, DPOT_LEDGER_NAME, old, len);
    test_filesystem_put(&world.files, "spool", old, 0);
    dpot_client *client = world_open(&world);
    cr_assert(world_status(client).is_exhausted);
    dpot_client_close(client);
}

/* The slot of the older revision is free in the cache only: folding makes that durable first. */
Test(folded, a_power_cut_after_reports_of_two_revisions_leaves_no_contradiction)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    authority.campaign.revision++;
    authority_sign(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_fold_after(client, 1);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_gt(fold_end(client), 0);
    cr_assert_eq(world_status(client).n_pending, 0);
    dpot_client_close(client);
    test_filesystem_restart(&world.files, TEST_LOSE_ALL);
    client = world_open(&world);
    cr_assert_not(world_status(client).is_exhausted);
    cr_assert_eq(world_status(client).n_submitted, 2);
    dpot_client_close(client);
}

Test(folded, the_newest_revision_and_the_last_answer_survive)
{
    dpot_client_close(world_enroll(&world));
    const struct dpot_buf first = authority.signed_campaign;
    uint8_t bytes[65536];
    cr_assert_leq(first.len, sizeof bytes);
    memcpy(bytes, first.data, first.len);
    const size_t len = first.len;
    authority.campaign.revision++;
    authority_sign(&authority);
    dpot_client *client = open_folding(&world);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_gt(fold_end(client), 0);
    dpot_client_close(client);
    client = world_open(&world);
    cr_assert_eq(dpot_client_import(client, bytes, len, NULL), DPOT_ERR_EXISTS);
    dpot_client_close(client);
}

/* The folder in memory has few names. */
static void remove_files(const uint8_t *campaign_id)
{
    static const char *const kinds[] = {"campaign", "work"};
    for (size_t i = 0; i < 2; i++) {
        char name[64], hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
        dpot_hex_encode(hex, campaign_id, DPOT_CAMPAIGN_ID_LEN);
        (void)snprintf(name, sizeof name, "%s-%s", kinds[i], hex);
        (void)world.files.filesystem.remove(world.files.filesystem.ctx, name);
    }
}

Test(folded, a_folder_has_place_for_64_campaigns)
{
    dpot_client *client = open_folding(&world);
    for (size_t i = 0; i <= DPOT_LEDGER_CAMPAIGNS_MAX; i++) {
        struct dpot_buf bytes;
        uint8_t id[DPOT_CAMPAIGN_ID_LEN];
        authority.campaign.id[0] = (uint8_t)i;
        authority_sign_campaign(&authority, &authority.campaign, &bytes);
        const bool fits = i < DPOT_LEDGER_CAMPAIGNS_MAX;
        const dpot_status status = dpot_client_import(client, bytes.data, bytes.len, id);
        cr_assert_eq(status, fits ? DPOT_OK : DPOT_ERR_TOO_LARGE, "%zu: %s", i,
                     dpot_client_last_error(client));
        dpot_buf_release(&bytes);
        if (fits) {
            const double place[] = {0.25, 0.5};
            cr_assert_eq(dpot_client_submit_points(client, id, place, NULL, 1,
                                                   authority.campaign.domain.dim, NULL),
                         DPOT_OK, "%zu: %s", i, dpot_client_last_error(client));
            remove_files(id);
        }
    }
    cr_assert_not_null(strstr(dpot_client_last_error(client), "64"));
    dpot_client_close(client);
}

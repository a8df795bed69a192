/* The cap on the spool: what is dropped for a newer report, in which order, of which campaign, and
 * counted. */
#include "storage/journal.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct authority authority;
static struct world world;

/* The cap under which the share of a campaign is n reports. */
#define ROOM_FOR(n) (DPOT_HEADER_LEN + (uint64_t)(n)*DPOT_SPOOL_SHARES * DPOT_SPOOL_UNIT_LEN)

static void set_up(void)
{
    authority_init(&authority, 3);
    authority_extend(&authority, 100, DPOT_EPSILON_ONE / 4);
    world_init(&world, &authority, 1);
    world.config.spool_max_bytes = ROOM_FOR(3);
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(spool_cap, .init = set_up, .fini = tear_down);

static size_t spool_len(void)
{
    size_t len = 0;
    (void)test_filesystem_cached(&world.files, DPOT_SPOOL_NAME, &len);
    return len;
}

static void submit_round(dpot_client *client, uint32_t round)
{
    world.clock.now_ms = OPENS_MS + round * DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
}

/* The rounds that reached the server. */
static bool has_arrived(uint32_t round)
{
    for (size_t i = 0; i < world.n_received; i++) {
        if (world.received[i].round == round) {
            return true;
        }
    }
    return false;
}

Test(spool_cap, the_report_whose_round_closes_first_makes_room_and_is_counted)
{
    struct dpot_pump_result result;
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < 7; round++) {
        submit_round(client, round);
        const struct dpot_client_status s = world_status(client);
        assert_conserved(&s);
        cr_assert_eq(s.n_submitted, round + 1);
        cr_assert_eq(s.n_pending, round < 3 ? round + 1 : 3);
        cr_assert_eq(s.n_dropped_spool, round < 3 ? 0 : round - 2);
        cr_assert_leq(spool_len(), ROOM_FOR(3));
    }
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(result.n_accepted, 3);
    cr_assert_eq(result.n_dropped_spool, 4);
    cr_assert(!has_arrived(3) && has_arrived(4) && has_arrived(5) && has_arrived(6));
    dpot_client_close(client);
    client = world_open(&world);
    cr_assert_eq(world_status(client).n_dropped_spool, 4, "forgotten by a restart");
    dpot_client_close(client);
}

Test(spool_cap, without_a_cap_nothing_makes_room_and_the_default_is_a_cap)
{
    struct dpot_client_config config;
    dpot_client_config_init(&config, sizeof config);
    cr_assert_eq(config.spool_max_bytes, 16u << 20);
    world.config.spool_max_bytes = 0;
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < 25; round++) {
        submit_round(client, round);
    }
    cr_assert_eq(world_status(client).n_pending, 25);
    dpot_client_close(client);
}

Test(spool_cap, a_config_of_an_older_release_has_no_cap)
{
    world.config.spool_max_bytes = ROOM_FOR(1);
    world.config.struct_size = offsetof(struct dpot_client_config, spool_max_bytes);
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < 5; round++) {
        submit_round(client, round);
    }
    cr_assert_eq(world_status(client).n_dropped_spool, 0);
    dpot_client_close(client);
}

Test(spool_cap, answered_reports_free_their_space_and_nothing_is_dropped)
{
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < 30; round++) {
        submit_round(client, round);
        cr_assert_leq(spool_len(), ROOM_FOR(3));
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    }
    const struct dpot_client_status s = world_status(client);
    cr_assert_eq(s.n_accepted, 30);
    cr_assert_eq(s.n_dropped_spool, 0);
    dpot_client_close(client);
}

Test(spool_cap, one_report_fits_under_a_cap_that_was_lowered_later)
{
    dpot_client_close(world_enroll(&world));
    world.config.spool_max_bytes = 1;
    dpot_client *client = world_open(&world);
    for (uint32_t round = 0; round < 3; round++) {
        submit_round(client, round);
        cr_assert_eq(world_status(client).n_pending, 1);
        cr_assert_eq(spool_len(), DPOT_HEADER_LEN + DPOT_SPOOL_UNIT_LEN);
    }
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert(has_arrived(2) && !has_arrived(1));
    dpot_client_close(client);
}

Test(spool_cap, vectors_take_their_length)
{
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    const uint64_t slot = dpot_slot_len(VECTOR_DIM);
    world.config.spool_max_bytes = DPOT_HEADER_LEN + DPOT_SPOOL_SHARES * (3 * slot - 1);
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < 5; round++) {
        submit_round(client, round);
        cr_assert_leq(spool_len(), world.config.spool_max_bytes);
    }
    cr_assert_eq(world_status(client).n_pending, 2);
    cr_assert_eq(world_status(client).n_dropped_spool, 3);
    dpot_client_close(client);
}

/* Another campaign of the same authority, with reports of vectors. */
static void import_vectors(dpot_client *client, uint8_t id[DPOT_CAMPAIGN_ID_LEN])
{
    struct authority other;
    authority_init(&other, 100);
    memcpy(other.sign_secret, authority.sign_secret, sizeof other.sign_secret);
    memcpy(other.pin, authority.pin, sizeof other.pin);
    authority_ask_for_vectors(&other, DPOT_MECHANISM_LAPLACE);
    other.campaign.id[0] ^= 1;
    authority_sign(&other);
    cr_assert_eq(
        dpot_client_import(client, other.signed_campaign.data, other.signed_campaign.len, id),
        DPOT_OK, "%s", dpot_client_last_error(client));
    authority_release(&other);
}

Test(spool_cap, a_campaign_makes_room_among_its_own_reports_only)
{
    static const double vector[VECTOR_DIM] = {1};
    uint8_t vectors[DPOT_CAMPAIGN_ID_LEN];
    world.config.spool_max_bytes = ROOM_FOR(4); /* one vector */
    dpot_client *client = world_enroll(&world);
    import_vectors(client, vectors);
    for (uint32_t round = 0; round < 10; round++) {
        submit_round(client, round);
        cr_assert_eq(dpot_client_submit_vector(client, vectors, vector, VECTOR_DIM, NULL), DPOT_OK);
    }
    cr_assert_eq(world_status(client).n_pending, 5);
    cr_assert_leq(spool_len(), ROOM_FOR(4));
    dpot_client_close(client);
}

Test(spool_cap, a_campaign_whose_report_does_not_fit_is_refused_before_it_is_stored)
{
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    world.config.spool_max_bytes = ROOM_FOR(1);
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_TOO_LARGE);
    cr_assert(strstr(dpot_client_last_error(client), "spool_max_bytes"));
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_NOT_FOUND);
    dpot_client_close(client);
}

Test(spool_cap, a_refused_submit_drops_nothing)
{
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < 3; round++) {
        submit_round(client, round);
    }
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK); /* this round has its report */
    dpot_client_close(client);
    world.config.lifetime_epsilon_cap = 0.75;
    client = world_open(&world);
    world.clock.now_ms = OPENS_MS + 3 * DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_BUDGET);
    cr_assert_eq(world_status(client).n_pending, 3);
    cr_assert_eq(world_status(client).n_dropped_spool, 0);
    dpot_client_close(client);
}

#define N_BEFORE                                                                                   \
    (3 * DPOT_SPOOL_SHARES) /* submits that fill the file; three reports of them wait */

/* One more report is made, with the end of the process or of the power in every operation. */
static bool cut_at(size_t n, enum test_loss loss)
{
    world_release(&world);
    world_init(&world, &authority, n);
    world.config.spool_max_bytes = ROOM_FOR(3);
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < N_BEFORE; round++) {
        submit_round(client, round);
    }
    world.clock.now_ms = OPENS_MS + N_BEFORE * DAY_MS;
    test_filesystem_cut_at(&world.files, n, n % 2);
    (void)!world_submit(&world, client, NULL);
    const size_t n_dropped = N_BEFORE - 3;
    const bool was_cut = world.files.is_down;
    dpot_client_close(client);
    test_filesystem_restart(&world.files, was_cut ? loss : TEST_KILL);
    client = world_open(&world);
    const struct dpot_client_status s = world_status(client);
    cr_assert_eq(s.is_exhausted, 0);
    assert_conserved(&s);
    cr_assert_leq(s.n_dropped_spool, n_dropped + 1);
    cr_assert_eq(s.n_dropped_lost, 0);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    const struct dpot_client_status end = world_status(client);
    assert_conserved(&end);
    cr_assert_eq(end.n_submitted, N_BEFORE + 1);
    cr_assert_eq(end.n_accepted, 3 - end.n_dropped_lost);
    cr_assert_eq(end.n_dropped_spool, n_dropped + 1);
    cr_assert_eq(world_count_contradictions(&world), 0);
    cr_assert_eq(world.n_uncharged, 0);
    cr_assert_leq(spool_len(), ROOM_FOR(3));
    dpot_client_close(client);
    return was_cut;
}

Test(spool_cap, no_cut_while_room_is_made_counts_a_report_twice_or_not_at_all)
{
    static const enum test_loss losses[] = {TEST_KILL, TEST_LOSE_ALL, TEST_LOSE_NONE,
                                            TEST_LOSE_RANDOM, TEST_LOSE_RANDOM};
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        size_t n = 1;
        while (cut_at(n, losses[i])) {
            n++;
        }
        cr_assert_geq(n, 15); /* DONE, the rewriting, slot, charge, report */
    }
}

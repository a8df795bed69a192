/* submitted = accepted + duplicate + rejected + dropped + pending, at every durable state: long
 * lives of random steps, drawn from a seed, with a restart, a kill or a power cut between and
 * inside them; and each end compared with what the server holds. */
#include "base/splitmix.h"
#include "client.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <string.h>

#define HOUR_MS ((int64_t)3600 * 1000)
#define N_ROUNDS 400
#define N_LIVES 400
#define N_STEPS 60

static struct authority authority;
static struct world world;
static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    return splitmix_next(&seed) % below;
}

/* What the server may do with a POST. */
enum conduct {
    WELL,
    LOSES_ANSWER,
    IS_GONE,
    UNAVAILABLE,
    UNAVAILABLE_BUT_STORED,
    BUSY,
    DENIES,
    CALLS_IT_MALFORMED,
    CALLS_IT_CLOSED,
    REJECTS,
    TALKS_NONSENSE_BUT_STORED,
    KEY_EXPIRED,
    N_CONDUCTS
};

static void serve(void *ctx, const struct dpot_http_request *request, struct test_answer *answer)
{
    static const int statuses[N_CONDUCTS] = {
        [UNAVAILABLE] = 503, [UNAVAILABLE_BUT_STORED] = 500, [BUSY] = 429,
        [DENIES] = 403,      [CALLS_IT_MALFORMED] = 400,     [CALLS_IT_CLOSED] = 409,
        [KEY_EXPIRED] = 410};
    enum conduct conduct = (enum conduct)draw(N_CONDUCTS);
    if (conduct == CALLS_IT_CLOSED && draw(5) > 0) {
        conduct = WELL; /* a life ends with it: nothing more is charged to the revision */
    }
    if (strcmp(request->method, "POST") != 0 || conduct == WELL) {
        world_server(ctx, request, answer);
        return;
    }
    if (conduct == LOSES_ANSWER || conduct == UNAVAILABLE_BUT_STORED ||
        conduct == TALKS_NONSENSE_BUT_STORED) {
        world_server(ctx, request, answer);
    }
    answer->failure = conduct == LOSES_ANSWER || conduct == IS_GONE ? DPOT_ERR_NETWORK : DPOT_OK;
    answer->retry_after_s = conduct == BUSY ? (uint32_t)draw(100) : 0;
    answer->status = statuses[conduct] ? statuses[conduct] : 202;
    answer->body_len = 0;
    if (conduct == CALLS_IT_MALFORMED || conduct == CALLS_IT_CLOSED) {
        test_answer_refuse(answer, answer->status, request);
    }
    if (conduct == REJECTS) {
        answer->content_type = "application/x-protobuf";
        const uint8_t receipt[] = {0x0a, 1, (uint8_t)(DPOT_REPORT_REJECTED_MALFORMED + draw(4))};
        memcpy(answer->body, receipt, sizeof receipt);
        answer->body_len = sizeof receipt;
    }
}

static void set_up(void)
{
    authority_init(&authority, 3);
    authority_extend(&authority, N_ROUNDS, DPOT_EPSILON_ONE / 16);
}

static void tear_down(void)
{
    authority_release(&authority);
}

TestSuite(conservation, .init = set_up, .fini = tear_down);

/* How often the server took the report of this key. */
static size_t count_received(const struct dpot_key *key)
{
    size_t n = 0;
    for (size_t i = 0; i < world.n_received; i++) {
        n += world.received[i].round == key->round &&
             memcmp(world.received[i].campaign_hash, key->campaign_hash, DPOT_HASH_LEN) == 0;
    }
    return n;
}

/* What the device counts as counted is there; a duplicate was there before. */
static void assert_both_sides_agree(const dpot_client *client)
{
    const struct dpot_ledger *ledger = &client->journal.ledger;
    for (size_t i = 0; i < ledger->n_charges; i++) {
        const size_t n = count_received(&ledger->charges[i].key);
        cr_assert(ledger->charges[i].done != DPOT_REPORT_ACCEPTED || n == 1, "%zu", n);
        cr_assert(ledger->charges[i].done != DPOT_REPORT_DUPLICATE || n >= 2, "%zu", n);
    }
    for (size_t i = 0; i < world.n_received; i++) {
        struct dpot_key key = {.round = world.received[i].round};
        memcpy(key.campaign_hash, world.received[i].campaign_hash, DPOT_HASH_LEN);
        cr_assert_neq(dpot_ledger_find(ledger, &key), SIZE_MAX, "a report without a charge");
    }
    cr_assert_eq(world_count_contradictions(&world), 0);
    cr_assert_eq(world.n_uncharged, 0);
}

#define N_BINS 15
#define TOKEN_BIN 7 /* for future servers */
#define CLOSED_BIN 8

static void list_bins(const struct dpot_client_status *s, uint64_t bins[N_BINS])
{
    const uint64_t all[N_BINS] = {
        s->n_submitted,       s->n_accepted,          s->n_duplicate,     s->n_rejected_malformed,
        s->n_rejected_range,  s->n_rejected_group,    s->n_rejected_test, s->n_rejected_token,
        s->n_rejected_closed, s->n_dropped_closed,    s->n_dropped_age,   s->n_dropped_malformed,
        s->n_dropped_lost,    s->n_dropped_withdrawn, s->n_dropped_spool};
    memcpy(bins, all, sizeof all);
}

/* No report leaves its bin, whatever restarts. */
static void assert_ends_last(const uint64_t before[N_BINS], const struct dpot_client_status *s)
{
    uint64_t after[N_BINS];
    list_bins(s, after);
    for (size_t i = 0; i < N_BINS; i++) {
        cr_assert_geq(after[i], before[i], "bin %zu", i);
    }
}

static void move_clock(void)
{
    const uint64_t kind = draw(16);
    if (kind == 0) {
        world.clock.now_ms += (int64_t)draw(90) * DAY_MS;
    } else if (kind == 1) {
        world.clock.now_ms -= (int64_t)draw(3) * DAY_MS;
    } else {
        world.clock.now_ms += kind < 10 ? DAY_MS : (int64_t)draw((uint64_t)HOUR_MS);
    }
}

/* One step of an app; whatever it returns, the next follows. */
static void step(dpot_client *client)
{
    const uint64_t kind = draw(24);
    if (kind == 0) {
        (void)!dpot_client_withdraw(client);
    } else if (kind < 4) {
        (void)!dpot_client_grant(client);
    } else if (kind < 10) {
        (void)!world_submit(&world, client, NULL);
    } else if (kind < 15) {
        move_clock();
    } else {
        (void)!world_pump(&world, client, NULL);
    }
}

static dpot_client *restart(dpot_client *client, enum test_loss loss)
{
    dpot_client_close(client);
    test_filesystem_restart(&world.files, loss);
    world.files.cut_at = 0;
    return world_open(&world);
}

/* The process or its power ends in every third step; none, all or part of the unsynced bytes
 * survive. */
static dpot_client *step_and_maybe_end(dpot_client *client)
{
    const bool is_cut = draw(3) == 0;
    if (is_cut) {
        test_filesystem_cut_at(&world.files, 1 + draw(12), draw(2) == 0);
    }
    step(client);
    if (world.files.is_down) {
        return restart(client, (enum test_loss)draw(4));
    }
    world.files.cut_at = 0;
    return draw(4) == 0 ? restart(client, TEST_KILL) : client;
}

static void live(uint64_t number, uint64_t sums[N_BINS])
{
    uint64_t bins[N_BINS] = {0};
    seed = number;
    world_init(&world, &authority, number);
    test_transport_init(&world.network, serve, &world);
    world.network.is_down = &world.files.is_down;
    world.config.spool_max_bytes =
        number % 2 ? 0 : DPOT_HEADER_LEN + DPOT_SPOOL_SHARES * DPOT_SPOOL_UNIT_LEN;
    dpot_client *client = world_enroll(&world);
    for (size_t i = 0; i < N_STEPS && world.n_received < RECEIVED_MAX - 20; i++) {
        client = step_and_maybe_end(client);
        const struct dpot_client_status s = world_status(client);
        cr_assert_eq(s.is_exhausted, 0, "life %llu, step %zu", (unsigned long long)number, i);
        assert_conserved(&s);
        assert_ends_last(bins, &s);
        assert_both_sides_agree(client);
        list_bins(&s, bins);
    }
    for (size_t i = 0; i < N_BINS; i++) {
        sums[i] += bins[i];
    }
    dpot_client_close(client);
    world_release(&world);
}

Test(conservation, every_report_is_in_one_bin_at_every_moment_of_many_lives)
{
    uint64_t sums[N_BINS] = {0};
    for (uint64_t number = 1; number <= N_LIVES; number++) {
        live(number, sums);
    }
    for (size_t i = 0; i < N_BINS; i++) {
        cr_assert(sums[i] > 0 || i == TOKEN_BIN || i == CLOSED_BIN, "no life has come to bin %zu",
                  i);
    }
}

/* The same for the law across both sides: when nothing is pending, the server holds what devices
 * count, and reports that they dropped after they had arrived. */
Test(conservation, the_sums_of_both_sides_meet_when_nothing_is_pending)
{
    for (uint64_t number = 1; number <= N_LIVES / 2; number++) {
        seed = 1000 + number;
        world_init(&world, &authority, number);
        test_transport_init(&world.network, serve, &world);
        dpot_client *client = world_enroll(&world);
        for (size_t i = 0; i < 30; i++) {
            world.clock.now_ms += DAY_MS / 2;
            (void)!world_submit(&world, client, NULL);
            (void)!world_pump(&world, client, NULL);
        }
        world.clock.now_ms += 31 * DAY_MS;
        (void)!world_pump(&world, client, NULL);
        const struct dpot_ledger *ledger = &client->journal.ledger;
        const struct dpot_client_status s = world_status(client);
        size_t n_held = 0, n_dropped_but_held = 0;
        for (size_t i = 0; i < ledger->n_charges; i++) {
            const uint8_t done = ledger->charges[i].done;
            const bool is_held = count_received(&ledger->charges[i].key) > 0;
            n_held += is_held;
            n_dropped_but_held +=
                is_held && done != DPOT_REPORT_ACCEPTED && done != DPOT_REPORT_DUPLICATE;
        }
        assert_conserved(&s);
        cr_assert_eq(s.n_pending, 0);
        cr_assert_eq(s.n_accepted + s.n_duplicate + n_dropped_but_held, n_held);
        dpot_client_close(client);
        world_release(&world);
    }
}

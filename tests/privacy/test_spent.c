/* What was spent stays spent, in the campaign, in the window and over the lifetime of an install,
 * whatever ends a charge: an answer of the server, age, withdrawal, a full spool, a lost slot, a
 * crash at any point. */
#include "unit/client/world.h"

#include "base/buf.h"
#include "proto/wire_report.h"
#include "storage/ledger.h"
#include "storage/spool.h"

#include <criterion/criterion.h>
#include <string.h>

#define ROUNDS 40
#define N_HELD 19                       /* waiting reports; the cap of an install is 20 */
#define LONG_S ((uint64_t)3650 * 86400) /* a window that nothing leaves */
#define N_KINDS 3

/* A charge in every unit. */
enum kind { INDEX, VECTOR, VECTOR_ZCDP };

static struct authority authority;
static struct world world;
static dpot_client *client;
static struct dpot_spending last[3]; /* campaign, window, lifetime: the last values seen */

static void tear_down(void)
{
    dpot_client_close(client);
    client = NULL;
    world_release(&world);
    authority_release(&authority);
}

static void set_up(enum kind kind)
{
    authority_init(&authority, 1);
    authority_extend(&authority, ROUNDS, DPOT_EPSILON_ONE / 4);
    if (kind != INDEX) {
        authority_ask_for_vectors(&authority, DPOT_MECHANISM_GAUSSIAN);
    }
    world_init(&world, &authority, 1);
    struct dpot_client_config *config = &world.config;
    config->window_seconds = LONG_S;
    if (kind == VECTOR_ZCDP) {
        config->accountant = DPOT_ACCOUNTANT_ZCDP;
        config->campaign_epsilon_cap = config->window_epsilon_cap = config->lifetime_epsilon_cap =
            0;
        config->campaign_rho_cap = config->window_rho_cap = config->lifetime_rho_cap = 1000;
    } else {
        config->campaign_delta_cap = config->window_delta_cap = config->lifetime_delta_cap = 0.5;
    }
    memset(last, 0, sizeof last);
    client = world_enroll(&world);
}

static void set_clock(uint32_t round)
{
    world.clock.now_ms = OPENS_MS + round * DAY_MS + 1000;
}

/* ---- what is spent ---- */

static void expect_no_fall(struct dpot_spending *before, struct dpot_spending now, const char *what)
{
    cr_assert(now.epsilon >= before->epsilon && now.delta >= before->delta &&
                  now.rho >= before->rho,
              "%s: %g %g %g after %g %g %g", what, now.epsilon, now.delta, now.rho, before->epsilon,
              before->delta, before->rho);
    *before = now;
}

/* Returns the charges of the install. */
static uint64_t check_spent(void)
{
    const struct dpot_client_status s = world_status(client);
    struct dpot_spending campaign = {.struct_size = sizeof campaign};
    cr_assert_eq(dpot_client_get_campaign_spending(client, authority.campaign.id, &campaign),
                 DPOT_OK);
    expect_no_fall(&last[0], campaign, "campaign");
    expect_no_fall(&last[1],
                   (struct dpot_spending){.epsilon = s.window_spent_epsilon,
                                          .delta = s.window_spent_delta,
                                          .rho = s.window_spent_rho},
                   "window");
    expect_no_fall(&last[2],
                   (struct dpot_spending){
                       .epsilon = s.spent_epsilon, .delta = s.spent_delta, .rho = s.spent_rho},
                   "lifetime");
    assert_conserved(&s);
    cr_assert_eq(last[0].epsilon, last[2].epsilon);
    cr_assert_eq(last[0].rho, last[2].rho);
    return s.n_submitted;
}

/* As many equal charges as rounds. */
static void expect_spent(const struct dpot_spending *one, uint64_t n)
{
    const double times = (double)n;
    cr_assert_eq(check_spent(), n);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_float_eq(last[i].epsilon, times * one->epsilon, 1e-9 * times);
        cr_assert_float_eq(last[i].delta, times * one->delta, 1e-15 * times);
        cr_assert_float_eq(last[i].rho, times * one->rho, 1e-9 * times);
    }
}

/* The first round's charge, whose report is accepted. */
static struct dpot_spending spend_once(void)
{
    set_clock(0);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(check_spent(), 1);
    const struct dpot_spending one = last[0];
    cr_assert_gt(one.epsilon + one.rho, 0);
    set_clock(0);
    world.clock.now_ms += DAY_MS / 2;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    expect_spent(&one, 1);
    return one;
}

/* ---- the server's answers ---- */

static struct {
    int http_status;
    enum dpot_report_status receipt;
} said;

static void answer(void *ctx, const struct dpot_http_request *request, struct test_answer *out)
{
    uint8_t digest[DPOT_HASH_LEN];
    struct dpot_buf receipt;
    if (strcmp(request->method, "POST") != 0) {
        world_server(ctx, request, out);
        return;
    }
    out->status = said.http_status;
    if (said.http_status == 202) {
        dpot_buf_init(&receipt, sizeof out->body, NULL);
        dpot_wire_batch_digest(request->body, request->body_len, digest);
        cr_assert_eq(dpot_wire_receipt_encode(&said.receipt, 1, digest, &receipt), DPOT_OK);
        memcpy(out->body, receipt.data, receipt.len);
        out->body_len = receipt.len;
        dpot_buf_release(&receipt);
    } else {
        test_answer_refuse(out, said.http_status, request);
    }
}

/* In the last minutes of its round, where "closed" says nothing about the revision. */
static void answer_once(uint32_t round, int http_status, enum dpot_report_status receipt)
{
    world.network.server = answer;
    said.http_status = http_status;
    said.receipt = receipt;
    world.clock.now_ms = OPENS_MS + (round + 1) * DAY_MS - 10 * 60 * 1000;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    (void)check_spent();
    world.clock.now_ms += 60 * 1000;
    (void)!world_pump(&world, client, NULL);
    world.network.server = world_server;
}

static void expect_answers_to_keep_charges(enum kind kind)
{
    static const int statuses[] = {400, 401, 403, 404, 408, 409, 410, 413, 429, 500, 503};
    set_up(kind);
    const struct dpot_spending one = spend_once();
    uint32_t round = 1;
    for (int receipt = 1; receipt < DPOT_REPORT_STATUS_END; receipt++) {
        answer_once(round, 202, (enum dpot_report_status)receipt);
        expect_spent(&one, ++round);
    }
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        answer_once(round, statuses[i], 0);
        expect_spent(&one, ++round);
    }
    dpot_client_close(client);
    client = world_open(&world);
    expect_spent(&one, round);
    tear_down();
}

Test(spent, is_unchanged_by_every_answer_of_the_server)
{
    for (int kind = 0; kind < N_KINDS; kind++) {
        expect_answers_to_keep_charges((enum kind)kind);
    }
}

/* ---- other ends ---- */

static void end_by_age(void)
{
    world.clock.now_ms += 40 * DAY_MS;
    (void)!world_pump(&world, client, NULL);
    cr_assert_eq(world_status(client).n_dropped_age, 1);
}

static void end_by_withdrawal(void)
{
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    cr_assert_eq(world_status(client).n_dropped_withdrawn, 1);
    (void)check_spent();
    cr_assert_eq(dpot_client_grant(client), DPOT_OK);
}

/* The report's bytes are damaged. */
static void end_by_damage(void)
{
    size_t len = 0;
    dpot_client_close(client);
    const uint8_t *spool = test_filesystem_cached(&world.files, DPOT_SPOOL_NAME, &len);
    uint8_t *copy = malloc(len);
    cr_assert_not_null(copy);
    memcpy(copy, spool, len);
    memset(copy + len - DPOT_SPOOL_UNIT_LEN + DPOT_SPOOL_BODY_AT, 0xff, 8);
    test_filesystem_put(&world.files, DPOT_SPOOL_NAME, copy, len);
    free(copy);
    client = world_open(&world);
    (void)!world_pump(&world, client, NULL);
    cr_assert_eq(world_status(client).n_dropped_lost, 1);
}

static void expect_end_to_keep_charges(enum kind kind, void (*end)(void))
{
    set_up(kind);
    const struct dpot_spending one = spend_once();
    set_clock(1);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    expect_spent(&one, 2);
    end();
    expect_spent(&one, 2);
    dpot_client_close(client);
    client = world_open(&world);
    expect_spent(&one, 2);
    tear_down();
}

Test(spent, is_unchanged_by_age_withdrawal_and_a_lost_slot)
{
    for (int kind = 0; kind < N_KINDS; kind++) {
        expect_end_to_keep_charges((enum kind)kind, end_by_age);
        expect_end_to_keep_charges((enum kind)kind, end_by_withdrawal);
    }
    expect_end_to_keep_charges(INDEX, end_by_damage);
}

Test(spent, is_unchanged_by_a_full_spool)
{
    for (int kind = 0; kind < N_KINDS; kind++) {
        set_up((enum kind)kind);
        world.config.spool_max_bytes = DPOT_HEADER_LEN + 16 * dpot_slot_len(VECTOR_DIM);
        dpot_client_close(client);
        client = world_open(&world);
        const struct dpot_spending one = spend_once();
        for (uint32_t round = 1; round < N_HELD; round++) {
            set_clock(round);
            cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s",
                         dpot_client_last_error(client));
        }
        expect_spent(&one, N_HELD);
        cr_assert(kind == INDEX || world_status(client).n_dropped_spool > 0);
        tear_down();
    }
}

/* ---- crashes ---- */

/* The power fails in the n-th change of submit and pump. Afterwards the second round has exactly
 * one charge. */
static bool survive_cut(enum kind kind, size_t n, enum test_loss loss)
{
    set_up(kind);
    const struct dpot_spending one = spend_once();
    set_clock(1);
    test_filesystem_cut_at(&world.files, n, n % 2 == 0);
    (void)!world_submit(&world, client, NULL);
    (void)!world_pump(&world, client, NULL);
    const bool is_cut = world.files.is_down;
    dpot_client_close(client);
    test_filesystem_restart(&world.files, is_cut ? loss : TEST_KILL);
    client = world_open(&world);
    cr_assert_leq(check_spent(), 2);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    expect_spent(&one, 2);
    world.clock.now_ms += DAY_MS / 2;
    (void)!world_pump(&world, client, NULL);
    expect_spent(&one, 2);
    tear_down();
    return is_cut;
}

Test(spent, is_unchanged_by_a_crash_anywhere)
{
    static const enum test_loss losses[] = {TEST_KILL, TEST_LOSE_ALL, TEST_LOSE_NONE,
                                            TEST_LOSE_RANDOM};
    for (int kind = 0; kind < N_KINDS; kind++) {
        for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
            size_t n = 1;
            while (survive_cut((enum kind)kind, n, losses[i])) {
                n++;
            }
            cr_assert_geq(n, 9); /* slot, charge, report */
        }
    }
}

/* A device on a POSIX folder whose disk fails, fills up or stops: the promises of the torture test,
 * over real system calls. */
#include "support/disk.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOUR_MS ((int64_t)3600 * 1000)
#define DIGEST_LEN 16
#define N_LOSSES 4

static struct authority authority;
static char folder[256];
static char place[128];

static void set_up(void)
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/dpot-disk-XXXXXX", base ? base : "/tmp");
    cr_assert_not_null(mkdtemp(folder));
    authority_init(&authority, 1);
}

static void tear_down(void)
{
    disk_clear(folder);
    (void)rmdir(folder);
    authority_release(&authority);
}

TestSuite(disk_faults, .init = set_up, .fini = tear_down);

/* What distinguishes reports. */
static void digest(const struct received *r, uint8_t out[DPOT_HASH_LEN])
{
    uint8_t all[sizeof r->report.id + 4 + DPOT_HASH_LEN];
    memcpy(all, r->report.id, sizeof r->report.id);
    memcpy(all + sizeof r->report.id, &r->report.index, 4);
    memcpy(all + sizeof r->report.id + 4, r->values_hash, DPOT_HASH_LEN);
    dpot_hash(out, all, sizeof all);
}

/* The aggregator, which passes each report to the parent process at once. */
static void serve_and_tell(void *ctx, const struct dpot_http_request *request,
                           struct test_answer *answer)
{
    struct world *w = ctx;
    const size_t n = w->n_received;
    world_server(ctx, request, answer);
    for (size_t i = n; i < w->n_received; i++) {
        uint8_t hash[DPOT_HASH_LEN];
        digest(&w->received[i], hash);
        for (size_t k = 0; k < DIGEST_LEN; k++) {
            disk_report(hash[k]);
        }
    }
}

/* One day of an app: after a failure the rest is still tried. */
static void use(struct world *w)
{
    dpot_client *client = NULL;
    if (dpot_client_open(&w->config, &client, NULL, 0) != DPOT_OK) {
        return;
    }
    (void)!dpot_client_enroll(client, authority.campaign.id);
    (void)!world_submit(w, client, NULL);
    (void)!world_pump(w, client, NULL);
    dpot_client_close(client);
}

static void live(void *ctx)
{
    static struct world w;
    struct dpot_filesystem *files = NULL;
    (void)ctx;
    world_init(&w, &authority, 1);
    test_transport_init(&w.network, serve_and_tell, &w);
    if (dpot_filesystem_posix_new(folder, &files) == DPOT_OK) {
        w.config.filesystem = files;
        use(&w);
        w.clock.now_ms += HOUR_MS;
        use(&w);
    }
    dpot_filesystem_posix_free(files);
    world_release(&w);
}

static void validate_status(dpot_client *client)
{
    const struct dpot_client_status s = world_status(client);
    cr_assert_not(s.is_exhausted, "%s", place);
    cr_assert_eq(s.n_submitted, 1, "%s: %d charges", place, (int)s.n_submitted);
    cr_assert_eq(s.spent_epsilon, 1, "%s", place);
    cr_assert_eq(s.n_pending, 0, "%s", place);
    assert_conserved(&s);
}

/* An undisturbed day at the end: one charge, and everything received is one report. */
static void validate(const struct disk_outcome *outcome)
{
    static struct world w;
    struct dpot_filesystem *files = NULL;
    world_init(&w, &authority, 2);
    w.clock.now_ms += 2 * HOUR_MS;
    cr_assert_eq(dpot_filesystem_posix_new(folder, &files), DPOT_OK);
    w.config.filesystem = files;
    dpot_client *client = world_enroll(&w);
    cr_assert_eq(world_submit(&w, client, NULL), DPOT_OK, "%s", place);
    for (size_t i = 0; i < 3; i++) {
        w.clock.now_ms += HOUR_MS;
        cr_assert_eq(world_pump(&w, client, NULL), DPOT_OK, "%s", place);
    }
    validate_status(client);
    dpot_client_close(client);
    dpot_filesystem_posix_free(files);
    for (size_t i = 0; i < w.n_received + outcome->n_reported / DIGEST_LEN; i++) {
        uint8_t first[DPOT_HASH_LEN], other[DPOT_HASH_LEN];
        if (outcome->n_reported > 0) {
            memcpy(first, outcome->reported, DIGEST_LEN);
        } else {
            digest(&w.received[0], first);
        }
        if (i < w.n_received) {
            digest(&w.received[i], other);
        } else {
            memcpy(other, outcome->reported + (i - w.n_received) * DIGEST_LEN, DIGEST_LEN);
        }
        cr_assert_arr_eq(first, other, DIGEST_LEN, "%s: two different reports", place);
    }
    world_release(&w);
}

static void live_and_judge(struct disk_plan plan, struct disk_outcome *outcome)
{
    (void)snprintf(place, sizeof place, "fault %d at %zu, loss %d, seed %llu", (int)plan.fault,
                   plan.at, (int)plan.loss, (unsigned long long)plan.seed);
    disk_clear(folder);
    disk_run(folder, &plan, live, NULL, outcome);
    cr_assert_eq(outcome->failure, 0, "%s: ended with %d", place, outcome->failure);
    validate(outcome);
}

/* Every second operation, the even or the odd ones by the loss. */
static size_t walk(enum disk_fault fault, enum test_loss loss)
{
    struct disk_outcome outcome = {.is_hit = true};
    size_t n = 0;
    for (size_t at = 1 + (size_t)loss % 2; outcome.is_hit; at += 2) {
        live_and_judge((struct disk_plan){.fault = fault, .at = at, .loss = loss, .seed = at},
                       &outcome);
        n++;
    }
    return n;
}

static const enum test_loss losses[N_LOSSES] = {TEST_KILL, TEST_LOSE_ALL, TEST_LOSE_NONE,
                                                TEST_LOSE_RANDOM};

Test(disk_faults, a_sound_disk_and_one_with_short_writes_and_interruptions_give_one_report)
{
    struct disk_outcome outcome;
    live_and_judge((struct disk_plan){.fault = DISK_SOUND}, &outcome);
    cr_assert_eq(outcome.n_reported, DIGEST_LEN);
    cr_assert_gt(outcome.n_operations, 20);
    live_and_judge((struct disk_plan){.fault = DISK_CROOKED, .loss = TEST_LOSE_ALL}, &outcome);
}

Test(disk_faults, a_machine_that_stops_makes_no_second_report)
{
    for (size_t i = 0; i < N_LOSSES; i++) {
        cr_assert_gt(walk(DISK_CUT, losses[i]), 20);
    }
}

Test(disk_faults, nor_does_one_failure_of_any_call_before_the_power_goes)
{
    for (size_t i = 0; i < N_LOSSES; i++) {
        cr_assert_gt(walk(DISK_FAILS, losses[i]), 20);
    }
}

Test(disk_faults, nor_does_a_disk_that_fills_up)
{
    cr_assert_gt(walk(DISK_FULL, TEST_KILL), 20);
    cr_assert_gt(walk(DISK_FULL, TEST_LOSE_RANDOM), 20);
}

Test(disk_faults, a_twin_whose_disk_does_not_sync_is_found)
{
    struct disk_outcome outcome;
    struct dpot_filesystem *files = NULL;
    static struct world w;
    const struct disk_plan plan = {.fault = DISK_SOUND, .loss = TEST_LOSE_ALL, .lies = true};
    disk_clear(folder);
    disk_run(folder, &plan, live, NULL, &outcome);
    cr_assert_eq(outcome.n_reported, DIGEST_LEN);
    world_init(&w, &authority, 2);
    cr_assert_eq(dpot_filesystem_posix_new(folder, &files), DPOT_OK);
    w.config.filesystem = files;
    dpot_client *client = world_open(&w);
    cr_assert_eq(world_status(client).n_submitted, 0); /* a report without a charge */
    dpot_client_close(client);
    dpot_filesystem_posix_free(files);
    world_release(&w);
}

/* A charge is on the disk before a page of data is touched for the first time: the data are in
 * unreadable pages, and the fault handler of the first access examines the disk. */
#define _DEFAULT_SOURCE
#include "unit/client/world.h"

#include "audit/subject.h"
#include "simulation.h"
#include "storage/ledger.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#define N_POINTS 300
#define PAGE 4096
#define REGION (64 * PAGE) /* of every array */
#define N_REGIONS 2        /* data, weights */

static struct authority authority;
static struct world world;
static dpot_client *client;
static double *region[N_REGIONS];

/* The state of the disk when data were first touched since they were hidden. */
static volatile sig_atomic_t n_touches;
static size_t durable_charges, durable_len;
static bool stops_at_touch;

static size_t ledger_len(void)
{
    size_t len = 0;
    (void)test_filesystem_durable(&world.files, DPOT_LEDGER_NAME, &len);
    return len;
}

static size_t count_charges(void)
{
    size_t len = 0, n = 0;
    const uint8_t *ledger = test_filesystem_durable(&world.files, DPOT_LEDGER_NAME, &len);
    for (size_t at = DPOT_HEADER_LEN; ledger && at + DPOT_LEDGER_RECORD_LEN <= len;
         at += DPOT_LEDGER_RECORD_LEN) {
        n += memcmp(ledger + at, "CHRG", 4) == 0;
    }
    return n;
}

static void touch(int number, siginfo_t *info, void *context)
{
    const uintptr_t at = (uintptr_t)info->si_addr;
    (void)context;
    for (size_t i = 0; i < N_REGIONS; i++) {
        const uintptr_t from = (uintptr_t)region[i];
        if (at >= from && at < from + REGION) {
            if (n_touches++ == 0) {
                durable_charges = count_charges();
                durable_len = ledger_len();
                test_filesystem_cut_at(&world.files, stops_at_touch, false);
            }
            (void)mprotect(region[i], REGION, PROT_READ);
            return;
        }
    }
    (void)signal(number, SIG_DFL); /* another fault: it happens again and ends the test */
}

static void show_data(void)
{
    for (size_t i = 0; i < N_REGIONS; i++) {
        cr_assert_eq(mprotect(region[i], REGION, PROT_READ | PROT_WRITE), 0);
    }
}

static void hide_data(void)
{
    n_touches = 0;
    durable_charges = durable_len = 0;
    for (size_t i = 0; i < N_REGIONS; i++) {
        cr_assert_eq(mprotect(region[i], REGION, PROT_NONE), 0);
    }
}

static void make_regions(void)
{
    struct sigaction action = {.sa_sigaction = touch, .sa_flags = SA_SIGINFO};
    (void)sigemptyset(&action.sa_mask);
    cr_assert_eq(sigaction(SIGSEGV, &action, NULL), 0);
    cr_assert_eq(sigaction(SIGBUS, &action, NULL), 0);
    for (size_t i = 0; i < N_REGIONS; i++) {
        void *pages =
            mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert_neq(pages, MAP_FAILED);
        region[i] = pages;
        for (size_t j = 0; j < REGION / sizeof(double); j++) {
            region[i][j] = 1 + (double)(j % 5);
        }
    }
}

/* The campaign of a subject, or the authority's own vectors. */
static void set_up_campaign(const char *name, struct subject *subject)
{
    struct dpot_error error = {{0}};
    struct dpot_campaign *campaign = &authority.campaign;
    cr_assert_eq(subject_init(subject, name, false, &error), DPOT_OK, "%s", error.text);
    authority_init(&authority, 4);
    dpot_campaign_release(campaign);
    *campaign = subject->campaign;
    campaign->opens_ms = OPENS_MS;
    campaign->closes_ms = OPENS_MS + 4 * DAY_MS;
    campaign->rounds = 4;
    subject->campaign = (struct dpot_campaign){0}; /* owned by the authority now */
    authority_sign(&authority);
    world_init(&world, &authority, 1);
    world.config.campaign_delta_cap = world.config.window_delta_cap =
        world.config.lifetime_delta_cap = 0.5;
    client = world_enroll(&world);
    make_regions();
}

static void tear_down(void)
{
    dpot_client_close(client);
    client = NULL;
    world_release(&world);
    authority_release(&authority);
    for (size_t i = 0; i < N_REGIONS; i++) {
        (void)munmap(region[i], REGION);
    }
}

enum call { POINTS, WEIGHTED_POINTS, HISTOGRAM, VECTOR };

static dpot_status submit(enum call call, uint32_t dim, enum dpot_submit_outcome *outcome)
{
    const uint8_t *id = authority.campaign.id;
    if (call == VECTOR) {
        return dpot_client_submit_vector(client, id, region[0], dim, outcome);
    }
    return call == HISTOGRAM
               ? dpot_client_submit_histogram(client, id, region[0], authority.campaign.domain.size,
                                              outcome)
               : dpot_client_submit_points(client, id, region[0], call == POINTS ? NULL : region[1],
                                           N_POINTS, dim, outcome);
}

/* Two rounds: the second charge precedes the second reading. */
static void expect_charge_first(const char *name, enum call call)
{
    struct subject subject;
    set_up_campaign(name, &subject);
    for (size_t round = 0; round < 2; round++) {
        enum dpot_submit_outcome outcome = 0;
        world.clock.now_ms = OPENS_MS + (int64_t)round * DAY_MS + 1000;
        hide_data();
        cr_assert_eq(submit(call, subject.dim, &outcome), DPOT_OK, "%s: %s", name,
                     dpot_client_last_error(client));
        cr_assert_eq(outcome, DPOT_SUBMIT_REPORTED);
        cr_assert_gt(n_touches, 0, "%s: the data were not read", name);
        cr_assert_eq(durable_charges, round + 1, "%s, round %zu: %zu charges on the disk", name,
                     round, durable_charges);
        hide_data(); /* settling does not read them */
        cr_assert_eq(submit(call, subject.dim, &outcome), DPOT_OK);
        cr_assert_eq(outcome, DPOT_SUBMIT_PENDING);
        cr_assert_eq(n_touches, 0, "%s: data were read for a report that is there", name);
    }
    show_data();
    tear_down();
}

Test(first_touch, of_points_comes_after_their_charge)
{
    expect_charge_first("wpm", POINTS);
    expect_charge_first("wpm", WEIGHTED_POINTS);
    expect_charge_first("wpm-exact", WEIGHTED_POINTS);
    expect_charge_first("kpm-sample-first", WEIGHTED_POINTS);
    expect_charge_first("exponential", POINTS);
    expect_charge_first("wpm-sphere", WEIGHTED_POINTS);
}

Test(first_touch, of_a_histogram_comes_after_its_charge)
{
    expect_charge_first("wpm", HISTOGRAM);
    expect_charge_first("kpm-groups", HISTOGRAM);
}

Test(first_touch, of_a_vector_comes_after_its_charge)
{
    expect_charge_first("laplace-l1-ball", VECTOR);
    expect_charge_first("gaussian-dct", VECTOR);
    expect_charge_first("wpm-sphere", VECTOR);
}

/* A refusal reads nothing. */
Test(first_touch, never_comes_when_a_cap_refuses)
{
    struct subject subject;
    set_up_campaign("kpm", &subject);
    dpot_client_close(client);
    world.config.lifetime_epsilon_cap = 0.5;
    client = world_open(&world);
    hide_data();
    cr_assert_eq(submit(POINTS, subject.dim, NULL), DPOT_ERR_BUDGET);
    cr_assert_eq(n_touches, 0);
    show_data();
    tear_down();
}

/* Remembers the first id that is drawn. */
struct noting_source {
    struct dpot_rng_source source;
    bool has_id;
    uint8_t id[DPOT_REPORT_ID_LEN];
};

static void fill_and_note(void *ctx, void *out, size_t len)
{
    struct noting_source *noting = ctx;
    dpot_rng_source_sodium.fill(dpot_rng_source_sodium.ctx, out, len);
    if (len == sizeof noting->id && !noting->has_id) {
        noting->has_id = true;
        memcpy(noting->id, out, len);
    }
}

static struct noting_source noting = {.source = {fill_and_note, &noting, false}};

/* The machine stops when the data are touched: nothing later takes effect. */
static void stop_at_touch(uint32_t dim)
{
    hide_data();
    stops_at_touch = true;
    cr_assert_neq(submit(POINTS, dim, NULL), DPOT_OK);
    stops_at_touch = false;
    cr_assert_gt(n_touches, 0);
    dpot_client_close(client);
    test_filesystem_restart(&world.files, TEST_LOSE_ALL);
    client = world_open(&world);
    dpot_client_set_rng_source(client, &noting.source);
}

/* A second reading needs its own record; a third attempt makes the report without the data, with
 * the id that the first attempt drew. */
Test(first_touch, after_a_crash_comes_once_more_and_after_its_record)
{
    struct subject subject;
    enum dpot_submit_outcome outcome = 0;
    set_up_campaign("kpm", &subject);
    dpot_client_set_rng_source(client, &noting.source);
    stop_at_touch(subject.dim);
    const size_t charged_len = ledger_len();
    cr_assert_eq(count_charges(), 1);
    stop_at_touch(subject.dim);
    cr_assert_gt(durable_len, charged_len, "the second reading is not on the disk");
    cr_assert_eq(count_charges(), 1);
    hide_data();
    cr_assert_eq(submit(POINTS, subject.dim, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_RESUMED);
    cr_assert_eq(n_touches, 0, "the data were read a third time");
    world.clock.now_ms += DAY_MS / 2;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    cr_assert(noting.has_id);
    cr_assert_arr_eq(world.received[0].report.id, noting.id, sizeof noting.id);
    show_data();
    tear_down();
}

/* Silence in real time: whether times of sending distinguish two sets of data, with this machine's
 * clock and real work.
 *
 * A trial is two consecutive submits on a fresh device: the first with one of the two sets, the
 * second always with the same. The observation is the time from the first submit's start to the
 * second report's due time. Two samples of N_TRIALS are compared by the Kolmogorov-Smirnov test at
 * level 10^-5. The same test must distinguish a sample from itself shifted by half of the delay. */
#include "base/buf.h"
#include "base/clock.h"
#include "simulation.h"
#include "storage/journal.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N_TRIALS 200
#define DIFFERENCE_MAX 0.247 /* of two empirical laws of 200: sqrt(-ln(10^-5 / 2) / 200) */
#define N_PLACES 5000
#define HORIZON_AT 152 /* of a CHARGE */
#define DELAY_AT 232   /* of a slot */

static struct authority authority;
static struct dpot_buf signed_second;
static uint8_t second_id[DPOT_CAMPAIGN_ID_LEN];
static double places[N_PLACES];

static void set_up(void)
{
    const struct dpot_clock *clock = dpot_clock_system();
    authority_init(&authority, 3);
    authority.campaign.opens_ms = clock->now(clock->ctx) / 1000 * 1000 - DAY_MS / 2;
    authority.campaign.closes_ms = authority.campaign.opens_ms + 3 * DAY_MS;
    authority.campaign.iterations = 1000;
    authority_sign(&authority);
    struct dpot_campaign second = authority.campaign; /* borrows its arrays */
    second.id[0] ^= 1;
    memcpy(second_id, second.id, sizeof second_id);
    authority_sign_campaign(&authority, &second, &signed_second);
    for (size_t i = 0; i < N_PLACES; i++) {
        places[i] = (double)(i * 7 % 997) / 100;
    }
}

static void tear_down(void)
{
    dpot_buf_release(&signed_second);
    authority_release(&authority);
}

TestSuite(real_time, .init = set_up, .fini = tear_down);

/* The horizon of the last charge, plus the delay of the last slot. */
static int64_t last_due_ms(const struct world *w)
{
    size_t ledger_len = 0, spool_len = 0;
    const uint8_t *ledger = test_filesystem_cached(&w->files, DPOT_LEDGER_NAME, &ledger_len);
    const uint8_t *spool = test_filesystem_cached(&w->files, DPOT_SPOOL_NAME, &spool_len);
    const uint8_t *charge = ledger + ledger_len - DPOT_LEDGER_RECORD_LEN;
    const uint8_t *slot = spool + spool_len - DPOT_SPOOL_UNIT_LEN;
    return (int64_t)dpot_load_u64(charge + HORIZON_AT) + dpot_load_u32(slot + DELAY_AT);
}

static void submit(dpot_client *client, const uint8_t *id, size_t n)
{
    cr_assert_eq(dpot_client_submit_points(client, id, places, NULL, n, 1, NULL), DPOT_OK, "%s",
                 dpot_client_last_error(client));
}

/* The time from the first submit's start, with n places, until the second report is due. */
static double observe(size_t n, uint32_t work_ms)
{
    struct world w;
    const struct dpot_clock *clock = dpot_clock_system();
    world_init(&w, &authority, 1);
    w.config.clock = clock;
    dpot_client *client = world_enroll(&w);
    dpot_client_set_work_time(client, work_ms);
    cr_assert_eq(dpot_client_import(client, signed_second.data, signed_second.len, NULL), DPOT_OK,
                 "%s", dpot_client_last_error(client));
    const int64_t start_ms = clock->now(clock->ctx);
    submit(client, authority.campaign.id, n);
    submit(client, second_id, 1);
    const int64_t due_ms = last_due_ms(&w);
    dpot_client_close(client);
    world_release(&w);
    return (double)(due_ms - start_ms);
}

/* As a device measures it. */
static uint32_t measure_work_ms(void)
{
    struct world w;
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    world_init(&w, &authority, 1);
    w.config.clock = dpot_clock_system();
    dpot_client *client = world_open(&w);
    dpot_client_set_work_time(client, 0);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(dpot_client_get_campaign(client, authority.campaign.id, &info), DPOT_OK);
    dpot_client_close(client);
    world_release(&w);
    return info.work_ms;
}

static double share_below(const double x[N_TRIALS], double value)
{
    size_t n = 0;
    for (size_t i = 0; i < N_TRIALS; i++) {
        n += x[i] <= value;
    }
    return (double)n / N_TRIALS;
}

/* The largest difference of the two empirical laws, with b shifted by later_by. */
static double difference_of(const double a[N_TRIALS], const double b[N_TRIALS], double later_by)
{
    double most = 0;
    for (size_t i = 0; i < N_TRIALS; i++) {
        const double at_a = a[i], at_b = b[i] + later_by;
        most = fmax(most, fabs(share_below(a, at_a) - share_below(b, at_a - later_by)));
        most = fmax(most, fabs(share_below(a, at_b) - share_below(b, at_b - later_by)));
    }
    return most;
}

Test(real_time, the_next_report_is_due_when_it_would_be_after_other_data)
{
    const uint32_t work_ms = measure_work_ms();
    double few[N_TRIALS], many[N_TRIALS];
    for (size_t i = 0; i < N_TRIALS;
         i++) { /* alternating: the machine's load is the same for both */
        few[i] = observe(0, work_ms);
        many[i] = observe(N_PLACES, work_ms);
    }
    cr_assert_lt(difference_of(few, many, 0), DIFFERENCE_MAX);
    const double delay_ms = fmax(SEND_DELAY_MS, 8.0 * work_ms);
    cr_assert_gt(difference_of(few, few, delay_ms / 2), DIFFERENCE_MAX, "it is blind");
}

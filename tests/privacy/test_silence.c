/* Nothing that leaves a device except the contents of its reports depends on its data: 10,080 pairs
 * of data sets in consecutive submits, with lost answers, refusals, restarts and ends of the
 * process at every change of its folder. Exact, with a scripted clock and one random stream. */
#include "privacy/pairs.h"

#include "base/splitmix.h"

#include <criterion/criterion.h>

#define MINUTE_MS ((int64_t)60000)
#define ROUNDS 42 /* of a device: its ledger stays short */
#define N_ANSWERS (sizeof answers / sizeof answers[0])

static struct pairs pairs;

static void tear_down(void)
{
    pairs_release(&pairs);
}

TestSuite(silence, .fini = tear_down);

static const char *const points[] = {"wpm",         "wpm-exact",  "kpm", "wpm-sample-first",
                                     "exponential", "wpm-sphere", NULL};
static const char *const vectors[] = {
    "laplace-box",      "laplace-l1-ball", "laplace-dct", "gaussian-box",
    "gaussian-l2-ball", "gaussian-dct",    NULL};
static const char *const mixture[] = {"kpm-groups", "kpm-large",    "wpm-sphere",
                                      "wpm-exact",  "gaussian-dct", "laplace-l1-ball-large",
                                      NULL};

static const char *const small[] = {"kpm-groups", "wpm-sphere", "wpm-exact", "laplace-l1-ball",
                                    NULL};

/* The server's answer in a round, and the next one if that was not final. */
static const struct scripted_device_answer answers[] = {
    {202, DPOT_REPORT_ACCEPTED},       {202, DPOT_REPORT_ACCEPTED},
    {202, DPOT_REPORT_DUPLICATE},      {202, DPOT_REPORT_ACCEPTED},
    {202, DPOT_REPORT_REJECTED_RANGE}, {0, 0},
    {202, DPOT_REPORT_ACCEPTED},       {503, 0},
    {202, DPOT_REPORT_ACCEPTED},       {400, 0},
    {202, DPOT_REPORT_ACCEPTED},       {410, 0},
};

/* One failure delays reports for less than 20 minutes. */
static void send_all(const struct scripted_device_answer *answer)
{
    pairs_set_answer(&pairs, *answer);
    pairs_send(&pairs);
    if (answer->http_status != 202) {
        pairs_set_answer(&pairs, (struct scripted_device_answer){202, DPOT_REPORT_DUPLICATE});
        pairs_set_clock(&pairs, pairs.device[0].recorder.now_ms + 20 * MINUTE_MS);
        pairs_send(&pairs);
    }
}

/* Consecutive submits to every campaign, sometimes across the end of the round, and a pump at once.
 */
static void live_round(uint32_t round)
{
    const bool is_at_end = round % 6 == 5;
    const int64_t opens_ms = pairs_opens(&pairs, 2 * round);
    const int64_t offset_ms = (int64_t)splitmix_below(&pairs.random, 1000);
    pairs_set_clock(&pairs,
                    is_at_end ? pairs_opens(&pairs, 2 * round + 1) - 1 : opens_ms + offset_ms);
    for (size_t i = 0; i < pairs.n_campaigns; i++) {
        pairs_submit(&pairs, (i + round) % pairs.n_campaigns);
    }
    pairs_pump(&pairs);
    if (round % 10 == 3) {
        pairs_restart(&pairs);
    }
    pairs_set_clock(&pairs, pairs_opens(&pairs, 2 * round + is_at_end) + 2000);
    send_all(&answers[round % N_ANSWERS]);
    pairs_status(&pairs);
    if (round % 10 == 0) {
        pairs_state(&pairs);
    }
    pairs_compare(&pairs);
}

static void live(const char *const *names, size_t n_devices, uint64_t seed)
{
    for (size_t i = 0; i < n_devices; i++) {
        pairs_init(&pairs, names, 2 * ROUNDS + 2, seed + i);
        pairs_open(&pairs);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            live_round(round);
        }
        cr_assert_eq(pairs.n_pairs, ROUNDS * pairs.n_campaigns);
        pairs_release(&pairs);
    }
}

/* 6 x 42 x 6 = 1,512 pairs, */
Test(silence, nothing_but_the_report_depends_on_places)
{
    live(points, 6, 1000);
}

/* 31 x 42 x 6 = 7,812, with less data to read, */
Test(silence, nothing_but_the_report_depends_on_vectors)
{
    live(vectors, 31, 2000);
}

/* 3 x 42 x 6 = 756: 10,080 together. */
Test(silence, nothing_but_the_report_depends_on_the_data_of_a_mixture)
{
    live(mixture, 3, 3000);
}

/* The process ends before the n-th change of its folder; the next one has other data, and its work
 * takes another time. The report has the id that was drawn first. */
static bool survive_cut(const char *const *names, size_t n)
{
    bool is_cut = false;
    pairs_init(&pairs, names, 4, n);
    pairs_open(&pairs);
    for (size_t i = 0; i < 2; i++) {
        pairs.device[i].recorder.cut_at = n;
    }
    pairs_set_clock(&pairs, pairs_opens(&pairs, 0));
    for (size_t i = 0; i < pairs.n_campaigns; i++) {
        pairs_submit(&pairs, i);
    }
    for (size_t i = 0; i < 2; i++) {
        struct recorder *w = &pairs.device[i].recorder;
        is_cut = is_cut || w->is_down;
        w->is_down = false;
        w->cut_at = 0;
    }
    pairs_set_clock(&pairs, pairs_opens(&pairs, 0) + 1000);
    pairs_restart(&pairs);
    for (size_t i = 0; i < pairs.n_campaigns; i++) {
        pairs_submit(&pairs, i);
    }
    pairs_set_clock(&pairs, pairs_opens(&pairs, 0) + 2000);
    send_all(&answers[0]);
    pairs_status(&pairs);
    pairs_compare(&pairs);
    return is_cut;
}

Test(silence, nothing_but_the_report_depends_on_data_when_the_process_ends_anywhere)
{
    size_t n = 1;
    while (survive_cut(small, n)) {
        pairs_release(&pairs);
        n++;
    }
    cr_assert_geq(n, 4 * 7); /* slot, charge and report of every campaign */
}

/* A spool that holds three reports of a campaign: which of them is dropped for a newer one is
 * public. */
Test(silence, what_is_dropped_when_the_spool_is_full_does_not_depend_on_data)
{
    static const char *const names[] = {"laplace-l1-ball", "kpm", NULL};
    pairs_init(&pairs, names, 40, 7);
    pairs.config.spool_max_bytes = 8192;
    pairs_open(&pairs);
    pairs_set_answer(&pairs, (struct scripted_device_answer){0, 0});
    for (uint32_t round = 0; round < 30; round++) {
        pairs_set_clock(&pairs, pairs_opens(&pairs, round));
        pairs_submit(&pairs, 0);
        pairs_submit(&pairs, 1);
        pairs_set_clock(&pairs, pairs_opens(&pairs, round) + MINUTE_MS);
        pairs_status(&pairs);
        pairs_compare(&pairs);
    }
    struct dpot_client_status status = {.struct_size = sizeof status};
    cr_assert_eq(dpot_client_get_status(pairs.device[0].client, &status), DPOT_OK);
    cr_assert_gt(status.n_dropped_spool, 0);
}

/* ---- the recorder detects what it is meant to detect ---- */

static bool is_detected(void (*change)(struct scripted_device *device))
{
    char difference[RECORDER_DIFFERENCE_SIZE];
    static const char *const names[] = {"kpm", NULL};
    pairs_init(&pairs, names, 4, 1);
    pairs_open(&pairs);
    pairs_set_clock(&pairs, pairs_opens(&pairs, 0) + 1);
    change(&pairs.device[1]);
    pairs_submit(&pairs, 0);
    pairs_set_clock(&pairs, pairs_opens(&pairs, 0) + 2000);
    pairs_send(&pairs);
    const bool is_detected =
        recorder_differs(&pairs.device[0].recorder, &pairs.device[1].recorder, difference);
    pairs_release(&pairs);
    return is_detected;
}

static void change_nothing(struct scripted_device *device)
{
    (void)device;
}

static void change_stream(struct scripted_device *device)
{
    scripted_device_seed(device, 99, 99, true);
}

static void change_clock(struct scripted_device *device)
{
    device->recorder.now_ms--;
}

static void change_group(struct scripted_device *device)
{
    struct dpot_error error;
    scripted_device_close(device);
    device->config.send_delay_ms++;
    cr_assert_eq(scripted_device_open(device, &error), DPOT_OK);
}

static void change_folder(struct scripted_device *device)
{
    struct dpot_filesystem *folder = device->folder;
    void *file = NULL;
    cr_assert_eq(folder->open(folder->ctx, "keys", 0, &file), DPOT_OK);
    cr_assert_eq(folder->truncate(folder->ctx, file, 0), DPOT_OK);
    folder->close(folder->ctx, file);
}

Test(silence, a_difference_that_is_not_of_the_data_is_detected)
{
    cr_assert_not(is_detected(change_nothing));
    cr_assert(is_detected(change_stream));
    cr_assert(is_detected(change_clock));
    cr_assert(is_detected(change_group));
    cr_assert(is_detected(change_folder));
}

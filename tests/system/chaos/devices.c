/* Many devices in one process, which may be killed at any moment and started again: each is a
 * folder, and the shipping client over real HTTP.
 *
 *     chaos_devices run PREFIX FIRST N PIN URL_FILE CAMPAIGN...
 *         opens PREFIX-FIRST and the N - 1 folders after it and reports to every campaign whenever
 *         it may, until it is killed
 *     chaos_devices settle PREFIX FIRST N PIN URL_FILE SECONDS
 *         sends what waits, under a clock that is two hours ahead, so that no device waits for its
 *         next try
 *     chaos_devices status PREFIX FIRST N PIN
 *         prints the sums of what their ledgers count, and checks each of them: exit 1 when one
 *         does not add up
 *
 * Every seventh device has room for two reports only, and every eleventh withdraws consent for a
 * while. */
#include "base/crypto.h"

#include <dpot/dpot.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEVICES_MAX 1024
#define CAMPAIGNS_MAX 8
#define PATH_SIZE 512
#define AHEAD_MS INT64_C(7200000)
#define ROUNDS_A_WITHDRAWAL 60 /* turns between two changes of consent */

struct device {
    char folder[PATH_SIZE];
    size_t number;
    struct dpot_filesystem *files;
    dpot_client *client;
    bool is_enrolled[CAMPAIGNS_MAX], is_over[CAMPAIGNS_MAX];
    dpot_status last_refusal; /* the last refusal on standard error */
};

static struct device devices[DEVICES_MAX];
static size_t n_devices;
static uint8_t pin[32], campaigns[CAMPAIGNS_MAX][16];
static size_t n_campaigns;
static char server_url[128];
static struct dpot_transport *network;

static int64_t clock_ahead(void *ctx)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + *(const int64_t *)ctx;
}

static int64_t ahead_ms;
static const struct dpot_clock device_clock = {
    .struct_size = sizeof device_clock, .ctx = &ahead_ms, .now = clock_ahead};

static void pause_ms(long ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* ---- one device ---- */

static void close_device(struct device *d)
{
    dpot_client_close(d->client);
    dpot_filesystem_posix_free(d->files);
    d->client = NULL;
    d->files = NULL;
    memset(d->is_enrolled, 0, sizeof d->is_enrolled);
}

static dpot_status open_device(struct device *d, char *text, size_t size)
{
    struct dpot_client_config config;
    dpot_client_config_init(&config, sizeof config);
    memcpy(config.pin, pin, sizeof config.pin);
    config.server_url = server_url[0] ? server_url : NULL;
    config.campaign_epsilon_cap = config.window_epsilon_cap = config.lifetime_epsilon_cap = 1e6;
    config.window_seconds = 86400;
    config.send_delay_ms = 50;
    config.request_timeout_ms = 3000;
    config.spool_max_bytes = d->number % 7 == 0 ? 2400 : config.spool_max_bytes;
    config.clock = &device_clock;
    config.transport = network;
    dpot_status status = dpot_filesystem_posix_new(d->folder, &d->files);
    config.filesystem = d->files;
    if (status == DPOT_OK) {
        status = dpot_client_open(&config, &d->client, text, size);
    }
    if (status != DPOT_OK) {
        close_device(d);
    }
    return status;
}

/* Prints a refusal unless it is the last one again; reopens a handle whose disk has failed. */
static void heed(struct device *d, dpot_status status)
{
    if (status != DPOT_OK && status != d->last_refusal) {
        d->last_refusal = status;
        (void)fprintf(stderr, "device %zu: %s: %s\n", d->number, dpot_status_name(status),
                      dpot_client_last_error(d->client));
    }
    if (status <= -900) {
        close_device(d);
    }
}

static void report(struct device *d, size_t c)
{
    const double place = (double)((d->number + c) % 8);
    dpot_status status = DPOT_OK;
    if (!d->is_enrolled[c]) {
        status = dpot_client_enroll(d->client, campaigns[c]);
        d->is_enrolled[c] = status == DPOT_OK;
        d->is_over[c] = status == DPOT_ERR_CLOSED; /* requested again after the next start */
    }
    if (d->is_enrolled[c]) {
        status = dpot_client_submit_points(d->client, campaigns[c], &place, NULL, 1, 1, NULL);
        d->is_enrolled[c] = status != DPOT_ERR_CLOSED;
    }
    heed(d, status);
}

static void change_mind(struct device *d, uint64_t turn)
{
    if (d->number % 11 != 5 || turn % ROUNDS_A_WITHDRAWAL != d->number % ROUNDS_A_WITHDRAWAL) {
        return;
    }
    heed(d, turn / ROUNDS_A_WITHDRAWAL % 2 == 0 ? dpot_client_withdraw(d->client)
                                                : dpot_client_grant(d->client));
}

static size_t pump(struct device *d)
{
    struct dpot_pump_result result = {.struct_size = sizeof result};
    heed(d, dpot_client_pump(d->client, 5000, &result));
    return result.n_pending;
}

/* ---- all of them ---- */

_Noreturn static void run(void)
{
    for (uint64_t turn = 0;; turn++) {
        for (size_t i = 0; i < n_devices; i++) {
            struct device *d = &devices[i];
            if (!d->client && open_device(d, NULL, 0) != DPOT_OK) {
                continue; /* a full disk or a temporary failure: retried at the next turn */
            }
            for (size_t c = 0; c < n_campaigns && d->client; c++) {
                if (!d->is_over[c]) {
                    report(d, c);
                }
            }
            if (d->client) {
                (void)pump(d);
            }
            if (d->client) {
                change_mind(d, turn);
            }
        }
        pause_ms(20);
    }
}

static int settle(double seconds)
{
    struct timespec start, now;
    size_t n_pending = 1;
    ahead_ms = AHEAD_MS;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        n_pending = 0;
        for (size_t i = 0; i < n_devices; i++) {
            struct device *d = &devices[i];
            n_pending += d->client || open_device(d, NULL, 0) == DPOT_OK ? pump(d) : 1;
        }
        pause_ms(100);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while (n_pending > 0 && (double)(now.tv_sec - start.tv_sec) < seconds);
    return 0;
}

/* ---- sums ---- */

#define BIN(name)                                                                                  \
    {                                                                                              \
#name, offsetof(struct dpot_client_status, n_##name)                                       \
    }
static const struct {
    const char *name;
    size_t offset;
} bins[] = {BIN(accepted),          BIN(duplicate),         BIN(rejected_malformed),
            BIN(rejected_range),    BIN(rejected_group),    BIN(rejected_test),
            BIN(rejected_token),    BIN(rejected_closed),   BIN(dropped_closed),
            BIN(dropped_age),       BIN(dropped_malformed), BIN(dropped_lost),
            BIN(dropped_withdrawn), BIN(dropped_spool),     BIN(pending)};
#define N_BINS (sizeof bins / sizeof bins[0])

static uint64_t bin_of(const struct dpot_client_status *status, size_t bin)
{
    uint64_t n;
    memcpy(&n, (const char *)status + bins[bin].offset, sizeof n);
    return n;
}

/* Adds the counts of a device; false when they are missing or do not add up. */
static bool add_up(struct device *d, uint64_t *n_submitted, uint64_t sums[N_BINS])
{
    struct dpot_client_status status = {.struct_size = sizeof status};
    char text[400] = "no status";
    uint64_t sum = 0;
    const bool is_counted = open_device(d, text, sizeof text) == DPOT_OK &&
                            dpot_client_get_status(d->client, &status) == DPOT_OK &&
                            !status.is_exhausted;
    for (size_t bin = 0; bin < N_BINS; bin++) {
        sums[bin] += bin_of(&status, bin);
        sum += bin_of(&status, bin);
    }
    *n_submitted += status.n_submitted;
    close_device(d);
    if (!is_counted || sum != status.n_submitted) {
        (void)fprintf(stderr, "%s: submitted %" PRIu64 ", sum %" PRIu64 "%s\n", d->folder,
                      status.n_submitted, sum,
                      status.is_exhausted ? ": the ledger is not trusted" : "");
        return false;
    }
    return true;
}

static int print_status(void)
{
    uint64_t n_submitted = 0, sums[N_BINS] = {0};
    bool is_fine = true;
    for (size_t i = 0; i < n_devices; i++) {
        is_fine = add_up(&devices[i], &n_submitted, sums) && is_fine;
    }
    (void)printf("submitted %" PRIu64 "\n", n_submitted);
    for (size_t bin = 0; bin < N_BINS; bin++) {
        (void)printf("%s %" PRIu64 "\n", bins[bin].name, sums[bin]);
    }
    return is_fine ? 0 : 1;
}

static bool read_url(const char *path)
{
    FILE *file = fopen(path, "r");
    const bool is_read = file && fgets(server_url, sizeof server_url, file);
    if (file) {
        (void)fclose(file);
    }
    server_url[strcspn(server_url, "\n")] = '\0';
    return is_read;
}

static bool take_arguments(int argc, char **argv)
{
    const size_t first = argc > 4 ? strtoul(argv[3], NULL, 10) : 0;
    n_devices = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    for (size_t i = 0; i < n_devices && i < DEVICES_MAX; i++) {
        devices[i].number = first + i;
        (void)snprintf(devices[i].folder, PATH_SIZE, "%s-%zu", argv[2], first + i);
    }
    for (int i = 7; i < argc && n_campaigns < CAMPAIGNS_MAX && strcmp(argv[1], "run") == 0; i++) {
        if (dpot_hex_decode(argv[i], campaigns[n_campaigns++], 16) != DPOT_OK) {
            return false;
        }
    }
    return n_devices > 0 && n_devices <= DEVICES_MAX && argc > 5 &&
           dpot_hex_decode(argv[5], pin, sizeof pin) == DPOT_OK;
}

int main(int argc, char **argv)
{
    if (!take_arguments(argc, argv)) {
        (void)fprintf(stderr, "usage: chaos_devices run|settle|status PREFIX FIRST N PIN ...\n");
        return 2;
    }
    if (strcmp(argv[1], "status") == 0) {
        return print_status();
    }
    if (argc < 8 || !read_url(argv[6]) || dpot_transport_curl_new(NULL, &network) != DPOT_OK) {
        return 2;
    }
    if (strcmp(argv[1], "run") == 0) {
        run();
    }
    return settle(strtod(argv[7], NULL));
}

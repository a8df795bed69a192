/* The cost of one vector report on a device, from submit to sealed bytes: rounds of one campaign
 * (laplace, 784 coordinates), each checked, charged, privatised and spooled through libdpot on a
 * POSIX folder (argument 1, default /tmp), then sealed. CPU time includes that of the fsyncs; the
 * wall clock includes the disk. Median of N_ROUNDS and the tenth and ninetieth percentiles. */
#include "base/clock.h"
#include "base/crypto.h"
#include "dpot/dpot.h"
#include "mechanism/mechanism.h"
#include "proto/wire_campaign.h"
#include "proto/wire_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DIM 784
#define N_ROUNDS 301
#define OPENS_MS ((int64_t)1700000000 * 1000)
#define ROUND_MS 10000

static int64_t device_time_ms = OPENS_MS;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "bench_report: %s failed\n", what);
        exit(1);
    }
}

static int64_t now_ms(void *ctx)
{
    (void)ctx;
    return device_time_ms;
}

static double seconds(clockid_t clock)
{
    struct timespec time;
    (void)clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_line(const char *name, double *ms)
{
    qsort(ms, N_ROUNDS, sizeof *ms, compare);
    printf("%-28s d=%d  median %7.3f ms  p10 %7.3f  p90 %7.3f\n", name, DIM, ms[N_ROUNDS / 2],
           ms[N_ROUNDS / 10], ms[N_ROUNDS * 9 / 10]);
}

static struct dpot_campaign make_campaign(void)
{
    struct dpot_campaign campaign = {
        .id = {1},
        .revision = 1,
        .name = "bench",
        .metric = {.id = DPOT_METRIC_EUCLIDEAN},
        .cost_power = 1,
        .mechanism = DPOT_MECHANISM_LAPLACE,
        .epsilon_q32 = DPOT_EPSILON_ONE / 100,
        .vector = {.set = DPOT_VECTOR_L1_BALL,
                   .dim = DIM,
                   .radius = 131071,
                   .grid_step = 1.0 / 1024,
                   .inverse_step = 1024},
        .noise = {.scale_log2 = 25},
        .rounds = N_ROUNDS,
        .opens_ms = OPENS_MS,
        .closes_ms = OPENS_MS + (int64_t)N_ROUNDS * ROUND_MS,
        .min_pool = 1,
    };
    return campaign;
}

static dpot_client *open_client(const char *folder, const struct dpot_clock *clock,
                                const struct dpot_campaign *campaign)
{
    static struct dpot_client_config config;
    static struct dpot_filesystem *files;
    uint8_t secret[DPOT_SIGN_SECRET_LEN];
    struct dpot_buf bytes, signed_bytes;
    dpot_client *client = NULL;
    char text[400] = "";
    dpot_client_config_init(&config, sizeof config);
    dpot_sign_keypair(config.pin, secret);
    require(dpot_filesystem_posix_new(folder, &files) == DPOT_OK, "opening the folder");
    config.campaign_epsilon_cap = config.window_epsilon_cap = config.lifetime_epsilon_cap = 20;
    config.window_seconds = 1;
    config.filesystem = files;
    config.clock = clock;
    require(dpot_client_open(&config, &client, text, sizeof text) == DPOT_OK, text);
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    dpot_buf_init(&signed_bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    require(dpot_wire_campaign_encode(campaign, &bytes) == DPOT_OK &&
                dpot_wire_campaign_sign(bytes.data, bytes.len, secret, &signed_bytes, NULL) ==
                    DPOT_OK &&
                dpot_client_import(client, signed_bytes.data, signed_bytes.len, NULL) == DPOT_OK,
            "importing the campaign");
    dpot_buf_release(&bytes);
    dpot_buf_release(&signed_bytes);
    return client;
}

/* Values as a report of the campaign has them. */
static void seal_one(const struct dpot_seal_key *key, size_t report_len_max)
{
    static int64_t values[DIM];
    struct dpot_report report = {.n_values = DIM, .values = values};
    const struct dpot_batch batch = {
        .n_reports = 1, .reports = &report, .report_len_max = report_len_max};
    struct dpot_buf out;
    for (int j = 0; j < DIM; j++) {
        values[j] = (int64_t)(((uint32_t)j * 2654435761u) % (1u << 26)) - (1 << 25);
    }
    dpot_buf_init(&out, DPOT_BATCH_BYTES_MAX, NULL);
    require(dpot_wire_batch_seal(&batch, key, &out) == DPOT_OK, "sealing");
    dpot_buf_release(&out);
}

int main(int argc, char **argv)
{
    static double cpu[N_ROUNDS], wall[N_ROUNDS], sealing[N_ROUNDS], vector[DIM];
    char folder[512];
    const struct dpot_clock clock = {.struct_size = sizeof clock, .now = now_ms};
    const struct dpot_campaign campaign = make_campaign();
    struct dpot_seal_key key = {.not_after_ms = INT64_MAX};
    uint8_t secret[DPOT_SEAL_SECRET_LEN];
    require(dpot_init() == DPOT_OK, "libsodium");
    (void)snprintf(folder, sizeof folder, "%s/dpot-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
    require(mkdtemp(folder) != NULL, folder);
    dpot_seal_keypair(key.public_key, secret);
    for (int j = 0; j < DIM; j++) {
        vector[j] = sin(j);
    }
    dpot_client *client = open_client(folder, &clock, &campaign);
    for (int r = 0; r < N_ROUNDS; r++) {
        device_time_ms = OPENS_MS + (int64_t)r * ROUND_MS;
        const double started = seconds(CLOCK_MONOTONIC);
        const double cpu_started = seconds(CLOCK_PROCESS_CPUTIME_ID);
        const dpot_status status =
            dpot_client_submit_vector(client, campaign.id, vector, DIM, NULL);
        require(status == DPOT_OK, dpot_client_last_error(client));
        const double cpu_spooled = seconds(CLOCK_PROCESS_CPUTIME_ID);
        wall[r] = 1e3 * (seconds(CLOCK_MONOTONIC) - started);
        seal_one(&key, dpot_wire_report_len_max(&campaign));
        const double cpu_sealed = seconds(CLOCK_PROCESS_CPUTIME_ID);
        sealing[r] = 1e3 * (cpu_sealed - cpu_spooled);
        cpu[r] = 1e3 * (cpu_sealed - cpu_started);
    }
    dpot_client_close(client);
    print_line("submit and seal, CPU", cpu);
    print_line("  of which sealing, CPU", sealing);
    print_line("submit, wall clock", wall);
    printf("the folder %s may be deleted\n", folder);
    return 0;
}

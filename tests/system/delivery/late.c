/* Opens the folder of a device under a clock that is ahead, and pumps once: whatever is too old by
 * then is dropped. With campaigns, which must be enrolled there, a report is made to each before
 * that.
 *
 *     delivery_late FOLDER PIN DAYS URL [CAMPAIGN...] */
#include <dpot/dpot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now(void *ctx)
{
    struct timespec real;
    (void)clock_gettime(CLOCK_REALTIME, &real);
    return ((int64_t)real.tv_sec + *(const int64_t *)ctx * 86400) * 1000 + real.tv_nsec / 1000000;
}

static int read_hex(const char *text, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; strlen(text) == 2 * n && i < n; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return strlen(text) == 2 * n;
}

static dpot_status report_to(dpot_client *client, const char *campaign)
{
    uint8_t id[16];
    return read_hex(campaign, id, sizeof id)
               ? dpot_client_submit_points(client, id, NULL, NULL, 0, 0, NULL)
               : DPOT_ERR_ARGUMENT;
}

/* Later than both work times and all delays, which are at most eight of them. */
static dpot_status send_all(dpot_client *client)
{
    const struct timespec pause = {.tv_sec = 3};
    struct dpot_pump_result result = {.struct_size = sizeof result};
    (void)nanosleep(&pause, NULL);
    const dpot_status status = dpot_client_pump(client, 20000, &result);
    printf("%zu accepted, %zu pending\n", result.n_accepted, result.n_pending);
    return status;
}

int main(int argc, char **argv)
{
    struct dpot_client_config config;
    struct dpot_filesystem *files = NULL;
    struct dpot_transport *network = NULL;
    dpot_client *client = NULL;
    char text[400] = "";
    dpot_client_config_init(&config, sizeof config);
    if (argc < 5 || !read_hex(argv[2], config.pin, sizeof config.pin)) {
        fprintf(stderr, "usage: delivery_late FOLDER PIN DAYS URL [CAMPAIGN...]\n");
        return 2;
    }
    int64_t days = strtol(argv[3], NULL, 10);
    const struct dpot_clock clock = {.struct_size = sizeof clock, .ctx = &days, .now = now};
    dpot_status status = dpot_filesystem_posix_new(argv[1], &files);
    config.campaign_epsilon_cap = config.window_epsilon_cap = config.lifetime_epsilon_cap = 8;
    config.window_seconds = 86400;
    config.filesystem = files;
    config.clock = &clock;
    config.send_delay_ms = 5;
    if (status == DPOT_OK) {
        status = dpot_transport_curl_new(NULL, &network);
        config.transport = network;
        config.server_url = argv[4];
    }
    if (status == DPOT_OK) {
        status = dpot_client_open(&config, &client, text, sizeof text);
    }
    for (int i = 5; i < argc && status == DPOT_OK; i++) {
        status = report_to(client, argv[i]);
    }
    if (status == DPOT_OK) {
        status = send_all(client);
    }
    if (status != DPOT_OK) {
        fprintf(stderr, "%s: %s\n", dpot_status_name(status),
                client ? dpot_client_last_error(client) : text);
    }
    dpot_client_close(client);
    dpot_transport_curl_free(network);
    dpot_filesystem_posix_free(files);
    return status == DPOT_OK ? 0 : 1;
}

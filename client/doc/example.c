/* One private report of two places: the whole life of libdpot in an app.
 *
 *     cc example.c $(pkg-config --cflags --libs dpot) -o example
 *     ./example URL CAMPAIGN PIN FOLDER
 */
#include <dpot/dpot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Reads 2 * len hexadecimal digits; 0 on success. */
static int read_hex(const char *text, unsigned char *out, size_t len)
{
    if (strlen(text) != 2 * len) {
        return -1;
    }
    for (size_t i = 0; i < len; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        char *end = NULL;
        out[i] = (unsigned char)strtoul(digits, &end, 16);
        if (*end != '\0') {
            return -1;
        }
    }
    return 0;
}

/* Enrolls, reports once, and sends the report when its time has come. */
static dpot_status report_places(dpot_client *client, const unsigned char campaign[16])
{
    static const double places[] = {40.71, -74.01, 34.05, -118.24}; /* (2, 2): lat, lon */
    struct dpot_pump_result result = {.struct_size = sizeof result};
    dpot_status status = dpot_client_enroll(client, campaign);
    if (status == DPOT_OK) {
        status = dpot_client_submit_points(client, campaign, places, NULL, 2, 2, NULL);
    }
    if (status == DPOT_OK) {
        const struct timespec delay = {.tv_sec = 3}; /* an app would call pump now and then */
        (void)nanosleep(&delay, NULL);
        status = dpot_client_pump(client, 10000, &result);
    }
    if (status == DPOT_OK) {
        printf("%zu sent, %zu pending\n", result.n_sent, result.n_pending);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct dpot_client_config config;
    struct dpot_filesystem *files = NULL;
    struct dpot_transport *network = NULL;
    dpot_client *client = NULL;
    unsigned char campaign[16];
    char text[400] = "";

    dpot_client_config_init(&config, sizeof config);
    if (argc != 5 || read_hex(argv[2], campaign, sizeof campaign) != 0 ||
        read_hex(argv[3], config.pin, sizeof config.pin) != 0) {
        fprintf(stderr, "usage: example URL CAMPAIGN PIN FOLDER\n");
        return 2;
    }
    dpot_status status = dpot_filesystem_posix_new(argv[4], &files);
    if (status == DPOT_OK) {
        status = dpot_transport_curl_new(NULL, &network);
    }
    if (status == DPOT_OK) {
        config.server_url = argv[1];
        config.campaign_epsilon_cap = 4;
        config.window_epsilon_cap = 4;
        config.window_seconds = 86400;
        config.lifetime_epsilon_cap = 20;
        config.filesystem = files;
        config.transport = network;
        status = dpot_client_open(&config, &client, text, sizeof text);
    }
    if (status == DPOT_OK) {
        status = report_places(client, campaign);
        (void)snprintf(text, sizeof text, "%s", dpot_client_last_error(client));
    }
    if (status != DPOT_OK) {
        fprintf(stderr, "%s: %s\n", dpot_status_name(status), text);
    }
    dpot_client_close(client);
    dpot_transport_curl_free(network);
    dpot_filesystem_posix_free(files);
    return status == DPOT_OK ? 0 : 1;
}

/* Opens the folder of a device under a clock that is ahead: whatever is too old by then is dropped.
 *
 *     delivery_late FOLDER PIN DAYS */
#include <dpot/dpot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now(void *ctx)
{
    return ((int64_t)time(NULL) + *(const int64_t *)ctx * 86400) * 1000;
}

static int read_pin(const char *text, struct dpot_client_config *config)
{
    for (size_t i = 0; strlen(text) == 64 && i < 32; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        config->pin[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return strlen(text) == 64;
}

int main(int argc, char **argv)
{
    struct dpot_client_config config;
    struct dpot_filesystem *files = NULL;
    dpot_client *client = NULL;
    char text[400] = "";
    dpot_client_config_init(&config, sizeof config);
    if (argc != 4 || !read_pin(argv[2], &config)) {
        fprintf(stderr, "usage: delivery_late FOLDER PIN DAYS\n");
        return 2;
    }
    int64_t days = strtol(argv[3], NULL, 10);
    const struct dpot_clock clock = {.struct_size = sizeof clock, .ctx = &days, .now = now};
    dpot_status status = dpot_filesystem_posix_new(argv[1], &files);
    config.campaign_epsilon_cap = config.window_epsilon_cap = config.lifetime_epsilon_cap = 8;
    config.window_seconds = 86400;
    config.filesystem = files;
    config.clock = &clock;
    if (status == DPOT_OK) {
        status = dpot_client_open(&config, &client, text, sizeof text);
    }
    if (status != DPOT_OK) {
        fprintf(stderr, "%s: %s\n", dpot_status_name(status), text);
    }
    dpot_client_close(client);
    dpot_filesystem_posix_free(files);
    return status == DPOT_OK ? 0 : 1;
}

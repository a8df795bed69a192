/* A device of one campaign, for ports: imports it, submits, and carries its requests by files and a
 * command (exchange.sh); its files are on a flash in memory. Prints what it took.
 *   device PIN CAMPAIGN points|vector SIZE
 * points: SIZE places of the earth; vector: SIZE numbers. */
#include "dpot/dpot.h"
#include "portability/board.h"
#include "support/flash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLOCK_LATE_MS 3600000

static struct test_flash flash BOARD_FLASH;
static struct flash_files files;
static size_t heap, heap_most;
static int64_t waited_ms;

static void must(dpot_status status, const char *what, const char *why)
{
    if (status != DPOT_OK) {
        printf("%s: status %d %s\n", what, (int)status, why);
        exit(1);
    }
}

/* ---- hooks ---- */

static void *resize(void *ctx, void *pointer, size_t old_size, size_t new_size)
{
    (void)ctx;
    void *result = NULL;
    if (new_size == 0) {
        free(pointer);
    } else if (!(result = realloc(pointer, new_size))) {
        return NULL;
    }
    heap += new_size - old_size;
    heap_most = heap > heap_most ? heap : heap_most;
    return result;
}

/* Waiting is a jump of this clock. */
static int64_t now(void *ctx)
{
    (void)ctx;
    return (int64_t)time(NULL) * 1000 + waited_ms;
}

static int64_t monotonic(void *ctx)
{
    (void)ctx;
    return (int64_t)clock() * 1000 / CLOCKS_PER_SEC;
}

static dpot_status fill(void *ctx, void *out, size_t len)
{
    FILE *file = ctx;
    return fread(out, 1, len, file) == len ? DPOT_OK : DPOT_ERR_RANDOM;
}

/* ---- the network ---- */

static size_t read_file(const char *name, void *data, size_t max)
{
    FILE *file = fopen(name, "rb");
    const size_t len = file ? fread(data, 1, max, file) : 0;
    if (file) {
        (void)fclose(file);
    }
    return len;
}

static int exchange(const char *method, const char *path, const void *body, size_t body_len)
{
    char command[200], status[16] = "";
    FILE *file = fopen("body", "wb");
    if (!file || fwrite(body, 1, body_len, file) != body_len || fclose(file) != 0) {
        return 0;
    }
    (void)snprintf(command, sizeof command, "sh exchange.sh %s %s", method, path);
    if (board_run(command) != 0) {
        return 0;
    }
    (void)read_file("status", status, sizeof status - 1);
    return (int)strtoul(status, NULL, 10);
}

static uint8_t answer[65536] BOARD_FLASH;

static void import_campaign(dpot_client *client, const char *id)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/v1/campaigns/%s", id);
    const int status = exchange("GET", path, NULL, 0);
    const size_t len = read_file("answer", answer, sizeof answer);
    must(status == 200 ? DPOT_OK : DPOT_ERR_NETWORK, "campaign", path);
    must(dpot_client_import(client, answer, len, NULL), "import", dpot_client_last_error(client));
}

/* Sends what waits: keys and reports. */
static struct dpot_pump_result send_reports(dpot_client *client)
{
    struct dpot_pump_result result = {.struct_size = sizeof result, .n_pending = 1};
    for (int i = 0; i < 8 && result.n_pending > 0; i++) {
        struct dpot_http_request request = {.struct_size = sizeof request};
        must(dpot_client_next_request(client, &request, &result), "next request",
             dpot_client_last_error(client));
        if (!request.method) {
            waited_ms = result.next_due_ms - now(NULL) + waited_ms;
            continue;
        }
        struct dpot_http_response response = {.struct_size = sizeof response};
        response.status = exchange(request.method, request.url, request.body, request.body_len);
        (void)snprintf(response.content_type, sizeof response.content_type,
                       "application/x-protobuf");
        const size_t len = read_file("answer", answer, sizeof answer);
        must(dpot_client_take_response(client, &response, answer, len, &result), "take response",
             dpot_client_last_error(client));
    }
    return result;
}

/* ---- the device ---- */

static void read_hex(const char *text, uint8_t *out, size_t len)
{
    must(strlen(text) == 2 * len ? DPOT_OK : DPOT_ERR_ARGUMENT, "hexadecimal digits", text);
    for (size_t i = 0; i < len; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

static dpot_status submit(dpot_client *client, const uint8_t id[16], const char *kind, size_t n)
{
    static double data[64];
    if (n > 32) {
        return DPOT_ERR_ARGUMENT;
    }
    for (size_t i = 0; i < n; i++) {
        data[2 * i] = 25 + (double)(i * 7 % 24);
        data[2 * i + 1] = -125 + (double)(i * 11 % 58);
    }
    if (strcmp(kind, "points") == 0) {
        return dpot_client_submit_points(client, id, data, NULL, n, 2, NULL);
    }
    memset(data, 0, sizeof data);
    return dpot_client_submit_vector(client, id, data, (uint32_t)n, NULL);
}

/* One line for each step: the heap and stack it needed at most, in bytes. */
static void begin_step(void)
{
    heap_most = heap;
    board_paint_stack();
}

static void end_step(const char *name)
{
    const size_t stack = board_stack_bytes();
    printf("step %-8s heap %7lu stack %6lu\n", name, (unsigned long)heap_most,
           (unsigned long)stack);
}

static void configure(struct dpot_client_config *config)
{
    static const struct dpot_allocator allocator = {resize, NULL};
    static struct dpot_clock device_clock = {
        .struct_size = sizeof device_clock, .now = now, .monotonic = monotonic};
    dpot_client_config_init(config, sizeof *config);
    config->campaign_epsilon_cap = config->window_epsilon_cap = config->lifetime_epsilon_cap = 8;
    config->window_seconds = 86400;
    config->allocator = &allocator;
    config->clock = &device_clock;
    config->filesystem = &files.filesystem;
    config->work_max_ms = 0;
}

static dpot_client *open_device(const struct dpot_client_config *config)
{
    char text[400] = "";
    dpot_client *client = NULL;
    must(flash_files_open(&files, &flash.port), "flash", files.why);
    must(dpot_client_open(config, &client, text, sizeof text), "open", text);
    return client;
}

int main(int argc, char **argv)
{
    struct dpot_client_config config;
    uint8_t id[16];
    configure(&config);
    must(argc == 5 ? DPOT_OK : DPOT_ERR_ARGUMENT, "usage", "PIN CAMPAIGN points|vector SIZE");
    read_hex(argv[1], config.pin, sizeof config.pin);
    read_hex(argv[2], id, sizeof id);
    FILE *random = fopen("/dev/urandom", "rb");
    const dpot_status source = dpot_random_set(fill, random);
    must(source == DPOT_ERR_STATE ? DPOT_OK : source, "randomness", "");
    test_flash_init(&flash, 1);

    begin_step();
    dpot_client *client = open_device(&config);
    end_step("open");
    begin_step();
    import_campaign(client, argv[2]);
    end_step("import");
    begin_step();
    must(submit(client, id, argv[3], (size_t)strtoul(argv[4], NULL, 10)), "submit",
         dpot_client_last_error(client));
    end_step("submit");
    dpot_client_close(client); /* and switched off */
    client = open_device(&config);
    begin_step();
    const struct dpot_pump_result result = send_reports(client);
    end_step("send");
    dpot_client_close(client);
    printf("accepted %lu of 1, pages programmed %lu, heap left %lu\n",
           (unsigned long)result.n_accepted, (unsigned long)flash.n_operations,
           (unsigned long)heap);
    return result.n_accepted == 1 && heap == 0 ? 0 : 1;
}

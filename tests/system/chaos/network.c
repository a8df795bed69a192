/* A network between many devices and a server that loses answers, resets connections, answers 503,
 * and sends requests twice, at random; and an observer, who has the server's seal keys and logs the
 * traffic.
 *
 *     chaos_network UPSTREAM_FILE URL_FILE SEED KEYS_FOLDER LOG CALM_FILE
 *
 * While CALM_FILE exists everything passes. A line of LOG, for each POST that the server may get
 * and for each receipt that came back from it, written before the device sees any of it:
 *
 *     sent ID ROUND INDEX        a report is being sent
 *     told ID STATUS             the device gets this status
 *     lost ID STATUS             the server answered so; the device will not get it
 *     unread BYTES               a body that none of the keys opens: always a fault */
#include "base/splitmix.h"
#include "keys/keys.h"
#include "proto/wire_report.h"
#include "system/relay.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MAX (1u << 20)
#define LINE_SIZE 128
#define KEY_TRIES 100 /* of 100 ms */

/* The failures of a POST in per cent; the rest passes. */
enum conduct { PASS, LOSE, RESET_AFTER, RESET_BEFORE, SAY_503, SAY_429, TWICE, CUT };
static const struct {
    enum conduct conduct;
    unsigned percent;
} lots[] = {{LOSE, 8},    {RESET_AFTER, 6}, {RESET_BEFORE, 6}, {SAY_503, 5},
            {SAY_429, 2}, {TWICE, 8},       {CUT, 3}};

static const char *upstream_file, *calm_file, *keys_folder;
static int log_fd;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static uint64_t state;

struct connection {
    int device;
    struct relay_request request;
    char answer[ANSWER_MAX];
    size_t answer_len;
    struct dpot_batch batch;
};

/* ---- random numbers ---- */

/* The next number of a sequence that the seed decides. */
static uint64_t draw(void)
{
    (void)pthread_mutex_lock(&mutex);
    const uint64_t lot = splitmix_next(&state);
    (void)pthread_mutex_unlock(&mutex);
    return lot;
}

static enum conduct draw_conduct(void)
{
    unsigned lot = (unsigned)(draw() % 100);
    for (size_t i = 0; i < sizeof lots / sizeof lots[0]; i++) {
        if (lot < lots[i].percent) {
            return lots[i].conduct;
        }
        lot -= lots[i].percent;
    }
    return PASS;
}

/* ---- the observer ---- */

static void write_line(const char *line, int len)
{
    if (write(log_fd, line, (size_t)len) != len) {
        perror("chaos_network: the log");
        abort();
    }
}

/* Keys are added meanwhile, so they are read again for each body. */
static bool try_keys(struct connection *c)
{
    struct server_keys keys;
    uint8_t id[DPOT_SEAL_KEY_ID_LEN];
    struct dpot_error error;
    bool is_open = false;
    if (dpot_wire_batch_key_id(c->request.body, c->request.body_len, id, &error) != DPOT_OK ||
        server_keys_read(keys_folder, &keys, &error) != DPOT_OK) {
        return false;
    }
    for (size_t i = 0; i < keys.n_seal_secrets && !is_open; i++) {
        const struct seal_secret *secret = &keys.seal_secrets[i];
        is_open = memcmp(secret->key.id, id, sizeof id) == 0 &&
                  dpot_wire_batch_open(c->request.body, c->request.body_len, secret->key.public_key,
                                       secret->secret_key, NULL, &c->batch, &error) == DPOT_OK;
    }
    server_keys_wipe(&keys);
    return is_open;
}

/* A device may use a new key before its copy is here, or while it is being written. */
static bool open_body(struct connection *c)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    bool is_open = try_keys(c);
    for (int n = 0; n < KEY_TRIES && !is_open; n++) {
        (void)nanosleep(&pause, NULL);
        is_open = try_keys(c);
    }
    return is_open;
}

static void note_sent(struct connection *c)
{
    char line[LINE_SIZE], id[2 * DPOT_REPORT_ID_LEN + 1];
    if (!open_body(c)) {
        write_line(line, snprintf(line, sizeof line, "unread %zu\n", c->request.body_len));
    }
    for (size_t i = 0; i < c->batch.n_reports; i++) {
        const struct dpot_report *report = &c->batch.reports[i];
        dpot_hex_encode(id, report->id, sizeof report->id);
        write_line(line, snprintf(line, sizeof line, "sent %s %u %u\n", id, c->batch.round,
                                  report->index));
    }
}

static const char *body_of_answer(const struct connection *c)
{
    const char *end = c->answer_len > 12 ? strstr(c->answer, "\r\n\r\n") : NULL;
    return end && strncmp(c->answer + 8, " 202", 4) == 0 ? end + 4 : NULL;
}

/* An incomplete receipt acknowledges nothing. */
static void note_answer(const struct connection *c, const char *word)
{
    enum dpot_report_status statuses[8];
    char line[LINE_SIZE], id[2 * DPOT_REPORT_ID_LEN + 1];
    const size_t n = c->batch.n_reports;
    const char *body = body_of_answer(c);
    if (!body || n > sizeof statuses / sizeof statuses[0] ||
        dpot_wire_receipt_decode(body, c->answer_len - (size_t)(body - c->answer), NULL, NULL,
                                 statuses, n) != DPOT_OK) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        dpot_hex_encode(id, c->batch.reports[i].id, DPOT_REPORT_ID_LEN);
        write_line(line, snprintf(line, sizeof line, "%s %s %s\n", word, id,
                                  dpot_report_status_name(statuses[i])));
    }
}

/* ---- a connection ---- */

static void reset(int device)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(device, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* Forwards to the server; false when the answer may be incomplete. */
static bool ask(struct connection *c)
{
    const int server = relay_pass_on(upstream_file, &c->request);
    ssize_t n = 0;
    c->answer_len = 0;
    if (server < 0) {
        return false;
    }
    while (c->answer_len < ANSWER_MAX - 1 &&
           (n = read(server, c->answer + c->answer_len, ANSWER_MAX - 1 - c->answer_len)) > 0) {
        c->answer_len += (size_t)n;
    }
    c->answer[c->answer_len] = '\0';
    (void)close(server);
    return c->answer_len > 0;
}

static void answer(struct connection *c, enum conduct conduct)
{
    const bool is_delivered = conduct == PASS || conduct == TWICE;
    note_answer(c, is_delivered ? "told" : "lost");
    if (is_delivered) {
        (void)relay_send(c->device, c->answer, c->answer_len);
    } else if (conduct == CUT) {
        (void)relay_send(c->device, c->answer, c->answer_len - 1);
    } else if (conduct == RESET_AFTER) {
        reset(c->device);
    }
}

static void pass_report(struct connection *c, enum conduct conduct)
{
    if (conduct == SAY_503 || conduct == SAY_429) {
        relay_tell_status(c->device, conduct == SAY_503 ? "503" : "429");
        return;
    }
    if (conduct == RESET_BEFORE) {
        reset(c->device);
        return;
    }
    note_sent(c);
    if (conduct == TWICE && ask(c)) {
        note_answer(c, "lost");
    }
    if (ask(c)) {
        answer(c, conduct);
    }
    dpot_batch_release(&c->batch);
}

static void *serve(void *ctx)
{
    struct connection *c = ctx;
    if (relay_receive(c->device, &c->request)) {
        if (strncmp(c->request.head, "POST", 4) == 0) {
            pass_report(c, access(calm_file, F_OK) == 0 ? PASS : draw_conduct());
        } else if (ask(c)) {
            (void)relay_send(c->device, c->answer, c->answer_len);
        }
    }
    (void)close(c->device);
    free(c);
    return NULL;
}

static void begin(int device)
{
    pthread_attr_t detached;
    pthread_t thread;
    struct connection *c = calloc(1, sizeof *c);
    if (!c) {
        (void)close(device);
        return;
    }
    c->device = device;
    (void)pthread_attr_init(&detached);
    (void)pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, serve, c) != 0) {
        (void)close(device);
        free(c);
    }
    (void)pthread_attr_destroy(&detached);
}

int main(int argc, char **argv)
{
    if (argc != 7 || dpot_init() != DPOT_OK) {
        (void)fprintf(stderr, "usage: chaos_network UPSTREAM_FILE URL_FILE SEED KEYS_FOLDER LOG "
                              "CALM_FILE\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    upstream_file = argv[1];
    state = strtoull(argv[3], NULL, 10);
    keys_folder = argv[4];
    log_fd = open(argv[5], O_WRONLY | O_CREAT | O_APPEND, 0600);
    calm_file = argv[6];
    const int listener = relay_listen(argv[2]);
    while (listener >= 0 && log_fd >= 0) {
        const int device = accept(listener, NULL, NULL);
        if (device >= 0) {
            begin(device);
        }
    }
    return 1;
}

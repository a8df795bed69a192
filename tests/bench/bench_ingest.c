/* Ingest compared with its upper bound: reports a second that are opened, checked, found new and
 * durable, and how fast the seals alone of the same batches are opened by one core. Both in turns,
 * so that other work on the machine affects both equally; the best of each counts.
 *
 *     bench_ingest FOLDER [REPORTS [modules|http|forward|memory [BATCH]]]
 *
 * FOLDER is on the disk to measure.
 *
 * A report is a vector of 36 small numbers, 60 bytes padded to 135. "modules" is ingest as the
 * server's threads run it, two of them with 128 batches in flight each; "http" is the same
 * through the HTTP server and keep-alive connections of the loopback, whose client shares the
 * processors (its time is not in the server's microseconds). "forward" compares bodies of one
 * report in POSTs of their own with the same in lists of a gateway. */
#include "base/clock.h"
#include "http/server.h"
#include "turns.h"

#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIM 36
#define TURNS 3
#define N_THREADS 2
#define N_FLYING 128        /* batches in flight per thread */
#define N_CONNECTIONS 64    /* of the HTTP client, at most */
#define LIST 100            /* bodies of a gateway's list */
#define CEILING_BATCHES 500 /* opened repeatedly */

static const char spec_text[] =
    "{\"name\":\"bench\",\"domain\":{\"type\":\"l1_ball\",\"radius\":1,\"dim\":36},"
    "\"mechanism\":{\"type\":\"laplace\",\"epsilon\":8},\"opens\":\"2020-01-01T00:00:00Z\","
    "\"closes\":\"2100-01-01T00:00:00Z\"}";

static struct seal_secret secret;
static uint8_t sign_key[DPOT_SIGN_SECRET_LEN];
static size_t report_len_max; /* of the campaign */

/* Sealed batches of one size. */
struct load {
    size_t batch, n_batches;
    struct dpot_buf *bodies; /* (n_batches) */
};

/* The modules around one store. */
struct modules {
    struct ingest ingest;
    struct revision_record record;
};

static void open_modules(struct modules *modules, const char *folder)
{
    char url[512];
    struct dpot_error error = {{0}};
    json_t *spec = NULL;
    *modules = (struct modules){
        .ingest = {.clock = dpot_clock_system(), .seal_secrets = &secret, .n_seal_secrets = 1}};
    (void)snprintf(url, sizeof url, "sqlite:%s/bench.db", folder);
    turn_require(store_open(url, &modules->ingest.store, &error) == DPOT_OK, error.text);
    turn_require(registry_new(modules->ingest.store, sign_key, modules->ingest.clock,
                              &modules->ingest.registry, &error) == DPOT_OK,
                 error.text);
    turn_require(json_parse(spec_text, sizeof spec_text - 1, &spec, &error) == DPOT_OK &&
                     registry_create(modules->ingest.registry, spec, &modules->record, &error) ==
                         DPOT_OK &&
                     registry_open_campaign(modules->ingest.registry, modules->record.campaign_id,
                                            &modules->record, NULL, &error) == DPOT_OK,
                 error.text);
    json_decref(spec);
    struct registry_revision revision;
    turn_require(registry_get(modules->ingest.registry, modules->record.hash, &revision, &error) ==
                     DPOT_OK,
                 error.text);
    report_len_max = dpot_wire_report_len_max(revision.campaign);
    turn_require(tally_new(modules->ingest.store, &modules->ingest.tally, &error) == DPOT_OK,
                 error.text);
    const struct writer_config config = {.store = modules->ingest.store,
                                         .tally = modules->ingest.tally,
                                         .max_reports = 5000,
                                         .max_delay_ms = 0};
    turn_require(writer_open(&config, &modules->ingest.writer, &error) == DPOT_OK, error.text);
}

static void close_modules(struct modules *modules)
{
    writer_close(modules->ingest.writer);
    tally_free(modules->ingest.tally);
    registry_free(modules->ingest.registry);
    store_close(modules->ingest.store);
}

static void remove_store(const char *folder)
{
    static const char *const tails[] = {"", "-wal", "-shm", "-lock"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/bench.db%s", folder, tails[i]);
        (void)unlink(path);
    }
}

/* ---- batches ---- */

static uint64_t next_id; /* of a report; 0: ids are random */

static void make_id(uint8_t id[DPOT_REPORT_ID_LEN])
{
    if (next_id == 0) {
        dpot_random_bytes(id, DPOT_REPORT_ID_LEN);
    } else {
        memset(id, 0, DPOT_REPORT_ID_LEN);
        dpot_store_u64(id, next_id++);
    }
}

static void seal_batch(struct dpot_buf *body, const uint8_t *hash, size_t n)
{
    static struct dpot_report reports[DPOT_BATCH_REPORTS_MAX];
    static int64_t values[DIM];
    struct dpot_batch batch = {
        .n_reports = n, .reports = reports, .report_len_max = report_len_max};
    memcpy(batch.campaign_hash, hash, DPOT_HASH_LEN);
    for (size_t j = 0; j < DIM; j++) {
        values[j] = (int64_t)(j % 11) - 5;
    }
    for (size_t i = 0; i < n; i++) {
        reports[i] = (struct dpot_report){.n_values = DIM, .values = values};
        make_id(reports[i].id);
    }
    dpot_buf_init(body, DPOT_BATCH_BYTES_MAX, NULL);
    turn_require(dpot_wire_batch_seal(&batch, &secret.key, body) == DPOT_OK, "sealing failed");
}

static void load_make(struct load *load, const struct modules *modules, size_t batch,
                      size_t n_reports)
{
    load->batch = batch;
    load->n_batches = n_reports / batch;
    load->bodies = turn_memory(load->n_batches, sizeof *load->bodies);
    for (size_t i = 0; i < load->n_batches; i++) {
        seal_batch(&load->bodies[i], modules->record.hash, batch);
    }
}

static void load_drop(struct load *load)
{
    for (size_t i = 0; i < load->n_batches; i++) {
        dpot_buf_release(&load->bodies[i]);
    }
    free(load->bodies);
}

/* ---- the upper bound ---- */

/* Reports a second whose seals one core opens, without any other work. */
static double open_seals(const struct load *load)
{
    const size_t n = load->n_batches < CEILING_BATCHES ? load->n_batches : CEILING_BATCHES;
    uint8_t *plain = turn_memory(DPOT_BATCH_BYTES_MAX, 1);
    size_t n_opened = 0;
    const struct turn began = turn_start();
    struct turn spent = {0, 0};
    while (spent.wall < 0.5) {
        for (size_t i = 0; i < n; i++) {
            const size_t head = 4 + DPOT_SEAL_KEY_ID_LEN;
            turn_require(dpot_seal_open(plain, load->bodies[i].data + head,
                                        load->bodies[i].len - head, secret.key.public_key,
                                        secret.secret_key) == DPOT_OK,
                         "a seal did not open");
        }
        n_opened += n;
        spent = turn_since(began);
    }
    free(plain);
    return (double)(n_opened * load->batch) / spent.wall;
}

/* ---- the modules ---- */

struct sender {
    pthread_t thread;
    const struct modules *modules;
    const struct load *load;
    size_t first, step;
    sem_t completed;
};

struct flight {
    struct sender *sender;
    struct ingest_call *call;
};

/* Completed calls, to be answered by the threads of the server. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    struct flight *flights;
    size_t n_back, n_taken, n_all;
} back = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void come_back(void *ctx)
{
    (void)pthread_mutex_lock(&back.mutex);
    back.flights[back.n_back++] = *(struct flight *)ctx;
    (void)pthread_cond_signal(&back.wake);
    (void)pthread_mutex_unlock(&back.mutex);
}

static bool take_one(struct flight *flight)
{
    (void)pthread_mutex_lock(&back.mutex);
    while (back.n_taken == back.n_back && back.n_taken < back.n_all) {
        (void)pthread_cond_wait(&back.wake, &back.mutex);
    }
    const bool is_taken = back.n_taken < back.n_all;
    if (is_taken) {
        *flight = back.flights[back.n_taken++];
    }
    (void)pthread_mutex_unlock(&back.mutex);
    return is_taken;
}

static void *finish_all(void *ctx)
{
    struct flight flight;
    struct dpot_buf receipt;
    struct ingest_result result;
    (void)ctx;
    dpot_buf_init(&receipt, DPOT_BATCH_BYTES_MAX, NULL);
    while (take_one(&flight)) {
        dpot_buf_reset(&receipt);
        ingest_finish(flight.call, &receipt, &result);
        turn_require(result.verdict == INGEST_ACCEPTED, result.error.text);
        (void)sem_post(&flight.sender->completed);
    }
    dpot_buf_release(&receipt);
    return NULL;
}

static void *send_all(void *ctx)
{
    struct sender *sender = ctx;
    const struct load *load = sender->load;
    struct flight *flights = turn_memory(load->n_batches, sizeof *flights);
    for (size_t i = sender->first; i < load->n_batches; i += sender->step) {
        struct ingest_result result;
        (void)sem_wait(&sender->completed);
        flights[i].sender = sender;
        flights[i].call =
            ingest_begin(&sender->modules->ingest, sender->modules->record.campaign_id,
                         load->bodies[i].data, load->bodies[i].len, &result);
        turn_require(flights[i].call != NULL, result.error.text);
        ingest_submit(&flights[i].call, 1, come_back, &flights[i]);
    }
    for (size_t i = 0; i < N_FLYING; i++) {
        (void)sem_wait(&sender->completed); /* every call has completed */
    }
    free(flights);
    return NULL;
}

static struct turn run_modules(const struct modules *modules, const struct load *load)
{
    struct sender senders[N_THREADS];
    pthread_t finisher;
    back.flights = turn_memory(load->n_batches, sizeof *back.flights);
    back.n_back = back.n_taken = 0;
    back.n_all = load->n_batches;
    const struct turn began = turn_start();
    turn_require(pthread_create(&finisher, NULL, finish_all, NULL) == 0, "no thread");
    for (size_t i = 0; i < N_THREADS; i++) {
        senders[i] =
            (struct sender){.modules = modules, .load = load, .first = i, .step = N_THREADS};
        (void)sem_init(&senders[i].completed, 0, N_FLYING);
        turn_require(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]) == 0,
                     "no thread");
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        (void)pthread_join(senders[i].thread, NULL);
        (void)sem_destroy(&senders[i].completed);
    }
    (void)pthread_join(finisher, NULL);
    const struct turn spent = turn_since(began);
    free(back.flights);
    return spent;
}

/* ---- HTTP ---- */

/* A connection that sends one batch after the other. */
struct connection {
    int fd;
    size_t next; /* its next batch */
    size_t len;  /* of the answer, so far */
    char text[16384];
};

/* The client: one thread for all connections, to use little processor time. */
struct client {
    const struct load *load;
    const char *path;
    int epoll;
    size_t n_connections, n_open;
    struct connection connections[N_CONNECTIONS];
};

/* Head and body in one call, as libcurl sends small requests. The socket blocks: the server keeps
 * reading. */
static void send_parts(int fd, struct iovec parts[2])
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    while (message.msg_iovlen > 0) {
        ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);
        turn_require(n > 0, "the connection broke");
        while (message.msg_iovlen > 0 && (size_t)n >= message.msg_iov->iov_len) {
            n -= (ssize_t)message.msg_iov->iov_len;
            message.msg_iov++;
            message.msg_iovlen--;
        }
        if (message.msg_iovlen > 0) {
            message.msg_iov->iov_base = (char *)message.msg_iov->iov_base + n;
            message.msg_iov->iov_len -= (size_t)n;
        }
    }
}

/* Sends the connection's next batch, or closes it after the last. */
static void send_next(struct client *client, struct connection *c)
{
    char head[256];
    if (c->next >= client->load->n_batches) {
        (void)close(c->fd);
        client->n_open--;
        return;
    }
    const struct dpot_buf *body = &client->load->bodies[c->next];
    const int n = snprintf(head, sizeof head,
                           "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Length: %zu\r\n\r\n",
                           client->path, body->len);
    struct iovec parts[] = {{head, (size_t)n}, {body->data, body->len}};
    c->next += client->n_connections;
    c->len = 0;
    send_parts(c->fd, parts);
}

/* Reads what has arrived; true when the answer is complete. */
static bool take_answer(struct connection *c)
{
    const ssize_t n = recv(c->fd, c->text + c->len, sizeof c->text - 1 - c->len, 0);
    turn_require(n > 0, "the connection broke");
    c->len += (size_t)n;
    c->text[c->len] = '\0';
    const char *body = strstr(c->text, "\r\n\r\n"), *length = strstr(c->text, "Content-Length: ");
    if (!body || !length) {
        return false;
    }
    turn_require(strncmp(c->text, "HTTP/1.1 20", 11) == 0, c->text);
    return c->len >= (size_t)(body + 4 - c->text) + strtoul(length + 16, NULL, 10);
}

static void open_connection(struct client *client, size_t i, unsigned port)
{
    struct connection *c = &client->connections[i];
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = c}};
    const int yes = 1;
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *c = (struct connection){.fd = socket(AF_INET, SOCK_STREAM, 0), .next = i};
    turn_require(connect(c->fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
                     setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0 &&
                     epoll_ctl(client->epoll, EPOLL_CTL_ADD, c->fd, &event) == 0,
                 "no server");
    client->n_open++;
    send_next(client, c);
}

static void send_by_http(const struct load *load, const char *path, unsigned port,
                         size_t n_connections)
{
    static struct client client;
    client = (struct client){
        .load = load, .path = path, .epoll = epoll_create1(0), .n_connections = n_connections};
    for (size_t i = 0; i < n_connections; i++) {
        open_connection(&client, i, port);
    }
    while (client.n_open > 0) {
        struct epoll_event events[N_CONNECTIONS];
        const int n = epoll_wait(client.epoll, events, N_CONNECTIONS, -1);
        turn_require(n > 0, "waiting for answers failed");
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            if (take_answer(c)) {
                send_next(&client, c);
            }
        }
    }
    (void)close(client.epoll);
}

/* A server over the modules, and its address. */
struct site {
    struct log quiet;
    struct http_app app;
    struct server *server;
    unsigned port;
    char path[128];
};

static void open_site(struct site *site, const struct modules *modules)
{
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    struct dpot_error error = {{0}};
    site->quiet = (struct log){.level = LOG_LEVEL_ERROR, .clock = dpot_clock_system()};
    site->app = (struct http_app){.store = modules->ingest.store,
                                  .registry = modules->ingest.registry,
                                  .ingest = &modules->ingest,
                                  .body_max = DPOT_BATCH_BYTES_MAX};
    const struct server_config config = {.listen = "127.0.0.1:0",
                                         .threads = N_THREADS,
                                         .max_connections = 1024,
                                         .request_timeout_s = 60,
                                         .max_body_memory = (size_t)256 << 20,
                                         .app = &site->app,
                                         .log = &site->quiet};
    dpot_hex_encode(hex, modules->record.campaign_id, DPOT_CAMPAIGN_ID_LEN);
    (void)snprintf(site->path, sizeof site->path, "/v1/campaigns/%s/reports", hex);
    turn_require(server_open(&config, &site->server, &error) == DPOT_OK, error.text);
    site->port = (unsigned)strtoul(strrchr(server_url(site->server), ':') + 1, NULL, 10);
}

/* To `path`, NULL: that of the reports. The client is a separate process, so that the server's time
 * excludes it. */
static struct turn run_site(const struct modules *modules, const struct load *load,
                            const char *path, size_t n_connections)
{
    struct site site;
    open_site(&site, modules);
    const struct turn began = turn_start();
    const pid_t client = fork();
    if (client == 0) {
        send_by_http(load, path ? path : site.path, site.port, n_connections);
        _exit(0);
    }
    int state = 0;
    turn_require(waitpid(client, &state, 0) == client && state == 0, "the client failed");
    const struct turn spent = turn_since(began);
    server_close(site.server, 1000);
    return spent;
}

static struct turn run_http(const struct modules *modules, const struct load *load)
{
    return run_site(modules, load, NULL, N_CONNECTIONS);
}

/* ---- in turns ---- */

typedef struct turn (*run_fn)(const struct modules *modules, const struct load *load);

static void compare(const char *name, run_fn run, const char *folder, size_t batch,
                    size_t n_reports)
{
    double ceiling = 0, rate = 0, cpu_us = 0;
    size_t body_len = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        struct modules modules;
        struct load load;
        remove_store(folder);
        open_modules(&modules, folder);
        load_make(&load, &modules, batch, n_reports);
        body_len = load.bodies[0].len;
        ceiling = fmax(ceiling, open_seals(&load));
        const struct turn spent = run(&modules, &load);
        const double n = (double)(load.n_batches * batch);
        if (n / spent.wall > rate) {
            rate = n / spent.wall;
            cpu_us = 1e6 * spent.cpu / n;
        }
        ceiling = fmax(ceiling, open_seals(&load));
        load_drop(&load);
        close_modules(&modules);
    }
    (void)printf("%-6s %4zu a batch (%5zu bytes)  %9.0f reports/s  seals alone %9.0f/s  "
                 "ratio %5.1f %%  cpu %6.2f us/report\n",
                 name, batch, body_len, rate, ceiling, 100 * rate / ceiling, cpu_us);
    (void)fflush(stdout);
    remove_store(folder);
}

/* ---- gateways ---- */

/* Makes of bodies the lists that hold them. */
static void pack_lists(struct load *load, const uint8_t id[DPOT_CAMPAIGN_ID_LEN])
{
    const size_t n_lists = load->n_batches / LIST;
    struct dpot_buf *lists = turn_memory(n_lists, sizeof *lists);
    for (size_t i = 0; i < n_lists; i++) {
        dpot_buf_init(&lists[i], DPOT_BATCH_BYTES_MAX, NULL);
        bool is_packed = dpot_buf_append(&lists[i], "DPF1", 4) == DPOT_OK;
        for (size_t j = i * LIST; j < (i + 1) * LIST; j++) {
            const struct dpot_buf *body = &load->bodies[j];
            is_packed = is_packed &&
                        dpot_buf_append(&lists[i], id, DPOT_CAMPAIGN_ID_LEN) == DPOT_OK &&
                        dpot_buf_append_u32(&lists[i], (uint32_t)body->len) == DPOT_OK &&
                        dpot_buf_append(&lists[i], body->data, body->len) == DPOT_OK;
        }
        turn_require(is_packed, "a list is too long");
    }
    load_drop(load);
    *load = (struct load){.batch = LIST, .n_batches = n_lists, .bodies = lists};
}

/* Reports a second, in lists or each alone, and the server's microseconds of each. */
static double send_bodies(const char *folder, size_t n_reports, bool in_lists, size_t n_connections,
                          double *cpu_us)
{
    struct modules modules;
    struct load load;
    struct tally_counts counts;
    remove_store(folder);
    open_modules(&modules, folder);
    load_make(&load, &modules, 1, n_reports);
    if (in_lists) {
        pack_lists(&load, modules.record.campaign_id);
    }
    const struct turn spent =
        run_site(&modules, &load, in_lists ? "/v1/forward" : NULL, n_connections);
    tally_get(modules.ingest.tally, &counts);
    const double n = (double)(load.n_batches * load.batch);
    turn_require((double)counts.committed.n_accepted == n, "a report was not accepted");
    load_drop(&load);
    close_modules(&modules);
    remove_store(folder);
    *cpu_us = 1e6 * spent.cpu / n;
    return n / spent.wall;
}

static void compare_forward(const char *folder, size_t n_reports, size_t n_connections)
{
    double best[2] = {0, 0}, cpu_us[2] = {0, 0};
    for (int turn = 0; turn < TURNS; turn++) {
        for (size_t i = 0; i < 2; i++) {
            double us = 0;
            const double rate = send_bodies(folder, n_reports, i == 1, n_connections, &us);
            cpu_us[i] = rate > best[i] ? us : cpu_us[i];
            best[i] = fmax(best[i], rate);
        }
    }
    (void)printf("forward, %zu connection%s: alone %9.0f reports/s (cpu %6.2f us), %d a list "
                 "%9.0f reports/s (cpu %6.2f us), ratio %.1f\n",
                 n_connections, DPOT_S(n_connections), best[0], cpu_us[0], LIST, best[1], cpu_us[1],
                 best[1] / best[0]);
    (void)fflush(stdout);
}

/* ---- memory ---- */

/* Resident bytes, without the memory of ids. */
static double resident(const struct modules *modules)
{
    struct store_id_usage usage;
    unsigned long pages = 0;
    FILE *stream = fopen("/proc/self/statm", "r");
    turn_require(stream && fscanf(stream, "%*u %lu", &pages) == 1, "no /proc");
    (void)fclose(stream);
    store_get_id_usage(modules->ingest.store, &usage);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) - (double)usage.n_bytes;
}

/* Reports first, first + 1, ... */
static void send_from_child(const struct modules *modules, const struct site *site, uint64_t first,
                            size_t n_reports)
{
    const pid_t client = fork();
    if (client == 0) {
        struct load load;
        next_id = first;
        load_make(&load, modules, 100, n_reports);
        send_by_http(&load, site->path, site->port, N_CONNECTIONS);
        _exit(0);
    }
    int state = 0;
    turn_require(waitpid(client, &state, 0) == client && state == 0, "the client failed");
}

static void watch_memory(const char *folder)
{
    struct modules modules;
    struct site site;
    remove_store(folder);
    open_modules(&modules, folder);
    open_site(&site, &modules);
    const double idle = resident(&modules);
    send_from_child(&modules, &site, 1, 100000);
    const double early = resident(&modules);
    send_from_child(&modules, &site, 100001, 1000000);
    const double late = resident(&modules);
    send_from_child(&modules, &site, 100001, 1000000);
    (void)printf(
        "memory: idle %.1f MiB; without ids %.1f MiB after 100,000 reports, %.1f MiB after "
        "a million more and %.1f MiB after the same million again\n",
        idle / 1048576, early / 1048576, late / 1048576, resident(&modules) / 1048576);
    server_close(site.server, 1000);
    close_modules(&modules);
    remove_store(folder);
}

int main(int argc, char **argv)
{
    static const struct {
        size_t batch, share;
    } sizes[] = {{100, 1}, {10, 4}, {1, 16}};
    const char *folder = argc > 1 ? argv[1] : ".";
    const size_t n_reports = argc > 2 ? strtoul(argv[2], NULL, 10) : 320000;
    const char *only = argc > 3 ? argv[3] : ""; /* a word of the case's name */
    const size_t only_batch = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN];
    turn_require(dpot_init() == DPOT_OK, "the library did not start");
    dpot_sign_keypair(public_key, sign_key);
    dpot_seal_keypair(secret.key.public_key, secret.secret_key);
    dpot_seal_key_id(secret.key.public_key, secret.key.id);
    secret.key.not_after_ms = INT64_MAX;
    if (strstr("memory", only)) {
        watch_memory(folder); /* first, in a fresh process */
    }
    if (strstr("forward", only)) {
        compare_forward(folder, n_reports / 80, 1);
        compare_forward(folder, n_reports / 16, N_CONNECTIONS);
    }
    for (size_t i = 0; i < 2 * (sizeof sizes / sizeof sizes[0]); i++) {
        const size_t batch = sizes[i / 2].batch;
        const bool is_http = i % 2 == 1;
        if (strstr(is_http ? "http" : "modules", only) &&
            (only_batch == 0 || only_batch == batch)) {
            compare(is_http ? "http" : "modules", is_http ? run_http : run_modules, folder, batch,
                    n_reports / sizes[i / 2].share);
        }
    }
    return 0;
}

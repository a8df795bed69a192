/* The server on loopback among silent connections, and while it closes. */
#include "support/child.h"
#include "unit/aggregator/http/rig.h"

#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TestSuite(http_crowd, .init = http_set_up, .fini = http_tear_down);

#define N_IDLE 10000
#define SPARE 200                           /* other descriptors */
#define PER_CONNECTION ((size_t)(48 << 10)) /* (H1): the head and the library's own memory */

/* The number of idle connections that the limit of descriptors allows. */
static size_t n_allowed(void)
{
    struct rlimit limit = {0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    const size_t n = limit.rlim_cur > SPARE ? (size_t)limit.rlim_cur - SPARE : 0;
    return n < N_IDLE ? n : N_IDLE;
}

/* Resident bytes of this process. */
static size_t resident(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%*u %lu", &pages) != 1) {
        pages = 0;
    }
    if (file) {
        (void)fclose(file);
    }
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void start_for(unsigned max_connections)
{
    server_close(server, 1000);
    config.max_connections = max_connections;
    config.request_timeout_s = 600; /* nobody is disconnected for being late */
    http_start();
}

/* A process that opens connections, sends `beginning` over each, and holds them until it is
 * dispersed or this process ends. */
struct crowd {
    pid_t process;
    int leash; /* it ends when this is closed */
};

static void be_crowd(size_t n, const char *beginning, int pipe_out, int leash)
{
    size_t n_open = 0;
    for (size_t i = 0; i < n; i++) {
        const int fd = http_connect(server_url(server));
        n_open += fd >= 0;
        (void)http_send(fd, beginning, strlen(beginning)); /* it may be disconnected already */
    }
    (void)!write(pipe_out, &n_open, sizeof n_open);
    (void)!read(leash, &n_open, 1);
    _exit(0);
}

static struct crowd hold_idle(size_t n, const char *beginning)
{
    int opened[2], leash[2];
    size_t n_open = 0;
    cr_assert_eq(pipe(opened), 0);
    cr_assert_eq(pipe(leash), 0);
    const struct crowd crowd = {child_fork(), leash[1]};
    cr_assert_geq(crowd.process, 0);
    if (crowd.process == 0) {
        (void)close(leash[1]);
        be_crowd(n, beginning, opened[1], leash[0]);
    }
    (void)close(opened[1]);
    (void)close(leash[0]);
    cr_assert_eq(read(opened[0], &n_open, sizeof n_open), (ssize_t)sizeof n_open);
    (void)close(opened[0]);
    cr_assert_eq(n_open, n);
    return crowd;
}

static void disperse(struct crowd crowd)
{
    (void)close(crowd.leash);
    cr_assert_eq(waitpid(crowd.process, NULL, 0), crowd.process);
}

static void expect_service(uint32_t first)
{
    struct dpot_buf body = sealed(first, 5);
    cr_assert_eq(get("/healthz"), 200);
    cr_assert_eq(request("POST", reports_path, NULL, body.data, body.len), 202);
    cr_assert_eq(rig_count(&rig).n_accepted, first + 5);
    dpot_buf_release(&body);
}

Test(http_crowd, idle_connections_within_the_limit_cost_bounded_memory_and_nobody_waits)
{
    const size_t n = n_allowed();
    start_for(N_IDLE + N_IDLE / 2);
    expect_service(0);
    const size_t before = resident();
    const struct crowd crowd = hold_idle(n, "");
    expect_service(5);
    cr_assert_lt(resident(), before + n * PER_CONNECTION + ((size_t)32 << 20));
    cr_log_info("%zu idle connections: %zu KiB\n", n, (resident() - before) >> 10);
    disperse(crowd);
    expect_service(10);
}

/* Far more than the server accepts at once: silent peers give way to requests. */
Test(http_crowd, idle_connections_above_the_limit_give_way)
{
    const size_t n = n_allowed();
    start_for(1024);
    const struct crowd crowd = hold_idle(n, "");
    expect_service(0);
    expect_service(5);
    cr_log_info("%zu idle connections, 1024 places\n", n);
    disperse(crowd);
}

Test(http_crowd, heads_and_bodies_that_never_end_give_way)
{
    char head[512];
    start_for(64);
    struct crowd crowd = hold_idle(300, "GET /healthz HTTP/1.1\r\nX-Slow: ");
    expect_service(0);
    disperse(crowd);
    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nslow", reports_path);
    crowd = hold_idle(300, head);
    expect_service(5);
    disperse(crowd);
}

/* ---- closing ---- */

static void *post_batch(void *ctx)
{
    struct http_reply reply;
    const struct dpot_buf *body = ctx;
    static int status;
    http_exchange(server_url(server), "POST", reports_path, NULL, body->data, body->len, &reply);
    status = reply.status;
    http_reply_release(&reply);
    return &status;
}

static void *close_server(void *ctx)
{
    (void)ctx;
    server_close(server, 60000);
    return NULL;
}

static int ask_on(int fd, const char *path)
{
    char head[128];
    struct http_reply reply;
    const int len = snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    (void)http_send(fd, head, (size_t)len);
    (void)http_receive(fd, true, &reply);
    http_reply_release(&reply);
    return reply.status;
}

Test(http_crowd, a_server_that_drains_is_healthy_and_not_ready)
{
    pthread_t poster, closer;
    void *status = NULL;
    struct dpot_buf body = sealed(0, 5);
    http_use_writer(hold_until_released, NULL);
    int asks_readiness[4], ready = 200;
    for (size_t i = 0; i < 4; i++) {
        asks_readiness[i] = http_connect(server_url(server));
    }
    const int asks_health = http_connect(server_url(server));
    cr_assert_eq(ask_on(asks_health, "/healthz"), 200);
    cr_assert_eq(pthread_create(&poster, NULL, post_batch, &body), 0);
    wait_for(&has_committed);
    cr_assert(atomic_load(&has_committed));
    cr_assert_eq(pthread_create(&closer, NULL, close_server, NULL), 0);
    /* An answer that was made before the closing and sent after it ends its connection: use the
     * next one. */
    for (size_t i = 0; i < 4 && ready != 503; i++) {
        do {
            ready = ask_on(asks_readiness[i], "/readyz");
        } while (ready == 200);
    }
    cr_assert_eq(ready, 503);
    cr_assert_eq(ask_on(asks_health, "/healthz"), 200, "the process lives");
    atomic_store(&may_answer, true);
    cr_assert_eq(pthread_join(poster, &status), 0);
    cr_assert_eq(pthread_join(closer, NULL), 0);
    cr_assert_eq(*(const int *)status, 202);
    for (size_t i = 0; i < 4; i++) {
        (void)close(asks_readiness[i]);
    }
    (void)close(asks_health);
    dpot_buf_release(&body);
    http_start();
    cr_assert_eq(get("/readyz"), 200);
}

/* What GET /readyz and the metrics say of seal keys, and how often /readyz asks the store. */
#include "store/backend.h"
#include "unit/aggregator/http/rig.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

TestSuite(http_ready, .init = http_set_up, .fini = http_tear_down);

static const char no_reason[] = "the server takes no reports now: its log says why\n";

static void expect_metric(const char *line)
{
    cr_assert_eq(request("GET", "/metrics", TOKEN, "", 0), 200);
    cr_assert_not_null(strstr(text, line), "%s", text);
}

Test(http_ready, the_server_is_ready_while_a_seal_key_is_valid)
{
    struct dpot_seal_key *key = &rig.secret.key;
    key->not_before_ms = rig.clock.now_ms + 1;
    cr_assert_eq(get("/readyz"), 503);
    cr_assert_str_eq(text, no_reason);
    expect_metric("\ndpotd_seal_keys_valid 0\n");
    rig.clock.now_ms++;
    cr_assert_eq(get("/readyz"), 200);
    expect_metric("\ndpotd_seal_keys_valid 1\n");
    key->not_after_ms = rig.clock.now_ms;
    cr_assert_eq(get("/readyz"), 503);
    cr_assert_str_eq(text, no_reason);
}

/* ---- checks of the store ---- */

static atomic_int n_checks, may_end, outcome;
static dpot_status check_slowly(struct store *store, struct dpot_error *error)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)store;
    n_checks++;
    while (!may_end) {
        (void)nanosleep(&pause, NULL);
    }
    return dpot_error_set(error, (dpot_status)outcome, "the disk is full");
}

/* Replaces the checks of the store by counted ones. */
static void count_checks(void)
{
    static struct store_backend backend;
    backend = *rig.store->backend;
    backend.check = check_slowly;
    rig.store->backend = &backend;
}

Test(http_ready, strangers_cannot_have_the_store_checked_as_often_as_they_like)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    int n_asked = 0;
    count_checks();
    may_end = 1;
    for (; n_checks < 3; n_asked++) {
        cr_assert_eq(get("/readyz"), 200);
    }
    cr_assert_gt(n_asked, 10);
    outcome = DPOT_ERR_IO;
    while (get("/readyz") == 200) {
        (void)nanosleep(&pause, NULL);
    }
    cr_assert_str_eq(text, no_reason);
}

static void *ask_in_vain(void *ctx)
{
    struct http_reply reply;
    http_exchange(ctx, "GET", "/readyz", NULL, "", 0, &reply);
    http_reply_release(&reply);
    return NULL;
}

Test(http_ready, a_store_that_does_not_answer_is_not_ready_and_holds_one_request_only)
{
    char url[128];
    pthread_t asking;
    const struct timespec pause = {.tv_nsec = 50000000};
    count_checks();
    (void)snprintf(url, sizeof url, "%s", server_url(server));
    cr_assert_eq(pthread_create(&asking, NULL, ask_in_vain, url), 0);
    while (n_checks == 0 || get("/readyz") == 200) {
        (void)nanosleep(&pause, NULL);
    }
    cr_assert_str_eq(text, "the server is busy or being stopped: try again\n");
    cr_assert_eq(n_checks, 1);
    may_end = 1;
    cr_assert_eq(pthread_join(asking, NULL), 0);
    while (get("/readyz") != 200) {
        (void)nanosleep(&pause, NULL);
    }
}

#include "unit/client/torture.h"

#include "simulation.h"
#include "storage/spool.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HOUR_MS ((int64_t)3600 * 1000)

static void note(struct torture_verdict *verdict, bool is_violated, const char *what)
{
    if (is_violated) {
        verdict->n_violations++;
        (void)snprintf(verdict->violation, sizeof verdict->violation, "%s", what);
    }
}

/* The twin that treats a filled slot as empty. */
static void hide_reports(const char *name, uint64_t offset, void *data, size_t len)
{
    uint8_t *bytes = data;
    for (size_t i = 0; strcmp(name, DPOT_SPOOL_NAME) == 0 && i < len; i++) {
        const uint64_t at = offset + i;
        if (at >= DPOT_HEADER_LEN &&
            (at - DPOT_HEADER_LEN) % DPOT_SPOOL_UNIT_LEN >= DPOT_SPOOL_BODY_AT) {
            bytes[i] = 0;
        }
    }
}

/* ---- a life ---- */

static dpot_client *try_open(struct world *w, const struct torture_case *life)
{
    dpot_client *client = NULL;
    w->files.ignores_writes = life->opens_without_rewriting;
    const dpot_status status = dpot_client_open(&w->config, &client, NULL, 0);
    w->files.ignores_writes = false;
    if (status == DPOT_OK && life->folds) {
        dpot_client_fold_after(client, 1);
    }
    return status == DPOT_OK ? client : NULL;
}

/* Opening, enrolling, submitting, sending, closing. After a failure the rest is still tried, as an
 * app would. */
static void live_once(struct world *w, const struct torture_case *life, size_t step)
{
    w->files.is_full = life->full_from > 0 && step >= life->full_from;
    dpot_client *client = try_open(w, life);
    if (!client) {
        return;
    }
    const uint8_t *id = w->authority->campaign.id;
    const dpot_status enrolled = dpot_client_enroll(client, id);
    w->files.is_full = life->full_from > 0 && step + 1 >= life->full_from;
    const dpot_status submitted = world_submit(w, client, NULL);
    w->files.is_full = life->full_from > 0 && step + 2 >= life->full_from;
    const dpot_status pumped = world_pump(w, client, NULL);
    (void)enrolled;
    (void)submitted;
    (void)pumped;
    dpot_client_close(client);
}

static void live(struct world *w, const struct torture_case *life)
{
    for (size_t i = 0; i < 2 && !w->files.is_down; i++) {
        live_once(w, life, 1 + 3 * i);
        w->clock.now_ms += HOUR_MS;
    }
    w->files.is_full = false;
}

static void judge(struct world *w, dpot_client *client, struct torture_verdict *verdict)
{
    struct dpot_client_status s = {.struct_size = sizeof s};
    if (dpot_client_get_status(client, &s) != DPOT_OK) {
        note(verdict, true, "no status");
        return;
    }
    const uint64_t n_ended = s.n_accepted + s.n_duplicate + s.n_dropped_lost;
    note(verdict, s.is_exhausted, "a crash has exhausted the budget");
    note(verdict, s.n_submitted != 1, "not exactly one charge");
    note(verdict, s.spent_epsilon != 1, "not exactly epsilon 1 is spent");
    note(verdict, n_ended != 1 || s.n_pending != 0, "the report has not come to one end");
    note(verdict, s.n_accepted + s.n_duplicate > 0 && w->n_received == 0, "a report from nowhere");
}

/* Undisturbed: whatever was left is finished. */
static void finish(struct world *w, const struct torture_case *life,
                   struct torture_verdict *verdict)
{
    dpot_client *client = try_open(w, life);
    note(verdict, !client, "the folder does not open any more");
    if (!client) {
        return;
    }
    dpot_status status = dpot_client_enroll(client, w->authority->campaign.id);
    note(verdict, status != DPOT_OK, "enrolling fails");
    status = world_submit(w, client, NULL);
    note(verdict, status != DPOT_OK, "submitting fails");
    for (size_t i = 0; i < 3; i++) {
        w->clock.now_ms += HOUR_MS;
        status = world_pump(w, client, NULL);
    }
    note(verdict, status != DPOT_OK, "sending fails");
    judge(w, client, verdict);
    dpot_client_close(client);
}

static void set_up(struct world *w, const struct torture_case *life, struct hardware *hardware,
                   const struct authority *authority)
{
    world_init(w, authority, life->seed);
    w->files.lies_about = life->lies_about;
    w->files.on_read = life->hides_reports ? hide_reports : NULL;
    hardware_init(hardware);
    w->config.counter = life->counts ? &hardware->counter : NULL;
    if (life->answer_is_lost) {
        test_transport_script(
            &w->network, (struct test_script){.failure = DPOT_ERR_NETWORK, .reaches_server = true});
    }
}

struct torture_verdict torture_run(const struct authority *authority,
                                   const struct torture_case *life)
{
    static struct world w;
    struct hardware hardware;
    struct torture_verdict verdict = {0};
    set_up(&w, life, &hardware, authority);
    test_filesystem_cut_at(&w.files, life->first_cut, life->first_takes_effect);
    test_filesystem_fail_sync_at(&w.files, life->fail_sync);
    test_filesystem_fail_at(&w.files, life->fail_operation);
    live(&w, life);
    verdict.failure_hit = life->fail_operation > 0 && w.files.fail_at == 0;
    verdict.first_cut_hit = w.files.is_down;
    verdict.sync_hit = life->fail_sync > 0 && w.files.fail_sync_at == 0;
    test_filesystem_restart(&w.files, w.files.is_down ? life->first_loss : TEST_KILL);
    if (life->second_cut > 0) {
        test_filesystem_cut_at(&w.files, life->second_cut, life->second_takes_effect);
        live(&w, life);
        verdict.second_cut_hit = w.files.is_down;
        test_filesystem_restart(&w.files, w.files.is_down ? life->second_loss : TEST_KILL);
    }
    w.files.fail_sync_at = 0;
    w.files.fail_at = 0;
    finish(&w, life, &verdict);
    note(&verdict, world_count_contradictions(&w) > 0, "two different reports under one charge");
    note(&verdict, w.n_uncharged > 0, "a report without a durable charge");
    world_release(&w);
    return verdict;
}

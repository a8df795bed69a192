#include "unit/client/torture.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const enum test_loss losses[] = {TEST_KILL,        TEST_LOSE_ALL,    TEST_LOSE_NONE,
                                        TEST_LOSE_RANDOM, TEST_LOSE_RANDOM, TEST_LOSE_RANDOM};
#define N_LOSSES (sizeof losses / sizeof losses[0])

static struct authority authority;

static void set_up(void)
{
    authority_init(&authority, 1);
}

static void tear_down(void)
{
    authority_release(&authority);
}

TestSuite(torture, .init = set_up, .fini = tear_down);

struct tally {
    size_t n_lives;
    size_t n_violations;
    char violation[256]; /* the last, and the life it was found in */
};

static struct torture_verdict live(const struct torture_case *life, struct tally *tally)
{
    const struct torture_verdict verdict = torture_run(&authority, life);
    tally->n_lives++;
    tally->n_violations += verdict.n_violations;
    if (verdict.n_violations > 0) {
        (void)snprintf(tally->violation, sizeof tally->violation,
                       "%s (cut %zu/%d/%d, sync %zu, full %zu, cut %zu/%d/%d, lost %d, seed %llu)",
                       verdict.violation, life->first_cut, life->first_takes_effect,
                       (int)life->first_loss, life->fail_sync, life->full_from, life->second_cut,
                       life->second_takes_effect, (int)life->second_loss, life->answer_is_lost,
                       (unsigned long long)life->seed);
    }
    return verdict;
}

/* Every operation of the life, before and after it takes effect, every loss. */
static void cut_once_everywhere(struct torture_case life, struct tally *tally)
{
    bool goes_on = true;
    for (life.first_cut = 1; goes_on; life.first_cut++) {
        for (size_t i = 0; i < 2 * N_LOSSES; i++) {
            life.first_takes_effect = i % 2;
            life.first_loss = losses[i / 2];
            life.answer_is_lost = (life.first_cut + i) % 3 == 0;
            life.seed++;
            goes_on = live(&life, tally).first_cut_hit;
        }
    }
}

/* A second cut in every operation of what follows the first. */
static void cut_twice_everywhere(struct torture_case life, struct tally *tally)
{
    static const enum test_loss firsts[] = {TEST_KILL, TEST_LOSE_RANDOM};
    static const enum test_loss seconds[] = {TEST_LOSE_ALL, TEST_LOSE_RANDOM};
    bool first_goes_on = true;
    for (life.first_cut = 1; first_goes_on; life.first_cut++) {
        bool second_goes_on = true;
        for (life.second_cut = 1; second_goes_on; life.second_cut++) {
            second_goes_on = false;
            for (size_t i = 0; i < 4; i++) {
                life.first_loss = firsts[i % 2];
                life.second_loss = seconds[i / 2];
                life.first_takes_effect = (life.first_cut + life.second_cut + i) % 2;
                life.second_takes_effect = (life.second_cut + i / 2) % 2;
                life.answer_is_lost = life.seed % 5 == 0;
                life.seed++;
                const struct torture_verdict verdict = live(&life, tally);
                first_goes_on = verdict.first_cut_hit;
                second_goes_on = second_goes_on || verdict.second_cut_hit;
            }
        }
    }
}

/* Every sync of the life fails once; then the power fails in every operation of what follows. */
static void fail_every_sync(struct torture_case life, struct tally *tally)
{
    bool sync_goes_on = true;
    for (life.fail_sync = 1; sync_goes_on; life.fail_sync++) {
        bool cut_goes_on = true;
        for (life.second_cut = 1; cut_goes_on; life.second_cut++) {
            cut_goes_on = false;
            for (size_t i = 0; i < 4; i++) {
                life.second_loss = i % 2 ? TEST_LOSE_ALL : TEST_LOSE_RANDOM;
                life.second_takes_effect = i / 2;
                life.seed++;
                const struct torture_verdict verdict = live(&life, tally);
                sync_goes_on = verdict.sync_hit;
                cut_goes_on = cut_goes_on || verdict.second_cut_hit;
            }
        }
    }
}

/* Every operation of the life fails once (half of a write is done); then the power fails in every
 * `step`th operation of what follows. */
static void fail_every_operation(struct torture_case life, size_t step, struct tally *tally)
{
    bool failure_goes_on = true;
    for (life.fail_operation = 1; failure_goes_on; life.fail_operation++) {
        bool cut_goes_on = true;
        for (life.second_cut = 1 + life.fail_operation % step; cut_goes_on;
             life.second_cut += step) {
            life.second_loss = life.second_cut % 2 ? TEST_LOSE_ALL : TEST_LOSE_RANDOM;
            life.second_takes_effect = life.seed++ % 2;
            const struct torture_verdict verdict = live(&life, tally);
            failure_goes_on = verdict.failure_hit;
            cut_goes_on = verdict.second_cut_hit;
        }
    }
}

static void assert_clean(const struct tally *tally, size_t at_least)
{
    cr_assert_eq(tally->n_violations, 0, "%zu violations in %zu lives, the last: %s",
                 tally->n_violations, tally->n_lives, tally->violation);
    cr_assert_geq(tally->n_lives, at_least);
    cr_log_info("%zu lives", tally->n_lives);
}

Test(torture, an_undisturbed_life_is_one_charge_and_one_report)
{
    struct tally tally = {0};
    (void)live(&(struct torture_case){.seed = 1}, &tally);
    assert_clean(&tally, 1);
}

Test(torture, no_cut_anywhere_makes_a_second_report_or_an_uncharged_one)
{
    struct tally tally = {0};
    cut_once_everywhere((struct torture_case){.seed = 1}, &tally);
    assert_clean(&tally, 300);
}

Test(torture, no_two_cuts_anywhere_do)
{
    struct tally tally = {0};
    cut_twice_everywhere((struct torture_case){.seed = 1000}, &tally);
    assert_clean(&tally, 2000);
}

Test(torture, no_failed_sync_followed_by_a_cut_does)
{
    struct tally tally = {0};
    fail_every_sync((struct torture_case){.seed = 100000}, &tally);
    assert_clean(&tally, 500);
}

Test(torture, no_failed_operation_of_any_kind_does)
{
    struct tally tally = {0};
    fail_every_operation((struct torture_case){.seed = 600000}, 1, &tally);
    assert_clean(&tally, 500);
}

Test(torture, nor_with_a_hardware_counter)
{
    struct tally tally = {0};
    cut_once_everywhere((struct torture_case){.seed = 200000, .counts = true}, &tally);
    assert_clean(&tally, 300);
}

/* Every submit and every pump folds what has ended. */
Test(torture, nor_with_a_ledger_that_folds_at_every_occasion)
{
    struct tally tally = {0};
    cut_once_everywhere((struct torture_case){.seed = 500000, .folds = true}, &tally);
    cut_once_everywhere((struct torture_case){.seed = 510000, .folds = true, .counts = true},
                        &tally);
    fail_every_sync((struct torture_case){.seed = 520000, .folds = true}, &tally);
    fail_every_operation((struct torture_case){.seed = 530000, .folds = true}, 3, &tally);
    assert_clean(&tally, 3000);
}

Test(torture, a_disk_that_fills_up_at_any_step_costs_nothing)
{
    struct tally tally = {0};
    for (size_t step = 1; step <= 6; step++) {
        (void)live(&(struct torture_case){.seed = step, .full_from = step}, &tally);
        (void)live(&(struct torture_case){.seed = step, .full_from = step, .answer_is_lost = true},
                   &tally);
    }
    assert_clean(&tally, 12);
}

/* Thirty-two rounds fill the spool up to its compaction; the last of them is cut in every
 * operation. Two reports that the server did not take are in the spool while it is rewritten. */
static bool cut_compaction_at(const struct authority *many, size_t n, enum test_loss loss)
{
    static struct world w;
    world_init(&w, many, n);
    dpot_client *client = world_enroll(&w);
    for (uint32_t round = 0; round < 29; round++) {
        w.clock.now_ms = OPENS_MS + round * DAY_MS;
        cr_assert_eq(world_submit(&w, client, NULL), DPOT_OK);
        cr_assert_eq(world_pump(&w, client, NULL), DPOT_OK);
    }
    for (uint32_t round = 29; round < 31; round++) {
        w.clock.now_ms = OPENS_MS + round * DAY_MS;
        cr_assert_eq(world_submit(&w, client, NULL), DPOT_OK);
        test_transport_script(&w.network, (struct test_script){.status = 404});
    }
    w.clock.now_ms = OPENS_MS + 31 * DAY_MS;
    test_filesystem_cut_at(&w.files, n, n % 2);
    (void)!world_submit(&w, client, NULL);
    (void)!world_pump(&w, client, NULL);
    const bool was_cut = w.files.is_down;
    dpot_client_close(client);
    test_filesystem_restart(&w.files, was_cut ? loss : TEST_KILL);
    client = world_open(&w);
    w.network.n_script = w.network.script_used; /* the server works again */
    cr_assert_eq(world_submit(&w, client, NULL), DPOT_OK);
    w.clock.now_ms += 3600 * 1000;
    cr_assert_eq(world_pump(&w, client, NULL), DPOT_OK);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.is_exhausted, 0);
    cr_assert_eq(status.n_submitted, 32);
    cr_assert_eq(status.n_pending, 0);
    cr_assert_leq(status.n_dropped_lost, 1); /* a torn report of the last round */
    assert_conserved(&status);
    cr_assert_eq(world_count_contradictions(&w), 0);
    cr_assert_eq(w.n_uncharged, 0);
    dpot_client_close(client);
    world_release(&w);
    return was_cut;
}

Test(torture, no_cut_during_compaction_loses_or_repeats_a_report)
{
    struct authority many;
    authority_init(&many, 1);
    authority_extend(&many, 40, DPOT_EPSILON_ONE / 8);
    for (size_t i = 0; i < N_LOSSES; i++) {
        size_t n = 1;
        while (cut_compaction_at(&many, n, losses[i])) {
            n++;
        }
        cr_assert_geq(n, 18); /* submit, DONE, and the rewriting of the spool */
    }
    authority_release(&many);
}

/* ---- the broken twins: the same torture must find them ---- */

Test(torture, a_twin_that_does_not_sync_its_charge_is_found)
{
    struct tally tally = {0};
    cut_once_everywhere((struct torture_case){.seed = 1, .lies_about = "ledger"}, &tally);
    cr_assert_gt(tally.n_violations, 0);
}

Test(torture, a_twin_that_does_not_sync_its_reports_is_found)
{
    struct tally tally = {0};
    cut_twice_everywhere((struct torture_case){.seed = 1, .lies_about = "spool"}, &tally);
    cr_assert_gt(tally.n_violations, 0);
}

Test(torture, a_twin_that_samples_again_over_a_report_is_found)
{
    struct tally tally = {0};
    cut_once_everywhere((struct torture_case){.seed = 1, .hides_reports = true}, &tally);
    cr_assert_gt(tally.n_violations, 0);
}

Test(torture, a_twin_that_opens_without_writing_again_is_found)
{
    struct tally tally = {0};
    fail_every_sync((struct torture_case){.seed = 1, .opens_without_rewriting = true}, &tally);
    cr_assert_gt(tally.n_violations, 0);
}

/* ---- the same with vectors, whose slots are several units long ---- */

static void set_up_vectors(void)
{
    set_up();
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
}

TestSuite(torture_vectors, .init = set_up_vectors, .fini = tear_down);

Test(torture_vectors, no_cut_anywhere_makes_a_second_report_or_an_uncharged_one)
{
    struct tally tally = {0};
    cut_once_everywhere((struct torture_case){.seed = 300000}, &tally);
    assert_clean(&tally, 300);
}

Test(torture_vectors, no_two_cuts_anywhere_do)
{
    struct tally tally = {0};
    cut_twice_everywhere((struct torture_case){.seed = 400000}, &tally);
    assert_clean(&tally, 2000);
}

Test(torture_vectors, no_failed_sync_followed_by_a_cut_does)
{
    struct tally tally = {0};
    fail_every_sync((struct torture_case){.seed = 500000}, &tally);
    assert_clean(&tally, 500);
}

Test(torture_vectors, no_failed_operation_of_any_kind_does)
{
    struct tally tally = {0};
    fail_every_operation((struct torture_case){.seed = 700000}, 1, &tally);
    assert_clean(&tally, 300);
}

Test(torture_vectors, a_twin_that_does_not_sync_its_charge_is_found)
{
    struct tally tally = {0};
    cut_once_everywhere((struct torture_case){.seed = 1, .lies_about = "ledger"}, &tally);
    cr_assert_gt(tally.n_violations, 0);
}

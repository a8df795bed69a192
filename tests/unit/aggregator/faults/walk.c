#include "unit/aggregator/faults/walk.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

char walk_place[160];
char home[FIXTURE_PATH_SIZE], seed[FIXTURE_PATH_SIZE + 8], folder[FIXTURE_PATH_SIZE + 8];

void walk_make_folders(void)
{
    fixture_folder(home);
    (void)snprintf(seed, sizeof seed, "%s/seed", home);
    (void)snprintf(folder, sizeof folder, "%s/disk", home);
    disk_clear(seed);
}

static const char *const fault_names[] = {"sound", "fails", "full", "cut", "crooked"};
static const char *const loss_names[] = {"kill", "lose all", "lose none", "lose some"};

void walk_once(const struct walk *walk, const struct disk_plan *plan, struct disk_outcome *outcome)
{
    (void)snprintf(walk_place, sizeof walk_place, "%s at %zu, then %s, seed %llu",
                   fault_names[plan->fault], plan->at, loss_names[plan->loss],
                   (unsigned long long)plan->seed);
    if (walk->seed) {
        disk_copy(walk->seed, walk->folder);
    } else {
        disk_clear(walk->folder);
    }
    disk_run(walk->folder, plan, walk->scene, walk->ctx, outcome);
    cr_expect_eq(outcome->failure, 0, "%s: the scene ended with %d, reported %.*s", walk_place,
                 outcome->failure, (int)outcome->n_reported, (const char *)outcome->reported);
    walk->validate(walk->ctx, outcome);
}

/* The fault in every `step`th operation. */
static size_t walk_fault(const struct walk *walk, enum disk_fault fault, enum test_loss loss,
                         size_t step)
{
    struct disk_outcome outcome = {.is_hit = true};
    size_t n = 0;
    for (size_t at = 1 + (size_t)loss % step; outcome.is_hit; at += step) {
        const struct disk_plan plan = {
            .fault = fault, .at = at, .loss = loss, .seed = n + 1000 * (size_t)loss};
        walk_once(walk, &plan, &outcome);
        n++;
    }
    return n;
}

size_t walk_all(const struct walk *walk, size_t n_max)
{
    static const enum test_loss losses[] = {TEST_KILL, TEST_LOSE_ALL, TEST_LOSE_NONE,
                                            TEST_LOSE_RANDOM};
    const size_t n_losses = sizeof losses / sizeof losses[0];
    struct disk_outcome outcome;
    size_t n = 2;
    walk_once(walk, &(struct disk_plan){.fault = DISK_SOUND}, &outcome);
    cr_assert_gt(outcome.n_operations, 0);
    const size_t step = outcome.n_operations / (n_max / n_losses) + 1;
    walk_once(walk, &(struct disk_plan){.fault = DISK_CROOKED, .loss = TEST_LOSE_ALL}, &outcome);
    for (size_t i = 0; i < n_losses; i++) {
        n += walk_fault(walk, DISK_CUT, losses[i], step);
        n += walk_fault(walk, DISK_FAILS, losses[i], step);
    }
    n += walk_fault(walk, DISK_FULL, TEST_KILL, step);
    n += walk_fault(walk, DISK_FULL, TEST_LOSE_RANDOM, step);
    return n;
}

bool was_reported(const struct disk_outcome *outcome, unsigned char what)
{
    return memchr(outcome->reported, what, outcome->n_reported) != NULL;
}

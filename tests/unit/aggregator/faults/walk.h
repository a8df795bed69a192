/* Walks: a scene is repeated, each time with the fault in the next of its operations. */
#ifndef DPOT_TESTS_AGGREGATOR_FAULTS_WALK_H
#define DPOT_TESTS_AGGREGATOR_FAULTS_WALK_H

#include "support/disk.h"
#include "unit/aggregator/fixture.h"

/* The scene of a walk, and its validation. */
struct walk {
    void (*scene)(void *ctx);
    /* Checks what is left, on a sound disk, and fails the test when a guarantee is broken. */
    void (*validate)(void *ctx, const struct disk_outcome *outcome);
    void *ctx;
    const char *seed;   /* a folder with the initial files; NULL: none */
    const char *folder; /* the watched folder */
};

/* Makes a folder `home` (release: fixture_remove) with an empty `seed` in it; `folder`, to be
 * watched, does not exist yet. */
extern char home[FIXTURE_PATH_SIZE], seed[FIXTURE_PATH_SIZE + 8], folder[FIXTURE_PATH_SIZE + 8];
void walk_make_folders(void);

/* The plan of the run that is being validated, for messages. */
extern char walk_place[160];

/* Every operation fails once, and the power goes later; the disk is full from every operation on;
 * the machine stops in every operation, with every kind of loss; and all of it with short writes
 * and interruptions. At most about `n_max` runs of each kind: operations are left out evenly.
 * Returns the number of runs. */
size_t walk_all(const struct walk *walk, size_t n_max);

/* One run, from the files of the seed. */
void walk_once(const struct walk *walk, const struct disk_plan *plan, struct disk_outcome *outcome);

/* True if the scene reported `what`. */
bool was_reported(const struct disk_outcome *outcome, unsigned char what);

#endif

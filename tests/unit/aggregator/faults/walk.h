/* Walks: a scene is lived again and again, each time with the fault in the next of its
 * operations. */
#ifndef DPOT_TESTS_AGGREGATOR_FAULTS_WALK_H
#define DPOT_TESTS_AGGREGATOR_FAULTS_WALK_H

#include "support/disk.h"
#include "unit/aggregator/fixture.h"

/* What is walked, and how it is judged. */
struct walk {
    void (*scene)(void *ctx);
    /* Looks at what is left, on a sound disk, and fails the test when a promise is broken. */
    void (*judge)(void *ctx, const struct disk_life *life);
    void *ctx;
    const char *seed;   /* a folder whose files are there at the beginning; NULL: none */
    const char *folder; /* the one watched */
};

/* A new folder `home`, to be given to fixture_remove, with an empty `seed` in it; `folder`, to be
 * watched, is not there yet. */
extern char home[FIXTURE_PATH_SIZE], seed[FIXTURE_PATH_SIZE + 8], folder[FIXTURE_PATH_SIZE + 8];
void walk_make_folders(void);

/* The plan of the life that is being judged, for sentences. */
extern char walk_place[160];

/* Every operation fails once, and the power goes later; the disk is full from every operation on;
 * the machine stops in every operation, with every kind of loss; and all of it with short writes
 * and interruptions. At most about `n_max` lives of each kind: operations are left out evenly.
 * Returns how many lives there were. */
size_t walk_all(const struct walk *walk, size_t n_max);

/* One life; the seed is put back first. */
void walk_once(const struct walk *walk, const struct disk_plan *plan, struct disk_life *life);

/* Whether the scene was told of `what`. */
bool was_told(const struct disk_life *life, unsigned char what);

#endif

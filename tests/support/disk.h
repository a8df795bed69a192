/* The disk under a test program: the system calls that change files in one folder, counted, and
 * failing, lying or ending the machine on demand.
 *
 * Where a room has no hook for its files (files/output.h, SQLite, POSIX folders), the program's own
 * definitions of open, write, fsync, rename and the like stand before the C library's, for its rooms
 * and for the shared libraries it uses; what ships is unchanged. Outside the watched folder, and
 * without one, they only pass on. Link the object library dpot_test_disk.
 *
 * The model is that of filesystem.h: what programs see is the real folder; beside it is kept what a
 * power cut would leave. A write or truncation is pending until a sync of its file succeeds, a new,
 * changed or removed name until one of its folder does. A sync that fails has written some of it and
 * forgets the rest. Folders themselves are durable at once, and locks are not modelled.
 *
 *     scene(): opens, writes, and tells what was acknowledged (disk_tell)
 *     for (plan.at = 1; life.is_hit; plan.at++) {
 *         disk_run(folder, &plan, scene, ctx, &life);       a process of its own
 *         ... open the folder again, compare with life.told ...
 *     } */
#ifndef DPOT_TESTS_SUPPORT_DISK_H
#define DPOT_TESTS_SUPPORT_DISK_H

#include "support/filesystem.h"

enum disk_fault {
    DISK_SOUND,   /* nothing; operations are counted */
    DISK_FAILS,   /* the operation fails with EIO, alone; of a write a part may have gone through */
    DISK_FULL,    /* from the operation on nothing can grow or be made: ENOSPC */
    DISK_CUT,     /* the machine stops in the operation, before or after it takes effect */
    DISK_CROOKED, /* every write is cut short, and every second call of any kind interrupted first */
};

struct disk_plan {
    enum disk_fault fault;
    size_t at;           /* number of the operation, from 1 */
    enum test_loss loss; /* of DISK_CUT; of the others: what becomes of the machine after the scene,
                            TEST_KILL: it stays on */
    uint64_t seed;       /* of everything left to chance */
    bool lies;           /* syncs say yes and do nothing: for broken twins */
};

#define DISK_TOLD_MAX 4096

/* How a scene ended. */
struct disk_life {
    bool is_hit;         /* there was such an operation */
    size_t n_operations; /* 0 when the machine stopped */
    size_t n_told;       /* bytes */
    unsigned char told[DISK_TOLD_MAX];
    int failure; /* 0; or how the process ended against the plan: an exit status, 256 + a signal,
                    or 512: it left memory behind (with a leak checker) */
};

/* Runs the scene in a process of its own that has the folder on this disk, and leaves in the folder
 * what outlives it. `folder` has no trailing slash and no links in it; at most two levels deep. */
void disk_run(const char *folder, const struct disk_plan *plan, void (*scene)(void *ctx), void *ctx,
              struct disk_life *life);

/* For scenes: what the world outside has heard. */
void disk_tell(unsigned char what);

/* Removes what is in a folder; makes it when it is missing. */
void disk_clear(const char *folder);

/* Copies the files of one folder into another, which is cleared first. */
void disk_copy(const char *from, const char *to);

#endif

/* A model of a disk for the file system calls of a test program: calls that change files in one
 * folder are counted, and fail, report false success or stop the machine on demand.
 *
 * Used where a module has no hook for its files (files/output.h, SQLite, POSIX folders). The
 * program's own definitions of open, write, fsync, rename etc. replace the C library's, also for
 * shared libraries; the code under test is unchanged. Outside of the watched folder, and if no
 * folder is watched, calls are passed on. Link the object library dpot_test_disk.
 *
 * The model is that of filesystem.h. Programs see the real folder; beside it the model stores what
 * a power cut would leave. A write or truncation is pending until a sync of its file succeeds; a
 * new, changed or removed name until a sync of its folder does. A sync that fails has written some
 * of it and discards the rest. Folders themselves are durable at once. Locks are not modelled.
 *
 *     scene(): opens, writes, and reports what was acknowledged (disk_report)
 *     for (plan.at = 1; outcome.is_hit; plan.at++) {
 *         disk_run(folder, &plan, scene, ctx, &outcome);       in a child process
 *         ... open the folder again, compare with outcome.reported ...
 *     } */
#ifndef DPOT_TESTS_SUPPORT_DISK_H
#define DPOT_TESTS_SUPPORT_DISK_H

#include "support/filesystem.h"

enum disk_fault {
    DISK_SOUND,   /* no fault; operations are counted */
    DISK_FAILS,   /* this operation fails with EIO; of a write a part may have succeeded */
    DISK_FULL,    /* from this operation on nothing can grow or be created: ENOSPC */
    DISK_CUT,     /* the machine stops in this operation, before or after its effect */
    DISK_CROOKED, /* every write is short, and every second call of any kind fails with EINTR */
};

struct disk_plan {
    enum disk_fault fault;
    size_t at;           /* number of the operation, from 1 */
    enum test_loss loss; /* of DISK_CUT; of other faults after the scene (TEST_KILL: none) */
    uint64_t seed;       /* of all random choices */
    bool lies;           /* syncs report success and do nothing: for broken twins */
};

#define DISK_REPORTED_MAX 4096

/* The result of a scene. */
struct disk_outcome {
    bool is_hit;         /* operation `at` was reached */
    size_t n_operations; /* 0 when the machine stopped */
    size_t n_reported;   /* bytes */
    unsigned char reported[DISK_REPORTED_MAX];
    int failure; /* 0, or how the process ended contrary to the plan: an exit status, 256 + a
                    signal, or 512: it leaked memory (with a leak checker) */
};

/* Runs the scene in a child process that has the folder on this disk, and leaves in the folder what
 * survives. `folder` has no trailing slash and no links in it, and at most two levels below it. */
void disk_run(const char *folder, const struct disk_plan *plan, void (*scene)(void *ctx), void *ctx,
              struct disk_outcome *outcome);

/* For scenes: records one byte that stands for an acknowledgement, in outcome.reported. */
void disk_report(unsigned char what);

/* Empties a folder; creates it if it is missing. */
void disk_clear(const char *folder);

/* Copies the files of one folder into another, which is cleared first. */
void disk_copy(const char *from, const char *to);

#endif

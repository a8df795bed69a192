/* A folder in memory that models the failures of a disk.
 *
 * What a program sees (the cache) and what a power cut leaves (the disk) are separate. A write,
 * truncation, creation, rename or removal is pending until a sync of that file (of the folder, for
 * names) succeeds. A power cut keeps any subset of what is pending, and may tear a write. A sync
 * that fails leaves the cache as it is and marks it clean: the writes may or may not be on the
 * disk, and a later sync reports success without writing them. A killed process loses nothing but
 * its locks.
 *
 * Operations that change something, or that make it durable, are counted; the process or the power
 * can end in the n-th. */
#ifndef DPOT_TESTS_SUPPORT_FILESYSTEM_H
#define DPOT_TESTS_SUPPORT_FILESYSTEM_H

#include "dpot/hooks.h"

#include <stdbool.h>

struct test_inode;

#define TEST_NAMES_MAX 32

struct test_name {
    char name[64]; /* "": free */
    struct test_inode *inode;
};

/* A change of the folder that a power cut may undo: the name `to` now refers to `inode`; `from` is
 * gone. */
struct test_name_change {
    char to[64];   /* "": none */
    char from[64]; /* "": none */
    struct test_inode *inode;
};

enum test_loss {
    TEST_KILL,        /* the process ends, the cache stays */
    TEST_LOSE_ALL,    /* power cut: everything pending is lost */
    TEST_LOSE_NONE,   /* power cut: everything pending had reached the disk */
    TEST_LOSE_RANDOM, /* power cut: a subset, drawn from the seed, with torn writes */
};

struct test_filesystem {
    struct dpot_filesystem filesystem; /* pass its address */
    struct test_name cached[TEST_NAMES_MAX];
    struct test_name durable[TEST_NAMES_MAX];
    struct test_name_change *changes; /* pending, in order */
    size_t n_changes;
    struct test_inode *inodes; /* all inodes ever created */
    bool is_locked;
    bool is_down; /* nothing works until test_filesystem_restart */
    uint64_t random;

    size_t n_operations;
    size_t n_syncs;

    /* Faults; 0 or NULL: none. Numbers count from now. */
    size_t cut_at;         /* the process or the power ends in this operation */
    bool cut_takes_effect; /* after its effect rather than before */
    size_t fail_sync_at;   /* this sync fails */
    size_t fail_at;        /* this operation fails, and only it */
    bool is_full;          /* no file can grow: half of the write succeeds, then an error */
    bool has_no_names;     /* names cannot be created or renamed either */

    /* False success, for broken twins. */
    const char *lies_about; /* syncs of this file report success and do nothing */
    bool ignores_writes;    /* writes into existing bytes report success and do nothing */
    void (*on_read)(const char *name, uint64_t offset, void *data, size_t len);
};

void test_filesystem_init(struct test_filesystem *fs, uint64_t seed);
void test_filesystem_release(struct test_filesystem *fs);

/* Arms a fault, counted from the next operation (1 = that one). */
void test_filesystem_cut_at(struct test_filesystem *fs, size_t n, bool takes_effect);
void test_filesystem_fail_sync_at(struct test_filesystem *fs, size_t n);
void test_filesystem_fail_at(struct test_filesystem *fs, size_t n);

/* After the end of the process or of the power: restores what survives. Open files are forgotten.
 */
void test_filesystem_restart(struct test_filesystem *fs, enum test_loss loss);

/* The content as a program would read it, or as a power cut that loses everything pending would
 * leave it; NULL for a missing file. Borrowed until the next operation. */
const uint8_t *test_filesystem_cached(const struct test_filesystem *fs, const char *name,
                                      size_t *len);
const uint8_t *test_filesystem_durable(const struct test_filesystem *fs, const char *name,
                                       size_t *len);

/* Replaces or creates a file, durably, without the program; removes one. */
void test_filesystem_put(struct test_filesystem *fs, const char *name, const void *data,
                         size_t len);
void test_filesystem_delete(struct test_filesystem *fs, const char *name);

#endif

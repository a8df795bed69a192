/* The internals of the disk model: what disk_model.c stores and disk.c decides. */
#ifndef DPOT_TESTS_SUPPORT_DISK_STATE_H
#define DPOT_TESTS_SUPPORT_DISK_STATE_H

#include "support/disk.h"
#include "support/disk_model.h"

#define DISK_DESCRIPTORS 1024

struct change {
    bool is_truncation;
    uint64_t offset; /* or the new size */
    size_t len;
    uint8_t *data;
};

/* A file, independent of its names. */
struct disk_file {
    struct disk_file *next; /* all files ever created */
    uint8_t *durable;
    size_t len;
    struct change *pending;
    size_t n_pending;
};

struct name {
    char path[DISK_PATH_MAX];
    struct disk_file *file;
};

struct names {
    struct name *entries;
    size_t n;
};

/* The name `to` now refers to `file`; `from` is gone. */
struct name_change {
    char to[DISK_PATH_MAX]; /* "": none */
    char from[DISK_PATH_MAX];
    struct disk_file *file;
};

struct descriptor {
    struct disk_file *file;
    char *folder;
};

struct disk_state {
    char folder[DISK_PATH_MAX]; /* "": no folder is watched */
    struct disk_plan plan;
    uint64_t random;
    size_t n_operations;
    bool is_hit;
    bool stops; /* at the end of the current operation */
    bool was_interrupted;
    int out;
    struct disk_file *files;
    struct names seen, durable;
    struct name_change *changes;
    size_t n_changes;
    struct descriptor descriptors[DISK_DESCRIPTORS];
};

extern struct disk_state disk_state;

/* Aborts if the condition is false. */
void disk_must(bool holds);

/* Never returns NULL, and is not affected by injected allocation failures. */
void *disk_realloc(void *pointer, size_t size);

uint64_t disk_draw(void);

struct disk_file *disk_new_file(void);
void disk_put_name(struct names *names, const char *path, struct disk_file *file);

/* Makes durable what `loss` allows, and discards the rest. Writes tear at sector boundaries.
 * `folder` NULL: all names. */
void disk_settle(struct disk_file *file, enum test_loss loss);
void disk_settle_names(const char *folder, enum test_loss loss);

#endif

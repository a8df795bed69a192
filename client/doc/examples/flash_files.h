/* flash_files.h - the files of libdpot on raw NOR flash, for chips without a file system.
 *
 * A log of pages runs round the partition: each page is programmed once, the block ahead of the log
 * is erased before its first page is programmed, so that all blocks wear alike. Before the log
 * reaches its own end, the pages still in use at that end are copied to its head. Each operation
 * is one page (a long write: one for each page of the file), and is on the flash when it returns. A
 * cut of the power leaves the old or the new content of that page.
 *
 *     static struct flash_files files;
 *     status = flash_files_open(&files, &port);
 *     config->filesystem = &files.filesystem;
 *
 * Removed or replaced content stays on the flash until the log comes round: whoever can read the
 * chip reads it. One process, one thread. */
#ifndef DPOT_EXAMPLES_FLASH_FILES_H
#define DPOT_EXAMPLES_FLASH_FILES_H

#include "dpot/hooks.h"

#include <stdbool.h>

/* The partition; define them for the compiler to change them. What is written with other values is
 * not readable. The spare blocks (4 at least) are never filled: the fewer, the more is copied. */
#ifndef FLASH_PAGE_BYTES
#define FLASH_PAGE_BYTES 256
#endif
#ifndef FLASH_BLOCK_BYTES
#define FLASH_BLOCK_BYTES 4096
#endif
#ifndef FLASH_BLOCKS
#define FLASH_BLOCKS 64
#endif
#ifndef FLASH_SPARE_BLOCKS
#define FLASH_SPARE_BLOCKS 8
#endif
#ifndef FLASH_FILES
#define FLASH_FILES 24
#endif
#define FLASH_NAME_BYTES 48
#define FLASH_BLOCK_PAGES (FLASH_BLOCK_BYTES / FLASH_PAGE_BYTES)
#define FLASH_PAGES (FLASH_BLOCKS * FLASH_BLOCK_PAGES)

/* The flash; addresses count from the start of the partition. Each returns 0, or another value if
 * it failed. */
struct flash_port {
    void *ctx;
    int (*read)(void *ctx, uint32_t address, void *data, size_t len);
    int (*program)(void *ctx, uint32_t address, const void *page); /* FLASH_PAGE_BYTES, erased */
    int (*erase)(void *ctx, uint32_t address);                     /* a block: all bytes 0xff */
};

struct flash_file {
    char name[FLASH_NAME_BYTES]; /* "": removed or replaced, or free */
    uint32_t size;
    uint16_t n_open;
};

struct flash_files {
    struct dpot_filesystem filesystem; /* for config.filesystem */
    const struct flash_port *port;
    const char *why; /* of the last DPOT_ERR_IO */
    bool is_locked;
    bool is_failed;     /* programming or erasing failed: opened again it works */
    uint32_t head;      /* the next page, counted since the first ever programmed */
    uint32_t tail;      /* the first page of the log */
    uint32_t kept_tail; /* the tail that the flash knows */
    uint32_t last;      /* the last page that was programmed whole */
    struct flash_file files[FLASH_FILES];
    uint8_t owner[FLASH_PAGES];  /* the file whose content a page holds, or FLASH_FILES */
    uint16_t index[FLASH_PAGES]; /* which page of that file */
    uint8_t page[FLASH_PAGE_BYTES];
};

/* Finds the log, on blank flash an empty one. `port` must outlive it. Nothing to close.
 *   DPOT_ERR_IO  the flash cannot be read, or a page of the log is damaged (files->why): libdpot
 *                must not go on without it, since the budget spent would be forgotten */
DPOT_WARN_UNUSED dpot_status flash_files_open(struct flash_files *files,
                                              const struct flash_port *port);

#endif

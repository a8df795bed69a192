/* A NOR flash in memory: programming clears bits of a page that was erased, erasing sets those of a
 * block; the power can end before, within or after the n-th operation. */
#ifndef DPOT_TESTS_SUPPORT_FLASH_H
#define DPOT_TESTS_SUPPORT_FLASH_H

#include "flash_files.h"

enum test_flash_cut {
    TEST_FLASH_BEFORE,
    TEST_FLASH_FIRST_BITS, /* a few bits of it are done */
    TEST_FLASH_TORN,       /* half of the bits, at random, are done */
    TEST_FLASH_AFTER,
    TEST_FLASH_CUTS,
};

struct test_flash {
    struct flash_port port; /* pass its address */
    uint8_t bytes[FLASH_BLOCKS * FLASH_BLOCK_BYTES];
    uint32_t n_erased[FLASH_BLOCKS]; /* times */
    size_t n_operations;             /* programs and erases */
    size_t n_programmed_twice;       /* pages that were not erased in between */
    size_t cut_at;                   /* 0: no cut; counts from now */
    enum test_flash_cut cut;
    bool is_down; /* until it is set to false nothing works */
    uint64_t random;
};

/* As it leaves the factory. */
void test_flash_init(struct test_flash *flash, uint64_t seed);

#endif

#include "support/flash.h"

#include "base/splitmix.h"

#include <string.h>

/* The share of the bits that an operation changes: 0, a few, half, all (one mask for each byte). */
static uint8_t draw_mask(struct test_flash *flash, bool is_cut)
{
    const uint64_t draw = splitmix_next(&flash->random);
    if (!is_cut || flash->cut == TEST_FLASH_AFTER) {
        return 0xff;
    }
    if (flash->cut == TEST_FLASH_FIRST_BITS) {
        return draw % 64 == 0 ? (uint8_t)(draw >> 8) : 0;
    }
    return flash->cut == TEST_FLASH_TORN ? (uint8_t)(draw >> 8) : 0;
}

/* Counts an operation. True: the power ends in it. */
static bool begin(struct test_flash *flash)
{
    flash->n_operations++;
    flash->is_down = flash->cut_at > 0 && --flash->cut_at == 0;
    return flash->is_down;
}

static int read_flash(void *ctx, uint32_t address, void *data, size_t len)
{
    const struct test_flash *flash = ctx;
    if (flash->is_down) {
        return -1;
    }
    memcpy(data, flash->bytes + address, len);
    return 0;
}

static int program_flash(void *ctx, uint32_t address, const void *page)
{
    struct test_flash *flash = ctx;
    const uint8_t *from = page;
    uint8_t *to = flash->bytes + address;
    if (flash->is_down) {
        return -1;
    }
    const bool is_cut = begin(flash);
    bool is_erased = true;
    for (size_t i = 0; i < FLASH_PAGE_BYTES; i++) {
        is_erased = is_erased && to[i] == 0xff;
        to[i] &= (uint8_t)(from[i] | ~draw_mask(flash, is_cut));
    }
    flash->n_programmed_twice += !is_erased;
    return is_cut ? -1 : 0;
}

static int erase_flash(void *ctx, uint32_t address)
{
    struct test_flash *flash = ctx;
    if (flash->is_down) {
        return -1;
    }
    const bool is_cut = begin(flash);
    flash->n_erased[address / FLASH_BLOCK_BYTES]++;
    for (size_t i = 0; i < FLASH_BLOCK_BYTES; i++) {
        flash->bytes[address + i] |= draw_mask(flash, is_cut);
    }
    return is_cut ? -1 : 0;
}

void test_flash_init(struct test_flash *flash, uint64_t seed)
{
    *flash = (struct test_flash){
        .random = seed,
        .port = {.ctx = flash, .read = read_flash, .program = program_flash, .erase = erase_flash},
    };
    memset(flash->bytes, 0xff, sizeof flash->bytes);
}

/* The example's files on raw flash: cuts of the power, wear, limits. That they keep the contract of
 * the hook is in test_platform.c. */
#include "base/splitmix.h"
#include "support/flash.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define N_NAMES 4
#define SIZE_MAX_BYTES 1500
#define PIECE (FLASH_PAGE_BYTES - 24) /* of a file, in one page */

/* What the files should hold. */
struct model {
    struct {
        bool exists;
        size_t size;
        uint8_t bytes[SIZE_MAX_BYTES];
    } files[N_NAMES];
};

static const char *const names[N_NAMES] = {"ledger", "spool", "spool.new", "pause"};
static struct test_flash flash, prepared;
static struct flash_files files;

static bool is_equal(const struct model *model)
{
    static uint8_t bytes[SIZE_MAX_BYTES];
    const struct dpot_filesystem *fs = &files.filesystem;
    bool equal = true;
    for (size_t i = 0; equal && i < N_NAMES; i++) {
        void *file = NULL;
        uint64_t size = 0;
        const dpot_status status = fs->open(fs->ctx, names[i], 0, &file);
        equal = status == (model->files[i].exists ? DPOT_OK : DPOT_ERR_NOT_FOUND);
        if (status == DPOT_OK) {
            equal = equal && fs->size(fs->ctx, file, &size) == DPOT_OK &&
                    size == model->files[i].size &&
                    fs->read_at(fs->ctx, file, 0, bytes, (size_t)size) == DPOT_OK &&
                    memcmp(bytes, model->files[i].bytes, (size_t)size) == 0;
            fs->close(fs->ctx, file);
        }
    }
    return equal;
}

static void set_size(struct model *model, size_t i, size_t size)
{
    if (size > model->files[i].size) {
        memset(model->files[i].bytes + model->files[i].size, 0, size - model->files[i].size);
    }
    model->files[i].size = size;
}

/* A change of one file, the state after which is `after`, or at most MODELS - 2 before it. */
#define MODELS 10
struct change {
    size_t n_states;
    struct model states[MODELS]; /* the first: before */
};

static struct model *next_state(struct change *change)
{
    change->states[change->n_states] = change->states[change->n_states - 1];
    return &change->states[change->n_states++];
}

static dpot_status write_random(struct change *change, size_t i, void *file, uint64_t *random)
{
    const struct dpot_filesystem *fs = &files.filesystem;
    uint8_t bytes[600];
    size_t at = splitmix_below(random, SIZE_MAX_BYTES - sizeof bytes);
    const size_t first = at, len = 1 + splitmix_below(random, sizeof bytes);
    memset(bytes, (int)splitmix_below(random, 256), len);
    while (at < first + len) {
        const size_t rest = PIECE - at % PIECE, left = first + len - at;
        const size_t n = rest < left ? rest : left;
        struct model *state = next_state(change);
        set_size(state, i, at + n > state->files[i].size ? at + n : state->files[i].size);
        memcpy(state->files[i].bytes + at, bytes, n);
        at += n;
    }
    return fs->write_at(fs->ctx, file, first, bytes, len);
}

static dpot_status change_file(struct change *change, size_t i, uint64_t *random)
{
    const struct dpot_filesystem *fs = &files.filesystem;
    void *file = NULL;
    if (!change->states[0].files[i].exists) {
        struct model *state = next_state(change);
        state->files[i].exists = true;
        state->files[i].size = 0;
    }
    dpot_status status = fs->open(fs->ctx, names[i], 1, &file);
    if (status != DPOT_OK) {
        return status;
    }
    if (splitmix_below(random, 4) > 0) {
        status = write_random(change, i, file, random);
    } else {
        const size_t size = splitmix_below(random, SIZE_MAX_BYTES);
        set_size(next_state(change), i, size);
        status = fs->truncate(fs->ctx, file, size);
    }
    fs->close(fs->ctx, file);
    return status;
}

static dpot_status change_at_random(struct change *change, uint64_t *random)
{
    const struct dpot_filesystem *fs = &files.filesystem;
    const size_t i = splitmix_below(random, 32) ? splitmix_below(random, 2)      /* hot */
                                                : 2 + splitmix_below(random, 2); /* cold */
    const size_t to = i ^ 1, kind = splitmix_below(random, 8);
    if (kind > 1 || !change->states[0].files[i].exists) {
        return change_file(change, i, random);
    }
    struct model *state = next_state(change);
    if (kind == 0) {
        state->files[to] = state->files[i];
        state->files[i].exists = false;
        return fs->rename(fs->ctx, names[i], names[to]);
    }
    state->files[i].exists = false;
    return fs->remove(fs->ctx, names[i]);
}

/* Changes files until the power ends, at most n times; then `model` is what is there. */
static void live(struct model *model, size_t n, uint64_t *random)
{
    static struct change change;
    change.states[0] = *model;
    for (size_t i = 0; i < n && !flash.is_down; i++) {
        change.n_states = 1;
        const dpot_status status = change_at_random(&change, random);
        cr_assert_eq(status, flash.is_down ? DPOT_ERR_IO : DPOT_OK, "change %zu: %d", i, status);
        if (!flash.is_down) {
            change.states[0] = change.states[change.n_states - 1];
        }
    }
    const bool was_cut = flash.is_down;
    flash.is_down = false;
    flash.cut_at = 0;
    if (was_cut) {
        cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK, "%s", files.why);
    }
    size_t found = was_cut ? change.n_states : 1;
    while (found > 0 && !is_equal(&change.states[found - 1])) {
        found--;
    }
    cr_assert_gt(found, 0, "neither the old nor the new content");
    cr_assert_eq(flash.n_programmed_twice, 0);
    *model = change.states[found - 1];
}

/* Cuts the power in operation n, in one of the next three, and goes on undisturbed. */
static bool cut_at(const struct model *start, size_t n, enum test_flash_cut cut)
{
    struct model model = *start;
    uint64_t random = 7;
    memcpy(&flash, &prepared, sizeof flash);
    flash.random = n;
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK);
    flash.cut = cut;
    flash.cut_at = n;
    live(&model, 60, &random);
    const bool is_hit = flash.n_operations - prepared.n_operations >= n;
    flash.cut = (enum test_flash_cut)(n % TEST_FLASH_CUTS);
    flash.cut_at = 1 + n / TEST_FLASH_CUTS % 3;
    live(&model, 60, &random);
    live(&model, 5, &random);
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK);
    cr_assert(is_equal(&model));
    return is_hit;
}

Test(flash_files, a_cut_of_the_power_anywhere_leaves_the_old_or_the_new_content)
{
    static struct model model;
    uint64_t random = 1;
    test_flash_init(&flash, 1);
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK);
    live(&model, 400, &random); /* several times round the flash */
    cr_assert_gt(flash.n_operations, (size_t)3 * FLASH_PAGES);
    memcpy(&prepared, &flash, sizeof prepared);
    for (size_t cut = 0; cut < TEST_FLASH_CUTS; cut++) {
        size_t n = 1;
        while (cut_at(&model, n, (enum test_flash_cut)cut)) {
            n++;
        }
        cr_assert_gt(n, 100);
    }
}

static void *open_new(const char *name)
{
    void *file = NULL;
    cr_assert_eq(files.filesystem.open(&files, name, 1, &file), DPOT_OK);
    return file;
}

Test(flash_files, brown_outs_in_a_row_neither_fill_the_flash_nor_lose_content, .timeout = 60)
{
    static struct model model;
    uint64_t random = 3;
    test_flash_init(&flash, 3);
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK);
    for (size_t i = 0; i < 2000; i++) {
        flash.cut = i % 2 ? TEST_FLASH_TORN : TEST_FLASH_FIRST_BITS;
        flash.cut_at = 2 + splitmix_below(&random, 4);
        live(&model, 50, &random);
    }
}

/* Each block gets one whole page and torn ones, so that blocks are lost one after another. */
Test(flash_files, what_interrupted_writes_used_up_is_refused_before_content_is_lost)
{
    const struct dpot_filesystem *fs = &files.filesystem;
    static uint8_t bytes[PIECE * (size_t)150], found[sizeof bytes];
    void *file = NULL;
    size_t n = 0;
    bool is_refused = false;
    test_flash_init(&flash, 5);
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK);
    memset(bytes, 7, sizeof bytes);
    cr_assert_eq(fs->write_at(&files, open_new("ledger"), 0, bytes, sizeof bytes), DPOT_OK);
    for (n = 0; n < 2000 && !is_refused; n++) {
        cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK, "%s", files.why);
        cr_assert_eq(fs->open(&files, "ledger", 0, &file), DPOT_OK);
        flash.cut = TEST_FLASH_TORN;
        flash.cut_at = files.head % FLASH_BLOCK_PAGES == 0 ? 3 : 1;
        (void)!fs->write_at(&files, file, 0, bytes, PIECE);
        (void)!fs->write_at(&files, file, 0, bytes, PIECE);
        is_refused = !flash.is_down;
        flash.is_down = false;
    }
    cr_assert(is_refused);
    cr_assert_str_eq(files.why, "too many interrupted writes: no block is free");
    flash.cut_at = 0;
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK);
    cr_assert_eq(fs->open(&files, "ledger", 0, &file), DPOT_OK);
    cr_assert_eq(fs->read_at(&files, file, 0, found, sizeof found), DPOT_OK);
    cr_assert_arr_eq(found, bytes, sizeof bytes);
}

Test(flash_files, a_hundred_thousand_writes_wear_all_blocks_alike)
{
    const struct dpot_filesystem *fs = &files.filesystem;
    static const uint8_t cold[PIECE * (size_t)64] = {1};
    uint32_t least = UINT32_MAX, most = 0;
    test_flash_init(&flash, 1);
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK);
    cr_assert_eq(fs->write_at(&files, open_new("cold"), 0, cold, sizeof cold), DPOT_OK);
    void *hot = open_new("hot");
    for (uint32_t i = 0; i < 100000; i++) {
        cr_assert_eq(fs->write_at(&files, hot, i % 100, &i, sizeof i), DPOT_OK);
    }
    for (size_t i = 0; i < FLASH_BLOCKS; i++) {
        least = flash.n_erased[i] < least ? flash.n_erased[i] : least;
        most = flash.n_erased[i] > most ? flash.n_erased[i] : most;
    }
    cr_assert_leq(most - least, 1);
    cr_assert_leq(most, 2 * 100000 / FLASH_PAGES); /* the cold pages cost less than as much again */
}

Test(flash_files, a_full_flash_still_changes_renames_cuts_and_removes)
{
    const struct dpot_filesystem *fs = &files.filesystem;
    static uint8_t bytes[PIECE];
    test_flash_init(&flash, 1);
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK);
    void *file = open_new("a");
    uint64_t size = 0;
    while (fs->write_at(&files, file, size, bytes, sizeof bytes) == DPOT_OK) {
        size += sizeof bytes;
    }
    cr_assert_geq(size,
                  PIECE * (size_t)(FLASH_BLOCKS - FLASH_SPARE_BLOCKS - 1) * FLASH_BLOCK_PAGES);
    cr_assert_eq(fs->write_at(&files, file, size, bytes, sizeof bytes), DPOT_ERR_NO_SPACE);
    cr_assert_eq(fs->truncate(&files, file, size + 1), DPOT_ERR_NO_SPACE);
    cr_assert_eq(fs->open(&files, "b", 1, &(void *){NULL}), DPOT_ERR_NO_SPACE);
    for (size_t i = 0; i < (size_t)4 * FLASH_PAGES; i++) {
        cr_assert_eq(fs->write_at(&files, file, i * 97 % (size - 8), "changed", 7), DPOT_OK);
        cr_assert_eq(fs->rename(&files, i % 2 ? "b" : "a", i % 2 ? "a" : "b"), DPOT_OK);
    }
    cr_assert_eq(fs->truncate(&files, file, size - 1), DPOT_OK);
    cr_assert_eq(fs->remove(&files, "a"), DPOT_OK);
    fs->close(&files, file);
    cr_assert_eq(fs->write_at(&files, open_new("b"), 0, bytes, sizeof bytes), DPOT_OK);
}

Test(flash_files, no_more_files_than_the_table_holds)
{
    char name[16];
    test_flash_init(&flash, 1);
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK);
    for (int i = 0; i < FLASH_FILES; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        (void)open_new(name);
    }
    cr_assert_eq(files.filesystem.open(&files, "x", 1, &(void *){NULL}), DPOT_ERR_NO_SPACE);
}

Test(flash_files, a_damaged_page_of_the_log_is_refused_by_name)
{
    test_flash_init(&flash, 1);
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_OK);
    void *file = open_new("ledger");
    cr_assert_eq(files.filesystem.write_at(&files, file, 0, "charge", 6), DPOT_OK);
    cr_assert_eq(files.filesystem.write_at(&files, file, 0, "Charge", 6), DPOT_OK);
    flash.bytes[FLASH_PAGE_BYTES + 100] ^= 1; /* the first of the two writes */
    cr_assert_eq(flash_files_open(&files, &flash.port), DPOT_ERR_IO);
    cr_assert_str_eq(files.why, "a page of the flash is damaged");
}

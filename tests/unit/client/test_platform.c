/* One suite over every implementation of the file hook: POSIX, memory, raw flash, and the
 * double of the torture test. */
#include "simulation.h"
#include "support/child.h"
#include "support/filesystem.h"
#include "support/flash.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind { POSIX, MEMORY, FLASH, DOUBLE, N_KINDS };

static char folder[64];
static struct test_filesystem model;
static struct test_flash flash;
static struct flash_files flash_files;

static void set_up(void)
{
    memcpy(folder, "/tmp/dpot-platform-XXXXXX", 26);
    cr_assert_not_null(mkdtemp(folder));
    test_filesystem_init(&model, 1);
}

static void remove_folder(void)
{
    static const char *const names[] = {"a", "b", "lock", "ledger", "spool", "install", "keys"};
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static void tear_down(void)
{
    remove_folder();
    test_filesystem_release(&model);
}

TestSuite(platform, .init = set_up, .fini = tear_down);

static const struct dpot_filesystem *make(enum kind kind, struct dpot_filesystem **made)
{
    *made = NULL;
    switch (kind) {
    case POSIX:
        cr_assert_eq(dpot_filesystem_posix_new(folder, made), DPOT_OK);
        return *made;
    case MEMORY:
        cr_assert_eq(dpot_filesystem_memory_new(NULL, made), DPOT_OK);
        return *made;
    case FLASH:
        test_flash_init(&flash, 1);
        cr_assert_eq(flash_files_open(&flash_files, &flash.port), DPOT_OK);
        return &flash_files.filesystem;
    default:
        return &model.filesystem;
    }
}

static void unmake(enum kind kind, struct dpot_filesystem *made)
{
    if (kind == POSIX) {
        dpot_filesystem_posix_free(made);
    } else if (kind == MEMORY) {
        dpot_filesystem_memory_free(made);
    }
}

static void check_contract(const struct dpot_filesystem *fs)
{
    void *file = NULL, *other = NULL;
    uint64_t size = 7;
    char data[8] = "";
    cr_assert_eq(fs->open(fs->ctx, "a", 0, &file), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(fs->open(fs->ctx, "a", 1, &file), DPOT_OK);
    cr_assert_eq(fs->size(fs->ctx, file, &size), DPOT_OK);
    cr_assert_eq(size, 0);
    cr_assert_eq(fs->write_at(fs->ctx, file, 4, "wxyz", 4), DPOT_OK);
    cr_assert_eq(fs->read_at(fs->ctx, file, 0, data, 8), DPOT_OK);
    cr_assert_arr_eq(data, "\0\0\0\0wxyz", 8);
    cr_assert_eq(fs->write_at(fs->ctx, file, 2, "ab", 2), DPOT_OK);
    cr_assert_eq(fs->read_at(fs->ctx, file, 0, data, 8), DPOT_OK);
    cr_assert_arr_eq(data, "\0\0abwxyz", 8);
    cr_assert_eq(fs->read_at(fs->ctx, file, 1, data, 8), DPOT_ERR_IO);
    cr_assert_eq(fs->read_at(fs->ctx, file, 9, data, 1), DPOT_ERR_IO);
    cr_assert_eq(fs->truncate(fs->ctx, file, 3), DPOT_OK);
    cr_assert_eq(fs->truncate(fs->ctx, file, 5), DPOT_OK);
    cr_assert_eq(fs->read_at(fs->ctx, file, 0, data, 5), DPOT_OK);
    cr_assert_arr_eq(data, "\0\0a\0\0", 5);
    cr_assert_eq(fs->sync(fs->ctx, file), DPOT_OK);
    cr_assert_eq(fs->sync_directory(fs->ctx), DPOT_OK);

    /* A rename replaces the old file; an open descriptor of it stays valid. */
    cr_assert_eq(fs->open(fs->ctx, "b", 1, &other), DPOT_OK);
    cr_assert_eq(fs->write_at(fs->ctx, other, 0, "new", 3), DPOT_OK);
    fs->close(fs->ctx, other);
    cr_assert_eq(fs->rename(fs->ctx, "b", "a"), DPOT_OK);
    cr_assert_eq(fs->rename(fs->ctx, "b", "a"), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(fs->size(fs->ctx, file, &size), DPOT_OK);
    cr_assert_eq(size, 5);
    fs->close(fs->ctx, file);
    cr_assert_eq(fs->open(fs->ctx, "a", 0, &file), DPOT_OK);
    cr_assert_eq(fs->size(fs->ctx, file, &size), DPOT_OK);
    cr_assert_eq(size, 3);
    fs->close(fs->ctx, file);
    cr_assert_eq(fs->remove(fs->ctx, "a"), DPOT_OK);
    cr_assert_eq(fs->remove(fs->ctx, "a"), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(fs->open(fs->ctx, "a", 0, &file), DPOT_ERR_NOT_FOUND);

    cr_assert_eq(fs->lock(fs->ctx), DPOT_OK);
    cr_assert_eq(fs->lock(fs->ctx), DPOT_ERR_BUSY);
    fs->unlock(fs->ctx);
    cr_assert_eq(fs->lock(fs->ctx), DPOT_OK);
    fs->unlock(fs->ctx);
}

Test(platform, every_file_hook_keeps_the_contract)
{
    for (enum kind kind = POSIX; kind < N_KINDS; kind++) {
        struct dpot_filesystem *made = NULL;
        check_contract(make(kind, &made));
        unmake(kind, made);
    }
}

/* ---- POSIX only ---- */

static mode_t mode_of(const char *name)
{
    char path[128];
    struct stat about;
    (void)snprintf(path, sizeof path, "%s%s%s", folder, name[0] ? "/" : "", name);
    cr_assert_eq(lstat(path, &about), 0);
    return about.st_mode & 0777;
}

Test(platform, a_posix_folder_and_its_files_are_for_the_owner_alone)
{
    struct dpot_filesystem *fs = NULL;
    void *file = NULL;
    (void)umask(0);
    cr_assert_eq(rmdir(folder), 0);
    cr_assert_eq(dpot_filesystem_posix_new(folder, &fs), DPOT_OK);
    cr_assert_eq(mode_of(""), 0700);
    cr_assert_eq(fs->open(fs->ctx, "a", 1, &file), DPOT_OK);
    cr_assert_eq(mode_of("a"), 0600);
    fs->close(fs->ctx, file);
    dpot_filesystem_posix_free(fs);
}

Test(platform, links_folders_and_paths_are_refused)
{
    char path[128];
    struct dpot_filesystem *fs = NULL;
    void *file = NULL;
    cr_assert_eq(dpot_filesystem_posix_new(folder, &fs), DPOT_OK);
    (void)snprintf(path, sizeof path, "%s/a", folder);
    cr_assert_eq(symlink("/tmp/dpot-elsewhere", path), 0);
    cr_assert_eq(fs->open(fs->ctx, "a", 1, &file), DPOT_ERR_IO);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_eq(fs->open(fs->ctx, "a", 0, &file), DPOT_ERR_IO);
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(fs->open(fs->ctx, "a", 0, &file), DPOT_ERR_IO);
    cr_assert_eq(fs->open(fs->ctx, "../a", 1, &file), DPOT_ERR_ARGUMENT);
    cr_assert_eq(fs->open(fs->ctx, "", 1, &file), DPOT_ERR_ARGUMENT);
    dpot_filesystem_posix_free(fs);
    dpot_filesystem_posix_free(NULL);
}

Test(platform, a_path_that_is_no_folder_is_refused)
{
    struct dpot_filesystem *fs = NULL;
    cr_assert_eq(dpot_filesystem_posix_new("/dev/null", &fs), DPOT_ERR_IO);
    cr_assert_eq(dpot_filesystem_posix_new("/tmp/dpot-none/none", &fs), DPOT_ERR_IO);
    cr_assert_null(fs);
}

Test(platform, a_failure_is_explained_with_its_file_and_cause)
{
    struct dpot_filesystem *fs = NULL;
    char path[128];
    void *file = NULL;
    cr_assert_eq(dpot_filesystem_posix_new(folder, &fs), DPOT_OK);
    (void)snprintf(path, sizeof path, "%s/sub", folder);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_str_eq(fs->explain(fs->ctx), "");
    cr_assert_eq(fs->open(fs->ctx, "sub", 0, &file), DPOT_ERR_IO);
    cr_assert_str_eq(fs->explain(fs->ctx),
                     "a regular file is expected here, no folder, pipe or device (\"sub\")");
    cr_assert_eq(fs->open(fs->ctx, "none", 0, &file), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(fs->explain(fs->ctx), "(\"sub\")"), "that was no failure");
    cr_assert_eq(fs->lock(fs->ctx), DPOT_OK);
    cr_assert_str_eq(fs->explain(fs->ctx), "", "what was before is forgotten");
    fs->unlock(fs->ctx);
    cr_assert_eq(rmdir(path), 0);
    dpot_filesystem_posix_free(fs);
}

Test(platform, the_posix_lock_excludes_another_handle_of_this_process)
{
    struct dpot_filesystem *one = NULL, *two = NULL;
    cr_assert_eq(dpot_filesystem_posix_new(folder, &one), DPOT_OK);
    cr_assert_eq(dpot_filesystem_posix_new(folder, &two), DPOT_OK);
    cr_assert_eq(one->lock(one->ctx), DPOT_OK);
    cr_assert_eq(two->lock(two->ctx), DPOT_ERR_BUSY);
    one->unlock(one->ctx);
    cr_assert_eq(two->lock(two->ctx), DPOT_OK);
    dpot_filesystem_posix_free(two); /* unlocks */
    cr_assert_eq(one->lock(one->ctx), DPOT_OK);
    dpot_filesystem_posix_free(one);
}

Test(platform, the_posix_lock_excludes_another_process_and_dies_with_it)
{
    int up[2], down[2], status = 0;
    char byte = 0;
    struct dpot_filesystem *fs = NULL;
    cr_assert_eq(pipe(up), 0);
    cr_assert_eq(pipe(down), 0);
    const pid_t child = child_fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct dpot_filesystem *mine = NULL;
        const bool has_it =
            dpot_filesystem_posix_new(folder, &mine) == DPOT_OK && mine->lock(mine->ctx) == DPOT_OK;
        (void)!write(up[1], has_it ? "y" : "n", 1);
        (void)!read(down[0], &byte, 1);
        _exit(0); /* without unlocking */
    }
    cr_assert_eq(read(up[0], &byte, 1), 1);
    cr_assert_eq(byte, 'y');
    cr_assert_eq(dpot_filesystem_posix_new(folder, &fs), DPOT_OK);
    cr_assert_eq(fs->lock(fs->ctx), DPOT_ERR_BUSY);
    cr_assert_eq(write(down[1], "x", 1), 1);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(fs->lock(fs->ctx), DPOT_OK);
    dpot_filesystem_posix_free(fs);
}

/* ---- the double itself ---- */

static void assert_content(const char *name, const char *expected)
{
    size_t len = 0;
    const uint8_t *data = test_filesystem_durable(&model, name, &len);
    if (!expected) {
        cr_assert_null(data);
        return;
    }
    cr_assert_not_null(data);
    cr_assert_eq(len, strlen(expected));
    cr_assert_arr_eq(data, expected, len);
}

Test(platform, the_double_loses_what_was_not_synced_and_only_that)
{
    const struct dpot_filesystem *fs = &model.filesystem;
    void *file = NULL;
    cr_assert_eq(fs->open(fs->ctx, "a", 1, &file), DPOT_OK);
    cr_assert_eq(fs->write_at(fs->ctx, file, 0, "one", 3), DPOT_OK);
    cr_assert_eq(fs->sync(fs->ctx, file), DPOT_OK);
    assert_content("a", NULL); /* its name is not durable */
    cr_assert_eq(fs->sync_directory(fs->ctx), DPOT_OK);
    assert_content("a", "one");
    cr_assert_eq(fs->write_at(fs->ctx, file, 0, "two", 3), DPOT_OK);
    cr_assert_eq(fs->rename(fs->ctx, "a", "b"), DPOT_OK);
    fs->close(fs->ctx, file);
    test_filesystem_restart(&model, TEST_KILL);
    assert_content("a", "one");
    test_filesystem_restart(&model, TEST_LOSE_ALL);
    assert_content("a", "one");
    assert_content("b", NULL);
}

Test(platform, the_double_marks_pages_clean_when_a_sync_fails)
{
    const struct dpot_filesystem *fs = &model.filesystem;
    void *file = NULL;
    cr_assert_eq(fs->open(fs->ctx, "a", 1, &file), DPOT_OK);
    cr_assert_eq(fs->sync_directory(fs->ctx), DPOT_OK);
    bool was_lost = false;
    for (int i = 0; i < 20 && !was_lost; i++) {
        char byte = (char)('A' + i), seen = 0;
        cr_assert_eq(fs->write_at(fs->ctx, file, 0, &byte, 1), DPOT_OK);
        test_filesystem_fail_sync_at(&model, 1);
        cr_assert_eq(fs->sync(fs->ctx, file), DPOT_ERR_IO);
        cr_assert_eq(fs->sync(fs->ctx, file), DPOT_OK); /* as kernels do */
        cr_assert_eq(fs->read_at(fs->ctx, file, 0, &seen, 1), DPOT_OK);
        cr_assert_eq(seen, byte);
        size_t len = 0;
        const uint8_t *disk = test_filesystem_durable(&model, "a", &len);
        was_lost = len == 0 || disk[0] != (uint8_t)byte;
    }
    cr_assert(was_lost);
    fs->close(fs->ctx, file);
}

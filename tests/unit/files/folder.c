#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */

#include "folder.h"

#include "support/child.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[FOLDER_PATH_MAX];

void folder_make(void)
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/dpot-files-XXXXXX", base ? base : "/tmp");
    cr_assert_not_null(mkdtemp(folder));
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

void folder_remove(void)
{
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *folder_path(const char *name)
{
    static char paths[4][2 * FOLDER_PATH_MAX];
    static size_t next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *folder_write(const char *name, const void *data, size_t len)
{
    const char *path = folder_path(name);
    FILE *stream = fopen(path, "wb");
    cr_assert_not_null(stream);
    cr_assert_eq(fwrite(data, 1, len, stream), len);
    cr_assert_eq(fclose(stream), 0);
    return path;
}

const char *folder_pipe(const char *name, const void *data, size_t len)
{
    const char *path = folder_path(name);
    cr_assert_eq(mkfifo(path, 0600), 0);
    const pid_t child = child_fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        FILE *stream = fopen(path, "wb");
        const bool is_written = stream && fwrite(data, 1, len, stream) == len;
        _exit(is_written && fclose(stream) == 0 ? 0 : 1);
    }
    return path;
}

size_t folder_read(const char *name, void *data, size_t cap)
{
    FILE *stream = fopen(folder_path(name), "rb");
    cr_assert_not_null(stream);
    const size_t n = fread(data, 1, cap, stream);
    (void)fclose(stream);
    return n;
}

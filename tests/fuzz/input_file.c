#include "input_file.h"

#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 600
#define N_PATHS 8

static char folder[PATH_SIZE / 2];

static void remove_folder(void)
{
    DIR *dir = opendir(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        if (e->d_name[0] != '.') {
            (void)unlink(input_path(e->d_name));
        }
    }
    if (dir) {
        (void)closedir(dir);
    }
    (void)rmdir(folder);
}

static void make_folder(void)
{
    const char *base = getenv("TMPDIR");
    const int n = snprintf(folder, sizeof folder, "%s/dpot-fuzz-XXXXXX", base ? base : "/tmp");
    require(n > 0 && (size_t)n < sizeof folder && mkdtemp(folder) != NULL);
    require(atexit(remove_folder) == 0);
}

const char *input_path(const char *name)
{
    static char paths[N_PATHS][PATH_SIZE];
    static size_t next;
    char *path = paths[next++ % N_PATHS];
    if (!folder[0]) {
        make_folder();
    }
    const int n = snprintf(path, PATH_SIZE, "%s/%.250s", folder, name);
    require(n > 0 && n < PATH_SIZE);
    return path;
}

const char *input_file(const char *name, const uint8_t *data, size_t len)
{
    const char *path = input_path(name);
    /* Not O_TRUNC: some file systems flush a file at once that was truncated and written again. */
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, data, len) == (ssize_t)len);
    require(ftruncate(fd, (off_t)len) == 0 && close(fd) == 0);
    return path;
}

void input_remove(const char *name)
{
    (void)unlink(input_path(name));
}

struct input_parts input_split(const uint8_t *data, size_t len)
{
    if (len < 2) {
        return (struct input_parts){data, data, 0, 0};
    }
    const size_t asked = (size_t)data[0] | (size_t)data[1] << 8;
    const size_t first_len = asked < len - 2 ? asked : len - 2;
    return (struct input_parts){data + 2, data + 2 + first_len, first_len, len - 2 - first_len};
}

/* Replaces the C library's fsync: a target's files need not survive it. */
int fsync(int fd)
{
    (void)fd;
    return 0;
}

/* Key files that interrupted commands left behind. */
#include "files/temporary.h"
#include "keys/keys.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4352

struct search {
    void (*report)(void *ctx, const char *path); /* NULL: remove */
    void *ctx;
    size_t n;
};

static dpot_status process(struct search *search, const char *path, struct dpot_error *error)
{
    if (!temporary_is_left(path)) {
        return DPOT_OK;
    }
    if (search->report) {
        search->report(search->ctx, path);
    } else if (unlink(path) != 0 && errno != ENOENT) {
        return dpot_error_set(error, DPOT_ERR_IO, "removing %s failed: %s", path, strerror(errno));
    }
    search->n++;
    return DPOT_OK;
}

static dpot_status walk(const char *folder, struct search *search, struct dpot_error *error)
{
    DIR *dir = opendir(folder);
    dpot_status status = DPOT_OK;
    if (!dir) {
        return dpot_error_set(error, DPOT_ERR_IO, "opening %s failed: %s", folder, strerror(errno));
    }
    const struct dirent *entry = NULL;
    for (entry = readdir(dir); status == DPOT_OK && entry; entry = readdir(dir)) {
        char path[PATH_SIZE];
        const int n = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (n > 0 && n < PATH_SIZE && temporary_is_name(entry->d_name)) {
            status = process(search, path, error);
        }
    }
    (void)closedir(dir);
    return status;
}

dpot_status server_keys_clear(const char *folder, size_t *n, struct dpot_error *error)
{
    struct search search = {.report = NULL};
    const dpot_status status = walk(folder, &search, error);
    *n = search.n;
    return status;
}

dpot_status server_keys_find_unfinished(const char *folder,
                                        void (*report)(void *ctx, const char *path), void *ctx,
                                        struct dpot_error *error)
{
    struct search search = {.report = report, .ctx = ctx};
    return walk(folder, &search, error);
}

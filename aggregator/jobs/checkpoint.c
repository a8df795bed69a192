#include "jobs/checkpoint.h"

#include "base/crypto.h"
#include "files/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".state"
#define HEX_LEN (2 * JOB_ID_LEN)

/* The parts of a file name. */
struct named {
    uint8_t id[JOB_ID_LEN];
    uint64_t n_reports;
    bool is_whole; /* false: more follows .state in the name: a write was cut off */
};

static bool read_name(const char *name, struct named *named)
{
    char hex[HEX_LEN + 1], *end = NULL;
    if (strlen(name) < HEX_LEN + 2 || name[HEX_LEN] != '-' || name[HEX_LEN + 1] < '0' ||
        name[HEX_LEN + 1] > '9') {
        return false;
    }
    memcpy(hex, name, HEX_LEN);
    hex[HEX_LEN] = '\0';
    named->n_reports = strtoull(name + HEX_LEN + 1, &end, 10);
    named->is_whole = strcmp(end, SUFFIX) == 0;
    return dpot_hex_decode(hex, named->id, sizeof named->id) == DPOT_OK &&
           strncmp(end, SUFFIX, sizeof SUFFIX - 1) == 0;
}

static bool join(char path[JOB_CHECKPOINT_PATH_SIZE], const char *folder, const char *name)
{
    const int len = snprintf(path, JOB_CHECKPOINT_PATH_SIZE, "%s/%s", folder, name);
    return len > 0 && len < JOB_CHECKPOINT_PATH_SIZE;
}

/* Called for every file of the folder with a checkpoint's name; false ends the walk. */
typedef bool (*each_named)(void *ctx, const struct named *named, const char *path);

static dpot_status walk(const char *folder, each_named each, void *ctx, struct dpot_error *error)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        return errno == ENOENT
                   ? DPOT_OK
                   : dpot_error_set(error, DPOT_ERR_IO, "%s: %s", folder, strerror(errno));
    }
    bool goes_on = true;
    const struct dirent *entry = readdir(dir);
    for (; goes_on && entry; entry = readdir(dir)) {
        struct named named;
        char path[JOB_CHECKPOINT_PATH_SIZE];
        if (read_name(entry->d_name, &named) && join(path, folder, entry->d_name)) {
            goes_on = each(ctx, &named, path);
        }
    }
    (void)closedir(dir);
    return DPOT_OK;
}

struct finding {
    const uint8_t *id;
    char *path;
    uint64_t n_reports;
    bool is_found;
};

static bool find_one(void *ctx, const struct named *named, const char *path)
{
    struct finding *finding = ctx;
    if (named->is_whole && memcmp(named->id, finding->id, JOB_ID_LEN) == 0) {
        (void)snprintf(finding->path, JOB_CHECKPOINT_PATH_SIZE, "%s", path);
        finding->n_reports = named->n_reports;
        finding->is_found = true;
    }
    return !finding->is_found;
}

dpot_status job_checkpoint_find(const char *folder, const uint8_t id[JOB_ID_LEN],
                                char path[JOB_CHECKPOINT_PATH_SIZE], uint64_t *n_reports,
                                struct dpot_error *error)
{
    struct finding finding = {.id = id, .path = path};
    const dpot_status status = walk(folder, find_one, &finding, error);
    *n_reports = finding.n_reports;
    return status == DPOT_OK && !finding.is_found ? DPOT_ERR_NOT_FOUND : status;
}

dpot_status job_checkpoint_name(const char *folder, const uint8_t id[JOB_ID_LEN],
                                uint64_t n_reports, char path[JOB_CHECKPOINT_PATH_SIZE],
                                struct dpot_error *error)
{
    char hex[HEX_LEN + 1], name[HEX_LEN + 40];
    dpot_hex_encode(hex, id, JOB_ID_LEN);
    (void)snprintf(name, sizeof name, "%s-%" PRIu64 SUFFIX, hex, n_reports);
    if (!join(path, folder, name)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the path of the checkpoint folder is too long: move the store");
    }
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return dpot_error_set(error, DPOT_ERR_IO, "%s: %s", folder, strerror(errno));
    }
    return DPOT_OK;
}

static bool remove_of_job(void *ctx, const struct named *named, const char *path)
{
    if (memcmp(named->id, ctx, JOB_ID_LEN) == 0) {
        (void)unlink(path);
    }
    return true;
}

void job_checkpoint_remove(const char *folder, const uint8_t id[JOB_ID_LEN])
{
    uint8_t copy[JOB_ID_LEN];
    memcpy(copy, id, sizeof copy);
    (void)walk(folder, remove_of_job, copy, NULL);
}

static bool remove_ended(void *ctx, const struct named *named, const char *path)
{
    struct job_record record;
    const dpot_status status = store_get_job(ctx, named->id, &record, NULL);
    const bool is_alive =
        status == DPOT_OK && (record.state == JOB_QUEUED || record.state == JOB_RUNNING);
    if (!named->is_whole || status == DPOT_ERR_NOT_FOUND || (status == DPOT_OK && !is_alive)) {
        (void)unlink(path);
    }
    return true;
}

void job_checkpoint_sweep(const char *folder, struct store *store)
{
    (void)walk(folder, remove_ended, store, NULL);
    temporary_sweep(folder);
}

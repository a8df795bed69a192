#include "dpotd/backup.h"

#include "keys/keys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_SIZE 65536

static const char sqlite_scheme[] = "sqlite:";
#define SCHEME_LEN (sizeof sqlite_scheme - 1)

static dpot_status fail(const char *what, const char *path, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_IO, "%s %s failed: %s", what, path, strerror(errno));
}

static dpot_status count_store(const char *url, struct backup_made *made, struct dpot_error *error)
{
    struct store *store = NULL;
    uint64_t n_dropped[DROP_REASONS];
    dpot_status status = store_open_old(url, &store, error);
    if (status == DPOT_OK) {
        store_get_schema(store, &made->schema, &made->current);
        status = store_count_all(store, &made->count, n_dropped, error);
        store_close(store);
    }
    return status;
}

static dpot_status make_url(char url[CONFIG_TEXT_SIZE], const char *path, struct dpot_error *error)
{
    const int n = snprintf(url, CONFIG_TEXT_SIZE, "%s%s", sqlite_scheme, path);
    return n > 0 && n < CONFIG_TEXT_SIZE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "the path is too long: %.80s...", path);
}

/* ---- backup ---- */

struct making {
    const struct config *config;
    const struct service_check_options *options;
    struct backup_made *made;
};

/* Called before the copy gets its name. */
static dpot_status validate_copy(void *ctx, const char *path, struct dpot_error *error)
{
    const struct making *making = ctx;
    char url[CONFIG_TEXT_SIZE];
    dpot_status status = make_url(url, path, error);
    if (status == DPOT_OK) {
        status = service_check_store(
            making->config, url, making->options,
            "the copy has faults and was removed: if dpotd doctor reports the same faults of the "
            "store, restore the store from an older backup (dpotd restore); if not, make the copy "
            "on another disk",
            error);
    }
    return status == DPOT_OK ? count_store(url, making->made, error) : status;
}

/* Checks the source too: a copy can lack one of its faults, and with it rows that the fault
 * hides. */
static dpot_status check_source(struct store *store, struct dpot_error *error)
{
    const dpot_status status = store_check_structure(store, error);
    return status == DPOT_OK ? status : dpot_error_prefix(error, status, "no copy was made");
}

dpot_status backup_make(const struct config *config, const char *to,
                        const struct service_check_options *options, struct backup_made *made,
                        struct dpot_error *error)
{
    struct making making = {config, options, made};
    const struct store_validator validator = {validate_copy, &making};
    struct store *store = NULL;
    dpot_status status = store_open_old(config->store, &store, error);
    if (status == DPOT_OK) {
        status = check_source(store, error);
    }
    if (status == DPOT_OK) {
        status = store_backup(store, to, &validator, error);
    }
    store_close(store);
    return status;
}

/* ---- restore ---- */

static bool copy_blocks(int in, int out)
{
    static uint8_t block[BLOCK_SIZE];
    ssize_t n = read(in, block, sizeof block);
    while (n > 0) {
        for (ssize_t done = 0; done < n;) {
            const ssize_t written = write(out, block + done, (size_t)(n - done));
            if (written < 0 && errno != EINTR) {
                return false;
            }
            done += written > 0 ? written : 0;
        }
        n = read(in, block, sizeof block);
    }
    return n == 0 && fsync(out) == 0;
}

static dpot_status copy_file(const char *from, const char *to, struct dpot_error *error)
{
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) {
        return fail("opening", from, error);
    }
    const int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    dpot_status status = out >= 0 ? DPOT_OK : fail("creating", to, error);
    if (status == DPOT_OK && !copy_blocks(in, out)) {
        status = fail("copying to", to, error);
    }
    if (out >= 0) {
        (void)close(out);
    }
    (void)close(in);
    return status;
}

/* The file of a running store lacks the content of its log, and an empty file would become a new
 * store. */
static dpot_status check_copy(const char *from, struct dpot_error *error)
{
    char log[CONFIG_TEXT_SIZE];
    struct stat info;
    if (stat(from, &info) != 0) {
        return fail("opening", from, error);
    }
    if (!S_ISREG(info.st_mode)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s is not a file: name a copy", from);
    }
    if (info.st_size == 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s is empty: choose another copy", from);
    }
    (void)snprintf(log, sizeof log, "%s-wal", from);
    return stat(log, &info) == 0 && info.st_size > 0
               ? dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "%s has a write-ahead log beside it, so it is a store and not a "
                                "copy of one: use a file that dpotd backup made",
                                from)
               : DPOT_OK;
}

static void remove_store(const char *path)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char name[CONFIG_TEXT_SIZE + 8];
        (void)snprintf(name, sizeof name, "%s%s", path, tails[i]);
        (void)unlink(name);
    }
}

/* Invalid keys are not a fault of the copy. */
static dpot_status check_keys(const struct config *config, struct dpot_error *error)
{
    struct server_keys keys;
    const dpot_status status = server_keys_read(config->keys_dir, &keys, error);
    server_keys_wipe(&keys);
    return status;
}

/* Checks that the copy is a complete store of these keys, and only then migrates it, since a
 * migration stores checksums of the content. */
static dpot_status validate_and_migrate(const struct config *config, const char *url,
                                        const struct service_check_options *options,
                                        struct dpot_error *error)
{
    struct store *store = NULL;
    dpot_status status = service_check_store(
        config, url, options, "it has faults: use another copy, and the keys that belong to it",
        error);
    if (status == DPOT_OK) {
        status = store_open(url, &store, error);
    }
    if (status == DPOT_OK) {
        status = store_try_write(store, error);
    }
    store_close(store);
    return status;
}

/* All steps before the copy replaces the store. */
static dpot_status prepare_copy(const struct config *config, const char *from, const char *beside,
                                const struct service_check_options *options,
                                struct pool_count *count, struct dpot_error *error)
{
    struct backup_made made = {.schema = 0};
    char url[CONFIG_TEXT_SIZE];
    dpot_status status = make_url(url, beside, error);
    if (status == DPOT_OK) {
        status = check_keys(config, error);
    }
    if (status == DPOT_OK) {
        status = check_copy(from, error);
    }
    if (status == DPOT_OK) {
        status = copy_file(from, beside, error);
    }
    if (status == DPOT_OK) {
        status = validate_and_migrate(config, url, options, error);
    }
    if (status == DPOT_OK) {
        status = count_store(url, &made, error);
        *count = made.count;
    }
    return status == DPOT_OK
               ? status
               : dpot_error_prefix(error, status, "%s was not restored, the store is unchanged",
                                   from);
}

static dpot_status name_restoring(const struct config *config, char beside[CONFIG_TEXT_SIZE],
                                  struct dpot_error *error)
{
    const int n = snprintf(beside, CONFIG_TEXT_SIZE, "%s.restoring", config->store + SCHEME_LEN);
    return n > 0 && n < CONFIG_TEXT_SIZE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "store is too long: use a shorter path");
}

/* Two restores of one store would share the copy: the lock of the folder excludes them. -1: another
 * one holds it. */
static int lock_folder_of(const char *path)
{
    char folder[CONFIG_TEXT_SIZE];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                   slash ? path : ".");
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        (void)close(fd);
        return -1;
    }
    return fd >= 0 ? fd : open("/dev/null", O_RDONLY | O_CLOEXEC); /* the copy says why */
}

void backup_sweep(const struct config *config)
{
    char beside[CONFIG_TEXT_SIZE];
    if (name_restoring(config, beside, NULL) == DPOT_OK) {
        const int lock = lock_folder_of(beside);
        if (lock >= 0) {
            remove_store(beside);
            (void)close(lock);
        }
    }
}

static dpot_status restore_locked(const struct config *config, const char *from, const char *beside,
                                  const struct service_check_options *options,
                                  struct backup_restored *restored, struct dpot_error *error)
{
    remove_store(beside); /* left by an interrupted restore */
    dpot_status status = prepare_copy(config, from, beside, options, &restored->count, error);
    if (status == DPOT_OK) {
        status = store_replace(config->store, beside, restored->kept, error);
    }
    remove_store(beside); /* left if the restore failed */
    return status;
}

dpot_status backup_restore(const struct config *config, const char *from,
                           const struct service_check_options *options,
                           struct backup_restored *restored, struct dpot_error *error)
{
    char beside[CONFIG_TEXT_SIZE];
    *restored = (struct backup_restored){.kept = ""};
    if (strcmp(config->store + SCHEME_LEN, ":memory:") == 0) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "the store is in memory: there is nothing to restore");
    }
    dpot_status status = name_restoring(config, beside, error);
    if (status != DPOT_OK) {
        return status;
    }
    const int lock = lock_folder_of(beside);
    if (lock < 0) {
        return dpot_error_set(error, DPOT_ERR_BUSY,
                              "another restore writes %s: wait until it has ended", beside);
    }
    status = restore_locked(config, from, beside, options, restored, error);
    (void)close(lock);
    return status;
}

/* ---- migration ---- */

struct migrating {
    const struct config *config;
    const struct service_check_options *options;
    struct backup_migrated *migrated;
};

static dpot_status save_old(const struct migrating *migrating, struct dpot_error *error)
{
    struct backup_made made = {.schema = 0};
    struct making making = {migrating->config, migrating->options, &made};
    const struct store_validator validator = {validate_copy, &making};
    struct backup_migrated *migrated = migrating->migrated;
    struct store *store = NULL;
    char what[32];
    const dpot_status status = store_open_old(migrating->config->store, &store, error);
    if (status != DPOT_OK) {
        return status;
    }
    (void)snprintf(what, sizeof what, "version-%d", migrated->from);
    const dpot_status saved = store_save(store, what, &validator, migrated->copy, error);
    store_close(store);
    return saved;
}

/* Called when the store is owned and before it is changed. */
static dpot_status validate_old_store(void *ctx, const char *path, struct dpot_error *error)
{
    const struct migrating *migrating = ctx;
    const struct config *config = migrating->config;
    (void)path;
    const dpot_status status =
        service_check_store(config, config->store, migrating->options, service_no_migration, error);
    return status == DPOT_OK ? save_old(migrating, error) : status;
}

/* Does not create a missing store. */
static dpot_status find_versions(const struct config *config, struct backup_migrated *migrated,
                                 struct dpot_error *error)
{
    struct store *store = NULL;
    const dpot_status status = store_open_old(config->store, &store, error);
    if (status == DPOT_OK) {
        store_get_schema(store, &migrated->from, &migrated->to);
        store_close(store);
    }
    return status;
}

dpot_status backup_migrate(const struct config *config, const struct service_check_options *options,
                           struct backup_migrated *migrated, struct dpot_error *error)
{
    struct migrating migrating = {config, options, migrated};
    const struct store_validator validator = {validate_old_store, &migrating};
    struct store *store = NULL;
    *migrated = (struct backup_migrated){.copy = ""};
    dpot_status status = find_versions(config, migrated, error);
    if (status == DPOT_OK) {
        status = store_open_owned(config->store, &validator, &store, error);
    }
    if (status == DPOT_OK) {
        store_get_schema(store, &migrated->from, &migrated->to);
        store_close(store);
    }
    return status;
}

/* A store whose owner was killed: the next owner finds all acknowledged reports; an older copy is
 * refused. */
#include "support/child.h"
#include "unit/aggregator/store/store_file.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_COMMITS 5

static char log_path[FIXTURE_PATH_SIZE], index_path[FIXTURE_PATH_SIZE],
    lock_path[FIXTURE_PATH_SIZE];
static uint8_t hash[DPOT_HASH_LEN]; /* of the open revision */

/* Returns DPOT_REPORT_STATUS_END on a failure: it also runs in a child, which cannot assert. */
static enum dpot_report_status append(struct store *store, uint32_t i)
{
    static const uint8_t is_refused[1];
    const struct dpot_report report = fixture_report(i);
    enum dpot_report_status status = DPOT_REPORT_STATUS_END;
    struct store_append append = {
        .n_reports = 1, .reports = &report, .is_refused = is_refused, .statuses = &status};
    memcpy(append.hash, hash, sizeof append.hash);
    return store_append_reports(store, &append, NULL) == DPOT_OK ? status : DPOT_REPORT_STATUS_END;
}

/* Runs statements over a connection that stays open. */
static bool run_all(const char *const *statements)
{
    struct database *database = NULL;
    bool is_done = true;
    if (statements[0]) {
        is_done = database_open(store_file.path, &database, NULL) == DPOT_OK;
    }
    for (size_t i = 0; statements[i] && is_done; i++) {
        is_done = query_run(query_start(database, (enum statement)i, statements[i]));
    }
    return is_done;
}

/* An owner that commits reports one by one, runs the statements (up to NULL) and is killed. */
static void crash(const char *const *statements)
{
    int ready[2];
    char byte = 0;
    cr_assert_eq(pipe(ready), 0);
    const pid_t owner = child_fork();
    if (owner == 0) {
        struct store *store = NULL;
        bool is_done = store_open_owned(store_file.url, NULL, &store, NULL) == DPOT_OK;
        for (uint32_t i = 0; is_done && i < N_COMMITS; i++) {
            is_done = append(store, i) != DPOT_REPORT_STATUS_END;
        }
        (void)!write(ready[1], is_done && run_all(statements) ? "x" : "-", 1);
        (void)pause();
        _exit(0);
    }
    (void)close(ready[1]); /* of a child that ended, the read sees the end */
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    cr_assert_eq(kill(owner, SIGKILL), 0);
    cr_assert_eq(waitpid(owner, NULL, 0), owner);
    cr_assert_eq(byte, 'x');
    (void)close(ready[0]);
}

static const char *const nothing[] = {NULL};

static void set_up(void)
{
    struct rig rig;
    store_file_set_up();
    fixture_path(log_path, store_file.folder, "dpot.db-wal");
    fixture_path(index_path, store_file.folder, "dpot.db-shm");
    fixture_path(lock_path, store_file.folder, "dpot.db-lock");
    rig_init(&rig, store_file.url, fixture_spec());
    memcpy(hash, rig.record.hash, sizeof hash);
    rig_release(&rig);
    crash(nothing);
}

TestSuite(crash, .init = set_up, .fini = store_file_tear_down);

/* Every acknowledged report is a duplicate. */
static void expect_whole(void)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open_owned(store_file.url, NULL, &store, &error), DPOT_OK, "%s", error.text);
    for (uint32_t i = 0; i < N_COMMITS; i++) {
        cr_assert_eq(append(store, i), DPOT_REPORT_DUPLICATE, "report %u", i);
    }
    store_close(store);
}

/* An owner and a reader are both refused. */
static void expect_refused(const char *what)
{
    for (int i = 0; i < 2; i++) {
        struct store *store = NULL;
        struct dpot_error error = {{0}};
        cr_assert_eq(store_open_existing(store_file.url, &store, &error), DPOT_ERR_STATE, "%s",
                     error.text);
        cr_assert_not_null(strstr(error.text, what), "%s", error.text);
        cr_assert_eq(store_open_owned(store_file.url, NULL, &store, &error), DPOT_ERR_STATE, "%s",
                     error.text);
        cr_assert_null(store);
        cr_assert_not_null(strstr(error.text, what), "%s", error.text);
        cr_assert_not_null(strstr(error.text, "dpotd restore"), "%s", error.text);
    }
}

static off_t size_of(const char *path)
{
    struct stat info;
    cr_assert_eq(stat(path, &info), 0, "%s", path);
    return info.st_size;
}

Test(crash, nothing_is_lost)
{
    cr_assert_gt(size_of(log_path), 0);
    expect_whole();
    expect_whole(); /* closed in between */
}

/* Like cp -a of the folder: the database is another file. */
static void put_copy_in_place(void)
{
    char copy[FIXTURE_PATH_SIZE];
    char bytes[4096];
    size_t n = 0;
    fixture_path(copy, store_file.folder, "copy.db");
    FILE *from = fopen(store_file.path, "r"), *to = fopen(copy, "w");
    cr_assert(from && to);
    while ((n = fread(bytes, 1, sizeof bytes, from)) > 0) {
        cr_assert_eq(fwrite(bytes, 1, n, to), n);
    }
    (void)fclose(from);
    cr_assert_eq(fclose(to), 0);
    cr_assert_eq(rename(copy, store_file.path), 0);
}

static dpot_status open_again(void *ctx, const char *path, struct dpot_error *error)
{
    struct store *store = NULL;
    (void)path;
    ++*(int *)ctx;
    const dpot_status status = store_open_old(store_file.url, &store, error);
    store_close(store);
    return status;
}

Test(crash, a_copy_of_the_whole_folder_is_equivalent)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    put_copy_in_place();
    cr_assert_eq(store_open_existing(store_file.url, &store, &error), DPOT_OK, "%s", error.text);
    store_close(store);
    expect_whole();
}

/* The validator opens the store while its next owner holds the locks. */
Test(crash, a_copy_with_an_older_schema_can_be_validated_by_its_next_owner)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    static const char *const from_version_4[] = {"DROP TABLE commit_sum",
                                                 "DELETE FROM schema_version WHERE version > 3",
                                                 "PRAGMA user_version = 3", NULL};
    const char *to_version_3[FIXTURE_N_TO_VERSION_4 + 4];
    memcpy(to_version_3, fixture_to_version_4, sizeof fixture_to_version_4);
    memcpy(to_version_3 + FIXTURE_N_TO_VERSION_4, from_version_4, sizeof from_version_4);
    int n_calls = 0;
    const struct store_validator validator = {open_again, &n_calls};
    crash(to_version_3);
    put_copy_in_place();
    cr_assert_eq(store_open_owned(store_file.url, &validator, &store, &error), DPOT_OK, "%s",
                 error.text);
    cr_assert_eq(n_calls, 1);
    store_close(store);
    expect_whole();
}

/* An interrupted replacement had given store and log their second names. */
Test(crash, a_log_moved_by_a_replacement_is_restored)
{
    char kept[FIXTURE_PATH_SIZE], kept_log[FIXTURE_PATH_SIZE];
    fixture_path(kept, store_file.folder, "dpot.db.replaced-20260101T000000Z");
    fixture_path(kept_log, store_file.folder, "dpot.db.replaced-20260101T000000Z-wal");
    cr_assert_eq(link(store_file.path, kept), 0);
    cr_assert_eq(rename(log_path, kept_log), 0);
    expect_whole();
    cr_assert_neq(access(kept, F_OK), 0);
    cr_assert_neq(access(kept_log, F_OK), 0);
}

Test(crash, a_missing_or_damaged_index_is_rebuilt)
{
    store_file_flip(index_path, 20);
    expect_whole();
    crash(nothing);
    cr_assert_eq(truncate(index_path, 40), 0);
    expect_whole();
    crash(nothing);
    cr_assert_eq(unlink(index_path), 0);
    expect_whole();
}

Test(crash, reading_loses_nothing)
{
    struct store *store = NULL;
    cr_assert_eq(store_open_existing(store_file.url, &store, NULL), DPOT_OK);
    store_close(store);
    expect_whole();
}

/* Through a link SQLite finds the log beside the file itself. */
Test(crash, a_link_in_the_place_of_the_database_does_not_hide_its_log)
{
    char away[FIXTURE_PATH_SIZE];
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    fixture_path(away, store_file.folder, "away.db");
    cr_assert_eq(rename(store_file.path, away), 0);
    cr_assert_eq(symlink("away.db", store_file.path), 0);
    cr_assert_eq(store_open_owned(store_file.url, NULL, &store, &error), DPOT_ERR_IO, "%s",
                 error.text);
    cr_assert_not_null(strstr(error.text, "symbolic link"), "%s", error.text);
    cr_assert_eq(store_open_existing(store_file.url, &store, &error), DPOT_ERR_IO, "%s",
                 error.text);
    cr_assert_eq(unlink(store_file.path), 0);
    cr_assert_eq(rename(away, store_file.path), 0);
    expect_whole();
}

Test(crash, a_lock_that_is_a_link_is_refused_by_readers_too)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(unlink(lock_path), 0);
    cr_assert_eq(symlink("elsewhere", lock_path), 0);
    cr_assert_eq(store_open_owned(store_file.url, NULL, &store, &error), DPOT_ERR_IO, "%s",
                 error.text);
    cr_assert_eq(store_open_existing(store_file.url, &store, &error), DPOT_ERR_IO, "%s",
                 error.text);
    cr_assert_not_null(strstr(error.text, "dpot.db-lock"), "%s", error.text);
}

static void copy_file(const char *from, const char *to)
{
    char bytes[65536];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    cr_assert(in && out);
    for (size_t n = fread(bytes, 1, sizeof bytes, in); n > 0;
         n = fread(bytes, 1, sizeof bytes, in)) {
        cr_assert_eq(fwrite(bytes, 1, n, out), n);
    }
    (void)fclose(in);
    cr_assert_eq(fclose(out), 0);
}

Test(crash, an_older_copy_that_is_put_back_by_hand_is_refused)
{
    char older[FIXTURE_PATH_SIZE], newer[FIXTURE_PATH_SIZE], kept[STORE_PATH_SIZE];
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    fixture_path(older, store_file.folder, "older");
    fixture_path(newer, store_file.folder, "newer");
    expect_whole();
    copy_file(store_file.path, older);
    cr_assert_eq(store_open_owned(store_file.url, NULL, &store, NULL), DPOT_OK);
    cr_assert_eq(append(store, N_COMMITS), DPOT_REPORT_ACCEPTED);
    store_close(store);
    copy_file(store_file.path, newer);
    copy_file(older, store_file.path);
    expect_refused("older copy");
    copy_file(newer, store_file.path);
    expect_whole();
    cr_assert_eq(store_replace(store_file.url, older, kept, &error), DPOT_OK, "%s", error.text);
    expect_whole();
}

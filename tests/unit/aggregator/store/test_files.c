/* The files of an open store are removed, renamed or replaced: nothing more is acknowledged, the
 * watcher is called once, and closing loses nothing. */
#include "store/database.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_FIRST 10

static char folder[FIXTURE_PATH_SIZE];
static char path[FIXTURE_PATH_SIZE], log_path[FIXTURE_PATH_SIZE], index_path[FIXTURE_PATH_SIZE];
static char other[FIXTURE_PATH_SIZE];
static char url[FIXTURE_PATH_SIZE + 16];
static struct rig rig;
static struct dpot_report reports[DPOT_BATCH_REPORTS_MAX];

/* Calls of the watcher. */
static int n_calls;
static dpot_status last_status;
static char last_sentence[400];

static void note_call(void *ctx, dpot_status status, const char *sentence)
{
    (void)ctx;
    n_calls++;
    last_status = status;
    (void)snprintf(last_sentence, sizeof last_sentence, "%s", sentence);
}

static void own_store(void)
{
    struct dpot_error error = {{0}};
    registry_free(rig.registry);
    store_close(rig.store);
    rig.registry = NULL;
    cr_assert_eq(store_open_owned(url, NULL, &rig.store, &error), DPOT_OK, "%s", error.text);
    store_watch(rig.store, note_call, NULL);
    cr_assert_eq(registry_new(rig.store, rig.secret_key, &rig.clock.clock, &rig.registry, NULL),
                 DPOT_OK);
    rig.ingest.store = rig.store;
    rig.ingest.registry = rig.registry;
}

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    fixture_folder(folder);
    fixture_path(path, folder, "dpot.db");
    fixture_path(log_path, folder, "dpot.db-wal");
    fixture_path(index_path, folder, "dpot.db-shm");
    fixture_path(other, folder, "other");
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    for (uint32_t i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
        reports[i] = fixture_report(i);
    }
    rig_init(&rig, url, fixture_spec());
    own_store();
    cr_assert_eq(rig_post(&rig, 0, reports, N_FIRST, NULL), INGEST_ACCEPTED);
}

static void tear_down(void)
{
    fixture_remove(folder);
}

TestSuite(store_files, .init = set_up, .fini = tear_down);

/* Nothing more is accepted, and the watcher was called once. */
static void expect_refused(const char *word)
{
    struct dpot_error error = {{0}};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(rig_post(&rig, 0, reports + N_FIRST, 5, NULL), INGEST_NOT_YET);
        cr_assert_eq(store_check(rig.store, &error), DPOT_ERR_IO, "%s", error.text);
        cr_assert_not_null(strstr(error.text, word), "%s", error.text);
        cr_assert_null(strstr(error.text, folder), "a device need not know where: %s", error.text);
    }
    cr_assert_eq(n_calls, 1, "%d: %s", n_calls, last_sentence);
    cr_assert_eq(last_status, DPOT_ERR_IO);
    cr_assert_not_null(strstr(last_sentence, word), "%s", last_sentence);
}

static uint64_t count_again(void)
{
    own_store();
    return rig_count(&rig).n_accepted;
}

static bool is_empty(const char *file)
{
    struct stat info;
    return stat(file, &info) != 0 || info.st_size == 0;
}

/* Finds the file "dpot.db.WHAT-...". */
static bool find_beside(const char *what, char found[FIXTURE_PATH_SIZE])
{
    char head[64];
    const int len = snprintf(head, sizeof head, "dpot.db.%s-", what);
    DIR *dir = opendir(folder);
    bool is_found = false;
    for (struct dirent *entry = readdir(dir); entry && !is_found; entry = readdir(dir)) {
        is_found = strncmp(entry->d_name, head, (size_t)len) == 0;
        if (is_found) {
            fixture_path(found, folder, entry->d_name);
        }
    }
    (void)closedir(dir);
    return is_found;
}

static void expect_nothing_lost(const char *word)
{
    expect_refused(word);
    rig_release(&rig);
    cr_assert_eq(access(log_path, F_OK), -1, "no other store can read it");
    rig_resume(&rig, url);
    cr_assert_eq(count_again(), N_FIRST);
    cr_assert_eq(rig_post(&rig, 0, reports, N_FIRST + 1, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_accepted, N_FIRST + 1);
    rig_release(&rig);
}

Test(store_files, a_log_that_was_removed_ends_the_service_and_loses_nothing)
{
    cr_assert_eq(unlink(log_path), 0);
    expect_nothing_lost("dpot.db-wal was removed");
}

Test(store_files, a_log_that_was_replaced_ends_the_service_and_loses_nothing)
{
    fixture_write(other, "what is this?");
    cr_assert_eq(rename(other, log_path), 0);
    expect_nothing_lost("dpot.db-wal was replaced");
}

Test(store_files, an_index_that_was_removed_ends_the_service_and_loses_nothing)
{
    cr_assert_eq(unlink(index_path), 0);
    expect_nothing_lost("dpot.db-shm was removed");
}

/* The reports of the log are in the database at once, before the store is closed. */
Test(store_files, a_log_that_was_removed_is_copied_at_once)
{
    struct database *database = NULL;
    int64_t n = 0;
    cr_assert_eq(unlink(log_path), 0);
    cr_assert_neq(store_check(rig.store, NULL), DPOT_OK);
    FILE *in = fopen(path, "rb"), *out = fopen(other, "wb");
    for (int c = fgetc(in); c != EOF; c = fgetc(in)) {
        (void)fputc(c, out);
    }
    (void)fclose(in);
    (void)fclose(out);
    cr_assert_eq(database_open(other, &database, NULL), DPOT_OK);
    cr_assert_eq(database_ask(database, "SELECT sum(n_reports) FROM block", &n, NULL, 0, NULL),
                 DPOT_OK);
    cr_assert_eq(n, N_FIRST);
    database_close(database);
    rig_release(&rig);
}

Test(store_files, a_renamed_store_is_opened_again_under_its_name)
{
    cr_assert_eq(rename(path, other), 0);
    expect_refused("dpot.db was removed or renamed");
    cr_assert_eq(rename(other, path), 0);
    cr_assert_eq(store_check(rig.store, NULL), DPOT_OK);
    cr_assert_eq(n_calls, 2);
    cr_assert_eq(last_status, DPOT_OK);
    cr_assert_eq(rig_post(&rig, 0, reports, N_FIRST + 5, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_accepted, N_FIRST + 5);
    rig_release(&rig);
}

Test(store_files, a_link_to_the_store_in_its_place_is_another_file)
{
    cr_assert_eq(rename(path, other), 0);
    cr_assert_eq(symlink("other", path), 0);
    expect_refused("dpot.db was replaced");
    cr_assert_eq(rename(other, path), 0);
    cr_assert_eq(store_check(rig.store, NULL), DPOT_OK);
    cr_assert_eq(rig_post(&rig, 0, reports, N_FIRST + 5, NULL), INGEST_ACCEPTED);
    rig_release(&rig);
}

Test(store_files, a_store_that_was_replaced_is_refused_and_closed_into_its_own_file)
{
    char kept[FIXTURE_PATH_SIZE];
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    fixture_path(kept, folder, "kept");
    cr_assert_eq(rename(path, kept), 0);
    fixture_write(path, "");
    expect_refused("was replaced");
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_STATE, "%s", error.text);
    rig_release(&rig);
    cr_assert(is_empty(log_path), "the other store cannot read it");
    cr_assert_eq(store_open_owned(url, NULL, &store, &error), DPOT_ERR_STATE);
    cr_assert_not_null(strstr(error.text, "restore"), "%s", error.text);
    cr_assert_eq(rename(kept, path), 0);
    rig_resume(&rig, url);
    cr_assert_eq(count_again(), N_FIRST);
    rig_release(&rig);
}

Test(store_files, a_removed_store_is_saved_when_closed_and_never_created_again)
{
    char saved[FIXTURE_PATH_SIZE], kept[STORE_PATH_SIZE];
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(unlink(path), 0);
    expect_refused("dpot.db was removed");
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_STATE);
    rig_release(&rig);
    cr_assert(is_empty(log_path), "the next store cannot read it");
    cr_assert_not_null(strstr(last_sentence, "rescued"), "%s", last_sentence);
    cr_assert(find_beside("rescued", saved));
    cr_assert_eq(store_open_owned(url, NULL, &store, &error), DPOT_ERR_STATE);
    cr_assert_not_null(strstr(error.text, "restore"), "%s", error.text);
    cr_assert_eq(access(path, F_OK), -1, "none is made");
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_STATE);
    cr_assert_eq(store_replace(url, saved, kept, &error), DPOT_OK, "%s", error.text);
    rig_resume(&rig, url);
    cr_assert_eq(count_again(), N_FIRST);
    cr_assert_eq(rig_post(&rig, 0, reports, N_FIRST, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_duplicate, N_FIRST);
    rig_release(&rig);
}

/* A server that was killed leaves a log, which does not belong to the restored store. */
Test(store_files, a_log_without_its_store_is_kept_apart_from_the_restored_store)
{
    char saved[FIXTURE_PATH_SIZE], kept[STORE_PATH_SIZE], log[FIXTURE_PATH_SIZE];
    cr_assert_eq(unlink(path), 0);
    rig_release(&rig);
    cr_assert(find_beside("rescued", saved));
    fixture_write(log_path, "a log that would be that of the other store");
    cr_assert_eq(store_replace(url, saved, kept, NULL), DPOT_OK);
    cr_assert_str_eq(kept, "");
    cr_assert_eq(access(log_path, F_OK), -1);
    cr_assert(find_beside("replaced", log));
    rig_resume(&rig, url);
    cr_assert_eq(count_again(), N_FIRST);
    rig_release(&rig);
}

/* The file PATH-lock shows that a store existed. */
Test(store_files, a_missing_store_is_created_only_without_its_lock)
{
    char lock[FIXTURE_PATH_SIZE];
    struct store *store = NULL;
    fixture_path(lock, folder, "dpot.db-lock");
    rig_release(&rig);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(store_open_owned(url, NULL, &store, NULL), DPOT_ERR_STATE);
    cr_assert_eq(unlink(lock), 0);
    cr_assert_eq(store_open_owned(url, NULL, &store, NULL), DPOT_OK);
    store_close(store);
}

/* An interrupted replacement had given the former store its second name. */
Test(store_files, a_second_name_left_by_a_replacement_is_renamed_back)
{
    char kept[FIXTURE_PATH_SIZE];
    struct stat info;
    rig_release(&rig);
    fixture_path(kept, folder, "dpot.db.replaced-20260101T000000Z");
    cr_assert_eq(link(path, kept), 0);
    rig_resume(&rig, url);
    cr_assert_eq(count_again(), N_FIRST);
    cr_assert_eq(access(kept, F_OK), -1);
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_nlink, 1);
    rig_release(&rig);
}

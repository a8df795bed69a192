/* What is done to the files of a store while it is in use: removed, renamed, replaced, cut,
 * overwritten. Nothing is acknowledged any more, it is told once with what may be lost, and closing
 * spoils nothing. */
#include "store/database.h"
#include "store/sqlite_guard.h"
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

/* What the watch heard. */
static int n_told;
static dpot_status last_told;
static char told[400];

static void hear(void *ctx, dpot_status status, const char *sentence)
{
    (void)ctx;
    n_told++;
    last_told = status;
    (void)snprintf(told, sizeof told, "%s", sentence);
}

static void own_store(void)
{
    struct dpot_error error = {{0}};
    registry_free(rig.registry);
    store_close(rig.store);
    rig.registry = NULL;
    cr_assert_eq(store_open_owned(url, &rig.store, &error), DPOT_OK, "%s", error.text);
    store_watch(rig.store, hear, NULL);
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

TestSuite(guard, .init = set_up, .fini = tear_down);

/* Nothing more is taken, whoever asks, and it was told once. */
static void expect_refused(dpot_status expected, const char *word)
{
    struct dpot_error error = {{0}};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(rig_post(&rig, 0, reports + N_FIRST, 5, NULL), INGEST_NOT_YET);
        cr_assert_eq(store_check(rig.store, &error), expected, "%s", error.text);
        cr_assert_not_null(strstr(error.text, word), "%s", error.text);
        cr_assert_null(strstr(error.text, folder), "a device need not know where: %s", error.text);
    }
    cr_assert_eq(n_told, 1, "%d: %s", n_told, told);
    cr_assert_eq(last_told, expected);
    cr_assert_not_null(strstr(told, word), "%s", told);
}

static uint64_t count_again(void)
{
    own_store();
    return rig_count(&rig).n_accepted;
}

static void overwrite(const char *file, off_t at, size_t len)
{
    const int fd = open(file, O_WRONLY);
    cr_assert_geq(fd, 0);
    for (size_t i = 0; i < len; i++) {
        cr_assert_eq(pwrite(fd, "\xa5", 1, at + (off_t)i), 1);
    }
    (void)close(fd);
}

/* The byte is another one afterwards, whatever it was. */
static void alter(const char *file, off_t at)
{
    unsigned char byte;
    const int fd = open(file, O_RDWR);
    cr_assert_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 0xa5;
    cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
}

static off_t size_of(const char *file)
{
    struct stat info;
    cr_assert_eq(stat(file, &info), 0);
    return info.st_size;
}

/* The database is the one of the last checkpoint, byte for byte. */
static void keep_database(char *bytes, size_t cap, size_t *len)
{
    FILE *stream = fopen(path, "rb");
    cr_assert_not_null(stream);
    *len = fread(bytes, 1, cap, stream);
    (void)fclose(stream);
}

/* The file "dpot.db.WHAT-...", or false. */
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

/* Nobody goes on with what is left, and what was saved takes its place. */
static void restore_rescued(void)
{
    char saved[FIXTURE_PATH_SIZE], kept[STORE_PATH_SIZE];
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_not_null(strstr(told, "everything the store held"), "%s", told);
    cr_assert_eq(last_told, DPOT_ERR_STATE);
    cr_assert(find_beside("rescued", saved));
    cr_assert_eq(store_open_owned(url, &store, &error), DPOT_ERR_STATE);
    cr_assert_not_null(strstr(error.text, strrchr(saved, '/') + 1), "%s", error.text);
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_STATE);
    cr_assert_eq(store_replace(url, saved, kept, &error), DPOT_OK, "%s", error.text);
    rig_resume(&rig, url);
}

static void expect_unspoilt(void (*damage)(void), const char *word)
{
    static char before[1 << 20], after[1 << 20];
    size_t before_len = 0, after_len = 0;
    keep_database(before, sizeof before, &before_len);
    damage();
    expect_refused(DPOT_ERR_CORRUPT, word);
    cr_assert_not_null(strstr(told, "10 reports of 1 commits"), "%s", told);
    rig_release(&rig);
    keep_database(after, sizeof after, &after_len);
    cr_assert_eq(before_len, after_len);
    cr_assert_eq(memcmp(before, after, before_len), 0, "closing wrote into the database");
    restore_rescued();
    cr_assert_eq(count_again(), N_FIRST);
    cr_assert_eq(rig_post(&rig, 0, reports, N_FIRST, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_duplicate, N_FIRST);
    rig_release(&rig);
}

static void cut_log(void)
{
    cr_assert_eq(truncate(log_path, 0), 0);
}

static void overwrite_log(void)
{
    overwrite(log_path, 0, (size_t)size_of(log_path));
}

static void rewrite_log(void)
{
    cut_log();
    FILE *stream = fopen(log_path, "wb");
    for (int i = 0; i < 200000; i++) {
        cr_assert_neq(fputc('x', stream), EOF);
    }
    (void)fclose(stream);
}

Test(guard, a_log_that_was_cut_ends_the_service_and_spoils_nothing)
{
    expect_unspoilt(cut_log, "was cut");
}

Test(guard, a_log_that_was_overwritten_ends_the_service_and_spoils_nothing)
{
    expect_unspoilt(overwrite_log, "was overwritten");
}

Test(guard, a_log_with_other_content_ends_the_service_and_spoils_nothing)
{
    expect_unspoilt(rewrite_log, "was overwritten");
}

/* One byte of a page in the log: no look at each commit finds it, but nothing is copied. */
Test(guard, a_page_altered_in_the_log_is_never_copied_into_the_database)
{
    alter(log_path, 32 + 24 + 1000);
    cr_assert_eq(n_told, 0);
    rig_release(&rig);
    cr_assert_eq(n_told, 2);
    cr_assert_gt(size_of(log_path), 0, "the log is kept");
    restore_rescued();
    cr_assert_eq(count_again(), N_FIRST);
    rig_release(&rig);
}

/* The same while it is in use, at the moment when so much is in the log that it goes into the database. */
Test(guard, a_page_altered_in_a_long_log_ends_the_service_before_it_is_copied)
{
    enum ingest_verdict verdict = INGEST_ACCEPTED;
    size_t n_batches = 0;
    alter(log_path, 32 + 24 + 1000);
    for (uint32_t round = 0; verdict == INGEST_ACCEPTED && n_batches < 400; n_batches++) {
        for (uint32_t i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
            reports[i] = fixture_report(100000 + (uint32_t)n_batches * DPOT_BATCH_REPORTS_MAX + i);
        }
        verdict = rig_post(&rig, round, reports, DPOT_BATCH_REPORTS_MAX, NULL);
    }
    cr_assert_eq(verdict, INGEST_NOT_YET);
    cr_assert_gt(n_batches, 50);
    cr_assert_eq(n_told, 1);
    cr_assert_eq(last_told, DPOT_ERR_CORRUPT);
    const uint64_t n_accepted = rig_count(&rig).n_accepted;
    cr_assert_eq(n_accepted, N_FIRST + (n_batches - 1) * DPOT_BATCH_REPORTS_MAX);
    rig_release(&rig);
    restore_rescued();
    cr_assert_eq(count_again(), n_accepted);
    rig_release(&rig);
}

/* What the log holds is copied when it is long, and then no longer in danger. */
Test(guard, reports_that_were_copied_are_not_said_to_be_in_danger)
{
    for (uint32_t n = 0; size_of(log_path) < 18 << 20; n++) {
        cr_assert_lt(n, 400);
        for (uint32_t i = 0; i < DPOT_BATCH_REPORTS_MAX; i++) {
            reports[i] = fixture_report(100000 + n * DPOT_BATCH_REPORTS_MAX + i);
        }
        cr_assert_eq(rig_post(&rig, 0, reports, DPOT_BATCH_REPORTS_MAX, NULL), INGEST_ACCEPTED);
        if (size_of(path) > 8 << 20) {
            break;
        }
    }
    cr_assert_gt(size_of(path), 8 << 20);
    const uint64_t n_accepted = rig_count(&rig).n_accepted;
    cut_log();
    expect_refused(DPOT_ERR_CORRUPT, " 0 reports of 0 commits");
    rig_release(&rig);
    restore_rescued();
    cr_assert_eq(count_again(), n_accepted);
    rig_release(&rig);
}

/* The log is whole, but what it is the continuation of is not. */
static void expect_marked(const char *word)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    expect_refused(DPOT_ERR_CORRUPT, word);
    rig_release(&rig);
    cr_assert_eq(last_told, DPOT_ERR_STATE, "%s", told);
    cr_assert_gt(size_of(log_path), 0, "the log is kept");
    cr_assert_eq(store_open_owned(url, &store, &error), DPOT_ERR_STATE);
    cr_assert_not_null(strstr(error.text, "dpotd restore --from"), "%s", error.text);
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_STATE);
}

Test(guard, a_database_that_was_cut_takes_nothing_more_and_is_not_opened_again)
{
    cr_assert_eq(truncate(path, size_of(path) / 2), 0);
    expect_marked("dpot.db was cut");
}

Test(guard, a_database_that_was_emptied_takes_nothing_more_and_is_not_opened_again)
{
    cr_assert_eq(truncate(path, 0), 0);
    expect_marked("dpot.db was cut");
}

Test(guard, a_database_with_another_head_takes_nothing_more_and_is_not_opened_again)
{
    overwrite(path, 0, 16);
    expect_marked("dpot.db was overwritten");
}

/* Also when the server is killed before it can save anything. */
Test(guard, damage_that_was_seen_is_marked_at_once)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cut_log();
    expect_refused(DPOT_ERR_CORRUPT, "was cut");
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_STATE);
    cr_assert_not_null(strstr(error.text, "stop its server with SIGTERM"), "%s", error.text);
    rig_release(&rig);
    restore_rescued();
    cr_assert_eq(count_again(), N_FIRST);
    rig_release(&rig);
}

/* It is no damage when another program makes it smaller as SQLite does. */
Test(guard, a_database_that_was_packed_goes_on)
{
    struct database *database = NULL;
    static const char fill[] =
        "CREATE TABLE filler (x); INSERT INTO filler VALUES (zeroblob(200000));"
        "PRAGMA wal_checkpoint(PASSIVE);";
    cr_assert_eq(database_open(path, &database, NULL), DPOT_OK);
    cr_assert_eq(database_execute(database, "filling", fill, NULL), DPOT_OK);
    cr_assert_eq(store_check(rig.store, NULL), DPOT_OK);
    const off_t before = size_of(path);
    cr_assert_eq(database_execute(database, "packing",
                                  "DROP TABLE filler; VACUUM; PRAGMA wal_checkpoint(PASSIVE);",
                                  NULL),
                 DPOT_OK);
    database_close(database);
    cr_assert_lt(size_of(path), before);
    cr_assert_eq(store_check(rig.store, NULL), DPOT_OK);
    cr_assert_eq(rig_post(&rig, 0, reports, N_FIRST + 1, NULL), INGEST_ACCEPTED);
    rig_release(&rig);
    rig_resume(&rig, url);
    cr_assert_eq(count_again(), N_FIRST + 1);
    rig_release(&rig);
}

/* SQLite maps the index: a page of it that the file no longer has kills the process. */
static void expect_index_made_anew(off_t len)
{
    const off_t before = size_of(index_path);
    cr_assert_eq(truncate(index_path, len), 0);
    cr_assert_eq(store_check(rig.store, NULL), DPOT_OK);
    cr_assert_eq(size_of(index_path), before);
    cr_assert_eq(truncate(index_path, len), 0);
    cr_assert_eq(rig_count(&rig).n_accepted, N_FIRST);
    cr_assert_eq(truncate(index_path, len), 0);
    cr_assert_eq(rig_post(&rig, 0, reports, N_FIRST + 1, NULL), INGEST_ACCEPTED);
    cr_assert_eq(n_told, 0);
    rig_release(&rig);
    rig_resume(&rig, url);
    cr_assert_eq(count_again(), N_FIRST + 1);
    rig_release(&rig);
}

Test(guard, an_index_that_was_emptied_is_made_anew)
{
    expect_index_made_anew(0);
}

Test(guard, an_index_of_which_a_part_is_left_is_made_anew)
{
    expect_index_made_anew(8192);
}

static void expect_nothing_lost(const char *word)
{
    expect_refused(DPOT_ERR_IO, word);
    rig_release(&rig);
    cr_assert_eq(access(log_path, F_OK), -1,
                 "and nothing that another store left is taken for ours");
    rig_resume(&rig, url);
    cr_assert_eq(count_again(), N_FIRST);
    cr_assert_eq(rig_post(&rig, 0, reports, N_FIRST + 1, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_accepted, N_FIRST + 1);
    rig_release(&rig);
}

Test(guard, a_log_that_was_removed_ends_the_service_and_loses_nothing)
{
    cr_assert_eq(unlink(log_path), 0);
    expect_nothing_lost("dpot.db-wal was removed");
}

Test(guard, a_log_that_was_replaced_ends_the_service_and_loses_nothing)
{
    fixture_write(other, "what is this?");
    cr_assert_eq(rename(other, log_path), 0);
    expect_nothing_lost("dpot.db-wal was replaced");
}

Test(guard, an_index_that_was_removed_ends_the_service_and_loses_nothing)
{
    cr_assert_eq(unlink(index_path), 0);
    expect_nothing_lost("dpot.db-shm was removed");
}

/* What it holds is in the database from then on, even if nobody closes it. */
Test(guard, a_log_that_was_removed_is_copied_at_once)
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

Test(guard, a_store_that_was_renamed_is_taken_up_again_under_its_name)
{
    cr_assert_eq(rename(path, other), 0);
    expect_refused(DPOT_ERR_IO, "dpot.db was removed or renamed");
    cr_assert_eq(rename(other, path), 0);
    cr_assert_eq(store_check(rig.store, NULL), DPOT_OK);
    cr_assert_eq(n_told, 2);
    cr_assert_eq(last_told, DPOT_OK);
    cr_assert_eq(rig_post(&rig, 0, reports, N_FIRST + 5, NULL), INGEST_ACCEPTED);
    cr_assert_eq(rig_count(&rig).n_accepted, N_FIRST + 5);
    rig_release(&rig);
}

Test(guard, a_link_to_the_store_in_its_place_is_another_file)
{
    cr_assert_eq(rename(path, other), 0);
    cr_assert_eq(symlink("other", path), 0);
    expect_refused(DPOT_ERR_IO, "dpot.db was replaced");
    cr_assert_eq(rename(other, path), 0);
    cr_assert_eq(store_check(rig.store, NULL), DPOT_OK);
    cr_assert_eq(rig_post(&rig, 0, reports, N_FIRST + 5, NULL), INGEST_ACCEPTED);
    rig_release(&rig);
}

Test(guard, a_store_that_was_replaced_is_refused_and_closed_into_its_own_file)
{
    char kept[FIXTURE_PATH_SIZE];
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    fixture_path(kept, folder, "kept");
    cr_assert_eq(rename(path, kept), 0);
    fixture_write(path, "");
    expect_refused(DPOT_ERR_IO, "was replaced");
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_STATE, "%s", error.text);
    rig_release(&rig);
    cr_assert_eq(store_open_owned(url, &store, &error), DPOT_ERR_STATE);
    cr_assert_not_null(strstr(error.text, "restore"), "%s", error.text);
    cr_assert_eq(rename(kept, path), 0);
    rig_resume(&rig, url);
    cr_assert_eq(count_again(), N_FIRST);
    rig_release(&rig);
}

Test(guard, a_store_that_was_removed_is_saved_when_it_is_closed_and_never_begun_anew)
{
    char saved[FIXTURE_PATH_SIZE], kept[STORE_PATH_SIZE];
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(unlink(path), 0);
    expect_refused(DPOT_ERR_IO, "dpot.db was removed");
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_STATE);
    rig_release(&rig);
    cr_assert_eq(access(log_path, F_OK), -1, "the next store would take it for its own");
    cr_assert_not_null(strstr(told, "rescued"), "%s", told);
    cr_assert(find_beside("rescued", saved));
    cr_assert_eq(store_open_owned(url, &store, &error), DPOT_ERR_STATE);
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

Test(guard, a_commit_whose_round_is_none_is_told_of_the_copy_that_is_saved)
{
    struct database *database = NULL;
    cr_assert_eq(database_open(path, &database, NULL), DPOT_OK);
    cr_assert_eq(database_execute(database, "altering", "UPDATE block SET round = 'x'", NULL),
                 DPOT_OK);
    database_close(database);
    cr_assert_eq(unlink(path), 0);
    expect_refused(DPOT_ERR_IO, "dpot.db was removed");
    rig_release(&rig);
    cr_assert_not_null(strstr(told, "a fault (1 block is not what was written)"), "%s", told);
}

/* A server that was killed leaves its log, which is not that of what is restored. */
Test(guard, a_log_without_its_store_is_kept_apart_from_the_one_that_is_restored)
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

/* The lock tells that there was a store, however the server ended. */
Test(guard, a_store_that_is_missing_is_begun_anew_only_without_its_lock)
{
    char lock[FIXTURE_PATH_SIZE];
    struct store *store = NULL;
    fixture_path(lock, folder, "dpot.db-lock");
    rig_release(&rig);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(store_open_owned(url, &store, NULL), DPOT_ERR_STATE);
    cr_assert_eq(unlink(lock), 0);
    cr_assert_eq(store_open_owned(url, &store, NULL), DPOT_OK);
    store_close(store);
}

/* A replacement that was cut off after the former store got its second name. */
Test(guard, a_second_name_that_a_replacement_left_is_taken_back)
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

/* Of a damaged one, whose log had gone along. */
Test(guard, a_log_that_a_replacement_took_along_is_brought_back)
{
    char kept[FIXTURE_PATH_SIZE], kept_log[FIXTURE_PATH_SIZE];
    struct store *store = NULL;
    rig_release(&rig);
    fixture_path(kept, folder, "dpot.db.replaced-20260101T000000Z");
    fixture_path(kept_log, folder, "dpot.db.replaced-20260101T000000Z-wal");
    fixture_write(path, "no database at all, and there is no doubt about that whatever");
    fixture_write(kept_log, "what may be in a log");
    cr_assert_eq(link(path, kept), 0);
    cr_assert_eq(store_open_owned(url, &store, NULL), DPOT_ERR_CORRUPT);
    cr_assert_eq(access(kept, F_OK), -1);
    cr_assert_eq(access(kept_log, F_OK), -1);
    cr_assert_eq(access(log_path, F_OK), 0);
}

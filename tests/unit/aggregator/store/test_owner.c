/* An SQLite store has one owner, by any name of the file, until the process ends. */
#include "support/child.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[FIXTURE_PATH_SIZE];
static char path[FIXTURE_PATH_SIZE];
static char url[FIXTURE_PATH_SIZE + 16];

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    fixture_folder(folder);
    fixture_path(path, folder, "dpot.db");
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
}

static void tear_down(void)
{
    fixture_remove(folder);
}

TestSuite(owner, .init = set_up, .fini = tear_down);

static void refuse_owned(const char *a_url, const char *word)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open_owned(a_url, NULL, &store, &error), DPOT_ERR_BUSY, "%s", error.text);
    cr_assert_null(store);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
}

Test(owner, a_store_has_one_owner_under_any_name)
{
    char link[FIXTURE_PATH_SIZE], link_url[FIXTURE_PATH_SIZE + 16], pid[48];
    struct store *store = NULL, *other = NULL;
    struct dpot_error error = {{0}};
    fixture_path(link, folder, "link.db");
    (void)snprintf(link_url, sizeof link_url, "sqlite:%s", link);
    cr_assert_eq(symlink("dpot.db", link), 0);
    cr_assert_eq(store_open_owned(link_url, NULL, &store, &error), DPOT_OK, "%s", error.text);
    (void)snprintf(pid, sizeof pid, "served by process %ld", (long)getpid());
    refuse_owned(url, pid);
    refuse_owned(url, path);
    refuse_owned(link_url, link);
    cr_assert_eq(store_open_existing(url, &other, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(store_check(other, &error), DPOT_OK, "%s", error.text);
    store_close(other);
    refuse_owned(url, pid); /* closing the reader released no lock */
    store_close(store);
    cr_assert_eq(store_open_owned(url, NULL, &store, &error), DPOT_OK, "%s", error.text);
    store_close(store);
}

Test(owner, a_store_whose_owner_was_killed_is_free)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    int ready[2];
    char byte = 0;
    cr_assert_eq(pipe(ready), 0);
    const pid_t owner = child_fork();
    if (owner == 0) {
        (void)!write(ready[1], store_open_owned(url, NULL, &store, NULL) == DPOT_OK ? "x" : "-", 1);
        (void)pause();
        _exit(0);
    }
    cr_assert(read(ready[0], &byte, 1) == 1 && byte == 'x');
    refuse_owned(url, "served by process");
    cr_assert_eq(kill(owner, SIGKILL), 0);
    cr_assert_eq(waitpid(owner, NULL, 0), owner);
    cr_assert_eq(store_open_owned(url, NULL, &store, &error), DPOT_OK, "%s", error.text);
    store_close(store);
}

/* A child that owns the store, with a running job, until it is killed. */
static pid_t start_owner(struct job_record *job)
{
    struct store *store = NULL;
    int ready[2];
    char byte = 0;
    cr_assert_eq(pipe(ready), 0);
    const pid_t owner = child_fork();
    if (owner == 0) {
        job->state = JOB_RUNNING;
        job->n_attempts = 1;
        const bool is_ready = store_open_owned(url, NULL, &store, NULL) == DPOT_OK &&
                              store_add_job(store, job, NULL) == DPOT_OK &&
                              store_update_job(store, job, NULL) == DPOT_OK;
        (void)!write(ready[1], is_ready ? "x" : "-", 1);
        (void)pause();
        _exit(0);
    }
    cr_assert(read(ready[0], &byte, 1) == 1 && byte == 'x');
    return owner;
}

Test(owner, an_owner_is_identified_by_the_file_not_its_name)
{
    char link_path[FIXTURE_PATH_SIZE], link_url[FIXTURE_PATH_SIZE + 16], lock[FIXTURE_PATH_SIZE];
    char who[48];
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    struct job_record job = {.id = {1}, .kind = "estimate", .parameters = "{}"};
    fixture_path(link_path, folder, "other.db");
    fixture_path(lock, folder, "dpot.db-lock");
    (void)snprintf(link_url, sizeof link_url, "sqlite:%s", link_path);
    const pid_t owner = start_owner(&job);
    (void)snprintf(who, sizeof who, "served by process %ld", (long)owner);
    cr_assert_eq(link(path, link_path), 0);
    refuse_owned(link_url, who);
    cr_assert_eq(store_open_existing(link_url, &store, &error), DPOT_ERR_IO);
    cr_assert_eq(unlink(link_path), 0);
    cr_assert_eq(unlink(lock), 0);
    refuse_owned(url, who);
    cr_assert_eq(store_open(url, &store, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(store_get_job(store, job.id, &job, NULL), DPOT_OK);
    cr_assert_eq(job.state, JOB_RUNNING, "nobody queued it again");
    store_close(store);
    cr_assert_eq(kill(owner, SIGKILL), 0);
    cr_assert_eq(waitpid(owner, NULL, 0), owner);
    cr_assert_eq(store_open_owned(url, NULL, &store, &error), DPOT_OK, "%s", error.text);
    store_close(store);
}

Test(owner, a_database_that_replaces_an_owned_one_is_refused)
{
    char old[FIXTURE_PATH_SIZE];
    struct store *store = NULL;
    fixture_path(old, folder, "old.db");
    cr_assert_eq(store_open_owned(url, NULL, &store, NULL), DPOT_OK);
    cr_assert_eq(rename(path, old), 0);
    refuse_owned(url, "served by process");
    store_close(store);
}

/* SQLite finds the write-ahead log by the name: it would miss that of the other name. */
Test(owner, a_database_of_two_names_is_refused_and_free_with_one)
{
    char link_path[FIXTURE_PATH_SIZE];
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    fixture_path(link_path, folder, "other.db");
    cr_assert_eq(store_open_owned(url, NULL, &store, NULL), DPOT_OK);
    store_close(store);
    cr_assert_eq(link(path, link_path), 0);
    cr_assert_eq(store_open_owned(url, NULL, &store, &error), DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "2 names"), "%s", error.text);
    cr_assert_eq(store_open_existing(url, &store, &error), DPOT_ERR_IO);
    cr_assert_eq(unlink(link_path), 0);
    cr_assert_eq(store_open_owned(url, NULL, &store, &error), DPOT_OK, "%s", error.text);
    store_close(store);
}

/* A refusal inside the owner's process must not release SQLite's record locks: another process
 * would then consider the write-ahead log abandoned. */
Test(owner, a_refusal_in_the_owners_process_leaves_its_locks)
{
    char link_path[FIXTURE_PATH_SIZE], link_url[FIXTURE_PATH_SIZE + 16];
    struct store *store = NULL;
    fixture_path(link_path, folder, "other.db");
    (void)snprintf(link_url, sizeof link_url, "sqlite:%s", link_path);
    cr_assert_eq(store_open_owned(url, NULL, &store, NULL), DPOT_OK);
    cr_assert_eq(link(path, link_path), 0);
    refuse_owned(link_url, "served by process");
    const pid_t other = child_fork();
    if (other == 0) { /* a child does not inherit record locks */
        const int fd = open(path, O_RDWR);
        struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1 << 30};
        range.l_len = 1024; /* SQLite's shared lock of an open database */
        _exit(fd >= 0 && fcntl(fd, F_GETLK, &range) == 0 && range.l_type != F_UNLCK ? 0 : 1);
    }
    int state = 1;
    cr_assert_eq(waitpid(other, &state, 0), other);
    cr_assert_eq(state, 0, "the locks are gone");
    store_close(store);
}

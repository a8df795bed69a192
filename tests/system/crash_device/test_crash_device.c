/* A device process gets SIGKILL inside a submit; the next process continues from the files. */
#include "storage/ledger.h"
#include "support/child.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A file hook around another one; it kills its process before a given operation. */
struct killer {
    struct dpot_filesystem hook;
    const struct dpot_filesystem *inner;
    size_t n_operations;
    size_t kill_at;          /* the operation with this number; 0: never */
    size_t n_ledger_syncs;   /* of records: a charge is durable after the first */
    bool kills_after_charge; /* at the first write after a record of the ledger is durable */
    void *ledger;            /* the open file of that name */
};

static void before(struct killer *k, bool is_write)
{
    k->n_operations++;
    if (k->n_operations == k->kill_at ||
        (is_write && k->kills_after_charge && k->n_ledger_syncs > 0)) {
        (void)kill(getpid(), SIGKILL);
        (void)pause();
    }
}

static dpot_status open_file(void *ctx, const char *name, int create, void **file)
{
    struct killer *k = ctx;
    const dpot_status status = k->inner->open(k->inner->ctx, name, create, file);
    if (status == DPOT_OK && strcmp(name, DPOT_LEDGER_NAME) == 0) {
        k->ledger = *file;
    }
    return status;
}

static void close_file(void *ctx, void *file)
{
    struct killer *k = ctx;
    k->ledger = k->ledger == file ? NULL : k->ledger;
    k->inner->close(k->inner->ctx, file);
}

static dpot_status size_file(void *ctx, void *file, uint64_t *size)
{
    const struct killer *k = ctx;
    return k->inner->size(k->inner->ctx, file, size);
}

static dpot_status read_at(void *ctx, void *file, uint64_t offset, void *data, size_t len)
{
    const struct killer *k = ctx;
    return k->inner->read_at(k->inner->ctx, file, offset, data, len);
}

static dpot_status write_at(void *ctx, void *file, uint64_t offset, const void *data, size_t len)
{
    struct killer *k = ctx;
    before(k, true);
    return k->inner->write_at(k->inner->ctx, file, offset, data, len);
}

static dpot_status truncate_file(void *ctx, void *file, uint64_t size)
{
    struct killer *k = ctx;
    before(k, false);
    return k->inner->truncate(k->inner->ctx, file, size);
}

static dpot_status sync_file(void *ctx, void *file)
{
    struct killer *k = ctx;
    uint64_t size = 0;
    before(k, false);
    const dpot_status status = k->inner->sync(k->inner->ctx, file);
    if (file == k->ledger && k->inner->size(k->inner->ctx, file, &size) == DPOT_OK &&
        size > DPOT_HEADER_LEN) {
        k->n_ledger_syncs++;
    }
    return status;
}

static dpot_status sync_directory(void *ctx)
{
    struct killer *k = ctx;
    before(k, false);
    return k->inner->sync_directory(k->inner->ctx);
}

static dpot_status rename_file(void *ctx, const char *from, const char *to)
{
    struct killer *k = ctx;
    before(k, false);
    return k->inner->rename(k->inner->ctx, from, to);
}

static dpot_status remove_file(void *ctx, const char *name)
{
    struct killer *k = ctx;
    before(k, false);
    return k->inner->remove(k->inner->ctx, name);
}

static dpot_status lock_folder(void *ctx)
{
    const struct killer *k = ctx;
    return k->inner->lock(k->inner->ctx);
}

static void unlock_folder(void *ctx)
{
    const struct killer *k = ctx;
    k->inner->unlock(k->inner->ctx);
}

static void killer_init(struct killer *k, const struct dpot_filesystem *inner)
{
    *k = (struct killer){.inner = inner};
    k->hook = (struct dpot_filesystem){
        .struct_size = sizeof k->hook,
        .ctx = k,
        .open = open_file,
        .close = close_file,
        .size = size_file,
        .read_at = read_at,
        .write_at = write_at,
        .truncate = truncate_file,
        .sync = sync_file,
        .sync_directory = sync_directory,
        .rename = rename_file,
        .remove = remove_file,
        .lock = lock_folder,
        .unlock = unlock_folder,
    };
}

/* ---- the world on real files ---- */

static struct authority authority;
static struct world world;
static char folder[64];

static void make_folder(void)
{
    memcpy(folder, "/tmp/dpot-crash-XXXXXX", 23);
    cr_assert_not_null(mkdtemp(folder));
    world_init(&world, &authority, 1);
}

static void remove_folder(void)
{
    static const char *const names[] = {"lock",
                                        "consent",
                                        "ledger",
                                        "ledger.new",
                                        "spool",
                                        "spool.new",
                                        "sending",
                                        "install",
                                        "install.new",
                                        "withdrawn",
                                        "consent.new",
                                        "keys",
                                        "keys.new",
                                        "campaign-c0ffee01020304050607080909090909",
                                        "campaign-c0ffee01020304050607080909090909.new"};
    char path[160];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    cr_assert_eq(rmdir(folder), 0);
    world_release(&world);
}

static void set_up(void)
{
    authority_init(&authority, 1);
    make_folder();
}

static void tear_down(void)
{
    remove_folder();
    authority_release(&authority);
}

TestSuite(crash_device, .init = set_up, .fini = tear_down);

/* In a child: opens, enrolls, submits, pumps. True if it was killed before the end. */
static bool live_in_a_child(size_t kill_at, bool kills_after_charge)
{
    int status = 0;
    const pid_t child = child_fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct dpot_filesystem *files = NULL;
        struct killer killer;
        if (dpot_filesystem_posix_new(folder, &files) != DPOT_OK) {
            _exit(1);
        }
        killer_init(&killer, files);
        killer.kill_at = kill_at;
        killer.kills_after_charge = kills_after_charge;
        world.config.filesystem = &killer.hook;
        dpot_client *client = world_enroll(&world);
        const bool is_done = world_submit(&world, client, NULL) == DPOT_OK;
        _exit(is_done ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
              (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return WIFSIGNALED(status);
}

static size_t count_charges(void)
{
    char path[128];
    uint8_t record[DPOT_LEDGER_RECORD_LEN];
    size_t n = 0;
    (void)snprintf(path, sizeof path, "%s/ledger", folder);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    cr_assert_eq(fseek(file, DPOT_HEADER_LEN, SEEK_SET), 0);
    while (fread(record, sizeof record, 1, file) == 1) {
        n += memcmp(record, "CHRG", 4) == 0;
    }
    cr_assert_eq(fclose(file), 0);
    return n;
}

/* In this process: continues from the files and finishes. */
static enum dpot_submit_outcome go_on(void)
{
    struct dpot_filesystem *files = NULL;
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(dpot_filesystem_posix_new(folder, &files), DPOT_OK);
    world.config.filesystem = files;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_submitted, 1);
    cr_assert_eq(status.n_accepted, 1);
    assert_conserved(&status);
    dpot_client_close(client);
    dpot_filesystem_posix_free(files);
    cr_assert_eq(count_charges(), 1);
    cr_assert_eq(world.n_received, 1);
    return outcome;
}

Test(crash_device, killed_between_charge_and_report_makes_one_report_under_that_charge)
{
    cr_assert(live_in_a_child(0, true));
    cr_assert_eq(count_charges(), 1);
    cr_assert_eq(go_on(), DPOT_SUBMIT_RESUMED);
}

Test(crash_device, killed_before_any_operation_it_makes_one_report_under_one_charge)
{
    bool was_killed = true;
    for (size_t n = 1; was_killed; n++) {
        was_killed = live_in_a_child(n, false);
        const enum dpot_submit_outcome outcome = go_on();
        cr_assert(was_killed || outcome == DPOT_SUBMIT_PENDING);
        remove_folder();
        make_folder();
    }
}

Test(crash_device, many_processes_at_once_make_one_report_under_one_charge)
{
    enum { N_PROCESSES = 6 };
    pid_t children[N_PROCESSES];
    for (size_t i = 0; i < N_PROCESSES; i++) {
        children[i] = child_fork();
        cr_assert_geq(children[i], 0);
        if (children[i] == 0) {
            struct dpot_filesystem *files = NULL;
            dpot_client *client = NULL;
            dpot_status status = dpot_filesystem_posix_new(folder, &files);
            world.config.filesystem = files;
            do {
                status = dpot_client_open(&world.config, &client, NULL, 0);
            } while (status == DPOT_ERR_BUSY);
            do {
                status = dpot_client_enroll(client, authority.campaign.id);
            } while (status == DPOT_ERR_BUSY);
            do {
                status = world_submit(&world, client, NULL);
            } while (status == DPOT_ERR_BUSY);
            _exit(status == DPOT_OK ? 0 : 1);
        }
    }
    for (size_t i = 0; i < N_PROCESSES; i++) {
        int status = 0;
        cr_assert_eq(waitpid(children[i], &status, 0), children[i]);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    cr_assert_eq(count_charges(), 1);
    cr_assert_eq(go_on(), DPOT_SUBMIT_PENDING);
}

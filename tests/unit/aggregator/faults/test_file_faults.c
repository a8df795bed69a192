/* Files of the analyst and of long jobs on a disk that fails: the old or the new one, complete. */
#include "files/array.h"
#include "files/output.h"
#include "generator/checkpoint.h"
#include "unit/aggregator/faults/walk.h"
#include "unit/aggregator/generator/runs.h"
#include "json/json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORTED_DONE 'D'
#define REPORTED_BROKEN 'X'
#define RUNS_MAX 40

struct bytes {
    unsigned char data[65536];
    size_t len;
};

static struct bytes old_bytes, new_bytes;
static struct case_of_training made;
static struct training training;

/* One kind of file, and how it is written. */
struct kind {
    const char *name;
    dpot_status (*write)(const char *path, bool is_new, struct dpot_error *error);
};

static dpot_status write_csv(const char *path, bool is_new, struct dpot_error *error)
{
    static double values[3000];
    const struct array array = {.n_rows = is_new ? 1000 : 10, .n_cols = 3, .values = values};
    for (size_t i = 0; i < 3000; i++) {
        values[i] = (double)i / 7;
    }
    return array_write(path, &array, ARRAY_F8, error);
}

static dpot_status write_json(const char *path, bool is_new, struct dpot_error *error)
{
    json_t *value = json_pack("{s:i}", is_new ? "new" : "old", 1);
    const dpot_status status = value ? json_write(path, value, error) : DPOT_ERR_MEMORY;
    json_decref(value);
    return status;
}

static dpot_status write_checkpoint(const char *path, bool is_new, struct dpot_error *error)
{
    struct generator_progress progress;
    const size_t n_steps = is_new ? 1 : 0;
    const dpot_status status = generator_train_run(training.train, n_steps, NULL, &progress, error);
    return status == DPOT_OK ? checkpoint_write(path, training.fingerprint, training.train, error)
                             : status;
}

static const struct kind kinds[] = {
    {"table.csv", write_csv},
    {"table.npy", write_csv},
    {"note.json", write_json},
    {"run.checkpoint", write_checkpoint},
};

static void begin_training(void)
{
    case_make(&made, 12, 1,
              "{\"arch\":\"mlp:3\",\"latent_dim\":1,\"batch\":4,\"atoms\":6,\"sinkhorn\":3,"
              "\"steps\":4}");
    case_begin(&made, &training);
}

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    walk_make_folders();
    begin_training();
}

static void tear_down(void)
{
    training_release(&training);
    case_release(&made);
    fixture_remove(home);
}

TestSuite(file_faults, .init = set_up, .fini = tear_down);

static void path_of(char path[2 * FIXTURE_PATH_SIZE], const char *where, const struct kind *kind)
{
    (void)snprintf(path, 2 * FIXTURE_PATH_SIZE, "%s/%s", where, kind->name);
}

static bool read_file(const char *where, const struct kind *kind, struct bytes *bytes)
{
    char path[2 * FIXTURE_PATH_SIZE];
    path_of(path, where, kind);
    FILE *stream = fopen(path, "rb");
    bytes->len = stream ? fread(bytes->data, 1, sizeof bytes->data, stream) : 0;
    if (stream) {
        (void)fclose(stream);
    }
    return stream != NULL;
}

static bool is_same(const struct bytes *a, const struct bytes *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Writes the new file over the old one. */
static void replace(void *ctx)
{
    const struct kind *kind = ctx;
    struct dpot_error error = {{0}};
    char path[2 * FIXTURE_PATH_SIZE];
    path_of(path, folder, kind);
    const dpot_status status = kind->write(path, true, &error);
    if (status == DPOT_OK) {
        disk_report(REPORTED_DONE);
    } else if (status != DPOT_ERR_IO || !strstr(error.text, kind->name)) {
        disk_report(REPORTED_BROKEN);
    }
    training_release(&training);
    case_release(&made);
}

static void validate(void *ctx, const struct disk_outcome *outcome)
{
    const struct kind *kind = ctx;
    static struct bytes found;
    cr_assert_not(was_reported(outcome, REPORTED_BROKEN), "%s: %s", kind->name, walk_place);
    const bool is_there = read_file(folder, kind, &found);
    const bool is_new = is_there && is_same(&found, &new_bytes);
    cr_assert(is_new || (is_there && is_same(&found, &old_bytes) &&
                         !was_reported(outcome, REPORTED_DONE)),
              "%s: %s: %s, %zu bytes", kind->name, walk_place,
              was_reported(outcome, REPORTED_DONE) ? "written" : "not written", found.len);
}

static void write_known(const struct kind *kind, bool is_new, struct bytes *bytes)
{
    char path[2 * FIXTURE_PATH_SIZE];
    struct dpot_error error = {{0}};
    path_of(path, seed, kind);
    cr_assert_eq(kind->write(path, is_new, &error), DPOT_OK, "%s", error.text);
    cr_assert(read_file(seed, kind, bytes));
}

Test(file_faults, a_file_that_is_replaced_is_the_old_one_or_the_new_one)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct kind *kind = &kinds[i];
        const struct walk walk = {replace, validate, (void *)kind, seed, folder};
        write_known(kind, true, &new_bytes);
        training_release(&training); /* starts again, so that the old one is of step 0 */
        case_release(&made);
        begin_training();
        write_known(kind, false, &old_bytes);
        cr_assert_not(is_same(&old_bytes, &new_bytes));
        cr_log_info("%s: %zu runs", kind->name, walk_all(&walk, RUNS_MAX));
    }
}

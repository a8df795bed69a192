/* Checkpoints are read completely or refused, and never continue another run. */
#include "generator/checkpoint.h"
#include "runs.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SETTINGS                                                                                   \
    "{\"arch\":\"mlp:3\",\"latent_dim\":1,\"batch\":4,\"atoms\":6,\"sinkhorn\":3,\"steps\":4}"
#define FILE_MAX 65536

static struct case_of_training made;
static struct training training;
static unsigned char bytes[FILE_MAX];
static size_t len;

static void set_up(void)
{
    struct generator_progress progress;
    struct dpot_error error = {{0}};
    folder_make();
    cr_assert_eq(dpot_init(), DPOT_OK);
    case_make(&made, 12, 1, SETTINGS);
    case_begin(&made, &training);
    cr_assert_eq(generator_train_run(training.train, 2, NULL, &progress, NULL), DPOT_OK);
    cr_assert_eq(checkpoint_write(folder_path("c"), training.fingerprint, training.train, &error),
                 DPOT_OK, "%s", error.text);
    len = folder_read("c", bytes, sizeof bytes);
    cr_assert(len > 200 && len < FILE_MAX, "%zu", len);
}

static void tear_down(void)
{
    training_release(&training);
    case_release(&made);
    folder_remove();
}

TestSuite(checkpoint, .init = set_up, .fini = tear_down);

/* Reads a file of these bytes into a new run. */
static dpot_status read_bytes(size_t n, struct dpot_error *error)
{
    struct training other;
    (void)folder_write("d", bytes, n);
    case_begin(&made, &other);
    const dpot_status status =
        checkpoint_read(folder_path("d"), other.fingerprint, other.train, error);
    training_release(&other);
    return status;
}

Test(checkpoint, a_resumed_run_gives_the_same_bits)
{
    struct training other;
    struct dpot_error error = {{0}};
    case_begin(&made, &other);
    cr_assert_eq(checkpoint_read(folder_path("c"), other.fingerprint, other.train, &error), DPOT_OK,
                 "%s", error.text);
    expect_same_run(&training, &other);
    case_finish(&training);
    case_finish(&other);
    expect_same_run(&training, &other);
    training_release(&other);
}

Test(checkpoint, writing_it_again_gives_the_same_bytes)
{
    static unsigned char again[FILE_MAX];
    cr_assert_eq(checkpoint_write(folder_path("e"), training.fingerprint, training.train, NULL),
                 DPOT_OK);
    cr_assert_eq(folder_read("e", again, sizeof again), len);
    cr_assert_arr_eq(again, bytes, len);
}

Test(checkpoint, a_cut_file_is_refused_at_every_length)
{
    for (size_t n = 0; n < len; n++) {
        struct dpot_error error = {{0}};
        cr_assert_eq(read_bytes(n, &error), DPOT_ERR_CORRUPT, "%zu of %zu bytes", n, len);
        cr_assert_not_null(strstr(error.text, "/d"), "%s", error.text);
    }
}

Test(checkpoint, bytes_after_its_end_are_refused)
{
    bytes[len] = 0;
    cr_assert_eq(read_bytes(len + 1, NULL), DPOT_ERR_CORRUPT);
}

/* A flipped bit of the fingerprint belongs to another run; elsewhere it is damage. */
Test(checkpoint, a_flipped_bit_is_refused_wherever_it_is)
{
    for (size_t i = 0; i < len; i++) {
        const size_t n_bits = i < 64 || i + 40 > len ? 8 : 1;
        for (size_t k = 0; k < n_bits; k++) {
            struct dpot_error error = {{0}};
            const unsigned char bit = (unsigned char)(1u << (n_bits == 8 ? k : i % 8));
            const bool is_fingerprint = i >= 8 && i < 8 + DPOT_HASH_LEN;
            bytes[i] ^= bit;
            cr_assert_eq(read_bytes(len, &error),
                         is_fingerprint ? DPOT_ERR_SHAPE : DPOT_ERR_CORRUPT, "byte %zu: %s", i,
                         error.text);
            cr_assert_neq(error.text[0], '\0');
            bytes[i] ^= bit;
        }
    }
    cr_assert_eq(read_bytes(len, NULL), DPOT_OK, "the bits were put back");
}

static void expect_other(const struct case_of_training *other_case)
{
    struct training other;
    struct dpot_error error = {{0}};
    case_begin(other_case, &other);
    cr_assert_eq(checkpoint_read(folder_path("c"), other.fingerprint, other.train, &error),
                 DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(error.text, "another run"), "%s", error.text);
    training_release(&other);
}

Test(checkpoint, a_file_of_other_settings_pool_scale_or_version_is_refused)
{
    struct case_of_training other;
    case_make(&other, 12, 1,
              "{\"arch\":\"mlp:3\",\"latent_dim\":1,\"batch\":4,\"atoms\":6,\"sinkhorn\":3,"
              "\"steps\":4,\"seed\":2}");
    expect_other(&other);
    case_release(&other);
    case_make(&other, 12, 1, SETTINGS);
    other.reports[7] += 1e-12;
    expect_other(&other);
    other.reports[7] = made.reports[7];
    other.input.scale *= 1 + 1e-15;
    expect_other(&other);
    other.input.scale = made.input.scale;
    other.input.program = "test 2";
    expect_other(&other);
    case_release(&other);
}

Test(checkpoint, a_missing_file_differs_from_an_unreadable_one)
{
    struct training other;
    struct dpot_error error = {{0}};
    case_begin(&made, &other);
    cr_assert_eq(checkpoint_read(folder_path("none"), other.fingerprint, other.train, &error),
                 DPOT_ERR_NOT_FOUND);
    cr_assert_eq(checkpoint_read(folder_path("c/x"), other.fingerprint, other.train, &error),
                 DPOT_ERR_IO);
    training_release(&other);
}

/* A full disk: the system refuses to let the file grow. */
Test(checkpoint, a_full_disk_leaves_the_previous_file)
{
    static unsigned char after[FILE_MAX];
    struct dpot_error error = {{0}};
    struct rlimit before, limit;
    struct generator_progress progress;
    cr_assert_eq(generator_train_run(training.train, 3, NULL, &progress, NULL), DPOT_OK);
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = len / 2;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const dpot_status status =
        checkpoint_write(folder_path("c"), training.fingerprint, training.train, &error);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_assert_eq(status, DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, folder_path("c")), "%s", error.text);
    cr_assert_eq(folder_read("c", after, sizeof after), len);
    cr_assert_arr_eq(after, bytes, len);
}

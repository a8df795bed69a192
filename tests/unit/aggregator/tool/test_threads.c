/* --threads: the values and files of every command that takes it are the same for any number. */
#include "arrays.h"
#include "process.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define N 60
#define N_USERS 9

static void write_inputs(void)
{
    static double x[2 * N], y[2 * N], users[N_USERS * N], grid[2 * 256], noisy[2 * 400];
    double sums[N_USERS] = {0}, totals[2] = {0};
    folder_make();
    for (size_t i = 0; i < 2 * N; i++) {
        x[i] = (double)(i * i * 7 % 101) / 101;
        y[i] = (double)(i * i * 11 % 97) / 97;
    }
    for (size_t k = 0; k < (size_t)N_USERS * N; k++) {
        users[k] = (double)(k * k % 13);
        sums[k / N] += users[k];
    }
    for (size_t k = 0; k < (size_t)N_USERS * N; k++) {
        users[k] /= sums[k / N];
    }
    for (size_t k = 0; k < 512; k++) {
        grid[k] = (double)(k * k % 17 < 5);
        totals[k / 256] += grid[k];
    }
    for (size_t k = 0; k < 512; k++) {
        grid[k] /= totals[k / 256];
    }
    for (size_t i = 0; i < 800; i++) {
        noisy[i] = (double)(i * i * 13 % 211) / 211;
    }
    write_array("x.npy", N, 2, x);
    write_array("y.npy", N, 2, y);
    write_array("users.npy", N_USERS, N, users);
    write_array("grid1.npy", 16, 16, grid);
    write_array("grid2.npy", 16, 16, grid + 256);
    write_array("pool.npy", 400, 2, noisy);
}

TestSuite(threads, .init = write_inputs, .fini = folder_remove);

#define POINTS " --x x.npy --v y.npy --metric euclidean"

static const char *const commands[] = {
    "ot --x x.npy --y y.npy --metric euclidean --lambda 0.05 --plan out.npy",
    "ot --x x.npy --y y.npy --metric euclidean --lambda 0.05 --float32 --debiased --plan out.npy",
    "project --mu users.npy" POINTS " --base-measure uniform --epsilon 1 --lambda 0.05 "
    "--iterations 50 --out out.npy",
    "project --mu users.npy" POINTS " --base-measure uniform --epsilon 1 --exact --out out.npy",
    "base-measure" POINTS " --epsilon 2 --out out.npy",
    "base-measure" POINTS " --epsilon 2 --users users.npy --method mirror --max-iterations 20 "
    "--seed 2 --out out.npy",
    "barycenter --group x.npy y.npy --support 5 --exact --starts 3 --seed 1 --outer 5 --out "
    "out.npy",
    "barycenter --group x.npy y.npy --support 5 --lambda 0.05 --seed 1 --outer 5 --out out.npy",
    "barycenter --group grid1.npy grid2.npy --grid 16x16 --lambda 0.01 --outer 100 --out out.npy",
    "deconvolve --pool pool.npy --mechanism laplace --scale 0.1 --support 10 --seed 1 --out "
    "out.npy",
    "generator train --pool pool.npy --mechanism laplace --scale 0.1 --steps 3 --seed 1 --arch "
    "mlp:8,8 --out out.onnx",
};

/* Runs a command and returns its keys but for the seconds; its file is in `bytes`. */
static json_t *run_with(const char *command, int n_threads, char *bytes, size_t capacity,
                        size_t *n_bytes)
{
    char arguments[512];
    (void)snprintf(arguments, sizeof arguments, "%s --threads %d", command, n_threads);
    json_t *result = expect_json(arguments, 0);
    (void)json_object_del(result, "seconds");
    (void)json_object_del(result, "seconds_per_step");
    *n_bytes = folder_read(strstr(command, ".onnx") ? "out.onnx" : "out.npy", bytes, capacity);
    cr_assert_gt(*n_bytes, 0);
    return result;
}

Test(threads, do_not_change_a_bit_of_any_result)
{
    static char first[1 << 18], other[1 << 18];
    for (size_t c = 0; c < sizeof commands / sizeof commands[0]; c++) {
        size_t n_first = 0, n_other = 0;
        json_t *expected = run_with(commands[c], 1, first, sizeof first, &n_first);
        for (int t = 2; t <= 5; t += 3) {
            json_t *result = run_with(commands[c], t, other, sizeof other, &n_other);
            cr_assert(json_equal(expected, result), "%s: %d threads", commands[c], t);
            cr_assert(n_first == n_other && memcmp(first, other, n_first) == 0, "%s: %d threads",
                      commands[c], t);
            json_decref(result);
        }
        json_decref(expected);
    }
}

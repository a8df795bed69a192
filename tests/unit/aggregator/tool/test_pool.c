/* dpot pool against a canned server; and the pool of a simulation in process. */
#include "canned_server.h"
#include "process.h"
#include "unit/files/folder.h"

#include "base/buf.h"
#include "files/array.h"
#include "tool/simulate/in_process.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "000102030405060708090a0b0c0d0e0f"
#define N 3

static void set_up(void)
{
    folder_make();
    cr_assert_eq(dpot_init(), DPOT_OK);
    (void)setenv("DPOT_TOKEN", "secret-token", 1);
}

TestSuite(pool, .init = set_up, .fini = folder_remove);

#define COUNTS "\"n\":3,\"accepted\":3,\"duplicate\":1,\"rejected\":{\"malformed\":0}"
static const char images[] =
    "{\"campaign_hash\":\"ab\",\"mechanism\":\"gaussian\",\"scale\":8,\"dim\":2,\"data_dim\":4,"
    "\"transform\":{\"type\":\"dct\",\"shape\":[2,2],\"keep\":[0,3]}," COUNTS "}";
static const char points[] =
    "{\"campaign_hash\":\"ab\",\"mechanism\":\"wpm\",\"scale\":null," COUNTS "}";

/* Row i, column j of the exports: 10 i + j + 1/4, in each space another sign. */
static void fill(uint8_t *bytes, size_t n_columns, double sign)
{
    for (size_t i = 0; i < N * n_columns; i++) {
        const double number =
            sign * (10 * (double)(i / n_columns) + (double)(i % n_columns) + 0.25);
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        dpot_store_u64(bytes + 8 * i, bits);
    }
}

/* Runs "pool ID ARGUMENTS" against a pool so described, whose exports have these bytes. */
static void run_pool(struct process *p, const char *description, size_t export_len,
                     const char *arguments)
{
    uint8_t data[8 * N * 4], coefficients[8 * N * 2];
    struct canned_server server;
    char text[512];
    fill(data, 4, 1);
    fill(coefficients, 2, -1);
    const struct canned_answer answers[] = {
        {"/pool", "200 OK", description, strlen(description)},
        {"/pool/export", "200 OK", data, export_len},
        {"/pool/coefficients", "200 OK", coefficients, sizeof coefficients},
    };
    canned_server_start_answers(&server, answers, 3);
    (void)snprintf(text, sizeof text, "pool " ID " %s --server %s", arguments, server.url);
    process_run(p, text);
    canned_server_stop(&server);
}

static void expect_array(const char *name, size_t n_columns, double sign)
{
    struct array array;
    struct dpot_error error = {{0}};
    cr_assert_eq(array_read(folder_path(name), &array, &error), DPOT_OK, "%s", error.text);
    cr_assert(array.n_rows == N && array.n_cols == n_columns && !array.is_vector);
    for (size_t i = 0; i < N * n_columns; i++) {
        cr_assert_eq(array.values[i],
                     sign * (10 * (double)(i / n_columns) + (double)(i % n_columns) + 0.25));
    }
    array_release(&array);
}

static json_t *read_side(const char *name)
{
    char text[4096];
    text[folder_read(name, text, sizeof text - 1)] = '\0';
    json_t *side = json_loads(text, 0, NULL);
    cr_assert_not_null(side, "%s", text);
    return side;
}

Test(pool, vectors_are_written_as_rows_in_data_units_with_their_side_file)
{
    static const char *const names[] = {"pool.npy", "pool.csv"};
    for (size_t i = 0; i < 2; i++) {
        struct process p;
        char arguments[64], side_name[64];
        (void)snprintf(arguments, sizeof arguments, "--out %s --json", names[i]);
        (void)snprintf(side_name, sizeof side_name, "%s.json", names[i]);
        run_pool(&p, images, sizeof(double) * N * 4, arguments);
        cr_assert_eq(p.exit_code, 0, "%s", p.err);
        expect_array(names[i], 4, 1);
        json_t *side = read_side(side_name);
        cr_assert_str_eq(json_string_value(json_object_get(side, "mechanism")), "gaussian");
        cr_assert_str_eq(json_string_value(json_object_get(side, "campaign_hash")), "ab");
        cr_assert_str_eq(json_string_value(json_object_get(side, "space")), "data");
        cr_assert_eq(number_of(side, "scale"), 8);
        cr_assert_eq(number_of(side, "n"), N);
        cr_assert_eq(number_of(side, "dim"), 2);
        cr_assert_eq(number_of(side, "data_dim"), 4);
        cr_assert_eq(json_array_size(json_object_get(json_object_get(side, "transform"), "keep")),
                     2);
        json_decref(side);
    }
}

Test(pool, coefficients_are_the_vectors_before_the_inverse_transform)
{
    struct process p;
    run_pool(&p, images, 0, "--out raw.npy --coefficients");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    expect_array("raw.npy", 2, -1);
    json_t *side = read_side("raw.npy.json");
    cr_assert_str_eq(json_string_value(json_object_get(side, "space")), "coefficients");
    json_decref(side);
}

Test(pool, indices_are_written_with_a_null_scale)
{
    struct process p;
    struct array array;
    run_pool(&p, points, 8, "--out pool.npy");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_eq(array_read(folder_path("pool.npy"), &array, NULL), DPOT_OK);
    cr_assert(array.n_rows == 2 && array.is_vector);
    array_release(&array);
    json_t *side = read_side("pool.npy.json");
    cr_assert(json_is_null(json_object_get(side, "scale")));
    cr_assert_null(json_object_get(side, "space"));
    cr_assert_eq(number_of(side, "n"), 2);
    json_decref(side);
}

static void expect_refusal(const char *description, size_t export_len, const char *arguments,
                           int exit_code, const char *word)
{
    struct process p;
    run_pool(&p, description, export_len, arguments);
    cr_assert_eq(p.exit_code, exit_code, "%s: %d %s", arguments, p.exit_code, p.err);
    cr_assert_not_null(strstr(p.err, word), "%s", p.err);
}

#define POOL(mechanism) "{\"accepted\":3,\"mechanism\":\"" mechanism "\""

Test(pool, conflicting_options_are_refused)
{
    expect_exit("pool " ID " --coefficients --server http://x", 2, "--out");
    expect_refusal(points, 8, "--out pool.npy --coefficients", 3, "wpm");
    expect_refusal(images, 0, "--out pool.npy", 7, "empty");
    expect_refusal(images, 31, "--out pool.npy", 6, "cut off");
    expect_refusal(POOL("magic") "}", 8, "--out pool.npy", 6, "no mechanism");
    expect_refusal(POOL("laplace") "}", 8, "--out pool.npy", 6, "no length");
    expect_refusal(POOL("laplace") ",\"data_dim\":0}", 8, "--out pool.npy", 6, "no length");
    expect_refusal(POOL("laplace") ",\"data_dim\":2000000}", 8, "--out pool.npy", 6, "no length");
    expect_refusal(POOL("laplace") ",\"data_dim\":\"many\"}", 8, "--out pool.npy", 6, "no length");
}

/* ---- a simulation's ---- */

Test(pool, a_simulation_of_vectors_has_its_pool_in_data_units)
{
    const struct dpot_campaign campaign = vectors_laplace(2);
    int64_t values[N][2];
    struct dpot_report reports[N];
    struct in_process server;
    struct array pool;
    struct dpot_error error = {{0}};
    for (uint32_t i = 0; i < N; i++) {
        reports[i] = vectors_report(i, 2, 100, values[i]);
    }
    cr_assert_eq(in_process_open(&campaign, &server, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(in_process_pool(&server, DECODE_DATA, &pool, &error), DPOT_ERR_NOT_FOUND);
    vectors_append(server.store, server.hash, 0, reports, N);
    fixture_sort(reports, N);
    cr_assert_eq(in_process_pool(&server, DECODE_DATA, &pool, &error), DPOT_OK, "%s", error.text);
    cr_assert(pool.n_rows == N && pool.n_cols == 2 && !pool.is_vector);
    for (size_t i = 0; i < 2 * N; i++) {
        cr_assert_eq(pool.values[i], 0.25 * (double)reports[i / 2].values[i % 2]);
    }
    array_release(&pool);
    in_process_close(&server);
}

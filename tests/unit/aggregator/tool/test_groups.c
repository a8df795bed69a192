/* Groups through the tool: simulate --group-column, pool --groups-out and --group, barycenter
 * --pool. */
#include "canned_server.h"
#include "process.h"
#include "unit/files/folder.h"

#include "base/buf.h"
#include "base/crypto.h"
#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC(domain, mechanism, groups, min_pool)                                                  \
    "{\"name\":\"regions\",\"domain\":{" domain "},\"metric\":\"euclidean\",\"power\":2,"          \
    "\"mechanism\":{" mechanism "},\"opens\":\"2026-01-01T00:00:00Z\","                            \
    "\"closes\":\"2026-02-01T00:00:00Z\",\"min_pool\":" min_pool ",\"groups\":[" groups "],"       \
    "\"simulation\":true}"
#define GRID "\"type\":\"grid\",\"lo\":[0,0],\"hi\":[6,6],\"shape\":[6,6]"
#define BOX "\"type\":\"box\",\"lo\":[0,0],\"hi\":[6,6]"
#define BALL                                                                                       \
    "\"type\":\"wpm\",\"epsilon\":8,\"lambda\":0.01,\"iterations\":10,\"base_measure\":\"ball:"    \
    "2\","                                                                                         \
    "\"n_max\":1"
#define LAPLACE "\"type\":\"laplace\",\"epsilon\":16"
#define TWO "\"north\",\"south\""
#define N 400

/* The first group is at (1.5, 1.5), the second at (4.5, 3.5); a third of the devices is in the
 * second. */
static void write_case(void)
{
    static char text[32768];
    folder_make();
    cr_assert_eq(dpot_init(), DPOT_OK);
    (void)setenv("DPOT_TOKEN", "secret-token", 1);
    write_text("index.json", SPEC(GRID, BALL, TWO, "100"));
    write_text("laplace.json", SPEC(BOX, LAPLACE, TWO, "100"));
    write_text("alone.json", SPEC(GRID, BALL, "", "100"));
    write_text("many.json", SPEC(GRID, BALL, TWO, "401"));
    int len = snprintf(text, sizeof text, "device,region,x,y\n");
    for (int i = 0; i < N; i++) {
        const bool is_south = i % 3 == 2;
        len += snprintf(text + len, sizeof text - (size_t)len, "%d,%d,%s\n", i, is_south,
                        is_south ? "4.5,3.5" : "1.5,1.5");
    }
    write_text("data.csv", text);
}

TestSuite(groups, .init = write_case, .fini = folder_remove);

static void read_array(const char *name, struct array *array)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(array_read(folder_path(name), array, &error), DPOT_OK, "%s", error.text);
}

#define SIMULATE(spec)                                                                             \
    "simulate --campaign " spec " --data data.csv --devices 400 --in-process --seed 5 --out run"

/* ---- simulate ---- */

Test(groups, devices_report_under_the_group_of_their_column)
{
    struct array groups;
    json_t *r = expect_json(SIMULATE("index.json") " --group-column region", 0);
    const json_t *counts = json_object_get(r, "groups");
    cr_assert_eq(json_array_size(counts), 2);
    cr_assert_eq(number_of(json_array_get(counts, 0), "devices"), 267);
    cr_assert_eq(number_of(json_array_get(counts, 1), "devices"), 133);
    cr_assert_eq(number_of(json_array_get(counts, 1), "counted"), 133);
    cr_assert_str_eq(json_string_value(json_object_get(json_array_get(counts, 1), "label")),
                     "south");
    json_decref(r);
    read_array("run/groups.npy", &groups);
    cr_assert(groups.n_rows == N && groups.is_vector);
    double n_south = 0; /* in the order of ids, which are drawn */
    for (size_t i = 0; i < N; i++) {
        cr_assert(groups.values[i] == 0 || groups.values[i] == 1);
        n_south += groups.values[i];
    }
    cr_assert_eq(n_south, 133);
    array_release(&groups);
}

Test(groups, the_column_of_groups_may_stand_beside_chosen_columns)
{
    write_text("data.csv", "region,town,y,x,device\n0,Ay,1.5,1.5,1\n1,Bee,3.5,4.5,2\n");
    json_t *r = expect_json("simulate --campaign index.json --data data.csv --devices 2 --seed 5 "
                            "--in-process --columns device,x,y --group-column region --out run",
                            0);
    const json_t *counts = json_object_get(r, "groups");
    cr_assert_eq(number_of(json_array_get(counts, 0), "devices"), 1);
    cr_assert_eq(number_of(json_array_get(counts, 1), "devices"), 1);
    json_decref(r);
}

Test(groups, a_column_can_be_given_by_number_and_is_removed_by_the_next_run)
{
    char text[16];
    json_decref(expect_json(SIMULATE("index.json") " --group-column 1", 0));
    cr_assert_gt(folder_read("run/groups.npy", text, sizeof text), 0);
    write_text("plain.csv", "1,1.5,1.5\n2,2.5,2.5\n");
    json_decref(
        expect_json("simulate --campaign alone.json --data plain.csv --devices 2 --in-process "
                    "--out run",
                    0));
    struct process p;
    process_run(&p, "convert --in run/groups.npy --out g.csv");
    cr_assert_eq(p.exit_code, 6, "groups.npy stayed: %s", p.err);
}

Test(groups, without_a_column_all_are_in_the_first_group_with_a_warning)
{
    struct process p;
    write_text("plain.csv", "1,1.5,1.5\n2,2.5,2.5\n");
    process_run(&p, "simulate --campaign index.json --data plain.csv --devices 2 --in-process "
                    "--seed 1 --out run");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "all devices report under \"north\""), "%s", p.err);
}

Test(groups, an_unknown_group_is_refused_with_its_row)
{
    expect_exit(SIMULATE("index.json") " --group-column where", 2, "no column where");
    expect_exit(SIMULATE("alone.json") " --group-column region", 2, "no groups");
    write_text("data.csv", "device,region,x,y\n1,0,1,1\n2,2,1,1\n");
    expect_exit("simulate --campaign index.json --data data.csv --devices 2 --in-process --out run "
                "--group-column region",
                3, "--data row 2: group 2 is none of the campaign, which has the groups 0 to 1");
    write_text("data.csv", "device,region,x,y\n1,0,1,1\n1,1,1,1\n");
    expect_exit("simulate --campaign index.json --data data.csv --devices 1 --in-process --out run "
                "--group-column region",
                3, "rows 1 and 2: device 1 is in the groups 0 and 1");
}

/* ---- barycenter --pool ---- */

#define AVERAGE(spec)                                                                              \
    "barycenter --pool run/pool.npy --groups run/groups.npy --campaign " spec                      \
    " --support 1 --exact --seed 1 --out middle.csv"

static void expect_middle(const char *spec_run, const char *average, double tol)
{
    struct array middle;
    json_decref(expect_json(spec_run, 0));
    json_t *r = expect_json(average, 0);
    cr_assert_float_eq(number_of(r, "cost"), 13.0 / 4, 6 * tol, "%g", number_of(r, "cost"));
    cr_assert_gt(number_of(r, "data_free_cost"), 0);
    const json_t *groups = json_object_get(r, "groups");
    cr_assert_eq(number_of(json_array_get(groups, 0), "n"), 267);
    cr_assert_geq(number_of(json_array_get(groups, 1), "steps"), 50);
    json_decref(r);
    read_array("middle.csv", &middle);
    cr_assert_float_eq(middle.values[0], 3, tol, "%g", middle.values[0]);
    cr_assert_float_eq(middle.values[1], 2.5, tol, "%g", middle.values[1]);
    array_release(&middle);
}

Test(groups, the_groups_of_a_pool_of_indices_are_deconvolved_and_averaged)
{
    struct array clean;
    expect_middle(SIMULATE("index.json") " --group-column region",
                  AVERAGE("index.json") " --deconvolved-out clean.csv", 0.1);
    read_array("clean.csv", &clean);
    cr_assert(clean.n_rows == 72 && clean.n_cols == 4);
    cr_assert_eq(clean.values[4 * 36], 1, "the second group begins");
    cr_assert_gt(clean.values[4 * 7 + 1], 0.95, "(1.5, 1.5) of the first");
    array_release(&clean);
}

Test(groups, the_groups_of_a_pool_of_vectors_too)
{
    expect_middle(SIMULATE("laplace.json") " --group-column region",
                  AVERAGE("laplace.json") " --deconvolve-grid 12x12", 0.3);
    expect_exit(AVERAGE("laplace.json") " --deconvolve-grid 4x4x4", 3,
                "3 numbers with the product 64: give one for each of the 2 coordinates");
    expect_exit(AVERAGE("laplace.json") " --deconvolve-grid 4", 3,
                "one for each of the 2 coordinates");
    expect_exit(AVERAGE("laplace.json") " --deconvolve-grid 999x999", 3, "at most 65536 in all");
}

Test(groups, a_pool_that_is_not_the_campaigns_or_not_ready_is_refused)
{
    json_decref(expect_json(SIMULATE("index.json") " --group-column region", 0));
    expect_exit(AVERAGE("laplace.json"), 3, "--pool");
    expect_exit(AVERAGE("alone.json"), 3, "no groups");
    expect_exit(AVERAGE("many.json"), 7, "400 of 401 reports");
    expect_exit(AVERAGE("index.json") " --grid 3x3", 2, "--grid does not go with --pool");
    expect_exit(AVERAGE("index.json") " --lambda 1", 2, "--lambda");
    expect_exit(AVERAGE("index.json") " --deconvolve-grid 3x", 2, "--deconvolve-grid is 3x");
    expect_exit(AVERAGE("index.json") " --deconvolve-support 9", 3, "its domain's");
    write_text("w.csv", "1\n3\n");
    expect_exit(AVERAGE("index.json") " --group-weights w.csv", 3, "add --normalize");
    json_decref(expect_json(AVERAGE("index.json") " --group-weights w.csv --normalize", 0));
    write_text("w.csv", "1\n0\n0\n");
    expect_exit(AVERAGE("index.json") " --group-weights w.csv", 3, "3 weights for 2 groups");
    expect_exit("barycenter --pool run/pool.npy --campaign index.json --exact --out m.csv", 2,
                "--groups");
    write_text("short.csv", "0\n1\n");
    expect_exit("barycenter --pool run/pool.npy --groups short.csv --campaign index.json --exact "
                "--out m.csv",
                3, "--groups is 2 x 1 and --pool has 400 reports");
}

Test(groups, a_group_below_its_share_of_the_minimum_is_not_ready)
{
    write_text("many.json", SPEC(GRID, BALL, TWO, "300")); /* 150 a group, and south has 133 */
    json_decref(expect_json(SIMULATE("many.json") " --group-column region", 0));
    expect_exit(AVERAGE("many.json"), 7, "group \"south\" has 133 of 150 accepted reports");
    write_text("w.csv", "1\n0\n");
    json_decref(expect_json(AVERAGE("many.json") " --group-weights w.csv", 0));
}

/* ---- pool ---- */

#define ID "000102030405060708090a0b0c0d0e0f"
#define POOL                                                                                       \
    "{\"campaign_hash\":\"ab\",\"mechanism\":\"wpm\",\"scale\":null,\"n\":4,\"accepted\":4,"       \
    "\"duplicate\":0,\"rejected\":{\"malformed\":0}"

/* Reports 10 to 13 of the groups 1, 0, 1, 1; the output has n_groups of them. */
static void run_pool(struct process *p, const char *description, size_t n_groups, uint32_t last,
                     const char *arguments)
{
    uint8_t data[16], groups[16];
    const uint32_t of[4] = {1, 0, 1, last};
    struct canned_server server;
    char text[512];
    for (uint32_t i = 0; i < 4; i++) {
        dpot_store_u32(data + 4 * i, 10 + i);
        dpot_store_u32(groups + 4 * i, of[i]);
    }
    const struct canned_answer answers[] = {
        {"/pool", "200 OK", description, strlen(description)},
        {"/pool/export", "200 OK", data, sizeof data},
        {"/pool/groups", "200 OK", groups, 4 * n_groups},
    };
    canned_server_start_answers(&server, answers, 3);
    (void)snprintf(text, sizeof text, "pool " ID " %s --server %s", arguments, server.url);
    process_run(p, text);
    canned_server_stop(&server);
}

static void expect_column(const char *name, const double *values, size_t n)
{
    struct array array;
    read_array(name, &array);
    cr_assert_eq(array.n_rows, n);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(array.values[i], values[i], "%s, row %zu: %g", name, i, array.values[i]);
    }
    array_release(&array);
}

Test(groups, a_pool_is_exported_with_the_groups_of_its_reports)
{
    struct process p;
    json_error_t error;
    run_pool(&p, POOL ",\"groups\":[\"north\",\"south\"]}", 4, 1,
             "--out pool.npy --groups-out groups.npy");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    expect_column("pool.npy", (const double[]){10, 11, 12, 13}, 4);
    expect_column("groups.npy", (const double[]){1, 0, 1, 1}, 4);
    json_t *side = json_load_file(folder_path("pool.npy.json"), 0, &error);
    cr_assert_not_null(side);
    cr_assert_eq(json_array_size(json_object_get(side, "groups")), 2);
    cr_assert_eq(json_integer_value(json_array_get(json_object_get(side, "group_counts"), 1)), 3);
    cr_assert(json_is_null(json_object_get(side, "group")));
    json_decref(side);
}

Test(groups, one_group_is_exported_by_its_label_or_number)
{
    static const char *const arguments[] = {"--out pool.npy --group south --groups-out g.csv",
                                            "--out pool.npy --group 1 --groups-out g.csv"};
    for (size_t i = 0; i < 2; i++) {
        struct process p;
        json_error_t error;
        run_pool(&p, POOL ",\"groups\":[\"north\",\"south\"]}", 4, 1, arguments[i]);
        cr_assert_eq(p.exit_code, 0, "%s", p.err);
        expect_column("pool.npy", (const double[]){10, 12, 13}, 3);
        expect_column("g.csv", (const double[]){1, 1, 1}, 3);
        json_t *side = json_load_file(folder_path("pool.npy.json"), 0, &error);
        cr_assert_eq(number_of(side, "n"), 3);
        cr_assert_eq(number_of(side, "group"), 1);
        json_decref(side);
    }
}

static void refuse_pool(const char *description, size_t n_groups, uint32_t last,
                        const char *arguments, int exit_code, const char *word)
{
    struct process p;
    run_pool(&p, description, n_groups, last, arguments);
    cr_assert_eq(p.exit_code, exit_code, "%d: %s", p.exit_code, p.err);
    cr_assert_not_null(strstr(p.err, word), "%s", p.err);
}

Test(groups, unknown_groups_are_refused)
{
    static const char pool[] = POOL ",\"groups\":[\"north\",\"south\",\"west\"]}";
    expect_exit("pool " ID " --group north --server http://x", 2, "--out");
    refuse_pool(POOL "}", 4, 1, "--out p.npy --group north", 3, "no groups");
    refuse_pool(pool, 4, 1, "--out p.npy --group east", 3, "--group east is none");
    refuse_pool(pool, 4, 1, "--out p.npy --group 3", 3, "from 0 to 2");
    refuse_pool(pool, 4, 1, "--out p.npy --group west", 7, "west has no reports");
    refuse_pool(pool, 3, 1, "--out p.npy --groups-out g.npy", 6, "3 of 4 reports");
    refuse_pool(pool, 4, 9, "--out p.npy --groups-out g.npy", 6, "report 4 is of group 9 of 3");
}

/* dpot central transport-map: finds the map that made the data; refusals. */
#include "../tool/process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BOX "--domain {\"type\":\"box\",\"lo\":[-1],\"hi\":[1]} "
#define RUN "central transport-map --x x.csv --y y.csv --grid 40 --epsilon 1 "

/* Five candidates f = a x^2 / 2 on a line of 40 cells, with maps x -> a x; y is x / 2 (a = 0.5). */
static void write_data(void)
{
    folder_make();
    FILE *x = fopen(folder_path("x.csv"), "w"), *y = fopen(folder_path("y.csv"), "w");
    FILE *candidates = fopen(folder_path("f.csv"), "w");
    cr_assert(x && y && candidates);
    for (int i = 0; i < 4000; i++) {
        const double at = (i * 37 % 4000) / 2000.0 - 1;
        (void)fprintf(x, "%.9g\n", at);
        (void)fprintf(y, "%.9g\n", at / 2);
    }
    for (int a = 0; a < 5; a++) {
        for (int c = 0; c < 40; c++) {
            const double at = (c + 0.5) / 20 - 1;
            (void)fprintf(candidates, "%.12g%c", (0.25 * (a + 1)) * at * at / 2,
                          c < 39 ? ',' : '\n');
        }
    }
    cr_assert(fclose(x) == 0 && fclose(y) == 0 && fclose(candidates) == 0);
}

TestSuite(transport_map_tool, .init = write_data, .fini = folder_remove);

Test(transport_map_tool, finds_the_map_that_made_the_data)
{
    struct array map;
    struct dpot_error error = {""};
    /* Real randomness: the second best objective is .0139 larger, with a range of .375, so another
     * candidate is chosen once in e^(.0139 * 4000 / .75) = e^74 runs. */
    json_t *r = expect_json(RUN BOX "--candidates f.csv --out map.csv --potential-out p.csv", 0);
    cr_assert_eq(number_of(r, "candidate"), 1, "a = 0.5");
    cr_assert_eq(number_of(r, "candidates"), 5);
    cr_assert_str_eq(json_string_value(json_object_get(r, "mechanism")), "permute-and-flip");
    cr_assert_eq(number_of(r, "delta"), 0);
    cr_assert_eq(number_of(r, "epsilon_spent"), 1);
    cr_assert_gt(number_of(r, "sensitivity"), 0);
    cr_assert_eq(array_read(folder_path("map.csv"), &map, &error), DPOT_OK);
    cr_assert(map.n_rows == 40 && map.n_cols == 2);
    for (size_t c = 1; c < 39; c++) {
        cr_assert_float_eq(map.values[2 * c + 1], map.values[2 * c] / 2, 1e-9);
    }
    array_release(&map);
    cr_assert_eq(array_read(folder_path("p.csv"), &map, &error), DPOT_OK);
    cr_assert_eq(map.n_rows, 40);
    array_release(&map);
    json_decref(r);
}

Test(transport_map_tool, families_are_public_and_the_same_for_the_same_family_seed)
{
    struct array a, b;
    struct dpot_error error = {""};
    json_t *r = expect_json(RUN BOX "--family 1 --out a.csv", 0);
    json_decref(r);
    cr_assert_eq(array_read(folder_path("a.csv"), &a, &error), DPOT_OK);
    for (size_t c = 1; c < 39; c++) {
        cr_assert_float_eq(a.values[2 * c + 1], a.values[2 * c], 1e-9, "the first is the identity");
    }
    array_release(&a);
    const char *const run =
        RUN BOX "--family 30 --family-seed 9 --bump-height 0.1 --bump-width 0.3 --bump-spread 1 "
                "--seed 2 --simulation --adjacency replace-pair --out ";
    char arguments[1000];
    (void)snprintf(arguments, sizeof arguments, "%sa.npy", run);
    json_decref(expect_json(arguments, 0));
    (void)snprintf(arguments, sizeof arguments, "%sb.npy", run);
    json_decref(expect_json(arguments, 0));
    cr_assert_eq(array_read(folder_path("a.npy"), &a, &error), DPOT_OK);
    cr_assert_eq(array_read(folder_path("b.npy"), &b, &error), DPOT_OK);
    cr_assert_eq(memcmp(a.values, b.values, 80 * sizeof *a.values), 0);
    array_release(&a);
    array_release(&b);
}

Test(transport_map_tool, refuses_wrong_calls_and_data)
{
    expect_exit(RUN "--candidates f.csv --out m.csv", 2, "--domain");
    expect_exit(RUN BOX "--out m.csv", 2, "--candidates");
    expect_exit(RUN BOX "--candidates f.csv --family 3 --out m.csv", 2, "--family");
    expect_exit(RUN BOX "--candidates f.csv --bump-height 3 --out m.csv", 2, "--bump-height");
    expect_exit(RUN BOX "--candidates f.csv --seed 3 --out m.csv", 4, "--simulation");
    expect_exit(RUN BOX "--candidates f.csv --adjacency add-remove --out m.csv", 2, "replace-pair");
    expect_exit(RUN BOX "--candidates x.csv --out m.csv", 3, "40 cells");
    expect_exit("central transport-map --x x.csv --y y.csv --grid 4x4x4x4 --epsilon 1 --family 2 "
                "--out m.csv " BOX,
                2, "--grid");
    expect_exit("central transport-map --x x.csv --y y.csv --grid 4000x4000 --epsilon 1 --family 2 "
                "--out m.csv " BOX,
                2, "--grid");
    expect_exit("central transport-map --x x.csv --y y.csv --grid 4x4 --epsilon 1 --family 2 "
                "--out m.csv " BOX,
                3, "agree");
    expect_exit("central transport-map --x x.csv --y y.csv --grid 4 --epsilon 1e-9 --family 2 "
                "--out m.csv " BOX,
                2, "--epsilon is 1e-9: give at least 9.54e-07");
    write_text("y.csv", "nan\n");
    expect_exit(RUN BOX "--candidates f.csv --out m.csv", 0, "");
}

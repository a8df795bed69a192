#include "../tool/process.h"
#include "drawn.h"
#include "support/child.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAP "--grid 2x3 --lo 24.5,-125 --hi 49.4,-66.9"
#define HEATMAP "plot heatmap --in w.csv "

#define GRID_SPEC(metric)                                                                          \
    "{\"name\":\"grid\",\"domain\":{\"type\":\"grid\",\"lo\":[24.5,-125],\"hi\":[49.4,-66.9],"     \
    "\"shape\":[2,3]},\"output\":\"same\",\"metric\":\"" metric                                    \
    "\",\"power\":1,\"mechanism\":{\"type\":\"wpm\",\"epsilon\":2,\"lambda\":100,"                 \
    "\"iterations\":40,\"base_measure\":\"uniform\",\"n_max\":8},\"rounds\":1,"                    \
    "\"opens\":\"2026-12-01T00:00:00Z\",\"closes\":\"2026-12-08T00:00:00Z\",\"min_pool\":20}"

#define RING_SPEC                                                                                  \
    "{\"name\":\"ring\",\"domain\":{\"type\":\"ring\",\"size\":6},\"output\":\"same\","            \
    "\"metric\":\"ring\",\"power\":1,\"mechanism\":{\"type\":\"wpm\",\"epsilon\":2,"               \
    "\"lambda\":0.2,\"iterations\":40,\"base_measure\":\"uniform\",\"n_max\":8},\"rounds\":1,"     \
    "\"opens\":\"2026-12-01T00:00:00Z\",\"closes\":\"2026-12-08T00:00:00Z\",\"min_pool\":20}"

static void write_inputs(void)
{
    folder_make();
    write_text("w.csv", "0\n0.1\n0.2\n0.3\n0.4\n0\n");
    write_text("w2.csv", "0.5,0.1,0.1\n0.1,0.1,0.1\n");
    write_text("nan.csv", "0\n0.1\nnan\n0.3\n0.4\n0\n");
    write_text("negative.csv", "0\n0.1\n-1\n0.3\n0.4\n0\n");
    write_text("xy.csv", "lat,lon\n30,-100\n40,-80\n");
    write_text("two.csv", "3\n0\n");
    write_text("border.csv", "lat,lon\n25,-120\n45,-120\n45,-70\n25,-120\n");
    write_text("curves.csv",
               "iteration,\"gap, relative\",residual\n1,1,0.5\n2,0.1,0\n3,0.01,0.2\n");
    write_text("images.csv", "0,1,2,3\n3,2,1,0\n1,1,1,1\n");
    write_text("grid.json", GRID_SPEC("haversine"));
    write_text("ring.json", RING_SPEC);
}

TestSuite(plot, .init = write_inputs, .fini = drawn_clean_up);

static void expect_written(const char *arguments, const char *name)
{
    struct picture_size size;
    json_t *result = expect_json(arguments, 0);
    cr_assert_str_eq(json_string_value(json_object_get(result, "out")), name);
    size.width = (uint32_t)number_of(result, "width");
    size.height = (uint32_t)number_of(result, "height");
    if (strstr(name, ".png")) {
        expect_png(name, &size);
    } else {
        free(expect_svg(name, &size));
    }
    json_decref(result);
}

static void expect_text(const char *name, const char *part)
{
    char *text = expect_svg(name, NULL);
    cr_assert_not_null(strstr(text, part), "%s", part);
    free(text);
}

Test(plot, every_kind_writes_png_and_svg)
{
    static const char *const kinds[] = {
        HEATMAP MAP,
        HEATMAP "--grid 2x3 --log",
        "plot points --in xy.csv",
        "plot points --in xy.csv --weights two.csv --border border.csv --log",
        "plot curves --in curves.csv --log-y",
        "plot curves --in curves.csv --error-bars --from-zero",
        "plot sheet --in images.csv --shape 2x2"};
    static const char *const names[] = {"a.png", "a.svg"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (size_t n = 0; n < 2; n++) {
            char arguments[512];
            (void)snprintf(arguments, sizeof arguments, "%s --title T --out %s", kinds[i],
                           names[n]);
            expect_written(arguments, names[n]);
        }
        expect_text("a.svg", ">T</text>");
    }
}

Test(plot, heat_maps_stand_side_by_side_with_their_titles)
{
    expect_written(HEATMAP
                   "--in2 w2.csv --titles truth|estimate --title Both --border border.csv " MAP
                   " --out a.svg",
                   "a.svg");
    expect_text("a.svg", ">truth</text>");
    expect_text("a.svg", ">estimate</text>");
    expect_text("a.svg", ">Both</text>");
}

Test(plot, a_range_makes_pictures_comparable)
{
    expect_written(HEATMAP MAP " --log --range 0.15,0.9 --value-label share --out a.svg", "a.svg");
    expect_text("a.svg", ">\xE2\x89\xA4 0.15</text>");
    expect_text("a.svg", ">0.9</text>");
    expect_text("a.svg", ">share, log scale</text>");
    expect_written("plot points --in xy.csv --weights two.csv --range 1,2 --out a.svg", "a.svg");
    expect_text("a.svg", ">\xE2\x89\xA5 2</text>");
}

Test(plot, the_campaign_gives_grid_and_metric)
{
    expect_written(HEATMAP "--campaign grid.json --out a.svg", "a.svg");
    expect_text("a.svg", ">longitude</text>");
    write_text("grid.json", GRID_SPEC("euclidean"));
    expect_written(HEATMAP "--campaign grid.json --out a.svg", "a.svg");
    expect_text("a.svg", ">second coordinate</text>");
    expect_exit(HEATMAP "--campaign ring.json --out b.svg", 3, "dpot plot curves");
    expect_exit(HEATMAP "--campaign ring.json --grid 2x3 --out b.svg", 2, "exclude each other");
}

Test(plot, the_header_of_a_table_becomes_the_legend)
{
    expect_written("plot curves --in curves.csv --out a.svg", "a.svg");
    expect_text("a.svg", ">iteration</text>");
    expect_text("a.svg", ">gap, relative</text>");
    expect_text("a.svg", ">residual</text>");
}

Test(plot, error_bars_have_their_own_columns)
{
    expect_written("plot curves --in curves.csv --error-bars --y-label y --out a.svg", "a.svg");
    expect_text("a.svg", ">gap, relative</text>");
    char *text = expect_svg("a.svg", NULL);
    cr_assert_null(strstr(text, ">residual</text>"));
    free(text);
    write_text("two.csv", "x,y\n1,2\n");
    expect_exit("plot curves --in two.csv --error-bars --out a.svg", 3, "two columns for every");
    expect_exit("plot curves --in curves.csv --log-y --from-zero --out a.svg", 2, "has no 0");
}

Test(plot, gaps_of_curves_are_counted_and_reported)
{
    static struct process p;
    process_run(&p, "plot curves --in curves.csv --log-y --out a.svg --json");
    cr_assert_eq(p.exit_code, 0);
    cr_assert_not_null(strstr(p.out, "\"left_out\":1"), "%s", p.out);
    cr_assert_not_null(strstr(p.err, "1 value is not finite"), "%s", p.err);
}

Test(plot, tables_come_from_standard_input_too)
{
    write_text("stdin", "t,u\n1,2\n3,4\n");
    expect_written("plot curves --in - --out a.svg", "a.svg");
    expect_exit("plot points --in - --weights - --out a.svg", 2, "second input from stdin");
}

/* The header is read once: a second reading would wait for another writer. */
Test(plot, a_named_pipe_is_read_once)
{
    cr_assert_eq(mkfifo(folder_path("pipe.csv"), 0600), 0);
    const pid_t writer = child_fork();
    if (writer == 0) {
        FILE *stream = fopen(folder_path("pipe.csv"), "w");
        _exit(stream && fputs("t,u\n1,2\n3,4\n", stream) >= 0 && fclose(stream) == 0 ? 0 : 1);
    }
    cr_assert(writer > 0);
    expect_written("plot curves --in pipe.csv --out a.svg", "a.svg");
    cr_assert_eq(waitpid(writer, NULL, 0), writer);
}

Test(plot, the_width_multiplies_pixels)
{
    json_t *result = expect_json("plot curves --in curves.csv --width 1800 --out a.png", 0);
    cr_assert_eq(number_of(result, "width"), 1800);
    json_decref(result);
    expect_exit("plot curves --in curves.csv --width 20 --out a.png", 2, "--width");
    expect_exit("plot curves --in curves.csv --width 20001 --out a.png", 2, "--width");
}

Test(plot, mistakes_on_the_command_line_are_usage)
{
    expect_exit("plot heatmap --grid 2x3 --out a.png", 2, "--in is missing");
    expect_exit(HEATMAP "--grid 2x3", 2, "--out is missing");
    expect_exit(HEATMAP "--grid 2x3 --out a.gif", 2, ".png or .svg");
    expect_exit(HEATMAP "--grid 2x3 --out -", 2, ".png or .svg");
    expect_exit(HEATMAP "--out a.png", 2, "give one of them");
    expect_exit(HEATMAP "--grid 2by3 --out a.png", 2, "as in 16x24");
    expect_exit(HEATMAP "--grid 0x3 --out a.png", 2, "as in 16x24");
    expect_exit(HEATMAP "--grid 2x99999999999999999999 --out a.png", 2, "as in 16x24");
    expect_exit(HEATMAP "--grid 2x3 --lo 1,2 --out a.png", 2, "both corners");
    expect_exit(HEATMAP "--grid 2x3 --lo 1,2x --hi 3,4 --out a.png", 2, "two numbers");
    expect_exit(HEATMAP "--grid 2x3 --lo 1 --hi 3,4 --out a.png", 2, "two numbers");
    expect_exit(HEATMAP "--grid 2x3 --lo nan,1 --hi 3,4 --out a.png", 2, "two numbers");
    expect_exit(HEATMAP "--grid 2x3 --map --out a.png", 2, "--lo and --hi");
    expect_exit(HEATMAP "--in3 w.csv --grid 2x3 --out a.png", 2, "without --in2");
    expect_exit(HEATMAP "--titles a|b --grid 2x3 --out a.png", 2, "2 titles for 1");
    expect_exit("plot points --in xy.csv --log --out a.png", 2, "--weights");
    expect_exit("plot points --in xy.csv --range 1,2 --out a.png", 2, "--weights");
    expect_exit(HEATMAP "--grid 2x3 --range 2 --out a.png", 2, "two numbers");
    expect_exit(HEATMAP "--grid 2x3 --range 2,1 --out a.png", 2, "lower end first");
    expect_exit(HEATMAP "--grid 2x3 --log --range 0,1 --out a.png", 2, "above 0");
    expect_exit("plot sheet --in images.csv --out a.png", 2, "--shape");
    expect_exit("plot sheet --in images.csv --shape 2x2 --per-row 0 --out a.png", 2, "--per-row");
    expect_exit("plot sheet --in images.csv --shape 2x2 --rows 1 --out a.png", 2, "--rows");
    expect_exit("plot sheet --in images.csv --shape 2x2 --range 1,1 --out a.png", 2, "--range");
    expect_exit("plot", 2, "plot takes heatmap, points, curves or sheet");
    expect_exit("plot portrait", 2, "not a command");
    expect_no_file("a.");
}

Test(plot, data_that_cannot_be_drawn_are_refused)
{
    expect_exit("plot heatmap --in nan.csv --grid 2x3 --out a.png", 3, "row 3");
    expect_exit("plot heatmap --in negative.csv --log --grid 2x3 --out a.png", 3, "logarithmic");
    expect_exit(HEATMAP "--grid 3x3 --out a.png", 3, "(9,)");
    expect_exit("plot heatmap --in w2.csv --grid 3x2 --out a.png", 3, "shape (2, 3)");
    expect_exit(HEATMAP "--grid 2x3 --lo 5,5 --hi 1,9 --out a.png", 3, "must be below");
    expect_exit(HEATMAP "--grid 2x3 --map --lo 0,0 --hi 100,9 --out a.png", 3, "latitude 100");
    expect_exit(HEATMAP MAP " --border w.csv --out a.png", 3, "1 column:");
    expect_exit("plot points --in w.csv --out a.png", 3, "1 column:");
    expect_exit("plot points --in xy.csv --weights w.csv --out a.png", 3, "for 2 points");
    expect_exit("plot curves --in w.csv --error-bars --out a.png", 3, "1 column:");
    expect_exit("plot sheet --in images.csv --shape 3x3 --out a.png", 3, "4 columns");
    expect_exit("plot sheet --in images.csv --shape 2x2 --rows 0:999 --out a.png", 3, "there are");
    expect_no_file("a.");
}

Test(plot, files_that_cannot_be_read_or_written_are_reported)
{
    expect_exit("plot curves --in none.csv --out a.png", 6, "none.csv");
    expect_exit("plot curves --in curves.csv --out nowhere/a.png", 6, "nowhere/a.png");
    expect_exit(HEATMAP MAP " --border none.csv --out a.png", 6, "none.csv");
    expect_exit(HEATMAP "--campaign none.json --out a.png", 6, "none.json");
    expect_no_file("a.");
}

Test(plot, the_same_command_writes_the_same_bytes)
{
    static const char *const names[2][2] = {{"a.png", "b.png"}, {"a.svg", "b.svg"}};
    for (size_t i = 0; i < 2; i++) {
        size_t len[2];
        char *bytes[2];
        for (size_t j = 0; j < 2; j++) {
            char arguments[256];
            (void)snprintf(arguments, sizeof arguments, HEATMAP MAP " --border border.csv --out %s",
                           names[i][j]);
            expect_exit(arguments, 0, names[i][j]);
            bytes[j] = drawn_read(names[i][j], &len[j]);
        }
        cr_assert(len[0] == len[1] && memcmp(bytes[0], bytes[1], len[0]) == 0);
        free(bytes[0]);
        free(bytes[1]);
    }
}

Test(plot, weights_on_a_line_are_a_curve_over_their_numbers)
{
    write_text("line.csv", "0.1\n0.7\n0.2\n");
    write_text("numbered.csv", "number,value\n0,0.1\n1,0.7\n2,0.2\n");
    size_t len[2];
    json_decref(expect_json("plot curves --in line.csv --out a.svg", 0));
    json_decref(expect_json("plot curves --in numbered.csv --out b.svg", 0));
    char *a = drawn_read("a.svg", &len[0]), *b = drawn_read("b.svg", &len[1]);
    cr_assert(len[0] == len[1] && memcmp(a, b, len[0]) == 0);
    free(a);
    free(b);
    write_text("named.csv", "share\n0.1\n0.7\n0.2\n");
    expect_written("plot curves --in named.csv --out a.svg", "a.svg");
    expect_text("a.svg", ">share</text>");
}

Test(plot, values_that_are_no_distribution_are_not_labelled_weight)
{
    expect_written(HEATMAP "--grid 2x3 --out a.svg", "a.svg");
    expect_text("a.svg", ">weight of a cell</text>");
    write_text("cost.csv", "3\n2\n1\n2\n3\n4\n"); /* as from dpot evaluate --points-out */
    expect_written(HEATMAP "--in2 cost.csv --grid 2x3 --out a.svg", "a.svg");
    expect_text("a.svg", ">value of a cell</text>");
    expect_written(HEATMAP "--in2 cost.csv --grid 2x3 --value-label km --out a.svg", "a.svg");
    expect_text("a.svg", ">km</text>");
}

Test(plot, help_of_points_describes_the_picture)
{
    expect_exit("plot points --help", 0, "Without --weights all points are blue");
}

/* dpot generator evaluate and classifier, dpot convert. */
#include "process.h"
#include "unit/files/folder.h"

#include "files/array.h"
#include "solve/run/draw.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define N 120
#define SIDE 28

/* Uniform on a square at (left, 0). */
static void write_square(const char *name, size_t n, double left, uint64_t stream)
{
    FILE *stream_out = fopen(folder_path(name), "w");
    cr_assert_not_null(stream_out);
    for (size_t i = 0; i < n; i++) {
        (void)fprintf(stream_out, "%.9g,%.9g\n", left + (double)draw_uniform(1, stream, 2 * i),
                      (double)draw_uniform(1, stream, 2 * i + 1));
    }
    cr_assert_eq(fclose(stream_out), 0);
}

static void write_squares(void)
{
    folder_make();
    write_square("real.csv", 2 * N, 0, 1);
    write_square("good.csv", N, 0, 2);
    write_square("far.csv", N, 3, 3);
}

TestSuite(generator_evaluate, .init = write_squares, .fini = folder_remove);

static json_t *row_of(const json_t *result, const char *name)
{
    const json_t *rows = json_object_get(result, "distances");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        if (strcmp(json_string_value(json_object_get(row, "of")), name) == 0) {
            return row;
        }
    }
    cr_assert_fail("there is no row of %s", name);
    return NULL;
}

/* Of 120 points of a unit square another 120 are about .08 away; four standard deviations of their
 * means are .11 from 3. */
Test(generator_evaluate, good_samples_are_at_the_floor_and_shifted_ones_at_their_shift)
{
    json_t *r = expect_json("generator evaluate --samples good.csv --reference real.csv --pool "
                            "far.csv --directions 200",
                            0);
    cr_assert_lt(number_of(r, "w2"), 0.2);
    cr_assert_lt(number_of(r, "w2_floor"), 0.2);
    cr_assert_lt(number_of(r, "sliced_w2"), 0.1);
    cr_assert_float_eq(number_of(r, "w1_privatised"), 3, 0.15);
    cr_assert_float_eq(number_of(r, "w2_privatised"), 3, 0.15);
    cr_assert_float_eq(number_of(r, "sliced_w2_privatised"), 3 / sqrt(2), 0.35);
    cr_assert_float_eq(number_of(row_of(r, "gaussian"), "w2"), number_of(r, "w2_floor"), 0.2);
    /* to the middle of the square the mean square is 1/6 */
    cr_assert_float_eq(number_of(row_of(r, "mean"), "w2"), sqrt(1.0 / 6), 0.06);
    cr_assert_eq(number_of(r, "n"), N);
    cr_assert_eq(number_of(r, "n_each"), N);
    cr_assert_eq(number_of(r, "n_reference"), N);
    cr_assert_eq(number_of(r, "w2"), number_of(row_of(r, "samples"), "w2"));
    cr_assert_null(json_object_get(r, "frechet"));
    json_decref(r);
}

Test(generator_evaluate, a_seed_gives_the_same_numbers_for_any_threads_and_another_seed_others)
{
    static const char call[] =
        "generator evaluate --samples good.csv --reference real.csv --max-points 50";
    char text[200];
    json_t *a = expect_json(call, 0);
    (void)snprintf(text, sizeof text, "%s --threads 3", call);
    json_t *b = expect_json(text, 0);
    (void)snprintf(text, sizeof text, "%s --seed 5", call);
    json_t *c = expect_json(text, 0);
    cr_assert(json_equal(a, b));
    cr_assert_neq(number_of(a, "w2"), number_of(c, "w2"));
    cr_assert_eq(number_of(a, "n"), 50);
    json_decref(a);
    json_decref(b);
    json_decref(c);
}

/* A support with weights is a measure: the reference itself with equal ones, a heavy far point. */
Test(generator_evaluate, weights_of_the_samples_count)
{
    write_text("support.csv", "0.25,0.25\n0.75,0.25\n0.25,0.75\n0.75,0.75\n9,9\n");
    write_text("w.csv", "0.25\n0.25\n0.25\n0.25\n0\n");
    write_text("v.csv", "0\n0\n0\n0\n1\n");
    write_text("u.csv", "1\n1\n1\n1\n0\n");
    static const char call[] = "generator evaluate --samples support.csv --reference real.csv";
    char text[200];
    (void)snprintf(text, sizeof text, "%s --weights w.csv", call);
    json_t *r = expect_json(text, 0);
    cr_assert_float_eq(number_of(r, "w2"), sqrt(1.0 / 24), 0.05, "squares of side 1/2");
    json_decref(r);
    (void)snprintf(text, sizeof text, "%s --weights w.csv --points 3", call);
    r = expect_json(text, 0); /* fewer than in the support: drawn by their weights */
    cr_assert_lt(number_of(r, "w2"), 2);
    json_decref(r);
    (void)snprintf(text, sizeof text, "%s --weights v.csv", call);
    r = expect_json(text, 0);
    cr_assert_float_eq(number_of(r, "w1"), 8.5 * sqrt(2), 0.3);
    json_decref(r);
    (void)snprintf(text, sizeof text, "%s --weights u.csv", call);
    expect_exit(text, 3, "sum to 4");
    (void)snprintf(text, sizeof text, "%s --weights u.csv --normalize", call);
    expect_exit(text, 0, "");
}

Test(generator_evaluate, a_model_is_drawn_from)
{
    write_text("box.json", "{\"type\": \"box\", \"lo\": [0, 0], \"hi\": [1, 1]}");
    expect_exit("generator train --pool good.csv --mechanism laplace --scale 0.1 --domain box.json "
                "--arch mlp:4 --batch 8 --steps 3 --seed 1 --out g.onnx --quiet",
                0, "");
    json_t *a = expect_json(
        "generator evaluate --model g.onnx --n-samples 60 --reference real.csv --seed 2", 0);
    expect_exit("generator sample --model g.onnx --n-samples 60 --seed 2 --out g.npy", 0, "");
    json_t *b = expect_json("generator evaluate --samples g.npy --reference real.csv --seed 2", 0);
    cr_assert(json_equal(a, b));
    cr_assert_eq(number_of(a, "n_each"), 60);
    json_decref(a);
    json_decref(b);
}

Test(generator_evaluate, wrong_calls_and_data_are_refused)
{
    write_text("three.csv", "1,2,3\n4,5,6\n7,8,9\n1,1,1\n");
    write_text("few.csv", "1,2\n3,4\n5,6\n");
    write_text("bad.csv", "1,2\n3,nan\n5,6\n7,8\n");
    static const struct {
        const char *arguments;
        int exit_code;
        const char *sentence;
    } calls[] = {
        {"", 2, "neither --samples nor --model"},
        {"--samples good.csv", 2, "--reference"},
        {"--samples good.csv --model g.onnx --reference real.csv", 2, "exclude each other"},
        {"--samples good.csv --n-samples 5 --reference real.csv", 2,
         "--n-samples does not go with --samples"},
        {"--samples good.csv --reference real.csv --max-points 1", 2, "from 2 to 8000"},
        {"--samples good.csv --reference real.csv --directions 0", 2, "--directions is 0"},
        {"--samples good.csv --reference real.csv --labels real.csv", 2, "go with --classifier"},
        {"--samples three.csv --reference real.csv", 3, "3 columns and the reference 2"},
        {"--samples good.csv --reference real.csv --pool three.csv", 3, "--pool"},
        {"--samples good.csv --reference few.csv", 3, "has 3 points"},
        {"--samples bad.csv --reference real.csv", 3, "row 2, column 2 is nan"},
        {"--samples none.csv --reference real.csv", 6, "none.csv"},
        {"--samples good.csv --reference real.csv --classifier real.csv", 3, "real.csv"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "generator evaluate %s", calls[i].arguments);
        expect_exit(text, calls[i].exit_code, calls[i].sentence);
    }
}

/* ---- the classifier ---- */

/* Images of a bar at one of two places, whose grey is random, as an IDX file would have them. */
static void write_images(const char *images, const char *labels, size_t n, uint64_t stream)
{
    FILE *out = fopen(folder_path(images), "wb"), *classes = fopen(folder_path(labels), "wb");
    cr_assert(out && classes);
    const unsigned char count[4] = {0, 0, (unsigned char)(n >> 8), (unsigned char)n};
    (void)fwrite("\0\0\x08\x03", 1, 4, out);
    (void)fwrite(count, 1, 4, out);
    (void)fwrite("\0\0\0\x1c\0\0\0\x1c", 1, 8, out);
    (void)fwrite("\0\0\x08\x01", 1, 4, classes);
    (void)fwrite(count, 1, 4, classes);
    for (size_t i = 0; i < n; i++) {
        const int class = (int)(draw_bits(1, stream, i) % 2);
        const int grey = 150 + (int)(draw_bits(2, stream, i) % 100);
        for (int p = 0; p < SIDE * SIDE; p++) {
            const int is_bar =
                class ? p % SIDE >= 4 && p % SIDE < 8 : p / SIDE >= 18 && p / SIDE < 23;
            (void)putc(is_bar ? grey : (p * 7 + (int)i) % 5, out);
        }
        (void)putc(class, classes);
    }
    cr_assert(fclose(out) == 0 && fclose(classes) == 0);
}

#define TRAIN                                                                                      \
    "generator classifier --images images-ubyte --labels labels-ubyte --arch conv28:2,3,8 "        \
    "--batch 10 --learning-rate 0.01 --out c.json --quiet "

static void train(void)
{
    write_images("images-ubyte", "labels-ubyte", 100, 1);
    write_images("test-ubyte", "test-labels-ubyte", 40, 2);
    json_t *r = expect_json(TRAIN "--test-images test-ubyte --test-labels test-labels-ubyte", 0);
    cr_assert_eq(number_of(r, "test_accuracy"), 1);
    cr_assert_eq(number_of(r, "classes"), 2);
    cr_assert_eq(number_of(r, "steps"), 30);
    json_decref(r);
}

Test(generator_evaluate, a_classifier_recognises_bars_and_finds_the_missing_class)
{
    train();
    json_t *r = expect_json("generator evaluate --samples test-ubyte --reference images-ubyte "
                            "--labels labels-ubyte --classifier c.json --max-points 20",
                            0);
    cr_assert_eq(number_of(r, "accuracy"), 1);
    cr_assert_eq(number_of(r, "classes_covered"), 2);
    cr_assert_gt(number_of(r, "smallest_share"), 0.2);
    const double good = number_of(r, "frechet");
    cr_assert_geq(good, 0);
    cr_assert_eq(number_of(row_of(r, "mean"), "classes_covered"), 1);
    cr_assert_gt(number_of(row_of(r, "mean"), "frechet"), good);
    json_decref(r);
    expect_exit("convert --in test-ubyte --rows 0:1 --to-range -1,1 --out one.npy", 0, "");
    expect_exit("convert --in images-ubyte --to-range -1,1 --out images.npy", 0, "");
    r = expect_json("generator evaluate --samples one.npy --reference images.npy --range -1,1 "
                    "--classifier c.json",
                    0);
    cr_assert_eq(number_of(r, "classes_covered"), 1);
    cr_assert_float_eq(number_of(r, "class_distance"), 0.5, 0.2);
    cr_assert_gt(number_of(r, "frechet"), good);
    json_decref(r);
}

Test(generator_evaluate, a_classifier_depends_on_its_seed_and_not_on_the_threads)
{
    static char first[100000], second[100000];
    write_images("images-ubyte", "labels-ubyte", 60, 1);
    expect_exit(TRAIN "--seed 3 --threads 1", 0, "");
    const size_t len = folder_read("c.json", first, sizeof first);
    expect_exit(TRAIN "--seed 3 --threads 3", 0, "");
    cr_assert_eq(folder_read("c.json", second, sizeof second), len);
    cr_assert_eq(memcmp(first, second, len), 0);
    expect_exit(TRAIN "--seed 4", 0, "");
    (void)folder_read("c.json", second, sizeof second);
    cr_assert_neq(memcmp(first, second, len), 0);
}

Test(generator_evaluate, images_on_another_scale_than_the_classifiers_are_refused)
{
    train();
    expect_exit("convert --in images-ubyte --to-range -1,1 --out images.npy", 0, "");
    expect_exit(
        "generator evaluate --samples images.npy --reference images.npy --classifier c.json", 3,
        "give black and white with --range lo,hi");
    expect_exit("generator evaluate --samples images-ubyte --reference images-ubyte --range 0,1 "
                "--classifier c.json",
                3, "give black and white with --range lo,hi");
    expect_exit("generator classifier --images images.npy --labels labels-ubyte --out d.json", 2,
                "there is no --range");
    expect_exit("generator evaluate --samples good.csv --reference real.csv --classifier c.json", 3,
                "takes 784 columns");
    write_text("huge.csv", "1,2\n1e300,0\n");
    expect_exit("generator evaluate --samples huge.csv --reference real.csv", 3,
                "--samples huge.csv: row 2, column 1 is 1e+300");
}

/* Replaces the first `from` in the trained file by `to` and expects a refusal. */
static void expect_damaged(const char *from, const char *to, const char *sentence)
{
    static char text[100000], changed[100000];
    text[folder_read("c.json", text, sizeof text - 1)] = '\0';
    const char *at = strstr(text, from);
    cr_assert_not_null(at, "%s", from);
    (void)snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to,
                   at + strlen(from));
    write_text("d.json", changed);
    expect_exit(
        "generator evaluate --samples test-ubyte --reference images-ubyte --classifier d.json", 3,
        sentence);
}

Test(generator_evaluate, files_that_are_no_classifier_are_refused)
{
    train();
    expect_damaged("dpot classifier", "dpot", "not a classifier");
    expect_damaged("\"version\":1", "\"version\":2", "version 2");
    expect_damaged("\"dim\":784", "\"dim\":783", "conv28");
    expect_damaged("\"dim\":784", "\"dim\":0", "dim");
    expect_damaged("\"classes\":2", "\"classes\":3", "parameters");
    expect_damaged("\"classes\":2", "\"classes\":1", "classes");
    expect_damaged("conv28:2,3,8", "conv28:2,3,9", "parameters");
    expect_damaged("conv28:2,3,8", "mlp:16384,16384,16384", "parameters");
    expect_damaged("conv28:2,3,8", "nonsense", "nonsense");
    expect_damaged("[0.0,255.0]", "[255,0]", "range");
    expect_damaged("\"images\":100,", "", "images is missing");
    expect_damaged("\"seed\"", "\"sead\"", "sead");
    expect_damaged("\"parameters\":[", "\"parameters\":[1e39,", "parameters");
    expect_damaged("\"parameters\":[", "\"parameters\":[\"\",", "parameters");
}

Test(generator_evaluate, wrong_training_data_are_refused)
{
    write_images("images-ubyte", "labels-ubyte", 20, 1);
    write_text("short.csv", "1\n0\n");
    write_text("zero.csv", "0\n0\n0\n");
    write_text("half.csv", "0\n0.5\n1\n");
    write_text("three.csv", "1,2\n3,4\n5,6\n");
    static const struct {
        const char *arguments;
        int exit_code;
        const char *sentence;
    } calls[] = {
        {"--images images-ubyte", 2, "--labels"},
        {"--images images-ubyte --labels labels-ubyte", 2, "--out"},
        {"--images images-ubyte --labels short.csv --out c.json", 3, "2 labels for 20 images"},
        {"--images three.csv --labels half.csv --range 0,9 --out c.json", 3, "label 2 is 0.5"},
        {"--images three.csv --labels zero.csv --range 0,9 --out c.json", 3, "two classes"},
        {"--images three.csv --labels half.csv --range 9,0 --out c.json", 2, "lower end first"},
        {"--images images-ubyte --labels labels-ubyte --arch cnn --out c.json", 2, "cnn"},
        {"--images images-ubyte --labels labels-ubyte --epochs 0 --out c.json", 2, "--epochs is 0"},
        {"--images images-ubyte --labels labels-ubyte --test-images images-ubyte --out c.json", 2,
         "go together"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char text[240];
        (void)snprintf(text, sizeof text, "generator classifier %s", calls[i].arguments);
        expect_exit(text, calls[i].exit_code, calls[i].sentence);
    }
}

/* ---- convert ---- */

static void expect_array(const char *name, size_t n_rows, size_t n_cols, const double *expected)
{
    struct array array;
    struct dpot_error error = {""};
    cr_assert_eq(array_read(folder_path(name), &array, &error), DPOT_OK, "%s", error.text);
    cr_assert(array.n_rows == n_rows && array.n_cols == n_cols);
    for (size_t i = 0; i < n_rows * n_cols; i++) {
        cr_assert_float_eq(array.values[i], expected[i], 1e-15);
    }
    array_release(&array);
}

Test(generator_evaluate, convert_takes_parts_and_maps_ranges)
{
    write_text("a.csv", "0,1,2,3\n4,5,6,7\n8,9,10,11\n");
    json_t *r = expect_json("convert --in a.csv --rows 1: --columns 3,0:2,0 --out b.npy", 0);
    cr_assert_eq(number_of(r, "rows"), 2);
    cr_assert_eq(number_of(r, "columns"), 4);
    cr_assert_eq(number_of(r, "min"), 4);
    cr_assert_eq(number_of(r, "max"), 11);
    json_decref(r);
    const double part[8] = {7, 4, 5, 4, 11, 8, 9, 8};
    expect_array("b.npy", 2, 4, part);
    expect_exit("convert --in a.csv --rows :1 --from-range 0,2 --to-range -1,1 --out c.csv", 0, "");
    const double mapped[4] = {-1, 0, 1, 2};
    expect_array("c.csv", 1, 4, mapped);
    (void)folder_write("d.idx", "\0\0\x08\x01\0\0\0\x02\0\xff", 10);
    expect_exit("convert --in d.idx --to-range -1,1 --out d.npy", 0, "");
    const double bytes[2] = {-1, 1};
    expect_array("d.npy", 2, 1, bytes);
}

Test(generator_evaluate, convert_counts_values_that_are_not_finite_with_their_position)
{
    struct process p;
    write_text("odd.csv", "1,2\nnan,3\n4,inf\n");
    process_run(&p, "convert --in odd.csv --rows 1: --out odd2.csv");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert(strstr(p.err,
                     "2 of the numbers written are not finite, the first in row 1, column 1 of "
                     "odd2.csv"),
              "%s", p.err);
    json_t *r = expect_json("convert --in odd.csv --out odd2.csv", 0);
    cr_assert_eq(number_of(r, "not_finite"), 2);
    cr_assert(number_of(r, "min") == 1 && number_of(r, "max") == 4);
    json_decref(r);
    r = expect_json("convert --in odd.csv --rows 0:1 --out odd2.csv", 0);
    cr_assert_eq(number_of(r, "not_finite"), 0);
    json_decref(r);
}

Test(generator_evaluate, convert_refuses_wrong_options_and_data)
{
    write_text("a.csv", "0,1,2,3\n4,5,6,7\n");
    static const struct {
        const char *arguments;
        int exit_code;
        const char *sentence;
    } calls[] = {
        {"--out b.csv", 2, "--in"},
        {"--in a.csv", 2, "--out"},
        {"--in a.csv --out b.idx", 2, "b.idx"},
        {"--in a.csv --out b.csv --to-range 0,1", 2, "--to-range needs --from-range"},
        {"--in a.csv --out b.csv --from-range 0,1", 2, "without --to-range"},
        {"--in a.csv --out b.csv --from-range 0,1 --to-range 1,0", 2, "lower end first"},
        {"--in a.csv --out b.csv --from-range -1e308,1e308 --to-range 0,1", 2,
         "--from-range is -1e308,1e308"},
        {"--in a.csv --out b.csv --from-range 0,1 --to-range -1e308,1e308", 2,
         "--to-range is -1e308,1e308"},
        {"--in a.csv --out b.csv --rows 1", 2, "first:end"},
        {"--in a.csv --out b.csv --rows 1:1", 3, "there are 2"},
        {"--in a.csv --out b.csv --rows 0:3", 3, "there are 2"},
        {"--in a.csv --out b.csv --rows 0:99999999999999999999", 2, "first:end"},
        {"--in a.csv --out b.csv --columns 4", 2, "there is no column"},
        {"--in a.csv --out b.csv --columns 1,,2", 2, "there is no column"},
        {"--in a.csv --out b.csv --columns -1", 2, "there is no column"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "convert %s", calls[i].arguments);
        expect_exit(text, calls[i].exit_code, calls[i].sentence);
    }
}

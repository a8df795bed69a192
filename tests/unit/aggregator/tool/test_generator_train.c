/* dpot generator train and sample: refusals with their exit codes, and both together. */
#include "process.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SMALL " --arch mlp:6 --batch 16 --atoms 30 --sweeps 5 --steps 20 --out g.onnx"
#define TRAIN "generator train --pool pool.csv --mechanism laplace --scale 1" SMALL

static void set_up(void)
{
    char rows[4096];
    size_t len = 0;
    folder_make();
    for (int i = 0; i < 80; i++) {
        len += (size_t)snprintf(rows + len, sizeof rows - len, "%g,%g\n", (i * 7 % 41) / 10.0 - 2,
                                (i * 11 % 37) / 9.0 - 2);
    }
    write_text("pool.csv", rows);
}

TestSuite(generator_tool, .init = set_up, .fini = folder_remove);

static size_t size_of(const char *name)
{
    static char bytes[1 << 20];
    return access(folder_path(name), F_OK) == 0 ? folder_read(name, bytes, sizeof bytes) : 0;
}

static void expect_same_files(const char *a, const char *b)
{
    static char x[1 << 20], y[1 << 20];
    const size_t n = folder_read(a, x, sizeof x);
    cr_assert_gt(n, 0);
    cr_assert_eq(folder_read(b, y, sizeof y), n);
    cr_assert_arr_eq(x, y, n);
}

Test(generator_tool, wrong_options_are_refused_before_anything_is_read)
{
    static const char *const wrong[][2] = {
        {"generator train --pool pool.csv --mechanism laplace --scale 1", "--out"},
        {"generator train --mechanism laplace --scale 1" SMALL, "--pool"},
        {"generator train --pool pool.csv --scale 1" SMALL, "--mechanism is missing"},
        {"generator train --pool pool.csv --mechanism laplace" SMALL, "--scale is missing"},
        {"generator train --pool pool.csv --mechanism wpm --scale 1" SMALL, "laplace or gaussian"},
        {TRAIN " --resume", "--resume needs --checkpoint"},
        {TRAIN " --checkpoint-every 5", "--checkpoint-every needs --checkpoint"},
        {TRAIN " --range 1,1", "--range is 1,1"},
        {TRAIN " --transform fft", "--transform is fft"},
        {TRAIN " --optimizer sgd", "--optimizer is sgd: choose adam or rmsprop"},
        {TRAIN " --schedule never", "--schedule is never: choose"},
        {TRAIN " --noise-cost l2", "--noise-cost is l2: choose"},
        {TRAIN " --pool-batch 10", "give one of them"},
        {TRAIN " --latent-dim 0", "--latent-dim"},
        {TRAIN " --regularization 0", "--regularization"},
        {TRAIN " --regularization 1e-7", "--regularization is 1e-7"},
        {TRAIN " --learning-rate 1e-300", "--learning-rate is 1e-300"},
        {TRAIN " --trajectory-out curve.txt", "--trajectory-out"},
        {"generator train --pool pool.csv --mechanism laplace --scale 1 --out g.onnx --arch tree",
         "--arch: architecture tree is not known"},
        {"generator train --pool pool.csv --mechanism laplace --scale 1 --out g.onnx --arch mlp:0",
         "widths of 1 to"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect_exit(wrong[i][0], 2, wrong[i][1]);
    }
    expect_exit("generator train --pool pool.csv --mechanism laplace --scale 1 --arch dcgan28:8 "
                "--out g.onnx",
                3, "dcgan28");
    expect_exit("generator train --pool pool.csv --mechanism laplace --scale 1 --latent-dim 784 "
                "--arch conv28:2,2,2 --out g.onnx",
                3, "not a generator");
    expect_exit("generator train --pool pool.csv --mechanism laplace --scale 1e-99" SMALL, 3,
                "are the scale of the noise and the range those of this pool?");
    cr_assert_eq(size_of("g.onnx"), 0, "nothing was written");
}

Test(generator_tool, a_diverged_run_is_reported_without_a_tolerance)
{
    static struct process process;
    process_run(&process, TRAIN " --learning-rate 1000");
    cr_assert_eq(process.exit_code, 5, "%s", process.err);
    cr_assert_not_null(strstr(process.out, "diverged"), "%s", process.out);
    cr_assert_not_null(strstr(process.err, "take a smaller --learning-rate"), "%s", process.err);
    cr_assert_null(strstr(process.err, "tolerance"), "%s", process.err);
}

Test(generator_tool, options_that_contradict_the_side_file_are_refused)
{
    write_text("pool.csv.json", "{\"mechanism\":\"laplace\",\"scale\":1,\"n\":80}");
    expect_exit("generator train --pool pool.csv --mechanism gaussian" SMALL, 3,
                "leave the option");
    expect_exit("generator train --pool pool.csv --scale 2" SMALL, 3, "--scale is 2");
    expect_exit("generator train --pool pool.csv --transform dct" SMALL, 3, "--transform is dct");
    write_text("pool.csv.json", "{\"mechanism\":\"laplace\",\"scale\":1,\"n\":79}");
    expect_exit("generator train --pool pool.csv" SMALL, 3, "79");
    write_text("pool.csv.json", "{\"mechanism\":\"wpm\",\"scale\":null,\"n\":80}");
    expect_exit("generator train --pool pool.csv" SMALL, 3, "wpm");
    write_text("pool.csv.json", "{\"mechanism\":\"laplace\",\"scale\":1,\"space\":\"data\","
                                "\"transform\":{\"type\":\"dct\",\"shape\":[2,4],\"keep\":[0,3]}}");
    expect_exit("generator train --pool pool.csv" SMALL, 3, "--coefficients");
    write_text("pool.csv.json",
               "{\"mechanism\":\"laplace\",\"scale\":1,\"space\":\"coefficients\","
               "\"transform\":{\"type\":\"dct\",\"shape\":[2,4],\"keep\":[0,3,5]}}");
    expect_exit("generator train --pool pool.csv" SMALL, 3, "keeps 3 coefficients");
    write_text("pool.csv.json", "[]");
    expect_exit("generator train --pool pool.csv" SMALL, 3, "no JSON object");
    write_text("pool.csv.json", "{\"mechanism\":\"laplace\",\"scale\":1,\"is_ready\":false}");
    expect_exit("generator train --pool pool.csv" SMALL, 7, "min_pool");
    cr_assert_eq(size_of("g.onnx"), 0, "nothing was written");
}

Test(generator_tool, the_model_has_notes_from_the_side_file)
{
    write_text("pool.csv.json",
               "{\"mechanism\":\"gaussian\",\"scale\":1.5,\"n\":80,\"epsilon\":3.5,\"delta\":1e-06,"
               "\"campaign_hash\":\"ab01\",\"revision\":2}");
    json_decref(expect_json("generator train --pool pool.csv" SMALL, 0));
    json_t *notes =
        expect_json("generator sample --model g.onnx --n-samples 3 --seed 1 --out s.csv", 0);
    static const char *const expected[][2] = {
        {"mechanism", "gaussian"}, {"scale", "1.5"},  {"epsilon", "3.5"},   {"delta", "1e-06"},
        {"campaign_hash", "ab01"}, {"revision", "2"}, {"pool_count", "80"}, {"steps_done", "20"}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const char *found = json_string_value(json_object_get(notes, expected[i][0]));
        cr_assert(found && strcmp(found, expected[i][1]) == 0, "%s is %s", expected[i][0],
                  found ? found : "not there");
    }
    json_decref(notes);
}

Test(generator_tool, checkpoints_are_resumed_by_the_same_run_only)
{
    json_decref(
        expect_json(TRAIN " --checkpoint c --checkpoint-every 7 --trajectory-out a.csv", 0));
    cr_assert_gt(size_of("c/checkpoint"), 0);
    expect_exit(TRAIN " --checkpoint c", 2, "is there already");
    expect_exit(TRAIN " --checkpoint c --resume --steps 21", 2, "twice");
    expect_exit("generator train --pool pool.csv --mechanism laplace --scale 1 --arch mlp:6 "
                "--batch 16 --atoms 30 --sweeps 5 --steps 21 --out h.onnx --checkpoint c --resume",
                3, "another run");
    expect_exit("generator train --pool pool.csv --mechanism laplace --scale 2" SMALL
                " --checkpoint c --resume",
                3, "another run");
    expect_exit(TRAIN " --checkpoint c --resume --seed 9", 3, "another run");
    expect_exit(TRAIN " --checkpoint other --resume", 6, "there is no");
    expect_exit(TRAIN " --checkpoint pool.csv/x", 6, "pool.csv/x");
    json_decref(expect_json(TRAIN " --checkpoint c --resume --trajectory-out b.csv", 0));
    expect_same_files("a.csv", "b.csv");
    write_text("c/checkpoint", "DPOTGCP1");
    expect_exit(TRAIN " --checkpoint c --resume", 3, "ends early");
}

Test(generator_tool, a_curve_has_a_header_and_a_row_for_every_evaluation)
{
    char text[8192];
    json_decref(expect_json(TRAIN " --trajectory-out curve.csv", 0));
    text[folder_read("curve.csv", text, sizeof text - 1)] = '\0';
    cr_assert_eq(strncmp(text, "step,loss,gap,residual,learning_rate\n0,", 39), 0, "%s", text);
    size_t n = 0;
    for (const char *c = text; *c; c++) {
        n += *c == '\n';
    }
    cr_assert_eq(n, 21);
}

Test(generator_tool, samples_follow_the_seed_and_only_whole_models_are_read)
{
    static char model[1 << 20];
    json_decref(expect_json(TRAIN, 0));
    json_decref(
        expect_json("generator sample --model g.onnx --n-samples 40 --seed 5 --out a.csv", 0));
    json_decref(
        expect_json("generator sample --model g.onnx --n-samples 40 --seed 5 --out b.csv", 0));
    expect_same_files("a.csv", "b.csv");
    json_decref(
        expect_json("generator sample --model g.onnx --n-samples 40 --seed 6 --out c.csv", 0));
    char a[4096], c[4096];
    a[folder_read("a.csv", a, sizeof a - 1)] = '\0';
    c[folder_read("c.csv", c, sizeof c - 1)] = '\0';
    cr_assert_str_neq(a, c);
    expect_exit("generator sample --model g.onnx --out a.txt", 2, "--out");
    expect_exit("generator sample --out a.csv", 2, "--model");
    expect_exit("generator sample --model g.onnx --n-samples 0 --out a.csv", 2, "--n-samples");
    expect_exit("generator sample --model none.onnx --out a.csv", 6, "none.onnx");
    expect_exit("generator sample --model pool.csv --out a.csv", 3, "pool.csv");
    const size_t len = folder_read("g.onnx", model, sizeof model);
    (void)folder_write("cut.onnx", model, len - 5);
    expect_exit("generator sample --model cut.onnx --out a.csv", 3, "cut.onnx");
    model[len / 2] ^= 1;
    (void)folder_write("flipped.onnx", model, len);
    struct process p; /* a flipped bit of a weight is another model; of all else no model */
    process_run(&p, "generator sample --model flipped.onnx --out a.csv --quiet");
    cr_assert(p.exit_code == 0 || p.exit_code == 3, "%d: %s", p.exit_code, p.err);
}

/* A campaign of images whose lowest frequencies are released. */
Test(generator_tool, coefficients_of_a_simulated_campaign_train_a_generator_of_images)
{
    write_text("images.json",
               "{\"name\":\"images\",\"domain\":{\"type\":\"l2_ball\",\"radius\":4},"
               "\"mechanism\":{\"type\":\"gaussian\",\"epsilon\":8,\"delta\":1e-6,\"transform\":"
               "{\"type\":\"dct\",\"shape\":[28,28],\"keep\":30}},\"rounds\":1,"
               "\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":\"2036-01-01T00:00:00Z\","
               "\"min_pool\":1,\"simulation\":true}");
    static char rows[40 * 784 * 8];
    size_t len = 0;
    for (int i = 0; i < 40; i++) {
        len += (size_t)snprintf(rows + len, sizeof rows - len, "%d", i);
        for (int j = 0; j < 784; j++) {
            const int bright = (j % 28 + i) % 28 < 9;
            len += (size_t)snprintf(rows + len, sizeof rows - len, ",%s", bright ? "0.25" : "0");
        }
        rows[len++] = '\n';
    }
    (void)folder_write("images.csv", rows, len);
    json_decref(expect_json("simulate --campaign images.json --in-process --data images.csv "
                            "--devices 40 --seed 3 --out run",
                            0));
    json_t *trained = expect_json("generator train --pool run/coefficients.npy --arch dcgan28:4 "
                                  "--steps 20 --batch 20 --sweeps 5 --out g.onnx",
                                  0);
    cr_assert_eq(number_of(trained, "dim"), 784);
    json_decref(trained);
    json_t *sample =
        expect_json("generator sample --model g.onnx --n-samples 5 --seed 1 --out s.npy", 0);
    cr_assert_eq(number_of(sample, "dim"), 784);
    cr_assert_str_eq(json_string_value(json_object_get(sample, "transform")), "dct");
    cr_assert_str_eq(json_string_value(json_object_get(sample, "mechanism")), "gaussian");
    cr_assert_not_null(json_object_get(sample, "epsilon"));
    cr_assert_not_null(json_object_get(sample, "delta"));
    json_decref(sample);
    expect_exit("generator train --pool run/pool.npy --arch dcgan28:4 --steps 20 --out g.onnx", 3,
                "--coefficients");
}

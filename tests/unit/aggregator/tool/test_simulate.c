#include "campaign_case.h"
#include "process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N_DEVICES 30

/* 30 devices with one to three places each; rows of a device are not together. */
static void write_case(void)
{
    char text[4096] = "device,position,count\n";
    folder_make();
    write_text("test.json", CAMPAIGN_SPEC("true"));
    write_text("real.json", CAMPAIGN_SPEC("false"));
    for (int place = 0; place < 3; place++) {
        for (int device = 0; device < N_DEVICES; device++) {
            if (place <= device % 3) {
                const size_t len = strlen(text);
                (void)snprintf(text + len, sizeof text - len, "%d,%d,%d\n", 100 + device,
                               (5 * device + 7 * place) % 12, 1 + place);
            }
        }
    }
    write_text("data.csv", text);
}

TestSuite(simulate, .init = write_case, .fini = folder_remove);

#define CASE(spec) "simulate --campaign " spec " --data data.csv --devices 30 --in-process"

static void expect_conserved(const json_t *r)
{
    cr_assert_eq(number_of(r, "submitted"), number_of(r, "accepted") + number_of(r, "duplicate") +
                                                number_of(r, "rejected") + number_of(r, "dropped") +
                                                number_of(r, "pending"));
    cr_assert(json_is_true(json_object_get(r, "is_conserved")));
}

static void expect_same_file(const char *a, const char *b)
{
    static char first[65536], second[65536];
    const size_t n = folder_read(a, first, sizeof first), m = folder_read(b, second, sizeof second);
    cr_assert(n == m && n > 0 && memcmp(first, second, n) == 0, "%s and %s differ", a, b);
}

Test(simulate, every_device_reports_once_and_is_counted_once)
{
    struct array pool, truth;
    struct dpot_error error;
    json_t *r = expect_json(CASE("real.json") " --out run", 0);
    cr_assert_eq(number_of(r, "devices"), N_DEVICES);
    cr_assert_eq(number_of(r, "submitted"), N_DEVICES);
    cr_assert_eq(number_of(r, "accepted"), N_DEVICES);
    cr_assert_eq(number_of(r, "pool_accepted"), N_DEVICES);
    cr_assert_eq(number_of(r, "epsilon_per_device"), 2);
    cr_assert_str_eq(json_string_value(json_object_get(r, "mechanism")), "wpm");
    expect_conserved(r);
    json_t *file = json_load_file(folder_path("run/results.json"), 0, NULL);
    cr_assert(json_equal(r, file), "stdout and results.json agree");
    json_decref(file);
    json_decref(r);
    cr_assert_eq(array_read(folder_path("run/pool.npy"), &pool, &error), DPOT_OK);
    cr_assert_eq(pool.n_rows, N_DEVICES);
    array_release(&pool);
    cr_assert_eq(array_read(folder_path("run/population_true.csv"), &truth, &error), DPOT_OK);
    double sum = 0;
    for (size_t i = 0; i < truth.n_rows; i++) {
        sum += truth.values[i];
    }
    cr_assert_eq(truth.n_rows, 12);
    cr_assert_float_eq(sum, 1, 1e-12);
    array_release(&truth);
}

Test(simulate, seeded_runs_are_the_same_but_for_the_time)
{
    const char *const files[] = {"pool.npy", "population_true.csv", "population_sample.csv",
                                 "devices.csv", "pool.npy.json"};
    json_t *a = expect_json(
        CASE("test.json") " --seed 7 --dropout 0.2 --duplicates 0.3 --rounds 2 --out a", 0);
    json_t *b = expect_json(
        CASE("test.json") " --seed 7 --dropout 0.2 --duplicates 0.3 --rounds 2 --out b", 0);
    cr_assert_eq(json_object_del(a, "seconds"), 0);
    cr_assert_eq(json_object_del(b, "seconds"), 0);
    cr_assert(json_equal(a, b));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char first[64], second[64];
        (void)snprintf(first, sizeof first, "a/%s", files[i]);
        (void)snprintf(second, sizeof second, "b/%s", files[i]);
        expect_same_file(first, second);
    }
    json_decref(b);
    b = expect_json(CASE("test.json") " --seed 8 --dropout 0.2 --duplicates 0.3 --rounds 2 --out c",
                    0);
    (void)json_object_del(b, "seconds");
    cr_assert_not(json_equal(a, b));
    json_decref(a);
    json_decref(b);
}

#define RUN_WITH(threads)                                                                          \
    CASE("test.json")                                                                              \
    " --seed 7 --dropout 0.2 --duplicates 0.3 --rounds 2 --threads " threads " --out t" threads

Test(simulate, seeded_files_are_the_same_from_one_thread_or_several)
{
    static const char *const runs[] = {RUN_WITH("1"), RUN_WITH("2"), RUN_WITH("3"), RUN_WITH("8")};
    static const char *const folders[] = {"t1", "t2", "t3", "t8"};
    static const char *const files[] = {"pool.npy", "population_true.csv", "population_sample.csv",
                                        "devices.csv", "pool.npy.json"};
    json_t *first = expect_json(runs[0], 0);
    (void)json_object_del(first, "seconds");
    for (size_t t = 1; t < 4; t++) {
        json_t *other = expect_json(runs[t], 0);
        (void)json_object_del(other, "seconds");
        cr_assert(json_equal(first, other), "%s", folders[t]);
        json_decref(other);
        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
            char name[64], same[64];
            (void)snprintf(name, sizeof name, "t1/%s", files[i]);
            (void)snprintf(same, sizeof same, "%s/%s", folders[t], files[i]);
            expect_same_file(name, same);
        }
    }
    json_decref(first);
}

Test(simulate, lost_answers_give_duplicates_that_are_not_counted_again)
{
    json_t *r =
        expect_json(CASE("real.json") " --duplicates 1 --rounds 3 --threads 2 --out run", 0);
    cr_assert_eq(number_of(r, "submitted"), 3 * N_DEVICES);
    cr_assert_eq(number_of(r, "duplicate"), 3 * N_DEVICES);
    cr_assert_eq(number_of(r, "pool_accepted"), 3 * N_DEVICES);
    cr_assert_eq(number_of(r, "epsilon_per_device"), 6);
    expect_conserved(r);
    json_decref(r);
}

Test(simulate, absent_devices_spend_nothing)
{
    json_t *r = expect_json(CASE("real.json") " --dropout 1 --out run", 0);
    cr_assert_eq(number_of(r, "absent"), N_DEVICES);
    cr_assert_eq(number_of(r, "submitted"), 0);
    cr_assert_eq(number_of(r, "epsilon_per_device"), 0);
    expect_conserved(r);
    json_decref(r);
}

Test(simulate, results_of_an_earlier_run_are_removed)
{
    const char *const names[] = {"run/pool.npy", "run/pool.npy.json", "run/population_true.csv",
                                 "run/population_sample.csv"};
    json_decref(expect_json(CASE("real.json") " --out run", 0));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_assert_eq(access(folder_path(names[i]), F_OK), 0, "%s", names[i]);
    }
    json_decref(expect_json(CASE("real.json") " --dropout 1 --out run", 0));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_assert_neq(access(folder_path(names[i]), F_OK), 0, "%s", names[i]);
    }
}

/* Devices 1 and 2 at positions 0 and 6; the truth has the weights of the reports. */
Test(simulate, true_population_weighs_devices_by_their_reports)
{
    struct array truth;
    struct dpot_error error;
    write_text("two.csv", "1,0\n2,6\n");
    json_t *r = NULL;
    double absent = 0;
    for (int seed = 1; absent != 1; seed++) {
        char arguments[256];
        json_decref(r);
        (void)snprintf(arguments, sizeof arguments,
                       "simulate --campaign test.json --data two.csv --devices 2 --in-process "
                       "--rounds 2 --dropout 0.3 --seed %d --out run",
                       seed);
        r = expect_json(arguments, 0);
        absent = number_of(r, "absent");
    }
    json_decref(r);
    cr_assert_eq(array_read(folder_path("run/population_true.csv"), &truth, &error), DPOT_OK);
    const double larger = fmax(truth.values[0], truth.values[6]);
    cr_assert_float_eq(larger, 2.0 / 3, 1e-12);
    cr_assert_float_eq(truth.values[0] + truth.values[6], 1, 1e-12);
    array_release(&truth);
}

Test(simulate, devices_refuse_what_is_above_their_caps)
{
    json_t *r = expect_json(CASE("real.json") " --rounds 3 --epsilon-cap 4.5 --out run", 0);
    cr_assert_eq(number_of(r, "submitted"), 2 * N_DEVICES);
    cr_assert_eq(number_of(r, "refused"), N_DEVICES);
    cr_assert_eq(number_of(r, "epsilon_per_device"), 4);
    expect_conserved(r);
    json_decref(r);
}

Test(simulate, durable_devices_keep_their_folders)
{
    json_t *r = expect_json(CASE("real.json") " --durable folders --out run", 0);
    cr_assert_eq(number_of(r, "accepted"), N_DEVICES);
    json_decref(r);
    char bytes[8];
    cr_assert_gt(folder_read("folders/device-100/ledger", bytes, sizeof bytes), 0);
}

Test(simulate, devices_of_an_earlier_run_in_process_are_refused)
{
    json_decref(expect_json(CASE("real.json") " --durable folders --out run", 0));
    expect_exit(CASE("real.json") " --durable folders --out again", 3,
                "of an earlier run, whose server is gone: give an empty folder");
    cr_assert_neq(access(folder_path("again"), F_OK), 0, "it is refused up front");
}

Test(simulate, seed_is_refused_in_a_real_campaign)
{
    expect_exit(CASE("real.json") " --seed 1 --out run", 4, "--seed makes reports reversible");
}

Test(simulate, table_of_devices_has_no_places)
{
    char text[8192] = {0};
    json_t *r = expect_json(CASE("real.json") " --out run", 0);
    json_decref(r);
    (void)folder_read("run/devices.csv", text, sizeof text - 1);
    cr_assert_eq(strncmp(text,
                         "device,status,epsilon,submitted,accepted,duplicate,rejected,dropped,"
                         "pending\n100,accepted,2,1,1,0,0,0,0\n",
                         strlen("device,status,epsilon,submitted,accepted,duplicate,rejected,"
                                "dropped,pending\n100,accepted,2,1,1,0,0,0,0\n")),
                 0, "%s", text);
}

Test(simulate, estimate_and_transport_read_its_results)
{
    json_t *r = expect_json(CASE("test.json") " --seed 3 --out run", 0);
    json_decref(r);
    r = expect_json("estimate --campaign test.json --pool run/pool.npy --out est.csv", 0);
    cr_assert_eq(number_of(r, "n"), N_DEVICES);
    cr_assert_eq(number_of(r, "kv"), 12);
    json_decref(r);
    r = expect_json("ot --exact --campaign test.json --a run/population_true.csv --b est.csv", 0);
    cr_assert(number_of(r, "transport_cost") > 0 && number_of(r, "transport_cost") < 3);
    json_decref(r);
}

Test(simulate, largest_counts_still_make_a_measure)
{
    struct array truth;
    struct dpot_error error;
    write_text("large.csv", "7,1,1e300\n7,2,1e300\n");
    json_decref(expect_json("simulate --campaign real.json --data large.csv --devices 1 "
                            "--in-process --out run",
                            0));
    cr_assert_eq(array_read(folder_path("run/population_true.csv"), &truth, &error), DPOT_OK);
    cr_assert_float_eq(truth.values[1], 0.5, 1e-12);
    cr_assert_float_eq(truth.values[2], 0.5, 1e-12);
    array_release(&truth);
}

Test(simulate, invalid_coordinates_are_refused)
{
    write_text("earth.json", EARTH_SPEC("10", "90"));
    write_text("data.csv", "1,0,0\n1,-90,360\n");
    json_decref(expect_json("simulate --campaign earth.json --data data.csv --devices 1 "
                            "--in-process --out run",
                            0));
    write_text("data.csv", "1,0,0\n1,-90,360\n2,91,0\n");
    expect_exit("simulate --campaign earth.json --data data.csv --devices 1 --in-process --out run",
                3, "--data row 3: latitude 91 is outside [-90, 90]: give (latitude, longitude) in");
    write_text("data.csv", "1,0,0,1\n1,0,-361,1\n");
    expect_exit("simulate --campaign earth.json --data data.csv --devices 1 --in-process --out run",
                3, "--data row 2: longitude -361 is outside [-360, 360]");
    write_text("earth.json", EARTH_SPEC("10", "90.5"));
    expect_exit("campaign show earth.json", 3, "hi of domain: latitude 90.5 is outside [-90, 90]");
}

Test(simulate, wrong_calls_and_data_are_refused)
{
#define IN " --in-process --out run"
    write_text("three.csv", "1,2,3,4\n");
    write_text("one.csv", "1\n2\n");
    write_text("nan.csv", "1,nan\n");
    write_text("negative.csv", "1,2,-3\n");
    write_text("half.csv", "1.5,2\n");
    write_text("vast.csv", "6,1,1\n7,1,1e308\n7,2,1e308\n");
    write_text("beyond.csv", "1,2\n9007199254740993,2\n");
    write_text("broken.json", "{\"name\":\"ring\",");
    write_text("empty", "");
    write_text("garbage", "garbage");
    expect_exit("simulate --campaign real.json --data data.csv --devices 3 --out run", 2,
                "neither --server nor --in-process");
    expect_exit("simulate --campaign real.json --data data.csv --devices 3 --server http://x" IN, 2,
                "exclude each other");
    expect_exit("simulate --data data.csv --devices 3" IN, 2, "--campaign is missing");
    expect_exit("simulate --campaign real.json --devices 3" IN, 2, "--data is missing");
    expect_exit("simulate --campaign real.json --data data.csv" IN, 2, "--devices is missing");
    expect_exit("simulate --campaign real.json --data data.csv --devices 0" IN, 2,
                "--devices is 0");
    expect_exit("simulate --campaign real.json --data data.csv --devices 3 --in-process", 2,
                "--out is missing");
    expect_exit("simulate --campaign real.json --data data.csv --devices 3 --dropout 1.5" IN, 2,
                "--dropout is 1.5");
    expect_exit("simulate --campaign real.json --data data.csv --devices 3 --duplicates -1" IN, 2,
                "--duplicates is -1");
    expect_exit("simulate --campaign real.json --data data.csv --devices 3 --rounds 4" IN, 2,
                "--rounds is 4 and the campaign has 3");
    expect_exit("simulate --campaign real.json --data data.csv --devices 3 --rounds 2 --server "
                "http://127.0.0.1:9 --out run",
                2, "needs --in-process");
    expect_exit("simulate --campaign real.json --data data.csv --devices 3 --server "
                "http://127.0.0.1:9 --out run",
                2, "is a SPEC");
    expect_exit("simulate --campaign real.json --data data.csv --devices 31" IN, 3,
                "has 30 devices and 31 are asked for");
    expect_exit("simulate --campaign real.json --data three.csv --devices 1" IN, 3, "4 columns");
    expect_exit("simulate --campaign real.json --data one.csv --devices 1" IN, 3, "1 column:");
    expect_exit("simulate --campaign real.json --data nan.csv --devices 1" IN, 3, "is nan");
    expect_exit("simulate --campaign real.json --data negative.csv --devices 1" IN, 3, "negative");
    expect_exit("simulate --campaign real.json --data half.csv --devices 1" IN, 3,
                "not an integer");
    expect_exit("simulate --campaign real.json --data vast.csv --devices 1" IN, 3,
                "row 2: count 1e+308 of device 7 is above 1e+300");
    expect_exit("simulate --campaign real.json --data beyond.csv --devices 1" IN, 3,
                "row 2: device 9007199254740992 is not below 2^53: integers beyond 2^53 are not "
                "exact here");
    expect_exit("simulate --campaign broken.json --data data.csv --devices 1" IN, 3, "broken.json");
    expect_exit("simulate --campaign empty --data data.csv --devices 1" IN, 3, "empty");
    expect_exit("simulate --campaign garbage --data data.csv --devices 1" IN, 3, "garbage");
    expect_exit("simulate --campaign none.json --data data.csv --devices 1" IN, 6, "none.json");
    expect_exit("simulate --campaign real.json --data data.csv --devices 1 --in-process --out "
                "data.csv",
                6, "data.csv is not a folder");
#undef IN
}

/* ---- vectors ---- */

#define VECTOR_SPEC(mechanism, simulation)                                                         \
    "{\"name\":\"half\",\"domain\":{\"type\":\"l2_ball\",\"radius\":1,\"dim\":2},"                 \
    "\"mechanism\":{" mechanism "},\"rounds\":1,\"opens\":\"2026-12-01T00:00:00Z\","               \
    "\"closes\":\"2026-12-08T00:00:00Z\",\"min_pool\":1,\"simulation\":" simulation "}"

/* 400 devices at (0.6, -0.3), the last of them with two rows around it. */
static void write_vectors(void)
{
    static char text[16384];
    text[0] = '\0';
    for (int device = 0; device < 400; device++) {
        const size_t len = strlen(text);
        (void)snprintf(text + len, sizeof text - len,
                       device < 399 ? "%d,0.6,-0.3,1\n" : "%d,0.5,-0.5,1\n399,0.7,-0.1,1\n",
                       device);
    }
    write_text("vectors.csv", text);
    write_text("laplace.json", VECTOR_SPEC("\"type\":\"laplace\",\"epsilon\":4", "true"));
    write_text("gaussian.json",
               VECTOR_SPEC("\"type\":\"gaussian\",\"epsilon\":4,\"delta\":1e-6", "false"));
    write_text("loud.json", VECTOR_SPEC("\"type\":\"laplace\",\"epsilon\":28", "true"));
}

/* The mean of the pool is that of the vectors, up to eight standard errors. */
static void expect_mean(const char *command, double scale)
{
    struct array pool, truth;
    struct dpot_error error;
    json_t *r = expect_json(command, 0);
    expect_conserved(r);
    cr_assert_eq(number_of(r, "pool_accepted"), 400);
    json_decref(r);
    cr_assert_eq(array_read(folder_path("run/pool.npy"), &pool, &error), DPOT_OK);
    cr_assert_eq(array_read(folder_path("run/vectors_true.npy"), &truth, &error), DPOT_OK);
    cr_assert(pool.n_rows == 400 && pool.n_cols == 2 && truth.n_rows == 400 && truth.n_cols == 2);
    for (size_t j = 0; j < 2; j++) {
        double mean = 0;
        for (size_t i = 0; i < 400; i++) {
            mean += pool.values[2 * i + j] / 400;
            cr_assert_float_eq(truth.values[2 * i + j], j == 0 ? 0.6 : -0.3, 1e-12);
        }
        cr_assert_float_eq(mean, j == 0 ? 0.6 : -0.3, 8 * scale / 20, "%g", mean);
    }
    array_release(&pool);
    array_release(&truth);
}

#define VECTOR_CASE(spec)                                                                          \
    "simulate --campaign " spec " --data vectors.csv --devices 400 --in-process --out run"

Test(simulate, vectors_are_numbers_around_the_truth)
{
    write_vectors();
    /* l1 diameter 2 sqrt 2 at epsilon 4: scale 0.71, deviation 1; Gaussian: at most 2.5. */
    expect_mean(VECTOR_CASE("laplace.json") " --seed 5", 1.02);
    expect_mean(VECTOR_CASE("gaussian.json"), 2.5);
}

Test(simulate, beyond_the_devices_ceiling_it_is_an_experiment)
{
    struct process p;
    write_vectors();
    process_run(&p, VECTOR_CASE("loud.json") " --json");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "an experiment, not protection"), "%s", p.err);
    write_text("real.json", VECTOR_SPEC("\"type\":\"laplace\",\"epsilon\":28", "false"));
    expect_exit(VECTOR_CASE("real.json"), 4, "20");
}

Test(simulate, rows_of_another_length_are_refused)
{
    write_vectors();
    write_text("vectors.csv", "1,0.5\n");
    expect_exit(VECTOR_CASE("laplace.json"), 3, "2 columns");
}

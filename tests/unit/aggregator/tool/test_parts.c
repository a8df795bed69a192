/* Parts of the tool, tested without the program: the crowd, the workers, the population. */
#include "process.h"
#include "unit/files/folder.h"

#include "base/rng_seeded.h"
#include "solve/run/workers.h"
#include "tool/simulate/device.h"
#include "tool/simulate/population.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

TestSuite(parts, .init = folder_make, .fini = folder_remove);

#define N_ITEMS 1000

struct counting {
    int n_runs[N_ITEMS];
    size_t fail_at;
};

static dpot_status count_item(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    struct counting *c = ctx;
    (void)worker;
    c->n_runs[item]++;
    return item == c->fail_at ? dpot_error_set(error, DPOT_ERR_IO, "item %zu", item) : DPOT_OK;
}

Test(parts, workers_run_every_item_once)
{
    const size_t n_workers[] = {1, 2, 7};
    for (size_t w = 0; w < 3; w++) {
        struct counting c = {.fail_at = SIZE_MAX};
        cr_assert_eq(workers_run(N_ITEMS, n_workers[w], count_item, &c, NULL, NULL), DPOT_OK);
        for (size_t i = 0; i < N_ITEMS; i++) {
            cr_assert_eq(c.n_runs[i], 1);
        }
    }
}

Test(parts, first_failure_of_a_worker_ends_the_loop)
{
    const size_t n_workers[] = {1, 3};
    for (size_t w = 0; w < 2; w++) {
        struct counting c = {.fail_at = 10};
        struct dpot_error error = {""};
        cr_assert_eq(workers_run(N_ITEMS, n_workers[w], count_item, &c, NULL, &error), DPOT_ERR_IO);
        cr_assert_str_eq(error.text, "item 10");
        cr_assert_eq(c.n_runs[N_ITEMS - 1], 0);
    }
}

static void make_ring(struct dpot_campaign *campaign)
{
    *campaign = (struct dpot_campaign){.n_max = 4};
    cr_assert_eq(dpot_domain_init_ring(&campaign->domain, 10, NULL), DPOT_OK);
    campaign->metric = (struct dpot_metric){DPOT_METRIC_RING, 10};
}

static const struct option crowd_options[] = {{"data", "F", ""}, {NULL, NULL, NULL}};
static const struct program program = {.name = "test"};
static const struct command crowd_command = {.name = "test", .options = crowd_options};

Test(parts, crowd_has_devices_in_order_of_appearance_with_all_their_rows)
{
    struct run run = {.program = &program, .command = &crowd_command, .n_threads = 2};
    struct dpot_campaign campaign;
    struct crowd crowd;
    double population[10] = {0};
    make_ring(&campaign);
    write_text("data.csv", "device,position,count\n7,1,1\n3,9,2\n7,2,3\n5,0,1\n3,9.4,2\n");
    run.values[0] = folder_path("data.csv");
    cr_assert_eq(crowd_load(&run, &campaign, 2, &crowd), DPOT_OK, "%s", run.error.text);
    cr_assert(crowd.n_devices == 2 && crowd.n_rows == 4);
    cr_assert(crowd.devices[0].id == 7 && crowd.devices[0].n_rows == 2);
    cr_assert(crowd.devices[1].id == 3 && crowd.devices[1].first == 2);
    cr_assert_eq(crowd_clamp(&run, &campaign, &crowd), DPOT_OK);
    crowd_add_measure(&crowd, 0, &campaign, 1, population);
    cr_assert_float_eq(population[1], 0.25, 1e-15);
    cr_assert_float_eq(population[2], 0.75, 1e-15);
    cr_assert_eq(crowd_draw_place(&crowd, 0, &campaign, 0.2), 1);
    cr_assert_eq(crowd_draw_place(&crowd, 0, &campaign, 0.3), 2);
    cr_assert_eq(crowd_draw_place(&crowd, 0, &campaign, 0.999), 2);
    cr_assert_eq(crowd_draw_place(&crowd, 1, &campaign, 0.9), 9);
    crowd_release(&crowd);
    dpot_domain_release(&campaign.domain);
}

Test(parts, device_without_counts_has_the_public_default)
{
    struct run run = {.program = &program, .command = &crowd_command, .n_threads = 1};
    struct dpot_campaign campaign;
    struct crowd crowd;
    double population[10] = {0};
    make_ring(&campaign);
    write_text("data.csv", "7,1,0\n");
    run.values[0] = folder_path("data.csv");
    cr_assert_eq(crowd_load(&run, &campaign, 1, &crowd), DPOT_OK);
    cr_assert_eq(crowd_clamp(&run, &campaign, &crowd), DPOT_OK);
    crowd_add_measure(&crowd, 0, &campaign, 1, population);
    const double expected[10] = {0.25, 0, 0.25, 0, 0, 0.25, 0, 0.25, 0, 0};
    cr_assert_eq(memcmp(population, expected, sizeof expected), 0);
    cr_assert_eq(crowd_draw_place(&crowd, 0, &campaign, 0.6), 5);
    crowd_release(&crowd);
    dpot_domain_release(&campaign.domain);
}

Test(parts, tallies_detect_a_missing_report)
{
    struct tally a = {.n_submitted = 4, .n_accepted = 1, .n_duplicate = 1};
    const struct tally b = {.n_submitted = 1, .n_pending = 1};
    a.n_rejected[2] = 1;
    cr_assert_not(tally_is_conserved(&a));
    a.n_dropped[3] = 1;
    cr_assert(tally_is_conserved(&a));
    tally_add(&a, &b);
    cr_assert(tally_is_conserved(&a) && a.n_submitted == 5 && tally_dropped(&a) == 1);
}

Test(parts, population_follows_the_people_and_its_seed)
{
    write_text("places.csv",
               "lat,lon,people\n40,-100,1000\n40.1,-100,0\n30,-90,1\n40.2,-100.1,500\n");
    json_t *r = expect_json("population --places places.csv --devices 40 --seed 2 --out a.csv", 0);
    cr_assert_eq(number_of(r, "devices"), 40);
    cr_assert_eq(number_of(r, "places"), 4);
    json_decref(r);
    json_decref(expect_json("population --places places.csv --devices 40 --seed 2 --out b.csv", 0));
    static char a[65536], b[65536];
    const size_t n = folder_read("a.csv", a, sizeof a);
    cr_assert(folder_read("b.csv", b, sizeof b) == n && memcmp(a, b, n) == 0);
    cr_assert_eq(strncmp(a, "device,latitude,longitude,visits\n0,", 35), 0);
    cr_assert_null(strstr(a, "40.1000"), "nobody lives there");
    expect_exit("population --places places.csv --devices 0 --out c.csv", 2, "--devices is 0");
    expect_exit("population --devices 3 --out c.csv", 2, "--places is missing");
    write_text("two.csv", "1,2\n");
    expect_exit("population --places two.csv --devices 3 --out c.csv", 3, "2 columns");
    write_text("far.csv", "95,0,3\n");
    expect_exit("population --places far.csv --devices 3 --out c.csv", 3, "latitude");
}

/* Draws devices from places (latitude, longitude, people). */
static struct array draw_population(double *values, size_t n_places, size_t n_devices)
{
    const struct array places = {.n_rows = n_places, .n_cols = 3, .values = values};
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    struct array devices;
    struct dpot_error error = {""};
    dpot_rng_seeded_init(&seeded, 5, 0);
    dpot_rng_init(&rng, &seeded.source);
    cr_assert_eq(population_draw(&places, n_devices, &rng, &devices, &error), DPOT_OK, "%s",
                 error.text);
    dpot_rng_release(&rng);
    return devices;
}

#define N_PLACES 11

static size_t find_place(double places[][3], const double *row)
{
    size_t i = 0;
    while (i < N_PLACES && (places[i][0] != row[1] || places[i][1] != row[2])) {
        i++;
    }
    cr_assert_lt(i, N_PLACES);
    return i;
}

/* The law of population.h: beyond the 180th meridian, around a pole, and for a lonely home beside
 * crowds that are just too far, whose near places are hard to hit. */
Test(parts, population_visits_near_places_by_people_and_distance)
{
    double places[N_PLACES][3] = {
        {40, -100, 1000},  {40.1, -100.05, 700}, {40.3, -100.4, 900}, {40.38, -100.38, 400},
        {52, 179.95, 800}, {52.05, -179.9, 500}, {89.9, 10, 600},     {89.8, -170, 700},
        {-20, 300.1, 30},  {-20, 300.68, 40000}, {-20.01, -60.5, 20},
    };
    const struct dpot_metric metric = {DPOT_METRIC_HAVERSINE, 0};
    static double drawn[N_PLACES][N_PLACES];
    double total = 0;
    struct array devices = draw_population(places[0], N_PLACES, 60000);
    for (size_t r = 0, home = 0; r < devices.n_rows; r++) {
        const double *row = devices.values + 4 * r;
        const size_t place = find_place(places, row);
        if (r == 0 || row[0] != row[-4]) {
            home = place;
        } else {
            drawn[home][place]++;
        }
    }
    for (size_t j = 0; j < N_PLACES; j++) {
        total += places[j][2];
    }
    for (size_t home = 0; home < N_PLACES; home++) {
        double weight[N_PLACES], near = 0, n = 0;
        for (size_t j = 0; j < N_PLACES; j++) {
            const double km = dpot_metric_distance(&metric, 2, places[home], places[j]);
            weight[j] = km <= 60 ? places[j][2] * exp(-km / 15) : 0;
            near += weight[j];
            n += drawn[home][j];
        }
        for (size_t j = 0; j < N_PLACES; j++) {
            const double p = 0.8 * weight[j] / near + 0.2 * places[j][2] / total;
            cr_assert_float_eq(drawn[home][j], n * p, 5 * sqrt(n * p * (1 - p)) + 2,
                               "home %zu, place %zu: %g of %g, not %g", home, j, drawn[home][j], n,
                               n * p);
        }
    }
    array_release(&devices);
}

/* 60,000 places within reach of each other: a walk over them for every device would not end. */
Test(parts, population_takes_the_same_time_for_a_device_on_any_map)
{
    const size_t n = 60000;
    double *places = calloc(3 * n, sizeof *places);
    cr_assert_not_null(places);
    for (size_t i = 0; i < n; i++) {
        places[3 * i] = 48 + (double)(i % 245) / 1000;
        places[3 * i + 1] = 11 + (double)(i / 245) / 1000;
        places[3 * i + 2] = 1 + (double)(i % 7);
    }
    struct array devices = draw_population(places, n, 100000);
    cr_assert_geq(devices.n_rows, 300000);
    array_release(&devices);
    free(places);
}

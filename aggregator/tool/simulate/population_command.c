/* dpot population: a synthetic population of devices over a map of places. */
#include "tool/shared/commands.h"

#include "base/rng_seeded.h"
#include "files/csv.h"
#include "files/output.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/simulate/population.h"

#include <string.h>

#define DEVICES_MAX 1000000

static const struct option options[] = {
    {"places", "F", "rows of latitude, longitude, people"},
    {"devices", "N 1..1000000", "how many devices to draw"},
    {"out", "F", "rows of device, latitude, longitude, visits"},
    {NULL, NULL, NULL},
};

static dpot_status read_options(struct run *run, uint64_t *n_devices, const char **out)
{
    const char *text = NULL;
    dpot_status status = option_require(run, "places", "a file of places", &text);
    if (status == DPOT_OK) {
        status = option_require(run, "devices", "a number of devices", &text);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "devices", 1, DEVICES_MAX, n_devices);
    }
    if (status == DPOT_OK) {
        status = option_require_array_output(run, "out", "a file for the devices", out);
    }
    return status;
}

static dpot_status run_population(struct run *run)
{
    struct array places = {0}, devices = {0};
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    uint64_t n_devices = 0;
    const char *out = NULL;
    dpot_status status = read_options(run, &n_devices, &out);
    if (status == DPOT_OK) {
        status = load_finite(run, "places", &places);
    }
    if (status == DPOT_OK) {
        dpot_rng_seeded_init(&seeded, run->seed, 0);
        dpot_rng_init(&rng, run->has_seed ? &seeded.source : &dpot_rng_source_sodium);
        status = population_draw(&places, (size_t)n_devices, &rng, &devices, &run->error);
        dpot_rng_release(&rng);
    }
    if (status == DPOT_OK) {
        status = array_write_named(out, &devices, "device,latitude,longitude,visits", &run->error);
    }
    if (status == DPOT_OK) {
        run_put_integer(run, "devices", n_devices);
        run_put_integer(run, "rows", devices.n_rows);
        run_put_integer(run, "places", places.n_rows);
    }
    array_release(&places);
    array_release(&devices);
    return status;
}

const struct command command_population = {
    .name = "population",
    .summary = "draw a synthetic population of devices over a map, for dpot simulate",
    .details =
        "Every device has a home, drawn in proportion to people, and a few further places, most\n"
        "of them near. Keys: devices, rows, places.",
    .example = "dpot population --places places.csv --devices 1000 --seed 1 --out devices.csv",
    .options = options,
    .run = run_population,
};

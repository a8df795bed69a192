/* dpot simulate: virtual devices that run the shipping client against a server. */
#include "tool/shared/commands.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "mechanism/mechanism.h"
#include "solve/run/workers.h"
#include "tool/shared/campaign_file.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"
#include "tool/shared/remote.h"
#include "tool/simulate/results.h"

#include <math.h>
#include <string.h>

#define DEVICES_MAX 10000000
#define THREADS_DEFAULT 2 /* devices wait for the server most of the time */
#define CAP_MARGIN 1e-9   /* relative: charges are rounded up, caps down */
#define EPSILON_CAP_MAX 1e6
#define DELTA_CAP_MAX 0.999999

static const struct option options[] = {
    {"campaign", "FILE|ID", "SPEC.json, a signed campaign, or an ID with --server"},
    {"data", "F", "rows of device, coordinates..., [count]"},
    FORM_OPTIONS,
    {"group-column", "C", "column of --data with the number of the device's group, from 0"},
    {"devices", "N 1..10000000", "simulate the first N devices of the data"},
    {"in-process", NULL, "against an aggregator in memory"},
    REMOTE_OPTIONS,
    CAMPAIGN_PIN_OPTION,
    {"dropout", "p [0,1]", "a device misses a round with this probability (default 0)"},
    {"duplicates", "p [0,1]", "the answer to a report is lost with this probability (default 0)"},
    {"rounds", "R 1..100000", "rounds to simulate (default 1; more only in process)"},
    {"epsilon-cap", "E (0,1e6]", "every cap of the devices (default: epsilon times rounds)"},
    {"durable", "DIR", "keep each device's folder in DIR (default: in memory)"},
    {"out", "DIR", "where results.json and the tables go"},
    {NULL, NULL, NULL},
};

struct simulation {
    struct run *run;
    const char *campaign_text, *out;
    uint64_t n_devices, rounds;
    struct campaign_file file;
    struct crowd crowd;
    struct in_process in_process;
    bool is_in_process;
    struct device_plan plan;
    struct device_outcome *outcomes;  /* (n_devices) */
    struct dpot_transport **networks; /* (n_workers) NULL in process */
    size_t n_workers;
};

/* ---- options ---- */

static dpot_status read_numbers(struct simulation *s)
{
    struct run *run = s->run;
    dpot_status status = option_integer(run, "devices", 1, DEVICES_MAX, &s->n_devices);
    if (status == DPOT_OK) {
        status = option_integer(run, "rounds", 1, DPOT_ROUNDS_MAX, &s->rounds);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "dropout", 0, 1, &s->plan.dropout);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "duplicates", 0, 1, &s->plan.duplicates);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "epsilon-cap", EPSILON_CAP_MAX, &s->plan.epsilon_cap);
    }
    if (status == DPOT_OK && s->rounds > 1 && !s->is_in_process) {
        status = RUN_USAGE(run,
                           "--rounds %llu needs --in-process: a server's rounds pass in real "
                           "time, so simulate them one by one",
                           (unsigned long long)s->rounds);
    }
    return status;
}

static dpot_status read_options(struct simulation *s)
{
    struct run *run = s->run;
    const char *text = NULL;
    s->is_in_process = option_is_given(run, "in-process");
    dpot_status status = option_require(run, "campaign", "a SPEC.json, a signed campaign or an ID",
                                        &s->campaign_text);
    if (status == DPOT_OK) {
        status = option_require(run, "data", "rows of device, coordinates, count", &text);
    }
    if (status == DPOT_OK) {
        status = option_require(run, "devices", "how many devices to simulate", &text);
    }
    if (status == DPOT_OK) {
        status = option_either(run, "server", "in-process");
    }
    if (status == DPOT_OK) {
        status = read_numbers(s);
    }
    if (status == DPOT_OK) {
        status = option_require(run, "out", "a folder for the results", &s->out);
    }
    if (status == DPOT_OK) {
        status = results_check_inputs(run, "out", s->out);
    }
    s->plan.durable = option_text(run, "durable");
    s->plan.has_seed = run->has_seed;
    s->plan.seed = run->seed;
    return status;
}

/* ---- the campaign ---- */

/* A SPEC has no id yet: derive one from its bytes, so that runs can be compared. */
static dpot_status give_id(struct simulation *s)
{
    struct campaign_file *file = &s->file;
    if (file->is_signed) {
        return DPOT_OK;
    }
    if (!s->is_in_process) {
        return RUN_USAGE(s->run,
                         "%.100s is a SPEC, which no server serves: create and open it, then "
                         "give its ID, or use --in-process",
                         s->campaign_text);
    }
    memcpy(file->campaign.id, file->hash, sizeof file->campaign.id);
    return campaign_file_hash(&file->campaign, file->hash, &s->run->error);
}

static dpot_status check_campaign(struct simulation *s)
{
    struct run *run = s->run;
    const struct dpot_campaign *campaign = &s->file.campaign;
    uint32_t round = 0;
    if (run->has_seed && !campaign->simulation) {
        return RUN_FAIL(run, EXIT_CODE_PRIVACY, DPOT_ERR_SIMULATION,
                        "--seed makes reports reversible, and \"%s\" is a real campaign: leave the "
                        "seed out, or say \"simulation\": true in its SPEC",
                        campaign->name);
    }
    if (s->rounds > campaign->rounds) {
        return RUN_USAGE(run, "--rounds is %llu and the campaign has %u: give at most that",
                         (unsigned long long)s->rounds, (unsigned)campaign->rounds);
    }
    if (s->is_in_process) {
        return DPOT_OK;
    }
    const struct dpot_clock *clock = dpot_clock_system();
    const dpot_status status = dpot_campaign_round(campaign, clock->now(clock->ctx), &round);
    if (status != DPOT_OK) {
        return dpot_error_set(&run->error, status, "campaign \"%s\": %s", campaign->name,
                              dpot_status_text(status));
    }
    return DPOT_OK;
}

/* The key that devices pin: the user's, or the signer of the campaign. */
static void choose_pin(struct simulation *s)
{
    memcpy(s->plan.pin, s->file.signer, sizeof s->plan.pin);
    if (s->is_in_process) {
        memcpy(s->plan.pin, s->in_process.pin, sizeof s->plan.pin);
    } else if (!option_is_given(s->run, "pin")) {
        char hex[2 * DPOT_SIGN_PUBLIC_LEN + 1];
        dpot_hex_encode(hex, s->file.signer, sizeof s->file.signer);
        run_warn(s->run, "no --pin: the devices trust the campaign's own signer %.16s...", hex);
    }
}

static dpot_status load_campaign(struct simulation *s)
{
    dpot_status status = campaign_file_load(s->run, s->campaign_text, &s->file);
    if (status != DPOT_OK) {
        return status;
    }
    status = give_id(s);
    if (status == DPOT_OK) {
        status = check_campaign(s);
    }
    if (status == DPOT_OK && s->is_in_process) {
        status = in_process_open(&s->file.campaign, &s->in_process, &s->run->error);
    }
    return status;
}

/* ---- the run ---- */

/* The smallest caps that allow all rounds, unless the user gave one. */
static void choose_caps(struct simulation *s)
{
    struct device_plan *plan = &s->plan;
    const struct dpot_campaign *campaign = &s->file.campaign;
    const struct dpot_privacy cost = dpot_mechanism_charge(campaign);
    const double rounds = (double)s->rounds, epsilon = dpot_epsilon_to_double(cost.epsilon_q32);
    const bool is_beyond = dpot_mechanism_is_vector(campaign->mechanism) && campaign->simulation;
    const double ceiling =
        is_beyond ? dpot_epsilon_to_double(DPOT_SIMULATION_EPSILON_MAX_Q32) : DPOT_EPSILON_CEILING;
    if (!(plan->epsilon_cap > 0)) {
        plan->epsilon_cap = epsilon * rounds * (1 + CAP_MARGIN);
    }
    plan->delta_cap =
        fmin(dpot_delta_to_double(cost.delta_q64) * rounds * (1 + CAP_MARGIN), DELTA_CAP_MAX);
    if (epsilon * rounds > ceiling) {
        run_warn(s->run,
                 "%llu rounds of epsilon %g are above the ceiling of %g for one campaign: devices "
                 "will refuse the later ones",
                 (unsigned long long)s->rounds, epsilon, ceiling);
    }
    if (epsilon > DPOT_EPSILON_CEILING) {
        run_warn(s->run,
                 "epsilon %g is above the %d that devices accept: this is an experiment, not "
                 "protection",
                 epsilon, DPOT_EPSILON_CEILING);
    }
}

static void make_plan(struct simulation *s)
{
    struct device_plan *plan = &s->plan;
    plan->crowd = &s->crowd;
    plan->campaign = &s->file.campaign;
    plan->server_url = s->is_in_process ? IN_PROCESS_URL : option_text(s->run, "server");
    plan->in_process = s->is_in_process ? &s->in_process : NULL;
    plan->rounds = (uint32_t)s->rounds;
    choose_caps(s);
}

/* Devices have streams of random numbers of their own, and the pool is in the order of ids: the
 * results do not depend on the number of threads. */
static size_t choose_workers(const struct simulation *s)
{
    const size_t wanted = s->run->n_threads;
    const bool is_capped = !s->run->has_threads && wanted > THREADS_DEFAULT;
    const size_t n = is_capped ? THREADS_DEFAULT : wanted;
    return n < s->n_devices ? n : (size_t)s->n_devices;
}

static dpot_status allocate(struct simulation *s)
{
    s->n_workers = choose_workers(s);
    s->outcomes = dpot_alloc_array(NULL, (size_t)s->n_devices, sizeof *s->outcomes);
    s->networks = dpot_alloc_array(NULL, s->n_workers, sizeof *s->networks);
    dpot_status status = s->outcomes && s->networks ? DPOT_OK : DPOT_ERR_MEMORY;
    for (size_t w = 0; status == DPOT_OK && !s->is_in_process && w < s->n_workers; w++) {
        status = dpot_transport_curl_new(option_text(s->run, "ca-file"), &s->networks[w]);
    }
    return status;
}

static dpot_status run_device(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    struct simulation *s = ctx;
    return device_run(&s->plan, s->networks[worker], item, &s->outcomes[item], error);
}

static dpot_status prepare(struct simulation *s)
{
    dpot_status status = DPOT_OK;
    if (s->is_in_process && s->plan.durable) {
        status = device_check_durable(s->plan.durable, &s->run->error);
    }
    if (status == DPOT_OK) {
        status = load_campaign(s);
    }
    if (status == DPOT_OK) {
        status = crowd_load(s->run, &s->file.campaign, (size_t)s->n_devices, &s->crowd);
    }
    if (status == DPOT_OK) {
        status = results_make_folder(s->run, s->out);
    }
    if (status == DPOT_OK && s->plan.durable) {
        status = results_make_folder(s->run, s->plan.durable);
    }
    if (status == DPOT_OK) {
        choose_pin(s);
        make_plan(s);
        status = allocate(s);
    }
    return status == DPOT_OK ? crowd_clamp(s->run, &s->file.campaign, &s->crowd) : status;
}

static void release(struct simulation *s)
{
    for (size_t w = 0; s->networks && w < s->n_workers; w++) {
        if (s->networks[w]) {
            dpot_transport_curl_free(s->networks[w]);
        }
    }
    dpot_free_array(NULL, s->networks, s->n_workers, sizeof *s->networks);
    dpot_free_array(NULL, s->outcomes, (size_t)s->n_devices, sizeof *s->outcomes);
    crowd_release(&s->crowd);
    in_process_close(&s->in_process);
    campaign_file_release(&s->file);
}

static dpot_status run_simulate(struct run *run)
{
    struct simulation s = {.run = run, .rounds = 1};
    struct progress progress;
    char label[CAMPAIGN_LABEL_SIZE];
    dpot_status status = read_options(&s);
    if (status != DPOT_OK) {
        return status;
    }
    status = prepare(&s);
    if (status == DPOT_OK) {
        const double started = progress_seconds();
        campaign_file_label(&s.file, "devices", label);
        progress_init(&progress, run, label, (size_t)s.n_devices);
        const struct solve_control control = progress_control(&progress);
        status =
            workers_run((size_t)s.n_devices, s.n_workers, run_device, &s, &control, &run->error);
        progress_end(&progress);
        const struct results results = {.run = run,
                                        .folder = s.out,
                                        .plan = &s.plan,
                                        .hash = s.file.hash,
                                        .outcomes = s.outcomes,
                                        .seconds = progress_seconds() - started};
        status = status == DPOT_OK ? results_write(&results) : status;
    }
    release(&s);
    return status;
}

const struct command command_simulate = {
    .name = "simulate",
    .summary = "virtual devices that run the shipping client against a server",
    .details =
        "Each device enrolls, charges its ledger, privatises, spools and sends, on a clock that\n"
        "is set forward instead of sleeping. --out gets results.json (counts, epsilon spent),\n"
        "devices.csv, population_true.csv (the mean of the devices' measures over the domain,\n"
        "each weighted by the number of reports it submitted) and population_sample.csv (one\n"
        "place per device, without privacy, as a yardstick); in process also pool.npy, with a\n"
        "transform coefficients.npy, on which generators are trained, and with groups\n"
        "groups.npy. Files of an earlier run are removed.\n"
        "With a vector mechanism a row is the vector of a device (several rows: their mean), and\n"
        "vectors_true.npy replaces the two populations; likewise on a sphere, where a device may\n"
        "have several rows and pool.npy holds the directions that reports name.\n"
        "--group-column is a name in the first line of --data, or a number from 0; without it\n"
        "all devices are in the first group. The folder of --durable must not hold devices of an\n"
        "earlier run in process: their server is gone. --seed needs a campaign with\n"
        "\"simulation\": true, whose reports carry the TEST mark; in process the same seed gives\n"
        "the same files, whatever --threads is (default 2), but for seconds in results.json.\n"
        "Keys: those of results.json.",
    .example =
        "dpot simulate --campaign census.json --data devices.csv --devices 1000 --in-process "
        "--out run",
    .options = options,
    .run = run_simulate,
};

/* dpot evaluate: the utility that one report of a campaign costs its users.
 *
 * A report is drawn from a law that depends on the user's measure mu; its cost is the exact
 * transport cost W_p^p(mu, law). The laws are those of the device, equal in every integer
 * (dpot_privatizer_law). Nothing is drawn: the numbers need no seed and have no sampling error. */
#include "tool/shared/commands.h"

#include "base/alloc.h"
#include "mechanism/ground.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "ot/network_simplex.h"
#include "solve/run/workers.h"
#include "tool/shared/campaign_file.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"
#include "tool/shared/remote.h"
#include "tool/simulate/crowd.h"

#include <math.h>
#include <string.h>

#define DEVICES_MAX 10000000

static const struct option options[] = {
    {"campaign", "FILE|ID", "SPEC.json, a signed campaign, or an ID with --server"},
    {"data", "F", "rows of device, coordinates..., [count]"},
    FORM_OPTIONS,
    {"devices", "N 1..10000000", "the first N devices of the data"},
    {"out", "F", "rows of device, cost, W_p"},
    {"points-out", "F", "W_p of a user at each point of the domain (k,), such as for a map"},
    REMOTE_OPTIONS,
    CAMPAIGN_PIN_OPTION,
    {NULL, NULL, NULL},
};

/* Workspace of one thread. */
struct bench {
    struct dpot_privatizer *privatizer;
    struct dpot_private_measure own; /* as the device holds it */
    struct dpot_ground ground;
    double *histogram;  /* (domain size) */
    double *population; /* (domain size) the user's measure */
    double *kept;       /* (domain size) the part of it that the device keeps */
    uint64_t *weights;  /* (output size) */
    double *law;        /* (output size) */
    double *mu;         /* (cap_rows) */
    double *cost;       /* (cap_rows, output size) */
    size_t cap_rows;
};

struct evaluation {
    struct run *run;
    const char *campaign_text, *out_path, *points_path;
    uint64_t n_devices;
    struct campaign_file file;
    struct crowd crowd;
    struct bench *benches; /* (n_workers) */
    size_t n_workers;
    double *costs;       /* (n_devices) W_p^p */
    double *point_costs; /* (domain size) W_p^p of a user at this point only */
};

static dpot_status read_options(struct evaluation *e)
{
    struct run *run = e->run;
    const char *text = NULL;
    dpot_status status = option_require(run, "campaign", "a SPEC.json, a signed campaign or an ID",
                                        &e->campaign_text);
    if (status == DPOT_OK) {
        status = option_require(run, "data", "rows of device, coordinates, count", &text);
    }
    if (status == DPOT_OK) {
        status = option_require(run, "devices", "how many devices to evaluate", &text);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "devices", 1, DEVICES_MAX, &e->n_devices);
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "out", &e->out_path);
    }
    return status == DPOT_OK ? option_array_output(run, "points-out", &e->points_path) : status;
}

/* ---- memory ---- */

static void bench_release(struct bench *bench, const struct dpot_campaign *campaign)
{
    const size_t k = campaign->domain.size, kv = campaign->output.size;
    dpot_privatizer_free(bench->privatizer);
    dpot_private_measure_release(&bench->own);
    dpot_ground_release(&bench->ground);
    dpot_free_array(NULL, bench->histogram, k, sizeof(double));
    dpot_free_array(NULL, bench->population, k, sizeof(double));
    dpot_free_array(NULL, bench->kept, k, sizeof(double));
    dpot_free_array(NULL, bench->weights, kv, sizeof(uint64_t));
    dpot_free_array(NULL, bench->law, kv, sizeof(double));
    dpot_free_array(NULL, bench->mu, bench->cap_rows, sizeof(double));
    dpot_free_array(NULL, bench->cost, bench->cap_rows * kv, sizeof(double));
}

static dpot_status bench_init(struct bench *bench, const struct dpot_campaign *campaign,
                              size_t cap_rows, struct dpot_error *error)
{
    const size_t k = campaign->domain.size, kv = campaign->output.size;
    dpot_status status = dpot_privatizer_new(campaign, NULL, &bench->privatizer, error);
    if (status == DPOT_OK) {
        status = dpot_private_measure_init(&bench->own, campaign->n_max, NULL);
    }
    if (status == DPOT_OK) {
        status = dpot_ground_init(&bench->ground, campaign, NULL, error);
    }
    bench->cap_rows = cap_rows;
    bench->histogram = dpot_alloc_array(NULL, k, sizeof(double));
    bench->population = dpot_alloc_array(NULL, k, sizeof(double));
    bench->kept = dpot_alloc_array(NULL, k, sizeof(double));
    bench->weights = dpot_alloc_array(NULL, kv, sizeof(uint64_t));
    bench->law = dpot_alloc_array(NULL, kv, sizeof(double));
    bench->mu = dpot_alloc_array(NULL, cap_rows, sizeof(double));
    bench->cost = dpot_alloc_array(NULL, cap_rows * kv, sizeof(double));
    const bool is_complete = bench->histogram && bench->population && bench->kept &&
                             bench->weights && bench->law && bench->mu && bench->cost;
    return status == DPOT_OK && !is_complete
               ? dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu x %zu costs",
                                cap_rows, kv)
               : status;
}

/* The most points that the measure of a user can have: by the data, or by the public default. */
static size_t largest_user(const struct evaluation *e)
{
    const struct dpot_campaign *campaign = &e->file.campaign;
    size_t most = campaign->n_max;
    for (size_t i = 0; i < e->crowd.n_devices; i++) {
        most = e->crowd.devices[i].n_rows > most ? e->crowd.devices[i].n_rows : most;
    }
    return most < campaign->domain.size ? most : campaign->domain.size;
}

static dpot_status prepare(struct evaluation *e)
{
    struct run *run = e->run;
    const struct dpot_campaign *campaign = &e->file.campaign;
    dpot_status status = campaign_file_load(run, e->campaign_text, &e->file);
    if (status == DPOT_OK) {
        status = campaign_file_require_index(run, &e->file);
    }
    if (status == DPOT_OK) {
        status = crowd_load(run, campaign, (size_t)e->n_devices, &e->crowd);
    }
    if (status == DPOT_OK) {
        status = crowd_clamp(run, campaign, &e->crowd);
    }
    if (status != DPOT_OK) {
        return status;
    }
    e->n_workers = run->n_threads;
    e->benches = dpot_alloc_array(NULL, e->n_workers, sizeof *e->benches);
    e->costs = dpot_alloc_array(NULL, (size_t)e->n_devices, sizeof *e->costs);
    e->point_costs = dpot_alloc_array(NULL, campaign->domain.size, sizeof *e->point_costs);
    if (!e->benches || !e->costs || !e->point_costs) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t w = 0; status == DPOT_OK && w < e->n_workers; w++) {
        status = bench_init(&e->benches[w], campaign, largest_user(e), &run->error);
    }
    return status;
}

static void release(struct evaluation *e)
{
    for (size_t w = 0; e->benches && w < e->n_workers; w++) {
        bench_release(&e->benches[w], &e->file.campaign);
    }
    dpot_free_array(NULL, e->benches, e->n_workers, sizeof *e->benches);
    dpot_free_array(NULL, e->costs, (size_t)e->n_devices, sizeof *e->costs);
    dpot_free_array(NULL, e->point_costs, e->file.campaign.domain.size, sizeof *e->point_costs);
    crowd_release(&e->crowd);
    campaign_file_release(&e->file);
}

/* ---- laws and costs ---- */

/* Adds `weight` times the law of the measure in the histogram, and wipes the histogram. */
static void add_law(struct bench *bench, const struct dpot_campaign *campaign, double weight)
{
    dpot_private_measure_set(&bench->own, bench->histogram, campaign->domain.size);
    dpot_privatizer_law(bench->privatizer, &bench->own, bench->weights);
    for (size_t j = 0; j < campaign->output.size; j++) {
        bench->law[j] += weight * ((double)bench->weights[j] / (double)DPOT_MASS_ONE);
    }
}

/* As the device does: keeps the n_max heaviest points, ties to the lowest number, scaled to mass
 * one. */
static void keep_heaviest(double *measure, const struct dpot_campaign *campaign)
{
    const size_t k = campaign->domain.size;
    size_t n = 0;
    double total = 0;
    for (size_t i = 0; i < k; i++) {
        n += measure[i] > 0;
    }
    for (; n > campaign->n_max; n--) {
        size_t lightest = k;
        for (size_t i = 0; i < k; i++) {
            if (measure[i] > 0 && (lightest == k || measure[i] <= measure[lightest])) {
                lightest = i;
            }
        }
        measure[lightest] = 0;
    }
    for (size_t i = 0; i < k; i++) {
        total += measure[i];
    }
    for (size_t i = 0; i < k; i++) {
        measure[i] /= total;
    }
}

/* The law of the user whose measure is in `population`. With sample_first the device draws one of
 * the n_max heaviest points: the law is the mixture of the laws of these points. */
static void find_law(struct bench *bench, const struct dpot_campaign *campaign)
{
    const size_t k = campaign->domain.size;
    memset(bench->law, 0, campaign->output.size * sizeof *bench->law);
    if (!campaign->sample_first) {
        memcpy(bench->histogram, bench->population, k * sizeof *bench->histogram);
        add_law(bench, campaign, 1);
        return;
    }
    memcpy(bench->kept, bench->population, k * sizeof *bench->kept);
    keep_heaviest(bench->kept, campaign);
    for (size_t i = 0; i < k; i++) {
        if (bench->kept[i] > 0) {
            bench->histogram[i] = 1;
            add_law(bench, campaign, bench->kept[i]);
        }
    }
}

/* W_p^p between the user's measure and the law. */
static dpot_status measure_user(struct bench *bench, const struct dpot_campaign *campaign,
                                double *cost, struct dpot_error *error)
{
    const size_t kv = campaign->output.size;
    size_t n_rows = 0;
    for (uint32_t i = 0; i < campaign->domain.size && n_rows < bench->cap_rows; i++) {
        if (bench->population[i] > 0) {
            bench->mu[n_rows] = bench->population[i];
            dpot_ground_row(&bench->ground, i, bench->cost + n_rows * kv);
            n_rows++;
        }
    }
    struct dpot_exact_result exact;
    const dpot_status status =
        dpot_exact_ot(bench->cost, bench->mu, bench->law, n_rows, kv, NULL, &exact, error);
    if (status == DPOT_OK) {
        *cost = exact.transport_cost;
        dpot_exact_result_release(&exact);
    }
    return status;
}

static dpot_status evaluate_user(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    struct evaluation *e = ctx;
    struct bench *bench = &e->benches[worker];
    const struct dpot_campaign *campaign = &e->file.campaign;
    memset(bench->population, 0, campaign->domain.size * sizeof *bench->population);
    crowd_add_measure(&e->crowd, item, campaign, 1, bench->population);
    find_law(bench, campaign);
    return measure_user(bench, campaign, &e->costs[item], error);
}

/* A user at one point: all mass leaves from there, so that the transport cost is a plain sum. */
static dpot_status evaluate_point(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    struct evaluation *e = ctx;
    struct bench *bench = &e->benches[worker];
    const struct dpot_campaign *campaign = &e->file.campaign;
    (void)error;
    memset(bench->law, 0, campaign->output.size * sizeof *bench->law);
    bench->histogram[item] = 1;
    add_law(bench, campaign, 1);
    dpot_ground_row(&bench->ground, (uint32_t)item, bench->cost);
    double cost = 0;
    for (size_t j = 0; j < campaign->output.size; j++) {
        cost += bench->law[j] * bench->cost[j];
    }
    e->point_costs[item] = cost;
    return DPOT_OK;
}

static dpot_status evaluate(struct evaluation *e)
{
    struct progress progress;
    char label[CAMPAIGN_LABEL_SIZE];
    struct run *run = e->run;
    const size_t n_points = e->file.campaign.domain.size;
    campaign_file_label(&e->file, "users", label);
    progress_init(&progress, run, label, (size_t)e->n_devices);
    const struct solve_control control = progress_control(&progress);
    dpot_status status =
        workers_run((size_t)e->n_devices, e->n_workers, evaluate_user, e, &control, &run->error);
    progress_end(&progress);
    if (status == DPOT_OK) {
        campaign_file_label(&e->file, "points", label);
        progress_init(&progress, run, label, n_points);
        status = workers_run(n_points, e->n_workers, evaluate_point, e, &control, &run->error);
        progress_end(&progress);
    }
    return status;
}

/* ---- result ---- */

static double root(const struct evaluation *e, double cost)
{
    return pow(cost > 0 ? cost : 0, 1 / e->file.campaign.cost_power);
}

static void put_result(struct evaluation *e)
{
    struct run *run = e->run;
    const struct dpot_campaign *campaign = &e->file.campaign;
    const double n = (double)e->n_devices;
    double cost = 0, distance = 0;
    uint32_t worst = 0;
    for (size_t i = 0; i < e->n_devices; i++) {
        cost += e->costs[i] / n;
        distance += root(e, e->costs[i]) / n;
    }
    for (uint32_t i = 1; i < campaign->domain.size; i++) {
        worst = e->point_costs[i] > e->point_costs[worst] ? i : worst;
    }
    run_put_text(run, "mechanism", dpot_mechanism_name(campaign->mechanism));
    run_put_number(run, "epsilon", dpot_epsilon_to_double(campaign->epsilon_q32));
    run_put_number(run, "power", campaign->cost_power);
    run_put_integer(run, "users", e->n_devices);
    run_put_number(run, "mean_user_cost", cost);
    run_put_number(run, "mean_user_wp", distance);
    run_put_number(run, "worst_case", root(e, e->point_costs[worst]));
    run_put_integer(run, "worst_point", worst);
}

static dpot_status write_users(struct evaluation *e)
{
    struct array rows = {0};
    if (!e->out_path) {
        return DPOT_OK;
    }
    dpot_status status = array_init(&rows, (size_t)e->n_devices, 3, false);
    for (size_t i = 0; status == DPOT_OK && i < e->n_devices; i++) {
        const double row[3] = {e->crowd.devices[i].id, e->costs[i], root(e, e->costs[i])};
        memcpy(rows.values + 3 * i, row, sizeof row);
    }
    if (status == DPOT_OK) {
        status = array_write(e->out_path, &rows, ARRAY_F8, &e->run->error);
    }
    array_release(&rows);
    return status;
}

static dpot_status write_points(struct evaluation *e)
{
    struct array distances = {0};
    if (!e->points_path) {
        return DPOT_OK;
    }
    dpot_status status = array_init(&distances, e->file.campaign.domain.size, 1, true);
    for (size_t i = 0; status == DPOT_OK && i < distances.n_rows; i++) {
        distances.values[i] = root(e, e->point_costs[i]);
    }
    if (status == DPOT_OK) {
        status = array_write(e->points_path, &distances, ARRAY_F8, &e->run->error);
    }
    array_release(&distances);
    return status;
}

static dpot_status run_evaluate(struct run *run)
{
    struct evaluation e = {.run = run};
    dpot_status status = read_options(&e);
    if (status == DPOT_OK) {
        status = prepare(&e);
    }
    if (status == DPOT_OK) {
        status = evaluate(&e);
    }
    if (status == DPOT_OK) {
        put_result(&e);
        status = write_users(&e);
    }
    if (status == DPOT_OK) {
        status = write_points(&e);
    }
    release(&e);
    return status;
}

const struct command command_evaluate = {
    .name = "evaluate",
    .summary = "what one report of a campaign costs its users, exactly and without drawing",
    .details =
        "A report is drawn from a law that depends on the user's measure; its cost is the exact\n"
        "transport cost W_p^p between the two. The laws are those of the device, equal in every\n"
        "integer; with sample_first the mixture over the user's places. The worst case is over\n"
        "users at one point of the domain. The command reads raw data: run it on public or\n"
        "simulated data.\n"
        "Keys: mechanism, epsilon, power, users, mean_user_cost (mean of W_p^p), mean_user_wp\n"
        "(mean of W_p), worst_case (largest W_p of a user at one point), worst_point (its number).",
    .example = "dpot evaluate --campaign census.json --data devices.csv --devices 1000",
    .options = options,
    .run = run_evaluate,
};

/* Coverage of the bands of `dpot plan`: draws campaigns with the shipping mechanism, computes the
 * estimates of an analyst, and counts how often each error lies in the predicted band.
 *
 *   plan_coverage --campaign SPEC --plan PLAN.json --data ROWS --devices N [--reported F]
 *                 [--n N] [--crowd fixed] [--repetitions R] [POOL.npy]
 *
 * PLAN.json is what `dpot plan --json` printed and F its --out (index campaigns). The population is
 * the first N devices of ROWS. Without a POOL, R campaigns of n devices are drawn from it (with
 * --crowd fixed: all of them, once each), each of which privatises with dpot_privatizer_run and the
 * operating system's randomness. With a POOL, the reports are those: of a run of `dpot simulate`
 * with all N devices.
 *
 * Prints a line for each figure: name, campaigns inside the band, campaigns, sum of their errors.
 * Of the prediction only the bands and the expected histogram are used; distances come from
 * dpot_exact_ot, truths from the crowd of the simulation. */
#include "base/alloc.h"
#include "mechanism/mechanism.h"
#include "mechanism/transform.h"
#include "model/measure.h"
#include "ot/network_simplex.h"
#include "pool/decode.h"
#include "tool/shared/campaign_file.h"
#include "tool/shared/options.h"
#include "tool/simulate/crowd.h"

#include "dpot/dpot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIGURES_MAX 3
#define DEVICES_MAX 1000000

static const struct option options[] = {
    {"campaign", "SPEC", "the campaign"},
    {"plan", "F", "the prediction, as JSON"},
    {"data", "F", "rows of device, coordinates, [count]"},
    {"devices", "N", "the first N devices are the population"},
    {"reported", "F", "--out of the prediction"},
    {"n", "N", "devices drawn"},
    {"crowd", "drawn|fixed", "whether the population itself reports"},
    {"repetitions", "R", "campaigns"},
    {"server", "URL", "not used"},
    {NULL, NULL, NULL},
};

struct coverage {
    struct run *run;
    struct campaign_file file;
    const struct dpot_campaign *campaign; /* = &file.campaign */
    struct crowd crowd;
    json_t *plan;
    bool is_vector, is_fixed;
    uint64_t n_devices, n, n_repetitions;
    struct dpot_rng rng;

    size_t width;   /* output points, or coordinates of the data */
    double *truth;  /* (width of the domain, or of the data) */
    double *result; /* (width) of one campaign: frequencies or mean */

    /* Index campaigns. */
    struct dpot_privatizer *privatizer;
    struct dpot_private_measure own;
    double *histogram; /* (domain size) */
    struct array reported;
    double *cost[2]; /* (domain size, output size) d and d^2 */

    /* Vector campaigns. */
    struct dpot_private_vector vector;
    struct decoder *decoder;
    struct dpot_transformer *transformer;
    struct dpot_report report;
    double *row, *coefficients;

    size_t n_figures;
    const char *names[FIGURES_MAX];
    double lower[FIGURES_MAX], upper[FIGURES_MAX], sums[FIGURES_MAX];
    uint64_t n_inside[FIGURES_MAX];
};

/* ---- set-up ---- */

static dpot_status read_band(struct coverage *c, const char *name)
{
    const json_t *figure = json_object_get(c->plan, name);
    const size_t f = c->n_figures++;
    if (!figure) {
        return dpot_error_set(&c->run->error, DPOT_ERR_SHAPE, "the plan has no %s", name);
    }
    c->names[f] = name;
    c->lower[f] = json_number_value(json_object_get(figure, "lower"));
    c->upper[f] = json_number_value(json_object_get(figure, "upper"));
    return DPOT_OK;
}

static dpot_status read_bands(struct coverage *c)
{
    static const char *const index[] = {"histogram_l1", "w1", "w2", NULL};
    static const char *const vector[] = {"mean_l2", "mean_coordinate", NULL};
    const char *const *names = c->is_vector ? vector : index;
    dpot_status status = json_read(option_text(c->run, "plan"), &c->plan, &c->run->error);
    for (; status == DPOT_OK && *names; names++) {
        status = read_band(c, *names);
    }
    return status;
}

static dpot_status prepare_index(struct coverage *c)
{
    const struct dpot_domain *domain = &c->campaign->domain, *output = &c->campaign->output;
    double x[8], y[8];
    dpot_status status = array_read(option_text(c->run, "reported"), &c->reported, &c->run->error);
    if (status == DPOT_OK) {
        status = dpot_private_measure_init(&c->own, c->campaign->n_max, NULL);
    }
    c->histogram = dpot_alloc_array(NULL, domain->size, sizeof(double));
    for (size_t p = 0; p < 2; p++) {
        c->cost[p] = dpot_alloc_array(NULL, (size_t)domain->size * output->size, sizeof(double));
    }
    if (status != DPOT_OK || !c->histogram || !c->cost[0] || !c->cost[1] || domain->dim > 8) {
        return status == DPOT_OK ? DPOT_ERR_MEMORY : status;
    }
    for (uint32_t i = 0; i < domain->size; i++) {
        dpot_domain_point(domain, i, x);
        for (uint32_t j = 0; j < output->size; j++) {
            dpot_domain_point(output, j, y);
            const double d = dpot_metric_distance(&c->campaign->metric, domain->dim, x, y);
            c->cost[0][(size_t)i * output->size + j] = d;
            c->cost[1][(size_t)i * output->size + j] = d * d;
        }
    }
    return DPOT_OK;
}

static dpot_status prepare_vector(struct coverage *c)
{
    const struct dpot_vector_domain *vector = &c->campaign->vector;
    dpot_status status = dpot_private_vector_init(&c->vector, c->width, NULL);
    if (status == DPOT_OK) {
        status = decoder_new(c->campaign, DECODE_DATA, &c->decoder, &c->run->error);
    }
    if (status == DPOT_OK) {
        status = dpot_transformer_new(vector, NULL, &c->transformer);
    }
    c->report.values = dpot_alloc_array(NULL, vector->dim, sizeof *c->report.values);
    c->coefficients = dpot_alloc_array(NULL, vector->dim, sizeof *c->coefficients);
    c->row = dpot_alloc_array(NULL, c->width, sizeof *c->row);
    return status == DPOT_OK && !(c->report.values && c->coefficients && c->row) ? DPOT_ERR_MEMORY
                                                                                 : status;
}

/* The mean of the population. */
static void find_truth(struct coverage *c)
{
    const double share = 1 / (double)c->n_devices;
    for (size_t i = 0; i < c->n_devices; i++) {
        if (!c->is_vector) {
            crowd_add_measure(&c->crowd, i, c->campaign, share, c->truth);
            continue;
        }
        crowd_vector(&c->crowd, i, c->row);
        for (size_t j = 0; j < c->width; j++) {
            c->truth[j] += share * c->row[j];
        }
    }
}

static dpot_status prepare(struct coverage *c)
{
    struct run *run = c->run;
    dpot_status status = campaign_file_load(run, option_text(run, "campaign"), &c->file);
    if (status != DPOT_OK) {
        return status;
    }
    c->campaign = &c->file.campaign;
    c->is_vector = dpot_mechanism_is_vector(c->campaign->mechanism);
    c->width = c->is_vector ? dpot_vector_data_dim(&c->campaign->vector) : c->campaign->output.size;
    const size_t n_truth = c->is_vector ? c->width : c->campaign->domain.size;
    c->truth = dpot_alloc_array(NULL, n_truth, sizeof *c->truth);
    c->result = dpot_alloc_array(NULL, c->width, sizeof *c->result);
    status = c->truth && c->result ? crowd_load(run, c->campaign, c->n_devices, &c->crowd)
                                   : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status = crowd_clamp(run, c->campaign, &c->crowd);
    }
    if (status == DPOT_OK) {
        status = dpot_privatizer_new(c->campaign, NULL, &c->privatizer, &run->error);
    }
    if (status == DPOT_OK) {
        status = c->is_vector ? prepare_vector(c) : prepare_index(c);
    }
    if (status == DPOT_OK) {
        find_truth(c);
        status = read_bands(c);
    }
    return status;
}

/* ---- campaigns ---- */

static void report_index(struct coverage *c, size_t device)
{
    crowd_add_measure(&c->crowd, device, c->campaign, 1, c->histogram);
    dpot_private_measure_set(&c->own, c->histogram, c->campaign->domain.size);
    dpot_privatizer_run(c->privatizer, &c->own, &c->rng, &c->report);
    c->result[c->report.index] += 1 / (double)c->n;
}

static dpot_status report_vector(struct coverage *c, size_t device)
{
    crowd_vector(&c->crowd, device, c->vector.values);
    dpot_privatizer_run_vector(c->privatizer, &c->vector, &c->rng, &c->report);
    const dpot_status status = decoder_run(c->decoder, &c->report, c->row, &c->run->error);
    for (size_t j = 0; j < c->width; j++) {
        c->result[j] += c->row[j] / (double)c->n;
    }
    return status;
}

static dpot_status draw_campaign(struct coverage *c)
{
    dpot_status status = DPOT_OK;
    memset(c->result, 0, c->width * sizeof *c->result);
    dpot_rng_init(&c->rng, &dpot_rng_source_sodium);
    for (uint64_t i = 0; status == DPOT_OK && i < c->n; i++) {
        const double u = ldexp((double)(dpot_rng_u64(&c->rng) >> 11), -53);
        const size_t device = (size_t)(c->is_fixed ? i : (uint64_t)(u * (double)c->n_devices));
        if (c->is_vector) {
            status = report_vector(c, device);
        } else {
            report_index(c, device);
        }
    }
    dpot_rng_release(&c->rng);
    return status;
}

static dpot_status read_pool(struct coverage *c, const char *path)
{
    struct array pool;
    dpot_status status = array_read(path, &pool, &c->run->error);
    if (status != DPOT_OK) {
        return status;
    }
    c->n = pool.n_rows;
    memset(c->result, 0, c->width * sizeof *c->result);
    if (c->is_vector && pool.n_cols != c->width) {
        status =
            dpot_error_set(&c->run->error, DPOT_ERR_SHAPE, "the pool has %zu columns", pool.n_cols);
    }
    for (size_t i = 0; status == DPOT_OK && i < pool.n_rows; i++) {
        for (size_t j = 0; c->is_vector && j < c->width; j++) {
            c->result[j] += pool.values[i * c->width + j] / (double)c->n;
        }
        if (!c->is_vector && !(pool.values[i] < (double)c->width)) {
            status = dpot_error_set(&c->run->error, DPOT_ERR_RANGE, "report %g", pool.values[i]);
        } else if (!c->is_vector) {
            c->result[(size_t)pool.values[i]] += 1 / (double)c->n;
        }
    }
    array_release(&pool);
    return status;
}

/* ---- errors ---- */

static dpot_status measure_index(struct coverage *c, double errors[FIGURES_MAX])
{
    dpot_status status = DPOT_OK;
    errors[0] = 0;
    for (size_t j = 0; j < c->width; j++) {
        errors[0] += fabs(c->result[j] - c->reported.values[2 * j]);
    }
    for (size_t p = 0; status == DPOT_OK && p < 2; p++) {
        struct dpot_exact_result exact;
        status = dpot_exact_ot(c->cost[p], c->truth, c->result, c->campaign->domain.size, c->width,
                               NULL, &exact, &c->run->error);
        if (status == DPOT_OK) {
            errors[1 + p] = pow(exact.transport_cost, 1 / (double)(p + 1));
            dpot_exact_result_release(&exact);
        }
    }
    return status;
}

static void measure_vector(struct coverage *c, uint64_t repetition, double errors[FIGURES_MAX])
{
    double square = 0;
    for (size_t j = 0; j < c->width; j++) {
        c->row[j] = c->result[j] - c->truth[j];
        square += c->row[j] * c->row[j];
    }
    dpot_transformer_forward(c->transformer, c->row, c->coefficients);
    errors[0] = sqrt(square);
    errors[1] = fabs(c->coefficients[repetition % c->campaign->vector.dim]);
}

static dpot_status measure(struct coverage *c, uint64_t repetition)
{
    double errors[FIGURES_MAX] = {0};
    dpot_status status = DPOT_OK;
    if (c->is_vector) {
        measure_vector(c, repetition, errors);
    } else {
        status = measure_index(c, errors);
    }
    for (size_t f = 0; status == DPOT_OK && f < c->n_figures; f++) {
        const double slack = 1e-12 * c->upper[f]; /* the same sums in another order */
        c->sums[f] += errors[f];
        c->n_inside[f] += errors[f] >= c->lower[f] - slack && errors[f] <= c->upper[f] + slack;
    }
    return status;
}

/* ---- the run ---- */

static dpot_status read_options(struct coverage *c)
{
    struct run *run = c->run;
    const char *const needed[] = {"campaign", "plan", "data", "devices"};
    const char *crowd = option_text(run, "crowd"), *text = NULL;
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < 4; i++) {
        status = option_require(run, needed[i], "it", &text);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "devices", 1, DEVICES_MAX, &c->n_devices);
    }
    c->is_fixed = crowd && strcmp(crowd, "fixed") == 0;
    c->n = c->n_devices;
    c->n_repetitions = 1;
    if (status == DPOT_OK) {
        status = option_integer(run, "n", 1, c->is_fixed ? c->n_devices : DEVICES_MAX, &c->n);
    }
    return status == DPOT_OK ? option_integer(run, "repetitions", 1, DEVICES_MAX, &c->n_repetitions)
                             : status;
}

static dpot_status run_coverage(struct coverage *c)
{
    dpot_status status = read_options(c);
    if (status == DPOT_OK) {
        status = prepare(c);
    }
    for (uint64_t r = 0; status == DPOT_OK && r < c->n_repetitions; r++) {
        status = c->run->n_operands > 0 ? read_pool(c, c->run->operands[0]) : draw_campaign(c);
        if (status == DPOT_OK) {
            /* One pool a call: a random coordinate represents all of them. */
            status = measure(c, c->run->n_operands > 0 ? c->run->seed : r);
        }
    }
    for (size_t f = 0; status == DPOT_OK && f < c->n_figures; f++) {
        (void)printf("%s %llu %llu %.10g\n", c->names[f], (unsigned long long)c->n_inside[f],
                     (unsigned long long)c->n_repetitions, c->sums[f]);
    }
    return status;
}

static void release(struct coverage *c)
{
    const struct dpot_campaign *campaign = &c->file.campaign;
    const size_t n_costs = (size_t)campaign->domain.size * campaign->output.size;
    dpot_free_array(NULL, c->truth, c->is_vector ? c->width : campaign->domain.size,
                    sizeof(double));
    dpot_free_array(NULL, c->result, c->width, sizeof(double));
    dpot_free_array(NULL, c->histogram, campaign->domain.size, sizeof(double));
    dpot_free_array(NULL, c->cost[0], n_costs, sizeof(double));
    dpot_free_array(NULL, c->cost[1], n_costs, sizeof(double));
    dpot_free_array(NULL, c->report.values, campaign->vector.dim, sizeof *c->report.values);
    dpot_free_array(NULL, c->coefficients, campaign->vector.dim, sizeof(double));
    dpot_free_array(NULL, c->row, c->width, sizeof(double));
    dpot_private_vector_release(&c->vector);
    dpot_private_measure_release(&c->own);
    dpot_transformer_free(c->transformer);
    decoder_free(c->decoder);
    dpot_privatizer_free(c->privatizer);
    array_release(&c->reported);
    crowd_release(&c->crowd);
    json_decref(c->plan);
    campaign_file_release(&c->file);
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "plan_coverage", .max_operands = 1, .options = options};
    static const struct program program = {.name = "experiment"};
    struct run run = {.program = &program, .command = &command};
    struct coverage coverage = {.run = &run};
    bool wants_help = false;
    dpot_status status = options_parse(&run, argc - 1, argv + 1, &wants_help);
    if (status == DPOT_OK) {
        status = dpot_init();
    }
    if (status == DPOT_OK) {
        status = run_coverage(&coverage);
    }
    if (status != DPOT_OK) {
        (void)fprintf(stderr, "plan_coverage: %s\n",
                      run.error.text[0] ? run.error.text : dpot_status_text(status));
    }
    release(&coverage);
    return status == DPOT_OK ? 0 : 1;
}

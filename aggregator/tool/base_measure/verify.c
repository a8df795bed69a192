/* Certificates of base measures: F.cert.npy and F.json beside F, and their check by anyone.
 *
 * The check uses the costs, the measure and the dual point alone (solve/base_measure_certificate.h), and exact
 * projections for what users pay. It compares what it finds with what the side file says. */
#include "tool/base_measure/job.h"

#include "base/alloc.h"
#include "files/json.h"
#include "solve/base_measure_certificate.h"
#include "solve/base_measure_crowd.h"
#include "solve/base_measure_planes.h"
#include "tool/options.h"
#include "tool/side_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define AGREE_TOL 1e-9 /* relative, of what is found and what is said */
#define PATH_CAP 4096

static const char *const input_names[] = {"cost",     "x",         "v",      "metric",
                                          "power",    "ring-size", "users",  "weights",
                                          "held-out", "campaign",  "epsilon"};
#define N_INPUTS (sizeof input_names / sizeof input_names[0])

void base_measure_job_put_inputs(struct base_measure_job *job)
{
    json_t *inputs = json_object();
    for (size_t i = 0; inputs && i < N_INPUTS; i++) {
        const char *text = option_text(job->run, input_names[i]);
        if (text && json_object_set_new(inputs, input_names[i], json_string(text)) != 0) {
            break;
        }
    }
    if (inputs) {
        (void)json_object_set_new(
            inputs, "seed", json_integer((json_int_t)(job->run->has_seed ? job->run->seed : 1)));
    }
    if (option_is_given(job->run, "normalize") && inputs) {
        (void)json_object_set_new(inputs, "normalize", json_true());
    }
    run_put(job->run, "inputs", inputs);
}

/* ---- the dual point's file ---- */

static dpot_status certificate_path(const char *path, char out[PATH_CAP], struct dpot_error *error)
{
    const int len = snprintf(out, PATH_CAP, "%s.cert.npy", path);
    return len > 0 && len < PATH_CAP
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "the path %.60s... is too long", path);
}

dpot_status base_measure_job_write_certificate(struct base_measure_job *job)
{
    const struct base_measure_answer *answer = &job->answer;
    const size_t k = answer->n_rows;
    struct array dual = {0};
    char path[PATH_CAP];
    if (!job->has_answer || strcmp(job->out_path, "-") == 0) {
        return DPOT_OK;
    }
    dpot_status status = certificate_path(job->out_path, path, &job->run->error);
    if (status == DPOT_OK) {
        status = array_init(&dual, 2 * k + answer->n_points, 1, true);
    }
    if (status == DPOT_OK) {
        memcpy(dual.values, answer->w, k * sizeof(double));
        memcpy(dual.values + k, answer->y, k * sizeof(double));
        memcpy(dual.values + 2 * k, answer->potentials, answer->n_points * sizeof(double));
        status = array_write(path, &dual, ARRAY_F8, &job->run->error);
    }
    array_release(&dual);
    return status;
}

dpot_status base_measure_job_read_certificate(struct base_measure_job *job, const char *path,
                                              struct array *certificate)
{
    char name[PATH_CAP];
    dpot_status status = certificate_path(path, name, &job->run->error);
    if (status == DPOT_OK) {
        status = array_read(name, certificate, &job->run->error);
    }
    return status;
}

/* ---- the check ---- */

/* Puts the inputs of the side file where the command line has none: options of the run. */
dpot_status base_measure_job_take_inputs(struct base_measure_job *job, json_t **side)
{
    struct run *run = job->run;
    const char *path = option_text(run, "verify");
    dpot_status status = side_file_read(path, side, &run->error);
    if (status == DPOT_ERR_NOT_FOUND) {
        return dpot_error_set(&run->error, DPOT_ERR_IO,
                              "%.200s.json is not there: a certificate is the measure, its "
                              ".json and its .cert.npy, keep them together",
                              path);
    }
    if (status != DPOT_OK) {
        return status;
    }
    const json_t *inputs = json_object_get(*side, "inputs");
    if (!run->has_seed && json_is_integer(json_object_get(inputs, "seed"))) {
        run->seed = (uint64_t)json_integer_value(json_object_get(inputs, "seed"));
        run->has_seed = true;
    }
    const bool has_own = option_is_given(run, "cost") || option_is_given(run, "x") ||
                         option_is_given(run, "campaign");
    for (size_t o = 0; run->command->options[o].name; o++) {
        const char *name = run->command->options[o].name;
        const json_t *value = json_object_get(inputs, name);
        const bool is_cost = strcmp(name, "users") != 0 && strcmp(name, "held-out") != 0 &&
                             strcmp(name, "weights") != 0 && strcmp(name, "epsilon") != 0 &&
                             strcmp(name, "normalize") != 0;
        if (value && !option_is_given(run, name) && !(has_own && is_cost)) {
            run->values[o] = json_is_string(value) ? json_string_value(value) : "";
        }
    }
    return DPOT_OK;
}

static dpot_status read_said(struct run *run, const json_t *side, const char *key, double *out)
{
    const json_t *value = json_object_get(side, key);
    if (!json_is_number(value)) {
        return dpot_error_set(&run->error, DPOT_ERR_MALFORMED,
                              "the side file has no number \"%s\": it is not one of a base measure "
                              "with a certificate",
                              key);
    }
    *out = json_number_value(value);
    return DPOT_OK;
}

static dpot_status compare(struct run *run, const char *what, double found, double said)
{
    if (fabs(found - said) <= AGREE_TOL * (fabs(found) + fabs(said))) {
        return DPOT_OK;
    }
    return dpot_error_set(&run->error, DPOT_ERR_CORRUPT,
                          "the %s is %.12g, and the side file says %.12g: measure, certificate, "
                          "inputs and side file do not belong together",
                          what, found, said);
}

static dpot_status expected_cost(struct base_measure_job *job, double *expected)
{
    struct base_measure_crowd *crowd = NULL;
    double *costs = dpot_alloc_array(NULL, job->fit.n, sizeof *costs);
    dpot_status status =
        costs ? base_measure_crowd_new(&job->fit, BASE_MEASURE_GROUPS, job->team, &crowd)
              : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        *expected = base_measure_crowd_costs(crowd, job->base_measure.values, costs);
    }
    base_measure_crowd_free(crowd);
    dpot_free_array(NULL, costs, job->fit.n, sizeof *costs);
    return status;
}

static dpot_status check_measure(struct base_measure_job *job)
{
    struct run *run = job->run;
    const double alpha = exp(-job->epsilon / 2), beta = exp(job->epsilon / 2);
    double total = 0;
    if (job->base_measure.n_rows * job->base_measure.n_cols != job->cost.n_cols) {
        return dpot_error_set(
            &run->error, DPOT_ERR_SHAPE, "the measure has %zu masses for %zu output points",
            job->base_measure.n_rows * job->base_measure.n_cols, job->cost.n_cols);
    }
    for (size_t j = 0; j < job->cost.n_cols; j++) {
        const double m = job->base_measure.values[j];
        if (!(m >= 0 && isfinite(m))) {
            return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                  "mass %zu is %g: masses are finite and not negative", j + 1, m);
        }
        total += m;
    }
    if (!(total >= alpha * (1 - AGREE_TOL) && total <= beta * (1 + AGREE_TOL))) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "the total mass is %.17g: at epsilon %g it lies between %g and %g",
                              total, job->epsilon, alpha, beta);
    }
    return DPOT_OK;
}

struct verdict {
    double objective, worst_case, lower_bound;
};

static dpot_status evaluate(struct base_measure_job *job, const struct array *dual,
                            double worst_share, struct verdict *verdict)
{
    struct run *run = job->run;
    const size_t k = job->cost.n_rows;
    const size_t n_points = job->fit.n > 0 ? job->fit.first[job->fit.n] : 0;
    double expected = 0;
    if (dual->n_rows * dual->n_cols != 2 * k + n_points) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "the certificate has %zu numbers, and these inputs need %zu",
                              dual->n_rows * dual->n_cols, 2 * k + n_points);
    }
    const struct base_measure_certificate certificate = {.n_rows = k,
                                                         .n_cols = job->cost.n_cols,
                                                         .cost = job->cost.values,
                                                         .epsilon = job->epsilon,
                                                         .worst_share = worst_share,
                                                         .w = dual->values,
                                                         .y = dual->values + k,
                                                         .users = job->fit.n > 0 ? &job->fit : NULL,
                                                         .potentials = dual->values + 2 * k};
    dpot_status status = base_measure_certificate_worst(&certificate, job->base_measure.values,
                                                        job->team, &verdict->worst_case, NULL);
    if (status == DPOT_OK && job->fit.n > 0) {
        status = expected_cost(job, &expected);
    }
    if (status != DPOT_OK) {
        return dpot_error_set(&run->error, status, "out of memory for %zu points", k);
    }
    verdict->objective = (1 - worst_share) * expected + worst_share * verdict->worst_case;
    status = base_measure_certificate_bound(&certificate, &verdict->lower_bound, &run->error);
    verdict->lower_bound = fmax(verdict->lower_bound, 0);
    return status == DPOT_OK ? base_measure_certificate_accept(&certificate, verdict->lower_bound,
                                                               &verdict->objective, &run->error)
                             : status;
}

static dpot_status compare_all(struct base_measure_job *job, const json_t *side,
                               const struct verdict *verdict)
{
    double objective = 0, lower_bound = 0, worst = 0;
    dpot_status status = read_said(job->run, side, "objective", &objective);
    if (status == DPOT_OK) {
        status = read_said(job->run, side, "lower_bound", &lower_bound);
    }
    if (status == DPOT_OK) {
        status = read_said(job->run, side, "worst_case", &worst);
    }
    if (status == DPOT_OK) {
        status = compare(job->run, "objective", verdict->objective, objective);
    }
    if (status == DPOT_OK) {
        status =
            compare(job->run, "worst case", pow(verdict->worst_case, 1 / job->cost_power), worst);
    }
    if (status == DPOT_OK && verdict->lower_bound < lower_bound * (1 - AGREE_TOL)) {
        status = compare(job->run, "lower bound", verdict->lower_bound, lower_bound);
    }
    return status;
}

dpot_status base_measure_job_verify(struct base_measure_job *job, const json_t *side)
{
    struct run *run = job->run;
    struct array dual = {0};
    struct verdict verdict = {0};
    double worst_share = 0;
    const char *path = option_text(run, "verify");
    array_release(&job->base_measure);
    dpot_status status = array_read(path, &job->base_measure, &run->error);
    if (status == DPOT_OK) {
        status = base_measure_job_read_certificate(job, path, &dual);
    }
    if (status == DPOT_OK) {
        status = base_measure_job_place_weights(job);
    }
    if (status == DPOT_OK) {
        status = read_said(run, side, "worst_share", &worst_share);
    }
    if (status == DPOT_OK && !(worst_share >= 0 && worst_share <= 1)) {
        status = dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                "worst_share is %g: it lies between 0 and 1", worst_share);
    }
    if (status == DPOT_OK) {
        status = check_measure(job);
    }
    if (status == DPOT_OK) {
        status = evaluate(job, &dual, worst_share, &verdict);
    }
    if (status == DPOT_OK) {
        status = compare_all(job, side, &verdict);
    }
    array_release(&dual);
    if (status == DPOT_OK) {
        run_put_text(run, "verdict", "valid");
        run_put_number(run, "objective", verdict.objective);
        run_put_number(run, "worst_case", pow(verdict.worst_case, 1 / job->cost_power));
        run_put_number(run, "lower_bound", verdict.lower_bound);
        run_put_number(run, "relative_gap",
                       phi_relative_gap(verdict.objective, verdict.lower_bound));
    }
    return status;
}

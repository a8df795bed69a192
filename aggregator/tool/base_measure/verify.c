/* Certificates of base measures: F.cert.npy and F.json beside F, and their verification.
 *
 * Verification uses the costs, the measure and the dual point alone
 * (solve/base_measure/certificate.h), and exact projections for the costs of users. It compares its
 * results with the side file. */
#include "tool/base_measure/job.h"

#include "base/alloc.h"
#include "solve/base_measure/certificate.h"
#include "solve/base_measure/crowd.h"
#include "solve/base_measure/planes.h"
#include "tool/shared/options.h"
#include "json/json.h"
#include "json/side_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AGREE_TOL 1e-9 /* relative, between the result and the side file */
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

/* ---- file of the dual point ---- */

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

static dpot_status read_certificate(struct base_measure_job *job, const char *path,
                                    struct array *certificate)
{
    char name[PATH_CAP];
    dpot_status status = certificate_path(path, name, &job->run->error);
    if (status == DPOT_OK) {
        status = array_read(name, certificate, &job->run->error);
    }
    return status;
}

/* ---- inputs of the side file ---- */

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Options that are not taken from the side file when the command line gives a cost. */
static bool is_of_cost(const char *name)
{
    static const char *const others[] = {"users", "held-out", "weights", "epsilon", "normalize"};
    return !is_one_of(name, others, sizeof others / sizeof others[0]);
}

/* Accepts only names and values that this program writes. */
static dpot_status check_inputs(struct run *run, json_t *inputs)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(inputs, name, value)
    {
        const bool is_text = is_one_of(name, input_names, N_INPUTS);
        const bool is_seed = strcmp(name, "seed") == 0;
        const bool is_normalize = strcmp(name, "normalize") == 0;
        if (!is_text && !is_seed && !is_normalize) {
            return dpot_error_set(
                &run->error, DPOT_ERR_CORRUPT,
                "inputs of the side file name \"%.40s\", which is no input of a "
                "certificate: use the side file that the measure was written with",
                name);
        }
        if ((is_text && !json_is_string(value)) || (is_normalize && !json_is_true(value)) ||
            (is_seed && !(json_is_integer(value) && json_integer_value(value) >= 0))) {
            return dpot_error_set(&run->error, DPOT_ERR_CORRUPT,
                                  "inputs.%.40s of the side file is not what was written there: "
                                  "use the side file that the measure was written with",
                                  name);
        }
    }
    return DPOT_OK;
}

/* Finds a file named in the side file: as named, otherwise in the folder of the measure. */
static dpot_status find_file(struct run *run, const char *path, json_t *inputs, const char *name)
{
    const char *text = json_string_value(json_object_get(inputs, name));
    const char *slash = strrchr(path, '/');
    char beside[PATH_CAP];
    if (access(text, R_OK) == 0 || strcmp(name, "campaign") == 0) {
        return DPOT_OK;
    }
    const int len = slash && text[0] != '/' ? snprintf(beside, sizeof beside, "%.*s/%s",
                                                       (int)(slash - path), path, text)
                                            : 0;
    if (len > 0 && len < PATH_CAP && access(beside, R_OK) == 0) {
        return json_object_set_new(inputs, name, json_string(beside)) == 0 ? DPOT_OK
                                                                           : DPOT_ERR_MEMORY;
    }
    return dpot_error_set(&run->error, DPOT_ERR_IO,
                          "--%s was %.200s when the measure was made, and that can be read neither "
                          "from here nor beside %.200s: names are relative to the folder where it "
                          "was made, go there or say --%s F",
                          name, text, path, name);
}

static dpot_status take_input(struct run *run, const char *path, json_t *inputs, size_t o)
{
    static const char *const files[] = {"cost",     "x",       "v",       "users",
                                        "held-out", "weights", "campaign"};
    const char *name = run->command->options[o].name;
    dpot_status status = DPOT_OK;
    if (is_one_of(name, files, sizeof files / sizeof files[0])) {
        status = find_file(run, path, inputs, name);
    }
    const json_t *value = json_object_get(inputs, name);
    run->values[o] = json_is_string(value) ? json_string_value(value) : "";
    return status;
}

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
    json_t *inputs = json_object_get(*side, "inputs");
    status = check_inputs(run, inputs);
    if (status == DPOT_OK && !run->has_seed && json_object_get(inputs, "seed")) {
        run->seed = (uint64_t)json_integer_value(json_object_get(inputs, "seed"));
        run->has_seed = true;
    }
    const bool has_own = option_is_given(run, "cost") || option_is_given(run, "x") ||
                         option_is_given(run, "campaign");
    for (size_t o = 0; status == DPOT_OK && run->command->options[o].name; o++) {
        const char *name = run->command->options[o].name;
        if (json_object_get(inputs, name) && !option_is_given(run, name) &&
            !(has_own && is_of_cost(name))) {
            status = take_input(run, path, inputs, o);
        }
    }
    return status;
}

/* ---- verification ---- */

static dpot_status read_claim(struct run *run, const json_t *side, const char *key, double *out)
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

static dpot_status compare(struct run *run, const char *what, double found, double claim)
{
    if (fabs(found - claim) <= AGREE_TOL * (fabs(found) + fabs(claim))) {
        return DPOT_OK;
    }
    return dpot_error_set(&run->error, DPOT_ERR_CORRUPT,
                          "the %s is %.12g, and the side file says %.12g: measure, certificate, "
                          "inputs and side file do not belong together",
                          what, found, claim);
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

/* Compares every number that follows from inputs, measure and dual point. */
static dpot_status compare_numbers(struct base_measure_job *job, const json_t *side,
                                   const struct verdict *verdict)
{
    double total = 0;
    for (size_t j = 0; j < job->cost.n_cols; j++) {
        total += job->base_measure.values[j];
    }
    const struct {
        const char *key, *what;
        double found;
    } numbers[] = {
        {"k", "number of input points", (double)job->cost.n_rows},
        {"kv", "number of output points", (double)job->cost.n_cols},
        {"epsilon", "epsilon", job->epsilon},
        {"power", "power", job->cost_power},
        {"total_mass", "total mass", total},
        {"objective", "objective", verdict->objective},
        {"worst_case", "worst case", pow(verdict->worst_case, 1 / job->cost_power)},
        {"lower_bound", "lower bound", verdict->lower_bound},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        double claim = 0;
        dpot_status status = read_claim(job->run, side, numbers[i].key, &claim);
        if (status == DPOT_OK) {
            status = compare(job->run, numbers[i].what, numbers[i].found, claim);
        }
        if (status != DPOT_OK) {
            return status;
        }
    }
    return DPOT_OK;
}

/* Absolute: objective and lower bound agree to AGREE_TOL only, so their difference has no relative
 * accuracy. */
static dpot_status compare_gap(struct base_measure_job *job, const json_t *side,
                               const struct verdict *verdict)
{
    const double gap = phi_relative_gap(verdict->objective, verdict->lower_bound);
    double claim = 0;
    const dpot_status status = read_claim(job->run, side, "relative_gap", &claim);
    return status == DPOT_OK && fabs(gap - claim) > 4 * AGREE_TOL
               ? compare(job->run, "relative gap", gap, claim)
               : status;
}

static dpot_status compare_word(struct run *run, const char *key, const char *found,
                                const json_t *side)
{
    const char *claim = json_string_value(json_object_get(side, key));
    if (claim && strcmp(claim, found) == 0) {
        return DPOT_OK;
    }
    return dpot_error_set(&run->error, DPOT_ERR_CORRUPT,
                          "the side file says \"%.40s\" for %s, and its certificate and inputs are "
                          "of \"%s\": use the side file that the measure was written with",
                          claim ? claim : "", key, found);
}

static dpot_status compare_words(struct base_measure_job *job, const json_t *side,
                                 double worst_share)
{
    struct run *run = job->run;
    const bool has_cuts = json_object_get(side, "cuts") != NULL;
    const char *claim = json_string_value(json_object_get(side, "method"));
    const bool is_uniform = claim && strcmp(claim, "uniform") == 0;
    const char *method = has_cuts || !job->distributions.values ? "certified"
                         : is_uniform                           ? "uniform"
                                                                : "mirror";
    const char *minimises = job->fit.n == 0              ? "worst_case"
                            : !job->distributions.values ? "weighted_mean"
                            : worst_share > 0            ? "mixed"
                                                         : "expected_cost";
    double n_users = 0;
    dpot_status status = compare_word(run, "method", method, side);
    if (status == DPOT_OK) {
        status = compare_word(run, "minimises", minimises, side);
    }
    if (status == DPOT_OK && job->distributions.values) {
        status = read_claim(run, side, "users", &n_users);
        if (status == DPOT_OK) {
            status = compare(run, "number of users", (double)job->fit.n, n_users);
        }
    }
    return status;
}

static dpot_status compare_all(struct base_measure_job *job, const json_t *side, double worst_share,
                               const struct verdict *verdict)
{
    dpot_status status = compare_numbers(job, side, verdict);
    if (status == DPOT_OK) {
        status = compare_gap(job, side, verdict);
    }
    return status == DPOT_OK ? compare_words(job, side, worst_share) : status;
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
        status = read_certificate(job, path, &dual);
    }
    if (status == DPOT_OK) {
        status = base_measure_job_place_weights(job);
    }
    if (status == DPOT_OK) {
        status = read_claim(run, side, "worst_share", &worst_share);
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
        status = compare_all(job, side, worst_share, &verdict);
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

/* dpot central barycenter: options. */
#include "account/zcdp.h"
#include "tool/central/barycenter.h"
#include "tool/central/ledger.h"
#include "tool/shared/options.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define DELTA_MAX 0.01
#define RHO_LEAST 1e-30

static const char *const names[] = {"coreset", "non-private", "noisy-exact", "noisy-agnostic"};

const char *central_method_name(enum central_method method)
{
    return names[method];
}

const char *central_mechanism_name(enum central_method method)
{
    static const char *const mechanisms[] = {"private-measure", "none", "noisy-barycenter-exact",
                                             "noisy-barycenter-agnostic"};
    return mechanisms[method];
}

bool central_is_noisy(enum central_method method)
{
    return method == METHOD_NOISY_EXACT || method == METHOD_NOISY_AGNOSTIC;
}

static dpot_status read_method(struct central_barycenter *job)
{
    const char *text = option_text(job->run, "method");
    bool is_known = !text;
    job->method = METHOD_CORESET;
    for (size_t i = 0; text && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            job->method = (enum central_method)i;
            is_known = true;
        }
    }
    if (!is_known) {
        return RUN_USAGE(job->run,
                         "--method is %.40s: choose coreset, noisy-exact, noisy-agnostic or, in "
                         "simulations, non-private",
                         text);
    }
    if (job->method == METHOD_NON_PRIVATE && !job->guarantee.is_simulation) {
        return dpot_error_set(&job->run->error, DPOT_ERR_SIMULATION,
                              "--method non-private protects nobody: it is there to compare "
                              "with, in experiments marked --simulation");
    }
    return DPOT_OK;
}

/* Refuses options that the method does not use. */
static dpot_status check_method(struct central_barycenter *job)
{
    static const char *const of_coreset[] = {"depth",  "shrink",         "starts",     "project",
                                             "lambda", "max-iterations", "max-sweeps", "tol"};
    static const char *const of_noisy[] = {"delta", "iterations", "resolution", "init",
                                           "init-seed"};
    const bool is_noisy = central_is_noisy(job->method);
    const char *const *others = is_noisy ? of_coreset : of_noisy;
    const size_t n_others =
        is_noisy ? sizeof of_coreset / sizeof of_coreset[0] : sizeof of_noisy / sizeof of_noisy[0];
    for (size_t i = 0; i < n_others; i++) {
        if (option_is_given(job->run, others[i])) {
            return RUN_USAGE(job->run, "--%s does nothing with --method %s: leave it out",
                             others[i], names[job->method]);
        }
    }
    if (option_is_given(job->run, "max-sweeps") && !option_is_given(job->run, "lambda")) {
        return RUN_USAGE(job->run,
                         "--max-sweeps does nothing without --lambda: exact plans have no sweeps");
    }
    return option_excludes(job->run, "init", "init-seed", "the start is given");
}

/* The largest rho whose epsilon at delta is at most `epsilon`, by bisection of log rho. The lower
 * end is valid at every step. */
static double find_rho(double epsilon, double delta)
{
    double low = log(RHO_LEAST), high = log(epsilon * epsilon + 2 * epsilon);
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        if (zcdp_epsilon(exp(middle), delta) <= epsilon) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return exp(low);
}

static dpot_status choose_rho(struct central_barycenter *job)
{
    struct guarantee *guarantee = &job->guarantee;
    const double epsilon = guarantee_round(guarantee->epsilon, (double)LEDGER_ONE);
    const double delta = guarantee_round(guarantee->delta, LEDGER_DELTA_ONE);
    guarantee->rho = find_rho(epsilon, delta);
    return zcdp_epsilon(guarantee->rho, delta) <= epsilon
               ? DPOT_OK
               : RUN_USAGE(job->run,
                           "--epsilon %g and --delta %g leave nothing to spend: choose larger ones",
                           guarantee->epsilon, guarantee->delta);
}

static dpot_status read_delta(struct central_barycenter *job)
{
    const char *text = NULL;
    if (!central_is_noisy(job->method)) {
        return DPOT_OK;
    }
    dpot_status status =
        option_require(job->run, "delta", "a number far below 1 / n, such as 1e-6", &text);
    if (status == DPOT_OK) {
        status = option_positive(job->run, "delta", DELTA_MAX, &job->guarantee.delta);
    }
    return status == DPOT_OK ? choose_rho(job) : status;
}

static dpot_status read_integers(struct central_barycenter *job)
{
    const struct {
        const char *name;
        uint64_t max;
        uint64_t *out;
    } integers[] = {
        {"support", BARYCENTER_SUPPORT_MAX, &job->support_size},
        {"depth", BUDGET_DEPTH_MAX, &job->depth},
        {"max-points", 1u << 24, &job->cells},
        {"starts", BARYCENTER_STARTS_MAX, &job->n_starts},
        {"project", COLUMNS_MAX, &job->project},
        {"max-iterations", BARYCENTER_ITERATIONS_MAX, &job->outer},
        {"max-sweeps", 1000000000, &job->inner},
        {"iterations", NOISY_ITERATIONS_MAX, &job->iterations},
        {"resolution", LATTICE_CELLS_MAX, &job->resolution},
        {"init-seed", UINT32_MAX, &job->start_seed},
    };
    const char *text = NULL;
    dpot_status status = option_require(job->run, "support", "how many points are wanted", &text);
    for (size_t i = 0; status == DPOT_OK && i < sizeof integers / sizeof integers[0]; i++) {
        status = option_integer(job->run, integers[i].name, 1, integers[i].max, integers[i].out);
    }
    return status;
}

static dpot_status read_numbers(struct central_barycenter *job)
{
    struct run *run = job->run;
    dpot_status status = read_integers(job);
    if (status == DPOT_OK) {
        status = option_number(run, "shrink", 0, 1, &job->shrink);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "tol", 0, 1, &job->tol);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "lambda", DBL_MAX, &job->lambda);
    }
    return status == DPOT_OK ? read_delta(job) : status;
}

dpot_status central_read_options(struct central_barycenter *job)
{
    struct run *run = job->run;
    job->cells = 4096;
    job->n_starts = 3;
    job->outer = 500;
    job->inner = 2000;
    job->tol = 1e-4;
    job->shrink = 1;
    job->iterations = 4;
    job->resolution = 1024;
    job->start_seed = 1;
    dpot_status status = guarantee_read(run, ADJACENCY_REPLACE_ONE, 0, &job->guarantee);
    if (status == DPOT_OK) {
        status = records_check_options(run);
    }
    if (status == DPOT_OK) {
        status = read_method(job);
    }
    if (status == DPOT_OK) {
        status = check_method(job);
    }
    if (status == DPOT_OK) {
        status = read_numbers(job);
    }
    if (status == DPOT_OK) {
        status =
            option_require_array_output(run, "out", "a file for the barycenter", &job->out_path);
    }
    return status;
}

#include "solve/estimate/channel_em.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define SUM_TOL 1e-6

struct steps {
    const struct channel_em_config *config;
    double *weights; /* (n_inputs) those of the result */
    double *law;     /* (n_outputs) f */
    double *ratio;   /* (n_outputs) c / f */
    double *rise;    /* (n_inputs) g */
    double n;        /* reports */
};

/* ---- validation ---- */

static dpot_status check_sizes(const struct channel_em_config *config, struct dpot_error *error)
{
    if (config->n_inputs == 0 || config->n_outputs == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the channel is %zu x %zu: it needs rows and columns",
                              config->n_inputs, config->n_outputs);
    }
    if (config->n_inputs > CHANNEL_EM_SIZE_MAX / config->n_outputs) {
        return dpot_error_set(
            error, DPOT_ERR_TOO_LARGE,
            "the channel is %zu x %zu: at most %zu entries are held, use fewer points",
            config->n_inputs, config->n_outputs, CHANNEL_EM_SIZE_MAX);
    }
    if (config->max_iterations == 0 || config->max_iterations > CHANNEL_EM_ITERATIONS_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%zu iterations: choose 1 to %d",
                              config->max_iterations, CHANNEL_EM_ITERATIONS_MAX);
    }
    return config->tol >= 0 ? DPOT_OK
                            : dpot_error_set(error, DPOT_ERR_RANGE,
                                             "the tolerance is %g: give 0 or more", config->tol);
}

/* Whether all are finite and >= 0; *sum is their sum. */
static bool is_measure(const double *values, size_t n, double *sum)
{
    *sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(values[i] >= 0 && isfinite(values[i]))) {
            return false;
        }
        *sum += values[i];
    }
    return isfinite(*sum);
}

static dpot_status check_entries(const struct channel_em_config *config, double *n,
                                 struct dpot_error *error)
{
    double sum = 0;
    for (size_t l = 0; l < config->n_inputs; l++) {
        if (!is_measure(config->channel + l * config->n_outputs, config->n_outputs, &sum) ||
            !(fabs(sum - 1) <= SUM_TOL)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "row %zu of the channel is no distribution: give entries of at "
                                  "least 0 with sum 1",
                                  l + 1);
        }
    }
    if (!is_measure(config->counts, config->n_outputs, n) || !(*n > 0)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the counts are not those of a pool: give numbers of at least 0, not "
                              "all of them 0");
    }
    if (config->start &&
        (!is_measure(config->start, config->n_inputs, &sum) || !(fabs(sum - 1) <= SUM_TOL))) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the weights to start from are no distribution: give numbers of at "
                              "least 0 with sum 1");
    }
    return DPOT_OK;
}

/* ---- steps ---- */

/* Computes f and c / f and returns L for the current weights. NAN: a reported output has
 * probability 0. */
static double evaluate(struct steps *s)
{
    const struct channel_em_config *config = s->config;
    double log_likelihood = 0;
    config->linalg->gemv(DPOT_TRANSPOSE, config->n_inputs, config->n_outputs, 1, config->channel,
                         config->n_outputs, s->weights, 0, s->law);
    for (size_t j = 0; j < config->n_outputs; j++) {
        const double count = config->counts[j];
        if (count > 0 && !(s->law[j] > 0)) {
            return NAN;
        }
        s->ratio[j] = count > 0 ? count / s->law[j] : 0;
        log_likelihood += count > 0 ? count * log(s->law[j]) : 0;
    }
    return log_likelihood;
}

/* Computes g from c / f; returns its maximum. */
static double find_rise(struct steps *s)
{
    const struct channel_em_config *config = s->config;
    double most = 0;
    config->linalg->gemv(DPOT_NO_TRANSPOSE, config->n_inputs, config->n_outputs, 1 / s->n,
                         config->channel, config->n_outputs, s->ratio, 0, s->rise);
    for (size_t l = 0; l < config->n_inputs; l++) {
        most = fmax(most, s->rise[l]);
    }
    return most;
}

/* Normalises: rounding of sum w g = 1 must not accumulate over many steps. */
static void move(struct steps *s)
{
    const size_t n_inputs = s->config->n_inputs;
    double sum = 0;
    for (size_t l = 0; l < n_inputs; l++) {
        s->weights[l] *= s->rise[l];
        sum += s->weights[l];
    }
    for (size_t l = 0; l < n_inputs; l++) {
        s->weights[l] /= sum;
    }
}

static dpot_status refuse_output(const struct steps *s, struct dpot_error *error)
{
    size_t j = 0;
    while (j + 1 < s->config->n_outputs && !(s->config->counts[j] > 0 && !(s->law[j] > 0))) {
        j++;
    }
    return dpot_error_set(
        error, DPOT_ERR_RANGE,
        "output %zu was reported %g times and no datum with weight makes it: are the "
        "reports those of this channel?",
        j, s->config->counts[j]);
}

static dpot_status iterate(struct steps *s, const struct solve_control *control,
                           struct channel_em_result *result, struct dpot_error *error)
{
    const struct channel_em_config *config = s->config;
    result->log_likelihood = evaluate(s);
    if (isnan(result->log_likelihood)) {
        return refuse_output(s, error);
    }
    result->outcome = config->tol > 0 ? SOLVE_ITERATION_LIMIT : SOLVE_CONVERGED;
    result->curve[0] = result->log_likelihood;
    while (result->iterations < config->max_iterations) {
        (void)find_rise(s);
        move(s);
        const double before = result->log_likelihood;
        result->log_likelihood = evaluate(s);
        result->gain = result->log_likelihood - before;
        result->curve[++result->iterations] = result->log_likelihood;
        if (config->tol > 0 && result->iterations >= config->min_iterations &&
            result->gain < config->tol) {
            result->outcome = SOLVE_CONVERGED;
            break;
        }
        if (solve_control_stops(control, result->iterations, config->max_iterations,
                                &result->outcome)) {
            break;
        }
    }
    result->headroom = fmax(0, s->n * log(find_rise(s)));
    return DPOT_OK;
}

/* ---- the run ---- */

static dpot_status allocate(struct steps *s, struct channel_em_result *result,
                            struct dpot_error *error)
{
    const struct channel_em_config *config = s->config;
    result->n_inputs = config->n_inputs;
    result->curve_cap = config->max_iterations + 1;
    result->weights = dpot_alloc_array(NULL, config->n_inputs, sizeof(double));
    result->curve = dpot_alloc_array(NULL, result->curve_cap, sizeof(double));
    s->weights = result->weights;
    s->law = dpot_alloc_array(NULL, config->n_outputs, sizeof(double));
    s->ratio = dpot_alloc_array(NULL, config->n_outputs, sizeof(double));
    s->rise = dpot_alloc_array(NULL, config->n_inputs, sizeof(double));
    if (!result->weights || !result->curve || !s->law || !s->ratio || !s->rise) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a channel of %zu x %zu",
                              config->n_inputs, config->n_outputs);
    }
    for (size_t l = 0; l < config->n_inputs; l++) {
        s->weights[l] = config->start ? config->start[l] : 1 / (double)config->n_inputs;
    }
    return DPOT_OK;
}

dpot_status channel_em_run(const struct channel_em_config *config,
                           const struct solve_control *control, struct channel_em_result *result,
                           struct dpot_error *error)
{
    struct steps s = {.config = config};
    *result = (struct channel_em_result){.outcome = SOLVE_CONVERGED};
    dpot_status status = check_sizes(config, error);
    if (status == DPOT_OK) {
        status = check_entries(config, &s.n, error);
    }
    if (status == DPOT_OK) {
        status = allocate(&s, result, error);
    }
    if (status == DPOT_OK) {
        status = iterate(&s, control, result, error);
    }
    dpot_free_array(NULL, s.law, config->n_outputs, sizeof(double));
    dpot_free_array(NULL, s.ratio, config->n_outputs, sizeof(double));
    dpot_free_array(NULL, s.rise, config->n_inputs, sizeof(double));
    if (status != DPOT_OK) {
        channel_em_result_release(result);
    }
    return status;
}

void channel_em_result_release(struct channel_em_result *result)
{
    dpot_free_array(NULL, result->weights, result->n_inputs, sizeof(double));
    dpot_free_array(NULL, result->curve, result->curve_cap, sizeof(double));
    *result = (struct channel_em_result){.outcome = SOLVE_CONVERGED};
}

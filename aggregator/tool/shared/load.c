#include "tool/shared/load.h"

#include "base/alloc.h"
#include "model/measure.h"
#include "ot/cost.h"
#include "solve/transport/entropic.h"
#include "tool/shared/options.h"

#include <math.h>
#include <string.h>

#define POWER_MAX 64
#define SUM_TOL 1e-6 /* absolute, on a sum of 1 */

dpot_status load_form(struct run *run, const char *name, const struct array_form *form,
                      struct array *array)
{
    struct dpot_error sentence;
    const char *path = option_text(run, name);
    *array = (struct array){0};
    if (strcmp(path, "-") == 0) {
        if (run->reads_stdin) {
            return RUN_USAGE(run, "--%s - is the second input from stdin: name a file", name);
        }
        run->reads_stdin = true;
    }
    const dpot_status status = array_read_form(path, form, array, &run->error);
    if (array_explain_names(path, array, &sentence)) {
        run_warn(run, "%s", sentence.text);
    }
    return status == DPOT_OK ? status : dpot_error_prefix(&run->error, status, "--%s", name);
}

dpot_status load_array(struct run *run, const char *name, struct array *array)
{
    const dpot_status status = load_form(run, name, &(struct array_form){0}, array);
    if (status != DPOT_OK) {
        array_release(array);
    }
    return status;
}

struct array_form load_form_options(const struct run *run)
{
    return (struct array_form){.columns = option_text(run, "columns"),
                               .header = option_is_given(run, "header") ? ARRAY_HEADER_YES
                                                                        : ARRAY_HEADER_AUTO};
}

dpot_status load_private(struct run *run, const char *name, bool has_header, struct array *array)
{
    const struct array_form form = {.header = has_header ? ARRAY_HEADER_YES : ARRAY_HEADER_NO,
                                    .is_private = true,
                                    .is_large = true};
    const dpot_status status = load_form(run, name, &form, array);
    if (status != DPOT_OK) {
        array_wipe(array);
    } else if (array->source == ARRAY_TEXT && !has_header && !array->names) {
        run_warn(run,
                 "--%s %.120s: every line is taken for a record: say --header if the first one "
                 "has names",
                 name, option_text(run, name));
    }
    return status;
}

dpot_status load_finite(struct run *run, const char *name, struct array *array)
{
    return load_finite_form(run, name, &(struct array_form){0}, array);
}

dpot_status load_finite_form(struct run *run, const char *name, const struct array_form *form,
                             struct array *array)
{
    dpot_status status = load_form(run, name, form, array);
    for (size_t i = 0; status == DPOT_OK && i < array->n_rows * array->n_cols; i++) {
        if (!isfinite(array->values[i])) {
            status = dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                    "--%s %s: row %zu, column %zu is %g: give a finite number",
                                    name, option_text(run, name), i / array->n_cols + 1,
                                    i % array->n_cols + 1, array->values[i]);
        }
    }
    if (status != DPOT_OK) {
        array_release(array);
    }
    return status;
}

static dpot_status check_row(struct run *run, const char *name, size_t row, double *weights,
                             size_t n)
{
    const bool normalize = option_is_given(run, "normalize");
    double sum = 0;
    bool is_sound = true;
    for (size_t i = 0; i < n; i++) {
        is_sound = is_sound && isfinite(weights[i]) && weights[i] >= 0;
        sum += weights[i];
    }
    if (is_sound && sum > 0 && isfinite(sum) && !normalize && !(fabs(sum - 1) <= SUM_TOL)) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "--%s %s: the weights of row %zu sum to %.9g, not to 1: correct "
                              "them%s",
                              name, option_text(run, name), row + 1, sum,
                              option_is_known(run, "normalize") ? " or add --normalize" : "");
    }
    const dpot_status status = dpot_weights_check(weights, n, normalize, &run->error);
    return status == DPOT_OK ? status
                             : dpot_error_prefix(&run->error, status, "--%s %s, row %zu", name,
                                                 option_text(run, name), row + 1);
}

static const char *weighed_by(const char *name)
{
    return strcmp(name, "group-weights") == 0 ? "group" : "point";
}

dpot_status load_weights(struct run *run, const char *name, size_t width, struct array *array)
{
    dpot_status status = load_array(run, name, array);
    if (status != DPOT_OK) {
        return status;
    }
    /* A column of length `width` is one measure, even when saved as (width, 1). */
    const bool is_column =
        array->n_cols == 1 && (array->is_vector || array->n_rows == width || width == 0);
    const size_t n = is_column ? array->n_rows : array->n_cols;
    const size_t n_measures = is_column ? 1 : array->n_rows;
    if (width != 0 && n != width) {
        status = dpot_error_set(
            &run->error, DPOT_ERR_SHAPE, "--%s %s has %zu weight%s for %zu %s%s: they must agree",
            name, option_text(run, name), n, DPOT_S(n), width, weighed_by(name), DPOT_S(width));
    }
    array->is_vector = is_column;
    for (size_t r = 0; status == DPOT_OK && r < n_measures; r++) {
        status = check_row(run, name, r, array->values + r * n, n);
    }
    if (status != DPOT_OK) {
        array_release(array);
    }
    return status;
}

dpot_status load_measure(struct run *run, const char *name, size_t width, struct array *array)
{
    const dpot_status status = load_weights(run, name, width, array);
    if (status != DPOT_OK || array->is_vector || array->n_rows == 1) {
        return status;
    }
    const size_t n_rows = array->n_rows;
    array_release(array);
    return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                          "--%s %s has %zu rows of weights: give one measure", name,
                          option_text(run, name), n_rows);
}

const char *cost_output_option(const struct run *run)
{
    return option_is_given(run, "x") && !option_is_given(run, "v") ? "x" : "v";
}

void cost_release(struct cost *cost)
{
    dpot_free_array(NULL, cost->values, cost->n_rows * cost->n_cols, sizeof *cost->values);
    *cost = (struct cost){0};
}

dpot_status metric_read_options(struct run *run, struct dpot_metric *metric, double *power)
{
    const char *name = option_text(run, "metric");
    uint64_t ring_size = 0;
    dpot_status status = DPOT_OK;
    if (name && dpot_metric_find(name, &metric->id) != DPOT_OK) {
        status = RUN_USAGE(run,
                           "--metric is %.40s: choose euclidean, l1, linf, cosine, haversine or "
                           "ring",
                           name);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "power", POWER_MAX, power);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "ring-size", 1, DPOT_DOMAIN_SIZE_MAX, &ring_size);
    }
    if (status == DPOT_OK && (metric->id == DPOT_METRIC_RING) != (ring_size > 0)) {
        status = RUN_USAGE(run, metric->id == DPOT_METRIC_RING
                                    ? "--metric ring needs --ring-size K"
                                    : "--ring-size goes with --metric ring only");
    }
    metric->ring_size = (uint32_t)ring_size;
    return status;
}

static dpot_status check_metric_options(struct run *run, struct dpot_metric *metric, double *power)
{
    const char *name = NULL;
    *metric = (struct dpot_metric){0};
    *power = 1;
    const dpot_status status =
        option_require(run, "metric", "euclidean, l1, linf, cosine, haversine or ring", &name);
    return status == DPOT_OK ? metric_read_options(run, metric, power) : status;
}

dpot_status cost_check_options(struct run *run, const char *x, const char *v)
{
    struct dpot_metric metric;
    double power = 0;
    const char *const points_only[] = {x, v, "metric", "power", "ring-size"};
    const char *text = NULL;
    if (option_is_given(run, "cost")) {
        dpot_status status = DPOT_OK;
        for (size_t i = 0; status == DPOT_OK && i < 5; i++) {
            status = option_excludes(run, "cost", points_only[i], "the cost is given as it is");
        }
        return status;
    }
    if (!option_is_given(run, x) && !option_is_given(run, v)) {
        return RUN_USAGE(run, "there is no cost: give --cost F, or --%s F --%s F --metric M", x, v);
    }
    dpot_status status = option_require(run, x, "a file of points", &text);
    if (status == DPOT_OK) {
        status = option_require(run, v, "a file of points", &text);
    }
    return status == DPOT_OK ? check_metric_options(run, &metric, &power) : status;
}

/* Checks that all entries are finite, and finds their range. */
static dpot_status measure_cost(struct run *run, struct cost *cost)
{
    double least = INFINITY, largest = -INFINITY;
    for (size_t i = 0; i < cost->n_rows * cost->n_cols; i++) {
        if (!isfinite(cost->values[i])) {
            return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                  "the cost of row %zu, column %zu is %g: scale the points or "
                                  "lower --power",
                                  i / cost->n_cols + 1, i % cost->n_cols + 1, cost->values[i]);
        }
        least = fmin(least, cost->values[i]);
        largest = fmax(largest, cost->values[i]);
    }
    cost->range = largest - least;
    return DPOT_OK;
}

static dpot_status load_cost_matrix(struct run *run, struct cost *cost)
{
    struct array array;
    const dpot_status status = load_finite(run, "cost", &array);
    if (status != DPOT_OK) {
        return status;
    }
    *cost = (struct cost){.n_rows = array.n_rows, .n_cols = array.n_cols, .values = array.values};
    return DPOT_OK;
}

static dpot_status fill_cost(struct run *run, const struct dpot_metric *metric, double power,
                             uint32_t dim, const double *x, size_t n_rows, const double *v,
                             size_t n_cols, struct cost *cost)
{
    if (n_rows > ARRAY_ENTRIES_MAX / n_cols) {
        return dpot_error_set(&run->error, DPOT_ERR_TOO_LARGE,
                              "the cost matrix would be %zu x %zu, %.0f bytes: at most %zu entries "
                              "are held, give fewer points",
                              n_rows, n_cols,
                              (double)n_rows * (double)n_cols * (double)sizeof(double),
                              ARRAY_ENTRIES_MAX);
    }
    cost->values = dpot_alloc_array(NULL, n_rows * n_cols, sizeof *cost->values);
    if (!cost->values) {
        return dpot_error_set(&run->error, DPOT_ERR_MEMORY, "out of memory for a %zu x %zu cost",
                              n_rows, n_cols);
    }
    cost->n_rows = n_rows;
    cost->n_cols = n_cols;
    cost->cost_power = power;
    dpot_cost_matrix(metric, power, dim, x, n_rows, v, n_cols, cost->values);
    size_t k = 0;
    if (dpot_cost_find_vanished(metric, dim, x, n_rows, v, n_cols, cost->values, &k)) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "the points of row %zu, column %zu differ, and their cost is below "
                              "2^-1000: scale the points or lower --power",
                              k / n_cols + 1, k % n_cols + 1);
    }
    return DPOT_OK;
}

/* Ring positions are integers in 0..K-1. */
static dpot_status check_ring(struct run *run, const struct named_points *p,
                              const struct dpot_metric *metric)
{
    for (size_t i = 0; metric->id == DPOT_METRIC_RING && i < p->n; i++) {
        const double x = p->values[i];
        if (!(x >= 0 && x < metric->ring_size && x == floor(x))) {
            return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                  "--%s %s: row %zu is %g: ring positions are the integers 0 to %u",
                                  p->option, p->path, i + 1, x, (unsigned)metric->ring_size - 1);
        }
    }
    return DPOT_OK;
}

/* Checks latitudes and longitudes; metrics other than haversine take all points. */
static dpot_status check_places(struct run *run, const struct named_points *p,
                                const struct dpot_metric *metric)
{
    for (size_t i = 0; i < p->n; i++) {
        const dpot_status status =
            dpot_metric_check_place(metric, p->values + i * p->dim, &run->error);
        if (status != DPOT_OK) {
            return dpot_error_prefix(&run->error, status, "--%s %s: row %zu", p->option, p->path,
                                     i + 1);
        }
    }
    return DPOT_OK;
}

/* model/metric.h defines the distance of a zero vector so that devices never fail; an analyst
 * should know. */
static void warn_of_zero(const struct run *run, const struct named_points *p,
                         const struct dpot_metric *metric)
{
    for (size_t i = 0; metric->id == DPOT_METRIC_COSINE && i < p->n; i++) {
        bool is_zero = true;
        for (size_t j = 0; j < p->dim; j++) {
            is_zero = is_zero && p->values[i * p->dim + j] == 0;
        }
        if (is_zero) {
            run_warn(run,
                     "--%s %.120s: row %zu is a zero vector, which has no angle: --metric cosine "
                     "puts it at distance 1 from everything, itself too",
                     p->option, p->path, i + 1);
            return; /* one warning is enough */
        }
    }
}

dpot_status metric_check_points(struct run *run, const struct dpot_metric *metric,
                                const struct named_points *points)
{
    if (dpot_metric_check(metric, (uint32_t)points->dim) != DPOT_OK) {
        return dpot_error_set(
            &run->error, DPOT_ERR_SHAPE, "--metric %s does not take %zu coordinate%s: %s",
            dpot_metric_name(metric->id), points->dim, DPOT_S(points->dim),
            metric->id == DPOT_METRIC_HAVERSINE ? "give (latitude, longitude)" : "give one column");
    }
    const dpot_status status = check_ring(run, points, metric);
    warn_of_zero(run, points, metric);
    return status == DPOT_OK ? check_places(run, points, metric) : status;
}

static dpot_status check_loaded(struct run *run, const char *name, const struct dpot_metric *metric,
                                const struct array *points)
{
    return metric_check_points(run, metric,
                               &(struct named_points){name, option_text(run, name), points->values,
                                                      points->n_rows, points->n_cols});
}

static dpot_status check_points(struct run *run, const char *x_name, const char *v_name,
                                const struct dpot_metric *metric, const struct array *x,
                                const struct array *v)
{
    if (x->n_cols != v->n_cols) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--%s has %zu coordinate%s and --%s has %zu: they must agree", x_name,
                              x->n_cols, DPOT_S(x->n_cols), v_name, v->n_cols);
    }
    const dpot_status status = check_loaded(run, x_name, metric, x);
    return status == DPOT_OK ? check_loaded(run, v_name, metric, v) : status;
}

dpot_status cost_load(struct run *run, const char *x_name, const char *v_name, struct cost *cost)
{
    struct dpot_metric metric;
    double power = 1;
    struct array x = {0}, v = {0};
    const bool is_one = strcmp(x_name, v_name) == 0;
    *cost = (struct cost){0};
    dpot_status status = DPOT_OK;
    if (option_is_given(run, "cost")) {
        status = load_cost_matrix(run, cost);
        return status == DPOT_OK ? measure_cost(run, cost) : status;
    }
    status = check_metric_options(run, &metric, &power);
    if (status == DPOT_OK) {
        status = load_finite(run, x_name, &x);
    }
    if (status == DPOT_OK) {
        status = is_one ? DPOT_OK : load_finite(run, v_name, &v); /* a pipe is read once */
    }
    const struct array *outputs = is_one ? &x : &v;
    if (status == DPOT_OK) {
        status = check_points(run, x_name, v_name, &metric, &x, outputs);
    }
    if (status == DPOT_OK) {
        status = fill_cost(run, &metric, power, (uint32_t)x.n_cols, x.values, x.n_rows,
                           outputs->values, outputs->n_rows, cost);
    }
    array_release(&x);
    array_release(&v);
    return status == DPOT_OK ? measure_cost(run, cost) : status;
}

dpot_status cost_check_lambda(struct run *run, const struct cost *cost, double lambda)
{
    double largest = 0;
    for (size_t i = 0; i < cost->n_rows * cost->n_cols; i++) {
        largest = fmax(largest, fabs(cost->values[i]));
    }
    return !(lambda > 0) || largest / lambda <= ENTROPIC_RATIO_MAX
               ? DPOT_OK
               : dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                "the largest |cost| is %g and lambda %g: costs are at most %g "
                                "lambda: give a larger lambda, or scale the costs",
                                largest, lambda, ENTROPIC_RATIO_MAX);
}

dpot_status cost_of_campaign(struct run *run, const struct dpot_campaign *campaign,
                             struct cost *cost)
{
    const uint32_t dim = campaign->domain.dim;
    const size_t k = campaign->domain.size, kv = campaign->output.size;
    double *x = dpot_alloc_array(NULL, k * dim, sizeof *x);
    double *v = dpot_alloc_array(NULL, kv * dim, sizeof *v);
    *cost = (struct cost){0};
    dpot_status status = DPOT_ERR_MEMORY;
    if (x && v) {
        dpot_domain_points(&campaign->domain, x);
        dpot_domain_points(&campaign->output, v);
        status = fill_cost(run, &campaign->metric, campaign->cost_power, dim, x, k, v, kv, cost);
    }
    dpot_free_array(NULL, x, k * dim, sizeof *x);
    dpot_free_array(NULL, v, kv * dim, sizeof *v);
    return status == DPOT_OK ? measure_cost(run, cost) : status;
}

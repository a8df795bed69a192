#include "tool/barycenter/barycenter.h"

#include "base/alloc.h"
#include "files/number.h"
#include "model/measure.h"
#include "tool/shared/options.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SUM_TOL 1e-6 /* absolute, on a sum of 1 */

/* ---- options ---- */

static dpot_status read_shape(struct barycenter_job *job)
{
    const char *text = option_text(job->run, "grid");
    if (number_parse_sides(text, BARYCENTER_GRID_DIM_MAX, BARYCENTER_CELLS_MAX, job->shape,
                           &job->n_dims)) {
        return DPOT_OK;
    }
    return RUN_USAGE(job->run,
                     "--grid is %.40s: give the cells along each of 1 to %d axes, such as 64x64, "
                     "at most %zu in all",
                     text, BARYCENTER_GRID_DIM_MAX, BARYCENTER_CELLS_MAX);
}

/* Square cells; without --cell the longest side has length 1. */
static dpot_status read_spacing(struct barycenter_job *job)
{
    double cell = 0.0;
    size_t longest = 1;
    for (size_t d = 0; d < job->n_dims; d++) {
        longest = job->shape[d] > longest ? job->shape[d] : longest;
    }
    const dpot_status status = option_positive(job->run, "cell", 1e100, &cell);
    for (size_t d = 0; d < job->n_dims; d++) {
        job->spacing[d] = cell > 0.0 ? cell : 1.0 / (double)longest;
    }
    return status;
}

static const char *const kinds[] = {"support", "grid", "cost", "fixed"};

static dpot_status read_kind(struct barycenter_job *job)
{
    struct run *run = job->run;
    size_t n_given = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (option_is_given(run, kinds[k])) {
            job->kind = (enum barycenter_kind)k;
            n_given++;
        }
    }
    if (n_given != 1) {
        return RUN_USAGE(run, "give exactly one of --support m (points that move), --grid RxC, "
                              "--cost F and --fixed F (weights of given points)");
    }
    dpot_status status = option_either(run, "exact", "lambda");
    if (status == DPOT_OK && job->kind == KIND_GRID) {
        status = read_shape(job);
    }
    return status == DPOT_OK ? read_spacing(job) : status;
}

struct exclusion {
    const char *name, *other, *why;
};

static dpot_status check_exclusions(struct run *run, const struct exclusion *list, size_t n)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        status = option_excludes(run, list[i].name, list[i].other, list[i].why);
    }
    return status;
}

static dpot_status check_free(struct run *run)
{
    static const struct exclusion list[] = {
        {"support", "debiased", "only weights on fixed points are debiased"},
        {"support", "log-domain", "its plans need no log domain"},
        {"support", "metric", "free support is for the squared Euclidean distance"},
        {"support", "power", "free support is for the squared Euclidean distance"},
        {"support", "ring-size", "free support is for the squared Euclidean distance"},
        {"support", "cell", "it belongs to --grid"},
        {"exact", "max-sweeps", "the exact method ends by itself"},
        {"exact", "sweep-tol", "the exact method has no tolerance"},
        {"exact", "float32", "the exact method works in float64"},
        {"project", "optimize-weights", "the projected problem has equal weights (003)"},
    };
    return check_exclusions(run, list, sizeof list / sizeof list[0]);
}

static dpot_status check_fixed(struct run *run, const char *kind)
{
    const char why[] = "the points are fixed: it belongs to --support";
    const char *const others[] = {"init",    "project",     "starts",   "optimize-weights",
                                  "float32", "lower-bound", "sweep-tol"};
    dpot_status status =
        option_excludes(run, kind, "exact",
                        "exact weights are a linear program: take a small --lambda, the bounds "
                        "show how near the result is");
    for (size_t i = 0; status == DPOT_OK && i < sizeof others / sizeof others[0]; i++) {
        status = option_excludes(run, kind, others[i], why);
    }
    const struct exclusion list[] = {
        {kind, "weights-out", "--out gets the weights"},
        {"cost", "metric", "the cost is given as it is"},
        {"cost", "power", "the cost is given as it is"},
        {"cost", "weighted", "its groups are histograms"},
        {"grid", "metric", "a grid has the squared Euclidean distance"},
        {"grid", "power", "a grid has the squared Euclidean distance"},
        {"grid", "weighted", "its groups are histograms"},
        {"cost", "cell", "it belongs to --grid"},
        {"fixed", "cell", "it belongs to --grid"},
        {"fixed", "debiased", "its groups have points of their own"},
    };
    return status == DPOT_OK ? check_exclusions(run, list, sizeof list / sizeof list[0]) : status;
}

static dpot_status read_numbers(struct barycenter_job *job)
{
    struct run *run = job->run;
    const bool is_free = job->kind == KIND_FREE;
    dpot_status status =
        option_integer(run, "support", 1, BARYCENTER_SUPPORT_MAX, &job->support_size);
    job->tol = is_free ? 1e-6 : option_is_given(run, "debiased") ? 1e-4 : 1e-9;
    job->outer = is_free ? 500 : 10000;
    job->inner = is_free ? 2000 : 1;
    job->inner_tol = option_is_given(run, "float32") ? 1e-6 : 1e-9;
    job->n_starts = 1;
    if (status == DPOT_OK) {
        status = option_positive(run, "lambda", DBL_MAX, &job->lambda);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "tol", 0, 1, &job->tol);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "sweep-tol", 0, 1, &job->inner_tol);
    }
    if (status == DPOT_OK && option_is_given(run, "float32") && job->inner_tol > 0) {
        status = option_check_float32(run, "sweep-tol", job->inner_tol);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "max-iterations", 1, BARYCENTER_ITERATIONS_MAX, &job->outer);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "max-sweeps", 1, 1000000000, &job->inner);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "starts", 1, BARYCENTER_STARTS_MAX, &job->n_starts);
    }
    return status == DPOT_OK ? option_integer(run, "project", 1, ARRAY_COLUMNS_MAX, &job->project)
                             : status;
}

dpot_status barycenter_read_options(struct barycenter_job *job)
{
    struct run *run = job->run;
    const char *text = NULL;
    dpot_status status = option_require(run, "group-files", "the files of the groups", &text);
    if (status == DPOT_OK) {
        status = read_kind(job);
    }
    if (status == DPOT_OK) {
        status = job->kind == KIND_FREE ? check_free(run) : check_fixed(run, kinds[job->kind]);
    }
    if (status == DPOT_OK) {
        status = read_numbers(job);
    }
    job->is_exact = option_is_given(run, "exact");
    job->keeps_going = option_is_given(run, "max-iterations") && !option_is_given(run, "tol");
    if (status == DPOT_OK) {
        status =
            option_require_array_output(run, "out", "a file for the barycenter", &job->out_path);
    }
    if (status == DPOT_OK) {
        status = option_array_output(run, "weights-out", &job->weights_path);
    }
    return status == DPOT_OK ? option_array_output(run, "trajectory-out", &job->curve_path)
                             : status;
}

/* ---- files ---- */

const char *barycenter_group_path(const struct barycenter_job *job, size_t i)
{
    return i == 0 ? option_text(job->run, "group-files") : job->run->operands[i - 1];
}

static dpot_status read_file(struct barycenter_job *job, size_t i)
{
    struct run *run = job->run;
    struct array *array = &job->files[i];
    const char *path = barycenter_group_path(job, i);
    if (strcmp(path, "-") == 0) {
        if (run->reads_stdin) {
            return RUN_USAGE(run, "--group-files - is the second input from stdin: name a file");
        }
        run->reads_stdin = true;
    }
    dpot_status status = array_read(path, array, &run->error);
    if (status != DPOT_OK) {
        return dpot_error_prefix(&run->error, status, "--group-files %zu", i + 1);
    }
    if (array->n_rows == 0 || array->n_cols == 0) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--group-files %s is empty: leave it out, or give it a point", path);
    }
    for (size_t k = 0; k < array->n_rows * array->n_cols; k++) {
        if (!isfinite(array->values[k])) {
            return dpot_error_set(
                &run->error, DPOT_ERR_RANGE,
                "--group-files %s: row %zu, column %zu is %g: give a finite number", path,
                k / array->n_cols + 1, k % array->n_cols + 1, array->values[k]);
        }
    }
    return DPOT_OK;
}

static dpot_status read_files(struct barycenter_job *job)
{
    dpot_status status = DPOT_OK;
    job->n_files = 1 + job->run->n_operands;
    job->files = dpot_alloc_array(NULL, job->n_files, sizeof *job->files);
    if (!job->files) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; status == DPOT_OK && i < job->n_files; i++) {
        status = read_file(job, i);
        job->n_points += job->files[i].n_rows;
    }
    return status;
}

/* Scales to sum 1 if the sum is within 1e-6 of 1 or with --normalize; refuses otherwise. */
static dpot_status check_mass(struct barycenter_job *job, const char *path, const char *what,
                              double *mass, size_t n)
{
    struct run *run = job->run;
    const bool normalize = option_is_given(run, "normalize");
    double sum = 0.0;
    bool is_sound = true;
    for (size_t k = 0; k < n; k++) {
        is_sound = is_sound && mass[k] >= 0.0;
        sum += mass[k];
    }
    if (is_sound && sum > 0.0 && isfinite(sum) && !normalize && !(fabs(sum - 1.0) <= SUM_TOL)) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "--group-files %s: the %s sum to %.9g, not to 1: correct them or add "
                              "--normalize",
                              path, what, sum);
    }
    const dpot_status status = dpot_weights_check(mass, n, normalize, &run->error);
    return status == DPOT_OK ? status
                             : dpot_error_prefix(&run->error, status, "--group-files %s", path);
}

/* Moves the last column of a group to `weights`; the other columns are compacted in place. */
static void take_weights(struct array *array, double *weights)
{
    const size_t n_cols = array->n_cols;
    for (size_t r = 0; r < array->n_rows; r++) {
        weights[r] = array->values[r * n_cols + n_cols - 1];
        memmove(array->values + r * (n_cols - 1), array->values + r * n_cols,
                (n_cols - 1) * sizeof(double));
    }
}

static dpot_status take_set(struct barycenter_job *job, size_t i, size_t dim, double *weights)
{
    struct array *array = &job->files[i];
    const size_t n_cols = dim + (weights != NULL);
    if (array->n_cols != n_cols) {
        return dpot_error_set(
            &job->run->error, DPOT_ERR_SHAPE,
            "--group-files %s has %zu columns, the first group %zu: they must agree",
            barycenter_group_path(job, i), array->n_cols, n_cols);
    }
    if (weights) {
        take_weights(array, weights);
        const dpot_status status = check_mass(job, barycenter_group_path(job, i),
                                              "weights in the last column", weights, array->n_rows);
        if (status != DPOT_OK) {
            return status;
        }
    }
    job->sets[i] = (struct point_set){array->n_rows, array->values, weights};
    return DPOT_OK;
}

dpot_status barycenter_load_points(struct barycenter_job *job, size_t *dim)
{
    const bool is_weighted = option_is_given(job->run, "weighted");
    dpot_status status = read_files(job);
    if (status != DPOT_OK) {
        return status;
    }
    *dim = job->files[0].n_cols - is_weighted;
    if (*dim == 0) {
        return dpot_error_set(
            &job->run->error, DPOT_ERR_SHAPE,
            "--group-files %s has one column: with --weighted points need a coordinate "
            "before their weight",
            barycenter_group_path(job, 0));
    }
    job->n_groups = job->n_files;
    job->sets = dpot_alloc_array(NULL, job->n_files, sizeof *job->sets);
    job->point_weights =
        is_weighted ? dpot_alloc_array(NULL, job->n_points, sizeof *job->point_weights) : NULL;
    if (!job->sets || (is_weighted && !job->point_weights)) {
        return DPOT_ERR_MEMORY;
    }
    double *weights = job->point_weights;
    for (size_t i = 0; status == DPOT_OK && i < job->n_files; i++) {
        status = take_set(job, i, *dim, weights);
        weights = weights ? weights + job->files[i].n_rows : NULL;
    }
    return status;
}

/* A file with as many entries as cells is one measure if it is a vector, a column, or of the shape
 * of the grid; otherwise each row is a measure. 0: neither. */
static size_t measures_in(const struct barycenter_job *job, const struct array *array, size_t n)
{
    const bool is_grid =
        job->n_dims == 2 && array->n_rows == job->shape[0] && array->n_cols == job->shape[1];
    if (array->n_rows * array->n_cols == n && (array->n_cols == 1 || is_grid)) {
        return 1;
    }
    return array->n_cols == n ? array->n_rows : 0;
}

dpot_status barycenter_load_histograms(struct barycenter_job *job, size_t n, double **masses)
{
    dpot_status status = read_files(job);
    *masses = NULL;
    for (size_t i = 0; status == DPOT_OK && i < job->n_files; i++) {
        const struct array *array = &job->files[i];
        const size_t n_measures = measures_in(job, array, n);
        if (n_measures == 0) {
            status = dpot_error_set(
                &job->run->error, DPOT_ERR_SHAPE,
                "--group-files %s is %zu x %zu and not a histogram of %zu cells, nor "
                "rows of such: they must agree",
                barycenter_group_path(job, i), array->n_rows, array->n_cols, n);
        }
        job->n_groups += n_measures;
    }
    if (status != DPOT_OK) {
        return status;
    }
    *masses = dpot_alloc_array(NULL, job->n_groups * n, sizeof **masses);
    if (!*masses) {
        return DPOT_ERR_MEMORY;
    }
    double *at = *masses;
    for (size_t i = 0; status == DPOT_OK && i < job->n_files; i++) {
        const size_t n_measures = measures_in(job, &job->files[i], n);
        memcpy(at, job->files[i].values, n_measures * n * sizeof *at);
        for (size_t r = 0; status == DPOT_OK && r < n_measures; r++, at += n) {
            status = check_mass(job, barycenter_group_path(job, i), "masses of a histogram", at, n);
        }
    }
    return status;
}

dpot_status barycenter_load_group_weights(struct barycenter_job *job, const double **weights)
{
    *weights = NULL;
    if (!option_is_given(job->run, "group-weights")) {
        return DPOT_OK;
    }
    const dpot_status status =
        load_measure(job->run, "group-weights", job->n_groups, &job->weights);
    *weights = job->weights.values;
    return status;
}

void barycenter_release_inputs(struct barycenter_job *job)
{
    for (size_t i = 0; job->files && i < job->n_files; i++) {
        array_release(&job->files[i]);
    }
    dpot_free_array(NULL, job->files, job->n_files, sizeof *job->files);
    dpot_free_array(NULL, job->sets, job->n_files, sizeof *job->sets);
    dpot_free_array(NULL, job->point_weights, job->n_points, sizeof *job->point_weights);
    array_release(&job->weights);
}

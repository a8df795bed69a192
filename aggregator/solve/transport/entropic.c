#include "solve/transport/entropic_state.h"

#include "base/alloc.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MASS_TOL 1e-6 /* relative difference of two masses that count as equal */
#define COST_MAX 1e300
#define MEMORY_MAX_DEFAULT ((size_t)4 << 30)

#define POINTS_MAX (SIZE_MAX / 8192) /* no size in init_arrays overflows */

#define TASK_ENTRIES 131072 /* smaller tasks cost more to schedule than to run */

#define BOUND_F32 14.0
#define BOUND_F64 200.0

#define ANNEAL_START 0.25 /* first lambda, relative to the largest cost */
#define ANNEAL_FACTOR 0.5
#define ANNEAL_SWEEPS 40
#define ANNEAL_RESIDUAL 0.02

#define RELAX_EVERY 16    /* sweeps between estimates of the rate */
#define RELAX_SLOW 0.85   /* relax at rates above this */
#define RELAX_FEW_FROM 64 /* few rows: plain sweeps are three times cheaper than relaxed ones */
#define RELAX_MOST 1.99
#define RELAX_GIVE_UP 50.0 /* residual relative to the smallest one, above which relaxation stops */

/* ---- memory ---- */

/* `n_bytes` aligned to a cache line, from an array that grows; NULL: over bytes_max, or out of
 * memory. */
static void *reserve(char **memory, size_t *cap, size_t n_bytes, size_t bytes_max)
{
    const size_t line = 64;
    if (n_bytes > bytes_max) {
        return NULL;
    }
    if (*cap < n_bytes + line) {
        dpot_free_array(NULL, *memory, *cap, 1);
        *memory = dpot_alloc_array(NULL, n_bytes + line, 1);
        *cap = *memory ? n_bytes + line : 0;
    }
    return *memory ? *memory + (line - (size_t)(uintptr_t)*memory % line) % line : NULL;
}

void entropic_free(struct entropic *e)
{
    if (!e) {
        return;
    }
    dpot_free_array(NULL, e->arrays_memory, e->arrays_cap, 1);
    dpot_free_array(NULL, e->kernel_memory, e->kernel_cap, 1);
    dpot_free_array(NULL, e->kept_memory, e->kept_cap, 1);
    dpot_free_array(NULL, e, 1, sizeof *e);
}

/* Places all arrays in one block, each aligned to a cache line. Pages that a solve does not touch
 * take no memory. */
static bool init_arrays(struct entropic *e)
{
    const size_t n_rows = entropic_padded(e->n_rows_max), stride = e->stride_max;
    double *few[3];
    double **const rows[] = {&e->a, &e->f, &e->u, &e->last_u, &e->r, &few[0]};
    double **const cols[] = {&e->b, &e->g,  &e->v, &e->s,   &e->last_s,
                             &e->h, &e->g2, &e->w, &few[1], &few[2]};
    const size_t n_row_arrays = sizeof rows / sizeof rows[0];
    const size_t n_col_arrays = sizeof cols / sizeof cols[0];
    const size_t n_scratch = (2 * TILE_ROWS + 2) * stride;
    const size_t n = n_row_arrays * n_rows + n_col_arrays * stride + TASKS_MAX * n_scratch;
    double *at = reserve(&e->arrays_memory, &e->arrays_cap, n * sizeof *at, SIZE_MAX);
    if (!at) {
        return false;
    }
    for (size_t k = 0; k < n_row_arrays; k++, at += n_rows) {
        *rows[k] = at;
    }
    for (size_t k = 0; k < n_col_arrays; k++, at += stride) {
        *cols[k] = at;
    }
    e->few_x = few[0];
    e->few_b = few[1];
    e->few_v = few[2];
    for (size_t t = 0; t < TASKS_MAX; t++, at += n_scratch) {
        e->scratch[t] = (struct entropic_scratch){.cost = at,
                                                  .tile = at + TILE_ROWS * stride,
                                                  .sums = at + 2 * TILE_ROWS * stride,
                                                  .s = at + (2 * TILE_ROWS + 1) * stride};
    }
    return true;
}

static dpot_status check_lambda(double lambda, struct dpot_error *error)
{
    if (!(lambda >= DBL_MIN && lambda <= DBL_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "lambda is %g: give at least %.2g, in the units of the cost", lambda,
                              DBL_MIN);
    }
    return DPOT_OK;
}

dpot_status entropic_new(size_t n_rows, size_t n_cols, const struct entropic_options *options,
                         struct entropic **out, struct dpot_error *error)
{
    *out = NULL;
    dpot_status status = check_lambda(options->lambda, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (n_rows == 0 || n_cols == 0 || n_rows > POINTS_MAX || n_cols > POINTS_MAX) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "a transport of %zu x %zu: both measures need a point, and few "
                              "enough for the memory",
                              n_rows, n_cols);
    }
    struct entropic *e = dpot_alloc_array(NULL, 1, sizeof *e);
    if (e) {
        e->options = *options;
        e->options.memory_max = options->memory_max ? options->memory_max : MEMORY_MAX_DEFAULT;
        e->lanes = lanes_get();
        e->lambda = options->lambda;
        e->n_rows_max = n_rows;
        e->stride_max = entropic_padded(n_cols);
        e->bound = options->precision == ENTROPIC_F32 ? BOUND_F32 : BOUND_F64;
    }
    if (!e || !init_arrays(e)) {
        entropic_free(e);
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for a transport of %zu x %zu",
                              n_rows, n_cols);
    }
    *out = e;
    return DPOT_OK;
}

/* ---- a problem ---- */

static dpot_status take_mass(const char *name, const double *mass, size_t n, size_t n_padded,
                             double *out, double *total, struct dpot_error *error)
{
    *total = mass ? 0.0 : 1.0;
    for (size_t i = 0; i < n; i++) {
        if (mass && !(mass[i] >= 0.0 && mass[i] <= DBL_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "mass %zu of %s is %g: masses are finite and not negative", i + 1,
                                  name, mass[i]);
        }
        *total += mass ? mass[i] : 0.0;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = mass ? mass[i] / *total : 1.0 / (double)n;
    }
    for (size_t i = n; i < n_padded; i++) {
        out[i] = 0.0;
    }
    return DPOT_OK;
}

static dpot_status take_masses(struct entropic *e, const double *a, const double *b,
                               struct dpot_error *error)
{
    double mass_a, mass_b;
    dpot_status status =
        take_mass("a", a, e->n_rows, entropic_padded(e->n_rows), e->a, &mass_a, error);
    if (status == DPOT_OK) {
        status = take_mass("b", b, e->n_cols, e->stride, e->b, &mass_b, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (!(mass_a > 0.0 && mass_a <= DBL_MAX && fabs(mass_a - mass_b) <= MASS_TOL * mass_a)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the masses are %.17g and %.17g: balanced transport needs two equal "
                              "positive masses, scale one to the other",
                              mass_a, mass_b);
    }
    e->mass = mass_a;
    return DPOT_OK;
}

/* Tasks depend on size, never on the number of threads, and so do results. */
static void cut_tasks(struct entropic *e)
{
    size_t n_tasks = e->n_rows / TILE_ROWS;
    const size_t by_size = (size_t)((double)e->n_rows * (double)e->stride / TASK_ENTRIES);
    n_tasks = n_tasks < by_size ? n_tasks : by_size;
    n_tasks = n_tasks < 1 ? 1 : n_tasks > TASKS_MAX ? TASKS_MAX : n_tasks;
    e->rows_per_task = (e->n_rows + n_tasks - 1) / n_tasks;
    e->rows_per_task = (e->rows_per_task + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    e->n_tasks = (e->n_rows + e->rows_per_task - 1) / e->rows_per_task;
}

static void reserve_matrices(struct entropic *e)
{
    const double bytes = (double)e->n_rows * (double)e->stride * (double)entropic_real_size(e);
    const size_t most = e->options.memory_max;
    e->kernel = e->kept = NULL;
    if (bytes > (double)most) {
        return;
    }
    const size_t n_bytes = e->n_rows * e->stride * entropic_real_size(e);
    e->kernel = reserve(&e->kernel_memory, &e->kernel_cap, n_bytes, most);
    if (e->kernel && e->cost->keep) {
        e->kept = reserve(&e->kept_memory, &e->kept_cap, n_bytes, most - n_bytes);
    }
}

static dpot_status check_cost(struct entropic *e, double *largest, struct dpot_error *error)
{
    *largest = entropic_read_cost(e);
    if (!(*largest <= COST_MAX && *largest / e->options.lambda <= ENTROPIC_RATIO_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the largest |cost| is %g and lambda %g: costs are finite, at most "
                              "%g and at most %g lambda: give a larger lambda, or scale the costs",
                              *largest, e->options.lambda, COST_MAX, ENTROPIC_RATIO_MAX);
    }
    return DPOT_OK;
}

static dpot_status take_problem(struct entropic *e, const struct entropic_cost *cost,
                                const double *a, const double *b, double *largest,
                                struct dpot_error *error)
{
    if (cost->n_rows == 0 || cost->n_rows > e->n_rows_max || cost->n_cols == 0 ||
        entropic_padded(cost->n_cols) > e->stride_max) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "a transport of %zu x %zu in an engine for %zu x %zu", cost->n_rows,
                              cost->n_cols, e->n_rows_max, e->stride_max);
    }
    e->cost = cost;
    e->n_rows = cost->n_rows;
    e->n_cols = cost->n_cols;
    e->stride = entropic_padded(cost->n_cols);
    cut_tasks(e);
    dpot_status status = take_masses(e, a, b, error);
    if (status == DPOT_OK) {
        reserve_matrices(e);
        entropic_few_prepare(e);
        status = check_cost(e, largest, error);
    }
    for (size_t j = e->n_cols; j < e->stride; j++) {
        e->g[j] = LANES_NOTHING;
    }
    return status;
}

/* ---- the solve ---- */

/* Sets the initial potentials in units of lambda, then does one sweep in the log domain. */
static void start(struct entropic *e)
{
    const bool has_f = e->n_warm_f == e->n_rows, has_g = e->n_warm_g == e->n_cols;
    for (size_t i = 0; i < e->n_rows; i++) {
        e->f[i] = has_f ? e->f[i] / e->lambda : 0.0;
    }
    for (size_t j = 0; j < e->n_cols; j++) {
        e->g[j] = has_g ? e->g[j] / e->lambda : 0.0;
    }
    e->n_warm_f = e->n_warm_g = 0;
    if (has_f && !has_g) {
        entropic_log_cols(e);
    }
    entropic_log_sweep(e);
}

static void change_lambda(struct entropic *e, double lambda)
{
    const double factor = e->lambda / lambda;
    entropic_absorb(e);
    for (size_t i = 0; i < e->n_rows; i++) {
        e->f[i] *= factor;
    }
    for (size_t j = 0; j < e->n_cols; j++) {
        e->g[j] *= factor;
    }
    e->lambda = lambda;
    entropic_log_sweep(e);
}

/* Absorbs scalings that have grown; one lost to underflow is recomputed in the log domain. */
static void keep_in_range(struct entropic *e, struct entropic_result *result)
{
    bool is_lost;
    if (!entropic_is_far(e, &is_lost)) {
        return;
    }
    entropic_absorb(e);
    if (is_lost) {
        entropic_log_sweep(e);
    }
    entropic_take_kernel(e);
    result->absorptions += e->kernel != NULL;
}

/* Estimates the rate of convergence and sets omega: 2 / (1 + sqrt(1 - rate)) is optimal for a
 * linear rate (Thibault et al., Section 4). Relaxation is given up when it does not help. */
struct relaxation {
    double checked, least;
    size_t n_sweeps;
    bool is_given_up;
};

static void relax(struct entropic *e, struct relaxation *x, double residual)
{
    x->least = fmin(x->least, residual);
    if (e->omega > 1.0 && residual > RELAX_GIVE_UP * x->least) {
        e->omega = 1.0;
        x->is_given_up = true;
    }
    if (x->is_given_up || ++x->n_sweeps % RELAX_EVERY != 0) {
        return;
    }
    const double rate = pow(residual / x->checked, 1.0 / RELAX_EVERY);
    x->checked = residual;
    const bool may_begin = !e->is_few || x->n_sweeps >= RELAX_FEW_FROM;
    if (e->omega == 1.0 && may_begin && rate > RELAX_SLOW && rate < 1.0) {
        e->omega = fmin(RELAX_MOST, 2.0 / (1.0 + sqrt(1.0 - rate)));
    } else if (e->omega > 1.0 && rate > 0.5 * e->omega) {
        /* The best rate is omega - 1; a rate above halfway from there to 1 needs a larger omega. */
        e->omega = fmin(RELAX_MOST, 2.0 - 0.7 * (2.0 - e->omega));
    }
}

/* Sweeps at the current lambda until the residual is at most `tol`; false: the control stopped
 * it. */
static bool sweep_until(struct entropic *e, double tol, size_t n_most,
                        const struct solve_control *control, struct entropic_result *result)
{
    struct relaxation relaxation = {.checked = HUGE_VAL, .least = HUGE_VAL};
    e->omega = 1.0;
    entropic_take_kernel(e);
    result->absorptions += e->kernel != NULL;
    for (size_t k = 0; k < n_most; k++) {
        result->residual = e->mass * entropic_sweep(e);
        result->iterations++;
        if (tol > 0.0 && result->residual <= tol) {
            result->outcome = SOLVE_CONVERGED;
            break;
        }
        if (e->options.relax) {
            relax(e, &relaxation, result->residual);
        }
        keep_in_range(e, result);
        if (solve_control_stops(control, result->iterations, e->options.max_iterations,
                                &result->outcome)) {
            return false;
        }
    }
    return true;
}

static size_t sweeps_left(const struct entropic *e, const struct entropic_result *result)
{
    return e->options.max_iterations - result->iterations;
}

static bool anneal(struct entropic *e, double largest, const struct solve_control *control,
                   struct entropic_result *result)
{
    const double last = e->options.lambda;
    bool goes_on = true;
    for (double lambda = largest * ANNEAL_START; goes_on && lambda > last;
         lambda *= ANNEAL_FACTOR) {
        const size_t left = sweeps_left(e, result);
        change_lambda(e, lambda);
        goes_on = sweep_until(e, ANNEAL_RESIDUAL * e->mass,
                              left < ANNEAL_SWEEPS ? left : ANNEAL_SWEEPS, control, result);
    }
    change_lambda(e, last);
    return goes_on;
}

dpot_status entropic_solve(struct entropic *e, const struct entropic_cost *cost, const double *a,
                           const double *b, const struct solve_control *control,
                           struct entropic_result *result, struct dpot_error *error)
{
    double largest = 0.0;
    memset(result, 0, sizeof *result);
    const dpot_status status = take_problem(e, cost, a, b, &largest, error);
    if (status != DPOT_OK) {
        return status;
    }
    bool goes_on = true;
    e->lambda = largest > 0.0 ? e->options.lambda : 1.0; /* all costs 0: lambda does not matter */
    start(e);
    if (e->options.anneal && largest > 0.0) {
        goes_on = anneal(e, largest, control, result);
    }
    if (goes_on) {
        result->outcome = SOLVE_ITERATION_LIMIT;
        (void)sweep_until(e, e->options.tol, sweeps_left(e, result), control, result);
    }
    entropic_absorb(e);
    return DPOT_OK;
}

void entropic_warm_start(struct entropic *e, const double *f, size_t n_rows, const double *g,
                         size_t n_cols)
{
    e->n_warm_f = f && n_rows <= e->n_rows_max ? n_rows : 0;
    e->n_warm_g = g && n_cols <= e->stride_max ? n_cols : 0;
    if (e->n_warm_f > 0) {
        memcpy(e->f, f, e->n_warm_f * sizeof *f);
    }
    if (e->n_warm_g > 0) {
        memcpy(e->g, g, e->n_warm_g * sizeof *g);
    }
}

/* ---- the plan ---- */

void entropic_potentials(const struct entropic *e, double *f, double *g)
{
    for (size_t i = 0; f && i < e->n_rows; i++) {
        f[i] = e->lambda * e->f[i];
    }
    for (size_t j = 0; g && j < e->n_cols; j++) {
        g[j] = e->lambda * e->g[j];
    }
}

void entropic_plan_tile(const struct entropic *e, size_t first, size_t n_rows, double *scratch,
                        float *tile)
{
    struct entropic_scratch own = {.cost = scratch};
    for (size_t r = 0; r < n_rows; r++) {
        const double *cost = entropic_cost_tile(e, &own, first + r, 1);
        float *row = tile + r * e->stride;
        e->lanes->kernel_row_f32(e->stride, cost, 1.0 / e->lambda, e->f[first + r], e->g, row);
        const float a = (float)(e->a[first + r] * e->mass);
        for (size_t j = 0; j < e->stride; j++) {
            row[j] *= a * (float)e->b[j];
        }
    }
}

void entropic_plan_rows(const struct entropic *e, size_t first, size_t n_rows, double *plan)
{
    /* The engine is idle, so its scratch may be overwritten. */
    struct entropic_scratch own = e->scratch[0], *scratch = &own;
    double *row = scratch->tile;
    for (size_t r = 0; r < n_rows; r++) {
        const double *cost = entropic_cost_tile(e, scratch, first + r, 1);
        e->lanes->kernel_row_f64(e->stride, cost, 1.0 / e->lambda, e->f[first + r], e->g, row);
        for (size_t j = 0; j < e->n_cols; j++) {
            plan[r * e->n_cols + j] = e->mass * e->a[first + r] * e->b[j] * row[j];
        }
    }
}

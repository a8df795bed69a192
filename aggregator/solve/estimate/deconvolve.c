#include "solve/estimate/deconvolve.h"

#include "base/alloc.h"
#include "solve/estimate/deconvolve_parts.h"

#include <math.h>
#include <string.h>

#define HALVINGS_MAX 6
#define SLACK 1e-13     /* relative decrease of L that may be rounding */
#define WIDTH_MAX 1e140 /* of the domain, in scales: sums of squares stay finite */

struct deconvolve {
    struct deconvolve_config config;
    struct deconvolve_cells *cells; /* one of these two */
    struct deconvolve_points *points;
    double *x, *w;      /* (m, dim), (m) current measure */
    double *x_accepted; /* (m, dim) before the step that made x */
    double *curve;      /* (max_iterations + 1) */
    struct deconvolve_sums sums;
    size_t n_beyond;
};

struct deconvolve_span deconvolve_share(size_t n, size_t task)
{
    return (struct deconvolve_span){
        n / DECONVOLVE_TASKS * task + n % DECONVOLVE_TASKS * task / DECONVOLVE_TASKS,
        n / DECONVOLVE_TASKS * (task + 1) + n % DECONVOLVE_TASKS * (task + 1) / DECONVOLVE_TASKS};
}

double deconvolve_reach(const struct dpot_noise_density *density, size_t dim)
{
    if (density->noise == DPOT_NOISE_GAUSSIAN) {
        return 6.5;
    }
    return dim < 3 ? 14 : 12;
}

/* ---- validation ---- */

static dpot_status check_numbers(const struct deconvolve_config *config, struct dpot_error *error)
{
    if (config->n == 0 || config->dim == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the pool has %zu reports of %zu numbers: there is nothing to find",
                              config->n, config->dim);
    }
    if (config->support_size < 1 || config->support_size > DECONVOLVE_SUPPORT_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "the support has %zu points: choose 1 to %d",
                              config->support_size, DECONVOLVE_SUPPORT_MAX);
    }
    if (config->max_iterations < 1 || config->max_iterations > DECONVOLVE_ITERATIONS_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "there are %zu iterations: choose 1 to %d",
                              config->max_iterations, DECONVOLVE_ITERATIONS_MAX);
    }
    if (!(config->tol >= 0 && config->tol < INFINITY)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the tolerance is %g: choose a gain in nats, 0 or above",
                              config->tol);
    }
    return DPOT_OK;
}

static dpot_status check_domain(const struct deconvolve_config *config, struct dpot_error *error)
{
    const struct deconvolve_domain *domain = &config->domain;
    for (size_t j = 0; j < config->dim; j++) {
        if (!(domain->lo[j] <= domain->hi[j] && isfinite(domain->hi[j] - domain->lo[j]))) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "coordinate %zu of the domain goes from %g to %g: give a finite "
                                  "range",
                                  j + 1, domain->lo[j], domain->hi[j]);
        }
        const double width = (domain->hi[j] - domain->lo[j]) / config->density->scale;
        if (!(width <= WIDTH_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "coordinate %zu of the domain goes from %g to %g, that is %g "
                                  "scales of the noise (%g), at most %g can be computed with: are "
                                  "domain and scale those of this pool?",
                                  j + 1, domain->lo[j], domain->hi[j], width,
                                  config->density->scale, WIDTH_MAX);
        }
    }
    if (!(domain->l1_radius >= 0 && domain->l2_radius >= 0 &&
          isfinite(domain->l1_radius + domain->l2_radius))) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the ball of the domain has radius %g: give a finite one",
                              fmax(domain->l1_radius, domain->l2_radius));
    }
    return DPOT_OK;
}

static dpot_status check_finite(const double *values, size_t n_rows, size_t dim, const char *what,
                                struct dpot_error *error)
{
    for (size_t i = 0; i < n_rows * dim; i++) {
        if (!isfinite(values[i])) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "%s %zu, coordinate %zu is %g: give a finite number", what,
                                  i / dim + 1, i % dim + 1, values[i]);
        }
    }
    return DPOT_OK;
}

static dpot_status check_config(const struct deconvolve_config *config, struct dpot_error *error)
{
    dpot_status status = check_numbers(config, error);
    if (status == DPOT_OK) {
        status = check_domain(config, error);
    }
    if (status == DPOT_OK) {
        status = check_finite(config->pool, config->n, config->dim, "report", error);
    }
    if (status == DPOT_OK) {
        status = check_finite(config->support, config->support_size, config->dim, "support point",
                              error);
    }
    return status;
}

/* ---- life cycle ---- */

static size_t count_beyond(const struct deconvolve_config *config)
{
    size_t n_beyond = 0;
    const double reach = deconvolve_reach(config->density, config->dim) * config->density->scale;
    for (size_t i = 0; i < config->n; i++) {
        bool is_beyond = false;
        for (size_t j = 0; j < config->dim; j++) {
            const double y = config->pool[i * config->dim + j];
            is_beyond =
                is_beyond || y < config->domain.lo[j] - reach || y > config->domain.hi[j] + reach;
        }
        n_beyond += is_beyond;
    }
    return n_beyond;
}

static dpot_status allocate(struct deconvolve *s)
{
    const struct dpot_allocator *allocator = s->config.allocator;
    const size_t m = s->config.support_size, dim = s->config.dim;
    s->x = dpot_alloc_array(allocator, m * dim, sizeof *s->x);
    s->x_accepted = dpot_alloc_array(allocator, m * dim, sizeof *s->x_accepted);
    s->w = dpot_alloc_array(allocator, m, sizeof *s->w);
    s->sums.mass = dpot_alloc_array(allocator, m, sizeof *s->sums.mass);
    s->sums.target = dpot_alloc_array(allocator, m * dim, sizeof *s->sums.target);
    s->curve = dpot_alloc_array(allocator, s->config.max_iterations + 1, sizeof *s->curve);
    const bool is_done =
        s->x && s->x_accepted && s->w && s->sums.mass && s->sums.target && s->curve;
    return is_done ? DPOT_OK : DPOT_ERR_MEMORY;
}

dpot_status deconvolve_new(const struct deconvolve_config *config, struct deconvolve **solver,
                           struct dpot_error *error)
{
    *solver = NULL;
    dpot_status status = check_config(config, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct deconvolve *s = dpot_alloc_array(config->allocator, 1, sizeof *s);
    if (!s) {
        return DPOT_ERR_MEMORY;
    }
    s->config = *config;
    s->n_beyond = count_beyond(config);
    status = allocate(s);
    if (status == DPOT_OK) {
        status = cells_new(config, &s->cells);
    }
    if (status == DPOT_OK && !s->cells) {
        status = points_new(config, &s->points);
    }
    if (status != DPOT_OK) {
        deconvolve_free(s);
        return dpot_error_set(error, status,
                              "out of memory for a support of %zu points: take fewer",
                              config->support_size);
    }
    *solver = s;
    return DPOT_OK;
}

void deconvolve_free(struct deconvolve *solver)
{
    if (!solver) {
        return;
    }
    const struct dpot_allocator *allocator = solver->config.allocator;
    const size_t m = solver->config.support_size, dim = solver->config.dim;
    cells_free(solver->cells);
    points_free(solver->points);
    dpot_free_array(allocator, solver->x, m * dim, sizeof *solver->x);
    dpot_free_array(allocator, solver->x_accepted, m * dim, sizeof *solver->x_accepted);
    dpot_free_array(allocator, solver->w, m, sizeof *solver->w);
    dpot_free_array(allocator, solver->sums.mass, m, sizeof *solver->sums.mass);
    dpot_free_array(allocator, solver->sums.target, m * dim, sizeof *solver->sums.target);
    dpot_free_array(allocator, solver->curve, solver->config.max_iterations + 1,
                    sizeof *solver->curve);
    dpot_free_array(allocator, solver, 1, sizeof *solver);
}

/* ---- the run ---- */

static void start(struct deconvolve *s)
{
    const size_t m = s->config.support_size, dim = s->config.dim;
    memcpy(s->x, s->config.support, m * dim * sizeof *s->x);
    for (size_t l = 0; l < m; l++) {
        deconvolve_clamp(&s->config.domain, dim, s->x + l * dim);
        s->w[l] = 1 / (double)m;
    }
}

static void place(struct deconvolve *s)
{
    if (s->cells) {
        cells_place(s->cells, s->x);
    }
}

static void expect(struct deconvolve *s)
{
    if (s->cells) {
        cells_expect(s->cells, s->x, s->w, &s->sums);
    } else {
        points_expect(s->points, s->x, s->w, &s->sums);
    }
}

/* The M step: new weights, and new points if they move. */
static void maximise(struct deconvolve *s)
{
    const size_t m = s->config.support_size, dim = s->config.dim;
    double total = 0;
    for (size_t l = 0; l < m; l++) {
        total += s->sums.mass[l]; /* n, up to rounding */
    }
    for (size_t l = 0; l < m; l++) {
        s->w[l] = s->sums.mass[l] / total;
    }
    if (!s->config.moves) {
        return;
    }
    memcpy(s->x_accepted, s->x, m * dim * sizeof *s->x);
    memcpy(s->x, s->sums.target, m * dim * sizeof *s->x);
    for (size_t l = 0; l < m; l++) {
        deconvolve_clamp(&s->config.domain, dim, s->x + l * dim);
    }
    place(s);
}

/* Halves the move of the points, or finally undoes it. */
static void step_back(struct deconvolve *s, size_t n_halvings)
{
    const double share = n_halvings < HALVINGS_MAX ? 0.5 : 0;
    for (size_t i = 0; i < s->config.support_size * s->config.dim; i++) {
        s->x[i] = s->x_accepted[i] + share * (s->x[i] - s->x_accepted[i]);
    }
    place(s);
}

/* The E step at the current measure; steps points back while L is below `least`. */
static void expect_not_below(struct deconvolve *s, double least)
{
    expect(s);
    for (size_t i = 1; s->config.moves && i <= HALVINGS_MAX; i++) {
        if (s->sums.log_likelihood >= least - SLACK * fabs(least)) {
            return;
        }
        step_back(s, i);
        expect(s);
    }
}

static void fill_result(const struct deconvolve *s, size_t t, enum solve_outcome outcome,
                        struct deconvolve_result *result)
{
    *result = (struct deconvolve_result){
        .support = s->x,
        .weights = s->w,
        .log_likelihood = s->curve[t],
        .gain = t > 0 ? s->curve[t] - s->curve[t - 1] : 0,
        .curve = s->curve,
        .iterations = t,
        .outcome = outcome,
        .n_beyond = s->n_beyond,
    };
    if (s->cells) {
        cells_count(s->cells, &result->n_cells, &result->n_occupied);
    }
}

void deconvolve_run(struct deconvolve *s, const struct solve_control *control,
                    struct deconvolve_result *result)
{
    const size_t n_total = s->config.max_iterations;
    enum solve_outcome outcome = SOLVE_ITERATION_LIMIT;
    size_t t = 0;
    start(s);
    place(s);
    expect(s);
    s->curve[0] = s->sums.log_likelihood;
    while (t < n_total && !(t > 0 && solve_control_stops(control, t, n_total, &outcome))) {
        maximise(s);
        expect_not_below(s, s->curve[t]);
        t++;
        s->curve[t] = s->sums.log_likelihood;
        if (s->config.tol > 0 && t >= s->config.min_iterations &&
            s->curve[t] - s->curve[t - 1] < s->config.tol) {
            outcome = SOLVE_CONVERGED;
            break;
        }
    }
    fill_result(s, t, outcome, result);
}

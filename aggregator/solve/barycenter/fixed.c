#include "solve/barycenter/fixed.h"

#include "base/alloc.h"
#include "solve/transport/lanes.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SUM_TOL 1e-6 /* absolute, on a sum of 1 */
#define ITERATIONS_MAX ((size_t)1 << 28)

/* Consecutive groups of positive weight that share a kernel. */
struct block {
    struct barycenter_kernel *kernel;
    size_t n;     /* groups */
    size_t first; /* first one, among those of positive weight */
    size_t at;    /* offset of its inputs */
};

/* Everything is a logarithm unless stated otherwise. */
struct state {
    const struct barycenter_fixed_options *options;
    const struct lanes *lanes;
    size_t n_groups, n_blocks; /* of positive weight */
    size_t cap;                /* groups of the problem */
    size_t n, stride;          /* outputs */
    size_t total;              /* of all padded inputs */
    double lambda;
    double *w;            /* (cap) group weights, not logarithms */
    struct block *blocks; /* (cap) */
    double *a, *u, *kv;   /* (total) */
    double *v, *phi;      /* (n_groups, stride): phi = K' u */
    double *b, *d, *kd;   /* (stride): d is the debiasing factor */
    double *linear;       /* (stride) e^b / sum */
    double *x;            /* (max of all strides) scratch */
    size_t x_cap;
};

/* ---- set-up ---- */

static dpot_status check_mass(const struct barycenter_histogram *group, size_t number,
                              struct dpot_error *error)
{
    double sum = 0.0;
    for (size_t i = 0; i < group->kernel->n_in; i++) {
        if (!(group->mass[i] >= 0.0 && group->mass[i] <= DBL_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "group %zu, cell %zu has mass %g: masses are finite and not "
                                  "negative",
                                  number + 1, i + 1, group->mass[i]);
        }
        sum += group->mass[i];
    }
    if (!(fabs(sum - 1.0) <= SUM_TOL)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the masses of group %zu sum to %.9g, not to 1: scale them",
                              number + 1, sum);
    }
    return DPOT_OK;
}

static dpot_status check_weights(const struct barycenter_fixed_problem *problem,
                                 struct dpot_error *error)
{
    double sum = 0.0;
    for (size_t i = 0; problem->group_weights && i < problem->n_groups; i++) {
        if (!(problem->group_weights[i] >= 0.0 && problem->group_weights[i] <= DBL_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "group weight %zu is %g: weights are finite and not negative",
                                  i + 1, problem->group_weights[i]);
        }
        sum += problem->group_weights[i];
    }
    if (problem->group_weights && !(fabs(sum - 1.0) <= SUM_TOL)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the group weights sum to %.9g, not to 1: scale them", sum);
    }
    return DPOT_OK;
}

static dpot_status check(const struct barycenter_fixed_problem *problem,
                         const struct barycenter_fixed_options *options, struct dpot_error *error)
{
    if (problem->n_groups == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE, "no groups: give at least one");
    }
    if (!(options->tol >= 0.0) || options->max_iterations == 0 ||
        options->max_iterations > ITERATIONS_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "tolerance %g and %zu iterations: give a tolerance from 0 and 1 to "
                              "%zu iterations",
                              options->tol, options->max_iterations, ITERATIONS_MAX);
    }
    dpot_status status = check_weights(problem, error);
    for (size_t i = 0; status == DPOT_OK && i < problem->n_groups; i++) {
        const struct barycenter_kernel *kernel = problem->groups[i].kernel;
        const struct barycenter_kernel *first = problem->groups[0].kernel;
        if (kernel->n_out != first->n_out || kernel->lambda != first->lambda) {
            return dpot_error_set(error, DPOT_ERR_SHAPE,
                                  "group %zu has %zu points of support and lambda %g, the first "
                                  "group %zu and %g: they must agree",
                                  i + 1, kernel->n_out, kernel->lambda, first->n_out,
                                  first->lambda);
        }
        if (options->is_debiased && !kernel->is_symmetric) {
            return dpot_error_set(
                error, DPOT_ERR_SHAPE,
                "the cost of group %zu is not symmetric: the support of a debiased "
                "barycenter is that of its groups",
                i + 1);
        }
        if (options->is_debiased && kernel != first) {
            return dpot_error_set(error, DPOT_ERR_SHAPE,
                                  "group %zu has a kernel of its own: the groups of a debiased "
                                  "barycenter share the first one's",
                                  i + 1);
        }
        status = check_mass(&problem->groups[i], i, error);
    }
    return status;
}

/* Group weights, and blocks of groups that share a kernel. */
static void take_groups(struct state *s, const struct barycenter_fixed_problem *problem)
{
    double sum = 0.0;
    for (size_t i = 0; i < problem->n_groups; i++) {
        const double weight = problem->group_weights ? problem->group_weights[i] : 1.0;
        struct barycenter_kernel *kernel = problem->groups[i].kernel;
        if (!(weight > 0.0)) {
            continue;
        }
        struct block *last = s->n_blocks > 0 ? &s->blocks[s->n_blocks - 1] : NULL;
        if (!last || last->kernel != kernel) {
            s->blocks[s->n_blocks++] =
                (struct block){.kernel = kernel, .first = s->n_groups, .at = s->total};
            last = &s->blocks[s->n_blocks - 1];
        }
        last->n++;
        s->w[s->n_groups++] = weight;
        s->total += kernel->stride_in;
        s->x_cap = kernel->stride_in > s->x_cap ? kernel->stride_in : s->x_cap;
        sum += weight;
    }
    for (size_t i = 0; i < s->n_groups; i++) {
        s->w[i] /= sum;
    }
}

static void take_masses(struct state *s, const struct barycenter_fixed_problem *problem)
{
    double *a = s->a;
    for (size_t i = 0; i < problem->n_groups; i++) {
        const struct barycenter_histogram *group = &problem->groups[i];
        const size_t n = group->kernel->n_in, stride = group->kernel->stride_in;
        double sum = 0.0;
        if (problem->group_weights && !(problem->group_weights[i] > 0.0)) {
            continue;
        }
        for (size_t k = 0; k < n; k++) {
            sum += group->mass[k];
        }
        for (size_t k = 0; k < stride; k++) {
            a[k] = k < n ? group->mass[k] / sum : 0.0;
        }
        s->lanes->logarithms(stride, a, 0.0, a);
        a += stride;
    }
}

/* Sets a vector of outputs to `value` everywhere. */
static void fill(const struct state *s, double value, double *out)
{
    for (size_t j = 0; j < s->stride; j++) {
        out[j] = j < s->n ? value : LANES_NOTHING;
    }
}

static void state_release(struct state *s)
{
    const size_t n_out = s->n_groups * s->stride;
    double *const inputs[] = {s->a, s->u, s->kv};
    double *const outputs[] = {s->b, s->d, s->kd, s->linear};
    for (size_t k = 0; k < 3; k++) {
        dpot_free_array(NULL, inputs[k], s->total, sizeof(double));
    }
    for (size_t k = 0; k < 4; k++) {
        dpot_free_array(NULL, outputs[k], s->stride, sizeof(double));
    }
    dpot_free_array(NULL, s->v, n_out, sizeof(double));
    dpot_free_array(NULL, s->phi, n_out, sizeof(double));
    dpot_free_array(NULL, s->x, s->x_cap, sizeof(double));
    dpot_free_array(NULL, s->w, s->cap, sizeof(double));
    dpot_free_array(NULL, s->blocks, s->cap, sizeof *s->blocks);
}

static bool alloc_vectors(struct state *s)
{
    double **const inputs[] = {&s->a, &s->u, &s->kv};
    double **const outputs[] = {&s->b, &s->d, &s->kd, &s->linear};
    bool is_complete = true;
    for (size_t k = 0; k < 3; k++) {
        *inputs[k] = dpot_alloc_array(NULL, s->total, sizeof(double));
        is_complete = is_complete && *inputs[k];
    }
    for (size_t k = 0; k < 4; k++) {
        *outputs[k] = dpot_alloc_array(NULL, s->stride, sizeof(double));
        is_complete = is_complete && *outputs[k];
    }
    s->v = dpot_alloc_array(NULL, s->n_groups * s->stride, sizeof(double));
    s->phi = dpot_alloc_array(NULL, s->n_groups * s->stride, sizeof(double));
    s->x_cap = s->stride > s->x_cap ? s->stride : s->x_cap;
    s->x = dpot_alloc_array(NULL, s->x_cap, sizeof(double));
    return is_complete && s->v && s->phi && s->x;
}

static dpot_status state_init(struct state *s, const struct barycenter_fixed_problem *problem,
                              const struct barycenter_fixed_options *options)
{
    const struct barycenter_kernel *first = problem->groups[0].kernel;
    *s = (struct state){.options = options,
                        .lanes = lanes_get(),
                        .cap = problem->n_groups,
                        .n = first->n_out,
                        .stride = first->stride_out,
                        .lambda = first->lambda};
    s->w = dpot_alloc_array(NULL, s->cap, sizeof(double));
    s->blocks = dpot_alloc_array(NULL, s->cap, sizeof *s->blocks);
    if (!s->w || !s->blocks) {
        return DPOT_ERR_MEMORY;
    }
    take_groups(s, problem);
    if (!alloc_vectors(s)) {
        return DPOT_ERR_MEMORY;
    }
    take_masses(s, problem);
    for (size_t i = 0; i < s->n_groups; i++) {
        fill(s, 0.0, s->v + i * s->stride);
    }
    fill(s, 0.0, s->d);
    return DPOT_OK;
}

/* ---- iterations ---- */

/* u_i = a_i / (K v_i), phi_i = K' u_i. */
static void scale_rows(struct state *s)
{
    for (size_t k = 0; k < s->n_blocks; k++) {
        const struct block *block = &s->blocks[k];
        struct barycenter_kernel *kernel = block->kernel;
        double *a = s->a + block->at, *u = s->u + block->at, *kv = s->kv + block->at;
        kernel->apply(kernel, false, block->n, s->v + block->first * s->stride, kv,
                      s->options->team);
        for (size_t i = 0; i < block->n * kernel->stride_in; i++) {
            u[i] = a[i] > LANES_NOTHING / 2 ? a[i] - kv[i] : LANES_NOTHING;
        }
        kernel->apply(kernel, true, block->n, u, s->phi + block->first * s->stride,
                      s->options->team);
    }
}

/* b = d prod phi_i^(w_i); d = 1 without debiasing. */
static void average(struct state *s)
{
    memcpy(s->b, s->d, s->stride * sizeof *s->b);
    for (size_t i = 0; i < s->n_groups; i++) {
        const double *phi = s->phi + i * s->stride;
        for (size_t j = 0; j < s->n; j++) {
            s->b[j] += s->w[i] * phi[j];
        }
    }
}

/* Scales to sum 1, up to rounding. */
static void normalise(size_t n, double *x)
{
    for (int round = 0; round < 2; round++) {
        double sum = 0.0, lost = 0.0;
        for (size_t j = 0; j < n; j++) {
            const double y = x[j] - lost, t = sum + y;
            lost = (t - sum) - y;
            sum = t;
        }
        for (size_t j = 0; j < n; j++) {
            x[j] /= sum;
        }
    }
}

/* v_i = b / phi_i; padding stays without mass. */
static void scale_columns(struct state *s)
{
    for (size_t i = 0; i < s->n_groups; i++) {
        const double *phi = s->phi + i * s->stride;
        double *v = s->v + i * s->stride;
        for (size_t j = 0; j < s->n; j++) {
            v[j] = s->b[j] - phi[j];
        }
    }
}

/* d = (d b / (K d))^(1/2), whose fixed point is d K d = b. */
static void debias(struct state *s)
{
    struct barycenter_kernel *kernel = s->blocks[0].kernel;
    kernel->apply(kernel, false, 1, s->d, s->kd, s->options->team);
    for (size_t j = 0; j < s->n; j++) {
        s->d[j] = 0.5 * (s->d[j] + s->b[j] - s->kd[j]);
    }
}

/* sum_i w_i |v_i phi_i - b|_1: how far the columns of the plans are from b. */
static double column_violation(struct state *s)
{
    double violation = 0.0;
    for (size_t i = 0; i < s->n_groups; i++) {
        const double *v = s->v + i * s->stride, *phi = s->phi + i * s->stride;
        double sum = 0.0;
        for (size_t j = 0; j < s->stride; j++) {
            s->x[j] = v[j] + phi[j];
        }
        s->lanes->exponentials(s->stride, s->x, 0.0, s->x);
        for (size_t j = 0; j < s->n; j++) {
            sum += fabs(s->x[j] - s->linear[j]);
        }
        violation += s->w[i] * sum;
    }
    return violation;
}

/* |d K d - b|_1 */
static double debiasing_violation(struct state *s)
{
    struct barycenter_kernel *kernel = s->blocks[0].kernel;
    double violation = 0.0;
    kernel->apply(kernel, false, 1, s->d, s->kd, s->options->team);
    for (size_t j = 0; j < s->stride; j++) {
        s->x[j] = s->d[j] + s->kd[j];
    }
    s->lanes->exponentials(s->stride, s->x, 0.0, s->x);
    for (size_t j = 0; j < s->n; j++) {
        violation += fabs(s->x[j] - s->linear[j]);
    }
    return violation;
}

/* The residual of b after scale_rows; stores b, scaled to sum 1, in s->linear. */
static double find_residual(struct state *s)
{
    (void)barycenter_kernel_exponentials(s->b, s->stride, s->linear);
    normalise(s->n, s->linear);
    return column_violation(s) + (s->options->is_debiased ? debiasing_violation(s) : 0.0);
}

/* Ends after scale_rows, so that the plans have exact rows and the last entry of the curve is their
 * residual. */
static void iterate(struct state *s, const struct solve_control *control,
                    struct barycenter_fixed_result *r)
{
    const size_t n_most = s->options->max_iterations;
    bool is_last = false;
    r->outcome = SOLVE_ITERATION_LIMIT;
    scale_rows(s);
    while (r->outcome != SOLVE_CONVERGED && !is_last) {
        average(s);
        scale_columns(s);
        if (s->options->is_debiased) {
            debias(s);
        }
        is_last = solve_control_stops(control, ++r->iterations, n_most, &r->outcome) ||
                  r->iterations == n_most;
        scale_rows(s);
        if (is_last || r->iterations % BARYCENTER_FIXED_EVERY == 0) {
            r->residual = r->curve[r->n_curve++] = find_residual(s);
            if (s->options->tol > 0.0 && r->residual <= s->options->tol) {
                r->outcome = SOLVE_CONVERGED;
            }
        }
    }
}

/* ---- values ---- */

/* Adds group i, whose inputs begin at `at`, to the values. s->b is h / lambda. */
static void add_values(struct state *s, const struct block *block, size_t i, size_t at,
                       struct barycenter_fixed_result *r)
{
    struct barycenter_kernel *kernel = block->kernel;
    const double *v = s->v + i * s->stride, *phi = s->phi + i * s->stride;
    const double log_n = log((double)s->n), weight = s->w[i], lambda = s->lambda;
    double rows = 0.0, cols = 0.0, violation = 0.0, conjugate = 0.0;
    double *f = s->kv + at; /* reused: no longer needed */
    for (size_t k = 0; k < kernel->n_in; k++) {
        const double mass = s->a[at + k] > LANES_NOTHING / 2 ? exp(s->a[at + k]) : 0.0;
        rows += mass > 0.0 ? mass * (s->u[at + k] - s->a[at + k]) : 0.0;
    }
    for (size_t j = 0; j < s->n; j++) {
        const double mass = exp(v[j] + phi[j]);
        cols += mass > 0.0 ? mass * v[j] : 0.0;
        violation += fabs(mass - s->linear[j]);
        s->x[j] = lambda * (v[j] - s->b[j]);
    }
    kernel->conjugate(kernel, s->x, f, s->options->team);
    for (size_t k = 0; k < kernel->n_in; k++) {
        conjugate += s->a[at + k] > LANES_NOTHING / 2 ? exp(s->a[at + k]) * f[k] : 0.0;
    }
    const double cost = kernel->cost(kernel, s->u + at, v, s->options->team);
    r->cost += weight * cost;
    r->value += weight * lambda * (rows + cols + log_n);
    r->dual += weight * lambda * (rows + log_n);
    r->unregularised_lower += weight * conjugate;
    r->unregularised_upper += weight * (cost + 0.5 * violation * kernel->range);
}

/* Values of the plans of the last v, with exact rows. With any potentials g_i and h = sum_i w_i
 * g_i, the potentials g_i - h bound the transport costs, and g_i bound the regularised problem
 * after subtracting min h. h is 0 up to rounding for the plain barycenter, lambda log d for the
 * debiased one. */
static void find_values(struct state *s, struct barycenter_fixed_result *r)
{
    double least = HUGE_VAL;
    for (size_t j = 0; j < s->n; j++) {
        double h = 0.0;
        for (size_t i = 0; i < s->n_groups; i++) {
            h += s->w[i] * s->v[i * s->stride + j];
        }
        s->b[j] = h;
        least = fmin(least, s->lambda * h);
    }
    for (size_t k = 0; k < s->n_blocks; k++) {
        const struct block *block = &s->blocks[k];
        for (size_t i = 0; i < block->n; i++) {
            add_values(s, block, block->first + i, block->at + i * block->kernel->stride_in, r);
        }
    }
    r->dual = s->options->is_debiased ? NAN : r->dual + least;
}

static dpot_status result_init(struct barycenter_fixed_result *r, const struct state *s)
{
    r->n = s->n;
    r->curve_cap = s->options->max_iterations / BARYCENTER_FIXED_EVERY + 1;
    r->weights = dpot_alloc_array(NULL, s->n, sizeof(double));
    r->curve = dpot_alloc_array(NULL, r->curve_cap, sizeof(double));
    return r->weights && r->curve ? DPOT_OK : DPOT_ERR_MEMORY;
}

void barycenter_fixed_release(struct barycenter_fixed_result *r)
{
    dpot_free_array(NULL, r->weights, r->n, sizeof(double));
    dpot_free_array(NULL, r->curve, r->curve_cap, sizeof(double));
    *r = (struct barycenter_fixed_result){0};
}

dpot_status barycenter_fixed_solve(const struct barycenter_fixed_problem *problem,
                                   const struct barycenter_fixed_options *options,
                                   const struct solve_control *control,
                                   struct barycenter_fixed_result *result, struct dpot_error *error)
{
    struct state s;
    *result = (struct barycenter_fixed_result){0};
    dpot_status status = check(problem, options, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = state_init(&s, problem, options);
    if (status == DPOT_OK) {
        status = result_init(result, &s);
    }
    if (status == DPOT_OK) {
        iterate(&s, control, result);
        find_values(&s, result);
        memcpy(result->weights, s.linear, s.n * sizeof(double));
    } else {
        (void)dpot_error_set(error, status, "no memory for a barycenter of %zu groups",
                             problem->n_groups);
        barycenter_fixed_release(result);
    }
    state_release(&s);
    return status;
}

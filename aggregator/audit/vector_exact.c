#include "audit/vector_exact.h"

#include "base/alloc.h"
#include "mechanism/quantize.h"

#include <math.h>
#include <string.h>

#define DIM VECTOR_EXACT_DIM_MAX
#define INPUTS_MAX 512
#define AXES_MAX 8
#define N_RANDOM 64
#define OUTPUTS_MAX ((double)(4 * NOISE_LAW_VALUES_MAX)) /* more than two overlapping laws have */
#define HALVINGS 64
#define EPSILON_MAX 600   /* exp of it is finite */
#define DELTA_MARGIN 1e-9 /* relative, above the rounding error of the sums */

struct clipped {
    size_t n;
    int64_t z[INPUTS_MAX][DIM];
};

struct work {
    const struct vector_program *program;
    const struct dpot_vector_domain *vector;
    unsigned k;
    struct clipped *clipped;
    struct noise_law law; /* empty if it is too large */
};

/* ---- inputs ---- */

static void add_input(struct work *w, const double *x)
{
    if (w->clipped->n < INPUTS_MAX) {
        w->program->quantize(w->vector, x, w->clipped->z[w->clipped->n++]);
    }
}

/* Inputs of size m: m along each axis (above AXES_MAX axes about that many, the last included), in
 * every sign pattern of two, and in all coordinates; the other coordinates are zero or NaN. */
static void add_inputs_of_size(struct work *w, double m)
{
    const uint32_t dim = w->vector->dim, step = dim <= AXES_MAX ? 1 : dim / AXES_MAX;
    for (uint32_t j = (dim - 1) % step; j < dim; j += step) {
        for (int sign = -1; sign <= 1; sign += 2) {
            double x[DIM] = {0};
            x[j] = sign * m;
            add_input(w, x);
            x[(j + 1) % dim] = m;
            add_input(w, x);
            for (uint32_t i = 0; i < dim; i++) {
                x[i] = i == j ? NAN : sign * m;
            }
            add_input(w, x);
        }
    }
    for (int sign = -1; sign <= 1; sign += 2) {
        double x[DIM];
        for (uint32_t j = 0; j < dim; j++) {
            x[j] = sign * m;
        }
        add_input(w, x);
    }
}

static void add_random_inputs(struct work *w, double m)
{
    uint64_t state = 1;
    for (int i = 0; i < N_RANDOM; i++) {
        double x[DIM];
        for (uint32_t j = 0; j < w->vector->dim; j++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            x[j] = 2 * m * (ldexp((double)(state >> 11), -53) - 0.5);
        }
        add_input(w, x);
    }
}

/* The largest coordinate of the set, in data units. */
static double edge_of(const struct dpot_vector_domain *vector)
{
    double edge = 0;
    for (uint32_t j = 0; j < vector->dim; j++) {
        edge = fmax(edge, fabs((double)dpot_vector_lo(vector, j)));
        edge = fmax(edge, fabs((double)dpot_vector_hi(vector, j)));
    }
    return edge * vector->grid_step;
}

static void add_inputs(struct work *w)
{
    const double edge = edge_of(w->vector);
    const double sizes[] = {0, NAN, 5e-324, edge / 2, edge, edge * 1.04, edge * 16, INFINITY};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        add_inputs_of_size(w, sizes[i]);
    }
    add_random_inputs(w, edge * 3);
}

/* ---- the pair that is furthest apart ---- */

static double length(const struct work *w, const int64_t *a, const int64_t *b)
{
    double sum = 0;
    const bool is_l1 = w->program->campaign->mechanism == DPOT_MECHANISM_LAPLACE;
    for (uint32_t j = 0; j < w->vector->dim; j++) {
        const double apart = fabs((double)a[j] - (double)b[j]);
        sum += is_l1 ? apart : apart * apart;
    }
    return is_l1 ? sum : sqrt(sum);
}

/* The furthest pair in all coordinates, or in coordinate `only` if that is below dim. */
static double find_furthest(const struct work *w, uint32_t only, const int64_t **a,
                            const int64_t **b)
{
    const struct clipped *clipped = w->clipped;
    double furthest = -1;
    for (size_t i = 0; i < clipped->n; i++) {
        for (size_t h = i; h < clipped->n; h++) {
            const int64_t *zi = clipped->z[i], *zh = clipped->z[h];
            const double apart = only < w->vector->dim ? fabs((double)zi[only] - (double)zh[only])
                                                       : length(w, zi, zh);
            if (apart > furthest) {
                furthest = apart;
                *a = zi;
                *b = zh;
            }
        }
    }
    return furthest;
}

/* ---- Laplace ---- */

/* Coordinate j of the release of z with the given noise. */
static int64_t release(const struct work *w, uint32_t j, const int64_t *z, int64_t noise)
{
    int64_t values[DIM];
    memcpy(values, z, sizeof values);
    values[j] += noise;
    if (w->program->clamp) {
        w->program->clamp(w->k, w->vector, values);
    }
    return values[j];
}

/* Adds up the law of coordinate j of the release of z by output; index 0 is output `least`. */
static void fill_law(const struct work *w, uint32_t j, const int64_t *z, int64_t least, double *law)
{
    const int64_t reach = (int64_t)w->law.n_values - 1;
    for (int64_t i = 2 * reach; i >= 0; i--) {
        /* -reach, reach, -reach + 1, ...: small weights first. */
        const int64_t noise = i % 2 == 0 ? -(i / 2) : (i + 1) / 2;
        law[release(w, j, z, noise) - least] += w->law.weight[noise + reach];
    }
}

static double largest_ratio(const double *p, const double *q, size_t n)
{
    double loss = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] > 0 || q[i] > 0) {
            loss = p[i] > 0 && q[i] > 0 ? fmax(loss, fabs(log(p[i] / q[i]))) : INFINITY;
        }
    }
    return loss;
}

/* ln of the largest ratio of coordinate j, over all outputs. */
static dpot_status enumerate_coordinate(const struct work *w, uint32_t j, const int64_t *a,
                                        const int64_t *b, double *loss)
{
    const int64_t reach = (int64_t)w->law.n_values - 1;
    const int64_t *lower = a[j] < b[j] ? a : b, *upper = a[j] < b[j] ? b : a;
    const int64_t least = release(w, j, lower, -reach), most = release(w, j, upper, reach);
    if ((double)most - (double)least >= OUTPUTS_MAX) {
        *loss = INFINITY; /* the two laws do not overlap */
        return DPOT_OK;
    }
    const size_t n_outputs = (size_t)(most - least + 1);
    double *laws = dpot_alloc_array(NULL, 2 * n_outputs, sizeof *laws);
    if (!laws) {
        return DPOT_ERR_MEMORY;
    }
    fill_law(w, j, a, least, laws);
    fill_law(w, j, b, least, laws + n_outputs);
    *loss = largest_ratio(laws, laws + n_outputs, n_outputs);
    dpot_free_array(NULL, laws, 2 * n_outputs, sizeof *laws);
    return DPOT_OK;
}

/* For a law too large to enumerate: the ratio at the output that equals one of the inputs. */
static double probe_coordinate(const struct work *w, double apart)
{
    const enum dpot_noise noise = DPOT_NOISE_LAPLACE;
    if (apart >= (double)noise_law_size(noise, w->k)) {
        return INFINITY;
    }
    const struct noise_weight near = noise_law_weight(w->program->attempt, noise, w->k, 0);
    const struct noise_weight far =
        noise_law_weight(w->program->attempt, noise, w->k, (uint64_t)apart);
    return far.plus > 0 ? fabs(log(near.plus / far.plus)) : INFINITY;
}

static dpot_status find_coordinate_loss(const struct work *w, uint32_t j, const int64_t *a,
                                        const int64_t *b, double *loss)
{
    if (w->law.weight) {
        return enumerate_coordinate(w, j, a, b, loss);
    }
    *loss = probe_coordinate(w, fabs((double)a[j] - (double)b[j]));
    return DPOT_OK;
}

static dpot_status find_pair_loss(const struct work *w, const int64_t *a, const int64_t *b,
                                  double *loss)
{
    dpot_status status = DPOT_OK;
    *loss = 0;
    for (uint32_t j = 0; j < w->vector->dim && status == DPOT_OK; j++) {
        double of_coordinate = 0;
        status = a[j] == b[j] ? DPOT_OK : find_coordinate_loss(w, j, a, b, &of_coordinate);
        *loss += of_coordinate;
    }
    return status;
}

/* Checks the furthest pair, and the furthest pair of every coordinate. */
static dpot_status find_laplace_loss(const struct work *w, struct vector_finding *finding)
{
    dpot_status status = DPOT_OK;
    for (uint32_t only = 0; only <= w->vector->dim && status == DPOT_OK; only++) {
        const int64_t *a = NULL, *b = NULL;
        double loss = 0;
        const double apart = find_furthest(w, only, &a, &b);
        status = find_pair_loss(w, a, b, &loss);
        finding->epsilon = fmax(finding->epsilon, loss);
        finding->diameter = only == w->vector->dim ? apart : finding->diameter;
    }
    return status;
}

/* ---- Gaussian ---- */

/* delta(epsilon) of the law against itself, shifted; rounded up. */
static double find_delta(const struct noise_law *law, size_t shift, double epsilon)
{
    const size_t n = 2 * law->n_values - 1;
    const double factor = exp(epsilon);
    double delta = 0;
    for (size_t y = 0; y < n; y++) {
        const double p = law->weight[y];
        const double q = y >= shift ? law->weight[y - shift] : 0;
        delta += fmax(0, p - factor * q);
    }
    return delta / law->total * (1 + DELTA_MARGIN);
}

static double find_epsilon(const struct noise_law *law, double shift, double delta)
{
    double low = 0, high = EPSILON_MAX;
    if (shift >= OUTPUTS_MAX || find_delta(law, (size_t)shift, EPSILON_MAX) > delta) {
        return INFINITY;
    }
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = low + (high - low) / 2;
        if (find_delta(law, (size_t)shift, middle) > delta) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

/* ---- both mechanisms ---- */

struct vector_program vector_program_of(const struct dpot_campaign *campaign)
{
    const bool is_laplace = campaign->mechanism == DPOT_MECHANISM_LAPLACE;
    return (struct vector_program){campaign, dpot_quantize, dpot_noise_try,
                                   is_laplace ? dpot_laplace_clamp : NULL};
}

static dpot_status find_loss(struct work *w, double delta, struct vector_finding *finding,
                             struct dpot_error *error)
{
    const bool is_laplace = w->program->campaign->mechanism == DPOT_MECHANISM_LAPLACE;
    const enum dpot_noise noise = is_laplace ? DPOT_NOISE_LAPLACE : DPOT_NOISE_GAUSSIAN;
    const dpot_status status = noise_law_init(&w->law, w->program->attempt, noise, w->k);
    finding->is_partial = status == DPOT_ERR_TOO_LARGE;
    finding->n_inputs = w->clipped->n;
    if (status == DPOT_ERR_MEMORY || (finding->is_partial && !is_laplace)) {
        return dpot_error_set(error, status, "noise of scale 2^%u is too large to enumerate", w->k);
    }
    if (is_laplace) {
        return find_laplace_loss(w, finding);
    }
    const int64_t *a = NULL, *b = NULL;
    finding->diameter = find_furthest(w, w->vector->dim, &a, &b);
    finding->epsilon = find_epsilon(&w->law, ceil(finding->diameter), delta);
    return DPOT_OK;
}

dpot_status vector_exact(const struct vector_program *program, double delta,
                         struct vector_finding *finding, struct dpot_error *error)
{
    struct work w = {.program = program,
                     .vector = &program->campaign->vector,
                     .k = program->campaign->noise.scale_log2};
    *finding = (struct vector_finding){0};
    if (w.vector->dim > DIM) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "%u coordinates: an enumeration takes up to %d", w.vector->dim, DIM);
    }
    w.clipped = dpot_alloc_array(NULL, 1, sizeof *w.clipped);
    if (!w.clipped) {
        return DPOT_ERR_MEMORY;
    }
    add_inputs(&w);
    const dpot_status status = find_loss(&w, delta, finding, error);
    noise_law_release(&w.law);
    dpot_free_array(NULL, w.clipped, 1, sizeof *w.clipped);
    return status;
}

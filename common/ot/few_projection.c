#include "ot/few_projection.h"

#include "base/double_bits.h"
#include "ot/few_parts.h"

#include <float.h>
#include <math.h>

_Static_assert(DPOT_FEW_POINTS >= DPOT_FEW_ROWS_MAX, "a price can hold the number of a point");
/* Potentials differ by at most a price per hub, and a distance adds as much. */
_Static_assert(DPOT_FEW_FAR / DPOT_FEW_POINTS / (2 * DPOT_FEW_HUBS_MAX) >
                   (INT64_C(1) << DPOT_FEW_COST_BITS),
               "potentials and distances stay below FAR");

/* Bytes per row and column, per column, per edge. */
#define PAIR_BYTES (2 * sizeof(int64_t) + 2 * sizeof(int32_t))
#define COL_BYTES (5 * sizeof(int64_t))
#define EDGE_BYTES (sizeof(int64_t) + sizeof(int32_t) + sizeof(float))

size_t dpot_few_projection_bytes(size_t n_rows, size_t n_cols)
{
    if (n_rows > DPOT_FEW_ROWS_MAX) {
        return SIZE_MAX;
    }
    const size_t fixed =
        sizeof(struct dpot_few_projection) + (n_rows + 1) * (n_rows + 1) * EDGE_BYTES;
    const size_t column = n_rows * PAIR_BYTES + COL_BYTES;
    return n_cols > (SIZE_MAX - fixed) / column ? SIZE_MAX : fixed + n_cols * column;
}

static int is_sound(const struct dpot_few_projection_config *config)
{
    const struct dpot_polytope *polytope = config->polytope;
    if (config->n_rows == 0 || config->passes == 0 || config->passes > DPOT_FEW_PASSES_MAX ||
        config->n_cols == 0 || config->n_cols > INT32_MAX || !polytope ||
        polytope->size != config->n_cols ||
        dpot_few_projection_bytes(config->n_rows, config->n_cols) == SIZE_MAX) {
        return 0;
    }
    double sum = 0.0;
    for (size_t j = 0; j < polytope->size; j++) {
        if (!(polytope->lower[j] >= 0.0 && polytope->lower[j] <= polytope->upper[j])) {
            return 0;
        }
        sum += polytope->upper[j];
    }
    return isfinite(sum) != 0;
}

static dpot_status allocate(struct dpot_few_projection *p)
{
    const size_t n = p->n_rows, m = p->n_cols, n_edges = (n + 1) * (n + 1);
    const struct dpot_allocator *allocator = p->allocator;
    p->cost = dpot_alloc_array(allocator, n * m, sizeof *p->cost);
    p->lower = dpot_alloc_array(allocator, m, sizeof *p->lower);
    p->room = dpot_alloc_array(allocator, m, sizeof *p->room);
    p->first = dpot_alloc_array(allocator, m, sizeof *p->first);
    p->second = dpot_alloc_array(allocator, m, sizeof *p->second);
    p->units = dpot_alloc_array(allocator, n * m, sizeof *p->units);
    p->pool = dpot_alloc_array(allocator, m, sizeof *p->pool);
    p->served = dpot_alloc_array(allocator, n * m, sizeof *p->served);
    p->place = dpot_alloc_array(allocator, n * m, sizeof *p->place);
    p->price = dpot_alloc_array(allocator, n_edges, sizeof *p->price);
    p->col = dpot_alloc_array(allocator, n_edges, sizeof *p->col);
    p->matrix = dpot_alloc_array(allocator, n_edges, sizeof *p->matrix);
    return p->price && p->col && p->matrix && p->cost && p->lower && p->room && p->first &&
                   p->second && p->units && p->pool && p->served && p->place
               ? DPOT_OK
               : DPOT_ERR_MEMORY;
}

void dpot_few_projection_free(struct dpot_few_projection *p)
{
    if (!p) {
        return;
    }
    const size_t n = p->n_rows, m = p->n_cols, n_edges = (n + 1) * (n + 1);
    const struct dpot_allocator *allocator = p->allocator;
    dpot_free_secret(allocator, p->cost, n * m, sizeof *p->cost);
    dpot_free_secret(allocator, p->lower, m, sizeof *p->lower);
    dpot_free_secret(allocator, p->room, m, sizeof *p->room);
    dpot_free_secret(allocator, p->first, m, sizeof *p->first);
    dpot_free_secret(allocator, p->second, m, sizeof *p->second);
    dpot_free_secret(allocator, p->units, n * m, sizeof *p->units);
    dpot_free_secret(allocator, p->pool, m, sizeof *p->pool);
    dpot_free_secret(allocator, p->served, n * m, sizeof *p->served);
    dpot_free_secret(allocator, p->place, n * m, sizeof *p->place);
    dpot_free_secret(allocator, p->price, n_edges, sizeof *p->price);
    dpot_free_secret(allocator, p->col, n_edges, sizeof *p->col);
    dpot_free_secret(allocator, p->matrix, n_edges, sizeof *p->matrix);
    dpot_free_secret(allocator, p, 1, sizeof *p);
}

/* The upper bound of point j, at most max(lower, 1): no point receives more of a mass of 1. */
static double cap_of(const struct dpot_polytope *polytope, size_t j)
{
    return fmin(polytope->upper[j], fmax(polytope->lower[j], 1.0));
}

static void take_bounds(struct dpot_few_projection *p)
{
    double sum = 0.0;
    for (size_t j = 0; j < p->n_cols; j++) {
        sum += cap_of(&p->polytope, j);
    }
    (void)frexp(fmax(sum, 1.0), &p->exponent);
    p->unit = dpot_exact_to_mass(1, p->exponent);
    p->sum_lower = dpot_exact_to_units(p->polytope.lower, p->n_cols, 1.0, p->exponent, p->lower);
    p->sum_room = -p->sum_lower;
    for (size_t j = 0; j < p->n_cols; j++) {
        const double cap = cap_of(&p->polytope, j);
        p->sum_room += dpot_exact_to_units(&cap, 1, 1.0, p->exponent, &p->room[j]);
        p->room[j] -= p->lower[j];
    }
}

dpot_status dpot_few_projection_new(const struct dpot_few_projection_config *config,
                                    struct dpot_few_projection **projection)
{
    *projection = NULL;
    if (!is_sound(config)) {
        return DPOT_ERR_ARGUMENT;
    }
    struct dpot_few_projection *p = dpot_alloc_array(config->allocator, 1, sizeof *p);
    if (!p) {
        return DPOT_ERR_MEMORY;
    }
    p->n_rows = config->n_rows;
    p->n_cols = config->n_cols;
    p->budget = (uint64_t)config->passes * p->n_rows * (p->n_rows + p->n_cols);
    p->polytope = *config->polytope;
    p->allocator = config->allocator;
    if (allocate(p) != DPOT_OK) {
        dpot_few_projection_free(p);
        return DPOT_ERR_MEMORY;
    }
    take_bounds(p);
    *projection = p;
    return DPOT_OK;
}

int64_t *dpot_few_projection_cost(struct dpot_few_projection *projection)
{
    return projection->cost;
}

int dpot_few_projection_scale(double largest, int bits)
{
    return bits - 1 - ilogb(fmin(fmax(largest, DBL_MIN), DBL_MAX));
}

int64_t dpot_few_projection_round(double cost, int scale)
{
    const int64_t largest = INT64_C(1) << DPOT_FEW_COST_BITS;
    const uint64_t bits = dpot_double_bits(cost);
    const int exponent = (int)(bits >> 52 & 0x7ff), shift = 1075 - scale - exponent;
    const int64_t digits = (int64_t)((bits & (UINT64_MAX >> 12)) | UINT64_C(1) << 52);
    const int64_t half = shift > 0 && shift < 63 ? INT64_C(1) << (shift - 1) : 0;
    const int is_large = exponent == 0x7ff || shift < 52 - DPOT_FEW_COST_BITS;
    const int64_t steps = shift > 62 || exponent == 0 ? 0
                          : is_large                  ? largest
                                                      : (digits + half) >> shift;
    const int is_negative = bits >> 63 && !isnan(cost);
    return DPOT_FEW_POINTS * (is_negative ? 0 : steps < largest ? steps : largest);
}

/* ---- one run ---- */

static double mass_of(double mu)
{
    return mu > 0.0 && isfinite(mu) ? mu : 0.0;
}

/* The points and their supplies. The total is mass one up to rounding, or what the bounds allow if
 * the polytope is empty. Scaled by the largest mass first, so that the sum cannot overflow. */
static void take_points(struct dpot_few_projection *p, const double *mu)
{
    double mass[DPOT_FEW_ROWS_MAX], largest = 0.0, sum = 0.0;
    const int64_t one = (int64_t)1 << (DPOT_EXACT_UNIT_BITS - p->exponent);
    const int64_t most = p->sum_lower + p->sum_room;
    const int64_t total = one < p->sum_lower ? p->sum_lower : one > most ? most : one;
    for (size_t i = 0; i < p->n_rows; i++) {
        largest = fmax(largest, mass_of(mu[i]));
    }
    p->n_points = 0;
    for (size_t i = 0; i < p->n_rows; i++) {
        const double x = largest > 0.0 ? mass_of(mu[i]) / largest : 1.0;
        if (x > 0.0) {
            p->costs[p->n_points] = p->cost + i * p->n_cols;
            p->rows[p->n_points] = i;
            mass[p->n_points++] = x;
            sum += x;
        }
    }
    const double factor = (double)total * p->unit / sum;
    const int64_t given = dpot_exact_to_units(mass, p->n_points, factor, p->exponent, p->supply);
    dpot_exact_add_to_largest(p->supply, p->n_points, total - given);
    p->supply[p->n_points] = most - total;
}

static void take_q(const struct dpot_few_projection *p, double *q)
{
    for (size_t j = 0; j < p->n_cols; j++) {
        const double x = (double)(p->lower[j] + p->room[j] - p->pool[j]) * p->unit;
        q[j] = fmin(fmax(x, p->polytope.lower[j]), p->polytope.upper[j]);
    }
}

void dpot_few_projection_run(struct dpot_few_projection *p, const double *mu, double *q,
                             struct dpot_few_projection_result *result)
{
    p->steps = 0;
    p->is_spent = 0;
    take_points(p, mu);
    dpot_few_start(p);
    dpot_few_serve(p);
    const int is_exact = dpot_few_augment(p);
    take_q(p, q);
    if (result) {
        *result = (struct dpot_few_projection_result){
            .paths = p->paths, .steps = p->steps, .is_exact = is_exact};
    }
}

/* ---- its certificate ---- */

double dpot_few_projection_plan_cost(const struct dpot_few_projection *p, const double *const *rows)
{
    struct dpot_exact_sum sum = {0.0, 0.0};
    for (size_t i = 0; i < p->n_points; i++) {
        for (size_t k = 0; k < p->n_served[i]; k++) {
            const size_t j = (size_t)p->served[i * p->n_cols + k];
            const double mass = (double)p->units[i * p->n_cols + j] * p->unit;
            dpot_exact_add(&sum, mass * rows[p->rows[i]][j]);
        }
    }
    return dpot_exact_sum_of(&sum);
}

/* sum_i mu_i F_i + sum_j (lower_j max(v_j, 0) + upper_j min(v_j, 0)), F_i = f_i - f_pool and v_j =
 * min_i C_ij - F_i: for every f a lower bound on the cost of any plan from mu into the polytope. */
double dpot_few_projection_dual(const struct dpot_few_projection *p, const double *const *rows,
                                double lowest, int scale)
{
    const double step = ldexp(1.0 / DPOT_FEW_POINTS, -scale);
    double f[DPOT_FEW_ROWS_MAX];
    struct dpot_exact_sum sum = {0.0, 0.0};
    for (size_t i = 0; i < p->n_points; i++) {
        f[i] = lowest + (double)(p->f[i] - p->f[p->n_points]) * step;
        dpot_exact_add(&sum, (double)p->supply[i] * p->unit * f[i]);
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        double price = INFINITY;
        for (size_t i = 0; i < p->n_points; i++) {
            price = fmin(price, rows[p->rows[i]][j] - f[i]);
        }
        const int64_t units = price > 0.0 ? p->lower[j] : p->lower[j] + p->room[j];
        dpot_exact_add(&sum, (double)units * p->unit * price);
    }
    return dpot_exact_sum_of(&sum);
}

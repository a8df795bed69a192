#include "ot/few_projection.h"

#include "base/double_bits.h"
#include "ot/few_parts.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

_Static_assert(DPOT_FEW_POINTS >= DPOT_FEW_ROWS_MAX, "a price can hold the number of a point");
/* Potentials differ by at most a price per hub, and a distance adds as much. */
_Static_assert(DPOT_FEW_FAR / DPOT_FEW_POINTS / (2 * DPOT_FEW_HUBS_MAX) >
                   (INT64_C(1) << DPOT_FEW_COST_BITS),
               "potentials and distances stay below FAR");

#define SPARE_PAIRS 8 /* per hub, beyond a pair for each column; 1 without ties, 3 at most seen */

/* The arrays, which lie behind the structure in its block. */
enum count { COLS, PAIRS, EDGES, COSTS, N_COUNTS };

static const struct array {
    size_t member; /* the pointer to it */
    size_t size;   /* of an element */
    enum count count;
} arrays[] = {
    /* the widest first, for their alignment */
    {offsetof(struct dpot_few_projection, lower), sizeof(int64_t), COLS},
    {offsetof(struct dpot_few_projection, room), sizeof(int64_t), COLS},
    {offsetof(struct dpot_few_projection, first), sizeof(int64_t), COLS},
    {offsetof(struct dpot_few_projection, second), sizeof(int64_t), COLS},
    {offsetof(struct dpot_few_projection, pool), sizeof(int64_t), COLS},
    {offsetof(struct dpot_few_projection, units), sizeof(int64_t), PAIRS},
    {offsetof(struct dpot_few_projection, price), sizeof(int64_t), EDGES},
    {offsetof(struct dpot_few_projection, cols), sizeof(int32_t), PAIRS},
    {offsetof(struct dpot_few_projection, next), sizeof(int32_t), PAIRS},
    {offsetof(struct dpot_few_projection, head), sizeof(int32_t), COLS},
    {offsetof(struct dpot_few_projection, col), sizeof(int32_t), EDGES},
    {offsetof(struct dpot_few_projection, matrix), sizeof(float), EDGES},
    {offsetof(struct dpot_few_projection, cost), sizeof(uint32_t), COSTS},
};

/* Bytes of the whole block; sets the pointers of p, unless it is NULL. */
static uint64_t lay_out(struct dpot_few_projection *p, size_t n_rows, size_t n_cols)
{
    const uint64_t hubs = n_rows + 1, n = n_rows, m = n_cols;
    const uint64_t counts[N_COUNTS] = {
        [COLS] = m, [PAIRS] = m + SPARE_PAIRS * hubs, [EDGES] = hubs * hubs, [COSTS] = n * m};
    uint64_t used = sizeof *p;
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++) {
        if (p) {
            void *const start = (uint8_t *)p + used;
            memcpy((uint8_t *)p + arrays[k].member, &start, sizeof start);
        }
        used += counts[arrays[k].count] * arrays[k].size;
    }
    return used;
}

size_t dpot_few_projection_bytes(size_t n_rows, size_t n_cols)
{
    if (n_rows > DPOT_FEW_ROWS_MAX || n_cols > INT32_MAX / 2) {
        return SIZE_MAX;
    }
    const uint64_t bytes = lay_out(NULL, n_rows, n_cols);
    return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

static int is_sound(const struct dpot_few_projection_config *config)
{
    const struct dpot_polytope *polytope = config->polytope;
    if (config->n_rows == 0 || config->passes == 0 || config->passes > DPOT_FEW_PASSES_MAX ||
        config->n_cols == 0 || !polytope || polytope->size != config->n_cols ||
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

void dpot_few_projection_free(struct dpot_few_projection *p)
{
    if (p) {
        dpot_free_secret(p->allocator, p, p->n_bytes, 1);
    }
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
    const size_t n_bytes = dpot_few_projection_bytes(config->n_rows, config->n_cols);
    struct dpot_few_projection *p = dpot_alloc_array(config->allocator, n_bytes, 1);
    if (!p) {
        return DPOT_ERR_MEMORY;
    }
    (void)lay_out(p, config->n_rows, config->n_cols);
    p->n_bytes = n_bytes;
    p->n_rows = config->n_rows;
    p->n_cols = config->n_cols;
    p->n_pairs_max = p->n_cols + SPARE_PAIRS * (p->n_rows + 1);
    p->budget = (uint64_t)config->passes * p->n_rows * (p->n_rows + p->n_cols);
    p->polytope = *config->polytope;
    p->allocator = config->allocator;
    take_bounds(p);
    *projection = p;
    return DPOT_OK;
}

uint32_t *dpot_few_projection_cost(struct dpot_few_projection *projection)
{
    return projection->cost;
}

int dpot_few_projection_scale(double largest)
{
    return DPOT_FEW_COST_BITS - 1 - ilogb(fmin(fmax(largest, DBL_MIN), DBL_MAX));
}

uint32_t dpot_few_projection_round(double cost, int scale)
{
    const uint64_t bits = dpot_double_bits(cost);
    const int exponent = (int)(bits >> 52 & 0x7ff), shift = 1075 - scale - exponent;
    const uint64_t digits = (bits & (UINT64_MAX >> 12)) | UINT64_C(1) << 52;
    const uint64_t half = shift > 0 && shift < 63 ? UINT64_C(1) << (shift - 1) : 0;
    const int is_large = exponent == 0x7ff || shift < 53 - DPOT_FEW_COST_BITS;
    const uint64_t steps = shift > 62 || exponent == 0 ? 0
                           : is_large                  ? DPOT_FEW_COST_MAX
                                                       : (digits + half) >> shift;
    const int is_negative = bits >> 63 && !isnan(cost);
    return is_negative ? 0 : (uint32_t)(steps < DPOT_FEW_COST_MAX ? steps : DPOT_FEW_COST_MAX);
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
            p->rows[p->n_points] = (uint8_t)i;
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
        for (int32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
            dpot_exact_add(&sum, (double)p->units[k] * p->unit * rows[p->rows[i]][p->cols[k]]);
        }
    }
    return dpot_exact_sum_of(&sum);
}

/* Potentials relative to the pool's, from rounded costs; then those that the plan fixes from the
 * unrounded ones: all hubs that serve a column have the same price there. */
struct potentials {
    double f[DPOT_FEW_ROWS_MAX];
    uint8_t is_fixed[DPOT_FEW_ROWS_MAX];
    size_t n_fixed;
};

/* The price of column j if a hub that serves it is fixed, else NaN. */
static double fixed_price(const struct dpot_few_projection *p, const struct potentials *potentials,
                          const double *const *rows, size_t j)
{
    double price = p->pool[j] > 0 && p->pool[j] < p->room[j] ? 0.0 : NAN;
    for (size_t i = 0; i < p->n_points; i++) {
        if (potentials->is_fixed[i] && dpot_few_find(p, i, j) != DPOT_FEW_NO_PAIR) {
            price = rows[p->rows[i]][j] - potentials->f[i];
        }
    }
    return price;
}

static void fix_potentials(const struct dpot_few_projection *p, const double *const *rows,
                           struct potentials *potentials)
{
    const size_t n_before = potentials->n_fixed;
    for (size_t j = 0; j < p->n_cols; j++) {
        const double price = fixed_price(p, potentials, rows, j);
        for (size_t i = 0; i < p->n_points && !isnan(price); i++) {
            if (!potentials->is_fixed[i] && dpot_few_find(p, i, j) != DPOT_FEW_NO_PAIR) {
                potentials->f[i] = rows[p->rows[i]][j] - price;
                potentials->is_fixed[i] = 1;
                potentials->n_fixed++;
            }
        }
    }
    for (size_t i = 0; i < p->n_points && potentials->n_fixed == n_before; i++) {
        potentials->n_fixed += !potentials->is_fixed[i];
        potentials->is_fixed[i] = 1;
    }
}

/* sum_i mu_i F_i + sum_j (lower_j max(v_j, 0) + upper_j min(v_j, 0)), F_i = f_i - f_pool and v_j =
 * min_i C_ij - F_i: for every f a lower bound on the cost of any plan from mu into the polytope. */
double dpot_few_projection_dual(const struct dpot_few_projection *p, const double *const *rows,
                                double lowest, int scale)
{
    const double step = ldexp(1.0 / DPOT_FEW_POINTS, -scale);
    struct potentials potentials = {.n_fixed = 0};
    struct dpot_exact_sum sum = {0.0, 0.0};
    for (size_t i = 0; i < p->n_points; i++) {
        potentials.f[i] = lowest + (double)(p->f[i] - p->f[p->n_points]) * step;
    }
    while (potentials.n_fixed < p->n_points) {
        fix_potentials(p, rows, &potentials);
    }
    for (size_t i = 0; i < p->n_points; i++) {
        dpot_exact_add(&sum, (double)p->supply[i] * p->unit * potentials.f[i]);
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        double price = INFINITY;
        for (size_t i = 0; i < p->n_points; i++) {
            price = fmin(price, rows[p->rows[i]][j] - potentials.f[i]);
        }
        const int64_t units = price > 0.0 ? p->lower[j] : p->lower[j] + p->room[j];
        dpot_exact_add(&sum, (double)units * p->unit * price);
    }
    return dpot_exact_sum_of(&sum);
}

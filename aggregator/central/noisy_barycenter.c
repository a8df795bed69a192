#include "central/noisy_barycenter.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define SIGMA_BITS 24    /* of the noise in grid steps: rounding is far below the noise */
#define UP 1.000000001   /* larger than the rounding of the sums below */
#define GRID_BITS_MAX 28 /* grid steps per unit, log2: a coordinate stays below 2^49 steps */

static double weight_of(const struct noisy_config *config, size_t i)
{
    return config->weights ? config->weights[i] : 1 / (double)config->n_groups;
}

static double sensitivity_of(const struct noisy_config *config)
{
    const double m = (double)config->support;
    double largest = 0;
    for (size_t i = 0; i < config->n_groups; i++) {
        const double part = m / (double)config->groups[i].total;
        const double moved = config->is_exact && part < 1 ? part : 1;
        largest = fmax(largest, weight_of(config, i) * moved);
    }
    return sqrt(m) * lattice_diameter(config->lattice) * largest * UP;
}

/* Upper bound on the number of distinct values of a group, independent of its records. */
static double max_values(const struct noisy_config *config, size_t i)
{
    const double cells = pow(config->lattice->cells, (double)config->lattice->dim);
    return fmin((double)config->groups[i].total, cells);
}

static dpot_status check_pairs(const struct noisy_config *config, struct dpot_error *error)
{
    for (size_t i = 0; i < config->n_groups; i++) {
        const double n = max_values(config, i);
        if (n * (double)config->support > (double)INTEGER_PLAN_PAIRS_MAX) {
            return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                  "a group may have %.0f different records, which are more than "
                                  "%zu pairs with %zu atoms: cut the domain into fewer cells",
                                  n, INTEGER_PLAN_PAIRS_MAX, config->support);
        }
    }
    return DPOT_OK;
}

static dpot_status check(const struct noisy_config *config, struct dpot_error *error)
{
    const size_t m = config->support;
    if (m == 0 || m > NOISY_SUPPORT_MAX || m > NOISY_ENTRIES_MAX / config->lattice->dim) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "%zu atoms of %zu coordinates: give 1 to %d, and at most %zu numbers",
                              m, config->lattice->dim, NOISY_SUPPORT_MAX, NOISY_ENTRIES_MAX);
    }
    if (config->iterations == 0 || config->iterations > NOISY_ITERATIONS_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%zu iterations: give 1 to %d",
                              config->iterations, NOISY_ITERATIONS_MAX);
    }
    for (size_t i = 0; i < config->n_groups; i++) {
        if (config->groups[i].total > ((int64_t)1 << 40)) {
            return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                  "a group of %lld records is too large: give at most 2^40",
                                  (long long)config->groups[i].total);
        }
    }
    return check_pairs(config, error);
}

/* sigma >= D_grid sqrt(T / (2 rho)), D_grid = D / grid + 2 sqrt(m dim). */
dpot_status noisy_scale_init(struct noisy_scale *scale, const struct noisy_config *config,
                             struct dpot_error *error)
{
    const double steps = (double)config->iterations;
    const double rounding = 2 * sqrt((double)config->support * (double)config->lattice->dim) * UP;
    *scale = (struct noisy_scale){0};
    const dpot_status status = check(config, error);
    if (status != DPOT_OK) {
        return status;
    }
    const double factor = sqrt(steps / (2 * config->rho)) * UP;
    scale->sensitivity = sensitivity_of(config);
    const int bits = ilogb(scale->sensitivity * factor);
    scale->log2_grid = bits - SIGMA_BITS < -GRID_BITS_MAX ? -GRID_BITS_MAX : bits - SIGMA_BITS;
    const double grid_sensitivity = ldexp(scale->sensitivity, -scale->log2_grid) + rounding;
    const double sigma = ceil(grid_sensitivity * factor);
    if (!(config->rho > 0) || !(sigma >= 1 && sigma <= (double)DISCRETE_GAUSSIAN_SIGMA_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "rho %g over %zu iterations needs noise that does not fit: choose a "
                              "larger epsilon or fewer iterations",
                              config->rho, config->iterations);
    }
    scale->sigma = (uint64_t)sigma;
    scale->mu = grid_sensitivity / sigma;
    scale->rho_spent = fmin(steps * scale->mu * scale->mu / 2 * UP, config->rho);
    return DPOT_OK;
}

/* Number of bits of the largest squared distance. */
static unsigned squared_distance_bits(const struct lattice *lattice)
{
    double square = 0;
    for (size_t a = 0; a < lattice->dim; a++) {
        square += (double)lattice->width[a] * lattice->width[a];
    }
    return (unsigned)ilogb(square) + 1;
}

/* sums = total T_i, integers below total 2^20. */
static void sum_records(const struct integer_group *group, const struct integer_plan *plan,
                        const int32_t *atoms, int64_t *sums)
{
    const size_t dim = group->dim, n_entries = plan->m * dim;
    if (!plan->is_optimal) {
        for (size_t k = 0; k < n_entries; k++) {
            sums[k] = group->total * atoms[k];
        }
        return;
    }
    memset(sums, 0, n_entries * sizeof *sums);
    for (size_t i = 0; i < plan->n; i++) {
        const int32_t *x = group->points + i * dim;
        for (size_t j = 0; j < plan->m; j++) {
            const int64_t units = plan->flow[i * plan->m + j];
            for (size_t a = 0; a < dim && units > 0; a++) {
                sums[j * dim + a] += units * x[a];
            }
        }
    }
}

/* means += w_i T_i. The double of a sum, its product with a public number and the rounding depend
 * on the sum alone. The result is within 1 of the exact value: it is below 2^49 steps, so the error
 * before rounding is below 1/2 + 2^-2. */
static void add_means(const struct noisy_config *config, const struct noisy_scale *scale, size_t i,
                      const int64_t *sums, int64_t *means)
{
    const double factor =
        ldexp(weight_of(config, i) / (double)config->groups[i].total, -scale->log2_grid);
    for (size_t k = 0; k < config->support * config->lattice->dim; k++) {
        means[k] += llround((double)sums[k] * factor);
    }
}

dpot_status noisy_means(const struct noisy_config *config, const struct noisy_scale *scale,
                        const int32_t *atoms, uint64_t salt, int64_t *means)
{
    const size_t n_entries = config->support * config->lattice->dim;
    int64_t *sums = dpot_alloc_array(NULL, n_entries, sizeof *sums);
    dpot_status status = sums ? DPOT_OK : DPOT_ERR_MEMORY;
    memset(means, 0, n_entries * sizeof *means);
    for (size_t i = 0; status == DPOT_OK && i < config->n_groups; i++) {
        struct integer_plan plan;
        if (weight_of(config, i) == 0) {
            continue;
        }
        status = integer_plan_solve(&config->groups[i], atoms, config->support,
                                    squared_distance_bits(config->lattice), salt, &plan);
        if (status == DPOT_OK) {
            sum_records(&config->groups[i], &plan, atoms, sums);
            add_means(config, scale, i, sums, means);
        }
        integer_plan_release(&plan);
    }
    dpot_free_secret(NULL, sums, n_entries, sizeof *sums);
    return status;
}

/* path (m, dim) = clamp(grid (means + noise)); the atoms of the next step are its rounded
 * coordinates. */
static void release_step(const struct noisy_config *config, const struct noisy_scale *scale,
                         const int64_t *means, struct exact_draw *draw, double *path,
                         int32_t *atoms)
{
    const size_t dim = config->lattice->dim, m = config->support;
    for (size_t k = 0; k < m * dim; k++) {
        const int64_t noisy = means[k] + discrete_gaussian_draw(draw, scale->sigma);
        path[k] = ldexp((double)noisy, scale->log2_grid);
    }
    for (size_t j = 0; j < m; j++) {
        lattice_clamp(config->lattice, path + j * dim);
        for (size_t a = 0; a < dim; a++) {
            atoms[j * dim + a] = (int32_t)lround(path[j * dim + a]);
        }
    }
}

static dpot_status run_steps(const struct noisy_config *config, const struct noisy_scale *scale,
                             struct exact_draw *draw, int32_t *atoms, int64_t *means, double *path)
{
    const size_t n_entries = config->support * config->lattice->dim;
    const uint64_t salt = exact_draw_word(draw);
    dpot_status status = DPOT_OK;
    for (size_t t = 0; status == DPOT_OK && t < config->iterations; t++) {
        status = noisy_means(config, scale, atoms, salt, means);
        if (status == DPOT_OK) {
            release_step(config, scale, means, draw, path + t * n_entries, atoms);
        }
    }
    return status;
}

dpot_status noisy_barycenter_run(const struct noisy_config *config, const struct noisy_scale *scale,
                                 const int32_t *start, struct exact_draw *draw, double *path)
{
    const size_t n_entries = config->support * config->lattice->dim;
    int32_t *atoms = dpot_alloc_array(NULL, n_entries, sizeof *atoms);
    int64_t *means = dpot_alloc_array(NULL, n_entries, sizeof *means);
    dpot_status status = atoms && means ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        memcpy(atoms, start, n_entries * sizeof *atoms);
        status = run_steps(config, scale, draw, atoms, means, path);
    }
    if (status != DPOT_OK) {
        memset(path, 0, config->iterations * n_entries * sizeof *path);
    }
    dpot_free_array(NULL, atoms, n_entries, sizeof *atoms);
    dpot_free_secret(NULL, means, n_entries, sizeof *means);
    return status;
}

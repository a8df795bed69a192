#include "tool/shared/noisy_pool.h"

#include "base/alloc.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/vector_set.h"
#include "json/side_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUANTILE 0.001
#define SCALE_TOL 1e-9 /* relative */

void noisy_pool_release(struct noisy_pool *pool)
{
    const size_t dim = pool->reports.n_cols;
    dpot_free_array(NULL, pool->lo, dim, sizeof *pool->lo);
    dpot_free_array(NULL, pool->hi, dim, sizeof *pool->hi);
    array_release(&pool->reports);
    json_decref(pool->side);
    *pool = (struct noisy_pool){.needs_no_domain = pool->needs_no_domain};
}

/* ---- the side file ---- */

/* The noise of decoded images is not independent: the likelihood needs the coefficients. */
static dpot_status check_space(struct run *run, const json_t *side)
{
    const json_t *transform = json_object_get(side, "transform");
    const char *type = json_string_value(json_object_get(transform, "type"));
    const char *space = json_string_value(json_object_get(side, "space"));
    if (type && strcmp(type, "none") != 0 && !(space && strcmp(space, "coefficients") == 0)) {
        return dpot_error_set(
            &run->error, DPOT_ERR_SHAPE,
            "--pool %s holds data after the inverse of the %s, whose noise is not "
            "independent: export with dpot pool --coefficients",
            option_text(run, "pool"), type);
    }
    return DPOT_OK;
}

static dpot_status check_ready(struct run *run, const json_t *side)
{
    if (json_is_false(json_object_get(side, "is_ready"))) {
        return RUN_FAIL(run, EXIT_CODE_NOT_READY, DPOT_ERR_NOT_OPEN,
                        "the pool of --pool %s is below its campaign's min_pool: wait for more "
                        "reports",
                        option_text(run, "pool"));
    }
    return DPOT_OK;
}

static dpot_status read_side_file(struct run *run, struct noisy_pool *pool)
{
    dpot_status status = side_file_read(option_text(run, "pool"), &pool->side, &run->error);
    if (status == DPOT_ERR_NOT_FOUND) {
        return DPOT_OK;
    }
    if (status == DPOT_OK && !json_is_object(pool->side)) {
        status = dpot_error_set(&run->error, DPOT_ERR_MALFORMED, "%s.json is no JSON object",
                                option_text(run, "pool"));
    }
    const char *hash = json_string_value(json_object_get(pool->side, "campaign_hash"));
    if (hash && strlen(hash) < sizeof pool->campaign_hash) {
        memcpy(pool->campaign_hash, hash, strlen(hash) + 1);
    }
    if (status == DPOT_OK) {
        status = check_space(run, pool->side);
    }
    return status == DPOT_OK ? check_ready(run, pool->side) : status;
}

/* ---- mechanism and scale ---- */

/* Prefixes the message with the path of the side file; a missing key is no failure. */
static dpot_status name_side_file(struct run *run, dpot_status status)
{
    return status == DPOT_OK || status == DPOT_ERR_NOT_FOUND
               ? DPOT_OK
               : dpot_error_prefix(&run->error, status, "%s.json", option_text(run, "pool"));
}

/* Refuses a value that is in neither the options nor the side file. */
static dpot_status refuse_missing(struct run *run, const struct noisy_pool *pool,
                                  const char *option, const char *what)
{
    const char *path = option_text(run, "pool");
    return RUN_USAGE(run, "--%s is missing and %s%s.json%s: give %s", option,
                     pool->side ? "" : "there is no ", path,
                     pool->side ? " does not state it" : " that states it", what);
}

static dpot_status find_mechanism(struct run *run, const struct noisy_pool *pool,
                                  enum dpot_noise *noise)
{
    const char *side = NULL, *option = option_text(run, "mechanism");
    enum dpot_mechanism_id id = DPOT_MECHANISM_LAPLACE;
    const dpot_status status =
        name_side_file(run, json_get_string(pool->side, "", "mechanism", &side, &run->error));
    if (status != DPOT_OK) {
        return status;
    }
    if (side && option && strcmp(side, option) != 0) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "--mechanism is %.40s, and %s.json says %.40s: leave the option out",
                              option, option_text(run, "pool"), side);
    }
    const char *name = option ? option : side;
    if (!name) {
        return refuse_missing(run, pool, "mechanism", "laplace or gaussian");
    }
    const bool is_known = dpot_mechanism_find(name, &id) == DPOT_OK;
    if (is_known && dpot_mechanism_is_vector(id)) {
        *noise = id == DPOT_MECHANISM_LAPLACE ? DPOT_NOISE_LAPLACE : DPOT_NOISE_GAUSSIAN;
        return DPOT_OK;
    }
    if (option) {
        return RUN_USAGE(run, "--mechanism is %.40s: choose laplace or gaussian", option);
    }
    return dpot_error_set(
        &run->error, DPOT_ERR_SHAPE, "the mechanism of --pool %s is %.40s, %s",
        option_text(run, "pool"), name,
        is_known ? "whose reports name points: use dpot estimate"
                 : "which is not known: the file beside the pool is damaged or of a newer version");
}

/* Pools of points have null. */
static dpot_status read_side_scale(struct run *run, const struct noisy_pool *pool, double *scale)
{
    if (json_is_null(json_object_get(pool->side, "scale"))) {
        return DPOT_OK;
    }
    return name_side_file(run, json_get_number(pool->side, "", "scale", 1 / DPOT_NOISE_SCALE_MAX,
                                               DPOT_NOISE_SCALE_MAX, scale, &run->error));
}

static dpot_status find_scale(struct run *run, const struct noisy_pool *pool, double *scale)
{
    double option = 0, side = 0;
    dpot_status status =
        option_number(run, "scale", 1 / DPOT_NOISE_SCALE_MAX, DPOT_NOISE_SCALE_MAX, &option);
    if (status == DPOT_OK) {
        status = read_side_scale(run, pool, &side);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (option == 0 && side == 0) {
        return refuse_missing(run, pool, "scale",
                              "b of the Laplace or sigma of the Gaussian noise in data units");
    }
    if (option > 0 && side > 0 && !(fabs(option - side) <= SCALE_TOL * side)) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "--scale is %.9g, and %s.json says %.9g: leave the option out",
                              option, option_text(run, "pool"), side);
    }
    *scale = side > 0 ? side : option;
    return DPOT_OK;
}

static dpot_status find_noise(struct run *run, struct noisy_pool *pool)
{
    enum dpot_noise noise = DPOT_NOISE_LAPLACE;
    double scale = 0, grid_step = 0;
    dpot_status status = find_mechanism(run, pool, &noise);
    if (status == DPOT_OK) {
        status = find_scale(run, pool, &scale);
    }
    if (status == DPOT_OK) {
        status = name_side_file(
            run, json_get_number(pool->side, "", "grid_step", 0, scale, &grid_step, &run->error));
    }
    return status == DPOT_OK
               ? dpot_noise_density_init(&pool->density, noise, scale, grid_step, &run->error)
               : status;
}

/* ---- reports ---- */

/* Compares the shape with the side file, where that has it. */
static dpot_status compare_shape(struct run *run, const struct noisy_pool *pool)
{
    int64_t n = (int64_t)pool->reports.n_rows, dim = (int64_t)pool->reports.n_cols;
    dpot_status status =
        name_side_file(run, json_get_integer(pool->side, "", "n", 0, INT64_MAX, &n, &run->error));
    if (status == DPOT_OK) {
        status = name_side_file(
            run, json_get_integer(pool->side, "", "dim", 0, INT64_MAX, &dim, &run->error));
    }
    if (status == DPOT_OK && (size_t)n != pool->reports.n_rows) {
        status =
            dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                           "--pool %s has %zu report%s, and %s.json says %lld: export both again",
                           option_text(run, "pool"), pool->reports.n_rows,
                           DPOT_S(pool->reports.n_rows), option_text(run, "pool"), (long long)n);
    }
    if (status == DPOT_OK && (size_t)dim != pool->reports.n_cols) {
        status =
            dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                           "--pool %s has %zu column%s, and %s.json says %lld: export both again",
                           option_text(run, "pool"), pool->reports.n_cols,
                           DPOT_S(pool->reports.n_cols), option_text(run, "pool"), (long long)dim);
    }
    return status;
}

static dpot_status load_reports(struct run *run, struct noisy_pool *pool)
{
    dpot_status status = load_finite(run, "pool", &pool->reports);
    if (status == DPOT_OK) {
        status = compare_shape(run, pool);
    }
    if (status == DPOT_OK && (pool->reports.n_rows == 0 || pool->reports.n_cols == 0)) {
        status = dpot_error_set(&run->error, DPOT_ERR_SHAPE, "--pool %s has no reports",
                                option_text(run, "pool"));
    }
    return status;
}

/* ---- domain ---- */

static dpot_status take_set(struct run *run, const struct spec_vector_set *set,
                            struct noisy_pool *pool)
{
    const size_t dim = pool->reports.n_cols;
    if (set->dim != dim) {
        return dpot_error_set(
            &run->error, DPOT_ERR_SHAPE,
            "the domain has %u coordinate%s and --pool %s has %zu: they must agree", set->dim,
            DPOT_S(set->dim), option_text(run, "pool"), dim);
    }
    pool->set = set->set;
    pool->radius = set->set == DPOT_VECTOR_BOX ? 0 : set->radius;
    for (size_t j = 0; j < dim; j++) {
        const size_t side = set->n_sides == 1 ? 0 : j;
        pool->lo[j] = set->set == DPOT_VECTOR_BOX ? set->lo[side] : -set->radius;
        pool->hi[j] = set->set == DPOT_VECTOR_BOX ? set->hi[side] : set->radius;
    }
    return DPOT_OK;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static dpot_status take_quantiles(struct run *run, struct noisy_pool *pool)
{
    const size_t n = pool->reports.n_rows, dim = pool->reports.n_cols;
    double *column = dpot_alloc_array(NULL, n, sizeof *column);
    if (!column) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t j = 0; j < dim; j++) {
        for (size_t i = 0; i < n; i++) {
            column[i] = pool->reports.values[i * dim + j];
        }
        qsort(column, n, sizeof *column, compare);
        const size_t rank = (size_t)floor(QUANTILE * (double)n);
        pool->lo[j] = column[rank];
        pool->hi[j] = column[n - 1 - rank];
    }
    dpot_free_array(NULL, column, n, sizeof *column);
    pool->set = DPOT_VECTOR_BOX;
    if (!pool->needs_no_domain) {
        run_warn(
            run,
            "no domain is known: the box that holds all but %g %% of the reports at each end is "
            "taken, which is wider than the data are; --domain gives a sharper result",
            100 * QUANTILE);
    }
    return DPOT_OK;
}

/* Whether the side file has the set; of a box with very many sides it has the dimension only. */
static bool has_domain(const struct noisy_pool *pool)
{
    const json_t *domain = json_object_get(pool->side, "domain");
    const char *type = json_string_value(json_object_get(domain, "type"));
    const bool is_cut = type && strcmp(type, "box") == 0 && !json_object_get(domain, "lo");
    return domain && !is_cut;
}

static dpot_status find_domain(struct run *run, struct noisy_pool *pool)
{
    const size_t dim = pool->reports.n_cols;
    const char *option = option_text(run, "domain");
    struct spec_vector_set set = {.dim = 0};
    dpot_status status = DPOT_OK;
    pool->lo = dpot_alloc_array(NULL, dim, sizeof *pool->lo);
    pool->hi = dpot_alloc_array(NULL, dim, sizeof *pool->hi);
    pool->domain = option ? "option" : has_domain(pool) ? "campaign" : "pool";
    if (!pool->lo || !pool->hi) {
        return DPOT_ERR_MEMORY;
    }
    if (option) {
        status = vector_set_read(run, option, &set);
    } else if (has_domain(pool)) {
        status = name_side_file(
            run, spec_read_vector_set(json_object_get(pool->side, "domain"), 0, &set, &run->error));
    } else {
        return take_quantiles(run, pool);
    }
    if (status == DPOT_OK) {
        status = take_set(run, &set, pool);
    }
    spec_vector_set_release(&set);
    return status;
}

dpot_status noisy_pool_load(struct run *run, struct noisy_pool *pool)
{
    const char *path = NULL;
    *pool = (struct noisy_pool){.needs_no_domain = pool->needs_no_domain};
    dpot_status status = option_require(run, "pool", "a file of reports", &path);
    if (status == DPOT_OK && strcmp(path, "-") != 0 && access(path, F_OK) != 0) {
        return dpot_error_set(&run->error, DPOT_ERR_IO, "--pool: reading %.200s failed: %s", path,
                              strerror(errno)); /* before complaining of a missing side file */
    }
    if (status == DPOT_OK) {
        status = read_side_file(run, pool);
    }
    if (status == DPOT_OK) {
        status = find_noise(run, pool);
    }
    if (status == DPOT_OK) {
        status = load_reports(run, pool);
    }
    return status == DPOT_OK ? find_domain(run, pool) : status;
}

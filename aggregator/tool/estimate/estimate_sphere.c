#include "tool/estimate/estimate_sphere.h"

#include "campaign/spec_sphere.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "json/side_file.h"

#include <math.h>
#include <string.h>

#define LENGTH_TOLERANCE 1e-6

struct mean {
    struct estimate *e;
    size_t dim;
    double contraction;
    struct sphere_scatter scatter;
    bool is_corrected;
    double total_error, length; /* l2 norms of the standard errors and of the mean */
    double users_total_error;
    struct array users_errors, users_lower, users_upper; /* (dim) only if corrected */
};

static dpot_status check_options(struct run *run)
{
    const char *method = option_text(run, "method");
    if (method && strcmp(method, "mean") != 0) {
        return RUN_USAGE(run,
                         "--method is %.40s: a campaign on a sphere has no points to count, its "
                         "method is mean",
                         method);
    }
    if (option_is_given(run, "init")) {
        return RUN_USAGE(run, "--init is for --method likelihood: a mean starts from nothing");
    }
    return option_is_given(run, "bootstrap")
               ? RUN_USAGE(run,
                           "--bootstrap: the intervals of a mean are those of the central limit "
                           "theorem, leave it out")
               : DPOT_OK;
}

static dpot_status check_pool(const struct mean *m, const struct array *pool)
{
    struct run *run = m->e->run;
    const struct dpot_campaign *campaign = &m->e->file.campaign;
    if (pool->n_cols != m->dim) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--pool %s has %zu columns: the campaign's directions have %zu "
                              "coordinates, as dpot pool --out writes them",
                              m->e->pool_path, pool->n_cols, m->dim);
    }
    for (size_t i = 0; i < pool->n_rows; i++) {
        double square = 0;
        for (size_t j = 0; j < m->dim; j++) {
            square += pow(pool->values[i * m->dim + j], 2);
        }
        if (!(fabs(square - 1) <= LENGTH_TOLERANCE)) {
            return dpot_error_set(
                &run->error, DPOT_ERR_RANGE,
                "--pool %s: report %zu has length %g: directions are unit vectors", m->e->pool_path,
                i + 1, sqrt(square));
        }
    }
    return pool->n_rows >= campaign->min_pool
               ? DPOT_OK
               : RUN_FAIL(run, EXIT_CODE_NOT_READY, DPOT_ERR_NOT_OPEN,
                          "the pool has %zu of %llu report%s: wait until it reaches the campaign's "
                          "min_pool",
                          pool->n_rows, (unsigned long long)campaign->min_pool,
                          DPOT_S(campaign->min_pool));
}

/* The z with P[|N(0, 1)| <= z] = level. */
static double normal_width(double level)
{
    double lo = 0, hi = 10;
    for (int i = 0; i < 80; i++) {
        const double z = (lo + hi) / 2;
        if (erf(z / sqrt(2)) < level) {
            lo = z;
        } else {
            hi = z;
        }
    }
    return lo;
}

/* Var(y_j | x) = across + (along - across) x_j^2, averaged over the users. Their mean of x_j^2
 * follows from that of y_j^2, since E y_j^2 = t + (s - t) x_j^2 with s = E <x, y>^2 and t = (1 - s)
 * / d = across. The result is clamped between along and across. */
static void set_users_error(struct mean *m, double mean_square, double n, size_t j)
{
    const struct sphere_scatter *s = &m->scatter;
    const double slope = s->square - s->across, c = m->contraction;
    const double share = slope > 0 ? fmin(fmax((mean_square - s->across) / slope, 0), 1) : 0;
    const double error = sqrt((s->across + (s->along - s->across) * share) / n) / c;
    const double width = normal_width(m->e->level) * error;
    m->users_errors.values[j] = error;
    m->users_lower.values[j] = m->e->values.values[j] - width;
    m->users_upper.values[j] = m->e->values.values[j] + width;
}

/* Mean and standard errors of one coordinate, divided by c. */
static void average(struct mean *m, const struct array *pool, size_t j)
{
    struct estimate *e = m->e;
    const double n = (double)pool->n_rows, c = m->is_corrected ? m->contraction : 1;
    double mean = 0, square = 0, mean_square = 0;
    for (size_t i = 0; i < pool->n_rows; i++) {
        mean += pool->values[i * m->dim + j] / n;
        mean_square += pow(pool->values[i * m->dim + j], 2) / n;
    }
    for (size_t i = 0; i < pool->n_rows; i++) {
        square += pow(pool->values[i * m->dim + j] - mean, 2);
    }
    const double error = n > 1 ? sqrt(square / (n - 1) / n) / c : NAN;
    const double width = normal_width(e->level) * error;
    e->values.values[j] = mean / c;
    e->errors.values[j] = error;
    e->lower.values[j] = mean / c - width;
    e->upper.values[j] = mean / c + width;
    if (m->is_corrected) {
        set_users_error(m, mean_square, n, j);
    }
}

static dpot_status find_mean(struct mean *m, const struct array *pool)
{
    struct estimate *e = m->e;
    struct array *const arrays[] = {&e->values, &e->errors,       &e->lower,       &e->upper,
                                    &e->prior,  &m->users_errors, &m->users_lower, &m->users_upper};
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof arrays / sizeof arrays[0]; i++) {
        status = array_init(arrays[i], m->dim, 1, true);
    }
    for (size_t j = 0; status == DPOT_OK && j < m->dim; j++) {
        average(m, pool, j);
        m->length += pow(e->values.values[j], 2);
        m->total_error += pow(e->errors.values[j], 2);
    }
    m->length = sqrt(m->length);
    m->total_error = sqrt(m->total_error);
    m->users_total_error = sqrt(sphere_report_variance(m->contraction) / (double)pool->n_rows);
    return status;
}

static void put_result(const struct mean *m, json_t *object)
{
    const struct estimate *e = m->e;
    (void)json_object_set_new(object, "n", json_integer((json_int_t)e->n));
    (void)json_object_set_new(object, "dim", json_integer((json_int_t)m->dim));
    (void)json_object_set_new(object, "method", json_string("mean"));
    (void)json_object_set_new(object, "is_corrected", json_boolean(m->is_corrected));
    (void)json_object_set_new(object, "contraction", json_number(m->contraction));
    (void)json_object_set_new(object, "length", json_number(m->length));
    (void)json_object_set_new(object, "total_error", json_number(m->total_error));
    (void)json_object_set_new(object, "users_total_error",
                              json_number(m->is_corrected ? m->users_total_error : NAN));
    (void)json_object_set_new(object, "prior_is", json_string("no direction"));
    (void)json_object_set_new(object, "prior_distance", json_number(m->length));
    estimate_put_revision(e, object);
}

static dpot_status write_estimate(const struct mean *m)
{
    struct estimate *e = m->e;
    json_t *side = json_object();
    put_result(m, side);
    (void)json_object_set_new(side, "standard_error", estimate_list(&e->errors));
    (void)json_object_set_new(side, "lower", estimate_list(&e->lower));
    (void)json_object_set_new(side, "upper", estimate_list(&e->upper));
    if (m->is_corrected) {
        (void)json_object_set_new(side, "users_standard_error", estimate_list(&m->users_errors));
        (void)json_object_set_new(side, "users_lower", estimate_list(&m->users_lower));
        (void)json_object_set_new(side, "users_upper", estimate_list(&m->users_upper));
    }
    (void)json_object_set_new(side, "prior", estimate_list(&e->prior));
    (void)json_object_set_new(side, "level", json_real(e->level));
    dpot_status status = array_write(e->out_path, &e->values, ARRAY_F8, &e->run->error);
    if (status == DPOT_OK) {
        put_result(m, e->run->result);
        run_put_integer(e->run, "min_pool", e->file.campaign.min_pool);
        status = side ? side_file_write(e->out_path, side, &e->run->error) : DPOT_ERR_MEMORY;
    }
    json_decref(side);
    return status;
}

static dpot_status take_pool(struct mean *m)
{
    struct array pool;
    dpot_status status = load_finite(m->e->run, "pool", &pool);
    if (status != DPOT_OK) {
        return status;
    }
    m->e->n = pool.n_rows;
    status = estimate_check_count(m->e, pool.n_rows);
    if (status == DPOT_OK) {
        status = check_pool(m, &pool);
    }
    if (status == DPOT_OK) {
        status = find_mean(m, &pool);
    }
    array_release(&pool);
    return status;
}

dpot_status estimate_sphere(struct estimate *e)
{
    const struct dpot_campaign *campaign = &e->file.campaign;
    struct spec_sphere measured;
    struct mean m = {.e = e,
                     .dim = campaign->domain.dim,
                     .is_corrected = campaign->n_max == 1 || campaign->sample_first};
    dpot_status status = check_options(e->run);
    if (status != DPOT_OK) {
        return status;
    }
    spec_measure_sphere(campaign, &measured);
    m.contraction = measured.channel.contraction;
    m.scatter = measured.scatter;
    if (!m.is_corrected) {
        run_warn(
            e->run,
            "a device of this campaign projects up to %u vectors at once, whose mean report is "
            "no multiple of their mean: this is the plain mean of the reports, shorter than "
            "that of the vectors; say \"sample_first\": true, or \"n_max\": 1",
            (unsigned)campaign->n_max);
    }
    status = take_pool(&m);
    if (status == DPOT_OK) {
        status = write_estimate(&m);
    }
    array_release(&m.users_errors);
    array_release(&m.users_lower);
    array_release(&m.users_upper);
    return status;
}

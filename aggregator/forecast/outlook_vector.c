/* Vector campaigns: the error of the mean of n reports, for each coordinate of a report.
 *
 *   e_j = (sum of n noises)_j / n + (mean of the drawn data, minus its expectation)_j + bias_j
 *
 * The noise of one report has the exact variance g^2 2 p / (1 - p)^2, p = exp(-2^-k), of the
 * two-sided geometric law, or g^2 4^k of the discrete Gaussian. The sum of n is drawn as the
 * difference of two Gamma(n) variates or as a normal variate of that variance. The data of a drawn
 * crowd are rows of the reference, or normal with the assumed spread. A transform is an isometry:
 * the l2 error of the data is that of the coefficients plus the part in coefficients that are not
 * kept. */
#include "forecast/outlook.h"

#include "base/alloc.h"
#include "forecast/variates.h"
#include "mechanism/quantize.h"
#include "mechanism/transform.h"
#include "solve/run/workers.h"

#include <math.h>
#include <string.h>

#define DRAWS_MOST 19999
#define WORK_BUDGET 1e9
#define WORK_VARIATE 30              /* of a random number, relative to a multiplication */
#define SPREAD_MAX ((size_t)1 << 20) /* numbers of the reference that crowds are drawn from */
#define SPREAD_ROWS_MIN 16

struct scratch {
    double *error;  /* (dim) */
    double *counts; /* (n_rows) */
};

struct vector_outlook {
    struct outlook base;
    const struct reference *reference; /* borrowed */
    uint32_t dim;
    double *bias; /* (dim) of the clipped and rounded mean */
    double lost;  /* squared norm of the true mean's coefficients that are not kept */

    /* A crowd drawn from a reference: evenly spaced rows minus their mean, each coordinate scaled
     * to its variance in the whole reference. */
    size_t n_rows;
    double *rows;       /* (n_rows, dim) */
    double *share;      /* (n_rows) */
    double *cumulative; /* (n_rows) */

    struct scratch *scratches; /* (n_workers) */
    size_t n_workers;
    double *lengths, *coordinates; /* (n_draws) */
    double n;
};

/* ---- memory ---- */

static void close_vector(struct outlook *outlook)
{
    struct vector_outlook *o = (struct vector_outlook *)outlook;
    for (size_t w = 0; o->scratches && w < o->n_workers; w++) {
        dpot_free_array(NULL, o->scratches[w].error, o->dim, sizeof(double));
        dpot_free_array(NULL, o->scratches[w].counts, o->n_rows, sizeof(double));
    }
    dpot_free_array(NULL, o->scratches, o->n_workers, sizeof *o->scratches);
    dpot_free_array(NULL, o->bias, o->dim, sizeof *o->bias);
    dpot_free_array(NULL, o->rows, o->n_rows * o->dim, sizeof *o->rows);
    dpot_free_array(NULL, o->share, o->n_rows, sizeof *o->share);
    dpot_free_array(NULL, o->cumulative, o->n_rows, sizeof *o->cumulative);
    dpot_free_array(NULL, o->lengths, o->base.n_draws, sizeof *o->lengths);
    dpot_free_array(NULL, o->coordinates, o->base.n_draws, sizeof *o->coordinates);
}

static dpot_status allocate(struct vector_outlook *o)
{
    o->n_workers = o->base.config.n_threads;
    o->bias = dpot_alloc_array(NULL, o->dim, sizeof *o->bias);
    o->rows = dpot_alloc_array(NULL, o->n_rows * o->dim, sizeof *o->rows);
    o->share = dpot_alloc_array(NULL, o->n_rows, sizeof *o->share);
    o->cumulative = dpot_alloc_array(NULL, o->n_rows, sizeof *o->cumulative);
    o->lengths = dpot_alloc_array(NULL, o->base.n_draws, sizeof *o->lengths);
    o->coordinates = dpot_alloc_array(NULL, o->base.n_draws, sizeof *o->coordinates);
    o->scratches = dpot_alloc_array(NULL, o->n_workers, sizeof *o->scratches);
    bool is_complete = o->bias && o->rows && o->share && o->cumulative && o->lengths &&
                       o->coordinates && o->scratches;
    for (size_t w = 0; is_complete && w < o->n_workers; w++) {
        o->scratches[w].error = dpot_alloc_array(NULL, o->dim, sizeof(double));
        o->scratches[w].counts = dpot_alloc_array(NULL, o->n_rows, sizeof(double));
        is_complete = o->scratches[w].error && o->scratches[w].counts;
    }
    return is_complete
               ? DPOT_OK
               : dpot_error_set(o->base.error, DPOT_ERR_MEMORY,
                                "out of memory for vectors of %u numbers", (unsigned)o->dim);
}

/* ---- the noise and the data ---- */

/* Var of the two-sided geometric law: 2 p / (1 - p)^2 = 1 / (2 sinh^2(2^-k / 2)). */
static double noise_deviation(const struct dpot_campaign *campaign)
{
    const int k = (int)campaign->noise.scale_log2;
    const double units = campaign->mechanism == DPOT_MECHANISM_LAPLACE
                             ? 1 / (sqrt(2) * sinh(ldexp(0.5, -k)))
                             : ldexp(1, k);
    return units * campaign->vector.grid_step;
}

/* State of one device, and sums over all devices of the reference. */
struct device {
    struct dpot_transformer *transformer;
    double *coefficients;      /* (dim) */
    int64_t *rounded, *z;      /* (dim) */
    double *centre, *variance; /* (dim) of the vectors to which noise is added, in data units */
};

static void device_release(struct device *device, uint32_t dim)
{
    dpot_transformer_free(device->transformer);
    dpot_free_array(NULL, device->coefficients, dim, sizeof(double));
    dpot_free_array(NULL, device->rounded, dim, sizeof(int64_t));
    dpot_free_array(NULL, device->z, dim, sizeof(int64_t));
    dpot_free_array(NULL, device->centre, dim, sizeof(double));
    dpot_free_array(NULL, device->variance, dim, sizeof(double));
}

static dpot_status device_init(struct device *device, const struct dpot_vector_domain *vector)
{
    struct device *d = device;
    *d = (struct device){.transformer = NULL};
    d->coefficients = dpot_alloc_array(NULL, vector->dim, sizeof(double));
    d->rounded = dpot_alloc_array(NULL, vector->dim, sizeof(int64_t));
    d->z = dpot_alloc_array(NULL, vector->dim, sizeof(int64_t));
    d->centre = dpot_alloc_array(NULL, vector->dim, sizeof(double));
    d->variance = dpot_alloc_array(NULL, vector->dim, sizeof(double));
    const dpot_status status = dpot_transformer_new(vector, NULL, &d->transformer);
    return d->coefficients && d->rounded && d->z && d->centre && d->variance ? status
                                                                             : DPOT_ERR_MEMORY;
}

/* Computes the vector to which the device adds noise. Returns whether clipping changed it. */
static bool quantize(struct device *device, const struct dpot_vector_domain *vector,
                     const double *data)
{
    dpot_transformer_forward(device->transformer, data, device->coefficients);
    dpot_quantize_round(vector->inverse_step, device->coefficients, vector->dim, device->rounded);
    memcpy(device->z, device->rounded, vector->dim * sizeof *device->z);
    dpot_quantize_enforce(vector, device->z);
    return memcmp(device->z, device->rounded, vector->dim * sizeof *device->z) != 0;
}

/* Adds the squared norm of the mean vector outside of the kept coefficients. */
static void find_lost(struct vector_outlook *o, const double *mean, uint32_t data_dim,
                      struct device *device)
{
    double all = 0, kept = 0;
    dpot_transformer_forward(device->transformer, mean, device->coefficients);
    for (uint32_t j = 0; j < data_dim; j++) {
        all += mean[j] * mean[j];
    }
    for (uint32_t j = 0; j < o->dim; j++) {
        kept += device->coefficients[j] * device->coefficients[j];
    }
    const bool is_whole = data_dim == o->dim;
    o->lost = !is_whole && all > kept ? all - kept : 0;
}

/* Stores the device's vector as the next row if member t is selected. */
static void store_row(struct vector_outlook *o, size_t t, const struct device *device,
                      size_t *taken)
{
    if (*taken == o->n_rows || t != *taken * o->reference->n_members / o->n_rows) {
        return;
    }
    double *row = o->rows + (*taken)++ * o->dim;
    for (uint32_t j = 0; j < o->dim; j++) {
        row[j] = o->base.campaign->vector.grid_step * (double)device->z[j];
    }
}

/* Adds member t to the running mean and sum of squared deviations (Welford 1962). */
static void add_member(struct vector_outlook *o, size_t t, struct device *device)
{
    const struct dpot_vector_domain *vector = &o->base.campaign->vector;
    const double share = o->reference->share[t];
    for (uint32_t j = 0; j < o->dim; j++) {
        const double moved = vector->grid_step * (double)device->z[j];
        const double before = moved - device->centre[j];
        o->bias[j] += share * (moved - device->coefficients[j]);
        device->centre[j] += before / (double)(t + 1);
        device->variance[j] += share * before * (moved - device->centre[j]);
    }
}

static void read_members(struct vector_outlook *o, struct device *device, double *mean)
{
    const struct reference *r = o->reference;
    size_t taken = 0;
    for (size_t t = 0; t < r->n_members; t++) {
        const double *data = r->vectors + t * r->dim;
        const bool is_clipped = quantize(device, &o->base.campaign->vector, data);
        o->base.clipped += is_clipped ? r->share[t] : 0;
        add_member(o, t, device);
        for (uint32_t j = 0; j < r->dim; j++) {
            mean[j] += r->share[t] * data[j];
        }
        store_row(o, t, device, &taken);
    }
    find_lost(o, mean, r->dim, device);
}

/* Scales coordinate j of the rows to mean 0 and the variance of the whole reference, unless they
 * are constant. */
static void adjust_column(struct vector_outlook *o, uint32_t j, double variance)
{
    const double n = (double)o->n_rows;
    double mean = 0, square = 0;
    for (size_t i = 0; i < o->n_rows; i++) {
        mean += o->rows[i * o->dim + j] / n;
    }
    for (size_t i = 0; i < o->n_rows; i++) {
        double *entry = &o->rows[i * o->dim + j];
        *entry -= mean;
        square += *entry * *entry / n;
    }
    const double factor = square > 0 ? sqrt(variance / square) : 0;
    for (size_t i = 0; i < o->n_rows; i++) {
        o->rows[i * o->dim + j] *= factor;
    }
}

static void adjust_rows(struct vector_outlook *o, const double *variance)
{
    double sum = 0;
    if (o->n_rows == 0) {
        return;
    }
    for (uint32_t j = 0; j < o->dim; j++) {
        adjust_column(o, j, variance[j]);
        sum += variance[j];
    }
    o->base.spread = sqrt(sum / o->dim);
    for (size_t i = 0; i < o->n_rows; i++) {
        o->share[i] = 1 / (double)o->n_rows;
        o->cumulative[i] = (double)(i + 1) / (double)o->n_rows;
    }
}

static dpot_status read_reference(struct vector_outlook *o)
{
    struct device device;
    double *mean = dpot_alloc_array(NULL, o->reference->dim, sizeof *mean);
    dpot_status status = device_init(&device, &o->base.campaign->vector);
    status = mean ? status : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        read_members(o, &device, mean);
        adjust_rows(o, device.variance);
    }
    device_release(&device, o->dim);
    dpot_free_array(NULL, mean, o->reference->dim, sizeof *mean);
    return status;
}

/* ---- set-up ---- */

static void choose_sizes(struct vector_outlook *o)
{
    const size_t n_members = o->reference->n_members, wanted = o->base.config.n_draws;
    if (n_members > 0 && !o->base.config.is_fixed) {
        const size_t fitting = SPREAD_MAX / o->dim;
        const size_t most = fitting > SPREAD_ROWS_MIN ? fitting : SPREAD_ROWS_MIN;
        o->n_rows = o->base.n_sampled = n_members < most ? n_members : most;
    }
    const double work =
        (WORK_VARIATE + (double)o->n_rows) * o->dim + WORK_VARIATE * (double)o->n_rows;
    o->base.n_draws = wanted > 0 ? wanted : outlook_choose_draws(work, WORK_BUDGET, DRAWS_MOST);
}

static void find_biases(struct vector_outlook *o)
{
    double square = 0, sum = 0;
    for (uint32_t j = 0; j < o->dim; j++) {
        square += o->bias[j] * o->bias[j];
        sum += fabs(o->bias[j]);
    }
    o->base.bias[FIGURE_MEAN] = sqrt(square + o->lost);
    o->base.bias[FIGURE_COORDINATE] = sum / o->dim;
}

static dpot_status open_vector(struct outlook *outlook, const struct reference *reference)
{
    struct vector_outlook *o = (struct vector_outlook *)outlook;
    outlook->figures = 1u << FIGURE_MEAN | 1u << FIGURE_COORDINATE;
    o->reference = reference;
    o->dim = outlook->campaign->vector.dim;
    outlook->noise = noise_deviation(outlook->campaign);
    outlook->spread = outlook->config.spread;
    choose_sizes(o);
    dpot_status status = allocate(o);
    if (status == DPOT_OK && reference->n_members > 0) {
        status = read_reference(o);
    }
    if (status == DPOT_OK) {
        find_biases(o);
    }
    return status;
}

/* ---- forecasts ---- */

static void add_noise(const struct vector_outlook *o, struct variates *variates, double *error)
{
    const bool is_laplace = o->base.campaign->mechanism == DPOT_MECHANISM_LAPLACE;
    const double n = o->n, noise = o->base.noise;
    for (uint32_t j = 0; j < o->dim; j++) {
        if (is_laplace) { /* Gamma(n) - Gamma(n) has variance 2 n */
            const double up = variates_gamma(variates, n), down = variates_gamma(variates, n);
            error[j] += noise * (up - down) / (sqrt(2) * n);
        } else {
            error[j] += noise * variates_normal(variates) / sqrt(n);
        }
    }
}

/* Adds the deviation of the crowd's mean from that of the reference. */
static void add_crowd(const struct vector_outlook *o, struct variates *variates, double *counts,
                      double *error)
{
    const double n = o->n, spread = o->base.config.spread;
    for (uint32_t j = 0; spread > 0 && j < o->dim; j++) {
        error[j] += spread * variates_normal(variates) / sqrt(n);
    }
    if (o->n_rows == 0) {
        return;
    }
    variates_multinomial(variates, n, o->share, o->cumulative, o->n_rows, counts);
    for (size_t i = 0; i < o->n_rows; i++) {
        const double weight = counts[i] / n;
        const double *row = o->rows + i * o->dim;
        for (uint32_t j = 0; weight > 0 && j < o->dim; j++) {
            error[j] += weight * row[j];
        }
    }
}

/* Cycles through the coordinates. */
static uint32_t coordinate_of(const struct vector_outlook *o, size_t draw)
{
    return (uint32_t)(o->dim > o->base.n_draws ? (uint64_t)draw * o->dim / o->base.n_draws
                                               : draw % o->dim);
}

static dpot_status draw_campaign(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    struct vector_outlook *o = ctx;
    struct scratch *scratch = &o->scratches[worker];
    struct variates variates;
    double square = o->lost;
    (void)error;
    memcpy(scratch->error, o->bias, o->dim * sizeof *scratch->error);
    variates_init(&variates, o->base.config.seed, item);
    add_noise(o, &variates, scratch->error);
    add_crowd(o, &variates, scratch->counts, scratch->error);
    variates_release(&variates);
    for (uint32_t j = 0; j < o->dim; j++) {
        square += scratch->error[j] * scratch->error[j];
    }
    o->lengths[item] = sqrt(square);
    o->coordinates[item] = fabs(scratch->error[coordinate_of(o, item)]);
    return DPOT_OK;
}

static dpot_status forecast_vector(struct outlook *outlook, double n, struct forecast *forecast)
{
    struct vector_outlook *o = (struct vector_outlook *)outlook;
    o->n = n;
    const dpot_status status = workers_run(outlook->n_draws, o->n_workers, draw_campaign, o,
                                           &outlook->config.control, outlook->error);
    if (status == DPOT_OK) {
        figure_from_draws(&forecast->figures[FIGURE_MEAN], o->lengths, outlook->n_draws);
        figure_from_draws(&forecast->figures[FIGURE_COORDINATE], o->coordinates, outlook->n_draws);
        forecast->figures[FIGURE_MEAN].bias = outlook->bias[FIGURE_MEAN];
        forecast->figures[FIGURE_COORDINATE].bias = outlook->bias[FIGURE_COORDINATE];
    }
    return status;
}

const struct outlook_class outlook_vector = {.size = sizeof(struct vector_outlook),
                                             .open = open_vector,
                                             .close = close_vector,
                                             .forecast = forecast_vector};

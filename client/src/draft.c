#include "draft.h"

#include "base/crypto.h"
#include "mechanism/index.h"
#include "model/places.h"

#include <fenv.h>
#include <string.h>

static bool is_vector(const struct dpot_campaign *campaign)
{
    return dpot_mechanism_is_vector(campaign->mechanism);
}

/* Beyond the privatizer and the stream of randomness. */
static size_t data_bytes(const struct dpot_campaign *campaign)
{
    const size_t rows = campaign->n_max, dim = campaign->domain.dim;
    const size_t measure = rows * (sizeof(double) + sizeof(uint32_t));
    if (is_vector(campaign)) {
        return (campaign->vector.dim + (size_t)dpot_vector_data_dim(&campaign->vector)) *
               sizeof(double);
    }
    if (dpot_campaign_is_sphere(campaign)) {
        return measure + rows * dim * sizeof(double);
    }
    return measure + campaign->domain.size * sizeof(double) +
           dpot_nearest_bytes(&campaign->domain, &campaign->metric);
}

size_t dpot_draft_bytes(const struct dpot_campaign *campaign)
{
    return dpot_bytes_add(dpot_privatizer_bytes(campaign),
                          sizeof(struct dpot_rng) + data_bytes(campaign));
}

static dpot_status allocate_for_points(struct dpot_draft *draft)
{
    const struct dpot_campaign *campaign = draft->campaign;
    const dpot_status status =
        dpot_private_measure_init(&draft->private_measure, campaign->n_max, draft->allocator);
    if (status != DPOT_OK) {
        return status;
    }
    draft->histogram_size = campaign->domain.size;
    draft->histogram =
        dpot_alloc_array(draft->allocator, draft->histogram_size, sizeof *draft->histogram);
    return draft->histogram ? dpot_nearest_init(&draft->nearest, &campaign->domain,
                                                &campaign->metric, draft->allocator)
                            : DPOT_ERR_MEMORY;
}

static dpot_status allocate_for_sphere(struct dpot_draft *draft)
{
    return dpot_private_points_init(&draft->private_points, draft->campaign->n_max,
                                    draft->campaign->domain.dim, draft->allocator);
}

static dpot_status allocate_for_vector(struct dpot_draft *draft)
{
    const struct dpot_vector_domain *vector = &draft->campaign->vector;
    const dpot_status status = dpot_private_vector_init(
        &draft->private_vector, dpot_vector_data_dim(vector), draft->allocator);
    if (status != DPOT_OK) {
        return status;
    }
    draft->values = dpot_alloc_array(draft->allocator, vector->dim, sizeof *draft->values);
    draft->n_values = vector->dim;
    draft->report.values = draft->values;
    return draft->values ? DPOT_OK : DPOT_ERR_MEMORY;
}

dpot_status dpot_draft_init(struct dpot_draft *draft, const struct dpot_campaign *campaign,
                            const struct dpot_allocator *allocator, struct dpot_error *error)
{
    *draft = (struct dpot_draft){.campaign = campaign, .allocator = allocator};
    draft->rng = dpot_alloc_array(allocator, 1, sizeof *draft->rng);
    if (!draft->rng) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a report");
    }
    const dpot_status status = dpot_privatizer_new(campaign, allocator, &draft->privatizer, error);
    if (status != DPOT_OK) {
        return status;
    }
    return is_vector(campaign)                 ? allocate_for_vector(draft)
           : dpot_campaign_is_sphere(campaign) ? allocate_for_sphere(draft)
                                               : allocate_for_points(draft);
}

/* dpot_private_measure_set decides which entries count as 0. */
static void read_histogram(struct dpot_draft *draft, const struct dpot_device_data *data)
{
    const double *source = data->histogram ? data->histogram : draft->histogram;
    memmove(draft->histogram, source, draft->histogram_size * sizeof *source);
}

/* Without data: the public default of dpot_private_measure_set. */
static void make_from_measure(struct dpot_draft *draft, const struct dpot_device_data *data)
{
    if (data->kind == DATA_HISTOGRAM) {
        read_histogram(draft, data);
    } else {
        dpot_places_read(&draft->nearest, data->points, data->weights, data->n, draft->uniform,
                         draft->histogram);
    }
    dpot_private_measure_set(&draft->private_measure, draft->histogram, draft->histogram_size);
    dpot_privatizer_run(draft->privatizer, &draft->private_measure, draft->rng, &draft->report);
}

/* The report's id, which names its directions, is set already. */
static void make_from_directions(struct dpot_draft *draft, const struct dpot_device_data *data)
{
    dpot_private_points_set(&draft->private_points, data->points, data->weights, data->n,
                            draft->uniform);
    dpot_privatizer_run_points(draft->privatizer, &draft->private_points, draft->rng,
                               &draft->report);
}

/* Without data: zeros. The mechanism clamps what is not finite. */
static void make_from_vector(struct dpot_draft *draft, const struct dpot_device_data *data)
{
    double *values = draft->private_vector.values;
    const double *source = data->vector ? data->vector : values;
    memmove(values, source, draft->private_vector.dim * sizeof *values);
    dpot_privatizer_run_vector(draft->privatizer, &draft->private_vector, draft->rng,
                               &draft->report);
}

/* Masks the host's floating-point traps, so that 0/0 in a sweep raises no signal. */
void dpot_draft_make(struct dpot_draft *draft, const struct dpot_device_data *data)
{
    fenv_t environment;
    const bool is_held = feholdexcept(&environment) == 0;
    if (is_vector(draft->campaign)) {
        make_from_vector(draft, data);
    } else if (dpot_campaign_is_sphere(draft->campaign)) {
        make_from_directions(draft, data);
    } else {
        make_from_measure(draft, data);
    }
    if (is_held) {
        (void)fesetenv(&environment);
    }
}

void dpot_draft_release(struct dpot_draft *draft)
{
    const struct dpot_allocator *allocator = draft->allocator;
    dpot_privatizer_free(draft->privatizer);
    dpot_private_measure_release(&draft->private_measure);
    dpot_free_secret(allocator, draft->histogram, draft->histogram_size, sizeof *draft->histogram);
    dpot_nearest_release(&draft->nearest);
    dpot_private_points_release(&draft->private_points);
    dpot_private_vector_release(&draft->private_vector);
    dpot_free_secret(allocator, draft->values, draft->n_values, sizeof *draft->values);
    dpot_free_secret(allocator, draft->rng, 1, sizeof *draft->rng);
    dpot_wipe(&draft->report, sizeof draft->report);
}

#include "audit/direct.h"

#include "base/alloc.h"
#include "mechanism/mechanism.h"

#include <string.h>

struct direct {
    const struct subject *subject;
    struct dpot_privatizer *privatizer;
    struct dpot_private_measure private_measure;
    struct dpot_private_points private_points;
    struct dpot_private_vector private_vector;
    double *histogram; /* (domain size) */
    int64_t *values;   /* (dim) */
};

static bool is_vector(const struct subject *subject)
{
    return dpot_mechanism_is_vector(subject->campaign.mechanism);
}

static dpot_status prepare_points(struct direct *d, unsigned input)
{
    const struct dpot_campaign *campaign = &d->subject->campaign;
    const dpot_status status =
        dpot_private_measure_init(&d->private_measure, campaign->n_max, NULL);
    d->histogram = dpot_alloc_array(NULL, campaign->domain.size, sizeof *d->histogram);
    if (status != DPOT_OK || !d->histogram) {
        return DPOT_ERR_MEMORY;
    }
    const uint32_t place =
        dpot_domain_nearest(&campaign->domain, &campaign->metric, d->subject->input[input]);
    d->histogram[place] = 1;
    dpot_private_measure_set(&d->private_measure, d->histogram, campaign->domain.size);
    return DPOT_OK;
}

static bool is_sphere(const struct subject *subject)
{
    return dpot_campaign_is_sphere(&subject->campaign);
}

static dpot_status prepare_sphere(struct direct *d, unsigned input)
{
    const struct dpot_campaign *campaign = &d->subject->campaign;
    const dpot_status status =
        dpot_private_points_init(&d->private_points, campaign->n_max, campaign->domain.dim, NULL);
    if (status == DPOT_OK) {
        dpot_private_points_set(&d->private_points, d->subject->input[input], NULL, 1, 0);
    }
    return status;
}

static dpot_status prepare_vector(struct direct *d, unsigned input)
{
    const struct dpot_vector_domain *vector = &d->subject->campaign.vector;
    const uint32_t dim = dpot_vector_data_dim(vector);
    const dpot_status status = dpot_private_vector_init(&d->private_vector, dim, NULL);
    d->values = dpot_alloc_array(NULL, vector->dim, sizeof *d->values);
    if (status != DPOT_OK || !d->values) {
        return DPOT_ERR_MEMORY;
    }
    memcpy(d->private_vector.values, d->subject->input[input], dim * sizeof(double));
    return DPOT_OK;
}

static void make_sample(struct direct *d, const struct dpot_rng_source *source,
                        struct audit_sample *sample)
{
    struct dpot_rng rng;
    struct dpot_report report = {.values = d->values};
    dpot_rng_init(&rng, source);
    if (is_sphere(d->subject)) { /* draws the id first, as a device does */
        source->fill(source->ctx, report.id, sizeof report.id);
        dpot_privatizer_run_points(d->privatizer, &d->private_points, &rng, &report);
    } else if (is_vector(d->subject)) {
        dpot_privatizer_run_vector(d->privatizer, &d->private_vector, &rng, &report);
    } else {
        dpot_privatizer_run(d->privatizer, &d->private_measure, &rng, &report);
    }
    dpot_rng_release(&rng);
    *sample = subject_observe(d->subject, &report);
}

dpot_status direct_run(const struct subject *subject, unsigned input,
                       const struct dpot_rng_source *source, size_t n, struct audit_sample *samples,
                       struct dpot_error *error)
{
    struct direct d = {.subject = subject};
    const struct dpot_campaign *campaign = &subject->campaign;
    dpot_status status = dpot_privatizer_new(campaign, NULL, &d.privatizer, error);
    if (status == DPOT_OK) {
        status = is_vector(subject)   ? prepare_vector(&d, input)
                 : is_sphere(subject) ? prepare_sphere(&d, input)
                                      : prepare_points(&d, input);
    }
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        make_sample(&d, source, &samples[i]);
    }
    dpot_privatizer_free(d.privatizer);
    dpot_private_measure_release(&d.private_measure);
    dpot_private_points_release(&d.private_points);
    dpot_private_vector_release(&d.private_vector);
    dpot_free_array(NULL, d.histogram, campaign->domain.size, sizeof *d.histogram);
    dpot_free_array(NULL, d.values, campaign->vector.dim, sizeof *d.values);
    return status;
}

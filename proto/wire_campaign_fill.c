#include "proto/wire_campaign_message.h"

#define MS_PER_S 1000

static void fill_points(Dpot__V1__Points *message, const struct dpot_domain *domain)
{
    dpot__v1__points__init(message);
    message->dim = domain->dim;
    message->n_coordinates = (size_t)domain->size * domain->dim;
    message->coordinates = domain->points;
}

static void fill_grid(Dpot__V1__Grid *message, const struct dpot_domain *domain)
{
    dpot__v1__grid__init(message);
    message->n_lo = message->n_hi = message->n_shape = domain->dim;
    message->lo = (double *)domain->lo;
    message->hi = (double *)domain->hi;
    message->shape = (uint32_t *)domain->shape;
}

static dpot_status fill_domain(struct dpot_domain_message *message,
                               const struct dpot_domain *domain)
{
    dpot__v1__domain__init(&message->domain);
    switch (domain->type) {
    case DPOT_DOMAIN_POINTS:
        fill_points(&message->points, domain);
        message->domain.kind_case = DPOT__V1__DOMAIN__KIND_POINTS;
        message->domain.points = &message->points;
        return DPOT_OK;
    case DPOT_DOMAIN_GRID:
        fill_grid(&message->grid, domain);
        message->domain.kind_case = DPOT__V1__DOMAIN__KIND_GRID;
        message->domain.grid = &message->grid;
        return domain->dim <= DPOT_GRID_DIM_MAX ? DPOT_OK : DPOT_ERR_TOO_LARGE;
    case DPOT_DOMAIN_RING:
        dpot__v1__ring__init(&message->ring);
        message->ring.size = domain->size;
        message->domain.kind_case = DPOT__V1__DOMAIN__KIND_RING;
        message->domain.ring = &message->ring;
        return DPOT_OK;
    case DPOT_DOMAIN_SPHERE:
        dpot__v1__sphere__init(&message->sphere);
        message->sphere.dim = domain->dim;
        message->domain.kind_case = DPOT__V1__DOMAIN__KIND_SPHERE;
        message->domain.sphere = &message->sphere;
        return DPOT_OK;
    case DPOT_DOMAIN_DIRECTIONS:
        dpot__v1__directions__init(&message->directions);
        message->directions.dim = domain->dim;
        message->directions.count = domain->size;
        message->domain.kind_case = DPOT__V1__DOMAIN__KIND_DIRECTIONS;
        message->domain.directions = &message->directions;
        return DPOT_OK;
    }
    return DPOT_ERR_ARGUMENT;
}

static dpot_status fill_domains(struct dpot_campaign_message *message,
                                const struct dpot_campaign *campaign)
{
    if (dpot_mechanism_is_vector(campaign->mechanism)) {
        const bool has_points = campaign->domain.type != 0 || campaign->output.type != 0;
        return has_points ? DPOT_ERR_ARGUMENT : DPOT_OK;
    }
    const dpot_status status = fill_domain(&message->domain, &campaign->domain);
    message->campaign.domain = &message->domain.domain;
    if (status != DPOT_OK || campaign->output_is_domain) {
        return status;
    }
    message->campaign.output = &message->output.domain;
    return fill_domain(&message->output, &campaign->output);
}

static void fill_base_measure(Dpot__V1__BaseMeasure *message,
                              const struct dpot_base_measure *base_measure)
{
    dpot__v1__base_measure__init(message);
    message->n_mass_code = base_measure->size;
    message->mass_code = base_measure->mass_code;
    message->total = base_measure->total;
}

static void fill_wpm(struct dpot_campaign_message *message, const struct dpot_campaign *campaign)
{
    Dpot__V1__Wpm *wpm = &message->mechanism.wpm;
    dpot__v1__wpm__init(wpm);
    wpm->epsilon = campaign->epsilon_q32;
    wpm->solver = (uint32_t)campaign->solver;
    wpm->lambda = campaign->lambda;
    wpm->iterations = campaign->iterations;
    wpm->passes = campaign->passes;
    wpm->n_max = campaign->n_max;
    wpm->sample_first = campaign->sample_first;
    wpm->base_measure = &message->base_measure;
    message->campaign.mechanism_case = DPOT__V1__CAMPAIGN__MECHANISM_WPM;
    message->campaign.wpm = wpm;
}

static void fill_kpm(struct dpot_campaign_message *message, const struct dpot_campaign *campaign)
{
    Dpot__V1__Kpm *kpm = &message->mechanism.kpm;
    dpot__v1__kpm__init(kpm);
    kpm->epsilon = campaign->epsilon_q32;
    kpm->n_max = campaign->n_max;
    kpm->sample_first = campaign->sample_first;
    kpm->base_measure = &message->base_measure;
    message->campaign.mechanism_case = DPOT__V1__CAMPAIGN__MECHANISM_KPM;
    message->campaign.kpm = kpm;
}

static void fill_exponential(struct dpot_campaign_message *message,
                             const struct dpot_campaign *campaign)
{
    Dpot__V1__Exponential *exponential = &message->mechanism.exponential;
    dpot__v1__exponential__init(exponential);
    exponential->epsilon = campaign->epsilon_q32;
    exponential->sensitivity = campaign->sensitivity;
    exponential->n_max = campaign->n_max;
    exponential->sample_first = campaign->sample_first;
    exponential->base_measure = &message->base_measure;
    message->campaign.mechanism_case = DPOT__V1__CAMPAIGN__MECHANISM_EXPONENTIAL;
    message->campaign.exponential = exponential;
}

static dpot_status fill_laplace(struct dpot_campaign_message *message,
                                const struct dpot_campaign *campaign)
{
    Dpot__V1__Laplace *laplace = &message->mechanism.laplace;
    dpot__v1__laplace__init(laplace);
    laplace->epsilon = campaign->epsilon_q32;
    laplace->scale_log2 = campaign->noise.scale_log2;
    laplace->vector = &message->vector.vector;
    message->campaign.mechanism_case = DPOT__V1__CAMPAIGN__MECHANISM_LAPLACE;
    message->campaign.laplace = laplace;
    return dpot_wire_vector_fill(&message->vector, &campaign->vector);
}

static dpot_status fill_gaussian(struct dpot_campaign_message *message,
                                 const struct dpot_campaign *campaign)
{
    Dpot__V1__Gaussian *gaussian = &message->mechanism.gaussian;
    dpot__v1__gaussian__init(gaussian);
    gaussian->certificate_row = campaign->noise.certificate_row;
    gaussian->scale_log2 = campaign->noise.scale_log2;
    gaussian->vector = &message->vector.vector;
    message->campaign.mechanism_case = DPOT__V1__CAMPAIGN__MECHANISM_GAUSSIAN;
    message->campaign.gaussian = gaussian;
    return dpot_wire_vector_fill(&message->vector, &campaign->vector);
}

/* Parameters without a field in the mechanism's message would be lost. */
static bool has_stray_numbers(const struct dpot_campaign *campaign)
{
    const enum dpot_mechanism_id id = campaign->mechanism;
    const bool has_solver = campaign->solver != DPOT_SOLVER_ENTROPIC || campaign->lambda != 0 ||
                            campaign->iterations != 0 || campaign->passes != 0;
    const bool has_rows = campaign->n_max != 0 || campaign->sample_first;
    const bool has_noise = campaign->noise.scale_log2 != 0 || campaign->noise.certificate_row != 0;
    return (has_solver && id != DPOT_MECHANISM_WPM) ||
           (campaign->sensitivity != 0 && id != DPOT_MECHANISM_EXPONENTIAL) ||
           (has_rows && dpot_mechanism_is_vector(id)) ||
           (has_noise && !dpot_mechanism_is_vector(id)) ||
           (campaign->noise.certificate_row != 0 && id != DPOT_MECHANISM_GAUSSIAN) ||
           (campaign->epsilon_q32 != 0 && id == DPOT_MECHANISM_GAUSSIAN);
}

static dpot_status fill_mechanism(struct dpot_campaign_message *message,
                                  const struct dpot_campaign *campaign)
{
    fill_base_measure(&message->base_measure, &campaign->base_measure);
    if (has_stray_numbers(campaign)) {
        return DPOT_ERR_ARGUMENT;
    }
    switch (campaign->mechanism) {
    case DPOT_MECHANISM_WPM:
        fill_wpm(message, campaign);
        return DPOT_OK;
    case DPOT_MECHANISM_KPM:
        fill_kpm(message, campaign);
        return DPOT_OK;
    case DPOT_MECHANISM_EXPONENTIAL:
        fill_exponential(message, campaign);
        return DPOT_OK;
    case DPOT_MECHANISM_LAPLACE:
        return fill_laplace(message, campaign);
    case DPOT_MECHANISM_GAUSSIAN:
        return fill_gaussian(message, campaign);
    }
    return DPOT_ERR_ARGUMENT;
}

static dpot_status fill_groups(struct dpot_campaign_message *message,
                               const struct dpot_campaign *campaign)
{
    if (campaign->n_groups > DPOT_GROUPS_MAX) {
        return DPOT_ERR_TOO_LARGE;
    }
    for (uint32_t i = 0; i < campaign->n_groups; i++) {
        message->groups[i] = campaign->groups[i];
    }
    message->campaign.n_groups = campaign->n_groups;
    message->campaign.groups = message->groups;
    return DPOT_OK;
}

dpot_status dpot_wire_campaign_fill(struct dpot_campaign_message *message,
                                    const struct dpot_campaign *campaign)
{
    if (campaign->opens_ms % MS_PER_S != 0 || campaign->closes_ms % MS_PER_S != 0) {
        return DPOT_ERR_ARGUMENT;
    }
    Dpot__V1__Campaign *m = &message->campaign;
    dpot__v1__campaign__init(m);
    m->version = DPOT_CAMPAIGN_WIRE_VERSION;
    m->id = (ProtobufCBinaryData){DPOT_CAMPAIGN_ID_LEN, (uint8_t *)campaign->id};
    m->revision = campaign->revision;
    m->name = (char *)campaign->name;
    m->metric = (uint32_t)campaign->metric.id;
    m->ring_size = campaign->metric.ring_size;
    m->cost_power = campaign->cost_power;
    m->rounds = campaign->rounds;
    m->opens = campaign->opens_ms / MS_PER_S;
    m->closes = campaign->closes_ms / MS_PER_S;
    m->min_pool = campaign->min_pool;
    m->simulation = campaign->simulation;
    m->loss_counts = campaign->loss_counts;
    dpot_status status = fill_domains(message, campaign);
    if (status == DPOT_OK) {
        status = fill_mechanism(message, campaign);
    }
    return status == DPOT_OK ? fill_groups(message, campaign) : status;
}

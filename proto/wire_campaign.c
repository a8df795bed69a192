#include "proto/wire_campaign.h"

#include "proto/message.h"
#include "proto/signed.h"
#include "proto/wire_campaign_message.h"

#include <string.h>

#define MS_PER_S 1000

/* The message is too large for a stack. */
static struct dpot_campaign_message *new_message(const struct dpot_allocator *allocator)
{
    return dpot_alloc_array(allocator, 1, sizeof(struct dpot_campaign_message));
}

static void free_message(const struct dpot_allocator *allocator,
                         struct dpot_campaign_message *message)
{
    dpot_free_array(allocator, message, 1, sizeof *message);
}

static dpot_status append(struct dpot_campaign_message *message,
                          const struct dpot_campaign *campaign, struct dpot_buf *out)
{
    const dpot_status status = dpot_wire_campaign_fill(message, campaign);
    if (status != DPOT_OK) {
        return status;
    }
    /* Everything that can be encoded can be signed within the limit. */
    const size_t len = dpot__v1__campaign__get_packed_size(&message->campaign);
    if (len > DPOT_CAMPAIGN_BYTES_MAX - DPOT_SIGNED_OVERHEAD) {
        return DPOT_ERR_TOO_LARGE;
    }
    return dpot_message_append(&message->campaign.base, out);
}

dpot_status dpot_wire_campaign_encode(const struct dpot_campaign *campaign, struct dpot_buf *out)
{
    struct dpot_campaign_message *message = new_message(out->allocator);
    const dpot_status status = message ? append(message, campaign, out) : DPOT_ERR_MEMORY;
    free_message(out->allocator, message);
    return status;
}

/* Decoding: every count is bounded before memory is allocated for it. */

static dpot_status refuse_missing(const char *field, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_MALFORMED, "the campaign has no %s", field);
}

static dpot_status read_label(const char *text, const char *field,
                              char label[DPOT_CAMPAIGN_NAME_MAX + 1], struct dpot_error *error)
{
    const size_t len = strlen(text);
    if (len > DPOT_CAMPAIGN_NAME_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "%s has %zu bytes: at most %d", field, len,
                              DPOT_CAMPAIGN_NAME_MAX);
    }
    memcpy(label, text, len + 1);
    return DPOT_OK;
}

static dpot_status read_points(const Dpot__V1__Points *message,
                               const struct dpot_allocator *allocator, struct dpot_domain *domain,
                               struct dpot_error *error)
{
    const size_t dim = message->dim;
    if (dim < 1 || dim > DPOT_DOMAIN_DIM_MAX || message->n_coordinates % dim != 0) {
        return dpot_error_set(
            error, DPOT_ERR_MALFORMED,
            "%zu coordinates do not make a list of points of %zu coordinates each",
            message->n_coordinates, dim);
    }
    const size_t size = message->n_coordinates / dim;
    if (size > DPOT_DOMAIN_SIZE_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "%zu points: at most %u", size,
                              DPOT_DOMAIN_SIZE_MAX);
    }
    return dpot_domain_init_points(domain, (uint32_t)size, message->dim, message->coordinates,
                                   allocator, error);
}

static dpot_status read_grid(const Dpot__V1__Grid *message, struct dpot_domain *domain,
                             struct dpot_error *error)
{
    const size_t dim = message->n_shape;
    if (dim < 1 || dim > DPOT_GRID_DIM_MAX || message->n_lo != dim || message->n_hi != dim) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "a grid needs lo, hi and shape of one length, 1 to %d: it has %zu, "
                              "%zu and %zu",
                              DPOT_GRID_DIM_MAX, message->n_lo, message->n_hi, dim);
    }
    return dpot_domain_init_grid(domain, (uint32_t)dim, message->lo, message->hi, message->shape,
                                 error);
}

static dpot_status read_domain(const Dpot__V1__Domain *message, const char *field,
                               const struct dpot_allocator *allocator, struct dpot_domain *domain,
                               struct dpot_error *error)
{
    dpot_status status = DPOT_ERR_MALFORMED;
    switch (message->kind_case) {
    case DPOT__V1__DOMAIN__KIND_POINTS:
        status = read_points(message->points, allocator, domain, error);
        break;
    case DPOT__V1__DOMAIN__KIND_GRID:
        status = read_grid(message->grid, domain, error);
        break;
    case DPOT__V1__DOMAIN__KIND_RING:
        status = dpot_domain_init_ring(domain, message->ring->size, error);
        break;
    case DPOT__V1__DOMAIN__KIND_SPHERE:
        status = dpot_domain_init_sphere(domain, message->sphere->dim, error);
        break;
    case DPOT__V1__DOMAIN__KIND_DIRECTIONS:
        status = dpot_domain_init_directions(domain, message->directions->count,
                                             message->directions->dim, error);
        break;
    default:
        return dpot_error_set(error, status, "%s has no points, grid, ring or sphere", field);
    }
    return status == DPOT_OK ? status : dpot_error_prefix(error, status, "%s", field);
}

static dpot_status read_domains(const Dpot__V1__Campaign *message,
                                const struct dpot_allocator *allocator,
                                struct dpot_campaign *campaign, struct dpot_error *error)
{
    if (dpot_mechanism_is_vector(campaign->mechanism)) {
        /* Points next to a vector would be lost: check_canonical refuses them. */
        return DPOT_OK;
    }
    if (!message->domain) {
        return refuse_missing("domain", error);
    }
    const dpot_status status =
        read_domain(message->domain, "domain", allocator, &campaign->domain, error);
    if (status != DPOT_OK) {
        return status;
    }
    campaign->output_is_domain = !message->output;
    if (campaign->output_is_domain) {
        return dpot_domain_init_copy(&campaign->output, &campaign->domain);
    }
    return read_domain(message->output, "output", allocator, &campaign->output, error);
}

static dpot_status read_base_measure(const Dpot__V1__BaseMeasure *message, const char *field,
                                     const struct dpot_allocator *allocator,
                                     struct dpot_base_measure *base_measure,
                                     struct dpot_error *error)
{
    if (!message) {
        return refuse_missing(field, error);
    }
    const size_t size = message->n_mass_code;
    if (size > DPOT_DOMAIN_SIZE_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "base_measure has %zu masses: at most %u",
                              size, DPOT_DOMAIN_SIZE_MAX);
    }
    base_measure->total = message->total;
    if (size == 0) {
        return DPOT_OK;
    }
    base_measure->mass_code = dpot_alloc_array(allocator, size, sizeof *base_measure->mass_code);
    if (!base_measure->mass_code) {
        return DPOT_ERR_MEMORY;
    }
    memcpy(base_measure->mass_code, message->mass_code, size * sizeof *message->mass_code);
    base_measure->size = (uint32_t)size;
    return DPOT_OK;
}

static dpot_status read_wpm(const Dpot__V1__Wpm *wpm, const struct dpot_allocator *allocator,
                            struct dpot_campaign *campaign, struct dpot_error *error)
{
    campaign->mechanism = DPOT_MECHANISM_WPM;
    campaign->epsilon_q32 = wpm->epsilon;
    campaign->solver = (enum dpot_solver_id)wpm->solver;
    campaign->lambda = wpm->lambda;
    campaign->iterations = wpm->iterations;
    campaign->passes = wpm->passes;
    campaign->n_max = wpm->n_max;
    campaign->sample_first = wpm->sample_first;
    return read_base_measure(wpm->base_measure, "wpm.base_measure", allocator,
                             &campaign->base_measure, error);
}

static dpot_status read_kpm(const Dpot__V1__Kpm *kpm, const struct dpot_allocator *allocator,
                            struct dpot_campaign *campaign, struct dpot_error *error)
{
    campaign->mechanism = DPOT_MECHANISM_KPM;
    campaign->epsilon_q32 = kpm->epsilon;
    campaign->n_max = kpm->n_max;
    campaign->sample_first = kpm->sample_first;
    return read_base_measure(kpm->base_measure, "kpm.base_measure", allocator,
                             &campaign->base_measure, error);
}

static dpot_status read_exponential(const Dpot__V1__Exponential *exponential,
                                    const struct dpot_allocator *allocator,
                                    struct dpot_campaign *campaign, struct dpot_error *error)
{
    campaign->mechanism = DPOT_MECHANISM_EXPONENTIAL;
    campaign->epsilon_q32 = exponential->epsilon;
    campaign->sensitivity = exponential->sensitivity;
    campaign->n_max = exponential->n_max;
    campaign->sample_first = exponential->sample_first;
    return read_base_measure(exponential->base_measure, "exponential.base_measure", allocator,
                             &campaign->base_measure, error);
}

static dpot_status read_vector(const Dpot__V1__Vector *message, const char *field,
                               const struct dpot_allocator *allocator,
                               struct dpot_campaign *campaign, struct dpot_error *error)
{
    return message ? dpot_wire_vector_read(message, allocator, &campaign->vector, error)
                   : refuse_missing(field, error);
}

static dpot_status read_laplace(const Dpot__V1__Laplace *laplace,
                                const struct dpot_allocator *allocator,
                                struct dpot_campaign *campaign, struct dpot_error *error)
{
    campaign->mechanism = DPOT_MECHANISM_LAPLACE;
    campaign->epsilon_q32 = laplace->epsilon;
    campaign->noise.scale_log2 = laplace->scale_log2;
    return read_vector(laplace->vector, "laplace.vector", allocator, campaign, error);
}

static dpot_status read_gaussian(const Dpot__V1__Gaussian *gaussian,
                                 const struct dpot_allocator *allocator,
                                 struct dpot_campaign *campaign, struct dpot_error *error)
{
    campaign->mechanism = DPOT_MECHANISM_GAUSSIAN;
    campaign->noise.certificate_row = gaussian->certificate_row;
    campaign->noise.scale_log2 = gaussian->scale_log2;
    return read_vector(gaussian->vector, "gaussian.vector", allocator, campaign, error);
}

static dpot_status read_mechanism(const Dpot__V1__Campaign *message,
                                  const struct dpot_allocator *allocator,
                                  struct dpot_campaign *campaign, struct dpot_error *error)
{
    switch (message->mechanism_case) {
    case DPOT__V1__CAMPAIGN__MECHANISM_WPM:
        return read_wpm(message->wpm, allocator, campaign, error);
    case DPOT__V1__CAMPAIGN__MECHANISM_KPM:
        return read_kpm(message->kpm, allocator, campaign, error);
    case DPOT__V1__CAMPAIGN__MECHANISM_EXPONENTIAL:
        return read_exponential(message->exponential, allocator, campaign, error);
    case DPOT__V1__CAMPAIGN__MECHANISM_LAPLACE:
        return read_laplace(message->laplace, allocator, campaign, error);
    case DPOT__V1__CAMPAIGN__MECHANISM_GAUSSIAN:
        return read_gaussian(message->gaussian, allocator, campaign, error);
    default:
        return refuse_missing("mechanism", error);
    }
}

static dpot_status read_time(const char *field, int64_t seconds, int64_t *time_ms,
                             struct dpot_error *error)
{
    if (seconds > INT64_MAX / MS_PER_S || seconds < INT64_MIN / MS_PER_S) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "%s is %lld seconds since 1970, which is out of range", field,
                              (long long)seconds);
    }
    *time_ms = seconds * MS_PER_S;
    return DPOT_OK;
}

static dpot_status read_schedule(const Dpot__V1__Campaign *message, struct dpot_campaign *campaign,
                                 struct dpot_error *error)
{
    campaign->rounds = message->rounds;
    campaign->min_pool = message->min_pool;
    const dpot_status status = read_time("opens", message->opens, &campaign->opens_ms, error);
    return status == DPOT_OK ? read_time("closes", message->closes, &campaign->closes_ms, error)
                             : status;
}

static dpot_status read_groups(const Dpot__V1__Campaign *message,
                               const struct dpot_allocator *allocator,
                               struct dpot_campaign *campaign, struct dpot_error *error)
{
    if (message->n_groups > DPOT_GROUPS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "there are %zu groups: at most %d",
                              message->n_groups, DPOT_GROUPS_MAX);
    }
    if (message->n_groups == 0) {
        return DPOT_OK;
    }
    campaign->groups = dpot_alloc_array(allocator, message->n_groups, sizeof *campaign->groups);
    if (!campaign->groups) {
        return DPOT_ERR_MEMORY;
    }
    campaign->n_groups = (uint32_t)message->n_groups;
    dpot_status status = DPOT_OK;
    for (uint32_t i = 0; i < campaign->n_groups && status == DPOT_OK; i++) {
        status = read_label(message->groups[i], "a group label", campaign->groups[i], error);
    }
    return status;
}

static dpot_status read_header(const Dpot__V1__Campaign *message, struct dpot_campaign *campaign,
                               struct dpot_error *error)
{
    if (message->id.len != DPOT_CAMPAIGN_ID_LEN) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the campaign id has %zu bytes: it needs %d", message->id.len,
                              DPOT_CAMPAIGN_ID_LEN);
    }
    memcpy(campaign->id, message->id.data, DPOT_CAMPAIGN_ID_LEN);
    campaign->revision = message->revision;
    campaign->metric.id = (enum dpot_metric_id)message->metric;
    campaign->metric.ring_size = message->ring_size;
    campaign->cost_power = message->cost_power;
    campaign->simulation = message->simulation;
    campaign->loss_counts = message->loss_counts;
    return read_label(message->name, "name", campaign->name, error);
}

static dpot_status read_campaign(const Dpot__V1__Campaign *message,
                                 const struct dpot_allocator *allocator,
                                 struct dpot_campaign *campaign, struct dpot_error *error)
{
    dpot_status status = read_header(message, campaign, error);
    if (status == DPOT_OK) {
        status = read_mechanism(message, allocator, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_domains(message, allocator, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_schedule(message, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_groups(message, allocator, campaign, error);
    }
    return status;
}

static dpot_status check_version(const Dpot__V1__Campaign *message, struct dpot_error *error)
{
    if (message->version != DPOT_CAMPAIGN_WIRE_VERSION) {
        return dpot_error_set(error, DPOT_ERR_VERSION,
                              "the campaign has version %u, this program knows %u: update it",
                              message->version, DPOT_CAMPAIGN_WIRE_VERSION);
    }
    return dpot_message_refuse_unknown(&message->base, error);
}

/* The parsed campaign must pack to the bytes that were signed: nothing was dropped, and a campaign
 * has one byte string, hence one hash. */
static dpot_status check_canonical(const struct dpot_campaign *campaign, const void *data,
                                   size_t len, struct dpot_error *error)
{
    struct dpot_campaign_message *message = new_message(campaign->allocator);
    if (!message) {
        return DPOT_ERR_MEMORY;
    }
    const bool is_canonical = dpot_wire_campaign_fill(message, campaign) == DPOT_OK &&
                              dpot_message_packs_to(&message->campaign.base, data, len);
    free_message(campaign->allocator, message);
    if (is_canonical) {
        return DPOT_OK;
    }
    return dpot_error_set(error, DPOT_ERR_MALFORMED,
                          "the campaign is not in canonical form: encode it again");
}

static dpot_status parse_campaign(const void *data, size_t len, struct dpot_arena *arena,
                                  struct dpot_campaign *campaign, struct dpot_error *error)
{
    ProtobufCMessage *base = NULL;
    dpot_status status =
        dpot_message_unpack(&dpot__v1__campaign__descriptor, data, len, arena, &base, error);
    const Dpot__V1__Campaign *message = (const Dpot__V1__Campaign *)base;
    if (status == DPOT_OK) {
        status = check_version(message, error);
    }
    if (status == DPOT_OK) {
        status = read_campaign(message, campaign->allocator, campaign, error);
    }
    if (status == DPOT_OK) {
        status = check_canonical(campaign, data, len, error);
    }
    return status;
}

dpot_status dpot_wire_campaign_decode(const void *data, size_t len,
                                      const struct dpot_allocator *allocator,
                                      struct dpot_campaign *campaign, struct dpot_error *error)
{
    memset(campaign, 0, sizeof *campaign);
    if (len > DPOT_CAMPAIGN_BYTES_MAX - DPOT_SIGNED_OVERHEAD) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "the campaign has %zu bytes: at most %u",
                              len, DPOT_CAMPAIGN_BYTES_MAX - DPOT_SIGNED_OVERHEAD);
    }
    struct dpot_arena arena;
    campaign->allocator = allocator;
    dpot_arena_init(&arena, DPOT_MESSAGE_CEILING(len), allocator);
    const dpot_status status = parse_campaign(data, len, &arena, campaign, error);
    dpot_arena_release(&arena);
    if (status == DPOT_ERR_MEMORY) {
        (void)dpot_error_set(error, status, "no memory for a campaign of %zu bytes", len);
    }
    if (status != DPOT_OK) {
        dpot_campaign_release(campaign);
    }
    return status;
}

#include "model/campaign.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

#define TIME_MAX_MS INT64_C(253402300799000) /* 9999-12-31T23:59:59Z */
#define ROUND_MIN_MS 1000
#define MASS_TOTAL_MAX ((uint64_t)1 << 62)
#define BASE_MEASURE_SIZE_MIN 2

void dpot_campaign_release(struct dpot_campaign *campaign)
{
    const struct dpot_allocator *allocator = campaign->allocator;
    dpot_domain_release(&campaign->domain);
    dpot_domain_release(&campaign->output);
    dpot_vector_domain_release(&campaign->vector);
    dpot_free_array(allocator, campaign->base_measure.mass_code, campaign->base_measure.size,
                    sizeof *campaign->base_measure.mass_code);
    dpot_free_array(allocator, campaign->groups, campaign->n_groups, sizeof *campaign->groups);
    *campaign = (struct dpot_campaign){0};
}

/* One row per mechanism. */
struct mechanism_row {
    enum dpot_mechanism_id id;
    bool is_index;        /* reports name an output point */
    bool has_sweeps;      /* lambda and iterations mean something */
    bool has_sensitivity; /* of a utility in cost units */
    const char *name;
};

static const struct mechanism_row mechanisms[] = {
    {DPOT_MECHANISM_WPM, true, true, false, "wpm"},
    {DPOT_MECHANISM_KPM, true, false, false, "kpm"},
    {DPOT_MECHANISM_EXPONENTIAL, true, false, true, "exponential"},
    {DPOT_MECHANISM_LAPLACE, false, false, false, "laplace"},
    {DPOT_MECHANISM_GAUSSIAN, false, false, false, "gaussian"},
};
#define N_MECHANISMS (sizeof mechanisms / sizeof mechanisms[0])

static const struct mechanism_row *find_mechanism(enum dpot_mechanism_id id)
{
    for (size_t i = 0; i < N_MECHANISMS; i++) {
        if (mechanisms[i].id == id) {
            return &mechanisms[i];
        }
    }
    return NULL;
}

bool dpot_mechanism_is_vector(enum dpot_mechanism_id id)
{
    const struct mechanism_row *row = find_mechanism(id);
    return row && !row->is_index;
}

const char *dpot_mechanism_name(enum dpot_mechanism_id id)
{
    const struct mechanism_row *row = find_mechanism(id);
    return row ? row->name : NULL;
}

dpot_status dpot_mechanism_find(const char *name, enum dpot_mechanism_id *id)
{
    for (size_t i = 0; i < N_MECHANISMS; i++) {
        if (strcmp(mechanisms[i].name, name) == 0) {
            *id = mechanisms[i].id;
            return DPOT_OK;
        }
    }
    return DPOT_ERR_NOT_FOUND;
}

/* A label: 1 to DPOT_CAMPAIGN_NAME_MAX of [a-z0-9-], closed by a NUL inside its array. */
static dpot_status check_label(const char *what, const char label[DPOT_CAMPAIGN_NAME_MAX + 1],
                               struct dpot_error *error)
{
    if (!memchr(label, '\0', DPOT_CAMPAIGN_NAME_MAX + 1)) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s is longer than %d bytes: shorten it", what,
                              DPOT_CAMPAIGN_NAME_MAX);
    }
    if (label[0] == '\0') {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s is empty: use a-z, 0-9 and -", what);
    }
    for (const char *c = label; *c; c++) {
        const bool is_allowed = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-';
        if (!is_allowed) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "byte %zu of %s is 0x%02x: use a-z, 0-9 and - only",
                                  (size_t)(c - label), what, (unsigned)(unsigned char)*c);
        }
    }
    return DPOT_OK;
}

static dpot_status check_count(const char *field, uint64_t value, uint64_t max,
                               struct dpot_error *error)
{
    if (value < 1 || value > max) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s is %llu: choose 1 to %llu", field,
                              (unsigned long long)value, (unsigned long long)max);
    }
    return DPOT_OK;
}

/* Positions on a ring: a ring of that size, or listed integers 0..ring_size-1. */
static dpot_status check_ring_positions(const char *field, const struct dpot_domain *domain,
                                        uint32_t ring_size, struct dpot_error *error)
{
    if (domain->type == DPOT_DOMAIN_GRID) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "%s is a grid: the ring metric needs a ring or listed positions",
                              field);
    }
    if (domain->type == DPOT_DOMAIN_RING && domain->size != ring_size) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "%s is a ring of %u points but the metric's ring has %u: they must "
                              "agree",
                              field, domain->size, ring_size);
    }
    for (uint32_t i = 0; domain->type == DPOT_DOMAIN_POINTS && i < domain->size; i++) {
        const double x = domain->points[i];
        if (!(x >= 0 && x < (double)ring_size) || floor(x) != x) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "point %u of %s is %g: a ring of %u has the integer positions 0 "
                                  "to %u",
                                  i, field, x, ring_size, ring_size - 1);
        }
    }
    return DPOT_OK;
}

/* Listed points, or the box of a grid, which holds all of its cell centres. */
static dpot_status check_places(const char *field, const struct dpot_domain *domain,
                                const struct dpot_metric *metric, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    if (domain->type == DPOT_DOMAIN_GRID) {
        status = dpot_metric_check_place(metric, domain->lo, error);
        if (status != DPOT_OK) {
            return dpot_error_prefix(error, status, "lo of %s", field);
        }
        status = dpot_metric_check_place(metric, domain->hi, error);
        return status == DPOT_OK ? status : dpot_error_prefix(error, status, "hi of %s", field);
    }
    for (uint32_t i = 0; domain->type == DPOT_DOMAIN_POINTS && i < domain->size; i++) {
        status = dpot_metric_check_place(metric, domain->points + (size_t)i * domain->dim, error);
        if (status != DPOT_OK) {
            return dpot_error_prefix(error, status, "point %u of %s", i, field);
        }
    }
    return DPOT_OK;
}

/* What a metric asks of the coordinates beyond being finite. */
static dpot_status check_coordinates(const char *field, const struct dpot_domain *domain,
                                     const struct dpot_metric *metric, struct dpot_error *error)
{
    return metric->id == DPOT_METRIC_RING
               ? check_ring_positions(field, domain, metric->ring_size, error)
               : check_places(field, domain, metric, error);
}

static dpot_status check_metric(const struct dpot_campaign *campaign, uint32_t dim,
                                struct dpot_error *error)
{
    const struct dpot_metric *metric = &campaign->metric;
    const char *name = dpot_metric_name(metric->id);
    const dpot_status status = dpot_metric_check(metric, dim);
    if (status == DPOT_ERR_SHAPE) {
        return dpot_error_set(error, status,
                              "metric %s does not take points of %u coordinates: haversine takes "
                              "2, ring 1",
                              name, dim);
    }
    if (status != DPOT_OK) {
        return dpot_error_set(error, status,
                              "metric %d (%s) with ring_size %u is not valid: ring_size goes with "
                              "the ring metric only",
                              (int)metric->id, name ? name : "unknown", metric->ring_size);
    }
    if (!(campaign->cost_power >= 1 && campaign->cost_power <= 64)) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "cost_power is %g: choose 1 to 64",
                              campaign->cost_power);
    }
    return DPOT_OK;
}

static dpot_status check_domains(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    const struct dpot_domain *domain = &campaign->domain, *output = &campaign->output;
    dpot_status status = dpot_domain_check(domain, error);
    if (status != DPOT_OK) {
        return dpot_error_prefix(error, status, "domain");
    }
    status = dpot_domain_check(output, error);
    if (status != DPOT_OK) {
        return dpot_error_prefix(error, status, "output");
    }
    if (output->dim != domain->dim) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "output points have %u coordinates and domain points %u: they must "
                              "agree",
                              output->dim, domain->dim);
    }
    if (campaign->output_is_domain && !dpot_domain_equal(domain, output)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "output is said to be the domain but differs from it");
    }
    status = check_metric(campaign, domain->dim, error);
    if (status == DPOT_OK) {
        status = check_coordinates("domain", domain, &campaign->metric, error);
    }
    return status == DPOT_OK ? check_coordinates("output", output, &campaign->metric, error)
                             : status;
}

/* A vector mechanism has its set in place of points. */
static dpot_status check_vector_domain(const struct dpot_campaign *campaign,
                                       struct dpot_error *error)
{
    const enum dpot_metric_id metric = campaign->metric.id;
    if (campaign->domain.size != 0 || campaign->output.size != 0 || campaign->output_is_domain) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "%s has a box or a ball in place of domain and output points",
                              dpot_mechanism_name(campaign->mechanism));
    }
    if (metric == DPOT_METRIC_RING || metric == DPOT_METRIC_HAVERSINE) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "metric %s goes with points: use euclidean, l1, linf or cosine",
                              dpot_metric_name(metric));
    }
    const dpot_status status = dpot_vector_domain_check(&campaign->vector, error);
    return status == DPOT_OK
               ? check_metric(campaign, dpot_vector_data_dim(&campaign->vector), error)
               : status;
}

/* Of an index mechanism; and of a vector mechanism, by whether devices may take part. */
static uint64_t largest_epsilon(const struct dpot_campaign *campaign, bool is_index)
{
    return !is_index && campaign->simulation ? DPOT_SIMULATION_EPSILON_MAX_Q32
                                             : DPOT_INDEX_EPSILON_MAX_Q32;
}

static dpot_status check_epsilon(const struct dpot_campaign *campaign, bool is_index,
                                 struct dpot_error *error)
{
    const uint64_t max = largest_epsilon(campaign, is_index);
    if (campaign->epsilon_q32 == 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "epsilon is 0: it must be positive");
    }
    if (campaign->epsilon_q32 > max) {
        char text[DPOT_SHORTEST_SIZE];
        return dpot_error_set(error, DPOT_ERR_EPSILON, "epsilon is %s: choose at most %g",
                              dpot_shortest(dpot_epsilon_to_double(campaign->epsilon_q32), text),
                              dpot_epsilon_to_double(max));
    }
    return DPOT_OK;
}

static dpot_status check_base_measure(const struct dpot_campaign *campaign,
                                      struct dpot_error *error)
{
    const struct dpot_base_measure *base_measure = &campaign->base_measure;
    if (base_measure->size != campaign->output.size || !base_measure->mass_code) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the base measure has %u masses for %u output points: give one each",
                              base_measure->size, campaign->output.size);
    }
    if (base_measure->size < BASE_MEASURE_SIZE_MIN) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "there is %u output point: a report must have at least %d to choose "
                              "from",
                              base_measure->size, BASE_MEASURE_SIZE_MIN);
    }
    for (uint32_t j = 0; j < base_measure->size; j++) {
        if (base_measure->mass_code[j] == 0) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "mass code %u of the base measure is 0: it must be at least 1",
                                  j);
        }
    }
    if (base_measure->total < 1 || base_measure->total > MASS_TOTAL_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the total mass T of the base measure is %llu: choose 1 to 2^62",
                              (unsigned long long)base_measure->total);
    }
    return DPOT_OK;
}

/* A number in cost units: positive where the mechanism has one, otherwise 0, so that equal campaigns
 * have equal bytes. */
static dpot_status check_scale(const char *field, double value, bool is_used, const char *mechanism,
                               struct dpot_error *error)
{
    if (is_used && (!(value > 0) || isinf(value))) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s is %g: it must be positive and finite",
                              field, value);
    }
    if (!is_used && !(value == 0)) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s is %g, but %s has none: leave it out",
                              field, value, mechanism);
    }
    return DPOT_OK;
}

static dpot_status check_index_numbers(const struct dpot_campaign *campaign,
                                       const struct mechanism_row *row, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    if (row->has_sweeps) {
        status = check_count("iterations", campaign->iterations, DPOT_ITERATIONS_MAX, error);
    } else {
        status = check_scale("iterations", campaign->iterations, false, row->name, error);
    }
    if (status == DPOT_OK) {
        status = check_scale("lambda", campaign->lambda, row->has_sweeps, row->name, error);
    }
    if (status == DPOT_OK) {
        status = check_scale("sensitivity", campaign->sensitivity, row->has_sensitivity, row->name,
                             error);
    }
    return status == DPOT_OK ? check_base_measure(campaign, error) : status;
}

static dpot_status check_index(const struct dpot_campaign *campaign,
                               const struct mechanism_row *row, struct dpot_error *error)
{
    dpot_status status = check_epsilon(campaign, true, error);
    if (status == DPOT_OK) {
        status = check_count("n_max", campaign->n_max, DPOT_N_MAX_MAX, error);
    }
    if (status == DPOT_OK && (campaign->vector.dim != 0 || campaign->noise.scale_log2 != 0)) {
        status = dpot_error_set(error, DPOT_ERR_SHAPE, "%s has no noise on a vector: leave it out",
                                row->name);
    }
    return status == DPOT_OK ? check_index_numbers(campaign, row, error) : status;
}

static dpot_status check_unused(const struct dpot_campaign *campaign,
                                const struct mechanism_row *row, struct dpot_error *error)
{
    const struct {
        const char *field;
        double value;
    } unused[] = {
        {"lambda", campaign->lambda},
        {"iterations", campaign->iterations},
        {"sensitivity", campaign->sensitivity},
        {"n_max", campaign->n_max},
        {"sample_first", campaign->sample_first},
        {"the size of the base measure", campaign->base_measure.size},
    };
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof unused / sizeof unused[0]; i++) {
        status = check_scale(unused[i].field, unused[i].value, false, row->name, error);
    }
    return status;
}

/* A Gaussian campaign has no epsilon of its own. */
static dpot_status check_vector(const struct dpot_campaign *campaign,
                                const struct mechanism_row *row, struct dpot_error *error)
{
    const bool is_laplace = campaign->mechanism == DPOT_MECHANISM_LAPLACE;
    dpot_status status = check_unused(campaign, row, error);
    if (status == DPOT_OK && is_laplace) {
        status = check_epsilon(campaign, false, error);
    }
    if (status == DPOT_OK && !is_laplace) {
        status = check_scale("epsilon", (double)campaign->epsilon_q32, false,
                             "gaussian (its certificate row tells epsilon)", error);
    }
    if (status == DPOT_OK && is_laplace) {
        status = check_scale("certificate_row", campaign->noise.certificate_row, false, row->name,
                             error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    const uint32_t k = campaign->noise.scale_log2;
    const uint32_t min = is_laplace ? DPOT_LAPLACE_SCALE_LOG2_MIN : DPOT_GAUSSIAN_SCALE_LOG2_MIN;
    const uint32_t max = is_laplace ? DPOT_LAPLACE_SCALE_LOG2_MAX : DPOT_GAUSSIAN_SCALE_LOG2_MAX;
    if (k < min || k > max) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "scale_log2 is %u: %s takes %u to %u", k,
                              row->name, min, max);
    }
    return DPOT_OK;
}

static dpot_status check_mechanism(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    const struct mechanism_row *row = find_mechanism(campaign->mechanism);
    if (!row) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "mechanism %d is unknown: choose 1 to 5",
                              (int)campaign->mechanism);
    }
    dpot_status status =
        row->is_index ? check_domains(campaign, error) : check_vector_domain(campaign, error);
    if (status == DPOT_OK) {
        status =
            row->is_index ? check_index(campaign, row, error) : check_vector(campaign, row, error);
    }
    return status;
}

static dpot_status check_time(const char *field, int64_t time_ms, struct dpot_error *error)
{
    if (time_ms < 0 || time_ms > TIME_MAX_MS || time_ms % 1000 != 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "%s is %lld ms since 1970: give whole seconds in the years 1970 to "
                              "9999",
                              field, (long long)time_ms);
    }
    return DPOT_OK;
}

static dpot_status check_schedule(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    dpot_status status = check_time("opens", campaign->opens_ms, error);
    if (status == DPOT_OK) {
        status = check_time("closes", campaign->closes_ms, error);
    }
    if (status == DPOT_OK) {
        status = check_count("rounds", campaign->rounds, DPOT_ROUNDS_MAX, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (campaign->opens_ms >= campaign->closes_ms) {
        char opens[DPOT_RFC3339_SIZE], closes[DPOT_RFC3339_SIZE];
        dpot_time_format(campaign->opens_ms, opens);
        dpot_time_format(campaign->closes_ms, closes);
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "opens is %s and closes is %s: it must close after it opens", opens,
                              closes);
    }
    if ((campaign->closes_ms - campaign->opens_ms) / campaign->rounds < ROUND_MIN_MS) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "rounds is %u: each round must last at least one second",
                              campaign->rounds);
    }
    return DPOT_OK;
}

static dpot_status check_groups(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    if (campaign->n_groups > DPOT_GROUPS_MAX || (campaign->n_groups > 0 && !campaign->groups)) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "there are %u groups: at most %d",
                              campaign->n_groups, DPOT_GROUPS_MAX);
    }
    for (uint32_t i = 0; i < campaign->n_groups; i++) {
        const dpot_status status = check_label("a group label", campaign->groups[i], error);
        if (status != DPOT_OK) {
            return dpot_error_prefix(error, status, "group %u", i);
        }
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(campaign->groups[i], campaign->groups[j]) == 0) {
                return dpot_error_set(error, DPOT_ERR_RANGE,
                                      "groups %u and %u are both %s: labels must differ", j, i,
                                      campaign->groups[i]);
            }
        }
    }
    return DPOT_OK;
}

dpot_status dpot_campaign_check(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    dpot_status status = check_label("name", campaign->name, error);
    if (status == DPOT_OK) {
        status = check_count("revision", campaign->revision, UINT32_MAX, error);
    }
    if (status == DPOT_OK) {
        status = check_mechanism(campaign, error);
    }
    if (status == DPOT_OK) {
        status = check_schedule(campaign, error);
    }
    if (status == DPOT_OK) {
        status = check_groups(campaign, error);
    }
    return status;
}

int64_t dpot_campaign_round_opens(const struct dpot_campaign *campaign, uint32_t round)
{
    const int64_t length = (campaign->closes_ms - campaign->opens_ms) / campaign->rounds;
    return campaign->opens_ms + (int64_t)round * length;
}

int64_t dpot_campaign_round_closes(const struct dpot_campaign *campaign, uint32_t round)
{
    return round + 1 == campaign->rounds ? campaign->closes_ms
                                         : dpot_campaign_round_opens(campaign, round + 1);
}

dpot_status dpot_campaign_round(const struct dpot_campaign *campaign, int64_t time_ms,
                                uint32_t *round)
{
    if (time_ms < campaign->opens_ms) {
        return DPOT_ERR_NOT_OPEN;
    }
    if (time_ms >= campaign->closes_ms) {
        return DPOT_ERR_CLOSED;
    }
    const int64_t length = (campaign->closes_ms - campaign->opens_ms) / campaign->rounds;
    const int64_t r = (time_ms - campaign->opens_ms) / length;
    *round = r < campaign->rounds ? (uint32_t)r : campaign->rounds - 1;
    return DPOT_OK;
}

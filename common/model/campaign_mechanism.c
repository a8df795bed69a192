/* The table of mechanisms, and for each the checks of domains, metric, parameters and base
 * measure. */
#include "model/campaign_parts.h"
#include "model/campaign_sphere.h"

#include <math.h>
#include <string.h>

#define MASS_TOTAL_MAX ((uint64_t)1 << 62)
#define BASE_MEASURE_SIZE_MIN 2

/* One row per mechanism. */
struct mechanism_row {
    enum dpot_mechanism_id id;
    bool is_index;        /* reports name an output point */
    bool has_projection;  /* uses solver, lambda and iterations */
    bool has_sensitivity; /* uses sensitivity */
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

static const char *const solver_names[] = {
    [DPOT_SOLVER_ENTROPIC] = "entropic",
    [DPOT_SOLVER_EXACT] = "exact",
};
#define N_SOLVERS (sizeof solver_names / sizeof solver_names[0])

const char *dpot_solver_name(enum dpot_solver_id id)
{
    return (size_t)id < N_SOLVERS ? solver_names[id] : NULL;
}

uint32_t dpot_campaign_passes(const struct dpot_campaign *campaign)
{
    return campaign->passes > 0 ? campaign->passes : DPOT_PASSES_DEFAULT;
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

/* Listed points, or the box of a grid, which contains all cell centres. */
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

/* The values that a metric accepts. */
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
                              "output should be the domain but differs from it");
    }
    status = dpot_campaign_check_sphere(campaign, error);
    if (status == DPOT_OK) {
        status = check_metric(campaign, domain->dim, error);
    }
    if (status == DPOT_OK) {
        status = check_coordinates("domain", domain, &campaign->metric, error);
    }
    return status == DPOT_OK ? check_coordinates("output", output, &campaign->metric, error)
                             : status;
}

/* A vector mechanism has a set instead of points. */
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

/* Vector mechanisms go higher in simulations. */
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
        return dpot_error_set(error, DPOT_ERR_RANGE, "there is %u output point: give at least %d",
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

/* Positive where the mechanism uses it, else 0, so that equal campaigns have equal bytes. */
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

/* The solver, and the parameters of Sinkhorn sweeps. */
static dpot_status check_solver(const struct dpot_campaign *campaign,
                                const struct mechanism_row *row, struct dpot_error *error)
{
    const bool is_exact = campaign->solver == DPOT_SOLVER_EXACT;
    if (!dpot_solver_name(campaign->solver)) {
        return dpot_error_set(error, DPOT_ERR_VERSION,
                              "solver %u is unknown to this build: choose entropic (0), exact (1), "
                              "or a build that has it",
                              (unsigned)campaign->solver);
    }
    if (!row->has_projection && campaign->solver != DPOT_SOLVER_ENTROPIC) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "solver is exact, but %s does not project: leave it out", row->name);
    }
    if (campaign->passes > (is_exact ? DPOT_PASSES_MAX : 0)) {
        return is_exact ? dpot_error_set(error, DPOT_ERR_RANGE,
                                         "passes is %u: choose 1 to %d, or 0 for %d",
                                         campaign->passes, DPOT_PASSES_MAX, DPOT_PASSES_DEFAULT)
                        : dpot_error_set(error, DPOT_ERR_RANGE,
                                         "passes is %u, but only the exact solver has them: leave "
                                         "it out",
                                         campaign->passes);
    }
    if (is_exact && campaign->n_max > DPOT_EXACT_N_MAX_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "n_max is %u: the exact solver is for 1 to %d rows, choose fewer or "
                              "the entropic solver",
                              campaign->n_max, DPOT_EXACT_N_MAX_MAX);
    }
    const bool has_sweeps = row->has_projection && !is_exact;
    const char *who = is_exact ? "the exact solver" : row->name;
    const dpot_status status =
        has_sweeps ? dpot_campaign_check_count("iterations", campaign->iterations,
                                               DPOT_ITERATIONS_MAX, error)
                   : check_scale("iterations", campaign->iterations, false, who, error);
    return status == DPOT_OK ? check_scale("lambda", campaign->lambda, has_sweeps, who, error)
                             : status;
}

static dpot_status check_index_numbers(const struct dpot_campaign *campaign,
                                       const struct mechanism_row *row, struct dpot_error *error)
{
    dpot_status status = check_solver(campaign, row, error);
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
        status = dpot_campaign_check_count("n_max", campaign->n_max, DPOT_N_MAX_MAX, error);
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
        {"solver", campaign->solver},
        {"lambda", campaign->lambda},
        {"iterations", campaign->iterations},
        {"passes", campaign->passes},
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

/* A Gaussian campaign has no epsilon field: it is that of its certificate row. */
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
                             "gaussian (epsilon is that of its certificate row)", error);
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

dpot_status dpot_campaign_check_mechanism(const struct dpot_campaign *campaign,
                                          struct dpot_error *error)
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

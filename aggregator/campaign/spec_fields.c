#include "campaign/spec_fields.h"

#include "base/clock.h"
#include "campaign/spec_sphere.h"

#include <math.h>
#include <stdio.h>

#define FOR(cases, words) .only = cases, .goes_with = words

/* ---- the top level ---- */

static const struct json_word metrics[] = {{"euclidean", DPOT_METRIC_EUCLIDEAN},
                                           {"l1", DPOT_METRIC_L1},
                                           {"linf", DPOT_METRIC_LINF},
                                           {"cosine", DPOT_METRIC_COSINE},
                                           {"haversine", DPOT_METRIC_HAVERSINE},
                                           {"ring", DPOT_METRIC_RING},
                                           {NULL, 0}};
static const struct json_word vector_metrics[] = {{"euclidean", DPOT_METRIC_EUCLIDEAN},
                                                  {"l1", DPOT_METRIC_L1},
                                                  {"linf", DPOT_METRIC_LINF},
                                                  {"cosine", DPOT_METRIC_COSINE},
                                                  {NULL, 0}};

dpot_status spec_read_time(const json_t *value, const char *name, void *member,
                           struct dpot_error *error)
{
    char shown[64];
    const char *text = json_string_value(value);
    if (text && dpot_time_parse(text, member) == DPOT_OK) {
        return DPOT_OK;
    }
    json_show(shown, sizeof shown, value);
    return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s is %s: %s", name, shown, SPEC_TIME_REMEDY);
}

static dpot_status read_groups(const json_t *value, const char *name, void *member,
                               struct dpot_error *error)
{
    struct dpot_campaign *campaign = member;
    const struct json_field label = {.kind = JSON_KIND_CHARS,
                                     .size = sizeof *campaign->groups,
                                     .remedy = "give a label in quotes"};
    const size_t n = json_array_size(value);
    if (!json_is_array(value)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s must be an array of labels", name);
    }
    if (n > DPOT_GROUPS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "%s has %zu labels: give at most %d", name,
                              n, DPOT_GROUPS_MAX);
    }
    campaign->groups = n > 0 ? dpot_alloc_array(NULL, n, sizeof *campaign->groups) : NULL;
    if (n > 0 && !campaign->groups) {
        return DPOT_ERR_MEMORY;
    }
    campaign->n_groups = (uint32_t)n;
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        char entry[64];
        (void)snprintf(entry, sizeof entry, "entry %zu of %.20s", i, name);
        status =
            json_read_value(&label, json_array_get(value, i), entry, campaign->groups[i], error);
    }
    return status;
}

const struct json_field spec_fields[] = {
    {.key = "loss_counts",
     .kind = JSON_KIND_REFUSED,
     .remedy = "was removed: devices do not report losses; delete the key"},
    FIELD_CHARS("name", struct spec, campaign.name,
                FIELD_REQUIRED("give a text of a-z, 0-9 and -")),
    FIELD_VALUE("domain", struct spec, domain, .remedy = NULL),
    FIELD_VALUE("output", struct spec, output, .remedy = NULL),
    FIELD_WORD("metric", struct spec, campaign.metric.id, metrics, FIELD_REQUIRED(NULL),
               FOR(SPEC_INDEX, NULL)),
    FIELD_WORD("metric", struct spec, campaign.metric.id, vector_metrics,
               .otherwise = DPOT_METRIC_EUCLIDEAN, FOR(SPEC_VECTOR, NULL)),
    FIELD_INTEGER("ring_size", struct spec, campaign.metric.ring_size, 1, DPOT_DOMAIN_SIZE_MAX,
                  .otherwise = 0, FOR(SPEC_INDEX, "points on a ring")),
    FIELD_NUMBER("power", struct spec, campaign.cost_power, 1, 64, .otherwise = 1),
    FIELD_VALUE("mechanism", struct spec, mechanism, .remedy = NULL),
    FIELD_INTEGER("rounds", struct spec, campaign.rounds, 1, DPOT_ROUNDS_MAX, .otherwise = 1),
    FIELD_OTHER("opens", struct spec, campaign.opens_ms, spec_read_time,
                FIELD_REQUIRED(SPEC_TIME_REMEDY)),
    FIELD_OTHER("closes", struct spec, campaign.closes_ms, spec_read_time,
                FIELD_REQUIRED(SPEC_TIME_REMEDY)),
    FIELD_INTEGER("min_pool", struct spec, campaign.min_pool, 1,
                  (int64_t)1 << 53 /* what every JSON reader keeps exactly */, .otherwise = 1),
    FIELD_OTHER("groups", struct spec, campaign, read_groups, .remedy = NULL),
    FIELD_BOOL("simulation", struct spec, campaign.simulation, .otherwise = false),
    {.key = NULL},
};

/* Wrong types are refused later, by spec_read_type. */
static bool is_vector(const json_t *root)
{
    enum dpot_mechanism_id id = DPOT_MECHANISM_WPM;
    const char *type =
        json_string_value(json_object_get(json_object_get(root, "mechanism"), "type"));
    return type && dpot_mechanism_find(type, &id) == DPOT_OK && dpot_mechanism_is_vector(id);
}

dpot_status spec_read_top(const json_t *root, struct spec *spec, struct dpot_error *error)
{
    const struct json_case which = is_vector(root)
                                       ? (struct json_case){SPEC_VECTOR, "a mechanism on vectors"}
                                       : (struct json_case){SPEC_INDEX, NULL};
    return json_read_fields(root, "", spec_fields, &which, spec, error);
}

/* ---- mechanism ---- */

static const struct json_word mechanisms[] = {{"wpm", DPOT_MECHANISM_WPM},
                                              {"kpm", DPOT_MECHANISM_KPM},
                                              {"exponential", DPOT_MECHANISM_EXPONENTIAL},
                                              {"laplace", DPOT_MECHANISM_LAPLACE},
                                              {"gaussian", DPOT_MECHANISM_GAUSSIAN},
                                              {NULL, 0}};
static const struct json_word solvers[] = {
    {"entropic", DPOT_SOLVER_ENTROPIC}, {"exact", DPOT_SOLVER_EXACT}, {NULL, 0}};

/* The charge of a device: rounded down, and never above the ceiling by rounding. */
static dpot_status read_epsilon(const json_t *value, const char *name, void *member,
                                struct dpot_error *error)
{
    static const struct json_field number = {.kind = JSON_KIND_NUMBER,
                                             .number = {-INFINITY, INFINITY}};
    const double max = dpot_epsilon_to_double(DPOT_INDEX_EPSILON_MAX_Q32);
    double epsilon = 0;
    dpot_status status = json_read_value(&number, value, name, &epsilon, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (epsilon > max) {
        return dpot_error_set(error, DPOT_ERR_EPSILON, "%s is %.17g: choose at most %g", name,
                              epsilon, max);
    }
    status = dpot_epsilon_from_double(epsilon, member);
    return status == DPOT_OK
               ? status
               : dpot_error_set(error, status,
                                "%s is %.10g: give a number from 2^-32 (about 2.33e-10) to %g",
                                name, epsilon, max);
}

#define FOR_WPM FOR(SPEC_ENTROPIC | SPEC_EXACT, "wpm")
#define FOR_ENTROPIC FOR(SPEC_ENTROPIC, "the entropic solver of wpm")
#define FOR_EXACT FOR(SPEC_EXACT | SPEC_SPHERE, "the exact solver of wpm")
#define FOR_INDEX FOR(SPEC_INDEX, "mechanisms on points")
#define FOR_VECTOR FOR(SPEC_VECTOR, "mechanisms on vectors")

const struct json_field spec_mechanism_fields[] = {
    FIELD_WORD("type", struct spec, campaign.mechanism, mechanisms, FIELD_REQUIRED(NULL)),
    FIELD_WORD("solver", struct spec, campaign.solver, solvers, .otherwise = DPOT_SOLVER_ENTROPIC,
               FOR_WPM),
    FIELD_WORD("solver", struct spec, campaign.solver, &solvers[1], .otherwise = DPOT_SOLVER_EXACT,
               FOR(SPEC_SPHERE, "wpm")),
    FIELD_OTHER("epsilon", struct spec, campaign.epsilon_q32, read_epsilon,
                FIELD_REQUIRED("give a number from 2^-32 to 20"), FOR_INDEX),
    FIELD_NUMBER("epsilon", struct spec, epsilon, -INFINITY, INFINITY,
                 FIELD_REQUIRED("give a number above 0"), FOR_VECTOR),
    FIELD_NUMBER("delta", struct spec, delta, -INFINITY, INFINITY,
                 FIELD_REQUIRED("give a number such as 1e-6"), FOR(SPEC_GAUSSIAN, "gaussian")),
    FIELD_INTEGER("passes", struct spec, campaign.passes, 1, DPOT_PASSES_MAX,
                  .otherwise = DPOT_PASSES_DEFAULT, FOR_EXACT),
    FIELD_NUMBER("lambda", struct spec, campaign.lambda, 0, INFINITY, .is_above = true,
                 .otherwise = 0, FOR_ENTROPIC),
    FIELD_NUMBER("lambda_relative", struct spec, lambda_relative, 0, INFINITY, .is_above = true,
                 .otherwise = 0, FOR_ENTROPIC),
    FIELD_INTEGER("iterations", struct spec, campaign.iterations, 1, DPOT_ITERATIONS_MAX,
                  .otherwise = 300,
                  .remedy = "give an integer from 1 to 10000, or \"auto\" or {\"error\": E} to "
                            "have it measured by dpot campaign",
                  FOR_ENTROPIC),
    FIELD_VALUE("base_measure", struct spec, base_measure, FOR_INDEX),
    FIELD_BOOL("sample_first", struct spec, campaign.sample_first, .otherwise = false, FOR_INDEX),
    FIELD_INTEGER("n_max", struct spec, campaign.n_max, 1, DPOT_N_MAX_MAX, .otherwise = 32,
                  FOR(SPEC_INDEX & ~SPEC_SPHERE, "mechanisms on points")),
    FIELD_INTEGER("n_max", struct spec, campaign.n_max, 1, DPOT_EXACT_N_MAX_MAX, .otherwise = 1,
                  FOR(SPEC_SPHERE, "mechanisms on points")),
    FIELD_VALUE("transform", struct spec, transform, FOR_VECTOR),
    {.key = NULL},
};

dpot_status spec_read_type(struct spec *spec, struct dpot_error *error)
{
    return json_is_object(spec->mechanism)
               ? json_read_field(spec->mechanism, "mechanism", &spec_mechanism_fields[0], spec,
                                 error)
               : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "mechanism must be an object such as {\"type\":\"wpm\",...}");
}

static struct json_case find_case(const struct dpot_campaign *campaign)
{
    const char *name = dpot_mechanism_name(campaign->mechanism);
    if (campaign->mechanism == DPOT_MECHANISM_LAPLACE) {
        return (struct json_case){SPEC_LAPLACE, name};
    }
    if (campaign->mechanism == DPOT_MECHANISM_GAUSSIAN) {
        return (struct json_case){SPEC_GAUSSIAN, name};
    }
    if (campaign->mechanism != DPOT_MECHANISM_WPM) {
        return (struct json_case){SPEC_BASELINE, name};
    }
    if (dpot_campaign_is_sphere(campaign)) {
        return (struct json_case){SPEC_SPHERE, "wpm on a sphere, where the projection is exact,"};
    }
    return campaign->solver == DPOT_SOLVER_EXACT
               ? (struct json_case){SPEC_EXACT, "the exact solver"}
               : (struct json_case){SPEC_ENTROPIC, "the entropic solver"};
}

dpot_status spec_read_mechanism(struct spec *spec, struct dpot_error *error)
{
    struct dpot_campaign *campaign = &spec->campaign;
    dpot_status status = DPOT_OK;
    if (campaign->mechanism == DPOT_MECHANISM_WPM && !dpot_campaign_is_sphere(campaign)) {
        status =
            json_read_field(spec->mechanism, "mechanism", &spec_mechanism_fields[1], spec, error);
    }
    if (status == DPOT_OK) {
        const struct json_case which = find_case(campaign);
        status = json_read_fields(spec->mechanism, "mechanism", spec_mechanism_fields, &which, spec,
                                  error);
    }
    if (campaign->passes == DPOT_PASSES_DEFAULT) {
        campaign->passes = 0; /* not encoded: campaigns keep the bytes they had before the field */
    }
    return status;
}

/* ---- domain and output ---- */

#define TYPE(name) (1u << SPEC_PLACE_##name)

const struct json_field spec_place_fields[] = {
    FIELD_VALUE("type", struct spec_place, name, .remedy = NULL),
    {.key = "file",
     .kind = JSON_KIND_REFUSED,
     .remedy =
         "names a file, which the server does not read: send the points inside the SPEC (dpot "
         "campaign create does)",
     FOR(TYPE(POINTS), "points")},
    FIELD_VALUE("points", struct spec_place, points, FOR(TYPE(POINTS), "points")),
    FIELD_VALUE("lo", struct spec_place, lo, FOR(TYPE(GRID) | TYPE(BOX), "grid and box")),
    FIELD_VALUE("hi", struct spec_place, hi, FOR(TYPE(GRID) | TYPE(BOX), "grid and box")),
    FIELD_VALUE("shape", struct spec_place, shape, FOR(TYPE(GRID), "grid")),
    FIELD_INTEGER("size", struct spec_place, size, 1, DPOT_DOMAIN_SIZE_MAX,
                  FIELD_REQUIRED("give the number of positions"), FOR(TYPE(RING), "ring")),
    FIELD_INTEGER("dim", struct spec_place, dim, DPOT_SPHERE_DIM_MIN, DPOT_DOMAIN_DIM_MAX,
                  FIELD_REQUIRED("give the number of coordinates"), FOR(TYPE(SPHERE), "sphere")),
    FIELD_INTEGER("dim", struct spec_place, dim, 1, DPOT_VECTOR_DIM_MAX, .otherwise = 0,
                  FOR(TYPE(BOX) | TYPE(L1_BALL) | TYPE(L2_BALL) | TYPE(UNIT_BALL),
                      "sphere and sets of vectors")),
    FIELD_NUMBER("radius", struct spec_place, radius, 0, 1e300, .is_above = true,
                 FIELD_REQUIRED("give the clip of the norm"),
                 FOR(TYPE(L1_BALL) | TYPE(L2_BALL), "l1_ball and l2_ball")),
    FIELD_INTEGER("count", struct spec_place, count, DPOT_DIRECTIONS_MIN, DPOT_DOMAIN_SIZE_MAX,
                  .otherwise = 0, FOR(TYPE(DIRECTIONS), "directions")),
    {.key = NULL},
};

dpot_status spec_read_place(const json_t *object, const char *path, const struct json_word *types,
                            struct spec_place *place, struct dpot_error *error)
{
    const struct json_field type =
        FIELD_WORD("type", struct spec_place, type, types, FIELD_REQUIRED(NULL));
    *place = (struct spec_place){.type = SPEC_PLACE_POINTS};
    if (!json_is_object(object)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "%s must be an object such as {\"type\":\"%s\",...}", path,
                              types[0].name);
    }
    const dpot_status status = json_read_field(object, path, &type, place, error);
    if (status != DPOT_OK) {
        return status;
    }
    const struct json_case which = {1u << place->type,
                                    json_string_value(json_object_get(object, "type"))};
    return json_read_fields(object, path, spec_place_fields, &which, place, error);
}

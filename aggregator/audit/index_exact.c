#include "audit/index_exact.h"

#include "audit/exp_bound.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"

#include <math.h>
#include <string.h>

#define PLACES_MAX 3 /* units of mass in an enumerated input */
#define SPECK 1e-6
#define N_INVALID 6

#define ALL_POINTS_MAX 16  /* up to this many points all are used */
#define N_SPREAD 5         /* points used otherwise */
#define SPHERE_IDS 16      /* report ids tried */
#define SPHERE_IDS_LARGE 2 /* the same, if not all points are used */
#define SPHERE_DIM_MAX 16
#define SPHERE_PLACES(dim) (2 * (size_t)(dim) + 1)

/* The least and largest weight of every output so far. */
struct extremes {
    const struct index_program *program;
    bool is_sound; /* every law sums to 2^62 without a weight of 0 */
    size_t n_inputs;
    uint64_t least[INDEX_EXACT_OUTPUTS_MAX], most[INDEX_EXACT_OUTPUTS_MAX];
};

static void add_law(struct extremes *extremes, const uint64_t *weights)
{
    uint64_t left = DPOT_MASS_ONE;
    for (size_t j = 0; j < extremes->program->n_outputs; j++) {
        const uint64_t w = weights[j];
        extremes->is_sound = extremes->is_sound && w > 0 && w <= left;
        left -= w <= left ? w : left;
        extremes->least[j] = w < extremes->least[j] ? w : extremes->least[j];
        extremes->most[j] = w > extremes->most[j] ? w : extremes->most[j];
    }
    extremes->is_sound = extremes->is_sound && left == 0;
    extremes->n_inputs++;
}

static void try_input(struct extremes *extremes, const double *histogram)
{
    double copy[INDEX_EXACT_POINTS_MAX];
    uint64_t weights[INDEX_EXACT_OUTPUTS_MAX];
    memcpy(copy, histogram, extremes->program->n_points * sizeof *copy);
    extremes->program->law(extremes->program->ctx, copy, weights);
    add_law(extremes, weights);
}

/* The number of points that inputs use, and the i-th of them. */
static size_t count_used(size_t n_points)
{
    return n_points <= ALL_POINTS_MAX ? n_points : N_SPREAD;
}

static size_t used_point(size_t n_points, size_t i)
{
    return n_points <= ALL_POINTS_MAX ? i : i * (n_points - 1) / (N_SPREAD - 1);
}

/* Tries every way to put up to PLACES_MAX units on the points, and each with a speck next to the
 * first. */
static void try_places(struct extremes *extremes)
{
    const size_t n_points = extremes->program->n_points, n = count_used(n_points);
    size_t n_codes = 1;
    for (int i = 0; i < PLACES_MAX; i++) {
        n_codes *= n + 1; /* digit n: no unit */
    }
    for (size_t code = 0; code < n_codes; code++) {
        double histogram[INDEX_EXACT_POINTS_MAX] = {0};
        const size_t digits[PLACES_MAX] = {code % (n + 1), code / (n + 1) % (n + 1),
                                           code / (n + 1) / (n + 1)};
        if (digits[0] > digits[1] || digits[1] > digits[2]) {
            continue; /* same units in another order */
        }
        for (int i = 0; i < PLACES_MAX; i++) {
            if (digits[i] < n) {
                histogram[used_point(n_points, digits[i])]++;
            }
        }
        try_input(extremes, histogram);
        const size_t beside = used_point(n_points, code % n);
        histogram[n == n_points ? beside : (beside + 1) % n_points] += SPECK;
        try_input(extremes, histogram);
    }
}

static void try_invalid(struct extremes *extremes)
{
    const double invalid[N_INVALID] = {NAN, INFINITY, -INFINITY, -1, 1e300, 5e-324};
    const size_t n_points = extremes->program->n_points, n = count_used(n_points);
    for (size_t i = 0; i < N_INVALID; i++) {
        for (size_t used = 0; used < n; used++) {
            const size_t point = used_point(n_points, used);
            double histogram[INDEX_EXACT_POINTS_MAX] = {0};
            histogram[point] = invalid[i];
            try_input(extremes, histogram);
            histogram[(point + 1) % n_points] = 1;
            try_input(extremes, histogram);
        }
    }
}

/* ln of the largest ratio. *is_within: all ratios are within the claim, compared in integers. */
static double largest_loss(const struct extremes *extremes, bool *is_within)
{
    double loss = 0;
    *is_within = extremes->is_sound;
    for (size_t j = 0; extremes->is_sound && j < extremes->program->n_outputs; j++) {
        const uint64_t most = extremes->most[j], least = extremes->least[j];
        loss = fmax(loss, log((double)most / (double)least));
        *is_within = *is_within && exp_bound_holds(most, least, extremes->program->epsilon_q32);
    }
    /* The integer comparison decides: a ratio within the claim is not reported above it because of
     * a rounded logarithm. */
    const double claim = dpot_epsilon_to_double(extremes->program->epsilon_q32);
    return !extremes->is_sound ? INFINITY : *is_within ? fmin(loss, claim) : loss;
}

/* The extreme weights over the polytope, from the least and most that the other weights can sum
 * to. */
static void find_polytope(const struct index_program *program, struct extremes *extremes)
{
    const size_t n = program->n_outputs;
    for (size_t j = 0; j < n; j++) {
        uint64_t others_lower = 0, others_upper = 0; /* saturate at 2^62 */
        for (size_t i = 0; i < n; i++) {
            const uint64_t lower = i == j ? 0 : program->lower[i];
            const uint64_t upper = i == j ? 0 : program->upper[i];
            others_lower +=
                lower < DPOT_MASS_ONE - others_lower ? lower : DPOT_MASS_ONE - others_lower;
            others_upper +=
                upper < DPOT_MASS_ONE - others_upper ? upper : DPOT_MASS_ONE - others_upper;
        }
        const uint64_t most = DPOT_MASS_ONE - others_lower, least = DPOT_MASS_ONE - others_upper;
        extremes->most[j] = program->upper[j] < most ? program->upper[j] : most;
        extremes->least[j] = program->lower[j] > least ? program->lower[j] : least;
        extremes->is_sound = extremes->is_sound && extremes->least[j] > 0;
    }
}

void index_exact(const struct index_program *program, struct index_finding *finding)
{
    struct extremes laws = {.program = program, .is_sound = true}, polytope = laws;
    bool are_laws_within = false, is_polytope_within = false;
    memset(laws.least, 0xff, sizeof laws.least);
    try_places(&laws);
    try_invalid(&laws);
    find_polytope(program, &polytope);
    finding->n_inputs = laws.n_inputs;
    finding->law_maximum = largest_loss(&laws, &are_laws_within);
    finding->polytope_maximum = largest_loss(&polytope, &is_polytope_within);
    finding->is_private = are_laws_within && is_polytope_within;
}

struct instance {
    const struct dpot_campaign *campaign;
    struct dpot_privatizer *privatizer;
    struct dpot_private_measure private_measure;
    struct dpot_private_points private_points; /* on a sphere */
    uint8_t report_id[DPOT_REPORT_ID_LEN];     /* on a sphere */
    uint64_t lower[INDEX_EXACT_OUTPUTS_MAX], upper[INDEX_EXACT_OUTPUTS_MAX];
};

/* With sample_first: puts all mass on the heaviest point. */
static void reduce_to_heaviest(double *histogram, size_t n)
{
    size_t heaviest = 0;
    for (size_t i = 1; i < n; i++) {
        heaviest = histogram[i] > histogram[heaviest] ? i : heaviest;
    }
    for (size_t i = 0; i < n; i++) {
        histogram[i] = i == heaviest ? 1 : 0;
    }
}

static void law_of_instance(void *ctx, const double *histogram, uint64_t *weights)
{
    struct instance *instance = ctx;
    const size_t size = instance->campaign->domain.size;
    double scratch[INDEX_EXACT_POINTS_MAX];
    memcpy(scratch, histogram, size * sizeof *scratch);
    if (instance->campaign->sample_first) {
        reduce_to_heaviest(scratch, size);
    }
    dpot_private_measure_set(&instance->private_measure, scratch, size);
    dpot_privatizer_law(instance->privatizer, &instance->private_measure, weights);
}

/* Points on a sphere: both ends of every axis, and one that is not a vector. */
static void place_on_sphere(size_t place, uint32_t dim, double *x)
{
    for (uint32_t j = 0; j < dim; j++) {
        x[j] = place / 2 == j ? 1 - 2 * (double)(place % 2) : 0;
    }
    x[0] = place == 2 * (size_t)dim ? NAN : x[0];
}

static void law_on_sphere(void *ctx, const double *histogram, uint64_t *weights)
{
    struct instance *instance = ctx;
    const uint32_t dim = instance->campaign->domain.dim;
    double points[SPHERE_PLACES(SPHERE_DIM_MAX) * SPHERE_DIM_MAX];
    for (size_t i = 0; i < SPHERE_PLACES(dim); i++) {
        place_on_sphere(i, dim, points + i * dim);
    }
    dpot_private_points_set(&instance->private_points, points, histogram, SPHERE_PLACES(dim), 0);
    dpot_privatizer_law_points(instance->privatizer, &instance->private_points, instance->report_id,
                               weights);
}

static dpot_status open_instance(struct instance *instance, struct dpot_error *error)
{
    const struct dpot_campaign *campaign = instance->campaign;
    dpot_status status = dpot_bounds_compute(&campaign->base_measure, campaign->epsilon_q32,
                                             instance->lower, instance->upper, error);
    if (status == DPOT_OK) {
        status = dpot_privatizer_new(campaign, NULL, &instance->privatizer, error);
    }
    if (status == DPOT_OK && dpot_campaign_is_sphere(campaign)) {
        return dpot_private_points_init(&instance->private_points, campaign->n_max,
                                        campaign->domain.dim, NULL);
    }
    return status == DPOT_OK
               ? dpot_private_measure_init(&instance->private_measure, campaign->n_max, NULL)
               : status;
}

/* On a sphere the claim must hold for every report id: takes the worst of several ids. */
static void audit_ids(const struct index_program *program, struct instance *instance,
                      struct index_finding *finding)
{
    index_exact(program, finding);
    const bool is_small = program->n_points <= ALL_POINTS_MAX;
    const uint8_t n_ids = is_small ? SPHERE_IDS : SPHERE_IDS_LARGE;
    for (uint8_t i = 1; dpot_campaign_is_sphere(instance->campaign) && i < n_ids; i++) {
        struct index_finding other;
        memset(instance->report_id, i, sizeof instance->report_id);
        index_exact(program, &other);
        finding->is_private = finding->is_private && other.is_private;
        finding->n_inputs += other.n_inputs;
        finding->law_maximum = fmax(finding->law_maximum, other.law_maximum);
        finding->polytope_maximum = fmax(finding->polytope_maximum, other.polytope_maximum);
    }
}

dpot_status index_exact_campaign(const struct dpot_campaign *campaign,
                                 struct index_finding *finding, struct dpot_error *error)
{
    struct instance instance = {.campaign = campaign};
    const bool is_sphere = dpot_campaign_is_sphere(campaign);
    const struct index_program program = {
        .n_points = is_sphere ? SPHERE_PLACES(campaign->domain.dim) : campaign->domain.size,
        .n_outputs = campaign->output.size,
        .epsilon_q32 = campaign->epsilon_q32,
        .lower = instance.lower,
        .upper = instance.upper,
        .law = is_sphere ? law_on_sphere : law_of_instance,
        .ctx = &instance};
    if (program.n_points > INDEX_EXACT_POINTS_MAX || program.n_outputs > INDEX_EXACT_OUTPUTS_MAX ||
        (is_sphere && campaign->domain.dim > SPHERE_DIM_MAX)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "%zu points and %zu outputs: an enumeration takes at most %d and %d",
                              program.n_points, program.n_outputs, INDEX_EXACT_POINTS_MAX,
                              INDEX_EXACT_OUTPUTS_MAX);
    }
    const dpot_status status = open_instance(&instance, error);
    if (status == DPOT_OK) {
        audit_ids(&program, &instance, finding);
    }
    dpot_private_points_release(&instance.private_points);
    dpot_private_measure_release(&instance.private_measure);
    dpot_privatizer_free(instance.privatizer);
    return status;
}

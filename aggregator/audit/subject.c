#include "audit/subject.h"

#include "account/calibrate.h"
#include "mechanism/baselines.h"
#include "mechanism/codebook.h"
#include "mechanism/ground.h"
#include "mechanism/mechanism.h"
#include "mechanism/quantize.h"
#include "mechanism/sampler.h"
#include "mechanism/transform.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EPSILON 1.0
#define DELTA 1e-4
#define RING 6
#define LAMBDA 0.05
#define ITERATIONS 50
#define N_MAX 3
#define SIDE 4          /* of the image */
#define STEP 0.00390625 /* 2^-8 */
#define SPHERE_DIM 3
#define SPHERE_DIRECTIONS 12
#define N_GROUPS DPOT_GROUPS_MAX

/* Sizes of large campaigns. */
#define LARGE_SIDE 20 /* of a grid */
#define LARGE_N_MAX 32
#define LARGE_RING 3000
#define LARGE_DIM 100
#define LARGE_SPHERE_DIM 16
#define LARGE_DIRECTIONS 300
#define SPHERE_OUTCOMES 4 /* bits: in the cap of input 0, in the cap of input 1 */

/* ---- index mechanisms ---- */

static void cost_row(void *ctx, size_t i, double *row)
{
    dpot_ground_row(ctx, (uint32_t)i, row);
}

/* Sets the sensitivity of the utility and the base measure of the exponential mechanism. */
static dpot_status fill_exponential(struct dpot_campaign *campaign, double *m,
                                    struct dpot_error *error)
{
    struct dpot_ground ground = {0};
    const struct dpot_cost_rows cost = {campaign->domain.size, campaign->output.size, cost_row,
                                        &ground};
    dpot_status status = dpot_ground_init(&ground, campaign, NULL, error);
    if (status == DPOT_OK) {
        status = dpot_exponential_sensitivity(&cost, NULL, &campaign->sensitivity, error);
    }
    if (status == DPOT_OK) {
        status = dpot_exponential_base_measure(&cost, EPSILON / (2 * campaign->sensitivity), NULL,
                                               m, error);
    }
    dpot_ground_release(&ground);
    return status;
}

static dpot_status encode_base_measure(struct dpot_campaign *campaign, double *m,
                                       struct dpot_error *error)
{
    const uint32_t size = campaign->output.size;
    dpot_status status = DPOT_OK;
    for (uint32_t j = 0; j < size; j++) {
        m[j] = dpot_kpm_mass(EPSILON, size);
    }
    if (campaign->mechanism == DPOT_MECHANISM_EXPONENTIAL) {
        status = fill_exponential(campaign, m, error);
    }
    campaign->base_measure.mass_code = dpot_alloc_array(NULL, size, sizeof(uint32_t));
    if (status == DPOT_OK && !campaign->base_measure.mass_code) {
        status = DPOT_ERR_MEMORY;
    }
    return status == DPOT_OK ? dpot_base_measure_encode(m, size, campaign->epsilon_q32,
                                                        &campaign->base_measure, error)
                             : status;
}

static dpot_status fill_base_measure(struct dpot_campaign *campaign, struct dpot_error *error)
{
    const uint32_t size = campaign->output.size;
    double *m = dpot_alloc_array(NULL, size, sizeof *m);
    const dpot_status status = m ? encode_base_measure(campaign, m, error) : DPOT_ERR_MEMORY;
    dpot_free_array(NULL, m, size, sizeof *m);
    return status;
}

static dpot_status make_index(struct subject *subject, dpot_status status, struct dpot_error *error)
{
    struct dpot_campaign *campaign = &subject->campaign;
    campaign->epsilon_q32 = DPOT_EPSILON_ONE;
    campaign->n_max = N_MAX;
    campaign->output_is_domain = true;
    if (campaign->mechanism == DPOT_MECHANISM_WPM) {
        campaign->lambda = LAMBDA;
        campaign->iterations = ITERATIONS;
    }
    if (status == DPOT_OK) {
        status = dpot_domain_init_copy(&campaign->output, &campaign->domain);
    }
    return status == DPOT_OK ? fill_base_measure(campaign, error) : status;
}

static dpot_status make_ring(struct subject *subject, uint32_t size, struct dpot_error *error)
{
    struct dpot_campaign *campaign = &subject->campaign;
    campaign->metric = (struct dpot_metric){DPOT_METRIC_RING, size};
    subject->dim = 1;
    subject->input[1][0] = size / 2;
    return make_index(subject, dpot_domain_init_ring(&campaign->domain, size, error), error);
}

/* Input 1 is outside of the grid and is clamped to the last cell. */
static dpot_status make_grid(struct subject *subject, uint32_t rows, uint32_t columns,
                             struct dpot_error *error)
{
    const double lo[2] = {0, 0}, hi[2] = {rows, columns};
    const uint32_t shape[2] = {rows, columns};
    subject->campaign.metric = (struct dpot_metric){DPOT_METRIC_EUCLIDEAN, 0};
    subject->dim = 2;
    subject->input[1][0] = subject->input[1][1] = 100;
    return make_index(
        subject, dpot_domain_init_grid(&subject->campaign.domain, 2, lo, hi, shape, error), error);
}

static void solve_exactly(struct dpot_campaign *campaign)
{
    campaign->solver = DPOT_SOLVER_EXACT;
    campaign->lambda = 0;
    campaign->iterations = 0;
}

static dpot_status make_exact(struct subject *subject, uint32_t size, struct dpot_error *error)
{
    const dpot_status status = make_ring(subject, size, error);
    solve_exactly(&subject->campaign);
    return status;
}

static dpot_status make_exact_grid(struct subject *subject, uint32_t side, struct dpot_error *error)
{
    const dpot_status status = make_grid(subject, side, side, error);
    solve_exactly(&subject->campaign);
    subject->campaign.n_max = LARGE_N_MAX;
    return status;
}

/* The largest number of groups; this device has one of the longer labels. */
static dpot_status make_groups(struct subject *subject, uint32_t size, struct dpot_error *error)
{
    struct dpot_campaign *campaign = &subject->campaign;
    campaign->groups = dpot_alloc_array(NULL, N_GROUPS, sizeof *campaign->groups);
    if (!campaign->groups) {
        return DPOT_ERR_MEMORY;
    }
    campaign->n_groups = N_GROUPS;
    for (unsigned i = 0; i < N_GROUPS; i++) {
        (void)snprintf(campaign->groups[i], sizeof campaign->groups[i], "group-%u", i);
    }
    subject->group = N_GROUPS - 1;
    return make_ring(subject, size, error);
}

static dpot_status make_exponential(struct subject *subject, uint32_t rows,
                                    struct dpot_error *error)
{
    return make_grid(subject, rows, 2, error);
}

/* Two opposite vectors and a few directions; the nearest has the upper probability. */
static dpot_status make_sphere(struct subject *subject, uint32_t dim, struct dpot_error *error)
{
    const uint32_t n_directions = dim == SPHERE_DIM ? SPHERE_DIRECTIONS : LARGE_DIRECTIONS;
    struct dpot_campaign *campaign = &subject->campaign;
    campaign->metric = (struct dpot_metric){DPOT_METRIC_EUCLIDEAN, 0};
    campaign->epsilon_q32 = DPOT_EPSILON_ONE;
    campaign->n_max = N_MAX;
    campaign->solver = DPOT_SOLVER_EXACT;
    subject->dim = dim;
    subject->input[0][0] = 1;
    subject->input[1][0] = -1;
    dpot_status status = dpot_domain_init_sphere(&campaign->domain, dim, error);
    if (status == DPOT_OK) {
        status = dpot_domain_init_directions(&campaign->output, n_directions, dim, error);
    }
    return status == DPOT_OK ? fill_base_measure(campaign, error) : status;
}

/* ---- vector mechanisms ---- */

/* Sets `clipped`: the integers that an honest device computes from the inputs. */
static dpot_status clip_inputs(struct subject *subject)
{
    const struct dpot_vector_domain *vector = &subject->campaign.vector;
    struct dpot_transformer *transformer = NULL;
    double coefficients[SUBJECT_DIM_MAX];
    const dpot_status status = dpot_transformer_new(vector, NULL, &transformer);
    for (int i = 0; status == DPOT_OK && i < 2; i++) {
        dpot_transformer_forward(transformer, subject->input[i], coefficients);
        dpot_quantize(vector, coefficients, subject->clipped[i]);
    }
    dpot_transformer_free(transformer);
    return status;
}

static dpot_status make_vector(struct subject *subject, struct calibrate_request request,
                               struct dpot_error *error)
{
    struct dpot_campaign *campaign = &subject->campaign;
    struct calibration found;
    request.mechanism = campaign->mechanism;
    request.epsilon = EPSILON;
    request.delta = campaign->mechanism == DPOT_MECHANISM_GAUSSIAN ? DELTA : 0;
    campaign->metric = (struct dpot_metric){DPOT_METRIC_EUCLIDEAN, 0};
    const dpot_status status = calibrate(&request, NULL, &campaign->vector, &found, error);
    if (status != DPOT_OK) {
        return status;
    }
    campaign->noise = found.noise;
    /* The requested claim; the guarantee of these integers can be slightly smaller. */
    if (campaign->mechanism == DPOT_MECHANISM_LAPLACE) {
        campaign->epsilon_q32 = found.epsilon_q32;
    }
    subject->dim = request.dim;
    return DPOT_OK;
}

/* A box of whole grid units, small enough to enumerate its noise of scale 2^k. */
static dpot_status make_small_box(struct subject *subject, unsigned k, uint32_t dim,
                                  const int64_t *lo, const int64_t *hi)
{
    struct dpot_campaign *campaign = &subject->campaign;
    struct dpot_vector_domain *vector = &campaign->vector;
    *vector = (struct dpot_vector_domain){.set = DPOT_VECTOR_BOX,
                                          .dim = dim,
                                          .n_sides = dim,
                                          .grid_step = STEP,
                                          .inverse_step = 1 / STEP};
    vector->lo = dpot_alloc_array(NULL, dim, sizeof *lo);
    vector->hi = dpot_alloc_array(NULL, dim, sizeof *hi);
    if (!vector->lo || !vector->hi) {
        return DPOT_ERR_MEMORY;
    }
    memcpy(vector->lo, lo, dim * sizeof *lo);
    memcpy(vector->hi, hi, dim * sizeof *hi);
    campaign->metric = (struct dpot_metric){DPOT_METRIC_EUCLIDEAN, 0};
    campaign->noise.scale_log2 = k;
    campaign->epsilon_q32 = DPOT_EPSILON_ONE + 1; /* the epsilon of a width of 2^k */
    subject->dim = dim;
    return DPOT_OK;
}

/* Sides of different lengths; both inputs lie beyond opposite corners. */
static dpot_status make_box(struct subject *subject, uint32_t dim, struct dpot_error *error)
{
    static const int64_t lo[] = {0, -256}, hi[] = {256, 512};
    const dpot_status status = make_small_box(subject, 10, dim, lo, hi);
    (void)error;
    for (uint32_t j = 0; j < subject->dim; j++) {
        subject->input[0][j] = 1e300;
        subject->input[1][j] = -INFINITY;
    }
    return status == DPOT_OK ? clip_inputs(subject) : status;
}

/* NaN counts as 0, which is an end of the side 0 .. 2^k. */
static dpot_status make_nan(struct subject *subject, uint32_t dim, struct dpot_error *error)
{
    static const int64_t lo[] = {0}, hi[] = {512};
    const dpot_status status = make_small_box(subject, 9, dim, lo, hi);
    (void)error;
    subject->input[0][0] = INFINITY;
    subject->input[1][0] = NAN;
    return status == DPOT_OK ? clip_inputs(subject) : status;
}

/* One side, with data far outside of it. */
static dpot_status make_side(struct subject *subject, uint32_t dim, struct dpot_error *error)
{
    static const double lo[] = {-1}, hi[] = {1};
    const struct calibrate_request request = {
        .set = DPOT_VECTOR_BOX, .dim = dim, .n_sides = dim, .lo = lo, .hi = hi};
    const dpot_status status = make_vector(subject, request, error);
    subject->input[0][0] = 1e300;
    subject->input[1][0] = -INFINITY;
    return status == DPOT_OK ? clip_inputs(subject) : status;
}

static enum dpot_vector_set ball_of(const struct subject *subject)
{
    return subject->campaign.mechanism == DPOT_MECHANISM_LAPLACE ? DPOT_VECTOR_L1_BALL
                                                                 : DPOT_VECTOR_L2_BALL;
}

static dpot_status make_ball(struct subject *subject, uint32_t dim, struct dpot_error *error)
{
    const struct calibrate_request request = {.set = ball_of(subject), .dim = dim, .radius = 1};
    const dpot_status status = make_vector(subject, request, error);
    subject->input[0][0] = 10;
    subject->input[1][0] = -10;
    return status == DPOT_OK ? clip_inputs(subject) : status;
}

/* Three coefficients of an image; inputs are a bright and a dark image. */
static dpot_status make_image(struct subject *subject, uint32_t side, struct dpot_error *error)
{
    const uint32_t keep[] = {0, 1, side};
    const uint32_t n_keep = sizeof keep / sizeof keep[0];
    const struct calibrate_request request = {.set = ball_of(subject), .dim = n_keep, .radius = 2};
    const dpot_status status = make_vector(subject, request, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct dpot_transform *transform = &subject->campaign.vector.transform;
    *transform = (struct dpot_transform){DPOT_TRANSFORM_DCT, side, side, n_keep, NULL};
    transform->keep = dpot_alloc_array(NULL, n_keep, sizeof *keep);
    if (!transform->keep) {
        return DPOT_ERR_MEMORY;
    }
    memcpy(transform->keep, keep, sizeof keep);
    subject->dim = side * side;
    for (uint32_t j = 0; j < subject->dim; j++) {
        subject->input[0][j] = 1;
        subject->input[1][j] = -1;
    }
    return clip_inputs(subject);
}

/* ---- the list: append only, since positions determine the draws of an audit with --seed ---- */

struct recipe {
    enum dpot_mechanism_id mechanism;
    bool sample_first;
    dpot_status (*make)(struct subject *subject, uint32_t size, struct dpot_error *error);
    uint32_t size;
    uint32_t cost;
};

const char *const subject_names[] = {"wpm",
                                     "wpm-sample-first",
                                     "kpm",
                                     "kpm-sample-first",
                                     "exponential",
                                     "exponential-sample-first",
                                     "laplace-box",
                                     "laplace-nan",
                                     "laplace-l1-ball",
                                     "laplace-dct",
                                     "gaussian-l2-ball",
                                     "gaussian-box",
                                     "gaussian-dct",
                                     "wpm-exact",
                                     "wpm-sphere",
                                     "kpm-groups",
                                     "kpm-large",
                                     "wpm-exact-large",
                                     "wpm-sphere-large",
                                     "laplace-l1-ball-large",
                                     "gaussian-l2-ball-large",
                                     NULL};

static const struct recipe recipes[] = {
    {DPOT_MECHANISM_WPM, false, make_ring, RING, 1},
    {DPOT_MECHANISM_WPM, true, make_ring, RING, 1},
    {DPOT_MECHANISM_KPM, false, make_ring, RING, 1},
    {DPOT_MECHANISM_KPM, true, make_ring, RING, 1},
    {DPOT_MECHANISM_EXPONENTIAL, false, make_exponential, 3, 1},
    {DPOT_MECHANISM_EXPONENTIAL, true, make_exponential, 3, 1},
    {DPOT_MECHANISM_LAPLACE, false, make_box, 2, 1},
    {DPOT_MECHANISM_LAPLACE, false, make_nan, 1, 1},
    {DPOT_MECHANISM_LAPLACE, false, make_ball, 3, 1},
    {DPOT_MECHANISM_LAPLACE, false, make_image, SIDE, 1},
    {DPOT_MECHANISM_GAUSSIAN, false, make_ball, 3, 1},
    {DPOT_MECHANISM_GAUSSIAN, false, make_side, 1, 1},
    {DPOT_MECHANISM_GAUSSIAN, false, make_image, SIDE, 1},
    {DPOT_MECHANISM_WPM, false, make_exact, RING, 1},
    {DPOT_MECHANISM_WPM, false, make_sphere, SPHERE_DIM, 1},
    {DPOT_MECHANISM_KPM, false, make_groups, RING, 1},
    {DPOT_MECHANISM_KPM, false, make_ring, LARGE_RING, 50},
    {DPOT_MECHANISM_WPM, false, make_exact_grid, LARGE_SIDE, 200},
    {DPOT_MECHANISM_WPM, false, make_sphere, LARGE_SPHERE_DIM, 50},
    {DPOT_MECHANISM_LAPLACE, false, make_ball, LARGE_DIM, 20},
    {DPOT_MECHANISM_GAUSSIAN, false, make_ball, LARGE_DIM, 20},
};

bool subject_matches(const char *name, const char *wanted)
{
    const size_t len = strlen(wanted);
    return strncmp(name, wanted, len) == 0 && (name[len] == '\0' || name[len] == '-');
}

static void fill_frame(struct dpot_campaign *campaign, size_t number)
{
    campaign->revision = 1;
    memset(campaign->id, 0x5a, sizeof campaign->id);
    campaign->id[0] = (uint8_t)number;
    (void)memcpy(campaign->name, "audit", sizeof "audit");
    campaign->cost_power = 1;
    campaign->rounds = SUBJECT_ROUNDS;
    campaign->opens_ms = INT64_C(1767225600000);
    campaign->closes_ms = campaign->opens_ms + SUBJECT_ROUNDS * SUBJECT_ROUND_MS;
    campaign->min_pool = 1;
}

dpot_status subject_init(struct subject *subject, const char *name, bool has_seed,
                         struct dpot_error *error)
{
    size_t number = 0;
    *subject = (struct subject){.name = name, .has_seed = has_seed};
    while (subject_names[number] && strcmp(subject_names[number], name) != 0) {
        number++;
    }
    if (!subject_names[number]) {
        return dpot_error_set(error, DPOT_ERR_NOT_FOUND, "there is nothing named %.40s to audit",
                              name);
    }
    const struct recipe *recipe = &recipes[number];
    struct dpot_campaign *campaign = &subject->campaign;
    fill_frame(campaign, number);
    campaign->mechanism = recipe->mechanism;
    campaign->sample_first = recipe->sample_first;
    subject->cost = recipe->cost;
    campaign->simulation = has_seed;
    dpot_status status = recipe->make(subject, recipe->size, error);
    if (status == DPOT_OK) {
        status = dpot_mechanism_check_campaign(campaign, error);
    }
    subject->claim = dpot_mechanism_charge(campaign);
    return status;
}

void subject_release(struct subject *subject)
{
    dpot_campaign_release(&subject->campaign);
}

/* ---- observations ---- */

uint32_t subject_outcomes(const struct subject *subject)
{
    if (dpot_campaign_is_sphere(&subject->campaign)) {
        return SPHERE_OUTCOMES;
    }
    return dpot_mechanism_is_vector(subject->campaign.mechanism) ? 0
                                                                 : subject->campaign.output.size;
}

/* ln p_0(y) / p_1(y): |y - z_1| - |y - z_0| over t, or the same of squares over 2 sigma^2. */
static double likelihood_ratio(const struct subject *subject, const int64_t *values)
{
    const struct dpot_campaign *campaign = &subject->campaign;
    const bool is_laplace = campaign->mechanism == DPOT_MECHANISM_LAPLACE;
    const double scale = ldexp(1, (int)campaign->noise.scale_log2);
    double sum = 0;
    for (uint32_t j = 0; j < campaign->vector.dim; j++) {
        const double y = (double)values[j];
        const double a = y - (double)subject->clipped[0][j], b = y - (double)subject->clipped[1][j];
        sum += is_laplace ? (fabs(b) - fabs(a)) / scale : (b * b - a * a) / (2 * scale * scale);
    }
    return sum;
}

static double dot(const double *x, const double *y, uint32_t dim)
{
    double sum = 0;
    for (uint32_t i = 0; i < dim; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* 2 if no direction of the report is nearer to input 0 than the one it names, plus 1 if none is
 * nearer to input 1. The likelihood of the pair (id, index) under either input depends on nothing
 * else. */
static double observe_direction(const struct subject *subject, const struct dpot_report *report)
{
    struct dpot_codebook codebook;
    const uint32_t dim = subject->dim;
    double named[SUBJECT_DIM_MAX], other[SUBJECT_DIM_MAX];
    bool is_nearest[2] = {true, true};
    dpot_codebook_init(&codebook, &subject->campaign, report->id);
    dpot_codebook_direction(&codebook, report->index, named);
    for (uint32_t j = 0; j < subject->campaign.output.size; j++) {
        dpot_codebook_direction(&codebook, j, other);
        for (int i = 0; i < 2; i++) {
            const double *input = subject->input[i];
            is_nearest[i] = is_nearest[i] && dot(other, input, dim) <= dot(named, input, dim);
        }
    }
    return 2 * is_nearest[0] + is_nearest[1];
}

struct audit_sample subject_observe(const struct subject *subject, const struct dpot_report *report)
{
    struct audit_sample sample = {{report->index, NAN}, 0};
    if (dpot_campaign_is_sphere(&subject->campaign)) {
        sample.number[0] = observe_direction(subject, report);
    }
    if (dpot_mechanism_is_vector(subject->campaign.mechanism)) {
        sample.number[0] = likelihood_ratio(subject, report->values);
        sample.number[1] = (double)report->values[0];
    }
    return sample;
}

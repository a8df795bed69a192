/* dpot calibrate: the noise that a guarantee requires.
 *
 * For a diameter the result is that of the continuous mechanism; for a set it is that of a device,
 * in integers that the device accepts (account/calibrate.h). All inputs are public. */
#include "account/calibrate.h"
#include "account/gaussian.h"
#include "account/outward.h"
#include "tool/shared/commands.h"
#include "tool/shared/options.h"
#include "tool/shared/vector_set.h"

#include <math.h>
#include <string.h>

#define EPSILON_MAX 512
#define DIAMETER_MAX 1e15
#define DIAMETER_MIN 1e-290 /* below it the grid step may be subnormal */
#define PAPER_DELTA_MAX 0.5 /* of equation (5) */
#define LOSS_EXPECTED 0.02
#define WIDEN_MIN 1e-6     /* least growth of a noise factor */
#define CONTINUOUS_LOG2 20 /* gaussian with a diameter: an arbitrary power of two */

static const struct option options[] = {
    {"epsilon", "E (0,512]", "privacy parameter (devices: at most 20)"},
    {"delta", "D [0,1)", "gaussian: failure probability, not 0"},
    {"l1-diameter", "X (0,1e15]", "laplace: the largest l1 distance of two inputs"},
    {"l2-diameter", "X (0,1e15]", "gaussian: the largest l2 distance of two inputs"},
    {"domain", "SPEC",
     "the set of inputs or a campaign SPEC, as JSON or a file: computes integers for a "
     "campaign"},
    {"formula", "analytic|paper",
     "gaussian: analytic (default, exact) or paper (equation 5, more noise)"},
    {NULL, NULL, NULL},
};

struct calibrate_job {
    struct run *run;
    enum dpot_mechanism_id mechanism;
    bool is_paper;
    double epsilon, delta, diameter;
    struct spec_vector_set set;
};

static bool is_gaussian(const struct calibrate_job *job)
{
    return job->mechanism == DPOT_MECHANISM_GAUSSIAN;
}

/* ---- options ---- */

static dpot_status read_delta(struct calibrate_job *job)
{
    struct run *run = job->run;
    const char *text = NULL;
    dpot_status status = option_number(run, "delta", 0, 1, &job->delta);
    if (status == DPOT_OK && is_gaussian(job)) {
        status = option_require(run, "delta", "the failure probability", &text);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (!is_gaussian(job) && job->delta > 0) {
        return RUN_USAGE(run, "--delta is %g: laplace noise needs none, leave it out", job->delta);
    }
    const double most = job->is_paper ? PAPER_DELTA_MAX : 1;
    if (is_gaussian(job) && !(job->delta >= 1e-300 && job->delta < most)) {
        return RUN_USAGE(run, "--delta is %.40s: give a number from 1e-300 to below %g",
                         option_text(run, "delta"), most);
    }
    return DPOT_OK;
}

static dpot_status read_formula(struct calibrate_job *job)
{
    const char *formula = option_text(job->run, "formula");
    if (!formula) {
        return DPOT_OK;
    }
    if (!is_gaussian(job)) {
        return RUN_USAGE(job->run, "--formula goes with gaussian: the laplace scale is always "
                                   "diameter / epsilon");
    }
    job->is_paper = strcmp(formula, "paper") == 0;
    if (!job->is_paper && strcmp(formula, "analytic") != 0) {
        return RUN_USAGE(job->run, "--formula is %.40s: choose analytic or paper", formula);
    }
    return DPOT_OK;
}

static dpot_status read_set(struct calibrate_job *job)
{
    struct run *run = job->run;
    const char *right = is_gaussian(job) ? "l2-diameter" : "l1-diameter";
    const char *wrong = is_gaussian(job) ? "l1-diameter" : "l2-diameter";
    if (option_is_given(run, wrong)) {
        return RUN_USAGE(run, "--%s does not determine the scale of %s noise: give --%s", wrong,
                         dpot_mechanism_name(job->mechanism), right);
    }
    dpot_status status = option_either(run, right, "domain");
    if (status == DPOT_OK) {
        status = option_positive(run, right, DIAMETER_MAX, &job->diameter);
    }
    if (status == DPOT_OK && job->diameter > 0 && job->diameter < DIAMETER_MIN) {
        return RUN_USAGE(run,
                         "--%s is %.40s, whose grid step is below the range of a double: give at "
                         "least %g, in a smaller unit",
                         right, option_text(run, right), DIAMETER_MIN);
    }
    if (status == DPOT_OK && option_is_given(run, "domain")) {
        status = vector_set_read(run, option_text(run, "domain"), &job->set);
    }
    return status;
}

static dpot_status read_options(struct calibrate_job *job)
{
    const char *text = NULL;
    dpot_status status = option_require(job->run, "epsilon", "the privacy parameter", &text);
    if (status == DPOT_OK) {
        status = option_positive(job->run, "epsilon", EPSILON_MAX, &job->epsilon);
    }
    if (status == DPOT_OK) {
        status = read_formula(job);
    }
    if (status == DPOT_OK) {
        status = read_delta(job);
    }
    return status == DPOT_OK ? read_set(job) : status;
}

/* ---- results ---- */

static void put_head(const struct calibrate_job *job, double scale, unsigned scale_log2,
                     double grid_step)
{
    struct run *run = job->run;
    run_put_text(run, "mechanism", dpot_mechanism_name(job->mechanism));
    if (is_gaussian(job)) {
        run_put_text(run, "formula", job->is_paper ? "paper" : "analytic");
    }
    run_put_number(run, "scale", scale);
    run_put_number(run, "epsilon", job->epsilon);
    run_put_number(run, "delta", job->delta);
    run_put_integer(run, "scale_log2", scale_log2);
    run_put_number(run, "grid_step", grid_step);
}

/* Reports both formulas, and the exact guarantee of the chosen noise. */
static void put_gaussian(const struct calibrate_job *job, double diameter, double scale)
{
    struct run *run = job->run;
    const double mu = outward_up(diameter / scale, 0);
    run_put_number(run, "analytic_scale", gaussian_scale(job->epsilon, job->delta, diameter));
    if (job->delta < PAPER_DELTA_MAX) {
        run_put_number(run, "paper_scale",
                       gaussian_paper_scale(job->epsilon, job->delta, diameter));
    }
    run_put_number(run, "mu", mu);
    run_put_number(run, "exact_epsilon", gaussian_epsilon(mu, job->delta));
    run_put_number(run, "exact_delta", exp(gaussian_log_delta(job->epsilon, mu)));
}

static json_t *describe_device(const struct calibrate_bare *bare, double continuous)
{
    json_t *device = json_object();
    (void)json_object_set_new(device, "scale", json_number(bare->scale));
    (void)json_object_set_new(device, "scale_log2", json_integer(bare->noise.scale_log2));
    (void)json_object_set_new(device, "grid_step", json_number(bare->grid_step));
    (void)json_object_set_new(device, "grid_diameter",
                              json_integer((json_int_t)bare->grid_diameter));
    if (bare->noise.certificate_row) {
        (void)json_object_set_new(device, "certificate_row",
                                  json_integer(bare->noise.certificate_row));
        (void)json_object_set_new(device, "dim_max", json_integer(bare->dim_max));
    }
    (void)json_object_set_new(device, "epsilon",
                              json_number(dpot_epsilon_to_double(bare->epsilon_q32)));
    (void)json_object_set_new(device, "delta", json_number(ldexp((double)bare->delta_q64, -64)));
    (void)json_object_set_new(device, "loss", json_number(bare->scale / continuous - 1));
    return device;
}

static dpot_status calibrate_continuous_noise(struct calibrate_job *job)
{
    struct run *run = job->run;
    struct calibrate_bare bare;
    const bool has_device = calibrate_bare(job->mechanism, job->epsilon, job->delta, job->diameter,
                                           &bare, &run->error) == DPOT_OK;
    if (!is_gaussian(job)) {
        if (!has_device) {
            return DPOT_ERR_RANGE;
        }
        put_head(job, bare.scale, bare.noise.scale_log2, bare.grid_step);
        run_put_number(run, "diameter", job->diameter);
        run_put_integer(run, "grid_diameter", bare.grid_diameter);
        run_put_number(run, "effective_epsilon", dpot_epsilon_to_double(bare.epsilon_q32));
        return DPOT_OK;
    }
    const double analytic = gaussian_scale(job->epsilon, job->delta, job->diameter);
    const double scale =
        job->is_paper ? gaussian_paper_scale(job->epsilon, job->delta, job->diameter) : analytic;
    put_head(job, scale, CONTINUOUS_LOG2, ldexp(scale, -CONTINUOUS_LOG2));
    run_put_number(run, "diameter", job->diameter);
    put_gaussian(job, job->diameter, scale);
    if (has_device && !job->is_paper) {
        run_put(run, "device", describe_device(&bare, analytic));
    } else if (!has_device) {
        run_put(run, "device", json_null());
        run_put_text(run, "device_why_not", run->error.text);
    }
    run->error.text[0] = '\0';
    return DPOT_OK;
}

static void put_sides(struct run *run, const char *key, const int64_t *sides, uint32_t n_sides)
{
    json_t *list = json_array();
    for (uint32_t j = 0; j < n_sides; j++) {
        (void)json_array_append_new(list, json_integer(sides[j]));
    }
    run_put(run, key, list);
}

static void put_integers(struct run *run, const struct dpot_vector_domain *vector)
{
    run_put_number(run, "inverse_step", vector->inverse_step);
    run_put_integer(run, "dim", vector->dim);
    if (vector->set == DPOT_VECTOR_BOX) {
        put_sides(run, "grid_lo", vector->lo, vector->n_sides);
        put_sides(run, "grid_hi", vector->hi, vector->n_sides);
    } else {
        run_put_integer(run, "grid_radius", vector->radius);
    }
}

static void put_device(const struct calibrate_job *job, const struct dpot_vector_domain *vector,
                       const struct calibration *found)
{
    struct run *run = job->run;
    put_head(job, found->scale, found->noise.scale_log2, vector->grid_step);
    run_put_text(run, "domain", job->set.type);
    put_integers(run, vector);
    run_put_number(run, "effective_epsilon", dpot_epsilon_to_double(found->epsilon_q32));
    run_put_number(run, "effective_delta", ldexp((double)found->delta_q64, -64));
    if (found->noise.certificate_row) {
        run_put_integer(run, "certificate_row", found->noise.certificate_row);
    }
    run_put_number(run, "diameter", found->diameter);
    run_put_number(run, "continuous_scale", found->continuous_scale);
    run_put_number(run, "loss", found->scale / found->continuous_scale - 1);
    run_put(run, "is_simulation_only", json_boolean(job->epsilon > DPOT_EPSILON_CEILING));
    if (found->loss > LOSS_EXPECTED && !job->is_paper) {
        run_warn(run,
                 "the noise is %.1f %% more than (%g, %g) needs, because the nearest row of the "
                 "Gaussian certificate is (%.6g, %.6g): deltas of 1e-4, 1e-5, 1e-6, 2^-20, 2^-24, "
                 "2^-30 and 2^-40 lose less than 2 %%",
                 100 * found->loss, job->epsilon, job->delta,
                 dpot_epsilon_to_double(found->epsilon_q32), ldexp((double)found->delta_q64, -64));
    }
}

/* Raises the noise until the scale is at least that of the paper: a few rounds, because sizes are
 * integers. */
static dpot_status widen_to_paper(struct calibrate_job *job, struct calibrate_request *request,
                                  struct dpot_vector_domain *vector, struct calibration *found)
{
    const double paper = gaussian_paper_scale(job->epsilon, job->delta, found->diameter);
    dpot_status status = DPOT_OK;
    request->noise_factor = 1;
    while (status == DPOT_OK && found->scale < paper) {
        request->noise_factor *= fmax(paper / found->scale, 1 + WIDEN_MIN);
        dpot_vector_domain_release(vector);
        status = calibrate(request, NULL, vector, found, &job->run->error);
    }
    return status;
}

static dpot_status calibrate_set(struct calibrate_job *job)
{
    struct dpot_vector_domain vector;
    struct calibration found;
    struct calibrate_request request = {
        .mechanism = job->mechanism,
        .epsilon = job->epsilon,
        .delta = job->delta,
        .is_simulation = true, /* reported as is_simulation_only */
        .set = job->set.set,
        .dim = job->set.dim,
        .radius = job->set.radius,
        .n_sides = job->set.n_sides,
        .lo = job->set.lo,
        .hi = job->set.hi,
    };
    dpot_status status = calibrate(&request, NULL, &vector, &found, &job->run->error);
    if (status == DPOT_OK && job->is_paper) {
        status = widen_to_paper(job, &request, &vector, &found);
    }
    if (status == DPOT_OK) {
        put_device(job, &vector, &found);
        if (is_gaussian(job)) {
            put_gaussian(job, found.diameter, found.scale);
        }
    }
    dpot_vector_domain_release(&vector);
    return status;
}

static dpot_status run_calibrate(struct run *run, enum dpot_mechanism_id mechanism)
{
    struct calibrate_job job = {.run = run, .mechanism = mechanism};
    dpot_status status = read_options(&job);
    if (status == DPOT_OK) {
        status = job.set.type ? calibrate_set(&job) : calibrate_continuous_noise(&job);
    }
    spec_vector_set_release(&job.set);
    return status;
}

static dpot_status run_laplace(struct run *run)
{
    return run_calibrate(run, DPOT_MECHANISM_LAPLACE);
}

static dpot_status run_gaussian(struct run *run)
{
    return run_calibrate(run, DPOT_MECHANISM_GAUSSIAN);
}

#define DOMAINS                                                                                    \
    "SPEC is {\"type\":\"box\",\"lo\":[..],\"hi\":[..]} (or numbers lo, hi and \"dim\"),\n"        \
    "{\"type\":\"l1_ball\"|\"l2_ball\",\"radius\":R,\"dim\":D} or "                                \
    "{\"type\":\"sphere\",\"dim\":D} "                                                             \
    "(radius 1), or a campaign's SPEC, of which the domain is used.\n"                             \
    "The result is then the integers of a campaign, checked by the inequality of the device:\n"    \
    "scale_log2, grid_step, grid_radius or grid_lo and grid_hi, effective_epsilon and\n"           \
    "effective_delta (the device is charged at least these), loss against continuous_scale.\n"

const struct command command_calibrate_laplace = {
    .name = "calibrate laplace",
    .summary = "the scale of Laplace noise, and the integers of a campaign",
    .details =
        "scale is b of the density exp(-|x|/b) / 2b: (l1 diameter) / epsilon. The diameter is the\n"
        "largest distance of ANY two inputs, for a ball twice its radius. scale is\n"
        "2^scale_log2 grid_step.\n\n" DOMAINS
        "Above epsilon 31.9 one coordinate may not be wider than 32 scales: boxes only.",
    .example = "dpot calibrate laplace --epsilon 2 "
               "--domain '{\"type\":\"l1_ball\",\"radius\":1,\"dim\":16}'",
    .options = options,
    .run = run_laplace,
};

const struct command command_calibrate_gaussian = {
    .name = "calibrate gaussian",
    .summary = "the scale of Gaussian noise, and the integers of a campaign",
    .details =
        "scale is sigma. analytic is exact (Balle, Wang 2018): the smallest sigma at which the\n"
        "mechanism is (epsilon, delta)-private. paper is equation (5) of the generator paper,\n"
        "valid for delta below 1/2. It always gives more noise: up to 21 % for epsilon from 1\n"
        "and delta to 1e-6, up to 38 % for epsilon from 0.1, many times for a small epsilon and\n"
        "a large delta. The textbook formula sqrt(2 ln(1.25/delta))/epsilon is wrong above\n"
        "epsilon 1 and not offered. The diameter is the largest l2 distance of ANY two inputs,\n"
        "for a ball twice its radius. scale is 2^scale_log2 grid_step.\n\n"
        "With --l2-diameter scale is that of continuous noise, and `device` is the nearest scale\n"
        "that a device's certificate allows. exact_epsilon (at delta) and exact_delta (at\n"
        "epsilon) are the guarantee of continuous noise of this scale; mu is diameter /\n"
        "scale.\n\n" DOMAINS,
    .example = "dpot calibrate gaussian --epsilon 5 --delta 1e-6 "
               "--domain '{\"type\":\"l2_ball\",\"radius\":20,\"dim\":784}'",
    .options = options,
    .run = run_gaussian,
};

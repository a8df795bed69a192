#include "account/calibrate.h"

#include "account/gaussian.h"
#include "account/outward.h"
#include "mechanism/acceptance.h"
#include "mechanism/quantize.h"

#define FINENESS 128.0 /* grid steps of a ball's radius per step that rounding adds, times 2 */
#define CELLS_MIN 64   /* minimum of grid steps of a box's narrowest side */
#define GAUSSIAN_EPSILON_MAX 40
#define EPSILON_MAX 512
#define DATA_MAX 1e15   /* sides and radii in data units; steps end at 2^60 */
#define STEP_TRIALS 100 /* of a box's grid step: each one widens it by the excess */
#define BARE_LAPLACE_LOG2 32
#define BARE_GAUSSIAN_LOG2 20
#define ROUNDING_MARGIN 4e-16

/* ---- the request ---- */

static dpot_status check_guarantee(const struct calibrate_request *request,
                                   struct dpot_error *error)
{
    const bool is_gaussian = request->mechanism == DPOT_MECHANISM_GAUSSIAN;
    const double most = is_gaussian ? GAUSSIAN_EPSILON_MAX : EPSILON_MAX;
    char text[DPOT_SHORTEST_SIZE];
    if (!is_gaussian && request->mechanism != DPOT_MECHANISM_LAPLACE) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "only laplace and gaussian have noise to calibrate");
    }
    if (!(request->epsilon > 0 && request->epsilon <= most)) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE, "epsilon is %s: give a number above 0, at most %g for %s noise",
            dpot_shortest(request->epsilon, text), most, dpot_mechanism_name(request->mechanism));
    }
    if (request->epsilon > DPOT_EPSILON_CEILING && !request->is_simulation) {
        return dpot_error_set(error, DPOT_ERR_EPSILON,
                              "epsilon is %s: devices take at most %d, more is for campaigns "
                              "marked simulation",
                              dpot_shortest(request->epsilon, text), DPOT_EPSILON_CEILING);
    }
    if (is_gaussian ? !(request->delta > 0 && request->delta < 1) : !(request->delta == 0)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              is_gaussian ? "delta is %s: give a number above 0 and below 1"
                                          : "delta is %s: laplace has none, leave it out",
                              dpot_shortest(request->delta, text));
    }
    if (!(request->noise_factor == 0 ||
          (request->noise_factor >= 1 && request->noise_factor < 1e6))) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the noise factor is %g: give at least 1, below 10^6",
                              request->noise_factor);
    }
    return DPOT_OK;
}

static dpot_status check_box(const struct calibrate_request *request, struct dpot_error *error)
{
    double widest = 0;
    if ((request->n_sides != 1 && request->n_sides != request->dim) || !request->lo ||
        !request->hi) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the box has %u side%s for %u coordinate%s: give one or one each",
                              request->n_sides, DPOT_S(request->n_sides), request->dim,
                              DPOT_S(request->dim));
    }
    for (uint32_t j = 0; j < request->n_sides; j++) {
        const double lo = request->lo[j], hi = request->hi[j];
        if (!(lo >= -DATA_MAX && hi <= DATA_MAX && lo <= hi)) {
            char lo_text[DPOT_SHORTEST_SIZE], hi_text[DPOT_SHORTEST_SIZE];
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "side %u of the box goes from %s to %s: give lo <= hi within "
                                  "+-%g",
                                  j, dpot_shortest(lo, lo_text), dpot_shortest(hi, hi_text),
                                  DATA_MAX);
        }
        widest = fmax(widest, hi - lo);
    }
    return widest > 0 ? DPOT_OK
                      : dpot_error_set(error, DPOT_ERR_RANGE,
                                       "the box is a single point: there is nothing to protect, "
                                       "give lo < hi somewhere");
}

dpot_status calibrate_check(const struct calibrate_request *request, struct dpot_error *error)
{
    char text[DPOT_SHORTEST_SIZE];
    const dpot_status status = check_guarantee(request, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (request->dim < 1 || request->dim > DPOT_VECTOR_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "dim is %u: choose 1 to %u", request->dim,
                              DPOT_VECTOR_DIM_MAX);
    }
    switch (request->set) {
    case DPOT_VECTOR_BOX:
        return check_box(request, error);
    case DPOT_VECTOR_L1_BALL:
    case DPOT_VECTOR_L2_BALL:
        return request->radius > 0 && request->radius <= DATA_MAX
                   ? DPOT_OK
                   : dpot_error_set(error, DPOT_ERR_RANGE,
                                    "the radius is %s: give a number above 0, at most %g",
                                    dpot_shortest(request->radius, text), DATA_MAX);
    }
    return dpot_error_set(error, DPOT_ERR_RANGE, "set %d is unknown: choose a box or a ball",
                          (int)request->set);
}

static double box_diameter(const struct calibrate_request *request)
{
    const bool is_l1 = request->mechanism == DPOT_MECHANISM_LAPLACE;
    double sum = 0;
    for (uint32_t j = 0; j < request->n_sides; j++) {
        const double width = outward_up(request->hi[j] - request->lo[j], 0);
        sum += is_l1 ? width : width * width;
    }
    sum *= request->n_sides == 1 ? request->dim : 1;
    return outward_up(is_l1 ? sum : sqrt(sum), 2.3e-16 * request->n_sides + ROUNDING_MARGIN);
}

double calibrate_diameter(const struct calibrate_request *request)
{
    if (request->set == DPOT_VECTOR_BOX) {
        return box_diameter(request);
    }
    const bool is_stretched =
        request->set == DPOT_VECTOR_L2_BALL && request->mechanism == DPOT_MECHANISM_LAPLACE;
    return is_stretched ? outward_up(2 * request->radius * sqrt(request->dim), ROUNDING_MARGIN)
                        : 2 * request->radius;
}

double calibrate_continuous(enum dpot_mechanism_id mechanism, double epsilon, double delta,
                            double diameter)
{
    return mechanism == DPOT_MECHANISM_GAUSSIAN ? gaussian_scale(epsilon, delta, diameter)
                                                : outward_up(diameter / epsilon, 0);
}

/* ---- integers for one k ---- */

struct fit {
    const struct calibrate_request *request;
    uint64_t epsilon_q32; /* of the request, rounded down */
    uint32_t row_number;
    struct dpot_gauss_row row; /* set for gaussian */
    /* needed: the noise scale without a grid, at the row's mu, times noise_factor. */
    double diameter, needed;
    struct dpot_vector_domain *vector;
    unsigned k;
    bool is_too_wide; /* laplace: a coordinate is as wide as the noise covers */
};

/* The acceptance check of the device. */
static bool is_accepted(const struct fit *fit, struct dpot_sensitivity *sensitivity)
{
    if (dpot_sensitivity_compute(fit->vector, sensitivity, NULL) != DPOT_OK) {
        return false;
    }
    return fit->request->mechanism == DPOT_MECHANISM_LAPLACE
               ? dpot_laplace_accepts(sensitivity, fit->epsilon_q32, fit->k)
               : dpot_gaussian_accepts(sensitivity, &fit->row, fit->k, fit->vector->dim);
}

/* The largest D1 or D2 in grid units, as a real number. */
static double max_diameter(const struct fit *fit)
{
    const double factor = fit->request->noise_factor >= 1 ? fit->request->noise_factor : 1;
    const double of_scale = fit->request->mechanism == DPOT_MECHANISM_LAPLACE
                                ? ldexp((double)(fit->epsilon_q32 - 1), -32)
                                : sqrt(ldexp((double)fit->row.mu2_q40, -40));
    return ldexp(of_scale, (int)fit->k) / factor;
}

static void set_step(struct dpot_vector_domain *vector, double step)
{
    vector->grid_step = step;
    vector->inverse_step = 1 / step;
}

/* Finds the largest accepted radius, then sets the step given in calibrate.h. */
static bool fit_ball(struct fit *fit)
{
    const struct calibrate_request *request = fit->request;
    const bool is_l1 = request->set == DPOT_VECTOR_L1_BALL;
    const bool is_stretched = !is_l1 && request->mechanism == DPOT_MECHANISM_LAPLACE;
    const double dim = request->dim, fineness = is_l1 ? dim : sqrt(dim);
    const double most =
        (double)(is_l1 ? DPOT_VECTOR_L1_RADIUS_MAX : (uint64_t)DPOT_VECTOR_L2_RADIUS_MAX);
    struct dpot_sensitivity sensitivity;
    double radius = floor(max_diameter(fit) / 2 / (is_stretched ? sqrt(dim) : 1)) + 1;
    if (request->mechanism == DPOT_MECHANISM_LAPLACE) {
        const double widest = (double)(dpot_laplace_widest(fit->k) / 2);
        fit->is_too_wide = fit->is_too_wide || radius > widest + 1;
        radius = fmin(radius, widest);
    }
    radius = fmin(radius, most);
    if (radius < FINENESS * fineness) {
        return false;
    }
    fit->vector->radius = (uint64_t)radius;
    for (int i = 0; !is_accepted(fit, &sensitivity); i++) { /* rounding can cost a unit or two */
        if (i == 4) {
            return false; /* sigma is too small for the certificate */
        }
        fit->vector->radius--;
    }
    set_step(fit->vector, outward_up(request->radius / ((double)fit->vector->radius - fineness / 2),
                                     ROUNDING_MARGIN));
    return true;
}

/* Rounds the corners as a device does. Fails if an integer would be out of range or a non-empty
 * side has too few cells. */
static bool round_sides(struct fit *fit)
{
    const struct calibrate_request *request = fit->request;
    struct dpot_vector_domain *vector = fit->vector;
    for (uint32_t j = 0; j < request->n_sides; j++) {
        const double far = fmax(fabs(request->lo[j]), fabs(request->hi[j])) * vector->inverse_step;
        if (!(far < (double)DPOT_VECTOR_SIDE_MAX)) {
            return false;
        }
        dpot_quantize_round(vector->inverse_step, &request->lo[j], 1, &vector->lo[j]);
        dpot_quantize_round(vector->inverse_step, &request->hi[j], 1, &vector->hi[j]);
        if (request->hi[j] > request->lo[j] && vector->hi[j] - vector->lo[j] < CELLS_MIN) {
            return false;
        }
    }
    return true;
}

static double measured_diameter(const struct fit *fit, const struct dpot_sensitivity *sensitivity)
{
    const struct dpot_u128 square = sensitivity->l2_squared;
    return fit->request->mechanism == DPOT_MECHANISM_LAPLACE
               ? (double)sensitivity->l1
               : sqrt(ldexp((double)square.hi, 64) + (double)square.lo);
}

/* Starts from the step at which the unrounded box has the largest diameter allowed, and widens it
 * by the excess due to rounding until the device accepts. */
static bool fit_box(struct fit *fit)
{
    struct dpot_sensitivity sensitivity;
    double step = fit->diameter / max_diameter(fit);
    for (int i = 0; i < STEP_TRIALS; i++) {
        set_step(fit->vector, step);
        if (!round_sides(fit)) {
            return false;
        }
        const bool is_ok = is_accepted(fit, &sensitivity);
        const double over = measured_diameter(fit, &sensitivity) / max_diameter(fit);
        if (is_ok && over <= 1 + 1e-12) {
            return true;
        }
        fit->is_too_wide = fit->is_too_wide || (fit->request->mechanism == DPOT_MECHANISM_LAPLACE &&
                                                sensitivity.widest > dpot_laplace_widest(fit->k));
        step *= fmax(over, 1 + 1e-9 * (i + 1));
    }
    return false;
}

/* ---- the search ---- */

static dpot_status make_domain(const struct calibrate_request *request,
                               const struct dpot_allocator *allocator,
                               struct dpot_vector_domain *vector)
{
    *vector = (struct dpot_vector_domain){
        .set = request->set, .dim = request->dim, .allocator = allocator};
    if (request->set != DPOT_VECTOR_BOX) {
        return DPOT_OK;
    }
    vector->n_sides = request->n_sides;
    vector->lo = dpot_alloc_array(allocator, request->n_sides, sizeof *vector->lo);
    vector->hi = dpot_alloc_array(allocator, request->n_sides, sizeof *vector->hi);
    return vector->lo && vector->hi ? DPOT_OK : DPOT_ERR_MEMORY;
}

static dpot_status prepare_fit(struct fit *fit, struct dpot_error *error)
{
    const struct calibrate_request *request = fit->request;
    const double factor = request->noise_factor >= 1 ? request->noise_factor : 1;
    fit->diameter = calibrate_diameter(request);
    if (dpot_epsilon_from_double(request->epsilon, &fit->epsilon_q32) != DPOT_OK ||
        fit->epsilon_q32 < 2) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "epsilon is %g: devices count in steps of 2^-32, give at least 1e-9",
                              request->epsilon);
    }
    if (request->mechanism == DPOT_MECHANISM_LAPLACE) {
        fit->needed = factor * fit->diameter / request->epsilon;
        return DPOT_OK;
    }
    const uint64_t delta_q64 = (uint64_t)ldexp(request->delta, 64); /* below 1, so it fits */
    dpot_status status =
        dpot_gauss_row_find(fit->epsilon_q32, delta_q64, request->dim, &fit->row_number, error);
    if (status == DPOT_OK) {
        status = dpot_gauss_row(fit->row_number, &fit->row);
        fit->needed = factor * fit->diameter / sqrt(ldexp((double)fit->row.mu2_q40, -40));
    }
    return status;
}

static bool fit_one(struct fit *fit, unsigned k)
{
    fit->k = k;
    if (!(fit->request->set == DPOT_VECTOR_BOX ? fit_box(fit) : fit_ball(fit))) {
        return false;
    }
    return ldexp(fit->vector->grid_step, (int)k) <= fit->needed * (1 + CALIBRATE_ROUNDING);
}

static dpot_status report_no_fit(const struct fit *fit, struct dpot_error *error)
{
    const struct calibrate_request *request = fit->request;
    if (fit->is_too_wide) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "epsilon is %g: laplace noise covers 32 scales, and one coordinate of "
            "this set alone is wider; choose an epsilon below 31.9 or a box of "
            "more coordinates",
            request->epsilon);
    }
    if (request->set == DPOT_VECTOR_BOX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "no grid serves this box at epsilon %g: bring its sides to like "
                              "widths near 0 (the narrowest needs %d steps), or raise epsilon",
                              request->epsilon, CELLS_MIN);
    }
    return dpot_error_set(error, DPOT_ERR_RANGE,
                          "no grid serves this ball at epsilon %g in %u coordinate%s: raise "
                          "epsilon or lower the dimension",
                          request->epsilon, request->dim, DPOT_S(request->dim));
}

static dpot_status search(struct fit *fit, struct dpot_error *error)
{
    const bool is_gaussian = fit->request->mechanism == DPOT_MECHANISM_GAUSSIAN;
    const unsigned first = is_gaussian ? DPOT_GAUSSIAN_SCALE_LOG2_MIN : DPOT_LAPLACE_SCALE_LOG2_MIN;
    const unsigned last = is_gaussian ? DPOT_GAUSSIAN_SCALE_LOG2_MAX : DPOT_LAPLACE_SCALE_LOG2_MAX;
    for (unsigned k = first; k <= last; k++) {
        if (fit_one(fit, k)) {
            return dpot_vector_domain_check(fit->vector, error);
        }
    }
    return report_no_fit(fit, error);
}

/* ceil(D1 2^32 / 2^k) + 1: the least E with D1 2^32 <= (E - 1) 2^k. */
static uint64_t least_epsilon(uint64_t l1, unsigned k)
{
    const struct dpot_u128 product = dpot_u128_mul(l1, DPOT_EPSILON_ONE);
    const struct dpot_u128 round_up = dpot_u128_from(((uint64_t)1 << k) - 1);
    return dpot_u128_shr(dpot_u128_add(product, round_up), k).lo + 1;
}

static dpot_status fill_result(const struct fit *fit, struct calibration *calibration,
                               struct dpot_error *error)
{
    const struct calibrate_request *request = fit->request;
    struct dpot_sensitivity sensitivity;
    const dpot_status status = dpot_sensitivity_compute(fit->vector, &sensitivity, error);
    if (status != DPOT_OK) {
        return status;
    }
    *calibration = (struct calibration){
        .noise = {.scale_log2 = fit->k, .certificate_row = fit->row_number},
        .scale = ldexp(fit->vector->grid_step, (int)fit->k),
        .epsilon_q32 =
            fit->row_number ? fit->row.epsilon_q32 : least_epsilon(sensitivity.l1, fit->k),
        .delta_q64 = fit->row.delta_q64,
        .diameter = fit->diameter,
        .continuous_scale = calibrate_continuous(request->mechanism, request->epsilon,
                                                 request->delta, fit->diameter),
    };
    const double factor = request->noise_factor >= 1 ? request->noise_factor : 1;
    calibration->loss = calibration->scale / (calibration->continuous_scale * factor) - 1;
    return DPOT_OK;
}

dpot_status calibrate(const struct calibrate_request *request,
                      const struct dpot_allocator *allocator, struct dpot_vector_domain *vector,
                      struct calibration *calibration, struct dpot_error *error)
{
    struct fit fit = {.request = request, .vector = vector};
    *vector = (struct dpot_vector_domain){0};
    *calibration = (struct calibration){{0}, 0, 0, 0, 0, 0, 0};
    dpot_status status = calibrate_check(request, error);
    if (status == DPOT_OK) {
        status = prepare_fit(&fit, error);
    }
    if (status == DPOT_OK) {
        status = make_domain(request, allocator, vector);
    }
    if (status == DPOT_OK) {
        status = search(&fit, error);
    }
    if (status == DPOT_OK) {
        status = fill_result(&fit, calibration, error);
    }
    if (status != DPOT_OK) {
        dpot_vector_domain_release(vector);
    }
    return status;
}

/* ---- diameter only ---- */

dpot_status calibrate_bare(enum dpot_mechanism_id mechanism, double epsilon, double delta,
                           double diameter, struct calibrate_bare *bare, struct dpot_error *error)
{
    const struct calibrate_request request = {.mechanism = mechanism,
                                              .epsilon = epsilon,
                                              .delta = delta,
                                              .is_simulation = true,
                                              .set = DPOT_VECTOR_L2_BALL,
                                              .dim = 1,
                                              .radius = diameter / 2};
    struct fit fit = {.request = &request};
    *bare = (struct calibrate_bare){.dim_max = DPOT_VECTOR_DIM_MAX};
    dpot_status status = calibrate_check(&request, error);
    if (status == DPOT_OK) {
        status = prepare_fit(&fit, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (mechanism == DPOT_MECHANISM_LAPLACE) {
        bare->noise.scale_log2 = BARE_LAPLACE_LOG2;
        bare->grid_diameter = fit.epsilon_q32 - 1; /* D1 2^32 <= (E - 1) 2^32 */
        bare->epsilon_q32 = fit.epsilon_q32;
    } else {
        bare->noise = (struct dpot_noise_parameters){BARE_GAUSSIAN_LOG2, fit.row_number};
        bare->dim_max = fit.row.d_max;
        bare->epsilon_q32 = fit.row.epsilon_q32;
        bare->delta_q64 = fit.row.delta_q64;
        /* D2^2 2^40 <= mu2 2^40 */
        const uint64_t root = dpot_u128_ceil_sqrt(dpot_u128_from(fit.row.mu2_q40));
        bare->grid_diameter = root * root > fit.row.mu2_q40 ? root - 1 : root;
    }
    bare->grid_step = outward_up(diameter / (double)bare->grid_diameter, 0);
    bare->scale = ldexp(bare->grid_step, (int)bare->noise.scale_log2);
    return DPOT_OK;
}

#include "tool/plan/plan.h"

#include "campaign/spec_sphere.h"
#include "mechanism/mechanism.h"
#include "tool/shared/options.h"

#include <math.h>
#include <stdarg.h>

static const char *const keys[N_FIGURES] = {
    [FIGURE_HISTOGRAM] = "histogram_l1",
    [FIGURE_W1] = "w1",
    [FIGURE_W2] = "w2",
    [FIGURE_MEAN] = "mean_l2",
    [FIGURE_COORDINATE] = "mean_coordinate",
};

const char *plan_figure_key(enum figure_id figure)
{
    return keys[figure];
}

/* ---- figures ---- */

static json_t *describe_figure(const struct figure *figure, double factor, bool has_bias)
{
    json_t *object = json_object();
    (void)json_object_set_new(object, "mean", json_number(factor * figure->mean));
    (void)json_object_set_new(object, "lower", json_number(factor * figure->lower));
    (void)json_object_set_new(object, "upper", json_number(factor * figure->upper));
    if (has_bias) {
        (void)json_object_set_new(object, "bias", json_number(factor * figure->bias));
    }
    return object;
}

static void put_point_errors(const struct plan *plan)
{
    const size_t kv = plan_campaign(plan)->output.size;
    json_t *object = json_object();
    double mean = 0, max = 0;
    for (size_t j = 0; j < kv; j++) {
        const double deviation = sqrt(plan->outlook->variance[j] / plan->forecast.n);
        mean += deviation / (double)kv;
        max = fmax(max, deviation);
    }
    (void)json_object_set_new(object, "mean", json_number(mean));
    (void)json_object_set_new(object, "max", json_number(max));
    run_put(plan->run, "point_standard_error", object);
}

static void put_figures(const struct plan *plan)
{
    for (size_t f = 0; f < N_FIGURES; f++) {
        const struct figure *figure = &plan->forecast.figures[f];
        if (figure->is_known) {
            run_put(plan->run, keys[f], describe_figure(figure, 1, f != FIGURE_HISTOGRAM));
        }
        if (figure->is_known && f == FIGURE_HISTOGRAM) {
            run_put(plan->run, "histogram_tv", describe_figure(figure, 0.5, false));
            put_point_errors(plan);
        }
    }
}

/* ---- vectors ---- */

static void put_vector(const struct plan *plan)
{
    const struct outlook *outlook = plan->outlook;
    const double deviation = hypot(outlook->noise, outlook->spread);
    run_put_number(plan->run, "noise", outlook->noise);
    run_put_number(plan->run, "spread", outlook->spread);
    run_put_number(plan->run, "coordinate_standard_error", deviation / sqrt(plan->forecast.n));
    run_put_number(plan->run, "clipped", outlook->clipped);
}

static void put_sphere(const struct plan *plan)
{
    struct spec_sphere measured;
    spec_measure_sphere(plan_campaign(plan), &measured);
    run_put_number(plan->run, "noise", plan->outlook->noise);
    run_put_number(plan->run, "coordinate_standard_error",
                   plan->outlook->noise / sqrt(plan->forecast.n));
    run_put_number(plan->run, "contraction", measured.channel.contraction);
    run_put_number(plan->run, "expected_cost", measured.channel.cost);
    run_put_number(plan->run, "optimal_cost", measured.optimum.cost);
}

/* ---- assumptions ---- */

static void add_sentence(json_t *list, const char *format, ...) DPOT_PRINTF(2, 3);

static void add_sentence(json_t *list, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)json_array_append_new(list, json_string(text));
}

static void add_reference(const struct plan *plan, json_t *list)
{
    switch (plan->reference.kind) {
    case REFERENCE_UNIFORM:
        add_sentence(list, "the population is uniform: as many people at every point of the domain "
                           "(--reference gives another)");
        return;
    case REFERENCE_WEIGHTS:
        add_sentence(list, "the population is that of --reference: people at single points of the "
                           "domain");
        return;
    case REFERENCE_DEVICES:
        add_sentence(list, "the population is that of --reference: %zu device%s",
                     plan->reference.n_members, DPOT_S(plan->reference.n_members));
        return;
    case REFERENCE_NONE:
        break;
    }
    if (plan->config.spread > 0) {
        add_sentence(list,
                     "every coordinate of the data has standard deviation %g from device to "
                     "device, independently",
                     plan->config.spread);
    } else {
        add_sentence(list, "nothing is assumed of the data: the error is against the mean of those "
                           "who report (--spread and --reference: of the population)");
    }
}

static void add_crowd(const struct plan *plan, json_t *list)
{
    if (plan->config.is_fixed && plan->reference.n_members > 0) {
        add_sentence(list, "these devices report once each, and their mean is the truth");
    } else if (plan->reference.kind != REFERENCE_NONE || plan->config.spread > 0) {
        add_sentence(list, "the devices are drawn independently from the population, whose mean is "
                           "the truth");
    }
    add_sentence(list, "n counts accepted reports, one a device");
}

static void add_index(const struct plan *plan, json_t *list)
{
    const unsigned distances = (1u << FIGURE_W1 | 1u << FIGURE_W2) & plan->config.wanted;
    add_sentence(list,
                 "the estimate is the frequency of the reports (dpot estimate), not corrected "
                 "for the mechanism: w1 and w2 keep their bias at any n");
    if ((plan->outlook->figures & distances) != distances) {
        add_sentence(list, "w1 and w2 are left out: population and output points have more than "
                           "2^24 costs between them");
    }
}

static void add_vector(const struct plan *plan, json_t *list)
{
    const struct dpot_vector_domain *vector = &plan_campaign(plan)->vector;
    const struct outlook *outlook = plan->outlook;
    add_sentence(list, "the estimate is the mean of the decoded reports (dpot pool); the variance "
                       "of the noise is exact");
    if (plan->reference.kind == REFERENCE_NONE) {
        add_sentence(list, "no vector lies outside the campaign's set, where it would be clipped, "
                           "and rounding to the grid averages out");
    } else {
        add_sentence(list,
                     "clip and rounding are those of the device: %.3g %% of the population "
                     "is clipped, and the bias of the mean is %.4g",
                     100 * outlook->clipped, outlook->bias[FIGURE_MEAN]);
    }
    if (outlook->n_sampled > 0 && outlook->n_sampled < plan->reference.n_members) {
        add_sentence(list,
                     "how the coordinates of the data vary together is that of %zu evenly chosen "
                     "members of the reference",
                     outlook->n_sampled);
    }
    if (vector->transform.id != DPOT_TRANSFORM_NONE) {
        add_sentence(list,
                     "mean_coordinate is of a coefficient of the transform; coefficients "
                     "that are not kept count as bias of mean_l2%s",
                     plan->reference.kind == REFERENCE_NONE ? ", here 0 without --reference" : "");
    }
}

static void add_sphere(json_t *list)
{
    add_sentence(list,
                 "nothing is assumed of the data: the error is against the mean of the unit "
                 "vectors of those who report (users_total_error of dpot estimate); against a "
                 "population that they are drawn from, the spread between users comes on "
                 "top (its total_error)");
    add_sentence(list,
                 "the estimate is the mean of the directions that reports name, divided by the "
                 "contraction (dpot estimate); its variance is exact, over codebooks and draws, "
                 "and is taken as spread evenly over the coordinates");
    add_sentence(list, "n counts accepted reports, one a device");
}

static void put_assumptions(const struct plan *plan)
{
    json_t *list = json_array();
    const bool is_sphere = dpot_campaign_is_sphere(plan_campaign(plan));
    if (is_sphere) {
        add_sphere(list);
    } else {
        add_reference(plan, list);
        add_crowd(plan, list);
    }
    if (is_sphere) {
        add_sentence(list, "a report by itself has the expected cost: E |x - y|^p");
    } else if (dpot_mechanism_is_vector(plan_campaign(plan)->mechanism)) {
        add_vector(plan, list);
    } else {
        add_index(plan, list);
    }
    add_sentence(list, "lower and upper hold the error of 95 campaigns in 100: from %zu drawn ones",
                 plan->outlook->n_draws);
    run_put(plan->run, "assumptions", list);
}

/* ---- result ---- */

static void put_head(const struct plan *plan)
{
    struct run *run = plan->run;
    const struct dpot_campaign *campaign = plan_campaign(plan);
    const struct dpot_privacy cost = dpot_mechanism_charge(campaign);
    const bool is_zcdp = cost.epsilon_q32 == UINT64_MAX; /* a Gaussian campaign without a row */
    run_put_integer(run, "n", (uint64_t)plan->forecast.n);
    run_put_text(run, "mechanism", dpot_mechanism_name(campaign->mechanism));
    run_put_number(run, "epsilon", is_zcdp ? NAN : dpot_epsilon_to_double(cost.epsilon_q32));
    run_put_number(run, "delta", is_zcdp ? NAN : dpot_delta_to_double(cost.delta_q64));
    if (campaign->mechanism == DPOT_MECHANISM_GAUSSIAN) {
        run_put_number(run, "rho", dpot_epsilon_to_double(cost.rho_q32));
    }
    run_put_text(run, "metric", dpot_metric_name(campaign->metric.id));
    if (plan->is_inverse) {
        run_put_text(run, "solved", plan->is_epsilon_wanted ? "epsilon" : "n");
        run_put_text(run, "target", keys[plan->target_figure]);
        run_put_number(run, "target_error", plan->target);
    }
    if (plan->is_epsilon_wanted) {
        run_put_number(run, "spec_epsilon", plan->spec_epsilon);
    }
}

void plan_put_result(const struct plan *plan)
{
    put_head(plan);
    put_figures(plan);
    if (dpot_campaign_is_sphere(plan_campaign(plan))) {
        put_sphere(plan);
    } else if (dpot_mechanism_is_vector(plan_campaign(plan)->mechanism)) {
        put_vector(plan);
    }
    run_put_integer(plan->run, "draws", plan->outlook->n_draws);
    put_assumptions(plan);
}

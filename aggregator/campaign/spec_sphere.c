#include "campaign/spec_sphere.h"

#include "campaign/spec_fields.h"
#include "mechanism/sampler.h"

#include <math.h>
#include <string.h>

/* Excess of the expected cost over the closed form, relative: of a chosen count, and the most that
 * is accepted. */
#define EXCESS_CHOSEN 0.01
#define EXCESS_REFUSED 0.1

/* *count is 0 for "same" and where none is given. */
static dpot_status read_count(const json_t *output, uint32_t *count, struct dpot_error *error)
{
    static const struct json_word types[] = {{"directions", SPEC_PLACE_DIRECTIONS}, {NULL, 0}};
    const char *text = json_string_value(output);
    struct spec_place place = {.count = 0};
    dpot_status status = DPOT_OK;
    if (text && strcmp(text, "same") != 0) {
        status = dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "output is \"%.40s\": say \"same\" or give "
                                "{\"type\":\"directions\",\"count\":K}",
                                text);
    } else if (output && !text) {
        status = spec_read_place(output, "output", types, &place, error);
    }
    *count = place.count;
    return status;
}

static uint32_t most_directions(uint32_t dim)
{
    uint32_t most = SPEC_DIRECTIONS_MOST;
    while (most > DPOT_DIRECTIONS_NUMBERS_MAX / dim) {
        most /= 2;
    }
    return most;
}

static double cost_of(const struct sphere *sphere, double epsilon, uint32_t count)
{
    struct sphere_choice choice;
    sphere_choose(sphere, epsilon, count, &choice);
    return choice.channel.cost;
}

/* The least first * 2^i of at most that cost, or `most`. */
static uint32_t find_count(const struct sphere *sphere, double epsilon, uint32_t first,
                           uint32_t most, double cost)
{
    uint32_t count = first < most ? first : most;
    while (count < most && cost_of(sphere, epsilon, count) > cost) {
        count *= 2;
    }
    return count;
}

dpot_status spec_set_directions(struct spec *spec, struct dpot_error *error)
{
    struct dpot_campaign *campaign = &spec->campaign;
    const uint32_t dim = campaign->domain.dim, most = most_directions(dim);
    const double epsilon = dpot_epsilon_to_double(campaign->epsilon_q32);
    const struct sphere sphere = {dim - 1, campaign->cost_power};
    struct sphere_optimum optimum;
    uint32_t count = 0;
    dpot_status status = read_count(spec->output, &count, error);
    if (status == DPOT_OK) {
        status = sphere_solve(&sphere, epsilon, &optimum, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (count == 0) {
        count = find_count(&sphere, epsilon, SPEC_DIRECTIONS_DEFAULT, most,
                           optimum.cost * (1 + EXCESS_CHOSEN));
    } else if (count < most) {
        const uint32_t least =
            find_count(&sphere, epsilon, 2, most, optimum.cost * (1 + EXCESS_REFUSED));
        if (count < least &&
            cost_of(&sphere, epsilon, count) > optimum.cost * (1 + EXCESS_REFUSED)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "output.count is %u: at epsilon %g in %u coordinates the nearest "
                                  "directions would cost more than 10 %% above the optimum, use at "
                                  "least %u",
                                  count, epsilon, dim, least);
        }
    }
    return dpot_domain_init_directions(&campaign->output, count, dim, error);
}

dpot_status spec_sphere_mass(const struct spec *spec, double *total, struct dpot_error *error)
{
    char shown[64];
    const struct dpot_campaign *campaign = &spec->campaign;
    const struct sphere sphere = {campaign->domain.dim - 1, campaign->cost_power};
    const char *text = spec->base_measure ? json_string_value(spec->base_measure) : "uniform";
    struct sphere_choice choice;
    *total = 0;
    if (text && spec_read_suffix(text, "uniform", total)) {
        if (*total == 0) {
            sphere_choose(&sphere, dpot_epsilon_to_double(campaign->epsilon_q32),
                          campaign->output.size, &choice);
            *total = choice.total_mass;
        }
        return DPOT_OK;
    }
    json_show(shown, sizeof shown, spec->base_measure);
    return dpot_error_set(error, DPOT_ERR_MALFORMED,
                          "mechanism.base_measure is %s: on a sphere give uniform or "
                          "uniform:<total mass>",
                          shown);
}

/* ---- derived numbers ---- */

void spec_measure_sphere(const struct dpot_campaign *campaign, struct spec_sphere *measured)
{
    const struct sphere sphere = {campaign->domain.dim - 1, campaign->cost_power};
    const double epsilon = dpot_epsilon_to_double(campaign->epsilon_q32);
    const double size = campaign->output.size;
    /* All directions have the same mass, so that the bounds are those of a measure of two of that
     * total: L and U in doubles, up to a unit of 2^-62. */
    const double mass = (double)campaign->base_measure.total / (double)DPOT_MASS_ONE;
    const double lower = mass / size, upper = fmin(lower * exp(epsilon), 1);
    *measured = (struct spec_sphere){.total_mass = mass * exp(epsilon / 2)};
    sphere_measure(&sphere, campaign->output.size, lower, upper, &measured->channel);
    sphere_scatter(&sphere, campaign->output.size, lower, upper, &measured->scatter);
    if (sphere_solve(&sphere, epsilon, &measured->optimum, NULL) != DPOT_OK) {
        measured->optimum =
            (struct sphere_optimum){.threshold = NAN}; /* cannot happen to a checked campaign */
    }
}

json_t *spec_describe_sphere(const struct dpot_campaign *campaign)
{
    struct spec_sphere s;
    spec_measure_sphere(campaign, &s);
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "expected_cost", json_number(s.channel.cost),
        "contraction", json_number(s.channel.contraction), "n_near", json_number(s.channel.n_near),
        "report_error", json_number(sqrt(sphere_report_variance(s.channel.contraction))),
        "optimal_cost", json_number(s.optimum.cost), "optimal_total_mass",
        json_number(s.optimum.total_mass), "mean_cost", json_number(s.optimum.mean_cost));
}

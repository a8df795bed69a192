/* The channel of an index campaign, against laws that are known in closed form. */
#include "campaign/spec.h"
#include "pool/channel.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SIDE 7
#define K (SIDE * SIDE)

static struct dpot_campaign compile(const char *mechanism)
{
    char text[1024];
    const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {1};
    struct dpot_campaign campaign;
    struct dpot_error error = {{0}};
    (void)snprintf(text, sizeof text,
                   "{\"name\":\"a\",\"domain\":{\"type\":\"grid\",\"lo\":[0,0],\"hi\":[7,7],"
                   "\"shape\":[7,7]},\"output\":\"same\",\"metric\":\"euclidean\",\"power\":2,"
                   "\"mechanism\":{%s},\"opens\":\"2026-01-01T00:00:00Z\","
                   "\"closes\":\"2026-02-01T00:00:00Z\"}",
                   mechanism);
    json_t *spec = fixture_json(text);
    cr_assert_eq(spec_compile(spec, id, 1, &campaign, &error), DPOT_OK, "%s", error.text);
    json_decref(spec);
    return campaign;
}

static void refuse(const char *mechanism, dpot_status status, const char *word)
{
    struct dpot_campaign campaign = compile(mechanism);
    double channel[1];
    struct dpot_error error = {{0}};
    cr_assert_eq(channel_fill(&campaign, NULL, NULL, channel, &error), status);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
    dpot_campaign_release(&campaign);
}

#define BALL(points)                                                                               \
    "\"type\":\"wpm\",\"epsilon\":3,\"lambda\":1e-3,\"iterations\":30,"                            \
    "\"base_measure\":\"ball:" points "\",\"sample_first\":true"

/* Ends of the law: e^(+-epsilon/2) m / k, and m of a ball of b points. */
static void find_ends(double b, double *lower, double *upper)
{
    const double up = exp(1.5), mass = K / ((K - b) / up + b * up);
    *lower = mass / up / K;
    *upper = mass * up / K;
}

Test(channel, a_point_is_answered_by_a_ball_of_as_many_cells_as_the_campaign_says)
{
    static const char *const texts[] = {BALL("1"), BALL("5"), BALL("9"), BALL("21")};
    static const size_t balls[] = {1, 5, 9, 21};
    static double channel[K * K];
    for (size_t i = 0; i < 4; i++) {
        struct dpot_campaign campaign = compile(texts[i]);
        double lower = 0, upper = 0;
        find_ends((double)balls[i], &lower, &upper);
        cr_assert_eq(channel_fill(&campaign, NULL, NULL, channel, NULL), DPOT_OK);
        for (size_t l = 0; l < K; l++) {
            const double x = (double)(l / SIDE), y = (double)(l % SIDE);
            double sum = 0, farthest_in = 0, nearest_out = INFINITY;
            size_t n_upper = 0;
            for (size_t j = 0; j < K; j++) {
                const double law = channel[l * K + j];
                const double distance = hypot((double)(j / SIDE) - x, (double)(j % SIDE) - y);
                sum += law;
                cr_assert(law >= lower * (1 - 1e-6) && law <= upper * (1 + 1e-6));
                n_upper += law > upper * (1 - 1e-6);
                if (law > lower * (1 + 1e-6)) {
                    farthest_in = fmax(farthest_in, distance);
                } else {
                    nearest_out = fmin(nearest_out, distance);
                }
            }
            cr_assert_float_eq(sum, 1, 1e-12);
            cr_assert_leq(farthest_in, nearest_out, "ball %zu, point %zu", balls[i], l);
            cr_assert_leq(n_upper, balls[i]);
            const bool is_centre = l == K / 2; /* these balls are whole circles there */
            cr_assert(!is_centre || n_upper == balls[i], "%zu: %zu", balls[i], n_upper);
        }
        dpot_campaign_release(&campaign);
    }
}

Test(channel, kpm_is_randomised_response_between_all_points)
{
    static double channel[K * K];
    struct dpot_campaign campaign = compile("\"type\":\"kpm\",\"epsilon\":2,\"n_max\":1");
    const double other = 1 / (exp(2) + K - 1);
    cr_assert_eq(channel_fill(&campaign, NULL, NULL, channel, NULL), DPOT_OK);
    for (size_t k = 0; k < K * K; k++) {
        cr_assert_float_eq(channel[k], k / K == k % K ? exp(2) * other : other, 1e-9);
    }
    dpot_campaign_release(&campaign);
}

Test(channel, ratios_within_a_column_are_within_epsilon)
{
    static double channel[K * K];
    struct dpot_campaign campaign = compile(BALL("9"));
    cr_assert_eq(channel_fill(&campaign, NULL, NULL, channel, NULL), DPOT_OK);
    for (size_t j = 0; j < K; j++) {
        double least = 1, most = 0;
        for (size_t l = 0; l < K; l++) {
            least = fmin(least, channel[l * K + j]);
            most = fmax(most, channel[l * K + j]);
        }
        cr_assert_leq(log(most / least), 3 + 1e-9);
    }
    dpot_campaign_release(&campaign);
}

Test(channel, devices_that_project_several_places_at_once_have_none)
{
    refuse("\"type\":\"kpm\",\"epsilon\":2", DPOT_ERR_SHAPE, "up to 32 places at once");
    struct dpot_campaign campaign = {.mechanism = DPOT_MECHANISM_LAPLACE};
    struct dpot_error error = {{0}};
    cr_assert_eq(channel_check(&campaign, &error), DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(error.text, "laplace"), "%s", error.text);
    campaign = (struct dpot_campaign){.mechanism = DPOT_MECHANISM_WPM, .n_max = 1};
    campaign.domain.size = campaign.output.size = 1u << 14;
    cr_assert_eq(channel_check(&campaign, &error), DPOT_ERR_TOO_LARGE);
}

static bool count(void *ctx)
{
    return ++*(size_t *)ctx == 3;
}

Test(channel, filling_can_be_stopped_after_any_row)
{
    static double channel[K * K];
    size_t n_rows = 0;
    struct dpot_campaign campaign = compile(BALL("9"));
    cr_assert_eq(channel_fill(&campaign, count, &n_rows, channel, NULL), DPOT_OK);
    cr_assert_eq(n_rows, 3);
    cr_assert(channel[2 * K] > 0 && channel[3 * K] == 0);
    dpot_campaign_release(&campaign);
}

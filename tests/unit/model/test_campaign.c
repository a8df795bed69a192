#include "model/campaign.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const int64_t opens_ms = INT64_C(1796083200000);

/* A valid campaign on a ring of six. */
static struct dpot_campaign make_campaign(void)
{
    struct dpot_campaign campaign = {
        .revision = 1,
        .name = "census-2026",
        .output_is_domain = true,
        .metric = {DPOT_METRIC_RING, 6},
        .cost_power = 1,
        .mechanism = DPOT_MECHANISM_WPM,
        .epsilon_q32 = 2 * DPOT_EPSILON_ONE,
        .lambda = .1,
        .iterations = 100,
        .n_max = 4,
        .base_measure = {.size = 6, .total = (uint64_t)1 << 61},
        .rounds = 1,
        .opens_ms = opens_ms,
        .closes_ms = opens_ms + 7 * INT64_C(86400000),
        .n_groups = 2,
    };
    cr_assert_eq(dpot_domain_init_ring(&campaign.domain, 6, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_copy(&campaign.output, &campaign.domain), DPOT_OK);
    campaign.base_measure.mass_code = dpot_alloc_array(NULL, 6, sizeof(uint32_t));
    campaign.groups = dpot_alloc_array(NULL, 2, sizeof *campaign.groups);
    for (size_t j = 0; j < 6; j++) {
        campaign.base_measure.mass_code[j] = 1;
    }
    memcpy(campaign.groups[0], "north", 6);
    memcpy(campaign.groups[1], "south", 6);
    return campaign;
}

static void assert_refused(struct dpot_campaign *campaign, dpot_status status, const char *said)
{
    struct dpot_error error = {{0}};
    const dpot_status got = dpot_campaign_check(campaign, &error);
    cr_assert_eq(got, status, "%d instead of %d (%s): %s", got, status, said, error.text);
    cr_assert_not_null(strstr(error.text, said), "'%s' does not say '%s'", error.text, said);
    dpot_campaign_release(campaign);
}

#define REFUSES(change, status, said)                                                              \
    do {                                                                                           \
        struct dpot_campaign campaign = make_campaign();                                           \
        change;                                                                                    \
        assert_refused(&campaign, status, said);                                                   \
    } while (0)

static void set_output(struct dpot_campaign *campaign, uint32_t size, uint32_t dim,
                       const double *points)
{
    dpot_domain_release(&campaign->output);
    cr_assert_eq(dpot_domain_init_points(&campaign->output, size, dim, points, NULL, NULL),
                 DPOT_OK);
    campaign->output_is_domain = false;
}

Test(campaign, a_sound_one_passes)
{
    struct dpot_campaign campaign = make_campaign();
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_campaign_check(&campaign, &error), DPOT_OK, "%s", error.text);
    dpot_campaign_release(&campaign);
    dpot_campaign_release(&campaign);
}

Test(campaign, a_name_is_lower_case_letters_digits_and_dashes)
{
    REFUSES(campaign.name[0] = '\0', DPOT_ERR_RANGE, "name is empty");
    REFUSES(campaign.name[2] = 'A', DPOT_ERR_RANGE, "byte 2 of name is 0x41");
    REFUSES(campaign.name[0] = ' ', DPOT_ERR_RANGE, "0x20");
    REFUSES(campaign.name[0] = (char)0xc3, DPOT_ERR_RANGE, "0xc3");
    REFUSES(memset(campaign.name, 'a', sizeof campaign.name), DPOT_ERR_RANGE, "longer than 64");
    REFUSES(campaign.revision = 0, DPOT_ERR_RANGE, "revision is 0");
}

Test(campaign, metric_and_power_must_fit_the_points)
{
    REFUSES(campaign.cost_power = .5, DPOT_ERR_RANGE, "cost_power is 0.5");
    REFUSES(campaign.cost_power = NAN, DPOT_ERR_RANGE, "cost_power is nan");
    REFUSES(campaign.cost_power = 65, DPOT_ERR_RANGE, "cost_power is 65");
    REFUSES(campaign.metric.ring_size = 7, DPOT_ERR_SHAPE, "ring of 6");
    REFUSES(campaign.metric.ring_size = 0, DPOT_ERR_RANGE, "ring_size 0");
    REFUSES(campaign.metric.id = DPOT_METRIC_L1, DPOT_ERR_RANGE, "ring_size 6");
    REFUSES(campaign.metric.id = (enum dpot_metric_id)77, DPOT_ERR_RANGE, "metric 77");
    REFUSES(campaign.metric = (struct dpot_metric){.id = DPOT_METRIC_HAVERSINE}, DPOT_ERR_SHAPE,
            "haversine does not take points of 1");
}

Test(campaign, a_ring_metric_takes_listed_integer_positions)
{
    const double positions[] = {0, 1, 2, 3, 4, 5}, half[] = {0, 1, 2.5, 3, 4, 5};
    const double outside[] = {0, 1, 2, 3, 4, 6}, negative[] = {-1, 1, 2, 3, 4, 5};
    struct dpot_campaign own = make_campaign();
    set_output(&own, 6, 1, positions);
    cr_assert_eq(dpot_campaign_check(&own, NULL), DPOT_OK);
    dpot_campaign_release(&own);
    REFUSES(set_output(&campaign, 6, 1, half), DPOT_ERR_RANGE, "point 2 of output is 2.5");
    REFUSES(set_output(&campaign, 6, 1, outside), DPOT_ERR_RANGE, "point 5 of output is 6");
    REFUSES(set_output(&campaign, 6, 1, negative), DPOT_ERR_RANGE, "point 0 of output is -1");
}

/* Replaces the domain by places on earth. */
static void set_places(struct dpot_campaign *campaign, const double *places)
{
    campaign->metric = (struct dpot_metric){.id = DPOT_METRIC_HAVERSINE};
    dpot_domain_release(&campaign->domain);
    cr_assert_eq(dpot_domain_init_points(&campaign->domain, 6, 2, places, NULL, NULL), DPOT_OK);
    set_output(campaign, 6, 2, places);
}

static void set_box(struct dpot_campaign *campaign, double south, double west, double north,
                    double east)
{
    const double lo[2] = {south, west}, hi[2] = {north, east};
    const uint32_t shape[2] = {2, 3};
    const double places[12] = {0};
    set_places(campaign, places);
    dpot_domain_release(&campaign->output);
    cr_assert_eq(dpot_domain_init_grid(&campaign->output, 2, lo, hi, shape, NULL), DPOT_OK);
}

Test(campaign, haversine_takes_places_on_earth)
{
    const double places[12] = {90, 180, -90, 0, 0, 360, 0, -360, 48, 16, 1, 2};
    const double north[12] = {0, 0, 91, 0}, west[12] = {0, 0, 0, 0, 0, -361};
    struct dpot_campaign own = make_campaign();
    set_places(&own, places);
    cr_assert_eq(dpot_campaign_check(&own, NULL), DPOT_OK);
    dpot_campaign_release(&own);
    own = make_campaign();
    set_box(&own, -90, -180, 90, 180);
    cr_assert_eq(dpot_campaign_check(&own, NULL), DPOT_OK);
    dpot_campaign_release(&own);
    REFUSES(set_places(&campaign, north), DPOT_ERR_RANGE,
            "point 1 of domain: latitude 91 is outside [-90, 90]: give (latitude, longitude) in "
            "degrees");
    REFUSES(set_places(&campaign, places);
            set_output(&campaign, 6, 2, west), DPOT_ERR_RANGE, "point 2 of output: longitude -361");
    REFUSES(set_box(&campaign, -91, 0, 0, 1), DPOT_ERR_RANGE, "lo of output: latitude -91");
    REFUSES(set_box(&campaign, 0, 0, 1, 361), DPOT_ERR_RANGE, "hi of output: longitude 361");
}

Test(campaign, domain_and_output_must_agree)
{
    const double pairs[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    REFUSES(set_output(&campaign, 6, 2, pairs), DPOT_ERR_SHAPE, "output points have 2");
    REFUSES(set_output(&campaign, 6, 1, pairs);
            campaign.output_is_domain = true, DPOT_ERR_SHAPE, "differs from it");
    REFUSES(set_output(&campaign, 5, 1, pairs), DPOT_ERR_SHAPE, "6 masses for 5");
    REFUSES(campaign.domain.size = 0, DPOT_ERR_SHAPE, "domain: ");
    REFUSES(campaign.output.type = (enum dpot_domain_type)9, DPOT_ERR_RANGE, "output: ");
}

Test(campaign, the_mechanism_s_numbers_have_ranges)
{
    REFUSES(campaign.mechanism = (enum dpot_mechanism_id)0, DPOT_ERR_RANGE, "mechanism 0");
    REFUSES(campaign.epsilon_q32 = 0, DPOT_ERR_RANGE, "epsilon is 0");
    REFUSES(campaign.epsilon_q32 = 20 * DPOT_EPSILON_ONE + 1, DPOT_ERR_EPSILON, "at most 20");
    REFUSES(campaign.lambda = 0, DPOT_ERR_RANGE, "lambda is 0");
    REFUSES(campaign.lambda = -1, DPOT_ERR_RANGE, "lambda is -1");
    REFUSES(campaign.lambda = NAN, DPOT_ERR_RANGE, "lambda is nan");
    REFUSES(campaign.lambda = INFINITY, DPOT_ERR_RANGE, "lambda is inf");
    REFUSES(campaign.iterations = 0, DPOT_ERR_RANGE, "iterations is 0");
    REFUSES(campaign.iterations = 10001, DPOT_ERR_RANGE, "iterations is 10001");
    REFUSES(campaign.n_max = 0, DPOT_ERR_RANGE, "n_max is 0");
    REFUSES(campaign.n_max = 10001, DPOT_ERR_RANGE, "n_max is 10001");
}

static void be_exact(struct dpot_campaign *campaign)
{
    campaign->solver = DPOT_SOLVER_EXACT;
    campaign->lambda = 0;
    campaign->iterations = 0;
}

Test(campaign, the_exact_solver_has_no_sweeps_and_few_rows)
{
    struct dpot_campaign own = make_campaign();
    be_exact(&own);
    own.n_max = 64;
    cr_assert_eq(dpot_campaign_check(&own, NULL), DPOT_OK);
    cr_assert_eq(dpot_campaign_passes(&own), 64);
    own.passes = 4096;
    cr_assert_eq(dpot_campaign_check(&own, NULL), DPOT_OK);
    cr_assert_eq(dpot_campaign_passes(&own), 4096);
    dpot_campaign_release(&own);
    REFUSES(be_exact(&campaign);
            campaign.lambda = .1, DPOT_ERR_RANGE, "lambda is 0.1, but the exact solver has none");
    REFUSES(be_exact(&campaign); campaign.iterations = 9, DPOT_ERR_RANGE,
                                 "iterations is 9, but the exact solver has none");
    REFUSES(be_exact(&campaign); campaign.passes = 4097, DPOT_ERR_RANGE,
                                 "passes is 4097: choose 1 to 4096, or 0 for 64");
    REFUSES(campaign.passes = 64, DPOT_ERR_RANGE, "passes is 64, but only the exact solver has");
    REFUSES(be_exact(&campaign); campaign.n_max = 65, DPOT_ERR_RANGE,
                                 "n_max is 65: the exact solver is for 1 to 64 rows");
    REFUSES(be_exact(&campaign); campaign.n_max = 0, DPOT_ERR_RANGE, "n_max is 0");
    REFUSES(campaign.solver = (enum dpot_solver_id)2, DPOT_ERR_VERSION,
            "solver 2 is unknown to this build");
    REFUSES(be_exact(&campaign); campaign.mechanism = DPOT_MECHANISM_KPM, DPOT_ERR_RANGE,
                                 "solver is exact, but kpm does not project");
}

Test(campaign, solvers_have_names)
{
    cr_assert_str_eq(dpot_solver_name(DPOT_SOLVER_ENTROPIC), "entropic");
    cr_assert_str_eq(dpot_solver_name(DPOT_SOLVER_EXACT), "exact");
    cr_assert_null(dpot_solver_name((enum dpot_solver_id)2));
}

static void become(struct dpot_campaign *campaign, enum dpot_mechanism_id mechanism)
{
    campaign->mechanism = mechanism;
    campaign->lambda = 0;
    campaign->iterations = 0;
    campaign->sensitivity = mechanism == DPOT_MECHANISM_EXPONENTIAL ? 3 : 0;
}

Test(campaign, the_baselines_have_their_own_numbers_and_no_others)
{
    const enum dpot_mechanism_id ids[] = {DPOT_MECHANISM_KPM, DPOT_MECHANISM_EXPONENTIAL};
    for (size_t i = 0; i < 2; i++) {
        struct dpot_campaign own = make_campaign();
        become(&own, ids[i]);
        cr_assert_eq(dpot_campaign_check(&own, NULL), DPOT_OK);
        dpot_campaign_release(&own);
        REFUSES(become(&campaign, ids[i]);
                campaign.lambda = .1, DPOT_ERR_RANGE, "lambda is 0.1, but");
        REFUSES(become(&campaign, ids[i]);
                campaign.iterations = 9, DPOT_ERR_RANGE, "iterations is 9, but");
        REFUSES(become(&campaign, ids[i]); campaign.n_max = 0, DPOT_ERR_RANGE, "n_max is 0");
        REFUSES(become(&campaign, ids[i]);
                campaign.epsilon_q32 = 20 * DPOT_EPSILON_ONE + 1, DPOT_ERR_EPSILON, "at most 20");
        REFUSES(become(&campaign, ids[i]);
                campaign.base_measure.total = 0, DPOT_ERR_RANGE, "T of the base measure is 0");
    }
    REFUSES(campaign.sensitivity = 1, DPOT_ERR_RANGE, "sensitivity is 1, but wpm has none");
    REFUSES(become(&campaign, ids[0]);
            campaign.sensitivity = 1, DPOT_ERR_RANGE, "sensitivity is 1, but kpm has none");
    const double bad[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++) {
        REFUSES(become(&campaign, ids[1]);
                campaign.sensitivity = bad[i], DPOT_ERR_RANGE, "must be positive and finite");
    }
}

Test(campaign, the_base_measure_has_one_positive_code_a_point)
{
    const double one[] = {3};
    REFUSES(campaign.base_measure.total = 0, DPOT_ERR_RANGE, "T of the base measure is 0");
    REFUSES(campaign.base_measure.total = ((uint64_t)1 << 62) + 1, DPOT_ERR_RANGE, "2^62");
    REFUSES(campaign.base_measure.mass_code[4] = 0, DPOT_ERR_RANGE, "mass code 4");
    REFUSES(dpot_free_array(NULL, campaign.base_measure.mass_code, 6, 4);
            campaign.base_measure = (struct dpot_base_measure){0}, DPOT_ERR_SHAPE, "0 masses");
    struct dpot_campaign own = make_campaign();
    set_output(&own, 1, 1, one);
    own.base_measure.mass_code =
        dpot_resize_array(NULL, own.base_measure.mass_code, 6, 1, sizeof(uint32_t));
    own.base_measure.size = 1;
    assert_refused(&own, DPOT_ERR_RANGE, "1 output point");
}

Test(campaign, the_schedule_is_whole_seconds_in_order)
{
    REFUSES(campaign.opens_ms += 1, DPOT_ERR_RANGE, "opens is");
    REFUSES(campaign.opens_ms = -1000, DPOT_ERR_RANGE, "opens is");
    REFUSES(campaign.closes_ms = INT64_C(253402300800000), DPOT_ERR_RANGE, "closes is");
    REFUSES(campaign.closes_ms = INT64_MAX, DPOT_ERR_RANGE, "closes is");
    REFUSES(campaign.opens_ms = INT64_MIN, DPOT_ERR_RANGE, "opens is");
    REFUSES(campaign.closes_ms = campaign.opens_ms, DPOT_ERR_RANGE, "2026-12-01T00:00:00Z");
    REFUSES(campaign.rounds = 0, DPOT_ERR_RANGE, "rounds is 0");
    REFUSES(campaign.rounds = 100001, DPOT_ERR_RANGE, "rounds is 100001");
    REFUSES(campaign.closes_ms = opens_ms + 9000;
            campaign.rounds = 10, DPOT_ERR_RANGE, "at least one second");
}

Test(campaign, groups_are_different_labels)
{
    REFUSES(memcpy(campaign.groups[1], "north", 6), DPOT_ERR_RANGE, "both north");
    REFUSES(campaign.groups[1][0] = '\0', DPOT_ERR_RANGE, "group 1");
    REFUSES(campaign.groups[0][0] = '_', DPOT_ERR_RANGE, "group 0");
    REFUSES(memset(campaign.groups[1], 'a', sizeof campaign.groups[1]), DPOT_ERR_RANGE,
            "longer than 64");
    struct dpot_campaign own = make_campaign();
    struct dpot_error error;
    own.n_groups = 257;
    cr_assert_eq(dpot_campaign_check(&own, &error), DPOT_ERR_TOO_LARGE);
    own.n_groups = 2;
    dpot_campaign_release(&own);
}

Test(round, windows_tile_the_campaign)
{
    struct dpot_campaign campaign = make_campaign();
    uint32_t round = 99;
    campaign.rounds = 7;
    campaign.closes_ms = campaign.opens_ms + 10000;
    cr_assert_eq(dpot_campaign_round(&campaign, campaign.opens_ms - 1, &round), DPOT_ERR_NOT_OPEN);
    cr_assert_eq(dpot_campaign_round(&campaign, campaign.closes_ms, &round), DPOT_ERR_CLOSED);
    cr_assert_eq(round, 99);
    cr_assert_eq(dpot_campaign_round_opens(&campaign, 0), campaign.opens_ms);
    cr_assert_eq(dpot_campaign_round_closes(&campaign, 6), campaign.closes_ms);
    for (uint32_t r = 0; r < 7; r++) {
        const int64_t opens = dpot_campaign_round_opens(&campaign, r);
        const int64_t closes = dpot_campaign_round_closes(&campaign, r);
        cr_assert_eq(opens, campaign.opens_ms + r * 1428);
        cr_assert_eq(dpot_campaign_round(&campaign, opens, &round), DPOT_OK);
        cr_assert_eq(round, r);
        cr_assert_eq(dpot_campaign_round(&campaign, closes - 1, &round), DPOT_OK);
        cr_assert_eq(round, r);
    }
    dpot_campaign_release(&campaign);
}

Test(mechanism, every_name_finds_its_number)
{
    for (int id = DPOT_MECHANISM_WPM; id <= DPOT_MECHANISM_GAUSSIAN; id++) {
        enum dpot_mechanism_id found = DPOT_MECHANISM_WPM;
        const char *name = dpot_mechanism_name((enum dpot_mechanism_id)id);
        cr_assert_eq(dpot_mechanism_find(name, &found), DPOT_OK);
        cr_assert_eq((int)found, id);
    }
    enum dpot_mechanism_id found = DPOT_MECHANISM_KPM;
    cr_assert_null(dpot_mechanism_name((enum dpot_mechanism_id)6));
    cr_assert_eq(dpot_mechanism_find("snapping", &found), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(found, DPOT_MECHANISM_KPM);
}

Test(report, every_status_has_a_name_of_its_own)
{
    for (int i = DPOT_REPORT_ACCEPTED; i < DPOT_REPORT_STATUS_END; i++) {
        const char *name = dpot_report_status_name((enum dpot_report_status)i);
        cr_assert_not_null(name);
        for (int j = DPOT_REPORT_ACCEPTED; j < i; j++) {
            cr_assert_str_neq(name, dpot_report_status_name((enum dpot_report_status)j));
        }
    }
    cr_assert_str_eq(dpot_report_status_name(DPOT_REPORT_REJECTED_TEST), "rejected_test");
    cr_assert_null(dpot_report_status_name((enum dpot_report_status)0));
    cr_assert_null(dpot_report_status_name((enum dpot_report_status)DPOT_REPORT_STATUS_END));
}

#include "fixture.h"
#include "handmade.h"
#include "proto/wire_campaign.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(campaign_wire, .init = start_proto_suite);

typedef void make_campaign(struct dpot_campaign *campaign, const struct dpot_allocator *allocator);
static make_campaign *const makers[] = {make_grid_campaign,        make_points_campaign,
                                        make_ring_campaign,        make_kpm_campaign,
                                        make_exponential_campaign, make_sphere_campaign};
#define N_MAKERS (sizeof makers / sizeof makers[0])

static void expect_round_trip(const struct dpot_campaign *campaign)
{
    struct dpot_buf bytes, again;
    struct dpot_campaign decoded;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    dpot_buf_init(&again, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_campaign_encode(campaign, &bytes), DPOT_OK);
    cr_assert_eq(dpot_wire_campaign_decode(bytes.data, bytes.len, NULL, &decoded, &error), DPOT_OK,
                 "%s", error.text);
    expect_same_campaign(campaign, &decoded);
    cr_assert_eq(dpot_wire_campaign_encode(&decoded, &again), DPOT_OK);
    cr_assert_eq(bytes.len, again.len);
    cr_assert_arr_eq(bytes.data, again.data, bytes.len);
    dpot_campaign_release(&decoded);
    dpot_buf_release(&bytes);
    dpot_buf_release(&again);
}

Test(campaign_wire, every_field_survives_the_round_trip)
{
    for (size_t i = 0; i < N_MAKERS; i++) {
        struct dpot_campaign campaign;
        makers[i](&campaign, NULL);
        expect_round_trip(&campaign);
        dpot_campaign_release(&campaign);
    }
}

Test(campaign_wire, every_number_survives_at_its_extremes)
{
    struct dpot_campaign campaign;
    make_grid_campaign(&campaign, NULL);
    campaign.revision = UINT32_MAX;
    campaign.epsilon_q32 = UINT64_MAX;
    campaign.iterations = UINT32_MAX;
    campaign.passes = UINT32_MAX;
    campaign.n_max = UINT32_MAX;
    campaign.rounds = UINT32_MAX;
    campaign.min_pool = UINT64_MAX;
    campaign.opens_ms = INT64_C(-9223372036854775000);
    campaign.closes_ms = INT64_C(9223372036854775000);
    campaign.base_measure.total = UINT64_MAX;
    campaign.base_measure.mass_code[1] = 0;
    campaign.metric.ring_size = UINT32_MAX;
    campaign.metric.id = (enum dpot_metric_id)77;
    expect_round_trip(&campaign);
    dpot_campaign_release(&campaign);
}

Test(campaign_wire, a_solver_survives_whether_this_build_knows_it_or_not)
{
    const uint32_t solvers[] = {DPOT_SOLVER_EXACT, 2, UINT32_MAX};
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
        struct dpot_campaign campaign;
        make_grid_campaign(&campaign, NULL);
        campaign.solver = (enum dpot_solver_id)solvers[i];
        campaign.lambda = 0;
        campaign.iterations = 0;
        expect_round_trip(&campaign);
        dpot_campaign_release(&campaign);
    }
}

Test(campaign_wire, doubles_keep_their_bits)
{
    const double values[] = {0.1, 5e-324, 1.7976931348623157e308, (double)INFINITY, -1e-300};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct dpot_campaign campaign;
        make_grid_campaign(&campaign, NULL);
        campaign.lambda = values[i];
        campaign.cost_power = values[i];
        expect_round_trip(&campaign);
        dpot_campaign_release(&campaign);
    }
}

Test(campaign_wire, an_output_equal_to_the_domain_is_not_the_same_as_none)
{
    struct dpot_campaign campaign;
    make_ring_campaign(&campaign, NULL);
    cr_assert_not(campaign.output_is_domain);
    expect_round_trip(&campaign);
    campaign.output_is_domain = true;
    expect_round_trip(&campaign);
    dpot_campaign_release(&campaign);
}

Test(campaign_wire, the_encoder_writes_what_the_schema_says)
{
    struct dpot_campaign campaign;
    struct dpot_buf expected, actual;
    dpot_buf_init(&expected, BYTES_MAX, NULL);
    dpot_buf_init(&actual, BYTES_MAX, NULL);
    make_grid_campaign(&campaign, NULL);
    write_grid_campaign(&expected, &campaign, AS_IT_IS);
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &actual), DPOT_OK);
    cr_assert_eq(expected.len, actual.len);
    cr_assert_arr_eq(expected.data, actual.data, expected.len);
    dpot_campaign_release(&campaign);
    dpot_buf_release(&expected);
    dpot_buf_release(&actual);
}

Test(campaign_wire, what_has_no_wire_form_is_not_encoded)
{
    struct dpot_campaign campaign;
    struct dpot_buf out;
    dpot_buf_init(&out, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    make_grid_campaign(&campaign, NULL);
    campaign.opens_ms += 1;
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &out), DPOT_ERR_ARGUMENT);
    campaign.opens_ms -= 1;
    campaign.mechanism = DPOT_MECHANISM_LAPLACE;
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &out), DPOT_ERR_ARGUMENT);
    campaign.mechanism = DPOT_MECHANISM_WPM;
    campaign.n_groups = DPOT_GROUPS_MAX + 1;
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &out), DPOT_ERR_TOO_LARGE);
    campaign.n_groups = 0;
    const enum dpot_domain_type type = campaign.domain.type;
    campaign.domain.type = (enum dpot_domain_type)9;
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &out), DPOT_ERR_ARGUMENT);
    campaign.domain.type = type;
    cr_assert_eq(out.len, 0);
    dpot_campaign_release(&campaign);
    dpot_buf_release(&out);
}

static void expect_no_wire_form(const struct dpot_campaign *campaign)
{
    struct dpot_buf out;
    dpot_buf_init(&out, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_campaign_encode(campaign, &out), DPOT_ERR_ARGUMENT);
    cr_assert_eq(out.len, 0);
    dpot_buf_release(&out);
}

Test(campaign_wire, a_number_that_its_mechanism_has_no_field_for_is_not_dropped)
{
    struct dpot_campaign wpm, kpm, exponential, solver;
    make_grid_campaign(&wpm, NULL);
    wpm.sensitivity = 1;
    expect_no_wire_form(&wpm);
    make_kpm_campaign(&solver, NULL);
    solver.solver = DPOT_SOLVER_EXACT;
    expect_no_wire_form(&solver);
    dpot_campaign_release(&solver);
    make_kpm_campaign(&kpm, NULL);
    kpm.lambda = 1;
    expect_no_wire_form(&kpm);
    kpm.lambda = 0;
    kpm.passes = 1;
    expect_no_wire_form(&kpm);
    kpm.passes = 0;
    kpm.sensitivity = 1;
    expect_no_wire_form(&kpm);
    make_exponential_campaign(&exponential, NULL);
    exponential.iterations = 1;
    expect_no_wire_form(&exponential);
    dpot_campaign_release(&wpm);
    dpot_campaign_release(&kpm);
    dpot_campaign_release(&exponential);
}

Test(campaign_wire, a_campaign_above_its_limit_is_not_encoded)
{
    struct dpot_campaign campaign;
    struct dpot_buf out;
    const uint32_t size = DPOT_DOMAIN_SIZE_MAX;
    double *points = dpot_alloc_array(NULL, 2 * (size_t)size, sizeof *points);
    cr_assert_not_null(points);
    dpot_buf_init(&out, 4 * DPOT_CAMPAIGN_BYTES_MAX, NULL);
    make_grid_campaign(&campaign, NULL);
    dpot_domain_release(&campaign.domain);
    cr_assert_eq(dpot_domain_init_points(&campaign.domain, size, 2, points, NULL, NULL), DPOT_OK);
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &out), DPOT_ERR_TOO_LARGE);
    dpot_free_array(NULL, points, 2 * (size_t)size, sizeof *points);
    dpot_campaign_release(&campaign);
    dpot_buf_release(&out);
}

Test(campaign_wire, the_largest_allowed_number_of_groups_and_bytes_passes)
{
    struct dpot_campaign campaign;
    const uint32_t size = 500000;
    double *points = dpot_alloc_array(NULL, 2 * (size_t)size, sizeof *points);
    cr_assert_not_null(points);
    make_points_campaign(&campaign, NULL);
    dpot_domain_release(&campaign.domain);
    cr_assert_eq(dpot_domain_init_points(&campaign.domain, size, 2, points, NULL, NULL), DPOT_OK);
    dpot_free_array(NULL, campaign.groups, campaign.n_groups, sizeof *campaign.groups);
    campaign.groups = dpot_alloc_array(NULL, DPOT_GROUPS_MAX, sizeof *campaign.groups);
    campaign.n_groups = DPOT_GROUPS_MAX;
    expect_round_trip(&campaign);
    dpot_free_array(NULL, points, 2 * (size_t)size, sizeof *points);
    dpot_campaign_release(&campaign);
}

Test(campaign_wire, encoding_survives_every_failed_allocation)
{
    for (size_t n = 1;; n++) {
        struct test_allocator heap;
        struct dpot_campaign campaign;
        struct dpot_buf out;
        test_allocator_init(&heap);
        make_points_campaign(&campaign, &heap.allocator);
        dpot_buf_init(&out, DPOT_CAMPAIGN_BYTES_MAX, &heap.allocator);
        test_allocator_fail_at(&heap, n);
        const dpot_status status = dpot_wire_campaign_encode(&campaign, &out);
        dpot_buf_release(&out);
        dpot_campaign_release(&campaign);
        cr_assert_eq(heap.bytes, 0);
        if (status == DPOT_OK) {
            break;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
    }
}

Test(campaign_wire, decoding_survives_every_failed_allocation)
{
    static const struct dpot_campaign empty;
    struct dpot_campaign campaign, decoded;
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    make_points_campaign(&campaign, NULL);
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &bytes), DPOT_OK);
    size_t n = 1;
    for (;; n++) {
        struct test_allocator heap;
        struct dpot_error error = {""};
        test_allocator_init(&heap);
        test_allocator_fail_at(&heap, n);
        const dpot_status status =
            dpot_wire_campaign_decode(bytes.data, bytes.len, &heap.allocator, &decoded, &error);
        if (status == DPOT_OK) {
            dpot_campaign_release(&decoded);
            cr_assert_eq(heap.bytes, 0);
            break;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
        cr_assert_neq(error.text[0], '\0');
        cr_assert_arr_eq(&decoded, &empty, sizeof empty);
        cr_assert_eq(heap.bytes, 0);
    }
    cr_assert_geq(n, 5, "only %zu allocations were made", n);
    dpot_campaign_release(&campaign);
    dpot_buf_release(&bytes);
}

/* Vectors through the client: what is refused before the data are read, and what arrives. */
#include "mechanism/gauss_certificate.h"
#include "support/allocator.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct authority authority;
static struct world world;

static void set_up(void)
{
    authority_init(&authority, 30);
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    world_init(&world, &authority, 1);
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(vectors, .init = set_up, .fini = tear_down);

Test(vectors, a_report_of_a_vector_is_charged_once_and_arrives_once)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    cr_assert_eq(world.received[0].report.n_values, VECTOR_DIM);
    cr_assert_eq(world.n_uncharged, 0);
    const struct dpot_client_status status = world_status(client);
    cr_assert_float_eq(status.spent_epsilon, 1, 1e-9);
    assert_conserved(&status);
    dpot_client_close(client);
}

Test(vectors, a_retry_after_a_restart_sends_the_same_numbers)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    test_transport_script(
        &world.network, (struct test_script){.failure = DPOT_ERR_NETWORK, .reaches_server = true});
    (void)!world_pump(&world, client, NULL);
    dpot_client_close(client);
    client = world_open(&world);
    world.clock.now_ms += 3600 * 1000;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 2);
    cr_assert_eq(world_count_contradictions(&world), 0);
    cr_assert_eq(world_status(client).n_duplicate, 1);
    dpot_client_close(client);
}

Test(vectors, data_of_another_kind_or_length_are_refused_unread_and_uncharged)
{
    const double place = 1, histogram[RING_SIZE] = {1}, vector[VECTOR_DIM + 1] = {0};
    const uint8_t *id = authority.campaign.id;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_submit_points(client, id, &place, NULL, 1, 1, NULL), DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "dpot_client_submit_vector"));
    cr_assert_eq(dpot_client_submit_histogram(client, id, histogram, RING_SIZE, NULL),
                 DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_client_submit_vector(client, id, vector, VECTOR_DIM + 1, NULL),
                 DPOT_ERR_SHAPE);
    cr_assert_eq(world_status(client).n_submitted, 0);
    dpot_client_close(client);
}

Test(vectors, without_a_vector_its_length_is_not_checked)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_submit_vector(client, authority.campaign.id, NULL, 0, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    cr_assert_eq(world.received[0].report.n_values, VECTOR_DIM);
    dpot_client_close(client);
}

/* Every vector leads to a report, of the same size and in the public range. */
Test(vectors, no_number_makes_a_submit_fail)
{
    static const double bad[] = {NAN, -NAN, INFINITY, -INFINITY, 1e308, 5e-324, -0.0, 1e-310};
    const uint8_t *id = authority.campaign.id;
    dpot_client *client = world_enroll(&world);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double vector[VECTOR_DIM];
        for (size_t j = 0; j < VECTOR_DIM; j++) {
            vector[j] = bad[(i + j % 2) % (sizeof bad / sizeof bad[0])];
        }
        world.clock.now_ms = OPENS_MS + (int64_t)i * DAY_MS;
        cr_assert_eq(dpot_client_submit_vector(client, id, vector, VECTOR_DIM, NULL), DPOT_OK);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    }
    world.clock.now_ms = OPENS_MS + 20 * DAY_MS;
    cr_assert_eq(dpot_client_submit_vector(client, id, NULL, VECTOR_DIM, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 9);
    for (size_t i = 0; i < world.n_received; i++) {
        cr_assert_eq(world.received[i].report.n_values, VECTOR_DIM);
    }
    dpot_client_close(client);
}

/* ---- hostile campaigns ---- */

static void expect_refused(struct dpot_campaign campaign, dpot_status status)
{
    struct dpot_buf bytes;
    dpot_client *client = world_open(&world);
    authority_sign_campaign(&authority, &campaign, &bytes);
    cr_assert_eq(dpot_client_import(client, bytes.data, bytes.len, NULL), status, "%s",
                 dpot_client_last_error(client));
    cr_assert_eq(dpot_client_submit_vector(client, campaign.id, NULL, VECTOR_DIM, NULL),
                 DPOT_ERR_NOT_FOUND);
    cr_assert_eq(world_status(client).n_submitted, 0);
    dpot_buf_release(&bytes);
    dpot_client_close(client);
}

Test(vectors, a_campaign_that_claims_less_than_its_set_costs_is_refused)
{
    struct dpot_campaign campaign = authority.campaign;
    campaign.vector.radius = 1024; /* D1 = 2048 = t: epsilon 1 and one unit more */
    expect_refused(campaign, DPOT_ERR_EPSILON);
    campaign = authority.campaign;
    campaign.epsilon_q32 = DPOT_EPSILON_ONE / 2;
    expect_refused(campaign, DPOT_ERR_EPSILON);
    campaign = authority.campaign;
    campaign.noise.scale_log2 = 10;
    expect_refused(campaign, DPOT_ERR_EPSILON);
}

Test(vectors, numbers_out_of_their_ranges_are_refused)
{
    static const double steps[] = {0, -1, NAN, INFINITY, 1e-300, 1e300};
    struct dpot_campaign campaign;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        campaign = authority.campaign;
        campaign.vector.grid_step = steps[i];
        expect_refused(campaign, DPOT_ERR_RANGE);
        campaign = authority.campaign;
        campaign.vector.inverse_step = steps[i];
        expect_refused(campaign, DPOT_ERR_RANGE);
    }
    static const uint32_t scales[] = {0, 41, 63, 64, UINT32_MAX};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        campaign = authority.campaign;
        campaign.noise.scale_log2 = scales[i];
        expect_refused(campaign, DPOT_ERR_RANGE);
    }
    campaign = authority.campaign;
    campaign.vector.dim = DPOT_VECTOR_DIM_MAX + 1;
    expect_refused(campaign, DPOT_ERR_RANGE);
    campaign.vector.dim = 0;
    expect_refused(campaign, DPOT_ERR_RANGE);
    campaign = authority.campaign;
    campaign.vector.radius = UINT64_MAX; /* its double wraps */
    expect_refused(campaign, DPOT_ERR_RANGE);
    campaign.vector.radius = 0;
    expect_refused(campaign, DPOT_ERR_RANGE);
    campaign = authority.campaign;
    campaign.epsilon_q32 = ((uint64_t)20 << 32) + 1;
    expect_refused(campaign, DPOT_ERR_EPSILON);
    campaign.epsilon_q32 = UINT64_MAX;
    expect_refused(campaign, DPOT_ERR_EPSILON);
}

/* Two sides of 2^32: the sum of their squares is 2^65, which wraps to 0 in 64 bits. */
Test(vectors, sums_that_wrap_in_64_bits_do_not_count_as_small)
{
    int64_t lo[2] = {0, 0}, hi[2] = {(int64_t)1 << 32, (int64_t)1 << 32};
    struct dpot_campaign campaign = authority.campaign;
    campaign.vector = (struct dpot_vector_domain){.set = DPOT_VECTOR_BOX,
                                                  .dim = 2,
                                                  .n_sides = 2,
                                                  .lo = lo,
                                                  .hi = hi,
                                                  .grid_step = 1,
                                                  .inverse_step = 1};
    campaign.epsilon_q32 = DPOT_EPSILON_ONE;
    campaign.noise.scale_log2 = 30;
    expect_refused(campaign, DPOT_ERR_EPSILON); /* D1 2^32 = 2^65 too */
    campaign.mechanism = DPOT_MECHANISM_GAUSSIAN;
    campaign.epsilon_q32 = 0;
    campaign.noise = (struct dpot_noise_parameters){.scale_log2 = 24, .certificate_row = 2000};
    expect_refused(campaign, DPOT_ERR_RANGE);
}

static struct dpot_campaign gaussian_campaign(uint64_t epsilon_q32)
{
    struct dpot_campaign campaign = authority.campaign;
    campaign.mechanism = DPOT_MECHANISM_GAUSSIAN;
    campaign.epsilon_q32 = 0;
    campaign.vector.set = DPOT_VECTOR_L2_BALL;
    campaign.noise.scale_log2 = 14;
    cr_assert_eq(dpot_gauss_row_find(epsilon_q32, UINT64_C(184467440737095), VECTOR_DIM,
                                     &campaign.noise.certificate_row, NULL),
                 DPOT_OK);
    return campaign;
}

Test(vectors, a_certificate_row_that_does_not_match_is_refused)
{
    struct dpot_campaign campaign = gaussian_campaign(DPOT_EPSILON_ONE / 10);
    campaign.vector.radius = 10000;
    expect_refused(campaign, DPOT_ERR_EPSILON);
    campaign = gaussian_campaign(DPOT_EPSILON_ONE);
    campaign.noise.certificate_row = dpot_gauss_row_count() + 1;
    expect_refused(campaign, DPOT_ERR_RANGE);
    campaign = gaussian_campaign((uint64_t)30 << 32);
    expect_refused(campaign, DPOT_ERR_EPSILON); /* above 20: simulations only */
    campaign = gaussian_campaign(DPOT_EPSILON_ONE);
    campaign.noise.certificate_row = 0;
    expect_refused(campaign, DPOT_ERR_EPSILON); /* a rho, and no zCDP account */
}

static void choose_zcdp(double rho)
{
    world.config.accountant = DPOT_ACCOUNTANT_ZCDP;
    world.config.campaign_epsilon_cap = 0;
    world.config.window_epsilon_cap = 0;
    world.config.lifetime_epsilon_cap = 0;
    world.config.campaign_rho_cap = world.config.window_rho_cap = world.config.lifetime_rho_cap =
        rho;
}

/* A diameter of 4 sigma is rho 8; beyond, the cut of the noise would show, whatever the caps
 * say. */
Test(vectors, a_rho_above_eight_is_refused_by_zcdp_installs_too)
{
    char statement[1024];
    struct dpot_buf bytes;
    struct dpot_campaign campaign = gaussian_campaign(DPOT_EPSILON_ONE);
    campaign.noise = (struct dpot_noise_parameters){.scale_log2 = 8};
    campaign.vector.radius = 513;
    choose_zcdp(1000);
    expect_refused(campaign, DPOT_ERR_EPSILON);
    campaign.vector.radius = 512;
    authority_sign_campaign(&authority, &campaign, &bytes);
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_import(client, bytes.data, bytes.len, NULL), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    cr_assert_eq(dpot_client_submit_vector(client, campaign.id, NULL, VECTOR_DIM, NULL), DPOT_OK);
    cr_assert_eq(dpot_client_get_statement(client, statement, sizeof statement), DPOT_OK);
    cr_assert_not_null(strstr(statement, "about epsilon 29.0"), "%s", statement);
    dpot_buf_release(&bytes);
    dpot_client_close(client);
}

Test(vectors, a_delta_that_no_cap_allows_is_not_spent)
{
    struct dpot_buf bytes;
    const struct dpot_campaign campaign = gaussian_campaign(DPOT_EPSILON_ONE);
    authority_sign_campaign(&authority, &campaign, &bytes);
    for (int is_capped = 0; is_capped < 2; is_capped++) {
        const double cap = is_capped ? 1e-5 : 9e-6;
        world.config.campaign_delta_cap = cap;
        world.config.window_delta_cap = world.config.lifetime_delta_cap = 1e-3;
        dpot_client *client = world_open(&world);
        cr_assert_eq(dpot_client_import(client, bytes.data, bytes.len, NULL), DPOT_OK);
        const dpot_status status =
            dpot_client_submit_vector(client, campaign.id, NULL, VECTOR_DIM, NULL);
        cr_assert_eq(status, is_capped ? DPOT_OK : DPOT_ERR_BUDGET);
        cr_assert(is_capped || strstr(dpot_client_last_error(client), "delta"));
        cr_assert_eq(world_status(client).spent_delta > 0, is_capped);
        dpot_client_close(client);
    }
    dpot_buf_release(&bytes);
}

/* A vector of 2^20 numbers needs some 30 MB: with less the submit is refused before the charge. */
Test(vectors, a_vector_that_does_not_fit_into_memory_is_refused_uncharged)
{
    struct dpot_campaign campaign = authority.campaign;
    struct dpot_buf bytes;
    campaign.vector.dim = DPOT_VECTOR_DIM_MAX;
    authority_sign_campaign(&authority, &campaign, &bytes);
    struct test_allocator heap;
    test_allocator_init(&heap);
    heap.bytes_max = 4 << 20;
    world.config.allocator = &heap.allocator;
    world.config.spool_max_bytes = 0;
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_import(client, bytes.data, bytes.len, NULL), DPOT_OK);
    cr_assert_eq(dpot_client_submit_vector(client, campaign.id, NULL, DPOT_VECTOR_DIM_MAX, NULL),
                 DPOT_ERR_MEMORY);
    cr_assert_eq(world_status(client).n_submitted, 0);
    dpot_client_close(client);
    cr_assert_eq(heap.bytes, 0);
    dpot_buf_release(&bytes);
}

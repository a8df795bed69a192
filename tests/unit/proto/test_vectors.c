/* Vector campaigns and vector reports on the wire. */
#include "fixture.h"
#include "proto/wire_campaign.h"
#include "proto/wire_inner.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <string.h>

enum { DIM = 3, BYTES_MAX = 1 << 20 };

TestSuite(vector_wire, .init = start_proto_suite);

/* Borrows its arrays; must not be released. */
static struct dpot_campaign laplace_campaign(void)
{
    static int64_t lo[] = {-5, -((int64_t)1 << 40), 0}, hi[] = {5, (int64_t)1 << 40, 1};
    struct dpot_campaign campaign = {
        .revision = 7,
        .name = "noise",
        .metric = {.id = DPOT_METRIC_EUCLIDEAN},
        .cost_power = 1,
        .mechanism = DPOT_MECHANISM_LAPLACE,
        .epsilon_q32 = (uint64_t)3 << 31,
        .vector = {.set = DPOT_VECTOR_BOX,
                   .dim = DIM,
                   .n_sides = DIM,
                   .lo = lo,
                   .hi = hi,
                   .grid_step = 0.1,
                   .inverse_step = 10},
        .noise = {.scale_log2 = 40},
        .rounds = 1,
        .opens_ms = 1000,
        .closes_ms = 5000,
        .min_pool = 1,
    };
    memset(campaign.id, 0x5a, sizeof campaign.id);
    return campaign;
}

static struct dpot_campaign gaussian_campaign(void)
{
    static uint32_t keep[] = {0, 4, 9};
    struct dpot_campaign campaign = laplace_campaign();
    campaign.mechanism = DPOT_MECHANISM_GAUSSIAN;
    campaign.epsilon_q32 = 0;
    campaign.noise = (struct dpot_noise_parameters){.scale_log2 = 12, .certificate_row = 3000};
    campaign.vector = (struct dpot_vector_domain){
        .set = DPOT_VECTOR_L2_BALL,
        .dim = DIM,
        .radius = DPOT_VECTOR_L2_RADIUS_MAX,
        .grid_step = 0.5,
        .inverse_step = 2,
        .transform = {DPOT_TRANSFORM_DCT, 2, 5, DIM, keep},
    };
    return campaign;
}

static void expect_same_vector(const struct dpot_vector_domain *a,
                               const struct dpot_vector_domain *b)
{
    cr_assert_eq(a->set, b->set);
    cr_assert_eq(a->dim, b->dim);
    cr_assert_eq(a->radius, b->radius);
    cr_assert_eq(a->n_sides, b->n_sides);
    for (uint32_t j = 0; j < a->n_sides; j++) {
        cr_assert_eq(a->lo[j], b->lo[j]);
        cr_assert_eq(a->hi[j], b->hi[j]);
    }
    cr_assert_eq(memcmp(&a->grid_step, &b->grid_step, sizeof a->grid_step), 0);
    cr_assert_eq(memcmp(&a->inverse_step, &b->inverse_step, sizeof a->inverse_step), 0);
    cr_assert_eq(a->transform.id, b->transform.id);
    cr_assert_eq(a->transform.rows, b->transform.rows);
    cr_assert_eq(a->transform.cols, b->transform.cols);
    cr_assert_eq(a->transform.n_keep, b->transform.n_keep);
    for (uint32_t i = 0; i < a->transform.n_keep; i++) {
        cr_assert_eq(a->transform.keep[i], b->transform.keep[i]);
    }
}

static void expect_round_trip(const struct dpot_campaign *campaign)
{
    struct dpot_campaign decoded;
    struct dpot_buf bytes;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_campaign_encode(campaign, &bytes), DPOT_OK);
    cr_assert_eq(dpot_wire_campaign_decode(bytes.data, bytes.len, NULL, &decoded, &error), DPOT_OK,
                 "%s", error.text);
    expect_same_vector(&campaign->vector, &decoded.vector);
    cr_assert_eq(decoded.mechanism, campaign->mechanism);
    cr_assert_eq(decoded.epsilon_q32, campaign->epsilon_q32);
    cr_assert_eq(decoded.noise.scale_log2, campaign->noise.scale_log2);
    cr_assert_eq(decoded.noise.certificate_row, campaign->noise.certificate_row);
    cr_assert_eq(decoded.domain.size, 0);
    cr_assert_eq(dpot_campaign_check(&decoded, &error), DPOT_OK, "%s", error.text);
    /* A cut inside of the vector is refused; a cut between fields gives another campaign. */
    size_t n_refused = 0;
    for (size_t len = 0; len < bytes.len; len++) {
        struct dpot_campaign cut;
        n_refused += dpot_wire_campaign_decode(bytes.data, len, NULL, &cut, NULL) != DPOT_OK;
        dpot_campaign_release(&cut);
    }
    cr_assert_geq(n_refused, bytes.len - 8);
    dpot_campaign_release(&decoded);
    dpot_buf_release(&bytes);
}

Test(vector_wire, boxes_balls_and_transforms_survive_the_round_trip)
{
    struct dpot_campaign campaign = laplace_campaign();
    expect_round_trip(&campaign);
    campaign.vector.n_sides = 1;
    expect_round_trip(&campaign);
    campaign.vector = (struct dpot_vector_domain){.set = DPOT_VECTOR_L1_BALL,
                                                  .dim = DIM,
                                                  .radius = (uint64_t)1 << 40,
                                                  .grid_step = 1,
                                                  .inverse_step = 1};
    expect_round_trip(&campaign);
    campaign = gaussian_campaign();
    expect_round_trip(&campaign);
    campaign.noise.certificate_row = 0;
    expect_round_trip(&campaign);
}

Test(vector_wire, numbers_of_another_mechanism_are_not_encoded)
{
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    struct dpot_campaign campaign = gaussian_campaign();
    campaign.epsilon_q32 = 1;
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &bytes), DPOT_ERR_ARGUMENT);
    campaign = laplace_campaign();
    campaign.noise.certificate_row = 1;
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &bytes), DPOT_ERR_ARGUMENT);
    campaign = laplace_campaign();
    campaign.n_max = 1;
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &bytes), DPOT_ERR_ARGUMENT);
    campaign = laplace_campaign();
    campaign.vector.set = (enum dpot_vector_set)9;
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &bytes), DPOT_ERR_ARGUMENT);
    dpot_buf_release(&bytes);
}

Test(vector_wire, decoding_a_vector_campaign_survives_every_failed_allocation)
{
    const struct dpot_campaign campaigns[] = {laplace_campaign(), gaussian_campaign()};
    for (size_t c = 0; c < 2; c++) {
        struct dpot_buf bytes;
        dpot_buf_init(&bytes, BYTES_MAX, NULL);
        cr_assert_eq(dpot_wire_campaign_encode(&campaigns[c], &bytes), DPOT_OK);
        dpot_status status = DPOT_ERR_MEMORY;
        for (size_t n = 1; status == DPOT_ERR_MEMORY; n++) {
            struct test_allocator heap;
            test_allocator_init(&heap);
            test_allocator_fail_at(&heap, n);
            struct dpot_campaign decoded;
            status =
                dpot_wire_campaign_decode(bytes.data, bytes.len, &heap.allocator, &decoded, NULL);
            if (status == DPOT_OK) {
                dpot_campaign_release(&decoded);
            }
            cr_assert_eq(heap.bytes, 0);
        }
        cr_assert_eq(status, DPOT_OK);
        dpot_buf_release(&bytes);
    }
}

Test(vector_wire, values_of_every_size_and_sign_survive_a_batch)
{
    int64_t first[] = {0, -1, 1, INT64_MIN, INT64_MAX}, second[] = {42};
    struct dpot_report reports[] = {{.id = {1}, .n_values = 5, .values = first},
                                    {.id = {2}, .index = 9},
                                    {.id = {3}, .n_values = 1, .values = second, .test = true}};
    const struct dpot_batch batch = {.round = 4, .n_reports = 3, .reports = reports};
    struct dpot_batch decoded;
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_batch_encode(&batch, &bytes), DPOT_OK);
    cr_assert_eq(dpot_wire_batch_decode(bytes.data, bytes.len, NULL, &decoded, NULL), DPOT_OK);
    cr_assert_eq(decoded.n_reports, 3);
    cr_assert_eq(decoded.reports[0].n_values, 5);
    cr_assert_eq(memcmp(decoded.reports[0].values, first, sizeof first), 0);
    cr_assert_eq(decoded.reports[1].n_values, 0);
    cr_assert_eq(decoded.reports[1].index, 9);
    cr_assert_eq(decoded.reports[2].values[0], 42);
    cr_assert(decoded.reports[2].test);
    dpot_batch_release(&decoded);
    dpot_buf_release(&bytes);
}

/* Short inputs that demand much: refused quickly, in memory proportional to their length. */
#include "fixture.h"
#include "handmade.h"
#include "proto/wire_campaign.h"
#include "proto/wire_inner.h"

#include <criterion/criterion.h>
#include <string.h>

static struct dpot_buf bytes;
static struct peak_allocator heap;

static void start(void)
{
    start_proto_suite();
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    peak_allocator_init(&heap);
}

static void stop(void)
{
    cr_assert_eq(heap.held, 0);
    dpot_buf_release(&bytes);
}

TestSuite(hostile, .init = start, .fini = stop);

static dpot_status decode_campaign(void)
{
    struct dpot_campaign campaign;
    const dpot_status status =
        dpot_wire_campaign_decode(bytes.data, bytes.len, &heap.allocator, &campaign, NULL);
    dpot_campaign_release(&campaign);
    return status;
}

static dpot_status decode_batch(void)
{
    struct dpot_batch batch;
    const dpot_status status =
        dpot_wire_batch_decode(bytes.data, bytes.len, &heap.allocator, &batch, NULL);
    dpot_batch_release(&batch);
    return status;
}

/* A length of 2^31 - 1 in a few bytes, inside of `depth` valid messages. */
static void claim_much(const uint32_t *path, size_t depth)
{
    struct dpot_buf inner, outer;
    dpot_buf_init(&inner, BYTES_MAX, NULL);
    put_tag(&inner, path[depth - 1], BYTES);
    put_varint(&inner, INT32_MAX);
    put_raw(&inner, "abcd", 4);
    for (size_t i = depth - 1; i-- > 0;) {
        dpot_buf_init(&outer, BYTES_MAX, NULL);
        put_bytes(&outer, path[i], inner.data, inner.len);
        dpot_buf_release(&inner);
        inner = outer;
    }
    put_raw(&bytes, inner.data, inner.len);
    dpot_buf_release(&inner);
}

Test(hostile, a_claimed_length_of_two_gigabytes_takes_no_memory)
{
    static const uint32_t paths[][3] = {{5, 1, 2},  {5, 2, 1}, {5, 2, 3},   {10, 6, 1},
                                        {24, 0, 0}, {2, 0, 0}, {5, 0, 0},   {10, 6, 0},
                                        {6, 1, 2},  {4, 0, 0}, {1000, 0, 0}};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const size_t depth = paths[i][1] == 0 ? 1 : paths[i][2] == 0 ? 2 : 3;
        dpot_buf_reset(&bytes);
        put_number(&bytes, 1, 1);
        claim_much(paths[i], depth);
        cr_assert_eq(decode_campaign(), DPOT_ERR_MALFORMED);
        cr_assert_eq(heap.held, 0);
    }
    cr_assert_leq(heap.peak, 64u << 10);
}

Test(hostile, a_batch_that_claims_two_gigabytes_takes_no_memory)
{
    static const uint32_t paths[][3] = {{1, 0, 0}, {3, 0, 0}, {3, 1, 0}, {3, 3, 1}};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const size_t depth = paths[i][1] == 0 ? 1 : paths[i][2] == 0 ? 2 : 3;
        dpot_buf_reset(&bytes);
        claim_much(paths[i], depth);
        cr_assert_eq(decode_batch(), DPOT_ERR_MALFORMED);
        cr_assert_eq(heap.held, 0);
    }
    cr_assert_leq(heap.peak, 64u << 10);
}

Test(hostile, millions_of_empty_reports_hit_the_ceiling)
{
    const uint8_t hash[DPOT_HASH_LEN] = {0};
    put_bytes(&bytes, 1, hash, sizeof hash);
    while (bytes.len < (6u << 20)) {
        put_bytes(&bytes, 3, NULL, 0);
    }
    cr_assert_eq(decode_batch(), DPOT_ERR_TOO_LARGE);
    cr_assert_leq(heap.peak, 12 * bytes.len + (2u << 20));
}

Test(hostile, millions_of_unknown_fields_hit_the_ceiling)
{
    while (bytes.len < (6u << 20)) {
        put_number(&bytes, 15, 1);
    }
    cr_assert_eq(decode_batch(), DPOT_ERR_VERSION);
    cr_assert_eq(heap.peak, 0);
    cr_assert_eq(decode_campaign(), DPOT_ERR_TOO_LARGE);
    cr_assert_leq(heap.peak, 16 * bytes.len + (64u << 10));
}

/* Merging the pieces of one message copies the earlier ones: quadratic unless limited. */
Test(hostile, a_domain_in_a_hundred_thousand_pieces_hits_the_ceiling)
{
    struct dpot_buf points, domain;
    dpot_buf_init(&points, BYTES_MAX, NULL);
    dpot_buf_init(&domain, BYTES_MAX, NULL);
    put_double(&points, 2, 1);
    put_bytes(&domain, 1, points.data, points.len);
    put_number(&bytes, 1, 1);
    for (int i = 0; i < 100000; i++) {
        put_bytes(&bytes, 5, domain.data, domain.len);
    }
    cr_assert_neq(decode_campaign(), DPOT_OK);
    cr_assert_leq(heap.peak, 16 * bytes.len + (64u << 10));
    dpot_buf_release(&points);
    dpot_buf_release(&domain);
}

/* The schema nests three deep; deeper nesting is always unknown content, which is not parsed. */
Test(hostile, a_nesting_bomb_is_not_descended_into)
{
    struct dpot_buf inner, outer;
    dpot_buf_init(&inner, BYTES_MAX, NULL);
    for (int depth = 0; depth < 3000; depth++) {
        dpot_buf_init(&outer, BYTES_MAX, NULL);
        put_bytes(&outer, 5, inner.data, inner.len);
        dpot_buf_release(&inner);
        inner = outer;
    }
    put_number(&bytes, 1, 1);
    put_raw(&bytes, inner.data, inner.len);
    cr_assert_eq(decode_campaign(), DPOT_ERR_VERSION);
    dpot_buf_release(&inner);
}

Test(hostile, a_bomb_of_groups_is_malformed)
{
    put_number(&bytes, 1, 1);
    for (int depth = 0; depth < 100000; depth++) {
        put_tag(&bytes, 5, GROUP_START);
    }
    cr_assert_eq(decode_campaign(), DPOT_ERR_MALFORMED);
    cr_assert_eq(decode_batch(), DPOT_ERR_MALFORMED);
}

Test(hostile, every_field_with_every_wire_type_is_refused_or_read)
{
    const uint8_t content[16] = {2, 8, 1, 0};
    for (uint32_t field = 1; field < 40; field++) {
        for (unsigned wire_type = 0; wire_type < 8; wire_type++) {
            dpot_buf_reset(&bytes);
            put_number(&bytes, 1, 1);
            put_tag(&bytes, field, wire_type);
            put_raw(&bytes, content, sizeof content);
            cr_assert_neq(decode_campaign(), DPOT_OK);
            cr_assert_neq(decode_batch(), DPOT_OK);
        }
    }
}

Test(hostile, a_point_of_too_many_coordinates_is_refused)
{
    struct dpot_buf points, domain;
    const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {1};
    dpot_buf_init(&points, BYTES_MAX, NULL);
    dpot_buf_init(&domain, BYTES_MAX, NULL);
    put_number(&points, 1, DPOT_DOMAIN_DIM_MAX + 1);
    put_bytes(&domain, 1, points.data, points.len);
    put_number(&bytes, 1, 1);
    put_bytes(&bytes, 2, id, sizeof id);
    put_bytes(&bytes, 5, domain.data, domain.len);
    cr_assert_eq(decode_campaign(), DPOT_ERR_MALFORMED);
    dpot_buf_release(&points);
    dpot_buf_release(&domain);
}

Test(hostile, one_group_too_many_is_refused)
{
    struct dpot_campaign campaign;
    make_grid_campaign(&campaign, NULL);
    write_grid_campaign(&bytes, &campaign, AS_IT_IS);
    for (int i = 0; i < DPOT_GROUPS_MAX; i++) {
        put_bytes(&bytes, 24, "a", 1);
    }
    cr_assert_eq(decode_campaign(), DPOT_OK);
    put_bytes(&bytes, 24, "a", 1);
    cr_assert_eq(decode_campaign(), DPOT_ERR_TOO_LARGE);
    dpot_campaign_release(&campaign);
}

Test(hostile, one_mass_code_too_many_is_refused)
{
    struct dpot_campaign campaign;
    const uint32_t size = DPOT_DOMAIN_SIZE_MAX + 1;
    make_grid_campaign(&campaign, NULL);
    dpot_free_array(NULL, campaign.base_measure.mass_code, campaign.base_measure.size,
                    sizeof *campaign.base_measure.mass_code);
    campaign.base_measure.mass_code =
        dpot_alloc_array(NULL, size, sizeof *campaign.base_measure.mass_code);
    campaign.base_measure.size = size;
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &bytes), DPOT_OK);
    cr_assert_eq(decode_campaign(), DPOT_ERR_TOO_LARGE);
    dpot_campaign_release(&campaign);
}

/* Each campaign has exactly one byte string: every other encoding of the same campaign is refused.
 */
#include "fixture.h"
#include "handmade.h"
#include "proto/wire_campaign.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(canonical, .init = start_proto_suite);

static void expect_refusal(enum twist twist, dpot_status expected, const char *sentence)
{
    static const struct dpot_campaign empty;
    struct dpot_campaign campaign, decoded;
    struct dpot_buf bytes;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    make_grid_campaign(&campaign, NULL);
    write_grid_campaign(&bytes, &campaign, twist);
    const dpot_status status =
        dpot_wire_campaign_decode(bytes.data, bytes.len, NULL, &decoded, &error);
    cr_assert_eq(status, expected, "twist %d: %s, %s", (int)twist, dpot_status_name(status),
                 error.text);
    cr_assert_not_null(strstr(error.text, sentence), "twist %d says: %s", (int)twist, error.text);
    cr_assert_arr_eq(&decoded, &empty, sizeof empty);
    dpot_campaign_release(&campaign);
    dpot_buf_release(&bytes);
}

Test(canonical, an_unknown_field_is_refused_at_every_level_by_message_and_number)
{
    expect_refusal(UNKNOWN_IN_CAMPAIGN, DPOT_ERR_VERSION, "Campaign has field 99,");
    expect_refusal(UNKNOWN_IN_DOMAIN, DPOT_ERR_VERSION, "Domain has field 99,");
    expect_refusal(UNKNOWN_IN_GRID, DPOT_ERR_VERSION, "Grid has field 99,");
    expect_refusal(UNKNOWN_IN_WPM, DPOT_ERR_VERSION, "Wpm has field 99,");
    expect_refusal(UNKNOWN_IN_BASE_MEASURE, DPOT_ERR_VERSION, "BaseMeasure has field 99,");
}

Test(canonical, another_spelling_of_the_same_campaign_is_refused)
{
    static const enum twist spellings[] = {
        EXPLICIT_DEFAULT, OUT_OF_ORDER, UNPACKED,    OVERLONG_VARINT,   OVERLONG_TAG,
        OVERLONG_LENGTH,  TWICE,        NUL_IN_NAME, FALSE_WRITTEN_OUT, TRUE_AS_TWO};
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        expect_refusal(spellings[i], DPOT_ERR_MALFORMED, "canonical");
    }
}

Test(canonical, a_missing_or_misshapen_part_is_refused_by_name)
{
    expect_refusal(NO_DOMAIN, DPOT_ERR_MALFORMED, "no domain");
    expect_refusal(EMPTY_DOMAIN, DPOT_ERR_MALFORMED, "domain has no points, grid, ring or sphere");
    expect_refusal(EMPTY_OUTPUT, DPOT_ERR_MALFORMED, "output has no points, grid, ring or sphere");
    expect_refusal(NO_MECHANISM, DPOT_ERR_MALFORMED, "no mechanism");
    expect_refusal(NO_BASE_MEASURE, DPOT_ERR_MALFORMED, "no wpm.base_measure");
    expect_refusal(ID_TOO_SHORT, DPOT_ERR_MALFORMED, "15 bytes");
    expect_refusal(NAME_TOO_LONG, DPOT_ERR_TOO_LARGE, "name has 65 bytes");
    expect_refusal(TIME_TOO_LARGE, DPOT_ERR_MALFORMED, "opens is 9223372036854775807");
    expect_refusal(SPLIT, DPOT_ERR_MALFORMED, "it has 0, 0 and 2");
    expect_refusal(GRID_OF_TWO_SHAPES, DPOT_ERR_MALFORMED, "it has 1, 2 and 2");
}

Test(canonical, another_version_is_refused_before_its_fields)
{
    expect_refusal(VERSION_TWO, DPOT_ERR_VERSION, "version 2");
}

/* Fields 15 to 19 are reserved for later mechanisms: an old device must refuse them. */
Test(canonical, a_mechanism_of_a_later_version_is_an_unknown_field)
{
    struct dpot_campaign campaign, decoded;
    struct dpot_buf bytes;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    make_grid_campaign(&campaign, NULL);
    write_grid_campaign(&bytes, &campaign, NO_MECHANISM);
    put_bytes(&bytes, 15, "", 0);
    cr_assert_eq(dpot_wire_campaign_decode(bytes.data, bytes.len, NULL, &decoded, &error),
                 DPOT_ERR_VERSION);
    cr_assert_not_null(strstr(error.text, "field 15"));
    dpot_campaign_release(&campaign);
    dpot_buf_release(&bytes);
}

/* The baseline mechanisms, whose messages the grid campaign does not have. */
static void expect_baseline_refused(uint32_t field, const struct dpot_buf *inner,
                                    dpot_status expected, const char *sentence)
{
    struct dpot_campaign campaign, decoded;
    struct dpot_buf bytes;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    make_grid_campaign(&campaign, NULL);
    write_grid_campaign(&bytes, &campaign, NO_MECHANISM);
    put_bytes(&bytes, field, inner->data, inner->len);
    cr_assert_eq(dpot_wire_campaign_decode(bytes.data, bytes.len, NULL, &decoded, &error), expected,
                 "%s", error.text);
    cr_assert_not_null(strstr(error.text, sentence), "%s", error.text);
    dpot_campaign_release(&campaign);
    dpot_buf_release(&bytes);
}

Test(canonical, a_baseline_has_a_base_measure_and_no_field_of_another_mechanism)
{
    struct dpot_buf inner;
    dpot_buf_init(&inner, BYTES_MAX, NULL);
    expect_baseline_refused(11, &inner, DPOT_ERR_MALFORMED, "no kpm.base_measure");
    expect_baseline_refused(12, &inner, DPOT_ERR_MALFORMED, "no exponential.base_measure");
    put_double(&inner, 2, 0.5); /* a sensitivity in one, which the other does not have */
    expect_baseline_refused(11, &inner, DPOT_ERR_VERSION, "Kpm has field 2,");
    put_number(&inner, 3, 100); /* iterations */
    expect_baseline_refused(12, &inner, DPOT_ERR_VERSION, "Exponential has field 3,");
    dpot_buf_release(&inner);
}

/* The same test for the kinds of domain that the grid campaign does not have. */
static void expect_unknown_in_domain(uint32_t kind, const char *sentence)
{
    struct dpot_campaign decoded;
    struct dpot_buf bytes, inner, domain;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    dpot_buf_init(&inner, BYTES_MAX, NULL);
    dpot_buf_init(&domain, BYTES_MAX, NULL);
    put_number(&inner, 1, 4);
    put_bytes(&inner, 9, "x", 1);
    put_bytes(&domain, kind, inner.data, inner.len);
    put_number(&bytes, 1, 1);
    put_bytes(&bytes, 6, domain.data, domain.len);
    cr_assert_eq(dpot_wire_campaign_decode(bytes.data, bytes.len, NULL, &decoded, &error),
                 DPOT_ERR_VERSION);
    cr_assert_not_null(strstr(error.text, sentence), "%s", error.text);
    dpot_buf_release(&bytes);
    dpot_buf_release(&inner);
    dpot_buf_release(&domain);
}

Test(canonical, an_unknown_field_in_points_and_ring_is_refused)
{
    expect_unknown_in_domain(1, "Points has field 9,");
    expect_unknown_in_domain(3, "Ring has field 9,");
}

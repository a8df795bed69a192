#include "handmade.h"

#include <criterion/criterion.h>
#include <string.h>

void put_raw(struct dpot_buf *buf, const void *data, size_t len)
{
    cr_assert_eq(dpot_buf_append(buf, data, len), DPOT_OK);
}

void put_varint(struct dpot_buf *buf, uint64_t value)
{
    while (value >= 0x80) {
        const uint8_t byte = (uint8_t)(value | 0x80);
        put_raw(buf, &byte, 1);
        value >>= 7;
    }
    const uint8_t last = (uint8_t)value;
    put_raw(buf, &last, 1);
}

void put_tag(struct dpot_buf *buf, uint32_t field, unsigned wire_type)
{
    put_varint(buf, (uint64_t)field << 3 | wire_type);
}

void put_number(struct dpot_buf *buf, uint32_t field, uint64_t value)
{
    put_tag(buf, field, VARINT);
    put_varint(buf, value);
}

static void put_u64(struct dpot_buf *buf, uint64_t value)
{
    uint8_t bytes[8];
    dpot_store_u64(bytes, value);
    put_raw(buf, bytes, sizeof bytes);
}

void put_fixed64(struct dpot_buf *buf, uint32_t field, uint64_t value)
{
    put_tag(buf, field, FIXED64);
    put_u64(buf, value);
}

void put_double(struct dpot_buf *buf, uint32_t field, double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    put_fixed64(buf, field, bits);
}

void put_bytes(struct dpot_buf *buf, uint32_t field, const void *data, size_t len)
{
    put_tag(buf, field, BYTES);
    put_varint(buf, len);
    put_raw(buf, data, len);
}

static void put_message(struct dpot_buf *buf, uint32_t field, struct dpot_buf *inner)
{
    put_bytes(buf, field, inner->data, inner->len);
    dpot_buf_release(inner);
}

static void put_unknown(struct dpot_buf *buf, bool is_wanted)
{
    if (is_wanted) {
        put_number(buf, 99, 5);
    }
}

static void put_doubles(struct dpot_buf *buf, uint32_t field, const double *values, size_t n)
{
    put_tag(buf, field, BYTES);
    put_varint(buf, 8 * n);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, &values[i], sizeof bits);
        put_u64(buf, bits);
    }
}

static void put_shape(struct dpot_buf *buf, const struct dpot_domain *domain, enum twist twist)
{
    if (twist == UNPACKED) {
        put_number(buf, 3, domain->shape[0]);
        put_number(buf, 3, domain->shape[1]);
        return;
    }
    struct dpot_buf shape;
    dpot_buf_init(&shape, BYTES_MAX, NULL);
    put_varint(&shape, domain->shape[0]);
    put_varint(&shape, domain->shape[1]);
    put_message(buf, 3, &shape);
}

static void put_grid(struct dpot_buf *buf, const struct dpot_domain *domain, enum twist twist,
                     bool with_bounds, bool with_shape)
{
    struct dpot_buf grid, inner;
    dpot_buf_init(&grid, BYTES_MAX, NULL);
    dpot_buf_init(&inner, BYTES_MAX, NULL);
    if (with_bounds) {
        put_doubles(&grid, 1, domain->lo, twist == GRID_OF_TWO_SHAPES ? 1 : 2);
        put_doubles(&grid, 2, domain->hi, 2);
    }
    if (with_shape) {
        put_shape(&grid, domain, twist);
    }
    put_unknown(&grid, twist == UNKNOWN_IN_GRID);
    put_message(&inner, 2, &grid);
    put_unknown(&inner, twist == UNKNOWN_IN_DOMAIN);
    put_message(buf, 5, &inner);
}

static void put_domain(struct dpot_buf *buf, const struct dpot_domain *domain, enum twist twist)
{
    switch (twist) {
    case NO_DOMAIN:
        break;
    case EMPTY_DOMAIN:
        put_bytes(buf, 5, NULL, 0);
        break;
    case SPLIT:
        put_grid(buf, domain, twist, true, false);
        put_grid(buf, domain, twist, false, true);
        break;
    default:
        put_grid(buf, domain, twist, true, true);
        break;
    }
    if (twist == EMPTY_OUTPUT) {
        put_bytes(buf, 6, NULL, 0);
    }
}

static void put_base_measure(struct dpot_buf *buf, const struct dpot_base_measure *base_measure,
                             enum twist twist)
{
    struct dpot_buf inner;
    dpot_buf_init(&inner, BYTES_MAX, NULL);
    put_tag(&inner, 1, BYTES);
    put_varint(&inner, 4 * (uint64_t)base_measure->size);
    for (uint32_t j = 0; j < base_measure->size; j++) {
        cr_assert_eq(dpot_buf_append_u32(&inner, base_measure->mass_code[j]), DPOT_OK);
    }
    put_fixed64(&inner, 2, base_measure->total);
    put_unknown(&inner, twist == UNKNOWN_IN_BASE_MEASURE);
    put_message(buf, 6, &inner);
}

static void put_wpm(struct dpot_buf *buf, const struct dpot_campaign *campaign, enum twist twist)
{
    if (twist == NO_MECHANISM) {
        return;
    }
    struct dpot_buf inner;
    dpot_buf_init(&inner, BYTES_MAX, NULL);
    put_fixed64(&inner, 1, campaign->epsilon_q32);
    put_double(&inner, 2, campaign->lambda);
    put_number(&inner, 3, campaign->iterations);
    put_number(&inner, 4, campaign->n_max);
    if (twist == FALSE_WRITTEN_OUT || twist == TRUE_AS_TWO) {
        put_number(&inner, 5, twist == TRUE_AS_TWO ? 2 : 0);
    }
    if (twist != NO_BASE_MEASURE) {
        put_base_measure(&inner, &campaign->base_measure, twist);
    }
    put_unknown(&inner, twist == UNKNOWN_IN_WPM);
    put_message(buf, 10, &inner);
}

static void put_revision(struct dpot_buf *buf, uint32_t revision, enum twist twist)
{
    const uint8_t overlong_tag[] = {0x98, 0x00, (uint8_t)revision};
    const uint8_t overlong[] = {0x18, (uint8_t)(revision | 0x80), 0x00};
    switch (twist) {
    case OVERLONG_TAG:
        put_raw(buf, overlong_tag, sizeof overlong_tag);
        break;
    case OVERLONG_VARINT:
        put_raw(buf, overlong, sizeof overlong);
        break;
    case TWICE:
        put_number(buf, 3, revision);
        put_number(buf, 3, revision);
        break;
    default:
        put_number(buf, 3, revision);
        break;
    }
}

static void put_name(struct dpot_buf *buf, const char *name, enum twist twist)
{
    const size_t len = strlen(name);
    const uint8_t overlong[] = {0x22, (uint8_t)(len | 0x80), 0x00};
    char longest[DPOT_CAMPAIGN_NAME_MAX + 1];
    memset(longest, 'n', sizeof longest);
    switch (twist) {
    case NUL_IN_NAME:
        put_bytes(buf, 4, name, len + 1);
        break;
    case NAME_TOO_LONG:
        put_bytes(buf, 4, longest, sizeof longest);
        break;
    case OVERLONG_LENGTH:
        put_raw(buf, overlong, sizeof overlong);
        put_raw(buf, name, len);
        break;
    default:
        put_bytes(buf, 4, name, len);
        break;
    }
}

static void put_identity(struct dpot_buf *buf, const struct dpot_campaign *campaign,
                         enum twist twist)
{
    put_number(buf, 1, twist == VERSION_TWO ? 2 : 1);
    if (twist == OUT_OF_ORDER) {
        put_revision(buf, campaign->revision, twist);
    }
    put_bytes(buf, 2, campaign->id, sizeof campaign->id - (twist == ID_TOO_SHORT));
    if (twist != OUT_OF_ORDER) {
        put_revision(buf, campaign->revision, twist);
    }
    put_name(buf, campaign->name, twist);
}

void write_grid_campaign(struct dpot_buf *out, const struct dpot_campaign *campaign,
                         enum twist twist)
{
    put_identity(out, campaign, twist);
    put_domain(out, &campaign->domain, twist);
    put_number(out, 7, (uint64_t)campaign->metric.id);
    if (twist == EXPLICIT_DEFAULT) {
        put_number(out, 8, 0);
    }
    put_double(out, 9, campaign->cost_power);
    put_wpm(out, campaign, twist);
    put_number(out, 20, campaign->rounds);
    put_number(out, 21,
               twist == TIME_TOO_LARGE ? (uint64_t)INT64_MAX
                                       : (uint64_t)(campaign->opens_ms / 1000));
    put_number(out, 22, (uint64_t)(campaign->closes_ms / 1000));
    put_number(out, 23, campaign->min_pool);
    put_unknown(out, twist == UNKNOWN_IN_CAMPAIGN);
}

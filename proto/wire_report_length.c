#include "mechanism/mechanism.h"
#include "proto/wire_inner.h"

/* Largest length besides the reports: the length, campaign_hash, round, losses. */
#define BATCH_BESIDE_LEN (4 + (2 + DPOT_HASH_LEN) + (1 + 5) + (2 + DPOT_BATCH_LOSSES_LEN))

static size_t varint_len(uint64_t number)
{
    size_t len = 1;
    for (; number >= 0x80; number >>= 7) {
        len++;
    }
    return len;
}

/* A field of bytes: key, length, bytes. */
static size_t field_len(size_t len)
{
    return 1 + varint_len(len) + len;
}

/* sint64 (zigzag): numbers farther from 0 are longer. */
static size_t value_len(int64_t value)
{
    return varint_len(value < 0 ? 2 * ~(uint64_t)value + 1 : 2 * (uint64_t)value);
}

/* The longest value of coordinate j is at an end of its range. */
static size_t value_len_max(const struct dpot_campaign *campaign, uint32_t j)
{
    int64_t lo = 0, hi = 0;
    dpot_mechanism_value_range(campaign, j, &lo, &hi);
    const size_t lo_len = value_len(lo), hi_len = value_len(hi);
    return lo_len > hi_len ? lo_len : hi_len;
}

/* Only boxes have different ranges; otherwise all coordinates have that of the first. */
static size_t vector_len_max(const struct dpot_campaign *campaign)
{
    const struct dpot_vector_domain *vector = &campaign->vector;
    const uint32_t n_ranges = vector->n_sides > 1 ? vector->dim : 1;
    size_t len = 0;
    for (uint32_t j = 0; j < n_ranges; j++) {
        len += value_len_max(campaign, j) * (vector->dim / n_ranges);
    }
    return field_len(field_len(len));
}

static size_t payload_len_max(const struct dpot_campaign *campaign)
{
    return dpot_mechanism_is_vector(campaign->mechanism)
               ? vector_len_max(campaign)
               : 1 + varint_len(campaign->output.size - 1);
}

size_t dpot_wire_report_len_max(const struct dpot_campaign *campaign)
{
    const size_t group_len = campaign->n_groups > 1 ? 1 + varint_len(campaign->n_groups - 1) : 0;
    const size_t test_len = 2;
    return field_len(field_len(DPOT_REPORT_ID_LEN) + payload_len_max(campaign) + group_len +
                     test_len);
}

uint64_t dpot_wire_batch_plain_len(size_t n_reports, size_t report_len_max)
{
    return BATCH_BESIDE_LEN + (uint64_t)n_reports * report_len_max;
}

/* Wire bytes written by hand, field by field: a reference for the encoders, and the means to write
 * messages that no encoder writes. */
#ifndef DPOT_TESTS_UNIT_PROTO_HANDMADE_H
#define DPOT_TESTS_UNIT_PROTO_HANDMADE_H

#include "base/buf.h"
#include "model/campaign.h"

#define BYTES_MAX (1u << 20)

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, GROUP_START = 3, FIXED32 = 5 };

void put_varint(struct dpot_buf *buf, uint64_t value);
void put_tag(struct dpot_buf *buf, uint32_t field, unsigned wire_type);
void put_number(struct dpot_buf *buf, uint32_t field, uint64_t value);
void put_double(struct dpot_buf *buf, uint32_t field, double value);
void put_fixed64(struct dpot_buf *buf, uint32_t field, uint64_t value);
void put_bytes(struct dpot_buf *buf, uint32_t field, const void *data, size_t len);
void put_raw(struct dpot_buf *buf, const void *data, size_t len);

/* Changes to the campaign of make_grid_campaign. */
enum twist {
    AS_IT_IS,
    UNKNOWN_IN_CAMPAIGN, /* field 99 */
    UNKNOWN_IN_DOMAIN,
    UNKNOWN_IN_GRID,
    UNKNOWN_IN_WPM,
    UNKNOWN_IN_BASE_MEASURE,
    EXPLICIT_DEFAULT, /* ring_size = 0 written out */
    OUT_OF_ORDER,     /* revision before id */
    UNPACKED,         /* shape as separate numbers */
    SPLIT,            /* the domain in two pieces: the later one is effective */
    OVERLONG_VARINT,  /* revision in two bytes where one does */
    OVERLONG_TAG,     /* the tag of revision in two bytes */
    OVERLONG_LENGTH,  /* the length of name in two bytes */
    TWICE,            /* revision twice, the same value */
    NUL_IN_NAME,
    FALSE_WRITTEN_OUT,
    TRUE_AS_TWO,     /* sample_first = 2 */
    EMPTY_OUTPUT,    /* output without a kind */
    EMPTY_DOMAIN,    /* domain without a kind */
    NO_DOMAIN,       /* no domain at all */
    NO_MECHANISM,    /* the oneof left out */
    NO_BASE_MEASURE, /* wpm without base_measure */
    VERSION_TWO,
    ID_TOO_SHORT,
    NAME_TOO_LONG,
    TIME_TOO_LARGE,     /* opens overflows milliseconds */
    GRID_OF_TWO_SHAPES, /* lo of one, shape of two numbers */
    N_TWISTS
};
void write_grid_campaign(struct dpot_buf *out, const struct dpot_campaign *campaign,
                         enum twist twist);

#endif

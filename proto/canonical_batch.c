#include "proto/canonical_batch.h"

#include "proto/wire_inner.h"

#include <string.h>

/* The keys of the fields: number * 8 + wire type. */
enum batch_key { BATCH_HASH = 0x0a, BATCH_ROUND = 0x10, BATCH_REPORT = 0x1a, BATCH_LOSSES = 0x22 };
enum report_key {
    REPORT_ID = 0x0a,
    REPORT_INDEX = 0x10,
    REPORT_VECTOR = 0x1a,
    REPORT_GROUP = 0x20,
    REPORT_TEST = 0x28,
    VECTOR_VALUES = 0x0a
};

#define VARINT_MAX 10 /* bytes of 64 bits */
#define WORD 8        /* bytes read at once */

static const uint64_t high_bits = UINT64_C(0x8080808080808080);

/* The rest of a message. */
struct cursor {
    const uint8_t *at, *end;
};

/* Consumes the key of a field if it is next. */
static bool take_key(struct cursor *c, unsigned key)
{
    const bool is_next = c->at < c->end && *c->at == key;
    c->at += is_next;
    return is_next;
}

/* A varint of at most `bits` bits, in its shortest form. */
static bool read_number(struct cursor *c, unsigned bits, uint64_t *number)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_MAX && c->at < c->end; i++) {
        const uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *number = value;
            return (byte > 0 || i == 0) && (i < VARINT_MAX - 1 || byte == 1) &&
                   (bits == 64 || value >> bits == 0);
        }
    }
    return false;
}

static bool read_u32(struct cursor *c, uint32_t *number)
{
    uint64_t wide = 0;
    const bool is_read = read_number(c, 32, &wide);
    *number = (uint32_t)wide;
    return is_read;
}

/* A field that is omitted when it is 0. */
static bool read_default_u32(struct cursor *c, unsigned key, uint32_t *number)
{
    *number = 0;
    return !take_key(c, key) || (read_u32(c, number) && *number != 0);
}

/* A length and that many bytes. */
static bool read_bytes(struct cursor *c, struct cursor *bytes)
{
    uint64_t len = 0;
    if (!read_number(c, 32, &len) || len > (size_t)(c->end - c->at)) {
        return false;
    }
    *bytes = (struct cursor){c->at, c->at + len};
    c->at += len;
    return true;
}

static bool read_fixed(struct cursor *c, unsigned key, size_t len, const uint8_t **bytes)
{
    struct cursor inner;
    if (!take_key(c, key) || !read_bytes(c, &inner) || (size_t)(inner.end - inner.at) != len) {
        return false;
    }
    *bytes = inner.at;
    return true;
}

/* ---- vectors ---- */

/* Counts the varints: the last byte of each has no high bit. */
static size_t count_numbers(struct cursor c)
{
    size_t n = 0;
    for (; c.end - c.at >= WORD; c.at += WORD) {
        uint64_t word = 0;
        memcpy(&word, c.at, WORD);
        n += (size_t)(((~word & high_bits) >> 7) * UINT64_C(0x0101010101010101) >> 56);
    }
    for (; c.at < c.end; c.at++) {
        n += *c.at < 0x80;
    }
    return n;
}

/* sint64 (zigzag): 0, -1, 1, -2, ... */
static int64_t unfold(uint64_t folded)
{
    return (int64_t)(folded >> 1 ^ (~(folded & 1) + 1));
}

/* Reads n varints: most have one byte, and eight of these are read at once. */
static bool read_values(struct cursor c, size_t n, int64_t *values)
{
    size_t i = 0;
    while (i < n) {
        uint64_t word = high_bits;
        if (c.end - c.at >= WORD) {
            memcpy(&word, c.at, WORD);
        }
        if ((word & high_bits) == 0) {
            for (size_t j = 0; j < WORD; j++) {
                values[i + j] = unfold(c.at[j]);
            }
            c.at += WORD;
            i += WORD;
            continue;
        }
        if (!read_number(&c, 64, &word)) {
            return false;
        }
        values[i++] = unfold(word);
    }
    return c.at == c.end;
}

/* ---- reports ---- */

/* A report in place. */
struct view {
    const uint8_t *id;
    struct cursor numbers; /* of a vector */
    size_t n_values;       /* 0: an index */
    uint32_t index, group;
    bool test;
};

static bool view_vector(struct cursor *c, struct view *view)
{
    struct cursor vector;
    if (!read_bytes(c, &vector) || !take_key(&vector, VECTOR_VALUES) ||
        !read_bytes(&vector, &view->numbers) || vector.at != vector.end) {
        return false;
    }
    view->n_values = count_numbers(view->numbers);
    return view->n_values > 0 && view->n_values <= DPOT_VECTOR_DIM_MAX;
}

static bool view_payload(struct cursor *c, struct view *view)
{
    return take_key(c, REPORT_INDEX) ? read_u32(c, &view->index)
                                     : take_key(c, REPORT_VECTOR) && view_vector(c, view);
}

static bool view_test(struct cursor *c, bool *test)
{
    *test = take_key(c, REPORT_TEST);
    return !*test || take_key(c, 1);
}

/* The next report of a batch. */
static bool view_report(struct cursor *batch, struct view *view)
{
    struct cursor c;
    *view = (struct view){0};
    return read_bytes(batch, &c) && read_fixed(&c, REPORT_ID, DPOT_REPORT_ID_LEN, &view->id) &&
           view_payload(&c, view) && read_default_u32(&c, REPORT_GROUP, &view->group) &&
           view_test(&c, &view->test) && c.at == c.end;
}

/* Counts reports and numbers; leaves c after the reports. */
static bool count_reports(struct cursor *c, struct dpot_batch *batch)
{
    struct view view;
    while (take_key(c, BATCH_REPORT)) {
        if (batch->n_reports == DPOT_BATCH_REPORTS_MAX || !view_report(c, &view)) {
            return false;
        }
        batch->n_reports++;
        batch->n_values += view.n_values;
    }
    return batch->n_reports > 0;
}

/* `values` has room for the report's numbers; NULL if it has none. */
static bool read_report(const struct view *view, int64_t *values, struct dpot_report *report)
{
    *report = (struct dpot_report){.index = view->index,
                                   .group = view->group,
                                   .test = view->test,
                                   .n_values = (uint32_t)view->n_values,
                                   .values = values};
    memcpy(report->id, view->id, sizeof report->id);
    return view->n_values == 0 || read_values(view->numbers, view->n_values, values);
}

/* Reads the reports, which have been counted, from c. */
static bool read_reports(struct cursor *c, struct dpot_batch *batch)
{
    size_t n_values = 0;
    for (size_t i = 0; i < batch->n_reports; i++) {
        struct view view;
        if (!take_key(c, BATCH_REPORT) || !view_report(c, &view) ||
            !read_report(&view, view.n_values > 0 ? batch->values + n_values : NULL,
                         &batch->reports[i])) {
            return false;
        }
        n_values += view.n_values;
    }
    return true;
}

/* ---- the batch ---- */

static bool read_losses(struct cursor *c, struct dpot_batch *batch)
{
    const uint8_t *classes = NULL;
    if (c->at == c->end) {
        return true;
    }
    if (!read_fixed(c, BATCH_LOSSES, DPOT_BATCH_LOSSES_LEN, &classes)) {
        return false;
    }
    batch->has_losses = true;
    for (size_t i = 0; i < DPOT_BATCH_LOSSES_LEN; i++) {
        if (classes[i] >= DPOT_BATCH_LOSSES_END) {
            return false;
        }
    }
    return c->at == c->end;
}

static bool reserve(struct dpot_batch *batch)
{
    const struct dpot_allocator *allocator = batch->allocator;
    const size_t n = batch->n_reports;
    batch->reports = dpot_alloc_raw(allocator, n * sizeof *batch->reports);
    batch->is_malformed = dpot_alloc_array(allocator, n, sizeof *batch->is_malformed);
    if (batch->n_values > 0) {
        batch->values = dpot_alloc_raw(allocator, batch->n_values * sizeof *batch->values);
    }
    return batch->reports && batch->is_malformed && (batch->values || batch->n_values == 0);
}

dpot_status dpot_canonical_batch_read(const void *data, size_t len, struct dpot_batch *batch)
{
    const uint8_t *hash = NULL;
    if (len == 0) {
        return DPOT_ERR_MALFORMED;
    }
    struct cursor c = {data, (const uint8_t *)data + len};
    if (!read_fixed(&c, BATCH_HASH, DPOT_HASH_LEN, &hash) ||
        !read_default_u32(&c, BATCH_ROUND, &batch->round)) {
        return DPOT_ERR_MALFORMED;
    }
    memcpy(batch->campaign_hash, hash, DPOT_HASH_LEN);
    struct cursor reports = c;
    if (!count_reports(&c, batch) || !read_losses(&c, batch)) {
        batch->n_reports = batch->n_values = 0; /* nothing was allocated */
        return DPOT_ERR_MALFORMED;
    }
    if (!reserve(batch)) {
        return DPOT_ERR_MEMORY;
    }
    return read_reports(&reports, batch) ? DPOT_OK : DPOT_ERR_MALFORMED;
}

/* Folding: the ledger as sums and open charges. */
#include "base/buf.h"
#include "storage/ledger_record.h"

#include <string.h>

#define NEW_NAME DPOT_LEDGER_NAME ".new"

bool dpot_ledger_is_foldable(const struct dpot_ledger *ledger)
{
    const uint64_t n_open = ledger->sums.n_ended[DPOT_DONE_NOT_YET];
    return ledger->n_records - ledger->fold_end >= ledger->tail_max + n_open;
}

/* The ends of reports in the order of ENDED_AT. */
static unsigned end_of(unsigned i)
{
    return i < DPOT_REPORT_STATUS_END - 1
               ? i + 1
               : i - (DPOT_REPORT_STATUS_END - 1) + DPOT_DONE_DROPPED_CLOSED;
}
enum { N_ENDS = DPOT_REPORT_STATUS_END - 1 + DPOT_DONE_END - DPOT_DONE_DROPPED_CLOSED };

/* ---- reading ---- */

static dpot_status read_sums(struct dpot_ledger *ledger, const uint8_t *record)
{
    struct dpot_ledger_sums *sums = &ledger->sums;
    for (unsigned i = 0; i < N_ENDS; i++) {
        sums->n_ended[end_of(i)] = dpot_load_u32(record + ENDED_AT + 4 * i);
    }
    dpot_ledger_read_cost(record + COST_AT, &sums->spent);
    ledger->latest_ms = (int64_t)dpot_load_u64(record + TIME_AT);
    ledger->horizon_ms = (int64_t)dpot_load_u64(record + HORIZON_AT);
    ledger->is_withdrawn = dpot_load_u32(record + DONE_AT) == CONSENT_WITHDRAWN;
    const uint64_t counter = dpot_load_u64(record + COUNTER_AT);
    ledger->counter = counter > ledger->counter ? counter : ledger->counter;
    return DPOT_OK;
}

static dpot_status read_campaign(struct dpot_ledger *ledger, const uint8_t *record)
{
    struct dpot_ledger_sums *sums = &ledger->sums;
    struct dpot_charge charge;
    const uint32_t done = dpot_load_u32(record + DONE_AT);
    dpot_ledger_read_charge(record, &charge);
    if (dpot_sums_find(sums, charge.signer, charge.campaign_id)) {
        return DPOT_ERR_CORRUPT;
    }
    const dpot_status status = dpot_sums_reserve(sums);
    if (status != DPOT_OK) {
        return status;
    }
    struct dpot_ledger_campaign *campaign = &sums->campaigns[sums->n_campaigns++];
    *campaign = (struct dpot_ledger_campaign){
        .spent = charge.cost,
        .revision = charge.revision,
        .newest = charge.key,
        .newest_done = (uint8_t)done,
        .answer = {(uint8_t)(done >> 8), dpot_load_u32(record + ANSWER_ROUND_AT),
                   (int64_t)dpot_load_u64(record + ANSWERED_AT)}};
    memcpy(campaign->signer, charge.signer, sizeof campaign->signer);
    memcpy(campaign->campaign_id, charge.campaign_id, sizeof campaign->campaign_id);
    return DPOT_OK;
}

static dpot_status read_spans(struct dpot_ledger *ledger, const uint8_t *record)
{
    struct dpot_ledger_sums *sums = &ledger->sums;
    const uint32_t n = dpot_load_u32(record + DONE_AT);
    if (n > SPANS_PER_RECORD || sums->n_spans + n > DPOT_LEDGER_SPANS_MAX) {
        return DPOT_ERR_CORRUPT;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *at = record + SPANS_AT + i * SPAN_LEN;
        const dpot_status status = dpot_sums_reserve(sums);
        if (status != DPOT_OK) {
            return status;
        }
        struct dpot_ledger_span *span = &sums->spans[sums->n_spans++];
        span->first_ms = (int64_t)dpot_load_u64(at);
        span->last_ms = (int64_t)dpot_load_u64(at + 8);
        dpot_ledger_read_cost(at + 16, &span->spent);
    }
    return DPOT_OK;
}

/* The sums have this charge already. */
static dpot_status read_open_charge(struct dpot_ledger *ledger, const uint8_t *record)
{
    struct dpot_charge charge;
    dpot_ledger_read_charge(record, &charge);
    charge.n_readings = dpot_load_u32(record + DONE_AT);
    if (!dpot_sums_find(&ledger->sums, charge.signer, charge.campaign_id) ||
        dpot_ledger_find(ledger, &charge.key) != SIZE_MAX) {
        return DPOT_ERR_CORRUPT;
    }
    const dpot_status status = dpot_ledger_push(ledger, &charge);
    ledger->sums.n_ended[DPOT_DONE_NOT_YET] += status == DPOT_OK;
    return status;
}

dpot_status dpot_ledger_read_folded(struct dpot_ledger *ledger, const uint8_t *record)
{
    const uint32_t type = dpot_load_u32(record + TYPE_AT);
    if ((ledger->n_records == ledger->first_seq) != (type == TYPE_SUMS)) {
        return DPOT_ERR_CORRUPT;
    }
    switch (type) {
    case TYPE_SUMS:
        return read_sums(ledger, record);
    case TYPE_CAMPAIGN:
        return read_campaign(ledger, record);
    case TYPE_SPANS:
        return read_spans(ledger, record);
    case TYPE_CHARGE:
        return read_open_charge(ledger, record);
    default:
        return DPOT_ERR_CORRUPT;
    }
}

/* ---- writing ---- */

struct writer {
    const struct dpot_ledger *ledger;
    uint8_t header[DPOT_HEADER_LEN];
    void *file;
    uint32_t n_records;
    uint8_t last[DPOT_LEDGER_RECORD_LEN]; /* the record; chained to `previous` when written */
    uint8_t previous[DPOT_MAC_LEN];
    dpot_status status; /* of the first failure */
};

static void put(struct writer *writer)
{
    const struct dpot_ledger *ledger = writer->ledger;
    const struct dpot_filesystem *fs = ledger->filesystem;
    uint8_t *record = writer->last;
    if (writer->status != DPOT_OK) {
        return;
    }
    dpot_store_u64(record + SEQ_AT, ledger->n_records + writer->n_records);
    dpot_mac(ledger->install, writer->previous, record, MAC_AT, record + MAC_AT);
    memcpy(writer->previous, record + MAC_AT, sizeof writer->previous);
    const uint64_t at = DPOT_HEADER_LEN + (uint64_t)writer->n_records * DPOT_LEDGER_RECORD_LEN;
    writer->status = fs->write_at(fs->ctx, writer->file, at, record, DPOT_LEDGER_RECORD_LEN);
    writer->n_records++;
}

static uint8_t *begin(struct writer *writer, uint32_t type)
{
    memset(writer->last, 0, sizeof writer->last);
    dpot_store_u32(writer->last + TYPE_AT, type);
    return writer->last;
}

static uint32_t folded_records(const struct dpot_ledger_sums *sums)
{
    const size_t spans = (sums->n_spans + SPANS_PER_RECORD - 1) / SPANS_PER_RECORD;
    return (uint32_t)(1 + sums->n_campaigns + spans + sums->n_ended[DPOT_DONE_NOT_YET]);
}

static void put_sums(struct writer *writer)
{
    const struct dpot_ledger *ledger = writer->ledger;
    const struct dpot_ledger_sums *sums = &ledger->sums;
    uint8_t *record = begin(writer, TYPE_SUMS);
    dpot_store_u32(record + DONE_AT, ledger->is_withdrawn ? CONSENT_WITHDRAWN : CONSENT_GRANTED);
    dpot_store_u32(record + N_FOLDED_AT, folded_records(sums));
    for (unsigned i = 0; i < N_ENDS; i++) {
        const uint64_t n = sums->n_ended[end_of(i)];
        dpot_store_u32(record + ENDED_AT + 4 * i, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX);
    }
    dpot_ledger_write_cost(record + COST_AT, &sums->spent);
    dpot_store_u64(record + TIME_AT, (uint64_t)ledger->latest_ms);
    dpot_store_u64(record + COUNTER_AT, ledger->counter);
    dpot_store_u64(record + HORIZON_AT, (uint64_t)ledger->horizon_ms);
    put(writer);
}

static void put_campaign(struct writer *writer, const struct dpot_ledger_campaign *campaign)
{
    struct dpot_charge charge = {
        .key = campaign->newest, .revision = campaign->revision, .cost = campaign->spent};
    memcpy(charge.signer, campaign->signer, sizeof charge.signer);
    memcpy(charge.campaign_id, campaign->campaign_id, sizeof charge.campaign_id);
    dpot_ledger_write_charge(writer->last, &charge);
    dpot_store_u32(writer->last + TYPE_AT, TYPE_CAMPAIGN);
    dpot_store_u32(writer->last + DONE_AT,
                   campaign->newest_done | (uint32_t)campaign->answer.done << 8);
    dpot_store_u64(writer->last + ANSWERED_AT, (uint64_t)campaign->answer.done_ms);
    dpot_store_u32(writer->last + ANSWER_ROUND_AT, campaign->answer.round);
    put(writer);
}

static void put_spans(struct writer *writer, const struct dpot_ledger_span *spans, size_t n)
{
    uint8_t *record = begin(writer, TYPE_SPANS);
    dpot_store_u32(record + DONE_AT, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        uint8_t *at = record + SPANS_AT + i * SPAN_LEN;
        dpot_store_u64(at, (uint64_t)spans[i].first_ms);
        dpot_store_u64(at + 8, (uint64_t)spans[i].last_ms);
        dpot_ledger_write_cost(at + 16, &spans[i].spent);
    }
    put(writer);
}

static void put_all(struct writer *writer)
{
    const struct dpot_ledger *ledger = writer->ledger;
    const struct dpot_ledger_sums *sums = &ledger->sums;
    put_sums(writer);
    for (size_t i = 0; i < sums->n_campaigns; i++) {
        put_campaign(writer, &sums->campaigns[i]);
    }
    for (size_t i = 0; i < sums->n_spans; i += SPANS_PER_RECORD) {
        const size_t left = sums->n_spans - i;
        put_spans(writer, &sums->spans[i], left < SPANS_PER_RECORD ? left : SPANS_PER_RECORD);
    }
    for (size_t i = 0; i < ledger->n_charges; i++) {
        if (ledger->charges[i].done == DPOT_DONE_NOT_YET) {
            dpot_ledger_write_charge(writer->last, &ledger->charges[i]);
            dpot_store_u32(writer->last + DONE_AT, ledger->charges[i].n_readings);
            put(writer);
        }
    }
}

/* Writes the new file, durably, beside the old one. */
static dpot_status write_new(struct writer *writer)
{
    const struct dpot_ledger *ledger = writer->ledger;
    const struct dpot_filesystem *fs = ledger->filesystem;
    writer->status = fs->open(fs->ctx, NEW_NAME, 1, &writer->file);
    if (writer->status != DPOT_OK) {
        return writer->status;
    }
    writer->status = fs->truncate(fs->ctx, writer->file, 0);
    if (writer->status == DPOT_OK) {
        writer->status = fs->write_at(fs->ctx, writer->file, 0, writer->header, DPOT_HEADER_LEN);
    }
    memcpy(writer->previous, writer->header + DPOT_HEADER_LEN - DPOT_MAC_LEN, DPOT_MAC_LEN);
    put_all(writer);
    if (writer->status == DPOT_OK) {
        writer->status = fs->sync(fs->ctx, writer->file);
    }
    fs->close(fs->ctx, writer->file);
    if (writer->status != DPOT_OK) {
        (void)fs->remove(fs->ctx, NEW_NAME); /* frees space on a full disk */
    }
    return writer->status;
}

/* What was written is the ledger now. */
static void take_over(struct dpot_ledger *ledger, const struct writer *writer)
{
    size_t n_open = 0;
    for (size_t i = 0; i < ledger->n_charges; i++) {
        if (ledger->charges[i].done == DPOT_DONE_NOT_YET) {
            ledger->charges[n_open++] = ledger->charges[i];
        }
    }
    ledger->n_charges = n_open;
    ledger->first_seq = ledger->n_records;
    ledger->n_records += writer->n_records;
    ledger->fold_end = ledger->n_records;
    ledger->is_folded = true;
    memcpy(ledger->header, writer->header, sizeof ledger->header);
    memcpy(ledger->last, writer->last, sizeof ledger->last);
}

dpot_status dpot_ledger_fold(struct dpot_ledger *ledger)
{
    const struct dpot_filesystem *fs = ledger->filesystem;
    struct writer writer = {.ledger = ledger};
    const struct dpot_header header = {.counter = ledger->counter,
                                       .accountant = ledger->accountant};
    dpot_header_encode(ledger->install, DPOT_LEDGER_FOLDED_MAGIC, &header, writer.header);
    dpot_status status = write_new(&writer);
    if (status != DPOT_OK) {
        return status;
    }
    dpot_ledger_close_file(ledger);
    status = fs->rename(fs->ctx, NEW_NAME, DPOT_LEDGER_NAME);
    if (status == DPOT_OK) {
        status = fs->sync_directory(fs->ctx);
    }
    if (status == DPOT_OK) {
        status = dpot_ledger_open_file(ledger);
    }
    if (status != DPOT_OK) {
        return DPOT_ERR_IO;
    }
    take_over(ledger, &writer);
    return DPOT_OK;
}

#include "storage/ledger.h"

#include "base/buf.h"
#include "storage/files.h"
#include "storage/ledger_record.h"

#include <string.h>

#define RECORDS_PER_READ 8

void dpot_ledger_init(struct dpot_ledger *ledger, const struct dpot_filesystem *filesystem,
                      const struct dpot_allocator *allocator, const struct dpot_install *install)
{
    *ledger = (struct dpot_ledger){.filesystem = filesystem,
                                   .allocator = allocator,
                                   .install = install,
                                   .tail_max = DPOT_LEDGER_TAIL_MAX,
                                   .latest_ms = INT64_MIN};
    dpot_sums_init(&ledger->sums, allocator);
}

void dpot_ledger_release(struct dpot_ledger *ledger)
{
    dpot_ledger_close_file(ledger);
    dpot_free_array(ledger->allocator, ledger->charges, ledger->cap_charges,
                    sizeof *ledger->charges);
    ledger->charges = NULL;
    ledger->n_charges = ledger->cap_charges = 0;
    dpot_sums_release(&ledger->sums);
}

void dpot_ledger_clear(struct dpot_ledger *ledger)
{
    ledger->n_charges = 0;
    dpot_sums_clear(&ledger->sums);
}

dpot_status dpot_ledger_create(struct dpot_ledger *ledger, uint32_t accountant, uint64_t counter)
{
    uint8_t header[DPOT_HEADER_LEN];
    dpot_header_encode(ledger->install, DPOT_LEDGER_MAGIC,
                       &(struct dpot_header){.counter = counter, .accountant = accountant}, header);
    return dpot_file_replace(ledger->filesystem, DPOT_LEDGER_NAME, header, sizeof header);
}

dpot_status dpot_ledger_open_file(struct dpot_ledger *ledger)
{
    const struct dpot_filesystem *fs = ledger->filesystem;
    return fs->open(fs->ctx, DPOT_LEDGER_NAME, 0, &ledger->file);
}

void dpot_ledger_close_file(struct dpot_ledger *ledger)
{
    if (ledger->file) {
        ledger->filesystem->close(ledger->filesystem->ctx, ledger->file);
        ledger->file = NULL;
    }
}

static uint64_t record_offset(const struct dpot_ledger *ledger, uint64_t seq)
{
    return DPOT_HEADER_LEN + (seq - ledger->first_seq) * DPOT_LEDGER_RECORD_LEN;
}

static bool is_empty(const struct dpot_ledger *ledger)
{
    return ledger->n_records == ledger->first_seq;
}

/* The checksum that the next record is chained to. */
static const uint8_t *chain(const struct dpot_ledger *ledger)
{
    return is_empty(ledger) ? ledger->header + DPOT_HEADER_LEN - DPOT_MAC_LEN
                            : ledger->last + MAC_AT;
}

/* Advances the state in memory by a record that was validated or just written (L4). */
static void update_state(struct dpot_ledger *ledger, const uint8_t *record, int64_t time_ms,
                         uint64_t counter)
{
    memcpy(ledger->last, record, DPOT_LEDGER_RECORD_LEN);
    ledger->n_records++;
    if (dpot_load_u32(record + TYPE_AT) == TYPE_CHARGE && time_ms > ledger->latest_ms) {
        ledger->latest_ms = time_ms;
    }
    ledger->counter = counter > ledger->counter ? counter : ledger->counter;
}

void dpot_ledger_read_cost(const uint8_t *bytes, struct dpot_privacy *cost)
{
    cost->epsilon_q32 = dpot_load_u64(bytes);
    cost->delta_q64 = dpot_load_u64(bytes + 8);
    cost->rho_q32 = dpot_load_u64(bytes + 16);
    cost->n_gaussian = dpot_load_u64(bytes + 24);
}

void dpot_ledger_write_cost(uint8_t *bytes, const struct dpot_privacy *cost)
{
    dpot_store_u64(bytes, cost->epsilon_q32);
    dpot_store_u64(bytes + 8, cost->delta_q64);
    dpot_store_u64(bytes + 16, cost->rho_q32);
    dpot_store_u64(bytes + 24, cost->n_gaussian);
}

void dpot_ledger_read_charge(const uint8_t *record, struct dpot_charge *charge)
{
    *charge = (struct dpot_charge){.n_readings = 1};
    memcpy(charge->key.campaign_hash, record + HASH_AT, DPOT_HASH_LEN);
    charge->key.round = dpot_load_u32(record + ROUND_AT);
    charge->revision = dpot_load_u32(record + REVISION_AT);
    memcpy(charge->signer, record + SIGNER_AT, sizeof charge->signer);
    memcpy(charge->campaign_id, record + CAMPAIGN_AT, sizeof charge->campaign_id);
    dpot_ledger_read_cost(record + COST_AT, &charge->cost);
    charge->time_ms = (int64_t)dpot_load_u64(record + TIME_AT);
    charge->horizon_ms = (int64_t)dpot_load_u64(record + HORIZON_AT);
}

void dpot_ledger_write_charge(uint8_t *record, const struct dpot_charge *charge)
{
    memset(record, 0, DPOT_LEDGER_RECORD_LEN);
    dpot_store_u32(record + TYPE_AT, TYPE_CHARGE);
    memcpy(record + HASH_AT, charge->key.campaign_hash, DPOT_HASH_LEN);
    dpot_store_u32(record + ROUND_AT, charge->key.round);
    dpot_store_u32(record + REVISION_AT, charge->revision);
    memcpy(record + SIGNER_AT, charge->signer, sizeof charge->signer);
    memcpy(record + CAMPAIGN_AT, charge->campaign_id, sizeof charge->campaign_id);
    dpot_ledger_write_cost(record + COST_AT, &charge->cost);
    dpot_store_u64(record + TIME_AT, (uint64_t)charge->time_ms);
    dpot_store_u64(record + HORIZON_AT, (uint64_t)charge->horizon_ms);
}

static bool is_final(uint32_t done)
{
    return (done > 0 && done < DPOT_REPORT_STATUS_END) ||
           (done >= DPOT_DONE_DROPPED_CLOSED && done < DPOT_DONE_END);
}

static void end_charge(struct dpot_ledger *ledger, size_t charge, uint8_t done, int64_t time_ms)
{
    ledger->charges[charge].done = done;
    dpot_sums_finish(&ledger->sums, &ledger->charges[charge], done, time_ms);
}

static void resume_charge(struct dpot_ledger *ledger, size_t charge, int64_t horizon_ms)
{
    ledger->charges[charge].n_readings++;
    ledger->charges[charge].horizon_ms = horizon_ms;
    ledger->horizon_ms = horizon_ms;
}

dpot_status dpot_ledger_push(struct dpot_ledger *ledger, const struct dpot_charge *charge)
{
    const dpot_status status = dpot_ledger_reserve(ledger);
    if (status == DPOT_OK) {
        ledger->charges[ledger->n_charges++] = *charge;
    }
    return status;
}

static bool is_new(const struct dpot_ledger *ledger, const struct dpot_key *key)
{
    return dpot_ledger_find(ledger, key) == SIZE_MAX && !dpot_ledger_find_folded(ledger, key);
}

/* Applies a record whose checksum is valid, behind what folding wrote; checks (L2) and (L4). */
static dpot_status apply(struct dpot_ledger *ledger, const uint8_t *record)
{
    struct dpot_charge charge;
    dpot_ledger_read_charge(record, &charge);
    const size_t old = dpot_ledger_find(ledger, &charge.key);
    const bool is_open = old != SIZE_MAX && ledger->charges[old].done == DPOT_DONE_NOT_YET;
    const uint32_t type = dpot_load_u32(record + TYPE_AT);
    const uint32_t done = dpot_load_u32(record + DONE_AT);
    if (charge.time_ms < ledger->latest_ms) {
        return DPOT_ERR_CORRUPT;
    }
    if (type == TYPE_CHARGE && is_new(ledger, &charge.key)) {
        const dpot_status status = dpot_ledger_push(ledger, &charge);
        if (status != DPOT_OK) {
            return status;
        }
        dpot_sums_charge(&ledger->sums, &charge);
        ledger->horizon_ms = charge.horizon_ms;
    } else if (type == TYPE_RESUME && is_open) {
        resume_charge(ledger, old, charge.horizon_ms);
    } else if (type == TYPE_DONE && is_open && is_final(done)) {
        end_charge(ledger, old, (uint8_t)done, charge.time_ms);
    } else if (type == TYPE_CONSENT && (done == CONSENT_WITHDRAWN || done == CONSENT_GRANTED)) {
        ledger->is_withdrawn = done == CONSENT_WITHDRAWN;
    } else {
        return DPOT_ERR_CORRUPT;
    }
    update_state(ledger, record, charge.time_ms, dpot_load_u64(record + COUNTER_AT));
    return DPOT_OK;
}

/* The first record of a file that was folded says how many records folding wrote. */
static dpot_status start_folded(struct dpot_ledger *ledger, const uint8_t *record, uint64_t n)
{
    const uint64_t seq = dpot_load_u64(record + SEQ_AT);
    const uint32_t n_folded = dpot_load_u32(record + N_FOLDED_AT);
    if (seq == 0 || seq > INT64_MAX || n_folded == 0 || n_folded > n) {
        return DPOT_ERR_CORRUPT;
    }
    ledger->first_seq = ledger->n_records = seq;
    ledger->fold_end = seq + n_folded;
    return DPOT_OK;
}

/* Applies the next of n records. */
static dpot_status apply_next(struct dpot_ledger *ledger, const uint8_t *record, uint64_t n)
{
    dpot_status status = DPOT_OK;
    if (ledger->n_records == 0 && dpot_load_u32(record + TYPE_AT) == TYPE_SUMS) {
        status = start_folded(ledger, record, n);
    }
    if (status == DPOT_OK && dpot_load_u64(record + SEQ_AT) != ledger->n_records) {
        status = DPOT_ERR_CORRUPT;
    }
    if (status != DPOT_OK || ledger->n_records >= ledger->fold_end) {
        return status == DPOT_OK ? apply(ledger, record) : status;
    }
    status = dpot_ledger_read_folded(ledger, record);
    memcpy(ledger->last, record, DPOT_LEDGER_RECORD_LEN);
    ledger->n_records++;
    return status;
}

static bool is_checksum_valid(const struct dpot_ledger *ledger, const uint8_t *record)
{
    uint8_t mac[DPOT_MAC_LEN];
    dpot_mac(ledger->install, chain(ledger), record, MAC_AT, mac);
    return dpot_secret_equal(mac, record + MAC_AT, sizeof mac);
}

static dpot_status load_header(struct dpot_ledger *ledger, uint64_t size)
{
    const struct dpot_filesystem *fs = ledger->filesystem;
    if (size < DPOT_HEADER_LEN) {
        return DPOT_ERR_CORRUPT;
    }
    dpot_status status = fs->read_at(fs->ctx, ledger->file, 0, ledger->header, DPOT_HEADER_LEN);
    struct dpot_header header = {0};
    if (status == DPOT_OK) {
        status = dpot_header_decode(ledger->install, DPOT_LEDGER_MAGIC, ledger->header, &header,
                                    ledger->install_id);
    }
    ledger->is_folded = status == DPOT_ERR_CORRUPT;
    if (ledger->is_folded) {
        status = dpot_header_decode(ledger->install, DPOT_LEDGER_FOLDED_MAGIC, ledger->header,
                                    &header, ledger->install_id);
    }
    ledger->counter = header.counter;
    ledger->accountant = header.accountant;
    return status;
}

/* What folding wrote is all there. */
static dpot_status check_whole(const struct dpot_ledger *ledger)
{
    const bool is_whole = ledger->is_folded ? ledger->fold_end > 0 : ledger->fold_end == 0;
    return is_whole && ledger->n_records >= ledger->fold_end ? DPOT_OK : DPOT_ERR_CORRUPT;
}

/* Reads all records. (L3): an invalid last record is a torn append; an invalid record elsewhere, or
 * two of them, is a corrupt middle. */
static dpot_status load_records(struct dpot_ledger *ledger, uint64_t size)
{
    const struct dpot_filesystem *fs = ledger->filesystem;
    const uint64_t n = (size - DPOT_HEADER_LEN) / DPOT_LEDGER_RECORD_LEN;
    const bool has_part = (size - DPOT_HEADER_LEN) % DPOT_LEDGER_RECORD_LEN != 0;
    uint8_t chunk[RECORDS_PER_READ * DPOT_LEDGER_RECORD_LEN];
    for (uint64_t i = 0; i < n; i++) {
        const size_t in_chunk = (size_t)(i % RECORDS_PER_READ);
        if (in_chunk == 0) {
            const uint64_t left = n - i;
            const size_t count = left < RECORDS_PER_READ ? (size_t)left : RECORDS_PER_READ;
            const dpot_status status =
                fs->read_at(fs->ctx, ledger->file, DPOT_HEADER_LEN + i * DPOT_LEDGER_RECORD_LEN,
                            chunk, count * DPOT_LEDGER_RECORD_LEN);
            if (status != DPOT_OK) {
                return status;
            }
        }
        const uint8_t *record = chunk + in_chunk * DPOT_LEDGER_RECORD_LEN;
        if (!is_checksum_valid(ledger, record)) {
            ledger->is_torn = i + 1 == n && !has_part;
            return ledger->is_torn ? check_whole(ledger) : DPOT_ERR_CORRUPT;
        }
        const dpot_status status = apply_next(ledger, record, n);
        if (status != DPOT_OK) {
            return status;
        }
    }
    ledger->is_torn = has_part;
    return check_whole(ledger);
}

dpot_status dpot_ledger_load(struct dpot_ledger *ledger)
{
    const struct dpot_filesystem *fs = ledger->filesystem;
    dpot_ledger_clear(ledger);
    ledger->first_seq = ledger->fold_end = ledger->n_records = 0;
    ledger->latest_ms = INT64_MIN;
    ledger->horizon_ms = 0;
    ledger->is_withdrawn = false;
    ledger->is_torn = false;
    uint64_t size = 0;
    dpot_status status = fs->size(fs->ctx, ledger->file, &size);
    if (status == DPOT_OK) {
        status = load_header(ledger, size);
    }
    return status == DPOT_OK ? load_records(ledger, size) : status;
}

dpot_status dpot_ledger_repair(struct dpot_ledger *ledger)
{
    const struct dpot_filesystem *fs = ledger->filesystem;
    dpot_status status = DPOT_OK;
    if (ledger->is_torn) {
        status = fs->truncate(fs->ctx, ledger->file, record_offset(ledger, ledger->n_records));
    }
    /* A failed sync may have left the page marked clean: only after writing it again does the next
     * sync write it to disk. */
    if (status == DPOT_OK && !is_empty(ledger)) {
        status = fs->write_at(fs->ctx, ledger->file, record_offset(ledger, ledger->n_records - 1),
                              ledger->last, sizeof ledger->last);
    } else if (status == DPOT_OK) {
        status = fs->write_at(fs->ctx, ledger->file, 0, ledger->header, sizeof ledger->header);
    }
    if (status == DPOT_OK) {
        status = fs->sync(fs->ctx, ledger->file);
    }
    if (status == DPOT_OK) {
        ledger->is_torn = false;
    }
    return status;
}

dpot_status dpot_ledger_is_current(struct dpot_ledger *ledger, bool *is_current)
{
    const struct dpot_filesystem *fs = ledger->filesystem;
    uint8_t block[DPOT_HEADER_LEN];
    const size_t len = is_empty(ledger) ? DPOT_HEADER_LEN : DPOT_LEDGER_RECORD_LEN;
    const uint8_t *expected = is_empty(ledger) ? ledger->header : ledger->last;
    uint64_t size = 0;
    dpot_status status = fs->size(fs->ctx, ledger->file, &size);
    *is_current = false;
    if (status != DPOT_OK || size != record_offset(ledger, ledger->n_records)) {
        return status;
    }
    status = fs->read_at(fs->ctx, ledger->file, size - len, block, len);
    *is_current = status == DPOT_OK && memcmp(block, expected, len) == 0;
    return status;
}

dpot_status dpot_ledger_reserve(struct dpot_ledger *ledger)
{
    const dpot_status status = dpot_sums_reserve(&ledger->sums);
    if (status != DPOT_OK || ledger->n_charges < ledger->cap_charges) {
        return status;
    }
    const size_t cap = ledger->cap_charges ? 2 * ledger->cap_charges : 4;
    struct dpot_charge *charges = dpot_resize_array(
        ledger->allocator, ledger->charges, ledger->cap_charges, cap, sizeof *ledger->charges);
    if (!charges) {
        return DPOT_ERR_MEMORY;
    }
    ledger->charges = charges;
    ledger->cap_charges = cap;
    return DPOT_OK;
}

/* Completes a record and appends it durably, folder included; then advances the state (L1). */
static dpot_status append(struct dpot_ledger *ledger, uint8_t *record, int64_t time_ms,
                          uint64_t counter)
{
    const struct dpot_filesystem *fs = ledger->filesystem;
    dpot_store_u64(record + SEQ_AT, ledger->n_records);
    dpot_store_u64(record + TIME_AT, (uint64_t)time_ms);
    dpot_store_u64(record + COUNTER_AT, counter);
    dpot_mac(ledger->install, chain(ledger), record, MAC_AT, record + MAC_AT);
    dpot_status status =
        fs->write_at(fs->ctx, ledger->file, record_offset(ledger, ledger->n_records), record,
                     DPOT_LEDGER_RECORD_LEN);
    if (status == DPOT_OK) {
        status = fs->sync(fs->ctx, ledger->file);
    }
    if (status == DPOT_OK) {
        status = fs->sync_directory(fs->ctx);
    }
    if (status == DPOT_OK) {
        update_state(ledger, record, time_ms, counter);
    }
    return status;
}

static void begin_record(uint8_t *record, uint32_t type, const struct dpot_key *key)
{
    memset(record, 0, DPOT_LEDGER_RECORD_LEN);
    dpot_store_u32(record + TYPE_AT, type);
    memcpy(record + HASH_AT, key->campaign_hash, DPOT_HASH_LEN);
    dpot_store_u32(record + ROUND_AT, key->round);
}

dpot_status dpot_ledger_charge(struct dpot_ledger *ledger, const struct dpot_charge *charge,
                               uint64_t counter)
{
    uint8_t record[DPOT_LEDGER_RECORD_LEN];
    dpot_ledger_write_charge(record, charge);
    dpot_status status = dpot_ledger_reserve(ledger);
    if (status == DPOT_OK) {
        status = append(ledger, record, charge->time_ms, counter);
    }
    if (status == DPOT_OK) {
        struct dpot_charge *stored = &ledger->charges[ledger->n_charges++];
        *stored = *charge;
        stored->done = DPOT_DONE_NOT_YET;
        stored->n_readings = 1;
        dpot_sums_charge(&ledger->sums, charge);
        ledger->horizon_ms = charge->horizon_ms;
    }
    return status;
}

dpot_status dpot_ledger_resume(struct dpot_ledger *ledger, size_t charge, int64_t time_ms,
                               int64_t horizon_ms, uint64_t counter)
{
    uint8_t record[DPOT_LEDGER_RECORD_LEN];
    begin_record(record, TYPE_RESUME, &ledger->charges[charge].key);
    dpot_store_u64(record + HORIZON_AT, (uint64_t)horizon_ms);
    const dpot_status status = append(ledger, record, time_ms, counter);
    if (status == DPOT_OK) {
        resume_charge(ledger, charge, horizon_ms);
    }
    return status;
}

dpot_status dpot_ledger_finish(struct dpot_ledger *ledger, size_t charge, uint8_t done,
                               int64_t time_ms, uint64_t counter)
{
    uint8_t record[DPOT_LEDGER_RECORD_LEN];
    begin_record(record, TYPE_DONE, &ledger->charges[charge].key);
    dpot_store_u32(record + DONE_AT, done);
    const dpot_status status = append(ledger, record, time_ms, counter);
    if (status == DPOT_OK) {
        end_charge(ledger, charge, done, time_ms);
    }
    return status;
}

dpot_status dpot_ledger_set_consent(struct dpot_ledger *ledger, bool is_withdrawn, int64_t time_ms,
                                    uint64_t counter)
{
    static const struct dpot_key no_key;
    uint8_t record[DPOT_LEDGER_RECORD_LEN];
    begin_record(record, TYPE_CONSENT, &no_key);
    dpot_store_u32(record + DONE_AT, is_withdrawn ? CONSENT_WITHDRAWN : CONSENT_GRANTED);
    const dpot_status status = append(ledger, record, time_ms, counter);
    if (status == DPOT_OK) {
        ledger->is_withdrawn = is_withdrawn;
    }
    return status;
}

size_t dpot_ledger_find(const struct dpot_ledger *ledger, const struct dpot_key *key)
{
    /* From the end: nearly always the charge is a recent one. */
    for (size_t i = ledger->n_charges; i > 0; i--) {
        if (dpot_key_equal(&ledger->charges[i - 1].key, key)) {
            return i - 1;
        }
    }
    return SIZE_MAX;
}

const struct dpot_ledger_campaign *dpot_ledger_find_folded(const struct dpot_ledger *ledger,
                                                           const struct dpot_key *key)
{
    const struct dpot_ledger_campaign *campaign =
        dpot_sums_find_revision(&ledger->sums, key->campaign_hash);
    return ledger->fold_end > 0 && campaign && key->round <= campaign->newest.round &&
                   dpot_ledger_find(ledger, key) == SIZE_MAX
               ? campaign
               : NULL;
}

/* For records of older releases, which have no number: a charge to this revision was followed by
 * one to another. */
static bool was_charged(const struct dpot_ledger *ledger, const uint8_t *campaign_hash)
{
    for (size_t i = 0; i < ledger->n_charges; i++) {
        if (memcmp(ledger->charges[i].key.campaign_hash, campaign_hash, DPOT_HASH_LEN) == 0) {
            return true;
        }
    }
    return false;
}

bool dpot_ledger_is_older(const struct dpot_ledger *ledger, const struct dpot_charge *charge)
{
    const struct dpot_ledger_campaign *campaign =
        dpot_sums_find(&ledger->sums, charge->signer, charge->campaign_id);
    if (!campaign || campaign->revision > 0) {
        return campaign && campaign->revision > charge->revision;
    }
    const uint8_t *hash = charge->key.campaign_hash;
    return memcmp(campaign->newest.campaign_hash, hash, DPOT_HASH_LEN) != 0 &&
           was_charged(ledger, hash);
}

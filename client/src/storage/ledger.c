#include "storage/ledger.h"

#include "base/buf.h"
#include "storage/files.h"

#include <string.h>

static const char magic[] = "DPOTLDG1";

/* Layout of a record; everything little-endian. */
enum {
    TYPE_AT = 0, /* u32 */
    DONE_AT = 4, /* u32; of CONSENT: 1 withdrawn, 2 granted */
    SEQ_AT = 8,
    HASH_AT = 16,
    ROUND_AT = 48,    /* u32 */
    REVISION_AT = 52, /* u32; 0 in records of older releases, DONE and CONSENT */
    SIGNER_AT = 56,
    CAMPAIGN_AT = 88,
    EPSILON_AT = 104,
    DELTA_AT = 112,
    RHO_AT = 120,
    GAUSSIAN_AT = 128,
    TIME_AT = 136,
    COUNTER_AT = 144,
    HORIZON_AT = 152, /* of CHARGE and RESUME; 0 in records of older releases */
    MAC_AT = 160,
};
enum {
    TYPE_CHARGE = 0x47524843, /* "CHRG" */
    TYPE_DONE = 0x454e4f44,
    TYPE_CONSENT = 0x54534e43, /* "CNST" */
    TYPE_RESUME = 0x554d5352,  /* "RSMU" */
};
enum { CONSENT_WITHDRAWN = 1, CONSENT_GRANTED = 2 };

#define RECORDS_PER_READ 8

bool dpot_key_equal(const struct dpot_key *a, const struct dpot_key *b)
{
    return a->round == b->round && memcmp(a->campaign_hash, b->campaign_hash, DPOT_HASH_LEN) == 0;
}

void dpot_ledger_init(struct dpot_ledger *ledger, const struct dpot_filesystem *filesystem,
                      const struct dpot_allocator *allocator, const struct dpot_install *install)
{
    *ledger = (struct dpot_ledger){.filesystem = filesystem,
                                   .allocator = allocator,
                                   .install = install,
                                   .latest_ms = INT64_MIN};
}

void dpot_ledger_release(struct dpot_ledger *ledger)
{
    dpot_ledger_close_file(ledger);
    dpot_free_array(ledger->allocator, ledger->charges, ledger->cap_charges,
                    sizeof *ledger->charges);
    ledger->charges = NULL;
    ledger->n_charges = ledger->cap_charges = 0;
}

dpot_status dpot_ledger_create(struct dpot_ledger *ledger, uint32_t accountant, uint64_t counter)
{
    uint8_t header[DPOT_HEADER_LEN];
    dpot_header_encode(ledger->install, magic,
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

static uint64_t record_offset(uint64_t seq)
{
    return DPOT_HEADER_LEN + seq * DPOT_LEDGER_RECORD_LEN;
}

/* The checksum that the next record is chained to. */
static const uint8_t *chain(const struct dpot_ledger *ledger)
{
    return ledger->n_records > 0 ? ledger->last + MAC_AT
                                 : ledger->header + DPOT_HEADER_LEN - DPOT_MAC_LEN;
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

static void read_charge(const uint8_t *record, struct dpot_charge *charge)
{
    memset(charge, 0, sizeof *charge);
    memcpy(charge->key.campaign_hash, record + HASH_AT, DPOT_HASH_LEN);
    charge->key.round = dpot_load_u32(record + ROUND_AT);
    charge->revision = dpot_load_u32(record + REVISION_AT);
    memcpy(charge->signer, record + SIGNER_AT, sizeof charge->signer);
    memcpy(charge->campaign_id, record + CAMPAIGN_AT, sizeof charge->campaign_id);
    charge->cost.epsilon_q32 = dpot_load_u64(record + EPSILON_AT);
    charge->cost.delta_q64 = dpot_load_u64(record + DELTA_AT);
    charge->cost.rho_q32 = dpot_load_u64(record + RHO_AT);
    charge->cost.n_gaussian = dpot_load_u64(record + GAUSSIAN_AT);
    charge->time_ms = (int64_t)dpot_load_u64(record + TIME_AT);
    charge->horizon_ms = (int64_t)dpot_load_u64(record + HORIZON_AT);
    charge->n_readings = 1;
}

static bool is_final(uint32_t done)
{
    return (done > 0 && done < DPOT_REPORT_STATUS_END) ||
           (done >= DPOT_DONE_DROPPED_CLOSED && done < DPOT_DONE_END);
}

static void end_charge(struct dpot_charge *charge, uint8_t done, int64_t time_ms, uint64_t seq)
{
    charge->done = done;
    charge->done_ms = time_ms;
    charge->done_seq = seq;
}

static void resume_charge(struct dpot_ledger *ledger, size_t charge, int64_t horizon_ms)
{
    ledger->charges[charge].n_readings++;
    ledger->charges[charge].horizon_ms = horizon_ms;
    ledger->horizon_ms = horizon_ms;
}

/* Applies a record whose checksum is valid; checks (L2) and (L4). */
static dpot_status apply(struct dpot_ledger *ledger, const uint8_t *record)
{
    struct dpot_charge charge;
    read_charge(record, &charge);
    const size_t old = dpot_ledger_find(ledger, &charge.key);
    const uint32_t type = dpot_load_u32(record + TYPE_AT);
    const uint32_t done = dpot_load_u32(record + DONE_AT);
    if (dpot_load_u64(record + SEQ_AT) != ledger->n_records || charge.time_ms < ledger->latest_ms) {
        return DPOT_ERR_CORRUPT;
    }
    if (type == TYPE_CHARGE && old == SIZE_MAX) {
        const dpot_status status = dpot_ledger_reserve(ledger);
        if (status != DPOT_OK) {
            return status;
        }
        charge.seq = ledger->n_records;
        ledger->charges[ledger->n_charges++] = charge;
        ledger->horizon_ms = charge.horizon_ms;
    } else if (type == TYPE_RESUME && old != SIZE_MAX &&
               ledger->charges[old].done == DPOT_DONE_NOT_YET) {
        resume_charge(ledger, old, charge.horizon_ms);
    } else if (type == TYPE_DONE && old != SIZE_MAX &&
               ledger->charges[old].done == DPOT_DONE_NOT_YET && is_final(done)) {
        end_charge(&ledger->charges[old], (uint8_t)done, charge.time_ms, ledger->n_records);
    } else if (type == TYPE_CONSENT && (done == CONSENT_WITHDRAWN || done == CONSENT_GRANTED)) {
        ledger->is_withdrawn = done == CONSENT_WITHDRAWN;
    } else {
        return DPOT_ERR_CORRUPT;
    }
    update_state(ledger, record, charge.time_ms, dpot_load_u64(record + COUNTER_AT));
    return DPOT_OK;
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
        status =
            dpot_header_decode(ledger->install, magic, ledger->header, &header, ledger->install_id);
    }
    ledger->counter = header.counter;
    ledger->accountant = header.accountant;
    return status;
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
            const dpot_status status = fs->read_at(fs->ctx, ledger->file, record_offset(i), chunk,
                                                   count * DPOT_LEDGER_RECORD_LEN);
            if (status != DPOT_OK) {
                return status;
            }
        }
        const uint8_t *record = chunk + in_chunk * DPOT_LEDGER_RECORD_LEN;
        if (!is_checksum_valid(ledger, record)) {
            ledger->is_torn = i + 1 == n && !has_part;
            return ledger->is_torn ? DPOT_OK : DPOT_ERR_CORRUPT;
        }
        const dpot_status status = apply(ledger, record);
        if (status != DPOT_OK) {
            return status;
        }
    }
    ledger->is_torn = has_part;
    return DPOT_OK;
}

dpot_status dpot_ledger_load(struct dpot_ledger *ledger)
{
    const struct dpot_filesystem *fs = ledger->filesystem;
    ledger->n_charges = 0;
    ledger->n_records = 0;
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
        status = fs->truncate(fs->ctx, ledger->file, record_offset(ledger->n_records));
    }
    /* A failed sync may have left the page marked clean: only after writing it again does the next
     * sync write it to disk. */
    if (status == DPOT_OK && ledger->n_records > 0) {
        status = fs->write_at(fs->ctx, ledger->file, record_offset(ledger->n_records - 1),
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
    const bool is_empty = ledger->n_records == 0;
    const size_t len = is_empty ? DPOT_HEADER_LEN : DPOT_LEDGER_RECORD_LEN;
    const uint8_t *expected = is_empty ? ledger->header : ledger->last;
    uint64_t size = 0;
    dpot_status status = fs->size(fs->ctx, ledger->file, &size);
    *is_current = false;
    if (status != DPOT_OK || size != record_offset(ledger->n_records)) {
        return status;
    }
    status = fs->read_at(fs->ctx, ledger->file, size - len, block, len);
    *is_current = status == DPOT_OK && memcmp(block, expected, len) == 0;
    return status;
}

dpot_status dpot_ledger_reserve(struct dpot_ledger *ledger)
{
    if (ledger->n_charges < ledger->cap_charges) {
        return DPOT_OK;
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
    dpot_status status = fs->write_at(fs->ctx, ledger->file, record_offset(ledger->n_records),
                                      record, DPOT_LEDGER_RECORD_LEN);
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
    begin_record(record, TYPE_CHARGE, &charge->key);
    dpot_store_u32(record + REVISION_AT, charge->revision);
    memcpy(record + SIGNER_AT, charge->signer, sizeof charge->signer);
    memcpy(record + CAMPAIGN_AT, charge->campaign_id, sizeof charge->campaign_id);
    dpot_store_u64(record + EPSILON_AT, charge->cost.epsilon_q32);
    dpot_store_u64(record + DELTA_AT, charge->cost.delta_q64);
    dpot_store_u64(record + RHO_AT, charge->cost.rho_q32);
    dpot_store_u64(record + GAUSSIAN_AT, charge->cost.n_gaussian);
    dpot_store_u64(record + HORIZON_AT, (uint64_t)charge->horizon_ms);
    dpot_status status = dpot_ledger_reserve(ledger);
    if (status == DPOT_OK) {
        status = append(ledger, record, charge->time_ms, counter);
    }
    if (status == DPOT_OK) {
        struct dpot_charge *stored = &ledger->charges[ledger->n_charges++];
        *stored = *charge;
        stored->done = DPOT_DONE_NOT_YET;
        stored->n_readings = 1;
        stored->seq = ledger->n_records - 1;
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
        end_charge(&ledger->charges[charge], done, time_ms, ledger->n_records - 1);
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

/* True for ends by an answer of the server: receipts, 409, 400 and 413. */
static bool is_answer(uint8_t done)
{
    return (done > 0 && done < DPOT_REPORT_STATUS_END) || done == DPOT_DONE_DROPPED_CLOSED ||
           done == DPOT_DONE_DROPPED_MALFORMED;
}

size_t dpot_ledger_last_answer(const struct dpot_ledger *ledger,
                               const uint8_t campaign_hash[DPOT_HASH_LEN])
{
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < ledger->n_charges; i++) {
        const struct dpot_charge *c = &ledger->charges[i];
        if (is_answer(c->done) && memcmp(c->key.campaign_hash, campaign_hash, DPOT_HASH_LEN) == 0 &&
            (last == SIZE_MAX || c->done_seq > ledger->charges[last].done_seq)) {
            last = i;
        }
    }
    return last;
}

static bool is_of_campaign(const struct dpot_charge *charge, const uint8_t *signer,
                           const uint8_t *campaign_id)
{
    return memcmp(charge->signer, signer, DPOT_SIGN_PUBLIC_LEN) == 0 &&
           memcmp(charge->campaign_id, campaign_id, DPOT_CAMPAIGN_ID_LEN) == 0;
}

bool dpot_ledger_is_older(const struct dpot_ledger *ledger, const struct dpot_charge *charge)
{
    bool was_charged = false; /* this very revision, up to here */
    for (size_t i = 0; i < ledger->n_charges; i++) {
        const struct dpot_charge *c = &ledger->charges[i];
        if (!is_of_campaign(c, charge->signer, charge->campaign_id)) {
            continue;
        }
        const bool is_same =
            memcmp(c->key.campaign_hash, charge->key.campaign_hash, DPOT_HASH_LEN) == 0;
        if (c->revision > charge->revision || (c->revision == 0 && was_charged && !is_same)) {
            return true;
        }
        was_charged |= is_same;
    }
    return false;
}

struct dpot_privacy dpot_ledger_spent(const struct dpot_ledger *ledger)
{
    return dpot_ledger_spent_after(ledger, INT64_MIN);
}

struct dpot_privacy dpot_ledger_spent_after(const struct dpot_ledger *ledger, int64_t after_ms)
{
    struct dpot_privacy sum = {0};
    for (size_t i = 0; i < ledger->n_charges; i++) {
        if (after_ms == INT64_MIN || ledger->charges[i].time_ms > after_ms) {
            sum = dpot_privacy_add(sum, ledger->charges[i].cost);
        }
    }
    return sum;
}

struct dpot_privacy dpot_ledger_spent_campaign(const struct dpot_ledger *ledger,
                                               const uint8_t signer[DPOT_SIGN_PUBLIC_LEN],
                                               const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN])
{
    struct dpot_privacy sum = {0};
    for (size_t i = 0; i < ledger->n_charges; i++) {
        const struct dpot_charge *c = &ledger->charges[i];
        if (is_of_campaign(c, signer, campaign_id)) {
            sum = dpot_privacy_add(sum, c->cost);
        }
    }
    return sum;
}

#include "storage/journal.h"

#include "base/crypto.h"
#include "dpot/dpot.h"
#include "storage/files.h"

#include <stdio.h>
#include <string.h>

#define COUNTER_NAME "counter" /* stands for a file in poison_file */

void dpot_journal_init(struct dpot_journal *journal, const struct dpot_filesystem *filesystem,
                       const struct dpot_allocator *allocator, const struct dpot_counter *counter,
                       const struct dpot_clock *clock, const uint8_t *keystore_key,
                       size_t keystore_key_len, uint32_t send_delay_ms, uint32_t accountant)
{
    *journal = (struct dpot_journal){.filesystem = filesystem,
                                     .allocator = allocator,
                                     .counter = counter && counter->read ? counter : NULL,
                                     .clock = clock,
                                     .send_delay_ms = send_delay_ms,
                                     .accountant = accountant};
    dpot_install_init_key(&journal->install, keystore_key, keystore_key_len);
    dpot_ledger_init(&journal->ledger, filesystem, allocator, &journal->install);
    dpot_spool_init(&journal->spool, filesystem, allocator, &journal->install);
}

void dpot_journal_release(struct dpot_journal *journal)
{
    dpot_ledger_release(&journal->ledger);
    dpot_spool_release(&journal->spool);
    dpot_wipe(&journal->install, sizeof journal->install);
}

/* (J3). `file` is a literal. */
static dpot_status poison_unless_ok(struct dpot_journal *journal, const char *file,
                                    dpot_status status)
{
    if (status == DPOT_OK || status == DPOT_ERR_MEMORY) {
        return status;
    }
    journal->is_poisoned = true;
    journal->poison_file = file;
    (void)snprintf(journal->poison_why, sizeof journal->poison_why, "%s",
                   strcmp(file, COUNTER_NAME) == 0 ? dpot_status_text(status)
                                                   : dpot_file_why(journal->filesystem, status));
    return DPOT_ERR_POISONED;
}

dpot_status dpot_journal_explain_poison(const struct dpot_journal *journal,
                                        struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_POISONED, "the file \"%s\": %s; %s", journal->poison_file,
                          journal->poison_why, dpot_status_text(DPOT_ERR_POISONED));
}

void dpot_journal_reset(struct dpot_journal *journal)
{
    journal->is_poisoned = false;
    journal->is_loaded = false;
}

/* ---- the lock ---- */

/* Opens both files and compares them with memory. A missing file is not current. */
static dpot_status check_current(struct dpot_journal *journal, bool *is_current)
{
    uint64_t counter_value = 0;
    *is_current = false;
    dpot_status status = dpot_journal_read_counter(journal, &counter_value);
    if (status == DPOT_OK && counter_value != journal->counter_value) {
        return DPOT_OK;
    }
    if (status == DPOT_OK) {
        status = dpot_ledger_open_file(&journal->ledger);
    }
    if (status == DPOT_OK) {
        status = dpot_spool_open_file(&journal->spool);
    }
    if (status == DPOT_OK) {
        status = dpot_ledger_is_current(&journal->ledger, is_current);
    }
    if (status == DPOT_OK && *is_current) {
        status = dpot_spool_is_current(&journal->spool, is_current);
    }
    return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
}

static void close_files(struct dpot_journal *journal)
{
    dpot_ledger_close_file(&journal->ledger);
    dpot_spool_close_file(&journal->spool);
}

static dpot_status catch_up(struct dpot_journal *journal)
{
    bool is_current = false;
    if (journal->is_exhausted) {
        return DPOT_OK;
    }
    if (journal->is_loaded) {
        const dpot_status status = check_current(journal, &is_current);
        if (status != DPOT_OK) {
            return status;
        }
    }
    if (is_current) {
        return DPOT_OK;
    }
    close_files(journal);
    journal->is_loaded = false;
    return dpot_journal_open(journal);
}

dpot_status dpot_journal_lock(struct dpot_journal *journal, struct dpot_error *error)
{
    const struct dpot_filesystem *fs = journal->filesystem;
    if (journal->is_poisoned) {
        return dpot_journal_explain_poison(journal, error);
    }
    dpot_status status = fs->lock(fs->ctx);
    if (status != DPOT_OK) {
        return status == DPOT_ERR_BUSY
                   ? dpot_error_set(error, status, "another process is using the folder: try again")
                   : dpot_error_set(error, status, "the folder's lock: %s",
                                    dpot_file_why(fs, status));
    }
    status = catch_up(journal);
    if (status == DPOT_ERR_ARGUMENT && journal->why_refused) {
        dpot_journal_unlock(journal);
        return dpot_error_set(error, status, "%s", journal->why_refused);
    }
    if (status != DPOT_OK) {
        dpot_journal_unlock(journal);
        return dpot_error_set(error, status, "opening ledger and spool: %s",
                              dpot_file_why(fs, status));
    }
    return DPOT_OK;
}

void dpot_journal_unlock(struct dpot_journal *journal)
{
    close_files(journal);
    journal->filesystem->unlock(journal->filesystem->ctx);
}

/* ---- states ---- */

int64_t dpot_journal_time(const struct dpot_journal *journal, int64_t now_ms)
{
    return now_ms > journal->ledger.latest_ms ? now_ms : journal->ledger.latest_ms;
}

int64_t dpot_journal_horizon(const struct dpot_journal *journal, int64_t now_ms)
{
    const int64_t horizon_ms = journal->ledger.horizon_ms;
    return horizon_ms > now_ms && horizon_ms - DPOT_LEAD_MAX_MS <= now_ms ? horizon_ms : INT64_MIN;
}

uint32_t dpot_journal_draw_delay(const uint8_t random[8], uint32_t most_ms)
{
    return 1 + (uint32_t)(dpot_load_u64(random) % most_ms);
}

static uint32_t delay_of(const struct dpot_journal *journal, const struct dpot_slot *slot)
{
    return slot->name.has_draws ? slot->name.delay_ms : journal->send_delay_ms;
}

void dpot_journal_set_due(const struct dpot_journal *journal, struct dpot_slot *slot)
{
    const size_t charge = dpot_ledger_find(&journal->ledger, &slot->name.key);
    const int64_t horizon_ms = charge == SIZE_MAX ? 0 : journal->ledger.charges[charge].horizon_ms;
    if (slot->name.has_draws && horizon_ms > 0 && horizon_ms < INT64_MAX - UINT32_MAX) {
        slot->due_ms = horizon_ms + slot->name.delay_ms;
        return;
    }
    uint8_t random[8];
    dpot_random_bytes(random, sizeof random);
    slot->due_ms = journal->clock->now(journal->clock->ctx) +
                   dpot_journal_draw_delay(random, delay_of(journal, slot));
}

void dpot_journal_limit_due(struct dpot_journal *journal, int64_t now_ms)
{
    for (size_t i = 0; i < journal->spool.n_slots; i++) {
        struct dpot_slot *slot = &journal->spool.slots[i];
        const int64_t delay_ms = delay_of(journal, slot);
        if (slot->content == DPOT_SLOT_REPORT &&
            slot->due_ms > now_ms + DPOT_LEAD_MAX_MS + delay_ms) {
            slot->due_ms = now_ms + delay_ms;
        }
    }
}

static enum dpot_key_state charge_state(const struct dpot_journal *journal,
                                        const struct dpot_charge *charge)
{
    if (charge->done != DPOT_DONE_NOT_YET) {
        return DPOT_KEY_DONE;
    }
    const size_t slot = dpot_spool_find(&journal->spool, &charge->key);
    if (slot == SIZE_MAX) {
        return DPOT_KEY_LOST;
    }
    const bool is_filled = journal->spool.slots[slot].content == DPOT_SLOT_REPORT;
    return is_filled ? DPOT_KEY_REPORTED : DPOT_KEY_CHARGED;
}

enum dpot_key_state dpot_journal_state(const struct dpot_journal *journal,
                                       const struct dpot_key *key)
{
    const size_t charge = dpot_ledger_find(&journal->ledger, key);
    if (charge != SIZE_MAX) {
        return charge_state(journal, &journal->ledger.charges[charge]);
    }
    return dpot_ledger_find_folded(&journal->ledger, key) ? DPOT_KEY_DONE : DPOT_KEY_NONE;
}

bool dpot_journal_is_lost(const struct dpot_journal *journal, const struct dpot_key *key)
{
    const size_t charge = dpot_ledger_find(&journal->ledger, key);
    if (charge == SIZE_MAX) {
        const struct dpot_ledger_campaign *folded = dpot_ledger_find_folded(&journal->ledger, key);
        return folded && folded->newest.round == key->round &&
               folded->newest_done == DPOT_DONE_DROPPED_LOST;
    }
    return charge_state(journal, &journal->ledger.charges[charge]) == DPOT_KEY_LOST ||
           journal->ledger.charges[charge].done == DPOT_DONE_DROPPED_LOST;
}

/* How this charge has ended by `time_ms`, or DPOT_DONE_NOT_YET; not for lost ones. */
static uint8_t ended_by_time(const struct dpot_journal *journal, const struct dpot_charge *charge,
                             int64_t time_ms)
{
    const enum dpot_key_state state = charge_state(journal, charge);
    if (state != DPOT_KEY_CHARGED && state != DPOT_KEY_REPORTED) {
        return DPOT_DONE_NOT_YET;
    }
    const size_t slot = dpot_spool_find(&journal->spool, &charge->key);
    const int64_t closes_ms = journal->spool.slots[slot].name.closes_ms;
    if (state == DPOT_KEY_CHARGED && time_ms >= closes_ms) {
        return DPOT_DONE_DROPPED_LOST;
    }
    if (state == DPOT_KEY_REPORTED && time_ms - DPOT_SPOOL_AGE_MS >= closes_ms) {
        return DPOT_DONE_DROPPED_AGE;
    }
    return DPOT_DONE_NOT_YET;
}

/* True for a slot that a crash left: its key has its DONE and only the ACK is missing, or it never
 * had a charge and its round is over. */
static bool is_left_over(const struct dpot_journal *journal, const struct dpot_slot *slot,
                         int64_t time_ms)
{
    if (!slot->has_name || slot->content == DPOT_SLOT_FREE) {
        return false;
    }
    const enum dpot_key_state state = dpot_journal_state(journal, &slot->name.key);
    return state == DPOT_KEY_DONE || (state == DPOT_KEY_NONE && time_ms >= slot->name.closes_ms);
}

static dpot_status free_left_overs(struct dpot_journal *journal, int64_t time_ms)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < journal->spool.n_slots; i++) {
        if (is_left_over(journal, &journal->spool.slots[i], time_ms)) {
            status = dpot_spool_acknowledge(&journal->spool, i);
        }
    }
    return poison_unless_ok(journal, DPOT_SPOOL_NAME, status);
}

/* dpot_journal_finish with a copy of the key: the array of charges may move meanwhile. */
static dpot_status finish_charge(struct dpot_journal *journal, size_t charge, uint8_t done,
                                 int64_t time_ms)
{
    const struct dpot_key key = journal->ledger.charges[charge].key;
    return dpot_journal_finish(journal, &key, done, time_ms);
}

dpot_status dpot_journal_settle(struct dpot_journal *journal, int64_t time_ms)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < journal->ledger.n_charges; i++) {
        if (charge_state(journal, &journal->ledger.charges[i]) == DPOT_KEY_LOST) {
            status = finish_charge(journal, i, DPOT_DONE_DROPPED_LOST, time_ms);
        }
    }
    return status == DPOT_OK ? free_left_overs(journal, time_ms) : status;
}

dpot_status dpot_journal_settle_old(struct dpot_journal *journal, int64_t time_ms)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < journal->ledger.n_charges; i++) {
        const uint8_t done = ended_by_time(journal, &journal->ledger.charges[i], time_ms);
        if (done != DPOT_DONE_NOT_YET) {
            status = finish_charge(journal, i, done, time_ms);
        }
    }
    return status;
}

/* ---- changes ---- */

dpot_status dpot_journal_reserve(struct dpot_journal *journal)
{
    const dpot_status status = dpot_ledger_reserve(&journal->ledger);
    return status == DPOT_OK ? dpot_spool_reserve(&journal->spool) : status;
}

static uint64_t next_counter(const struct dpot_journal *journal)
{
    return journal->counter ? journal->counter_value + 1 : 0;
}

static dpot_status advance_counter(struct dpot_journal *journal)
{
    if (!journal->counter) {
        return DPOT_OK;
    }
    const dpot_status status = journal->counter->advance(journal->counter->ctx);
    journal->counter_value += status == DPOT_OK;
    return status;
}

dpot_status dpot_journal_preallocate(struct dpot_journal *journal,
                                     const struct dpot_slot_name *name)
{
    /* (S3): a slot of an attempt that a crash stopped before its charge is used again; opening made
     * it durable. A slot of an older release has no draws and is replaced. */
    const size_t slot = dpot_spool_find(&journal->spool, &name->key);
    dpot_status status = DPOT_OK;
    if (slot != SIZE_MAX && journal->spool.slots[slot].name.has_draws) {
        return DPOT_OK;
    }
    if (slot != SIZE_MAX) {
        status = dpot_spool_acknowledge(&journal->spool, slot);
    }
    if (status == DPOT_OK) {
        status = dpot_spool_append(&journal->spool, name);
    }
    return poison_unless_ok(journal, DPOT_SPOOL_NAME, status);
}

/* If advancing fails the file is one ahead of the counter: the next opening advances it. */
static dpot_status advance_after(struct dpot_journal *journal, dpot_status status, const char *file)
{
    status = poison_unless_ok(journal, file, status);
    return status == DPOT_OK ? poison_unless_ok(journal, COUNTER_NAME, advance_counter(journal))
                             : status;
}

dpot_status dpot_journal_charge(struct dpot_journal *journal, const struct dpot_charge *charge)
{
    const dpot_status status = dpot_ledger_charge(&journal->ledger, charge, next_counter(journal));
    return advance_after(journal, status, DPOT_LEDGER_NAME);
}

dpot_status dpot_journal_resume(struct dpot_journal *journal, const struct dpot_key *key,
                                int64_t time_ms, int64_t horizon_ms)
{
    const size_t charge = dpot_ledger_find(&journal->ledger, key);
    const dpot_status status =
        dpot_ledger_resume(&journal->ledger, charge, time_ms, horizon_ms, next_counter(journal));
    return advance_after(journal, status, DPOT_LEDGER_NAME);
}

dpot_status dpot_journal_spool(struct dpot_journal *journal, const struct dpot_key *key,
                               const struct dpot_report *report)
{
    const size_t slot = dpot_spool_find(&journal->spool, key);
    const dpot_status status =
        dpot_spool_fill(&journal->spool, slot, report, next_counter(journal));
    dpot_journal_set_due(journal, &journal->spool.slots[slot]);
    return advance_after(journal, status, DPOT_SPOOL_NAME);
}

static dpot_status end_charge(struct dpot_journal *journal, size_t charge, uint8_t done,
                              int64_t time_ms)
{
    const dpot_status status = dpot_ledger_finish(&journal->ledger, charge, done, time_ms,
                                                  journal->counter ? journal->counter_value : 0);
    journal->n_ended[done] += status == DPOT_OK;
    return status;
}

dpot_status dpot_journal_finish(struct dpot_journal *journal, const struct dpot_key *key,
                                uint8_t done, int64_t time_ms)
{
    const size_t charge = dpot_ledger_find(&journal->ledger, key);
    const dpot_status status =
        poison_unless_ok(journal, DPOT_LEDGER_NAME, end_charge(journal, charge, done, time_ms));
    const size_t slot = dpot_spool_find(&journal->spool, key);
    return status == DPOT_OK && slot != SIZE_MAX
               ? poison_unless_ok(journal, DPOT_SPOOL_NAME,
                                  dpot_spool_acknowledge(&journal->spool, slot))
               : status;
}

static dpot_status end_open_charges(struct dpot_journal *journal, int64_t time_ms)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < journal->ledger.n_charges; i++) {
        if (journal->ledger.charges[i].done == DPOT_DONE_NOT_YET) {
            status = end_charge(journal, i, DPOT_DONE_DROPPED_WITHDRAWN, time_ms);
        }
    }
    return status;
}

/* A record that cannot be written now is tried again by the next call; the mark holds until
 * then. */
static dpot_status record_consent(struct dpot_journal *journal, bool is_withdrawn, int64_t time_ms)
{
    return journal->ledger.is_withdrawn == is_withdrawn
               ? DPOT_OK
               : dpot_ledger_set_consent(&journal->ledger, is_withdrawn, time_ms,
                                         journal->counter ? journal->counter_value : 0);
}

dpot_status dpot_journal_withdraw(struct dpot_journal *journal, int64_t time_ms)
{
    dpot_status ended = end_open_charges(journal, time_ms);
    if (ended == DPOT_OK) {
        ended = record_consent(journal, true, time_ms);
    }
    dpot_status status =
        dpot_spool_purge(&journal->spool, journal->counter ? journal->counter_value : 0);
    if (status == DPOT_OK && ended == DPOT_OK && journal->spool.n_slots > 0) {
        status = dpot_spool_cut(&journal->spool);
    }
    if (ended != DPOT_OK) {
        journal->is_loaded = false; /* the record may be on disk or not: the next lock reads it */
    }
    return poison_unless_ok(journal, DPOT_SPOOL_NAME, status);
}

dpot_status dpot_journal_grant(struct dpot_journal *journal, int64_t time_ms)
{
    const dpot_status status = record_consent(journal, false, time_ms);
    if (status != DPOT_OK) {
        journal->is_loaded = false; /* as above */
    }
    return status;
}

/* Without space the ledger is not folded: nothing was changed. */
dpot_status dpot_journal_fold(struct dpot_journal *journal)
{
    const struct dpot_filesystem *fs = journal->filesystem;
    if (!dpot_ledger_is_foldable(&journal->ledger)) {
        return DPOT_OK;
    }
    dpot_status status = free_left_overs(journal, INT64_MIN);
    if (status == DPOT_OK) {
        status = poison_unless_ok(journal, DPOT_SPOOL_NAME, fs->sync(fs->ctx, journal->spool.file));
    }
    if (status == DPOT_OK) {
        status = dpot_ledger_fold(&journal->ledger);
        status = status == DPOT_ERR_NO_SPACE ? DPOT_OK
                                             : poison_unless_ok(journal, DPOT_LEDGER_NAME, status);
    }
    return status;
}

/* Without space the spool is not compacted: nothing was changed. */
dpot_status dpot_journal_compact(struct dpot_journal *journal)
{
    const dpot_status status = dpot_spool_compact(&journal->spool, dpot_journal_counter(journal));
    if (status == DPOT_ERR_NO_SPACE) {
        journal->is_loaded = false;
        return DPOT_OK;
    }
    return poison_unless_ok(journal, DPOT_SPOOL_NAME, status);
}

/* An EMPTY slot without a charge is freed without a record. */
static dpot_status drop_slot(struct dpot_journal *journal, size_t slot, int64_t time_ms)
{
    const struct dpot_key key = journal->spool.slots[slot].name.key;
    const enum dpot_key_state state = dpot_journal_state(journal, &key);
    if (state == DPOT_KEY_CHARGED || state == DPOT_KEY_REPORTED) {
        return dpot_journal_finish(journal, &key, DPOT_DONE_DROPPED_SPOOL, time_ms);
    }
    return poison_unless_ok(journal, DPOT_SPOOL_NAME,
                            dpot_spool_acknowledge(&journal->spool, slot));
}

uint64_t dpot_journal_share(uint64_t max_bytes)
{
    if (max_bytes == 0) {
        return UINT64_MAX;
    }
    return max_bytes > DPOT_HEADER_LEN ? (max_bytes - DPOT_HEADER_LEN) / DPOT_SPOOL_SHARES : 0;
}

static bool has_free_slot(const struct dpot_spool *spool)
{
    return spool->end > DPOT_HEADER_LEN + dpot_spool_live_len(spool, NULL);
}

dpot_status dpot_journal_make_room(struct dpot_journal *journal, const struct dpot_slot_name *name,
                                   uint64_t max_bytes, int64_t time_ms)
{
    struct dpot_spool *spool = &journal->spool;
    const uint64_t len = dpot_slot_len(name->n_values), share = dpot_journal_share(max_bytes);
    if (max_bytes == 0 || dpot_spool_find(spool, &name->key) != SIZE_MAX) {
        return DPOT_OK;
    }
    size_t first = dpot_spool_find_first_to_close(spool, name->campaign_id);
    while (first != SIZE_MAX && dpot_spool_live_len(spool, name->campaign_id) + len > share) {
        const dpot_status status = drop_slot(journal, first, time_ms);
        if (status != DPOT_OK) {
            return status;
        }
        first = dpot_spool_find_first_to_close(spool, name->campaign_id);
    }
    if (spool->end + len <= max_bytes || !has_free_slot(spool)) {
        return DPOT_OK;
    }
    const dpot_status status = dpot_spool_rewrite(spool, dpot_journal_counter(journal));
    if (status == DPOT_ERR_NO_SPACE) {
        journal->is_loaded = false; /* the new file may be there or not: the next lock reads it */
        return status;
    }
    return poison_unless_ok(journal, DPOT_SPOOL_NAME, status);
}

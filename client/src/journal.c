#include "journal.h"

#include "base/crypto.h"
#include "campaigns.h"
#include "files.h"

#include <string.h>

#define INSTALL_NAME "install"
static const char install_magic[] = "DPOTINS1";

void dpot_journal_init(struct dpot_journal *journal, const struct dpot_filesystem *filesystem,
                       const struct dpot_allocator *allocator, const struct dpot_counter *counter,
                       const uint8_t *keystore_key, size_t keystore_key_len, uint32_t send_delay_ms)
{
    *journal = (struct dpot_journal){.filesystem = filesystem,
                                     .allocator = allocator,
                                     .counter = counter && counter->read ? counter : NULL,
                                     .send_delay_ms = send_delay_ms};
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

/* (J4): nothing of what was read is believed, nothing is written. */
static dpot_status exhaust(struct dpot_journal *journal, const char *why)
{
    journal->is_exhausted = true;
    journal->why_exhausted = why;
    journal->ledger.n_charges = 0;
    journal->spool.n_slots = 0;
    return DPOT_OK;
}

/* (J3) */
static dpot_status poison_unless_ok(struct dpot_journal *journal, dpot_status status)
{
    if (status == DPOT_OK || status == DPOT_ERR_MEMORY) {
        return status;
    }
    journal->is_poisoned = true;
    return DPOT_ERR_POISONED;
}

/* ---- opening: the identity ---- */

static dpot_status read_counter(struct dpot_journal *journal, uint64_t *value)
{
    *value = 0;
    return journal->counter ? journal->counter->read(journal->counter->ctx, value) : DPOT_OK;
}

/* Whether there ever was an install here: any file that is written only after a ledger. */
static dpot_status find_traces(const struct dpot_journal *journal, bool *found)
{
    static const char *const names[] = {INSTALL_NAME, DPOT_SPOOL_NAME, DPOT_KEYS_NAME};
    *found = journal->counter_value > 0;
    for (size_t i = 0; !*found && i < sizeof names / sizeof names[0]; i++) {
        const dpot_status status = dpot_file_exists(journal->filesystem, names[i], found);
        if (status != DPOT_OK) {
            return status;
        }
    }
    return DPOT_OK;
}

/* A folder without any trace: a new install is born. The ledger comes first, so that whatever else
 * is found later proves that there was one. */
static dpot_status create_install(struct dpot_journal *journal)
{
    dpot_random_bytes(journal->install.id, sizeof journal->install.id);
    return dpot_ledger_create(&journal->ledger, journal->counter_value);
}

/* Writes "install" unless it is there already; false in *is_ours: it names another install. */
static dpot_status check_install_file(struct dpot_journal *journal, bool *is_ours)
{
    uint8_t raw[DPOT_HEADER_LEN];
    uint8_t id[DPOT_INSTALL_ID_LEN];
    struct dpot_header header = {0};
    struct dpot_buf file;
    *is_ours = true;
    dpot_buf_init(&file, sizeof raw, journal->allocator);
    dpot_status status = dpot_file_read(journal->filesystem, INSTALL_NAME, &file);
    if (status == DPOT_OK && file.len == sizeof raw &&
        dpot_header_decode(&journal->install, install_magic, file.data, &header, id) == DPOT_OK) {
        *is_ours = memcmp(id, journal->install.id, sizeof id) == 0;
    } else if (status == DPOT_OK || status == DPOT_ERR_NOT_FOUND || status == DPOT_ERR_TOO_LARGE) {
        dpot_header_encode(&journal->install, install_magic, &header, raw);
        status = dpot_file_replace(journal->filesystem, INSTALL_NAME, raw, sizeof raw);
    }
    dpot_buf_release(&file);
    return status;
}

/* ---- opening: the two files ---- */

static dpot_status load_ledger(struct dpot_journal *journal)
{
    dpot_status status = dpot_ledger_open_file(&journal->ledger);
    if (status == DPOT_ERR_NOT_FOUND) {
        bool had_install = false;
        status = find_traces(journal, &had_install);
        if (status == DPOT_OK && had_install) {
            return exhaust(journal, "the file \"ledger\" is missing");
        }
        if (status == DPOT_OK) {
            status = create_install(journal);
        }
        if (status == DPOT_OK) {
            status = dpot_ledger_open_file(&journal->ledger);
        }
    }
    if (status == DPOT_OK) {
        status = dpot_ledger_load(&journal->ledger);
    }
    if (status == DPOT_ERR_CORRUPT) {
        return exhaust(journal, "the file \"ledger\" is damaged or is not ours");
    }
    if (status == DPOT_OK) {
        memcpy(journal->install.id, journal->ledger.install_id, sizeof journal->install.id);
    }
    return status;
}

/* A spool that is gone, not readable or not of this install is replaced by an empty one: what it
 * held is LOST, which costs reports and never privacy. */
static dpot_status load_spool(struct dpot_journal *journal)
{
    struct dpot_spool *spool = &journal->spool;
    dpot_status status = dpot_spool_open_file(spool);
    if (status == DPOT_OK) {
        status = dpot_spool_load(spool);
        if (status == DPOT_OK &&
            memcmp(spool->install_id, journal->install.id, sizeof spool->install_id) != 0) {
            status = DPOT_ERR_CORRUPT;
        }
    }
    if (status != DPOT_ERR_NOT_FOUND && status != DPOT_ERR_CORRUPT) {
        return status;
    }
    dpot_spool_close_file(spool);
    status = dpot_spool_create(spool, journal->ledger.counter);
    if (status == DPOT_OK) {
        status = dpot_spool_open_file(spool);
    }
    return status == DPOT_OK ? dpot_spool_load(spool) : status;
}

/* NULL, or why the two files cannot both be right. */
static const char *find_contradiction(const struct dpot_journal *journal)
{
    const struct dpot_spool *spool = &journal->spool;
    for (size_t i = 0; i < spool->n_slots; i++) {
        const struct dpot_slot *slot = &spool->slots[i];
        if (!slot->has_name || slot->content == DPOT_SLOT_FREE) {
            continue;
        }
        if (slot->content == DPOT_SLOT_REPORT &&
            dpot_ledger_find(&journal->ledger, &slot->name.key) == SIZE_MAX) {
            return "the spool holds a report that the ledger was never charged for";
        }
        if (dpot_spool_find(spool, &slot->name.key) != i) {
            return "the spool names one round twice";
        }
    }
    return NULL;
}

static uint64_t largest_counter(const struct dpot_journal *journal)
{
    return journal->ledger.counter > journal->spool.counter ? journal->ledger.counter
                                                            : journal->spool.counter;
}

/* (J2), the second half. The counter follows a file that is one ahead: a crash between the sync and
 * the advance. */
static dpot_status repair(struct dpot_journal *journal)
{
    dpot_status status = dpot_ledger_repair(&journal->ledger);
    if (status == DPOT_OK) {
        status = dpot_spool_repair(&journal->spool);
    }
    if (status == DPOT_OK) {
        status = journal->filesystem->sync_directory(journal->filesystem->ctx);
    }
    if (status == DPOT_OK && journal->counter &&
        largest_counter(journal) == journal->counter_value + 1) {
        status = journal->counter->advance(journal->counter->ctx);
        journal->counter_value++;
    }
    return status;
}

/* Carries over what only memory knows about reports that are still there. */
static void keep_schedule(struct dpot_journal *journal, const struct dpot_slot *old, size_t n_old)
{
    for (size_t i = 0; i < journal->spool.n_slots; i++) {
        struct dpot_slot *slot = &journal->spool.slots[i];
        slot->due_ms = slot->start_ms + journal->send_delay_ms;
        for (size_t j = 0; slot->content == DPOT_SLOT_REPORT && j < n_old; j++) {
            if (old[j].content == DPOT_SLOT_REPORT &&
                memcmp(old[j].report.id, slot->report.id, sizeof slot->report.id) == 0) {
                slot->due_ms = old[j].due_ms;
                slot->retry_at_ms = old[j].retry_at_ms;
                slot->n_failures = old[j].n_failures;
            }
        }
    }
}

/* Judges what was read, then repairs it. */
static dpot_status judge(struct dpot_journal *journal)
{
    const uint64_t in_files = largest_counter(journal);
    const char *contradiction = find_contradiction(journal);
    if (contradiction) {
        return exhaust(journal, contradiction);
    }
    if (journal->counter &&
        (in_files < journal->counter_value || in_files - journal->counter_value > 1)) {
        return exhaust(journal, "ledger and spool are not those that the counter knows");
    }
    return repair(journal);
}

static dpot_status check_install(struct dpot_journal *journal)
{
    bool is_ours = true;
    const dpot_status status = check_install_file(journal, &is_ours);
    return is_ours ? status : exhaust(journal, "the file \"ledger\" is of another install");
}

/* Each step may find that nothing can be believed; then the rest is left alone. */
static dpot_status load(struct dpot_journal *journal)
{
    static dpot_status (*const steps[])(struct dpot_journal *) = {load_ledger, check_install,
                                                                  load_spool, judge};
    struct dpot_slot *old = journal->spool.slots;
    const size_t n_old = journal->spool.n_slots, cap_old = journal->spool.cap_slots;
    dpot_spool_init(&journal->spool, journal->filesystem, journal->allocator, &journal->install);
    dpot_status status = read_counter(journal, &journal->counter_value);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (status == DPOT_OK && !journal->is_exhausted) {
            status = steps[i](journal);
        }
    }
    if (status == DPOT_OK) {
        keep_schedule(journal, old, n_old);
        journal->is_loaded = true;
    }
    dpot_free_array(journal->allocator, old, cap_old, sizeof *old);
    return status;
}

/* ---- the lock ---- */

/* Opens both files and compares them with memory. A missing one is simply not current. */
static dpot_status check_current(struct dpot_journal *journal, bool *is_current)
{
    uint64_t counter_value = 0;
    *is_current = false;
    dpot_status status = read_counter(journal, &counter_value);
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
    return load(journal);
}

dpot_status dpot_journal_lock(struct dpot_journal *journal, struct dpot_error *error)
{
    const struct dpot_filesystem *fs = journal->filesystem;
    if (journal->is_poisoned) {
        return dpot_error_set(error, DPOT_ERR_POISONED, "%s", dpot_status_text(DPOT_ERR_POISONED));
    }
    dpot_status status = fs->lock(fs->ctx);
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "the folder's lock: %s", dpot_status_text(status));
    }
    status = catch_up(journal);
    if (status != DPOT_OK) {
        dpot_journal_unlock(journal);
        return dpot_error_set(error, status, "opening ledger and spool: %s",
                              dpot_status_text(status));
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
    switch (journal->spool.slots[slot].content) {
    case DPOT_SLOT_EMPTY:
        return DPOT_KEY_CHARGED;
    case DPOT_SLOT_REPORT:
        return DPOT_KEY_REPORTED;
    case DPOT_SLOT_FREE:
    case DPOT_SLOT_BROKEN:
        break;
    }
    return DPOT_KEY_LOST;
}

enum dpot_key_state dpot_journal_state(const struct dpot_journal *journal,
                                       const struct dpot_key *key)
{
    const size_t charge = dpot_ledger_find(&journal->ledger, key);
    return charge == SIZE_MAX ? DPOT_KEY_NONE
                              : charge_state(journal, &journal->ledger.charges[charge]);
}

/* How this charge has ended by `time_ms` without anybody's doing, or DPOT_DONE_NOT_YET. */
static uint8_t ended_by_itself(const struct dpot_journal *journal, const struct dpot_charge *charge,
                               int64_t time_ms)
{
    const enum dpot_key_state state = charge_state(journal, charge);
    if (state == DPOT_KEY_LOST) {
        return DPOT_DONE_DROPPED_LOST;
    }
    if (state == DPOT_KEY_DONE) {
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

/* Frees slots that a crash left without a charge, once their round is over. */
static dpot_status free_orphans(struct dpot_journal *journal, int64_t time_ms)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < journal->spool.n_slots; i++) {
        const struct dpot_slot *slot = &journal->spool.slots[i];
        if (slot->content == DPOT_SLOT_EMPTY && time_ms >= slot->name.closes_ms &&
            dpot_ledger_find(&journal->ledger, &slot->name.key) == SIZE_MAX) {
            status = dpot_spool_acknowledge(&journal->spool, i);
        }
    }
    return poison_unless_ok(journal, status);
}

dpot_status dpot_journal_settle(struct dpot_journal *journal, int64_t time_ms)
{
    for (size_t i = 0; i < journal->ledger.n_charges; i++) {
        const struct dpot_charge *charge = &journal->ledger.charges[i];
        const uint8_t done = ended_by_itself(journal, charge, time_ms);
        if (done != DPOT_DONE_NOT_YET) {
            const struct dpot_key key = charge->key;
            const dpot_status status = dpot_journal_finish(journal, &key, done, time_ms);
            if (status != DPOT_OK) {
                return status;
            }
        }
    }
    return free_orphans(journal, time_ms);
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
    /* (S3): the slot of an attempt that a crash stopped before its charge; opening made it durable
     * again. */
    const size_t old = dpot_spool_find(&journal->spool, &name->key);
    dpot_status status = DPOT_OK;
    if (old != SIZE_MAX && journal->spool.slots[old].content == DPOT_SLOT_EMPTY) {
        return DPOT_OK;
    }
    if (old != SIZE_MAX) {
        status = dpot_spool_acknowledge(&journal->spool, old);
    }
    if (status == DPOT_OK) {
        status = dpot_spool_append(&journal->spool, name);
    }
    return poison_unless_ok(journal, status);
}

dpot_status dpot_journal_charge(struct dpot_journal *journal, const struct dpot_charge *charge)
{
    dpot_status status = dpot_ledger_charge(&journal->ledger, charge, next_counter(journal));
    if (status == DPOT_OK) {
        status = advance_counter(journal);
    }
    return poison_unless_ok(journal, status);
}

dpot_status dpot_journal_spool(struct dpot_journal *journal, const struct dpot_key *key,
                               const struct dpot_report *report, int64_t start_ms)
{
    const size_t slot = dpot_spool_find(&journal->spool, key);
    dpot_status status =
        dpot_spool_fill(&journal->spool, slot, report, start_ms, next_counter(journal));
    if (status == DPOT_OK) {
        status = advance_counter(journal);
    }
    return poison_unless_ok(journal, status);
}

dpot_status dpot_journal_finish(struct dpot_journal *journal, const struct dpot_key *key,
                                uint8_t done, int64_t time_ms)
{
    const size_t charge = dpot_ledger_find(&journal->ledger, key);
    dpot_status status = dpot_ledger_finish(&journal->ledger, charge, done, time_ms,
                                            journal->counter ? journal->counter_value : 0);
    const size_t slot = dpot_spool_find(&journal->spool, key);
    if (status == DPOT_OK && slot != SIZE_MAX) {
        status = dpot_spool_acknowledge(&journal->spool, slot);
    }
    return poison_unless_ok(journal, status);
}

dpot_status dpot_journal_compact(struct dpot_journal *journal)
{
    const dpot_status status = dpot_spool_compact(&journal->spool, largest_counter(journal));
    return poison_unless_ok(journal, status);
}

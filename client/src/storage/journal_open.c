/* Opening the journal: read, validate, repair (J2), or find that it cannot be trusted (J4). */
#include "base/crypto.h"
#include "dpot/dpot.h"
#include "storage/campaigns.h"
#include "storage/files.h"
#include "storage/journal.h"

#include <string.h>

static const char install_magic[] = "DPOTINS1";

/* (J4): discards what was read; writes nothing. */
static dpot_status exhaust(struct dpot_journal *journal, const char *why)
{
    journal->is_exhausted = true;
    journal->why_exhausted = why;
    dpot_ledger_clear(&journal->ledger);
    dpot_spool_clear(&journal->spool);
    return DPOT_OK;
}

/* ---- opening: the identity ---- */

dpot_status dpot_journal_read_counter(struct dpot_journal *journal, uint64_t *value)
{
    *value = 0;
    return journal->counter ? journal->counter->read(journal->counter->ctx, value) : DPOT_OK;
}

/* Whether there was an install here: any file that is written only after a ledger. */
static dpot_status find_traces(const struct dpot_journal *journal, bool *found)
{
    static const char *const names[] = {DPOT_INSTALL_NAME, DPOT_SPOOL_NAME,     DPOT_KEYS_NAME,
                                        DPOT_CONSENT_NAME, DPOT_WITHDRAWN_NAME, DPOT_PAUSE_NAME,
                                        DPOT_SENDING_NAME};
    *found = journal->counter_value > 0;
    for (size_t i = 0; !*found && i < sizeof names / sizeof names[0]; i++) {
        const dpot_status status = dpot_file_exists(journal->filesystem, names[i], found);
        if (status != DPOT_OK) {
            return status;
        }
    }
    return DPOT_OK;
}

/* A folder without any trace: a new install. The ledger is written first, so that every other file
 * proves later that there was one. */
static dpot_status create_install(struct dpot_journal *journal)
{
    dpot_random_bytes(journal->install.id, sizeof journal->install.id);
    return dpot_ledger_create(&journal->ledger, journal->accountant, journal->counter_value);
}

/* Writes "install" unless it exists and is valid; false in *is_ours: it names another install. */
static dpot_status check_install_file(struct dpot_journal *journal, bool *is_ours)
{
    uint8_t raw[DPOT_HEADER_LEN];
    uint8_t id[DPOT_INSTALL_ID_LEN];
    struct dpot_header header = {0};
    struct dpot_buf file;
    *is_ours = true;
    dpot_buf_init(&file, sizeof raw, journal->allocator);
    dpot_status status = dpot_file_read(journal->filesystem, DPOT_INSTALL_NAME, &file);
    if (status == DPOT_OK && file.len == sizeof raw &&
        dpot_header_decode(&journal->install, install_magic, file.data, &header, id) == DPOT_OK) {
        *is_ours = memcmp(id, journal->install.id, sizeof id) == 0;
    } else if (status == DPOT_OK || status == DPOT_ERR_NOT_FOUND || status == DPOT_ERR_TOO_LARGE) {
        dpot_header_encode(&journal->install, install_magic, &header, raw);
        status = dpot_file_replace(journal->filesystem, DPOT_INSTALL_NAME, raw, sizeof raw);
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

uint64_t dpot_journal_counter(const struct dpot_journal *journal)
{
    return journal->ledger.counter > journal->spool.counter ? journal->ledger.counter
                                                            : journal->spool.counter;
}

static dpot_status refuse(struct dpot_journal *journal, const char *why)
{
    journal->why_refused = why;
    return DPOT_ERR_ARGUMENT;
}

/* Records written without the counter would be older than it for good, or could be rolled back
 * undetected until it is given again. */
static dpot_status check_counter(struct dpot_journal *journal)
{
    return journal->counter || dpot_journal_counter(journal) == 0
               ? DPOT_OK
               : refuse(journal, "this install uses a hardware counter and none is given: open it "
                                 "with its counter. If that is lost, begin a new folder");
}

/* The accountant is fixed for the lifetime of an install: sums of one unit mean nothing under caps
 * of another. So is the counter. */
static dpot_status check_config(struct dpot_journal *journal)
{
    if (journal->ledger.accountant == journal->accountant) {
        return check_counter(journal);
    }
    return refuse(journal,
                  journal->ledger.accountant == DPOT_ACCOUNTANT_ZCDP
                      ? "this install uses zCDP (DPOT_ACCOUNTANT_ZCDP) and config.accountant is "
                        "another: the choice is for the life of the folder"
                      : "this install uses epsilon and delta (DPOT_ACCOUNTANT_BASIC) and "
                        "config.accountant is another: the choice is for the life of the folder");
}

/* A spool that is missing, invalid or of another install is replaced by an empty one: its reports
 * are LOST, which costs reports and never privacy. */
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

/* Why the two files cannot both be right, or NULL. */
static const char *find_contradiction(const struct dpot_journal *journal)
{
    const struct dpot_spool *spool = &journal->spool;
    for (size_t i = 0; i < spool->n_slots; i++) {
        const struct dpot_slot *slot = &spool->slots[i];
        if (slot->content == DPOT_SLOT_REPORT &&
            dpot_journal_state(journal, &slot->name.key) == DPOT_KEY_NONE) {
            return "the spool holds a report that the ledger was never charged for";
        }
        const bool is_open = slot->content == DPOT_SLOT_EMPTY || slot->content == DPOT_SLOT_REPORT;
        if (is_open && dpot_spool_find(spool, &slot->name.key) != i) {
            return "the spool names one round twice";
        }
    }
    return NULL;
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
        dpot_journal_counter(journal) == journal->counter_value + 1) {
        status = journal->counter->advance(journal->counter->ctx);
        journal->counter_value++;
    }
    return status;
}

/* Copies the schedule, which only memory has, of the reports that are still in the spool. */
static void restore_schedule(struct dpot_journal *journal, const struct dpot_slot *old,
                             size_t n_old)
{
    for (size_t i = 0; i < journal->spool.n_slots; i++) {
        struct dpot_slot *slot = &journal->spool.slots[i];
        dpot_journal_set_due(journal, slot);
        for (size_t j = 0; slot->content == DPOT_SLOT_REPORT && j < n_old; j++) {
            if (old[j].content == DPOT_SLOT_REPORT &&
                memcmp(old[j].report.id, slot->report.id, sizeof slot->report.id) == 0) {
                slot->due_ms = old[j].due_ms;
                slot->retry_at_ms = old[j].retry_at_ms;
                slot->held_until_ms = old[j].held_until_ms;
                slot->held_read_ms = old[j].held_read_ms;
                slot->n_failures = old[j].n_failures;
            }
        }
    }
}

/* Validates what was read, then repairs it. */
static dpot_status validate(struct dpot_journal *journal)
{
    const uint64_t in_files = dpot_journal_counter(journal);
    const char *contradiction = find_contradiction(journal);
    if (contradiction) {
        return exhaust(journal, contradiction);
    }
    if (journal->counter &&
        (in_files < journal->counter_value || in_files - journal->counter_value > 1)) {
        return exhaust(journal, "ledger and spool do not match the hardware counter");
    }
    return repair(journal);
}

static dpot_status check_install(struct dpot_journal *journal)
{
    bool is_ours = true;
    const dpot_status status = check_install_file(journal, &is_ours);
    return is_ours ? status : exhaust(journal, "the file \"ledger\" is of another install");
}

/* A step that finds that nothing can be trusted ends the sequence. */
dpot_status dpot_journal_open(struct dpot_journal *journal)
{
    static dpot_status (*const steps[])(struct dpot_journal *) = {
        load_ledger, check_config, check_install, load_spool, check_counter, validate};
    struct dpot_slot *old = journal->spool.slots;
    const size_t n_old = journal->spool.n_slots, cap_old = journal->spool.cap_slots;
    dpot_spool_init(&journal->spool, journal->filesystem, journal->allocator, &journal->install);
    dpot_status status = dpot_journal_read_counter(journal, &journal->counter_value);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (status == DPOT_OK && !journal->is_exhausted) {
            status = steps[i](journal);
        }
    }
    if (status == DPOT_OK) {
        restore_schedule(journal, old, n_old);
        journal->is_loaded = true;
    }
    dpot_spool_free_slots(journal->allocator, old, n_old, cap_old);
    return status;
}

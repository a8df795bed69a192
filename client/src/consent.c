/* Consent. The name "withdrawn" says that the user has withdrawn it, whatever the file's content.
 * Until then the same file has the name "consent", so that withdrawing is a rename and needs no
 * space.
 *
 *              enrolling              withdraw                 grant
 *   (no file) -----------> "consent" ----------> "withdrawn" ---------> "consent"
 *
 * This mark is durable before anything is dropped: after a crash in between, the next call that
 * takes the lock finds it and completes the withdrawal. The last step is a CONSENT record in the
 * ledger, after which deleting the mark has no effect:
 *
 *     withdrawn = the mark exists, or the ledger's last CONSENT says so
 *
 * A rename is atomic: the mark needs neither the lock, which another handle holds while a slow
 * server answers it, nor a readable ledger. The uploader checks for it before each POST. */
#include "client.h"
#include "hooks.h"
#include "sending.h"
#include "storage/files.h"

#include <stdio.h>
#include <string.h>

static bool has_open_keys(const struct dpot_ledger *ledger)
{
    return ledger->sums.n_ended[DPOT_DONE_NOT_YET] > 0;
}

dpot_status dpot_client_load_consent(dpot_client *client)
{
    struct dpot_journal *journal = &client->journal;
    bool is_marked = false;
    const dpot_status status =
        dpot_file_exists(journal->filesystem, DPOT_WITHDRAWN_NAME, &is_marked);
    client->is_withdrawn = is_marked || journal->ledger.is_withdrawn;
    if (status != DPOT_OK) {
        return dpot_error_set(&client->error, status,
                              "the file \"" DPOT_WITHDRAWN_NAME
                              "\" cannot be checked (%s), so that it is unknown whether consent "
                              "is given: nothing is reported until that is fixed",
                              dpot_file_why(journal->filesystem, status));
    }
    const bool is_whole = journal->ledger.is_withdrawn && !has_open_keys(&journal->ledger) &&
                          journal->spool.n_slots == 0;
    return client->is_withdrawn && !is_whole
               ? dpot_journal_withdraw(journal, dpot_client_time(client))
               : DPOT_OK;
}

dpot_status dpot_client_check_withdrawal(dpot_client *client)
{
    bool is_marked = false;
    const dpot_status status =
        dpot_file_exists(client->journal.filesystem, DPOT_WITHDRAWN_NAME, &is_marked);
    return status == DPOT_OK && is_marked ? DPOT_ERR_CONSENT : status;
}

dpot_status dpot_client_check_consent(dpot_client *client)
{
    return client->is_withdrawn
               ? dpot_error_set(&client->error, DPOT_ERR_CONSENT,
                                "the user has withdrawn consent: call dpot_client_grant when the "
                                "user gives it again")
               : DPOT_OK;
}

void dpot_client_prepare_consent(dpot_client *client)
{
    static const char text[] = "the name of this file says whether consent is given\n";
    const struct dpot_filesystem *fs = client->journal.filesystem;
    bool is_there = false;
    if (dpot_file_exists(fs, DPOT_CONSENT_NAME, &is_there) == DPOT_OK && !is_there &&
        dpot_file_replace(fs, DPOT_CONSENT_NAME, text, sizeof text - 1) != DPOT_OK) {
        return; /* withdrawing then creates the file, which most disks can even when full */
    }
}

/* An empty file suffices: it needs a name and no space. */
static dpot_status make_mark(const struct dpot_filesystem *fs)
{
    void *file = NULL;
    dpot_status status = fs->open(fs->ctx, DPOT_WITHDRAWN_NAME, 1, &file);
    if (status == DPOT_OK) {
        status = fs->sync(fs->ctx, file);
        fs->close(fs->ctx, file);
    }
    return status;
}

static dpot_status mark_withdrawn(const struct dpot_filesystem *fs)
{
    dpot_status status = fs->rename(fs->ctx, DPOT_CONSENT_NAME, DPOT_WITHDRAWN_NAME);
    if (status != DPOT_OK) {
        status = make_mark(fs);
    }
    return status == DPOT_OK ? fs->sync_directory(fs->ctx) : status;
}

/* ---- withdrawing ---- */

/* Takes the lock and opens the files, or at least takes the lock: no exchange begins then. */
static dpot_status lock_for_withdrawal(dpot_client *client, dpot_status *opened)
{
    const struct dpot_filesystem *fs = client->journal.filesystem;
    *opened = dpot_journal_lock(&client->journal, &client->error);
    return *opened == DPOT_OK || *opened == DPOT_ERR_BUSY ? *opened : fs->lock(fs->ctx);
}

static dpot_status explain_mark(struct dpot_error *error, dpot_status marked, const char *rest)
{
    return dpot_error_set(error, marked,
                          "the file \"" DPOT_WITHDRAWN_NAME
                          "\": %s. Consent may still count as given: "
                          "new reports may be made; %s. Withdraw again when that is fixed",
                          dpot_status_text(marked), rest);
}

/* The sentence says what remains: a mark that may not last, or reports that are not wiped. */
static dpot_status explain(dpot_client *client, dpot_status marked, dpot_status dropped)
{
    struct dpot_journal *journal = &client->journal;
    if (marked != DPOT_OK) {
        return explain_mark(&client->error, marked,
                            dropped == DPOT_OK ? "what waited to be sent was dropped"
                                               : "what waited to be sent was not dropped");
    }
    if (dropped != DPOT_OK) {
        const bool has_cause = dropped == DPOT_ERR_POISONED && journal->is_poisoned;
        return dpot_error_set(
            &client->error, dropped,
            "consent is withdrawn and nothing is sent any more, but reports that waited may not be "
            "wiped yet (%s: %s): the next opening of the folder does it",
            has_cause ? journal->poison_file : "opening ledger and spool",
            has_cause ? journal->poison_why : dpot_file_why(journal->filesystem, dropped));
    }
    return DPOT_OK;
}

static dpot_status refuse_without_ledger(dpot_client *client)
{
    return dpot_error_set(&client->error, DPOT_ERR_LEDGER,
                          "consent is withdrawn; %s, so that nothing was or is sent anyway",
                          client->journal.why_exhausted);
}

/* Another process holds the folder, and only the mark was set; or a report is on its way. */
static dpot_status explain_busy(dpot_client *client, dpot_status marked)
{
    if (marked != DPOT_OK) {
        return explain_mark(&client->error, marked, "what waited to be sent was not dropped");
    }
    return dpot_error_set(&client->error, DPOT_ERR_BUSY,
                          "consent is withdrawn: no sending begins any more. Another process is "
                          "using the folder, or a report is on its way and may still arrive. "
                          "Withdraw again to wipe what waits and to be sure that nothing is on its "
                          "way");
}

static dpot_status drop_waiting(dpot_client *client, dpot_status opened)
{
    struct dpot_journal *journal = &client->journal;
    return opened == DPOT_OK && !journal->is_exhausted
               ? dpot_journal_withdraw(journal, dpot_client_time(client))
               : opened;
}

dpot_status dpot_client_withdraw(dpot_client *client)
{
    if (!client) {
        return DPOT_ERR_ARGUMENT;
    }
    dpot_client_clear_error(client);
    struct dpot_journal *journal = &client->journal;
    const dpot_status marked = mark_withdrawn(journal->filesystem);
    client->is_withdrawn = client->is_withdrawn || marked == DPOT_OK;
    dpot_status opened = DPOT_OK;
    dpot_status status = lock_for_withdrawal(client, &opened);
    if (status == DPOT_ERR_BUSY) {
        return dpot_client_end(client, explain_busy(client, marked));
    }
    const dpot_status dropped = status == DPOT_OK ? drop_waiting(client, opened) : status;
    const bool is_sending = status == DPOT_OK && dpot_sending_is_under_way(client);
    if (status == DPOT_OK) {
        dpot_journal_unlock(journal);
    }
    status = explain(client, marked, dropped);
    if (status == DPOT_OK && is_sending) {
        status = explain_busy(client, DPOT_OK);
    } else if (status == DPOT_OK && journal->is_exhausted) {
        status = refuse_without_ledger(client);
    }
    return dpot_client_end(client, status);
}

/* ---- without a client ---- */

/* Sets no mark in a folder that is not an install. */
static bool may_be_install(const struct dpot_filesystem *fs)
{
    static const char *const names[] = {DPOT_CONSENT_NAME, DPOT_WITHDRAWN_NAME, DPOT_LEDGER_NAME,
                                        DPOT_SPOOL_NAME, DPOT_KEYS_NAME};
    bool is_there = false;
    for (size_t i = 0; !is_there && i < sizeof names / sizeof names[0]; i++) {
        if (dpot_file_exists(fs, names[i], &is_there) != DPOT_OK) {
            return true; /* unknown: better a mark too many */
        }
    }
    return is_there;
}

dpot_status dpot_folder_withdraw(const struct dpot_filesystem *filesystem, char *error_text,
                                 size_t error_cap)
{
    struct dpot_error error = {{0}};
    dpot_status status =
        filesystem ? dpot_hooks_check_filesystem(filesystem, "filesystem", &error)
                   : dpot_error_set(&error, DPOT_ERR_ARGUMENT, "filesystem is NULL: give one");
    if (status == DPOT_OK && !may_be_install(filesystem)) {
        status = dpot_error_set(&error, DPOT_ERR_NOT_FOUND,
                                "this folder holds no install: nothing is reported");
    }
    if (status == DPOT_OK) {
        status = mark_withdrawn(filesystem);
        if (status != DPOT_OK) {
            (void)explain_mark(&error, status, "what waited to be sent was not dropped");
        }
    }
    if (error_text && error_cap > 0) {
        (void)snprintf(error_text, error_cap, "%s", error.text);
    }
    return status;
}

/* The mark goes before the record is written: a new mark set in between stays. */
static dpot_status remove_mark(const struct dpot_filesystem *fs)
{
    const dpot_status status = fs->rename(fs->ctx, DPOT_WITHDRAWN_NAME, DPOT_CONSENT_NAME);
    if (status == DPOT_OK) {
        return fs->sync_directory(fs->ctx);
    }
    return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
}

dpot_status dpot_client_grant(dpot_client *client)
{
    if (!client) {
        return DPOT_ERR_ARGUMENT;
    }
    dpot_client_clear_error(client);
    dpot_status status = dpot_client_lock(client);
    if (status != DPOT_OK) {
        return dpot_client_end(client, status);
    }
    status = remove_mark(client->journal.filesystem);
    if (status == DPOT_OK) {
        status = dpot_journal_grant(&client->journal, dpot_client_time(client));
    }
    client->is_withdrawn = client->is_withdrawn && status != DPOT_OK;
    dpot_client_unlock(client);
    if (status == DPOT_OK) {
        return dpot_client_end(client, DPOT_OK);
    }
    return dpot_client_end(client,
                           dpot_error_set(&client->error, status,
                                          "%s: consent still counts as withdrawn. Grant it again "
                                          "when that is fixed",
                                          dpot_file_why(client->journal.filesystem, status)));
}

/* Consent: the file "withdrawn" says that the user has withdrawn it. It is written before anything is
 * dropped, so that a crash in between cannot leave a device that goes on. */
#include "client.h"
#include "files.h"

#include <string.h>

#define WITHDRAWN_NAME "withdrawn"

static bool has_open_keys(const struct dpot_ledger *ledger)
{
    for (size_t i = 0; i < ledger->n_charges; i++) {
        if (ledger->charges[i].done == DPOT_DONE_NOT_YET) {
            return true;
        }
    }
    return false;
}

dpot_status dpot_client_load_consent(dpot_client *client)
{
    struct dpot_journal *journal = &client->journal;
    dpot_status status =
        dpot_file_exists(journal->filesystem, WITHDRAWN_NAME, &client->is_withdrawn);
    if (status == DPOT_OK && client->is_withdrawn &&
        (has_open_keys(&journal->ledger) || journal->spool.n_slots > 0)) {
        status = dpot_journal_withdraw(journal, dpot_client_time(client));
    }
    return status;
}

dpot_status dpot_client_check_consent(dpot_client *client)
{
    return client->is_withdrawn
               ? dpot_error_set(&client->error, DPOT_ERR_CONSENT,
                                "the user has withdrawn consent: dpot_client_grant is for when she "
                                "gives it again")
               : DPOT_OK;
}

dpot_status dpot_client_withdraw(dpot_client *client)
{
    static const char text[] = "consent was withdrawn\n";
    if (!client) {
        return DPOT_ERR_ARGUMENT;
    }
    dpot_client_forget_error(client);
    dpot_status status = dpot_client_lock(client);
    if (status != DPOT_OK) {
        return dpot_client_end(client, status);
    }
    status = dpot_file_replace(client->journal.filesystem, WITHDRAWN_NAME, text, sizeof text - 1);
    if (status == DPOT_OK) {
        status = dpot_client_load_consent(client);
    }
    dpot_client_unlock(client);
    return dpot_client_end(client, status);
}

dpot_status dpot_client_grant(dpot_client *client)
{
    if (!client) {
        return DPOT_ERR_ARGUMENT;
    }
    dpot_client_forget_error(client);
    dpot_status status = dpot_client_lock(client);
    if (status != DPOT_OK) {
        return dpot_client_end(client, status);
    }
    const struct dpot_filesystem *fs = client->journal.filesystem;
    status = fs->remove(fs->ctx, WITHDRAWN_NAME);
    if (status == DPOT_OK) {
        status = fs->sync_directory(fs->ctx);
    }
    client->is_withdrawn =
        client->is_withdrawn && status != DPOT_OK && status != DPOT_ERR_NOT_FOUND;
    dpot_client_unlock(client);
    return dpot_client_end(client, status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status);
}

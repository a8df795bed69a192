#include "backoff.h"

#include "base/buf.h"
#include "files.h"

#include <string.h>

#define BACKOFF_BASE_MS 2000
#define BACKOFF_MAX_MS ((int64_t)3600 * 1000)
#define RETRY_AFTER_MAX_S 86400u /* a server that asks for more gets a day */
#define RETRY_AFTER_MAX_MS ((int64_t)RETRY_AFTER_MAX_S * 1000)

static const uint8_t magic[8] = {'D', 'P', 'O', 'T', 'P', 'A', 'U', '1'};

enum { FROM_AT = 8, UNTIL_AT = 16, MAC_AT = 24, PAUSE_LEN = MAC_AT + DPOT_MAC_LEN };

/* A uniform time below base * 2^failures, bounded. */
static int64_t draw_ms(uint32_t n_failures)
{
    int64_t most_ms = BACKOFF_BASE_MS;
    for (uint32_t i = 1; i < n_failures && most_ms < BACKOFF_MAX_MS; i++) {
        most_ms *= 2;
    }
    most_ms = most_ms < BACKOFF_MAX_MS ? most_ms : BACKOFF_MAX_MS;
    uint8_t bytes[8];
    dpot_random_bytes(bytes, sizeof bytes);
    return 1 + (int64_t)(dpot_load_u64(bytes) % (uint64_t)most_ms);
}

/* ---- the file ---- */

static void seal_pause(const dpot_client *client, const uint8_t *raw, uint8_t mac[DPOT_MAC_LEN])
{
    static const uint8_t no_previous[DPOT_MAC_LEN];
    dpot_mac(&client->journal.install, no_previous, raw, MAC_AT, mac);
}

static void store_pause(const dpot_client *client, int64_t from_ms, int64_t until_ms)
{
    uint8_t raw[PAUSE_LEN];
    memcpy(raw, magic, sizeof magic);
    dpot_store_u64(raw + FROM_AT, (uint64_t)from_ms);
    dpot_store_u64(raw + UNTIL_AT, (uint64_t)until_ms);
    seal_pause(client, raw, raw + MAC_AT);
    /* A hint: without space for it the next process asks the server again. */
    (void)!dpot_file_replace(client->journal.filesystem, DPOT_PAUSE_NAME, raw, sizeof raw);
}

/* False without a file that holds. */
static bool read_pause(const dpot_client *client, uint8_t raw[PAUSE_LEN])
{
    const struct dpot_filesystem *fs = client->journal.filesystem;
    uint8_t mac[DPOT_MAC_LEN];
    void *file = NULL;
    if (fs->open(fs->ctx, DPOT_PAUSE_NAME, 0, &file) != DPOT_OK) {
        return false;
    }
    const dpot_status status = fs->read_at(fs->ctx, file, 0, raw, PAUSE_LEN);
    fs->close(fs->ctx, file);
    if (status != DPOT_OK || memcmp(raw, magic, sizeof magic) != 0) {
        return false;
    }
    seal_pause(client, raw, mac);
    return dpot_secret_equal(mac, raw + MAC_AT, sizeof mac);
}

static void load_pause(dpot_client *client)
{
    uint8_t raw[PAUSE_LEN];
    if (!read_pause(client, raw)) {
        return;
    }
    const int64_t now_ms = dpot_client_clock(client);
    const int64_t from_ms = (int64_t)dpot_load_u64(raw + FROM_AT);
    const int64_t until_ms = (int64_t)dpot_load_u64(raw + UNTIL_AT);
    if (now_ms >= from_ms && until_ms > client->quiet_until_ms) {
        client->quiet_until_ms = until_ms;
    }
}

/* ---- waits ---- */

void dpot_backoff_begin(dpot_client *client)
{
    struct dpot_spool *spool = &client->journal.spool;
    load_pause(client);
    const int64_t now_ms = dpot_client_clock(client);
    dpot_journal_hold_to_clock(&client->journal, now_ms);
    for (size_t i = 0; i < spool->n_slots; i++) {
        struct dpot_slot *slot = &spool->slots[i];
        if (slot->retry_at_ms > now_ms + BACKOFF_MAX_MS) {
            slot->retry_at_ms = now_ms + BACKOFF_MAX_MS;
        }
    }
    if (client->quiet_until_ms > now_ms + RETRY_AFTER_MAX_MS) {
        client->quiet_until_ms = now_ms + RETRY_AFTER_MAX_MS;
    }
}

void dpot_backoff_report(const dpot_client *client, struct dpot_slot *slot)
{
    slot->n_failures += slot->n_failures < UINT32_MAX;
    slot->retry_at_ms = dpot_client_clock(client) + draw_ms(slot->n_failures);
}

void dpot_backoff_server(dpot_client *client, uint32_t retry_after_s)
{
    const int64_t now_ms = dpot_client_clock(client);
    const uint32_t wait_s = retry_after_s < RETRY_AFTER_MAX_S ? retry_after_s : RETRY_AFTER_MAX_S;
    client->n_failures += client->n_failures < UINT32_MAX;
    const int64_t until_ms = now_ms + (int64_t)wait_s * 1000 + draw_ms(client->n_failures);
    client->quiet_until_ms = until_ms;
    if (retry_after_s > 0) {
        store_pause(client, now_ms, until_ms);
    }
}

int64_t dpot_backoff_next_due(const dpot_client *client, const struct dpot_slot *slot)
{
    if (slot->content == DPOT_SLOT_EMPTY) {
        /* Charged, report not made: only its round's end can change that. */
        const bool is_charged =
            dpot_ledger_find(&client->journal.ledger, &slot->name.key) != SIZE_MAX;
        return is_charged ? slot->name.closes_ms : INT64_MAX;
    }
    if (slot->content != DPOT_SLOT_REPORT) {
        return INT64_MAX;
    }
    const int64_t due_ms = slot->due_ms > slot->retry_at_ms ? slot->due_ms : slot->retry_at_ms;
    return due_ms > client->quiet_until_ms ? due_ms : client->quiet_until_ms;
}

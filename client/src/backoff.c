#include "backoff.h"

#include "base/buf.h"
#include "storage/files.h"

#include <string.h>

#define BACKOFF_BASE_MS 2000
#define BACKOFF_MAX_MS ((int64_t)3600 * 1000)
#define RETRY_AFTER_MAX_S 86400u /* a server that asks for more gets a day */
#define RETRY_AFTER_MAX_MS ((int64_t)RETRY_AFTER_MAX_S * 1000)
#define PAUSE_MAX_MS ((uint64_t)RETRY_AFTER_MAX_MS)

static const uint8_t magic[8] = {'D', 'P', 'O', 'T', 'P', 'A', 'U', '2'};

/* Layout of the file, and of an entry in it. */
enum {
    N_ENTRIES = 13, /* the first is about the whole server */
    ENTRIES_AT = sizeof magic,
    ENTRY_LEN = 32,
    MAC_AT = ENTRIES_AT + N_ENTRIES * ENTRY_LEN,
    PAUSE_LEN = MAC_AT + DPOT_MAC_LEN,
};
enum { TAG_AT = 0, FROM_AT = 16, UNTIL_AT = 24, TAG_LEN = FROM_AT };

/* A uniform time below base * 2^failures, bounded. */
static int64_t draw_ms(const dpot_client *client, uint32_t n_failures)
{
    int64_t most_ms = BACKOFF_BASE_MS;
    for (uint32_t i = 1; i < n_failures && most_ms < BACKOFF_MAX_MS; i++) {
        most_ms *= 2;
    }
    most_ms = most_ms < BACKOFF_MAX_MS ? most_ms : BACKOFF_MAX_MS;
    uint8_t bytes[8];
    client->rng_source->fill(client->rng_source->ctx, bytes, sizeof bytes);
    return 1 + (int64_t)(dpot_load_u64(bytes) % (uint64_t)most_ms);
}

/* ---- the file ---- */

static void limit_to(int64_t *time_ms, int64_t most_ms)
{
    *time_ms = *time_ms > most_ms ? most_ms : *time_ms;
}

static void seal_pause(const dpot_client *client, const uint8_t *raw, uint8_t mac[DPOT_MAC_LEN])
{
    static const uint8_t no_previous[DPOT_MAC_LEN];
    dpot_mac(&client->journal.install, no_previous, raw, MAC_AT, mac);
}

/* False: the file is missing or invalid. */
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

static uint8_t *entry_at(uint8_t *raw, size_t i)
{
    return raw + ENTRIES_AT + i * ENTRY_LEN;
}

/* The subject of an entry: a key, or zeros for the whole server. Keys with equal first bytes wait
 * together. */
static void tag_key(const struct dpot_key *key, uint8_t tag[TAG_LEN])
{
    memset(tag, 0, TAG_LEN);
    if (key) {
        memcpy(tag, key->campaign_hash, TAG_LEN - 5);
        dpot_store_u32(tag + TAG_LEN - 5, key->round);
        tag[TAG_LEN - 1] = 1;
    }
}

/* The entry of this key, or the one that ends first. */
static uint8_t *choose_entry(uint8_t *raw, const uint8_t tag[TAG_LEN])
{
    uint8_t *chosen = entry_at(raw, 1);
    for (size_t i = 1; i < N_ENTRIES; i++) {
        uint8_t *entry = entry_at(raw, i);
        if (memcmp(entry + TAG_AT, tag, TAG_LEN) == 0) {
            return entry;
        }
        if ((int64_t)dpot_load_u64(entry + UNTIL_AT) < (int64_t)dpot_load_u64(chosen + UNTIL_AT)) {
            chosen = entry;
        }
    }
    return chosen;
}

/* `key` is NULL for the whole server. */
static void store_pause(const dpot_client *client, const struct dpot_key *key, int64_t from_ms,
                        int64_t until_ms)
{
    uint8_t raw[PAUSE_LEN], tag[TAG_LEN];
    if (!read_pause(client, raw)) {
        memset(raw, 0, sizeof raw);
        memcpy(raw, magic, sizeof magic);
    }
    tag_key(key, tag);
    uint8_t *entry = key ? choose_entry(raw, tag) : entry_at(raw, 0);
    memcpy(entry + TAG_AT, tag, TAG_LEN);
    dpot_store_u64(entry + FROM_AT, (uint64_t)from_ms);
    dpot_store_u64(entry + UNTIL_AT, (uint64_t)until_ms);
    seal_pause(client, raw, raw + MAC_AT);
    /* A hint: without space for it the next process asks the server again. */
    (void)!dpot_file_replace(client->journal.filesystem, DPOT_PAUSE_NAME, raw, sizeof raw);
}

/* Raises *until_ms to the end of the entry. An entry written under a later clock does not count,
 * nor does the one read last (*read_ms): its wait has been moved with the clock since. */
static void apply_entry(const uint8_t *entry, int64_t now_ms, int64_t *until_ms, int64_t *read_ms)
{
    int64_t entry_ms = (int64_t)dpot_load_u64(entry + UNTIL_AT);
    if (now_ms < (int64_t)dpot_load_u64(entry + FROM_AT) || entry_ms == *read_ms) {
        return;
    }
    *read_ms = entry_ms;
    limit_to(&entry_ms, now_ms + RETRY_AFTER_MAX_MS);
    *until_ms = entry_ms > *until_ms ? entry_ms : *until_ms;
}

static bool is_used(const uint8_t *entry)
{
    return dpot_load_u64(entry + UNTIL_AT) != 0;
}

/* Makes an entry of a clock that was set back since begin now, with what remains of its length.
 * back_ms: how far, at least, the clock went back, as far as this handle knows. */
static bool move_entry(uint8_t *entry, int64_t now_ms, int64_t back_ms)
{
    const int64_t from_ms = (int64_t)dpot_load_u64(entry + FROM_AT);
    const int64_t until_ms = (int64_t)dpot_load_u64(entry + UNTIL_AT);
    if (!is_used(entry) || from_ms <= now_ms) {
        return false;
    }
    const uint64_t ahead_ms = (uint64_t)from_ms - (uint64_t)now_ms;
    const uint64_t passed_ms = (uint64_t)back_ms > ahead_ms ? (uint64_t)back_ms - ahead_ms : 0;
    uint64_t left_ms = until_ms > from_ms ? (uint64_t)until_ms - (uint64_t)from_ms : 0;
    left_ms = left_ms > passed_ms ? left_ms - passed_ms : 0;
    left_ms = left_ms < PAUSE_MAX_MS ? left_ms : PAUSE_MAX_MS;
    dpot_store_u64(entry + FROM_AT, (uint64_t)now_ms);
    dpot_store_u64(entry + UNTIL_AT, (uint64_t)now_ms + left_ms);
    return true;
}

/* An entry that cannot be rewritten stays as it is and does not count (apply_entry): moved again
 * and again, a wait would never end. */
static void move_pause(const dpot_client *client, int64_t now_ms, int64_t back_ms)
{
    uint8_t raw[PAUSE_LEN];
    bool is_moved = false;
    if (!read_pause(client, raw)) {
        return;
    }
    for (size_t i = 0; i < N_ENTRIES; i++) {
        is_moved |= move_entry(entry_at(raw, i), now_ms, back_ms);
    }
    if (is_moved) {
        seal_pause(client, raw, raw + MAC_AT);
        (void)!dpot_file_replace(client->journal.filesystem, DPOT_PAUSE_NAME, raw, sizeof raw);
    }
}

/* ---- a clock that was set back ---- */

/* Keeps the remainder that a wait had when the clock was last read; what had ended stays ended. */
static void move_wait(int64_t *until_ms, int64_t last_ms, int64_t now_ms)
{
    if (*until_ms > last_ms) {
        *until_ms = now_ms + (*until_ms - last_ms);
    } else {
        limit_to(until_ms, now_ms);
    }
}

/* Reads the clock before a wait is drawn or read; moves the waits if it went back. *back_ms: how
 * far it went back since the last reading. */
static int64_t read_clock(dpot_client *client, int64_t *back_ms)
{
    struct dpot_spool *spool = &client->journal.spool;
    const int64_t last_ms = client->last_clock_ms, now_ms = dpot_client_clock(client);
    const bool went_back = client->has_last_clock && now_ms < last_ms;
    client->last_clock_ms = now_ms;
    client->has_last_clock = true;
    *back_ms = went_back ? (int64_t)(((uint64_t)last_ms - (uint64_t)now_ms) & INT64_MAX) : 0;
    for (size_t i = 0; went_back && i < spool->n_slots; i++) {
        move_wait(&spool->slots[i].retry_at_ms, last_ms, now_ms);
        move_wait(&spool->slots[i].held_until_ms, last_ms, now_ms);
    }
    if (went_back) {
        move_wait(&client->paused_until_ms, last_ms, now_ms);
    }
    return now_ms;
}

/* Raises the waits to what the file says. */
static void load_pause(dpot_client *client, int64_t now_ms)
{
    struct dpot_spool *spool = &client->journal.spool;
    uint8_t raw[PAUSE_LEN], tag[TAG_LEN];
    if (!read_pause(client, raw)) {
        return;
    }
    if (is_used(entry_at(raw, 0))) {
        apply_entry(entry_at(raw, 0), now_ms, &client->paused_until_ms, &client->pause_read_ms);
    }
    for (size_t i = 0; i < spool->n_slots; i++) {
        tag_key(&spool->slots[i].name.key, tag);
        const uint8_t *entry = choose_entry(raw, tag);
        if (memcmp(entry + TAG_AT, tag, TAG_LEN) == 0) {
            apply_entry(entry, now_ms, &spool->slots[i].held_until_ms,
                        &spool->slots[i].held_read_ms);
        }
    }
}

/* ---- waits ---- */

void dpot_backoff_load(dpot_client *client)
{
    int64_t back_ms = 0;
    load_pause(client, read_clock(client, &back_ms));
}

void dpot_backoff_begin(dpot_client *client)
{
    struct dpot_spool *spool = &client->journal.spool;
    int64_t back_ms = 0;
    const int64_t now_ms = read_clock(client, &back_ms);
    move_pause(client, now_ms, back_ms);
    load_pause(client, now_ms);
    dpot_journal_limit_due(&client->journal, now_ms);
    for (size_t i = 0; i < spool->n_slots; i++) {
        limit_to(&spool->slots[i].retry_at_ms, now_ms + BACKOFF_MAX_MS);
        limit_to(&spool->slots[i].held_until_ms, now_ms + RETRY_AFTER_MAX_MS);
    }
    limit_to(&client->paused_until_ms, now_ms + RETRY_AFTER_MAX_MS);
}

/* The Retry-After, at most a day. */
static int64_t asked_ms(uint32_t retry_after_s)
{
    return (int64_t)(retry_after_s < RETRY_AFTER_MAX_S ? retry_after_s : RETRY_AFTER_MAX_S) * 1000;
}

/* Waits count from the answer. */
static int64_t read_answer_clock(dpot_client *client)
{
    int64_t back_ms = 0;
    (void)read_clock(client, &back_ms);
    return dpot_client_answer_clock(client);
}

void dpot_backoff_report(dpot_client *client, struct dpot_slot *slot, uint32_t retry_after_s)
{
    const int64_t now_ms = read_answer_clock(client);
    slot->n_failures += slot->n_failures < UINT32_MAX;
    const int64_t wait_ms = draw_ms(client, slot->n_failures);
    slot->retry_at_ms = now_ms + wait_ms;
    if (retry_after_s > 0) {
        slot->held_until_ms = now_ms + asked_ms(retry_after_s) + wait_ms;
        slot->held_read_ms = slot->held_until_ms;
        store_pause(client, &slot->name.key, now_ms, slot->held_until_ms);
    }
}

void dpot_backoff_server(dpot_client *client, uint32_t retry_after_s)
{
    const int64_t now_ms = read_answer_clock(client);
    client->n_failures += client->n_failures < UINT32_MAX;
    const int64_t until_ms = now_ms + asked_ms(retry_after_s) + draw_ms(client, client->n_failures);
    client->paused_until_ms = until_ms;
    if (retry_after_s > 0) {
        client->pause_read_ms = until_ms;
        store_pause(client, NULL, now_ms, until_ms);
    }
}

int64_t dpot_backoff_next_due(const dpot_client *client, const struct dpot_slot *slot)
{
    if (slot->content == DPOT_SLOT_EMPTY) {
        /* Charged, report not made: the end of its round is the next thing a pump can do about
         * it. */
        const bool is_charged =
            dpot_ledger_find(&client->journal.ledger, &slot->name.key) != SIZE_MAX;
        return is_charged ? slot->name.closes_ms : INT64_MAX;
    }
    if (slot->content != DPOT_SLOT_REPORT) {
        return INT64_MAX;
    }
    int64_t due_ms = slot->due_ms > slot->retry_at_ms ? slot->due_ms : slot->retry_at_ms;
    due_ms = due_ms > slot->held_until_ms ? due_ms : slot->held_until_ms;
    due_ms = due_ms > client->paused_until_ms ? due_ms : client->paused_until_ms;
    const int64_t horizon_ms = dpot_journal_horizon(&client->journal, dpot_client_clock(client));
    return due_ms > horizon_ms ? due_ms : horizon_ms;
}

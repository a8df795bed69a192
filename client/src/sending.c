#include "sending.h"

#include "base/buf.h"
#include "storage/files.h"

#include <string.h>

static const uint8_t magic[8] = {'D', 'P', 'O', 'T', 'S', 'N', 'D', '1'};

/* Layout of the file. */
enum {
    NAME_AT = sizeof magic,
    FROM_AT = NAME_AT + DPOT_SENDING_MARK_LEN,
    UNTIL_AT = FROM_AT + 8,
    MAC_AT = UNTIL_AT + 8,
    MARK_LEN = MAC_AT + DPOT_MAC_LEN,
};

static void seal(const dpot_client *client, const uint8_t *raw, uint8_t mac[DPOT_MAC_LEN])
{
    static const uint8_t no_previous[DPOT_MAC_LEN];
    dpot_mac(&client->journal.install, no_previous, raw, MAC_AT, mac);
}

/* DPOT_ERR_NOT_FOUND: there is no valid mark. */
static dpot_status read_mark(const dpot_client *client, uint8_t raw[MARK_LEN])
{
    uint8_t mac[DPOT_MAC_LEN];
    struct dpot_buf file;
    dpot_buf_init(&file, MARK_LEN, client->config.allocator);
    dpot_status status = dpot_file_read(client->journal.filesystem, DPOT_SENDING_NAME, &file);
    if (status == DPOT_ERR_TOO_LARGE || (status == DPOT_OK && file.len != MARK_LEN)) {
        status = DPOT_ERR_NOT_FOUND;
    }
    if (status == DPOT_OK) {
        memcpy(raw, file.data, MARK_LEN);
        seal(client, raw, mac);
        const bool is_valid = memcmp(raw, magic, sizeof magic) == 0 &&
                              dpot_secret_equal(mac, raw + MAC_AT, sizeof mac);
        status = is_valid ? DPOT_OK : DPOT_ERR_NOT_FOUND;
    }
    dpot_buf_release(&file);
    return status;
}

static dpot_status write_mark(const dpot_client *client, const uint8_t raw[MARK_LEN])
{
    const struct dpot_filesystem *fs = client->journal.filesystem;
    void *file = NULL;
    dpot_status status = fs->open(fs->ctx, DPOT_SENDING_NAME, 1, &file);
    if (status == DPOT_OK) {
        status = fs->write_at(fs->ctx, file, 0, raw, MARK_LEN);
        fs->close(fs->ctx, file);
    }
    return status;
}

/* Whether the mark counts now. After a clock was set back it keeps its length from now on. */
static bool is_running(const dpot_client *client, uint8_t raw[MARK_LEN])
{
    const int64_t now_ms = dpot_client_clock(client);
    const uint64_t from_ms = dpot_load_u64(raw + FROM_AT), until_ms = dpot_load_u64(raw + UNTIL_AT);
    if ((int64_t)from_ms > now_ms) {
        const uint64_t length_ms = until_ms - from_ms < UINT32_MAX ? until_ms - from_ms : 0;
        dpot_store_u64(raw + FROM_AT, (uint64_t)now_ms);
        dpot_store_u64(raw + UNTIL_AT, (uint64_t)now_ms + length_ms);
        seal(client, raw, raw + MAC_AT);
        (void)!write_mark(client, raw);
    }
    return now_ms < (int64_t)dpot_load_u64(raw + UNTIL_AT);
}

bool dpot_sending_is_under_way(dpot_client *client)
{
    uint8_t raw[MARK_LEN];
    const dpot_status status = read_mark(client, raw);
    return status == DPOT_OK ? is_running(client, raw) : status != DPOT_ERR_NOT_FOUND;
}

static dpot_status set_mark(dpot_client *client)
{
    struct exchange *exchange = &client->exchange;
    const struct dpot_rng_source *source = client->rng_source;
    const int64_t now_ms = dpot_client_clock(client);
    uint8_t raw[MARK_LEN];
    source->fill(source->ctx, exchange->mark, sizeof exchange->mark);
    memcpy(raw, magic, sizeof magic);
    memcpy(raw + NAME_AT, exchange->mark, sizeof exchange->mark);
    dpot_store_u64(raw + FROM_AT, (uint64_t)now_ms);
    dpot_store_u64(raw + UNTIL_AT, (uint64_t)now_ms + exchange->timeout_ms);
    seal(client, raw, raw + MAC_AT);
    return write_mark(client, raw);
}

dpot_status dpot_sending_begin(dpot_client *client)
{
    uint8_t raw[MARK_LEN];
    dpot_status status = read_mark(client, raw);
    if (status == DPOT_OK && is_running(client, raw)) {
        return dpot_error_set(&client->error, DPOT_ERR_BUSY,
                              "another process is sending a report of this folder: try again");
    }
    if (status == DPOT_OK || status == DPOT_ERR_NOT_FOUND) {
        status = set_mark(client);
    }
    return status == DPOT_OK
               ? DPOT_OK
               : dpot_error_set(&client->error, status,
                                "the file \"" DPOT_SENDING_NAME "\": %s: nothing was sent",
                                dpot_file_why(client->journal.filesystem, status));
}

void dpot_sending_end(dpot_client *client)
{
    static const uint8_t none[MARK_LEN];
    const uint8_t *mark = client->exchange.mark;
    uint8_t raw[MARK_LEN];
    if (read_mark(client, raw) == DPOT_OK &&
        memcmp(raw + NAME_AT, mark, DPOT_SENDING_MARK_LEN) == 0) {
        (void)!write_mark(client, none);
    }
}

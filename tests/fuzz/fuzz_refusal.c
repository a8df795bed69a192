/* A refusal of a POST: any bytes, and what is read of them is text that fits. */
#include "fuzz.h"
#include "proto/wire_refusal.h"
#include "proto/wire_report.h"

#include <string.h>

/* Terminated; no control character and no quote. */
static void require_plain(const char *text, size_t size)
{
    require(memchr(text, '\0', size) != NULL);
    for (; *text; text++) {
        require((unsigned char)*text >= 0x20 && *text != '"' && *text != '\\');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct dpot_refusal refusal;
    struct dpot_buf again;
    uint8_t digest[DPOT_HASH_LEN];
    require(dpot_init() == DPOT_OK);
    dpot_wire_batch_digest(data, len, digest);
    const bool is_refusal = dpot_wire_refusal_decode(data, len, &refusal);
    require(is_refusal || (!refusal.status[0] && !refusal.batch[0] && !refusal.closed[0]));
    require_plain(refusal.status, sizeof refusal.status);
    require_plain(refusal.batch, sizeof refusal.batch);
    require_plain(refusal.closed, sizeof refusal.closed);
    require_plain(refusal.server_time, sizeof refusal.server_time);
    require(!dpot_wire_refusal_names(&refusal, digest)); /* nothing holds its own hash */
    dpot_buf_init(&again, 1024, NULL);
    require(dpot_wire_refusal_encode(DPOT_ERR_CLOSED, "round", digest, &again) == DPOT_OK);
    require(dpot_wire_refusal_decode(again.data, again.len, &refusal));
    require(dpot_wire_refusal_names(&refusal, digest) && strcmp(refusal.closed, "round") == 0);
    dpot_buf_release(&again);
    return 0;
}

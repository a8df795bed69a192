/* Ingest: the one door of reports. bytes -> opened -> checked -> stored once -> receipt.
 *
 * Invariants
 * (G1) A receipt says "accepted" only after the commit that holds the report.
 * (G2) Checks depend on the signed campaign, the clock and the store only; a report is judged
 *      alone, so one bad report never costs a good one.
 * (G3) Nothing of a body is logged.
 *
 * Memory of one call is bounded by the body: it has at most DPOT_BATCH_BYTES_MAX bytes and each number
 * of a vector takes one of them, so that its numbers take at most 64 MiB here and in the commit. */
#ifndef DPOT_POOL_INGEST_H
#define DPOT_POOL_INGEST_H

#include "campaign/registry.h"
#include "proto/wire_report.h"

/* A seal key pair the server holds. */
struct seal_secret {
    struct dpot_seal_key key;
    uint8_t secret_key[DPOT_SEAL_SECRET_LEN];
};

/* Everything borrowed; several threads may ingest at once. */
struct ingest {
    struct store *store;
    struct registry *registry;
    const struct dpot_clock *clock;
    const struct seal_secret *seal_secrets;
    size_t n_seal_secrets;

    /* Called after the commit, before the receipt is built (metrics, crash tests); may be NULL. */
    void (*on_committed)(void *ctx, size_t n_reports);
    void *ctx;
};

/* What the device is told, besides the receipt. */
enum ingest_verdict {
    INGEST_ACCEPTED = 202,    /* receipt follows */
    INGEST_MALFORMED = 400,   /* magic, box or batch do not parse */
    INGEST_UNKNOWN = 404,     /* no such campaign, or the batch names a hash that is not of it */
    INGEST_CLOSED = 409,      /* revision closed, or this round's window is over */
    INGEST_KEY_EXPIRED = 410, /* seal key unknown or expired: fetch keys */
    INGEST_TOO_LARGE = 413,
    INGEST_NOT_YET = 503, /* the round has not opened, or the store is not available: retry */
};

struct ingest_result {
    enum ingest_verdict verdict;
    dpot_status status;      /* why: DPOT_OK with 202, DPOT_ERR_NOT_OPEN for a round to come, ... */
    uint32_t retry_after_s;  /* with 503 */
    struct dpot_error error; /* sentence for the operator's log and the answer's body */
};

/* Takes the body of one POST for campaign `id` and appends a Receipt to `receipt`. Total: every
 * outcome is a verdict. */
void ingest_batch(const struct ingest *ingest, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                  const void *body, size_t len, struct dpot_buf *receipt,
                  struct ingest_result *result);

#endif

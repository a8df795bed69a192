/* Ingest: the one door of reports. bytes -> opened -> checked -> stored once -> receipt.
 *
 * In two steps, so that no thread waits for a disk: ingest_begin opens and checks, then the writer
 * (pool/writer.h) stores what many threads have checked in one commit, and ingest_finish writes the receipt.
 * ingest_batch does both and waits.
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
#include "pool/writer.h"
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
    struct writer *writer; /* NULL: each batch is a commit of the thread that brings it */
    struct tally *tally;   /* NULL: nobody counts */
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
    dpot_status status;     /* why: DPOT_OK with 202, DPOT_ERR_NOT_OPEN for a round to come, ... */
    uint32_t retry_after_s; /* with 503 */
    uint8_t digest[DPOT_HASH_LEN]; /* of the body, whatever the verdict: which POST this answers */
    int64_t
        over_ms; /* our time, with a round whose time is over by it; 0 for every other verdict */
    struct dpot_error error; /* sentence for the operator's log and the answer's body */
};

/* A batch between its checks and its receipt. */
struct ingest_call;

/* Opens and checks the body of one POST for campaign `id`; the body is not needed any more. NULL: it is
 * refused, as `result` says. Otherwise the call ends with ingest_finish, after ingest_submit has told that
 * it is stored, or without it with INGEST_NOT_YET. */
struct ingest_call *ingest_begin(const struct ingest *ingest,
                                 const uint8_t id[DPOT_CAMPAIGN_ID_LEN], const void *body,
                                 size_t len, struct ingest_result *result);

/* Hands the call to the writer, which there must be. on_stored is called once, on the writer's thread,
 * maybe before this returns. */
void ingest_submit(struct ingest_call *call, void (*on_stored)(void *ctx), void *ctx);

/* Appends a Receipt to `receipt`, tells the verdict and frees the call. */
void ingest_finish(struct ingest_call *call, struct dpot_buf *receipt,
                   struct ingest_result *result);

/* Takes the body of one POST for campaign `id` and appends a Receipt to `receipt`. Total: every
 * outcome is a verdict. */
void ingest_batch(const struct ingest *ingest, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                  const void *body, size_t len, struct dpot_buf *receipt,
                  struct ingest_result *result);

#endif

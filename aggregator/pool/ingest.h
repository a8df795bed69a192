/* Ingest, the only way in for reports: bytes -> opened -> validated -> stored once -> receipt.
 *
 * It has two steps, so that no thread waits for a disk: ingest_begin opens and validates, then the
 * writer (pool/writer.h) stores the batches of many threads in one commit, and ingest_finish writes
 * the receipt. ingest_batch does both and waits.
 *
 * Invariants
 * (G1) A receipt says "accepted" only after the commit that holds the report.
 * (G2) Checks depend on the signed campaign, the clock and the store only. Each report is validated
 *      alone, so a bad one never costs a good one.
 * (G3) Nothing of a body is logged.
 *
 * A call holds at most a multiple of its body: a body has at most DPOT_BATCH_BYTES_MAX bytes and
 * each number of a vector takes at least one, so the numbers take at most 64 MiB here and in the
 * commit. */
#ifndef DPOT_POOL_INGEST_H
#define DPOT_POOL_INGEST_H

#include "campaign/registry.h"
#include "pool/writer.h"
#include "proto/wire_report.h"

/* A seal key pair of the server. */
struct seal_secret {
    struct dpot_seal_key key;
    uint8_t secret_key[DPOT_SEAL_SECRET_LEN];
};

/* Whether devices can seal reports at `now_ms`: one of the `n` keys is valid then. *n_valid, which
 * may be NULL, receives how many are.
 * DPOT_ERR_NOT_FOUND: all have expired; DPOT_ERR_NOT_OPEN: none is valid yet; with a remedy. */
DPOT_WARN_UNUSED dpot_status seal_secrets_check(const struct seal_secret *secrets, size_t n,
                                                int64_t now_ms, size_t *n_valid,
                                                struct dpot_error *error);

/* Borrowed. Thread-safe. */
struct ingest {
    struct store *store;
    struct registry *registry;
    const struct dpot_clock *clock;
    const struct seal_secret *seal_secrets;
    size_t n_seal_secrets;
    struct writer *writer; /* NULL: each thread commits its batch itself */
    struct tally *tally;   /* NULL: nothing is counted */
};

/* The HTTP status of the answer. */
enum ingest_verdict {
    INGEST_ACCEPTED = 202,    /* with a receipt */
    INGEST_MALFORMED = 400,   /* the body, its box or the batch cannot be read */
    INGEST_UNKNOWN = 404,     /* no such campaign, or the batch is for another one */
    INGEST_CLOSED = 409,      /* the revision is closed, or the round is over */
    INGEST_KEY_EXPIRED = 410, /* seal key unknown or expired: fetch the keys */
    INGEST_TOO_LARGE = 413,
    INGEST_NOT_YET = 503, /* the round has not opened, or the store failed: retry */
};

struct ingest_result {
    enum ingest_verdict verdict;
    dpot_status status;     /* why: DPOT_OK with 202, DPOT_ERR_NOT_OPEN for a round to come, ... */
    uint32_t retry_after_s; /* with 503 */
    uint8_t digest[DPOT_HASH_LEN]; /* of the body, for every verdict: names the POST */
    int64_t over_ms;               /* our time when it closed a round; 0: any other verdict */
    struct dpot_error error;       /* for the log and the answer */
};

/* A batch between validation and receipt. */
struct ingest_call;

/* Opens and validates the body of a POST for campaign `id`; the body is not needed after that.
 * NULL: refused, see `result`. Else end the call with ingest_finish, after ingest_submit has called
 * back; or without ingest_submit, which makes it INGEST_NOT_YET. */
struct ingest_call *ingest_begin(const struct ingest *ingest,
                                 const uint8_t id[DPOT_CAMPAIGN_ID_LEN], const void *body,
                                 size_t len, struct ingest_result *result);

/* Gives the calls of one ingest, NULLs aside, to its writer, which must not be NULL, together: they
 * share a commit, up to its max_reports. on_stored is called once for each of them, on the writer's
 * thread, possibly before this returns. */
void ingest_submit(struct ingest_call *const *calls /* (n) */, size_t n,
                   void (*on_stored)(void *ctx), void *ctx);

/* Appends a Receipt to `receipt`, fills `result` and frees the call. */
void ingest_finish(struct ingest_call *call, struct dpot_buf *receipt,
                   struct ingest_result *result);

/* All steps for the body of a POST for campaign `id`, with a Receipt appended to `receipt`. Every
 * outcome is a verdict. */
void ingest_batch(const struct ingest *ingest, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                  const void *body, size_t len, struct dpot_buf *receipt,
                  struct ingest_result *result);

#endif

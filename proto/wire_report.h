/* Report batches, sealed bodies and receipts <-> bytes. */
#ifndef DPOT_PROTO_WIRE_REPORT_H
#define DPOT_PROTO_WIRE_REPORT_H

#include "base/buf.h"
#include "base/crypto.h"
#include "base/error.h"
#include "model/campaign.h"
#include "proto/wire_keys.h"

/* The reports of one device in one round. A malformed report (wrong id length, no payload, an empty
 * vector, an unknown field) keeps its place, with is_malformed, so that the receipt can answer in
 * request order. */
struct dpot_batch {
    uint8_t campaign_hash[DPOT_HASH_LEN];
    uint32_t round;
    bool has_losses; /* old revisions with loss_counts: sent as zeros, ignored when read */
    size_t n_reports;
    struct dpot_report *reports; /* (n_reports) owned */
    bool *is_malformed;          /* (n_reports) owned; NULL when encoding */
    int64_t *values; /* (n_values) owned; the reports point into it; NULL when encoding */
    size_t n_values;
    size_t report_len_max; /* dpot_wire_report_len_max; 0: not padded (DPB1, old devices) */
    const struct dpot_allocator *allocator;
};
void dpot_batch_release(struct dpot_batch *batch);

/* The network sees the length of a body, and the length of a varint depends on its value. So a
 * batch is padded under its seal to the length that the largest reports of its campaign would take.
 *
 * Bytes of the largest report of a checked campaign as a field of a batch: the largest index, or
 * numbers at the ends of dpot_mechanism_value_range; the last group; a TEST mark. At most 7 bytes
 * per number, so that a body with one report of any campaign is shorter than
 * DPOT_BATCH_BYTES_MAX. */
size_t dpot_wire_report_len_max(const struct dpot_campaign *campaign);

/* Bytes under the seal of a padded body (DPB2): length (4), campaign_hash (34), round (6), losses
 * (5) and n_reports * report_len_max. The body has 60 more: magic, key id and the seal's
 * overhead. */
uint64_t dpot_wire_batch_plain_len(size_t n_reports, size_t report_len_max);

/* Appends the body of one POST: magic, key id, sealed batch; of the length above with
 * report_len_max. DPOT_ERR_ARGUMENT: no reports, or reports longer than report_len_max allows.
 * DPOT_ERR_TOO_LARGE: more than DPOT_BATCH_REPORTS_MAX reports or DPOT_BATCH_BYTES_MAX bytes.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_seal(const struct dpot_batch *batch,
                                                  const struct dpot_seal_key *seal_key,
                                                  struct dpot_buf *out);

/* The key id of a body. DPOT_ERR_MALFORMED: too short, or wrong magic; DPOT_ERR_TOO_LARGE. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_key_id(const void *body, size_t len,
                                                    uint8_t id[DPOT_SEAL_KEY_ID_LEN],
                                                    struct dpot_error *error);

/* Opens a body with the secret key that its id names, and parses the batch, to be released; zeroed
 * on failure. The caller compares report_len_max with that of the campaign. Fails for the batch as
 * a whole:
 *   DPOT_ERR_SIGNATURE  the box does not open
 *   DPOT_ERR_MALFORMED  not canonical, empty, a wrong hash length or losses; padding that is not
 *                       zeros, or not the same for each report
 *   DPOT_ERR_VERSION    an unknown field of the batch
 *   DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_open(const void *body, size_t len,
                                                  const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                                                  const uint8_t secret_key[DPOT_SEAL_SECRET_LEN],
                                                  const struct dpot_allocator *allocator,
                                                  struct dpot_batch *batch,
                                                  struct dpot_error *error);

/* The hash of a body, by which a receipt names the POST that it answers. Sealing is randomised:
 * POSTs of the same report differ. */
void dpot_wire_batch_digest(const void *body, size_t len, uint8_t digest[DPOT_HASH_LEN]);

/* Appends a Receipt for the POST with digest `batch` (NULL: without digest, as old servers). */
DPOT_WARN_UNUSED dpot_status dpot_wire_receipt_encode(const enum dpot_report_status *statuses,
                                                      size_t n,
                                                      const uint8_t *batch /* (DPOT_HASH_LEN) */,
                                                      struct dpot_buf *out);

/* Parses a Receipt of n statuses. DPOT_ERR_MALFORMED: another count, an unknown status, not
 * canonical. DPOT_ERR_SIGNATURE: the digest of another POST than `batch` (NULL: any); without a
 * digest it is accepted. DPOT_ERR_VERSION, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_wire_receipt_decode(const void *data, size_t len,
                                                      const uint8_t *batch /* (DPOT_HASH_LEN) */,
                                                      const struct dpot_allocator *allocator,
                                                      enum dpot_report_status *statuses, size_t n);

#endif

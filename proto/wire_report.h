/* Report batches, sealed bodies and receipts <-> bytes. */
#ifndef DPOT_PROTO_WIRE_REPORT_H
#define DPOT_PROTO_WIRE_REPORT_H

#include "base/buf.h"
#include "base/crypto.h"
#include "base/error.h"
#include "model/report.h"
#include "model/vector.h"
#include "proto/wire_keys.h"

/* What one device sends of one round. Reports that were malformed one by one (wrong id length, no
 * payload, an empty vector, an unknown field in the report) are kept in place with
 * `is_malformed`, so that the receipt can answer each in request order. */
struct dpot_batch {
    uint8_t campaign_hash[DPOT_HASH_LEN];
    uint32_t round;
    bool has_losses; /* the campaign asks for them (loss_counts) */
    struct dpot_losses losses;
    size_t n_reports;
    struct dpot_report *reports; /* (n_reports) owned */
    bool *is_malformed;          /* (n_reports) owned; NULL when encoding */
    int64_t *values;             /* (n_values) owned: the reports' values point into it; NULL when
                                    encoding and without vectors */
    size_t n_values;
    const struct dpot_allocator *allocator;
};
void dpot_batch_release(struct dpot_batch *batch);

/* Appends the whole body of one POST: magic, key id, sealed batch. At most DPOT_BATCH_REPORTS_MAX
 * reports (DPOT_ERR_TOO_LARGE), at least one (DPOT_ERR_ARGUMENT). */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_seal(const struct dpot_batch *batch,
                                                  const struct dpot_seal_key *seal_key,
                                                  struct dpot_buf *out);

/* Reads the key id of a body. DPOT_ERR_MALFORMED: too short or wrong magic; DPOT_ERR_TOO_LARGE. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_key_id(const void *body, size_t len,
                                                    uint8_t id[DPOT_SEAL_KEY_ID_LEN],
                                                    struct dpot_error *error);

/* Opens a body with the secret key its id names and parses the batch; *batch is zeroed on failure.
 * DPOT_ERR_SIGNATURE: the box does not open; DPOT_ERR_MALFORMED / DPOT_ERR_VERSION /
 * DPOT_ERR_TOO_LARGE for the batch as a whole (empty, no hash, losses that are none, unknown field in the
 * batch, too many reports, another spelling than the canonical one). */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_open(const void *body, size_t len,
                                                  const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                                                  const uint8_t secret_key[DPOT_SEAL_SECRET_LEN],
                                                  const struct dpot_allocator *allocator,
                                                  struct dpot_batch *batch,
                                                  struct dpot_error *error);

/* What a receipt names the POST by that it answers: the hash of its whole body. Sealing is randomised, so
 * that no two POSTs have one, though they carry the same report. */
void dpot_wire_batch_digest(const void *body, size_t len, uint8_t digest[DPOT_HASH_LEN]);

/* Appends a Receipt for the POST `batch` names (NULL: for none, as servers of before did). */
DPOT_WARN_UNUSED dpot_status dpot_wire_receipt_encode(const enum dpot_report_status *statuses,
                                                      size_t n,
                                                      const uint8_t *batch /* (DPOT_HASH_LEN) */,
                                                      struct dpot_buf *out);

/* Reads one into statuses[n], refusing another count or an unknown status. DPOT_ERR_SIGNATURE: it names
 * another POST than `batch` (NULL: any will do); one that names none is not refused for that. */
DPOT_WARN_UNUSED dpot_status dpot_wire_receipt_decode(const void *data, size_t len,
                                                      const uint8_t *batch /* (DPOT_HASH_LEN) */,
                                                      const struct dpot_allocator *allocator,
                                                      enum dpot_report_status *statuses, size_t n);

#endif

/* Report batches, sealed bodies and receipts <-> bytes. */
#ifndef DPOT_PROTO_WIRE_REPORT_H
#define DPOT_PROTO_WIRE_REPORT_H

#include "base/buf.h"
#include "base/crypto.h"
#include "base/error.h"
#include "model/campaign.h"
#include "proto/wire_keys.h"

/* What one device sends of one round. Reports that were malformed one by one (wrong id length, no
 * payload, an empty vector, an unknown field in the report) are kept in place with
 * `is_malformed`, so that the receipt can answer each in request order. */
struct dpot_batch {
    uint8_t campaign_hash[DPOT_HASH_LEN];
    uint32_t round;
    bool
        has_losses; /* revisions of before that say loss_counts: encoded as zeros, read and not kept */
    size_t n_reports;
    struct dpot_report *reports; /* (n_reports) owned */
    bool *is_malformed;          /* (n_reports) owned; NULL when encoding */
    int64_t *values;             /* (n_values) owned: the reports' values point into it; NULL when
                                    encoding and without vectors */
    size_t n_values;
    size_t report_len_max; /* bytes that each report is padded to: dpot_wire_report_len_max; 0: the
                              body is not padded (DPB1, of devices of before) */
    const struct dpot_allocator *allocator;
};
void dpot_batch_release(struct dpot_batch *batch);

/* Lengths are public facts. A body tells a network how long it is, and an index or a number of a
 * vector is written in as few bytes as it can be: a batch is therefore padded under its seal to
 * what the largest reports of its campaign would take, whatever its own reports hold.
 *
 * Bytes of the largest report that a device of this checked campaign can send, as it lies in a
 * batch (with the head of its field): an index below the number of output points, or numbers at the
 * ends of dpot_mechanism_value_range; the last group; a TEST mark. At most 7 bytes a number, so
 * that the body of one report of any campaign is shorter than DPOT_BATCH_BYTES_MAX. */
size_t dpot_wire_report_len_max(const struct dpot_campaign *campaign);

/* Bytes under the seal of a padded body, DPB2:
 *   length (4) + campaign_hash (34) + round (6) + losses (5) + n_reports * report_len_max
 * The body has 60 more: magic, key id, and what the seal adds. */
uint64_t dpot_wire_batch_plain_len(size_t n_reports, size_t report_len_max);

/* Appends the whole body of one POST: magic, key id, sealed batch. At most DPOT_BATCH_REPORTS_MAX
 * reports and DPOT_BATCH_BYTES_MAX bytes (DPOT_ERR_TOO_LARGE), at least one report
 * (DPOT_ERR_ARGUMENT). With report_len_max the body has the length above, whatever is in it;
 * DPOT_ERR_ARGUMENT: the reports are longer than those of the campaign can be. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_seal(const struct dpot_batch *batch,
                                                  const struct dpot_seal_key *seal_key,
                                                  struct dpot_buf *out);

/* Reads the key id of a body. DPOT_ERR_MALFORMED: too short or wrong magic; DPOT_ERR_TOO_LARGE. */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_key_id(const void *body, size_t len,
                                                    uint8_t id[DPOT_SEAL_KEY_ID_LEN],
                                                    struct dpot_error *error);

/* Opens a body with the secret key its id names and parses the batch; *batch is zeroed on failure.
 * report_len_max is what the body was padded to: whether that is its campaign's is for the caller
 * to see. DPOT_ERR_SIGNATURE: the box does not open; DPOT_ERR_MALFORMED / DPOT_ERR_VERSION /
 * DPOT_ERR_TOO_LARGE for the batch as a whole (empty, no hash, losses that are none, unknown field
 * in the batch, too many reports, another spelling than the canonical one; padding that is not
 * zeros or not the same for each report). */
DPOT_WARN_UNUSED dpot_status dpot_wire_batch_open(const void *body, size_t len,
                                                  const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                                                  const uint8_t secret_key[DPOT_SEAL_SECRET_LEN],
                                                  const struct dpot_allocator *allocator,
                                                  struct dpot_batch *batch,
                                                  struct dpot_error *error);

/* What a receipt names the POST by that it answers: the hash of its whole body. Sealing is
 * randomised, so that no two POSTs have one, though they carry the same report. */
void dpot_wire_batch_digest(const void *body, size_t len, uint8_t digest[DPOT_HASH_LEN]);

/* Appends a Receipt for the POST `batch` names (NULL: for none, as servers of before did). */
DPOT_WARN_UNUSED dpot_status dpot_wire_receipt_encode(const enum dpot_report_status *statuses,
                                                      size_t n,
                                                      const uint8_t *batch /* (DPOT_HASH_LEN) */,
                                                      struct dpot_buf *out);

/* Reads one into statuses[n], refusing another count or an unknown status. DPOT_ERR_SIGNATURE: it
 * names another POST than `batch` (NULL: any will do); one that names none is not refused for
 * that. */
DPOT_WARN_UNUSED dpot_status dpot_wire_receipt_decode(const void *data, size_t len,
                                                      const uint8_t *batch /* (DPOT_HASH_LEN) */,
                                                      const struct dpot_allocator *allocator,
                                                      enum dpot_report_status *statuses, size_t n);

#endif

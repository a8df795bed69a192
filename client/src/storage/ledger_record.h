/* The layout of the ledger's records, for ledger.c and ledger_fold.c; everything little-endian. */
#ifndef DPOT_CLIENT_STORAGE_LEDGER_RECORD_H
#define DPOT_CLIENT_STORAGE_LEDGER_RECORD_H

#include "storage/ledger.h"

#define DPOT_LEDGER_MAGIC "DPOTLDG1"
#define DPOT_LEDGER_FOLDED_MAGIC "DPOTLDG2"

/* "done" is, of CONSENT and SUMS, 1 for withdrawn and 2 for granted; of CAMPAIGN how the last
 * charge ended, and the last answer << 8; of SPANS their number; of a CHARGE that folding wrote the
 * readings, else 0. */
enum {
    TYPE_AT = 0, /* u32 */
    DONE_AT = 4, /* u32 */
    SEQ_AT = 8,
    N_FOLDED_AT = 16, /* u32; of SUMS: records that folding wrote, this one included */
    ENDED_AT = 20,    /* u32 each; of SUMS: ends 1 to 8, then 16 to 21 */
    HASH_AT = 16,
    ROUND_AT = 48,    /* u32 */
    REVISION_AT = 52, /* u32; 0 in records of older releases, DONE and CONSENT */
    SIGNER_AT = 56,
    CAMPAIGN_AT = 88,
    COST_AT = 104, /* epsilon, delta, rho, coordinates */
    TIME_AT = 136,
    COUNTER_AT = 144,
    HORIZON_AT = 152,      /* of CHARGE and RESUME; 0 in records of older releases */
    ANSWERED_AT = 144,     /* of CAMPAIGN: when the last answer came */
    ANSWER_ROUND_AT = 152, /* u32; and to which report */
    MAC_AT = 160,

    SPANS_AT = 16, /* first, last, cost */
    SPAN_LEN = 48,
    SPANS_PER_RECORD = 3,
};
enum {
    TYPE_CHARGE = 0x47524843, /* "CHRG" */
    TYPE_DONE = 0x454e4f44,
    TYPE_CONSENT = 0x54534e43,  /* "CNST" */
    TYPE_RESUME = 0x554d5352,   /* "RSMU" */
    TYPE_SUMS = 0x534d5553,     /* "SUMS" */
    TYPE_CAMPAIGN = 0x504d4143, /* "CAMP" */
    TYPE_SPANS = 0x4e415053,    /* "SPAN" */
};
enum { CONSENT_WITHDRAWN = 1, CONSENT_GRANTED = 2 };

/* Reads a record that folding wrote, whose checksum is valid. DPOT_ERR_CORRUPT: it makes no sense
 * there; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_read_folded(struct dpot_ledger *ledger,
                                                     const uint8_t *record);

/* Appends a charge in memory. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_push(struct dpot_ledger *ledger,
                                              const struct dpot_charge *charge);

void dpot_ledger_read_charge(const uint8_t *record, struct dpot_charge *charge);
void dpot_ledger_write_charge(uint8_t *record, const struct dpot_charge *charge);
void dpot_ledger_read_cost(const uint8_t *bytes, struct dpot_privacy *cost);
void dpot_ledger_write_cost(uint8_t *bytes, const struct dpot_privacy *cost);

#endif

/* One slot of the spool: its bytes and their meaning.
 *
 * A slot is one unit of 256 bytes, and for a report of n values the further units that hold them.
 * All of it is public except the report, which is privatised. A slot may begin at every unit, so
 * that a reader finds the next slot behind a broken one. */
#ifndef DPOT_CLIENT_STORAGE_SPOOL_SLOT_H
#define DPOT_CLIENT_STORAGE_SPOOL_SLOT_H

#include "model/report.h"
#include "storage/ledger.h"

#define DPOT_SPOOL_UNIT_LEN 256
#define DPOT_SPOOL_BODY_AT 104 /* of a slot: where REPORT or ACK is written */

enum dpot_slot_content {
    DPOT_SLOT_EMPTY, /* a body of zeros: waits for its report */
    DPOT_SLOT_REPORT,
    DPOT_SLOT_FREE,
    DPOT_SLOT_BROKEN,
};

/* The name of a slot. It is durable before the charge, and so before the data are read. */
struct dpot_slot_name {
    struct dpot_key key;
    uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN];
    int64_t closes_ms; /* when the key's round closes */
    uint32_t n_values; /* vector mechanisms: numbers in the report; else 0 */
    bool has_losses;   /* an old revision whose batches carry three bytes of loss counts: zeros */

    bool has_draws;                        /* the rest is set: false in slots of older releases */
    uint8_t report_id[DPOT_REPORT_ID_LEN]; /* drawn for the report */
    uint32_t delay_ms; /* drawn: the report is due this long after the horizon of its charge */
    uint32_t report_len_max; /* encoded length that every report of the campaign is padded to */
};

struct dpot_slot {
    enum dpot_slot_content content;
    bool has_name; /* the name is valid */
    struct dpot_slot_name name;
    struct dpot_report report; /* of a REPORT; its values are those below */
    int64_t *values;           /* (n_values of the raw bytes) owned; NULL for 0 */
    uint8_t *raw;              /* (raw_len) as on disk; owned */
    size_t raw_len;
    uint64_t offset; /* in the file */

    /* In memory only, kept by the journal and the uploader. */
    int64_t due_ms;        /* time of sending, by the clock: horizon of the charge + delay */
    int64_t retry_at_ms;   /* after a failure; INT64_MIN before the first */
    int64_t held_until_ms; /* Retry-After about this report alone; INT64_MIN: none */
    int64_t held_read_ms;  /* end of its wait last read from "pause"; 0: never */
    uint32_t n_failures;
};

/* Bytes of a slot for a report of n_values <= DPOT_VECTOR_DIM_MAX. */
size_t dpot_slot_len(uint32_t n_values);

/* A zeroed slot with room for n_values. DPOT_ERR_MEMORY leaves it zeroed. */
DPOT_WARN_UNUSED dpot_status dpot_slot_init(struct dpot_slot *slot, uint32_t n_values,
                                            const struct dpot_allocator *allocator);

/* Wipes and frees what is inside; a zeroed struct is allowed. */
void dpot_slot_release(struct dpot_slot *slot, const struct dpot_allocator *allocator);

/* Names the zeroed raw bytes: an EMPTY slot. */
void dpot_slot_set_name(const struct dpot_install *install, struct dpot_slot *slot,
                        const struct dpot_slot_name *name);

/* Reads the name from the first unit of a slot. False: invalid. */
bool dpot_slot_read_name(const struct dpot_install *install,
                         const uint8_t unit[DPOT_SPOOL_UNIT_LEN], struct dpot_slot_name *name);

/* Validates all the raw bytes; sets has_name, name, content and report. Returns their counter
 * value. */
uint64_t dpot_slot_parse(const struct dpot_install *install, struct dpot_slot *slot);

/* Writes a report of the name's n_values, or ACK, into the raw bytes. Cannot fail. */
void dpot_slot_set_report(const struct dpot_install *install, struct dpot_slot *slot,
                          const struct dpot_report *report, uint64_t counter);
void dpot_slot_set_free(struct dpot_slot *slot);

/* ACK with the counter value under a checksum: for a slot that is freed before its DONE is
 * durable. */
void dpot_slot_set_withdrawn(const struct dpot_install *install, struct dpot_slot *slot,
                             uint64_t counter);

#endif

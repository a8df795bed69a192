/* A report: one privatised output of one device in one round. Safe to show to anybody. */
#ifndef DPOT_MODEL_REPORT_H
#define DPOT_MODEL_REPORT_H

#include "dpot/status.h"

#include <stdbool.h>
#include <stdint.h>

#define DPOT_REPORT_ID_LEN 16
#define DPOT_BATCH_REPORTS_MAX 5000
#define DPOT_BATCH_BYTES_MAX (8u << 20) /* body of one POST */

struct dpot_report {
    uint8_t id[DPOT_REPORT_ID_LEN]; /* random, drawn before device data are read */
    uint32_t index;                 /* output point; index mechanisms, else 0 */
    uint32_t group;                 /* public group label, 0 without groups */
    bool test;                      /* made with a seeded source */
    uint32_t n_values;              /* vector mechanisms: the campaign's dim; else 0 */
    int64_t *values;                /* (n_values) grid units; not owned: each holder says whose */
};

/* What became of a report, in the order of Receipt.Status (report.proto). */
enum dpot_report_status {
    DPOT_REPORT_ACCEPTED = 1,
    DPOT_REPORT_DUPLICATE = 2,
    DPOT_REPORT_REJECTED_MALFORMED = 3,
    DPOT_REPORT_REJECTED_RANGE = 4,
    DPOT_REPORT_REJECTED_GROUP = 5,
    DPOT_REPORT_REJECTED_TEST = 6,
    DPOT_REPORT_REJECTED_TOKEN = 7,
    DPOT_REPORT_REJECTED_CLOSED = 8,
};
#define DPOT_REPORT_STATUS_END 9 /* one past the last */

/* "accepted", "duplicate", "rejected_range", ...; NULL for an unknown number. */
const char *dpot_report_status_name(enum dpot_report_status status);

/* Reports that a device lost before they were answered, by reason. None of these depends on data, and
 * none is an answer of the server: it cannot write a mark into a device by it. */
enum dpot_loss_reason {
    DPOT_LOSS_AGE = 0,   /* waited until 30 days after the round */
    DPOT_LOSS_LOST = 1,  /* charged, and the report never made or its bytes gone */
    DPOT_LOSS_SPOOL = 2, /* dropped because the spool was full */
};
#define DPOT_LOSS_REASONS 3

/* How many, in classes: 0, 1, 2-3, 4-7, 8 and more. Nothing finer leaves a device. */
#define DPOT_LOSS_CLASSES 5
struct dpot_losses {
    uint8_t class_of[DPOT_LOSS_REASONS]; /* < DPOT_LOSS_CLASSES */
};

/* The class of a count. Total. */
uint8_t dpot_loss_class(uint64_t count);

/* "age", ...; "0", "1", "2-3", ...; NULL for an unknown number. */
const char *dpot_loss_reason_name(unsigned reason);
const char *dpot_loss_class_name(unsigned loss_class);

#endif

/* A report: one privatised output of one device in one round. Public. */
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
    bool test;                      /* TEST mark: made with a seeded source */
    uint32_t n_values;              /* vector mechanisms: the campaign's dim; else 0 */
    int64_t *values;                /* (n_values) grid units; borrowed, by each holder's rule */
};

/* What the server did with a report. Published numbers (report.proto, enum Status). */
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

#endif

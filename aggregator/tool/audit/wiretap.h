/* What a holder of the server's keys sees between a device and an aggregator in memory: the reports
 * of each round, and whether they are more than one report of a public size at a public time. */
#ifndef DPOT_TOOL_AUDIT_WIRETAP_H
#define DPOT_TOOL_AUDIT_WIRETAP_H

#include "audit/subject.h"
#include "tool/simulate/in_process.h"

/* Bits of the trace of a sample. An honest device sets the first only. */
#define WIRETAP_REPEATS 1u /* the report says the same as that of the previous round */
#define WIRETAP_MISSING 2u /* no report came */
#define WIRETAP_DIFFERS 4u /* a second, different report came in the same round */
#define WIRETAP_LENGTH 8u  /* the length of a request is not that of its report */
#define WIRETAP_STATUS                                                                             \
    16u                   /* a submit returned another status than for other data (client_path.c) */
#define WIRETAP_GROUP 32u /* a report carried another label than the device was given */

struct wiretap {
    struct dpot_transport transport; /* pass its address to a client */
    const struct subject *subject;
    const struct in_process *server;
    struct in_process_connection connection;
    bool loses_next_answer; /* performs the next POST, then reports a network failure */

    /* Of this round. */
    uint32_t trace;
    size_t n_reports; /* different ones */
    uint8_t id[DPOT_REPORT_ID_LEN];
    uint32_t index;
    int64_t values[SUBJECT_DIM_MAX];
    struct audit_sample sample; /* the numbers of several vector reports are added up */
    uint64_t digest;            /* of all rounds: sum of wiretap_digest of the different reports */

    /* Of the previous round, and of the first request. */
    bool has_previous;
    uint32_t previous_index;
    int64_t previous_values[SUBJECT_DIM_MAX];
    size_t fixed_len; /* of a request without its body; 0: no request yet */
};

/* Borrows all arguments; the struct must not move afterwards. */
void wiretap_init(struct wiretap *tap, const struct subject *subject,
                  const struct in_process *server, const struct dpot_clock *clock);

/* Begins a round. */
void wiretap_begin(struct wiretap *tap);

/* 64 bits of a hash: two different reports share them with probability 2^-64. */
uint64_t wiretap_digest(const struct dpot_report *report);

/* Ends the round and returns its sample. */
struct audit_sample wiretap_end(struct wiretap *tap);

#endif

/* Whoever holds the server's keys, on the wire between a device and an aggregator in memory: what it
 * hears of a round, and whether that is more than one report of a public size at a public time. */
#ifndef DPOT_TOOL_AUDIT_TAP_H
#define DPOT_TOOL_AUDIT_TAP_H

#include "audit/subject.h"
#include "tool/simulate/in_process.h"

/* Bits of the trace of a sample. Only the first is ever set by an honest device. */
#define TAP_REPEATS 1u /* the report says the same as the one of the round before */
#define TAP_MISSING 2u /* no report came */
#define TAP_DIFFERS 4u /* a second, different report came in the same round */
#define TAP_LENGTH 8u  /* a request was not as long as its report makes it */
#define TAP_STATUS 16u /* a submit did not say what it says to everybody (set by path.c) */
#define TAP_GROUP 32u  /* a report carried another label than the device was given */

struct tap {
    struct dpot_transport transport; /* give its address to a client */
    const struct subject *subject;
    const struct in_process *server;
    struct in_process_connection connection;
    bool loses_next_answer; /* performs the next POST and then says that the network failed */

    /* Of this round. */
    uint32_t trace;
    size_t n_reports; /* different ones */
    uint8_t id[DPOT_REPORT_ID_LEN];
    uint32_t index;
    int64_t values[SUBJECT_DIM_MAX];
    struct audit_sample sample; /* numbers of several reports of vectors added up */

    uint64_t digest; /* of all rounds: the sum of tap_digest of the different reports */

    /* Of the round before, and of the first request. */
    bool has_previous;
    uint32_t previous_index;
    int64_t previous_values[SUBJECT_DIM_MAX];
    size_t fixed_len; /* of a request without its body; 0: none came yet */
};

/* All borrowed; the struct must not move afterwards. */
void tap_init(struct tap *tap, const struct subject *subject, const struct in_process *server,
              const struct dpot_clock *clock);

/* A round begins. */
void tap_begin(struct tap *tap);

/* A number that two different reports share with probability 2^-64. */
uint64_t tap_digest(const struct dpot_report *report);

/* What was heard of it. */
struct audit_sample tap_end(struct tap *tap);

#endif
